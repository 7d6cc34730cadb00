"""`Declaration`: the axes of an op and the maps from them to its operands and results, stated once.

It is what a `linalg.generic` says with indexing maps and iterator types, and a Shardy op-sharding rule with factors;
slices, legal cuts, shared operands, work and bytes are functions of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import attrs

from tx8ir.backend.axes.axis import Axis, AxisKind
from tx8ir.backend.axes.combination import Combination
from tx8ir.backend.axes.maps import Along, DimensionMap
from tx8ir.backend.oplib.boxes import Box
from tx8ir.support.screen import fitted

__all__ = ["Access", "Declaration", "ResultAccess"]

Access: TypeAlias = tuple[DimensionMap, ...]
"""An indexing map: one `DimensionMap` per dimension."""
ResultAccess: TypeAlias = tuple[Along, ...]


@attrs.frozen(repr=False)
class Declaration:
    """The iteration space of an op.

    Attributes:
        axes: its axes; maps name them by position.
        operands: the indexing map of each operand, None for an absent one.
        results: the indexing map of each result: axes in the result's dimensions, each position from one box only.
        combination: the state of the axes that are reduced or scanned; None without one.

    Raises:
        ValueError: a reduced axis is in a result, another one is in none, or axes are combined without a state.
    """

    axes: tuple[Axis, ...]
    operands: tuple[Access | None, ...]
    results: tuple[ResultAccess, ...]
    combination: Combination | None = None

    def __attrs_post_init__(self) -> None:
        in_results = {axis for access in self.results for dimension in access for axis in dimension.axes}
        for number, axis in enumerate(self.axes):
            absent = axis.kind in (AxisKind.REDUCED, AxisKind.GATHERED)
            if absent == (number in in_results):
                raise ValueError(f"{axis.kind.value} axis {axis.name} is {'' if absent else 'not '}in a result")
        if any(axis.kind.is_combined for axis in self.axes) != (self.combination is not None):
            raise ValueError("axes are reduced or scanned exactly when there is a combination state")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self.axes)

    @property
    def whole(self) -> Box:
        """The whole iteration space."""
        return Box.whole([axis.extent for axis in self.axes])

    @property
    def combined(self) -> tuple[int, ...]:
        """The axes whose parts leave states that are merged."""
        return tuple(i for i, axis in enumerate(self.axes) if axis.kind.is_combined)

    def axis(self, name: str) -> int:
        """The position of the axis of that name. Raises `KeyError` with the names there are."""
        if name not in self.names:
            raise KeyError(f"no axis {name!r}; there are {', '.join(self.names)}")
        return self.names.index(name)

    def accesses(self) -> Iterator[Access]:
        """The indexing maps of the operands that are present, then of the results."""
        yield from (access for access in self.operands if access is not None)
        yield from self.results

    def __str__(self) -> str:
        def tensor(access: Access | None) -> str:
            return "-" if access is None else "[" + ", ".join(d.text(self.names) for d in access) + "]"

        operands, results = (" ".join(map(tensor, accesses)) for accesses in (self.operands, self.results))
        return f"{operands} -> {results}".strip()

    def __repr__(self) -> str:
        state = "" if self.combination is None else f", {self.combination.name}"
        return fitted(f"<{self}; {', '.join(map(repr, self.axes))}{state}>")
