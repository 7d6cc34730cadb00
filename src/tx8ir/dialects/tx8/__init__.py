"""The instruction dialect: what the engines of the TX8 execute, and the declarations of a program.

A compiled module holds one `tx8.program`, whose block lists DDR segments, inputs and outputs, then instructions. Every
instruction names the tiles that run it; see `Instruction`. Every op is exported as its class (`GemmOp`) and under its
own name (`gemm`).
"""

from __future__ import annotations

from tx8ir.core import Dialect

from . import arithmetic, control, declarations, dma, neural, tensors
from .access import Access, AlignedTensor, MemorySpace
from .arithmetic import (
    BINARY_FUNCTIONS,
    RELATIONS,
    UNARY_FUNCTIONS,
    UNARY_WITH_ALPHA,
    BinaryOp,
    BinaryVSOp,
    BinaryVuVLoopOp,
    BinaryVuVOp,
    BinaryVVOp,
    ElementwiseOp,
    UnaryOp,
)
from .control import BarrierOp
from .declarations import SEGMENT_KINDS, InputOp, OutputOp, PortOp, ProgramOp, SegmentOp
from .dma import DmaOp, RdmaGatherOp, RdmaOp, TdmaOp, WdmaOp
from .instruction import BYTE_FORMATS, FLOATS, NUMERIC, Instruction, PerTile
from .neural import ACTIVATIONS, ConvOp, GemmOp, NeuralOp
from .tensors import (
    REDUCE_AXES,
    REDUCTIONS,
    ChannelNormOp,
    ConvertOp,
    MaskMoveOp,
    MemsetOp,
    PoolOp,
    ReduceOp,
    window_extents,
)

__all__ = [
    "ACTIVATIONS",
    "BINARY_FUNCTIONS",
    "BYTE_FORMATS",
    "DIALECT",
    "FLOATS",
    "NUMERIC",
    "REDUCE_AXES",
    "REDUCTIONS",
    "RELATIONS",
    "SEGMENT_KINDS",
    "UNARY_FUNCTIONS",
    "UNARY_WITH_ALPHA",
    "Access",
    "AlignedTensor",
    "BarrierOp",
    "BinaryOp",
    "BinaryVSOp",
    "BinaryVVOp",
    "BinaryVuVLoopOp",
    "BinaryVuVOp",
    "ChannelNormOp",
    "ConvOp",
    "ConvertOp",
    "DmaOp",
    "ElementwiseOp",
    "GemmOp",
    "InputOp",
    "Instruction",
    "MaskMoveOp",
    "MemorySpace",
    "MemsetOp",
    "NeuralOp",
    "OutputOp",
    "PerTile",
    "PoolOp",
    "PortOp",
    "ProgramOp",
    "RdmaGatherOp",
    "RdmaOp",
    "ReduceOp",
    "SegmentOp",
    "TdmaOp",
    "UnaryOp",
    "WdmaOp",
    "barrier",
    "binary_vs",
    "binary_vuv",
    "binary_vuv_loop",
    "binary_vv",
    "channelnorm",
    "conv",
    "convert",
    "gemm",
    "input",
    "maskmove",
    "memset",
    "output",
    "pool",
    "program",
    "rdma",
    "rdma_gather",
    "reduce",
    "segment",
    "tdma",
    "unary",
    "wdma",
    "window_extents",
]

program, segment, input, output = ProgramOp, SegmentOp, InputOp, OutputOp
rdma, wdma, rdma_gather, tdma = RdmaOp, WdmaOp, RdmaGatherOp, TdmaOp
unary, binary_vv, binary_vs, binary_vuv, binary_vuv_loop = UnaryOp, BinaryVVOp, BinaryVSOp, BinaryVuVOp, BinaryVuVLoopOp
reduce, pool, channelnorm, maskmove, convert, memset = ReduceOp, PoolOp, ChannelNormOp, MaskMoveOp, ConvertOp, MemsetOp
gemm, conv, barrier = GemmOp, ConvOp, BarrierOp

DIALECT = Dialect(
    "tx8",
    ops=[*declarations.OPS, *dma.OPS, *arithmetic.OPS, *tensors.OPS, *neural.OPS, *control.OPS],
)
