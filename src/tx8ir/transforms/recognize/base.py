"""What the recognizers have in common: passes that put one operation in the place of those it was taken apart into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import attrs

from tx8ir.core import Operation, Program, VTensorType
from tx8ir.passes import NumericGuarantee, OperationPass
from tx8ir.rewriting import RewritePattern, rewrite_greedily
from tx8ir.rewriting.declarative import Match, Rule
from tx8ir.rewriting.declarative.constraints import Constraint, constraint
from tx8ir.rewriting.subgraphs import is_self_contained, outputs_of
from tx8ir.transforms.cleanup.dce import eliminate_dead_code


def _elsewhere(found: Match) -> str:
    block = found.root.parent
    inner = next(op for op in found.ops.values() if op.parent is not block)
    return f"{inner.name} at {inner.location} in another block"


@constraint("operations of one block", _elsewhere)
def one_block(found: Match) -> bool:
    """A pattern that reaches into a region would move what is computed once into a loop."""
    block = found.root.parent
    return all(op.parent is block for op in found.ops.values())


def _storage(found: Match) -> str:
    return next(
        f"{value.type} in {op.name}"
        for op in found.ops.values()
        for value in (*op.operands, *op.results)
        if value.type.__class__ is not VTensorType
    )


@constraint("values (vtensors) only", _storage)
def values_only(found: Match) -> bool:
    """A tensor may be written between the operations that read it."""
    return all(
        value.type.__class__ is VTensorType for op in found.ops.values() for value in (*op.operands, *op.results)
    )


def _used(found: Match) -> str:
    ops = set(found.ops.values())
    outputs = ((value, value.defining_op) for value in outputs_of(found.ops.values()))
    inner, op = next((value, op) for value, op in outputs if op is not None and op is not found.root)
    user = next(use.owner for use in inner.uses if use.owner not in ops)
    place = f" at {user.location}" if user.location.is_known else ""
    return f"a use of {op.name} by {user.name}{place}"


@constraint("inner values that nothing else uses", _used)
def self_contained(found: Match) -> bool:
    """What something else uses has to be computed anyway."""
    return is_self_contained(found.ops.values(), found.root.results)


def same_type(*names: str) -> Constraint:
    """The values of these names have the type of the result."""

    def other(found: Match) -> str | None:
        kind = found.root.results[0].type
        return next((name for name in names if found[name].type is not kind), None)

    def differs(found: Match) -> str:
        name = other(found)
        assert name is not None
        return f"{found[name].type} for {name!r}, {found.root.results[0].type} for the result"

    listed = " and ".join(f"'{name}'" for name in names)
    return Constraint(f"{listed} of the result's type", lambda found: other(found) is None, differs)


FUSIBLE: Final = (one_block, values_only, self_contained)
"""What makes it right, and worth it, to replace the operations of a match by one."""


@attrs.frozen
class Recognizer(OperationPass):
    """A pass that applies rules until none matches, and removes what they leave dead."""

    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING
    rules: ClassVar[tuple[Rule, ...]] = ()

    def patterns(self) -> Sequence[RewritePattern[Any]]:
        return self.rules

    def run_on(self, root: Operation, program: Program) -> None:
        result = rewrite_greedily(root, self.rules, fold=False, drop_dead=False, by=self.name)
        for what, n in result.rewrites.items():
            self.count(what, n)
        if result.rewrites:
            eliminate_dead_code(root, by=self.name)
