"""Which lists of forwarded values of a `RegionBranch` operation belong together: what all have, or none has."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tx8ir.core import Region, RegionBranch, Value
from tx8ir.core.ir.interfaces import operation_of
from tx8ir.core.ir.region_branch import edges_with_ends

Source = tuple[Region | None, range]
"""Where control comes from, and the operands that are forwarded from there."""


@attrs.frozen(eq=False)
class ForwardingGroup:
    """Lists of values of one length: what is forwarded, and what it becomes. A value goes from or comes to all of them.

    An `scf.while` has two groups: what it carries (its operands, the arguments of `before`, what `after` yields), and
    what is passed on (by `scf.condition`, to the arguments of `after` and the results).

    Attributes:
        sources: the operands that are forwarded.
        targets: the regions whose arguments they become, or None for the results; and these values.
    """

    sources: dict[Source, None] = attrs.field(factory=dict[Source, None])
    targets: dict[Region | None, Sequence[Value]] = attrs.field(factory=dict[Region | None, Sequence[Value]])

    @property
    def width(self) -> int:
        """How many values each list has."""
        return len(next(iter(self.targets.values())))


def forwarding_groups(branch: RegionBranch) -> list[ForwardingGroup]:
    """The groups of an operation. O(values forwarded on its edges)."""
    groups: list[ForwardingGroup] = []
    for _, source, edge in edges_with_ends(branch):
        if edge.forwarded is None:
            continue
        key = (source, edge.forwarded)
        joined = ForwardingGroup({key: None}, {edge.target: edge.inputs})
        others: list[ForwardingGroup] = []
        for group in groups:
            if key in group.sources or edge.target in group.targets:
                joined.sources.update(group.sources)
                joined.targets.update(group.targets)
            else:
                others.append(group)
        groups = [*others, joined]
    return groups


def incoming_values(branch: RegionBranch) -> dict[Value, list[Value]]:
    """For each region argument and result that values are forwarded to: these values, one for each edge."""
    found: dict[Value, list[Value]] = {}
    for end, _, edge in edges_with_ends(branch):
        if end is not None and edge.forwarded is not None:
            operands = end.operands[edge.forwarded.start : edge.forwarded.stop]
            for target, value in zip(edge.inputs, operands, strict=True):
                found.setdefault(target, []).append(value)
    return found


def can_carry(branch: RegionBranch) -> bool:
    """Whether another value can go with control through all regions of an operation, and come out as a result.

    Each region takes it as an argument, or sees it from outside because it is entered from there only.
    """
    takes: dict[Region, bool] = {}
    for _, source, edge in edges_with_ends(branch):
        forwards = edge.forwarded is not None
        if edge.target is None:
            if not forwards:
                return False
        elif takes.setdefault(edge.target, forwards) != forwards or not (forwards or source is None):
            return False
    return all(len(region) <= 1 for region in operation_of(branch).regions)
