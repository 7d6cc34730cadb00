"""builtin: lists and dictionaries of values, evaluated, folded, checked; and as text."""

from __future__ import annotations

import numpy as np
import pytest

import tx8ir
from tx8ir.core import DictType, IrError, ListType, TensorType, VerifyError, VTensorType, f32, i64
from tx8ir.core.attrs.types import FunctionType
from tx8ir.core.ir.builder import Builder
from tx8ir.dialects import builtin, func, pd
from tx8ir.interpreter import evaluate
from tx8ir.passes import PassManager

A, B = VTensorType((2,), f32), VTensorType((), f32)


def program_of(build, inputs=(A, B)):
    program = tx8ir.Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType(inputs, ()))
    with Builder.at_end(main.body.block):
        values = build(*main.body.block.args)
        main.set_attribute("function_type", FunctionType(inputs, [v.type for v in values]))
        func.ReturnOp(values)
    program.verify()
    text = str(program)
    assert str(tx8ir.parse(text)) == text
    return program


def run(program):
    outputs = evaluate(program, {"arg0": np.float32([1, 2]), "arg1": np.float32(3)})
    return [a.tolist() for a in outputs.values()]


def test_a_list_gives_back_what_it_was_made_of():
    def build(a, b):
        both = builtin.combine([a, b, a])
        assert both.out.type is ListType([A, B, A])
        return [builtin.slice_(both, index=1).out, *builtin.split(both).outputs]

    assert run(program_of(build)) == [3, [1, 2], 3, [1, 2]]


def test_lists_nest_and_may_have_one_element_or_none():
    def build(a, b):
        one = builtin.combine([builtin.combine([a])])
        assert builtin.split(builtin.combine([])).outputs == ()
        return builtin.split(builtin.split(one).outputs[0]).outputs

    assert run(program_of(build)) == [[1, 2]]


def test_a_dictionary_gives_back_what_it_was_made_of():
    def build(a, b):
        made = builtin.make_dict([b, a], keys=("z", "a"))
        assert made.out.type is DictType({"a": A, "z": B})
        return [builtin.get_item(made, key="a").out, builtin.get_item(made, key="z").out]

    assert run(program_of(build)) == [[1, 2], 3]


def test_elements_of_a_container_made_here_are_found_without_it():
    def build(a, b):
        x = builtin.slice_(builtin.combine([a, b]), index=0)
        y = builtin.get_item(builtin.make_dict([x, b], keys=("x", "b")), key="x")
        return [pd.relu(y).out]

    program = program_of(build)
    PassManager.parse("canonicalize").run(program)
    assert [op.name for op in program.main.walk()] == ["func.func", "pd.relu", "func.return"]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda a, b: builtin.slice_(builtin.combine([a, b]), index=2), "element 2 of a list of 2"),
        (lambda a, b: builtin.slice_(builtin.combine([a, b]), index=-1), "element -1 of a list of 2"),
        (lambda a, b: builtin.slice_(a, index=0), "expected a list, not !pd.vtensor<2xf32>"),
        (lambda a, b: builtin.make_dict([a, b], keys=("x", "x")), "as many distinct keys, not ['x', 'x']"),
        (lambda a, b: builtin.make_dict([a, b], keys=("x",)), "takes 2 values, so as many distinct keys"),
        (
            lambda a, b: builtin.get_item(builtin.make_dict([a], keys=("x",)), key="y"),
            "wants the key 'y', its operand is !builtin.dict<\"x\": !pd.vtensor<2xf32>>",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_when_it_is_built(build, message):
    with pytest.raises(VerifyError) as error:
        program_of(lambda a, b: [build(a, b).out])
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("names", "type_", "message"),
    [
        (("w", "w"), ListType([A, A]), "as many distinct names, not ['w', 'w']"),
        (("w",), ListType([A, A]), "has a list of 2, so as many distinct names"),
        (("w",), ListType([ListType([])]), "has variable 'w' as !builtin.list<>, expected a tensor"),
        (("w",), A, "result out is !pd.vtensor<2xf32>, expected ListType"),
    ],
)
def test_combined_parameters_are_checked(names, type_, message):
    with pytest.raises(VerifyError) as error:
        program_of(lambda a, b: [builtin.get_combine_parameter(parameters=names, out=type_).out])
    assert message in str(error.value)


def test_an_attribute_that_is_missing_is_named():
    with pytest.raises((TypeError, IrError), match="index"):
        program_of(lambda a, b: [builtin.slice_(builtin.combine([a]))])


def test_a_list_of_tensors_keeps_its_aliases():
    t = TensorType((2,), f32)
    program = program_of(lambda a: builtin.split(builtin.combine([a])).outputs, (t,))
    assert program.outputs == {"result0": t}
    assert ListType([t]) is not ListType([A])
    assert VTensorType((), i64) is not B
