"""The tensor dialect: operations named as in Paddle's `pd_op`.

Each operation is a class (`pd.ReluOp`), also exported under its own name (`pd.relu(x)`). Every one infers its result
types and evaluates itself through `Compute`. Element types of the operands must agree: nothing is promoted.
`ElementwiseUnaryOp`, `ElementwiseBinaryOp`, `ComparisonOp`, `ReductionOp` and `ConvolutionOp` are bases of families.
"""

from __future__ import annotations

from tx8ir.core import Dialect

from .comparison import (
    ComparisonOp,
    EqualOp,
    GreaterEqualOp,
    GreaterThanOp,
    LessEqualOp,
    LessThanOp,
    LogicalAndOp,
    LogicalOrOp,
    NotEqualOp,
    WhereOp,
)
from .conv import Conv2dOp, ConvolutionOp, DepthwiseConv2dOp
from .creation import AssignOp, FeedOp, FetchOp, FullOp
from .elementwise_binary import (
    AddOp,
    DivideOp,
    ElementwiseBinaryOp,
    ElementwisePowOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    SubtractOp,
)
from .elementwise_unary import (
    AbsOp,
    CastOp,
    CosOp,
    ElementwiseUnaryOp,
    ErfOp,
    ExpOp,
    FloorOp,
    GeluOp,
    IsnanOp,
    LeakyReluOp,
    LogicalNotOp,
    LogOp,
    PowOp,
    ReciprocalOp,
    ReluOp,
    RsqrtOp,
    ScaleOp,
    SigmoidOp,
    SinOp,
    SoftplusOp,
    SqrtOp,
    SquareOp,
    TanhOp,
)
from .indexing import EmbeddingOp, GatherOp
from .matmul import MatmulOp
from .norm import BatchNormOp, LayerNormOp, SoftmaxOp
from .pool import Pool2dOp
from .reduce import MaxOp, MeanOp, MinOp, ReductionOp, SumOp
from .shape import ConcatOp, ExpandOp, FlattenOp, ReshapeOp, SliceOp, SplitOp, SqueezeOp, TransposeOp, UnsqueezeOp, View

relu = ReluOp
leaky_relu = LeakyReluOp
gelu = GeluOp
softplus = SoftplusOp
tanh = TanhOp
sigmoid = SigmoidOp
erf = ErfOp
exp = ExpOp
log = LogOp
sqrt = SqrtOp
rsqrt = RsqrtOp
reciprocal = ReciprocalOp
sin = SinOp
cos = CosOp
floor = FloorOp
abs = AbsOp
square = SquareOp
pow = PowOp
scale = ScaleOp
isnan = IsnanOp
logical_not = LogicalNotOp
cast = CastOp
add = AddOp
subtract = SubtractOp
multiply = MultiplyOp
divide = DivideOp
maximum = MaximumOp
minimum = MinimumOp
elementwise_pow = ElementwisePowOp
equal = EqualOp
not_equal = NotEqualOp
greater_than = GreaterThanOp
greater_equal = GreaterEqualOp
less_than = LessThanOp
less_equal = LessEqualOp
logical_and = LogicalAndOp
logical_or = LogicalOrOp
where = WhereOp
matmul = MatmulOp
conv2d = Conv2dOp
depthwise_conv2d = DepthwiseConv2dOp
pool2d = Pool2dOp
batch_norm = BatchNormOp
layer_norm = LayerNormOp
softmax = SoftmaxOp
sum = SumOp
mean = MeanOp
max = MaxOp
min = MinOp
reshape = ReshapeOp
flatten = FlattenOp
squeeze = SqueezeOp
unsqueeze = UnsqueezeOp
transpose = TransposeOp
slice = SliceOp
split = SplitOp
concat = ConcatOp
expand = ExpandOp
embedding = EmbeddingOp
gather = GatherOp
full = FullOp
assign = AssignOp
feed = FeedOp
fetch = FetchOp

DIALECT = Dialect(
    "pd",
    ops=[
        ReluOp,
        LeakyReluOp,
        GeluOp,
        SoftplusOp,
        TanhOp,
        SigmoidOp,
        ErfOp,
        ExpOp,
        LogOp,
        SqrtOp,
        RsqrtOp,
        ReciprocalOp,
        SinOp,
        CosOp,
        FloorOp,
        AbsOp,
        SquareOp,
        PowOp,
        ScaleOp,
        IsnanOp,
        LogicalNotOp,
        CastOp,
        AddOp,
        SubtractOp,
        MultiplyOp,
        DivideOp,
        MaximumOp,
        MinimumOp,
        ElementwisePowOp,
        EqualOp,
        NotEqualOp,
        GreaterThanOp,
        GreaterEqualOp,
        LessThanOp,
        LessEqualOp,
        LogicalAndOp,
        LogicalOrOp,
        WhereOp,
        MatmulOp,
        Conv2dOp,
        DepthwiseConv2dOp,
        Pool2dOp,
        BatchNormOp,
        LayerNormOp,
        SoftmaxOp,
        SumOp,
        MeanOp,
        MaxOp,
        MinOp,
        ReshapeOp,
        FlattenOp,
        SqueezeOp,
        UnsqueezeOp,
        TransposeOp,
        SliceOp,
        SplitOp,
        ConcatOp,
        ExpandOp,
        EmbeddingOp,
        GatherOp,
        FullOp,
        AssignOp,
        FeedOp,
        FetchOp,
    ],
)
"""The dialect, with all its operations."""

__all__ = [
    "DIALECT",
    "ReductionOp",
    "ElementwiseUnaryOp",
    "ElementwiseBinaryOp",
    "ConvolutionOp",
    "ComparisonOp",
    "View",
    "ReluOp",
    "LeakyReluOp",
    "GeluOp",
    "SoftplusOp",
    "TanhOp",
    "SigmoidOp",
    "ErfOp",
    "ExpOp",
    "LogOp",
    "SqrtOp",
    "RsqrtOp",
    "ReciprocalOp",
    "SinOp",
    "CosOp",
    "FloorOp",
    "AbsOp",
    "SquareOp",
    "PowOp",
    "ScaleOp",
    "IsnanOp",
    "LogicalNotOp",
    "CastOp",
    "AddOp",
    "SubtractOp",
    "MultiplyOp",
    "DivideOp",
    "MaximumOp",
    "MinimumOp",
    "ElementwisePowOp",
    "EqualOp",
    "NotEqualOp",
    "GreaterThanOp",
    "GreaterEqualOp",
    "LessThanOp",
    "LessEqualOp",
    "LogicalAndOp",
    "LogicalOrOp",
    "WhereOp",
    "MatmulOp",
    "Conv2dOp",
    "DepthwiseConv2dOp",
    "Pool2dOp",
    "BatchNormOp",
    "LayerNormOp",
    "SoftmaxOp",
    "SumOp",
    "MeanOp",
    "MaxOp",
    "MinOp",
    "ReshapeOp",
    "FlattenOp",
    "SqueezeOp",
    "UnsqueezeOp",
    "TransposeOp",
    "SliceOp",
    "SplitOp",
    "ConcatOp",
    "ExpandOp",
    "EmbeddingOp",
    "GatherOp",
    "FullOp",
    "AssignOp",
    "FeedOp",
    "FetchOp",
    "relu",
    "leaky_relu",
    "gelu",
    "softplus",
    "tanh",
    "sigmoid",
    "erf",
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "sin",
    "cos",
    "floor",
    "abs",
    "square",
    "pow",
    "scale",
    "isnan",
    "logical_not",
    "cast",
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "elementwise_pow",
    "equal",
    "not_equal",
    "greater_than",
    "greater_equal",
    "less_than",
    "less_equal",
    "logical_and",
    "logical_or",
    "where",
    "matmul",
    "conv2d",
    "depthwise_conv2d",
    "pool2d",
    "batch_norm",
    "layer_norm",
    "softmax",
    "sum",
    "mean",
    "max",
    "min",
    "reshape",
    "flatten",
    "squeeze",
    "unsqueeze",
    "transpose",
    "slice",
    "split",
    "concat",
    "expand",
    "embedding",
    "gather",
    "full",
    "assign",
    "feed",
    "fetch",
]
