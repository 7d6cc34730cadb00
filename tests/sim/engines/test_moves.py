"""Moves of whole tensors against NumPy's, in both layouts and every format, on tiles at equal and at odd addresses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tx8ir.dialects import tx8
from tx8ir.sim import SimError
from tx8ir.target.formats import Format
from tx8ir.target.layout import size_bytes

Array = NDArray[Any]
TILES = (0, 1, 6)
seeds = st.integers(0, 2**32 - 1)
spreads = st.sampled_from(("uniform", "regular", "irregular"))
layouts = st.sampled_from(("NTensor", "NCx"))
formats = st.sampled_from(("i8", "f16", "bf16", "f32", "tf32", "i64"))
shapes = st.tuples(st.integers(1, 2), st.integers(1, 4), st.integers(1, 5), st.sampled_from((1, 3, 32, 65, 130)))


class Side:
    """One tensor of a case: how it is put in, and how it is read back."""

    def __init__(self, tools: Any, bench: Any, format: str, layout: str) -> None:
        self.tools, self.bench, self.format, self.layout = tools, bench, Format.named(format), layout

    def size(self, shape: tuple[int, ...]) -> int:
        return size_bytes(shape, self.format, self.layout)

    def put(self, values: Array) -> tuple[int, ...]:
        if self.layout == "NCx":
            return self.bench.put_tensor(values, self.format.name)
        return self.bench.put_array(values)

    def read(self, data: Array, shape: tuple[int, ...]) -> Array:
        if self.layout == "NCx":
            return self.tools.tensor(data, shape, self.format.name)
        return self.tools.elements(data, self.format.name).reshape(len(data), *shape)


def same(got: Array, want: Array) -> bool:
    """Equal bit for bit: a move keeps the payload of a NaN."""
    return got.shape == want.shape and np.ascontiguousarray(got).tobytes() == np.ascontiguousarray(want).tobytes()


def moved(
    tools: Any, op: Any, x: Array, format: str, layout: str, spread: str, out_shape: tuple[int, ...], **fields: Any
) -> Array:
    """What `op` makes of `x` [tiles, N, H, W, C]."""
    bench = tools.Bench(TILES, spread)
    side = Side(tools, bench, format, layout)
    nbytes = side.size(out_shape)
    src, dst = side.put(x), bench.room(nbytes)
    bench.do(op, src=src, dst=dst, shape=x.shape[1:], format=format, layout=layout, **fields)
    bench.get(dst, nbytes)
    (data,) = bench.run()
    return side.read(data, out_shape)


@given(seeds, shapes, formats, layouts, spreads, st.sampled_from("NHWC"))
def test_mirror(tools: Any, seed: int, shape: Any, format: str, layout: str, spread: str, axis: str) -> None:
    x = tools.random_values(seed, (3, *shape), format, special=True)
    got = moved(tools, tx8.mirror, x, format, layout, spread, shape, axis=axis)
    assert same(got, np.flip(x, "?NHWC".index(axis)))


@given(seeds, shapes, formats, layouts, spreads, st.permutations(range(4)))
def test_transpose(tools: Any, seed: int, shape: Any, format: str, layout: str, spread: str, perm: list[int]) -> None:
    x = tools.random_values(seed, (3, *shape), format, special=True)
    out_shape = tuple(shape[p] for p in perm)
    got = moved(tools, tx8.transpose, x, format, layout, spread, out_shape, perm=tuple(perm))
    assert same(got, np.stack([np.transpose(tile, perm) for tile in x]))


@given(seeds, shapes, formats, layouts, spreads, st.sampled_from(("rot90", "rot180", "rot270")))
def test_rotate_follows_its_formula(
    tools: Any, seed: int, shape: Any, format: str, layout: str, spread: str, function: str
) -> None:
    x = tools.random_values(seed, (3, *shape), format, special=True)
    n, h, w, c = shape
    out_shape = shape if function == "rot180" else (n, w, h, c)
    i, j = np.indices(out_shape[1:3])
    rows, columns = {"rot90": (j, w - 1 - i), "rot180": (h - 1 - i, w - 1 - j), "rot270": (h - 1 - j, i)}[function]
    got = moved(tools, tx8.rotate, x, format, layout, spread, out_shape, function=function)
    assert same(got, x[:, :, rows, columns])


@given(seeds, shapes, formats, spreads, st.booleans())
def test_axis_order_of_images(tools: Any, seed: int, shape: Any, format: str, spread: str, to_nhwc: bool) -> None:
    n, h, w, c = shape
    x = tools.random_values(seed, (3, *((n, c, h, w) if to_nhwc else shape)), format, special=True)
    bench = tools.Bench(TILES, spread)
    src, dst = bench.put_array(x), bench.room(x[0].nbytes)
    bench.do(tx8.nchw2nhwc if to_nhwc else tx8.nhwc2nchw, src=src, dst=dst, shape=shape, format=format)
    bench.get(dst, x[0].nbytes)
    (data,) = bench.run()
    want = np.moveaxis(x, 2, 4) if to_nhwc else np.moveaxis(x, 4, 2)
    assert same(tools.elements(data, format).reshape(want.shape), want)


@given(seeds, shapes, formats, layouts, spreads, st.sampled_from("NHWC"), st.sampled_from((1, 2, 66)))
def test_concat(
    tools: Any, seed: int, shape: Any, format: str, layout: str, spread: str, axis: str, extent: int
) -> None:
    joined = "NHWC".index(axis)
    other = tuple(extent if i == joined else e for i, e in enumerate(shape))
    x = tools.random_values(seed, (3, *shape), format, special=True)
    y = tools.random_values(seed + 1, (3, *other), format, special=True)
    want = np.concatenate([x, y], joined + 1)
    bench = tools.Bench(TILES, spread)
    side = Side(tools, bench, format, layout)
    lhs, rhs, dst = side.put(x), side.put(y), bench.room(side.size(want.shape[1:]))
    bench.do(
        tx8.concat,
        lhs=lhs,
        rhs=rhs,
        dst=dst,
        lhs_shape=shape,
        rhs_shape=other,
        axis=axis,
        format=format,
        layout=layout,
    )
    bench.get(dst, side.size(want.shape[1:]))
    (data,) = bench.run()
    assert same(side.read(data, want.shape[1:]), want)


@given(seeds, shapes, formats, layouts, st.tuples(*[st.integers(0, 3)] * 4), spreads)
def test_pad_fills_with_raw_bits(
    tools: Any, seed: int, shape: Any, format: str, layout: str, pads: tuple[int, ...], spread: str
) -> None:
    x = tools.random_values(seed, (3, *shape), format, special=True)
    value = tools.random_values(seed + 1, (1,), format)
    bits = int(value.view(f"u{value.itemsize}")[0]) & (2**63 - 1)
    fill = np.array([bits], f"u{value.itemsize}").view(value.dtype)[0]
    top, bottom, left, right = pads
    n, h, w, c = shape
    want = np.full((3, n, h + top + bottom, w + left + right, c), fill, x.dtype)
    want[:, :, top : top + h, left : left + w] = x
    got = moved(tools, tx8.pad, x, format, layout, spread, want.shape[1:], pads=pads, value=bits)
    assert same(got, want)


@given(
    seeds,
    st.tuples(st.just(2), st.integers(3, 6), st.integers(3, 6), st.sampled_from((1, 3, 65))),
    st.sampled_from(("i8", "f16", "f32")),
    layouts,
    st.tuples(*[st.integers(1, 3)] * 2),
    st.tuples(*[st.integers(1, 2)] * 2),
    st.tuples(*[st.integers(0, 2)] * 4),
)
def test_img2col_rows_times_the_weight_are_the_convolution(
    tools: Any, seed: int, shape: Any, format: str, layout: str, kernel: Any, strides: Any, pads: Any
) -> None:
    x = tools.random_values(seed, (3, *shape), format)
    n, h, w, c = shape
    top, bottom, left, right = pads
    out_h, out_w = (h + top + bottom - kernel[0]) // strides[0] + 1, (w + left + right - kernel[1]) // strides[1] + 1
    want = np.zeros((3, n, out_h, out_w, kernel[0] * kernel[1] * c), x.dtype)
    for y in range(out_h):
        for z in range(out_w):
            for i in range(kernel[0]):
                for j in range(kernel[1]):
                    row, column = y * strides[0] + i - top, z * strides[1] + j - left
                    if 0 <= row < h and 0 <= column < w:
                        at = (i * kernel[1] + j) * c
                        want[:, :, y, z, at : at + c] = x[:, :, row, column]
    fields = {"kernel": kernel, "strides": strides, "pads": pads}
    assert same(moved(tools, tx8.img2col, x, format, layout, "uniform", want.shape[1:], **fields), want)


@given(
    seeds,
    shapes,
    formats,
    layouts,
    layouts,
    spreads,
    st.sampled_from(
        (
            lambda n, h, w, c: (n, 1, h * w, c),
            lambda n, h, w, c: (1, h, n * w, c),
            lambda n, h, w, c: (c, w, h, n),
            lambda n, h, w, c: (n, h, 1, w * c),
        )
    ),
)
def test_reshape_keeps_the_order_of_elements(
    tools: Any, seed: int, shape: Any, format: str, src_layout: str, dst_layout: str, spread: str, reshape: Any
) -> None:
    x = tools.random_values(seed, (3, *shape), format, special=True)
    out_shape = reshape(*shape)
    bench = tools.Bench(TILES, spread)
    source, result = Side(tools, bench, format, src_layout), Side(tools, bench, format, dst_layout)
    src, dst = source.put(x), bench.room(result.size(out_shape))
    bench.do(
        tx8.tdma_reshape,
        src=src,
        dst=dst,
        src_shape=shape,
        dst_shape=out_shape,
        format=format,
        src_layout=src_layout,
        dst_layout=dst_layout,
    )
    bench.get(dst, result.size(out_shape))
    (data,) = bench.run()
    assert same(result.read(data, out_shape), x.reshape(3, *out_shape))


def test_a_move_may_write_over_its_operand(tools: Any) -> None:
    x = tools.random_values(3, (3, 1, 4, 5, 7), "f16")
    bench = tools.Bench(TILES)
    at = bench.put_array(x)
    bench.do(tx8.transpose, src=at, dst=at, shape=(1, 4, 5, 7), perm=(0, 3, 2, 1), format="f16")
    bench.get(at, x[0].nbytes)
    (data,) = bench.run()
    assert same(tools.elements(data, "f16").reshape(3, 1, 7, 5, 4), x.transpose(0, 1, 4, 3, 2))


@given(seeds, st.integers(1, 80), st.sampled_from(("i8", "f16", "f32", "tf32")), spreads)
def test_maskgather_packs_the_chosen_and_counts_them(
    tools: Any, seed: int, count: int, format: str, spread: str
) -> None:
    x = tools.random_values(seed, (3, count), format, special=True)
    mask = tools.random_values(seed + 1, (3, count), format, special=True)
    mask[np.random.default_rng(seed).random(mask.shape) < 0.5] = 0
    before = tools.random_values(seed + 2, (3, count), format)
    bench = tools.Bench(TILES, spread)
    src, m, dst, found = bench.put_array(x), bench.put_array(mask), bench.put_array(before), bench.room(4)
    bench.do(tx8.maskgather, src=src, mask=m, dst=dst, found=found, count=count, format=format)
    bench.get(dst, x[0].nbytes)
    bench.get(found, 4)
    packed, totals = bench.run()
    for tile in range(3):
        chosen = x[tile][mask[tile] != 0]
        assert totals[tile].view(np.int32)[0] == len(chosen)
        want = before[tile].copy()
        want[: len(chosen)] = chosen
        assert same(tools.elements(packed[tile : tile + 1], format)[0], want)


# -- pooling with places ----------------------------------------------------------------------------------------------

pool_shapes = st.tuples(st.integers(1, 2), st.integers(3, 7), st.integers(3, 7), st.sampled_from((1, 5, 65)))
windows = st.tuples(st.integers(1, 3), st.integers(1, 3))


@given(seeds, pool_shapes, windows, windows, st.booleans(), st.sampled_from(("f32", "f16", "bf16", "tf32")), spreads)
def test_pool_index_gives_the_first_extreme_and_its_place(
    tools: Any, seed: int, shape: Any, kernel: Any, strides: Any, largest: bool, format: str, spread: str
) -> None:
    x = tools.random_values(seed, (3, *shape), format, special=True)
    x[np.random.default_rng(seed).random(x.shape) < 0.3] = 1.0  # ties
    n, h, w, c = shape
    pads = ((kernel[0] - 1) // 2, kernel[0] // 2, (kernel[1] - 1) // 2, kernel[1] // 2)
    out_h, out_w = (
        (h + pads[0] + pads[1] - kernel[0]) // strides[0] + 1,
        (w + sum(pads[2:]) - kernel[1]) // strides[1] + 1,
    )
    values, places = np.zeros((3, n, out_h, out_w, c)), np.zeros((3, n, out_h, out_w, c), np.int32)
    pick = np.argmax if largest else np.argmin
    for y in range(out_h):
        rows = [r for r in range(y * strides[0] - pads[0], y * strides[0] - pads[0] + kernel[0]) if 0 <= r < h]
        for z in range(out_w):
            columns = [q for q in range(z * strides[1] - pads[2], z * strides[1] - pads[2] + kernel[1]) if 0 <= q < w]
            window = x[:, :, rows][:, :, :, columns].astype(np.float64).reshape(3, n, -1, c)
            ordered = np.where((window == 0) & np.signbit(window), -5e-324, window)  # -0 is smaller than +0
            first = pick(ordered, axis=2)  # a NaN is NumPy's extreme too
            where = np.array([r * w + q for r in rows for q in columns])
            values[:, :, y, z] = np.take_along_axis(window, first[:, :, None], 2)[:, :, 0]
            places[:, :, y, z] = where[first]
    bench = tools.Bench(TILES, spread)
    src = bench.put_tensor(x, format)
    sizes = [size_bytes((n, out_h, out_w, c), Format.named(f), "NCx") for f in (format, "i32")]
    dst, index = (bench.room(size) for size in sizes)
    bench.do(
        tx8.pool_index,
        function="max" if largest else "min",
        src=src,
        dst=dst,
        index=index,
        shape=shape,
        kernel=kernel,
        strides=strides,
        pads=pads,
        format=format,
    )
    bench.get(dst, sizes[0])
    bench.get(index, sizes[1])
    got, where = bench.run()
    assert np.array_equal(tools.tensor(where, places.shape[1:], "i32"), places)
    found = tools.tensor(got, values.shape[1:], format).astype(np.float64)
    assert np.array_equal(found, values, equal_nan=True)
    assert np.array_equal(np.signbit(found) & (found == 0), np.signbit(values) & (values == 0))


@given(seeds, st.sampled_from((1, 5, 65)), st.sampled_from(("f32", "f16", "bf16")), spreads)
def test_unpool_puts_elements_back_among_zeros(tools: Any, seed: int, c: int, format: str, spread: str) -> None:
    shape, (h, w) = (2, 2, 3, c), (4, 5)
    x = tools.random_values(seed, (3, *shape), format, special=True)
    places = np.random.default_rng(seed).integers(0, h * w, x.shape, np.int32)
    want = np.zeros((3, 2, h, w, c), x.dtype)
    for t, n, i, j, k in np.ndindex(x.shape):
        want[t, n, *divmod(places[t, n, i, j, k], w), k] = x[t, n, i, j, k]
    bench = tools.Bench(TILES, spread)
    size = size_bytes(want.shape[1:], Format.named(format), "NCx")
    src, index, dst = bench.put_tensor(x, format), bench.put_tensor(places, "i32"), bench.room(size)
    bench.do(tx8.unpool, src=src, index=index, dst=dst, shape=shape, extents=(h, w), format=format)
    bench.get(dst, size)
    (data,) = bench.run()
    assert same(tools.tensor(data, want.shape[1:], format), want)


def test_unpool_refuses_a_place_outside(tools: Any) -> None:
    bench = tools.Bench((4, 5))
    places = np.array([0, 6], np.int32).reshape(2, 1, 1, 1, 1)
    src = bench.put_tensor(np.ones((2, 1, 1, 1, 1), np.float32), "f32")
    index, dst = bench.put_tensor(places, "i32"), bench.room(256 * 6)
    bench.do(tx8.unpool, src=src, index=index, dst=dst, shape=(1, 1, 1, 1), extents=(2, 3), format="f32")
    with pytest.raises(SimError, match=r"place \[0, 0, 0, 0\] of tile 5 is 6; the result has places 0\.\.5"):
        bench.run()
