"""Traits: facts about an operation kind that need no code per operation, some with a check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tx8ir.core.attrs.extensible import Extensible
from tx8ir.core.attrs.types import RankedTensor
from tx8ir.core.errors import VerifyError

if TYPE_CHECKING:
    from .operation import Operation


class Trait:
    """A fact that an op class declares in `traits=(…)`. `verify` raises VerifyError where an operation breaks it.

    Types and attributes state traits too, in `traits` of their class; these have no check.
    """

    @classmethod
    def verify(cls, op: Operation) -> None:
        """Nothing to check unless a trait says otherwise."""

    @classmethod
    def attach(cls, *classes: type[Operation | Extensible]) -> None:
        """State the trait for classes of operations, types or attributes that are defined already.

        It holds for what is derived from them too. Say so before passes run: what has looked at a class keeps what it
        saw.
        """
        for kind in classes:
            if issubclass(kind, Extensible):
                kind.attached_traits = kind.__dict__.get("attached_traits", frozenset()) | {cls}
                continue
            work: list[type[Operation]] = [kind]
            while work:
                derived = work.pop()
                derived.info.add_trait(cls)
                work += derived.__subclasses__()


class Pure(Trait):
    """No effect but its results, which depend on operands and attributes alone: it may be dropped, merged and moved."""


class RecursiveEffects(Trait):
    """No effect but those of the operations inside its regions: it may be dropped when all of them may."""


class ReadOnly(Trait):
    """May read storage that others write, writes none."""


class HasValueSemantics(Trait):
    """Means the same on `tensor` and `vtensor`: its results never share storage with its operands."""


class Inplace(Trait):
    """Writes the storage of its first operand."""


class Commutative(Trait):
    """The first two operands may be exchanged."""


class ConstantLike(Trait):
    """No operands and one result that is known from the attributes."""


class Terminator(Trait):
    """Ends its block, and nothing may follow it."""


class NoTerminator(Trait):
    """The blocks of its regions need no terminator."""


class IsolatedFromAbove(Trait):
    """Nothing inside its regions uses a value defined outside of them."""


class SymbolTable(Trait):
    """The symbols directly inside it have distinct names."""


class Symbol(Trait):
    """Has a name (`sym_name`) in the nearest symbol table around it."""

    @classmethod
    def verify(cls, op: Operation) -> None:
        if "sym_name" not in op.attributes:
            raise VerifyError(f"{op.name} is a symbol and needs the attribute sym_name", op)


class SameOperandsAndResultType(Trait):
    """All operands and results have one type."""

    @classmethod
    def verify(cls, op: Operation) -> None:
        types = {v.type for v in op.operands} | {r.type for r in op.results}
        if len(types) > 1:
            given = ", ".join(str(v.type) for v in (*op.operands, *op.results))
            raise VerifyError(f"{op.name} needs one type for all operands and results, not {given}", op)


class ElementwiseMappable(Trait):
    """Computes each element of its results from the elements at the same place of its operands."""

    @classmethod
    def verify(cls, op: Operation) -> None:
        for value in op.operands:
            if not isinstance(value.type, RankedTensor):
                raise VerifyError(f"{op.name} works on tensors, not on {value.type}", op)


class MapsNumbers(Trait):
    """Its `compute` takes arrays of one shape in place of numbers, and gives the number for each place."""
