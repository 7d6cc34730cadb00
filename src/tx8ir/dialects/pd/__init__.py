"""The tensor dialect: operations named as in Paddle's `pd_op`.

Each operation is a class (`pd.ReluOp`), also exported under its own name (`pd.relu(x)`). Every one infers its result
types and evaluates itself through `Compute`. Element types of the operands must agree; only for operators (`x + y`)
and numbers (`pd.add(x, 1.0)`) they are promoted. `Tensor` has what values of tensor types can do in Python.
`ElementwiseUnaryOp`, `ElementwiseBinaryOp`, `ComparisonOp`, `ReductionOp` and `ConvolutionOp` are bases of families.

The modules are searched for operations, so that the class is all there is to write; `python -m tx8ir.core.opdef.stubs`
then writes `__init__.pyi`, which shows type checkers what is here.
"""

from __future__ import annotations

from tx8ir.core import Dialect, Op, TensorType, VTensorType, ops_of
from tx8ir.core.ir.value_class import register_value_class

from . import (
    attention,
    bitcast,
    comparison,
    conv,
    creation,
    cumulative,
    determinant,
    elementwise_binary,
    elementwise_unary,
    enlarge,
    fusion,
    indexing,
    inplace,
    integer_arithmetic,
    integral,
    loss,
    matmul,
    norm,
    norm_training,
    pool,
    reduce,
    scatter,
    search,
    shape,
    trigonometry,
)
from .comparison import ComparisonOp
from .conv import ConvolutionOp
from .declaration import OnnxOperator
from .elementwise_binary import ElementwiseBinaryOp
from .elementwise_unary import ElementwiseUnaryOp
from .inplace import InplaceOp, inplace_form, inplace_forms
from .reduce import ReductionOp
from .shape import View, ViewOp
from .tensor import with_methods

_FOUND = ops_of(
    *(elementwise_unary, elementwise_binary, comparison, matmul, attention, conv, pool, norm, norm_training, reduce),
    *(shape, enlarge, indexing, creation, inplace, loss, fusion),
    *(trigonometry, integral, integer_arithmetic, cumulative, search, scatter, determinant, bitcast),
)
_OF_VALUES = [op_class for op_class in _FOUND if not issubclass(op_class, InplaceOp)]

INPLACE_OPS: tuple[type[Op], ...] = (
    *inplace_forms(_OF_VALUES),
    *(op_class for op_class in _FOUND if issubclass(op_class, InplaceOp)),
)
"""Every in-place operation of the dialect."""

DIALECT: Dialect = Dialect("pd", ops=[*_OF_VALUES, *INPLACE_OPS])
"""The dialect, with all its operations."""

Tensor = with_methods(DIALECT.ops.values())
register_value_class("pd", Tensor, TensorType, VTensorType)

__all__ = [
    "DIALECT",
    "INPLACE_OPS",
    "ComparisonOp",
    "ConvolutionOp",
    "ElementwiseBinaryOp",
    "ElementwiseUnaryOp",
    "InplaceOp",
    "OnnxOperator",
    "ReductionOp",
    "Tensor",
    "View",
    "ViewOp",
    "inplace_form",
    "inplace_forms",
]

globals().update(DIALECT.exports)
