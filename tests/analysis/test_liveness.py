"""Liveness: what is dead may hold anything, and nobody sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tx8ir
from support.steps import assert_linear
from tx8ir.analysis.liveness import Liveness, liveness
from tx8ir.core import Builder, FunctionType, Inplace, Operation, Program, Value, VTensorType, i1
from tx8ir.dialects import func, scf
from tx8ir.interpreter import EvaluationError, Interpreter
from tx8ir.testing.inputs import draw_inputs
from tx8ir.testing.programs import EVERYTHING, tensor_programs
from tx8ir.testing.programs.drawing import for_each_program

TEXT = """
module {
  func.func @main(%c: BIT, %x: VEC, %y: VEC) -> VEC {
    %dead = "pd.exp"(%y) : (VEC) -> VEC
    %both:2 = "scf.if"(%c) ({
      %0 = "pd.relu"(%x) : (VEC) -> VEC
      %1 = "pd.relu"(%dead) : (VEC) -> VEC
      "scf.yield"(%0, %1) : (VEC, VEC) -> ()
    }, {
      "scf.yield"(%x, %y) : (VEC, VEC) -> ()
    }) : (BIT) -> (VEC, VEC)
    %loop:2 = "scf.while"(%both#0, %dead) ({
    ^bb0(%a: VEC, %b: VEC):
      "scf.condition"(%c, %a, %b) : (BIT, VEC, VEC) -> ()
    }, {
    ^bb0(%a: VEC, %b: VEC):
      %2 = "pd.tanh"(%a) : (VEC) -> VEC
      %3 = "pd.tanh"(%b) : (VEC) -> VEC
      "scf.yield"(%2, %3) : (VEC, VEC) -> ()
    }) : (VEC, VEC) -> (VEC, VEC)
    %never = "pd.logical_not"(%c) : (BIT) -> BIT
    %unused = "scf.if"(%never) ({
      "scf.yield"(%x) : (VEC) -> ()
    }, {
      "scf.yield"(%y) : (VEC) -> ()
    }) : (BIT) -> VEC
    %written = "pd.logical_not"(%c) : (BIT) -> BIT
    "scf.if"(%written) ({
      %4 = "builtin.to_tensor"(%x) : (VEC) -> !pd.tensor<2xf32>
      %5 = "pd.assign_"(%4, %4) : (!pd.tensor<2xf32>, !pd.tensor<2xf32>) -> !pd.tensor<2xf32>
      "scf.yield"() : () -> ()
    }, {
    }) : (BIT) -> ()
    %called = func.call @first(%loop#0, %y) : (VEC, VEC) -> VEC
    return %called : VEC
  }
  func.func private @first(%a: VEC, %b: VEC) -> VEC {
    return %a : VEC
  }
}
""".replace("VEC", "!pd.vtensor<2xf32>").replace("BIT", "!pd.vtensor<i1>")


def names(program: Program, found: Liveness) -> dict[str, bool]:
    """Whether each named value of `main` is live."""
    values = [r for op in program.main.body.block for r in op.results]
    return {f"{v.name_hint}{v.index or ''}": found.is_live(v) for v in values}


def test_through_choices_loops_and_calls() -> None:
    program = tx8ir.parse(TEXT, keep_names=True)
    found = liveness(program)
    assert names(program, found) == {
        "dead": False,
        "both": True,
        "both1": False,
        "loop": True,
        "loop1": False,
        "never": False,
        "unused": False,
        "written": True,
        "called": True,
    }
    main, first = (op.regions[0].block for op in program.body)
    assert [found.is_live(a) for a in main.args] == [True, True, False]
    assert [found.is_live(a) for a in first.args] == [True, False]


@pytest.mark.slow
def test_dead_values_may_hold_anything() -> None:
    """What is computed for a dead value is replaced by something else: outputs, feeds and parameters stay."""
    dead, live = 0, 0

    def check(program: Program) -> None:
        nonlocal dead, live
        found = liveness(program)

        def perturbed(op: Operation, compute: Callable[..., Any], arguments: Sequence[Any]) -> Any:
            nonlocal dead, live
            results = compute(*arguments)
            if len(op.results) != 1 or op.has_trait(Inplace) or not isinstance(results, (np.ndarray, np.generic)):
                return results
            if found.is_live(op.result):
                live += 1
                return results
            dead += 1
            return np.logical_not(results) if results.dtype == np.bool_ else results + results.dtype.type(1)

        inputs = draw_inputs(program, 0)
        expected = Interpreter(Program(program.module, program.weights.copy()))
        changed = Interpreter(Program(program.module, program.weights.copy()), computer=perturbed)
        outputs = expected.run(inputs)
        try:
            others = changed.run(inputs)
        except EvaluationError:
            return  # a dead index is out of range now
        for name, array in outputs.items():
            assert array.tobytes() == others[name].tobytes()
        for before, after in ((expected.feeds, changed.feeds), (expected.parameters, changed.parameters)):
            assert {n: a.tobytes() for n, a in before.items()} == {n: a.tobytes() for n, a in after.items()}

    for_each_program(tensor_programs(EVERYTHING), 60, check)
    assert dead > 30
    assert live > 30


def nested(depth: int) -> Program:
    """Choices inside one another, with an effect in none of them."""
    kind = VTensorType((), i1)
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType([kind], [kind]))
    block = main.body.block
    x: Value = block.args[0]
    with Builder.at_end(block):
        outer = scf.IfOp.build(x, lambda: [x], lambda: [x])
        func.ReturnOp([outer.outputs[0]])
    for _ in range(depth):
        inside = outer.then_region.block
        end = inside.last_op
        assert end is not None
        with Builder.before(end):
            outer = scf.IfOp.build(x, lambda: [x], lambda: [x])
        end.set_operand(0, outer.outputs[0])
    return program


@pytest.mark.slow
def test_the_cost_is_linear_in_depth() -> None:
    def prepare(depth: int) -> Callable[[], object]:
        program = nested(depth)
        return lambda: liveness(program)

    assert_linear(prepare, 40)
    deep = nested(2000)
    assert liveness(deep).is_live(deep.main.body.block.args[0])
