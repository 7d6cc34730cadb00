"""math: MLIR's functions of floats and integers, on numbers and, element by element, on tensors and vectors.

Flags (`fastmath`), assembly formats and the types that an operation takes are those of `arith`, of whose constants
folding makes use. A float function gives what the operation of `pd` with that name gives: computed in the working
precision and rounded once.

    %0 = math.exp %x fastmath<nnan> : f32
    %1 = math.fma %a, %b, %c : tensor<4xf32>
    %2 = math.ctpop %n : i32
"""

from __future__ import annotations

from tx8ir.core import Dialect, ops_of

from . import classification, floats, integers

__all__ = ["DIALECT"]

DIALECT: Dialect = Dialect("math", ops_of(floats, classification, integers))

globals().update(DIALECT.exports)
