"""``python -m tx8ir`` is the `tx8ir` command."""

from __future__ import annotations

from tx8ir.cli import main

main()
