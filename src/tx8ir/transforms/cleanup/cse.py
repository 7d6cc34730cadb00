"""Common subexpression elimination: equal pure operations become one."""

# The inner loop reads the slots of values and operations.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, ClassVar, TypeAlias

import attrs

from tx8ir.analysis import AliasAnalysis
from tx8ir.analysis.effects import is_isolated, mutable_parameters
from tx8ir.core import UNKNOWN, Block, Commutative, Location, Operation, Program, Pure, Region, TensorType, Value
from tx8ir.core.ir.dominance import immediate_dominators
from tx8ir.core.ir.operation import erase_unchecked
from tx8ir.dialects import builtin
from tx8ir.passes import OperationPass, register_pass
from tx8ir.rewriting.provenance import derived_location

_Key: TypeAlias = tuple[Any, ...]
_Table: TypeAlias = dict[_Key, Operation]
# A block (rest) to visit: its next operation, the table it sees, where to log what it adds, and what to forget after
# it.
_Frame: TypeAlias = tuple[Operation | None, _Table, list[_Key] | None, list[_Key] | None]

_KEEP, _MERGE, _COMMUTE, _READ = range(4)


class _Kinds(dict[type[Operation], int]):
    """How to treat operations of a class: left alone, merged, merged in any order of operands, or a parameter read."""

    __slots__ = ()

    def __missing__(self, kind: type[Operation]) -> int:
        traits = kind.info.traits
        if kind is builtin.GetParameterOp:
            self[kind] = _READ
        elif kind is builtin.ToVTensorOp:
            self[kind] = _MERGE
        elif Pure not in traits:
            self[kind] = _KEEP
        else:
            self[kind] = _COMMUTE if Commutative in traits else _MERGE
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
    _push_regions(root, stack, {}, isolated=True)
    while stack:
        op, table, log, forget = stack.pop()
        while op is not None:
            following = op._next
            if op._regions:
                stack.append((following, table, log, forget))
                forget = None
                _push_regions(op, stack, table, isolated=is_isolated(op))
                break
            cls = op.__class__
            kind = kinds[cls]
            if kind:
                operands, results = op._operands, op._results
                if len(results) == 1 and len(operands) == 2:  # the common shapes, without building lists
                    a, b = operands[0]._value, operands[1]._value
                    if kind == _COMMUTE and id(a) > id(b):
                        a, b = b, a
                    key: _Key = (cls, a, b, op._attributes, results[0]._type)
                elif len(results) == 1 and len(operands) == 1:
                    key = (cls, operands[0]._value, op._attributes, results[0]._type)
                else:
                    values = [use._value for use in operands]
                    if kind == _COMMUTE and id(values[0]) > id(values[1]):
                        values[0], values[1] = values[1], values[0]
                    key = (cls, len(values), *values, op._attributes, *[r._type for r in results])
                earlier = table.setdefault(key, op)
                if earlier is op:
                    if log is not None:
                        log.append(key)
                elif not (kind == _READ and op._attributes["name"].value in mutable):
                    for use in operands:
                        value = use._value
                        if value._type.__class__ is TensorType and may_change(value):
                            break
                    else:
                        for old, new in zip(results, earlier._results):  # noqa: B905  (equal keys: as many)
                            if old._type.__class__ is TensorType:  # storage of its own
                                break
                            old.replace_all_uses_with(new)
                        else:
                            if op._location is not earlier._location:
                                merged.setdefault(earlier, {})[id(op._location)] = op._location
                            erase_unchecked(op, by, UNKNOWN)
                            removed += 1
            op = following
        if forget is not None:
            for key in forget:
                del table[key]
    for survivor, locations in merged.items():
        survivor.location = derived_location((survivor.location, *locations.values()), by)
    return removed


def _push_regions(op: Operation, stack: list[_Frame], table: _Table, *, isolated: bool) -> None:
    """Puts the blocks inside `op` on the stack, each after its dominators and before these are forgotten."""
    for region in reversed(op._regions):
        inner: _Table = {} if isolated else table
        if len(region._blocks) == 1:
            log: list[_Key] | None = None if isolated else []
            stack.append((region._blocks[0]._first, inner, log, log))
        elif region._blocks:
            stack.extend(reversed(_dominance_order(region, inner)))


def _dominance_order(region: Region, table: _Table) -> list[_Frame]:
    """Frames that visit the blocks of a region in preorder of its dominator tree, forgetting each after its subtree."""
    dominators = immediate_dominators(region)
    children: dict[Block, list[Block]] = {block: [] for block in region._blocks}
    roots: list[Block] = []
    for block in region._blocks:  # one that the entry does not reach is on its own
        parent = dominators.get(block)
        (roots if parent is None else children[parent]).append(block)
    frames: list[_Frame] = []
    pending: list[Block | list[_Key]] = list(reversed(roots))
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            frames.append((None, table, None, item))
            continue
        log: list[_Key] = []
        frames.append((item._first, table, log, None))
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
