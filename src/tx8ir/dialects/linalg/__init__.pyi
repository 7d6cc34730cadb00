# Written by `python -m tx8ir.core.opdef.stubs tx8ir.dialects.linalg` from the operations. Do not edit.
# ruff: noqa: I001, RUF100

from tx8ir.core import Dialect

from .elementwise import (
    AbsOp,
    AddOp,
    CeilOp,
    CopyOp,
    DivOp,
    DivUnsignedOp,
    ErfOp,
    ExpOp,
    FloorOp,
    LogOp,
    MaxOp,
    MinOp,
    MulOp,
    NegFOp,
    PowFOp,
    ReciprocalOp,
    RoundOp,
    RsqrtOp,
    SelectOp,
    SqrtOp,
    SquareOp,
    SubOp,
    TanhOp,
)
from .named import (
    BatchMatmulOp,
    BroadcastOp,
    Conv2DNchwFchwOp,
    FillOp,
    MatmulOp,
    ReduceOp,
    TransposeOp,
)
from .structured import (
    GenericOp,
    IndexOp,
    IteratorType,
    YieldOp,
)

DIALECT: Dialect

generic = GenericOp
index = IndexOp
add = AddOp
sub = SubOp
mul = MulOp
div = DivOp
div_unsigned = DivUnsignedOp
max = MaxOp
min = MinOp
powf = PowFOp
select = SelectOp
copy = CopyOp
square = SquareOp
reciprocal = ReciprocalOp
exp = ExpOp
log = LogOp
abs = AbsOp
ceil = CeilOp
floor = FloorOp
round = RoundOp
negf = NegFOp
sqrt = SqrtOp
rsqrt = RsqrtOp
tanh = TanhOp
erf = ErfOp
fill = FillOp
matmul = MatmulOp
batch_matmul = BatchMatmulOp
conv_2d_nchw_fchw = Conv2DNchwFchwOp
transpose = TransposeOp
broadcast = BroadcastOp
reduce = ReduceOp

__all__ = [
    "AbsOp",
    "AddOp",
    "BatchMatmulOp",
    "BroadcastOp",
    "CeilOp",
    "Conv2DNchwFchwOp",
    "CopyOp",
    "DIALECT",
    "DivOp",
    "DivUnsignedOp",
    "ErfOp",
    "ExpOp",
    "FillOp",
    "FloorOp",
    "GenericOp",
    "IndexOp",
    "IteratorType",
    "LogOp",
    "MatmulOp",
    "MaxOp",
    "MinOp",
    "MulOp",
    "NegFOp",
    "PowFOp",
    "ReciprocalOp",
    "ReduceOp",
    "RoundOp",
    "RsqrtOp",
    "SelectOp",
    "SqrtOp",
    "SquareOp",
    "SubOp",
    "TanhOp",
    "TransposeOp",
    "YieldOp",
    "abs",
    "add",
    "batch_matmul",
    "broadcast",
    "ceil",
    "conv_2d_nchw_fchw",
    "copy",
    "div",
    "div_unsigned",
    "erf",
    "exp",
    "fill",
    "floor",
    "generic",
    "index",
    "log",
    "matmul",
    "max",
    "min",
    "mul",
    "negf",
    "powf",
    "reciprocal",
    "reduce",
    "round",
    "rsqrt",
    "select",
    "sqrt",
    "square",
    "sub",
    "tanh",
    "transpose",
]
