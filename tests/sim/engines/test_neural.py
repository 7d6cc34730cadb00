"""Gemm and conv against sums in double precision, within K * 2^-24 * sum |a b|; integers are exact."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tx8ir.dialects import tx8
from tx8ir.sim import SimError
from tx8ir.target.chip import TX8
from tx8ir.target.formats import Format
from tx8ir.target.layout import size_bytes

Double = NDArray[np.float64]
FLOATS = ("f32", "f16", "bf16", "tf32")
TILES = (0, 1, 6)
seeds = st.integers(0, 2**32 - 1)
spreads = st.sampled_from(("uniform", "regular", "irregular"))
channels = st.sampled_from((1, 3, 5, 17, 32, 33, 64, 65, 70, 100))
floats = st.sampled_from(FLOATS)
SLOPE = 0.25


def nc_bytes(shape: tuple[int, ...], format: str) -> int:
    return size_bytes(shape, Format.named(format), "NCx")


@st.composite
def post_processing(draw: st.DrawFn) -> dict[str, Any]:
    """Formats of the result, of psum and of bias (None: absent), and an activation."""
    return {
        "out_format": draw(floats),
        "psum_format": draw(st.none() | floats),
        "bias_format": draw(st.none() | floats),
        "activation": draw(st.sampled_from(tx8.ACTIVATIONS)),
    }


class Sums:
    """The operands psum and bias of one case, and the check of its result."""

    def __init__(self, tools: Any, bench: Any, seed: int, shape: tuple[int, ...], post: dict[str, Any]) -> None:
        self.tools, self.post = tools, post
        self.fields: dict[str, Any] = {k: v for k, v in post.items() if v is not None}
        self.psum: Any = 0.0
        self.bias: Any = 0.0
        if post["psum_format"] is not None:
            psum = tools.random_values(seed + 2, (len(bench.tiles), *shape), post["psum_format"])
            self.fields["psum"] = bench.put_tensor(psum, post["psum_format"])
            self.psum = psum.astype(np.float64)
        if post["bias_format"] is not None:
            bias = tools.random_values(seed + 3, (len(bench.tiles), shape[-1]), post["bias_format"])
            self.fields["bias"] = bench.put_array(bias)
            self.bias = bias.astype(np.float64)[:, None, None, None, :]
        if post["activation"] == "leaky_relu":
            self.fields["alpha"] = SLOPE

    def check(self, got: NDArray[Any], products: Double, magnitude: Double, terms: int) -> None:
        """`products` is the exact sum of products, `magnitude` that of their absolute values."""
        want = products + self.psum + self.bias
        bound = (terms + 3) * 2.0**-24 * (magnitude + np.abs(self.psum) + np.abs(self.bias))
        if self.post["activation"] == "relu":
            want = np.maximum(want, 0)
        elif self.post["activation"] == "leaky_relu":
            want = np.where(want >= 0, want, SLOPE * want)
        bits = Format.named(self.post["out_format"]).mantissa_bits
        tiny = 2.0**-25 if self.post["out_format"] == "f16" else 2.0**-126
        largest = 65504.0 if self.post["out_format"] == "f16" else np.inf
        inside = np.abs(want) + bound < largest
        error = np.abs(got.astype(np.float64) - want)
        assert (error <= bound + (np.abs(want) + bound) * 2.0 ** -(bits + 1) + tiny)[inside].all()


@given(
    seeds,
    st.integers(1, 3),
    st.integers(1, 9),
    channels,
    channels,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    floats,
    post_processing(),
    spreads,
)
def test_gemm(
    tools: Any,
    seed: int,
    batch: int,
    m: int,
    k: int,
    n: int,
    broadcast_lhs: bool,
    broadcast_rhs: bool,
    transpose_lhs: bool,
    transpose_rhs: bool,
    in_format: str,
    post: dict[str, Any],
    spread: str,
) -> None:
    lhs_batch, rhs_batch = (1 if b else batch for b in (broadcast_lhs, broadcast_rhs))
    a = tools.random_values(seed, (3, lhs_batch, 1, *((k, m) if transpose_lhs else (m, k))), in_format)
    b = tools.random_values(seed + 1, (3, rhs_batch, 1, *((n, k) if transpose_rhs else (k, n))), in_format)
    bench = tools.Bench(TILES, spread)
    shape = (batch, 1, m, n)
    lhs, rhs = bench.put_tensor(a, in_format), bench.put_tensor(b, in_format)
    sums = Sums(tools, bench, seed, shape, post)
    out = bench.room(nc_bytes(shape, post["out_format"]))
    bench.do(
        tx8.gemm,
        lhs=lhs,
        rhs=rhs,
        out=out,
        batch=batch,
        m=m,
        k=k,
        n=n,
        lhs_batch=lhs_batch,
        rhs_batch=rhs_batch,
        transpose_lhs=transpose_lhs,
        transpose_rhs=transpose_rhs,
        in_format=in_format,
        **sums.fields,
    )
    bench.get(out, nc_bytes(shape, post["out_format"]))
    (data,) = bench.run()
    x, y = (v.astype(np.float64) for v in (a, b))
    left, right = ("tbzkm" if transpose_lhs else "tbzmk"), ("tbznk" if transpose_rhs else "tbzkn")
    x, y = (np.broadcast_to(v, (3, batch, *v.shape[2:])) for v in (x, y))
    product = np.einsum(f"{left},{right}->tbzmn", x, y)
    magnitude = np.einsum(f"{left},{right}->tbzmn", np.abs(x), np.abs(y))
    sums.check(tools.tensor(data, shape, post["out_format"]), product, magnitude, k)


@given(
    seeds,
    st.sampled_from((1, 7, 64, 128, 129, 300, 1501)),
    st.sampled_from((1, 5, 130)),
    st.booleans(),
    st.booleans(),
    st.sampled_from(("i8", "i16", "i32", "f32", "bf16")),
)
def test_int8_gemm_is_exact_and_saturates(
    tools: Any, seed: int, k: int, n: int, with_psum: bool, with_bias: bool, out_format: str
) -> None:
    m = 3
    a, b = tools.random_values(seed, (3, 1, 1, m, k), "i8"), tools.random_values(seed + 1, (3, 1, 1, k, n), "i8")
    if seed % 2:  # the largest sums
        a[:], b[:] = -128, -128
    bench = tools.Bench(TILES)
    lhs, rhs = bench.put_tensor(a, "i8"), bench.put_tensor(b, "i8")
    want = np.einsum("tbzmk,tbzkn->tbzmn", a.astype(np.int64), b.astype(np.int64))
    fields: dict[str, Any] = {}
    if with_psum:
        psum = tools.random_values(seed + 2, want.shape, "i32")
        fields |= {"psum": bench.put_tensor(psum, "i32"), "psum_format": "i32"}
        want = want + psum
    if with_bias:
        bias = tools.random_values(seed + 3, (3, n), "i32")
        fields |= {"bias": bench.put_array(bias), "bias_format": "i32"}
        want = want + bias[:, None, None, None, :]
    out = bench.room(nc_bytes((1, 1, m, n), out_format))
    bench.do(tx8.gemm, lhs=lhs, rhs=rhs, out=out, m=m, k=k, n=n, in_format="i8", out_format=out_format, **fields)
    bench.get(out, nc_bytes((1, 1, m, n), out_format))
    (data,) = bench.run()
    got = tools.tensor(data, (1, 1, m, n), out_format)
    dtype = Format.named(out_format).dtype
    if out_format.startswith("i"):
        info = np.iinfo(dtype)
        assert (got == np.clip(want, info.min, info.max)).all()
    else:
        bits = Format.named(out_format).mantissa_bits
        assert (np.abs(got.astype(np.float64) - want) <= np.abs(want) * 2.0 ** -(bits + 1)).all()


def test_int8_sums_may_need_more_bits_than_fp32_has(tools: Any) -> None:
    k = 1501
    ones = np.full((1, 1, 1, 1, k), 127, np.int8)
    bench = tools.Bench((0,))
    lhs = bench.put_tensor(ones, "i8")
    out = bench.room(256)
    bench.do(tx8.gemm, lhs=lhs, rhs=lhs, out=out, m=1, k=k, n=1, transpose_rhs=True, in_format="i8", out_format="i32")
    bench.get(out, 4)
    assert bench.run()[0].view(np.int32) == 127 * 127 * k  # odd, above 2^24


@st.composite
def convs(draw: st.DrawFn) -> dict[str, Any]:
    kernel, strides, dilations = (draw(st.tuples(st.integers(1, top), st.integers(1, top))) for top in (3, 3, 2))
    pads = draw(st.tuples(*[st.integers(0, 3)] * 4))
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    h = draw(st.integers(max(1, reach[0] - pads[0] - pads[1]), 7))
    w = draw(st.integers(max(1, reach[1] - pads[2] - pads[3]), 7))
    shape = (draw(st.integers(1, 2)), h, w, draw(channels))
    depthwise = draw(st.booleans())
    return {
        "shape": shape,
        "out_channels": shape[3] if depthwise else draw(channels),
        "kernel": kernel,
        "strides": strides,
        "pads": pads,
        "dilations": dilations,
        "depthwise": depthwise,
    }


def conv_reference(x: NDArray[Any], weight: NDArray[Any], f: dict[str, Any]) -> NDArray[Any]:
    """[T, N, H, W, C] with HWOI [T, KH, KW, O, C], one output position and one tap at a time."""
    (kh, kw), (sh, sw), (top, bottom, left, right), (dh, dw) = f["kernel"], f["strides"], f["pads"], f["dilations"]
    t, n, h, w, _ = x.shape
    rows = (h + top + bottom - (kh - 1) * dh - 1) // sh + 1
    columns = (w + left + right - (kw - 1) * dw - 1) // sw + 1
    out = np.zeros((t, n, rows, columns, f["out_channels"]), x.dtype)
    for y, z, i, j in np.ndindex(rows, columns, kh, kw):
        row, column = y * sh + i * dh - top, z * sw + j * dw - left
        if not (0 <= row < h and 0 <= column < w):
            continue
        if f["depthwise"]:
            out[:, :, y, z] += x[:, :, row, column] * weight[:, None, i, j, 0]
        else:
            out[:, :, y, z] += np.einsum("tnc,toc->tno", x[:, :, row, column], weight[:, i, j])
    return out


@given(seeds, convs(), floats, post_processing(), spreads)
def test_conv(tools: Any, seed: int, fields: dict[str, Any], in_format: str, post: dict[str, Any], spread: str) -> None:
    shape, kernel = fields["shape"], fields["kernel"]
    x = tools.random_values(seed, (3, *shape), in_format)
    weight_shape = (*kernel, 1 if fields["depthwise"] else fields["out_channels"], shape[3])
    weight = tools.random_values(seed + 1, (3, *weight_shape), in_format)
    product = conv_reference(x.astype(np.float64), weight.astype(np.float64), fields)
    magnitude = conv_reference(np.abs(x.astype(np.float64)), np.abs(weight.astype(np.float64)), fields)
    out_shape = product.shape[1:]
    bench = tools.Bench(TILES, spread)
    src, w = bench.put_tensor(x, in_format), bench.put_tensor(weight, in_format, "Cx")
    sums = Sums(tools, bench, seed, out_shape, post)
    out = bench.room(nc_bytes(out_shape, post["out_format"]))
    bench.do(tx8.conv, src=src, weight=w, out=out, in_format=in_format, **fields, **sums.fields)
    bench.get(out, nc_bytes(out_shape, post["out_format"]))
    (data,) = bench.run()
    terms = kernel[0] * kernel[1] * (1 if fields["depthwise"] else shape[3])
    sums.check(tools.tensor(data, out_shape, post["out_format"]), product, magnitude, terms)


@given(seeds, convs())
def test_int8_conv_is_exact(tools: Any, seed: int, fields: dict[str, Any]) -> None:
    shape, kernel = fields["shape"], fields["kernel"]
    x = tools.random_values(seed, (3, *shape), "i8")
    weight_shape = (*kernel, 1 if fields["depthwise"] else fields["out_channels"], shape[3])
    weight = tools.random_values(seed + 1, (3, *weight_shape), "i8")
    want = conv_reference(x.astype(np.int64), weight.astype(np.int64), fields)
    bench = tools.Bench(TILES)
    src, w = bench.put_tensor(x, "i8"), bench.put_tensor(weight, "i8", "Cx")
    out = bench.room(nc_bytes(want.shape[1:], "i32"))
    bench.do(tx8.conv, src=src, weight=w, out=out, in_format="i8", out_format="i32", **fields)
    bench.get(out, nc_bytes(want.shape[1:], "i32"))
    (data,) = bench.run()
    assert (tools.tensor(data, want.shape[1:], "i32") == want).all()


def test_columns_of_a_large_conv_are_made_row_by_row(tools: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sums come out when the im2col buffer is limited to one kernel row."""
    fields = {"shape": (1, 6, 6, 5), "out_channels": 3, "kernel": (3, 3), "pads": (1, 1, 1, 1)}
    x, weight = tools.random_values(1, (3, 1, 6, 6, 5), "i8"), tools.random_values(2, (3, 3, 3, 3, 5), "i8")

    def run() -> bytes:
        bench = tools.Bench(TILES)
        src, w, out = bench.put_tensor(x, "i8"), bench.put_tensor(weight, "i8", "Cx"), bench.room(1024)
        bench.do(tx8.conv, src=src, weight=w, out=out, in_format="i8", out_format="i32", **fields)
        bench.get(out, 576)
        return bench.run()[0].tobytes()

    at_once = run()
    monkeypatch.setattr("tx8ir.sim.engines.ne._IM2COL_BYTES", 0)
    assert run() == at_once


def test_a_partial_sum_carries_a_split_reduction(tools: Any) -> None:
    """K in two halves, psum kept in fp32 in place, equals K at once within fp32; a bf16 psum would not."""
    m, k, n = 4, 128, 16
    a, b = tools.random_values(1, (3, 1, 1, m, k), "bf16"), tools.random_values(2, (3, 1, 1, k, n), "bf16")
    bench = tools.Bench(TILES)
    halves = [
        (bench.put_tensor(np.ascontiguousarray(a[..., s]), "bf16"), bench.put_tensor(b[..., s, :], "bf16"))
        for s in (slice(0, 64), slice(64, 128))
    ]
    out = bench.room(nc_bytes((1, 1, m, n), "f32"))
    common: dict[str, Any] = {"m": m, "k": 64, "n": n, "in_format": "bf16", "out_format": "f32", "out": out}
    bench.do(tx8.gemm, lhs=halves[0][0], rhs=halves[0][1], **common)
    bench.do(tx8.gemm, lhs=halves[1][0], rhs=halves[1][1], psum=out, psum_format="f32", **common)
    bench.get(out, nc_bytes((1, 1, m, n), "f32"))
    (data,) = bench.run()
    want = a.astype(np.float64)[:, 0] @ b.astype(np.float64)[:, 0]
    magnitude = np.abs(a.astype(np.float64))[:, 0] @ np.abs(b.astype(np.float64))[:, 0]
    error = np.abs(tools.tensor(data, (1, 1, m, n), "f32")[:, 0] - want)
    assert (error <= (k + 1) * 2.0**-24 * magnitude).all()


def test_a_chip_without_post_processing_refuses_a_floating_bias(tools: Any) -> None:
    target = attrs.evolve(TX8, ne_fp_postproc=False)
    for extra, fails in (({}, False), ({"activation": "relu"}, True)):
        bench = tools.Bench((0,))
        a = bench.put_tensor(np.ones((1, 1, 1, 1, 1), np.float32), "f32")
        out = bench.room(256)
        bench.do(tx8.gemm, lhs=a, rhs=a, out=out, m=1, k=1, n=1, in_format="f32", out_format="f32", **extra)
        bench.get(out, 4)
        if fails:
            with pytest.raises(SimError, match="does not post-process floating-point results"):
                bench.run(target)
        else:
            assert bench.run(target)[0].view(np.float32) == 1.0
