"""The instruction dialect: what the engines of the TX8 execute, and the declarations of a program.

A compiled module holds one `tx8.program`, whose block lists DDR segments, inputs and outputs, then instructions. Every
instruction names the tiles that run it; see `Instruction`. Every op is exported as its class (`GemmOp`) and under its
own name (`gemm`).
"""

from __future__ import annotations

from tx8ir.core import Dialect

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
from .arithmetic import (
    BINARY_FUNCTIONS,
    LOGIC,
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
from .chip import ChipAttr
from .control import BarrierOp, LoopOp, instructions_of
from .conversions import CONVERSIONS, CONVERTIBLE, Conversion
from .declarations import SEGMENT_KINDS, ConstantOp, InputOp, OutputOp, PortOp, ProgramOp, SegmentOp
from .dma import DmaOp, RdmaGatherOp, RdmaOp, RowCopyOp, TdmaOp, WdmaOp, WdmaScatterOp
from .dte import DteArmOp, DteSendOp, DteStoreOp, DteWaitOp, MessageOp
from .instruction import BYTE_FORMATS, FLOATS, NUMERIC, Follow, Instruction, PerTile, chip_of
from .machine import TARGET, TargetAttr, Timing, set_target, target_of
from .moves import (
    AXES,
    MOVE_LAYOUTS,
    ROTATIONS,
    ConcatOp,
    Img2ColOp,
    MaskGatherOp,
    MirrorOp,
    MoveOp,
    Nchw2NhwcOp,
    Nhwc2NchwOp,
    PadOp,
    RotateOp,
    TdmaReshapeOp,
    TransposeOp,
)
from .neural import ACTIVATIONS, QUANTIZE_LIMITS, ConvOp, GemmOp, NeuralOp, Requantize
from .peripheral import (
    BIT_FUNCTIONS,
    ArgOp,
    BilinearOp,
    Bit2FpOp,
    BitLogicOp,
    CountOp,
    ElemMaskOp,
    Lut16Op,
    Lut32Op,
    LutOp,
    RandGenOp,
)
from .pooling import PoolIndexOp, UnpoolOp
from .scalar import CsrReadOp, CsrWriteOp, ExceptionFlag, ScalarAddOp, ScalarMoveOp
from .source import Source
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
from .work import Work

__all__ = [
    "ACTIVATIONS",
    "AXES",
    "BINARY_FUNCTIONS",
    "BIT_FUNCTIONS",
    "BYTE_FORMATS",
    "CONVERSIONS",
    "CONVERTIBLE",
    "DIALECT",
    "FLOATS",
    "LOGIC",
    "MOVE_LAYOUTS",
    "NUMERIC",
    "QUANTIZE_LIMITS",
    "REDUCE_AXES",
    "REDUCTIONS",
    "RELATIONS",
    "ROTATIONS",
    "SEGMENT_KINDS",
    "TARGET",
    "UNARY_FUNCTIONS",
    "UNARY_WITH_ALPHA",
    "Access",
    "ArgOp",
    "BarrierOp",
    "BilinearOp",
    "BinaryOp",
    "BinaryVSOp",
    "BinaryVVOp",
    "BinaryVuVLoopOp",
    "BinaryVuVOp",
    "Bit2FpOp",
    "BitLogicOp",
    "ChannelNormOp",
    "ChipAttr",
    "ConcatOp",
    "ConstantOp",
    "ConvOp",
    "Conversion",
    "ConvertOp",
    "CountOp",
    "CsrReadOp",
    "CsrWriteOp",
    "DmaOp",
    "DteArmOp",
    "DteSendOp",
    "DteStoreOp",
    "DteWaitOp",
    "ElemMaskOp",
    "ElementwiseOp",
    "ExceptionFlag",
    "Follow",
    "GemmOp",
    "Img2ColOp",
    "InputOp",
    "Instruction",
    "LoopOp",
    "Lut16Op",
    "Lut32Op",
    "LutOp",
    "MaskGatherOp",
    "MaskMoveOp",
    "MemorySpace",
    "MemsetOp",
    "MessageOp",
    "MirrorOp",
    "MoveOp",
    "Nchw2NhwcOp",
    "NeuralOp",
    "Nhwc2NchwOp",
    "OperandTensor",
    "OutputOp",
    "PadOp",
    "PerTile",
    "PoolIndexOp",
    "PoolOp",
    "PortOp",
    "ProgramOp",
    "RandGenOp",
    "RdmaGatherOp",
    "RdmaOp",
    "ReduceOp",
    "Requantize",
    "RotateOp",
    "RowCopyOp",
    "ScalarAddOp",
    "ScalarMoveOp",
    "SegmentOp",
    "Source",
    "TargetAttr",
    "TdmaOp",
    "TdmaReshapeOp",
    "Timing",
    "TransposeOp",
    "UnaryOp",
    "UnpoolOp",
    "WdmaOp",
    "WdmaScatterOp",
    "Work",
    "arg",
    "barrier",
    "bilinear",
    "binary_vs",
    "binary_vuv",
    "binary_vuv_loop",
    "binary_vv",
    "bit2fp",
    "bit_logic",
    "channelnorm",
    "chip_of",
    "concat",
    "constant",
    "conv",
    "convert",
    "count",
    "csr_read",
    "csr_write",
    "dte_arm",
    "dte_send",
    "dte_store",
    "dte_wait",
    "elem_mask",
    "gemm",
    "img2col",
    "input",
    "instructions_of",
    "loop",
    "lut16",
    "lut32",
    "maskgather",
    "maskmove",
    "memset",
    "mirror",
    "nchw2nhwc",
    "nhwc2nchw",
    "output",
    "pad",
    "pool",
    "pool_index",
    "program",
    "rand_gen",
    "rdma",
    "rdma_gather",
    "reduce",
    "rotate",
    "scalar_add",
    "scalar_move",
    "segment",
    "set_target",
    "target_of",
    "tdma",
    "tdma_reshape",
    "transpose",
    "unary",
    "unpool",
    "wdma",
    "wdma_scatter",
    "window_extents",
]

program, segment, input, constant, output = ProgramOp, SegmentOp, InputOp, ConstantOp, OutputOp
rdma, wdma, rdma_gather, tdma = RdmaOp, WdmaOp, RdmaGatherOp, TdmaOp
unary, binary_vv, binary_vs, binary_vuv, binary_vuv_loop = UnaryOp, BinaryVVOp, BinaryVSOp, BinaryVuVOp, BinaryVuVLoopOp
reduce, pool, channelnorm, maskmove, convert, memset = ReduceOp, PoolOp, ChannelNormOp, MaskMoveOp, ConvertOp, MemsetOp
gemm, conv, barrier, loop = GemmOp, ConvOp, BarrierOp, LoopOp
dte_arm, dte_send, dte_wait, dte_store = DteArmOp, DteSendOp, DteWaitOp, DteStoreOp
mirror, transpose, rotate, nchw2nhwc, nhwc2nchw = MirrorOp, TransposeOp, RotateOp, Nchw2NhwcOp, Nhwc2NchwOp
concat, pad, img2col, maskgather, tdma_reshape = ConcatOp, PadOp, Img2ColOp, MaskGatherOp, TdmaReshapeOp
pool_index, unpool, wdma_scatter = PoolIndexOp, UnpoolOp, WdmaScatterOp
bit_logic, bit2fp, count, arg, lut16, lut32 = BitLogicOp, Bit2FpOp, CountOp, ArgOp, Lut16Op, Lut32Op
rand_gen, elem_mask, bilinear = RandGenOp, ElemMaskOp, BilinearOp
scalar_move, scalar_add, csr_read, csr_write = ScalarMoveOp, ScalarAddOp, CsrReadOp, CsrWriteOp

DIALECT = Dialect(
    "tx8",
    ops=[
        *(*declarations.OPS, *dma.OPS, *arithmetic.OPS, *tensors.OPS, *pooling.OPS, *moves.OPS, *peripheral.OPS),
        *(*neural.OPS, *dte.OPS, *scalar.OPS, *control.OPS),
    ],
    attributes=[*chip.ATTRIBUTES, *machine.ATTRIBUTES, *control.ATTRIBUTES, *neural.ATTRIBUTES],
)
