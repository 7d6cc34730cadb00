"""Misuse of the IR: a clear IrError that names the operations and their Python lines, and an IR that is as it was."""

from __future__ import annotations

import inspect

import pytest

import tx8ir
from tx8ir.core import Block, Builder, FunctionType, IrError, Program, VerifyError, VTensorType, f32, print_op
from tx8ir.dialects import func, pd

V = VTensorType((2,), f32)


def line() -> int:
    """The line of the caller."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def main_of():
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType([V], [V]))
    return program, main.body.block


def place(number):
    return f'{__file__}":{number}:'


def faults(program):
    with pytest.raises(VerifyError) as error:
        program.verify()
    return str(error.value)


# -- erased operations -------------------------------------------------------------------------------------------------


def test_an_erased_operation_says_who_made_it_and_who_erased_it_where():
    _, block = main_of()
    with Builder.at_end(block):
        made, op = line(), pd.relu(block.args[0])
    out = op.out
    erased, _ = line(), op.erase("tidy-up")
    for touch in (lambda: op.operands, lambda: op.name, lambda: op.erase(), lambda: op.attributes, lambda: op.x):
        with pytest.raises(IrError) as error:
            touch()
        message = str(error.value)
        assert "pd.relu" in message
        assert "was erased by tidy-up" in message
        assert place(made) in message
        assert place(erased) in message
    with pytest.raises(IrError, match=r"operand x of pd\.abs is a result of an erased operation: pd\.relu .*tidy-up"):
        pd.abs(out)
    assert "tidy-up" in repr(op)
    assert not block.args[0].has_uses


def test_an_operation_inside_an_erased_one_is_erased_with_it():
    program, block = main_of()
    with Builder.at_end(block):
        op = pd.relu(block.args[0])
    program.main.erase("strip")
    with pytest.raises(IrError, match=r"pd\.relu .* was erased by strip"):
        _ = op.parent


def test_an_operation_in_use_is_not_erased_and_its_user_is_named():
    program, block = main_of()
    with Builder.at_end(block):
        made, op = line(), pd.relu(block.args[0])
        used, _ = line(), func.ReturnOp([op])
    before = str(program)
    with pytest.raises(IrError) as error:
        op.erase()
    message = str(error.value)
    assert "pd.relu cannot be erased: its result 0 is used by func.return" in message
    assert place(made) in message
    assert place(used) in message
    assert str(program) == before
    program.verify()


# -- values of another program -----------------------------------------------------------------------------------------


def test_a_value_of_another_program_names_both_operations_and_their_lines():
    _, other = main_of()
    program, block = main_of()
    with Builder.at_end(other):
        made, foreign = line(), pd.relu(other.args[0])
    with Builder.at_end(block):
        used, _ = line(), func.ReturnOp([foreign])
    message = faults(program)
    assert "func.return: operand 0 is a value of another program, defined by pd.relu" in message
    assert place(made) in message
    assert place(used) in message


def test_an_argument_of_another_program():
    _, other = main_of()
    program, block = main_of()
    with Builder.at_end(block):
        func.ReturnOp([other.args[0]])
    message = faults(program)
    assert "operand 0 is a value of another program, a block argument of func.func" in message


def test_a_value_of_another_function_is_not_called_foreign():
    program, block = main_of()
    with Builder.at_end(program.body):
        other = func.FuncOp(sym_name="other", function_type=FunctionType([V], [V]))
    with Builder.at_end(other.body.block):
        func.ReturnOp([block.args[0]])
    with Builder.at_end(block):
        func.ReturnOp([block.args[0]])
    assert "operand 0 is defined in a region that does not enclose it" in faults(program)


def test_a_value_of_a_detached_operation():
    program, block = main_of()
    loose = pd.relu(block.args[0])
    with Builder.at_end(block):
        func.ReturnOp([loose])
    assert "operand 0 is a result of pd.relu" in faults(program)
    assert "which is in no block" in faults(program)


# -- order and cycles --------------------------------------------------------------------------------------------------


def test_a_use_before_its_definition_names_both_lines():
    program, block = main_of()
    with Builder.at_end(block):
        first, a = line(), pd.relu(block.args[0])
        second, b = line(), pd.abs(a)
        func.ReturnOp([b])
    b.move_before(a)
    message = faults(program)
    assert "pd.abs: operand 0 is used before its definition by pd.relu" in message
    assert place(first) in message
    assert place(second) in message


def test_operations_that_use_each_other_are_a_cycle():
    program, block = main_of()
    with Builder.at_end(block):
        a = pd.relu(block.args[0])
        b = pd.abs(a)
        func.ReturnOp([b])
    a.set_operand(0, b)
    assert "pd.relu: operand 0 is used before its definition by pd.abs" in faults(program)
    assert print_op(program.module).count("%") == str(program).count("%")


def test_an_operation_that_uses_itself():
    program, block = main_of()
    with Builder.at_end(block):
        a = pd.relu(block.args[0])
        func.ReturnOp([a])
    a.set_operand(0, a)
    assert "pd.relu: operand 0 is used before its definition by pd.relu" in faults(program)


def test_an_operation_cannot_hold_itself():
    program, block = main_of()
    with Builder.at_end(block):
        inner = func.FuncOp(sym_name="inner", function_type=FunctionType([], []))
    outer = program.main
    before = str(program)
    with pytest.raises(IrError, match=r"func\.func cannot be moved into itself"):
        outer.move_before(inner)
    outer.detach()
    with pytest.raises(IrError, match=r"func\.func cannot be inserted into a block inside itself"):
        inner.body.block.append(outer)
    program.body.append(outer)
    assert str(program) == before


# -- places ------------------------------------------------------------------------------------------------------------


def test_names_and_locations_survive_text():
    text = """module {
  func.func @main(%arg0: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {
    %hidden = "pd.relu"(%arg0) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> loc("net.py":3:1)
    %parts:2 = "lab.two"(%hidden) : (!pd.vtensor<2xf32>) -> (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) loc(unknown)
    return %parts#1 : !pd.vtensor<2xf32> loc("head"("net.py":4:5))
  } loc(fused<"cse">["net.py":1:1, "net.py":2:1])
} loc(unknown)"""
    program = tx8ir.parse(text, keep_names=True, allow_unregistered=True)
    assert print_op(program.module, locations=True, names=True) == text.replace(
        'loc("net.py":3:1)', 'loc("hidden"("net.py":3:1))'
    ).replace("loc(unknown)\n    return", 'loc("parts")\n    return')
    relu = program.main.body.block.first_op
    assert (relu.result.name_hint, relu.location.name) == ("hidden", "hidden")


def test_a_block_that_is_no_longer_anywhere_takes_no_builder():
    _, block = main_of()
    with Builder.at_end(block):
        op = pd.relu(block.args[0])
    builder = Builder.before(op)
    op.erase()
    uses = block.args[0].num_uses
    with builder, pytest.raises(IrError):
        pd.abs(block.args[0])
    assert block.args[0].num_uses == uses
    assert Block().args == ()


def test_places_in_a_text_are_where_the_operation_starts():
    program = tx8ir.parse(
        'module {\n  func.func @f() {\n    return\n  }\n  "lab.a"() : () -> ()\n}', allow_unregistered=True
    )
    places = [str(op.location) for op in program.module.walk()]
    assert places == [f'loc("<text>":{p})' for p in ("1:1", "2:3", "3:5", "5:3")]
