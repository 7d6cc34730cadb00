"""arith: MLIR's arithmetic of integers, index and floats, on numbers and, element by element, on tensors and vectors.

Attributes are MLIR's (`overflowFlags`, `fastmath`, `predicate`), and so is the assembly format of each operation.
Programs that use it are read, written, folded and evaluated; the compiler has no lowering for it.

The interpreter takes a number as an array of rank 0, an index as 64 bits. Numbers of formats that the machine lacks
(`i7`, `f8E4M3FN`) are kept and not evaluated. A flag promises what the program does, so it changes no result. Where
MLIR says poison, 0 is computed; where it says undefined behaviour, evaluating fails, so such an operation is not moved.
"""

from __future__ import annotations

from tx8ir.core import Dialect, ops_of

from . import casts, comparisons, constants, floats, integers
from .comparisons import FLOAT_PREDICATES, INTEGER_PREDICATES
from .declaration import FastMathAttr, OverflowAttr

__all__ = ["DIALECT", "FLOAT_PREDICATES", "INTEGER_PREDICATES", "FastMathAttr", "OverflowAttr"]

DIALECT: Dialect = Dialect(
    "arith", ops_of(constants, integers, floats, comparisons, casts), attributes=(FastMathAttr, OverflowAttr)
)

globals().update(DIALECT.exports)
