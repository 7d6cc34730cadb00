"""Fragments of networks, as text: what a fuzzer edits from the start.

`fragments.mlir` beside this module holds them; ``python -m tx8ir.testing.cases.corpus`` writes it from `textbook`.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Final

from tx8ir.testing.cases.stored import StoredProgram
from tx8ir.testing.guidance.direction import Direction

FILE: Final = Path(__file__).with_name("fragments.mlir")
SEPARATOR: Final = "// -----\n"


@functools.cache
def all_fragments() -> tuple[StoredProgram, ...]:
    """All fragments, in the order of the file."""
    return tuple(StoredProgram(text) for text in FILE.read_text(encoding="utf-8").split(SEPARATOR))


def fragments(direction: Direction) -> tuple[StoredProgram, ...]:
    """All fragments, those with most operations of the direction first."""

    def kinship(fragment: StoredProgram) -> int:
        return -len(direction.ops & set(re.findall(r'"([\w.]+)"\(', fragment.text)))

    return tuple(sorted(all_fragments(), key=kinship))
