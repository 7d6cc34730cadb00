"""Operands by the fields that declare them: replacing those of a field, and which types it accepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from tx8ir.core.attrs.attributes import DictAttr
from tx8ir.core.attrs.types import Type
from tx8ir.core.errors import IrError
from tx8ir.core.ir.operation import Operation
from tx8ir.core.ir.value import Value

from .definition import SEGMENTS, OpDef, segment_sizes


def with_operands(op: Operation, ranges: Sequence[tuple[range, Sequence[Value]]]) -> tuple[list[Value], DictAttr]:
    """The operands of `op` with others in place of some, and the attributes that go with them.

    Args:
        op: stays as it is.
        ranges: the operands that are replaced, in order and apart; each range is a whole variadic field where the
            attribute `operandSegmentSizes` says how many operands the fields have.

    Raises:
        IrError: a range is not a field.
    """
    if not ranges:
        return list(op.operands), op.attributes
    values: list[Value] = []
    operands, end = op.operands, 0
    for replaced, given in ranges:
        values += operands[end : replaced.start]
        values += given
        end = replaced.stop
    values += operands[end:]
    definition = _definition(op)
    if definition is None or not definition.uses_segments:
        return values, op.attributes
    sizes = list(cast("Sequence[int]", op.attributes[SEGMENTS].value))
    fields = definition.operands
    for replaced, given in ranges:
        spans = [definition.operand_range(op, field) for field in fields]
        found = [
            i for i, span in enumerate(spans) if span == (replaced.start, replaced.stop) and fields[i].count == "many"
        ]
        if not found:
            raise IrError(f"operands {replaced.start} to {replaced.stop} of {op.name} are not a field of it", op)
        sizes[found[0]] = len(given)
    return values, DictAttr({**op.attributes, SEGMENTS: segment_sizes(sizes)})


def set_operand_ranges(op: Operation, ranges: Sequence[tuple[range, Sequence[Value]]]) -> None:
    """Replace some operands of `op`; see `with_operands`."""
    values, attributes = with_operands(op, ranges)
    op.set_operands(values)
    if attributes is not op.attributes:
        op.set_attribute(SEGMENTS, attributes[SEGMENTS])


def accepts_operand(op: Operation, index: int, type: Type) -> bool:
    """Whether the field that declares operand `index` accepts a value of the type; any does where nothing is said."""
    definition = _definition(op)
    if definition is None:
        return False
    for field in definition.operands:
        start, end = definition.operand_range(op, field)
        if start <= index < end:
            return field.constraint is None or field.accepts(type)
    return False


def _definition(op: Operation) -> OpDef | None:
    found: Any = getattr(op, "definition", None)
    return found
