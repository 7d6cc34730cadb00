"""scf and cf, evaluated: branches, loops, captured values, nests that are deep, loops that are long."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

import tx8ir
from tx8ir.core import Block, Builder, FunctionType, Program, Region, SymbolRefAttr, VTensorType, f32, i1
from tx8ir.dialects import builtin, cf, func, pd, scf
from tx8ir.interpreter import EvaluationError, Interpreter, evaluate

V2, F, B = VTensorType((2,), f32), VTensorType((), f32), VTensorType((), i1)


def main_of(build, inputs, results):
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType(inputs, results))
    with Builder.at_end(main.body.block):
        func.ReturnOp(build(*main.body.block.args))
    program.verify()
    return program


def number(value):
    return builtin.constant(value=np.float32(value))


def power(x, n):
    """The value x doubled n times, in a loop."""
    return scf.WhileOp.build(
        [x, number(0)],
        lambda y, i: (pd.less_than(i, n), [y, i]),
        lambda y, i: [pd.add(y, y), pd.add(i, number(1))],
    ).results[:1]


@pytest.mark.parametrize(("n", "expected"), [(0, [1, 3]), (1, [2, 6]), (5, [32, 96])])
def test_a_loop_runs_until_its_condition_fails(n, expected):
    program = main_of(power, (V2, F), (V2,))
    outputs = evaluate(program, {"arg0": np.float32([1, 3]), "arg1": np.float32(n)})
    assert outputs["result0"].tolist() == expected


def test_an_if_runs_one_region_and_sees_the_values_around_it():
    def build(x, c):
        y = pd.add(x, x)
        return scf.IfOp.build(c, lambda: [pd.subtract(y, x), y], lambda: [y, x]).results

    program = main_of(build, (V2, B), (V2, V2))
    x = np.float32([1, -4])
    seen = {c: evaluate(program, {"arg0": x, "arg1": np.bool_(c)}) for c in (True, False)}
    assert [a.tolist() for a in seen[True].values()] == [[1, -4], [2, -8]]
    assert [a.tolist() for a in seen[False].values()] == [[2, -8], [1, -4]]


def test_an_if_without_an_else_does_nothing_when_its_condition_fails():
    def build(x, c):
        def store():
            builtin.set_parameter(x, parameter="w")
            return []

        scf.IfOp.build(c, store)
        return []

    program = main_of(build, (V2, B), ())
    evaluate(program, {"arg0": np.float32([1, 2]), "arg1": np.bool_(False)})
    assert "w" not in program.weights
    evaluate(program, {"arg0": np.float32([1, 2]), "arg1": np.bool_(True)})
    assert program.weights["w"].numpy().tolist() == [1, 2]


COUNT_DOWN = """
    func.func @main(%n: !pd.vtensor<f32>, %x: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {
      %one = "builtin.constant"() {value = dense<1.0> : tensor<f32>} : () -> !pd.vtensor<f32>
      %double = "pd.add"(%x, %x) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      "cf.br"(%n, %x)[^head] : (!pd.vtensor<f32>, !pd.vtensor<2xf32>) -> ()
    ^head(%i: !pd.vtensor<f32>, %y: !pd.vtensor<2xf32>):
      %more = "pd.less_equal"(%one, %i) : (!pd.vtensor<f32>, !pd.vtensor<f32>) -> !pd.vtensor<i1>
      "cf.cond_br"(%more, %y)[^body, ^end] {operandSegmentSizes = array<i32: 1, 0, 1>}
        : (!pd.vtensor<i1>, !pd.vtensor<2xf32>) -> ()
    ^body:
      %j = "pd.subtract"(%i, %one) : (!pd.vtensor<f32>, !pd.vtensor<f32>) -> !pd.vtensor<f32>
      %z = "pd.add"(%y, %double) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      "cf.br"(%j, %z)[^head] : (!pd.vtensor<f32>, !pd.vtensor<2xf32>) -> ()
    ^end(%result: !pd.vtensor<2xf32>):
      return %result : !pd.vtensor<2xf32>
    }
"""


@pytest.mark.parametrize("n", [0, 1, 3])
def test_branches_go_round_a_loop_of_blocks(n):
    program = tx8ir.parse(COUNT_DOWN)
    program.verify()
    outputs = evaluate(program, {"arg0": np.float32(n), "arg1": np.float32([1, 2])})
    assert outputs["result0"].tolist() == [1 + 2 * n, 2 + 4 * n]


def test_both_successors_may_be_one_block():
    program = tx8ir.parse("""
        func.func @main(%c: !pd.vtensor<i1>, %x: !pd.vtensor<f32>, %y: !pd.vtensor<f32>) -> !pd.vtensor<f32> {
          "cf.cond_br"(%c, %x, %y)[^end, ^end] {operandSegmentSizes = array<i32: 1, 1, 1>}
            : (!pd.vtensor<i1>, !pd.vtensor<f32>, !pd.vtensor<f32>) -> ()
        ^end(%r: !pd.vtensor<f32>):
          return %r : !pd.vtensor<f32>
        }
    """)
    program.verify()
    for c, expected in ((True, 1), (False, 2)):
        given = {"arg0": np.bool_(c), "arg1": np.float32(1), "arg2": np.float32(2)}
        assert evaluate(program, given)["result0"] == expected


def test_blocks_and_regions_mix():
    """A region inside a block of a loop of blocks reads a value of an earlier block, in every round."""
    program = tx8ir.parse("""
        func.func @main(%n: !pd.vtensor<f32>) -> !pd.vtensor<f32> {
          %one = "builtin.constant"() {value = dense<1.0> : tensor<f32>} : () -> !pd.vtensor<f32>
          "cf.br"(%n)[^head] : (!pd.vtensor<f32>) -> ()
        ^head(%i: !pd.vtensor<f32>):
          %big = "pd.less_than"(%one, %i) : (!pd.vtensor<f32>, !pd.vtensor<f32>) -> !pd.vtensor<i1>
          %next = "scf.if"(%big) ({
            %0 = "pd.subtract"(%i, %one) : (!pd.vtensor<f32>, !pd.vtensor<f32>) -> !pd.vtensor<f32>
            "scf.yield"(%0) : (!pd.vtensor<f32>) -> ()
          }, {
            "scf.yield"(%i) : (!pd.vtensor<f32>) -> ()
          }) : (!pd.vtensor<i1>) -> !pd.vtensor<f32>
          "cf.cond_br"(%big, %next)[^head, ^end] {operandSegmentSizes = array<i32: 1, 1, 0>}
            : (!pd.vtensor<i1>, !pd.vtensor<f32>) -> ()
        ^end:
          return %i : !pd.vtensor<f32>
        }
    """)
    program.verify()
    assert evaluate(program, {"arg0": np.float32(5.5)})["result0"] == 0.5


@pytest.mark.slow
def test_a_nest_of_ten_thousand_ifs_that_all_capture_from_the_top():
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType((F, B), (F,)))
    x, c = main.body.block.args
    with Builder.at_end(main.body.block):
        inner = scf.YieldOp([pd.add(x, x)])
        first = inner.prev_op
        inner.detach()
        first.detach()
        block = Block()
        block.extend([first, inner])
    for _ in range(10_000):
        outer = Block()
        other = Block()
        with Builder.at_end(other):
            scf.YieldOp([x])
        with Builder.at_end(outer):
            op = scf.IfOp(c, then_region=Region([block]), else_region=Region([other]), outputs=[F])
            scf.YieldOp(op.results)
        block = outer
    ending = block.last_op
    with Builder.at_end(main.body.block):
        func.ReturnOp(ending.operands)
    ending.erase()
    main.body.block.splice_before(main.body.block.last_op, block)
    program.verify()
    assert evaluate(program, {"arg0": np.float32(3), "arg1": np.bool_(True)})["result0"] == 6


def test_a_loop_of_many_rounds_keeps_one_round_alive():
    program = main_of(lambda n: power(number(0), n), (F,), (F,))
    alive: list[weakref.ref] = []
    most = 0

    def watch(op, results):
        nonlocal most
        alive.extend(weakref.ref(r) for r in results if isinstance(r, np.ndarray))
        alive[:] = [r for r in alive if r() is not None]
        most = max(most, len({id(r()) for r in alive}))

    interpreter = Interpreter(program, observer=watch)
    assert interpreter.run({"arg0": np.float32(1000)})["result0"] == 0
    assert most < 15


def test_what_a_region_gives_must_fit():
    program = tx8ir.parse("""
        func.func @main(%c: !pd.vtensor<i1>, %x: !pd.vtensor<f32>) -> !pd.vtensor<f32> {
          %0 = "scf.if"(%c) ({
            "scf.yield"() : () -> ()
          }, {
            "scf.yield"(%x) : (!pd.vtensor<f32>) -> ()
          }) : (!pd.vtensor<i1>) -> !pd.vtensor<f32>
          return %0 : !pd.vtensor<f32>
        }
    """)
    with pytest.raises(EvaluationError, match=r"scf\.if gives 0 values for 1 results"):
        evaluate(program, {"arg0": np.bool_(True), "arg1": np.float32(1)})


def test_a_branch_must_give_its_block_what_it_takes():
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType((), ()))
    end = main.body.append(Block((F,)))
    with Builder.at_end(main.body.block):
        cf.br([], dest=end)
    with Builder.at_end(end):
        func.ReturnOp([])
    with pytest.raises(EvaluationError, match=r"cf\.br gives 0 values to a block of 1 arguments"):
        evaluate(program, {})


@pytest.mark.slow
def test_a_chain_of_ten_thousand_functions_is_evaluated() -> None:
    """Calls find their functions in one table, and do not nest in Python."""
    program, kind = Program.empty(), VTensorType((2,), f32)
    with Builder.at_end(program.body):
        names = ["main", *(f"f{i}" for i in range(1, 10_000))]
        functions = [func.FuncOp(sym_name=name, function_type=FunctionType([kind], [kind])) for name in names]
    for function, callee in zip(functions, [*names[1:], None], strict=True):
        (x,) = function.body.block.args
        with Builder.at_end(function.body.block):
            if callee is not None:
                x = func.call([x], callee=SymbolRefAttr(callee), outputs=[kind]).outputs[0]
            func.ReturnOp([x])
    x = np.array([1.5, -2.0], np.float32)
    np.testing.assert_array_equal(evaluate(program, {"arg0": x})["result0"], x)
