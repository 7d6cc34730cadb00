"""What a strategy's tiles and steps have, share, keep and move: against enumeration of all tiles and steps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.backend_ops import GroupSample, groups
from tx8ir.backend.axes import (
    Cut,
    CutError,
    GroupSpace,
    PartialResult,
    Passes,
    Sharing,
    Strategy,
    check,
    group_space,
    loops,
    moved_bytes,
    needs,
    partial_results,
    passes,
    repeating_loops,
    sharing,
    step_part,
    steps,
    stored_bytes,
    tile_part,
    work_done,
)
from tx8ir.backend.axes.axis import Axis, AxisKind
from tx8ir.backend.axes.cuts import cut, part_counts
from tx8ir.backend.axes.volume import state_bytes, value_bytes, work
from tx8ir.backend.oplib.boxes import Box, ceil_div
from tx8ir.core import Block, Value, VTensorType, bf16, f32
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import DevAttr

MESH = (4, 4)
NONE = tx8be.NoneOp().y
HALF = settings(max_examples=settings().max_examples // 2)


def values(*shapes: tuple[int, ...], element: Any = f32) -> tuple[Value, ...]:
    return Block([VTensorType(shape, element) for shape in shapes]).args


# --- cuts of one axis ------------------------------------------------------------------------------------------------

AXES = st.builds(
    Axis, st.just("a"), st.integers(0, 300), st.sampled_from([AxisKind.PARALLEL, AxisKind.REDUCED]),
    st.sampled_from([1, 3, 16, 64]),
)  # fmt: skip


@given(AXES, st.integers(1, 40))
def test_parts_are_equal_blocks_and_a_shorter_rest(axis: Axis, parts: int) -> None:
    size = ceil_div(ceil_div(axis.extent, axis.alignment), parts) * axis.alignment
    filled = max(1, ceil_div(axis.extent, size) if size else 1)
    assert (parts in part_counts(axis)) == (filled == parts)
    if filled != parts:
        with pytest.raises(CutError):
            cut(axis, parts)
        return
    found = cut(axis, parts)
    assert [start for start, _ in found] == [i * size for i in range(parts)]
    assert sum(extent for _, extent in found) == axis.extent


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.data())
def test_pieces_are_joined_such_that_the_longest_part_is_shortest(pieces: list[int], data: st.DataObject) -> None:
    ends = list(itertools.accumulate(pieces))
    axis = Axis("joined", ends[-1], boundaries=tuple(ends[:-1]))
    assert part_counts(axis) == tuple(range(1, len(pieces) + 1))
    parts = data.draw(st.sampled_from(part_counts(axis)))
    found = cut(axis, parts)
    assert [start for start, _ in found] == [0, *itertools.accumulate(extent for _, extent in found)][:-1]
    assert len(found) == parts
    assert {start for start, _ in found} <= {0, *ends}
    ways = itertools.combinations(ends[:-1], parts - 1)
    best = min(max(b - a for a, b in itertools.pairwise((0, *way, ends[-1]))) for way in ways)
    assert max(extent for _, extent in found) == best


def test_axes_that_are_never_cut() -> None:
    for kind in (AxisKind.GATHERED, AxisKind.WHOLE):
        assert part_counts(Axis("a", 8, kind)) == (1,)
        with pytest.raises(CutError, match=rf"a:8 \({kind.value}\) cannot be cut into 2 parts"):
            cut(Axis("a", 8, kind), 2)


class TestAlignment:
    def gemm(self, n: int, layout: str) -> GroupSpace:
        x, w = values((128, 32), (32, n), element=bf16)
        product = tx8be.Gemm(x, w, NONE, NONE)
        product.set_attribute("dev_info", DevAttr(layout))
        return group_space([product], [product.out])

    def test_dense_values_are_cut_anywhere(self) -> None:
        assert [axis.alignment for axis in self.gemm(200, "Tensor").axes] == [1, 1, 1]

    def test_blocked_values_with_padding_are_cut_at_blocks(self) -> None:
        assert [axis.alignment for axis in self.gemm(201, "Cx").axes] == [1, 64, 1]

    def test_blocked_values_without_padding_are_cut_at_full_tails(self) -> None:
        assert [axis.alignment for axis in self.gemm(192, "Cx").axes] == [1, 16, 1]

    def test_pieces_are_cut_where_they_meet_at_blocks(self) -> None:
        joined = tx8be.Concatenate(values((4, 64), (4, 70), (4, 58), (4, 40)), axis=1)
        joined.set_attribute("dev_info", DevAttr("Cx"))
        space = group_space([joined], [joined.y])
        assert (space.axes[1].boundaries, space.axes[1].alignment) == ((64, 134, 192), 64)
        assert part_counts(space.axes[1]) == (1, 2, 3)
        assert cut(space.axes[1], 3) == ((0, 64), (64, 128), (192, 40))

    def test_an_axis_merged_outside_of_channels_is_cut_where_blocks_end(self) -> None:
        (x,) = values((6, 4, 24))
        merged = tx8be.Reshape(x, y=VTensorType((6, 96), f32))
        merged.set_attribute("dev_info", DevAttr("Cx"))
        space = group_space([merged], [merged.y])
        assert [(axis.extent, axis.alignment) for axis in space.axes] == [(6, 1), (4, 2), (24, 16)]


# --- strategies of groups --------------------------------------------------------------------------------------------


@st.composite
def strategies(draw: Any, space: GroupSpace) -> Strategy:
    """Legal cuts: some axes over x and y, some over time in any order."""
    places: tuple[list[Cut], list[Cut]] = ([], [])
    room = list(MESH)
    for number, axis in enumerate(space.axes):
        for side in draw(st.sampled_from([(), (), (0,), (1,), (0, 1)])):
            counts = [c for c in (2, 3, 4) if c <= room[side]]
            parts = draw(st.sampled_from(counts)) if counts else 1
            total = parts * math.prod(c.parts for cuts in places for c in cuts if c.axis == number)
            if parts > 1 and total in part_counts(axis):
                places[side].append(Cut(number, parts))
                room[side] //= parts
    spatial = Strategy(tuple(places[0]), tuple(places[1]))
    time: list[Cut] = []
    for number in draw(st.permutations(range(len(space.axes)))):
        largest = max(extent for _, extent in cut(space.axes[number], spatial.spatial_parts(number)))
        if space.axes[number].boundaries is None:
            counts = part_counts(Axis("t", largest, space.axes[number].kind, space.axes[number].alignment))
            time.append(Cut(number, draw(st.sampled_from(counts))))
    return Strategy(spatial.x, spatial.y, tuple(time))


def tiles(space: GroupSpace, strategy: Strategy) -> dict[tuple[int, int], Box]:
    found = {(x, y): tile_part(space, strategy, x, y) for x in range(MESH[0]) for y in range(MESH[1])}
    return {at: part for at, part in found.items() if part is not None}


@HALF
@given(groups(most=4), st.data())
def test_tiles_and_steps_divide_the_space(sample: GroupSample, data: st.DataObject) -> None:
    space = group_space(sample.ops, sample.stores)
    strategy = data.draw(strategies(space))
    check(space, strategy, MESH)
    assume(math.prod(axis.extent for axis in space.axes) < 20_000)
    seen = np.zeros([axis.extent for axis in space.axes], int)
    nest = loops(space, strategy)
    for part in tiles(space, strategy).values():
        for counters in steps(nest):
            step = step_part(part, nest, counters)
            if step is not None:
                seen[step.index()] += 1
    assert (seen == 1).all()


@HALF
@given(groups(most=4), st.data())
def test_bytes_and_work_are_those_of_all_tiles_and_steps(sample: GroupSample, data: st.DataObject) -> None:
    """Step by step: a load or op stands in the innermost loop that changes it; a store runs once for each slice."""
    space = group_space(sample.ops, sample.stores)
    strategy = data.draw(strategies(space))
    nest = loops(space, strategy)
    assume(math.prod(loop.trips for loop in nest) <= 60)
    loaded, computed = dict.fromkeys(space.loads, 0), [0] * len(space.ops)
    stored: dict[Value, set[Box]] = {value: set() for value in space.stores}

    def state(depends: Collection[int], counters: tuple[int, ...]) -> tuple[int, ...]:
        depths = [d for d, loop in enumerate(nest) if loop.axis in depends and loop.trips > 1]
        return counters[: depths[-1] + 1] if depths else ()

    try:
        for part in tiles(space, strategy).values():
            last: dict[Any, Any] = {}
            for counters in steps(nest):
                step = step_part(part, nest, counters)
                if step is None:
                    continue
                slices = needs(space, step)
                for value in space.loads:
                    if last.get(value) != state(space.depends_on(value), counters) and value in slices.held:
                        last[value] = state(space.depends_on(value), counters)
                        loaded[value] += value_bytes(value, slices.held[value].extent)
                for number, made in enumerate(slices.ops):
                    depends = {axis for axes in space.op_dependence[number] for axis in axes}
                    if last.get(number) != state(depends, counters) and made is not None:
                        last[number] = state(depends, counters)
                        computed[number] += work(space.declarations[number], made.part)
                for value, box in slices.stored.items():
                    stored[value].add(box)
        again = passes(space, {loop.axis for loop in nest if loop.trips > 1})
        for value in space.loads:
            assert moved_bytes(space, strategy, value) == loaded[value] * again.reads[value]
        for number, done in enumerate(computed):
            assert work_done(space, strategy, number) == done * again.runs[number]
        for value in space.stores:
            assert stored_bytes(space, strategy, value) == sum(value_bytes(value, box.extent) for box in stored[value])
    except CutError:
        assert any(isinstance(op, tx8be.ReshapeOp) for op in sample.ops)


@HALF
@given(groups(most=4), st.data())
def test_psums_are_the_states_alive_over_a_loop(sample: GroupSample, data: st.DataObject) -> None:
    """All results that the first trips of the outer loops leave unfinished, position by position."""
    space = group_space(sample.ops, sample.stores)
    strategy = data.draw(strategies(space))
    nest = loops(space, strategy)
    assume(math.prod(loop.trips for loop in nest) <= 60)
    tile = tile_part(space, strategy, 0, 0)
    assert tile is not None
    try:
        for found in partial_results(space, strategy):
            declaration = space.declarations[found.op]
            outside = len(nest) if found.loop is None else found.loop
            alive: set[tuple[int, ...]] = set()
            for counters in steps(nest):
                step = step_part(tile, nest, counters)
                if any(counters[:outside]) or step is None:
                    continue
                made = needs(space, step).ops[found.op]
                assert made is not None
                kept = [i for i in range(len(declaration.axes)) if i not in declaration.combined]
                alive |= set(itertools.product(*(range(made.part.start[i], made.part.stop[i]) for i in kept)))
            assert declaration.combination is not None
            assert found.bytes == len(alive) * declaration.combination.bits // 8
    except CutError:
        assert any(isinstance(op, tx8be.ReshapeOp) for op in sample.ops)


@HALF
@given(groups(most=4), st.data())
def test_tiles_share_what_they_hold_both(sample: GroupSample, data: st.DataObject) -> None:
    space = group_space(sample.ops, sample.stores)
    strategy = data.draw(strategies(space))
    parts = tiles(space, strategy)
    try:
        held = {at: needs(space, part).held for at, part in parts.items()}
        for value in space.loads:
            for side, found in enumerate(sharing(space, strategy, value)):
                lines = [[(i, j) if side == 0 else (j, i) for i in range(MESH[side])] for j in range(MESH[1 - side])]
                for line in lines:
                    boxes = [held[at][value] for at in line if at in parts and value in held[at]]
                    if found is Sharing.ALONE:
                        assert len(boxes) <= 1
                    if found is Sharing.SAME:
                        assert len(set(boxes)) <= 1
                    if found is Sharing.DISJOINT and len(boxes) > 1:
                        assert not any(_meet(a, b) for a, b in itertools.pairwise(boxes))
    except CutError:
        assert any(isinstance(op, tx8be.ReshapeOp) for op in sample.ops)


def _meet(a: Box, b: Box) -> bool:
    return all(x < y for x, y in zip(map(max, a.start, b.start), map(min, a.stop, b.stop), strict=True))


class TestTheFirstSlice:
    """1024 x 1024 x 4096 in bf16: m over x, n over y, k in time."""

    def space(self) -> GroupSpace:
        x, w = values((1024, 4096), (4096, 1024), element=bf16)
        self.x, self.w = x, w
        product = tx8be.Gemm(x, w, NONE, NONE)
        self.out = product.out
        return group_space([product], [product.out])

    def strategy(self, space: GroupSpace) -> Strategy:
        m, n, k = map(space.axis, ("m", "n", "k"))
        return Strategy((Cut(m, 4),), (Cut(n, 4),), (Cut(k, 16),))

    def test_rows_and_columns_share_operands(self) -> None:
        space = self.space()
        assert sharing(space, self.strategy(space), self.x) == (Sharing.DISJOINT, Sharing.SAME)
        assert sharing(space, self.strategy(space), self.w) == (Sharing.SAME, Sharing.DISJOINT)

    def test_bytes_without_and_with_multicast(self) -> None:
        space = self.space()
        strategy, size = self.strategy(space), 1024 * 4096 * 2
        assert moved_bytes(space, strategy, self.x) == 4 * size
        assert moved_bytes(space, strategy, self.x, multicast=(False, True)) == size
        assert moved_bytes(space, strategy, self.w, multicast=(True, False)) == size
        assert stored_bytes(space, strategy, self.out) == 1024 * 1024 * 2

    def test_the_psum_is_fp32_and_lives_over_the_loop(self) -> None:
        space = self.space()
        assert partial_results(space, self.strategy(space)) == (PartialResult(0, 0, False, False, 256 * 256 * 4),)

    def test_a_loop_inside_keeps_all_its_psums(self) -> None:
        space = self.space()
        m, n, k = map(space.axis, ("m", "n", "k"))
        inside = Strategy((Cut(m, 4),), (Cut(n, 4),), (Cut(k, 16), Cut(n, 4)))
        outside = Strategy((Cut(m, 4),), (Cut(n, 4),), (Cut(n, 4), Cut(k, 16)))
        assert [found.bytes for found in partial_results(space, inside)] == [256 * 256 * 4]
        assert [found.bytes for found in partial_results(space, outside)] == [256 * 64 * 4]
        assert moved_bytes(space, inside, self.x) == 4 * 1024 * 4096 * 2
        assert moved_bytes(space, outside, self.x) == 4 * 4 * 1024 * 4096 * 2

    def test_k_in_space_leaves_sums_to_merge(self) -> None:
        space = self.space()
        m, k = map(space.axis, ("m", "k"))
        strategy = Strategy((Cut(m, 4),), (Cut(k, 4),), (Cut(m, 8),))
        assert partial_results(space, strategy) == (PartialResult(0, None, False, True, 32 * 1024 * 4),)


def test_a_psum_over_two_axes_lives_over_the_outer_loop() -> None:
    (x,) = values((2, 8, 8, 12))
    total = tx8be.Reduce(x, function=tx8be.ReduceFunction.SUM, axes=(1, 2))
    space = group_space([total], [total.y])
    strategy = Strategy(time=(Cut(1, 2), Cut(3, 4), Cut(2, 2)))
    assert partial_results(space, strategy) == (PartialResult(0, 0, False, False, 2 * 12 * 4),)


def test_a_value_read_along_a_factor_of_a_merged_store_follows_from_it_alone() -> None:
    x, w = values((2, 4), (4, 3))
    product = tx8be.Gemm(x, w, NONE, NONE)
    flat = tx8be.Reshape(product.out, y=VTensorType((6,), f32))
    space = group_space([product, flat], [flat.y])
    assert space.depends_on(w) == {space.axis("n"), space.axis("k")}
    assert moved_bytes(space, Strategy(time=(Cut(space.axis("m"), 2),)), w) == 4 * 3 * 4


class TestReads:
    def test_a_softmax_whose_row_is_cut_in_time_is_read_twice(self) -> None:
        (x,) = values((4, 32000))
        softmax = tx8be.Softmax(x)
        space = group_space([softmax], [softmax.y])
        rows, row = 0, 1
        assert passes(space, {row}) == Passes({x: 2, softmax.y: 1}, (2,))
        assert passes(space, {rows}) == Passes({x: 1, softmax.y: 1}, (1,))
        assert moved_bytes(space, Strategy(time=(Cut(row, 8),)), x) == 2 * 4 * 32000 * 4
        assert moved_bytes(space, Strategy(x=(Cut(row, 4),)), x) == 4 * 32000 * 4

    def test_a_row_less_its_largest_is_read_again(self) -> None:
        (x,) = values((4, 8))
        largest = tx8be.Reduce(x, function=tx8be.ReduceFunction.MAX, axes=(1,))
        spread = tx8be.Broadcast(largest.y, y=VTensorType((4, 8), f32))
        less = tx8be.Sub(x, spread.y)
        total = tx8be.Reduce(less.out, function=tx8be.ReduceFunction.SUM, axes=(1,))
        space = group_space([largest, spread, less, total], [total.y])
        assert len(space.axes) == 2
        found = passes(space, {1})
        assert found.reads[x] == 2
        assert found.runs == (1, 1, 1, 1)

    def test_two_products_in_one_nest_read_once(self) -> None:
        x, w1, w2 = values((8, 6), (6, 10), (10, 4))
        first = tx8be.Gemm(x, w1, NONE, NONE)
        second = tx8be.Gemm(first.out, w2, NONE, NONE)
        space = group_space([first, second], [second.out])
        assert [passes(space, range(4)).reads[v] for v in (x, w1, w2)] == [1, 1, 1]

    def test_tiles_that_differ_in_columns_of_the_second_product_compute_the_first_again(self) -> None:
        x, w1, w2 = values((8, 6), (6, 10), (10, 4))
        first = tx8be.Gemm(x, w1, NONE, NONE)
        second = tx8be.Gemm(first.out, w2, NONE, NONE)
        space = group_space([first, second], [second.out])
        strategy = Strategy(x=(Cut(space.axis("n2"), 4),))
        assert [work_done(space, strategy, op) for op in range(2)] == [4 * 8 * 6 * 10, 8 * 10 * 4]


def test_state_bytes_follow_the_part() -> None:
    (x,) = values((4, 32))
    softmax = tx8be.Softmax(x)
    space = group_space([softmax], [softmax.y])
    assert state_bytes(space.declarations[0], Box((0, 0), (3, 8))) == 3 * 8  # two fp32 numbers for each row


def test_repeating_loops_are_outside_of_one_that_changes_the_value() -> None:
    (x, w) = values((8, 8), (8, 8))
    product = tx8be.Gemm(x, w, NONE, NONE)
    space = group_space([product], [product.out])
    m, n, k = map(space.axis, ("m", "n", "k"))
    nest = loops(space, Strategy(time=(Cut(m, 2), Cut(n, 2), Cut(k, 2))))
    assert repeating_loops(nest, {m}) == ()
    assert repeating_loops(nest, {n}) == (0,)
    assert repeating_loops(nest, {m, k}) == (1,)


class TestErrors:
    def space(self) -> GroupSpace:
        (x,) = values((8, 6))
        relu = tx8be.Relu(x)
        return group_space([relu], [relu.y])

    def test_more_tiles_than_there_are(self) -> None:
        with pytest.raises(CutError, match="8 by 1 tiles are more than the 4 by 4 there are"):
            check(self.space(), Strategy(x=(Cut(0, 8),)), MESH)

    def test_parts_that_stay_empty(self) -> None:
        with pytest.raises(CutError, match=r"d1:6 cannot be cut into 4 parts; legal numbers are \(1, 2, 3, 6\)"):
            check(self.space(), Strategy(y=(Cut(1, 4),)), MESH)

    def test_an_axis_twice(self) -> None:
        with pytest.raises(CutError, match="d0:8 is cut twice in one place"):
            check(self.space(), Strategy(time=(Cut(0, 2), Cut(0, 2))), MESH)

    def test_loops_of_more_parts_than_a_tile_has(self) -> None:
        with pytest.raises(CutError, match="cannot be cut into 3 parts"):
            loops(self.space(), Strategy(x=(Cut(0, 4),), time=(Cut(0, 3),)))

    def test_unknown_axes(self) -> None:
        with pytest.raises(KeyError, match="no axis 'k'; there are d0, d1"):
            self.space().axis("k")
