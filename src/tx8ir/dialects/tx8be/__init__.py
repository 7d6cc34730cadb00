"""The backend graph dialect: what the TX8's kernels compute, before they become instructions.

Every op is exported as its class (`GemmOp`) and under its own text name (`Gemm`). Value types are `vtensor`, `none` and
`tuple`. Features are NHWC, convolution weights HWOI. All ops evaluate in the reference interpreter, so the graph
can be compared with its source after every backend pass.
"""

from __future__ import annotations

from tx8ir.core import Dialect

from . import elementwise, movement, neural, reduction, structure
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
from .elementwise import (
    BINARY,
    RELATIONS,
    UNARY,
    AbsOp,
    AddOp,
    BinaryOp,
    CastOp,
    CosOp,
    DivOp,
    EqOp,
    ExpOp,
    GeOp,
    GtOp,
    LeakyReluOp,
    LeOp,
    LogOp,
    LtOp,
    MaxOp,
    MinOp,
    MulOp,
    NegOp,
    NeOp,
    RecipOp,
    ReluOp,
    RsqrtOp,
    SelectOp,
    SigmoidOp,
    SinOp,
    SoftplusOp,
    SqrtOp,
    SquareOp,
    SubOp,
    TanhOp,
    UnaryOp,
)
from .movement import BroadcastOp, ChannelNormOp, ConcatenateOp, GatherOp, ReshapeOp, SliceOp, TransposeOp
from .neural import ConvOp, GemmOp
from .reduction import LayerNormOp, PoolOp, ReduceOp, SoftmaxOp, reduce_axes
from .structure import (
    ConstantOp,
    GroupOp,
    InputOp,
    LoadConstOp,
    LoadVarOp,
    NoneOp,
    OutputOp,
    ReturnOp,
    StoreVarOp,
    TupleOp,
)

Input, Output, Tuple, Constant, LoadConst = InputOp, OutputOp, TupleOp, ConstantOp, LoadConstOp
LoadVar, StoreVar, Group, Return = LoadVarOp, StoreVarOp, GroupOp, ReturnOp
Gemm, Conv, Softmax, LayerNorm, Reduce, Pool = GemmOp, ConvOp, SoftmaxOp, LayerNormOp, ReduceOp, PoolOp
Add, Sub, Mul, Div, Max, Min = AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp
Eq, Ne, Ge, Gt, Le, Lt = EqOp, NeOp, GeOp, GtOp, LeOp, LtOp
Abs, Recip, Square, Sqrt, Rsqrt, Neg, Log, Exp = AbsOp, RecipOp, SquareOp, SqrtOp, RsqrtOp, NegOp, LogOp, ExpOp
Sin, Cos, Tanh, Sigmoid, Relu, LeakyRelu, Softplus = SinOp, CosOp, TanhOp, SigmoidOp, ReluOp, LeakyReluOp, SoftplusOp
Select, Cast, ChannelNorm, Gather, Reshape, Transpose = (
    SelectOp,
    CastOp,
    ChannelNormOp,
    GatherOp,
    ReshapeOp,
    TransposeOp,
)
Slice, Concatenate, Broadcast = SliceOp, ConcatenateOp, BroadcastOp

DIALECT = Dialect(
    "tx8be",
    ops=[*structure.OPS, *neural.OPS, *elementwise.OPS, *reduction.OPS, *movement.OPS],
    attributes=list(ATTRIBUTES),
)
