"""Syntax errors of operations: each names what was expected and stands under what is wrong."""

# One row per error reads best.
# ruff: noqa: E501
from __future__ import annotations

import pytest

from support.dialect import test_context
from tx8ir.core import IrError, ParseError, parse_op

UNARY = '%1 = "test.unary"(%0) : (f32) -> f32'
SOURCE = '%0 = "test.source"() : () -> f32'

# The text, what the message must say, and the part of the text that the caret stands under (its last occurrence).
ERRORS = [
    ("", "expected an operation, found nothing", None),
    ("  // only a comment\n", "expected an operation, found nothing", None),
    ("nonsense", "expected an operation, found 'nonsense'", "nonsense"),
    ("}", "this '}' closes nothing", "}"),
    ("^bb0:", "a block label needs a region around it", "^bb0"),
    ("module", "expected '{' before a region, found the end of the text", None),
    ("module {\n", "expected '}' for the operation at line 1, found the end", None),
    ("module attributes {a {", "expected ',' between attributes, found '{'", "{"),
    ("%0", "expected '=' after the names of the results, found the end of the text", None),
    ("%0 = ", "expected an operation, found the end of the text", None),
    ("% = x", "expected a value name like '%0', found '%'", "%"),
    ('%0:0 = "test.source"() : () -> ()', "the number of results is at least 1", "0 ="),
    ('%0:x = "test.source"() : () -> ()', "expected a number of results, found 'x'", "x ="),
    ('%0:2 = "test.source"() : () -> f32', "test.source has 1 result types for 2 results", "() -> f32"),
    ('%0, %1 = "test.source"() : () -> f32', "test.source has 1 results, 2 are named", "%0,"),
    ('%0 = "test.source"() : () -> ()', "test.source has 0 result types for 1 results", "() -> ()"),
    ('"test.source" : () -> ()', "expected '(' after the name of an operation, found ':'", ": ()"),
    ('"test.source"(%0 : f32) : () -> ()', "expected ')' after the operands, found ':'", ": f32)"),
    ('"test.source"(1) : () -> ()', "expected a value name like '%0', found '1'", "1)"),
    ('"test.source"()', "expected ':' before the types of test.source, found the end of the text", None),
    ('"test.source"() : f32', "expected '(' before a list of types, found 'f32'", "f32"),
    ('"test.source"() : () f32', "expected '->' after the operand types, found 'f32'", "f32"),
    ('"test.source"() : () -> f32 f32', "expected an operation, found 'f32'", "f32"),
    (f"{SOURCE}\n{SOURCE}", "%0 is defined already", "%0"),
    (UNARY, "%0 is not defined", "%0"),
    (f"{SOURCE}\n" + '"test.unary"(%0) : (bf16) -> bf16', "%0 is f32, used here as bf16", "%0"),
    (f"{SOURCE}\n" + '"test.unary"(%0, %0) : (f32) -> f32', "test.unary has 2 operands and 1 operand types", "(f32)"),
    (f"{SOURCE}\n" + '"test.unary"() : (f32) -> f32', "test.unary has 0 operands and 1 operand types", "(f32)"),
    (f"{SOURCE}\n" + '"test.unary" (%0) : () -> f32', "test.unary has 1 operands and 0 operand types", "() -> f32"),
    (f"{SOURCE}\n" + '"test.unary"(%0#1) : (f32) -> f32', "%0 has one result, so no %0#1", "%0#1"),
    (f"{SOURCE}\n" + '"test.unary"(%0#x) : (f32) -> f32', "expected a number after '%0#'", "%0#x"),
    ('%0:2 = "test.source"() : () -> (f32, f32)\n"test.unary"(%0) : (f32) -> f32', "%0 names 2 results; say which", "%0)"),
    ('%0:2 = "test.source"() : () -> (f32, f32)\n"test.unary"(%0#2) : (f32) -> f32', "%0 has 2 results, so no %0#2", "%0#2"),
    ('"test.unary"(%0) : (f32) -> f32\n%0:2 = "test.source"() : () -> (f32, f32)', "%0 names 2 results; say which", "%0)"),
    ('"test.unary"(%0#3) : (f32) -> f32\n%0:2 = "test.source"() : () -> (f32, f32)', "%0 has 2 results, so no %0#3", "%0#3"),
    ('"test.unary"(%0) : (f32) -> f32\n%0 = "test.source"() : () -> i8', "%0 is i8, used before as f32", "%0 ="),
    ('"test.isolated"() ({\n' + UNARY + "\n}) : () -> ()", "%0 is not defined", "%0"),
    (f'{SOURCE}\n"test.isolated"() ({{\n{UNARY}\n}}) : () -> ()', "%0 is not defined", "%0"),
    ('"test.scope"() ({\n' + SOURCE + "\n}, {\n" + UNARY + "\n}) : () -> ()", "%0 is not defined", "%0"),
    ('"test.graph"() ({\n"test.jump"()[^x] : () -> ()\n}) : () -> ()', "^x is not defined in this region", "^x"),
    ('"test.jump"()[^x] : () -> ()', "a successor needs a region around the operation", "^x"),
    ('"test.graph"() ({\n"test.jump"()[x] : () -> ()\n}) : () -> ()', "expected a block name like '^bb0', found 'x'", "x]"),
    ('"test.graph"() ({\n"test.jump"()[^x : () -> ()\n^x:\n}) : () -> ()', "expected ']' after the successors", ": () -> ()\n"),
    ('"test.graph"() ({\n^a:\n^a:\n}) : () -> ()', "^a is defined already", "^a"),
    ('"test.graph"() ({\n^a(%x f32):\n}) : () -> ()', "expected ':' after the name of an argument, found 'f32'", "f32"),
    ('"test.graph"() ({\n^a(x: f32):\n}) : () -> ()', "expected an argument name like '%a', found 'x'", "x:"),
    ('"test.graph"() ({\n^a(%x: f32 %y: f32):\n}) : () -> ()', "expected ',' between block arguments, found '%y'", "%y"),
    ('"test.graph"() ({\n^a\n}) : () -> ()', "expected ':' after a block label, found '}'", "}"),
    ('"test.graph"() ({\n^a(%x: f32, %x: f32):\n}) : () -> ()', "%x is defined already", "%x"),
    ('"test.graph"() ({\n}', "expected ')' after the regions, found the end of the text", None),
    ('"test.graph"() ({\n} {\n}) : () -> ()', "expected ')' after the regions, found '{'", "{\n})"),
    ('"test.graph"() (x) : () -> ()', "expected '{' before a region, found 'x'", "x)"),
    ("func.func main() {}", "expected a symbol like '@main', found 'main'", "main"),
    ("func.func @f {}", "expected '(' after the name of a function, found '{'", "{}"),
    ("func.func @f(f32) {}", "the arguments of a function with a body have names, as in (%a: f32)", "f32"),
    ("func.func @f(%a f32) {}", "expected ':' after the name of an argument, found 'f32'", "f32"),
    ("func.func @f(%a: f32 %b: f32) {}", "expected ',' between arguments, found '%b'", "%b"),
    ("func.func @f(%a: f32, %a: f32) {}", "%a is defined already", "%a"),
    ("func.func @f(%a: f32) {\n^bb0:\n}", "the entry block has its arguments in the header, so no label", "^bb0"),
    ('func.func @f() attributes {sym_name = "g"} {}', "'sym_name' is said by the header of a function", "{}"),
    ("func.func @f() -> {}", "expected a type, found '{'", "{}"),
    ("func.func @f() {\n return %a\n}", "expected ':' before the types of the returned values, found '}'", "}"),
    ("func.func @f(%a: f32) {\n return %a : f32, f32\n}", "1 operands have 2 types", "}"),
    (SOURCE + " loc(", "expected a location: a file, a name, callsite, fused or unknown; found the end of the text", None),
    (SOURCE + " loc(x)", "expected a location: a file, a name, callsite, fused or unknown; found 'x'", "x)"),
    (SOURCE + ' loc("a":1)', "expected ':' after the line of a location, found ')'", ")"),
    (SOURCE + ' loc("a":x:1)', "expected a line number, found 'x'", "x:1"),
    (SOURCE + ' loc("a"', "expected ')' after a location, found the end of the text", None),
    (SOURCE + ' loc(fused["a" "b"])', "expected ',' between locations, found '\"'", '"b"'),
    ('"test.source"() {a = #test<colour>} : () -> ()', "expected one of Red, DarkBlue, found ''", ">}"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "under"), ERRORS, ids=[f"{m[:50]} | {t[:20]!r}" for t, m, _ in ERRORS])
def test_the_message_says_what_was_expected_and_the_caret_where(text, message, under):
    with pytest.raises(ParseError) as caught:
        parse_op(text, context=test_context(), file="x.mlir")
    error = caught.value
    assert message in error.message
    place = len(text) if under is None else text.rindex(under)
    assert (error.line, error.column) == (text.count("\n", 0, place) + 1, place - (text.rfind("\n", 0, place) + 1) + 1)
    first, line, caret = str(error).split("\n")
    assert first == f"x.mlir:{error.line}:{error.column}: error: {error.message}"
    assert line == "  " + error.line_text
    assert caret == " " * (error.column + 1) + "^"


def test_it_is_an_ir_error_with_file_line_and_column():
    with pytest.raises(IrError) as caught:
        parse_op("\n\tmodule x", file="a/b.mlir")
    error = caught.value
    assert isinstance(error, ParseError)
    assert (error.file, error.line, error.column) == ("a/b.mlir", 2, 9)
    assert str(error) == "a/b.mlir:2:9: error: expected '{' before a region, found 'x'\n  \tmodule x\n  \t       ^"


def test_of_a_very_long_line_the_part_around_the_column_is_shown():
    text = '"test.source"() {' + ", ".join(f"a{i} = {i}" for i in range(200)) + ", a1} : () -> ()"
    with pytest.raises(ParseError, match="the attribute 'a1' comes twice") as caught:
        parse_op(text, context=test_context())
    _, line, caret = str(caught.value).split("\n")
    assert len(line) <= 202
    assert line[caret.index("^") :].startswith("a1}")


def test_nothing_of_a_failed_parse_is_left_in_the_context():
    context = test_context()
    for _ in range(2):
        with pytest.raises(ParseError):
            parse_op('"test.unary"(%0) : (f32) -> f32', context=context)
    assert parse_op('"test.source"() : () -> f32', context=context).name == "test.source"
