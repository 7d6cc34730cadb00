"""`group-fuse`: merges a group into its only reader where the search prices the merged group lower."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import attrs

from tx8ir.backend.graph import backend_ops, mem_layout_of
from tx8ir.backend.nest.solutions import Solutions
from tx8ir.core import Block, Builder, Program, Region, Value, at_location
from tx8ir.core.ir.builder import detached
from tx8ir.dialects import tx8, tx8be
from tx8ir.passes import Pass, register_pass
from tx8ir.target import cost

__all__ = ["GroupFuse"]


@register_pass
@attrs.frozen
class GroupFuse(Pass):
    """Merges groups along producer and only reader, as long as that lowers the estimated cycles.

    A merged group keeps what lay between the two in SPM: it saves a store, a load and a barrier, and pays by what tiles
    compute twice where windows overlap, and by cuts that one of its ops does not allow. Groups are visited in order,
    so a chain grows from its first op. The estimate is that of `schedule-groups`; equal groups are priced once.

    Assumes: `group-load-store` and `group-mapping` ran. Guarantees: every group still stores one result.
    Cost: one search per distinct group and per distinct merged pair.
    """

    name: ClassVar[str] = "group-fuse"
    preserves: ClassVar[frozenset[type[Any]]] = frozenset({Solutions})

    def run(self, program: Program) -> None:
        solutions, barrier = self.analyses.get(Solutions, program), cost.barrier(tx8.target_of(program))
        groups = [op for op in backend_ops(program) if isinstance(op, tx8be.GroupOp)]
        for position, group in enumerate(groups):
            reader = _only_reader(group)
            if reader is None:
                continue
            merged = merge(group, reader)
            if _price(solutions, merged) < _price(solutions, group) + _price(solutions, reader) + barrier:
                groups[groups.index(reader, position)] = merged
                _replace(group, reader, merged, self.name)
                self.count("merged")
            else:
                merged.erase(by=self.name)
                self.count("not worth it")


def _price(solutions: Solutions, group: tx8be.GroupOp) -> float:
    """Estimated cycles of `group`; infinite where it has no strategy."""
    solution = solutions.of(group)
    return math.inf if solution is None else solution.cycles


def _only_reader(group: tx8be.GroupOp) -> tx8be.GroupOp | None:
    """The group that alone reads the result of `group`, by loading it, on the same tiles; None when there is none."""
    if group.group_tag == 2 or len(group.outs) != 1:
        return None
    uses = list(group.outs[0].uses)
    if len(uses) != 1:
        return None
    (use,) = uses
    reader = use.owner
    if not isinstance(reader, tx8be.GroupOp) or reader.group_tag == 2 or reader.dev_region != group.dev_region:
        return None
    loads = [inner.owner for inner in reader.body.block.args[use.index].uses]
    stored = _store_of(group).x
    if not all(isinstance(op, tx8be.LoadVarOp) and mem_layout_of(op.y) == mem_layout_of(stored) for op in loads):
        return None
    return reader


def _store_of(group: tx8be.GroupOp) -> tx8be.StoreVarOp:
    (store,) = (op for op in group.body.block if isinstance(op, tx8be.StoreVarOp))
    return store


def merge(producer: tx8be.GroupOp, reader: tx8be.GroupOp) -> tx8be.GroupOp:
    """A detached group that computes what `reader` does, `producer` included; the two stay as they are.

    A value that both read is loaded once.
    """
    passed = producer.outs[0]
    inputs = list(dict.fromkeys(v for v in (*producer.inputs, *reader.inputs) if v is not passed))
    body = Block([v.type for v in inputs])
    arguments: dict[Value, Value] = dict(zip(inputs, body.args, strict=True))
    loads: dict[Value, Value] = {}
    inner = _copy_body(producer, arguments, loads, body, {})
    _copy_body(reader, arguments, loads, body, {passed: inner})
    with detached(), at_location(reader.location):
        merged = tx8be.GroupOp(
            inputs,
            group_tag=0,
            group_id=reader.group_id,
            dev_region=reader.dev_region,
            outs=[out.type for out in reader.outs],
            body=Region([body]),
        )
    merged.fuse_location([producer])
    return merged


def _copy_body(
    group: tx8be.GroupOp,
    arguments: dict[Value, Value],
    loads: dict[Value, Value],
    body: Block,
    given: dict[Value, Value],
) -> Value:
    """Appends copies of the ops of `group` to `body` and returns the stored value.

    `arguments` maps outer values to block arguments, `loads` outer values to what has been loaded of them, `given` an
    outer value to its copy inside. Store and terminator are copied when `given` says that this is the reader.
    """
    mapping: dict[Value, Value] = {}
    stored: Value | None = None
    for argument, outer in zip(group.body.block.args, group.inputs, strict=True):
        if outer not in given:
            mapping[argument] = arguments[outer]
    for op in group.body.block:
        if isinstance(op, tx8be.LoadVarOp):
            outer = group.inputs[op.x.index] if op.x in group.body.block.args else None
            known = None if outer is None else given.get(outer, loads.get(outer))
            if known is not None:
                mapping[op.y] = known
                continue
            copy = op.clone(mapping)
            body.append(copy)
            if outer is not None:
                loads[outer] = copy.y
            continue
        if isinstance(op, tx8be.StoreVarOp):
            stored = mapping[op.x]
        if given or not isinstance(op, tx8be.StoreVarOp | tx8be.ReturnOp):
            body.append(op.clone(mapping))
    assert stored is not None
    return stored


def _replace(producer: tx8be.GroupOp, reader: tx8be.GroupOp, merged: tx8be.GroupOp, by: str) -> None:
    """Puts `merged` in the place of both groups."""
    with Builder.before(reader) as builder:
        builder.insert(merged)
    for old, new in zip(reader.outs, merged.outs, strict=True):
        old.replace_all_uses_with(new)
    reader.erase(by=by)
    producer.erase(by=by)
