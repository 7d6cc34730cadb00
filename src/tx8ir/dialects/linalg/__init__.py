"""linalg: MLIR's structured operations, on tensors: a grid of places, and what happens at each.

An operation says by affine maps which element of each operand belongs to a place, by iterator types which dimensions of
the grid may run in any order (`parallel`) and which accumulate (`reduction`), and by its region what becomes of the
elements. Outputs are values: the result is the output operand with what the region yields in place of its elements.
Reductions are evaluated in row-major order, with one rounding for each operation of the region. Named operations hold
the region that their name means; it is not written in the assembly format.

    %0 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x2xf32>) outs(%c : tensor<4x2xf32>) -> tensor<4x2xf32>
"""

from __future__ import annotations

from tx8ir.core import Dialect, ops_of

from . import elementwise, named, structured
from .structured import IteratorType

__all__ = ["DIALECT", "IteratorType"]

DIALECT: Dialect = Dialect("linalg", ops_of(structured, elementwise, named), attributes=(IteratorType,))

globals().update(DIALECT.exports)
