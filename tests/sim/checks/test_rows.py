"""Gather and scatter race for the rows that their indices name, and for no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.dialects import tx8
from tx8ir.kernels import Kernel
from tx8ir.sim import Interleaved, SimError, Simulator

ROWS, TILES = 12, 4
Chosen = Mapping[int, Sequence[int]]
"""RowStarts by tile."""


def program(writes: Chosen, reads: Chosen, between: Callable[[Kernel], None]) -> Simulator:
    """Tile 0 fills a table; tiles scatter rows of their number into it, do something, and gather rows of it."""
    k = Kernel("rows", range(TILES))
    table, y = k.scratch("table", (ROWS, 8), "f32"), k.output("y", (TILES, ROWS, 8), "f32")
    data, zeros, numbers = (k.spm(name, (ROWS, 8), "f32") for name in ("data", "zeros", "numbers"))
    k.fill(zeros, 0.0)
    k.fill(data, 0.0)
    for tile in range(TILES):
        with k.on(tile):
            k.fill(numbers, tile + 1.0)
    with k.on(0):
        k.store(table, zeros)
    k.barrier()

    def copy(op: object, chosen: Chosen, spm: object, name: str) -> None:
        for tile, wanted in chosen.items():
            indices = k.constant(f"{name} {tile}", np.array(wanted, np.int32), "i32")
            index = k.spm(f"{name} {tile} here", (len(wanted),), "i32")
            with k.on(tile):
                k.load(index, indices)
                k.instruction(op, spm=spm, ddr=table, index_spm=index, row_bytes=32, row_stride_bytes=32, rows=ROWS,
                              count=len(wanted))  # fmt: skip

    copy(tx8.wdma_scatter, writes, numbers, "to")
    between(k)
    copy(tx8.rdma_gather, reads, data, "from")
    k.store([y[t] for t in range(TILES)], data)
    return Simulator(k.program())


def nothing(k: Kernel) -> None:
    pass


def barrier(k: Kernel) -> None:
    k.barrier()


def message(k: Kernel) -> None:
    """Orders what tile 1 did before what tile 2 does."""
    a, b = k.spm("sent", (4,), "f32"), k.spm("received", (4,), "f32")
    k.fill(a, 0.0)
    with k.on(2):
        k.arm(b, [1])
    with k.on(1):
        k.send(a, [2])
    with k.on(2):
        k.wait([1])


def test_tiles_that_scatter_to_different_rows_of_one_table_do_not_race() -> None:
    outputs = program({0: [0, 1], 1: [2, 7, 2], 3: [11]}, {2: [0, 2, 7, 11, 5]}, barrier).run({}).outputs["y"]
    assert outputs[2, :, 0].tolist() == [1, 2, 2, 4, 0, *[0] * 7]


def test_tiles_that_scatter_to_one_row_race() -> None:
    simulator = program({0: [0, 1], 1: [2, 1]}, {}, nothing)
    with pytest.raises(SimError, match=r"race: tile 1 writes DDR byte 0x\w+, which tile 0 wrote") as caught:
        simulator.run({})
    assert caught.value.op is simulator.instructions[caught.value.index or 0]
    assert caught.value.op.name == "tx8.wdma_scatter"


def test_tiles_race_within_one_instruction() -> None:
    k = Kernel("rows", range(2))
    table, data = k.output("table", (ROWS, 8), "f32"), k.spm("data", (2, 8), "f32")
    k.fill(data, 1.0)
    indices = k.constant("indices", np.array([[0, 3, 3], [1, 3, 4]], np.int32), "i32")
    here = k.spm("here", (3,), "i32")
    k.load(here, [indices[t] for t in range(2)])
    k.instruction(tx8.wdma_scatter, spm=data, ddr=table, index_spm=here, row_bytes=16, row_stride_bytes=32, rows=ROWS,
                  count=3)  # fmt: skip
    with pytest.raises(SimError, match="which another tile writes in the same instruction"):
        Simulator(k.program()).run({})


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_a_message_orders_rows_and_its_absence_does_not(seed: int | None) -> None:
    schedule = None if seed is None else Interleaved(seed)
    program({1: [3, 4]}, {2: [4, 5]}, message).run({}, schedule)
    program({1: [3, 4]}, {2: [5, 6]}, nothing).run({}, schedule)
    with pytest.raises(SimError, match=r"race: tile \d .* DDR byte"):
        program({1: [3, 4]}, {2: [4, 5]}, nothing).run({}, schedule)
    with pytest.raises(SimError, match=r"race: tile \d .* DDR byte"):
        program({1: [3, 4]}, {3: [4, 5]}, message).run({}, schedule)


some_rows = st.dictionaries(st.integers(0, 3), st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=4), max_size=3)


@given(some_rows, some_rows, st.integers(0, 99))
def test_races_are_what_the_rows_say(writes: dict[int, list[int]], reads: dict[int, list[int]], seed: int) -> None:
    races = any(
        set(rows) & set(others)
        for tile, rows in writes.items()
        for other, others in (*writes.items(), *reads.items())
        if other != tile
    )
    simulator = program(writes, reads, nothing)
    for schedule in (None, Interleaved(seed)):
        if races:
            with pytest.raises(SimError, match="race"):
                simulator.run({}, schedule)
        else:
            simulator.run({}, schedule)
