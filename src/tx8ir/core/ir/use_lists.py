"""What passes and drivers ask of the uses of values once for every operation: each question is one call."""

# These are the inner loops of whole programs: they read the slots.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from tx8ir.core.attrs.types import Type
from tx8ir.core.location import UNKNOWN, Location

from .block import Block
from .operation import ErasedOperation, Operation, erase_unchecked
from .value import OpOperand, OpResult, Value

ExpressionKey: TypeAlias = tuple[Any, ...]
Expression: TypeAlias = tuple[Operation, int, ExpressionKey | None]


def is_unused(op: Operation) -> bool:
    """Whether no result of `op` has uses."""
    for result in op._results:  # noqa: SIM110  (a generator costs more than the answer)
        if result._first_use is not None:
            return False
    return True


def unused(ops: Iterable[Operation]) -> Iterator[Operation]:
    """Those operations of which no result has uses, and which are not erased, when it is their turn."""
    for op in ops:
        if op.__class__ is not ErasedOperation and is_unused(op):
            yield op


def unused_or_nested(block: Block) -> Iterator[Operation]:
    """From the last to the first, the operations of a block that have regions, or of which no result has uses when it
    is their turn. The one given may be erased.
    """
    op = block._last
    while op is not None:
        before = op._previous
        if op._regions:
            yield op
        else:
            for result in op._results:
                if result._first_use is not None:
                    break
            else:
                yield op
        op = before


def expressions(block: Block, kinds: Mapping[type[Operation], int], commutes: int) -> Iterator[Expression]:
    """The operations of a block in order, each with its kind, and with a key that those have in common which compute
    the same: class, operands (in any order for the first two, where the kind is `commutes`), attributes, result types.

    The operation given last may be erased. There is no key for one with regions; one of kind 0 without is left out.
    """
    following = block._first
    while following is not None:
        op = following
        following = op._next
        if op._regions:
            yield op, 0, None
            continue
        kind = kinds[op.__class__]
        if not kind:
            continue
        operands, results = op._operands, op._results
        if len(results) == 1 and len(operands) == 2:  # the common shapes, without building lists
            a, b = operands[0]._value, operands[1]._value
            if kind == commutes and id(a) > id(b):
                a, b = b, a
            yield op, kind, (op.__class__, a, b, op._attributes, results[0]._type)
        elif len(results) == 1 and len(operands) == 1:
            yield op, kind, (op.__class__, operands[0]._value, op._attributes, results[0]._type)
        else:
            values = [use._value for use in operands]
            if kind == commutes and id(values[0]) > id(values[1]):
                values[0], values[1] = values[1], values[0]
            types = [result._type for result in results]
            yield op, kind, (op.__class__, len(values), *values, op._attributes, *types)


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


def merge_into(earlier: Operation, op: Operation, by: str) -> Location | None:
    """Let the results of `earlier`, of which there are as many, take the place of those of `op`, which is erased.

    Gives the location of `op` where `earlier` has another one.
    """
    location = op._location
    for old, new in zip(op._results, earlier._results):  # noqa: B905  (this loop is hot)
        if old._first_use is not None:
            old.replace_all_uses_with(new)
    erase_unchecked(op, by, UNKNOWN)
    return location if location is not earlier._location else None


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
    if users:
        value.replace_all_uses_with(other)
    return users
