"""`GroupSpace`: the axes of the ops of a group made one iteration space through the values they share.

Every tensor has its own dimensions; producing or reading it along axes makes these the same positions (a reshape makes
products of axes the same, see `refinement`), and so axes of different ops become one. Windows and shifted reads make
nothing equal: what they need follows from the axes of their reader (`demand`).

A class of equal axes is an axis of the group when a stored value has it or an op reduces it; the range of every other
axis follows from its readers. Two axes of one op are never made one, as in `x @ transpose(x)`: there the value that
would do it is held at the hull of what its readers need. Nor is a combined axis made one with an axis that another
axis of the same op follows from (`_diagonal`). No result is special: a group has any number of stores, each
over some of the axes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import attrs

from tx8ir.backend.axes.alignment import value_alignment
from tx8ir.backend.axes.axis import Axis, AxisKind
from tx8ir.backend.axes.declaration import Declaration
from tx8ir.backend.axes.interface import declaration_of
from tx8ir.backend.axes.maps import Along
from tx8ir.backend.axes.refinement import Factor, Refinement
from tx8ir.backend.axes.spaces import shape_of
from tx8ir.backend.oplib.boxes import Box
from tx8ir.core import Operation, RankedTensor, Value
from tx8ir.dialects import tx8be
from tx8ir.support.screen import LINES, fitted

__all__ = ["GroupSpace", "group_space", "space_of"]

LOADS = (tx8be.InputOp, tx8be.LoadVarOp, tx8be.LoadConstOp, tx8be.ConstantOp)
"""Ops that only bring a value: it is an operand of the group."""

Dependence: TypeAlias = tuple[frozenset[int], ...]


@attrs.frozen(eq=False, repr=False, slots=False)
class GroupSpace:
    """The iteration space of a group.

    Attributes:
        ops: the ops that compute, in order.
        declarations: theirs.
        axes: the axes of the group. The kind is the strictest of its members': cut as any of them must be.
        members: for each of these axes the (op, axis) pairs that run along it, or along a product with it.
        chains: for each op and each of its axes the product of axes of the group that it is; None where its range
            follows from its readers.
        dimensions: the same for each dimension of each value that is read or stored.
        loads: values that the ops read and none of them gives, in order.
        stores: values that leave the group.
        op_dependence: for each op and each of its axes the axes of the group that its range follows from.
        value_dependence: the same for each dimension of each value.
        op_direct: for each op and each of its axes whether its readers need exactly what a part of the group has of
            that axis, so that its range follows from `chains` without a look at readers.
        value_direct: the same for each dimension of each value and `dimensions`.
    """

    ops: tuple[Operation, ...]
    declarations: tuple[Declaration, ...]
    axes: tuple[Axis, ...]
    members: tuple[tuple[tuple[int, int], ...], ...]
    chains: tuple[tuple[Along | None, ...], ...]
    dimensions: Mapping[Value, tuple[Along | None, ...]]
    loads: tuple[Value, ...]
    stores: tuple[Value, ...]
    op_dependence: tuple[Dependence, ...]
    value_dependence: Mapping[Value, Dependence]
    op_direct: tuple[tuple[bool, ...], ...]
    value_direct: Mapping[Value, tuple[bool, ...]]

    def depends_on(self, value: Value) -> frozenset[int]:
        """The axes of the group that the slices of a value follow from."""
        return frozenset(axis for axes in self.value_dependence[value] for axis in axes)

    @property
    def whole(self) -> Box:
        """The whole iteration space."""
        return Box.whole([axis.extent for axis in self.axes])

    def axis(self, name: str) -> int:
        """The position of the axis of that name. Raises `KeyError` with the names there are."""
        names = [axis.name for axis in self.axes]
        if name not in names:
            raise KeyError(f"no axis {name!r}; there are {', '.join(names)}")
        return names.index(name)

    def components(self) -> tuple[frozenset[int], ...]:
        """Axes that some op has together, directly or through others: each component is a nest of loops of its own."""
        first = list(range(len(self.axes)))  # of each axis, one of its component that is nearer to the first one

        def root(axis: int) -> int:
            while first[axis] != axis:
                first[axis] = axis = first[first[axis]]
            return axis

        for dependence in self.op_dependence:
            roots = sorted({root(axis) for axes in dependence for axis in axes})
            for other in roots[1:]:
                first[other] = roots[0]
        found: dict[int, set[int]] = {}
        for axis in range(len(self.axes)):
            found.setdefault(root(axis), set()).add(axis)
        return tuple(map(frozenset, found.values()))

    def __repr__(self) -> str:
        lines = [f"<space of {', '.join(map(repr, self.axes)) or 'no axes'}"]
        for number, (op, chains) in enumerate(zip(self.ops, self.chains, strict=True)):
            names = [axis.name for axis in self.axes]
            texts = ["~" if chain is None else chain.text(names) for chain in chains]
            lines.append(f"  {number} {op.name.removeprefix('tx8be.')}[{', '.join(texts)}]")
        left_out = len(lines) - (LINES - 1)
        shown = lines if left_out <= 0 else [*lines[: LINES - 1], f"  ... {left_out} more"]
        return "\n".join(map(fitted, shown)) + ">"


def space_of(group: tx8be.GroupOp) -> GroupSpace:
    """The iteration space of a group's body. Raises `CompileError` where an op of it declares no axes."""
    body = group.body.block
    ops = [op for op in body if not isinstance(op, tx8be.NoneOp | tx8be.ReturnOp)]
    terminator = body.last_op
    assert isinstance(terminator, tx8be.ReturnOp)
    return group_space(ops, terminator.xs)


def group_space(ops: Iterable[Operation], stores: Iterable[Value]) -> GroupSpace:
    """The iteration space of ops in topological order, `stores` of whose values leave the group.

    Ops that only bring a value are left out. Takes time in proportion to the ops and their axes.

    Raises:
        CompileError: an op declares no axes.
    """
    computing, leaving = [op for op in ops if not isinstance(op, LOADS)], tuple(dict.fromkeys(stores))
    apart: frozenset[tuple[int, int]] = frozenset()
    while True:
        space = _Unification(computing, leaving, apart).result()
        found = _diagonal(space)
        if not found:
            return space
        apart |= found


def _diagonal(space: GroupSpace) -> frozenset[tuple[int, int]]:
    """The (op, axis) pairs of combined axes whose cut would cut another axis of the op as well.

    In `y + x @ w` with `y` made of the columns of `x`, a part of these would have some columns of the product, and of
    them the terms of the same columns of `x` alone.
    """
    found: set[tuple[int, int]] = set()
    for number, declaration in enumerate(space.declarations):
        dependence = space.op_dependence[number]
        for i in declaration.combined:
            chain = space.chains[number][i]
            if chain is not None and space.op_direct[number][i]:
                others = (axes for j, axes in enumerate(dependence) if j != i)
                if any(not axes.isdisjoint(chain.axes) for axes in others):
                    found.add((number, i))
    return frozenset(found)


class _Unification:
    """The steps from declarations to a `GroupSpace`; axes of ops that are `apart` are made equal to nothing."""

    def __init__(self, ops: Sequence[Operation], stores: tuple[Value, ...], apart: frozenset[tuple[int, int]]) -> None:
        self.apart = apart
        self.ops = tuple(ops)
        self.stores = stores
        self.declarations = tuple(declaration_of(op) for op in ops)
        self.refinement = Refinement()
        self.op_axes = [
            [self.refinement.axis(axis.extent, number) for axis in declaration.axes]
            for number, declaration in enumerate(self.declarations)
        ]
        self.values: dict[Value, list[Factor]] = {}
        for op in ops:
            for value in (*op.operands, *op.results):
                if isinstance(value.type, RankedTensor) and value not in self.values:
                    self.values[value] = [self.refinement.axis(extent, value) for extent in shape_of(value)]
        for value in stores:  # one that is stored as it was loaded
            if value not in self.values:
                self.values[value] = [self.refinement.axis(extent, value) for extent in shape_of(value)]
        self._unify()
        self._fix()
        self.group_axes = self._choose()

    def accesses(self, number: int) -> Iterable[tuple[Value, tuple[object, ...]]]:
        """The values of an op that are tensors with their maps, operands first."""
        op, declaration = self.ops[number], self.declarations[number]
        for value, access in zip(
            (*op.operands, *op.results), (*declaration.operands, *declaration.results), strict=True
        ):
            if access is not None:
                yield value, access

    def _unify(self) -> None:
        for number in range(len(self.ops)):
            for value, access in self.accesses(number):
                for dimension, mapped in zip(self.values[value], access, strict=True):
                    if not isinstance(mapped, Along) or any((number, axis) in self.apart for axis in mapped.axes):
                        continue
                    if mapped.extent > 1:
                        self.refinement.equate([dimension], self._along(number, mapped))

    def _along(self, number: int, mapped: Along) -> list[Factor]:
        """The axes of op `number` that a dimension is the product of; a block that is never cut is an axis too."""
        factors = [self.op_axes[number][axis] for axis in mapped.axes]
        if mapped.inner > 1:
            block = self.refinement.axis(mapped.inner, object())
            block.is_fixed = True
            factors.append(block)
        return factors

    def _fix(self) -> None:
        for number, declaration in enumerate(self.declarations):
            for axis, factor in zip(declaration.axes, self.op_axes[number], strict=True):
                if not axis.kind.can_be_cut:
                    for part in self.refinement.chain([factor]):
                        part.is_fixed = True
        alone = [[factor] for factors in (*self.op_axes, *self.values.values()) for factor in factors]
        self.refinement.settle(lambda: alone)

    def _choose(self) -> dict[Factor, int]:
        """The classes that are axes of the group: of stored values, and reduced ones; in the order of the ops."""
        roots = [factor for value in self.stores for factor in self.values[value]]
        for declaration, factors in zip(self.declarations, self.op_axes, strict=True):
            kinds = zip(declaration.axes, factors, strict=True)
            roots += [factor for axis, factor in kinds if axis.kind is AxisKind.REDUCED]
        chosen = set(self.refinement.chain(roots))
        ordered = (f for factors in (*self.op_axes, *self.values.values()) for f in self.refinement.chain(factors))
        return {factor: i for i, factor in enumerate(dict.fromkeys(f for f in ordered if f in chosen))}

    def _chain(self, factor: Factor) -> Along | None:
        """An axis as a product of axes of the group."""
        factors = self.refinement.chain([factor])
        if any(f not in self.group_axes for f in factors):
            return None
        return Along(tuple(self.group_axes[f] for f in factors), tuple(f.extent for f in factors))

    def result(self) -> GroupSpace:
        chains = tuple(tuple(self._chain(factor) for factor in factors) for factors in self.op_axes)
        dimensions = {value: tuple(self._chain(f) for f in factors) for value, factors in self.values.items()}
        op_direct, value_direct = self._direct()
        op_dependence, value_dependence = self._dependence(chains, dimensions, op_direct, value_direct)
        given = {value for op in self.ops for value in op.results}
        members = self._members()
        return GroupSpace(
            self.ops, self.declarations, self._axes(members, chains), members, chains, dimensions,
            tuple(value for value in self.values if value not in given), self.stores, op_dependence, value_dependence,
            op_direct, value_direct,
        )  # fmt: skip

    def _members(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        members: list[list[tuple[int, int]]] = [[] for _ in self.group_axes]
        for number, factors in enumerate(self.op_axes):
            for i, factor in enumerate(factors):
                for part in self.refinement.chain([factor]):
                    if part in self.group_axes:
                        members[self.group_axes[part]].append((number, i))
        return tuple(map(tuple, members))

    def _axes(
        self, members: Sequence[Sequence[tuple[int, int]]], chains: Sequence[Sequence[Along | None]]
    ) -> tuple[Axis, ...]:
        axes: list[Axis] = []
        taken: set[str] = set()
        last = {
            factor: value_alignment(value)
            for value in self.stores if self.values[value]
            for factor in self.refinement.chain(self.values[value][-1:])[-1:]
        }  # fmt: skip
        for factor, number in self.group_axes.items():
            own = [(self.declarations[op].axes[axis], chains[op][axis]) for op, axis in members[number]]
            name = _unique(_telling([axis.name for axis, _ in own]), taken)
            kind = AxisKind.WHOLE if factor.is_fixed else _strictest([axis.kind for axis, _ in own])
            alignment, boundaries = 1 if own else last.get(factor, 1), None
            for axis, chain in own:
                if chain is None:
                    continue
                stride = chain.strides[chain.axes.index(number)]
                alignment = math.lcm(alignment, axis.alignment // math.gcd(axis.alignment, stride))
                if axis.boundaries is not None:
                    is_outermost = chain.axes[0] == number
                    allowed = {b // stride for b in axis.boundaries if b % stride == 0} if is_outermost else set[int]()
                    boundaries = allowed if boundaries is None else boundaries & allowed
            at = None if boundaries is None else tuple(sorted(boundaries))
            axes.append(Axis(name, factor.extent, kind, alignment, at))
        return tuple(axes)

    def _dependence(
        self,
        chains: Sequence[Sequence[Along | None]],
        dimensions: Mapping[Value, Sequence[Along | None]],
        op_direct: Sequence[Sequence[bool]],
        value_direct: Mapping[Value, Sequence[bool]],
    ) -> tuple[tuple[Dependence, ...], dict[Value, Dependence]]:
        """What ranges follow from: direct ones from themselves, the others from readers, these before producers."""

        def own_axes(chain: Along | None, is_own: bool) -> set[int]:
            return set(chain.axes) if chain is not None and is_own else set()

        values: dict[Value, list[set[int]]] = {}
        stores = set(self.stores)
        for value, dims in dimensions.items():
            is_stored = value in stores
            values[value] = [
                own_axes(chain, is_stored or direct) for chain, direct in zip(dims, value_direct[value], strict=True)
            ]
        ops: list[list[set[int]]] = []
        for declaration, own, direct in zip(self.declarations, chains, op_direct, strict=True):
            kinds = [axis.kind for axis in declaration.axes]
            given = zip(kinds, own, direct, strict=True)
            ops.append([own_axes(chain, is_direct or kind is AxisKind.REDUCED) for kind, chain, is_direct in given])
        for number in reversed(range(len(self.ops))):
            op, declaration, own = self.ops[number], self.declarations[number], ops[number]
            for value, access in zip(op.results, declaration.results, strict=True):
                for dimension, found in zip(access, values[value], strict=True):
                    for axis in dimension.axes:
                        if not op_direct[number][axis]:
                            own[axis] |= found
            for value, operand in zip(op.operands, declaration.operands, strict=True):
                for d, dimension in enumerate(operand or ()):
                    if not value_direct[value][d]:
                        values[value][d].update(*(own[axis] for axis in dimension.axes))
        return (
            tuple(tuple(map(frozenset, own)) for own in ops),
            {value: tuple(map(frozenset, found)) for value, found in values.items()},
        )

    def _direct(self) -> tuple[tuple[tuple[bool, ...], ...], dict[Value, tuple[bool, ...]]]:
        """Which ranges are those of the group's axes: readers before producers."""
        values = {value: [self._is_chosen([f]) for f in factors] for value, factors in self.values.items()}
        ops = [[True] * len(factors) for factors in self.op_axes]
        for number in reversed(range(len(self.ops))):
            op, declaration, own = self.ops[number], self.declarations[number], ops[number]
            for value, access in zip(op.results, declaration.results, strict=True):
                for d, mapped in enumerate(access):
                    values[value][d] = values[value][d] and self._is_along(number, self.values[value][d], mapped)
                    for axis in mapped.axes:
                        own[axis] = own[axis] and values[value][d]
            for i, axis in enumerate(declaration.axes):
                own[i] = own[i] and axis.kind.can_be_cut
            for value, operand in zip(op.operands, declaration.operands, strict=True):
                for d, mapped in enumerate(operand or ()):
                    along = isinstance(mapped, Along) and self._is_along(number, self.values[value][d], mapped)
                    if not (along and all(own[axis] for axis in mapped.axes)):
                        values[value][d] = False
        return tuple(map(tuple, ops)), {value: tuple(found) for value, found in values.items()}

    def _is_chosen(self, factors: Sequence[Factor]) -> bool:
        return all(factor in self.group_axes for factor in self.refinement.chain(factors))

    def _is_along(self, number: int, dimension: Factor, mapped: Along) -> bool:
        """Whether a dimension is the very product of axes of the group that it is for an op."""
        chain = self.refinement.chain([dimension])
        own = self.refinement.chain([self.op_axes[number][axis] for axis in mapped.axes])
        inner = math.prod(f.extent for f in chain[len(own) :])
        return chain[: len(own)] == own and self._is_chosen([dimension]) and inner == mapped.inner


def _telling(names: Sequence[str]) -> str:
    """The first name that is more than the number of a dimension (`d0`), if there is one."""
    return next((name for name in names if not name[1:].isdigit()), names[0] if names else "d")


def _unique(name: str, taken: set[str]) -> str:
    """`name`, with a number after it where it is taken."""
    found = next(n for n in itertools.chain([name], (f"{name}{i}" for i in itertools.count(2))) if n not in taken)
    taken.add(found)
    return found


def _strictest(kinds: Sequence[AxisKind]) -> AxisKind:
    order = (AxisKind.SCANNED, AxisKind.BROADCAST_BACK, AxisKind.REDUCED, AxisKind.PARALLEL)
    return next((kind for kind in order if kind in kinds), AxisKind.PARALLEL)
