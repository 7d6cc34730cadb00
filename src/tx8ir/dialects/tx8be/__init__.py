"""The backend graph dialect: what the TX8's kernels compute, before they become instructions.

Every op is exported as its class (`GemmOp`) and under its own text name (`Gemm`). Value types are `vtensor`, `none` and
`tuple`. Features are NHWC, convolution weights HWOI. All ops evaluate in the reference interpreter, so the graph
can be compared with its source after every backend pass.

The modules are searched for operations; those of the vector unit's functions of one operand come from
`target.vector_functions`. `python -m tx8ir.core.opdef.stubs` writes `__init__.pyi`.
"""

from __future__ import annotations

from tx8ir.core import Dialect, ops_of

from . import elementwise, movement, neural, reduction, schedule, structure
from .attributes import (
    ATTRIBUTES,
    Activation,
    DevAttr,
    GemmMode,
    MemScope,
    ParallelAttr,
    ParallelMode,
    ReduceFunction,
    RegionAttr,
)
from .base import BackendOp, is_none, ranked
from .elementwise import BINARY, RELATIONS, UNARY, BinaryOp, UnaryOp, add_unary, binary_of, function_of, unary_of
from .reduction import reduce_axes
from .schedule import SlotAttr, StrategyAttr, cuts_of, loop_trips

DIALECT: Dialect = Dialect(
    "tx8be",
    ops=[*ops_of(structure, neural, elementwise, reduction, movement, schedule), *UNARY],
    attributes=[*ATTRIBUTES, SlotAttr, StrategyAttr],
)

__all__ = [
    "BINARY",
    "DIALECT",
    "RELATIONS",
    "UNARY",
    "Activation",
    "BackendOp",
    "BinaryOp",
    "DevAttr",
    "GemmMode",
    "MemScope",
    "ParallelAttr",
    "ParallelMode",
    "ReduceFunction",
    "RegionAttr",
    "SlotAttr",
    "StrategyAttr",
    "UnaryOp",
    "add_unary",
    "binary_of",
    "cuts_of",
    "function_of",
    "is_none",
    "loop_trips",
    "ranked",
    "reduce_axes",
    "unary_of",
]

globals().update(DIALECT.exports)
