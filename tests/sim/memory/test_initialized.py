"""Which bytes were written, against a set of bytes; and memories that are kept between runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.dialects.tx8 import Access, MemorySpace
from tx8ir.sim.errors import Fault
from tx8ir.sim.memory.buffer_pool import Scratch
from tx8ir.sim.memory.initialized import PAGE, FlagSpan, WrittenBytes
from tx8ir.sim.memory.memory import Memory
from tx8ir.sim.memory.stores import ByteStore, rows_of
from tx8ir.target.chip import TX8
from tx8ir.target.formats import UI8

SIZE = 40 * PAGE
LENGTHS = st.sampled_from((1, 3, 4, 64, 100, PAGE, PAGE + 8, 2 * PAGE, 3 * PAGE + 1))
STARTS = st.sampled_from((0, 1, 8, PAGE - 4, PAGE, 2 * PAGE, 3 * PAGE + 100, 5 * PAGE))
STEPS = st.sampled_from((0, 4, 100, PAGE, 2 * PAGE, 3 * PAGE, 5 * PAGE + 7))


@st.composite
def walks(draw: st.DrawFn) -> tuple[list[int], tuple[tuple[int, int], ...], int]:
    """First bytes of up to four tiles, loops around runs, and the bytes of a run; all inside of `SIZE`."""
    run = draw(LENGTHS)
    loops = [(draw(st.integers(1, 3)), draw(STEPS)) for _ in range(draw(st.integers(0, 2)))]
    if draw(st.booleans()):
        start, step = draw(STARTS), draw(STEPS)
        starts = [start + i * step for i in range(draw(st.integers(1, 4)))]
    else:
        starts = draw(st.lists(STARTS, min_size=1, max_size=4))
    return starts, tuple(loops), run


def runs_of(start: int, walk: tuple[tuple[int, int], ...]) -> list[int]:
    offsets = [start]
    for n, stride in walk:
        offsets = [offset + i * stride for offset in offsets for i in range(n)]
    return offsets


def bytes_of(start: int, walk: tuple[tuple[int, int], ...], run: int) -> set[int]:
    return {offset + i for offset in runs_of(start, walk) for i in range(run)}


@given(st.lists(st.tuples(st.sampled_from(("mark", "where", "look", "range", "clear")), walks()), max_size=12))
def test_flags_are_those_of_a_set_of_bytes(steps: list[Any]) -> None:
    written, model = WrittenBytes(SIZE), set[int]()
    for kind, (starts, walk, run) in steps:
        span = FlagSpan(written, rows_of(starts), walk, run)
        touched = set().union(*[bytes_of(start, walk, run) for start in starts])
        if kind == "mark":
            span.mark()
            model |= touched
        elif kind == "where" and not walk:
            where = np.arange(len(starts) * run).reshape(len(starts), run) % 3 == 0
            for start, row in zip(starts, where, strict=True):
                model |= {start + i for i in np.flatnonzero(row).tolist()}
            if run * len(starts) == len(touched):  # tiles do not share bytes
                span.mark_where(where, 1)
            else:
                model |= touched
                span.mark()
        elif kind == "range":
            written.mark(starts[0], starts[0] + run)
            model |= set(range(starts[0], starts[0] + run))
        elif kind == "clear":
            written.clear()
            model.clear()
        assert span.is_written() == (touched <= model)
        for start, flags in zip(starts, span.bytes(), strict=True):
            expected = [offset + i in model for offset in runs_of(start, walk) for i in range(run)]
            assert flags.reshape(-1).tolist() == expected
    assert np.flatnonzero(written.bytes(0, SIZE)).tolist() == sorted(model)


@given(st.lists(st.tuples(walks(), st.booleans()), min_size=1, max_size=6))
def test_a_cleared_memory_is_as_new(accesses: list[Any]) -> None:
    segment = ByteStore("s", TX8.ddr_base, SIZE, "scratch")
    memory = Memory(TX8, [segment])
    for (starts, walk, run), in_ddr in accesses:
        space = MemorySpace.DDR if in_ddr else MemorySpace.SPM
        base = TX8.ddr_base if in_ddr else TX8.spm_allocatable[0]
        access = Access("dst", space, True, tuple(base + start for start in starts), run, walk)
        placed = memory.place(access, tuple(range(len(starts))))
        memory.store(placed, np.array(7, np.uint8))
        memory.mark_written(placed)
        memory.check_written(placed)
    memory.clear()
    for store in (memory.spm, segment):
        assert not store.data.any()
        assert store.written is not None
        assert not store.written.pages.any()
        assert not store.written.flags.any()


def test_what_a_loop_moves_is_cleared_too() -> None:
    memory = Memory(TX8, [])
    first = TX8.spm_allocatable[0]
    placed = memory.place(Access("dst", MemorySpace.SPM, True, (first,), 4), (3,))
    memory.store(memory.move(placed, 1 << 20), np.array(1, np.uint8))
    assert memory.spm.data.any()
    memory.clear()
    assert not memory.spm.data.any()


def test_constants_stay_when_memories_are_cleared() -> None:
    constant = ByteStore("c", TX8.ddr_base, 4, "const", np.arange(4, dtype=np.uint8))
    memory = Memory(TX8, [constant])
    memory.clear()
    placed = memory.place(Access("src", MemorySpace.DDR, False, (TX8.ddr_base,), 4), (0,))
    memory.check_written(placed)
    assert memory.load(placed, UI8).tolist() == [[0, 1, 2, 3]]


def test_a_missing_byte_is_named_though_its_page_is_nearly_full() -> None:
    memory = Memory(TX8, [])
    first = TX8.spm_allocatable[0]
    for address, nbytes in ((first, PAGE + 10), (first + PAGE + 11, 3 * PAGE)):
        memory.mark_written(memory.place(Access("dst", MemorySpace.SPM, True, (address,), nbytes), (0, 1)))
    source = memory.place(Access("src", MemorySpace.SPM, False, (first,), 4 * PAGE), (0, 1))
    with pytest.raises(Fault, match=f"but byte {first + PAGE + 10:#x} was never written"):
        memory.check_written(source)


def test_scratch_arrays_share_the_memory_of_their_slot() -> None:
    scratch = Scratch()
    first = scratch.take("a", (2, 3), np.dtype(np.float32))
    second, other = scratch.take("a", (6,), np.dtype(np.int32)), scratch.take("b", (6,), np.dtype(np.int32))
    assert np.shares_memory(first, second)
    assert not np.shares_memory(first, other)
    assert scratch.take("a", (100,), np.dtype(np.float64)).shape == (100,)
