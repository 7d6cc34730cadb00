"""How often values are read and ops run because a state must be complete first: passes over the axes cut in time.

What follows a reduction runs when the loops of the reduced axes are finished. Where it needs the same axis again, as
softmax does when it divides, these loops run a second time, and what is read in both passes is read twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

import attrs

from tx8ir.backend.axes.axis import AxisKind
from tx8ir.backend.axes.group import GroupSpace
from tx8ir.backend.axes.residency import merged_axes
from tx8ir.core import Value

__all__ = ["Passes", "passes"]

Pass: TypeAlias = tuple[int, ...]
"""For each of the axes, how many runs of its loop have finished before."""


@attrs.frozen
class Passes:
    """In how many passes each value is read or stored (`reads`), and each op runs (`runs`).

    All are 1 where nothing is combined. What does not depend on an axis takes no notice of its passes.
    """

    reads: Mapping[Value, int]
    runs: tuple[int, ...]


def passes(space: GroupSpace, axes: Collection[int]) -> Passes:
    """The passes over the loops of `axes`. Takes time in proportion to the ops."""
    ordered = tuple(sorted(axes))
    merged = [merged_axes(space, number) & set(ordered) for number in range(len(space.ops))]
    first: list[Pass] = []
    ready: dict[Value, Pass] = {}
    for number, op in enumerate(space.ops):
        before = [ready[value] for value in op.operands if value in ready]
        start = tuple(max((one[i] for one in before), default=0) for i in range(len(ordered)))
        first.append(start)
        after = tuple(n + (axis in merged[number]) for n, axis in zip(start, ordered, strict=True))
        ready |= dict.fromkeys(op.results, after)
    when: dict[Value, set[Pass]] = {value: set() for value in space.value_dependence}
    for value in space.stores:
        when[value].add(ready.get(value, (0,) * len(ordered)))
    runs: list[set[Pass]] = [set() for _ in space.ops]
    for number in reversed(range(len(space.ops))):
        op, declaration = space.ops[number], space.declarations[number]
        reads = runs[number]
        if merged[number]:
            reads.add(first[number])
        kinds = {declaration.axes[i].kind for i in declaration.combined} if merged[number] else set[AxisKind]()
        if AxisKind.REDUCED not in kinds:  # it has an element for each position, and works whenever they are read
            reads |= {one for value in op.results for one in when[value]}
        for value in op.operands:
            if value in when:
                when[value] |= reads

    def count(found: set[Pass], depends: Collection[int]) -> int:
        return len({tuple(n for n, axis in zip(one, ordered, strict=True) if axis in depends) for one in found})

    return Passes(
        {value: count(found, space.depends_on(value)) for value, found in when.items()},
        tuple(
            count(found, {axis for axes in depends for axis in axes})
            for found, depends in zip(runs, space.op_dependence, strict=True)
        ),
    )
