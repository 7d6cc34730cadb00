"""Conditions with readable names, for declarative patterns: on values, attributes, numbers, operations, matches.

two_uses = Constraint("used twice", lambda value: value.num_uses == 2)
rank(4) & ~element(f32)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import attrs

from tx8ir.core import Operation, RankedTensor, ScalarType, Type, Value, VTensorType


def describe(subject: Any) -> str:
    """What a constraint was asked about, for people: a type, an operation's name, a Python value."""
    if isinstance(subject, Value):
        op = subject.defining_op
        of = "an argument" if op is None else f"result {subject.index} of {op.name}"
        return f"{of}: {subject.type}"
    if isinstance(subject, Operation):
        return subject.name
    return subject if isinstance(subject, str) else repr(subject)


@attrs.frozen
class Constraint:
    """A condition.

    Attributes:
        name: what holds, as it follows "expected": `rank 4`, `one use`.
        holds: the condition.
        found: describes what was found instead.
    """

    name: str
    holds: Callable[[Any], bool]
    found: Callable[[Any], str] = describe

    def __and__(self, other: Constraint) -> Constraint:
        return Constraint(f"{self.name} and {other.name}", lambda x: self.holds(x) and other.holds(x), self.found)

    def __or__(self, other: Constraint) -> Constraint:
        return Constraint(f"{self.name} or {other.name}", lambda x: self.holds(x) or other.holds(x), self.found)

    def __invert__(self) -> Constraint:
        return Constraint(f"not {self.name}", lambda x: not self.holds(x), self.found)

    def __str__(self) -> str:
        return self.name


def constraint(name: str, found: Callable[[Any], str] = describe) -> Callable[[Callable[[Any], bool]], Constraint]:
    """Decorator: a function as a `Constraint` of that name."""
    return lambda holds: Constraint(name, holds, found)


# --- of values


def _type_of(value: Value) -> str:
    return f"{value.type}"


def _uses_of(value: Value) -> str:
    return f"{value.num_uses} uses"


def has_type(type_: Type) -> Constraint:
    """The value has exactly this type."""
    return Constraint(f"type {type_}", lambda value: value.type is type_, _type_of)


def rank(n: int) -> Constraint:
    """The value is a tensor of rank `n`."""
    return Constraint(f"rank {n}", lambda v: isinstance(v.type, RankedTensor) and v.type.rank == n, _type_of)


def element(*scalars: ScalarType) -> Constraint:
    """The value is a tensor of one of these element types."""
    names = " or ".join(map(str, scalars))
    return Constraint(
        f"elements of {names}", lambda v: isinstance(v.type, RankedTensor) and v.type.element in scalars, _type_of
    )


is_float: Final = Constraint(
    "floating-point elements", lambda v: isinstance(v.type, RankedTensor) and v.type.element.is_float, _type_of
)
is_vtensor: Final = Constraint("a vtensor", lambda v: v.type.__class__ is VTensorType, _type_of)
is_static: Final = Constraint(
    "a static shape", lambda v: isinstance(v.type, RankedTensor) and v.type.is_static, _type_of
)
one_use: Final = Constraint("one use", lambda value: value.has_one_use, _uses_of)


# --- of attributes and numbers


def equals(expected: Any) -> Constraint:
    """The attribute or number is this Python value."""
    return Constraint(repr(expected), lambda found: found == expected)


def one_of(*expected: Any) -> Constraint:
    """The attribute or number is one of these Python values."""
    return Constraint(f"one of {', '.join(map(repr, expected))}", lambda found: found in expected)


def near(expected: float, relative: float = 1e-6) -> Constraint:
    """The number is this one, up to a relative error, as constants rounded to a format are."""
    return Constraint(
        f"{expected!r} within {relative:g}", lambda found: math.isclose(found, expected, rel_tol=relative, abs_tol=0.0)
    )
