"""The half of the bank that is for measuring alone: mutants whose results nobody has worked with; see `..bank`."""

from __future__ import annotations
