"""The bank: broken passes, what each is tried on, and what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeVar

import attrs

from tx8ir.core import Builder, Operation, Program, RankedTensor, Type, Value, VTensorType
from tx8ir.dialects import pd
from tx8ir.testing.passes.counterexample import Kind
from tx8ir.testing.programs import EVERYTHING, VALUES, Features

OpT = TypeVar("OpT", bound=Operation)
Broken: TypeAlias = Callable[[Program], None]


@attrs.frozen
class BrokenPass:
    """A pass that is wrong.

    Attributes:
        run: the pass, a function that changes a program.
        features: what the programs may have that it is tried on.
        shows_as: how its mistake shows: as another answer, or as an invalid program.
    """

    run: Broken
    features: Features
    shows_as: Kind = "answer"

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.run.__name__

    @property
    def mistake(self) -> str:
        """What is wrong with it, in a line."""
        return (self.run.__doc__ or "").splitlines()[0]


BANK: list[BrokenPass] = []
"""Every broken pass, in the order of definition."""


def on_values(run: Broken) -> Broken:
    """Adds a pass to the bank, to be tried on straight programs on values."""
    BANK.append(BrokenPass(run, VALUES))
    return run


def on_everything(run: Broken) -> Broken:
    """Adds a pass to the bank, to be tried on programs with everything."""
    BANK.append(BrokenPass(run, EVERYTHING))
    return run


def on_everything_invalid(run: Broken) -> Broken:
    """As `on_everything`, of a pass whose mistake the verifier finds."""
    BANK.append(BrokenPass(run, EVERYTHING, "invalid"))
    return run


# --- what the passes use ---------------------------------------------------------------------------------------------


def find(program: Program, kind: type[OpT]) -> Iterator[OpT]:
    """The operations of a kind that are still there when their turn comes."""
    return (op for op in list(program.module.walk()) if isinstance(op, kind) and op.parent is not None)


def type_of(value: Value) -> RankedTensor:
    """Its type, a tensor."""
    assert isinstance(value.type, RankedTensor)
    return value.type


def shape(value: Value) -> tuple[int, ...]:
    """Its shape."""
    return type_of(value).shape


def is_value(*values: Value) -> bool:
    """Whether all are vtensors."""
    return all(isinstance(v.type, VTensorType) for v in values)


def swap(op: Operation, make: Callable[[], Operation]) -> None:
    """Replaces an operation by the one that `make` makes before it."""
    with Builder.before(op):
        new = make()
    op.replace_with(new.results)


def filled(value: Value) -> float | None:
    """The number that a `pd.full` fills a value with."""
    op = value.defining_op
    return op.value if isinstance(op, pd.FullOp) else None


def copied(op: Operation, index: int, make: Callable[[Value], Operation]) -> None:
    """Gives `op` what `make` makes of its operand before it."""
    with Builder.before(op):
        op.set_operand(index, make(op.operands[index]).results[0])


def same_key(op: Operation) -> tuple[object, ...]:
    """What two operations share that compute the same of the same operands."""
    types: tuple[Type, ...] = tuple(r.type for r in op.results)
    return (op.name, op.attributes, types)
