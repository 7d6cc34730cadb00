"""A user's own loop, choices, view, call and operations on storage, of a dialect that the package does not know.

Each pass gets them right through their interfaces: seen on small programs, and by the oracle on drawn ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tx8ir
from support import stranger
from tx8ir.analysis import AliasAnalysis
from tx8ir.analysis.trip_count import trip_count
from tx8ir.autodiff import append_backward
from tx8ir.core import (
    Block,
    Builder,
    FunctionType,
    IrError,
    Operation,
    Program,
    Region,
    SymbolRefAttr,
    TensorType,
    Value,
    VerifyError,
    VTensorType,
    default_context,
    f32,
    i32,
)
from tx8ir.dialects import builtin, func, pd
from tx8ir.interpreter import evaluate
from tx8ir.passes import PassManager
from tx8ir.testing import assert_preserves
from tx8ir.testing.programs import EVERYTHING, Writer, tensor_programs

V = VTensorType((4,), f32)
T = TensorType((4,), f32)
X = np.array([1.0, -2.0, 3.0, -4.0], np.float32)


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    default_context().register(stranger.DIALECT)


def number(value: int) -> Value:
    return pd.full(shape=(), value=float(value), dtype=i32).out


def written(body: Callable[..., Sequence[Any]], *types: Any) -> Program:
    """A program whose `main` is what `body` writes."""
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType(types, ()))
    with Builder.at_end(main.body.block):
        results = func.ReturnOp(body(*main.body.block.args)).operands
    main.set_attribute("function_type", FunctionType(types, [v.type for v in results]))
    return program


def after(program: Program, passes: str) -> list[str]:
    """Names of the operations of a program once the passes have run, which keep what it computes."""
    program.verify()
    inputs = {f"arg{i}": X if a.type.rank else np.array(2) for i, a in enumerate(program.main.body.block.args)}
    before = evaluate(program, inputs)
    PassManager.parse(passes).run(program)
    for name, found in evaluate(program, inputs).items():
        np.testing.assert_array_equal(found, before[name])
    return [op.name for op in program.main.walk()]


def find(program: Program, kind: type[Operation]) -> Any:
    return next(op for op in program.module.walk() if isinstance(op, kind))


# -- analyses ---------------------------------------------------------------------------------------------------------


def test_a_loop_a_choice_and_a_view_alias_what_they_forward() -> None:
    def body(n: Value) -> Sequence[Any]:
        a, b, c = (pd.full(shape=(4,), value=1.0).out for _ in range(3))
        t, u, w = (builtin.to_tensor(v).out for v in (a, b, c))
        shown = stranger.ReverseOp(t).out
        loop = stranger.CountOp.build(n, [shown], lambda i, x: [x])
        either = stranger.UnlessOp.build(n, [u], lambda: [loop.results[0]])
        peek = stranger.PeekOp(w)
        return [t, u, w, shown, loop.results[0], either.results[0], peek.out]

    program = written(body, VTensorType((), i32))
    t, u, w, shown, carried, chosen, _ = program.main.body.block.terminator.operands
    analysis = AliasAnalysis(program)
    assert [analysis.may_alias(t, other) for other in (shown, carried, chosen, u, w)] == [True] * 4 + [False]
    assert not analysis.may_alias(w, chosen)
    effects = analysis.effects(find(program, stranger.PeekOp))
    assert (effects.reads, effects.writes) == (analysis.storages(w), frozenset())


def test_who_states_nothing_but_reads_is_merged_dropped_and_moved() -> None:
    def twice(x: Value) -> Sequence[Any]:
        t = builtin.to_tensor(x)
        stranger.PeekOp(t)
        return [pd.add(stranger.PeekOp(t), stranger.PeekOp(t))]

    assert after(written(twice, V), "cse").count("stranger.peek") == 1
    assert after(written(twice, V), "dce").count("stranger.peek") == 2

    def written_between(x: Value) -> Sequence[Any]:
        t = builtin.to_tensor(x)
        before = stranger.PeekOp(t)
        stranger.DoubleInPlaceOp(t)
        return [pd.add(before, stranger.PeekOp(t))]

    assert after(written(written_between, V), "cse,dce").count("stranger.peek") == 2

    def in_a_loop(x: Value, n: Value) -> Sequence[Any]:
        t = builtin.to_tensor(x).out
        return stranger.CountOp.build(n, [x], lambda i, v: [pd.add(v, stranger.PeekOp(t))]).results

    program = written(in_a_loop, V, VTensorType((), i32))
    after(program, "loop-invariant-motion")
    assert find(program, stranger.PeekOp).parent is program.main.body.block


def test_a_call_of_its_own_is_a_call() -> None:
    def body(x: Value, n: Value) -> Sequence[Any]:
        t = builtin.to_tensor(x).out
        stranger.InvokeOp(n, [t], callee=SymbolRefAttr("double"), outputs=())
        return [builtin.to_vtensor(t)]

    program = written(body, V, VTensorType((), i32))
    add_function(program, "double", lambda t: (stranger.DoubleInPlaceOp(t), [])[1], T)
    program.verify()
    analysis, call = AliasAnalysis(program), find(program, stranger.InvokeOp)
    assert analysis.effects(call).writes == analysis.storages(call.inputs[0])
    names = after(program, "to-value-semantics,copy-elision,cse,dce")
    assert "stranger.invoke" in names
    np.testing.assert_array_equal(evaluate(program, {"arg0": X, "arg1": np.array(0)})["result0"], 2 * X)


def add_function(program: Program, name: str, body: Callable[..., Sequence[Any]], *types: Any) -> None:
    with Builder.at_end(program.body):
        function = func.FuncOp(sym_name=name, function_type=FunctionType(types, ()))
    with Builder.at_end(function.body.block):
        results = func.ReturnOp(body(*function.body.block.args)).operands
    function.set_attribute("function_type", FunctionType(types, [v.type for v in results]))


def test_a_loop_says_how_often_it_runs() -> None:
    program = written(lambda x: stranger.CountOp.build(number(3), [x], lambda i, v: [pd.relu(v)]).results, V)
    assert trip_count(find(program, stranger.CountOp)) == 3


# -- passes -----------------------------------------------------------------------------------------------------------


def test_storage_that_a_loop_writes_is_carried() -> None:
    def body(x: Value, n: Value) -> Sequence[Any]:
        t = builtin.to_tensor(x).out

        def inside(i: Value) -> Sequence[Any]:
            pd.scale_(stranger.ReverseOp(t).out, scale=0.5, bias=1.0)
            stranger.UnlessOp.build(i, [], lambda: (stranger.DoubleInPlaceOp(t), [])[1])
            stranger.SwitchOp.build(i, lambda: (pd.relu_(t), [])[1], list, list)
            return []

        stranger.CountOp.build(n, [], inside)
        return [builtin.to_vtensor(t)]

    program = written(body, V, VTensorType((), i32))
    names = after(program, "to-value-semantics,copy-elision,dce")
    assert not any(name.endswith("_") or "to_" in name for name in names), program
    for kind in (stranger.CountOp, stranger.UnlessOp, stranger.SwitchOp):
        assert len(find(program, kind).results) == 1


def test_tensors_that_nobody_writes_become_values() -> None:
    def body(x: Value, n: Value) -> Sequence[Any]:
        t = builtin.to_tensor(x).out
        loop = stranger.CountOp.build(builtin.to_tensor(n).out, [t], lambda i, v: [v])
        return [builtin.to_vtensor(stranger.ReverseOp(loop.results[0]))]

    program = written(body, V, VTensorType((), i32))
    assert not any("to_" in name for name in after(program, "copy-elision")), program


def test_what_does_not_change_leaves_the_loop() -> None:
    def body(x: Value, y: Value, n: Value) -> Sequence[Any]:
        def inside(i: Value, a: Value, same: Value) -> Sequence[Any]:
            inner = stranger.CountOp.build(number(2), [same], lambda j, v: [pd.tanh(v)])  # it comes to an end
            return [pd.add(a, inner.results[0]), same]

        return stranger.CountOp.build(n, [x, y], inside).results

    program = written(body, V, V, VTensorType((), i32))
    after(program, "loop-invariant-motion")
    loops = [op for op in program.main.body.block if isinstance(op, stranger.CountOp)]
    assert [len(loop.results) for loop in loops] == [1, 1], program


def test_constants_go_through_loops_and_choices() -> None:
    def body(x: Value) -> Sequence[Any]:
        one = number(1)
        loop = stranger.CountOp.build(number(3), [one], lambda i, v: [pd.multiply(v, number(1))])
        side = stranger.SwitchOp.build(loop.results[0], lambda: [number(7)], lambda: [number(8)], lambda: [number(9)])
        unless = stranger.UnlessOp.build(side.results[0], [number(4)], lambda: [number(4)])
        none = stranger.CountOp.build(number(0), [one], lambda i, v: [pd.add(v, v)])
        return [side.results[0], unless.results[0], none.results[0], x]

    program = written(body, V)
    assert after(program, "sccp,dce").count("pd.full") == 3, program
    assert not any(op.regions for op in program.main.body.block)


def test_equal_operations_inside_are_one_and_dead_choices_go() -> None:
    def body(x: Value, n: Value) -> Sequence[Any]:
        first = pd.tanh(x).out
        stranger.SwitchOp.build(n, lambda: [pd.relu(x)], lambda: [x], lambda: [x])
        return stranger.CountOp.build(n, [x], lambda i, v: [pd.add(pd.tanh(x), first)]).results

    program = written(body, V, VTensorType((), i32))
    names = after(program, "cse,dce")
    assert names.count("pd.tanh") == 1
    assert "stranger.switch" not in names


def test_carried_values_that_nothing_needs_go() -> None:
    def body(x: Value, y: Value, n: Value) -> Sequence[Any]:
        return stranger.CountOp.build(n, [x, y], lambda i, a, b: [pd.relu(a), b]).results[:1]

    program = written(body, V, V, VTensorType((), i32))
    after(program, "simplify-control-flow,dce")
    assert len(find(program, stranger.CountOp).results) == 1


# -- gradients --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("index", "slope"), [(0, 2.0), (1, 3.0), (5, 0.0)])
def test_gradients_go_through_a_choice_of_its_own(index: int, slope: float) -> None:
    def body(x: Value, n: Value) -> Sequence[Any]:
        side = stranger.SwitchOp.build(
            n,
            lambda: [pd.scale(x, scale=2.0)],
            lambda: [pd.scale(x, scale=3.0)],
            lambda: [pd.full(shape=(4,), value=1.0)],
        )
        return [pd.sum(side.results[0])]

    program = written(body, V, VTensorType((), i32))
    end = program.main.body.block.terminator
    x = program.main.body.block.args[0]
    gradient = append_backward(program, end.operands[0], wrt=[x]).values[x]
    end.set_operands([*end.operands, gradient])
    program.main.set_attribute("function_type", FunctionType([V, VTensorType((), i32)], [v.type for v in end.operands]))
    program.verify()
    found = evaluate(program, {"arg0": X, "arg1": np.array(index)})
    np.testing.assert_array_equal(found["result1"], np.full(4, slope, np.float32))


def test_a_loop_has_no_gradient_and_the_error_says_what_to_do() -> None:
    def body(x: Value) -> Sequence[Any]:
        return [pd.sum(stranger.CountOp.build(number(2), [x], lambda i, v: [pd.tanh(v)]).results[0])]

    program = written(body, V)
    text = str(program)
    with pytest.raises(IrError, match=r"stranger.count has no gradient .*run unroll first"):
        append_backward(program, program.main.body.block.terminator.operands[0], wrt=program.main.body.block.args)
    assert str(program) == text


# -- errors -----------------------------------------------------------------------------------------------------------


def test_a_loop_that_forwards_other_types_is_refused() -> None:
    def body(x: Value, n: Value) -> Sequence[Any]:
        block = Block([stranger.INDEX, T])
        with Builder.at_end(block):
            stranger.NextOp([block.args[1]])
        return stranger.CountOp(n, [x], body=Region([block]), outputs=[V]).results

    with pytest.raises(VerifyError, match=r"stranger.count gives \(.*\) to region 0, expected"):
        written(body, V, VTensorType((), i32)).verify()


def test_its_text_reads_back() -> None:
    program = written(lambda x: stranger.CountOp.build(number(2), [x], lambda i, v: [pd.tanh(v)]).results, V)
    assert str(tx8ir.parse(str(program))) == str(program)


# -- drawn programs ---------------------------------------------------------------------------------------------------


def _inside(writer: Writer, block: Block, pool: Sequence[Value], make: Callable[[Writer], Sequence[Value]]) -> Region:
    inner = writer.inside(block, pool)
    inner.write(3)
    given = make(inner)
    inner.insert(lambda: stranger.NextOp(given))
    return Region([block])


def _index(writer: Writer) -> Value:
    index = writer.filled((), float(writer.number(0, 3)), i32)
    if writer.perhaps():
        truth = writer.condition()
        index = writer.insert(lambda: pd.reshape(pd.cast(truth, dtype=i32), shape=()))[0]
    return writer.insert(lambda: builtin.to_tensor(index))[0] if writer.perhaps() else index


def count(writer: Writer) -> Sequence[Value]:
    """A loop that counts."""
    if writer.depth >= 2:
        return view(writer)
    bound, carried = _index(writer), writer.two_alike()
    types = [v.type for v in carried]
    block = Block([stranger.INDEX, *types])
    body = _inside(writer, block, [*writer.pool, *block.args], lambda inner: [inner.value_of(t) for t in types])
    return writer.insert(lambda: stranger.CountOp(bound, carried, body=body, outputs=types))


def choice(writer: Writer) -> Sequence[Value]:
    """One of three, or one that may be left out."""
    if writer.depth >= 2:
        return view(writer)
    index, given = _index(writer), writer.two_alike()
    types = [v.type for v in given]

    def side() -> Region:
        return _inside(writer, Block(), writer.pool, lambda inner: [inner.value_of(t) for t in types])

    if writer.perhaps():
        body = side()
        return writer.insert(lambda: stranger.UnlessOp(index, given, body=body, outputs=types))
    first, second, third = side(), side(), side()
    return writer.insert(lambda: stranger.SwitchOp(index, first=first, second=second, third=third, outputs=types))


def view(writer: Writer) -> Sequence[Value]:
    """A view, a look at storage, or a write of it."""
    x = writer.tensor()
    if isinstance(x.type, TensorType) and x.type.element.is_float and writer.perhaps():
        return writer.insert(lambda: stranger.DoubleInPlaceOp(x))
    return writer.insert(lambda: stranger.PeekOp(x) if writer.perhaps() else stranger.ReverseOp(x))


def invoke(writer: Writer) -> Sequence[Value]:
    """A call of a function that there is."""
    if not writer.functions:
        return view(writer)
    function = writer.one_of(writer.functions)
    arguments = [writer.value_of(type_) for type_ in function.function_type.inputs]
    tag, callee = writer.tensor(), SymbolRefAttr(function.sym_name)
    results = function.function_type.results
    return writer.insert(lambda: stranger.InvokeOp(tag, arguments, callee=callee, outputs=results))


STEPS = [count, choice, view, invoke]
PIPELINES = (
    "to-value-semantics,copy-elision,to-inplace",
    "copy-elision,cse,loop-invariant-motion,to-value-semantics",
    "sccp,loop-invariant-motion,simplify-control-flow,dce",
    "to-value-semantics,copy-elision,sccp,cse,loop-invariant-motion,simplify-control-flow,remove-dead-buffers,dce",
)


@pytest.mark.parametrize("passes", PIPELINES)
def test_the_oracle_finds_nothing(passes: str) -> None:
    """10 programs for each of four pipelines."""
    programs = tensor_programs(EVERYTHING, steps=STEPS)
    assert_preserves(passes, programs=programs, examples=10, changed=1 / 3)


@pytest.mark.nightly
@pytest.mark.parametrize("passes", PIPELINES)
def test_the_oracle_finds_nothing_in_many_programs(passes: str) -> None:
    programs = tensor_programs(EVERYTHING, steps=STEPS)
    assert_preserves(passes, programs=programs, examples=750, changed=1 / 3, seconds=3600)
