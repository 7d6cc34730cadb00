"""Rules with several roots: what they find, in which order and place, and what they leave alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from support.steps import assert_linear
from tx8ir.core import Program, VTensorType, f32, i1
from tx8ir.dialects import builtin, pd, scf
from tx8ir.interpreter import evaluate
from tx8ir.rewriting import rewrite_greedily
from tx8ir.rewriting.declarative import Attr, Make, MultiMatch, MultiRootRule, Node, Var
from tx8ir.rewriting.declarative.constraints import Constraint
from tx8ir.rewriting.provenance import provenance

T, B = VTensorType((2, 3), f32), VTensorType((), i1)
x, y, z = Var("x"), Var("y"), Var("z")

Build = Callable[..., Program]
Names = Callable[[Program], list[str]]

TOTAL = Make(pd.AddOp, x, y)
SUM_AND_PRODUCT = MultiRootRule(
    "sum-and-product",
    [Node(pd.AddOp, x, y), Node(pd.MultiplyOp, x, y)],
    [Make(pd.TanhOp, TOTAL), Make(pd.SinOp, TOTAL)],
)
"""Not right; to see what is matched and where it goes."""


def rewritten(program: Program, *rules: MultiRootRule) -> dict[str, int]:
    result = rewrite_greedily(program.module, rules, fold=False)
    program.verify()
    return result.rewrites


# --- matching --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("product_first", [False, True])
def test_both_are_found_in_either_order_of_operands_and_operations(
    build: Build, names: Names, swapped: bool, product_first: bool
) -> None:
    def body(a: Any, b: Any) -> list[Any]:
        first, second = (pd.multiply, pd.add) if product_first else (pd.add, pd.multiply)
        return [first(a, b), second(b, a) if swapped else second(a, b)]

    program = build(body, T, T)
    assert rewritten(program, SUM_AND_PRODUCT) == {"sum-and-product": 1}
    assert sorted(names(program)) == ["pd.add", "pd.sin", "pd.tanh"]
    assert names(program)[0] == "pd.add"  # made once, for both


def test_what_is_not_shared_does_not_match(build: Build, names: Names) -> None:
    program = build(lambda a, b, c: [pd.add(a, b), pd.multiply(a, c)], T, T, T)
    assert rewritten(program, SUM_AND_PRODUCT) == {}
    assert names(program) == ["pd.add", "pd.multiply"]


def test_roots_are_different_operations(build: Build) -> None:
    twice = MultiRootRule("twice", [Node(pd.AddOp, x, y), Node(pd.AddOp, x, z)], [x, x])
    assert rewritten(build(lambda a, b: [pd.add(a, b)], T, T), twice) == {}
    assert rewritten(build(lambda a, b, c: [pd.add(a, b), pd.add(c, a)], T, T, T), twice) == {"twice": 1}


def test_a_root_is_found_through_the_operations_inside_its_pattern(build: Build, names: Names) -> None:
    """exp(-x) and exp(x): the first is 1 / the second."""
    power = Node(pd.ExpOp, x)
    rule = MultiRootRule(
        "reciprocal",
        [power, Node(pd.ExpOp, Node(pd.ScaleOp, x, attributes={"scale": -1.0, "bias": 0.0}))],
        [Make(pd.ExpOp, x), Make(pd.ReciprocalOp, Make(pd.ExpOp, x))],
    )
    program = build(lambda a: [pd.exp(pd.scale(a, scale=-1.0)), pd.exp(a)], T)
    found = [rule.match(op) for op in program.main.body.block]
    assert [m is not None for m in found] == [False, True, True, False]
    before = evaluate(program, {"arg0": np.float32([[0.5, 1, 2], [3, 4, 5]])})
    rule_once = MultiRootRule("once", rule.left, rule._sources, where=[_first_time()])
    assert rewritten(program, rule_once) == {"once": 1}
    after = evaluate(program, {"arg0": np.float32([[0.5, 1, 2], [3, 4, 5]])})
    for name, array in before.items():
        assert np.allclose(after[name], array, rtol=1e-6)


def _first_time() -> Constraint:
    left = [True]
    return Constraint("the first time", lambda _: left.pop() if left else False)


def test_a_node_in_two_roots_is_one_operation(build: Build) -> None:
    inner = Node(pd.ExpOp, x)
    rule = MultiRootRule("shared", [Node(pd.TanhOp, inner), Node(pd.SinOp, inner)], [inner, inner])
    assert rewritten(build(lambda a: [pd.tanh(pd.exp(a)), pd.sin(pd.exp(a))], T), rule) == {}

    def body(a: Any) -> list[Any]:
        e = pd.exp(a)
        return [pd.tanh(e), pd.sin(e)]

    assert rewritten(build(body, T), rule) == {"shared": 1}


def test_attributes_and_constraints_hold_for_all_roots(build: Build) -> None:
    def rule(**more: Any) -> MultiRootRule:
        roots = [Node(pd.ScaleOp, x, attributes={"scale": Attr("k")}), Node(pd.PowOp, x, attributes={"y": Attr("k")})]
        return MultiRootRule("same-number", roots, [x, x], **more)

    def program(k: float) -> Program:
        return build(lambda a: [pd.scale(a, scale=2.0), pd.pow(a, y=k)], T)

    assert rewritten(program(3.0), rule()) == {}
    assert rewritten(program(2.0), rule()) == {"same-number": 1}
    small = Constraint("small", lambda found: found.attributes["k"] < 2)
    assert rewritten(program(2.0), rule(where=[small])) == {}


def test_three_roots_and_a_function(build: Build, names: Names) -> None:
    seen: list[MultiMatch] = []

    def replace(found: MultiMatch, rewriter: Any) -> Any:
        seen.append(found)
        made = rewriter.insert_before(pd.relu(found.values["x"]), found.roots[0])
        return [made.out] * 3

    roots = [Node(pd.TanhOp, x), Node(pd.SinOp, x), Node(pd.AddOp, x, y, name="sum")]
    rule = MultiRootRule("three", roots, replace)
    program = build(lambda a, b: [pd.tanh(a), pd.sin(a), pd.add(b, a)], T, T)
    assert rewritten(program, rule) == {"three": 1}
    assert names(program) == ["pd.relu"]
    assert set(seen[0].ops) == {"sum"}
    assert set(seen[0].values) == {"x", "y"}


# --- where it goes ---------------------------------------------------------------------------------------------------


def test_before_the_last_root_where_an_operand_is_defined_late(build: Build, names: Names) -> None:
    rule = MultiRootRule(
        "late", [Node(pd.TanhOp, x), Node(pd.AddOp, x, y)], [Make(pd.SubtractOp, x, y), Make(pd.MultiplyOp, x, y)]
    )

    def late(a: Any, b: Any) -> list[Any]:
        first = pd.tanh(a)
        return [first, pd.add(a, pd.exp(b))]

    program = build(late, T, T)
    assert rewritten(program, rule) == {"late": 1}
    assert names(program) == ["pd.exp", "pd.subtract", "pd.multiply"]

    def used_before(a: Any, b: Any) -> list[Any]:
        first = pd.tanh(a)
        return [pd.add(a, pd.exp(first))]

    assert rewritten(build(used_before, T, T), rule) == {}


def test_not_over_the_border_of_a_block_nor_of_what_may_be_written(build: Build) -> None:
    def inside(a: Any, b: Any, c: Any) -> list[Any]:
        total = pd.add(a, b)
        return [total, scf.IfOp.build(c, lambda: [pd.multiply(a, b)], lambda: [a]).outputs[0]]

    assert rewritten(build(inside, T, T, B), SUM_AND_PRODUCT) == {}

    def written(a: Any, b: Any) -> list[Any]:
        t = builtin.to_tensor(a)
        return [pd.add(t, b), pd.multiply(t, b)]

    assert rewritten(build(written, T, T), SUM_AND_PRODUCT) == {}


def test_new_operations_know_all_roots(build: Build) -> None:
    program = build(lambda a, b: [pd.add(a, b), pd.multiply(a, b)], T, T)
    first, second = list(program.main.body.block)[:2]
    places = {first.location, second.location}
    rewritten(program, SUM_AND_PRODUCT)
    for op in list(program.main.body.block)[:3]:
        assert set(provenance(op).sources) == places


# --- rules that cannot be --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("roots", "replace", "message"),
    [
        ([Node(pd.AddOp, x, y)], [x], "has 1 roots; Rule is for one"),
        ([Node(pd.TanhOp, x), Node(pd.SinOp, y)], [x, y], "has a root that shares no value with the others"),
        ([Node(pd.TanhOp, x), Node(pd.SinOp, x)], [x], "has 2 roots and 1 replacements"),
        ([Node(pd.TanhOp, x), Node(pd.SinOp, x)], [x, z], "has nothing named 'z' on its left side"),
    ],
)
def test_a_rule_that_can_never_match_is_refused(roots: Any, replace: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        MultiRootRule("wrong", roots, replace)


# --- cost ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_value_that_many_use_costs_as_much_for_each(build: Build) -> None:
    def prepare(count: int) -> Callable[[], object]:
        program = build(lambda a, b: [pd.add(a, b), *(pd.multiply(a, pd.exp(b)) for _ in range(count))], T, T)
        return lambda: rewrite_greedily(program.module, [SUM_AND_PRODUCT], fold=False)

    assert_linear(prepare, 150)
