"""Common subexpression elimination: equal pure operations become one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import ClassVar, TypeAlias

import attrs

from tx8ir.analysis import AliasAnalysis
from tx8ir.analysis.effects import is_isolated, mutable_parameters, only_reads
from tx8ir.core import (
    Block,
    Commutative,
    Location,
    MemoryEffects,
    Operation,
    Program,
    Pure,
    Region,
    TensorType,
    Terminator,
    Value,
)
from tx8ir.core.ir.dominance import immediate_dominators
from tx8ir.core.ir.use_lists import Expression, ExpressionKey, expressions, merge_into, values_of_class
from tx8ir.dialects import builtin
from tx8ir.passes import OperationPass, register_pass
from tx8ir.rewriting.provenance import derived_location

_Table: TypeAlias = dict[ExpressionKey, Operation]
# A block (rest) to visit: its operations, the table it sees, where to log what it adds, and what to forget after it.
_Frame: TypeAlias = tuple[Iterator[Expression], _Table, list[ExpressionKey] | None, list[ExpressionKey] | None]

_KEEP, _MERGE, _COMMUTE, _PARAMETER, _STATED = range(5)


class _Kinds(dict[type[Operation], int]):
    """How to treat operations of a class: left alone, merged, merged in any order of operands, or by what they read."""

    __slots__ = ()

    def __missing__(self, kind: type[Operation]) -> int:
        traits = kind.info.traits
        if kind is builtin.GetParameterOp:
            self[kind] = _PARAMETER
        elif kind is builtin.ToVTensorOp:
            self[kind] = _MERGE
        elif Pure in traits:
            self[kind] = _COMMUTE if Commutative in traits else _MERGE
        else:
            self[kind] = _STATED if MemoryEffects in kind.info.interfaces and Terminator not in traits else _KEEP
        return self[kind]


def eliminate_common_subexpressions(
    root: Operation,
    *,
    mutable: Collection[str] = (),
    may_change: Callable[[Value], bool] = lambda tensor: True,
    by: str = "cse",
) -> int:
    """Merges equal pure operations inside `root`; returns how many were removed.

    Two operations are equal when class, operands (in any order for the first two of a `Commutative` one), attributes
    and result types are; the first one stays, its location standing for both. It must dominate the other, with no
    `IsolatedFromAbove` region between them. Operations with regions or with a `tensor` result are left alone, reads of
    parameters in `mutable` and of tensors that `may_change` too.

    O(operations), iterative.
    """
    kinds = _Kinds()
    removed = 0
    merged: dict[Operation, dict[int, Location]] = {}
    stack: list[_Frame] = []
    _push_regions(root, kinds, stack, {}, isolated=True)
    while stack:
        ops, table, log, forget = stack.pop()
        for op, kind, key in ops:
            if key is None:
                stack.append((ops, table, log, forget))
                forget = None
                _push_regions(op, kinds, stack, table, isolated=is_isolated(op))
                break
            earlier = table.setdefault(key, op)
            if earlier is op:
                if log is not None:
                    log.append(key)
                continue
            if kind == _PARAMETER and op.attributes["name"].value in mutable:
                continue
            if kind == _STATED and not only_reads(op, mutable):
                continue
            tensors = values_of_class(op, TensorType)
            if tensors and any(value.owner is op or may_change(value) for value in tensors):  # a result has its own
                continue
            location = merge_into(earlier, op, by)
            if location is not None:
                merged.setdefault(earlier, {})[id(location)] = location
            removed += 1
        if forget is not None:
            for key in forget:
                del table[key]
    for survivor, locations in merged.items():
        survivor.location = derived_location((survivor.location, *locations.values()), by)
    return removed


def _push_regions(op: Operation, kinds: _Kinds, stack: list[_Frame], table: _Table, *, isolated: bool) -> None:
    """Puts the blocks inside `op` on the stack, each after its dominators and before these are forgotten."""
    for region in reversed(op.regions):
        inner: _Table = {} if isolated else table
        if len(region.blocks) == 1:
            log: list[ExpressionKey] | None = None if isolated else []
            stack.append((expressions(region.blocks[0], kinds, _COMMUTE), inner, log, log))
        elif region.blocks:
            stack.extend(reversed(_dominance_order(region, kinds, inner)))


def _dominance_order(region: Region, kinds: _Kinds, table: _Table) -> list[_Frame]:
    """Frames that visit the blocks of a region in preorder of its dominator tree, forgetting each after its subtree."""
    dominators = immediate_dominators(region)
    children: dict[Block, list[Block]] = {block: [] for block in region.blocks}
    roots: list[Block] = []
    for block in region.blocks:  # one that the entry does not reach is on its own
        parent = dominators.get(block)
        (roots if parent is None else children[parent]).append(block)
    frames: list[_Frame] = []
    pending: list[Block | list[ExpressionKey]] = list(reversed(roots))
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            frames.append((iter(()), table, None, item))
            continue
        log: list[ExpressionKey] = []
        frames.append((expressions(item, kinds, _COMMUTE), table, log, None))
        pending.append(log)
        pending.extend(reversed(children[item]))
    return frames


@register_pass
@attrs.frozen
class CommonSubexpressionElimination(OperationPass):
    """Merges equal operations into the first of them.

    Assumes: nothing. Guarantees: in every block, no two `Pure` operations without regions and without `tensor`
    operands or results are equal; see `eliminate_common_subexpressions`. Reads of immutable parameters are merged, of
    mutable ones never. Idempotent. Cost: O(operations). Statistics: `merged`.
    """

    name: ClassVar[str] = "cse"

    def run_on(self, root: Operation, program: Program) -> None:
        found: list[AliasAnalysis] = []

        def may_change(tensor: Value) -> bool:
            if not found:  # most programs have no tensors when this pass runs
                found.append(self.analyses.get(AliasAnalysis, program))
            return found[0].is_written(tensor)

        mutable = mutable_parameters(program)
        self.count("merged", eliminate_common_subexpressions(root, mutable=mutable, may_change=may_change))
