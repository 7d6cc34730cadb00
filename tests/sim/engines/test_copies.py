"""RDMA, WDMA, gather and TDMA against loops over single bytes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.core import Builder, Program, VTensorType, ui8
from tx8ir.dialects import tx8
from tx8ir.sim import SimError, Simulator
from tx8ir.target.chip import TX8

seeds = st.integers(0, 2**32 - 1)
spreads = st.sampled_from(("uniform", "regular", "irregular"))
BASE = TX8.ddr_base
SPM = TX8.spm_allocatable[0]


def walk_starts(iterations: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    """Offsets of the runs of a walk, in the order of the loops."""
    return [
        sum(i * s for i, s in zip(index, strides, strict=True)) for index in itertools.product(*map(range, iterations))
    ]


@st.composite
def nested_walks(draw: st.DrawFn) -> tuple[int, tuple[int, ...], tuple[int, ...], int]:
    """(run, iterations, strides, extent) of a walk whose runs do not overlap, its loops in any order."""
    run = draw(st.integers(1, 9))
    levels: list[tuple[int, int]] = []
    reach = run
    for _ in range(draw(st.integers(0, 3))):
        stride = reach + draw(st.integers(0, 7))
        n = draw(st.integers(1, 4))
        levels.append((n, stride))
        reach += (n - 1) * stride
    levels = draw(st.permutations(levels))
    return run, tuple(n for n, _ in levels), tuple(s for _, s in levels), reach


@given(seeds, nested_walks(), st.sampled_from((1, 2, 4, 8)), st.sampled_from(("regular", "irregular")), spreads)
def test_rdma_and_wdma_walk_ddr_and_keep_spm_dense(
    tools: Any,
    seed: int,
    walk: tuple[int, tuple[int, ...], tuple[int, ...], int],
    element_bytes: int,
    ddr_spread: str,
    spm_spread: str,
) -> None:
    run, iterations, strides, extent = walk
    tiles = (0, 2, 5)
    order = (0, 1, 2) if ddr_spread == "regular" else (1, 2, 0)
    nbytes = extent * element_bytes
    image = np.random.default_rng(seed).integers(0, 256, 3 * nbytes, np.uint8)
    ddr_in = tuple(BASE + i * nbytes for i in order)
    out = BASE + 2**20
    ddr_out = tuple(out + i * nbytes for i in order)
    bench = tools.Bench(tiles, spm_spread)
    spm = bench.room(nbytes)
    fields: dict[str, Any] = {
        "tiles": tiles,
        "spm": spm,
        "element_bytes": element_bytes,
        "count": run,
        "strides": strides,
        "iterations": iterations,
    }
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    with Builder.at_end(block):
        tx8.segment(segment_name="x", address=BASE, size=3 * nbytes, kind="input")
        tx8.segment(segment_name="y", address=out, size=3 * nbytes, kind="scratch")
        tx8.input(port_name="x", address=BASE, tensor_type=VTensorType((3 * nbytes,), ui8))
        tx8.rdma(ddr=ddr_in, **fields)
        tx8.wdma(ddr=ddr_out, **fields)
    program.verify()
    simulator = Simulator(program)
    simulator.run({"x": image})

    starts = [s * element_bytes for s in walk_starts(iterations, strides)]
    runs = run * element_bytes
    segment = simulator.memory.segments[1]
    assert segment.written is not None
    scratchpads = simulator.memory.spm.data.reshape(TX8.tiles, -1)
    expected = np.zeros(3 * nbytes, np.uint8)
    written = np.zeros(3 * nbytes, np.bool_)
    for t, tile in enumerate(tiles):
        base = order[t] * nbytes
        dense = np.concatenate([image[base + s : base + s + runs] for s in starts])
        address = spm[t if len(spm) > 1 else 0]
        assert (scratchpads[tile, address : address + dense.size] == dense).all()
        for s in starts:
            expected[base + s : base + s + runs] = image[base + s : base + s + runs]
            written[base + s : base + s + runs] = True
    assert (segment.data == expected).all()
    assert (segment.written.bytes(0, segment.size) == written).all()


@given(seeds, nested_walks(), st.lists(st.integers(0, 9), min_size=3, max_size=3), spreads)
def test_tdma_copies_between_two_walks(
    tools: Any,
    seed: int,
    walk: tuple[int, tuple[int, ...], tuple[int, ...], int],
    src_strides: list[int],
    spread: str,
) -> None:
    run, iterations, dst_strides, extent = walk
    strides = tuple(src_strides[: len(iterations)])  # any: overlapping and repeating sources are fine
    source_extent = run + sum((n - 1) * s for n, s in zip(iterations, strides, strict=True))
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 256, (3, source_extent), np.uint8)
    before = rng.integers(0, 256, (3, extent), np.uint8)
    bench = tools.Bench((0, 1, 2), spread)
    src, dst = bench.put(data), bench.put(before)
    bench.do(
        tx8.tdma,
        src=src,
        dst=dst,
        segment_bytes=run,
        src_strides=strides,
        dst_strides=dst_strides,
        iterations=iterations,
    )
    bench.get(dst, extent)
    (out,) = bench.run()
    expected = before.copy()
    for s, d in zip(walk_starts(iterations, strides), walk_starts(iterations, dst_strides), strict=True):
        expected[:, d : d + run] = data[:, s : s + run]
    assert (out == expected).all()


def test_tdma_onto_itself_reads_before_it_writes(tools: Any) -> None:
    data = np.arange(64, dtype=np.uint8)[None]
    bench = tools.Bench((3,))
    (address,) = bench.put(data)
    bench.do(tx8.tdma, src=(address,), dst=(address + 1,), segment_bytes=63)
    bench.get((address,), 64)
    (out,) = bench.run()
    assert (out[0] == np.r_[0, np.arange(63)]).all()


def gather_program(
    table: np.ndarray[Any, Any], index: np.ndarray[Any, Any], *, row: int, stride: int, rows: int, ddr: tuple[int, ...]
) -> tuple[Program, tuple[int, ...]]:
    """Two tiles gather rows of `table` (bytes) by their own `index` [2, count]."""
    tiles, count = (1, 4), index.shape[1]
    kind = {np.dtype(np.int32): "i32", np.dtype(np.int16): "i16", np.dtype(np.uint8): "ui8"}[index.dtype]
    flat = index.view(np.uint8).reshape(-1)
    at = BASE + 2**20
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    with Builder.at_end(block):
        tx8.segment(segment_name="table", address=BASE, size=table.size, kind="input")
        tx8.segment(segment_name="index", address=at, size=flat.size, kind="input")
        tx8.input(port_name="table", address=BASE, tensor_type=VTensorType((table.size,), ui8))
        tx8.input(port_name="index", address=at, tensor_type=VTensorType((flat.size,), ui8))
        tx8.rdma(tiles=tiles, spm=(SPM,), ddr=(at, at + flat.size // 2), element_bytes=1, count=flat.size // 2)
        tx8.rdma_gather(
            tiles=tiles,
            spm=(SPM + 0x1000,),
            ddr=ddr,
            index_spm=(SPM,),
            index_format=kind,
            row_bytes=row,
            row_stride_bytes=stride,
            count=count,
            rows=rows,
            source="embedding",
        )
    program.verify()
    return program, tiles


@given(
    seeds,
    st.integers(1, 20),
    st.integers(0, 5),
    st.integers(1, 30),
    st.integers(1, 20),
    st.sampled_from((np.int32, np.int16, np.uint8)),
    st.booleans(),
)
def test_rdma_gather_copies_the_rows_that_indices_name(
    seed: int, row: int, gap: int, rows: int, count: int, kind: Any, two_tables: bool
) -> None:
    rng = np.random.default_rng(seed)
    stride = row + gap
    extent = (rows - 1) * stride + row
    table = rng.integers(0, 256, 2 * extent, np.uint8)
    index = rng.integers(0, rows, (2, count)).astype(kind)
    bases = (extent, 0) if two_tables else (0, 0)
    program, tiles = gather_program(
        table, index, row=row, stride=stride, rows=rows, ddr=tuple(BASE + b for b in bases) if two_tables else (BASE,)
    )
    simulator = Simulator(program)
    simulator.run({"table": table, "index": index.view(np.uint8).reshape(-1)})
    scratchpads = simulator.memory.spm.data.reshape(TX8.tiles, -1)
    for t, tile in enumerate(tiles):
        got = scratchpads[tile, SPM + 0x1000 :][: count * row].reshape(count, row)
        for i, r in enumerate(index[t]):
            start = bases[t] + int(r) * stride
            assert (got[i] == table[start : start + row]).all()


@pytest.mark.parametrize("wrong", [5, -1])
def test_rdma_gather_names_the_index_that_is_outside_of_the_table(wrong: int) -> None:
    index = np.array([[0, 1, 2], [3, wrong, 4]], np.int32)
    table = np.zeros(40, np.uint8)
    program, _ = gather_program(table, index, row=8, stride=8, rows=5, ddr=(BASE,))
    message = rf'instruction 1 \(tx8.rdma_gather from "embedding"\): index 1 of tile 4 is {wrong}; .* rows 0\.\.4'
    with pytest.raises(SimError, match=message) as error:
        Simulator(program).run({"table": table, "index": index.view(np.uint8).reshape(-1)})
    assert (error.value.index, error.value.tile, error.value.source) == (1, 4, "embedding")


def test_a_copy_may_take_tiles_from_different_segments() -> None:
    image = np.arange(64, dtype=np.uint8)
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    with Builder.at_end(block):
        for i in range(2):
            tx8.segment(segment_name=f"x{i}", address=BASE + 4096 * i, size=64, kind="input")
            tx8.segment(segment_name=f"y{i}", address=BASE + 2**20 + 4096 * i, size=64, kind="output")
        for i in range(2):
            tx8.input(port_name=f"x{i}", address=BASE + 4096 * i, tensor_type=VTensorType((64,), ui8))
            tx8.output(port_name=f"y{i}", address=BASE + 2**20 + 4096 * i, tensor_type=VTensorType((64,), ui8))
        tiles = (0, 1, 2, 3)
        ddr = (BASE + 4096 + 32, BASE, BASE + 32, BASE + 4096)
        tx8.rdma(tiles=tiles, spm=(SPM,), ddr=ddr, element_bytes=4, count=8)
        tx8.wdma(tiles=tiles, spm=(SPM,), ddr=tuple(a + 2**20 for a in ddr), element_bytes=4, count=8)
    program.verify()
    result = Simulator(program).run({"x0": image, "x1": image + 100})
    assert (result.outputs["y0"] == image).all()
    assert (result.outputs["y1"] == image + 100).all()
