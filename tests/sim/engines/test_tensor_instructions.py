"""Reduce, pool, channelnorm, maskmove, convert and memset against formulas in double precision."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tx8ir.dialects import tx8
from tx8ir.target.formats import Format
from tx8ir.target.layout import size_bytes
from tx8ir.target.rounding import Rounding, convert

FORMATS = ("f32", "f16", "bf16", "tf32")
seeds = st.integers(0, 2**32 - 1)
spreads = st.sampled_from(("uniform", "regular", "irregular"))
# Channels on both sides of every border of the blocking: tails of 4 to 32, a padded block, whole blocks.
channels = st.sampled_from((1, 3, 4, 5, 17, 32, 33, 63, 64, 65, 70, 97, 128, 131))
shapes = st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 5), channels)
TILES = (0, 4, 8)


def half_ulp(x: NDArray[np.float64], format: str) -> NDArray[np.float64]:
    """Bound of one rounding of |x| to a format (from fp32, when it is narrower)."""
    f = Format.named(format)
    least = {"f16": 2.0**-25, "bf16": 2.0**-134, "f32": 2.0**-150, "tf32": 2.0**-137}[format]
    return np.abs(x) * (2.0 ** -(f.mantissa_bits + 1) + 2.0**-24) + least


def nc_bytes(shape: tuple[int, ...], format: str) -> int:
    return size_bytes(shape, Format.named(format), "NCx")


@given(
    seeds,
    shapes,
    st.sampled_from(tx8.REDUCTIONS),
    st.sampled_from(tuple(tx8.REDUCE_AXES)),
    st.sampled_from(FORMATS),
    spreads,
)
def test_reduce(
    tools: Any, seed: int, shape: tuple[int, ...], function: str, axis: str, format: str, spread: str
) -> None:
    x = tools.random_values(seed, (3, *shape), format)
    bench = tools.Bench(TILES, spread)
    axes = tuple({"N": 1, "H": 2, "W": 3, "C": 4}[a] for a in axis)
    out_shape = tuple(1 if i + 1 in axes else n for i, n in enumerate(shape))
    src, dst = bench.put_tensor(x, format), bench.room(nc_bytes(out_shape, format))
    bench.do(tx8.reduce, function=function, axis=axis, src=src, dst=dst, shape=shape, format=format)
    bench.get(dst, nc_bytes(out_shape, format))
    (out,) = bench.run()
    got = tools.tensor(out, out_shape, format).astype(np.float64)
    exact = x.astype(np.float64)
    if function in ("max", "min"):
        assert (got == getattr(exact, function)(axis=axes, keepdims=True)).all()
        return
    terms = np.prod([x.shape[a] for a in axes])
    scale = 1.0 / terms if function == "avg" else 1.0
    want = exact.sum(axis=axes, keepdims=True) * scale
    bound = terms * 2.0**-24 * np.abs(exact).sum(axis=axes, keepdims=True) * scale + half_ulp(want, format)
    assert (np.abs(got - want) <= bound * (1 + 1e-6)).all()


windows = st.tuples(st.integers(1, 4), st.integers(1, 4))


@st.composite
def pools(draw: st.DrawFn) -> dict[str, tuple[int, ...]]:
    kernel = draw(windows)
    pads = tuple(draw(st.integers(0, kernel[i // 2] - 1)) for i in range(4))
    n, c = draw(st.integers(1, 2)), draw(channels)
    h = draw(st.integers(max(1, kernel[0] - pads[0] - pads[1]), 7))
    w = draw(st.integers(max(1, kernel[1] - pads[2] - pads[3]), 7))
    return {"shape": (n, h, w, c), "kernel": kernel, "strides": draw(windows), "pads": pads}


def pool_reference(x: NDArray[np.float64], fields: dict[str, tuple[int, ...]], function: str) -> NDArray[np.float64]:
    (kh, kw), (sh, sw), (top, bottom, left, right) = fields["kernel"], fields["strides"], fields["pads"]
    _, _, h, w, _ = x.shape
    rows, columns = (h + top + bottom - kh) // sh + 1, (w + left + right - kw) // sw + 1
    out = np.empty((*x.shape[:2], rows, columns, x.shape[4]))
    for y in range(rows):
        for c in range(columns):
            inside = x[
                :,
                :,
                max(y * sh - top, 0) : max(min(y * sh - top + kh, h), 0),
                max(c * sw - left, 0) : max(min(c * sw - left + kw, w), 0),
            ]
            value = {"max": inside.max, "min": inside.min, "sum": inside.sum, "avg": inside.sum}[function](axis=(2, 3))
            out[:, :, y, c] = value / (kh * kw) if function == "avg" else value
    return out


@given(seeds, pools(), st.sampled_from(tx8.REDUCTIONS), st.sampled_from(FORMATS), spreads)
def test_pool(
    tools: Any, seed: int, fields: dict[str, tuple[int, ...]], function: str, format: str, spread: str
) -> None:
    x = tools.random_values(seed, (3, *fields["shape"]), format)
    if function == "max":
        x = -np.abs(x.astype(np.float32)).astype(x.dtype)  # zeros of the padding would win
    want = pool_reference(x.astype(np.float64), fields, function)
    out_shape = want.shape[1:]
    bench = tools.Bench(TILES, spread)
    src, dst = bench.put_tensor(x, format), bench.room(nc_bytes(out_shape, format))
    bench.do(tx8.pool, function=function, src=src, dst=dst, format=format, **fields)
    bench.get(dst, nc_bytes(out_shape, format))
    (out,) = bench.run()
    got = tools.tensor(out, out_shape, format).astype(np.float64)
    if function in ("max", "min"):
        assert (got == want).all()
        return
    area = fields["kernel"][0] * fields["kernel"][1]
    scale = pool_reference(np.abs(x.astype(np.float64)), fields, function)
    assert (np.abs(got - want) <= (area * 2.0**-24 * scale + half_ulp(want, format)) * (1 + 1e-6)).all()


@pytest.mark.parametrize("function", ["max", "min"])
def test_nan_wins_a_max_and_a_min(tools: Any, function: str) -> None:
    x = np.zeros((1, 1, 2, 2, 1), np.float32)
    x[0, 0, 0, 1] = np.nan
    for op, fields in ((tx8.reduce, {"axis": "HW"}), (tx8.pool, {"kernel": (2, 2)})):
        bench = tools.Bench((0,))
        src, dst = bench.put_tensor(x, "f32"), bench.room(256)
        bench.do(op, function=function, src=src, dst=dst, shape=(1, 2, 2, 1), format="f32", **fields)
        bench.get(dst, 256)
        (out,) = bench.run()
        assert np.isnan(tools.tensor(out, (1, 1, 1, 1), "f32")).all()


@given(seeds, shapes, st.sampled_from(tx8.BYTE_FORMATS), spreads)
def test_channelnorm_there_and_back_keeps_every_bit(
    tools: Any, seed: int, shape: tuple[int, ...], format: str, spread: str
) -> None:
    f = Format.named(format)
    bits = np.random.default_rng(seed).integers(0, 256, (3, int(np.prod(shape)) * f.bytes), np.uint8)
    bench = tools.Bench(TILES, spread)
    src = bench.put(bits)
    blocked, back = bench.room(nc_bytes(shape, format)), bench.room(bits.shape[1])
    bench.do(tx8.channelnorm, src=src, dst=blocked, shape=shape, format=format)
    bench.do(tx8.channelnorm, src=blocked, dst=back, shape=shape, format=format, direction=False)
    bench.get(blocked, nc_bytes(shape, format))
    bench.get(back, bits.shape[1])
    first, second = bench.run()
    assert (second == bits).all()
    values = tools.tensor(first, shape, format)
    assert (np.ascontiguousarray(values).reshape(3, -1).view(np.uint8) == bits).all()


def test_padding_lanes_are_written_as_zero_and_gaps_are_left_alone(tools: Any) -> None:
    shape, nbytes = (2, 1, 1, 3), 512  # per batch: 3 elements, 1 lane, a gap up to 256 bytes
    bench = tools.Bench((0,))
    src = bench.put_array(np.arange(1, 7, dtype=np.float32)[None])
    dst = bench.put(np.full((1, nbytes), 0x55, np.uint8))
    bench.do(tx8.channelnorm, src=src, dst=dst, shape=shape, format="f32")
    bench.get(dst, nbytes)
    (out,) = bench.run()
    words = out.view(np.float32).reshape(2, 64)
    assert words[:, :4].tolist() == [[1, 2, 3, 0], [4, 5, 6, 0]]
    assert (out.reshape(2, 256)[:, 16:] == 0x55).all()


@given(seeds, st.integers(1, 200), st.sampled_from(tx8.BYTE_FORMATS), spreads)
def test_maskmove_copies_where_the_mask_is_not_zero(
    tools: Any, seed: int, count: int, format: str, spread: str
) -> None:
    rng = np.random.default_rng(seed)
    f = Format.named(format)
    src, dst = (rng.integers(0, 256, (3, count * f.bytes), np.uint8) for _ in range(2))
    mask = tools.random_values(seed, (3, count), format, special=True)
    mask = np.where(rng.random(mask.shape) < 0.5, np.zeros((), mask.dtype), mask)
    bench = tools.Bench(TILES, spread)
    s, m, d = bench.put(src), bench.put_array(mask), bench.put(dst)
    bench.do(tx8.maskmove, src=s, mask=m, dst=d, count=count, format=format)
    bench.get(d, count * f.bytes)
    (out,) = bench.run()
    chosen = ~(mask.astype(np.float64) == 0) if f.is_float else mask != 0
    want = np.where(chosen.repeat(f.bytes, axis=1), src, dst)
    assert (out == want).all()


PAIRS = list(tx8.CONVERSIONS)


@given(seeds, st.integers(1, 80), st.sampled_from(PAIRS), st.sampled_from((0, 1, 2, 3)), spreads)
def test_convert_keeps_the_spacing_of_the_wider_format(
    tools: Any, seed: int, count: int, pair: tuple[str, str], rounding: int, spread: str
) -> None:
    source, destination = (Format.named(p) for p in pair)
    rounding = rounding if tx8.CONVERSIONS[pair].narrows else 0
    wide = max(source.bytes, destination.bytes)
    values = tools.random_values(seed, (3, count), source.name, special=True)
    spaced = np.full((3, count, wide), 0xAA, np.uint8)
    spaced[:, :, : source.bytes] = values.view(np.uint8).reshape(3, count, source.bytes)
    before = np.full((3, count * wide), 0xBB, np.uint8)
    bench = tools.Bench(TILES, spread)
    src, dst = bench.put(spaced.reshape(3, -1)), bench.put(before)
    bench.do(tx8.convert, src=src, dst=dst, count=count, src_format=pair[0], dst_format=pair[1], rounding=rounding)
    bench.get(dst, count * wide)
    (out,) = bench.run()
    cells = out.reshape(3, count, wide)
    got = np.ascontiguousarray(cells[:, :, : destination.bytes]).view(destination.dtype)[..., 0]
    with np.errstate(all="ignore"):
        want = convert(values, source, destination, Rounding(rounding))
    assert np.array_equal(got.view(np.uint8), want.view(np.uint8)) or _equal_but_nan(got, want)
    assert (cells[:, :, destination.bytes :] == 0xBB).all()


def _equal_but_nan(a: NDArray[Any], b: NDArray[Any]) -> bool:
    x, y = a.astype(np.float64), b.astype(np.float64)
    return bool(((x == y) | (np.isnan(x) & np.isnan(y))).all())


def test_widening_and_narrowing_as_programs_do_it(tools: Any) -> None:
    """fp16 -> fp32: spread, convert; bf16 <- fp32: convert in place, pack."""
    x = tools.random_values(1, (3, 50), "f16")
    bench = tools.Bench(TILES)
    src, wide, packed = bench.put_array(x), bench.room(200), bench.room(100)
    bench.do(tx8.tdma, src=src, dst=wide, segment_bytes=2, src_strides=(2,), dst_strides=(4,), iterations=(50,))
    bench.do(tx8.convert, src=wide, dst=wide, count=50, src_format="f16", dst_format="f32")
    bench.do(tx8.convert, src=wide, dst=wide, count=50, src_format="f32", dst_format="bf16")
    bench.do(tx8.tdma, src=wide, dst=packed, segment_bytes=2, src_strides=(4,), dst_strides=(2,), iterations=(50,))
    bench.get(packed, 100)
    (narrow,) = bench.run()
    assert (tools.elements(narrow, "bf16") == x.astype(np.float32).astype(ml_dtypes.bfloat16)).all()


@given(st.integers(1, 100), st.sampled_from(tx8.BYTE_FORMATS), st.data(), spreads)
def test_memset_fills_with_raw_bits(tools: Any, count: int, format: str, data: st.DataObject, spread: str) -> None:
    width = Format.named(format).bytes
    value = data.draw(st.integers(0, min(256**width - 1, 2**63 - 1)))
    bench = tools.Bench(TILES, spread)
    dst = bench.room(count * width)
    bench.do(tx8.memset, dst=dst, count=count, format=format, value=value)
    bench.get(dst, count * width)
    (out,) = bench.run()
    assert bytes(out[1]) == value.to_bytes(width, "little") * count
