"""In-place operations are their counterparts, written into the first operand; views scatter back by their inverses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tx8ir.core import Builder, FunctionType, Inplace, Program, TensorType, Value, VerifyError, VTensorType, f32, i64
from tx8ir.dialects import builtin, func, pd
from tx8ir.interpreter import Interpreter, evaluate

T = TensorType((2, 3), f32)
V = T.to_vtensor()
X = np.array([[-1.5, 0.25, 2.0], [0.5, -0.75, 1.0]], np.float32)
Y = np.array([[0.5, 2.0, -1.0], [1.5, 0.25, 0.75]], np.float32)


def program_of(body: Callable[..., Any], *kinds: Any) -> Program:
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType(kinds, ()))
    with Builder.at_end(main.body.block):
        end = func.ReturnOp(body(*main.body.block.args))
    main.set_attribute("function_type", FunctionType(kinds, [v.type for v in end.operands]))
    program.verify()
    return program


@pytest.mark.parametrize("op_class", pd.INPLACE_OPS, ids=lambda c: c.name)
def test_each_is_paired_with_the_operation_of_its_name(op_class: Any) -> None:
    assert op_class.name == f"{op_class.counterpart.name}_"
    assert Inplace in op_class.info.traits
    assert op_class.info.traits.isdisjoint(op_class.counterpart.info.traits)  # neither pure nor of value semantics
    if op_class is not pd.Assign_Op:
        assert pd.inplace_form(op_class.counterpart) is op_class
        assert [f.key for f in op_class.definition.attributes] == [
            f.key for f in op_class.counterpart.definition.attributes
        ]


ATTRIBUTES: dict[str, dict[str, Any]] = {
    "pd.set_value_": {"axes": (1,), "starts": (1,), "ends": (3,)},
    "pd.scale_": {"scale": 3.0, "bias": -1.0},
    "pd.fill_": {"value": 7.0},
    "pd.pow_": {"y": 2.0},
}


@pytest.mark.parametrize("op_class", pd.INPLACE_OPS, ids=lambda c: c.name)
def test_each_writes_what_its_counterpart_computes(op_class: Any) -> None:
    extra = len(op_class.definition.operands) - 1
    attributes = ATTRIBUTES.get(op_class.name, {})

    def others(y: Value) -> list[Any]:
        if op_class is pd.SetValue_Op:
            return [pd.full(shape=(2, 1), value=9.0)]
        return [pd.full(shape=(1,), value=0.5), y] if extra == 2 else [y] * extra

    def values(x: Value, y: Value) -> list[Any]:
        return [y] if op_class is pd.Assign_Op else [op_class.counterpart(x, *others(y), **attributes)]

    expected = evaluate(program_of(values, V, V), {"arg0": X, "arg1": Y})["result0"]
    written = program_of(lambda x, y: [op_class(x, *others(y), **attributes)], T, V)
    interpreter = Interpreter(written)
    found = interpreter.run({"arg0": X, "arg1": Y})["result0"]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(interpreter.feeds["arg0"], expected)


def test_a_value_cannot_be_written() -> None:
    with pytest.raises(VerifyError, match=r"pd.relu_: operand 0 has type !pd.vtensor<2x3xf32>; expected a !pd.tensor"):
        program_of(lambda x: [pd.relu_(x)], V)
    with pytest.raises(VerifyError, match=r"operand `x` has type !pd.vtensor.*expected a !pd.tensor"):
        program_of(lambda x: [pd.assign_(x, x)], V)


def test_the_result_must_fit_the_storage() -> None:
    wide = VTensorType((4, 2, 3), f32)
    with pytest.raises(VerifyError, match=r"pd.add gives !pd.tensor<4x2x3xf32>; expected the type of operand 0"):
        program_of(lambda x, y: [pd.add_(x, y)], T, wide)
    with pytest.raises(VerifyError, match=r"operand `value` has type .* expected a shape that broadcasts to \[2, 1\]"):
        program_of(lambda x, y: [pd.set_value_(x, y, axes=(1,), starts=(0,), ends=(1,))], T, V)


VIEWS: dict[str, Callable[[Value], Any]] = {
    "reshape": lambda x: pd.reshape(x, shape=(3, 2)),
    "flatten": lambda x: pd.flatten(x, start_axis=0, stop_axis=1),
    "squeeze": lambda x: pd.squeeze(pd.unsqueeze(x, axis=(1,))),
    "unsqueeze": lambda x: pd.unsqueeze(x, axis=(0, 2)),
    "transpose": lambda x: pd.transpose(x, perm=(-1, 0)),
    "slice": lambda x: pd.slice(x, axes=(1, 0), starts=(-2, 0), ends=(9, 1), decrease_axis=(0,)),
    "split": lambda x: pd.split(x, sections=(1, -1), axis=1),
}


@pytest.mark.parametrize("name", VIEWS)
def test_the_inverse_of_a_view_puts_back_what_it_shows(name: str) -> None:
    """Writing through the view in shared storage is the judge."""

    def scattered(x: Value) -> list[Any]:
        view = VIEWS[name](x)
        last = len(view.results) - 1
        base = view.operands[0]
        value = pd.scale(view.results[last], scale=10.0).out
        back = view.inverse(base, last, value)
        return [back, view.forward(back)[last], value]

    def shared(x: Value) -> list[Any]:
        storage = builtin.to_tensor(x).out
        view = VIEWS[name](storage)
        written = pd.scale_(view.results[-1], scale=10.0)
        base = view.operands[0]
        return [base, written, written]

    found, expected = (evaluate(program_of(make, V), {"arg0": X}) for make in (scattered, shared))
    for result in ("result0", "result1", "result2"):
        np.testing.assert_array_equal(found[result], expected[result])


def test_a_run_that_fails_leaves_variables_and_inputs_as_they_were() -> None:
    def body(x: Value, index: Value) -> list[Any]:
        pd.relu_(x)
        pd.scale_(builtin.get_parameter(parameter="w", out=T), scale=2.0)
        return [pd.gather(x, index)]

    program = program_of(body, T, VTensorType((1,), i64))
    program.weights.add("w", X, is_mutable=True)
    given = X.copy()
    with pytest.raises(Exception, match="gather"):
        Interpreter(program).run({"arg0": given, "arg1": np.array([5])})
    np.testing.assert_array_equal(given, X)
    np.testing.assert_array_equal(program.weights["w"].numpy(), X)
    interpreter = Interpreter(program)
    interpreter.run({"arg0": given, "arg1": np.array([1])})
    np.testing.assert_array_equal(given, X)
    np.testing.assert_array_equal(interpreter.feeds["arg0"], np.maximum(X, 0))
    np.testing.assert_array_equal(interpreter.parameters["w"], 2 * X)
    np.testing.assert_array_equal(program.weights["w"].numpy(), 2 * X)
