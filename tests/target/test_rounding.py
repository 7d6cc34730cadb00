"""Conversions against an independent oracle: exact rationals, and the neighbours found in a list of all values."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.target import arithmetic
from tx8ir.target.formats import (
    ALL,
    BF16,
    F16,
    F32,
    F64,
    I1,
    I4,
    I8,
    I16,
    I32,
    I64,
    TF32,
    UI4,
    UI8,
    UI16,
    UI32,
    UI64,
    Format,
)
from tx8ir.target.rounding import Rounding, convert

# The oracles cast signalling NaNs and overflow on purpose; the flags that NumPy raises then do not matter here.
pytestmark = pytest.mark.filterwarnings("ignore:(invalid value|overflow) encountered:RuntimeWarning")

FLOATS = (F16, BF16, TF32, F32, F64)
INTEGERS = (I4, UI4, I8, UI8, I16, UI16, I32, UI32, I64, UI64)
EXACT_MODES = tuple(mode for mode in Rounding if mode is not Rounding.STOCHASTIC)


def bits_of(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.dtype.itemsize}")


def same_bits(left: np.ndarray, right: np.ndarray) -> None:
    """Equal bit for bit, except that any NaN equals any NaN."""
    assert left.dtype == right.dtype
    both_nan = np.isnan(left.astype(np.float64)) & np.isnan(right.astype(np.float64))
    wrong = (bits_of(left) != bits_of(right)) & ~both_nan
    assert not wrong.any(), (left[wrong][:5], right[wrong][:5])


def all_16_bit(format: Format) -> np.ndarray:
    return np.arange(1 << 16, dtype=np.uint16).view(format.dtype)


def round_exactly(x: Fraction, unit: Fraction, mode: Rounding) -> Fraction:
    """The multiple of `unit` that `mode` chooses for x, by rational arithmetic."""
    below = math.floor(x / unit)
    rest = x / unit - below
    match mode:
        case Rounding.NEAREST_EVEN:
            up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1)
        case Rounding.TOWARD_ZERO:
            up = rest > 0 and x < 0
        case Rounding.UPWARD:
            up = rest > 0
        case _:
            up = False
    return (below + up) * unit


def expected_float(x: float, format: Format, mode: Rounding) -> float:
    """What IEEE 754 says for a value rounded to a binary format (as a Python float)."""
    if isinstance(x, float) and not math.isfinite(x):
        return x
    exact = Fraction(x)
    if exact == 0:
        return float(x)
    bias = (1 << (format.exponent_bits - 1)) - 1
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    rounded = round_exactly(exact, Fraction(2) ** (max(exponent, 1 - bias) - format.mantissa_bits), mode)
    largest = (2 - Fraction(2) ** -format.mantissa_bits) * Fraction(2) ** bias
    if abs(rounded) > largest:
        sign = 1 if exact > 0 else -1
        stops = mode is Rounding.TOWARD_ZERO or (mode is Rounding.UPWARD) == (sign < 0)
        return sign * (float(largest) if stops and mode is not Rounding.NEAREST_EVEN else math.inf)
    return math.copysign(float(rounded), float(exact)) if rounded == 0 else float(rounded)


def interesting(format: Format, count: int = 250) -> np.ndarray:
    """Values of a format: random bits, magnitudes around every other format's limits, ties and their neighbours."""
    rng = np.random.default_rng(7)
    if format.is_integer:
        low, high = -(1 << (format.bits - 1)) if format.is_signed else 0, (1 << (format.bits - format.is_signed)) - 1
        numbers = {low, low + 1, high, high - 1, 0, 1}
        for power in range(format.bits):
            numbers |= {sign * ((1 << power) + d) for d in (-1, 0, 1) for sign in (-1, 1)}
            numbers |= {(1 << power) + ((1 << power) >> s) + d for s in (8, 9, 11, 12, 24, 25) for d in (-1, 0, 1)}
        numbers |= {
            int(rng.integers(low, high, endpoint=True, dtype=np.int64 if low else np.uint64)) for _ in range(count)
        }
        kept = sorted(n for n in numbers if low <= n <= high)
        carrier = np.int8 if format.bits < 8 else format.dtype
        return np.array(kept, carrier).astype(format.dtype)
    width = format.dtype.itemsize * 8
    noise = (
        rng.integers(0, 1 << width, count, dtype=np.uint64, endpoint=False)
        if width < 64
        else rng.integers(0, (1 << 64) - 1, count, dtype=np.uint64)
    )
    values = [noise.astype(f"u{width // 8}").view(format.dtype).astype(np.float64)]
    # Near the least subnormal, the least normal and the largest number of each format, and across the integers.
    scales = [
        2.0**e
        for e in (-150, -149, -134, -133, -126, -127, -25, -24, -14, -15, 0, 3, 7, 8, 15, 16, 31, 32, 63, 64, 127)
    ]
    mantissas = [1 + 2.0**-s * k for s in (7, 8, 10, 11, 12, 23, 24) for k in (0, 1, 3)] + [
        2 - 2.0**-s for s in (8, 9, 11, 12, 24)
    ]
    grid = np.outer(scales, mantissas).ravel()
    values += [
        grid,
        -grid,
        np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, 1.5, 2.5, -0.5, 127.5, -128.5, 65519.0, 65520.0]),
    ]
    with np.errstate(all="ignore"):
        array = np.concatenate(values).astype(np.float32).astype(format.dtype) if width < 64 else np.concatenate(values)
    if format is TF32:
        array = (array.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return array


def as_python(array: np.ndarray, format: Format) -> list[float] | list[int]:
    return [float(v) if format.is_float else int(v) for v in array]


class TestSixteenBitInputs:
    @pytest.mark.parametrize("format", [F16, BF16], ids=str)
    @pytest.mark.parametrize("wide", [F32, TF32, F64], ids=str)
    @pytest.mark.parametrize("mode", EXACT_MODES)
    def test_widening_is_exact_in_every_mode(self, format, wide, mode):
        every = all_16_bit(format)
        same_bits(convert(every, format, wide, mode), every.astype(wide.dtype))

    @pytest.mark.parametrize(("source", "destination"), [(F16, BF16), (BF16, F16)], ids=str)
    def test_to_the_other_sixteen_bit_format_every_mode_every_input(self, source, destination):
        every = all_16_bit(source)
        held = all_16_bit(destination).astype(np.float64)
        table = np.sort(held[np.isfinite(held)])
        exact = every.astype(np.float64)
        nearest = exact.astype(np.float32 if destination is BF16 else np.float16)  # exact, or NumPy's one rounding
        same_bits(convert(every, source, destination), nearest.astype(destination.dtype))
        for mode in (Rounding.UPWARD, Rounding.DOWNWARD, Rounding.TOWARD_ZERO):
            # The neighbour above (below) in the sorted list of everything the destination can hold.
            above = np.append(table, np.inf)[np.searchsorted(table, exact, "left")]
            below = np.insert(table, 0, -np.inf)[np.searchsorted(table, exact, "right")]
            chosen = {
                Rounding.UPWARD: above,
                Rounding.DOWNWARD: below,
                Rounding.TOWARD_ZERO: np.where(exact < 0, above, below),
            }[mode]
            chosen = np.where(np.isfinite(exact), np.copysign(chosen, exact), exact)
            same_bits(convert(every, source, destination, mode), chosen.astype(np.float32).astype(destination.dtype))

    @pytest.mark.parametrize("format", [F16, BF16], ids=str)
    def test_narrowing_undoes_widening(self, format):
        every = all_16_bit(format)
        for mode in EXACT_MODES:
            same_bits(convert(every.astype(np.float32), F32, format, mode), every)

    @pytest.mark.parametrize("format", [F16, BF16], ids=str)
    @pytest.mark.parametrize("integer", [I8, UI8, I16, I32], ids=str)
    def test_to_integers_rounds_saturates_and_sends_nan_to_zero(self, format, integer):
        every = all_16_bit(format)
        limits = np.iinfo(integer.dtype)
        nearest = np.nan_to_num(np.rint(every.astype(np.float64)), nan=0.0, posinf=np.inf, neginf=-np.inf)
        expected = np.clip(nearest, limits.min, limits.max).astype(integer.dtype)
        np.testing.assert_array_equal(convert(every, format, integer), expected)


class TestNearestEvenAgainstTheLibraries:
    @pytest.fixture
    def samples(self) -> np.ndarray:
        bits = np.random.default_rng(0).integers(0, 1 << 32, 200_000, dtype=np.uint64).astype(np.uint32)
        return np.concatenate([bits.view(np.float32), interesting(F32)])

    def test_f16_is_numpys(self, samples):
        with np.errstate(all="ignore"):
            same_bits(convert(samples, F32, F16), samples.astype(np.float16))

    def test_bf16_is_ml_dtypes(self, samples):
        same_bits(convert(samples, F32, BF16), samples.astype(ml_dtypes.bfloat16))

    def test_tf32_has_low_13_bits_zero_and_is_the_nearest(self, samples):
        rounded = convert(samples, F32, TF32)
        assert not (rounded.view(np.uint32) & 0x1FFF).any()
        finite = np.isfinite(samples) & np.isfinite(rounded)
        upper, lower = convert(samples, F32, TF32, Rounding.UPWARD), convert(samples, F32, TF32, Rounding.DOWNWARD)
        wide = [array.astype(np.float64) for array in (samples, rounded, upper, lower)]
        error = np.abs(wide[1] - wide[0])[finite]
        with np.errstate(invalid="ignore"):
            assert (error <= np.abs(wide[2] - wide[0])[finite]).all()
            assert (error <= np.abs(wide[3] - wide[0])[finite]).all()

    def test_tf32_keeps_a_nan_whose_payload_is_all_in_the_bits_cut_off(self):
        signalling = np.array([0x7F800001, 0xFFFFFFFF, 0x7FFFFFFF], np.uint32).view(np.float32)
        for mode in EXACT_MODES:
            result = convert(signalling, F32, TF32, mode)
            assert np.isnan(result).all()
            assert not (result.view(np.uint32) & 0x1FFF).any()

    def test_an_array_carrying_tf32_with_stray_bits_is_rounded(self):
        stray = np.array([1 + 2.0**-12], np.float32)
        assert convert(stray, TF32, TF32)[0] == 1.0


@pytest.mark.parametrize("mode", EXACT_MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("source", FLOATS + INTEGERS, ids=str)
def test_every_pair_to_a_floating_format_is_exact(source, mode):
    array = interesting(source)
    numbers = as_python(array, source)
    for destination in FLOATS:
        expected = [expected_float(number, destination, mode) for number in numbers]
        actual = convert(array, source, destination, mode)
        assert actual.dtype == destination.dtype
        same_bits(actual.astype(np.float64), np.array(expected, np.float64))


@pytest.mark.parametrize("mode", EXACT_MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("source", FLOATS + INTEGERS, ids=str)
def test_every_pair_to_an_integer_format_is_exact(source, mode):
    array = interesting(source)
    for destination in INTEGERS:
        low = -(1 << (destination.bits - 1)) if destination.is_signed else 0
        high = (1 << (destination.bits - destination.is_signed)) - 1
        actual = convert(array, source, destination, mode)
        assert actual.dtype == destination.dtype
        for number, result in zip(as_python(array, source), actual, strict=True):
            if isinstance(number, float) and not math.isfinite(number):
                expected = 0 if math.isnan(number) else (high if number > 0 else low)
            else:
                expected = int(round_exactly(Fraction(number), Fraction(1), mode))
                if source.is_float:
                    expected = min(max(expected, low), high)
                else:
                    expected = (expected - low) % (1 << destination.bits) + low
            assert int(result) == expected, (number, destination.name)


@pytest.mark.parametrize("format", FLOATS + INTEGERS, ids=str)
def test_bool_is_whether_the_value_is_not_zero(format):
    array = interesting(format)
    expected = np.array([number != 0 for number in as_python(array, format)])
    result = convert(array, format, I1)
    assert result.dtype == np.bool_
    np.testing.assert_array_equal(result, expected)
    back = convert(result, I1, format)
    assert back.dtype == format.dtype
    np.testing.assert_array_equal(back.astype(np.float64), expected.astype(np.float64))


class TestStochastic:
    @pytest.mark.parametrize(
        ("source", "destination"), [(F32, BF16), (F32, TF32), (F64, F16), (F32, I8), (I32, BF16), (I64, F32)]
    )
    @pytest.mark.parametrize("sign", [1, -1])
    def test_mean_is_the_value_and_results_are_its_neighbours(self, source, destination, sign):
        # A quarter (I64 to F32: an eighth) of the way between two neighbours.
        exact = {BF16: 256.5, TF32: 2048.5, F16: 2048.5, I8: 3.25, F32: 2.0**24 + 0.5}[destination]
        if source.is_integer:
            exact = {BF16: 513, F32: 2**26 + 1}[destination]
        array = np.full(40_000, sign * exact, source.dtype)
        result = convert(array, source, destination, Rounding.STOCHASTIC, np.random.default_rng(3)).astype(np.float64)
        neighbours = {
            float(convert(array[:1], source, destination, mode)[0]) for mode in (Rounding.UPWARD, Rounding.DOWNWARD)
        }
        assert len(neighbours) == 2
        assert set(result) == neighbours
        gap = max(neighbours) - min(neighbours)
        # Five standard errors of the mean of Bernoulli(1/4).
        assert abs(result.mean() - sign * exact) < 5 * gap * math.sqrt(3 / 16 / len(array))

    def test_one_seed_repeats_the_result(self):
        array = np.random.default_rng(0).standard_normal((8, 64)).astype(np.float32)
        first, second = (convert(array, F32, BF16, Rounding.STOCHASTIC, np.random.default_rng(5)) for _ in range(2))
        same_bits(first, second)
        other = convert(array, F32, BF16, Rounding.STOCHASTIC, np.random.default_rng(6))
        assert (bits_of(first) != bits_of(other)).any()

    def test_values_of_the_destination_stay(self):
        for source, destination in ((F16, F16), (BF16, F32), (F32, BF16)):
            every = all_16_bit(F16 if source is F16 else BF16).astype(source.dtype)
            rounded = convert(every, source, destination, Rounding.STOCHASTIC, np.random.default_rng(0))
            same_bits(rounded.astype(np.float64), every.astype(np.float64))

    def test_an_integer_and_the_same_float_get_the_same_result_from_one_seed(self):
        numbers = np.random.default_rng(0).integers(-(2**31), 2**31, 10_000).astype(np.int32)
        for destination in (BF16, F32):
            from_int = convert(numbers, I32, destination, Rounding.STOCHASTIC, np.random.default_rng(1))
            from_float = convert(
                numbers.astype(np.float64), F64, destination, Rounding.STOCHASTIC, np.random.default_rng(1)
            )
            same_bits(from_int, from_float)

    def test_without_a_generator_is_an_error(self):
        with pytest.raises(ValueError, match=r"stochastic rounding needs rng="):
            convert(np.zeros(1, np.float32), F32, BF16, Rounding.STOCHASTIC)


class TestInterface:
    def test_shape_and_rank_zero_are_kept(self):
        for shape in ((), (0,), (2, 0, 3), (2, 3)):
            for source, destination, mode in itertools.product((F32, I32), (BF16, I8, I1, F16), EXACT_MODES):
                result = convert(np.ones(shape, source.dtype), source, destination, mode)
                assert isinstance(result, np.ndarray)
                assert result.shape == shape
                assert result.dtype == destination.dtype

    def test_result_never_shares_memory(self):
        for format in ALL:
            array = np.ones(4, format.dtype)
            assert not np.shares_memory(convert(array, format, format), array)

    def test_strided_input(self):
        array = np.arange(24, dtype=np.float32).reshape(4, 6)[::2, ::3]
        for destination in (BF16, TF32, F16, I8):
            np.testing.assert_array_equal(convert(array, F32, destination).astype(np.float32), array)

    def test_wrong_array_type_is_an_error(self):
        with pytest.raises(TypeError, match="expected an array of bfloat16 for format bf16, got float32"):
            convert(np.zeros(1, np.float32), BF16, F32)

    def test_codes_are_the_hardwares(self):
        assert [mode.value for mode in Rounding] == [0, 1, 2, 3, 4]
        assert convert(np.array([2.5], np.float32), F32, I8, Rounding(2))[0] == 3


@given(st.floats(width=32), st.sampled_from([F16, BF16, TF32]), st.sampled_from(EXACT_MODES))
def test_any_float_to_a_narrower_one(value, destination, mode):
    array = np.array([value], np.float32)
    same_bits(
        convert(array, F32, destination, mode).astype(np.float64),
        np.array([expected_float(float(array[0]), destination, mode)]),
    )


@given(st.floats(), st.sampled_from(FLOATS), st.sampled_from(EXACT_MODES))
def test_any_double_is_rounded_once(value, destination, mode):
    array = np.array([value])
    same_bits(
        convert(array, F64, destination, mode).astype(np.float64), np.array([expected_float(value, destination, mode)])
    )


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.sampled_from(FLOATS), st.sampled_from(EXACT_MODES))
def test_any_integer_is_rounded_once(value, destination, mode):
    result = convert(np.array([value], np.int64), I64, destination, mode).astype(np.float64)
    same_bits(result, np.array([expected_float(value, destination, mode)], np.float64))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shape", [(), (1,)])
def test_zero_is_no_subnormal_number(shape: tuple[int, ...]) -> None:
    zero = np.zeros(shape, np.float32)
    assert not arithmetic.settle_subnormal(zero, (zero, zero), np.multiply, BF16).any()
