"""The vector unit's arithmetic in every rounding mode, against exact arithmetic on integers of any size."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from support.formulas import inexact
from tx8ir.dialects import tx8
from tx8ir.target.formats import Format
from tx8ir.target.rounding import Rounding

FORMATS = ("f32", "f16", "bf16", "tf32")
MODES = (Rounding.NEAREST_EVEN, Rounding.TOWARD_ZERO, Rounding.UPWARD, Rounding.DOWNWARD)
ARITHMETIC = ("add", "sub", "mul", "div")
UNARY = ("abs", "neg", "square", "recip", "sqrt", "relu", "leakyrelu", "satrelu")
ALPHA = {"leakyrelu": 0.1, "satrelu": 2.7}

Parts = tuple[int, int, int, int]
"""Sign, numerator, denominator, exponent of two: a number that is not zero."""


# -- numbers ----------------------------------------------------------------------------------------------------------


def special_numbers(format: Format, count: int) -> NDArray[Any]:
    """About `count` numbers of a format of both signs: where exponents end, around powers of two, and all over."""
    mantissas = format.mantissa_bits
    bias = (1 << (format.exponent_bits - 1)) - 1
    half, full = 1 << (mantissas - 1), (1 << mantissas) - 1
    patterns = [0, 1, full, half, half - 1, half + 1, 2, full - 1]
    exponents = [0, 1, 2 * bias, bias, 2, bias - 1, bias + 1, mantissas, bias - mantissas, bias + mantissas + 1]
    rng = np.random.default_rng(count)
    bits = [0, (2 * bias + 1) << mantissas, ((2 * bias + 1) << mantissas) | half]  # zero, infinity, NaN
    bits += [(e << mantissas) | m for m, e in itertools.product(patterns, exponents)]
    bits = list(dict.fromkeys(bits))[: max(count // 2 - 10, 12)]
    free = count // 2 - len(bits)
    bits += ((rng.integers(0, 2 * bias + 1, free) << mantissas) | rng.integers(0, full, free, endpoint=True)).tolist()
    wide = np.array(bits, np.uint64) << np.uint64(8 * format.bytes - 1 - mantissas - format.exponent_bits)
    signs = np.uint64(1 << (8 * format.bytes - 1))
    return np.concatenate([wide, wide | signs]).astype(f"u{format.bytes}").view(format.dtype)


def test_special_numbers_are_of_the_format() -> None:
    for name in FORMATS:
        format = Format.named(name)
        numbers = special_numbers(format, 300)
        assert len(numbers) == 300
        assert not (
            numbers.view(f"u{format.bytes}") & ((1 << (23 - format.mantissa_bits)) - 1 if format.bytes == 4 else 0)
        ).any()
        wide = numbers.astype(np.float64)
        assert np.isnan(wide).any()
        assert np.isinf(wide).any()
        assert (wide == 0).any()


# -- the oracle -------------------------------------------------------------------------------------------------------


def parts(x: float) -> Parts:
    numerator, denominator = abs(x).as_integer_ratio()
    return int(math.copysign(1, x) < 0), numerator, denominator, 0


def times(a: Parts, b: Parts) -> Parts:
    return a[0] ^ b[0], a[1] * b[1], a[2] * b[2], 0


def rounded(number: Parts, format: Format, mode: Rounding) -> float:
    """A number that is not zero, rounded once: the definition, in integers."""
    sign, numerator, denominator, exponent = number
    bias = (1 << (format.exponent_bits - 1)) - 1
    leading = numerator.bit_length() - denominator.bit_length()
    if numerator << max(-leading, 0) < denominator << max(leading, 0):
        leading -= 1
    unit = max(leading + exponent, 1 - bias) - format.mantissa_bits
    shift = exponent - unit
    if shift >= 0:
        numerator <<= shift
    else:
        denominator <<= -shift
    whole, rest = divmod(numerator, denominator)
    match mode:
        case Rounding.NEAREST_EVEN:
            away = 2 * rest > denominator or (2 * rest == denominator and whole & 1)
        case Rounding.UPWARD:
            away = rest and not sign
        case Rounding.DOWNWARD:
            away = rest and sign
        case _:
            away = False
    whole += bool(away)
    if whole.bit_length() + unit > bias + 1:
        infinite = mode is Rounding.NEAREST_EVEN or mode is (Rounding.DOWNWARD if sign else Rounding.UPWARD)
        largest = math.ldexp((1 << (format.mantissa_bits + 1)) - 1, bias - format.mantissa_bits)
        value = math.inf if infinite else largest
    else:
        value = math.ldexp(whole, unit)
    return -value if sign else value


def exact_binary(function: str, x: float, y: float, mode: Rounding) -> float | Parts:
    """The result where it is a special case of IEEE 754, else the exact one."""
    if function == "sub":
        function, y = "add", -y
    if math.isnan(x) or math.isnan(y):
        return math.nan
    sign = math.copysign(1, x) * math.copysign(1, y)
    if function == "add":
        if math.isinf(x) or math.isinf(y):
            return x + y
        (sx, nx, dx, _), (sy, ny, dy, _) = parts(x), parts(y)
        total = (-nx if sx else nx) * dy + (-ny if sy else ny) * dx
        if total:
            return int(total < 0), abs(total), dx * dy, 0
        if x == 0 and sx == sy:
            return x
        return -0.0 if mode is Rounding.DOWNWARD else 0.0
    if function == "mul":
        if math.isinf(x) or math.isinf(y) or x == 0 or y == 0:
            return x * y
        return times(parts(x), parts(y))
    if math.isinf(x):
        return math.nan if math.isinf(y) else math.copysign(math.inf, sign)
    if math.isinf(y):
        return math.copysign(0.0, sign)
    if y == 0:
        return math.nan if x == 0 else math.copysign(math.inf, sign)
    if x == 0:
        return math.copysign(0.0, sign)
    a, b = parts(x), parts(y)
    return times(a, (b[0], b[2], b[1], 0))


def exact_unary(function: str, x: float, mode: Rounding) -> float | Parts:
    match function:
        case "square":
            return exact_binary("mul", x, x, mode)
        case "recip":
            return exact_binary("div", 1.0, x, mode)
        case "abs":
            return abs(x)
        case "neg":
            return 0.0 if x == 0 else -x
        case "relu":
            return x if math.isnan(x) or x > 0 else 0.0
        case "satrelu":
            alpha = float(np.float32(ALPHA[function]))
            return x if math.isnan(x) else 0.0 if x <= 0 else x if x <= alpha else parts(alpha)
        case "leakyrelu":
            alpha = float(np.float32(ALPHA[function]))
            return x if x >= 0 else exact_binary("mul", x, alpha, mode)
        case _:
            assert function == "sqrt"
    if math.isnan(x) or x < 0:
        return math.nan
    if x == 0 or math.isinf(x):
        return x
    _, numerator, denominator, _ = parts(x)  # the denominator is a power of two
    places = denominator.bit_length() - 1
    places += places & 1
    scaled = (numerator << places) // denominator
    more = 80  # digits, far more than any format has; what is below them only matters if it is not zero
    root = math.isqrt(scaled << 2 * more)
    sticky = root * root != scaled << 2 * more
    return 0, 2 * root + sticky, 1, -(places // 2) - more - 1


def settled(exact: float | Parts, format: Format, mode: Rounding) -> float:
    return rounded(exact, format, mode) if isinstance(exact, tuple) else exact


def assert_same(got: NDArray[Any], want: list[float], of: str) -> None:
    found, expected = got.astype(np.float64), np.array(want, np.float64)
    same = (found == expected) & (np.signbit(found) == np.signbit(expected))
    same |= np.isnan(found) & np.isnan(expected)
    wrong = np.flatnonzero(~same)
    assert not len(wrong), (
        f"{of}: {len(wrong)} of {len(want)} differ, first {wrong[0]}: {found[wrong[0]]} for {expected[wrong[0]]}"
    )


# -- on the simulator -------------------------------------------------------------------------------------------------


def run(tools: Any, op: Any, operands: dict[str, NDArray[Any]], format: str, **fields: Any) -> NDArray[Any]:
    """One instruction over the operands on one tile."""
    bench = tools.Bench((0,))
    addresses = {name: bench.put_array(values[None]) for name, values in operands.items()}
    first = next(iter(operands.values()))
    dst = bench.room(first.nbytes)
    bench.do(op, **addresses, dst=dst, count=len(first), format=format, **fields)
    bench.get(dst, first.nbytes)
    (out,) = bench.run()
    return tools.elements(out, format)[0]


def check_binary(tools: Any, name: str, count: int) -> None:
    format = Format.named(name)
    numbers = special_numbers(format, count)
    x, y = np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))
    pairs = list(zip(x.astype(np.float64).tolist(), y.astype(np.float64).tolist(), strict=True))
    for function in ARITHMETIC:
        for mode in MODES:
            want = [settled(exact_binary(function, a, b, mode), format, mode) for a, b in pairs]
            got = run(tools, tx8.binary_vv, {"lhs": x, "rhs": y}, name, function=function, rounding=int(mode))
            assert_same(got, want, f"{function} of {name}, {mode.name}")


def check_unary(tools: Any, name: str, numbers: NDArray[Any]) -> None:
    format = Format.named(name)
    values = numbers.astype(np.float64).tolist()
    for function in UNARY:
        extra = {"alpha": ALPHA[function]} if function in ALPHA else {}
        for mode in MODES:
            want = [settled(exact_unary(function, x, mode), format, mode) for x in values]
            got = run(tools, tx8.unary, {"src": numbers}, name, function=function, rounding=int(mode), **extra)
            assert_same(got, want, f"{function} of {name}, {mode.name}")


@pytest.mark.parametrize("format", FORMATS)
def test_arithmetic_rounds_once_in_every_mode(tools: Any, format: str) -> None:
    check_binary(tools, format, 48)


@pytest.mark.nightly
@pytest.mark.parametrize("format", FORMATS)
def test_arithmetic_of_all_pairs_of_special_numbers_rounds_once(tools: Any, format: str) -> None:
    check_binary(tools, format, 300)


@pytest.mark.parametrize("format", FORMATS)
def test_functions_of_one_number_round_once_in_every_mode(tools: Any, format: str) -> None:
    check_unary(tools, format, special_numbers(Format.named(format), 300))


@pytest.mark.nightly
@pytest.mark.parametrize("format", ["f16", "bf16"])
def test_functions_of_all_numbers_of_16_bits_round_once(tools: Any, format: str) -> None:
    check_unary(tools, format, np.arange(1 << 16, dtype=np.uint16).view(Format.named(format).dtype))


def test_the_largest_bf16_twice_stays_finite_toward_zero(tools: Any) -> None:
    format = Format.named("bf16")
    largest = np.array([0x7F7F], np.uint16).view(format.dtype)
    got = run(tools, tx8.binary_vv, {"lhs": largest, "rhs": largest}, "bf16", function="add", rounding=1)
    assert got.view(np.uint16).tolist() == [0x7F7F]


@pytest.mark.parametrize("form", ["vs", "vuv", "vuv_loop"])
def test_every_form_rounds_in_its_mode(tools: Any, form: str) -> None:
    x = np.full(128, 1, np.float32)
    small = np.float32(2**-40)
    fields: dict[str, Any] = {"function": "add", "rounding": int(Rounding.UPWARD)}
    if form == "vs":
        got = run(tools, tx8.binary_vs, {"src": x}, "f32", scalar=int(small.view(np.uint32)), **fields)
    else:
        bench = tools.Bench((0,))
        src, unit, dst = bench.put_array(x[None]), bench.put_array(np.full((1, 64), small)), bench.room(512)
        fields |= {"src": src, "unit": unit, "dst": dst, "count": 128, "unit_count": 64, "format": "f32"}
        if form == "vuv":
            bench.do(tx8.binary_vuv, **fields)
        else:
            bench.do(tx8.binary_vuv_loop, full_count=128, full_unit_count=64, **fields)
        bench.get(dst, 512)
        got = tools.elements(bench.run()[0], "f32")[0]
    assert (got == np.nextafter(np.float32(1), np.float32(2))).all()


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("function", ARITHMETIC)
def test_stochastic_rounding_takes_either_neighbour_as_often_as_it_is_near(
    tools: Any, function: str, format: str
) -> None:
    count = 20_000
    dtype = Format.named(format).dtype
    x, y = np.full(count, 1.7, dtype), np.full(count, 0.013, dtype)
    if format == "tf32":
        x, y = ((side.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) for side in (x, y))
    sides = {"lhs": x, "rhs": y}
    down, up, drawn, again = (
        run(tools, tx8.binary_vv, sides, format, function=function, rounding=mode).astype(np.float64)
        for mode in (3, 2, 4, 4)
    )
    assert (down < up).all()
    assert ((drawn == down) | (drawn == up)).all()
    np.testing.assert_array_equal(drawn, again)  # of one seed
    a, b = (float(side[0]) for side in sides.values())
    exact = {"add": a + b, "sub": a - b, "mul": a * b, "div": a / b}[function]
    share = (exact - down[0]) / (up[0] - down[0])
    assert abs(np.mean(drawn == up) - share) < 5 * math.sqrt(share * (1 - share) / count) + 1e-3


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("function", inexact())
def test_other_functions_round_to_the_side_of_their_mode(tools: Any, function: str, format: str) -> None:
    x = special_numbers(Format.named(format), 300)
    nearest, zero, up, down = (
        run(tools, tx8.unary, {"src": x}, format, function=function, rounding=int(mode)).astype(np.float64)
        for mode in MODES
    )
    nan = np.isnan(nearest)
    for other in (zero, up, down):
        np.testing.assert_array_equal(np.isnan(other), nan)
    numbers = ~nan
    assert (down[numbers] <= up[numbers]).all()
    assert (zero[numbers] == np.where(up > 0, np.maximum(down, 0), up)[numbers]).all()
    assert (np.abs(zero) <= np.abs(np.where(up > 0, up, down)))[numbers].all()
    assert (down < up).any()
