"""Writes `fragments.mlir` anew: ``python -m tx8ir.testing.cases.corpus``."""

from __future__ import annotations

from . import FILE, SEPARATOR
from .textbook import FORMS, written


def main() -> None:
    texts = [f"// {name}\n{str(written(name)).rstrip()}\n" for name in FORMS]
    FILE.write_text(SEPARATOR.join(texts), encoding="utf-8")


if __name__ == "__main__":
    main()
