"""The tensor dialect: operations named as in Paddle's `pd_op`.

Each operation is a class (`pd.ReluOp`), also exported under its own name (`pd.relu(x)`). Every one infers its result
types and evaluates itself through `Compute`. Element types of the operands must agree: nothing is promoted.
`ElementwiseUnaryOp`, `ElementwiseBinaryOp`, `ComparisonOp`, `ReductionOp` and `ConvolutionOp` are bases of families.
"""

from __future__ import annotations

from tx8ir.core import Dialect

from .attention import ScaledDotProductAttentionOp
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
from .conv import Conv2dOp, ConvolutionOp, DepthwiseConv2dOp, FusedConv2dAddActOp
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
from .enlarge import ConcatOp, ExpandOp, PadOp
from .fusion import FusionOp, FusionYieldOp
from .indexing import EmbeddingOp, GatherOp
from .inplace import (
    INPLACE_OPS,
    Abs_Op,
    Add_Op,
    Assign_Op,
    Cos_Op,
    Divide_Op,
    Erf_Op,
    Exp_Op,
    Fill_Op,
    FillOp,
    Floor_Op,
    Gelu_Op,
    InplaceOp,
    LeakyRelu_Op,
    Log_Op,
    Maximum_Op,
    Minimum_Op,
    Multiply_Op,
    Pow_Op,
    Reciprocal_Op,
    Relu_Op,
    Rsqrt_Op,
    Scale_Op,
    SetValue_Op,
    Sgd_Op,
    SgdOp,
    Sigmoid_Op,
    Sin_Op,
    Softmax_Op,
    Softplus_Op,
    Sqrt_Op,
    Square_Op,
    Subtract_Op,
    Tanh_Op,
    inplace_form,
)
from .loss import CrossEntropyWithSoftmaxGradOp, CrossEntropyWithSoftmaxOp
from .matmul import MatmulOp
from .norm import BatchNormOp, LayerNormOp, RmsNormOp, SoftmaxOp
from .norm_training import BatchNormTrainingOp
from .pool import Pool2dOp
from .reduce import MaxOp, MeanOp, MinOp, ReductionOp, SumOp
from .shape import (
    FlattenOp,
    ReshapeOp,
    SetValueOp,
    SliceOp,
    SplitOp,
    SqueezeOp,
    TransposeOp,
    UnsqueezeOp,
    View,
    ViewOp,
)

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
scaled_dot_product_attention = ScaledDotProductAttentionOp
conv2d = Conv2dOp
depthwise_conv2d = DepthwiseConv2dOp
fused_conv2d_add_act = FusedConv2dAddActOp
pool2d = Pool2dOp
batch_norm = BatchNormOp
batch_norm_training = BatchNormTrainingOp
layer_norm = LayerNormOp
rms_norm = RmsNormOp
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
pad = PadOp
embedding = EmbeddingOp
gather = GatherOp
full = FullOp
assign = AssignOp
feed = FeedOp
fetch = FetchOp
relu_ = Relu_Op
leaky_relu_ = LeakyRelu_Op
gelu_ = Gelu_Op
softplus_ = Softplus_Op
tanh_ = Tanh_Op
sigmoid_ = Sigmoid_Op
erf_ = Erf_Op
exp_ = Exp_Op
log_ = Log_Op
sqrt_ = Sqrt_Op
rsqrt_ = Rsqrt_Op
reciprocal_ = Reciprocal_Op
sin_ = Sin_Op
cos_ = Cos_Op
floor_ = Floor_Op
abs_ = Abs_Op
square_ = Square_Op
pow_ = Pow_Op
scale_ = Scale_Op
add_ = Add_Op
subtract_ = Subtract_Op
multiply_ = Multiply_Op
divide_ = Divide_Op
maximum_ = Maximum_Op
minimum_ = Minimum_Op
softmax_ = Softmax_Op
fill_ = Fill_Op
set_value_ = SetValue_Op
sgd_ = Sgd_Op
assign_ = Assign_Op
fill = FillOp
sgd = SgdOp
set_value = SetValueOp
cross_entropy_with_softmax = CrossEntropyWithSoftmaxOp
cross_entropy_with_softmax_grad = CrossEntropyWithSoftmaxGradOp
fusion = FusionOp
fusion_yield = FusionYieldOp
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
        ScaledDotProductAttentionOp,
        Conv2dOp,
        DepthwiseConv2dOp,
        FusedConv2dAddActOp,
        Pool2dOp,
        BatchNormOp,
        BatchNormTrainingOp,
        LayerNormOp,
        RmsNormOp,
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
        PadOp,
        EmbeddingOp,
        GatherOp,
        FullOp,
        AssignOp,
        FeedOp,
        FetchOp,
        SetValueOp,
        FillOp,
        SgdOp,
        CrossEntropyWithSoftmaxOp,
        CrossEntropyWithSoftmaxGradOp,
        FusionOp,
        FusionYieldOp,
        *INPLACE_OPS,
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
    "ViewOp",
    "InplaceOp",
    "inplace_form",
    "INPLACE_OPS",
    "SetValueOp",
    "set_value",
    "CrossEntropyWithSoftmaxOp",
    "CrossEntropyWithSoftmaxGradOp",
    "cross_entropy_with_softmax",
    "cross_entropy_with_softmax_grad",
    "FusionOp",
    "FusionYieldOp",
    "fusion",
    "fusion_yield",
    "Relu_Op",
    "LeakyRelu_Op",
    "Gelu_Op",
    "Softplus_Op",
    "Tanh_Op",
    "Sigmoid_Op",
    "Erf_Op",
    "Exp_Op",
    "Log_Op",
    "Sqrt_Op",
    "Rsqrt_Op",
    "Reciprocal_Op",
    "Sin_Op",
    "Cos_Op",
    "Floor_Op",
    "Abs_Op",
    "Square_Op",
    "Pow_Op",
    "Scale_Op",
    "Add_Op",
    "Subtract_Op",
    "Multiply_Op",
    "Divide_Op",
    "Maximum_Op",
    "Minimum_Op",
    "Softmax_Op",
    "Fill_Op",
    "SetValue_Op",
    "Sgd_Op",
    "Assign_Op",
    "FillOp",
    "SgdOp",
    "relu_",
    "leaky_relu_",
    "gelu_",
    "softplus_",
    "tanh_",
    "sigmoid_",
    "erf_",
    "exp_",
    "log_",
    "sqrt_",
    "rsqrt_",
    "reciprocal_",
    "sin_",
    "cos_",
    "floor_",
    "abs_",
    "square_",
    "pow_",
    "scale_",
    "add_",
    "subtract_",
    "multiply_",
    "divide_",
    "maximum_",
    "minimum_",
    "softmax_",
    "fill_",
    "set_value_",
    "sgd_",
    "assign_",
    "fill",
    "sgd",
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
    "ScaledDotProductAttentionOp",
    "Conv2dOp",
    "DepthwiseConv2dOp",
    "FusedConv2dAddActOp",
    "Pool2dOp",
    "BatchNormOp",
    "BatchNormTrainingOp",
    "LayerNormOp",
    "RmsNormOp",
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
    "PadOp",
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
    "scaled_dot_product_attention",
    "conv2d",
    "depthwise_conv2d",
    "fused_conv2d_add_act",
    "pool2d",
    "batch_norm",
    "batch_norm_training",
    "layer_norm",
    "rms_norm",
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
    "pad",
    "embedding",
    "gather",
    "full",
    "assign",
    "feed",
    "fetch",
]
