"""The vector unit's arithmetic against the formulas, evaluated in double precision by Python's math library."""

from __future__ import annotations

from typing import Any

import attrs
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from support.formulas import ALPHA, VECTOR, inexact
from tx8ir.dialects import tx8
from tx8ir.target.formats import F32, Format
from tx8ir.target.rounding import Rounding, convert

FORMATS = ("f32", "f16", "bf16", "tf32")
seeds = st.integers(0, 2**32 - 1)
counts = st.integers(1, 300)
spreads = st.sampled_from(("uniform", "regular", "irregular"))


def ulp(x: NDArray[np.float64], format: Format) -> NDArray[np.float64]:
    """The spacing of a format's numbers at x, subnormals included."""
    exponent = np.frexp(np.where(np.isfinite(x) & (x != 0), x, 1.0))[1] - 1
    return np.ldexp(1.0, np.maximum(exponent, 2 - (1 << (format.exponent_bits - 1))) - format.mantissa_bits)


def rounded(x: NDArray[np.float64], format: str) -> NDArray[Any]:
    """Double to fp32 to the format, to nearest even: the machine's one rounding of fp32 internals."""
    with np.errstate(all="ignore"):
        single = x.astype(np.float32)
        if format == "f16":
            return single.astype(np.float16)
        if format == "bf16":
            return single.astype(ml_dtypes.bfloat16)
    return convert(single, F32, Format.named(format))


def same_bits(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
    """Equal with the sign of zero; any NaN equals any other."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    return ((x == y) & (np.signbit(x) == np.signbit(y))) | (np.isnan(x) & np.isnan(y))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("function", tx8.UNARY_FUNCTIONS)
def test_unary_follows_its_formula(tools: Any, function: str, format: str) -> None:
    tiles = (1, 2, 7)
    x = tools.random_values(hash_of(function, format), (3, 700), format, special=True)
    bench = tools.Bench(tiles)
    src, dst = bench.put_array(x), bench.room(x[0].nbytes)
    extra = {"alpha": ALPHA} if function in tx8.UNARY_WITH_ALPHA else {}
    bench.do(tx8.unary, function=function, src=src, dst=dst, count=700, format=format, **extra)
    bench.get(dst, x[0].nbytes)
    (out,) = bench.run()
    got = tools.elements(out, format)
    with np.errstate(all="ignore"):
        exact = attrs.evolve(VECTOR[function], arrays=None).of(x, **extra)
    want = rounded(exact, format)
    if VECTOR[function].exact:
        assert same_bits(got, want).all()
        return
    g, w = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(g) & np.isfinite(w)
    with np.errstate(invalid="ignore"):
        assert (np.abs(g - w)[finite] <= 2 * ulp(w, Format.named(format))[finite]).all()
    assert same_bits(g[~finite], w[~finite]).all()


@pytest.mark.parametrize("format", ["f16", "bf16"])
@pytest.mark.parametrize("function", inexact())
def test_every_16_bit_operand_is_within_2_ulp(tools: Any, function: str, format: str) -> None:
    f = Format.named(format)
    x = np.arange(65536, dtype=np.uint16).view(f.dtype)[None]
    bench = tools.Bench((0,))
    src, dst = bench.put_array(x), bench.room(x.nbytes)
    bench.do(tx8.unary, function=function, src=src, dst=dst, count=x.size, format=format)
    bench.get(dst, x.nbytes)
    (out,) = bench.run()
    got = tools.elements(out, format).astype(np.float64)
    with np.errstate(all="ignore"):
        want = rounded(VECTOR[function].of(x), format).astype(np.float64)
        close = np.abs(got - want) <= 2 * ulp(want, f)
    assert (close | same_bits(got, want)).all()


def test_long_vectors_are_computed_like_short_ones(tools: Any) -> None:
    x = tools.random_values(1, (2, 20_000), "f32")
    bench = tools.Bench((0, 1))
    src, dst, piece = bench.put_array(x), bench.room(80_000), bench.room(4_000)
    bench.do(tx8.unary, function="tanh", src=src, dst=dst, count=20_000, format="f32")
    bench.do(tx8.unary, function="tanh", src=(src[0] + 4 * 19_000,), dst=piece, count=1_000, format="f32")
    bench.get(dst, 80_000)
    bench.get(piece, 4_000)
    whole, end = (tools.elements(data, "f32") for data in bench.run())
    assert (whole[:, 19_000:] == end).all()
    assert np.abs(whole - np.tanh(x.astype(np.float64))).max() < 1e-7


def hash_of(*parts: str) -> int:
    return sum(ord(c) * 31**i for i, c in enumerate("".join(parts))) % 2**32


def test_neg_and_relu_of_both_zeros_are_plus_zero_and_nan_stays(tools: Any) -> None:
    x = np.array([[0.0, -0.0, np.nan, -1.0]], np.float32)
    for function, want in (("neg", [0.0, 0.0, np.nan, 1.0]), ("relu", [0.0, 0.0, np.nan, 0.0])):
        bench = tools.Bench((5,))
        src, dst = bench.put_array(x), bench.room(16)
        bench.do(tx8.unary, function=function, src=src, dst=dst, count=4, format="f32")
        bench.get(dst, 16)
        (out,) = bench.run()
        assert same_bits(tools.elements(out, "f32"), np.array([want], np.float32)).all(), function


BINARY_IN_DOUBLE = {
    "max": np.maximum,
    "min": np.minimum,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "eq": np.equal,
    "ne": np.not_equal,
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def binary_reference(function: str, a: NDArray[Any], b: NDArray[Any], format: str) -> NDArray[Any]:
    with np.errstate(all="ignore"):
        return rounded(
            BINARY_IN_DOUBLE[function](a.astype(np.float64), b.astype(np.float64)).astype(np.float64), format
        )


@given(seeds, counts, st.sampled_from(tx8.BINARY_FUNCTIONS), st.sampled_from(FORMATS), spreads)
def test_binary_vv(tools: Any, seed: int, count: int, function: str, format: str, spread: str) -> None:
    a = tools.random_values(seed, (3, count), format, special=True)
    b = tools.random_values(seed + 1, (3, count), format, special=True)
    bench = tools.Bench((0, 3, 4), spread)
    lhs, rhs, dst = bench.put_array(a), bench.put_array(b), bench.room(a[0].nbytes)
    bench.do(tx8.binary_vv, function=function, lhs=lhs, rhs=rhs, dst=dst, count=count, format=format)
    bench.get(dst, a[0].nbytes)
    (out,) = bench.run()
    got, want = tools.elements(out, format), binary_reference(function, a, b, format)
    equal = same_bits(got, want)
    if function in ("max", "min"):  # of two zeros either may be taken
        equal |= (got == 0) & (want == 0)
    assert equal.all()


@given(seeds, counts, st.sampled_from(tx8.BINARY_FUNCTIONS), st.sampled_from(FORMATS))
def test_binary_vs_takes_the_scalar_as_bits(tools: Any, seed: int, count: int, function: str, format: str) -> None:
    a = tools.random_values(seed, (2, count), format)
    scalar = tools.random_values(seed + 1, (1,), format)
    bench = tools.Bench((2, 9))
    src, dst = bench.put_array(a), bench.room(a[0].nbytes)
    bits = int(scalar.view(f"u{scalar.itemsize}")[0])
    bench.do(tx8.binary_vs, function=function, src=src, dst=dst, count=count, format=format, scalar=bits)
    bench.get(dst, a[0].nbytes)
    (out,) = bench.run()
    assert same_bits(tools.elements(out, format), binary_reference(function, a, scalar, format)).all()


@given(seeds, st.integers(1, 40), st.integers(1, 9), st.integers(0, 8), st.sampled_from(FORMATS), spreads)
def test_binary_vuv_repeats_the_unit(
    tools: Any, seed: int, unit_count: int, times: int, rest: int, format: str, spread: str
) -> None:
    count = unit_count * times + min(rest, unit_count - 1)
    a = tools.random_values(seed, (3, count), format)
    unit = tools.random_values(seed + 1, (3, unit_count), format)
    bench = tools.Bench((0, 1, 2), spread)
    src, u, dst = bench.put_array(a), bench.put_array(unit), bench.room(a[0].nbytes)
    bench.do(
        tx8.binary_vuv, function="mul", src=src, unit=u, dst=dst, count=count, unit_count=unit_count, format=format
    )
    bench.get(dst, a[0].nbytes)
    (out,) = bench.run()
    want = binary_reference("mul", a, unit[:, [i % unit_count for i in range(count)]], format)
    assert same_bits(tools.elements(out, format), want).all()


@given(seeds, st.integers(1, 5), st.integers(1, 4), st.sampled_from(FORMATS))
def test_binary_vuv_loop_repeats_vuv_over_blocks(tools: Any, seed: int, rows: int, blocks: int, format: str) -> None:
    n, u = 64 * rows, 64
    a = tools.random_values(seed, (2, n * blocks), format)
    unit = tools.random_values(seed + 1, (2, u * blocks), format)
    bench = tools.Bench((4, 8))
    src, address, dst = bench.put_array(a), bench.put_array(unit), bench.room(a[0].nbytes)
    bench.do(
        tx8.binary_vuv_loop,
        function="sub",
        src=src,
        unit=address,
        dst=dst,
        count=n,
        unit_count=u,
        full_count=n * blocks,
        full_unit_count=u * blocks,
        format=format,
    )
    bench.get(dst, a[0].nbytes)
    (out,) = bench.run()
    chosen = [j * u + i % u for j in range(blocks) for i in range(n)]
    assert same_bits(tools.elements(out, format), binary_reference("sub", a, unit[:, chosen], format)).all()


@pytest.mark.parametrize("rounding", [r for r in Rounding if r is not Rounding.STOCHASTIC])
def test_rounding_mode_governs_the_one_rounding(tools: Any, rounding: Rounding) -> None:
    a, b = (tools.random_values(i, (1, 200), "bf16") for i in (1, 2))
    bench = tools.Bench((0,))
    lhs, rhs, dst = bench.put_array(a), bench.put_array(b), bench.room(400)
    bench.do(tx8.binary_vv, function="mul", lhs=lhs, rhs=rhs, dst=dst, count=200, format="bf16", rounding=int(rounding))
    bench.get(dst, 400)
    (out,) = bench.run()
    exact = a.astype(np.float64) * b.astype(np.float64)  # 16 bits at most: exact in fp32 too
    got = tools.elements(out, "bf16").astype(np.float64)
    unit = ulp(exact, Format.named("bf16"))
    error = got - exact
    bounds = {
        Rounding.NEAREST_EVEN: np.abs(error) <= unit / 2,
        Rounding.TOWARD_ZERO: (np.abs(got) <= np.abs(exact)) & (np.abs(error) < unit),
        Rounding.UPWARD: (error >= 0) & (error < unit),
        Rounding.DOWNWARD: (error <= 0) & (error > -unit),
    }
    assert bounds[rounding].all()
    assert (error != 0).any()


def test_stochastic_rounding_repeats_with_its_seed(tools: Any) -> None:
    a, b = (tools.random_values(i, (1, 4000), "bf16") for i in (1, 2))

    def product(seed: int) -> NDArray[np.float64]:
        bench = tools.Bench((0,))
        lhs, rhs, dst = bench.put_array(a), bench.put_array(b), bench.room(8000)
        bench.do(tx8.binary_vv, function="mul", lhs=lhs, rhs=rhs, dst=dst, count=4000, format="bf16", rounding=4)
        bench.get(dst, 8000)
        (out,) = bench.run(seed=seed)
        return tools.elements(out, "bf16").astype(np.float64)

    exact = a.astype(np.float64) * b.astype(np.float64)
    first = product(7)
    assert (first == product(7)).all()
    assert (first != product(8)).any()
    relative = (first - exact) / ulp(exact, Format.named("bf16"))
    assert np.abs(relative).max() < 1
    assert abs(relative.mean()) < 0.03  # unbiased: sigma of the mean is below 0.5 / sqrt(4000)


def test_in_place_and_overlapping_operands_read_before_they_write(tools: Any) -> None:
    a = tools.random_values(3, (2, 64), "f32")
    bench = tools.Bench((0, 1))
    (address,) = bench.put_array(a)
    # dst lies 4 bytes after src: each element of src is needed after its place was written
    bench.do(tx8.binary_vv, function="add", lhs=(address,), rhs=(address,), dst=(address + 4,), count=63, format="f32")
    bench.get((address,), 256)
    (out,) = bench.run(strict_operands=False)
    want = a.copy()
    want[:, 1:] = a[:, :63] + a[:, :63]
    assert (tools.elements(out, "f32") == want).all()


def test_tf32_operands_lose_the_bits_the_format_does_not_have(tools: Any) -> None:
    x = np.array([[1.0 + 2.0**-20]], np.float32)
    bench = tools.Bench((0,))
    src, dst = bench.put_array(x), bench.room(4)
    bench.do(tx8.unary, function="abs", src=src, dst=dst, count=1, format="tf32")
    bench.get(dst, 4)
    (out,) = bench.run()
    assert tools.elements(out, "f32") == 1.0
