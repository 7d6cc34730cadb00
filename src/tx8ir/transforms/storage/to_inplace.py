"""To in-place: operations write the storage of an operand that is dead."""

from __future__ import annotations

from bisect import bisect_right
from typing import ClassVar, cast

import attrs

from tx8ir.analysis import AliasAnalysis
from tx8ir.core import (
    Block,
    Builder,
    InPlaceForm,
    InPlaceUpdate,
    Operation,
    Program,
    RankedTensor,
    TensorType,
    Value,
    at_location,
)
from tx8ir.dialects import builtin
from tx8ir.passes import Pass, register_pass


@register_pass
@attrs.frozen
class ToInplace(Pass):
    """Uses `foo_` again where the storage it writes is dead and has the right type.

    1. `v = to_vtensor(t)`, `r = foo(v, ...)`, `pd.assign_(t, r)` become `foo_(t, ...)`, if `r` has no other use and
       nothing in between writes the storage of `t`.
    2. `to_tensor(foo(x, ...))`, where `x` and the result of `foo` have no other use, becomes `foo_(to_tensor(x), ...)`:
       from the end of a chain towards its start, as long as there is a `foo_`.

    Assumes: nothing. Guarantees: neither pattern is left. Idempotent. Cost: n log n in the operations. Statistics:
    `inplace`.
    """

    name: ClassVar[str] = "to-inplace"

    def run(self, program: Program) -> None:
        ops = list(program.module.walk())
        writes: _Writes | None = None
        concerns = _Concerns()
        for op in reversed(ops):
            if not concerns[op.__class__]:
                continue
            if isinstance(op, builtin.ToTensorOp):
                self.count("inplace", _copy_earlier(op, self.name))
                continue
            update = op.interface(InPlaceUpdate)
            stored = update.stored() if update is not None else None
            if stored is not None:
                writes = writes or _Writes(self.analyses.get(AliasAnalysis, program))
                self.count("inplace", _write_where_it_was_read(op, stored, writes, self.name))


class _Concerns(dict[type[Operation], bool]):
    """Whether the pass looks at operations of a class; those that are erased have one of their own."""

    __slots__ = ()

    def __missing__(self, kind: type[Operation]) -> bool:
        self[kind] = InPlaceUpdate in kind.info.interfaces or issubclass(kind, builtin.ToTensorOp)
        return self[kind]


class _Writes:
    """Where in each block the operations are that write a storage; found on first sight, for the block as it was then.

    An operation in place that takes the place of an `pd.assign_` writes the same storage there.
    """

    def __init__(self, analysis: AliasAnalysis) -> None:
        self._analysis = analysis
        self._positions: dict[Operation, int] = {}
        self._places: dict[Block, dict[int | None, list[int]]] = {}  # None: what may write every storage

    def is_between(self, first: Operation, last: Operation, tensor: Value) -> bool:
        """Whether an operation after `first` and before `last`, in one block, may write the storage of `tensor`.

        O(log of the operations in the block), after O(operations) once for the block.
        """
        block = cast(Block, first.parent)
        if block not in self._places:
            self._places[block] = self._look(block)
        places = self._places[block]
        start, end = self._positions[first], self._positions[last]
        for storage in (None, *self._analysis.storages(tensor)):
            found = places.get(storage, ())
            at = bisect_right(found, start)
            if at < len(found) and found[at] < end:
                return True
        return False

    def _look(self, block: Block) -> dict[int | None, list[int]]:
        places: dict[int | None, list[int]] = {}
        for position, op in enumerate(block):
            self._positions[op] = position
            effects = self._analysis.effects(op)
            for storage in (None,) if effects.opaque else effects.writes:
                places.setdefault(storage, []).append(position)
        return places


def _write_where_it_was_read(assign: Operation, stored: Value, writes: _Writes, by: str) -> int:
    """Pattern 1 of the pass, ending in `assign`, which stores a value."""
    target, compute = assign.operands[0], stored.defining_op
    read = compute.operands[0].defining_op if compute is not None and compute.operands else None
    form = compute.interface(InPlaceForm) if compute is not None else None
    if (
        compute is None
        or form is None
        or not isinstance(read, builtin.ToVTensorOp)
        or read.x is not target
        or not stored.has_one_use
        or not read.parent is compute.parent is assign.parent
    ):
        return 0
    if cast(RankedTensor, compute.results[0].type).to_tensor() is not target.type:
        return 0
    if writes.is_between(read, assign, target):
        return 0
    made = form.in_place([target, *compute.operands[1:]])
    cast(Block, assign.parent).insert_before(made, assign)
    assign.replace_with(made.results[0], by)
    compute.erase(by)
    if not read.out.has_uses:
        read.erase(by)
    return 1


def _copy_earlier(copy: builtin.ToTensorOp, by: str) -> int:
    """Pattern 2 of the pass: moves `copy` towards the start of the chain it ends; how many operations it passed."""
    passed = 0
    while True:
        compute = copy.x.defining_op
        form = compute.interface(InPlaceForm) if compute is not None else None
        if compute is None or form is None or not copy.x.has_one_use or compute.parent is not copy.parent:
            return passed
        x = compute.operands[0]
        if not x.has_one_use or _is_shared(x) or x.type is not copy.x.type:
            return passed
        with at_location(copy.location), Builder.before(compute):
            earlier = builtin.to_tensor(x)
        made = form.in_place([earlier.out, *compute.operands[1:]])
        cast(Block, compute.parent).insert_before(made, compute)
        copy.replace_with(made.results[0], by)
        compute.erase(by)
        copy = earlier
        passed += 1


def _is_shared(value: Value) -> bool:
    """Whether `value` lives on although it has no other use: a copy of it is needed in any case."""
    return value.defining_op is None or isinstance(value.type, TensorType)
