"""Making failing programs small."""

from __future__ import annotations
