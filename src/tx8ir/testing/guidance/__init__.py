"""What a pass shows of itself, and so what to test it with first."""

from __future__ import annotations
