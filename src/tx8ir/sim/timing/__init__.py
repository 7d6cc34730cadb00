"""When everything happens: the clock, and reports and traces of it."""

from __future__ import annotations
