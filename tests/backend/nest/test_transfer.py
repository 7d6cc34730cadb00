"""Loads and stores: the DMA walks of a slice agree with packing the slice by itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.backend.graph import CompileError
from tx8ir.backend.nest.transfer import Transfer, load_instructions, store_instructions, transfer
from tx8ir.backend.oplib.boxes import Box
from tx8ir.backend.oplib.kernel import InstructionDraft
from tx8ir.backend.oplib.tensor import SpmTensor
from tx8ir.target.chip import TX8
from tx8ir.target.formats import BF16, I1, I8, I32, Format
from tx8ir.target.layout import MemLayout, element_mask, pack, unpack, written_mask

BASE = 4096


def transfers(whole: SpmTensor, boxes: list[Box], part: SpmTensor) -> list[Transfer]:
    return [transfer(whole, box, part.at(0), TX8) for box in boxes]


def loads(whole: SpmTensor, boxes: list[Box], part: SpmTensor, ddr: int) -> list[InstructionDraft]:
    return load_instructions(transfers(whole, boxes, part), part, ddr, TX8)


def stores(whole: SpmTensor, boxes: list[Box], part: SpmTensor, ddr: int) -> list[InstructionDraft]:
    return store_instructions(transfers(whole, boxes, part), part, ddr, TX8)


def positions(instruction: InstructionDraft, tile: int) -> np.ndarray:
    """DDR byte addresses that a DMA instruction touches, in the order of its SPM bytes."""
    f = instruction.fields
    assert len(f["strides"]) <= 3
    base, size = f["ddr"][tile], f["element_bytes"]
    runs = [
        base + size * sum(i * s for i, s in zip(index, f["strides"], strict=True))
        for index in itertools.product(*(range(n) for n in f["iterations"]))
    ]
    return (np.array(runs)[:, None] + np.arange(f["count"] * size)).ravel()


@st.composite
def slices(draw: st.DrawFn, cut_blocks: bool) -> tuple[Format, MemLayout, tuple[int, ...], Box]:
    format = draw(st.sampled_from([BF16, I8, I32]))
    rank = draw(st.integers(1, 4))
    shape = (*(draw(st.integers(1, 5)) for _ in range(rank - 1)), draw(st.sampled_from([3, 65, 100, 130, 260])))
    start, extent = [], []
    for axis, size in enumerate(shape):
        granule = format.block if cut_blocks and axis == rank - 1 else 1
        pieces = -(-size // granule)
        first = draw(st.integers(0, pieces - 1))
        last = draw(st.integers(first + 1, pieces))
        start.append(first * granule)
        extent.append(min(last * granule, size) - first * granule)
    layout = draw(st.sampled_from(list(MemLayout)))
    return format, layout, shape, Box(tuple(start), tuple(extent))


def bytes_of(shape: tuple[int, ...], format: Format, layout: MemLayout) -> tuple[np.ndarray, np.ndarray]:
    array = np.random.default_rng(0).integers(-100, 100, shape).astype(format.dtype)
    return array, pack(array, format, layout)


@given(slices(cut_blocks=True))
def test_a_load_of_whole_blocks_brings_elements_and_padding(
    case: tuple[Format, MemLayout, tuple[int, ...], Box],
) -> None:
    format, layout, shape, box = case
    array, ddr = bytes_of(shape, format, layout)
    part = SpmTensor(format, box.extent, layout)
    spm = np.full(part.size_bytes, 0xEE, np.uint8)
    for instruction in loads(SpmTensor(format, shape, layout), [box], part, BASE):
        assert instruction.name == "rdma"
        at = instruction.fields["spm"]
        data = ddr[positions(instruction, 0) - BASE]
        spm[at : at + data.size] = data
    expected = pack(array[box.index()], format, layout)
    mask = written_mask(box.extent, format, layout)
    np.testing.assert_array_equal(spm[mask], expected[mask])
    assert (spm[~mask] == 0xEE).all()


@given(slices(cut_blocks=False))
def test_a_load_of_any_box_brings_its_elements(case: tuple[Format, MemLayout, tuple[int, ...], Box]) -> None:
    format, layout, shape, box = case
    array, ddr = bytes_of(shape, format, layout)
    part = SpmTensor(format, box.extent, layout, address=512)
    spm = np.full(part.size_bytes, 0xEE, np.uint8)
    cleared = False
    for instruction in loads(SpmTensor(format, shape, layout), [box], part, BASE):
        if instruction.name == "memset":
            cleared = True
            continue
        at = instruction.fields["spm"] - 512
        data = ddr[positions(instruction, 0) - BASE]
        spm[at : at + data.size] = data
    np.testing.assert_array_equal(unpack(spm, box.extent, format, layout), array[box.index()])
    untouched = (spm == 0xEE) & written_mask(box.extent, format, layout) & ~element_mask(box.extent, format, layout)
    assert cleared or not untouched.any(), "padding lanes stay undefined"


@given(slices(cut_blocks=True))
def test_stores_of_all_slices_write_every_byte_once(case: tuple[Format, MemLayout, tuple[int, ...], Box]) -> None:
    format, layout, shape, box = case
    whole = SpmTensor(format, shape, layout)
    counts = np.zeros(whole.size_bytes, int)
    cut_alignment = [max(e, 1) for e in box.extent[:-1]] + [format.block]
    for start in itertools.product(*(range(0, n, g) for n, g in zip(shape, cut_alignment, strict=True))):
        extent = tuple(min(g, n - s) for s, n, g in zip(start, shape, cut_alignment, strict=True))
        part = SpmTensor(format, extent, layout)
        for instruction in stores(whole, [Box(start, extent)], part, BASE):
            np.add.at(counts, positions(instruction, 0) - BASE, 1)
    np.testing.assert_array_equal(counts, written_mask(shape, format, layout).astype(int))


def test_tiles_differ_in_their_addresses_only() -> None:
    whole, part = SpmTensor(I32, (4, 64), MemLayout.Cx), SpmTensor(I32, (1, 64), MemLayout.Cx)
    (load,) = loads(whole, [Box((i, 0), (1, 64)) for i in range(4)], part, BASE)
    assert load.fields["ddr"] == tuple(BASE + i * 256 for i in range(4))
    assert (load.fields["count"], load.fields["iterations"]) == (64, ())


def test_a_blocked_slice_is_a_walk_over_blocks_and_one_for_the_tail() -> None:
    whole, part = SpmTensor(I32, (1, 8, 8, 131), MemLayout.NCx), SpmTensor(I32, (1, 2, 8, 131), MemLayout.NCx)
    blocks, tail = loads(whole, [Box((0, 2, 0, 0), (1, 2, 8, 131))], part, 0)
    assert (blocks.fields["count"], blocks.fields["iterations"], blocks.fields["strides"]) == (1024, (2,), (4096,))
    assert (tail.fields["count"], tail.fields["iterations"]) == (2 * 8 * 4, ())


def test_a_store_inside_a_block_with_padding_is_refused() -> None:
    whole, part = SpmTensor(I32, (2, 128), MemLayout.Cx), SpmTensor(I32, (2, 33), MemLayout.Cx)
    with pytest.raises(CompileError, match="cuts a channel block"):
        stores(whole, [Box((0, 0), (2, 33))], part, BASE)


def test_packed_formats_are_refused() -> None:
    whole = SpmTensor(I1, (2, 8), MemLayout.Tensor)
    with pytest.raises(CompileError, match="packed i1"):
        loads(whole, [Box.whole((2, 8))], whole, BASE)
