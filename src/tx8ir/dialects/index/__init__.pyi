# Written by `python -m tx8ir.core.opdef.stubs tx8ir.dialects.index` from the operations. Do not edit.
# ruff: noqa: I001, RUF100

from tx8ir.core import Dialect

from .operations import (
    AddOp,
    AndOp,
    BoolConstantOp,
    CastSOp,
    CastUOp,
    CeilDivSOp,
    CeilDivUOp,
    CmpOp,
    ConstantOp,
    DivSOp,
    DivUOp,
    FloorDivSOp,
    MaxSOp,
    MaxUOp,
    MinSOp,
    MinUOp,
    MulOp,
    OrOp,
    Predicate,
    RemSOp,
    RemUOp,
    ShlOp,
    ShrSOp,
    ShrUOp,
    SizeOfOp,
    SubOp,
    XOrOp,
)

DIALECT: Dialect

add = AddOp
sub = SubOp
mul = MulOp
divs = DivSOp
divu = DivUOp
ceildivs = CeilDivSOp
ceildivu = CeilDivUOp
floordivs = FloorDivSOp
rems = RemSOp
remu = RemUOp
maxs = MaxSOp
maxu = MaxUOp
mins = MinSOp
minu = MinUOp
shl = ShlOp
shrs = ShrSOp
shru = ShrUOp
xor = XOrOp
cmp = CmpOp
casts = CastSOp
castu = CastUOp
sizeof = SizeOfOp
constant = ConstantOp

__all__ = [
    "AddOp",
    "AndOp",
    "BoolConstantOp",
    "CastSOp",
    "CastUOp",
    "CeilDivSOp",
    "CeilDivUOp",
    "CmpOp",
    "ConstantOp",
    "DIALECT",
    "DivSOp",
    "DivUOp",
    "FloorDivSOp",
    "MaxSOp",
    "MaxUOp",
    "MinSOp",
    "MinUOp",
    "MulOp",
    "OrOp",
    "Predicate",
    "RemSOp",
    "RemUOp",
    "ShlOp",
    "ShrSOp",
    "ShrUOp",
    "SizeOfOp",
    "SubOp",
    "XOrOp",
    "add",
    "casts",
    "castu",
    "ceildivs",
    "ceildivu",
    "cmp",
    "constant",
    "divs",
    "divu",
    "floordivs",
    "maxs",
    "maxu",
    "mins",
    "minu",
    "mul",
    "rems",
    "remu",
    "shl",
    "shrs",
    "shru",
    "sizeof",
    "sub",
    "xor",
]
