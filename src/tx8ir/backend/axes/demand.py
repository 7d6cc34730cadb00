"""What a part of a group's iteration space needs of every op and value, from the stores back to the loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from tx8ir.backend.axes.axis import AxisKind
from tx8ir.backend.axes.group import GroupSpace
from tx8ir.backend.axes.maps import Along, CutError, Interval
from tx8ir.backend.axes.slices import OpSlices, producing, slices
from tx8ir.backend.oplib.boxes import Box
from tx8ir.core import Value

__all__ = ["GroupSlices", "needs"]


@attrs.frozen
class GroupSlices:
    """What one part of a group's space reads, computes and stores.

    Attributes:
        ops: the slices of each op; None where the part needs nothing of it.
        held: the box of each value that the part has in SPM: the hull of what is read of it and stored, or more where
            its producer gives no less.
        stored: the box of each stored value that the part gives; the parts of a space give each element once for
            every part of the axes that the value does not have.
    """

    ops: tuple[OpSlices | None, ...]
    held: Mapping[Value, Box]
    stored: Mapping[Value, Box]


def needs(space: GroupSpace, part: Box) -> GroupSlices:
    """The slices of a part of the group's space.

    A value that several ops read is held at the hull of what they read, halos included, and its producer computes that
    much. Takes time in proportion to the ops.

    Raises:
        CutError: a slice is strided, or an axis that is never cut is.
    """
    for number, axis in enumerate(space.axes):
        if not axis.kind.can_be_cut and part.axis(number) != (0, axis.extent):
            raise CutError(f"{axis!r} is cut to {part.axis(number)}")
    stored = {value: _box([_known(chain).read(part) for chain in space.dimensions[value]]) for value in space.stores}
    held = dict(stored)
    found: list[OpSlices | None] = [None] * len(space.ops)
    for number in reversed(range(len(space.ops))):
        op, declaration = space.ops[number], space.declarations[number]
        wanted = [held.get(value) for value in op.results]
        if all(box is None or box.empty for box in wanted):
            continue
        ranges = _ranges(space, number, wanted, part)
        made = found[number] = slices(declaration, _box(ranges))
        held |= dict(zip(op.results, made.results, strict=True))
        for value, read in zip(op.operands, made.operands, strict=True):
            if read is not None:
                held[value] = _hull(held.get(value), read.box)
    return GroupSlices(tuple(found), held, stored)


def _ranges(space: GroupSpace, number: int, wanted: Sequence[Box | None], part: Box) -> list[Interval]:
    """The interval of each axis of an op: of a reduced one what the part has, of any other what the results need.

    A row that is reduced and broadcast back, or scanned, is needed whole where readers want a piece of it that is no
    part of the group's cut (a slice of a softmax): no other part then has the rest of its state.
    """
    declaration, chains = space.declarations[number], space.chains[number]
    ranges = [Interval(0, axis.extent) for axis in declaration.axes]
    for result, box in enumerate(wanted):
        if box is not None:
            for axis, interval in producing(declaration, result, box).items():
                ranges[axis] = interval
    for i in declaration.combined:
        axis, chain = declaration.axes[i], chains[i]
        if axis.kind is AxisKind.REDUCED:
            ranges[i] = _known(chain).read(part)
        elif not space.op_direct[number][i]:
            ranges[i] = Interval(0, axis.extent)
    return ranges


def _known(chain: Along | None) -> Along:
    assert chain is not None  # of a stored value or a reduced axis: these are axes of the group
    return chain


def _box(ranges: list[Interval]) -> Box:
    return Box(tuple(r.start for r in ranges), tuple(r.extent for r in ranges))


def _hull(a: Box | None, b: Box) -> Box:
    if a is None or a.empty:
        return b
    return a if b.empty else a.hull(b)
