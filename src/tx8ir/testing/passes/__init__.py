"""The judge of passes: programs before and after are run, and compared as the pass's guarantee allows."""

from __future__ import annotations
