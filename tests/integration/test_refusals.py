"""What the chip does not compute is a compile error that names the operation, its place and the element type.

Integers that fp32 holds exactly are computed, and agree with the interpreter.
"""

from __future__ import annotations

import pytest

import tx8ir
from tx8ir.passes import PassError
from tx8ir.testing import check

ARITHMETIC = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "abs", "square", "less_than", "max")
LINE = 2
"""Of the operation in the text."""
SMALL = ("add", "subtract", "multiply", "maximum", "minimum", "less_than")
COMPUTED = {"i8": SMALL, "i16": SMALL, "i32": SMALL}
"""What `backend.lowering.integers` finds exact ways for."""


def program(name: str, element: str) -> tx8ir.Program:
    t = f"!pd.vtensor<2x3x{element}>"
    operands = 1 if name in ("abs", "square", "max") else 2
    given, types = ", ".join(["%x", "%y"][:operands]), ", ".join([t] * operands)
    out = f"!pd.vtensor<{'' if name == 'max' else '2x3x'}{'i1' if name == 'less_than' else element}>"
    return tx8ir.parse(
        f"module {{ func.func @main(%x: {t}, %y: {t}) -> {out} {{\n"
        f'%z = "pd.{name}"({given}) : ({types}) -> {out}\n'
        f"return %z : {out} }} }}"
    )


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "ui8", "ui16", "ui32", "f64"])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic(name: str, element: str) -> None:
    if name in COMPUTED.get(element, ()):
        assert check(program(name, element)).passed
        return
    reason = rf"pd\.{name} .* at loc\(\"<text>\":{LINE}:\d+\): .*\b{element}\b"
    with pytest.raises(PassError, match=reason):
        tx8ir.compile(program(name, element))


@pytest.mark.parametrize(("element", "held"), [("i64", "i32"), ("ui64", "ui32")])
def test_64_bits_are_refused_as_the_32_that_the_chip_has(element: str, held: str) -> None:
    with pytest.raises(PassError, match=rf"pd\.abs .* at loc\(\"<text>\":{LINE}:\d+\): .*, not {held}\b"):
        tx8ir.compile(program("abs", element))


def test_f64_says_how_to_compute_in_another_format() -> None:
    with pytest.raises(
        PassError, match=r"element type f64 is not computed by the TX8; .*CompileOptions\(dtype=.f32.\)"
    ):
        tx8ir.compile(program("add", "f64"))
    assert tx8ir.compile(program("add", "f64"), options=tx8ir.CompileOptions(dtype="f32"))
