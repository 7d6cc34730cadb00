# Written by `python -m tx8ir.core.opdef.stubs tx8ir.dialects.tx8be` from the operations. Do not edit.
# ruff: noqa: I001, RUF100

from tx8ir.core import Dialect

from .attributes import (
    Activation,
    DevAttr,
    GemmMode,
    MemScope,
    ParallelAttr,
    ParallelMode,
    ReduceFunction,
    RegionAttr,
)
from .base import (
    BackendOp,
    is_none,
    ranked,
)
from .elementwise import (
    AddOp,
    BINARY,
    BinaryOp,
    CastOp,
    DivOp,
    EqOp,
    GeOp,
    GtOp,
    LeOp,
    LtOp,
    MaxOp,
    MinOp,
    MulOp,
    NeOp,
    ParametricUnaryOp,
    RELATIONS,
    SelectOp,
    SubOp,
    UNARY,
    UnaryOp,
    add_unary,
    binary_of,
    function_of,
    unary_of,
)
from .movement import (
    BroadcastOp,
    ChannelNormOp,
    ConcatenateOp,
    GatherOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from .neural import (
    ConvOp,
    GemmOp,
)
from .reduction import (
    LayerNormOp,
    PoolOp,
    ReduceOp,
    SoftmaxOp,
    reduce_axes,
)
from .schedule import (
    RepeatOp,
    ScheduleOp,
    SlotAttr,
    StepOp,
    StrategyAttr,
    cuts_of,
    loop_trips,
)
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

DIALECT: Dialect

class AbsOp(UnaryOp): ...
class RecipOp(UnaryOp): ...
class SquareOp(UnaryOp): ...
class SqrtOp(UnaryOp): ...
class RsqrtOp(UnaryOp): ...
class NegOp(UnaryOp): ...
class LogOp(UnaryOp): ...
class ExpOp(UnaryOp): ...
class SinOp(UnaryOp): ...
class CosOp(UnaryOp): ...
class TanhOp(UnaryOp): ...
class SigmoidOp(UnaryOp): ...
class ReluOp(UnaryOp): ...
class LeakyReluOp(ParametricUnaryOp): ...
class SoftplusOp(UnaryOp): ...

Input = InputOp
Output = OutputOp
Tuple = TupleOp
Constant = ConstantOp
LoadConst = LoadConstOp
LoadVar = LoadVarOp
StoreVar = StoreVarOp
Return = ReturnOp
Group = GroupOp
Gemm = GemmOp
Conv = ConvOp
Add = AddOp
Sub = SubOp
Mul = MulOp
Div = DivOp
Max = MaxOp
Min = MinOp
Eq = EqOp
Ne = NeOp
Ge = GeOp
Gt = GtOp
Le = LeOp
Lt = LtOp
Select = SelectOp
Cast = CastOp
Reduce = ReduceOp
Pool = PoolOp
Softmax = SoftmaxOp
LayerNorm = LayerNormOp
ChannelNorm = ChannelNormOp
Reshape = ReshapeOp
Transpose = TransposeOp
Slice = SliceOp
Concatenate = ConcatenateOp
Broadcast = BroadcastOp
Gather = GatherOp
step = StepOp
repeat = RepeatOp
schedule = ScheduleOp
Abs = AbsOp
Recip = RecipOp
Square = SquareOp
Sqrt = SqrtOp
Rsqrt = RsqrtOp
Neg = NegOp
Log = LogOp
Exp = ExpOp
Sin = SinOp
Cos = CosOp
Tanh = TanhOp
Sigmoid = SigmoidOp
Relu = ReluOp
LeakyRelu = LeakyReluOp
Softplus = SoftplusOp

__all__ = [
    "Abs",
    "AbsOp",
    "Activation",
    "Add",
    "AddOp",
    "BINARY",
    "BackendOp",
    "BinaryOp",
    "Broadcast",
    "BroadcastOp",
    "Cast",
    "CastOp",
    "ChannelNorm",
    "ChannelNormOp",
    "Concatenate",
    "ConcatenateOp",
    "Constant",
    "ConstantOp",
    "Conv",
    "ConvOp",
    "Cos",
    "CosOp",
    "DIALECT",
    "DevAttr",
    "Div",
    "DivOp",
    "Eq",
    "EqOp",
    "Exp",
    "ExpOp",
    "Gather",
    "GatherOp",
    "Ge",
    "GeOp",
    "Gemm",
    "GemmMode",
    "GemmOp",
    "Group",
    "GroupOp",
    "Gt",
    "GtOp",
    "Input",
    "InputOp",
    "LayerNorm",
    "LayerNormOp",
    "Le",
    "LeOp",
    "LeakyRelu",
    "LeakyReluOp",
    "LoadConst",
    "LoadConstOp",
    "LoadVar",
    "LoadVarOp",
    "Log",
    "LogOp",
    "Lt",
    "LtOp",
    "Max",
    "MaxOp",
    "MemScope",
    "Min",
    "MinOp",
    "Mul",
    "MulOp",
    "Ne",
    "NeOp",
    "Neg",
    "NegOp",
    "NoneOp",
    "Output",
    "OutputOp",
    "ParallelAttr",
    "ParallelMode",
    "Pool",
    "PoolOp",
    "RELATIONS",
    "Recip",
    "RecipOp",
    "Reduce",
    "ReduceFunction",
    "ReduceOp",
    "RegionAttr",
    "Relu",
    "ReluOp",
    "RepeatOp",
    "Reshape",
    "ReshapeOp",
    "Return",
    "ReturnOp",
    "Rsqrt",
    "RsqrtOp",
    "ScheduleOp",
    "Select",
    "SelectOp",
    "Sigmoid",
    "SigmoidOp",
    "Sin",
    "SinOp",
    "Slice",
    "SliceOp",
    "SlotAttr",
    "Softmax",
    "SoftmaxOp",
    "Softplus",
    "SoftplusOp",
    "Sqrt",
    "SqrtOp",
    "Square",
    "SquareOp",
    "StepOp",
    "StoreVar",
    "StoreVarOp",
    "StrategyAttr",
    "Sub",
    "SubOp",
    "Tanh",
    "TanhOp",
    "Transpose",
    "TransposeOp",
    "Tuple",
    "TupleOp",
    "UNARY",
    "UnaryOp",
    "add_unary",
    "binary_of",
    "cuts_of",
    "function_of",
    "is_none",
    "loop_trips",
    "ranked",
    "reduce_axes",
    "repeat",
    "schedule",
    "step",
    "unary_of",
]
