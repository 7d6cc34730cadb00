"""The fourth round of the bank; see `..bank`."""

from __future__ import annotations
