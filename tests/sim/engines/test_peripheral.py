"""Packed bits, logic, counting, tables, random numbers, resampling and scalar words against plain formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tx8ir.dialects import tx8
from tx8ir.sim import SimError
from tx8ir.target.chip import TX8
from tx8ir.target.formats import F32, Format
from tx8ir.target.layout import size_bytes
from tx8ir.target.rounding import convert

Array = NDArray[Any]
TILES = (0, 1, 6)
FLOATS = ("f32", "f16", "bf16", "tf32")
seeds = st.integers(0, 2**32 - 1)
counts = st.integers(1, 200)
spreads = st.sampled_from(("uniform", "regular", "irregular"))
floats = st.sampled_from(FLOATS)


def packed(bits: Array) -> Array:
    """Truth values [tiles, n] as bytes, the first in the lowest bit; by hand."""
    result = np.zeros((len(bits), math.ceil(bits.shape[1] / 8)), np.uint8)
    for t, i in zip(*np.nonzero(bits), strict=True):
        result[t, i // 8] |= 1 << (i % 8)
    return result


RELATION = {
    "eq": np.equal,
    "ne": np.not_equal,
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
}


@given(seeds, counts, st.sampled_from(tx8.RELATIONS), floats, spreads, st.sampled_from(("vv", "vs", "vuv", "loop")))
def test_relations_give_packed_bits_in_every_form(
    tools: Any, seed: int, count: int, function: str, format: str, spread: str, form: str
) -> None:
    full = 3 * 128 if form == "loop" else count
    x = tools.random_values(seed, (3, full), format, special=True)
    bench = tools.Bench(TILES, spread)
    src = bench.put_array(x)
    unit = {"vv": full, "vs": 1, "vuv": min(count, 7), "loop": 3 * 64}[form]
    y = tools.random_values(seed + 1, (3, unit), format, special=True)
    if form == "vs":
        y[:] = y[0, 0]
    elif form == "vv":
        y[:, ::2] = x[:, ::2]
    rhs, dst = bench.put_array(y), bench.room(math.ceil(full / 8))
    common = {"function": function, "dst": dst, "count": full, "format": format, "packed": True}
    if form == "vv":
        bench.do(tx8.binary_vv, lhs=src, rhs=rhs, **common)
        other = y
    elif form == "vs":
        bench.do(tx8.binary_vs, src=src, scalar=int(y.view(f"u{y.itemsize}")[0, 0]), **common)
        other = y[:, :1]
    elif form == "vuv":
        bench.do(tx8.binary_vuv, src=src, unit=rhs, unit_count=unit, **common)
        other = y[:, np.arange(full) % unit]
    else:
        common["count"] = 128
        bench.do(tx8.binary_vuv_loop, src=src, unit=rhs, unit_count=64, full_count=full, full_unit_count=unit, **common)
        other = y[:, [j * 64 + i % 64 for j in range(3) for i in range(128)]]
    bench.get(dst, math.ceil(full / 8))
    (out,) = bench.run()
    assert np.array_equal(out, packed(RELATION[function](x.astype(np.float64), other.astype(np.float64))))


@given(seeds, counts, st.sampled_from(("not", "and", "or", "xor")), spreads)
def test_logic_on_packed_bits_leaves_unused_bits_zero(
    tools: Any, seed: int, count: int, function: str, spread: str
) -> None:
    a, b = np.random.default_rng(seed).random((2, 3, count)) < 0.5
    bench = tools.Bench(TILES, spread)
    unused = np.zeros(8 * math.ceil(count / 8), bool)
    unused[count:] = True  # garbage where no operand has a bit
    lhs = bench.put(packed(np.pad(a, ((0, 0), (0, -count % 8))) | unused))
    rhs, dst = bench.put(packed(b)), bench.room(math.ceil(count / 8))
    bench.do(
        tx8.bit_logic, function=function, lhs=lhs, dst=dst, count=count, **({} if function == "not" else {"rhs": rhs})
    )
    bench.get(dst, math.ceil(count / 8))
    (out,) = bench.run()
    want = {"not": ~a, "and": a & b, "or": a | b, "xor": a ^ b}[function]
    assert np.array_equal(out, packed(want))


@given(seeds, counts, floats, spreads)
def test_bit2fp(tools: Any, seed: int, count: int, format: str, spread: str) -> None:
    bits = np.random.default_rng(seed).random((3, count)) < 0.5
    bench = tools.Bench(TILES, spread)
    nbytes = count * Format.named(format).bytes
    src, dst = bench.put(packed(bits)), bench.room(nbytes)
    bench.do(tx8.bit2fp, src=src, dst=dst, count=count, format=format)
    bench.get(dst, nbytes)
    (out,) = bench.run()
    assert np.array_equal(tools.elements(out, format).astype(np.float64), bits)


@given(seeds, counts, st.sampled_from((*tx8.BYTE_FORMATS, "i1")), spreads)
def test_count_of_what_is_not_zero(tools: Any, seed: int, count: int, format: str, spread: str) -> None:
    rng = np.random.default_rng(seed)
    bench = tools.Bench(TILES, spread)
    if format == "i1":
        x = rng.random((3, count)) < 0.5
        src = bench.put(packed(np.pad(x, ((0, 0), (0, -count % 8)), constant_values=True)))
    else:
        x = tools.random_values(seed, (3, count), format, special=True)
        x[rng.random(x.shape) < 0.3] = 0
        src = bench.put_array(x)
    dst = bench.room(4)
    bench.do(tx8.count, src=src, dst=dst, count=count, format=format)
    bench.get(dst, 4)
    (out,) = bench.run()
    assert [int(v) for v in out.view(np.int32)[:, 0]] == [sum(1 for v in tile if v != 0) for tile in x.tolist()]


@given(seeds, counts, st.sampled_from(tx8.NUMERIC), st.booleans(), st.booleans(), spreads)
def test_arg_finds_the_first_extreme(
    tools: Any, seed: int, count: int, format: str, largest: bool, special: bool, spread: str
) -> None:
    x = tools.random_values(seed, (3, count), format, special=special)
    bench = tools.Bench(TILES, spread)
    src, dst = bench.put_array(x), bench.room(4)
    bench.do(tx8.arg, function="argmax" if largest else "argmin", src=src, dst=dst, count=count, format=format)
    bench.get(dst, 4)
    (out,) = bench.run()
    for tile, at in zip(x.astype(np.float64), out.view(np.int32)[:, 0], strict=True):
        values = tile.tolist()
        nans = [i for i, v in enumerate(values) if math.isnan(v)]
        assert at == (nans[0] if nans else values.index(max(values) if largest else min(values)))


@given(seeds, counts, st.sampled_from((16, 32)), st.integers(1, 300), spreads)
def test_tables(tools: Any, seed: int, count: int, width: int, entries: int, spread: str) -> None:
    rng = np.random.default_rng(seed)
    dtype = np.dtype(f"u{width // 8}")
    table = rng.integers(0, 1 << width, (3, entries), dtype)
    index = rng.integers(0, entries, (3, count), dtype)
    bench = tools.Bench(TILES, spread)
    src, entry, dst = bench.put_array(index), bench.put_array(table), bench.room(index[0].nbytes)
    op = tx8.lut16 if width == 16 else tx8.lut32
    bench.do(op, src=src, table=entry, dst=dst, count=count, entries=entries)
    bench.get(dst, index[0].nbytes)
    (out,) = bench.run()
    assert np.array_equal(out.view(dtype), np.stack([t[i] for t, i in zip(table, index, strict=True)]))


def test_an_index_behind_the_table_is_an_error(tools: Any) -> None:
    bench = tools.Bench((3, 4))
    src = bench.put_array(np.array([[0, 1], [0, 5]], np.uint16))
    table, dst = bench.put_array(np.zeros((2, 5), np.uint16)), bench.room(4)
    bench.do(tx8.lut16, src=src, table=table, dst=dst, count=2, entries=5)
    with pytest.raises(SimError, match=r"index 1 of tile 4 is 5; the table has entries 0\.\.4"):
        bench.run()


# -- random numbers ---------------------------------------------------------------------------------------------------


def splitmix(seed: int, tile: int, count: int) -> list[int]:
    """The documented generator on Python's integers."""
    mask = 2**64 - 1

    def mix(z: int) -> int:
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        return z ^ (z >> 31)

    start = mix((mix(seed) + tile) & mask)
    return [mix((start + (i + 1) * 0x9E3779B97F4A7C15) & mask) for i in range(count)]


def generated(tools: Any, count: int, seed: int, format: str, tiles: tuple[int, ...] = TILES) -> Array:
    bench = tools.Bench(tiles)
    nbytes = count * Format.named(format).bytes
    dst = bench.room(nbytes)
    bench.do(tx8.rand_gen, dst=dst, count=count, seed=seed, format=format)
    bench.get(dst, nbytes)
    (out,) = bench.run()
    return tools.elements(out, format)


@pytest.mark.parametrize("format", [*FLOATS, "i8", "i16", "i32", "ui8", "ui16", "ui32"])
def test_rand_gen_is_the_documented_generator(tools: Any, format: str) -> None:
    f = Format.named(format)
    got = generated(tools, 40, 12345, format)
    for tile, values in zip(TILES, got, strict=True):
        words = splitmix(12345, tile, 40)
        if f.is_float:
            significant = f.mantissa_bits + 1
            want = [(w >> (64 - significant)) / 2**significant for w in words]
            assert [float(v) for v in values] == want
        else:
            assert values.view(f"u{f.bytes}").tolist() == [w >> (64 - f.bits) for w in words]


def test_random_numbers_are_uniform(tools: Any) -> None:
    """Mean and the counts of 16 bins of 160,000 numbers, each within 5 of its standard deviations."""
    x = generated(tools, 10_000, 99, "f32", tuple(range(16))).astype(np.float64).ravel()
    assert x.min() >= 0
    assert x.max() < 1
    assert abs(x.mean() - 0.5) < 5 * math.sqrt(1 / 12 / x.size)
    bins = np.bincount((x * 16).astype(int), minlength=16)
    assert (np.abs(bins - x.size / 16) < 5 * math.sqrt(x.size * (1 / 16) * (15 / 16))).all()


@given(seeds, floats, st.floats(0, 1), st.sampled_from((1.0, 0.5, 1.25)))
def test_elem_mask_drops_by_the_same_numbers(
    tools: Any, seed: int, format: str, probability: float, scale: float
) -> None:
    x = tools.random_values(seed, (3, 100), format)
    bench = tools.Bench(TILES)
    src, dst = bench.put_array(x), bench.room(x[0].nbytes)
    fields = {"count": 100, "seed": seed, "probability": probability, "scale": scale, "format": format}
    bench.do(tx8.elem_mask, src=src, dst=dst, **fields)
    bench.get(dst, x[0].nbytes)
    (out,) = bench.run()
    kept = np.array([[(w >> 40) / 2**24 >= probability for w in splitmix(seed, tile, 100)] for tile in TILES])
    want = np.where(kept, x.astype(np.float32) * np.float32(scale), np.float32(0))
    assert np.array_equal(tools.elements(out, format), convert(want, F32, Format.named(format)))


# -- resampling -------------------------------------------------------------------------------------------------------


@given(
    seeds,
    st.tuples(st.just(2), st.integers(1, 6), st.integers(1, 6), st.sampled_from((1, 5, 65))),
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.sampled_from(("half_pixel", "align_corners", "asymmetric")),
    floats,
    spreads,
)
def test_bilinear_is_within_rounding_of_its_formula(
    tools: Any, seed: int, shape: Any, extents: Any, coordinates: str, format: str, spread: str
) -> None:
    x = tools.random_values(seed, (3, *shape), format)
    n, h, w, c = shape

    def weights(extent: int, out: int) -> Array:
        matrix = np.zeros((out, extent))
        for y in range(out):
            s = {
                "half_pixel": (y + 0.5) * extent / out - 0.5,
                "align_corners": y * (extent - 1) / (out - 1) if out > 1 else 0.0,
                "asymmetric": y * extent / out,
            }[coordinates]
            s = min(max(s, 0.0), extent - 1.0)
            i = math.floor(s)
            matrix[y, i] += 1 - (s - i)
            matrix[y, min(i + 1, extent - 1)] += s - i
        return matrix

    rows, columns = weights(h, extents[0]), weights(w, extents[1])
    want = np.einsum("yh,xw,tnhwc->tnyxc", rows, columns, x.astype(np.float64))
    size = size_bytes((n, *extents, c), Format.named(format), "NCx")
    bench = tools.Bench(TILES, spread)
    src, dst = bench.put_tensor(x, format), bench.room(size)
    bench.do(tx8.bilinear, src=src, dst=dst, shape=shape, extents=extents, coordinates=coordinates, format=format)
    bench.get(dst, size)
    (out,) = bench.run()
    got = tools.tensor(out, (n, *extents, c), format).astype(np.float64)
    # Two steps of three roundings each, on differences of at most twice the largest operand; then one rounding.
    largest = np.abs(x.astype(np.float64)).max()
    bound = 16 * 2.0**-24 * largest + np.abs(want) * 2.0 ** -(Format.named(format).mantissa_bits + 1) + 2.0**-25
    assert (np.abs(got - want) <= bound).all()


def test_bilinear_to_the_same_extents_is_a_copy(tools: Any) -> None:
    x = tools.random_values(5, (3, 1, 4, 5, 7), "f16", special=True)
    size = size_bytes(x.shape[1:], Format.named("f16"), "NCx")
    bench = tools.Bench(TILES)
    src, dst = bench.put_tensor(x, "f16"), bench.room(size)
    bench.do(tx8.bilinear, src=src, dst=dst, shape=(1, 4, 5, 7), extents=(4, 5), format="f16")
    bench.get(dst, size)
    (out,) = bench.run()
    assert np.array_equal(tools.tensor(out, x.shape[1:], "f16"), x, equal_nan=True)


# -- scatter to DDR, scalar words -------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 12), st.integers(1, 9), st.integers(0, 5), spreads)
def test_scatter_writes_rows_where_the_indices_say(
    tools: Any, seed: int, rows: int, row_bytes: int, gap: int, spread: str
) -> None:
    """Through DDR and back: each tile fills a table of its own, then reads it with the same stride."""
    rng = np.random.default_rng(seed)
    order = np.stack([rng.permutation(rows) for _ in TILES]).astype(np.uint16)
    data = rng.integers(0, 256, (3, rows, row_bytes), np.uint8)
    stride = row_bytes + gap
    bench = tools.Bench(TILES, spread)
    src, index, back = bench.put(data.reshape(3, -1)), bench.put_array(order), bench.room(rows * row_bytes)
    table = bench._segment("table", 3 * rows * stride, "scratch")
    ddr = tuple(table + i * rows * stride for i in range(3))
    fields = {"row_bytes": row_bytes, "row_stride_bytes": stride, "count": rows, "rows": rows}
    bench.do(tx8.wdma_scatter, spm=src, ddr=ddr, index_spm=index, index_format="ui16", **fields)
    bench.do(tx8.rdma, spm=back, ddr=ddr, element_bytes=1, count=row_bytes, strides=(stride,), iterations=(rows,))
    bench.get(back, rows * row_bytes)
    (out,) = bench.run()
    want = np.zeros_like(data)
    for t in range(3):
        want[t, order[t]] = data[t]
    assert np.array_equal(out.reshape(data.shape), want)


def test_scatter_refuses_a_row_outside_and_marks_only_what_it_wrote(tools: Any) -> None:
    for rows, message in ((2, r"index 1 of tile 4 is 2; the table has rows 0\.\.1"), (3, "was never written")):
        bench = tools.Bench((4,))
        src, index = bench.put(np.ones((1, 8), np.uint8)), bench.put_array(np.array([[0, 2]], np.int32))
        back, table = bench.room(12), bench._segment("table", 12, "scratch")
        fields = {"row_bytes": 4, "row_stride_bytes": 4, "count": 2, "rows": rows}
        bench.do(tx8.wdma_scatter, spm=src, ddr=(table,), index_spm=index, **fields)
        bench.do(tx8.rdma, spm=back, ddr=(table,), element_bytes=1, count=12)
        with pytest.raises(SimError, match=message):
            bench.run()


def test_scalar_words_count_modulo_2_to_the_32(tools: Any) -> None:
    bench = tools.Bench((0, 5))
    a, b, c = bench.put_array(np.array([[2**31 - 1], [7]], np.int32)), bench.room(4), bench.room(4)
    bench.do(tx8.scalar_move, dst=b, value=-3)
    bench.do(tx8.scalar_add, dst=c, lhs=a, rhs=b)
    bench.do(tx8.scalar_add, dst=a, lhs=a, value=1)
    bench.do(tx8.scalar_move, dst=b, src=a)
    bench.get(b, 4)
    bench.get(c, 4)
    moved, added = (out.view(np.int32)[:, 0].tolist() for out in bench.run())
    assert moved == [-(2**31), 8]
    assert added == [2**31 - 4, 4]
    assert bench.report.cycles_by_engine["SCALAR"] == 4 * TX8.profile.scalar_cycles
