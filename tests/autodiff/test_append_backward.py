"""append_backward: gradients are those of finite differences, and a network trains."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tx8ir.autodiff import append_backward
from tx8ir.core import (
    Builder,
    FunctionType,
    IrError,
    Operation,
    Program,
    SymbolRefAttr,
    TensorType,
    Value,
    VTensorType,
    f32,
    f64,
    i64,
)
from tx8ir.dialects import builtin, func, pd, scf
from tx8ir.interpreter import Interpreter, evaluate
from tx8ir.passes import PassManager

rng = np.random.default_rng(7)
DATA = {
    "a": rng.standard_normal((2, 3)),
    "b": rng.standard_normal((2, 3)),
    "row": rng.standard_normal((1, 3)),
    "w": rng.standard_normal((3, 4)),
    "wt": rng.standard_normal((4, 3)),
    "batch": rng.standard_normal((2, 2, 3)),
}


def differentiate(body: Callable[..., Any], *names: str) -> tuple[Program, dict[str, NDArray[Any]]]:
    """A program in f64 that gives the sum of squares of what `body` makes of parameters, and its gradients by them."""
    program = Program.empty()
    for name in names:
        program.weights.add(name, DATA[name], VTensorType(DATA[name].shape, f64))
    with Builder.at_end(program.body):
        main = func.func(sym_name="main", function_type=FunctionType((), ()))
    with Builder.at_end(main.body.block):
        read = [builtin.get_parameter(parameter=n, out=VTensorType(DATA[n].shape, f64)) for n in names]
        made = body(*read)
        loss = pd.sum(pd.square(made))
        end = func.return_([loss])
    gradients = append_backward(program, loss.out).parameters
    end.set_operands([loss, *(gradients[n] for n in names)])
    results = ("loss", *names)
    main.set_attribute("function_type", FunctionType((), [v.type for v in end.operands]))
    main.set_attribute("result_names", results)
    program.verify()
    return program, evaluate(program, {}, "fp64")


def numeric(program: Program, name: str) -> NDArray[Any]:
    """Central differences; the error is of order h^2 and rounding of order eps / h, so h = eps^(1/3)."""
    h = 6e-6
    base = DATA[name]
    slope = np.zeros_like(base)
    for place in np.ndindex(base.shape):
        ends: list[float] = []
        for step in (h, -h):
            moved = base.copy()
            moved[place] += step
            shifted = Program(program.module, program.weights.copy())
            shifted.weights[name].data = moved
            ends.append(float(evaluate(shifted, {}, "fp64")["loss"].item()))
        slope[place] = (ends[0] - ends[1]) / (2 * h)
    return slope


CASES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "add broadcasts": (pd.add, ("a", "row")),
    "subtract": (pd.subtract, ("row", "b")),
    "multiply": (pd.multiply, ("a", "row")),
    "divide": (lambda x, y: pd.divide(x, pd.exp(y)), ("a", "row")),
    "matmul": (pd.matmul, ("a", "w")),
    "matmul, x transposed": (lambda x, y: pd.matmul(x, y, transpose_x=True), ("a", "b")),
    "matmul, y transposed": (lambda x, y: pd.matmul(x, y, transpose_y=True), ("a", "wt")),
    "matmul, both": (lambda x, y: pd.matmul(x, y, transpose_x=True, transpose_y=True), ("w", "wt")),
    "matmul of a batch": (pd.matmul, ("batch", "w")),
    "relu": (pd.relu, ("a",)),
    "tanh": (pd.tanh, ("a",)),
    "sigmoid": (pd.sigmoid, ("a",)),
    "log, sqrt, exp": (lambda x: pd.log(pd.sqrt(pd.exp(x))), ("a",)),
    "scale": (lambda x: pd.scale(x, scale=3.0, bias=1.0, bias_after_scale=False), ("a",)),
    "mean of an axis": (lambda x: pd.mean(x, axis=(1,)), ("batch",)),
    "sum": (lambda x: pd.sum(x, axis=(0, 2), keepdim=True), ("batch",)),
    "reshape and transpose": (
        lambda x: pd.matmul(pd.transpose(pd.reshape(x, shape=(3, 4)), perm=(1, 0)), x),
        ("batch",),
    ),
    "slice": (lambda x: pd.slice(x, axes=(1,), starts=(1,), ends=(3,)), ("a",)),
    "split, one piece used": (lambda x: pd.square(pd.split(x, sections=(1, 2), axis=1).outs[1]), ("a",)),
    "expand": (lambda x: pd.multiply(pd.expand(x, shape=(2, 2, 3)), x), ("a",)),
    "pad": (lambda x: pd.square(pd.pad(x, paddings=(1, 0, 0, 2), pad_value=0.5)), ("a",)),
    "softmax": (lambda x: pd.softmax(x, axis=0), ("a",)),
    "soft labels": (
        lambda x, y: pd.cross_entropy_with_softmax(x, pd.softmax(y), soft_label=True).loss,
        ("a",),
    ),
    "a value used twice": (lambda x: pd.multiply(pd.tanh(x), x), ("a",)),
}
CASES["softmax and cross entropy"] = (
    lambda x: pd.cross_entropy_with_softmax(x, builtin.constant(value=np.array([[2], [0]]))).loss,
    ("a",),
)
CASES["soft labels"] = (
    lambda x: (
        pd.cross_entropy_with_softmax(
            x, builtin.constant(value=np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]])), soft_label=True
        ).loss
    ),
    ("a",),
)


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_finite_differences(case: str) -> None:
    body, names = CASES[case]
    if case == "reshape and transpose":
        body = lambda x: pd.transpose(pd.reshape(pd.square(x), shape=(3, 4)), perm=(1, 0))  # noqa: E731
    program, results = differentiate(body, *names)
    for name in names:
        np.testing.assert_allclose(results[name], numeric(program, name), rtol=1e-7, atol=1e-7)


def loss_of(block_body: Callable[..., Any], *kinds: Any) -> tuple[Program, Value]:
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.func(sym_name="main", function_type=FunctionType(kinds, ()))
    with Builder.at_end(main.body.block):
        loss = block_body(*main.body.block.args).out
        func.return_([])
    return program, loss


@pytest.mark.parametrize("mark", [True, [True]])
def test_no_gradient_flows_where_it_is_stopped(mark: Any) -> None:
    def body(x: Value) -> Operation:
        stopped = pd.tanh(x)
        stopped.set_attribute("stop_gradient", mark)
        return pd.sum(pd.multiply(stopped, pd.relu(x)))

    program, loss = loss_of(body, VTensorType((2, 2), f32))
    x = program.main.body.block.args[0]
    gradients = append_backward(program, loss, wrt=[x])
    end = program.main.body.block.last_op
    end.set_operands([gradients.values[x]])
    program.main.set_attribute("function_type", FunctionType([x.type], [x.type]))
    given = np.array([[1.0, -1.0], [2.0, 3.0]], np.float32)
    assert np.array_equal(evaluate(program, {"arg0": given})["result0"], np.where(given > 0, np.tanh(given), 0))


def test_an_operation_in_place_on_the_way_is_an_error_that_says_what_to_run():
    program, loss = loss_of(lambda x: pd.sum(pd.tanh_(pd.relu(x))), TensorType((2,), f32))
    with pytest.raises(IrError, match=r"pd.tanh_ works in place.*to-value-semantics"):
        append_backward(program, loss, wrt=[program.main.body.block.args[0]])


def test_a_tensor_written_before_its_gradient_reads_it_is_an_error():
    def body(x: Value) -> Operation:
        squared = pd.square(x)
        pd.scale_(x, scale=0.0)
        return pd.sum(squared)

    program, loss = loss_of(body, TensorType((2,), f32))
    before = str(program)
    with pytest.raises(IrError, match=r"pd.square has a tensor whose storage is written"):
        append_backward(program, loss, wrt=[program.main.body.block.args[0]])
    assert str(program) == before


def test_an_operation_without_gradient_is_an_error_and_leaves_the_program():
    def body(x: Value) -> Operation:
        return pd.sum(pd.scaled_dot_product_attention(x, x, x))

    program, loss = loss_of(body, VTensorType((1, 2, 1, 2), f32))
    before = str(program)
    with pytest.raises(IrError, match=r"pd.scaled_dot_product_attention has no gradient"):
        append_backward(program, loss, wrt=[program.main.body.block.args[0]])
    assert str(program) == before


def branching(x: Value, y: Value, *, holds: bool) -> Value:
    """A branch that uses values from outside, one only on one side, with another branch inside."""
    condition, other = (builtin.constant(value=np.array(truth)).out for truth in (holds, not holds))
    z = pd.tanh(x).out

    def inner() -> list[Value]:
        return [pd.multiply(z, pd.square(y)).out]

    def then() -> list[Value]:
        deep = scf.IfOp.build(other, lambda: [y], inner).results[0]
        return [pd.add(deep, pd.exp(x)).out, x]

    def otherwise() -> list[Value]:
        return [pd.multiply(x, x).out, pd.sin(z).out]

    first, second = scf.IfOp.build(condition, then, otherwise).results
    return pd.multiply(pd.add(first, z), second).out


@pytest.mark.parametrize("holds", [True, False])
def test_gradients_flow_through_the_side_that_is_taken(holds: bool) -> None:
    program, results = differentiate(lambda x, y: branching(x, y, holds=holds), "a", "b")
    for name in ("a", "b"):
        np.testing.assert_allclose(results[name], numeric(program, name), rtol=1e-7, atol=1e-7)
    assert holds or not results["b"].any()


def test_a_branch_that_does_more_than_compute_is_an_error_and_leaves_the_program() -> None:
    def body(x: Value) -> Operation:
        def then() -> list[Value]:
            pd.fetch(x, fetch_name="seen")
            return [pd.tanh(x).out]

        condition = builtin.constant(value=np.array(True)).out
        return pd.sum(scf.IfOp.build(condition, then, lambda: [x]).results[0])

    program, loss = loss_of(body, VTensorType((2,), f32))
    before = str(program)
    with pytest.raises(IrError, match=r"pd.fetch is in a branch that a gradient flows through, which may only compute"):
        append_backward(program, loss, wrt=[program.main.body.block.args[0]])
    assert str(program) == before


def test_an_error_in_a_branch_leaves_no_use_behind() -> None:
    def body(x: Value) -> Operation:
        def then() -> list[Value]:
            return [pd.pool2d(x, kernel_size=(2, 2), pooling_type="avg", adaptive=True).out]

        condition = builtin.constant(value=np.array(True)).out
        zero = pd.full(shape=(1, 1, 2, 2), value=0.0)
        return pd.sum(scf.IfOp.build(condition, then, lambda: [zero.out]).results[0])

    program, loss = loss_of(body, VTensorType((1, 1, 3, 3), f32))
    x = program.main.body.block.args[0]
    before, uses = str(program), x.num_uses
    with pytest.raises(IrError, match=r"pd.pool2d has no gradient where adaptive windows overlap"):
        append_backward(program, loss, wrt=[x])
    assert (str(program), x.num_uses) == (before, uses)


def test_calls_and_loops_say_what_to_run_first() -> None:
    program, loss = loss_of(
        lambda x: pd.sum(func.call([x], callee=SymbolRefAttr("f"), outputs=[x.type])), VTensorType((2,), f32)
    )
    with pytest.raises(IrError, match=r"func.call has no gradient \(Grad\); run inline first"):
        append_backward(program, loss, wrt=[program.main.body.block.args[0]])

    def loop(x: Value) -> Operation:
        def before(y: Value) -> tuple[Value, list[Value]]:
            return builtin.constant(value=np.array(False)).out, [y]

        return pd.sum(scf.WhileOp.build([x], before, lambda y: [pd.tanh(y).out]).results[0])

    program, loss = loss_of(loop, VTensorType((2,), f32))
    with pytest.raises(IrError, match=r"scf.while has no gradient \(Grad\); run unroll first"):
        append_backward(program, loss, wrt=[program.main.body.block.args[0]])


def test_a_parameter_that_the_loss_does_not_depend_on_is_an_error():
    program, loss = loss_of(pd.sum, VTensorType((2,), f32))
    with pytest.raises(IrError, match="does not depend on parameter 'w'"):
        append_backward(program, loss, parameters=["w"])


def startup_program() -> Program:
    """Sets the parameters of a network with a hidden layer of 16."""
    program = Program.empty()
    draw = np.random.default_rng(0)
    with Builder.at_end(program.body):
        main = func.func(sym_name="main", function_type=FunctionType((), ()))
    with Builder.at_end(main.body.block):
        for name, shape in (("w0", (4, 16)), ("b0", (16,)), ("w1", (16, 3)), ("b1", (3,))):
            data = (draw.standard_normal(shape) * 0.5).astype(np.float32) if len(shape) == 2 else np.zeros(shape, "f4")
            builtin.set_parameter(builtin.constant(value=data), parameter=name)
        func.return_([])
    return program


def main_program(batch: int) -> Program:
    """One step of training: the loss, its gradients, and `sgd_` of every parameter."""
    program = Program.empty()
    kinds = [VTensorType((batch, 4), f32), VTensorType((batch, 1), i64)]
    with Builder.at_end(program.body):
        main = func.func(
            sym_name="main", function_type=FunctionType(kinds, [VTensorType((), f32)]),
            arg_names=("x", "label"), result_names=("loss",),
        )  # fmt: skip
    x, label = main.body.block.args
    shapes = {"w0": (4, 16), "b0": (16,), "w1": (16, 3), "b1": (3,)}
    with Builder.at_end(main.body.block):
        p = {n: builtin.get_parameter(parameter=n, out=TensorType(s, f32)).out for n, s in shapes.items()}
        hidden = pd.relu(pd.add(pd.matmul(x, p["w0"]), p["b0"]))
        logits = pd.add(pd.matmul(hidden, p["w1"]), p["b1"])
        loss = builtin.to_vtensor(pd.mean(pd.cross_entropy_with_softmax(logits, label).loss))
        end = func.return_([loss])
    gradients = append_backward(program, loss.out)
    with Builder.before(end):
        rate = pd.full(shape=(1,), value=0.5)
        for name, tensor in p.items():
            pd.sgd_(tensor, rate, gradients.parameters[name])
    program.verify()
    return program


@pytest.mark.parametrize("pipeline", ["", "to-value-semantics,copy-elision,cse,dce,to-inplace"])
def test_a_two_layer_network_trains(pipeline: str) -> None:
    startup = startup_program()
    Interpreter(startup).run({})
    main = main_program(12)
    main.weights = startup.weights  # this is how the two programs communicate
    PassManager.parse(pipeline).run(main)
    draw = np.random.default_rng(1)
    x = draw.standard_normal((12, 4)).astype(np.float32)
    label = np.argmax(x[:, :3], axis=1)[:, None]
    interpreter = Interpreter(main)
    losses = [float(interpreter.run({"x": x, "label": label})["loss"].item()) for _ in range(20)]
    assert losses[0] > 1.0
    assert losses[-1] < 0.35
    assert all(b < a for a, b in itertools.pairwise(losses))


def test_training_gives_the_same_parameters_before_and_after_the_alias_passes():
    stores: list[dict[str, NDArray[Any]]] = []
    for pipeline in ("", "to-value-semantics", "to-value-semantics,copy-elision,cse,dce,to-inplace"):
        startup, main = startup_program(), main_program(3)
        Interpreter(startup).run({})
        main.weights = startup.weights
        PassManager.parse(pipeline).run(main)
        for _ in range(3):
            Interpreter(main).run({"x": np.eye(3, 4, dtype=np.float32), "label": np.array([[0], [1], [2]])})
        stores.append({name: variable.numpy() for name, variable in main.weights.items()})
    for other in stores[1:]:
        for name, array in stores[0].items():
            assert np.array_equal(other[name], array), name
