"""`Axis`: one dimension of the iteration space of an op, and what a cut of it means.

The iteration space of an op is the box of all its axes, as the iterators of a `linalg.generic` or the factors of a
Shardy op-sharding rule: an op computes something at each of its points. The kinds refine linalg's `parallel` and
`reduction` iterator types by what parts of the axis have to tell each other.
"""

from __future__ import annotations

import enum

import attrs

__all__ = ["Axis", "AxisKind"]


class AxisKind(enum.Enum):
    """What the parts of a cut axis have to do with each other."""

    PARALLEL = "parallel"
    """Nothing: every part computes its own elements of the result."""
    REDUCED = "reduced"
    """The result does not have the axis; the states of the parts are merged, in any order."""
    BROADCAST_BACK = "reduced and broadcast back"
    """The states of the parts are merged, and each element of the result needs all of it (softmax, norms)."""
    SCANNED = "scanned"
    """Each part continues from the merged state of those before it (cumulative ops)."""
    GATHERED = "gathered"
    """Data decide which positions are read: every part of the other axes may read all of it."""
    WHOLE = "whole"
    """Never cut, as the axis of a sort."""

    @property
    def can_be_cut(self) -> bool:
        """Whether a cut of such an axis has a meaning."""
        return self not in (AxisKind.GATHERED, AxisKind.WHOLE)

    @property
    def is_combined(self) -> bool:
        """Whether parts along such an axis leave states that are merged (`Declaration.combination`)."""
        return self in (AxisKind.REDUCED, AxisKind.BROADCAST_BACK, AxisKind.SCANNED)


@attrs.frozen(repr=False)
class Axis:
    """An axis of an iteration space.

    Attributes:
        name: unique in its space.
        extent: its number of positions.
        kind: what a cut means.
        alignment: cuts fall on multiples of this many positions.
        boundaries: the positions at which it may be cut at all, ascending (the joints of a concatenation); None: any.
    """

    name: str
    extent: int
    kind: AxisKind = AxisKind.PARALLEL
    alignment: int = 1
    boundaries: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        notes = [] if self.kind is AxisKind.PARALLEL else [self.kind.value]
        notes += [f"cut at multiples of {self.alignment}"] if self.alignment > 1 else []
        notes += [f"cut at {', '.join(map(str, self.boundaries)) or 'nothing'}"] if self.boundaries is not None else []
        return f"{self.name}:{self.extent}" + (f" ({'; '.join(notes)})" if notes else "")
