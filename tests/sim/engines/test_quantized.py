"""Post-processing of the neural engine: int8 by the formulas, batch normalisation, one rounding, split reductions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tx8ir.dialects import tx8
from tx8ir.target.chip import TX8
from tx8ir.target.formats import F32, Format
from tx8ir.target.layout import size_bytes
from tx8ir.target.rounding import convert

Array = NDArray[Any]
TILES = (0, 1, 6)
FLOATS = ("f32", "f16", "bf16", "tf32")
seeds = st.integers(0, 2**32 - 1)
spreads = st.sampled_from(("uniform", "regular", "irregular"))
floats = st.sampled_from(FLOATS)


def nc_bytes(shape: tuple[int, ...], format: str) -> int:
    return size_bytes(shape, Format.named(format), "NCx")


requantize = st.builds(
    tx8.Requantize,
    input_zero_point=st.integers(-128, 127),
    shift1=st.integers(0, 12),
    multiplier=st.integers(-(2**15), 2**15 - 1),
    shift2=st.integers(0, 20),
    output_zero_point=st.integers(-128, 127),
)


def quantized(sums: int, q: tx8.Requantize, *, relu: bool) -> int:
    """The published formulas on Python's integers."""

    def clip(value: int, bits: int) -> int:
        return max(-(1 << (bits - 1)), min((1 << (bits - 1)) - 1, value))

    o16 = clip(clip(sums, 32) >> q.shift1, 16)
    o9 = clip((o16 * q.multiplier) >> q.shift2, 9)
    return clip((max(o9, 0) if relu else o9) + q.output_zero_point, 8)


def all_quantized(sums: Array, q: tx8.Requantize, *, relu: bool) -> Array:
    flat = [quantized(int(v), q, relu=relu) for v in sums.ravel()]
    return np.array(flat, np.int8).reshape(sums.shape)


@given(seeds, st.sampled_from((1, 64, 129, 600)), st.integers(1, 9), requantize, st.booleans(), st.booleans(), spreads)
def test_int8_gemm_follows_the_quantised_formulas(
    tools: Any, seed: int, k: int, n: int, q: tx8.Requantize, relu: bool, sums: bool, spread: str
) -> None:
    m = 3
    a, b = tools.random_values(seed, (3, 1, 1, m, k), "i8"), tools.random_values(seed + 1, (3, 1, 1, k, n), "i8")
    bench = tools.Bench(TILES, spread)
    lhs, rhs, out = bench.put_tensor(a, "i8"), bench.put_tensor(b, "i8"), bench.room(nc_bytes((1, 1, m, n), "i8"))
    o32 = np.einsum("tbzmk,tbzkn->tbzmn", a.astype(np.int64) - q.input_zero_point, b.astype(np.int64))
    fields: dict[str, Any] = {}
    if sums:
        psum, bias = tools.random_values(seed + 2, o32.shape, "i32"), tools.random_values(seed + 3, (3, n), "i32")
        fields = {"psum": bench.put_tensor(psum, "i32"), "psum_format": "i32"}
        fields |= {"bias": bench.put_array(bias), "bias_format": "i32"}
        o32 = o32 + psum + bias[:, None, None, None]
    fields |= {"requantize": q, "activation": "relu" if relu else "none"}
    bench.do(tx8.gemm, lhs=lhs, rhs=rhs, out=out, m=m, k=k, n=n, in_format="i8", out_format="i8", **fields)
    bench.get(out, nc_bytes((1, 1, m, n), "i8"))
    (data,) = bench.run()
    assert np.array_equal(tools.tensor(data, (1, 1, m, n), "i8"), all_quantized(o32, q, relu=relu))


@given(seeds, st.sampled_from((1, 5, 129)), requantize, st.booleans(), st.booleans())
def test_what_a_quantised_conv_reads_outside_adds_nothing(
    tools: Any, seed: int, c: int, q: tx8.Requantize, relu: bool, depthwise: bool
) -> None:
    h, w, o = 4, 5, c if depthwise else 3
    x = tools.random_values(seed, (3, 1, h, w, c), "i8")
    weight = tools.random_values(seed + 1, (3, 3, 2, 1 if depthwise else o, c), "i8")
    pads = (1, 1, 0, 1)
    padded = np.pad(x.astype(np.int64) - q.input_zero_point, ((0, 0), (0, 0), (1, 1), (0, 1), (0, 0)))
    o32 = np.zeros((3, 1, h, w, o), np.int64)
    for i in range(3):
        for j in range(2):
            view = padded[:, :, i : i + h, j : j + w]
            tap = weight[:, i, j].astype(np.int64)
            o32 += view * tap[:, None, None] if depthwise else np.einsum("tnhwc,toc->tnhwo", view, tap)
    bench = tools.Bench(TILES)
    src, out = bench.put_tensor(x, "i8"), bench.room(nc_bytes(o32.shape[1:], "i8"))
    packed = np.stack([cx_bytes(tile) for tile in weight])
    bench.do(
        tx8.conv,
        src=src,
        weight=bench.put(packed),
        out=out,
        shape=x.shape[1:],
        out_channels=o,
        kernel=(3, 2),
        pads=pads,
        depthwise=depthwise,
        in_format="i8",
        out_format="i8",
        requantize=q,
        activation="relu" if relu else "none",
    )
    bench.get(out, nc_bytes(o32.shape[1:], "i8"))
    (data,) = bench.run()
    assert np.array_equal(tools.tensor(data, o32.shape[1:], "i8"), all_quantized(o32, q, relu=relu))


def cx_bytes(weight: Array) -> Array:
    """An int8 weight [KH, KW, O, C] in Cx, by the address rule of the layout."""
    kh, kw, o, c = weight.shape
    q, r = divmod(c, 128)
    tail = 0 if r == 0 else next((t for t in (4, 8, 16, 32, 64) if t >= r), 0)
    blocks = q + (1 if r > 64 else 0)
    hw = kh * kw * o
    size = -(-hw * (blocks * 128 + tail) // 256) * 256
    data = np.zeros(size, np.uint8)
    for at, row in enumerate(weight.reshape(hw, c)):
        for channel, value in enumerate(row):
            block, lane = divmod(channel, 128)
            place = block * hw * 128 + at * 128 + lane if block < blocks else blocks * hw * 128 + at * tail + lane
            data[place] = int(value) & 0xFF
    return data


@given(seeds, st.sampled_from((1, 3, 65, 100)), st.integers(1, 4), floats, floats, floats, st.booleans(), spreads)
def test_scale_comes_after_psum_and_before_bias(
    tools: Any, seed: int, n: int, k: int, in_format: str, format: str, out_format: str, bn_only: bool, spread: str
) -> None:
    """Operands are small integers and powers of two, so that every step but the last rounding is exact."""
    m, rng = 3, np.random.default_rng(seed)
    dtype = lambda name: Format.named(name).dtype  # noqa: E731
    a = rng.integers(-8, 9, (3, 1, 1, m, k)).astype(dtype(in_format))
    b = rng.integers(-8, 9, (3, 1, 1, k, n)).astype(dtype(in_format))
    scale = (2.0 ** rng.integers(-3, 4, (3, n))).astype(dtype(format))
    bias = rng.integers(-9, 10, (3, n)).astype(dtype(format))
    psum = rng.integers(-99, 100, (3, 1, 1, m, n)).astype(dtype(format))
    want = np.einsum("tbzmk,tbzkn->tbzmn", a.astype(np.float64), b.astype(np.float64))
    bench = tools.Bench(TILES, spread)
    lhs, rhs = bench.put_tensor(a, in_format), bench.put_tensor(b, in_format)
    fields: dict[str, Any] = {"scale": bench.put_array(scale), "scale_format": format}
    if not bn_only:
        fields |= {"psum": bench.put_tensor(psum, format), "psum_format": format}
        fields |= {"bias": bench.put_array(bias), "bias_format": format}
        want = want + psum.astype(np.float64)
    want = want * scale.astype(np.float64)[:, None, None, None]
    if not bn_only:
        want = want + bias.astype(np.float64)[:, None, None, None]
    out = bench.room(nc_bytes((1, 1, m, n), out_format))
    fields |= {"activation": "leaky_relu", "alpha": 0.5, "in_format": in_format, "out_format": out_format}
    bench.do(tx8.gemm, lhs=lhs, rhs=rhs, out=out, m=m, k=k, n=n, **fields)
    bench.get(out, nc_bytes((1, 1, m, n), out_format))
    (data,) = bench.run()
    want = np.where(want >= 0, want, want * 0.5)
    exact = convert(want.astype(np.float32), F32, Format.named(out_format))
    assert np.array_equal(tools.tensor(data, (1, 1, m, n), out_format), exact)


@pytest.mark.parametrize("out_format", ["f16", "bf16", "tf32"])
def test_a_gemm_rounds_its_output_once(tools: Any, out_format: str) -> None:
    """Terms that all vanish when rounded one after the other, and a tie that a second rounding would decide."""
    bits = Format.named(out_format).mantissa_bits
    one, small = 1.0, 2.0 ** -(bits + 2)
    rows = {
        "many small terms": ([one] + [small] * 6, one + 6 * small),
        # Just above the tie: rounded to fp32 and then to the format it must go up, not to even.
        "above a tie": ([one, 2 * small, 2.0**-20], one + 2 * small + 2.0**-20),
        "a tie": ([one, 2 * small], one + 2 * small),
    }
    k = max(len(terms) for terms, _ in rows.values())
    a = np.zeros((1, 1, 1, len(rows), k), np.float32)
    for row, (terms, _) in enumerate(rows.values()):
        a[0, 0, 0, row, : len(terms)] = terms
    b = np.ones((1, 1, 1, k, 1), np.float32)
    bench = tools.Bench((2,))
    lhs, rhs = bench.put_tensor(a, "f32"), bench.put_tensor(b, "f32")
    out = bench.room(nc_bytes((1, 1, len(rows), 1), out_format))
    bench.do(tx8.gemm, lhs=lhs, rhs=rhs, out=out, m=len(rows), k=k, n=1, in_format="f32", out_format=out_format)
    bench.get(out, nc_bytes((1, 1, len(rows), 1), out_format))
    (data,) = bench.run()
    got = tools.tensor(data, (1, 1, len(rows), 1), out_format).astype(np.float64).ravel()
    ulp = 2.0**-bits
    want = [round(total / ulp) * ulp for _, total in rows.values()]  # Python rounds half to even
    assert got.tolist() == want
    assert got[0] > 1.0
    assert got[1] > 1.0
    assert got[2] == 1.0


@given(seeds, st.sampled_from((66, 130)), floats, floats)
def test_a_split_reduction_is_as_good_as_the_format_it_is_carried_in(
    tools: Any, seed: int, k: int, in_format: str, psum_format: str
) -> None:
    """Two halves, carried as a partial sum: each write of it rounds once to its format."""
    m, n, half = 3, 5, k // 2
    a = tools.random_values(seed, (3, 1, 1, m, k), in_format)
    b = tools.random_values(seed + 1, (3, 1, 1, k, n), in_format)
    bench = tools.Bench(TILES)
    sizes = nc_bytes((1, 1, m, n), psum_format), nc_bytes((1, 1, m, n), "f32")
    partial, out = bench.room(sizes[0]), bench.room(sizes[1])
    common = {"m": m, "k": half, "n": n, "in_format": in_format}
    for part, fields in enumerate(
        (
            {"out": partial, "out_format": psum_format},
            {"out": out, "out_format": "f32", "psum": partial, "psum_format": psum_format},
        )
    ):
        piece = slice(part * half, (part + 1) * half)
        lhs = bench.put_tensor(np.ascontiguousarray(a[..., piece]), in_format)
        rhs = bench.put_tensor(np.ascontiguousarray(b[..., piece, :]), in_format)
        bench.do(tx8.gemm, lhs=lhs, rhs=rhs, **fields, **common)
    bench.get(out, sizes[1])
    (data,) = bench.run()
    x, y = a.astype(np.float64), b.astype(np.float64)
    want = np.einsum("tbzmk,tbzkn->tbzmn", x[..., : 2 * half], y[..., : 2 * half, :])
    size = np.einsum("tbzmk,tbzkn->tbzmn", np.abs(x), np.abs(y))
    carried = np.abs(np.einsum("tbzmk,tbzkn->tbzmn", x[..., :half], y[..., :half, :]))
    bound = k * 2.0**-24 * size + (carried + size * k * 2.0**-24) * 2.0 ** -(
        Format.named(psum_format).mantissa_bits + 1
    )
    bound += 2.0**-24 * np.abs(want) + 2.0**-24
    assert (np.abs(tools.tensor(data, (1, 1, m, n), "f32").astype(np.float64) - want) <= bound).all()


@pytest.mark.parametrize(("m", "k", "n"), [(1, 16384, 1), (4096, 1, 1), (1, 1, 16384), (1, 4096, 130)])
def test_extents_at_their_limits(tools: Any, m: int, k: int, n: int) -> None:
    assert m <= TX8.ne.extent[1]
    assert max(k, n) <= TX8.ne.channels[1]
    rng = np.random.default_rng(m + k + n)
    a, b = rng.standard_normal((1, 1, 1, m, k)), rng.standard_normal((1, 1, 1, k, n))
    a, b = a.astype(np.float16), b.astype(np.float16)
    bench = tools.Bench((9,))
    lhs, rhs, out = bench.put_tensor(a, "f16"), bench.put_tensor(b, "f16"), bench.room(nc_bytes((1, 1, m, n), "f32"))
    bench.do(tx8.gemm, lhs=lhs, rhs=rhs, out=out, m=m, k=k, n=n, in_format="f16", out_format="f32")
    bench.get(out, nc_bytes((1, 1, m, n), "f32"))
    (data,) = bench.run()
    x, y = a[0, 0, 0].astype(np.float64), b[0, 0, 0].astype(np.float64)
    error = np.abs(tools.tensor(data, (1, 1, m, n), "f32")[0, 0, 0] - x @ y)
    assert (error <= k * 2.0**-24 * (np.abs(x) @ np.abs(y))).all()
