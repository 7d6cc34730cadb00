"""Groups of operations that may be replaced by one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tx8ir.core import Builder, FunctionType, Operation, Program, Value, VTensorType, f32
from tx8ir.dialects import builtin, func, pd
from tx8ir.rewriting.declarative import Make, Node, Number, Rule, Var
from tx8ir.rewriting.subgraphs import find_subgraphs, inputs_of, is_convex, is_self_contained, outputs_of

T = VTensorType((2, 3), f32)
x, y = Var("x"), Var("y")
Build = Callable[..., Program]

CHAIN = Rule("chain", Node(pd.ExpOp, Node(pd.TanhOp, x)), Make(pd.SinOp, x))
LONG = Rule("long", Node(pd.ExpOp, Node(pd.TanhOp, Node(pd.ReluOp, x))), Make(pd.SinOp, x))
PAIR = Rule("pair", Node(pd.TanhOp, Node(pd.ReluOp, x)), Make(pd.SinOp, x))


def found(program: Program, *rules: Rule, **options: bool) -> list[list[str]]:
    return [[op.name for op in s.ops] for s in find_subgraphs(program.main.body.block, rules, **options)]


def test_a_group_has_its_operations_in_order_its_inputs_and_its_outputs(build: Build) -> None:
    rule = Rule("r", Node(pd.AddOp, Node(pd.ExpOp, x), Node(pd.MultiplyOp, y, Number("c"))), x)
    program = build(lambda a, b: pd.add(pd.multiply(b, pd.full(shape=(2, 3), value=2.0, dtype=f32)), pd.exp(a)), T, T)
    (group,) = find_subgraphs(program.main.body.block, [rule])
    assert [op.name for op in group.ops] == ["pd.multiply", "pd.exp", "pd.add"]
    a, b = program.main.body.block.args
    assert [v if v in (a, b) else v.defining_op.name for v in group.inputs] == [b, "pd.full", a]
    assert group.outputs == (group.match.root.results[0],)
    assert group.rule is rule


def test_a_value_used_outside_keeps_a_group_from_being_self_contained(build: Build) -> None:
    def body(a: Value) -> list[Operation]:
        tanh = pd.tanh(a)
        return [pd.exp(tanh), pd.relu(tanh)]

    program = build(body, T)
    assert found(program, CHAIN) == []
    assert found(program, CHAIN, self_contained=False) == [["pd.tanh", "pd.exp"]]


def test_of_groups_that_share_operations_the_larger_is_taken(build: Build) -> None:
    program = build(lambda a: pd.exp(pd.tanh(pd.relu(a))), T)
    assert found(program, CHAIN, LONG, PAIR) == [["pd.relu", "pd.tanh", "pd.exp"]]
    assert len(found(program, CHAIN, LONG, PAIR, overlapping=True)) == 3


def test_a_way_out_and_back_makes_a_group_not_convex(build: Build) -> None:
    rule = Rule("r", Node(pd.AddOp, Node(pd.TanhOp, x), y), x)

    def body(a: Value) -> Operation:
        tanh = pd.tanh(a)
        return pd.add(tanh, pd.sqrt(pd.exp(tanh)))

    program = build(body, T)
    assert found(program, rule, self_contained=False) == []


def test_what_is_not_pure_may_only_be_the_root(build: Build) -> None:
    """A read of a parameter may not move down past a write of it."""
    rule = Rule("r", Node(pd.ExpOp, Node(builtin.GetParameterOp)), lambda found, rewriter: None)
    weights = {"w": np.ones((2, 3), np.float32)}
    program = build(lambda: pd.exp(builtin.GetParameterOp(parameter="w", out=T)), weights=weights)
    assert rule.match(list(program.main.body.block)[1])
    assert found(program, rule) == []
    alone = Rule("alone", Node(builtin.GetParameterOp), lambda found, rewriter: None)
    assert found(program, alone) == [["builtin.get_parameter"]]


def test_self_containment_is_about_all_results_but_the_outputs(build: Build) -> None:
    program = build(lambda a: pd.exp(pd.tanh(a)), T)
    tanh = program.main.body.block.first_op
    assert outputs_of([tanh]) == tuple(tanh.results)
    assert is_self_contained([tanh], tanh.results)
    assert not is_self_contained([tanh], [])


@settings(max_examples=60)
@given(data=st.data())
def test_convexity_is_what_paths_say(data: st.DataObject) -> None:
    """Against the definition, on random graphs: no path between members goes through an operation outside."""
    count = data.draw(st.integers(2, 9))
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType([T], [T]))
    ops: list[Operation] = []
    with Builder.at_end(main.body.block):
        values: list[Value] = list(main.body.block.args)
        for _ in range(count):
            ops.append(pd.add(data.draw(st.sampled_from(values)), data.draw(st.sampled_from(values))))
            values.append(ops[-1].result)
        func.ReturnOp([values[-1]])
    members = set(data.draw(st.lists(st.sampled_from(ops), min_size=1, unique=True)))

    below: dict[Operation, set[Operation]] = {}
    for op in reversed(ops):
        users = {user for user in op.result.users if user in ops}
        below[op] = users.union(*(below[user] for user in users))
    outside = [op for op in ops if op not in members]
    back = any(
        any(out in below[first] for first in members) and any(second in below[out] for second in members)
        for out in outside
    )
    assert is_convex(members) == (not back)
    assert set(outputs_of(members)) == {
        op.result for op in members if any(user not in members for user in op.result.users)
    }
    assert set(inputs_of(list(members))) == {v for op in members for v in op.operands if v.defining_op not in members}
