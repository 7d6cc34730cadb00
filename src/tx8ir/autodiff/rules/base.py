"""What the gradients of operations are made of: bases of their `Grad` models.

Every gradient is a vtensor; tensors are read through `to_vtensor`, at the place where the gradient is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tx8ir.core import Grad, IrError, Model, Operation, TensorType, Value
from tx8ir.dialects import builtin
from tx8ir.dialects.pd import ReshapeOp, SumOp
from tx8ir.dialects.pd.gradients import static_tensor

Cotangents = Sequence[Value | None]


def read(value: Value) -> Value:
    """What a value holds, as a vtensor."""
    return builtin.to_vtensor(value).out if isinstance(value.type, TensorType) else value


def only(op: Operation, cotangents: Cotangents) -> Value:
    """The only cotangent. Raises IrError when there is none: nobody asks for the gradient of such an operation."""
    if len(cotangents) != 1 or cotangents[0] is None:
        raise IrError(f"{op.name} has one result, so one cotangent, not {len(cotangents)}", op)
    return cotangents[0]


def summed_to(gradient: Value, shape: tuple[int, ...]) -> Value:
    """The gradient by an operand that broadcasting stretched from `shape`: summed over the copies of each element."""
    have = static_tensor(gradient).shape
    new = len(have) - len(shape)
    axes = tuple(i for i, extent in enumerate(have) if i < new or (shape[i - new] == 1 and extent != 1))
    if axes:
        gradient = SumOp(gradient, axis=axes, keepdim=True).out
    return ReshapeOp(gradient, shape=shape).out if static_tensor(gradient).shape != shape else gradient


class BinaryGrad(Model[Any], Grad):
    """Base for operations on two operands that broadcast."""

    def parts(self, x: Value, y: Value, g: Value) -> tuple[Value, Value]:
        """The gradients by both operands, in the broadcast shape."""
        raise NotImplementedError  # subclasses define it

    def grad(self, cotangents: Cotangents) -> Cotangents:
        x, y = self.op.operands
        by_x, by_y = self.parts(read(x), read(y), only(self.op, cotangents))
        return summed_to(by_x, static_tensor(x).shape), summed_to(by_y, static_tensor(y).shape)


class UnaryGrad(Model[Any], Grad):
    """Base for operations on one operand whose gradient has its shape."""

    def part(self, g: Value) -> Value:
        """The gradient by the operand."""
        raise NotImplementedError  # subclasses define it

    def grad(self, cotangents: Cotangents) -> Cotangents:
        return (self.part(only(self.op, cotangents)),)

    @property
    def x(self) -> Value:
        """The operand, as a vtensor."""
        return read(self.op.operands[0])

    @property
    def out(self) -> Value:
        """The result, as a vtensor."""
        return read(self.op.results[0])
