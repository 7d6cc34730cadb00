"""Operators that are one operation, whose class says so (`onnx`): the element-wise ones."""

from __future__ import annotations

from tx8ir.core import Op
from tx8ir.dialects import pd
from tx8ir.dialects.pd.declaration import Elementwise, OnnxOperator
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.registry import Converted, converter


def import_as(op_class: type[Op]) -> None:
    """Let the ONNX operator that an element-wise operation names be imported as that operation.

    Raises:
        ValueError: the operation names none, or the operator is imported as something else already.
    """
    operator: OnnxOperator | None = op_class.onnx if issubclass(op_class, Elementwise) else None
    if operator is None:
        raise ValueError(f"{op_class.name} names no ONNX operator that it is")
    count = len(op_class.definition.operands)

    @converter(operator.name, first=operator.first, last=operator.last, attributes=operator.numbers)
    def convert(node: OnnxNode) -> Converted:
        numbers = {ours: node.float(theirs, usual) for theirs, (ours, usual) in operator.numbers.items()}
        return op_class(*(node.operand(index) for index in range(count)), **numbers, **operator.fixed)

    assert convert is not None


for _op_class in pd.DIALECT.ops.values():
    if issubclass(_op_class, Op) and issubclass(_op_class, Elementwise) and _op_class.onnx is not None:
        import_as(_op_class)
