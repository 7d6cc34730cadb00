"""Malformed operations: whatever parts an operation of any dialect has, parsing and verifying it gives a diagnostic."""

from __future__ import annotations

import random

import pytest

from support.campaign import check_text, full_context, malformed_ops
from tx8ir.core import IrError, VerifyError, VTensorType, f32, find_faults, parse, parse_op, print_op
from tx8ir.core.errors import InvalidTypeError

RETURN = '{ "func.return"() : () -> () }'
NULLARY = '{function_type = () -> (), sym_name = "f"}'
LONGEST = "!pd.vtensor<9223372036854775807xf32>"
BUILT_BY = {dialect.name: sorted(dialect.ops) for dialect in full_context()}


@pytest.mark.slow
@pytest.mark.parametrize("dialect", BUILT_BY)
def test_every_operation_with_wrong_parts_is_refused_or_right(dialect):
    draws = malformed_ops()
    for name in BUILT_BY[dialect]:
        for number in range(10):
            check_text(draws.draw(random.Random(f"{name}/{number}"), draws.by_name[name]))


@pytest.mark.nightly
@pytest.mark.parametrize("dialect", BUILT_BY)
def test_every_operation_a_thousand_times(dialect):
    draws = malformed_ops()
    for name in BUILT_BY[dialect]:
        for number in range(1_000):
            check_text(draws.draw(random.Random(f"{name}/nightly/{number}"), draws.by_name[name]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # The yield of a loop without its second region, whose place the yield asks for.
        ('"scf.while"() ({ "scf.yield"() : () -> () }) : () -> ()', "has 1 regions, expected 2"),
        ('"scf.while"() ({ "scf.condition"() : () -> () }) : () -> ()', "has 1 regions, expected 2"),
        ('"scf.if"() ({ "scf.yield"() : () -> () }) : () -> ()', "has 0 operands, expected 1"),
        # A return in a function without a type, or with another one.
        (f'"func.func"() ({RETURN}) {{sym_name = "f"}} : () -> ()', "lacks the attribute function_type"),
        (f'"func.func"() ({RETURN}) {{function_type = 1, sym_name = "f"}} : () -> ()', "expected a FunctionType"),
        # A call of a function that is malformed.
        ('"func.func"() ({ "func.return"() : () -> () }) {function_type = f32, sym_name = "f"} : () -> ()\n'
         '"func.call"() {callee = @f} : () -> ()', "expected a FunctionType"),
        # Declarations of an instruction program that lack what their order is checked by.
        ('"tx8.program"() ({ "tx8.segment"() {kind = "const", name = "a", size = 1} : () -> ()\n'
         '"tx8.segment"() {address = "x", kind = "const", name = "b", size = 1} : () -> () }) : () -> ()',
         "lacks the attribute address"),
        ('"tx8.program"() ({ "tx8.input"() {address = 0, name = "a"} : () -> () }) : () -> ()',
         "lacks the attribute type"),
        ('"tx8.program"() ({}) {chip = 3} : () -> ()', "attribute chip is 3"),
        # A result that no type can have.
        (f'%0 = "a.b"() : () -> {LONGEST}\n'
         f'%1 = "pd.pad"(%0) {{pad_value = 0.0, paddings = array<i64: 3, 3>}} : ({LONGEST}) -> !pd.vtensor<2xf32>',
         "a tensor extent is less than 2**63"),
    ],
)  # fmt: skip
def test_the_malformed_part_is_the_fault(text, message):
    program = parse(f"module {{\n{text}\n}}", context=full_context(), allow_unregistered=True)
    with pytest.raises(VerifyError) as error:
        program.verify()
    assert message in str(error.value)


def test_a_check_is_not_asked_where_the_operation_around_is_malformed():
    text = '"scf.while"() ({ "scf.yield"() : () -> () }) : () -> ()'
    loop = parse_op(text)
    assert [fault.message for fault in find_faults(loop)] == ["has 1 regions, expected 2"]
    assert find_faults(loop.regions[0].block.first_op) == []


def test_faults_of_own_checks_come_where_their_operation_stands():
    text = """
"func.func"() ({ "func.return"() : () -> () }) {function_type = () -> f32, sym_name = "f"} : () -> ()
"func.func"() ({ "func.return"() : () -> () }) {sym_name = "g"} : () -> ()
"func.func"() ({ "func.return"() : () -> () }) {function_type = () -> f32, sym_name = "h"} : () -> ()
"""
    found = [fault.message for fault in find_faults(parse(f"module {{{text}}}").module)]
    assert found == [
        "func.return gives (), @f returns (f32)",
        "lacks the attribute function_type, expected a FunctionType",
        "func.return gives (), @h returns (f32)",
    ]


def test_a_type_that_cannot_be_is_an_ir_error():
    with pytest.raises(InvalidTypeError, match=r"less than 2\*\*63") as error:
        VTensorType((1 << 63,), f32)
    assert isinstance(error.value, IrError)
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize(
    "text",
    [
        # A branch to the entry block of a region with one block, generic and with a short form.
        '"test.scope"() ({\n^bb0:\n  "cf.br"()[^bb0] : () -> ()\n}, {}) : () -> ()',
        f'"func.func"() ({{\n^bb0:\n  "cf.br"()[^bb0] : () -> ()\n}}) {NULLARY} : () -> ()',
        # An empty entry block before another one.
        f'"func.func"() ({{\n^bb0:\n^bb1:\n  "func.return"() : () -> ()\n}}) {NULLARY} : () -> ()',
        # What follows a return without operands is not taken for one.
        '"test.scope"() ({\n  "func.return"() : () -> ()\n  %0 = "a.b"() : () -> f32\n}, {}) : () -> ()',
    ],
)  # fmt: skip
def test_what_a_short_form_cannot_tell_is_written_in_the_generic_form(text):
    check_text(f"module {{\n{text}\n}}")
    program = parse(f"module {{\n{text}\n}}", context=full_context(), allow_unregistered=True)
    assert print_op(parse(str(program), context=full_context(), allow_unregistered=True).module) == str(program)
