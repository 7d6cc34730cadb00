"""MiniMalloc's CSV files: read, written, and refused with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tx8ir.backend import memory
from tx8ir.backend.memory import Buffer

# The example of MiniMalloc's README, whose capacity is 12.
EXAMPLE = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"


def test_the_example_of_minimalloc(tmp_path: Path) -> None:
    path = tmp_path / "input.12.csv"
    path.write_text(EXAMPLE)
    buffers = memory.read_csv(path)
    assert buffers[1] == Buffer("b2", 3, 9, 4)
    plan = memory.plan(buffers, 12)
    assert plan.peak == 12
    memory.write_csv(path, buffers)
    assert path.read_text() == EXAMPLE
    memory.write_csv(path, plan)
    lines = path.read_text().splitlines()
    assert lines[0] == "id,lower,upper,size,offset"
    assert lines[1] == f"b1,0,3,4,{plan['b1']}"
    assert memory.read_csv(path) == buffers, "a plan can be read as its buffers"


def test_alignments(tmp_path: Path) -> None:
    buffers = (Buffer('a "b", c', 0, 3, 4, 256), Buffer("d", -1, 2, 5))
    memory.write_csv(tmp_path / "x.csv", buffers)
    assert memory.read_csv(tmp_path / "x.csv") == buffers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.csv:1: expected the columns id,lower,upper,size, .*got nothing"),
        ("id,start,end,size\n", "got id,start,end,size"),
        ("id,lower,upper,size,size\n", "each once"),
        ("id,lower,upper,size\na,0,1\n", "x.csv:2: expected 4 fields, got 3"),
        ("id,lower,upper,size\n\na,0,1,big\n", "x.csv:3: expected an integer as size, got 'big'"),
        ("id,lower,upper,size\na,1,1,4\n", "x.csv:2: buffer 'a' is live at no time"),
        ("id,lower,upper,size\na,0,1,4\na,0,1,4\n", "x.csv: two buffers have the id 'a'"),
        ('id,lower,upper,size\n"a,0,1,4\n', "x.csv: not a CSV file"),
    ],
)
def test_another_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(memory.CsvError, match=message):
        memory.read_csv(path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"id,lower,upper,size\n\xff\xfe,0,1,4\n")
    with pytest.raises(memory.CsvError, match="not a CSV file"):
        memory.read_csv(tmp_path / "x.csv")
