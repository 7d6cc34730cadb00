"""Attributes: one object per value, no bit lost between value and text, and errors that say what fits."""

from __future__ import annotations

import copy
import enum
import math
import pickle
import struct

import attrs
import ml_dtypes
import numpy as np
import pytest

from support.dialect import BoxAttr, Colour, test_context
from tx8ir.core import (
    ArrayAttr,
    BoolAttr,
    DenseArrayAttr,
    DenseAttr,
    DictAttr,
    EnumAttr,
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerType,
    OpaqueAttr,
    ParseError,
    StrAttr,
    StructAttr,
    SymbolRefAttr,
    TensorType,
    TypeAttr,
    UnitAttr,
    VTensorType,
    as_attribute,
    bf16,
    enum_attr,
    f16,
    f32,
    f64,
    i1,
    i4,
    i8,
    i32,
    i64,
    struct_attr,
    tf32,
    ui4,
    ui64,
)
from tx8ir.core.attrs.floats import bits_float, float_bits
from tx8ir.core.attrs.lexer import Source
from tx8ir.core.attrs.types import NESTING_LIMIT
from tx8ir.core.text.attribute_parser import AttributeParser


def double(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def read(text, *, allow_unregistered=True):
    parser = AttributeParser(Source(text, "<text>"), test_context(), allow_unregistered)
    found = parser.attribute()
    assert parser.peek() == "", f"{parser.text[parser.pos :]!r} is left over"
    return found


V2 = VTensorType((2,), f32)

SPELLINGS = [
    (UnitAttr(), "unit"),
    (BoolAttr(True), "true"),
    (BoolAttr(False), "false"),
    (IntAttr(3), "3 : i64"),
    (IntAttr(-8, i4), "-8 : i4"),
    (IntAttr(1, IndexType()), "1 : index"),
    (IntAttr(-3, IntegerType(32, "signed")), "-3 : si32"),
    (IntAttr((1 << 64) - 1, ui64), "18446744073709551615 : ui64"),
    (FloatAttr(0.5), "0.5 : f64"),
    (FloatAttr(1.0), "1.0 : f64"),
    (FloatAttr(-0.0), "-0.0 : f64"),
    (FloatAttr(1e300), "1.0e+300 : f64"),
    (FloatAttr(5e-324), "5.0e-324 : f64"),
    (FloatAttr(0.1, f32), "0.1 : f32"),
    (FloatAttr(1e-45, f32), "1.0e-45 : f32"),
    (FloatAttr(3.0, bf16), "3.0 : bf16"),
    (FloatAttr(0.1, f16), "0.1 : f16"),
    (FloatAttr(math.inf), "0x7FF0000000000000 : f64"),
    (FloatAttr(-math.inf, f16), "0xFC00 : f16"),
    (FloatAttr(math.nan, f32), "0x7FC00000 : f32"),
    (FloatAttr(double(0x7FF0000000000001)), "0x7FF0000000000001 : f64"),
    (FloatAttr(double(0x7FF0000020000000), f32), "0x7F800001 : f32"),
    (FloatAttr(math.nan, tf32), "0x7FC00000 : tf32"),
    (StrAttr("plain é 文"), '"plain é 文"'),
    (StrAttr('"\\\n\t\0\x7f\u2028'), '"\\"\\\\\\n\\t\\00\\7F\\E2\\80\\A8"'),
    (StrAttr(""), '""'),
    (SymbolRefAttr("main"), "@main"),
    (SymbolRefAttr("a.b-c$1"), "@a.b-c$1"),
    (SymbolRefAttr(".a"), '@".a"'),
    (SymbolRefAttr("9"), '@"9"'),
    (SymbolRefAttr(""), '@""'),
    (TypeAttr(V2), "!pd.vtensor<2xf32>"),
    (ArrayAttr([]), "[]"),
    (ArrayAttr([1, 0.5, "a", True, IntAttr(1, i8), math.nan]), '[1, 0.5, "a", true, 1 : i8, 0x7FF8000000000000 : f64]'),
    (ArrayAttr([UnitAttr(), [], {}]), "[unit, [], {}]"),
    (DenseArrayAttr([1, 2]), "array<i64: 1, 2>"),
    (DenseArrayAttr([]), "array<i64>"),
    (DenseArrayAttr([0.5, -0.0, math.inf], f32), "array<f32: 0.5, -0.0, 0x7F800000>"),
    (DenseArrayAttr([True, False], i1), "array<i1: true, false>"),
    (DictAttr({"b": 1, "a": UnitAttr(), "c d": "x"}), '{a, b = 1 : i64, "c d" = "x"}'),
    (DictAttr(), "{}"),
    (as_attribute(Colour.DARK_BLUE), "#test<colour DarkBlue>"),
    (BoxAttr(3), "#test.box<{extents = [], is_open = false, names = [], scale = 1.0 : f64, size = 3 : i64}>"),
    (OpaqueAttr("#alien.x<{a}>"), "#alien.x<{a}>"),
    (OpaqueAttr("#alien<x Y>"), "#alien<x Y>"),
    (DenseAttr(np.float32([1.5, -0.0])), "dense<[1.5, -0.0]> : !pd.vtensor<2xf32>"),
    (DenseAttr(np.float32(2.0)), "dense<2.0> : !pd.vtensor<f32>"),
    (DenseAttr(np.zeros((2, 3), np.int8)), "dense<0> : !pd.vtensor<2x3xi8>"),
    (DenseAttr(np.zeros((0, 3), np.int8)), "dense<> : !pd.vtensor<0x3xi8>"),
    (DenseAttr(np.array([[True], [False]])), "dense<[[true], [false]]> : !pd.vtensor<2x1xi1>"),
    (DenseAttr([1, -2], VTensorType((2,), i4)), "dense<[1, -2]> : !pd.vtensor<2xi4>"),
    (DenseAttr([1.0], TensorType((1,), tf32)), "dense<[1.0]> : !pd.tensor<1xtf32>"),
    (DenseAttr(np.arange(65, dtype=np.uint8)), f'dense<"0x{bytes(range(65)).hex().upper()}"> : !pd.vtensor<65xui8>'),
]  # fmt: skip


@pytest.mark.parametrize(("attribute", "text"), SPELLINGS, ids=[text[:40] for _, text in SPELLINGS])
def test_every_attribute_has_a_text_that_reads_back_as_the_same_object(attribute, text):
    assert str(attribute) == text
    assert read(text) is attribute


@pytest.mark.parametrize("attribute", [a for a, _ in SPELLINGS], ids=lambda a: str(a)[:40])
def test_equal_means_identical_also_after_copying_and_pickling(attribute):
    assert copy.copy(attribute) is attribute
    assert copy.deepcopy([attribute])[0] is attribute
    assert pickle.loads(pickle.dumps(attribute)) is attribute


class TestIntegers:
    @pytest.mark.parametrize(
        ("value", "type", "low", "high"),
        [
            (128, i8, -128, 127),
            (-129, i8, -128, 127),
            (16, ui4, 0, 15),
            (-1, ui4, 0, 15),
            (8, i4, -8, 7),
        ],
    )
    def test_values_fit_their_type(self, value, type, low, high):
        with pytest.raises(OverflowError) as caught:
            IntAttr(value, type)
        assert str(caught.value) == f"{value} does not fit {type}, which holds {low} to {high}"
        assert IntAttr(low, type).value == low
        assert IntAttr(high, type).value == high

    def test_a_number_too_long_to_write_is_named_in_hex(self):
        with pytest.raises(OverflowError, match=r"^0x1000"):
            IntAttr(16**5000)

    def test_bools_and_floats_are_no_integers(self):
        for value in (True, 1.0, "1", None):
            with pytest.raises(TypeError, match="expected an int, not"):
                IntAttr(value)
        with pytest.raises(TypeError, match="an integer attribute has an integer type, not f32"):
            IntAttr(1, f32)

    def test_one_and_true_are_two_attributes(self):
        with pytest.raises(TypeError, match="is a BoolAttr"):
            IntAttr(1, i1)
        assert ArrayAttr([1]) is not ArrayAttr([True])
        assert DenseArrayAttr([1]) is IntsOf(1)

    def test_numpy_integers_are_integers(self):
        assert IntAttr(np.int8(3)) is IntAttr(3)
        assert as_attribute(np.uint64(3)) is IntAttr(3)


def IntsOf(*values):
    return DenseArrayAttr(np.array(values))


class TestFloats:
    @pytest.mark.parametrize(
        ("value", "type", "rounded"),
        [
            (0.1, f32, 0.10000000149011612),
            (1 / 3, f16, 0.333251953125),
            (1 / 3, tf32, 0.333251953125),
            (1 + 2**-8, bf16, 1.0),  # a tie, to even
            (1 + 2**-8 + 2**-40, bf16, 1 + 2**-7),  # rounding to f32 on the way would make it a tie
            (1 + 2**-11 + 2**-40, tf32, 1 + 2**-10),
            (65519.999, f16, 65504.0),
            (65520.0, f16, math.inf),
            (1e39, bf16, math.inf),
            (2**-150, f32, 0.0),
            (2**-149 * 0.75, f32, 2**-149),
        ],
    )
    def test_they_round_once_to_nearest_even(self, value, type, rounded):
        assert FloatAttr(value, type).value == rounded
        assert FloatAttr(-value, type).value == -rounded
        assert DenseArrayAttr([value], type).value == (rounded,)

    @pytest.mark.parametrize("type", [f16, bf16])
    def test_every_pattern_of_16_bits_survives(self, type):
        numbers = np.arange(1 << 16, dtype=np.uint16)
        with np.errstate(all="ignore"):
            expected = numbers.view(type.dtype).astype(np.float64)
        for bits, value in zip(numbers.tolist(), expected.tolist(), strict=True):
            found = bits_float(bits, type.format)
            assert found == value or (math.isnan(found) and math.isnan(value))
            assert float_bits(found, type.format) == bits
            if bits % 64 == 1 or not math.isfinite(found):
                attribute = FloatAttr(found, type)
                assert read(str(attribute)) is attribute

    def test_zeros_of_both_signs_and_payloads_are_told_apart(self):
        assert FloatAttr(0.0) is not FloatAttr(-0.0)
        assert FloatAttr(double(0x7FF8000000000001)) is not FloatAttr(math.nan)
        assert DenseArrayAttr([0.0], f64) is not DenseArrayAttr([-0.0], f64)
        assert DenseAttr(np.float32([0.0])) is not DenseAttr(np.float32([-0.0]))
        assert BoxAttr(1, scale=0.0) is not BoxAttr(1, scale=-0.0)
        assert str(DictAttr({"a": BoxAttr(1, scale=-0.0)})).count("-0.0") == 1

    def test_a_payload_that_does_not_fit_stays_a_nan(self):
        assert str(FloatAttr(double(0x7FF0000000000001), f32)) == "0x7FC00000 : f32"

    def test_other_things_are_no_floats(self):
        for value in (True, "1.0", None):
            with pytest.raises(TypeError, match="expected a float, not"):
                FloatAttr(value)
        with pytest.raises(TypeError, match="a float attribute has a float type, not i32"):
            FloatAttr(1.0, i32)


class TestStrings:
    def test_half_a_surrogate_pair_has_no_text(self):
        for make in (StrAttr, SymbolRefAttr, lambda s: DictAttr({s: 1})):
            with pytest.raises(ValueError, match="surrogates not allowed"):
                make("\ud800")

    def test_other_things_are_no_strings(self):
        with pytest.raises(TypeError, match="expected a str, not b'a'"):
            StrAttr(b"a")


class TestDictionaries:
    def test_they_are_sorted_mappings(self):
        d = DictAttr({"b": 1, "a": "x", "c": 0.5})
        assert list(d) == ["a", "b", "c"]
        assert (len(d), "b" in d, "z" in d, d.get("z")) == (3, True, False, None)
        assert d["a"] is StrAttr("x")
        assert d.value == {"a": "x", "b": 1, "c": 0.5}
        assert dict(d.items()) == {"a": StrAttr("x"), "b": IntAttr(1), "c": FloatAttr(0.5)}
        with pytest.raises(KeyError):
            d["z"]

    def test_order_of_insertion_means_nothing(self):
        assert DictAttr({"a": 1, "b": 2}) is DictAttr({"b": 2, "a": 1})
        assert DictAttr({}) is DictAttr()

    def test_changes_give_another(self):
        d = DictAttr({"a": 1})
        assert d.with_entry("b", 2) is DictAttr({"a": 1, "b": 2})
        assert d.with_entry("a", 2) is DictAttr({"a": 2})
        assert d.without("a") is DictAttr()
        assert d.without("z") is d
        assert d is DictAttr({"a": 1})

    def test_a_null_is_a_unit(self):
        assert DictAttr({"a": None}) is DictAttr({"a": UnitAttr()})


class TestDense:
    @pytest.mark.parametrize(
        ("values", "type", "message"),
        [
            ([300], VTensorType((1,), i8), "values of dtype int64 are lost in !pd.vtensor<1xi8>; convert them first"),
            ([0.1], VTensorType((1,), bf16), "values of dtype float64 are lost in"),
            ([2], VTensorType((1,), i1), "are lost in"),
            ([8], VTensorType((1,), i4), "are lost in"),
            ([1.5], VTensorType((1,), i32), "are lost in"),
            (
                np.float32([1 + 2**-20]),
                VTensorType((1,), tf32),
                "more mantissa bits than !pd.vtensor<1xtf32>; round it",
            ),
            ([1, 2], VTensorType((3,), i64), "an array of shape (2,) does not fit !pd.vtensor<3xi64>"),
            ([[1]], VTensorType((1,), i64), "an array of shape (1, 1) does not fit !pd.vtensor<1xi64>"),
        ],
    )
    def test_nothing_is_lost_silently(self, values, type, message):
        with pytest.raises(ValueError) as caught:
            DenseAttr(values, type)
        assert message in str(caught.value)

    def test_conversions_that_lose_nothing_are_made(self):
        assert DenseAttr([1, 2], VTensorType((2,), i8)) is DenseAttr(np.int8([1, 2]))
        assert DenseAttr([0.5, math.nan], VTensorType((2,), bf16)).value.dtype == ml_dtypes.bfloat16
        assert DenseAttr([0.5], VTensorType((1,), tf32)).value.dtype == np.float32
        assert DenseAttr(np.array([1.0, 2.0], ">f4")) is DenseAttr(np.float32([1.0, 2.0]))
        assert DenseAttr(np.arange(6).reshape(2, 3).T) is DenseAttr(np.array([[0, 3], [1, 4], [2, 5]]))

    def test_the_array_is_read_only(self):
        array = DenseAttr([1, 2]).value
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3

    def test_it_does_not_share_memory_with_what_it_was_made_from(self):
        source = np.array([1, 2])
        attribute = DenseAttr(source)
        source[0] = 5
        assert attribute.value.tolist() == [1, 2]

    def test_a_dtype_without_a_scalar_type_is_named(self):
        with pytest.raises(TypeError, match="no scalar type holds dtype complex128; known dtypes: bfloat16"):
            DenseAttr([1j])

    def test_one_byte_pattern_for_each_value(self):
        """Half of an i4's byte and seven bits of a bool's mean nothing; they must not make two of one value."""
        odd = np.frombuffer(bytes([0x1F, 0xF2]), ml_dtypes.int4)
        assert DenseAttr(odd) is DenseAttr([-1, 2], VTensorType((2,), i4))
        assert DenseAttr(np.frombuffer(b"\x02\x00", np.bool_)) is DenseAttr([True, False])

    @pytest.mark.parametrize("type", [f32, f16, bf16, f64])
    def test_signalling_nans_survive(self, type):
        size = type.dtype.itemsize
        infinity = float_bits(math.inf, type.format)
        words = np.array([infinity + 1, infinity + 3], f"<u{size}")
        attribute = DenseAttr(words.view(type.dtype))
        again = read(str(attribute))
        assert again is attribute
        assert again.value.view(f"<u{size}").tolist() == words.tolist()

    def test_more_elements_than_a_program_should_hold_are_refused(self):
        huge = np.broadcast_to(np.float32(0), (1 << 13, (1 << 13) + 1))
        with pytest.raises(ValueError, match="they belong into the weight store"):
            DenseAttr(huge)
        with pytest.raises(ParseError, match="too many for a dense attribute"):
            read("dense<0.0> : tensor<99999999999x99999999999xf32>")


class TestStructures:
    def test_an_enumeration_reads_and_prints_its_spellings(self):
        assert read("#test<colour Red>").value is Colour.RED
        with pytest.raises(ParseError, match="expected one of Red, DarkBlue, found 'Green'"):
            read("#test<colour Green>")

    def test_an_enumeration_must_be_registered(self):
        class Loose(enum.Enum):
            A = "a"

        with pytest.raises(TypeError, match="Loose is not registered as an attribute; decorate it with @enum_attr"):
            EnumAttr(Loose.A)
        with pytest.raises(TypeError, match="no attribute holds a Loose"):
            as_attribute(Loose.A)

    def test_spellings_are_strings_and_names_have_a_dialect(self):
        class Numbers(enum.Enum):
            ONE = 1

        with pytest.raises(TypeError, match=r"the value of Numbers.ONE is its spelling, a str, not 1"):
            enum_attr("test.numbers")(Numbers)
        with pytest.raises(ValueError, match=r"an attribute is named 'dialect.mnemonic', not 'numbers'"):
            enum_attr("numbers")(Colour)

    def test_fields_are_interned_read_by_name_and_left_out_when_none(self):
        box = BoxAttr(size=2, names=("a",), colour=Colour.RED)
        assert BoxAttr(2, ("a",), colour=Colour.RED) is box
        assert attrs.evolve(box, label="x") is BoxAttr(2, ("a",), label="x", colour=Colour.RED)
        assert "label" not in str(box)
        assert read(str(box)) is box
        assert read("#test.box<{size = 2}>") is BoxAttr(2)

    def test_equal_in_python_is_not_equal_here(self):
        assert BoxAttr(1) is not BoxAttr(True)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("#test.box<{}>", "#test.box: .*missing 1 required positional argument: 'size'"),
            (
                "#test.box<{size = 1, depth = 2}>",
                "#test.box has no field 'depth'; its fields are: size, names, extents",
            ),
            ('#test.box<{size = "x"}>', 'field size of #test.box is "x", expected an int'),
            ("#test.box<{size = 1 : i32}>", "field size of #test.box is 1 : i32, expected an int"),
            (
                "#test.box<{size = 1, extents = [1, 0.5]}>",
                r"field extents of #test.box is \[1, 0.5\], expected a tuple of int",
            ),
            ("#test.box<{size = 1, scale = 0.1 : f32}>", "field scale of #test.box is 0.1 : f32, expected a float"),
            ("#test.box{size = 1}", "expected '<' after '#test.box'"),
        ],
    )
    def test_fields_are_checked_when_they_are_read(self, text, message):
        with pytest.raises(ParseError, match=message):
            read(text)

    def test_it_must_be_an_attrs_class(self):
        with pytest.raises(TypeError, match="Plain is not an attrs subclass of StructAttr"):

            @struct_attr("test.plain")
            class Plain(StructAttr):
                pass

    def test_unknown_ones_are_kept_on_request_only(self):
        with pytest.raises(ParseError, match=r"unknown attribute '#alien.x'; allow_unregistered=True keeps it"):
            read("#alien.x<1>", allow_unregistered=False)
        for text in ("alien", "#", "#a<", "#a<)>", "#a.b<>>"):
            with pytest.raises(ValueError, match="an opaque text is '#name'"):
                OpaqueAttr(text)


class TestConversion:
    @pytest.mark.parametrize(
        ("value", "attribute"),
        [
            (True, BoolAttr(True)),
            (np.bool_(True), BoolAttr(True)),
            (1, IntAttr(1)),
            (1.0, FloatAttr(1.0)),
            (np.float32(0.5), FloatAttr(0.5)),
            ("a", StrAttr("a")),
            (None, UnitAttr()),
            (f32, TypeAttr(f32)),
            ((1, 2), DenseArrayAttr([1, 2])),
            ([0.5], DenseArrayAttr([0.5], f64)),
            ((True,), DenseArrayAttr([True], i1)),
            ((1, 0.5), ArrayAttr([1, 0.5])),
            ((1, True), ArrayAttr([IntAttr(1), BoolAttr(True)])),
            ((), ArrayAttr([])),
            (("a",), ArrayAttr(["a"])),
            ({"a": {"b": 1}}, DictAttr({"a": DictAttr({"b": IntAttr(1)})})),
            (np.array([1]), DenseAttr([1])),
            (Colour.RED, EnumAttr(Colour.RED)),
            (BoxAttr(1), BoxAttr(1)),
            (StrAttr("x"), StrAttr("x")),
        ],
        ids=repr,
    )
    def test_python_values_become_attributes(self, value, attribute):
        assert as_attribute(value) is attribute

    @pytest.mark.parametrize("value", [pytest.param(object(), id="object"), {1}, 1j, b"x", range(3)], ids=repr)
    def test_other_values_have_none(self, value):
        with pytest.raises(TypeError, match=f"no attribute holds a {type(value).__name__}"):
            as_attribute(value)

    def test_values_come_back(self):
        for value in (True, 1, 0.5, "a", (1, 2), (0.5,), (True, False), f32, {"a": ("b", "c")}):
            assert as_attribute(value).value == value

    def test_what_can_be_made_can_be_read(self):
        attribute = IntAttr(1)
        for i in range(NESTING_LIMIT - 1):
            attribute = ArrayAttr([attribute]) if i % 2 else DictAttr({"a": attribute})
        assert attribute.depth == NESTING_LIMIT
        assert read(str(attribute)) is attribute
        with pytest.raises(ValueError, match="may nest 100 deep"):
            ArrayAttr([attribute])
        with pytest.raises(ValueError, match="may nest 100 deep"):
            DictAttr({"a": attribute})


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("3 : f32", "an integer literal cannot have the type f32; write a point", 1),
        ("3.0 : i32", "a float literal cannot have the type i32", 1),
        ("300 : i8", "300 does not fit i8, which holds -128 to 127", 1),
        ("1 : tensor<1xf32>", "a number has a scalar type, not !pd.vtensor<1xf32>", 1),
        ("0x1FFFF : f16", "these bits do not fit f16", 1),
        ("0x00000001 : tf32", "these bits do not fit tf32", 1),
        ("-", "expected a number", 1),
        ("1" * 500, "this number is too long", 1),
        ("0x" + "1" * 500, "this number is too long", 1),
        ('"a', "this string is not closed on its line", 1),
        ('"a\nb"', "this string is not closed on its line", 1),
        ('"\\q"', "unknown escape '\\q' in a string", 2),
        ('"\\FF"', "the escaped bytes of this string are not UTF-8", 1),
        ("[1, 2", "expected ',' between the elements of an array, found the end of the text", 6),
        ("[1 2]", "expected ',' between the elements of an array, found '2'", 4),
        ("{a = 1, a}", "the attribute 'a' comes twice", 9),
        ("{1 = 2}", "expected the name of an attribute, found '1'", 2),
        ("{a = }", "expected an attribute, found '}'", 6),
        ("@1", "expected a symbol like '@main', found '@'", 1),
        ("array<2xf32: 1>", "expected a type, found '2'", 7),
        ("array<!pd.vtensor<1xf32>: 1>", "the elements of an array have a scalar type, not !pd.vtensor<1xf32>", 7),
        ("array<i64: 1.0>", "expected an integer, found '1'", 12),
        ("array<f32: 1>", "expected a float like 1.0, found '1'", 12),
        ("array<i1: 2>", "2 does not fit i1, which holds 0 and 1", 11),
        ("array<i64: 1", "expected '>' after the numbers of an array, found the end of the text", 13),
        ("dense<1.0> : f32", "a dense attribute has a static tensor type, not f32", 10),
        ("dense<1.0> : tensor<?xf32>", "a dense attribute has a static tensor type, not !pd.vtensor<?xf32>", 10),
        ("dense<[1.0]> : tensor<2xf32>", "the numbers have the shape (1,), !pd.vtensor<2xf32> has (2,)", 7),
        ("dense<[[1.0], [1.0, 2.0]]> : tensor<2x2xf32>", "different shapes: (1,) and (2,)", 15),
        ("dense<[1.0 2.0]> : tensor<2xf32>", "expected ',' between the elements of a dense attribute, found '2'", 12),
        ("dense<> : tensor<1xf32>", "!pd.vtensor<1xf32> has 1 elements, found none", 7),
        ('dense<"0x00"> : tensor<1xf32>', "!pd.vtensor<1xf32> has 4 bytes, these are 1", 7),
        ('dense<"00"> : tensor<1xi8>', 'the bytes of a dense attribute are written as "0x…", two digits each', 7),
        ('dense<"0x01200000"> : tensor<1xtf32>', "more mantissa bits than", 7),
        ("dense<300> : tensor<2xi8>", "300 does not fit i8", 7),
        ("dense<1.0 2.0> : tensor<f32>", "expected '>' after the numbers of a dense attribute", 11),
        ("!nope.t", "unknown type '!nope.t'", 1),
        ("nope", "unknown type 'nope'", 1),
        ("tensor<4>", "expected an extent like '8x' or an element type like 'f32', found '4'", 8),
        ("tensor<4xf33>", "expected an extent like '8x' or an element type like 'f32', found 'f33'", 10),
        ("tensor<99999999999999999999xf32>", "this extent is too large: it must be less than 2**63", 8),
        ("tensor<4xf32", "expected '>' after the element type of a tensor, found the end of the text", 13),
        ("! x", "expected the name of a dialect type right after '!'", 2),
        ("(f32)", "expected '->' after the operand types, found the end of the text", 6),
        ("(f32 f32) -> ()", "expected ')' after a list of types, found 'f32'", 6),
        ("tuple<f32", "expected '>' after a list of types, found the end of the text", 10),
        ('!builtin.dict<"a": f32, "a": f32>', "the key 'a' comes twice", 24),
        ('!builtin.dict<a: f32>', "expected a string, found 'a'", 15),
        ("#nope<x>", "unknown attribute '#nope'", 1),
        ("# x", "expected the name of a dialect attribute right after '#'", 2),
        ("[" * 101 + "]" * 101, "types and attributes may nest 100 deep at the most", 101),
    ],
    ids=lambda x: str(x)[:40],
)  # fmt: skip
def test_what_is_wrong_is_said_where_it_is(text, message, column):
    with pytest.raises(ParseError) as caught:
        read(text, allow_unregistered=False)
    assert message in caught.value.message
    assert caught.value.column == column
