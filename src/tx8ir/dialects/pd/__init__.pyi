# Written by `python -m tx8ir.core.opdef.stubs tx8ir.dialects.pd` from the operations. Do not edit.
# ruff: noqa: I001, RUF100

from collections.abc import Sequence

from tx8ir.core import Dialect, ElementLike, NumericOperand, Op, Operand, OperandLike, Operation, Result, Type, Value

from .attention import (
    ScaledDotProductAttentionOp,
)
from .bitcast import (
    BitcastOp,
)
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
from .conv import (
    Conv2dOp,
    ConvolutionOp,
    DepthwiseConv2dOp,
    FusedConv2dAddActOp,
)
from .creation import (
    AssignOp,
    FeedOp,
    FetchOp,
    FullOp,
)
from .cumulative import (
    CumprodOp,
    CumsumOp,
)
from .declaration import (
    OnnxOperator,
)
from .determinant import (
    DetOp,
)
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
    LogOp,
    LogicalNotOp,
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
from .enlarge import (
    ConcatOp,
    ExpandOp,
    PadOp,
)
from .fusion import (
    FusionOp,
    FusionYieldOp,
)
from .indexing import (
    EmbeddingOp,
    GatherOp,
)
from .inplace import (
    Assign_Op,
    FillOp,
    InplaceOp,
    SgdOp,
    inplace_form,
    inplace_forms,
)
from .integer_arithmetic import (
    BitwiseAndOp,
    BitwiseLeftShiftOp,
    BitwiseOrOp,
    BitwiseRightShiftOp,
    BitwiseXorOp,
    FmodOp,
    RemainderOp,
)
from .integral import (
    RoundOp,
    SignOp,
)
from .loss import (
    CrossEntropyWithSoftmaxGradOp,
    CrossEntropyWithSoftmaxOp,
)
from .matmul import (
    MatmulOp,
)
from .norm import (
    BatchNormOp,
    LayerNormOp,
    RmsNormOp,
    SoftmaxOp,
)
from .norm_training import (
    BatchNormTrainingOp,
)
from .pool import (
    Pool2dOp,
)
from .reduce import (
    MaxOp,
    MeanOp,
    MinOp,
    ProdOp,
    ReductionOp,
    SumOp,
)
from .scatter import (
    ScatterOp,
)
from .search import (
    ArgmaxOp,
    ArgminOp,
    TopkOp,
)
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
from .tensor import (
    TensorOperators,
)
from .trigonometry import (
    AcosOp,
    AcoshOp,
    AsinOp,
    AsinhOp,
    AtanOp,
    AtanhOp,
    CoshOp,
    SinhOp,
    TanOp,
)

INPLACE_OPS: tuple[type[Op], ...]
DIALECT: Dialect

class Relu_Op(InplaceOp):
    x: Operand
    out: Result
    def __init__(self, x: Value | Operation, *, out: Type | None = None) -> None: ...

class LeakyRelu_Op(InplaceOp):
    x: Operand
    negative_slope: float
    out: Result
    def __init__(self, x: Value | Operation, *, negative_slope: float = 0.02, out: Type | None = None) -> None: ...

class Gelu_Op(InplaceOp):
    x: Operand
    approximate: bool
    out: Result
    def __init__(self, x: Value | Operation, *, approximate: bool = False, out: Type | None = None) -> None: ...

class Softplus_Op(InplaceOp):
    x: Operand
    beta: float
    threshold: float
    out: Result
    def __init__(
        self,
        x: Value | Operation,
        *,
        beta: float = 1.0,
        threshold: float = 20.0,
        out: Type | None = None,
    ) -> None: ...

class Tanh_Op(InplaceOp):
    x: Operand
    out: Result
    def __init__(self, x: Value | Operation, *, out: Type | None = None) -> None: ...

class Sigmoid_Op(InplaceOp):
    x: Operand
    out: Result
    def __init__(self, x: Value | Operation, *, out: Type | None = None) -> None: ...

class Erf_Op(InplaceOp):
    x: Operand
    out: Result
    def __init__(self, x: Value | Operation, *, out: Type | None = None) -> None: ...

class Exp_Op(InplaceOp):
    x: Operand
    out: Result
    def __init__(self, x: Value | Operation, *, out: Type | None = None) -> None: ...

class Log_Op(InplaceOp):
    x: Operand
    out: Result
    def __init__(self, x: Value | Operation, *, out: Type | None = None) -> None: ...

class Sqrt_Op(InplaceOp):
    x: Operand
    out: Result
    def __init__(self, x: Value | Operation, *, out: Type | None = None) -> None: ...

class Rsqrt_Op(InplaceOp):
    x: Operand
    out: Result
    def __init__(self, x: Value | Operation, *, out: Type | None = None) -> None: ...

class Reciprocal_Op(InplaceOp):
    x: Operand
    out: Result
    def __init__(self, x: Value | Operation, *, out: Type | None = None) -> None: ...

class Sin_Op(InplaceOp):
    x: Operand
    out: Result
    def __init__(self, x: Value | Operation, *, out: Type | None = None) -> None: ...

class Cos_Op(InplaceOp):
    x: Operand
    out: Result
    def __init__(self, x: Value | Operation, *, out: Type | None = None) -> None: ...

class Floor_Op(InplaceOp):
    x: Operand
    out: Result
    def __init__(self, x: Value | Operation, *, out: Type | None = None) -> None: ...

class Abs_Op(InplaceOp):
    x: Operand
    out: Result
    def __init__(self, x: Value | Operation, *, out: Type | None = None) -> None: ...

class Square_Op(InplaceOp):
    x: Operand
    out: Result
    def __init__(self, x: Value | Operation, *, out: Type | None = None) -> None: ...

class Pow_Op(InplaceOp):
    x: Operand
    y: float
    out: Result
    def __init__(self, x: Value | Operation, *, y: float = 1.0, out: Type | None = None) -> None: ...

class Scale_Op(InplaceOp):
    x: Operand
    scale: float
    bias: float
    bias_after_scale: bool
    out: Result
    def __init__(
        self,
        x: Value | Operation,
        *,
        scale: float = 1.0,
        bias: float = 0.0,
        bias_after_scale: bool = True,
        out: Type | None = None,
    ) -> None: ...

class Add_Op(InplaceOp):
    x: NumericOperand
    y: NumericOperand
    out: Result
    def __init__(self, x: OperandLike, y: OperandLike, *, out: Type | None = None) -> None: ...

class Subtract_Op(InplaceOp):
    x: NumericOperand
    y: NumericOperand
    out: Result
    def __init__(self, x: OperandLike, y: OperandLike, *, out: Type | None = None) -> None: ...

class Multiply_Op(InplaceOp):
    x: NumericOperand
    y: NumericOperand
    out: Result
    def __init__(self, x: OperandLike, y: OperandLike, *, out: Type | None = None) -> None: ...

class Divide_Op(InplaceOp):
    x: NumericOperand
    y: NumericOperand
    out: Result
    def __init__(self, x: OperandLike, y: OperandLike, *, out: Type | None = None) -> None: ...

class Maximum_Op(InplaceOp):
    x: NumericOperand
    y: NumericOperand
    out: Result
    def __init__(self, x: OperandLike, y: OperandLike, *, out: Type | None = None) -> None: ...

class Minimum_Op(InplaceOp):
    x: NumericOperand
    y: NumericOperand
    out: Result
    def __init__(self, x: OperandLike, y: OperandLike, *, out: Type | None = None) -> None: ...

class Softmax_Op(InplaceOp):
    x: Operand
    axis: int
    out: Result
    def __init__(self, x: Value | Operation, *, axis: int = -1, out: Type | None = None) -> None: ...

class SetValue_Op(InplaceOp):
    x: Operand
    value: Operand
    axes: tuple[int, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    decrease_axis: tuple[int, ...]
    out: Result
    def __init__(
        self,
        x: Value | Operation,
        value: Value | Operation,
        *,
        axes: tuple[int, ...],
        starts: tuple[int, ...],
        ends: tuple[int, ...],
        decrease_axis: tuple[int, ...] = (),
        out: Type | None = None,
    ) -> None: ...

class Fill_Op(InplaceOp):
    x: Operand
    value: float
    out: Result
    def __init__(self, x: Value | Operation, *, value: float = 0.0, out: Type | None = None) -> None: ...

class Sgd_Op(InplaceOp):
    param: Operand
    learning_rate: Operand
    grad: Operand
    out: Result
    def __init__(
        self,
        param: Value | Operation,
        learning_rate: Value | Operation,
        grad: Value | Operation,
        *,
        out: Type | None = None,
    ) -> None: ...

class Tensor(TensorOperators):
    def relu(self, *, out: Type | None = None) -> Tensor: ...
    def leaky_relu(self, negative_slope: float = 0.02, *, out: Type | None = None) -> Tensor: ...
    def gelu(self, approximate: bool = False, *, out: Type | None = None) -> Tensor: ...
    def softplus(self, beta: float = 1.0, threshold: float = 20.0, *, out: Type | None = None) -> Tensor: ...
    def tanh(self, *, out: Type | None = None) -> Tensor: ...
    def sigmoid(self, *, out: Type | None = None) -> Tensor: ...
    def erf(self, *, out: Type | None = None) -> Tensor: ...
    def exp(self, *, out: Type | None = None) -> Tensor: ...
    def log(self, *, out: Type | None = None) -> Tensor: ...
    def sqrt(self, *, out: Type | None = None) -> Tensor: ...
    def rsqrt(self, *, out: Type | None = None) -> Tensor: ...
    def reciprocal(self, *, out: Type | None = None) -> Tensor: ...
    def sin(self, *, out: Type | None = None) -> Tensor: ...
    def cos(self, *, out: Type | None = None) -> Tensor: ...
    def floor(self, *, out: Type | None = None) -> Tensor: ...
    def abs(self, *, out: Type | None = None) -> Tensor: ...
    def square(self, *, out: Type | None = None) -> Tensor: ...
    def pow(self, y: float = 1.0, *, out: Type | None = None) -> Tensor: ...
    def scale(
        self,
        scale: float = 1.0,
        bias: float = 0.0,
        bias_after_scale: bool = True,
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def isnan(self, *, out: Type | None = None) -> Tensor: ...
    def logical_not(self, *, out: Type | None = None) -> Tensor: ...
    def cast(self, dtype: ElementLike = ..., *, out: Type | None = None) -> Tensor: ...
    def add(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def subtract(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def multiply(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def divide(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def maximum(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def minimum(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def elementwise_pow(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def equal(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def not_equal(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def greater_than(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def greater_equal(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def less_than(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def less_equal(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def logical_and(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def logical_or(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def where(self, x: OperandLike, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def matmul(
        self,
        y: OperandLike,
        transpose_x: bool = False,
        transpose_y: bool = False,
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def scaled_dot_product_attention(
        self,
        key: OperandLike,
        value: OperandLike,
        attn_mask: OperandLike | None = None,
        scale: float | None = None,
        is_causal: bool = False,
        masked_score: float = ...,
        nan_to_zero: bool = False,
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def conv2d(
        self,
        filter: OperandLike,
        bias: OperandLike | None = None,
        strides: int | tuple[int, ...] = ...,
        paddings: int | tuple[int, ...] = ...,
        padding_algorithm: str = "EXPLICIT",
        dilations: int | tuple[int, ...] = ...,
        groups: int = 1,
        data_format: str = "NCHW",
        filter_format: str = "OIHW",
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def fused_conv2d_add_act(
        self,
        filter: OperandLike,
        bias: OperandLike | None = None,
        strides: int | tuple[int, ...] = ...,
        paddings: int | tuple[int, ...] = ...,
        padding_algorithm: str = "EXPLICIT",
        dilations: int | tuple[int, ...] = ...,
        groups: int = 1,
        data_format: str = "NCHW",
        filter_format: str = "OIHW",
        activation: str = "relu",
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def depthwise_conv2d(
        self,
        filter: OperandLike,
        bias: OperandLike | None = None,
        strides: int | tuple[int, ...] = ...,
        paddings: int | tuple[int, ...] = ...,
        padding_algorithm: str = "EXPLICIT",
        dilations: int | tuple[int, ...] = ...,
        groups: int = 1,
        data_format: str = "NCHW",
        filter_format: str = "OIHW",
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def pool2d(
        self,
        kernel_size: int | tuple[int, ...],
        strides: int | tuple[int, ...] = ...,
        paddings: int | tuple[int, ...] = ...,
        ceil_mode: bool = False,
        exclusive: bool = True,
        data_format: str = "NCHW",
        *,
        pooling_type: str,
        global_pooling: bool = False,
        adaptive: bool = False,
        padding_algorithm: str = "EXPLICIT",
        out: Type | None = None,
    ) -> Tensor: ...
    def batch_norm(
        self,
        mean: OperandLike,
        variance: OperandLike,
        scale: OperandLike | None = None,
        bias: OperandLike | None = None,
        is_test: bool = True,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        data_format: str = "NCHW",
        use_global_stats: bool = False,
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def layer_norm(
        self,
        scale: OperandLike | None = None,
        bias: OperandLike | None = None,
        epsilon: float = 1e-05,
        begin_norm_axis: int = 1,
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def rms_norm(
        self,
        norm_weight: OperandLike | None = None,
        epsilon: float = 1e-06,
        begin_norm_axis: int = -1,
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def softmax(self, axis: int = -1, *, out: Type | None = None) -> Tensor: ...
    def batch_norm_training(
        self,
        mean: OperandLike,
        variance: OperandLike,
        scale: OperandLike | None = None,
        bias: OperandLike | None = None,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        data_format: str = "NCHW",
        *,
        out: Type | None = None,
        mean_out: Type | None = None,
        variance_out: Type | None = None,
        saved_mean: Type | None = None,
        saved_variance: Type | None = None,
    ) -> tuple[Tensor, ...]: ...
    def sum(
        self,
        axis: int | tuple[int, ...] = (),
        keepdim: bool = False,
        dtype: ElementLike | None = None,
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def mean(self, axis: int | tuple[int, ...] = (), keepdim: bool = False, *, out: Type | None = None) -> Tensor: ...
    def prod(self, axis: int | tuple[int, ...] = (), keepdim: bool = False, *, out: Type | None = None) -> Tensor: ...
    def max(self, axis: int | tuple[int, ...] = (), keepdim: bool = False, *, out: Type | None = None) -> Tensor: ...
    def min(self, axis: int | tuple[int, ...] = (), keepdim: bool = False, *, out: Type | None = None) -> Tensor: ...
    def flatten(self, start_axis: int = 1, stop_axis: int = 1, *, out: Type | None = None) -> Tensor: ...
    def squeeze(self, axis: int | tuple[int, ...] = (), *, out: Type | None = None) -> Tensor: ...
    def unsqueeze(self, axis: int | tuple[int, ...], *, out: Type | None = None) -> Tensor: ...
    def slice(
        self,
        axes: int | tuple[int, ...],
        starts: int | tuple[int, ...],
        ends: int | tuple[int, ...],
        decrease_axis: int | tuple[int, ...] = (),
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def set_value(
        self,
        value: OperandLike,
        axes: int | tuple[int, ...],
        starts: int | tuple[int, ...],
        ends: int | tuple[int, ...],
        decrease_axis: int | tuple[int, ...] = (),
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def split(
        self,
        sections: int | tuple[int, ...],
        axis: int = 0,
        *,
        outs: Sequence[Type] | None = None,
    ) -> tuple[Tensor, ...]: ...
    def expand(self, shape: int | tuple[int, ...], *, out: Type | None = None) -> Tensor: ...
    def pad(self, paddings: int | tuple[int, ...], pad_value: float = 0.0, *, out: Type | None = None) -> Tensor: ...
    def embedding(self, weight: OperandLike, padding_idx: int = -1, *, out: Type | None = None) -> Tensor: ...
    def gather(self, index: OperandLike, axis: int = 0, *, out: Type | None = None) -> Tensor: ...
    def assign(self, *, out: Type | None = None) -> Tensor: ...
    def fill(self, value: float = 0.0, *, out: Type | None = None) -> Tensor: ...
    def sgd(self, learning_rate: OperandLike, grad: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def cross_entropy_with_softmax(
        self,
        label: OperandLike,
        soft_label: bool = False,
        ignore_index: int = -100,
        axis: int = -1,
        *,
        softmax: Type | None = None,
        loss: Type | None = None,
    ) -> tuple[Tensor, ...]: ...
    def cross_entropy_with_softmax_grad(
        self,
        softmax: OperandLike,
        loss_grad: OperandLike,
        soft_label: bool = False,
        ignore_index: int = -100,
        axis: int = -1,
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def tan(self, *, out: Type | None = None) -> Tensor: ...
    def asin(self, *, out: Type | None = None) -> Tensor: ...
    def acos(self, *, out: Type | None = None) -> Tensor: ...
    def atan(self, *, out: Type | None = None) -> Tensor: ...
    def sinh(self, *, out: Type | None = None) -> Tensor: ...
    def cosh(self, *, out: Type | None = None) -> Tensor: ...
    def asinh(self, *, out: Type | None = None) -> Tensor: ...
    def acosh(self, *, out: Type | None = None) -> Tensor: ...
    def atanh(self, *, out: Type | None = None) -> Tensor: ...
    def round(self, *, out: Type | None = None) -> Tensor: ...
    def sign(self, *, out: Type | None = None) -> Tensor: ...
    def remainder(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def fmod(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def bitwise_and(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def bitwise_or(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def bitwise_xor(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def bitwise_left_shift(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def bitwise_right_shift(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def cumsum(
        self,
        axis: int = -1,
        exclusive: bool = False,
        reverse: bool = False,
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def cumprod(
        self,
        axis: int = -1,
        exclusive: bool = False,
        reverse: bool = False,
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def argmax(
        self,
        axis: int = 0,
        keepdims: bool = False,
        dtype: ElementLike = ...,
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def argmin(
        self,
        axis: int = 0,
        keepdims: bool = False,
        dtype: ElementLike = ...,
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def topk(
        self,
        k: int = 1,
        axis: int = -1,
        largest: bool = True,
        dtype: ElementLike = ...,
        *,
        out: Type | None = None,
        indices: Type | None = None,
    ) -> tuple[Tensor, ...]: ...
    def scatter(
        self,
        index: OperandLike,
        updates: OperandLike,
        reduce: str = "assign",
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def det(self, *, out: Type | None = None) -> Tensor: ...
    def bitcast(self, dtype: ElementLike = ..., *, out: Type | None = None) -> Tensor: ...
    def relu_(self, *, out: Type | None = None) -> Tensor: ...
    def leaky_relu_(self, negative_slope: float = 0.02, *, out: Type | None = None) -> Tensor: ...
    def gelu_(self, approximate: bool = False, *, out: Type | None = None) -> Tensor: ...
    def softplus_(self, beta: float = 1.0, threshold: float = 20.0, *, out: Type | None = None) -> Tensor: ...
    def tanh_(self, *, out: Type | None = None) -> Tensor: ...
    def sigmoid_(self, *, out: Type | None = None) -> Tensor: ...
    def erf_(self, *, out: Type | None = None) -> Tensor: ...
    def exp_(self, *, out: Type | None = None) -> Tensor: ...
    def log_(self, *, out: Type | None = None) -> Tensor: ...
    def sqrt_(self, *, out: Type | None = None) -> Tensor: ...
    def rsqrt_(self, *, out: Type | None = None) -> Tensor: ...
    def reciprocal_(self, *, out: Type | None = None) -> Tensor: ...
    def sin_(self, *, out: Type | None = None) -> Tensor: ...
    def cos_(self, *, out: Type | None = None) -> Tensor: ...
    def floor_(self, *, out: Type | None = None) -> Tensor: ...
    def abs_(self, *, out: Type | None = None) -> Tensor: ...
    def square_(self, *, out: Type | None = None) -> Tensor: ...
    def pow_(self, y: float = 1.0, *, out: Type | None = None) -> Tensor: ...
    def scale_(
        self,
        scale: float = 1.0,
        bias: float = 0.0,
        bias_after_scale: bool = True,
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def add_(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def subtract_(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def multiply_(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def divide_(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def maximum_(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def minimum_(self, y: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def softmax_(self, axis: int = -1, *, out: Type | None = None) -> Tensor: ...
    def set_value_(
        self,
        value: OperandLike,
        axes: int | tuple[int, ...],
        starts: int | tuple[int, ...],
        ends: int | tuple[int, ...],
        decrease_axis: int | tuple[int, ...] = (),
        *,
        out: Type | None = None,
    ) -> Tensor: ...
    def fill_(self, value: float = 0.0, *, out: Type | None = None) -> Tensor: ...
    def sgd_(self, learning_rate: OperandLike, grad: OperandLike, *, out: Type | None = None) -> Tensor: ...
    def assign_(self, value: OperandLike, *, out: Type | None = None) -> Tensor: ...

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
fused_conv2d_add_act = FusedConv2dAddActOp
depthwise_conv2d = DepthwiseConv2dOp
pool2d = Pool2dOp
batch_norm = BatchNormOp
layer_norm = LayerNormOp
rms_norm = RmsNormOp
softmax = SoftmaxOp
batch_norm_training = BatchNormTrainingOp
sum = SumOp
mean = MeanOp
prod = ProdOp
max = MaxOp
min = MinOp
reshape = ReshapeOp
flatten = FlattenOp
squeeze = SqueezeOp
unsqueeze = UnsqueezeOp
transpose = TransposeOp
slice = SliceOp
set_value = SetValueOp
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
fill = FillOp
sgd = SgdOp
cross_entropy_with_softmax = CrossEntropyWithSoftmaxOp
cross_entropy_with_softmax_grad = CrossEntropyWithSoftmaxGradOp
fusion = FusionOp
fusion_yield = FusionYieldOp
tan = TanOp
asin = AsinOp
acos = AcosOp
atan = AtanOp
sinh = SinhOp
cosh = CoshOp
asinh = AsinhOp
acosh = AcoshOp
atanh = AtanhOp
round = RoundOp
sign = SignOp
remainder = RemainderOp
fmod = FmodOp
bitwise_and = BitwiseAndOp
bitwise_or = BitwiseOrOp
bitwise_xor = BitwiseXorOp
bitwise_left_shift = BitwiseLeftShiftOp
bitwise_right_shift = BitwiseRightShiftOp
cumsum = CumsumOp
cumprod = CumprodOp
argmax = ArgmaxOp
argmin = ArgminOp
topk = TopkOp
scatter = ScatterOp
det = DetOp
bitcast = BitcastOp
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
set_value_ = SetValue_Op
fill_ = Fill_Op
sgd_ = Sgd_Op
assign_ = Assign_Op

__all__ = [
    "AbsOp",
    "Abs_Op",
    "AcosOp",
    "AcoshOp",
    "AddOp",
    "Add_Op",
    "ArgmaxOp",
    "ArgminOp",
    "AsinOp",
    "AsinhOp",
    "AssignOp",
    "Assign_Op",
    "AtanOp",
    "AtanhOp",
    "BatchNormOp",
    "BatchNormTrainingOp",
    "BitcastOp",
    "BitwiseAndOp",
    "BitwiseLeftShiftOp",
    "BitwiseOrOp",
    "BitwiseRightShiftOp",
    "BitwiseXorOp",
    "CastOp",
    "ComparisonOp",
    "ConcatOp",
    "Conv2dOp",
    "ConvolutionOp",
    "CosOp",
    "Cos_Op",
    "CoshOp",
    "CrossEntropyWithSoftmaxGradOp",
    "CrossEntropyWithSoftmaxOp",
    "CumprodOp",
    "CumsumOp",
    "DIALECT",
    "DepthwiseConv2dOp",
    "DetOp",
    "DivideOp",
    "Divide_Op",
    "ElementwiseBinaryOp",
    "ElementwisePowOp",
    "ElementwiseUnaryOp",
    "EmbeddingOp",
    "EqualOp",
    "ErfOp",
    "Erf_Op",
    "ExpOp",
    "Exp_Op",
    "ExpandOp",
    "FeedOp",
    "FetchOp",
    "FillOp",
    "Fill_Op",
    "FlattenOp",
    "FloorOp",
    "Floor_Op",
    "FmodOp",
    "FullOp",
    "FusedConv2dAddActOp",
    "FusionOp",
    "FusionYieldOp",
    "GatherOp",
    "GeluOp",
    "Gelu_Op",
    "GreaterEqualOp",
    "GreaterThanOp",
    "INPLACE_OPS",
    "InplaceOp",
    "IsnanOp",
    "LayerNormOp",
    "LeakyReluOp",
    "LeakyRelu_Op",
    "LessEqualOp",
    "LessThanOp",
    "LogOp",
    "Log_Op",
    "LogicalAndOp",
    "LogicalNotOp",
    "LogicalOrOp",
    "MatmulOp",
    "MaxOp",
    "MaximumOp",
    "Maximum_Op",
    "MeanOp",
    "MinOp",
    "MinimumOp",
    "Minimum_Op",
    "MultiplyOp",
    "Multiply_Op",
    "NotEqualOp",
    "OnnxOperator",
    "PadOp",
    "Pool2dOp",
    "PowOp",
    "Pow_Op",
    "ProdOp",
    "ReciprocalOp",
    "Reciprocal_Op",
    "ReductionOp",
    "ReluOp",
    "Relu_Op",
    "RemainderOp",
    "ReshapeOp",
    "RmsNormOp",
    "RoundOp",
    "RsqrtOp",
    "Rsqrt_Op",
    "ScaleOp",
    "Scale_Op",
    "ScaledDotProductAttentionOp",
    "ScatterOp",
    "SetValueOp",
    "SetValue_Op",
    "SgdOp",
    "Sgd_Op",
    "SigmoidOp",
    "Sigmoid_Op",
    "SignOp",
    "SinOp",
    "Sin_Op",
    "SinhOp",
    "SliceOp",
    "SoftmaxOp",
    "Softmax_Op",
    "SoftplusOp",
    "Softplus_Op",
    "SplitOp",
    "SqrtOp",
    "Sqrt_Op",
    "SquareOp",
    "Square_Op",
    "SqueezeOp",
    "SubtractOp",
    "Subtract_Op",
    "SumOp",
    "TanOp",
    "TanhOp",
    "Tanh_Op",
    "Tensor",
    "TopkOp",
    "TransposeOp",
    "UnsqueezeOp",
    "View",
    "ViewOp",
    "WhereOp",
    "abs",
    "abs_",
    "acos",
    "acosh",
    "add",
    "add_",
    "argmax",
    "argmin",
    "asin",
    "asinh",
    "assign",
    "assign_",
    "atan",
    "atanh",
    "batch_norm",
    "batch_norm_training",
    "bitcast",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "cast",
    "concat",
    "conv2d",
    "cos",
    "cos_",
    "cosh",
    "cross_entropy_with_softmax",
    "cross_entropy_with_softmax_grad",
    "cumprod",
    "cumsum",
    "depthwise_conv2d",
    "det",
    "divide",
    "divide_",
    "elementwise_pow",
    "embedding",
    "equal",
    "erf",
    "erf_",
    "exp",
    "exp_",
    "expand",
    "feed",
    "fetch",
    "fill",
    "fill_",
    "flatten",
    "floor",
    "floor_",
    "fmod",
    "full",
    "fused_conv2d_add_act",
    "fusion",
    "fusion_yield",
    "gather",
    "gelu",
    "gelu_",
    "greater_equal",
    "greater_than",
    "inplace_form",
    "inplace_forms",
    "isnan",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "less_equal",
    "less_than",
    "log",
    "log_",
    "logical_and",
    "logical_not",
    "logical_or",
    "matmul",
    "max",
    "maximum",
    "maximum_",
    "mean",
    "min",
    "minimum",
    "minimum_",
    "multiply",
    "multiply_",
    "not_equal",
    "pad",
    "pool2d",
    "pow",
    "pow_",
    "prod",
    "reciprocal",
    "reciprocal_",
    "relu",
    "relu_",
    "remainder",
    "reshape",
    "rms_norm",
    "round",
    "rsqrt",
    "rsqrt_",
    "scale",
    "scale_",
    "scaled_dot_product_attention",
    "scatter",
    "set_value",
    "set_value_",
    "sgd",
    "sgd_",
    "sigmoid",
    "sigmoid_",
    "sign",
    "sin",
    "sin_",
    "sinh",
    "slice",
    "softmax",
    "softmax_",
    "softplus",
    "softplus_",
    "split",
    "sqrt",
    "sqrt_",
    "square",
    "square_",
    "squeeze",
    "subtract",
    "subtract_",
    "sum",
    "tan",
    "tanh",
    "tanh_",
    "topk",
    "transpose",
    "unsqueeze",
    "where",
]
