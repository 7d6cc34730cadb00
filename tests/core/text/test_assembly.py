"""Assembly formats: read always, written on request, and to the peer in its own."""

from __future__ import annotations

import pytest

from support.campaign import full_context, golden_texts
from support.dialect import test_context
from tx8ir.core import (
    Attribute,
    Dialect,
    IrContext,
    Op,
    Operand,
    ParseError,
    Result,
    attribute,
    operand,
    parse,
    parse_op,
    print_op,
    result,
    structurally_equal,
)
from tx8ir.core.ir.traits import SameOperandsAndResultType
from tx8ir.core.text.assembly import assembly_of

C = "!pd.vtensor<i1>"
TEXT = f"""module {{
  func.func @f(%arg0: {C}, %arg1: f32) -> f32 {{
    %0 = func.call @f(%arg0, %arg1) {{note = "x"}} : ({C}, f32) -> f32
    %1 = scf.if %arg0 : {C} -> (f32) {{
      scf.yield %0 : f32
    }} else {{
      scf.yield %arg1 : f32
    }}
    scf.if %arg0 : {C} {{
      scf.yield
    }}
    cf.cond_br %arg0 : {C}, ^bb1(%1 : f32), ^bb2
  ^bb1(%arg2: f32):
    cf.br ^bb2
  ^bb2:
    return %1 : f32
  }}
}}"""


class TestShortForms:
    def test_they_are_written_and_read(self):
        program = parse(TEXT)
        assert print_op(program.module, short=True) == TEXT
        for options in ({}, {"generic": True}):
            text = print_op(program.module, **options)
            assert '"scf.if"' in text
            assert structurally_equal(program.module, parse(text).module) is None

    def test_what_gives_nothing_needs_no_yield(self):
        op = parse_op(
            f"func.func @f(%c: {C}) {{ scf.if %c : {C} {{ }} else {{ }} \n call @f(%c) : ({C}) -> () \n return }}"
        )
        assert print_op(op, short=True).count("scf.yield") == 2

    @pytest.mark.parametrize("text", golden_texts(), ids=lambda text: text[:20])
    def test_golden_programs_read_back(self, text: str):
        program = parse(text, context=full_context(), allow_unregistered=True)
        short = print_op(program.module, short=True)
        again = parse(short, context=full_context(), allow_unregistered=True)
        assert structurally_equal(program.module, again.module) is None

    @pytest.mark.parametrize(
        "text",
        [
            '"arith.constant"() <{value = "x" : i64}> : () -> i64',
            '"ml_program.global"() <{sym_name = "w", type = i32, is_mutable, sym_visibility = "secret"}> : () -> ()',
            '"builtin.unrealized_conversion_cast"() : () -> ()',
        ],
    )
    def test_what_they_cannot_say_is_written_generic(self, text: str):
        program = parse(text)
        short = print_op(program.module, short=True)
        assert text.partition("(")[0] in short
        assert structurally_equal(program.module, parse(short).module) is None

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("cf.br ^bb1", "a successor needs a region"),
            ("cf.br %x", "expected a block name like '^bb0', found"),
            ("func.call 1()", "expected a SymbolRefAttr"),
            ("func.call @f(%x) : () -> ()", "has 1 operands inputs and 0 types"),
            ("scf.if %c f32 {}", "expected '{' before a region"),
            ("pd.relu %x", "pd.relu has no short form"),
        ],
    )
    def test_an_error_says_what_was_expected(self, text: str, message: str):
        with pytest.raises(ParseError) as caught:
            parse_op(text)
        assert message in caught.value.message
        assert (caught.value.line, caught.value.column > 0) == (1, True)


class AddOp(Op, name="short.add", traits=(SameOperandsAndResultType,)):
    """Adds."""

    x: Operand = operand()
    y: Operand = operand()
    flag: str | None = attribute(default=None)
    out: Result = result()

    assembly_format = "$x `,` $y (`flag` $flag^)? attr-dict `:` type($out)"


class MoveOp(Op, name="short.move"):
    """Has integers, and a type that may differ."""

    x: Operand = operand()
    dims: Attribute = attribute()
    out: Result = result()

    assembly_format = "$x `,` `dims` `=` integers($dims) attr-dict `:` type-or-functional($x, $out)"


LINES = (
    "short.add %0, %0 : f32",
    'short.add %0, %0 flag "x" : f32',
    "short.add %0, %0 {other = 1 : i64} : f32",
)


class TestDeclaration:
    CONTEXT = IrContext([*test_context(), Dialect("short", [AddOp, MoveOp])])

    @pytest.mark.parametrize(
        "line",
        ["short.add %0, %0 : f32", 'short.add %0, %0 flag "x" : f32', "short.add %0, %0 {other = 1 : i64} : f32"],
    )
    def test_the_shared_type_is_written_once(self, line: str):
        body = f'%0 = "test.source"() : () -> f32\n  %1 = {line}'
        op = parse_op(f'"test.scope"() ({{\n  {body}\n}}) : () -> ()', context=self.CONTEXT)
        assert f"%1 = {line}" in print_op(op, short=True)

    @pytest.mark.parametrize(
        "line",
        [
            "short.move %0, dims = [1, 0] : f32",
            "short.move %0, dims = [] : f32",
            "short.move %0, dims = [-2] {other} : (f32) -> i1",
        ],
    )
    def test_integers_and_types_that_may_differ(self, line: str):
        body = f'%0 = "test.source"() : () -> f32\n  %1 = {line}'
        op = parse_op(f'"test.scope"() ({{\n  {body}\n}}) : () -> ()', context=self.CONTEXT)
        assert f"%1 = {line}" in print_op(op, short=True)
        assert structurally_equal(op, parse_op(print_op(op, generic=True), context=self.CONTEXT)) is None

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("short.move %0, dims = [1 0] : f32", "expected ',' between numbers"),
            ("short.move %0, dims = [1] : (f32, f32) -> f32", "has 1 operands and a result, not (f32, f32) -> f32"),
        ],
    )
    def test_what_is_wrong_in_them_has_a_place(self, line: str, message: str):
        with pytest.raises(ParseError) as caught:
            parse_op(f'"test.scope"() ({{\n  %0 = "test.source"() : () -> f32\n  %1 = {line}\n}}) : () -> ()',
                     context=self.CONTEXT)  # fmt: skip
        assert message in caught.value.message
        assert caught.value.line == 3

    @pytest.mark.parametrize(
        ("source", "message"),
        [
            ("$z", "names \\$z, which is not a field"),
            ("type($flag)", "has no type"),
            ("(`a` $x)?", "has no anchor"),
            ("type($x", "lacks a '\\)'|ends too early"),
            ("unknown", "has no 'unknown'"),
            ("`a` %", "goes wrong at"),
        ],
    )
    def test_a_wrong_format_says_why(self, source: str, message: str):
        cls = type("Wrong", (AddOp,), {"assembly_format": source, "__slots__": ()}, name="short.wrong")
        with pytest.raises(TypeError, match=message):
            assembly_of(cls)
