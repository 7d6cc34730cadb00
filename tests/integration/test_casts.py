"""Casts between all element types against Python's integers and fractions, in the interpreter and on the chip."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

import tx8ir
from tx8ir.core import ScalarType
from tx8ir.interpreter import evaluate
from tx8ir.passes import PassError, PassManager
from tx8ir.target.formats import F64, Format
from tx8ir.target.rounding import convert

INTEGERS = ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64")
FLOATS = ("f16", "bf16", "tf32", "f32", "f64")
ELEMENTS = (*INTEGERS, *FLOATS, "i1")
ON_CHIP = ("i8", "i16", "i32", "i64", "f16", "bf16", "tf32", "f32")
"""What the vector unit converts between, and i64, in 32 bits."""


def program(source: str, target: str, count: int) -> tx8ir.Program:
    x, y = (f"!pd.vtensor<{count}x{element}>" for element in (source, target))
    return tx8ir.parse(
        f'module {{ func.func @main(%x: {x}) -> {y} {{ %y = "pd.cast"(%x) {{dtype = {target}}} : ({x}) -> {y}\n'
        f"return %y : {y} }} }}"
    )


def format_of(element: str) -> Format:
    return ScalarType.of(element).format


def limits(format: Format) -> tuple[int, int]:
    return (
        (-(1 << (format.bits - 1)), (1 << (format.bits - 1)) - 1) if format.is_signed else (0, (1 << format.bits) - 1)
    )


def interesting(element: str) -> NDArray[np.generic]:
    """Numbers where casts wrap, saturate, truncate or round."""
    format = format_of(element)
    if element == "i1":
        return np.array([False, True])
    powers = [
        sign * (2**e + d)
        for e in (0, 1, 7, 8, 11, 15, 16, 24, 25, 31, 32, 53, 54, 63, 64)
        for d in (-1, 0, 1, 3)
        for sign in (1, -1)
    ]
    whole = [
        0,
        200,
        -200,
        2**32 + 2**24 + 1,
        2**40 + 2**16 + 1,
        2**60 + 2**36 + 1,
        123456789012345,
        -987654321,
        *powers,
    ]
    if format.is_integer:
        low, high = limits(format)
        return np.array(sorted({n for n in (*whole, low, high) if low <= n <= high}), format.dtype)
    floats = [*map(float, whole), 0.5, -0.5, -0.0, 0.99, 1.5, -1.5, 127.9, -128.9, 32767.5, 1e-30, 1e20, -1e20, 3e38]
    wide = np.array([*floats, math.inf, -math.inf, math.nan], np.float64)
    with np.errstate(all="ignore"):
        return wide if format is F64 else convert(wide, F64, format)


def rounded(number: Fraction, format: Format) -> float:
    """A number to nearest even, by the definition."""
    if number == 0:
        return 0.0
    bias = (1 << (format.exponent_bits - 1)) - 1
    size = abs(number)
    leading = size.numerator.bit_length() - size.denominator.bit_length()
    leading -= size < Fraction(2) ** leading
    unit = Fraction(2) ** (max(leading, 1 - bias) - format.mantissa_bits)
    value = round(size / unit) * unit  # Python rounds a half to even
    result = math.inf if value >= Fraction(2) ** (bias + 1) else float(value)
    return result if number > 0 else -result


def expected(value: float | bool, source: str, target: str) -> float | int | bool:
    goal = format_of(target)
    if target == "i1":
        return value != 0
    if goal.is_float:
        return rounded(Fraction(value), goal) if math.isfinite(value) and value else float(value)
    low, high = limits(goal)
    if source in FLOATS:
        if not math.isfinite(value):
            return 0 if math.isnan(value) else high if value > 0 else low
        return min(max(math.trunc(value), low), high)
    return (int(value) - low) % (1 << goal.bits) + low


def same(got: NDArray[np.generic], want: list[float | int | bool], target: str) -> None:
    if target in FLOATS:
        found, wanted = got.astype(np.float64), np.array(want, np.float64)
        equal = (found == wanted) & (np.signbit(found) == np.signbit(wanted)) | (np.isnan(found) & np.isnan(wanted))
        assert equal.all(), (found[~equal][:5], wanted[~equal][:5])
    else:
        assert [int(g) for g in got] == [int(w) for w in want]


PAIRS = [(s, t) for s, t in itertools.product(ELEMENTS, ELEMENTS) if s != t]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_the_interpreter_casts_exactly(source: str, target: str) -> None:
    x = interesting(source)
    want = [expected(v, source, target) for v in x.tolist()]
    (got,) = evaluate(program(source, target, len(x)), {"arg0": x}, precision="native").values()
    same(got, want, target)


@pytest.mark.parametrize(("source", "target"), [(s, t) for s, t in PAIRS if {s, t} <= {*ON_CHIP, "i1"}])
def test_the_chip_casts_exactly(source: str, target: str) -> None:
    x = interesting(source)
    if source == "i64":
        x = x[(x >= -(2**31)) & (x < 2**31)]
    if target == "i64" and source in FLOATS:
        wide = x.astype(np.float64)
        x = x[np.isnan(wide) | (wide >= -(2.0**31)) & (wide < 2.0**31)]
    want = [expected(v, source, target) for v in x.tolist()]
    (got,) = tx8ir.compile(program(source, target, len(x))).run(arg0=x).values()
    same(got, want, target)


HELD_IN_ONE_FORMAT = [("ui64", "ui32"), ("ui32", "ui64")]
REFUSED = [(s, t) for s, t in PAIRS if not {s, t} <= {*ON_CHIP, "i1"} and (s, t) not in HELD_IN_ONE_FORMAT]


@pytest.mark.parametrize(("source", "target"), REFUSED)
def test_what_the_chip_does_not_cast_is_an_error_that_names_the_operation(source: str, target: str) -> None:
    unknown = {source, target} - {*ON_CHIP, "i1"}
    named = "|".join("ui32" if element == "ui64" else element for element in sorted(unknown))  # after `convert-dtype`
    with pytest.raises(PassError, match=rf'pd\.cast .* at loc\("<text>":1:\d+\): .*\b({named})\b'):
        tx8ir.compile(program(source, target, 4))


@pytest.mark.parametrize(("source", "target"), HELD_IN_ONE_FORMAT)
def test_unsigned_integers_of_64_bits_are_held_in_32(source: str, target: str) -> None:
    executable = tx8ir.compile(program(source, target, 3))
    x = np.array([0, 1, 2**32 - 1], format_of(source).dtype)
    (got,) = executable.run(arg0=x).values()
    same(got, x.tolist(), target)
    if source == "ui64":
        with pytest.raises(tx8ir.InputError, match="from 0 to 4294967295; given: 4294967296"):
            executable.run(arg0=np.array([0, 2**32, 1], np.uint64))


@pytest.mark.parametrize("source", ["f16", "bf16", "tf32", "f32"])
@pytest.mark.parametrize("value", [2.0**31, -(2.0**31) * 1.25, 1e10, math.inf, -math.inf])
def test_an_integer_beyond_32_bits_is_an_error_of_the_run(source: str, value: float) -> None:
    x = np.zeros(70)
    x[33] = value
    with np.errstate(over="ignore"):
        given = convert(x, F64, format_of(source))
    with pytest.raises(tx8ir.RangeError, match=r"pd\.cast .* -2147483648 to 2147483647"):
        tx8ir.compile(program(source, "i64", 70)).run(arg0=given)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_the_range_check_holds_in_a_narrower_format(dtype: str) -> None:
    executable = tx8ir.compile(program("f32", "i64", 70), options=tx8ir.CompileOptions(dtype=dtype))
    (got,) = executable.run(arg0=np.full(70, 65504.0 if dtype == "float16" else -(2.0**31), np.float32)).values()
    assert set(got.tolist()) == {65504 if dtype == "float16" else -(2**31)}
    with pytest.raises(tx8ir.RangeError):
        executable.run(arg0=np.full(70, 1e10, np.float32))


def test_a_saved_executable_checks_too(tmp_path) -> None:
    tx8ir.compile(program("f32", "i64", 70)).save(tmp_path)
    executable = tx8ir.Executable.load(tmp_path)
    assert list(executable.run(arg0=np.zeros(70, np.float32))) == ["result0"]
    with pytest.raises(tx8ir.RangeError):
        executable.run(arg0=np.full(70, 1e10, np.float32))


def test_a_large_tensor_is_checked_too() -> None:
    x = np.zeros((3, 70, 201), np.float32)
    text = str(program("f32", "i64", 42)).replace("42x", "3x70x201x")
    executable = tx8ir.compile(tx8ir.parse(text))
    executable.run(arg0=x)
    x[2, 69, 200] = 1e10
    with pytest.raises(tx8ir.RangeError):
        executable.run(arg0=x)


def test_arithmetic_of_constants_keeps_64_bits_until_it_is_rounded() -> None:
    """4,000,000,000 does not fit in 32 bits, but the fp32 number that it becomes is exact."""
    t = "!pd.vtensor<2xi64>"
    text = f"""module {{ func.func @main(%x: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {{
        %c = "builtin.constant"() {{value = dense<[2000000000, 2]> : {t}}} : () -> {t}
        %d = "pd.add"(%c, %c) : ({t}, {t}) -> {t}
        %e = "pd.cast"(%d) {{dtype = f32}} : ({t}) -> !pd.vtensor<2xf32>
        %y = "pd.add"(%x, %e) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
        return %y : !pd.vtensor<2xf32> }} }}"""
    working = tx8ir.parse(text)
    PassManager.parse("convert-dtype").run(working)
    for got in (
        *evaluate(working, {"arg0": np.zeros(2, np.float32)}).values(),
        *tx8ir.compile(tx8ir.parse(text)).run(arg0=np.zeros(2, np.float32)).values(),
    ):
        assert got.tolist() == [4e9, 4.0]
