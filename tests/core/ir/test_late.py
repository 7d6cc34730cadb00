"""Interfaces of types and attributes, and traits and interfaces that are attached after a class was defined."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import pytest

from support.dialect import Colour
from tx8ir.core import (
    AttributeModel,
    Block,
    Builder,
    EnumAttr,
    FloatAttr,
    FunctionType,
    Interface,
    IrError,
    ListType,
    Op,
    Operand,
    Operation,
    Program,
    Pure,
    RankedTensor,
    Result,
    ScalarType,
    StrAttr,
    TensorType,
    Trait,
    Type,
    TypeModel,
    VerifyError,
    VTensorType,
    detached,
    f32,
    i32,
    operand,
    result,
)
from tx8ir.core.ir.interfaces import InterfaceError
from tx8ir.dialects import func, pd
from tx8ir.passes import PassManager


class Sized(Interface):
    """Says how many bytes values of the type take."""

    __slots__ = ()

    @abstractmethod
    def size(self) -> int:
        raise NotImplementedError

    def is_empty(self) -> bool:
        return self.size() == 0


class Serializable(Trait):
    """May be written to a file."""


class PairType(Type, Sized):
    """A type that implements the interface itself, and states a trait."""

    __slots__ = ()
    traits = frozenset({Serializable})

    def __new__(cls) -> PairType:
        made = object.__new__(cls)
        made._text = "!test.pair"
        return made

    def size(self) -> int:
        return 2


class TensorSize(TypeModel[RankedTensor], Sized):
    def size(self) -> int:
        return self.type.num_elements * self.type.element.format.bits // 8


class TextSize(AttributeModel[StrAttr], Sized):
    def size(self) -> int:
        return len(self.attribute.value)


@pytest.fixture
def sized() -> Iterator[None]:
    Sized.attach(RankedTensor, TensorSize)
    Sized.attach(StrAttr, TextSize)
    yield
    for cls in (RankedTensor, StrAttr):
        del cls.attached[Sized]


def size_of(thing: Type | StrAttr) -> int | None:
    found = thing.interface(Sized)
    return None if found is None else found.size()


def test_types_and_attributes_answer_for_interfaces(sized: None) -> None:
    assert size_of(VTensorType((2, 3), f32)) == 24
    assert size_of(TensorType((4,), i32)) == 16  # attached to the base of both
    assert size_of(StrAttr("abc")) == 3
    assert size_of(PairType()) == 2
    assert [size_of(t) for t in (f32, ListType([]))] == [None, None]
    assert FloatAttr(1.0).interface(Sized) is None
    empty = VTensorType((0,), f32).interface(Sized)
    assert empty is not None
    assert empty.is_empty()


def test_a_model_of_a_derived_class_comes_first(sized: None) -> None:
    class ValueSize(TensorSize):
        def size(self) -> int:
            return -1

    Sized.attach(VTensorType, ValueSize)
    try:
        assert size_of(VTensorType((2,), f32)) == -1
        assert size_of(TensorType((2,), f32)) == 8
    finally:
        del VTensorType.attached[Sized]


def test_what_cannot_be_attached(sized: None) -> None:
    class Lacking(TypeModel[ScalarType], Sized):
        def is_empty(self) -> bool:
            return False

    with pytest.raises(InterfaceError, match="RankedTensor implements Sized already, in TensorSize"):
        Sized.attach(RankedTensor, TensorSize)
    with pytest.raises(InterfaceError, match="PairType implements Sized already, in PairType"):
        Sized.attach(PairType, TensorSize)
    with pytest.raises(InterfaceError, match="Lacking lacks size of Sized"):
        Sized.attach(ScalarType, Lacking)
    assert f32.interface(Sized) is None


def test_types_and_attributes_state_traits() -> None:
    assert PairType().has_trait(Serializable)
    assert not f32.has_trait(Serializable)
    Serializable.attach(ScalarType, EnumAttr)
    try:
        assert f32.has_trait(Serializable)
        assert EnumAttr(Colour.RED).has_trait(Serializable)
        assert not VTensorType((1,), f32).has_trait(Serializable)
    finally:
        del ScalarType.attached_traits, EnumAttr.attached_traits


# --- operations ------------------------------------------------------------------------------------------------------


class Family(Op):
    """What several operations derive from."""

    x: Operand = operand()
    out: Result = result()


class OneOp(Family, name="late.one"):
    """An operation that states nothing."""


class OtherOp(Op, name="late.other"):
    """Another one, of no family."""

    x: Operand = operand()
    out: Result = result()


class OnlyF32(Trait):
    """Works on f32."""

    @classmethod
    def verify(cls, op: Operation) -> None:
        if any(v.type is not f32 for v in op.operands):
            raise VerifyError(f"{op.name} works on f32 only", op)


def one(cls: type[Op], kind: Type) -> Op:
    with detached():
        return cls(*Block([kind]).args, out=kind)  # pyright: ignore[reportCallIssue]


def test_a_trait_is_attached_after_the_definition_and_checked() -> None:
    made = one(OneOp, i32)
    made.verify()
    assert not made.has_trait(OnlyF32)
    OnlyF32.attach(Family)
    assert made.has_trait(OnlyF32)  # derived from it
    assert not one(OtherOp, i32).has_trait(OnlyF32)
    with pytest.raises(IrError, match=r"late\.one works on f32 only"):
        made.verify()  # although it was right before
    one(OneOp, f32).verify()
    OnlyF32.attach(OtherOp)
    assert one(OtherOp, i32).has_trait(OnlyF32)


def test_a_pass_goes_by_a_trait_that_was_attached() -> None:
    class MarkOp(Op, name="late.mark"):
        """Of another dialect, of which nobody said that it is pure."""

        x: Operand = operand()
        out: Result = result()

    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType([i32], [i32]))
    with Builder.at_end(main.body.block):
        MarkOp(*main.body.block.args, out=i32)
        func.ReturnOp(main.body.block.args)
    PassManager.parse("dce").run(program)
    assert "late.mark" in str(program)
    Pure.attach(MarkOp)
    PassManager.parse("dce").run(program)
    assert "late.mark" not in str(program)


def test_the_attributes_of_a_class_are_listed_in_the_order_of_a_kernel() -> None:
    """As the list of `addmm` in Paddle's operator library: those with a default too."""
    info = pd.SliceOp.info
    assert info.attribute_names == ("axes", "starts", "ends", "decrease_axis")
    assert set(info.required_attributes) < set(info.attribute_names)
