"""How often a value is read because a state must be complete first: passes over the cut axes in time.

What follows a reduction runs when the loops of the reduced axes are finished. Where it needs the same axis again, as
softmax does when it divides, these loops run a second time, and what is read in both passes is read twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

from tx8ir.backend.axes.axis import AxisKind
from tx8ir.backend.axes.group import GroupSpace
from tx8ir.backend.axes.residency import merged_axes
from tx8ir.core import Value

__all__ = ["read_passes"]

Pass: TypeAlias = tuple[int, ...]
"""For each of the axes, how many runs of its loop have finished before."""


def read_passes(space: GroupSpace, axes: Collection[int]) -> Mapping[Value, int]:
    """In how many passes over the loops of `axes` each value is read or stored; 1 where nothing is combined.

    A value that does not depend on an axis takes no notice of its passes. Takes time in proportion to the ops.
    """
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
    for number in reversed(range(len(space.ops))):
        op, declaration = space.ops[number], space.declarations[number]
        reads = {first[number]} if merged[number] else set[Pass]()
        kinds = {declaration.axes[i].kind for i in declaration.combined} if merged[number] else set[AxisKind]()
        if AxisKind.REDUCED not in kinds:  # it has an element for each position, and works whenever they are read
            reads |= {one for value in op.results for one in when[value]}
        for value in op.operands:
            if value in when:
                when[value] |= reads
    counts: dict[Value, int] = {}
    for value, found in when.items():
        depends = space.depends_on(value)
        counts[value] = len(
            {tuple(n for n, axis in zip(one, ordered, strict=True) if axis in depends) for one in found}
        )
    return counts
