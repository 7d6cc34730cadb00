"""`group-default`: the ops of a fusion become one group, every other op that is in none yet gets one of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs
import networkx as nx

from tx8ir.backend.graph import backend_ops, is_constant
from tx8ir.core import Block, Builder, IntAttr, Operation, Program, Region, Value, at_location
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import BackendOp
from tx8ir.passes import Pass, register_pass
from tx8ir.rewriting.subgraphs import is_convex, outline, outputs_of


@register_pass
@attrs.frozen
class GroupDefault(Pass):
    """Wraps each compute op in a `Group`; the `LoadConst` and `None` operands it has move inside.

    Ops that were fused (`fusion_id`, of `lower-to-tx8be`) become one group together, if they still give one result and
    nothing else came between them, so that their intermediates stay in SPM. `group-fuse` merges by cost along only
    readers; a fusion also has values that several of its ops read.

    The group's operands are the op's other operands, each once; its block arguments stand for them. A program result
    that is an input or a constant itself gets a group that only copies it. Groups are numbered in order (`group_id`).

    Assumes: `load-constants` ran, so each `LoadConst` has one use.
    Guarantees: besides groups only Input, Tuple and Output are left in `main`. Cost: O(uses).
    """

    name: ClassVar[str] = "group-default"

    def run(self, program: Program) -> None:
        for ops in _fused(backend_ops(program)):
            make_group(ops, group_id=0)
            self.count("fusions")
        number = 0
        for op in list(backend_ops(program)):
            if isinstance(op, tx8be.GroupOp):
                op.set_attribute("group_id", number)
            elif isinstance(op, tx8be.TupleOp):
                number = self._copy_results(op, number)
                continue
            elif isinstance(op, tx8be.InputOp | tx8be.OutputOp | tx8be.NoneOp) or is_constant(op):
                continue
            else:
                make_group([op], group_id=number)
                self.count("groups")
            number += 1

    def _copy_results(self, results: tx8be.TupleOp, number: int) -> int:
        """A result without a compute op of its own is copied by a group, once however often it is returned."""
        copies: dict[Value, Value] = {}
        for i, value in enumerate(results.xs):
            producer = value.defining_op
            if isinstance(producer, tx8be.GroupOp):
                continue
            if value not in copies:
                copies[value] = copy_group(value, before=results, group_id=number)
                self.count("groups")
                number += 1
            results.set_operand(i, copies[value])
        return number


def _fused(ops: Iterable[BackendOp]) -> list[list[BackendOp]]:
    """The ops of each fusion that can be one group, in order; of a fusion that is in parts, those of each part."""
    order = [op for op in ops if isinstance(op.attributes.get("fusion_id"), IntAttr)]
    fused: dict[Operation, int] = {op: i for i, op in enumerate(order)}
    uses: nx.Graph[int] = nx.Graph()
    uses.add_nodes_from(range(len(order)))
    for op, i in fused.items():
        for value in op.operands:
            producer = value.defining_op
            if (
                producer is not None
                and producer in fused
                and producer.attributes["fusion_id"] is op.attributes["fusion_id"]
            ):
                uses.add_edge(fused[producer], i)
    parts = [[order[i] for i in sorted(part)] for part in nx.connected_components(uses)]
    return [part for part in parts if len(part) > 1 and len(outputs_of(part)) == 1 and is_convex(part)]


def make_group(ops: list[BackendOp], group_id: int) -> tx8be.GroupOp:
    """Move `ops` (in block order), with the `LoadConst` and `None` ops only they use, into a new group.

    It takes the last one's place. Operands are the values from outside, in order of first use; results those of
    `ops` that are used outside.
    """
    inside: set[Operation] = set(ops)
    members: list[Operation] = []
    inputs: dict[Value, None] = {}
    for op in ops:
        for value in op.operands:
            producer = value.defining_op
            if producer in inside:
                continue
            if producer is not None and _moves_along(producer, inside):
                inside.add(producer)
                members.append(producer)
            else:
                inputs[value] = None
        members.append(op)
    outputs = [r for op in ops for r in op.results if any(user not in inside for user in r.users)]
    body = Block([v.type for v in inputs])
    with Builder.after(ops[-1]), at_location(ops[-1].location):
        group = tx8be.GroupOp(
            inputs=list(inputs), group_id=group_id, outs=[r.type for r in outputs], body=Region([body])
        )
    outline(members, body, inputs, outputs, group.outs)
    with Builder.at_end(body), at_location(group.location):
        tx8be.ReturnOp(outputs)
    return group


def _moves_along(producer: Operation, inside: set[Operation]) -> bool:
    """Whether the maker of an operand is a constant or a none that only ops of the group use."""
    free = isinstance(producer, tx8be.NoneOp) or is_constant(producer)
    return free and all(user in inside for user in producer.results[0].users)


def copy_group(value: Value, before: Operation, group_id: int) -> Value:
    """A group before `before` that returns `value` (an input or a constant) as it is; gives the group's result."""
    producer = value.defining_op
    constant = producer if producer is not None and is_constant(producer) else None
    body = Block([] if constant is not None else [value.type])
    with Builder.before(before), at_location(before.location):
        group = tx8be.GroupOp(
            inputs=[] if constant is not None else [value], group_id=group_id, outs=[value.type], body=Region([body])
        )
    value_inside = body.args[0] if constant is None else value
    with Builder.at_end(body), at_location(before.location):
        if constant is not None:
            constant.detach()
            body.append(constant)
        tx8be.ReturnOp([value_inside])
    return group.outs[0]
