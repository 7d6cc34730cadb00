"""index: MLIR's arithmetic of `index`, an integer as wide as an address; 64 bits where it is computed with.

No operation writes a type that can only be index. Poison and undefined behaviour are dealt with as in `arith`.

    %0 = index.constant 42
    %1 = index.ceildivs %0, %x
    %2 = index.cmp slt(%1, %x)
    %3 = index.casts %1 : index to i32
"""

from __future__ import annotations

from tx8ir.core import Dialect, ops_of

from . import operations
from .operations import Predicate

__all__ = ["DIALECT", "Predicate"]

DIALECT: Dialect = Dialect("index", ops_of(operations), attributes=(Predicate,))

globals().update(DIALECT.exports)
