"""`layout-align`: dense or channel-blocked for every value, and a `ChannelNorm` where the two meet."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import ClassVar

import attrs

from tx8ir.backend.graph import CompileError, backend_ops, is_constant, mem_layout, set_mem_layout, tensor_type
from tx8ir.backend.layout.assignment import Flow, greedy, optimal, total_cost
from tx8ir.backend.oplib.interface import AlignMode, OpLib
from tx8ir.core import Builder, Operation, OpOperand, Program, Value, VTensorType, at_location
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import BackendOp
from tx8ir.passes import Pass, option, register_pass
from tx8ir.target.layout import size_bytes


class Mode(enum.Enum):
    """How `layout-align` labels the ops that take either layout."""

    OPTIMAL = "optimal"
    GREEDY = "greedy"


@register_pass
@attrs.frozen
class LayoutAlign(Pass):
    """Labels every op ALIGN (channel-blocked) or NALIGN (dense), inserts `ChannelNorm`, and sets `dev_info.mem_layout`.

    A `dev_info` that is there already pins its op; otherwise `OpLib.query().align_mode` decides, and `BOTH` is free.
    `mode=greedy`: one pass in order, a free op follows its first producer; every conflicting operand gets a
    `ChannelNorm` of its own. `mode=optimal`: least bytes read and written by conversions (padding included), a value
    converted once for all its users, fewest ALIGN ops among equals. Constants and the rank-1 operand of a
    broadcasting op constrain nothing: a constant that is only used aligned is stored aligned.

    Assumes: `layout-transmit` ran; every compute op has an `OpLib`.
    Guarantees: both sides of every use agree on dense or blocked, with `ChannelNorm` (direction true: dense to
    blocked) in between; every op with a tensor result has `dev_info`.
    Cost: O(uses) greedy; optimal adds a minimum cut per part of the graph between ops of fixed mode.
    Raises `CompileError` at an op without an `OpLib`, naming it.
    """

    name: ClassVar[str] = "layout-align"
    mode: Mode = option(Mode.OPTIMAL, "how layouts are chosen: least bytes moved, or one pass in order")  # noqa: RUF009  (a field specifier)

    def run(self, program: Program) -> None:
        graph = _Graph(list(backend_ops(program)))
        solve = optimal if self.mode is Mode.OPTIMAL else greedy
        aligned = solve(graph.pins, graph.flows)
        self.count("conversion bytes", total_cost(aligned, graph.flows))
        self.count("aligned ops", sum(aligned))
        for op in graph.ops:
            if op.results and tensor_type(op.results[0]) is not None:
                self._settle(op, graph, aligned)

    def _settle(self, op: BackendOp, graph: _Graph, aligned: Sequence[bool]) -> None:
        """Set the layout of one op's result and convert it for the users that want the other one."""
        value = op.results[0]
        wants = [(use, aligned[graph.reader[use.owner]]) for use in value.uses if use.owner in graph.reader]
        if not is_constant(op):
            own = aligned[graph.maker[op]]
        elif op.dev_info is not None:
            own = op.dev_info.is_aligned
        else:
            own = self.mode is Mode.OPTIMAL and bool(wants) and all(want for _, want in wants)
        set_mem_layout(op, blocked=own)
        conflicts = [use for use, want in wants if want != own]
        shared = [conflicts] if self.mode is Mode.OPTIMAL else [[use] for use in conflicts]
        for uses in shared:
            if uses:
                _convert(op, value, uses, to_blocked=not own)
                self.count("conversions")


class _Graph:
    """The labelling problem: `maker[op]` is the node of an op's result, `reader[op]` the node of its operands.

    They are one node for every op but `ChannelNorm`, whose two sides differ.
    """

    def __init__(self, ops: list[BackendOp]) -> None:
        self.ops = ops
        self.pins: list[bool | None] = []
        self.maker: dict[Operation, int] = {}
        self.reader: dict[Operation, int] = {}
        self.flows: list[Flow] = []
        for op in ops:
            if isinstance(op, tx8be.NoneOp) or is_constant(op):
                continue
            if isinstance(op, tx8be.ChannelNormOp):
                self.reader[op] = self._node(not op.direction)
                self.maker[op] = self._node(op.direction)
            else:
                self.reader[op] = self.maker[op] = self._node(_pin(op))
        for op in ops:
            if op in self.maker and op.results and (t := tensor_type(op.results[0])) is not None:
                self._add_flow(op, t)

    def _node(self, pin: bool | None) -> int:
        self.pins.append(pin)
        return len(self.pins) - 1

    def _add_flow(self, op: BackendOp, t: VTensorType) -> None:
        users = dict.fromkeys(
            self.reader[use.owner]
            for use in op.results[0].uses
            if use.owner in self.reader and not _converts_free(use, t)
        )
        if users:
            cost = conversion_bytes(op.layout_str, t)
            self.flows.append(Flow(self.maker[op], tuple(users), cost, cost))


def conversion_bytes(layout_str: str | None, t: VTensorType) -> int:
    """Bytes a `ChannelNorm` of a value of this type reads and writes, padding included; the same in both directions."""
    layouts = (mem_layout(layout_str, t.rank, blocked=b) for b in (False, True))
    return sum(size_bytes(t.shape, t.element.format, layout) for layout in layouts)


def _pin(op: BackendOp) -> bool | None:
    """True: ALIGN only, False: NALIGN only, None: either."""
    if op.dev_info is not None:
        return op.dev_info.is_aligned
    if isinstance(op, tx8be.InputOp | tx8be.OutputOp | tx8be.TupleOp):
        return False
    library = op.interface(OpLib)
    if library is None:
        raise CompileError(f"{op.name} has no kernel in the op library", op=op)
    mode = library.query().align_mode
    return None if mode is AlignMode.BOTH else mode is AlignMode.ALIGN


def _converts_free(use: OpOperand, t: VTensorType) -> bool:
    """A rank-1 operand beside a larger result (bias, scale, broadcast) occupies the same bytes in both layouts."""
    result = tensor_type(use.owner.results[0]) if use.owner.results else None
    return t.rank <= 1 and result is not None and result.rank > t.rank


def _convert(op: BackendOp, value: Value, uses: list[OpOperand], *, to_blocked: bool) -> None:
    """Insert one `ChannelNorm` of `value` after `op` and let `uses` read it."""
    with Builder.after(op), at_location(op.location):
        norm = tx8be.ChannelNormOp(value, direction=to_blocked, layout_str=op.layout_str)
    set_mem_layout(norm, blocked=to_blocked)
    for use in uses:
        use.set(norm.y)
