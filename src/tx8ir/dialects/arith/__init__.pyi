# Written by `python -m tx8ir.core.opdef.stubs tx8ir.dialects.arith` from the operations. Do not edit.
# ruff: noqa: I001, RUF100

from tx8ir.core import Dialect

from .casts import (
    BitcastOp,
    ExtFOp,
    ExtSIOp,
    ExtUIOp,
    FPToSIOp,
    FPToUIOp,
    IndexCastOp,
    IndexCastUIOp,
    SIToFPOp,
    TruncFOp,
    TruncIOp,
    UIToFPOp,
)
from .comparisons import (
    CmpFOp,
    CmpIOp,
    FLOAT_PREDICATES,
    INTEGER_PREDICATES,
    SelectOp,
)
from .constants import (
    ConstantOp,
)
from .declaration import (
    FastMathAttr,
    OverflowAttr,
)
from .floats import (
    AddFOp,
    DivFOp,
    MaxNumFOp,
    MaximumFOp,
    MinNumFOp,
    MinimumFOp,
    MulFOp,
    NegFOp,
    RemFOp,
    SubFOp,
)
from .integers import (
    AddIOp,
    AddUIExtendedOp,
    AndIOp,
    CeilDivSIOp,
    CeilDivUIOp,
    DivSIOp,
    DivUIOp,
    FloorDivSIOp,
    MaxSIOp,
    MaxUIOp,
    MinSIOp,
    MinUIOp,
    MulIOp,
    MulSIExtendedOp,
    MulUIExtendedOp,
    OrIOp,
    RemSIOp,
    RemUIOp,
    ShLIOp,
    ShRSIOp,
    ShRUIOp,
    SubIOp,
    XOrIOp,
)

DIALECT: Dialect

constant = ConstantOp
addi = AddIOp
subi = SubIOp
muli = MulIOp
shli = ShLIOp
shrui = ShRUIOp
shrsi = ShRSIOp
andi = AndIOp
ori = OrIOp
xori = XOrIOp
maxsi = MaxSIOp
minsi = MinSIOp
maxui = MaxUIOp
minui = MinUIOp
divsi = DivSIOp
floordivsi = FloorDivSIOp
ceildivsi = CeilDivSIOp
divui = DivUIOp
ceildivui = CeilDivUIOp
remsi = RemSIOp
remui = RemUIOp
addui_extended = AddUIExtendedOp
mulsi_extended = MulSIExtendedOp
mului_extended = MulUIExtendedOp
addf = AddFOp
subf = SubFOp
mulf = MulFOp
divf = DivFOp
remf = RemFOp
maximumf = MaximumFOp
minimumf = MinimumFOp
maxnumf = MaxNumFOp
minnumf = MinNumFOp
negf = NegFOp
cmpi = CmpIOp
cmpf = CmpFOp
select = SelectOp
extsi = ExtSIOp
extui = ExtUIOp
trunci = TruncIOp
extf = ExtFOp
truncf = TruncFOp
sitofp = SIToFPOp
uitofp = UIToFPOp
fptosi = FPToSIOp
fptoui = FPToUIOp
bitcast = BitcastOp
index_cast = IndexCastOp
index_castui = IndexCastUIOp

__all__ = [
    "AddFOp",
    "AddIOp",
    "AddUIExtendedOp",
    "AndIOp",
    "BitcastOp",
    "CeilDivSIOp",
    "CeilDivUIOp",
    "CmpFOp",
    "CmpIOp",
    "ConstantOp",
    "DIALECT",
    "DivFOp",
    "DivSIOp",
    "DivUIOp",
    "ExtFOp",
    "ExtSIOp",
    "ExtUIOp",
    "FLOAT_PREDICATES",
    "FPToSIOp",
    "FPToUIOp",
    "FastMathAttr",
    "FloorDivSIOp",
    "INTEGER_PREDICATES",
    "IndexCastOp",
    "IndexCastUIOp",
    "MaxNumFOp",
    "MaxSIOp",
    "MaxUIOp",
    "MaximumFOp",
    "MinNumFOp",
    "MinSIOp",
    "MinUIOp",
    "MinimumFOp",
    "MulFOp",
    "MulIOp",
    "MulSIExtendedOp",
    "MulUIExtendedOp",
    "NegFOp",
    "OrIOp",
    "OverflowAttr",
    "RemFOp",
    "RemSIOp",
    "RemUIOp",
    "SIToFPOp",
    "SelectOp",
    "ShLIOp",
    "ShRSIOp",
    "ShRUIOp",
    "SubFOp",
    "SubIOp",
    "TruncFOp",
    "TruncIOp",
    "UIToFPOp",
    "XOrIOp",
    "addf",
    "addi",
    "addui_extended",
    "andi",
    "bitcast",
    "ceildivsi",
    "ceildivui",
    "cmpf",
    "cmpi",
    "constant",
    "divf",
    "divsi",
    "divui",
    "extf",
    "extsi",
    "extui",
    "floordivsi",
    "fptosi",
    "fptoui",
    "index_cast",
    "index_castui",
    "maximumf",
    "maxnumf",
    "maxsi",
    "maxui",
    "minimumf",
    "minnumf",
    "minsi",
    "minui",
    "mulf",
    "muli",
    "mulsi_extended",
    "mului_extended",
    "negf",
    "ori",
    "remf",
    "remsi",
    "remui",
    "select",
    "shli",
    "shrsi",
    "shrui",
    "sitofp",
    "subf",
    "subi",
    "truncf",
    "trunci",
    "uitofp",
    "xori",
]
