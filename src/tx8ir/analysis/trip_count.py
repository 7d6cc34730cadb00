"""How often a loop runs, where its text says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs
import numpy as np

from tx8ir.core import (
    Block,
    BlockArgument,
    DenseAttr,
    LoopLike,
    Operation,
    RankedTensor,
    Region,
    RegionBranch,
    RegionEdge,
    Value,
)
from tx8ir.dialects import pd

from .constants import splat_value
from .control_flow import deciding_operands

_Count = Callable[[int, int, int], "int | None"]


def _while_less(start: int, step: int, bound: int) -> int | None:
    """How many of start, start + step, … come before the first that is not below `bound`."""
    if start >= bound:
        return 0
    return -((start - bound) // step) if step > 0 else None


def _until_equal(start: int, step: int, bound: int) -> int | None:
    """How many come before the first that is `bound`."""
    if start == bound:
        return 0
    return (bound - start) // step if step and (bound - start) % step == 0 and (bound - start) // step > 0 else None


_COUNTS: Final[dict[type[Operation], _Count]] = {
    pd.LessThanOp: _while_less,
    pd.LessEqualOp: lambda start, step, bound: _while_less(start, step, bound + 1),
    pd.GreaterThanOp: lambda start, step, bound: _while_less(-start, -step, -bound),
    pd.GreaterEqualOp: lambda start, step, bound: _while_less(-start, -step, 1 - bound),
    pd.NotEqualOp: _until_equal,
}
"""For what is carried on the left of a comparison and a number on the right: how often the comparison holds."""

_TURNED: Final[dict[type[Operation], type[Operation]]] = {
    pd.LessThanOp: pd.GreaterThanOp,
    pd.LessEqualOp: pd.GreaterEqualOp,
    pd.GreaterThanOp: pd.LessThanOp,
    pd.GreaterEqualOp: pd.LessEqualOp,
    pd.NotEqualOp: pd.NotEqualOp,
}
"""The same comparison with its sides exchanged."""


def trip_count(loop: Operation) -> int | None:
    """How often a loop goes on, or None where that is not known.

    A loop may say so (`LoopLike`). Known is it also when one region decides, by one condition, whether to go on or to
    leave (of a while loop the one that is called `before`; the answer is then how often the other one runs), and that
    condition compares a carried integer, plus or minus numbers, with a number; when that integer starts as a number;
    and when each round adds or subtracts numbers. A number is a `builtin.constant` or a `pd.full`. A count that would
    wrap is not known. O(operations between the condition, or what is carried on, and the argument).
    """
    says = loop.interface(LoopLike)
    known = says.trip_count() if says is not None else None
    if known is not None:
        return known
    tested = _tested_loop(loop)
    test = tested.condition.defining_op if tested is not None else None
    if tested is None or test is None or test.__class__ not in _COUNTS:
        return None
    kind, left, right = test.__class__, *test.operands
    bound = _integer(right)
    if bound is None:
        kind, left, bound = _TURNED[kind], right, _integer(left)
    compared = tested.carried_plus(left)
    if bound is None or compared is None:
        return None
    argument, offset = compared
    start = _integer(tested.first[argument.index])
    following = tested.carried_plus(tested.following[argument.index])
    if start is None or following is None or following[0] is not argument:
        return None
    step = following[1]
    trips = _COUNTS[kind](start + offset, step, bound)
    if trips is None:
        return None
    reached = (start, start + trips * step)
    return trips if _fits((*reached, *(value + offset for value in reached)), argument) else None


@attrs.frozen(eq=False)
class _TestedLoop:
    """A loop that goes round through a chain of regions, the first of which decides whether to go on.

    Attributes:
        condition: it goes on while this holds.
        first: what the arguments of the first region are at the start.
        following: what they are in the next round.
        blocks: of the regions, in the order in which they run.
        given: what the arguments of the regions after the first one are.
    """

    condition: Value
    first: tuple[Value, ...]
    following: tuple[Value, ...]
    blocks: list[Block]
    given: dict[Block, tuple[Value, ...]]

    def carried_plus(self, value: Value) -> tuple[BlockArgument, int] | None:
        """The argument of the first region that `value` is, and what is added to it in this round."""
        offset = 0
        while not (isinstance(value, BlockArgument) and value.owner is self.blocks[0]):
            if isinstance(value, BlockArgument) and value.owner in self.given:
                value = self.given[value.owner][value.index]
                continue
            op = value.defining_op
            if not isinstance(op, (pd.AddOp, pd.SubtractOp)) or op.parent not in self.blocks:
                return None
            number, rest = _integer(op.y), op.x
            if number is None and isinstance(op, pd.AddOp):
                number, rest = _integer(op.x), op.y
            if number is None or rest.type is not value.type:
                return None
            offset += number if isinstance(op, pd.AddOp) else -number
            value = rest
        return value, offset


def _tested_loop(op: Operation) -> _TestedLoop | None:
    """The loop that an operation is, if it is such a one, and all arguments of its regions are forwarded."""
    branch = op.interface(RegionBranch)
    if branch is None:
        return None
    entry = branch.region_edges(None)
    test = entry[0].target if len(entry) == 1 else None
    if test is None or len(test) != 1:
        return None
    edges = _edges_by_truth(branch, test)
    if edges is None or edges[0].target is None or edges[1].target is not None:
        return None
    blocks, given = [test.block], dict[Block, tuple[Value, ...]]()
    source, edge = test, edges[0]
    while edge.target is not None and len(edge.target) == 1 and edge.forwarded is not None:
        values = _terminator(source).operands[edge.forwarded.start : edge.forwarded.stop]
        block = edge.target.block
        if len(edge.inputs) != len(block.args):
            return None
        if block is blocks[0]:
            forwarded = entry[0].forwarded
            deciding = deciding_operands(_terminator(test))
            if forwarded is None or len(deciding) != 1:
                return None
            condition = _terminator(test).operands[deciding[0]]
            return _TestedLoop(condition, op.operands[forwarded.start : forwarded.stop], values, blocks, given)
        if block in given:
            return None
        blocks.append(block)
        given[block] = values
        source, following = edge.target, branch.region_edges(edge.target)
        if len(following) != 1:
            return None
        edge = following[0]
    return None


def _edges_by_truth(branch: RegionBranch, region: Region) -> tuple[RegionEdge, RegionEdge] | None:
    """The edges from a region when its condition holds and when not; None where that is not all that decides."""
    end = _terminator(region)
    deciding = deciding_operands(end)
    kind = end.operands[deciding[0]].type if len(deciding) == 1 else None
    if not isinstance(kind, RankedTensor) or not kind.is_static or not kind.element.format.is_bool:
        return None
    found: list[RegionEdge] = []
    for truth in (True, False):
        constants: list[DenseAttr | None] = [None] * len(end.operands)
        constants[deciding[0]] = DenseAttr(np.full(kind.shape, truth), kind.to_vtensor())
        edges = branch.possible_edges(region, constants)
        if len(edges) != 1:
            return None
        found.append(edges[0])
    return found[0], found[1]


def _terminator(region: Region) -> Operation:
    end = region.block.last_op
    assert end is not None  # verified
    return end


def _integer(value: Value) -> int | None:
    """The number that `value`, of one integer, is known to be."""
    kind = value.type
    number = splat_value(value) if isinstance(kind, RankedTensor) and kind.num_elements == 1 else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _fits(numbers: tuple[int, ...], argument: Value) -> bool:
    """Whether the element type of `argument` holds all numbers, so that none of them wrapped."""
    kind = argument.type
    if not isinstance(kind, RankedTensor) or not kind.element.format.is_integer or kind.element.format.is_bool:
        return False
    low, high = kind.element.format.limits
    return all(low <= number <= high for number in numbers)
