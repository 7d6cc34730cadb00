"""The 36 conversions, as instructions, against tables of every number of the destination.

The oracle knows nothing of the implementation: it finds the two numbers of the destination around each operand by
search, and picks one by the definition of the rounding mode.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tx8ir.dialects import tx8
from tx8ir.target.formats import Format
from tx8ir.target.rounding import Rounding

Array = NDArray[Any]
DIRECTED = (Rounding.NEAREST_EVEN, Rounding.TOWARD_ZERO, Rounding.UPWARD, Rounding.DOWNWARD)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # casts of NaN and of what overflows

NARROWING = [pair for pair, conversion in tx8.CONVERSIONS.items() if conversion.narrows]


@cache
def numbers(format: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """All finite numbers of a format in order, and which of them end in an even bit. Too many for f32 and i32."""
    f = Format.named(format)
    if f.is_integer:
        info = np.iinfo(f.dtype)
        values = np.arange(info.min, info.max + 1, dtype=np.float64)
        return values, values % 2 == 0
    if format == "tf32":
        bits = np.arange(1 << 19, dtype=np.uint32)
        values = (bits << np.uint32(13)).view(np.float32).astype(np.float64)
    else:
        bits = np.arange(1 << 16, dtype=np.uint16)
        values = bits.view(f.dtype).astype(np.float64)
    finite = np.isfinite(values)
    values, first = np.unique(values[finite], return_index=True)
    return values, bits[finite][first] % 2 == 0


def around(x: NDArray[np.float64], format: str) -> tuple[Array, Array, Array]:
    """The numbers of a format at or below and at or above finite x (infinite: there is none); is the lower even."""
    if format == "f32":  # from i32 only, which never leaves its range
        nearest = x.astype(np.float32)
        below = np.where(nearest > x, np.nextafter(nearest, np.float32(-np.inf)), nearest)
        above = np.where(nearest < x, np.nextafter(nearest, np.float32(np.inf)), nearest)
        return below.astype(np.float64), above.astype(np.float64), below.view(np.uint32) % 2 == 0
    if format == "i32":  # whole numbers, the range included: every double in it has a neighbour that is one
        below, above = np.floor(x), np.ceil(x)
        below, above = np.where(below < -(2**31), -np.inf, below), np.where(above > 2**31 - 1, np.inf, above)
        below, above = np.minimum(below, 2**31 - 1), np.maximum(above, -(2**31))
        return below, above, np.where(np.isfinite(below), below, 0) % 2 == 0
    values, even = numbers(format)
    low, high = np.searchsorted(values, x, "right") - 1, np.searchsorted(values, x, "left")
    below = np.where(low < 0, -np.inf, values[np.maximum(low, 0)])
    above = np.where(high == len(values), np.inf, values[np.minimum(high, len(values) - 1)])
    return below, above, even[np.maximum(low, 0)]


def expected(x: NDArray[np.float64], format: str, mode: Rounding) -> NDArray[np.float64]:
    """Round by definition; a NaN stays one, or becomes 0 in an integer."""
    f = Format.named(format)
    finite = np.where(np.isfinite(x), x, 0.0)
    below, above, lower_is_even = around(finite, format)
    if f.is_integer:  # saturates
        below, above = np.where(np.isinf(below), above, below), np.where(np.isinf(above), below, above)
        lower, upper = below, above
    else:  # after the largest number comes, for the distance, the power of two that would be next
        top = 2.0 ** (1 << (f.exponent_bits - 1))
        lower, upper = np.maximum(below, -top), np.minimum(above, top)
    middle = (lower + upper) / 2
    take_upper = {
        Rounding.NEAREST_EVEN: (finite > middle) | ((finite == middle) & ~lower_is_even),
        Rounding.TOWARD_ZERO: finite < 0,
        Rounding.UPWARD: np.ones(x.shape, bool),
        Rounding.DOWNWARD: np.zeros(x.shape, bool),
    }[mode]
    if mode is Rounding.NEAREST_EVEN and not f.is_integer:
        take_upper = np.where(np.isinf(below), (finite > middle), take_upper)  # the negative overflow, mirrored
    result = np.where(take_upper, above, below)
    result = np.copysign(result, x) if f.is_float else result + 0.0
    if f.is_float:
        return np.where(np.isfinite(x), result, x)
    info = np.iinfo(f.dtype)
    return np.where(np.isnan(x), 0.0, np.where(np.isinf(x), np.where(x > 0, info.max, info.min), result))


def operands(source: str, destination: str) -> Array:
    """All numbers of a short format; of a long one a dense sample, and what lies on and beside the rounding points."""
    f = Format.named(source)
    if f.bits <= 16:
        return np.arange(1 << f.bits, dtype=f"u{f.bytes}").view(f.dtype)
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 1 << 32, 24_000, np.uint32)
    if f.is_integer:
        small = rng.integers(-(2**25), 2**25, 8_000)
        return np.concatenate([bits.view(np.int32), (bits >> 16).view(np.int32), small.astype(np.int32)])
    values = [bits.view(np.float32), rng.uniform(-300, 300, 4_000).astype(np.float32)]
    if destination == "i32":
        values.append(np.float32(2.0**31) * rng.uniform(-1.5, 1.5, 4_000).astype(np.float32))
    if destination not in ("f32", "i32"):
        table, _ = numbers(destination)
        chosen = rng.integers(0, len(table) - 1, 8_000)
        middle = ((table[chosen] + table[chosen + 1]) / 2).astype(np.float32)
        values += [middle, np.nextafter(middle, np.float32(np.inf)), np.nextafter(middle, np.float32(-np.inf))]
        values.append(np.array([table[-1], table[0]], np.float32) * np.float32(1.0009765625))
    values.append(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3.4e38, -3.4e38], np.float32))
    x = np.concatenate(values)
    return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) if source == "tf32" else x


def converted(tools: Any, x: Array, pair: tuple[str, str], modes: tuple[Rounding, ...], seed: int = 0) -> list[Array]:
    """What the instruction makes of `x` in each mode."""
    source, destination = (Format.named(name) for name in pair)
    wide = max(source.bytes, destination.bytes)
    spaced = np.zeros((1, len(x), wide), np.uint8)
    spaced[0, :, : source.bytes] = np.ascontiguousarray(x).view(np.uint8).reshape(len(x), source.bytes)
    bench = tools.Bench((0,))
    src, dst = bench.put(spaced.reshape(1, -1)), bench.put(np.zeros((1, len(x) * wide), np.uint8))
    results = [bench.room(len(x) * destination.bytes) for _ in modes]
    for mode, result in zip(modes, results, strict=True):
        fields = {"src_format": pair[0], "dst_format": pair[1], "rounding": int(mode)}
        bench.do(tx8.convert, src=src, dst=dst, count=len(x), **fields)
        bench.do(
            tx8.tdma,
            src=dst,
            dst=result,
            segment_bytes=destination.bytes,
            src_strides=(wide,),
            dst_strides=(destination.bytes,),
            iterations=(len(x),),
        )
        bench.get(result, len(x) * destination.bytes)
    return [tools.elements(out, destination.name)[0] for out in bench.run(seed=seed)]


def test_hardware_has_36_pairs() -> None:
    assert len(tx8.CONVERSIONS) == 36
    assert all("f" in a + b for a, b in tx8.CONVERSIONS)
    assert tx8.CONVERSIONS["f32", "bf16"].name == "fp32_bf16"


@pytest.mark.parametrize("pair", tx8.CONVERSIONS, ids="_to_".join)
def test_every_operand_is_rounded_by_the_definition(tools: Any, pair: tuple[str, str]) -> None:
    x = operands(*pair)
    exact = x.astype(np.float64)
    narrows = tx8.CONVERSIONS[pair].narrows
    modes = DIRECTED if narrows else (Rounding.NEAREST_EVEN,)
    for mode, got in zip(modes, converted(tools, x, pair, modes), strict=True):
        want = expected(exact, pair[1], mode) if narrows else exact
        result = got.astype(np.float64)
        wrong = ~((result == want) & (np.signbit(result) == np.signbit(want)) | (np.isnan(result) & np.isnan(want)))
        assert not wrong.any(), f"{mode.name}: {exact[wrong][0]!r} gives {result[wrong][0]!r}, not {want[wrong][0]!r}"
        if pair[1] == "tf32":
            assert not (got.view(np.uint32) & np.uint32(0x1FFF)).any()


@pytest.mark.parametrize("pair", [("f32", "bf16"), ("f32", "f16"), ("f16", "bf16"), ("bf16", "f16")], ids="_to_".join)
def test_nearest_even_is_that_of_numpy_and_ml_dtypes(tools: Any, pair: tuple[str, str]) -> None:
    x = operands(*pair)
    (got,) = converted(tools, x, pair, (Rounding.NEAREST_EVEN,))
    with np.errstate(all="ignore"):
        want = x.astype(np.float32).astype(np.float16 if pair[1] == "f16" else ml_dtypes.bfloat16)
    same = got.view(np.uint16) == want.view(np.uint16)
    assert (same | (np.isnan(got.astype(np.float32)) & np.isnan(want.astype(np.float32)))).all()


@pytest.mark.parametrize("pair", NARROWING, ids="_to_".join)
def test_stochastic_rounding_is_unbiased_and_reproducible(tools: Any, pair: tuple[str, str]) -> None:
    """Of n results, those of the upper neighbour are binomial: within 5 standard deviations of n times the fraction."""
    count = 20_000
    starts = (7.3, -100.7) if Format.named(pair[0]).is_float else (30001, -20003)
    for start in (2**26 + 1, -(2**27) - 3) if pair == ("i32", "f32") else starts:
        value = np.array([start], np.float64).astype(Format.named(pair[0]).dtype)
        if pair[0] == "tf32":
            value = (value.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
        exact = value.astype(np.float64)
        below, above, _ = (v[0] for v in around(exact, pair[1]))
        x = np.repeat(value, count)
        (got,) = converted(tools, x, pair, (Rounding.STOCHASTIC,), seed=11)
        (again,) = converted(tools, x, pair, (Rounding.STOCHASTIC,), seed=11)
        assert got.tobytes() == again.tobytes()
        result = got.astype(np.float64)
        if below == above:  # a number of the destination
            assert (result == exact).all()
            continue
        (other,) = converted(tools, x, pair, (Rounding.STOCHASTIC,), seed=12)
        assert got.tobytes() != other.tobytes()
        fraction = (exact[0] - below) / (above - below)
        assert set(np.unique(result)) == {below, above}
        sigma = math.sqrt(count * fraction * (1 - fraction))
        assert abs(np.count_nonzero(result == above) - count * fraction) <= 5 * sigma
