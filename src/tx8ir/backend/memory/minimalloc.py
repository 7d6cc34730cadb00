"""Buffers and plans as the CSV files of MiniMalloc (github.com/google/minimalloc).

The columns are ``id,lower,upper,size``, where `upper` is exclusive, then ``alignment`` where one is not 1, and in the
file of a plan ``offset``. Columns may come in any order.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tx8ir.backend.memory.buffers import Buffer, MemoryPlanError, check_ids
from tx8ir.backend.memory.planner import MemoryPlan

__all__ = ["CsvError", "read_csv", "write_csv"]

_NEEDED: Final = ("id", "lower", "upper", "size")
_KNOWN: Final = (*_NEEDED, "alignment", "offset")


class CsvError(MemoryPlanError):
    """A file of buffers that cannot be read; the message names the file and the line."""


def read_csv(path: str | Path) -> tuple[Buffer, ...]:
    """The buffers in a file; a column of offsets is left aside.

    Raises `CsvError` for another table than that of buffers, with the line; OSError when it cannot be opened.
    """
    with Path(path).open(encoding="utf-8", newline="") as stream:
        try:
            rows = list(csv.reader(stream, strict=True))
        except (csv.Error, UnicodeDecodeError) as error:
            raise CsvError(f"{path}: not a CSV file: {error}") from None
    header = rows[0] if rows else []
    missing = [name for name in _NEEDED if name not in header]
    unknown = [name for name in header if name not in _KNOWN]
    if missing or unknown or len(set(header)) < len(header):
        raise CsvError(f"{path}:1: expected the columns {','.join(_NEEDED)}, each once, with alignment and offset or "
                       f"without; got {','.join(header) or 'nothing'}")  # fmt: skip
    buffers: list[Buffer] = []
    for line, row in enumerate(rows[1:], 2):
        if row:
            buffers.append(_buffer(header, row, f"{path}:{line}"))
    try:
        check_ids(buffers)
    except MemoryPlanError as error:
        raise CsvError(f"{path}: {error}") from error
    return tuple(buffers)


def _buffer(header: list[str], row: list[str], place: str) -> Buffer:
    if len(row) != len(header):
        raise CsvError(f"{place}: expected {len(header)} fields, got {len(row)}")
    fields = dict(zip(header, row, strict=True))

    def integer(name: str) -> int:
        try:
            return int(fields[name])
        except ValueError:
            raise CsvError(f"{place}: expected an integer as {name}, got {fields[name]!r}") from None

    alignment = integer("alignment") if "alignment" in fields else 1
    try:
        return Buffer(fields["id"], integer("lower"), integer("upper"), integer("size"), alignment)
    except CsvError:
        raise
    except MemoryPlanError as error:
        raise CsvError(f"{place}: {error}") from error


def write_csv(path: str | Path, buffers: Sequence[Buffer] | MemoryPlan) -> None:
    """Writes buffers, or a plan with its offsets."""
    offsets = buffers.offsets if isinstance(buffers, MemoryPlan) else None
    items = buffers.buffers if isinstance(buffers, MemoryPlan) else buffers
    aligned = any(b.alignment != 1 for b in items)
    with Path(path).open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*_NEEDED, *["alignment"] * aligned, *["offset"] * (offsets is not None)])
        for number, b in enumerate(items):
            row = [b.id, b.lower, b.upper, b.size, *[b.alignment] * aligned]
            writer.writerow(row if offsets is None else [*row, offsets[number]])
