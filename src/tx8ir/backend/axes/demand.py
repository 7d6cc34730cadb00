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
            its producer gives no less. Its sides are hulls for themselves, so that each follows from its own axes.
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
    sides = {value: [_known(chain).read(part) for chain in space.dimensions[value]] for value in space.stores}
    stored = {value: _box(intervals) for value, intervals in sides.items()}
    found: list[OpSlices | None] = [None] * len(space.ops)
    for number in reversed(range(len(space.ops))):
        op, declaration = space.ops[number], space.declarations[number]
        if not any(value in sides for value in op.results):
            continue
        made = slices(declaration, _box(_ranges(space, number, [sides.get(value) for value in op.results], part)))
        if not all(box.empty for box in made.results):
            found[number] = made
        for value, box in zip(op.results, made.results, strict=True):
            sides[value] = _sides(box)
        for value, read in zip(op.operands, made.operands, strict=True):
            if read is not None:
                own = _sides(read.box)
                known = sides.get(value, own)
                sides[value] = [a.hull(b) for a, b in zip(known, own, strict=True)]
    return GroupSlices(tuple(found), {value: _box(intervals) for value, intervals in sides.items()}, stored)


def _ranges(space: GroupSpace, number: int, wanted: Sequence[Sequence[Interval] | None], part: Box) -> list[Interval]:
    """The interval of each axis of an op: of a reduced one what the part has, of any other what the results need.

    A row that is reduced and broadcast back, or scanned, is needed whole where readers want a piece of it that is no
    part of the group's cut (a slice of a softmax): no other part then has the rest of its state.
    """
    declaration, chains = space.declarations[number], space.chains[number]
    ranges = [Interval(0, axis.extent) for axis in declaration.axes]
    for result, sides in enumerate(wanted):
        if sides is not None:
            for axis, interval in producing(declaration, result, sides).items():
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


def _box(intervals: Sequence[Interval]) -> Box:
    return Box(tuple(i.start for i in intervals), tuple(i.extent for i in intervals))


def _sides(box: Box) -> list[Interval]:
    return [Interval(start, stop) for start, stop in zip(box.start, box.stop, strict=True)]
