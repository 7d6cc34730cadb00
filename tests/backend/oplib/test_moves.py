"""The geometry of copies: walks over bytes agree with NumPy on the elements, for any pair of layouts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.backend.oplib.moves import AxisMap, Walk, identity, split_dense, split_levels, walks
from tx8ir.backend.oplib.tensor import SpmTensor
from tx8ir.target.formats import I8, I16, I32, Format
from tx8ir.target.layout import MemLayout, pack, unpack

LAYOUTS = st.sampled_from(list(MemLayout))
FORMATS = st.sampled_from([I8, I16, I32])
EXTENTS = st.sampled_from([1, 2, 3, 5, 33, 64, 65, 130])


def run(moves: list[Walk], source: np.ndarray, target: np.ndarray) -> None:
    """Executes walks byte by byte."""
    for walk in moves:
        for index in itertools.product(*(range(n) for n, _, _ in walk.levels)):
            a = walk.source + sum(k * level[1] for k, level in zip(index, walk.levels, strict=True))
            b = walk.target + sum(k * level[2] for k, level in zip(index, walk.levels, strict=True))
            target[b : b + walk.segment] = source[a : a + walk.segment]


def tensor(shape: tuple[int, ...], format: Format, layout: MemLayout) -> tuple[SpmTensor, np.ndarray, np.ndarray]:
    """A descriptor, an array of distinct-ish numbers, and its bytes."""
    array = (np.arange(np.prod(shape)) % 251 - 125).astype(format.dtype).reshape(shape)
    return SpmTensor(format, shape, layout), array, pack(array, format, layout)


@given(st.data(), FORMATS, LAYOUTS, LAYOUTS, st.integers(1, 4))
def test_transpose(draw: st.DataObject, format: Format, a: MemLayout, b: MemLayout, rank: int) -> None:
    shape = tuple(draw.draw(EXTENTS if i == draw.draw(st.integers(0, 3)) else st.integers(1, 4)) for i in range(rank))
    perm = draw.draw(st.permutations(range(rank)))
    source, array, data = tensor(shape, format, a)
    expected = array.transpose(perm)
    target = SpmTensor(format, expected.shape, b)
    out = np.zeros(target.size_bytes, np.uint8)
    run(walks(source, target, [AxisMap(shape[p], p) for p in perm]), data, out)
    np.testing.assert_array_equal(unpack(out, expected.shape, format, b), expected)


@given(st.data(), FORMATS, LAYOUTS, LAYOUTS)
def test_box_into_box(draw: st.DataObject, format: Format, a: MemLayout, b: MemLayout) -> None:
    shape, into = ((draw.draw(st.integers(1, 4)), draw.draw(st.integers(1, 3)), draw.draw(EXTENTS)) for _ in range(2))
    extents = tuple(draw.draw(st.integers(1, min(x, y))) for x, y in zip(shape, into, strict=True))
    from_ = tuple(draw.draw(st.integers(0, n - e)) for n, e in zip(shape, extents, strict=True))
    to = tuple(draw.draw(st.integers(0, n - e)) for n, e in zip(into, extents, strict=True))
    source, array, data = tensor(shape, format, a)
    target = SpmTensor(format, into, b)
    out = np.zeros(target.size_bytes, np.uint8)
    axes = [AxisMap(e, i, s, t) for i, (e, s, t) in enumerate(zip(extents, from_, to, strict=True))]
    run(walks(source, target, axes), data, out)
    expected = np.zeros(into, format.dtype)
    box = [tuple(slice(s, s + e) for s, e in zip(starts, extents, strict=True)) for starts in (to, from_)]
    expected[box[0]] = array[box[1]]
    np.testing.assert_array_equal(unpack(out, into, format, b), expected)


@given(st.data(), LAYOUTS, LAYOUTS)
def test_repeated_axes(draw: st.DataObject, a: MemLayout, b: MemLayout) -> None:
    shape = (draw.draw(st.integers(1, 3)), draw.draw(st.integers(1, 3)), draw.draw(EXTENTS))
    kept = tuple(n if draw.draw(st.booleans()) else 1 for n in shape)
    source, array, data = tensor(kept, I16, a)
    target = SpmTensor(I16, shape, b)
    out = np.zeros(target.size_bytes, np.uint8)
    run(
        walks(
            source,
            target,
            [AxisMap(n, i if k == n else None) for i, (n, k) in enumerate(zip(shape, kept, strict=True))],
        ),
        data,
        out,
    )
    np.testing.assert_array_equal(unpack(out, shape, I16, b), np.broadcast_to(array, shape))


@given(FORMATS, LAYOUTS, st.tuples(st.integers(1, 3), st.integers(1, 3), EXTENTS))
def test_a_padded_tensor_has_the_same_bytes(format: Format, layout: MemLayout, shape: tuple[int, ...]) -> None:
    whole = SpmTensor(format, shape, layout)
    assert whole.padded().size_bytes == whole.size_bytes
    assert whole.padded().lanes == whole.padded().channels == whole.lanes
    source = np.random.default_rng(0).integers(0, 255, whole.size_bytes, np.uint8)
    target = np.zeros_like(source)
    run(walks(whole.padded(), whole.padded(), identity(whole.padded().shape)), source, target)
    covered = np.zeros_like(source, bool)
    for offset, count in whole.runs:
        covered[offset : offset + count * format.bytes] = True
    np.testing.assert_array_equal(target[covered], source[covered])
    assert not target[~covered].any()


def test_contiguous_copies_are_one_segment() -> None:
    whole = SpmTensor(I32, (2, 3, 5, 64), MemLayout.NCx)
    assert walks(whole, whole, identity(whole.shape)) == [Walk(0, 0, (), 2 * 3 * 5 * 64 * 4)]


def test_a_dense_box_is_a_strided_walk() -> None:
    whole, part = SpmTensor(I32, (4, 8, 100), MemLayout.NTensor), SpmTensor(I32, (2, 3, 10), MemLayout.NTensor)
    (walk,) = walks(whole, part, [AxisMap(2, 0, 1), AxisMap(3, 1, 2), AxisMap(10, 2, 50)])
    assert walk == Walk((1 * 800 + 2 * 100 + 50) * 4, 0, ((2, 3200, 120), (3, 400, 40)), 40)


DEEP = Walk(0, 0, ((2, 1000, 7), (5, 200, 11), (3, 40, 13), (4, 8, 17)), 4)


def test_deep_walks_are_split_at_their_shortest_loop() -> None:
    pieces = list(split_levels([DEEP], 3))
    assert [p.source for p in pieces] == [0, 1000]
    assert {p.levels for p in pieces} == {DEEP.levels[1:]}


def test_dma_pieces_are_dense_on_the_target() -> None:
    walk = Walk(0, 0, ((2, 900, 100), (3, 200, 16), (4, 40, 4)), 4)
    pieces = list(split_dense([walk], 3))
    assert [(p.source, p.target) for p in pieces] == [(0, 0), (900, 100)]
    assert {p.levels for p in pieces} == {((3, 200, 16), (4, 40, 4))}


@pytest.mark.parametrize(
    ("source", "target", "axes", "message"),
    [
        (SpmTensor(I8, (4,), MemLayout.Tensor), SpmTensor(I16, (4,), MemLayout.Tensor), identity((4,)), "element size"),
        (SpmTensor(I8, (4,), MemLayout.Tensor), SpmTensor(I8, (4,), MemLayout.Tensor), (), "0 axis maps"),
        (
            SpmTensor(I8, (4,), MemLayout.Tensor),
            SpmTensor(I8, (4,), MemLayout.Tensor),
            (AxisMap(4, 0, 1),),
            "leaves source",
        ),
    ],
)
def test_maps_must_fit(source: SpmTensor, target: SpmTensor, axes: tuple[AxisMap, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        walks(source, target, axes)
