"""The textual form: parsing and printing."""

from __future__ import annotations
