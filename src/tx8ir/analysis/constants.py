"""Reading constants off values, and making new ones: what folding and canonicalization share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    BoolAttr,
    Compute,
    ConstantLike,
    DenseAttr,
    FloatAttr,
    IntAttr,
    Operation,
    Program,
    Pure,
    Type,
    Value,
    ViewLike,
    VTensorType,
    detached,
)
from tx8ir.core.attrs.builtin_types import integer_format, is_float, is_integer
from tx8ir.dialects import builtin, pd
from tx8ir.interpreter import EvaluationError, evaluate_operation

Scalar: TypeAlias = bool | int | float

INLINE_ELEMENTS: Final = 16
"""Constants of up to this many elements go into the graph as `builtin.constant`; larger ones into the weight store."""


def splat_value(value: Value) -> Scalar | None:
    """The one number that every element of `value` is, when `value` is a `pd.full`, a `builtin.constant` or a constant
    of another dialect; else None.

    O(1) for one element, else O(elements) unless the first and the last differ.
    """
    op = value.defining_op
    if isinstance(op, pd.FullOp):
        return _full_element(op).item() if op.out.type.__class__ is VTensorType and 0 not in op.shape else None
    if op is None or ConstantLike not in op.info.traits:
        return None
    attribute = op.attributes.get("value")
    if isinstance(attribute, (BoolAttr, IntAttr, FloatAttr)):
        return attribute.value
    if not isinstance(attribute, DenseAttr) or attribute.value.size == 0:
        return None
    flat = attribute.value.reshape(-1)
    first = flat[:1].tobytes()
    if flat.size > 1 and (flat[-1:].tobytes() != first or flat.tobytes() != first * flat.size):
        return None
    return flat[0].item()


def _full_element(op: pd.FullOp) -> NDArray[Any]:
    """The element that fills the result of `op`, rounded to its format; rank 0."""
    with detached():
        return evaluate_operation(pd.FullOp(shape=(), value=op.value, dtype=op.dtype), ())[0]


def is_negative_zero(number: Scalar) -> bool:
    """True for -0.0 alone."""
    return isinstance(number, float) and number == 0.0 and bool(np.signbit(number))


def is_positive_zero(number: Scalar) -> bool:
    """True for +0.0 and the integer 0."""
    return number == 0 and not is_negative_zero(number)


def constant_type(value: Value) -> VTensorType | None:
    """The type of `value` when it is a static `vtensor`, else None."""
    kind = value.type
    return kind if isinstance(kind, VTensorType) and kind.is_static else None


def is_number(kind: Type) -> bool:
    """Whether values of the type are numbers that `arith` counts with: signless integers, indices and floats."""
    return is_float(kind) or (is_integer(kind) and integer_format(kind)[1] == "signless")


def is_constant(value: Value, program: Program, mutable: Collection[str]) -> bool:
    """True for a static `vtensor` that is a `builtin.constant`, a `pd.full` or a read of an immutable parameter.

    mutable: names of parameters that may be written, see `effects.mutable_parameters`.
    """
    if constant_type(value) is None:
        return False
    op = value.defining_op
    if isinstance(op, builtin.ConstantOp):
        return isinstance(op.attributes["value"], DenseAttr)
    if isinstance(op, builtin.GetParameterOp):
        return op.parameter not in mutable and op.parameter in program.weights
    return isinstance(op, pd.FullOp)


def read_constant(value: Value, program: Program, mutable: Collection[str]) -> NDArray[Any] | None:
    """The data of a constant (see `is_constant`) in the element's own dtype, None for anything else.

    The array must not be changed.
    """
    if not is_constant(value, program, mutable):
        return None
    op = value.defining_op
    if isinstance(op, builtin.ConstantOp):
        return op.value.value
    if isinstance(op, pd.FullOp):
        return np.broadcast_to(_full_element(op), op.shape)
    assert isinstance(op, builtin.GetParameterOp)  # is_constant
    return program.weights[op.parameter].numpy()


def is_evaluable(op: Operation) -> bool:
    """Whether `op` can be evaluated when compiling, once its operands are known: pure, on static vtensors alone."""
    return (
        Pure in op.info.traits
        and not op.regions
        and len(op.results) > 0
        and op.interface(Compute) is not None
        and all(constant_type(value) is not None for value in (*op.operands, *op.results))
    )


def evaluate_constants(
    op: Operation, operands: Sequence[NDArray[Any]], max_bytes: int
) -> tuple[NDArray[Any], ...] | None:
    """The results of an operation that `is_evaluable`, as the interpreter computes them natively.

    None when evaluating fails (an index out of range, an integer divided by 0), or when the results have more than
    `max_bytes` and more than the operands, or operands that are one element stretched do, except where the operation
    only shows elements of them.
    """
    stretched = [array for array in operands if array.size > 1 and not any(array.strides)]
    stored = sum(array.nbytes for array in operands) - sum(array.nbytes for array in stretched)
    copied = 0 if op.interface(ViewLike) is not None else sum(array.nbytes for array in stretched)
    size = 0
    for result in op.results:
        kind = constant_type(result)
        assert kind is not None  # is_evaluable
        size += kind.num_elements * max(1, kind.element.format.bits // 8)
    if max(size, copied) > max(max_bytes, stored):
        return None
    try:
        return evaluate_operation(op, operands)
    except EvaluationError as error:
        if isinstance(error.__cause__, (ArithmeticError, IndexError)):  # what the program does when it runs
            return None
        raise


def make_constant(array: NDArray[Any], kind: VTensorType, program: Program, name: str) -> Operation:
    """A detached operation that yields `array` (in the element's own dtype) as `kind`.

    A small array becomes a `builtin.constant`; a larger one a new variable of the program's store, called `name` or,
    when that is taken, `name_1`, …, and a `builtin.get_parameter` of it.
    """
    if array.size <= INLINE_ELEMENTS:
        return builtin.ConstantOp(value=DenseAttr(array, kind), out=kind)
    unique = program.weights.unique_name(name)
    program.weights.add(unique, np.ascontiguousarray(array), kind)
    return builtin.GetParameterOp(parameter=unique, out=kind)


def constant_name(value: Value, suffix: str) -> str:
    """A name for a variable made from `value`: that of its parameter or its name hint, then `.suffix`."""
    op = value.defining_op
    stem = op.parameter if isinstance(op, builtin.GetParameterOp) else value.name_hint
    return f"{stem or 'constant'}.{suffix}"
