# Written by `python -m tx8ir.core.opdef.stubs tx8ir.dialects.tx8` from the operations. Do not edit.
# ruff: noqa: I001, RUF100

from tx8ir.core import Dialect

from .access import (
    Access,
    MemorySpace,
    OperandTensor,
)
from .arithmetic import (
    BINARY_FUNCTIONS,
    BinaryOp,
    BinaryVSOp,
    BinaryVVOp,
    BinaryVuVLoopOp,
    BinaryVuVOp,
    ElementwiseOp,
    LOGIC,
    RELATIONS,
    UNARY_FUNCTIONS,
    UNARY_WITH_ALPHA,
    UnaryOp,
)
from .chip import (
    ChipAttr,
)
from .control import (
    BarrierOp,
    LoopOp,
    instructions_of,
)
from .conversions import (
    CONVERSIONS,
    CONVERTIBLE,
    Conversion,
)
from .declarations import (
    ConstantOp,
    InputOp,
    OutputOp,
    PortOp,
    ProgramOp,
    SEGMENT_KINDS,
    SegmentOp,
)
from .dma import (
    DmaOp,
    RdmaGatherOp,
    RdmaOp,
    RowCopyOp,
    TdmaOp,
    WdmaOp,
    WdmaScatterOp,
)
from .dte import (
    DteArmOp,
    DteSendOp,
    DteStoreOp,
    DteWaitOp,
    MessageOp,
)
from .instruction import (
    BYTE_FORMATS,
    FLOATS,
    Follow,
    Instruction,
    NUMERIC,
    PerTile,
    chip_of,
)
from .machine import (
    TARGET,
    TargetAttr,
    Timing,
    set_target,
    target_of,
)
from .moves import (
    AXES,
    ConcatOp,
    Img2ColOp,
    MOVE_LAYOUTS,
    MaskGatherOp,
    MirrorOp,
    MoveOp,
    Nchw2NhwcOp,
    Nhwc2NchwOp,
    PadOp,
    ROTATIONS,
    RotateOp,
    TdmaReshapeOp,
    TransposeOp,
)
from .neural import (
    ACTIVATIONS,
    ConvOp,
    GemmOp,
    NeuralOp,
    QUANTIZE_LIMITS,
    Requantize,
)
from .peripheral import (
    ArgOp,
    BIT_FUNCTIONS,
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
from .pooling import (
    PoolIndexOp,
    UnpoolOp,
)
from .scalar import (
    CsrReadOp,
    CsrWriteOp,
    ExceptionFlag,
    ScalarAddOp,
    ScalarMoveOp,
)
from .source import (
    Source,
)
from .tensors import (
    ChannelNormOp,
    ConvertOp,
    MaskMoveOp,
    MemsetOp,
    PoolOp,
    REDUCE_AXES,
    REDUCTIONS,
    ReduceOp,
    window_extents,
)
from .work import (
    Work,
)

DIALECT: Dialect

segment = SegmentOp
input = InputOp
constant = ConstantOp
output = OutputOp
program = ProgramOp
rdma = RdmaOp
wdma = WdmaOp
rdma_gather = RdmaGatherOp
wdma_scatter = WdmaScatterOp
tdma = TdmaOp
unary = UnaryOp
binary_vv = BinaryVVOp
binary_vs = BinaryVSOp
binary_vuv = BinaryVuVOp
binary_vuv_loop = BinaryVuVLoopOp
reduce = ReduceOp
pool = PoolOp
channelnorm = ChannelNormOp
maskmove = MaskMoveOp
convert = ConvertOp
memset = MemsetOp
pool_index = PoolIndexOp
unpool = UnpoolOp
mirror = MirrorOp
transpose = TransposeOp
rotate = RotateOp
nchw2nhwc = Nchw2NhwcOp
nhwc2nchw = Nhwc2NchwOp
concat = ConcatOp
pad = PadOp
img2col = Img2ColOp
maskgather = MaskGatherOp
tdma_reshape = TdmaReshapeOp
bit_logic = BitLogicOp
bit2fp = Bit2FpOp
count = CountOp
arg = ArgOp
lut16 = Lut16Op
lut32 = Lut32Op
rand_gen = RandGenOp
elem_mask = ElemMaskOp
bilinear = BilinearOp
gemm = GemmOp
conv = ConvOp
dte_arm = DteArmOp
dte_send = DteSendOp
dte_wait = DteWaitOp
dte_store = DteStoreOp
scalar_move = ScalarMoveOp
scalar_add = ScalarAddOp
csr_read = CsrReadOp
csr_write = CsrWriteOp
barrier = BarrierOp
loop = LoopOp

__all__ = [
    "ACTIVATIONS",
    "AXES",
    "Access",
    "ArgOp",
    "BINARY_FUNCTIONS",
    "BIT_FUNCTIONS",
    "BYTE_FORMATS",
    "BarrierOp",
    "BilinearOp",
    "BinaryOp",
    "BinaryVSOp",
    "BinaryVVOp",
    "BinaryVuVLoopOp",
    "BinaryVuVOp",
    "Bit2FpOp",
    "BitLogicOp",
    "CONVERSIONS",
    "CONVERTIBLE",
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
    "DIALECT",
    "DmaOp",
    "DteArmOp",
    "DteSendOp",
    "DteStoreOp",
    "DteWaitOp",
    "ElemMaskOp",
    "ElementwiseOp",
    "ExceptionFlag",
    "FLOATS",
    "Follow",
    "GemmOp",
    "Img2ColOp",
    "InputOp",
    "Instruction",
    "LOGIC",
    "LoopOp",
    "Lut16Op",
    "Lut32Op",
    "LutOp",
    "MOVE_LAYOUTS",
    "MaskGatherOp",
    "MaskMoveOp",
    "MemorySpace",
    "MemsetOp",
    "MessageOp",
    "MirrorOp",
    "MoveOp",
    "NUMERIC",
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
    "QUANTIZE_LIMITS",
    "REDUCE_AXES",
    "REDUCTIONS",
    "RELATIONS",
    "ROTATIONS",
    "RandGenOp",
    "RdmaGatherOp",
    "RdmaOp",
    "ReduceOp",
    "Requantize",
    "RotateOp",
    "RowCopyOp",
    "SEGMENT_KINDS",
    "ScalarAddOp",
    "ScalarMoveOp",
    "SegmentOp",
    "Source",
    "TARGET",
    "TargetAttr",
    "TdmaOp",
    "TdmaReshapeOp",
    "Timing",
    "TransposeOp",
    "UNARY_FUNCTIONS",
    "UNARY_WITH_ALPHA",
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
