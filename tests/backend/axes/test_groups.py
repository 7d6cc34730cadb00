"""The iteration space of a group: equal axes are one, and any legal cut of it computes what the whole group does."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from support.backend_ops import GroupSample, groups
from tx8ir.backend.axes import Along, Axes, AxisKind, CutError, GroupSpace, group_space, needs
from tx8ir.backend.axes import space_of as space_of_group
from tx8ir.backend.axes.cuts import cut, part_counts
from tx8ir.backend.axes.pieces import compute, piece
from tx8ir.backend.axes.residency import merged_axes
from tx8ir.backend.axes.spaces import shape_of
from tx8ir.backend.oplib.boxes import Box
from tx8ir.core import Block, Compute, Value, VTensorType, f32
from tx8ir.dialects import pd, tx8be

Array = NDArray[Any]
IDENTITIES = ("unary", "binary", "row", "gemm", "transpose", "reduce", "softmax")


def space_of(sample: GroupSample) -> GroupSpace:
    return group_space(sample.ops, sample.stores)


def accesses(space: GroupSpace) -> Iterator[tuple[int, Value, tuple[Any, ...]]]:
    for number, (op, declaration) in enumerate(zip(space.ops, space.declarations, strict=True)):
        for value, access in zip(
            (*op.operands, *op.results), (*declaration.operands, *declaration.results), strict=True
        ):
            if access is not None:
                yield number, value, access


def equal_positions(space: GroupSpace) -> nx.Graph[Any]:
    """Axes of ops and dimensions of values, joined where every point of an op has the same index in both.

    Found by trying all positions of the axes that a dimension depends on.
    """
    graph: nx.Graph[Any] = nx.Graph()
    for number, declaration in enumerate(space.declarations):
        graph.add_nodes_from((number, i) for i, axis in enumerate(declaration.axes) if axis.extent > 1)
    for number, value, access in accesses(space):
        for d, dimension in enumerate(access):
            extents = [space.declarations[number].axes[a].extent for a in dimension.axes]
            for i, axis in enumerate(dimension.axes):
                whole = space.declarations[number].whole
                points = itertools.product(*map(range, extents))
                same = shape_of(value)[d] == extents[i] > 1 and all(
                    (read := dimension.read(_point(whole, dimension.axes, p))).extent == 1 and read.start == p[i]
                    for p in points
                )
                if same:
                    graph.add_edge((number, axis), (value, d))
    return graph


def _point(whole: Box, axes: tuple[int, ...], point: tuple[int, ...]) -> Box:
    for axis, position in zip(axes, point, strict=True):
        whole = whole.replace(axis, position, 1)
    return whole


@given(groups(kinds=IDENTITIES))
def test_axes_are_one_exactly_when_their_positions_are(sample: GroupSample) -> None:
    space = space_of(sample)
    graph = equal_positions(space)
    components = [frozenset(c) for c in nx.connected_components(graph)]
    clashes = any(len({owner for owner, _ in c}) < len(c) for c in components)
    found: dict[int, set[tuple[int, int]]] = {}
    for number, chains in enumerate(space.chains):
        for i, chain in enumerate(chains):
            if chain is not None and chain.axes:
                assert chain.is_identity
                found.setdefault(chain.axes[0], set()).add((number, i))
    for axis, members in enumerate(space.members):
        assert set(members) == found.get(axis, set())
    if clashes:  # an op has two axes in a component: it is divided, never across components
        for members in found.values():
            assert len({op for op, _ in members}) == len(members)
            assert any(members <= c for c in components)
        return
    expected = [{node for node in c if isinstance(node[0], int)} for c in components]
    free = [members for members in expected if members and _is_free(space, graph, members)]
    assert sorted(map(sorted, found.values())) == sorted(map(sorted, free))


def _is_free(space: GroupSpace, graph: nx.Graph[Any], members: set[tuple[int, int]]) -> bool:
    """Whether some op reduces the axis or a stored value has it."""
    node = next(iter(members))
    values = {owner for owner, _ in nx.node_connected_component(graph, node) if not isinstance(owner, int)}
    reduced = any(space.declarations[op].axes[axis].kind is AxisKind.REDUCED for op, axis in members)
    return reduced or not values.isdisjoint(space.stores)


@given(groups())
def test_shared_values_are_at_the_same_coordinates_for_all_who_touch_them(sample: GroupSample) -> None:
    """Element by element, products of axes included: who has an axis of the group has the same position on it."""
    space = space_of(sample)
    seen: dict[tuple[Value, int, int], dict[int, int]] = {}
    for number, value, access in accesses(space):
        for d, dimension in enumerate(access):
            if not isinstance(dimension, Along):
                continue
            for index in range(shape_of(value)[d]):
                at: dict[int, int] = {}
                for stride, axis, extent in zip(dimension.strides, dimension.axes, dimension.extents, strict=True):
                    chain = space.chains[number][axis]
                    at |= {} if chain is None else coordinates(chain, index // stride % extent)
                own = space.dimensions[value][d]
                at_value = {} if own is None else coordinates(own, index)
                known = seen.setdefault((value, d, index), {})
                for found in (at, at_value):
                    assert all(known.setdefault(axis, position) == position for axis, position in found.items())


def coordinates(chain: Along, index: int) -> dict[int, int]:
    """The position on each axis of the group of an index of their product."""
    strided = zip(chain.axes, chain.strides, chain.extents, strict=True)
    return {axis: index // stride % extent for axis, stride, extent in strided}


class Parts:
    """A group evaluated part by part: what a part reads is evaluated for that part alone."""

    def __init__(self, space: GroupSpace, parts: list[int], arrays: dict[Value, Array]) -> None:
        self.space = space
        self.ranges = [cut(axis, count) for axis, count in zip(space.axes, parts, strict=True)]
        self.arrays = arrays
        self.producer = {value: i for i, op in enumerate(space.ops) for value in op.results}

    def parts(self, axes: set[int], part: Box) -> Iterator[Box]:
        """The part with each combination of parts of `axes` in place of what it has of them."""
        ordered = sorted(axes)
        for chosen in itertools.product(*(self.ranges[axis] for axis in ordered)):
            made = part
            for axis, (start, extent) in zip(ordered, chosen, strict=True):
                made = made.replace(axis, start, extent)
            yield made

    def value(self, value: Value, part: Box) -> tuple[Box, Array]:
        """What a part holds of a value, and where that is."""
        held = needs(self.space, part).held[value]
        if value not in self.producer:
            return held, self.arrays[value][held.index()]
        return held, self.computed(self.producer[value], part)

    def computed(self, number: int, part: Box) -> Array:
        op, declaration = self.space.ops[number], self.space.declarations[number]
        model = op.interface(Axes)
        assert model is not None
        cut_axes = {axis for axis in merged_axes(self.space, number) if len(self.ranges[axis]) > 1}
        mine = needs(self.space, part).ops[number]
        assert mine is not None
        combination = declaration.combination
        if combination is None or not cut_axes:
            return compute(piece(op, mine, model.attributes(mine)), self.operands(number, part))
        merged = None
        for sub in self.parts(cut_axes, part):
            slices = needs(self.space, sub).ops[number]
            assert slices is not None
            state = model.step(slices, self.operands(number, sub))
            merged = state if merged is None else combination.merge(merged, state)
        assert merged is not None
        return model.finish(merged, mine, self.operands(number, part))

    def operands(self, number: int, part: Box) -> list[Array | None]:
        op = self.space.ops[number]
        slices = needs(self.space, part).ops[number]
        assert slices is not None
        found: list[Array | None] = []
        for value, read in zip(op.operands, slices.operands, strict=True):
            if read is None:
                found.append(None)
                continue
            if read.box.empty:
                found.append(np.empty(read.box.extent, np.float32))
                continue
            held, array = self.value(value, part)
            inner = [
                slice(a - b, a - b + n) for a, b, n in zip(read.box.start, held.start, read.box.extent, strict=True)
            ]
            found.append(array[tuple(inner)])
        return found


def evaluated(sample: GroupSample) -> dict[Value, Array]:
    values: dict[Value, Any] = dict(sample.arrays)
    for op in sample.ops:
        model = op.interface(Compute)
        assert model is not None
        values[op.results[0]] = model.compute(*(values.get(v) for v in op.operands))
    return values


@settings(max_examples=settings().max_examples // 2)
@given(groups(), st.data())
def test_any_legal_cut_computes_what_the_group_does(sample: GroupSample, data: st.DataObject) -> None:
    space = space_of(sample)
    parts = [data.draw(st.sampled_from(part_counts(axis))) for axis in space.axes]
    with np.errstate(all="ignore"):
        expected = evaluated(sample)
        run = Parts(space, parts, dict(sample.arrays))
        for value in space.stores:
            found = np.full(expected[value].shape, np.nan, np.float32)
            own = {axis for chain in space.dimensions[value] if chain is not None for axis in chain.axes}
            try:
                for part in run.parts(own, space.whole):
                    held, array = run.value(value, part)
                    box = needs(space, part).stored[value]
                    inner = [slice(a - b, a - b + n) for a, b, n in zip(box.start, held.start, box.extent, strict=True)]
                    found[box.index()] = array[tuple(inner)]
            except CutError:
                assert any(isinstance(op, tx8be.ReshapeOp) for op in sample.ops)  # only merged axes refuse a cut
                return
            scale = max(1.0, float(np.abs(expected[value]).max(initial=0)))
            np.testing.assert_allclose(found, expected[value], rtol=0, atol=1e-4 * scale)


def values(*shapes: tuple[int, ...]) -> tuple[Value, ...]:
    return Block([VTensorType(shape, f32) for shape in shapes]).args


NONE = tx8be.NoneOp().y


def test_the_hidden_axis_of_two_products_is_reduced_by_the_second() -> None:
    x, w1, w2 = values((8, 6), (6, 10), (10, 4))
    first = tx8be.Gemm(x, w1, NONE, NONE)
    relu = tx8be.Relu(first.out)
    second = tx8be.Gemm(relu.y, w2, NONE, NONE)
    space = group_space([first, relu, second], [second.out])
    assert repr(space) == (
        "<space of m:8, n:10 (reduced), k:6 (reduced), n2:4\n  0 Gemm[m, n, k]\n  1 Relu[m, n]\n  2 Gemm[m, n2, n]>"
    )


def test_two_axes_of_one_op_stay_two() -> None:
    (x,) = values((6, 4))
    turned = tx8be.Transpose(x, perm=(1, 0))
    product = tx8be.Gemm(x, turned.y, NONE, NONE)
    space = group_space([turned, product], [product.out])
    part = space.whole.replace(space.axis("m"), 0, 2).replace(space.axis("n"), 3, 2)
    assert needs(space, part).held[x] == Box((0, 0), (5, 4))  # rows 0, 1 for the left side and 3, 4 for the right one


def test_a_reduced_axis_is_not_the_axis_of_the_columns_it_makes() -> None:
    """`x + relu(x) @ w` stores the columns of x, and each of them needs all of x."""
    x, w = values((8, 6), (6, 6))
    relu = tx8be.Relu(x)
    product = tx8be.Gemm(relu.y, w, NONE, NONE)
    added = tx8be.Add(x, product.out)
    space = group_space([relu, product, added], [added.out])
    k, columns = space.chains[1][2], space.dimensions[added.out][1]
    assert k is not None
    assert columns is not None
    assert k.axes != columns.axes
    part = space.whole.replace(k.axes[0], 0, 2).replace(columns.axes[0], 3, 3)
    assert needs(space, part).held[w] == Box((0, 3), (2, 3))
    assert needs(space, part).held[x] == Box((0, 0), (8, 6))


def test_a_value_with_readers_of_different_halos_is_held_at_the_hull() -> None:
    x, w = values((1, 9, 7, 3), (3, 3, 3, 3))
    relu = tx8be.Relu(x)
    conv = tx8be.Conv(relu.y, w, NONE, NONE, pads=(1, 1, 1, 1))
    added = tx8be.Add(conv.out, relu.y)
    space = group_space([relu, conv, added], [added.out])
    slices = needs(space, space.whole.replace(space.axis("oh"), 3, 3))
    assert slices.held[relu.y] == Box((0, 2, 0, 0), (1, 5, 7, 3))
    reads = [made.operands for made in slices.ops if made is not None]
    assert [None if r is None else r.box.axis(1) for r in (reads[1][0], reads[2][1])] == [(2, 5), (3, 3)]


def test_ops_without_a_common_axis_are_nests_of_their_own() -> None:
    a, b = values((4,), (4,))
    first, second = tx8be.Relu(a), tx8be.Neg(b)
    space = group_space([first, second], [first.y, second.y])
    assert [sorted(c) for c in space.components()] == [[0], [1]]


def test_several_stores_have_axes_of_their_own() -> None:
    (x,) = values((4, 6))
    relu = tx8be.Relu(x)
    total = tx8be.Reduce(relu.y, function=tx8be.ReduceFunction.SUM, axes=(1,))
    space = group_space([relu, total], [relu.y, total.y])
    part = space.whole.replace(1, 2, 2)
    assert needs(space, part).stored == {relu.y: Box((0, 2), (4, 2)), total.y: Box((0, 0), (4, 1))}


def test_axes_that_are_not_sliced_stay_one() -> None:
    (x,) = values((8, 6))
    relu = tx8be.Relu(x)
    part = tx8be.Slice(relu.y, starts=(0, 2), ends=(8, 5))
    space = group_space([relu, part], [part.y])
    assert repr(space) == "<space of d0:8, d1:3\n  0 Relu[d0, ~]\n  1 Slice[d0, d1]>"


def test_the_space_of_a_compiled_group(build_program: Callable[..., Any], run_passes: Callable[..., Any]) -> None:
    """Loads bring values and are not ops of the space; cuts of blocked values are aligned."""
    weight = np.zeros((96, 200), np.float32)
    program = build_program(
        lambda x, p: pd.matmul(x, p("w")), inputs={"x": VTensorType((128, 96), f32)}, weights={"w": weight}
    )
    passes = "lower-to-tx8be,layout-init,layout-transmit,layout-align,layout-optimize,load-constants"
    grouped = run_passes(program, f"{passes},group-default,group-load-store")
    spaces = [space_of_group(op) for op in grouped.main.body.block if isinstance(op, tx8be.GroupOp)]
    (product,) = (space for space in spaces if isinstance(space.ops[0], tx8be.GemmOp))
    assert repr(product) == (
        "<space of m:128, n:200 (cut at multiples of 16), k:96 (reduced; cut at multiples of 16)\n"
        "  0 Gemm[m, n, k]\n  1 StoreVar[m, n]>"
    )
    assert [value.defining_op.name for value in product.loads] == ["tx8be.LoadVar", "tx8be.LoadConst"]
