"""The operations of `index`."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tx8ir.core import (
    Attribute,
    BoolAttr,
    Compute,
    ConstantLike,
    Fold,
    IntAttr,
    Op,
    Operand,
    Operation,
    Pure,
    Result,
    Type,
    VerifyError,
    attribute,
    detached,
    enum_attr,
    i1,
    operand,
    result,
)
from tx8ir.core.attrs.builtin_types import IndexType, is_integer
from tx8ir.dialects.arith import integers
from tx8ir.dialects.arith.casts import IndexCastOp
from tx8ir.dialects.arith.comparisons import REFLEXIVE, related
from tx8ir.dialects.arith.declaration import ArithOp, width_of
from tx8ir.dialects.arith.integers import Array, IntegerBinaryOp, unsigned, wrapped
from tx8ir.dialects.samples import Sample, Sampled

INDEX = IndexType()


def make_constant(value: Attribute, type: Type) -> Operation | None:
    """A detached constant of the dialect, or None for an attribute of another type."""
    with detached():
        if isinstance(value, BoolAttr) and type is i1:
            return BoolConstantOp(value=value.value)
        return ConstantOp(value=value) if isinstance(value, IntAttr) and value.type is type is INDEX else None


class IndexOp(ArithOp):
    """An operation that folds to constants of the dialect."""

    def materialize(self, constant: Attribute, type: Type) -> Operation | None:
        return make_constant(constant, type)


class IndexBinaryOp(IndexOp, IntegerBinaryOp):
    """Two index to one."""

    lhs: Operand = operand(INDEX)
    rhs: Operand = operand(INDEX)
    out: Result = result(INDEX)

    assembly_format = "$lhs `,` $rhs attr-dict"

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        yield Sample(cls, (INDEX, INDEX), {})


class AddOp(IndexBinaryOp, integers.Addition, name="index.add"):
    """out = lhs + rhs.

    %2 = index.add %0, %1
    """


class SubOp(IndexBinaryOp, integers.Subtraction, name="index.sub"):
    """out = lhs - rhs.

    %2 = index.sub %0, %1
    """


class MulOp(IndexBinaryOp, integers.Multiplication, name="index.mul"):
    """out = the low bits of lhs * rhs.

    %2 = index.mul %0, %1
    """


class DivSOp(IndexBinaryOp, integers.DivSIOp, name="index.divs"):
    """out = lhs / rhs as signed numbers, rounded toward 0.

    %2 = index.divs %0, %1
    """


class DivUOp(IndexBinaryOp, integers.DivUIOp, name="index.divu"):
    """out = lhs / rhs as unsigned numbers, rounded down.

    %2 = index.divu %0, %1
    """


class CeilDivSOp(IndexBinaryOp, integers.CeilDivSIOp, name="index.ceildivs"):
    """out = lhs / rhs as signed numbers, rounded up.

    %2 = index.ceildivs %0, %1
    """


class CeilDivUOp(IndexBinaryOp, integers.CeilDivUIOp, name="index.ceildivu"):
    """out = lhs / rhs as unsigned numbers, rounded up.

    %2 = index.ceildivu %0, %1
    """


class FloorDivSOp(IndexBinaryOp, integers.FloorDivSIOp, name="index.floordivs"):
    """out = lhs / rhs as signed numbers, rounded down.

    %2 = index.floordivs %0, %1
    """


class RemSOp(IndexBinaryOp, integers.RemSIOp, name="index.rems"):
    """out = the remainder of `divs`, with the sign of lhs; by -1 it is 0.

    %2 = index.rems %0, %1
    """


class RemUOp(IndexBinaryOp, integers.RemUIOp, name="index.remu"):
    """out = the remainder of `divu`.

    %2 = index.remu %0, %1
    """


class MaxSOp(IndexBinaryOp, integers.MaxSIOp, name="index.maxs"):
    """out = the larger of both as signed numbers.

    %2 = index.maxs %0, %1
    """


class MaxUOp(IndexBinaryOp, integers.MaxUIOp, name="index.maxu"):
    """out = the larger of both as unsigned numbers.

    %2 = index.maxu %0, %1
    """


class MinSOp(IndexBinaryOp, integers.MinSIOp, name="index.mins"):
    """out = the smaller of both as signed numbers.

    %2 = index.mins %0, %1
    """


class MinUOp(IndexBinaryOp, integers.MinUIOp, name="index.minu"):
    """out = the smaller of both as unsigned numbers.

    %2 = index.minu %0, %1
    """


class ShlOp(IndexBinaryOp, integers.LeftShift, name="index.shl"):
    """out = lhs << rhs; 0 by 64 bits or more (poison in MLIR).

    %2 = index.shl %0, %1
    """


class ShrSOp(IndexBinaryOp, integers.ShRSIOp, name="index.shrs"):
    """out = lhs >> rhs, filled with the sign; 0 by 64 bits or more (poison in MLIR).

    %2 = index.shrs %0, %1
    """


class ShrUOp(IndexBinaryOp, integers.ShRUIOp, name="index.shru"):
    """out = lhs >> rhs, filled with zeros; 0 by 64 bits or more (poison in MLIR).

    %2 = index.shru %0, %1
    """


class AndOp(IndexBinaryOp, integers.AndIOp, name="index.and"):
    """out = lhs & rhs.

    %2 = index.and %0, %1
    """


class OrOp(IndexBinaryOp, integers.OrIOp, name="index.or"):
    """out = lhs | rhs.

    %2 = index.or %0, %1
    """


class XOrOp(IndexBinaryOp, integers.XOrIOp, name="index.xor"):
    """out = lhs ^ rhs.

    %2 = index.xor %0, %1
    """


@enum_attr("index.cmp_predicate")
class Predicate(enum.Enum):
    """What `index.cmp` compares by: signed (s) and unsigned (u) relations."""

    EQ = "eq"
    NE = "ne"
    SLT = "slt"
    SLE = "sle"
    SGT = "sgt"
    SGE = "sge"
    ULT = "ult"
    ULE = "ule"
    UGT = "ugt"
    UGE = "uge"


class CmpOp(IndexOp, name="index.cmp"):
    """out = whether the relation `pred` holds between lhs and rhs.

    %2 = index.cmp slt(%0, %1)
    """

    lhs: Operand = operand(INDEX)
    rhs: Operand = operand(INDEX)
    pred: Predicate = attribute()
    out: Result = result(i1)

    assembly_format = "member($pred) `(` $lhs `,` $rhs `)` attr-dict"

    def compute(self, x: Array, y: Array) -> Any:
        return related(self.pred.value, x, y, 64)

    def simplify(self, operands: Sequence[Attribute | None]) -> Attribute | None:
        return BoolAttr(self.pred.value in REFLEXIVE) if self.lhs is self.rhs else None

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        for predicate in Predicate:
            yield Sample(cls, (INDEX, INDEX), {"pred": predicate})


class CastSOp(IndexOp, IndexCastOp, name="index.casts"):
    """out = x as a signed number, from or to index; the low bits where it is wider.

    %1 = index.casts %0 : index to i32
    """

    x: Operand = operand(is_integer)
    out: Result = result(is_integer)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        for source, target in IndexCastOp.pairs:
            yield Sample(cls, (source,), {"out": target})


class CastUOp(CastSOp, name="index.castu"):
    """out = x as an unsigned number, from or to index; the low bits where it is wider.

    %1 = index.castu %0 : i32 to index
    """

    def compute(self, x: Array) -> Any:
        return wrapped(unsigned(x, width_of(self.x)), self.out)


class SizeOfOp(Op, Compute, Sampled, name="index.sizeof", traits=(Pure,)):
    """out = the bits of an index. It is not folded: 64 where it is evaluated, which need not be where it will run.

    %0 = index.sizeof
    """

    out: Result = result(INDEX)

    assembly_format = "attr-dict"

    def compute(self) -> Any:
        return np.int64(64)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        yield Sample(cls, (), {})


class ConstantOp(Op, Compute, Fold, Sampled, name="index.constant", traits=(Pure, ConstantLike)):
    """A number that the program says.

    %0 = index.constant 42
    """

    value: IntAttr = attribute(doc="a number of type index")
    out: Result = result(INDEX)

    assembly_format = "attr-dict number($value, index)"

    def verify_op(self) -> None:
        if self.value.type is not INDEX:
            raise VerifyError(f"index.constant is a number of type index, not {self.value}", self)

    def compute(self) -> Any:
        return np.int64(self.value.value)

    def fold(self, operands: Sequence[Attribute | None]) -> Attribute:
        return self.value

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        for number in (42, -1, 0, (1 << 63) - 1):
            yield Sample(cls, (), {"value": IntAttr(number, INDEX)})


class BoolConstantOp(Op, Compute, Fold, Sampled, name="index.bool.constant", traits=(Pure, ConstantLike)):
    """A truth value that the program says: what `index.cmp` folds to.

    %0 = index.bool.constant true
    """

    value: bool = attribute()
    out: Result = result(i1)

    assembly_format = "attr-dict $value"

    def compute(self) -> Any:
        return np.bool_(self.value)

    def fold(self, operands: Sequence[Attribute | None]) -> Attribute:
        return self.attributes["value"]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        yield from (Sample(cls, (), {"value": truth}) for truth in (True, False))
