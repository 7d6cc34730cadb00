"""The programs of an input of `tx8ir opt`: one, or with `--split-input-file` one between each two markers."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs

from tx8ir import frontends
from tx8ir.core import Program, default_context
from tx8ir.core.program import read_text
from tx8ir.core.text.parser import parse_op
from tx8ir.frontends.files import is_stablehlo, is_text, load
from tx8ir.signature import InputError

SPLIT_MARKER: Final = "// -----"
"""The line that separates the programs of a file."""


@attrs.frozen
class Piece:
    """One program of the input: its text, preceded by as many empty lines as put it at its place in the file."""

    file: str
    text: str

    def program(self, *, allow_unregistered: bool, keep_names: bool) -> Program:
        """Parses it; operations know their line in the whole file.

        StableHLO is imported, unless operations that nobody registered are to be kept as they are.
        """
        if not allow_unregistered and is_stablehlo(self.text):
            return frontends.stablehlo.load_text(self.text, self.file)
        op = parse_op(
            self.text,
            context=default_context(),
            file=self.file,
            allow_unregistered=allow_unregistered,
            keep_names=keep_names,
        )
        if op.name == "builtin.module":
            return Program(op)
        program = Program.empty()
        program.body.append(op)
        return program


def read_pieces(file: str, *, split_input: bool, texts: dict[str, str]) -> Sequence[Piece | Program]:
    """The programs of a file; `-` is stdin.

    Args:
        file: IR text, or what `load` takes.
        split_input: whether the text has several programs.
        texts: takes the text under its file's name, to quote lines of it.

    Raises:
        InputError: a file that is not text is to be split.
        IrError: what `load` raises.
    """
    if file != "-" and not is_text(Path(file)):
        if split_input:
            raise InputError(f"--split-input-file is for IR text; {file} is none")
        return [load(Path(file))]
    if file == "-":
        name, text = "<stdin>", sys.stdin.read()
    else:
        name, text = file, read_text(file)
    texts[name] = text
    return _split(text, name) if split_input else [Piece(name, text)]


def _split(text: str, file: str) -> list[Piece]:
    """The pieces between lines that are `// -----`."""
    pieces: list[Piece] = []
    start = 0
    for line in re.finditer(r"^// -----[^\S\n]*$", text, re.MULTILINE):
        pieces.append(Piece(file, _placed(text, start, line.start())))
        start = line.end()
    return [*pieces, Piece(file, _placed(text, start, len(text)))]


def _placed(text: str, start: int, end: int) -> str:
    return "\n" * text.count("\n", 0, start) + text[start:end]
