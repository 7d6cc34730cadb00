"""Helpers that know nothing of the IR: tables, display in notebooks, lazy registration, a trampoline, a relaxed gc."""

from __future__ import annotations
