"""Common subexpression and dead code elimination: what goes, what must stay, and agreement with naive models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.core import (
    Block,
    Builder,
    FunctionType,
    IsolatedFromAbove,
    NamedLocation,
    NoTerminator,
    Op,
    Operation,
    Program,
    Pure,
    Region,
    Result,
    TensorType,
    Terminator,
    Value,
    VTensorType,
    at_location,
    f32,
    parse,
    region,
    result,
    successor,
)
from tx8ir.dialects import builtin, func, pd
from tx8ir.rewriting import rewrite_greedily
from tx8ir.transforms import eliminate_common_subexpressions, eliminate_dead_code

T = VTensorType((2,), f32)
Names = Callable[[Program], list[str]]


class ScopeOp(Op, name="test_scope.scope", traits=(Pure, NoTerminator)):
    """Pure, with a region that sees what is around it."""

    body: Region = region()
    out: Result = result()


class IsolatedOp(Op, name="test_scope.isolated", traits=(NoTerminator, IsolatedFromAbove)):
    """With a region that sees nothing around it."""

    body: Region = region()


class JumpOp(Op, name="test_scope.jump", traits=(Terminator,)):
    """Goes to one of two blocks."""

    left: Block = successor()
    right: Block = successor()


class StopOp(Op, name="test_scope.stop", traits=(Terminator,)):
    """Ends a block."""


class EffectOp(Op, name="test_scope.effect"):
    """May do anything."""


# --- CSE ------------------------------------------------------------------------------------------------------------


def test_equal_operations_become_the_first_of_them(build, run, names: Names) -> None:
    def body(x: Value, y: Value) -> list[Any]:
        a, b = pd.add(x, y), pd.add(x, y)
        return [pd.multiply(a, y), pd.multiply(b, y)]

    program = build(body, T, T)
    report = run(program, "cse")
    assert report.stages[0].statistics == {"merged": 2}
    assert names(program) == ["pd.add", "pd.multiply"]
    assert run(program, "cse").stages[0].statistics == {}  # idempotent


@pytest.mark.parametrize(
    ("make", "merged"),
    [
        (lambda x, y: [pd.add(x, y), pd.add(y, x)], 1),  # commutative
        (lambda x, y: [pd.subtract(x, y), pd.subtract(y, x)], 0),
        (lambda x, y: [pd.scale(x, scale=2.0), pd.scale(x, scale=2.0)], 1),
        (lambda x, y: [pd.scale(x, scale=2.0), pd.scale(x, scale=3.0)], 0),
        (lambda x, y: [pd.scale(x, bias=0.0), pd.scale(x, bias=-0.0)], 0),  # attributes differ in a sign
        (lambda x, y: [pd.relu(x), pd.abs(x)], 0),
        (lambda x, y: [pd.concat([x, y]), pd.concat([x, y])], 1),
        (lambda x, y: [pd.concat([x, y]), pd.concat([y, x])], 0),
        (lambda x, y: [*pd.split(x, sections=(1, 1)).outs, *pd.split(x, sections=(1, 1)).outs], 1),
        (lambda x, y: [pd.full(shape=(2,), value=1.0), pd.full(shape=(2,), value=1.0)], 1),
        (lambda x, y: [pd.full(shape=(2,), value=1.0), pd.full(shape=(2, 1), value=1.0)], 0),
    ],
)
def test_what_makes_operations_equal(build, make: Callable[..., Any], merged: int) -> None:
    program = build(make, T, T)
    assert eliminate_common_subexpressions(program.module) == merged
    program.verify()


def test_constants_with_equal_bits_are_merged_and_others_are_not(build) -> None:
    def body() -> list[Any]:
        return [builtin.ConstantOp(value=np.float32([value])) for value in (1.0, 1.0, 0.0, -0.0, np.nan, np.nan)]

    assert eliminate_common_subexpressions(build(body).module) == 2


def test_the_survivor_stands_for_the_locations_of_all(build) -> None:
    def body(x: Value) -> list[Any]:
        ops = []
        for name in ("first", "second", "third"):
            with at_location(NamedLocation(name)):
                ops.append(pd.relu(x))
        return ops

    program = build(body, T)
    eliminate_common_subexpressions(program.module)
    assert str(program.main.body.block.first_op.location) == 'loc(fused<"cse">["first", "second", "third"])'


def test_tensors_may_change_behind_the_back_of_an_operation(build, names: Names) -> None:
    alias = TensorType((2,), f32)

    def body(x: Value) -> list[Any]:
        return [pd.relu(x), pd.relu(x), pd.reshape(x, shape=(2,)), pd.reshape(x, shape=(2,))]

    program = build(body, alias)
    assert eliminate_common_subexpressions(program.module) == 0
    program = build(lambda x: [builtin.to_tensor(x), builtin.to_tensor(x)], T)
    assert eliminate_common_subexpressions(program.module) == 0  # two storages


@pytest.mark.parametrize("how", ["immutable", "flag", "write", "alias"])
def test_reads_of_a_parameter_are_merged_only_while_nothing_writes_it(build, run, how: str) -> None:
    def body(x: Value) -> list[Any]:
        first = builtin.GetParameterOp(parameter="w", out=T)
        if how == "write":
            builtin.SetParameterOp(x, parameter="w")
        if how == "alias":
            builtin.GetParameterOp(parameter="w", out=TensorType((2,), f32))
        return [first, builtin.GetParameterOp(parameter="w", out=T)]

    program = build(body, T, weights={"w": np.ones(2, np.float32)}, mutable=["w"] if how == "flag" else [])
    merged = run(program, "cse").stages[0].statistics.get("merged", 0)
    assert merged == (1 if how == "immutable" else 0)


def test_operations_with_effects_stay_apart(build) -> None:
    def body(x: Value) -> Value:
        EffectOp()
        EffectOp()
        return x

    assert eliminate_common_subexpressions(build(body, T).module) == 0


def _scoped(build, holder: type[Operation]) -> Program:
    """Relu outside, relu twice inside, relu again after."""

    def body(x: Value) -> list[Any]:
        first = pd.relu(x)
        scope = ScopeOp(out=T) if holder is ScopeOp else holder()
        with Builder.at_end(scope.regions[0].block):
            pd.tanh(pd.relu(x if holder is ScopeOp else pd.full(shape=(2,), value=1.0)))
            pd.tanh(pd.relu(x if holder is ScopeOp else pd.full(shape=(2,), value=1.0)))
        return [first, pd.relu(x), pd.tanh(pd.relu(x))]

    return build(body, T)


def test_a_region_sees_what_dominates_it_and_hides_its_own(build) -> None:
    program = _scoped(build, ScopeOp)
    # Inside: both relu merge with the outer one, the second tanh with the first. Outside: two relu. The tanh after the
    # region must not become the one inside.
    assert eliminate_common_subexpressions(program.module) == 2 + 1 + 2
    program.verify()
    assert [op.name for op in program.main.body.block].count("pd.tanh") == 1


def test_nothing_crosses_into_an_isolated_region(build) -> None:
    program = _scoped(build, IsolatedOp)
    # Inside: full, relu and tanh once each, though relu exists outside. Outside: two relu.
    assert eliminate_common_subexpressions(program.module) == 3 + 2
    program.verify()


def test_functions_do_not_share_operations() -> None:
    program = Program.empty()
    for name in ("main", "other"):
        with Builder.at_end(program.body):
            function = func.FuncOp(sym_name=name, function_type=FunctionType((), (T,)))
        with Builder.at_end(function.body.block):
            func.ReturnOp([pd.full(shape=(2,), value=1.0)])
    assert eliminate_common_subexpressions(program.module) == 0


def test_blocks_of_a_region_share_along_the_dominator_tree() -> None:
    """Entry → left, right; left → join, right → join: the branches see the entry, the join sees only the entry."""
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType((T,), ()))
    (x,) = main.body.block.args
    entry, left, right, join = main.body.block, Block(), Block(), Block()
    for block in (join, left, right):  # the order in the text does not matter
        main.body.append(block)
    with Builder.at_end(entry):
        pd.relu(x)
        JumpOp(left=left, right=right)
    for block in (left, right):
        with Builder.at_end(block):
            pd.relu(x)
            pd.tanh(x)
            pd.tanh(x)
            JumpOp(left=join, right=join)
    with Builder.at_end(join):
        pd.relu(x)
        pd.tanh(x)
        StopOp()
    assert eliminate_common_subexpressions(program.module) == 2 * 2 + 1
    assert [[op.name for op in block] for block in (entry, left, right, join)] == [
        ["pd.relu", "test_scope.jump"],
        ["pd.tanh", "test_scope.jump"],
        ["pd.tanh", "test_scope.jump"],
        ["pd.tanh", "test_scope.stop"],
    ]
    assert eliminate_dead_code(program.module) == 4


# --- DCE ------------------------------------------------------------------------------------------------------------


def test_a_dead_chain_goes_with_everything_that_only_it_used(build, run, names: Names) -> None:
    def body(x: Value) -> Value:
        w = builtin.GetParameterOp(parameter="w", out=T)
        pd.add(pd.exp(pd.multiply(x, w)), pd.full(shape=(2,), value=1.0))
        return pd.relu(x)

    program = build(body, T, weights={"w": np.ones(2, np.float32)})
    assert run(program, "dce").stages[0].statistics == {"removed": 5}
    assert names(program) == ["pd.relu"]
    assert "w" in program.weights  # the store may be shared
    assert run(program, "dce").stages[0].statistics == {}


def test_what_has_an_effect_stays_and_keeps_its_operands(build) -> None:
    def body(x: Value) -> Value:
        builtin.SetParameterOp(pd.relu(x), parameter="w")
        EffectOp()
        return x

    program = build(body, T, weights={"w": np.ones(2, np.float32)})
    assert eliminate_dead_code(program.module) == 0


def test_reading_a_tensor_or_viewing_it_is_no_effect_but_writing_it_is(build) -> None:
    def body(x: Value) -> list[Value]:
        builtin.to_tensor(pd.relu(x))
        pd.reshape(x, shape=(1, 2))
        return []

    assert eliminate_dead_code(build(body, TensorType((2,), f32)).module) == 3
    assert eliminate_dead_code(build(lambda x: [pd.relu_(x)][:0], TensorType((2,), f32)).module) == 0


def test_reads_of_a_tensor_that_nothing_writes_merge(build, run, names: Names) -> None:
    def body(x: Value, y: Value) -> list[Any]:
        reads = [builtin.to_vtensor(x), builtin.to_vtensor(y)]
        pd.relu_(y)
        return [*reads, builtin.to_vtensor(x), builtin.to_vtensor(y)]

    program = build(body, TensorType((2,), f32), TensorType((2,), f32))
    run(program, "cse")
    assert names(program) == ["builtin.to_vtensor", "builtin.to_vtensor", "pd.relu_", "builtin.to_vtensor"]


def test_one_used_result_keeps_the_operation(build) -> None:
    program = build(lambda x: pd.split(x, sections=(1, 1)).outs[1], T)
    assert eliminate_dead_code(program.module) == 0


@pytest.mark.parametrize("effect", [False, True])
def test_a_region_is_dead_when_everything_in_it_is(build, effect: bool) -> None:
    def body(x: Value) -> Value:
        y = pd.tanh(x)
        scope = ScopeOp(out=T)
        with Builder.at_end(scope.body.block):
            inner = ScopeOp(out=T)
            with Builder.at_end(inner.body.block):
                pd.relu(y)
                if effect:
                    EffectOp()
        return x

    program = build(body, T)
    removed = eliminate_dead_code(program.module)
    left = [op.name for op in program.main.walk()][1:]
    if effect:  # only the relu goes, and then the tanh
        assert removed == 2
        assert left == ["test_scope.scope", "test_scope.scope", "test_scope.effect", "func.return"]
    else:
        assert removed == 4
        assert left == ["func.return"]
    program.verify()


@pytest.mark.parametrize("rewrite", [eliminate_dead_code, lambda root: rewrite_greedily(root, [])])
def test_an_effect_inside_many_regions_is_looked_for_once(build, monkeypatch, rewrite: Callable[..., Any]) -> None:
    def body(x: Value) -> Value:
        outer = Builder.at_end(ScopeOp(out=T).body.block)
        for _ in range(500):
            with outer:
                outer = Builder.at_end(ScopeOp(out=T).body.block)
        with outer:
            EffectOp()
        return x

    program = build(body, T)
    asked = 0
    has_trait = Operation.has_trait

    def counting(op: Operation, trait: Any) -> bool:
        nonlocal asked
        asked += 1
        return has_trait(op, trait)

    monkeypatch.setattr(Operation, "has_trait", counting)
    rewrite(program.module)
    assert len(list(program.main.walk())) == 1 + 501 + 2
    assert asked < 500 * 5


def test_a_definition_in_a_later_block_is_found_again() -> None:
    """A block later in the text dominates an earlier one: its operation dies after the sweep passed it."""
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType((T,), ()))
    (x,) = main.body.block.args
    early, late = Block(), Block()
    main.body.append(early)
    main.body.append(late)
    with Builder.at_end(main.body.block):
        JumpOp(left=late, right=late)
    with Builder.at_end(late):
        y = pd.exp(x)
        JumpOp(left=early, right=early)
    with Builder.at_end(early):
        pd.relu(y)
        StopOp()
    program.verify()
    assert eliminate_dead_code(program.module) == 2
    program.verify()


def test_depth_and_length_do_not_matter() -> None:
    text = ["func.func @main(%arg0: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {"]
    previous = "%arg0"
    for i in range(20_000):
        text.append(f'%{i} = "pd.relu"({previous}) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>')
        previous = f"%{i}"
    program = parse("\n".join([*text, "return %arg0 : !pd.vtensor<2xf32>", "}"]))
    assert eliminate_common_subexpressions(program.module) == 0
    assert eliminate_dead_code(program.module) == 20_000


# --- against naive models ---------------------------------------------------------------------------------------------

Node = tuple[str, tuple[int, ...], int]  # kind, operands (0 and 1 are the arguments, then operations), attribute
KINDS = {"add": 2, "subtract": 2, "relu": 1, "scale": 1, "effect": 0, "alias": 1}


@st.composite
def dags(draw: st.DrawFn) -> tuple[list[Node], list[int]]:
    nodes: list[Node] = []
    usable = [0, 1]
    for _ in range(draw(st.integers(0, 25))):
        kind = draw(st.sampled_from(sorted(KINDS)))
        operands = tuple(draw(st.sampled_from(usable)) for _ in range(KINDS[kind]))
        nodes.append((kind, operands, draw(st.integers(0, 1)) if kind == "scale" else 0))
        if kind not in ("effect", "alias"):
            usable.append(len(nodes) + 1)
    return nodes, draw(st.lists(st.sampled_from(usable), max_size=3))


def _program_of(nodes: list[Node], returned: list[int]) -> Program:
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType((T, T), (T,) * len(returned)))
    values: list[Value | None] = list(main.body.block.args)
    make: dict[str, Callable[..., Operation]] = {
        "add": pd.add, "subtract": pd.subtract, "relu": pd.relu, "effect": EffectOp, "alias": builtin.to_tensor,
    }  # fmt: skip
    with Builder.at_end(main.body.block):
        for kind, operands, attribute in nodes:
            given = [values[i] for i in operands]
            op = pd.scale(*given, scale=2.0 + attribute) if kind == "scale" else make[kind](*given)
            values.append(op.results[0] if op.results else None)
        func.ReturnOp([values[i] for i in returned])
    return program


def _shape_of(program: Program) -> list[tuple[str, tuple[int, ...], float]]:
    """The graph as comparable data."""
    number: dict[Value, int] = {v: i for i, v in enumerate(program.main.body.block.args)}
    rows = []
    for op in program.main.body.block:
        rows.append((op.name, tuple(number[v] for v in op.operands), op.scale if op.name == "pd.scale" else 0.0))
        for value in op.results:
            number[value] = len(number)
    return rows


def _naive_cse(nodes: list[Node], returned: list[int]) -> tuple[list[Node], list[int]]:
    """Looks for an equal pair, merges it, and starts again: the definition, at cubic cost."""
    while True:
        pair = next(
            (
                (i, j)
                for j in range(len(nodes))
                for i in range(j)
                if nodes[i][0] == nodes[j][0]
                and nodes[i][0] not in ("effect", "alias")
                and nodes[i][2] == nodes[j][2]
                and (
                    nodes[i][1] == nodes[j][1] or (nodes[i][0] == "add" and sorted(nodes[i][1]) == sorted(nodes[j][1]))
                )
            ),
            None,
        )
        if pair is None:
            return nodes, returned
        keep, drop = pair
        nodes, returned = _without(nodes, returned, drop, keep + 2)


def _naive_dce(nodes: list[Node], returned: list[int]) -> tuple[list[Node], list[int]]:
    while True:
        used = {i for _, operands, _ in nodes for i in operands} | set(returned)
        dead = next((i for i, n in enumerate(nodes) if i + 2 not in used and n[0] != "effect"), None)
        if dead is None:
            return nodes, returned
        nodes, returned = _without(nodes, returned, dead, 0)


def _without(nodes: list[Node], returned: list[int], drop: int, instead: int) -> tuple[list[Node], list[int]]:
    def new(i: int) -> int:
        i = instead if i == drop + 2 else i
        return i - (i > drop + 2)

    kept = [(k, tuple(new(i) for i in operands), a) for j, (k, operands, a) in enumerate(nodes) if j != drop]
    return kept, [new(i) for i in returned]


@given(dags())
def test_cse_agrees_with_the_naive_model(dag: tuple[list[Node], list[int]]) -> None:
    program = _program_of(*dag)
    merged = eliminate_common_subexpressions(program.module)
    program.verify()
    expected = _naive_cse(*dag)
    assert _shape_of(program) == _shape_of(_program_of(*expected))
    assert merged == len(dag[0]) - len(expected[0])


@given(dags())
def test_dce_agrees_with_the_naive_model(dag: tuple[list[Node], list[int]]) -> None:
    program = _program_of(*dag)
    removed = eliminate_dead_code(program.module)
    program.verify()
    expected = _naive_dce(*dag)
    assert _shape_of(program) == _shape_of(_program_of(*expected))
    assert removed == len(dag[0]) - len(expected[0])
