"""What passes and drivers ask of the uses of values once for every operation: each question is one call."""

# These are the inner loops of whole programs: they read the slots.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from tx8ir.core.attrs.types import Type
from tx8ir.core.location import UNKNOWN, Location

from .operation import Operation, erase_unchecked
from .value import OpOperand, OpResult, Value

ExpressionKey: TypeAlias = tuple[Any, ...]


def is_unused(op: Operation) -> bool:
    """Whether no result of `op` has uses."""
    for result in op._results:  # noqa: SIM110  (a generator costs more than the answer)
        if result._first_use is not None:
            return False
    return True


def erase_if_unused(op: Operation, by: str, where: Location) -> Sequence[Operation] | None:
    """Erase an operation in a block that has no regions and no used result; None when it is not such a one.

    Gives the operations of other blocks of whose results nothing is used now. O(operands).
    """
    for result in op._results:
        if result._first_use is not None:
            return None
    if op._regions:
        return None
    uses, block = op._operands, op._parent
    erase_unchecked(op, by, where)
    freed: list[Operation] | None = None
    for use in uses:
        value = use._value
        if value._first_use is None and value.__class__ is OpResult and value._owner._parent is not block:
            freed = [value._owner] if freed is None else [*freed, value._owner]
    return freed or ()


def expression_key(op: Operation, is_commutative: bool) -> ExpressionKey | None:
    """What two operations have in common when they compute the same; None for one with regions.

    That is: class, operands (in any order for the first two of a commutative one), attributes and result types.
    """
    if op._regions:
        return None
    operands, results = op._operands, op._results
    if len(results) == 1 and len(operands) == 2:  # the common shapes, without building lists
        a, b = operands[0]._value, operands[1]._value
        if is_commutative and id(a) > id(b):
            a, b = b, a
        return (op.__class__, a, b, op._attributes, results[0]._type)
    if len(results) == 1 and len(operands) == 1:
        return (op.__class__, operands[0]._value, op._attributes, results[0]._type)
    values = [use._value for use in operands]
    if is_commutative and id(values[0]) > id(values[1]):
        values[0], values[1] = values[1], values[0]
    return (op.__class__, len(values), *values, op._attributes, *[result._type for result in results])


def values_of_class(op: Operation, kind: type[Type]) -> list[Value]:
    """The operands and results whose type is of a class, that one and no derived one."""
    found: list[Value] = []
    for use in op._operands:
        if use._value._type.__class__ is kind:
            found.append(use._value)
    for result in op._results:
        if result._type.__class__ is kind:
            found.append(result)
    return found


def merge_into(earlier: Operation, op: Operation, by: str) -> None:
    """Let the results of `earlier`, of which there are as many, take the place of those of `op`, which is erased."""
    for old, new in zip(op._results, earlier._results):  # noqa: B905  (this loop is hot)
        if old._first_use is not None:
            old.replace_all_uses_with(new)
    erase_unchecked(op, by, UNKNOWN)


def nearly_unused(uses: Iterable[OpOperand]) -> list[tuple[Operation, Operation | None]]:
    """The operations whose results some uses are or were of, where such a result has one use left at most.

    Each comes with the user that is left, or None.
    """
    found: list[tuple[Operation, Operation | None]] = []
    for use in uses:
        value = use._value
        only = value._first_use
        if only is value._last_use and value.__class__ is OpResult:
            found.append((value._owner, None if only is None else only._owner))
    return found


def redirect_uses(value: Value, other: Value) -> list[Operation]:
    """Make every user of `value` use `other` instead; the users, one for each use. O(uses).

    Raises:
        IrError: `other` is not a value, or belongs to an erased operation.
    """
    users: list[Operation] = []
    use = value._first_use
    while use is not None:
        users.append(use._owner)
        use = use._next
    value.replace_all_uses_with(other)
    return users
