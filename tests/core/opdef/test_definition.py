"""Defining operations: a class body becomes constructor, accessors and checks; how each behaves and what it refuses."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from typing import Any

import numpy as np
import pytest

from support.dialect import (
    AttributesOp,
    BinaryOp,
    BoxAttr,
    BranchOp,
    Colour,
    GraphOp,
    JumpOp,
    ManyOp,
    PackOp,
    ScopeOp,
    SegmentsOp,
    SourceOp,
    StopOp,
    TensorsOnlyOp,
    UnaryOp,
)
from tx8ir.core import (
    ArrayAttr,
    Block,
    Builder,
    DenseArrayAttr,
    DenseAttr,
    Dialect,
    FloatAttr,
    InferTypes,
    IntAttr,
    Interface,
    InterfaceError,
    IrContext,
    IrError,
    Model,
    Op,
    Operand,
    OptionalOperand,
    Pure,
    RankedTensor,
    Region,
    Result,
    SameOperandsAndResultType,
    StrAttr,
    Terminator,
    Trait,
    TupleType,
    Type,
    VariadicOperand,
    VariadicResult,
    VerifyError,
    VTensorType,
    attribute,
    bf16,
    f32,
    f64,
    find_faults,
    i8,
    i32,
    operand,
    optional_operand,
    parse_op,
    print_op,
    region,
    result,
    successor,
    variadic_operand,
    variadic_result,
    verify,
)
from tx8ir.dialects.samples import Sampled

V2 = VTensorType((2,), f32)


def values(*types):
    return SourceOp(outs=types).outs


def test_a_dialect_in_under_thirty_lines():
    """What the documentation guarantees, from nothing to a verified program and its text."""
    context = IrContext([Dialect("toy", [ScaleOp, PrintOp])])
    block = Block((V2,))
    with Builder.at_end(block):
        y = ScaleOp(block.args[0], factor=2.0)
        PrintOp(y)
    assert y.out.type is V2
    assert y.factor == 2.0
    text = '%0 = "toy.scale"(%outer0) {factor = 2.0 : f64} : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>'
    assert print_op(y) == text
    with pytest.raises(VerifyError, match="factor must not be zero"):
        verify(ScaleOp(block.args[0], factor=0.0))
    assert context.op_class("toy.scale") is ScaleOp


class ScaleOp(Op, InferTypes, name="toy.scale", traits=(Pure,)):
    """x times a factor."""

    x: Operand = operand((RankedTensor,))
    factor: float = attribute(default=1.0)
    out: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        return (self.x.type,)

    def verify_op(self) -> None:
        if self.factor == 0:
            raise VerifyError("factor must not be zero", self)


class PrintOp(Op, name="toy.print"):
    """Shows x."""

    x: Operand = operand()


class TestOperands:
    def test_they_are_given_in_order_or_by_name_as_values_or_operations(self):
        a, b = values(f32, f32)
        for op in (BinaryOp(a, b), BinaryOp(a, y=b), BinaryOp(y=b, x=a)):
            assert (op.x, op.y) == (a, b)
        assert UnaryOp(UnaryOp(a)).x.defining_op.x is a

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: UnaryOp(3), "operand x of test.unary must be a Value or an operation with one result, not 3"),
            (lambda: UnaryOp(None), "operand x of test.unary must be a Value"),
            (lambda: UnaryOp(SourceOp(outs=(f32, f32))), "operand x of test.unary must be a Value; test.source has 2"),
            (lambda: UnaryOp(SourceOp()), "test.source has 0 results, say which"),
            (lambda: PackOp([3]), "operand inputs of test.pack must be a Value"),
        ],
    )  # fmt: skip
    def test_other_things_are_refused_by_name(self, make, message):
        with pytest.raises(IrError, match=message):
            make()

    @pytest.mark.parametrize("arguments", [(), (1, 2, 3)])
    def test_too_few_and_too_many_are_a_type_error(self, arguments):
        x = values(f32)[0]
        with pytest.raises(TypeError, match=r"test\.binary\(\)"):
            BinaryOp(*[x for _ in arguments])

    def test_variadic_ones_are_one_sequence(self):
        a, b = values(f32, i8)
        assert PackOp([a, b]).inputs == (a, b)
        assert PackOp(iter([a])).inputs == (a,)
        assert PackOp(()).inputs == ()

    @pytest.mark.parametrize("sizes", [(0, 0, 0), (1, 0, 0), (0, 2, 1), (1, 1, 2), (0, 0, 3)])
    def test_several_varying_fields_are_told_apart_by_segment_sizes(self, sizes):
        maybe, left, right = sizes
        head, *rest = values(*[f32] * (1 + sum(sizes)))
        op = SegmentsOp(head, rest[0] if maybe else None, rest[maybe : maybe + left], rest[maybe + left :])
        assert op.attributes["operandSegmentSizes"] is DenseArrayAttr([1, maybe, left, right], i32)
        assert op.head is head
        assert op.maybe is (rest[0] if maybe else None)
        assert op.left == tuple(rest[maybe : maybe + left])
        assert op.right == tuple(rest[maybe + left :])
        verify(op)

    def test_one_optional_needs_no_segments(self):
        a, b = values(f32, f32)
        assert MaybeOp(a).maybe is None
        assert MaybeOp(a, b).maybe is b
        assert not MaybeOp(a, b).attributes
        assert find_faults(MaybeOp.create([a, b, a]))[0].message == "has 3 operands, expected 1 to 2"

    def test_a_field_between_others(self):
        a, b, c, d = values(f32, f32, f32, f32)
        op = SandwichOp(a, [b, c], d)
        assert (op.first, op.middle, op.last) == (a, (b, c), d)
        assert SandwichOp(a, (), d).middle == ()
        assert find_faults(SandwichOp.create([a]))[0].message == "has 1 operands, expected at least 2"

    def test_types_are_constrained_when_verified(self):
        op = TensorsOnlyOp(values(f32)[0], rank=1)
        assert [f.message for f in find_faults(op)] == ["operand x is f32, expected RankedTensor"]
        verify(TensorsOnlyOp(values(V2)[0], rank=1))

    def test_a_predicate_constrains_too_and_names_itself(self):
        assert find_faults(EvenOp(values(VTensorType((3,), f32))[0]))[0].message.endswith("expected even extents")
        verify(EvenOp(values(V2)[0]))


class MaybeOp(Op, name="toy.maybe"):
    x: Operand = operand()
    maybe: OptionalOperand = optional_operand()


class SandwichOp(Op, name="toy.sandwich"):
    first: Operand = operand()
    middle: VariadicOperand = variadic_operand()
    last: Operand = operand()


def even_extents(type):
    return isinstance(type, RankedTensor) and all(d % 2 == 0 for d in type.shape)


class EvenOp(Op, name="toy.even"):
    x: Operand = operand(even_extents)


class TestResults:
    def test_they_are_inferred_from_operands_and_attributes(self):
        a, b = values(f32, V2)
        assert PackOp([a, b]).out.type is TupleType((f32, V2))

    def test_one_type_for_all_is_taken_from_the_operands(self):
        assert UnaryOp(values(V2)[0]).out.type is V2
        with pytest.raises(VerifyError, match=r"test.binary needs one type for all operands and results, not f32, i8"):
            BinaryOp(*values(f32, i8))

    def test_they_are_given_by_name_where_nothing_infers_them(self):
        op = ManyOp((), first=f32, others=(i8, V2))
        assert op.first.type is f32
        assert [r.type for r in op.others] == [i8, V2]
        assert ManyOp((), first=f32).others == ()
        with pytest.raises(
            IrError, match=r"result first of test.many takes a Type, not None|needs the type of its result"
        ):
            ManyOp(())
        with pytest.raises(IrError, match=r"result first of test.many takes a Type, not 'f32'"):
            ManyOp((), first="f32")

    def test_a_type_given_against_the_inference_is_kept_and_reported(self):
        op = PackOp([values(f32)[0]], out=f32)
        assert op.out.type is f32
        assert find_faults(op)[0].message == "result types are (f32), its operands give (tuple<f32>)"

    def test_the_only_one_has_a_short_name(self):
        x = values(f32)[0]
        op = UnaryOp(x)
        assert op.result is op.results[0] is op.out
        with pytest.raises(IrError, match=r"test.source has 2 results, not one"):
            _ = SourceOp(outs=(f32, f32)).result

    def test_what_inference_finds_wrong_names_the_operation(self):
        with pytest.raises(VerifyError, match=r"toy.picky: x must be a tensor") as caught:
            PickyOp(values(f32)[0])
        assert isinstance(caught.value.op, PickyOp)
        assert caught.value.location.file == __file__

    def test_an_inference_of_another_number_of_types_is_refused(self):
        with pytest.raises(IrError, match=r"toy.liar inferred 2 result types for 1 results"):
            LiarOp()

    def test_several_variadic_results_cannot_be_told_apart(self):
        with pytest.raises(TypeError, match="TwoOp has several variadic results"):

            class TwoOp(Op, name="toy.two"):
                a: VariadicResult = variadic_result()
                b: VariadicResult = variadic_result()


class PickyOp(Op, InferTypes, name="toy.picky"):
    x: Operand = operand()
    out: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        if not isinstance(self.x.type, RankedTensor):
            raise VerifyError("x must be a tensor")
        return (self.x.type,)


class LiarOp(Op, InferTypes, name="toy.liar"):
    out: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        return (f32, f32)


class TestAttributes:
    def test_defaults_are_stored_and_read(self):
        op = AttributesOp()
        assert (op.flag, op.count, op.ratio, op.text) == (False, 0, 0.5, "")
        assert (op.numbers, op.ratios, op.flags, op.texts) == ((), (), (), ())
        assert op.attributes["count"] is IntAttr(0)
        assert op.attributes["ratio"] is FloatAttr(0.5)

    def test_what_may_be_absent_is_none_and_not_stored(self):
        op = AttributesOp()
        assert (op.kind, op.array, op.colour, op.box, op.symbol, op.anything) == (None,) * 6
        assert not {"kind", "array", "colour", "box", "symbol", "anything"} & set(op.attributes)

    def test_values_come_back_as_they_went_in(self):
        given: dict[str, Any] = {
            "flag": True, "count": -3, "ratio": 2.5, "text": 'a"b', "kind": V2, "numbers": (1, 2), "ratios": (0.5,),
            "flags": (True, False), "texts": ("a", ""), "colour": Colour.RED, "box": BoxAttr(1),
        }  # fmt: skip
        op = AttributesOp(**given)
        assert {k: getattr(op, k) for k in given} == given
        again = parse_op(print_op(op), context=IrContext([Dialect("test", [AttributesOp], [Colour, BoxAttr])]))
        assert {k: getattr(again, k) for k in given} == given
        verify(op)

    def test_arrays_and_attribute_classes(self):
        op = AttributesOp(array=np.float32([1, 2]), symbol="main", anything=StrAttr("x"))
        assert op.array.tolist() == [1.0, 2.0]
        assert op.symbol is op.attributes["symbol"]
        assert op.symbol.value == "main"
        assert op.anything is StrAttr("x")

    def test_one_number_stands_for_a_sequence_of_one(self):
        assert AttributesOp(numbers=3).numbers == (3,)
        assert AttributesOp(ratios=np.float32(0.5)).ratios == (0.5,)

    @pytest.mark.parametrize(
        ("field", "value", "message"),
        [
            ("flag", 1, "expected a bool, not 1"),
            ("count", True, "expected an int, not True"),
            ("count", 1.0, "expected an int, not 1.0"),
            ("count", 1 << 63, "does not fit i64"),
            ("ratio", "x", "expected a float, not 'x'"),
            ("text", 1, "expected a str, not 1"),
            ("text", "\ud800", "surrogates not allowed"),
            ("kind", 3, "expected a Type, not 3"),
            ("numbers", "12", "expected a tuple of int, not '12'"),
            ("numbers", (1, 2.0), "expected an int, not 2.0"),
            ("numbers", DenseArrayAttr([0.5], f64), "expected a tuple of int, not"),
            ("ratios", ArrayAttr(["x"]), "expected a tuple of float, not"),
            ("flags", (1,), "expected a bool, not 1"),
            ("texts", "abc", "expected a tuple of str, not 'abc'"),
            ("texts", ArrayAttr([1]), "expected a tuple of str, not"),
            ("texts", (1,), "expected a str, not 1"),
            ("array", np.array([1j]), "no scalar type holds dtype complex128"),
            ("colour", "Red", r"expected a Colour \(Red, DarkBlue\), not 'Red'"),
            ("box", {"size": 1}, "expected a BoxAttr, not"),
            ("symbol", 3, "expected a str, not 3"),
            ("anything", object(), "no attribute holds a object"),
        ],
    )
    def test_what_does_not_fit_is_refused_by_name(self, field, value, message):
        with pytest.raises(IrError, match=f"attribute {field} of test.attributes: .*{message}"):
            AttributesOp(**{field: value})
        op = AttributesOp()
        before = print_op(op)
        with pytest.raises(IrError, match=f"attribute {field} of test.attributes: .*{message}") as caught:
            setattr(op, field, value)
        assert caught.value.op is op
        assert print_op(op) == before

    def test_assigning_sets_and_none_removes(self):
        op = AttributesOp()
        op.count = 3
        assert op.attributes["count"] is IntAttr(3)
        op.colour = Colour.RED
        op.colour = None
        assert "colour" not in op.attributes

    def test_a_required_one_must_be_given(self):
        with pytest.raises(TypeError, match="required keyword-only argument: 'rank'"):
            TensorsOnlyOp(values(V2)[0])
        assert TensorsOnlyOp.info.required_attributes == ("rank",)
        op = TensorsOnlyOp(values(V2)[0], rank=1)
        op.remove_attribute("rank")
        assert find_faults(op)[0].message == "lacks the attribute rank, expected an int"

    def test_an_unknown_one_is_no_argument_but_may_be_set(self):
        with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
            UnaryOp(values(f32)[0], size=1)
        op = UnaryOp(values(f32)[0])
        op.set_attribute("size", 1)
        verify(op)

    def test_a_default_that_is_absent_in_a_text_reads_as_the_default(self):
        op = parse_op('"test.attributes"() : () -> ()', context=IrContext([Dialect("test", [AttributesOp])]))
        assert op.ratio == 0.5
        verify(op)

    def test_a_key_may_differ_from_the_field(self):
        op = KeyOp(label="x")
        assert op.label == "x"
        assert dict(op.attributes) == {"name": StrAttr("x")}
        op.label = "y"
        assert op.attributes["name"] is StrAttr("y")

    @pytest.mark.parametrize("name", ["name", "operands", "results", "parent", "location", "erase", "walk"])
    def test_a_field_must_not_hide_a_member(self, name):
        with pytest.raises(TypeError, match=f"HidingOp.{name} hides a member of Operation"):
            type(Op)("HidingOp", (Op,), {name: attribute(default=1), "__annotations__": {name: int}}, name="toy.hiding")

    def test_an_annotation_must_stand_for_an_attribute(self):
        for op_class, message in ((BadAnnotationOp, "no attribute stands for"), (UnionOp, "one type or `T | None`")):
            with pytest.raises(TypeError, match=message):
                op_class(a=1)
        with pytest.raises(TypeError, match=r"LostOp.a: annotation 'Nowhere'"):
            LostOp(a=1)


def test_a_field_may_have_the_name_of_a_builtin() -> None:
    class NumberedOp(Op, name="toy.numbered"):
        id: int = attribute()

    made = NumberedOp(id=3)
    assert (made.id, made.location.is_known) == (3, True)


class KeyOp(Op, name="toy.key"):
    label: str = attribute(name="name")


class BadAnnotationOp(Op, name="toy.bad"):
    a: set[int] = attribute()


class UnionOp(Op, name="toy.union"):
    a: int | str = attribute()


class LostOp(Op, name="toy.lost"):
    a: Nowhere = attribute()  # noqa: F821  (the point)


class TestRegionsAndSuccessors:
    def test_a_region_that_is_not_given_has_an_empty_block(self):
        op = ScopeOp()
        assert [len(r) for r in op.regions] == [1, 1]
        assert op.first.parent_op is op
        assert op.first is not op.second

    def test_a_region_is_taken_once(self):
        given = Region([Block((f32,))])
        op = ScopeOp(first=given)
        assert op.first is given
        with pytest.raises(IrError, match=r"region second of test.scope belongs to a test.scope already"):
            ScopeOp(second=given)
        with pytest.raises(IrError, match=r"region first of test.scope takes a Region, not 3"):
            ScopeOp(first=3)
        assert given.parent_op is op

    def test_successors_are_given_and_read_by_name(self):
        body = Region([Block(), Block(), Block()])
        op = BranchOp(values(f32)[0], yes=body.blocks[1], no=body.blocks[2])
        assert (op.yes, op.no) == body.blocks[1:]
        assert op.successors == body.blocks[1:]
        with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'target'"):
            JumpOp(())

    def test_terminators_end_blocks(self):
        graph = GraphOp()
        assert find_faults(graph)[0].message == "has a block without operations, which needs a terminator"
        graph.body.block.append(StopOp(()))
        verify(graph)
        assert graph.body.block.terminator.name == "test.stop"
        graph.body.block.append(SourceOp())
        messages = {f.message for f in find_faults(graph)}
        assert "is a terminator, but other operations follow it" in messages
        assert graph.body.block.terminator is None

    def test_a_successor_field_may_be_declared_without_others(self):
        assert GotoOp(target=Block()).target is not None


class GotoOp(Op, name="toy.goto", traits=(Terminator,)):
    target: Any = successor()


class Base(Op):
    """Fields that several operations share; no operation itself, having no name."""

    x: Operand = operand()
    layout: str | None = attribute(default=None)
    level: int = attribute(default=1)


class Derived(Base, name="toy.derived", traits=(Pure,)):
    y: Operand = operand()
    level: int = attribute(default=2)
    out: Result = result()


class Further(Derived, name="toy.further"):
    body: Region = region()


class TestInheritance:
    def test_fields_are_inherited_in_order_and_may_be_declared_again(self):
        a, b = values(f32, i8)
        op = Derived(a, b, layout="Cx", out=f32)
        assert (op.x, op.y, op.layout, op.level) == (a, b, "Cx", 2)
        further = Further(a, b, out=f32)
        assert (further.level, len(further.regions)) == (2, 1)

    def test_traits_and_interfaces_are_inherited(self):
        assert Further.info.traits >= {Pure}
        assert Further.info.name == "toy.further"

    def test_what_is_absent_is_not_printed(self):
        a, b = values(f32, i8)
        assert print_op(Derived(a, b, out=f32)) == (
            '%0 = "toy.derived"(%outer0, %outer1) {level = 2 : i64} : (f32, i8) -> f32'
        )

    def test_the_constructor_has_a_signature(self):
        Derived(*values(f32, i8), out=f32)  # made at the first call
        parameters = inspect.signature(Derived.__init__).parameters
        assert list(parameters) == ["self", "x", "y", "layout", "level", "out"]
        assert parameters["level"].default == 2
        assert parameters["x"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        assert parameters["layout"].kind is inspect.Parameter.KEYWORD_ONLY


class Area(Interface):
    """Says how large something is."""

    def area(self) -> int:
        raise NotImplementedError

    def unit(self) -> str:
        raise NotImplementedError


class SquareOp(Op, Area, name="toy.square"):
    side: int = attribute()

    def area(self) -> int:
        return self.side**2

    def unit(self) -> str:
        return "m2"


class CircleOp(Op, name="toy.circle"):
    radius: int = attribute()


class TestInterfaces:
    def test_an_operation_that_inherits_one_answers_itself(self):
        op = SquareOp(side=3)
        assert op.interface(Area) is op
        assert op.interface(Area).area() == 9

    def test_one_can_be_attached_from_outside_once(self):
        @Area.implement(CircleOp)
        class CircleArea(Model[CircleOp]):
            def area(self) -> int:
                return 3 * self.op.radius**2

            def unit(self) -> str:
                return "m2"

        op = CircleOp(radius=2)
        assert op.interface(Area).area() == 12
        assert op.interface(Area).op is op
        with pytest.raises(TypeError, match=r"toy.circle implements Area already, in .*CircleArea"):
            Area.attach(CircleOp, CircleArea)
        with pytest.raises(TypeError, match=r"toy.square implements Area already"):
            Area.attach(SquareOp, CircleArea)

    def test_a_model_must_have_every_method(self):
        class Half(Model[KeyOp]):
            def area(self) -> int:
                return 1

        with pytest.raises(TypeError, match="Half lacks unit of Area"):
            Area.attach(KeyOp, Half)
        assert KeyOp(label="x").interface(Area) is None

    def test_an_empty_model_is_refused(self):
        class Empty(Model[KeyOp], Area):
            pass

        with pytest.raises(InterfaceError, match="Empty lacks area, unit of Area") as error:
            Area.attach(KeyOp, Empty)
        assert isinstance(error.value, IrError)
        assert KeyOp(label="x").interface(Area) is None

    def test_a_model_that_inherits_an_abstract_method_lacks_it(self):
        class Named(Interface):
            @abstractmethod
            def title(self) -> str: ...

            @abstractmethod
            def number(self) -> int: ...

            def plural(self) -> str:
                return self.title() + "s"

        class Half(Model[KeyOp], Named):
            def title(self) -> str:
                return "key"

        with pytest.raises(InterfaceError, match="Half lacks number of Named"):
            Named.attach(KeyOp, Half)

        class Whole(Half):
            def number(self) -> int:
                return 1

        Named.attach(KeyOp, Whole)
        assert KeyOp(label="x").interface(Named).plural() == "keys"

    def test_an_empty_model_of_every_shipped_interface_is_refused(self):
        shipped = [c for c in Interface.__subclasses__() if c.__module__.startswith("tx8ir.")]
        interfaces = [c for c in shipped if c is not Sampled]  # all of it has defaults
        assert len(interfaces) >= 10
        for interface in interfaces:
            empty = type("Empty", (Model, interface), {})
            with pytest.raises(InterfaceError, match=f"Empty lacks .* of {interface.__name__}"):
                interface.attach(KeyOp, empty)

    def test_an_operation_class_implements_what_it_inherits(self):
        with pytest.raises(InterfaceError, match="NothingOp lacks area, unit of Area"):

            class NothingOp(Op, Area, name="toy.nothing"):  # pyright: ignore[reportUnusedClass]
                pass

    def test_a_base_without_a_name_may_leave_it_to_others(self):
        class Base(Op, Area):
            pass

        class WholeOp(Base, name="toy.whole"):
            def area(self) -> int:
                return 1

            def unit(self) -> str:
                return "m2"

        assert WholeOp().interface(Area).area() == 1

    def test_who_does_not_implement_it_answers_none(self):
        assert UnaryOp(values(f32)[0]).interface(Area) is None


class OddExtents(Trait):
    """A trait with a check."""

    @classmethod
    def verify(cls, op):
        if any(d % 2 == 0 for v in op.operands for d in v.type.shape):
            raise VerifyError("every extent must be odd", op)


class OddOp(Op, name="toy.odd", traits=(OddExtents, SameOperandsAndResultType)):
    x: Operand = operand()
    out: Result = result()


class TestTraits:
    def test_they_are_asked_by_class(self):
        op = UnaryOp(values(f32)[0])
        assert op.has_trait(Pure)
        assert op.has_trait(SameOperandsAndResultType)
        assert not op.has_trait(Terminator)

    def test_their_checks_run_with_the_verifier(self):
        assert find_faults(OddOp(values(V2)[0]))[0].message == "every extent must be odd"
        verify(OddOp(values(VTensorType((3,), f32))[0]))

    def test_the_hooks_of_a_class_are_in_its_info(self):
        assert [hook.__self__ for hook in OddOp.info.verify_hooks] == [OddExtents, SameOperandsAndResultType]
        assert repr(OddOp.info) == "<OpInfo toy.odd>"


class TestCreate:
    """`create` makes any operation from its parts: nothing is inferred or inserted, but parts are checked."""

    def test_types_are_as_given(self):
        x = values(f32)[0]
        op = UnaryOp.create([x], [bf16], {"a": 1})
        assert (op.out.type, op.attributes["a"]) == (bf16, IntAttr(1))
        with Builder.at_end(Block()):
            assert UnaryOp.create([x], [f32]).parent is None

    @pytest.mark.parametrize(
        "make",
        [
            lambda x: UnaryOp.create([3], [f32]),
            lambda x: UnaryOp.create([x], ["f32"]),
            lambda x: UnaryOp.create([x], [f32], successors=[3]),
            lambda x: ScopeOp.create(regions=[ScopeOp().first]),
            lambda x: ScopeOp.create(regions=[Region()] * 2),
            lambda x: UnaryOp.create([x], [f32], regions=[3]),
        ],
    )
    def test_parts_that_are_no_parts_are_refused(self, make):
        x = values(f32)[0]
        with pytest.raises(IrError):
            make(x)
        assert not x.has_uses


def test_an_array_field_takes_what_is_like_an_array():
    assert AttributesOp(array=[[1, 2]]).array.shape == (1, 2)
    assert isinstance(AttributesOp(array=np.zeros(2)).attributes["array"], DenseAttr)


# --- interfaces of families ------------------------------------------------------------------------------------------


def test_a_model_of_a_base_answers_for_the_whole_family() -> None:
    class Shown(Interface):
        __slots__ = ()

        @abstractmethod
        def show(self) -> str:
            raise NotImplementedError

    class FamilyOp(Op):
        x: Operand = operand()
        out: Result = result()

    class EarlyOp(FamilyOp, name="demo.early"):
        pass

    class OwnOp(FamilyOp, name="demo.own"):
        pass

    class InlineOp(FamilyOp, Shown, name="demo.inline"):
        def show(self) -> str:
            return "inline"

    @Shown.implement(OwnOp)
    class Own(Model[Op], Shown):
        def show(self) -> str:
            return "own"

    @Shown.implement(FamilyOp)
    class Family(Model[Op], Shown):
        def show(self) -> str:
            return self.op.name

    class LateOp(FamilyOp, name="demo.late"):
        pass

    class LaterOwnOp(FamilyOp, name="demo.later"):
        pass

    Shown.attach(LaterOwnOp, Own)  # its own, instead of that of the family
    x = Block([VTensorType((2,), f32)]).args[0]
    shown = [kind(x, out=x.type).interface(Shown) for kind in (EarlyOp, OwnOp, InlineOp, LateOp, LaterOwnOp)]
    assert [found.show() for found in shown if found is not None] == ["demo.early", "own", "inline", "demo.late", "own"]
    for taken in (OwnOp, InlineOp, LaterOwnOp, FamilyOp):
        with pytest.raises(InterfaceError, match="implements Shown already"):
            Shown.attach(taken, Family)
