"""The instruction dialect: what the engines of the TX8 execute, and the declarations of a program.

A compiled module holds one `tx8.program`, whose block lists DDR segments, inputs and outputs, then instructions. Every
instruction names the tiles that run it; see `Instruction`. Every op is exported as its class (`GemmOp`) and under its
own name (`gemm`): the modules are searched for them; `python -m tx8ir.core.opdef.stubs` writes `__init__.pyi`.
"""

from __future__ import annotations

from tx8ir.core import Dialect, ops_of

from . import (
    arithmetic,
    chip,
    control,
    declarations,
    dma,
    dte,
    machine,
    moves,
    neural,
    peripheral,
    pooling,
    scalar,
    tensors,
)
from .access import Access, MemorySpace, OperandTensor
from .arithmetic import BINARY_FUNCTIONS, LOGIC, RELATIONS, UNARY_FUNCTIONS, UNARY_WITH_ALPHA, BinaryOp, ElementwiseOp
from .chip import ChipAttr
from .control import instructions_of
from .conversions import CONVERSIONS, CONVERTIBLE, Conversion
from .declarations import SEGMENT_KINDS, PortOp
from .dma import DmaOp, RowCopyOp
from .dte import MessageOp
from .instruction import BYTE_FORMATS, FLOATS, NUMERIC, Follow, Instruction, PerTile, chip_of
from .machine import TARGET, TargetAttr, Timing, set_target, target_of
from .moves import AXES, MOVE_LAYOUTS, ROTATIONS, MoveOp
from .neural import ACTIVATIONS, QUANTIZE_LIMITS, NeuralOp, Requantize
from .peripheral import BIT_FUNCTIONS, LutOp
from .scalar import ExceptionFlag
from .source import Source
from .tensors import REDUCE_AXES, REDUCTIONS, window_extents
from .work import Work

DIALECT: Dialect = Dialect(
    "tx8",
    ops=ops_of(
        *(declarations, dma, arithmetic, tensors, pooling, moves, peripheral),
        *(neural, dte, scalar, control),
    ),
    attributes=[*chip.ATTRIBUTES, *machine.ATTRIBUTES, *control.ATTRIBUTES, *neural.ATTRIBUTES],
)

__all__ = [
    "ACTIVATIONS",
    "AXES",
    "Access",
    "BINARY_FUNCTIONS",
    "BIT_FUNCTIONS",
    "BYTE_FORMATS",
    "BinaryOp",
    "CONVERSIONS",
    "CONVERTIBLE",
    "ChipAttr",
    "Conversion",
    "DIALECT",
    "DmaOp",
    "ElementwiseOp",
    "ExceptionFlag",
    "FLOATS",
    "Follow",
    "Instruction",
    "LOGIC",
    "LutOp",
    "MOVE_LAYOUTS",
    "MemorySpace",
    "MessageOp",
    "MoveOp",
    "NUMERIC",
    "NeuralOp",
    "OperandTensor",
    "PerTile",
    "PortOp",
    "QUANTIZE_LIMITS",
    "REDUCE_AXES",
    "REDUCTIONS",
    "RELATIONS",
    "ROTATIONS",
    "Requantize",
    "RowCopyOp",
    "SEGMENT_KINDS",
    "Source",
    "TARGET",
    "TargetAttr",
    "Timing",
    "UNARY_FUNCTIONS",
    "UNARY_WITH_ALPHA",
    "Work",
    "chip_of",
    "instructions_of",
    "set_target",
    "target_of",
    "window_extents",
]

globals().update(DIALECT.exports)
