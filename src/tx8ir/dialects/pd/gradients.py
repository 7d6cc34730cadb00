"""Short names for the operations that gradients are made of, inserted at the active `Builder`."""

from __future__ import annotations

from tx8ir.core import IrError, RankedTensor, Value
from tx8ir.dialects import pd


def static_tensor(value: Value) -> RankedTensor:
    """The type of a tensor of static shape, which gradients need. Raises IrError for another value."""
    type_ = value.type
    if not isinstance(type_, RankedTensor) or not type_.is_static:
        raise IrError(f"a gradient needs tensors of static shape, not {type_}", value.defining_op)
    return type_


def full(like: Value, number: float, shape: tuple[int, ...] = ()) -> Value:
    """A tensor of the element type of `like` whose elements are all `number`; of one element by default."""
    return pd.FullOp(shape=shape, value=number, dtype=static_tensor(like).element).out


def zeros(like: Value) -> Value:
    """Zeros of the shape and element type of `like`."""
    return full(like, 0.0, static_tensor(like).shape)


def times(x: Value, y: Value) -> Value:
    """The product of two values."""
    return pd.MultiplyOp(x, y).out


def scaled(x: Value, scale: float, bias: float = 0.0) -> Value:
    """The value scale * x + bias."""
    return pd.ScaleOp(x, scale=scale, bias=bias).out
