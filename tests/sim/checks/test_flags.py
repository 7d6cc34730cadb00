"""Flags say where arithmetic first gave a NaN or an infinity; programs on one chip must not share DDR."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tx8ir.dialects import tx8
from tx8ir.kernels import Kernel
from tx8ir.sim import MultiProgramChip, SimError, Simulator, flags_table


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


def rows(build: Callable[[Kernel], None]) -> list[tuple[str, int, str]]:
    """(flag, tile, instruction class) of a kernel on tiles 0 and 1."""
    k = Kernel("flags", (0, 1))
    build(k)
    return [(row.flag, row.tile, row.instruction) for row in Simulator(k.program()).run({}).flags]


def test_an_operand_that_the_result_overwrites_is_looked_at_before() -> None:
    def overflows(k: Kernel) -> None:
        a = k.spm("a", (64,), "f32")
        k.fill(a, 2.0**100)
        with k.on(1):
            k.unary("square", a, a)
            k.unary("square", a, a)  # infinite before

    assert rows(overflows) == [("infinity", 1, "tx8.unary"), ("overflow", 1, "tx8.unary")]

    def inherits(k: Kernel) -> None:
        a = k.spm("a", (64,), "bf16")
        k.fill(a, float("inf"))
        k.binary("add", a, a, 1.0)

    assert rows(inherits) == [("infinity", 0, "tx8.binary_vs"), ("infinity", 1, "tx8.binary_vs")]


def test_a_conversion_to_a_narrower_format_overflows() -> None:
    def convert(k: Kernel) -> None:
        a, b = k.spm("a", (64,), "f32"), k.spm("b", (64,), "f32")
        k.fill(a, 65520.0)
        k.instruction(tx8.convert, src=a, dst=b, count=64, src_format="f32", dst_format="f16")

    assert {flag for flag, _, _ in rows(convert)} == {"infinity", "overflow"}


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_padding_of_a_blocked_tensor_raises_nothing(value: float) -> None:
    """The reciprocal runs over the padding of a product, which is zero."""

    def products(k: Kernel) -> None:
        a, b, c = k.matrix("a", 4, 8, "f32"), k.matrix("b", 8, 5, "f32"), k.matrix("c", 4, 5, "f32")
        k.fill(a, value)
        k.fill(b, 1.0)
        k.gemm(c, a, b)
        k.unary("recip", c, c)

    assert rows(products) == ([] if value else [("infinity", 0, "tx8.unary"), ("infinity", 1, "tx8.unary")])


def test_a_flag_says_where_it_was_raised() -> None:
    k = Kernel("roots", (2,))
    a = k.spm("a", (4,), "f32")
    k.fill(a, -1.0)
    k.unary("sqrt", a, a)
    (row,) = Simulator(k.program()).run({}).flags
    assert str(row).startswith(
        'nan on tile 2: instruction 1 (tx8.unary from "roots"), operand dst, SPM [0x10000, 0x10010) at '
    )
    assert "test_flags.py" in str(row)


def test_reports_show_the_first_of_each_kind() -> None:
    k = Kernel("roots", (2, 3, 4))
    a = k.spm("a", (4,), "f32")
    k.fill(a, -1.0)
    with k.on(3, 4):
        k.unary("sqrt", a, a)
    k.unary("ln", a, a)
    result = Simulator(k.program()).run({})
    table = flags_table(result.flags)
    assert [row[:5] for row in table.rows] == [("nan", "3", "3", "1 tx8.unary", "roots")]
    shown = result._repr_html_()
    assert "results that are not finite" in shown
    assert "critical path" in shown
    harmless = Simulator(Kernel("nothing", (0,)).program()).run({})
    assert "not finite" not in harmless._repr_html_()


def test_a_sum_of_large_finite_numbers_raises_nothing() -> None:
    assert flags("abs", "f32", [3e38] * 8) == []


def test_programs_that_share_ddr_cannot_be_loaded_together() -> None:
    def program(name: str, skip: int) -> Kernel:
        k = Kernel(name, (0,))
        if skip:
            k.scratch("skipped", (skip,), "i8")
        k.store(k.output(name, (16,), "f32"), k.spm("a", (16,), "f32"))
        return k

    chip = MultiProgramChip()
    chip.load("first", program("x", 0).program())
    message = r'segment "y" .* of program "second" overlaps segment "x" \[0x280000000, 0x280000040\) of program "first"'
    with pytest.raises(SimError, match=message):
        chip.load("second", program("y", 0).program())
    with pytest.raises(SimError, match='a program named "first" is loaded already'):
        chip.load("first", program("y", 4096).program())
    assert list(chip.programs) == ["first"]
