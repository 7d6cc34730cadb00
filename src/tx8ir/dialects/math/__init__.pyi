# Written by `python -m tx8ir.core.opdef.stubs tx8ir.dialects.math` from the operations. Do not edit.
# ruff: noqa: I001, RUF100

from tx8ir.core import Dialect

from .classification import (
    IsFiniteOp,
    IsInfOp,
    IsNaNOp,
    IsNormalOp,
)
from .floats import (
    AbsFOp,
    AcosOp,
    AcoshOp,
    AsinOp,
    AsinhOp,
    Atan2Op,
    AtanOp,
    AtanhOp,
    CbrtOp,
    CeilOp,
    ClampFOp,
    CopySignOp,
    CosOp,
    CoshOp,
    ErfOp,
    ErfcOp,
    Exp2Op,
    ExpM1Op,
    ExpOp,
    FPowIOp,
    FloorOp,
    FmaOp,
    Log10Op,
    Log1pOp,
    Log2Op,
    LogOp,
    PowFOp,
    RoundEvenOp,
    RoundOp,
    RsqrtOp,
    SinOp,
    SincosOp,
    SinhOp,
    SqrtOp,
    TanOp,
    TanhOp,
    TruncOp,
)
from .integers import (
    AbsIOp,
    CountLeadingZerosOp,
    CountTrailingZerosOp,
    CtPopOp,
    IPowIOp,
)

DIALECT: Dialect

absf = AbsFOp
acos = AcosOp
acosh = AcoshOp
asin = AsinOp
asinh = AsinhOp
atan = AtanOp
atanh = AtanhOp
cbrt = CbrtOp
ceil = CeilOp
cos = CosOp
cosh = CoshOp
erf = ErfOp
erfc = ErfcOp
exp = ExpOp
exp2 = Exp2Op
expm1 = ExpM1Op
floor = FloorOp
log = LogOp
log10 = Log10Op
log1p = Log1pOp
log2 = Log2Op
round = RoundOp
roundeven = RoundEvenOp
rsqrt = RsqrtOp
sin = SinOp
sinh = SinhOp
sqrt = SqrtOp
tan = TanOp
tanh = TanhOp
trunc = TruncOp
atan2 = Atan2Op
copysign = CopySignOp
powf = PowFOp
fpowi = FPowIOp
fma = FmaOp
clampf = ClampFOp
sincos = SincosOp
isfinite = IsFiniteOp
isinf = IsInfOp
isnan = IsNaNOp
isnormal = IsNormalOp
absi = AbsIOp
ctlz = CountLeadingZerosOp
cttz = CountTrailingZerosOp
ctpop = CtPopOp
ipowi = IPowIOp

__all__ = [
    "AbsFOp",
    "AbsIOp",
    "AcosOp",
    "AcoshOp",
    "AsinOp",
    "AsinhOp",
    "Atan2Op",
    "AtanOp",
    "AtanhOp",
    "CbrtOp",
    "CeilOp",
    "ClampFOp",
    "CopySignOp",
    "CosOp",
    "CoshOp",
    "CountLeadingZerosOp",
    "CountTrailingZerosOp",
    "CtPopOp",
    "DIALECT",
    "ErfOp",
    "ErfcOp",
    "Exp2Op",
    "ExpM1Op",
    "ExpOp",
    "FPowIOp",
    "FloorOp",
    "FmaOp",
    "IPowIOp",
    "IsFiniteOp",
    "IsInfOp",
    "IsNaNOp",
    "IsNormalOp",
    "Log10Op",
    "Log1pOp",
    "Log2Op",
    "LogOp",
    "PowFOp",
    "RoundEvenOp",
    "RoundOp",
    "RsqrtOp",
    "SinOp",
    "SincosOp",
    "SinhOp",
    "SqrtOp",
    "TanOp",
    "TanhOp",
    "TruncOp",
    "absf",
    "absi",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "clampf",
    "copysign",
    "cos",
    "cosh",
    "ctlz",
    "ctpop",
    "cttz",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "fma",
    "fpowi",
    "ipowi",
    "isfinite",
    "isinf",
    "isnan",
    "isnormal",
    "log",
    "log10",
    "log1p",
    "log2",
    "powf",
    "round",
    "roundeven",
    "rsqrt",
    "sin",
    "sincos",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]
