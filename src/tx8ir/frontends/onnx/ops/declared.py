"""Operators that are one operation, whose class says so (`onnx`): the element-wise ones."""

from __future__ import annotations

from tx8ir.core import Op
from tx8ir.dialects import pd
from tx8ir.dialects.pd.declaration import Elementwise, OnnxOperator
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.ops.arithmetic import LEGACY, aligned
from tx8ir.frontends.onnx.registry import Converted, converter

_NEW_BROADCASTING = 7


def import_as(op_class: type[Op]) -> None:
    """Let the ONNX operator that an element-wise operation names be imported as that operation.

    Raises:
        ValueError: the operation names none, or the operator is imported as something else already.
    """
    operator: OnnxOperator | None = op_class.onnx if issubclass(op_class, Elementwise) else None
    if operator is None:
        raise ValueError(f"{op_class.name} names no ONNX operator that it is")
    count = len(op_class.definition.operands)
    # Versions below 7 differ in how operands broadcast, and in an attribute that says nothing.
    first = 1 if operator.first < _NEW_BROADCASTING + (count == 2) else operator.first

    @converter(operator.name, first=first, last=operator.last, attributes=(*operator.numbers, *LEGACY))
    def convert(node: OnnxNode) -> Converted:
        if node.version >= _NEW_BROADCASTING:
            node.check_attributes(tuple(operator.numbers))
        numbers = {ours: node.float(theirs, usual) for theirs, (ours, usual) in operator.numbers.items()}
        operands = aligned(node) if count == 2 else (node.operand(0),)
        return op_class(*operands, **numbers, **operator.fixed)

    assert convert is not None


for _op_class in pd.DIALECT.ops.values():
    if issubclass(_op_class, Op) and issubclass(_op_class, Elementwise) and _op_class.onnx is not None:
        import_as(_op_class)
