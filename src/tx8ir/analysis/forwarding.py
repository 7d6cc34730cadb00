"""Which lists of forwarded values of a `RegionBranch` operation belong together: what all have, or none has."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tx8ir.core import Region, Value
from tx8ir.core.ir.region_branch import RegionFlow

Source = tuple[Region | None, range]
"""Where control comes from, and the operands that are forwarded from there."""


@attrs.frozen(eq=False)
class ForwardingGroup:
    """Lists of values of one length: what is forwarded, and what it becomes. A value goes from or comes to all of them.

    A while loop has two groups: what it carries (its operands, the arguments of `before`, what `after` yields), and
    what is passed on (by the end of `before`, to the arguments of `after` and the results).

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


def forwarding_groups(flow: RegionFlow) -> list[ForwardingGroup] | None:
    """The groups of an operation; None where another value cannot go with control through all of its regions.

    It can where each region takes arguments, or sees values from outside because it is entered from there only, and
    where control that leaves gives results. O(values forwarded on its edges).
    """
    by_target: dict[Region | None, ForwardingGroup] = {}
    by_source: dict[Source, ForwardingGroup] = {}
    takes: dict[Region, bool] = {}
    for source in (None, *flow.op.regions):
        if source is not None and len(source) > 1:
            return None
        for target, forwarded, inputs in flow.edges(source):
            if forwarded is None:
                if target is None or source is not None or takes.setdefault(target, False):
                    return None
                continue
            if target is not None and not takes.setdefault(target, True):
                return None
            key = (source, forwarded)
            group, other = by_target.get(target), by_source.get(key)
            if group is None:
                group = other if other is not None else ForwardingGroup()
            elif other is not None and other is not group:
                group.sources.update(other.sources)
                group.targets.update(other.targets)
                by_target.update(dict.fromkeys(other.targets, group))
                by_source.update(dict.fromkeys(other.sources, group))
            group.sources[key] = None
            group.targets[target] = inputs
            by_target[target] = by_source[key] = group
    return list(dict.fromkeys(by_target.values()))


def incoming_values(flow: RegionFlow) -> dict[Value, list[Value]]:
    """For each region argument and result that values are forwarded to: these values, one for each edge."""
    found: dict[Value, list[Value]] = {}
    for end, _, edge in flow.with_ends():
        if end is not None and edge.forwarded is not None:
            operands = end.operands[edge.forwarded.start : edge.forwarded.stop]
            for target, value in zip(edge.inputs, operands, strict=True):
                found.setdefault(target, []).append(value)
    return found
