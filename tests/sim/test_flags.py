"""Flags say where arithmetic first gave a NaN or an infinity; programs on one chip must not share DDR."""

from __future__ import annotations

import numpy as np
import pytest

from tx8ir.kernels import Kernel
from tx8ir.sim import Chip, SimError, Simulator


def flags(function: str, format: str, values: list[float], *, checks: bool = True) -> list[tuple[str, int, int]]:
    """(flag, tile, instruction) that a function raises on tiles 3 and 5, of which tile 3 has harmless operands."""
    k = Kernel("flags", (3, 5))
    a, b = k.spm("a", (len(values),), format), k.spm("b", (len(values),), format)
    k.fill(a, 1.0)
    with k.on(5):
        for i, value in enumerate(values):
            k.fill(a[i : i + 1], value)
    k.unary(function, b, a)
    result = Simulator(k.program(), checks=checks).run({})
    assert all(row.source == "flags" and "test_flags.py" in str(row.location) for row in result.flags)
    return [(row.flag, row.tile, row.index) for row in result.flags]


@pytest.mark.parametrize("format", ["f32", "tf32", "f16", "bf16"])
def test_each_kind_is_told_apart(format: str) -> None:
    large = 60000.0 if format == "f16" else 1e38
    assert flags("square", format, [1.0, large]) == [("infinity", 5, 3), ("overflow", 5, 3)]
    assert flags("square", format, [1.0, np.inf]) == [("infinity", 5, 3)]
    assert flags("recip", format, [1.0, 0.0]) == [("infinity", 5, 3)]
    assert flags("sqrt", format, [1.0, -1.0]) == [("nan", 5, 3)]
    assert flags("square", format, [1.0, 2.0]) == []
    assert flags("sqrt", format, [1.0, -1.0], checks=False) == []


def test_a_sum_of_large_finite_numbers_raises_nothing() -> None:
    assert flags("abs", "f32", [3e38] * 8) == []


def test_programs_that_share_ddr_cannot_be_loaded_together() -> None:
    def program(name: str, skip: int) -> Kernel:
        k = Kernel(name, (0,))
        if skip:
            k.scratch("skipped", (skip,), "i8")
        k.store(k.output(name, (16,), "f32"), k.spm("a", (16,), "f32"))
        return k

    chip = Chip()
    chip.load("first", program("x", 0).program())
    message = r'segment "y" .* of program "second" overlaps segment "x" \[0x280000000, 0x280000040\) of program "first"'
    with pytest.raises(SimError, match=message):
        chip.load("second", program("y", 0).program())
    with pytest.raises(SimError, match='a program named "first" is loaded already'):
        chip.load("first", program("y", 4096).program())
    assert list(chip.programs) == ["first"]
