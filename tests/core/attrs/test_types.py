"""Types: one object per type, a text for each, and limits that say what was wrong."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from tx8ir.core import (
    DYNAMIC,
    DictType,
    FunctionType,
    IntegerType,
    IrContext,
    ListType,
    NoneType,
    OpaqueType,
    ParseError,
    ScalarType,
    TensorType,
    TokenType,
    TupleType,
    Type,
    VTensorType,
    bf16,
    f32,
    f64,
    i4,
    parse_op,
    tf32,
)
from tx8ir.core.attrs.lexer import Source
from tx8ir.core.attrs.types import NESTING_LIMIT
from tx8ir.core.context import Dialect
from tx8ir.core.text.attribute_parser import AttributeParser
from tx8ir.target.formats import ALL

V, T = VTensorType((1, 8), f32), TensorType((2, DYNAMIC), bf16)

SPELLINGS = [
    (f32, "f32"),
    (tf32, "tf32"),
    (i4, "i4"),
    (V, "!pd.vtensor<1x8xf32>"),
    (T, "!pd.tensor<2x?xbf16>"),
    (VTensorType((), f32), "!pd.vtensor<f32>"),
    (VTensorType((0, 3), i4), "!pd.vtensor<0x3xi4>"),
    (TupleType(), "tuple<>"),
    (TupleType((V, TupleType((f32,)))), "tuple<!pd.vtensor<1x8xf32>, tuple<f32>>"),
    (ListType((T, T)), "!builtin.list<!pd.tensor<2x?xbf16>, !pd.tensor<2x?xbf16>>"),
    (DictType({"b": f32, "a": V}), '!builtin.dict<"a": !pd.vtensor<1x8xf32>, "b": f32>'),
    (DictType({'"\n': f32}), '!builtin.dict<"\\"\\n": f32>'),
    (NoneType(), "none"),
    (TokenType(), "!builtin.token"),
    (FunctionType((f32, V), (f32,)), "(f32, !pd.vtensor<1x8xf32>) -> f32"),
    (FunctionType((), ()), "() -> ()"),
    (FunctionType((), (f32, f32)), "() -> (f32, f32)"),
    (FunctionType((), (FunctionType((f32,), ()),)), "() -> ((f32) -> ())"),
    (FunctionType((FunctionType((), (f32,)),), ()), "(() -> f32) -> ()"),
    (FunctionType((), (TupleType(),)), "() -> tuple<>"),
    (OpaqueType("!alien.t<[(x)], 3 -> 4>"), "!alien.t<[(x)], 3 -> 4>"),
    (OpaqueType("!alien.t"), "!alien.t"),
]


def read(text, **options):
    parser = AttributeParser(Source(text, "<text>"), options.pop("context", IrContext()), **options)
    found = parser.type()
    assert parser.peek() == "", f"{parser.text[parser.pos :]!r} is left over"
    return found


@pytest.mark.parametrize(("type", "text"), SPELLINGS, ids=[text for _, text in SPELLINGS])
def test_every_type_has_a_text_that_reads_back_as_the_same_object(type, text):
    assert str(type) == text
    assert read(text, allow_unregistered=True) is type


@pytest.mark.parametrize("type", [t for t, _ in SPELLINGS], ids=str)
def test_equal_means_identical_also_after_copying_and_pickling(type):
    assert copy.copy(type) is type
    assert copy.deepcopy([type])[0] is type
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(type, protocol)) is type
    assert hash(type) == hash(pickle.loads(pickle.dumps(type)))
    assert repr(type) == f"{type.__class__.__name__}({type})"


class TestScalars:
    def test_there_is_one_for_each_format(self):
        for format in ALL:
            scalar = ScalarType(format)
            assert ScalarType.of(format.name) is scalar
            assert scalar.dtype == format.dtype
            assert scalar.is_float == format.is_float
            assert read(format.name, allow_unregistered=False) is scalar

    def test_signed_integers_are_not_signless_ones(self):
        assert read("si4", allow_unregistered=False) is IntegerType(4, "signed")
        assert str(read("tensor<2xsi64>", allow_unregistered=False)) == "tensor<2xsi64>"

    def test_unknown_names_are_answered_with_the_known_ones(self):
        with pytest.raises(ValueError, match=r"no scalar type 'f8'; known: .*f16"):
            ScalarType.of("f8")


class TestTensors:
    def test_equal_shapes_give_one_object_whatever_they_are_made_of(self):
        assert VTensorType([1, 8], f32) is V
        assert VTensorType((np.int64(1), np.int32(8)), f32) is V
        assert VTensorType(iter((1, 8)), f32) is V
        assert all(type(d) is int for d in VTensorType(np.array([3, 5]), f32).shape)

    def test_kind_shape_and_element_tell_types_apart(self):
        assert len({V, TensorType((1, 8), f32), VTensorType((8, 1), f32), VTensorType((1, 8), bf16)}) == 4

    @pytest.mark.parametrize(
        ("shape", "error", "message"),
        [
            ((-2,), ValueError, "a tensor extent is >= 0 or DYNAMIC (-1), not -2"),
            ((1 << 63,), ValueError, "a tensor extent is less than 2**63, not 0x8000000000000000"),
            ((1.0,), TypeError, "a tensor extent is an int, not 1.0"),
            ((True,), TypeError, "a tensor extent is an int, not True"),
            (("4",), TypeError, "a tensor extent is an int, not '4'"),
            ((None,), TypeError, "a tensor extent is an int, not None"),
        ],
    )
    def test_extents_are_ints_in_range(self, shape, error, message):
        VTensorType((1,), f32)  # 1.0 and True are equal to 1, and a type with that extent exists
        with pytest.raises(error) as caught:
            VTensorType(shape, f32)
        assert str(caught.value) == message

    def test_the_element_is_a_scalar_type(self):
        with pytest.raises(TypeError, match="the element type of a tensor is a ScalarType, not"):
            VTensorType((1,), V)
        with pytest.raises(TypeError, match="not 'f32'"):
            VTensorType((1,), "f32")

    def test_the_largest_extent_reads_back(self):
        largest = VTensorType(((1 << 63) - 1,), f32)
        assert read(str(largest), allow_unregistered=False) is largest

    def test_conversions_keep_what_they_do_not_change(self):
        assert V.to_tensor() is TensorType((1, 8), f32)
        assert V.to_tensor().to_vtensor() is V
        assert V.with_shape((3,)) is VTensorType((3,), f32)
        assert T.with_element(f64) is TensorType((2, DYNAMIC), f64)

    def test_rank_and_number_of_elements(self):
        assert (V.rank, V.num_elements, V.is_static) == (2, 8, True)
        assert (T.rank, T.is_static) == (2, False)
        assert VTensorType((), f32).num_elements == 1
        assert VTensorType((0, 5), f32).num_elements == 0
        with pytest.raises(ValueError, match="has a dynamic extent, so no number of elements"):
            _ = T.num_elements

    def test_a_foreign_tensor_is_read_as_a_value(self):
        assert read("tensor<1x8xf32>", allow_unregistered=False) is V


class TestContainers:
    def test_dictionaries_are_sorted_and_found_by_key(self):
        type = DictType({"b": f32, "a": V})
        assert type.keys == ("a", "b")
        assert type["b"] is f32
        assert DictType({"a": V, "b": f32}) is type
        with pytest.raises(KeyError):
            type["c"]

    @pytest.mark.parametrize(
        "make",
        [lambda x: TupleType((x,)), lambda x: ListType((x,)), lambda x: DictType({"a": x}),
         lambda x: FunctionType((x,), ()), lambda x: FunctionType((), (x,))],
    )  # fmt: skip
    def test_they_hold_types(self, make):
        with pytest.raises(TypeError, match="expected a Type, not 3"):
            make(3)

    def test_keys_are_strings(self):
        with pytest.raises(TypeError, match="the key of a dictionary type is a str, not 1"):
            DictType({1: f32})

    @pytest.mark.parametrize("make", [lambda t: TupleType((t,)), lambda t: FunctionType((), (t,))])
    def test_what_can_be_made_can_be_read(self, make):
        """Text is read recursively, so depth is limited; a type too deep is refused when it is made."""
        type: Type = f32
        for _ in range(NESTING_LIMIT - 1):
            type = make(type)
        assert type.depth == NESTING_LIMIT
        assert read(str(type), allow_unregistered=False) is type
        with pytest.raises(ValueError, match="may nest 100 deep at the most"):
            make(type)


class TestOpaque:
    @pytest.mark.parametrize(
        "text", ["", "alien", "! a", "!a.b<", "!a.b<[>]", "!a.b<>x", "!a b", "#a.b", "!a.b<\ud800>"]
    )
    def test_the_text_is_a_name_and_balanced_brackets(self, text):
        with pytest.raises(ValueError, match="an opaque text is '!name'"):
            OpaqueType(text)

    def test_it_is_read_on_request_only(self):
        with pytest.raises(ParseError, match=r"unknown type '!alien.t'; allow_unregistered=True keeps it"):
            read("!alien.t<3>", allow_unregistered=False)


class Angle(Type):
    """A type of a dialect of this test: `!geo.angle<90>`."""

    __slots__ = ("degrees",)
    made: dict[int, Angle] = {}

    def __new__(cls, degrees):
        found = cls.made.get(degrees)
        if found is None:
            found = cls.made[degrees] = object.__new__(cls)
            found.degrees = degrees
            found._text = f"!geo.angle<{degrees}>"
        return found

    @classmethod
    def read(cls, parser):
        from tx8ir.core.attrs.lexer import INTEGER

        parser.expect("<", "after '!geo.angle'")
        degrees = int(parser.require(INTEGER, "a number of degrees"))
        parser.expect(">", "after the degrees")
        return cls(degrees)


class TestDialectTypes:
    context = IrContext([Dialect("geo", types={"angle": Angle.read})])

    def test_a_dialect_reads_its_own_types(self):
        assert read("!geo.angle<90>", context=self.context, allow_unregistered=False) is Angle(90)
        nested = read("tuple<!geo.angle<1>, !geo.angle<2>>", context=self.context, allow_unregistered=False)
        assert nested is TupleType((Angle(1), Angle(2)))

    def test_its_errors_have_a_place(self):
        with pytest.raises(ParseError, match="expected a number of degrees, found 'x'") as caught:
            parse_op('"a.b"() : () -> !geo.angle<x>', context=self.context, allow_unregistered=True)
        assert caught.value.line_text[caught.value.column - 1] == "x"

    def test_other_names_of_the_dialect_stay_unknown(self):
        with pytest.raises(ParseError, match=r"unknown type '!geo.length'"):
            read("!geo.length", context=self.context, allow_unregistered=False)
