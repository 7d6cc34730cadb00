"""Programs in text, evaluated: arguments, parameters, constants, calls, groups, feeds, and what goes wrong."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

import tx8ir
from tx8ir.core import (
    Block,
    Builder,
    FunctionType,
    IrError,
    Op,
    Operand,
    Program,
    Region,
    Result,
    Terminator,
    VariadicOperand,
    VTensorType,
    f32,
    operand,
    region,
    result,
    variadic_operand,
)
from tx8ir.core.ir.interfaces import Model
from tx8ir.dialects import builtin, func, pd
from tx8ir.interpreter import Enter, Evaluate, EvaluationError, Interpreter, evaluate, evaluate_operation

V2 = VTensorType((2,), f32)


def main_of(build, inputs=(V2,), results=(V2,), **names):
    """A program whose main is made by `build(*arguments)`, which gives the values to return."""
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType(inputs, results), **names)
    with Builder.at_end(main.body.block):
        given = build(*main.body.block.args)
        func.ReturnOp(given if isinstance(given, tuple) else (given,))
    program.verify()
    return program


def test_main_takes_and_gives_arrays_by_their_public_names():
    program = tx8ir.parse("""
        func.func @main(%a: !pd.vtensor<2xf32>, %b: !pd.vtensor<2xf32>) -> (!pd.vtensor<2xf32>, !pd.vtensor<2xi1>)
            attributes {arg_names = ["left", "right"], result_names = ["sum", "smaller"]} {
          %0 = "pd.add"(%a, %b) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
          %1 = "pd.less_than"(%a, %b) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xi1>
          return %0, %1 : !pd.vtensor<2xf32>, !pd.vtensor<2xi1>
        }
    """)
    outputs = evaluate(program, {"right": np.float32([1, 2]), "left": np.float32([3, 1])})
    assert {name: array.tolist() for name, array in outputs.items()} == {"sum": [4, 3], "smaller": [False, True]}
    assert [array.dtype for array in outputs.values()] == [np.float32, np.bool_]


def test_a_backend_graph_gives_its_outputs_in_one_tuple():
    program = tx8ir.parse("""
        func.func @main(%a: !pd.vtensor<2xf32>) -> tuple<!pd.vtensor<2xf32>, !pd.vtensor<2xf32>>
            attributes {result_names = ["same", "double"]} {
          %0 = "tx8be.Input"(%a) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
          %1 = "tx8be.Group"(%0) ({
          ^bb0(%x: !pd.vtensor<2xf32>):
            %4 = "tx8be.None"() : () -> none
            %5 = "tx8be.Mul"(%x, %4) {scalar = 2.0 : f64} : (!pd.vtensor<2xf32>, none) -> !pd.vtensor<2xf32>
            "tx8be.Return"(%5) : (!pd.vtensor<2xf32>) -> ()
          }) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
          %2 = "tx8be.Tuple"(%0, %1) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>)
            -> tuple<!pd.vtensor<2xf32>, !pd.vtensor<2xf32>>
          %3 = "tx8be.Output"(%2) : (tuple<!pd.vtensor<2xf32>, !pd.vtensor<2xf32>>)
            -> tuple<!pd.vtensor<2xf32>, !pd.vtensor<2xf32>>
          return %3 : tuple<!pd.vtensor<2xf32>, !pd.vtensor<2xf32>>
        }
    """)
    program.verify()
    outputs = evaluate(program, {"arg0": np.float32([1, 2])})
    assert {name: array.tolist() for name, array in outputs.items()} == {"same": [1, 2], "double": [2, 4]}


def test_parameters_come_from_the_store_and_constants_from_the_text():
    program = tx8ir.parse("""
        func.func @main() -> !pd.vtensor<2xf32> {
          %0 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<2xf32>
          %1 = "builtin.constant"() {value = dense<[0.5, 2.0]> : tensor<2xf32>} : () -> !pd.vtensor<2xf32>
          %2 = "pd.multiply"(%0, %1) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
          return %2 : !pd.vtensor<2xf32>
        }
    """)
    program.weights.add("w", np.float32([4, 5]))
    assert evaluate(program, {})["result0"].tolist() == [2, 10]


def test_a_parameter_that_is_missing_or_of_another_type():
    program = tx8ir.parse("""
        func.func @main() -> !pd.vtensor<2xf32> {
          %0 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<2xf32>
          return %0 : !pd.vtensor<2xf32>
        }
    """)
    with pytest.raises(EvaluationError, match=r"builtin\.get_parameter reads variable 'w', which the program"):
        evaluate(program, {})
    program.weights.add("w", np.float32([1, 2, 3]))
    with pytest.raises(EvaluationError, match=r"reads variable 'w' as .*2xf32>; it is !pd\.vtensor<3xf32>"):
        evaluate(program, {})


def test_set_parameter_writes_the_store():
    program = tx8ir.parse("""
        func.func @main(%x: !pd.vtensor<2xf32>) -> () {
          "builtin.set_parameter"(%x) {name = "w"} : (!pd.vtensor<2xf32>) -> ()
          return
        }
    """)
    given = np.float32([1, 2])
    assert evaluate(program, {"arg0": given}) == {}
    given[:] = 0
    assert program.weights["w"].numpy().tolist() == [1, 2]
    assert program.weights["w"].is_mutable
    evaluate(program, {"arg0": np.float32([3, 4])})
    assert program.weights["w"].numpy().tolist() == [3, 4]
    program.weights["w"].is_mutable = False
    with pytest.raises(EvaluationError, match="writes variable 'w', which is not mutable"):
        evaluate(program, {"arg0": given})


def test_feeds_and_fetches_are_inputs_and_outputs():
    program = tx8ir.parse("""
        func.func @main() -> () {
          %0 = "pd.feed"() {name = "image", col = 0 : i64} : () -> !pd.vtensor<2xf32>
          %1 = "pd.relu"(%0) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
          "pd.fetch"(%1) {name = "out", col = 0 : i64} : (!pd.vtensor<2xf32>) -> ()
          return
        }
    """)
    program.verify()
    assert evaluate(program, {"image": np.float32([-1, 1])})["out"].tolist() == [0, 1]
    with pytest.raises(EvaluationError, match=r"missing input 'image'; the program takes image: !pd\.vtensor<2xf32>"):
        evaluate(program, {})


CALLS = """
    module {
      func.func @double(%x: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {
        %0 = "pd.add"(%x, %x) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
        return %0 : !pd.vtensor<2xf32>
      }
      func.func @main(%x: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {
        %0 = "func.call"(%x) {callee = @double} : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
        %1 = "func.call"(%0) {callee = @double} : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
        return %1 : !pd.vtensor<2xf32>
      }
    }
"""


def test_calls_run_the_function_each_time():
    assert evaluate(tx8ir.parse(CALLS), {"arg0": np.float32([1, 2])})["result0"].tolist() == [4, 8]


def test_a_call_of_a_function_that_is_not_there():
    program = tx8ir.parse(CALLS.replace("@double}", "@triple}"))
    with pytest.raises(EvaluationError, match=r"func\.call calls @triple, which the module does not define"):
        evaluate(program, {"arg0": np.float32([1, 2])})


def test_nothing_recurses_with_the_depth_of_calls():
    depth = 1500  # beyond the recursion limit
    link = """
      func.func @f{i}(%x: !pd.vtensor<f32>) -> !pd.vtensor<f32> {{
        %0 = "func.call"(%x) {{callee = @f{j}}} : (!pd.vtensor<f32>) -> !pd.vtensor<f32>
        return %0 : !pd.vtensor<f32>
      }}"""
    last = f"func.func @f{depth}(%x: !pd.vtensor<f32>) -> !pd.vtensor<f32> {{\n return %x : !pd.vtensor<f32>\n }}"
    chain = "".join(link.format(i=i, j=i + 1) for i in range(depth)).replace("@f0(", "@main(")
    # The chain is built in order of call, so the symbol lookup of each call is the only part that is not O(1).
    program = tx8ir.parse(f"module {{ {chain} {last} }}")
    assert evaluate(program, {"arg0": np.float32(7)})["result0"].item() == 7


def test_long_programs_evaluate():
    def build(x):
        for _ in range(10_000):
            x = pd.relu(x).out
        return x

    assert evaluate(main_of(build), {"arg0": np.float32([-1, 2])})["result0"].tolist() == [0, 2]


# --- regions -------------------------------------------------------------------------------------------------------


class RepeatOp(Op, name="test.repeat"):
    """Runs its body three times, on the operand first and on its own result after."""

    x: Operand = operand()
    body: Region = region()
    out: Result = result()


class YieldOp(Op, name="test.yield", traits=(Terminator,)):
    """Ends a body."""

    values: VariadicOperand = variadic_operand()


@Evaluate.implement(RepeatOp)
class RepeatEvaluate(Model[RepeatOp], Evaluate):
    def evaluate(self, evaluator, operands):
        for _ in range(3):
            operands = yield Enter(self.op.body.block, operands)
        return operands


def repeat(x, build):
    body = Block([x.type])
    with Builder.at_end(body):
        YieldOp((build(body.args[0]),))
    return RepeatOp(x, body=Region([body]), out=x.type).out


def test_a_body_sees_the_values_around_it():
    program = main_of(lambda x: repeat(x, lambda carried: repeat(carried, lambda inner: pd.add(inner, x).out)))
    assert evaluate(program, {"arg0": np.float32([1, 2])})["result0"].tolist() == [10, 20]


def test_a_value_used_only_inside_a_body_lives_until_the_body_is_done():
    def build(x):
        step = pd.relu(x).out
        return repeat(x, lambda carried: pd.add(carried, step).out)

    assert evaluate(main_of(build), {"arg0": np.float32([-1, 2])})["result0"].tolist() == [-1, 8]


def test_bodies_nest_deep():
    def build(x, depth=60):
        return pd.relu(x).out if depth == 0 else once(x, lambda inner: build(inner, depth - 1))

    def once(x, inside):
        body = Block([x.type])
        with Builder.at_end(body):
            YieldOp((inside(body.args[0]),))
        return OnceOp(x, body=Region([body]), out=x.type).out

    assert evaluate(main_of(build), {"arg0": np.float32([-1, 2])})["result0"].tolist() == [0, 2]


class OnceOp(Op, name="test.once"):
    """Runs its body once."""

    x: Operand = operand()
    body: Region = region()
    out: Result = result()


@Evaluate.implement(OnceOp)
class OnceEvaluate(Model[OnceOp], Evaluate):
    def evaluate(self, evaluator, operands):
        return (yield Enter(self.op.body.block, operands))


def test_a_body_that_gets_or_gives_another_number_of_values():
    body = Block([V2, V2])
    with Builder.at_end(body):
        YieldOp((body.args[0],))
    program = main_of(lambda x: OnceOp(x, body=Region([body]), out=V2).out)
    with pytest.raises(EvaluationError, match=r"test\.once gives 1 values to a block of 2 arguments"):
        evaluate(program, {"arg0": np.float32([1, 2])})
    body = Block([V2])
    with Builder.at_end(body):
        YieldOp((body.args[0], body.args[0]))
    program = main_of(lambda x: OnceOp(x, body=Region([body]), out=V2).out)
    with pytest.raises(EvaluationError, match=r"test\.once gives 2 values for 1 results"):
        evaluate(program, {"arg0": np.float32([1, 2])})


# --- memory --------------------------------------------------------------------------------------------------------


def test_every_value_is_freed_after_its_last_use():
    def build(x):
        kept = pd.add(x, x).out
        pd.square(x)  # never used
        for _ in range(20):
            x = pd.add(x, kept).out
        return x

    alive: list[weakref.ref] = []
    peak = 0

    def watch(_, results):
        nonlocal peak
        alive.extend(weakref.ref(r) for r in results)
        peak = max(peak, sum(ref() is not None for ref in alive))

    Interpreter(main_of(build), observer=watch).run({"arg0": np.float32([1, 2])})
    # kept, the operand and the result of one addition
    assert peak <= 3
    assert len(alive) == 22


def test_inputs_are_not_changed():
    given = np.float32([-1, 2])
    evaluate(main_of(lambda x: pd.relu(x).out), {"arg0": given})
    assert given.tolist() == [-1, 2]


def test_an_interpreter_runs_repeatedly():
    interpreter = Interpreter(main_of(lambda x: pd.relu(x).out))
    for number in (1, 2):
        assert interpreter.run({"arg0": np.float32([number, -1])})["result0"].tolist() == [number, 0]


# --- errors --------------------------------------------------------------------------------------------------------


class OpaqueOp(Op, name="test.opaque"):
    """Cannot be evaluated."""

    x: Operand = operand()
    out: Result = result()


def test_an_operation_without_compute_is_named_with_its_place():
    program = main_of(lambda x: OpaqueOp(x, out=V2).out)
    with pytest.raises(EvaluationError, match=r"test\.opaque cannot be evaluated: it implements neither") as caught:
        evaluate(program, {"arg0": np.float32([1, 2])})
    assert caught.value.op.name == "test.opaque"
    assert "test_evaluate.py" in str(caught.value)
    assert isinstance(caught.value, IrError)


def test_an_unverified_program_that_uses_a_value_too_early():
    def build(x):
        first, second = pd.relu(x), pd.abs(x)
        first.set_operand(0, second.out)
        return first.out

    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType([V2], [V2]))
    with Builder.at_end(main.body.block):
        func.ReturnOp((build(main.body.block.args[0]),))
    with pytest.raises(EvaluationError, match=r"pd\.relu uses a value that is not computed yet; verify the program"):
        evaluate(program, {"arg0": np.float32([1, 2])})


class LyingOp(Op, name="test.lying"):
    """Computes something other than it declares."""

    x: Operand = operand()
    out: Result = result()


@tx8ir.core.Compute.implement(LyingOp)
class LyingCompute(Model[LyingOp]):
    def compute(self, x):
        return x[:1]


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (VTensorType((2,), f32), r"test\.lying computes shape \[1\] where its result is declared !pd\.vtensor<2xf32>"),
        (VTensorType((1,), tx8ir.core.i32), r"computes float32 where its result is declared i32"),
        (tx8ir.core.TupleType([V2]), "computes no tuple of 1 where"),
        (tx8ir.core.NoneType(), "computes a value where its result is declared none"),
        (tx8ir.core.TokenType(), "cannot be evaluated: its result has type !builtin.token"),
    ],
)
def test_a_result_that_is_not_as_declared(out, message):
    program = main_of(lambda x: (LyingOp(x, out=out), x)[1])
    with pytest.raises(EvaluationError, match=message):
        evaluate(program, {"arg0": np.float32([1, 2])})


def test_evaluate_operation_runs_one_operation():
    x = Block([V2]).args[0]
    (out,) = evaluate_operation(pd.add(x, x), [np.float32([1, 2]), np.float32([3, 4])])
    assert (out.tolist(), out.dtype) == ([4, 6], np.float32)
    with pytest.raises(EvaluationError, match=r"test\.opaque cannot be evaluated: it has no Compute"):
        evaluate_operation(OpaqueOp(x, out=V2), [np.float32([1, 2])])


def test_outputs_share_nothing_with_inputs_and_weights():
    given = np.float32([[1, 2], [3, 4]])
    square = VTensorType((2, 2), f32)
    program = main_of(lambda x: (x, pd.transpose(x, perm=(1, 0)).out), inputs=(square,), results=(square, square))
    outputs = evaluate(program, {"arg0": given})
    for output in outputs.values():
        assert output.flags.c_contiguous
        output[:] = 0
    assert given.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("through", ["a view", "a copy", "an input", "a tensor"])
def test_a_sum_has_the_same_bits_however_its_operand_lies_in_memory(through: str) -> None:
    """NumPy adds in the order of memory; moving or copying elements must not change a bit of what is made of them."""
    x = np.random.default_rng(0).standard_normal((37, 3, 41)).astype(np.float32)
    moved = np.ascontiguousarray(x.transpose(2, 0, 1))
    program = Program.empty()
    kind = VTensorType(x.shape if through != "an input" else moved.shape, f32)
    with Builder.at_end(program.body):
        main = func.func(sym_name="main", function_type=FunctionType([kind], [VTensorType((3,), f32)]))
    with Builder.at_end(main.body.block):
        y = main.body.block.args[0]
        if through == "a tensor":
            y = builtin.to_tensor(y).out
        if through != "an input":
            y = pd.transpose(y, perm=(2, 0, 1)).out
        if through == "a copy":
            y = builtin.to_vtensor(builtin.to_tensor(y)).out
        func.return_([builtin.to_vtensor(pd.sum(y, axis=(0, 1)))])
    given = x.transpose(2, 0, 1) if through == "an input" else x
    rows = np.ascontiguousarray(moved.transpose(2, 0, 1)).reshape(3, -1)
    np.testing.assert_array_equal(evaluate(program, {"arg0": given})["result0"], rows.sum(axis=1))


def test_a_constant_is_the_same_in_every_run_whatever_becomes_of_the_arrays() -> None:
    """It is computed once, and given to whoever uses it: results, and storage that is written."""
    program = tx8ir.parse("""
        func.func @main(%x: !pd.tensor<2xf32>) -> (!pd.vtensor<2xf32>, !pd.tensor<2xf32>) {
          %0 = "pd.full"() {shape = [2 : i64], value = 3.0 : f64, dtype = f32} : () -> !pd.vtensor<2xf32>
          %1 = "pd.assign_"(%x, %0) : (!pd.tensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.tensor<2xf32>
          %2 = "pd.add_"(%1, %0) : (!pd.tensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.tensor<2xf32>
          return %0, %2 : !pd.vtensor<2xf32>, !pd.tensor<2xf32>
        }
    """)
    interpreter = Interpreter(program)
    for _ in range(2):
        constant, written = interpreter.run({"arg0": np.zeros(2, np.float32)}).values()
        assert (constant.tolist(), written.tolist()) == ([3, 3], [6, 6])
        constant[:] = written[:] = -1
