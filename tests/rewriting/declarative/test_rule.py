"""Declarative patterns: what they match, what they make, why they do not match, and what provenance says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tx8ir.core import (
    Commutative,
    IrError,
    Operation,
    Program,
    Value,
    VTensorType,
    f32,
    parse,
    print_op,
    structurally_equal,
)
from tx8ir.core.location import NamedLocation
from tx8ir.dialects import builtin, pd
from tx8ir.rewriting import Rewriter, pattern, rewrite_greedily
from tx8ir.rewriting.declarative import Attr, Constant, Make, Match, Node, Number, Rule, Var
from tx8ir.rewriting.declarative.constraints import (
    Constraint,
    constraint,
    element,
    equals,
    has_type,
    is_float,
    is_static,
    is_vtensor,
    near,
    one_of,
    one_use,
    rank,
)
from tx8ir.rewriting.declarative.explain import explain
from tx8ir.rewriting.provenance import RewriteStep, provenance
from tx8ir.transforms import canonicalization_patterns

T = VTensorType((2, 3), f32)
x, y, z = Var("x"), Var("y"), Var("z")

Build = Callable[..., Program]


def last(program: Program) -> Operation:
    """The operation before the return."""
    found = program.main.body.block.terminator.prev_op
    assert found is not None
    return found


def full(value: float) -> Operation:
    return pd.full(shape=(2, 3), value=value, dtype=f32)


# --- matching


def test_a_chain_is_replaced_by_a_value_of_the_match(build: Build, names: Callable[[Program], list[str]]) -> None:
    rule = Rule("twice", Node(pd.ReluOp, Node(pd.ReluOp, x)), Make(pd.ReluOp, x))
    program = build(lambda a: pd.relu(pd.relu(pd.exp(a))), T)
    assert rewrite_greedily(program.module, [rule]).rewrites == {"twice": 1}
    assert names(program) == ["pd.exp", "pd.relu"]


def test_a_name_used_twice_is_the_same_value(build: Build) -> None:
    rule = Rule("double", Node(pd.AddOp, x, x), Make(pd.ScaleOp, x, scale=2.0))
    assert rule.match(last(build(lambda a: pd.add(a, a), T))) is not None
    assert rule.match(last(build(pd.add, T, T))) is None


def test_a_node_used_twice_is_one_operation(build: Build) -> None:
    shared = Node(pd.ExpOp, x)
    rule = Rule("square", Node(pd.MultiplyOp, shared, shared), Make(pd.ExpOp, Make(pd.AddOp, x, x)))

    def once(a: Value) -> Operation:
        e = pd.exp(a)
        return pd.multiply(e, e)

    assert rule.match(last(build(once, T))) is not None
    assert rule.match(last(build(lambda a: pd.multiply(pd.exp(a), pd.exp(a)), T))) is None


@pytest.mark.parametrize("swap_outer", [False, True])
@pytest.mark.parametrize("swap_inner", [False, True])
def test_commutative_operations_match_in_either_order(build: Build, swap_outer: bool, swap_inner: bool) -> None:
    rule = Rule("distribute", Node(pd.AddOp, Node(pd.MultiplyOp, x, Number("two", equals(2.0))), x), x)

    def body(a: Value) -> Operation:
        pair = [a, full(2.0)]
        product = pd.multiply(*(pair[::-1] if swap_inner else pair))
        return pd.add(*([a, product] if swap_outer else [product, a]))

    found = rule.match(last(build(body, T)))
    assert found is not None
    assert found.constants == {"two": 2.0}
    assert found["x"].type is T


def test_every_combination_of_orders_is_tried(build: Build) -> None:
    """The first order that fits the outer operation is wrong for the inner one."""
    exp = Node(pd.ExpOp, x)
    rule = Rule("deep", Node(pd.AddOp, Node(pd.MultiplyOp, y, exp), Node(pd.MultiplyOp, z, Node(pd.TanhOp, y))), x)

    def body(a: Value, b: Value) -> Operation:
        return pd.add(pd.multiply(a, pd.tanh(b)), pd.multiply(b, pd.exp(a)))

    found = rule.match(last(build(body, T, T)))
    assert found is not None
    assert found["x"] is found["z"]


def test_operations_that_are_not_commutative_match_in_one_order(build: Build) -> None:
    body = lambda a: pd.subtract(a, full(2.0))  # noqa: E731
    assert Rule("r", Node(pd.SubtractOp, x, Number("c")), x).match(last(build(body, T)))
    assert not Rule("r", Node(pd.SubtractOp, Number("c"), x), x).match(last(build(body, T)))
    assert Rule("r", Node(pd.SubtractOp, Number("c"), x, commutative=True), x).match(last(build(body, T)))
    body = lambda a: pd.add(a, full(2.0))  # noqa: E731
    assert not Rule("r", Node(pd.AddOp, Number("c"), x, commutative=False), x).match(last(build(body, T)))


def test_attributes_are_compared_checked_and_remembered(build: Build) -> None:
    def transposes(first: tuple[int, ...], second: tuple[int, ...]) -> Operation:
        return last(
            build(lambda a: pd.transpose(pd.transpose(a, perm=first), perm=second), VTensorType((2, 3, 4), f32))
        )

    made = Make(pd.ExpOp, x)
    fixed = Rule("r", Node(pd.TransposeOp, x, attributes={"perm": (0, 2, 1)}), made)
    assert fixed.match(transposes((1, 0, 2), (0, 2, 1)))
    assert not fixed.match(transposes((0, 2, 1), (1, 0, 2)))
    moving = Constraint("moves the last axis", lambda perm: perm[-1] != len(perm) - 1)
    rule = Rule("r", Node(pd.TransposeOp, x, attributes={"perm": Attr("p", moving)}), made)
    found = rule.match(transposes((0, 2, 1), (0, 2, 1)))
    assert found is not None
    assert found.attributes == {"p": (0, 2, 1)}
    assert not rule.match(transposes((0, 2, 1), (1, 0, 2)))
    same = Attr("p")
    both = Node(pd.TransposeOp, Node(pd.TransposeOp, x, attributes={"perm": same}), attributes={"perm": same})
    assert Rule("r", both, made).match(transposes((0, 2, 1), (0, 2, 1)))
    assert not Rule("r", both, made).match(transposes((1, 0, 2), (0, 2, 1)))


def test_leaves_have_constraints(build: Build) -> None:
    program = build(lambda a: pd.exp(a), T)
    for holds in (
        rank(2),
        element(f32),
        is_float,
        is_static,
        is_vtensor,
        one_use,
        has_type(T),
        ~rank(3),
        rank(3) | rank(2),
    ):
        assert Rule("r", Node(pd.ExpOp, Var("v", holds)), Make(pd.TanhOp, Var("v"))).match(last(program)), holds
    for fails in (rank(3), element(), ~is_float, rank(2) & ~is_static):
        assert not Rule("r", Node(pd.ExpOp, Var("v", fails)), Make(pd.TanhOp, Var("v"))).match(last(program)), fails


def test_numbers_and_constants(build: Build) -> None:
    def body(a: Value) -> Operation:
        return pd.multiply(a, builtin.constant(value=np.full((2, 3), 0.044715, np.float32)))

    op = last(build(body, T))
    assert Rule("r", Node(pd.MultiplyOp, x, Number("c", near(0.044715))), x).match(op)
    assert not Rule("r", Node(pd.MultiplyOp, x, Number("c", one_of(1.0, 2.0))), x).match(op)
    found = Rule("r", Node(pd.MultiplyOp, x, Constant("c")), x).match(op)
    assert found is not None
    assert found.constants["c"].value.shape == (2, 3)


def test_kinds_may_be_several_classes_or_a_trait(build: Build) -> None:
    either = Rule("r", Node((pd.ExpOp, pd.TanhOp), Node(Commutative, x, y, name="inner")), x)
    for outer, inner in ((pd.exp, pd.add), (pd.tanh, pd.multiply)):
        found = either.match(last(build(lambda a, b, o=outer, i=inner: o(i(a, b)), T, T)))
        assert found is not None
        assert found.ops["inner"].has_trait(Commutative)
    assert not either.match(last(build(lambda a, b: pd.exp(pd.subtract(a, b)), T, T)))


def test_further_operands_may_follow(build: Build) -> None:
    rule = Rule("r", Node(pd.AddOp, x, ...), x)
    assert rule.match(last(build(pd.add, T, T)))
    assert not Rule("r", Node(pd.AddOp, x), x).match(last(build(pd.add, T, T)))


def test_a_node_may_be_one_of_several_results(build: Build) -> None:
    split = Node(builtin.SplitOp, x)
    program = build(lambda a, b: pd.exp(builtin.SplitOp(builtin.CombineOp([a, b])).results[1]), T, T)
    assert Rule("r", Node(pd.ExpOp, split[1]), Make(pd.TanhOp, split[0])).match(last(program))
    assert not Rule("r", Node(pd.ExpOp, split[0]), Make(pd.TanhOp, split[0])).match(last(program))
    assert not Rule("r", Node(pd.ExpOp, split), Make(pd.TanhOp, split[0])).match(last(program))


def test_a_root_with_several_results_is_replaced_by_as_many(build: Build) -> None:
    rule = Rule("r", Node(builtin.SplitOp, Node(builtin.CombineOp, x, y)), [y, Make(pd.ExpOp, x)])
    program = build(lambda a, b: builtin.SplitOp(builtin.CombineOp([pd.tanh(a), pd.sin(b)])).results, T, T)
    assert rewrite_greedily(program.module, [rule], fold=False).rewrites == {"r": 1}
    program.verify()
    first, second = program.main.body.block.terminator.operands
    assert (first.defining_op.name, second.defining_op.name) == ("pd.sin", "pd.exp")


# --- replacing


def test_a_made_operation_used_twice_is_made_once(build: Build, names: Callable[[Program], list[str]]) -> None:
    once = Make(pd.ExpOp, x)
    rule = Rule("r", Node(pd.TanhOp, x), Make(pd.AddOp, once, once))
    program = build(pd.tanh, T)
    rewrite_greedily(program.module, [rule])
    assert names(program) == ["pd.exp", "pd.add"]


def test_attributes_of_what_is_made_come_from_the_match(build: Build) -> None:
    c = Number("c")
    rule = Rule("r", Node(pd.MultiplyOp, x, c), Make(pd.ScaleOp, x, scale=lambda m: m.constants["c"] * 10, bias=1.0))
    program = build(lambda a: pd.multiply(a, full(0.5)), T)
    rewrite_greedily(program.module, [rule])
    assert (last(program).scale, last(program).bias) == (5.0, 1.0)


def test_native_code_builds_or_declines(build: Build, names: Callable[[Program], list[str]]) -> None:
    def only_at_the_end(found: Match, rewriter: Rewriter) -> Operation | None:
        return pd.tanh(found["x"]) if found.root.next_op.name == "func.return" else None

    rule = Rule("r", Node(pd.ExpOp, x), only_at_the_end)
    program = build(lambda a: pd.exp(pd.exp(a)), T)
    assert rewrite_greedily(program.module, [rule]).rewrites == {"r": 1}
    assert names(program) == ["pd.exp", "pd.tanh"]


def test_a_value_takes_the_place_of_a_result_of_its_own_type_only(build: Build) -> None:
    rule = Rule("drop", Node(pd.AddOp, x, Number("zero", equals(0.0))), x)
    small = VTensorType((3,), f32)
    op = last(build(lambda a: pd.add(a, full(0.0)), small))
    assert rule.match(op) is None
    assert "the replacement has the type of result 0" in str(rule.explain(op))


def test_higher_benefit_goes_first(build: Build, names: Callable[[Program], list[str]]) -> None:
    low = Rule("low", Node(pd.ExpOp, x), Make(pd.SinOp, x))
    high = Rule("high", Node(pd.ExpOp, x), Make(pd.TanhOp, x), benefit=2)
    program = build(pd.exp, T)
    rewrite_greedily(program.module, [low, high])
    assert names(program) == ["pd.tanh"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rule("r", Node(pd.ExpOp, x, attributes={"perm": 1}), x), "'perm', which pd.exp has not"),
        (lambda: Rule("r", Node(pd.ExpOp, x, name="x"), x), "uses the name 'x' for two things"),
        (lambda: Rule("r", Node(pd.ExpOp, x), y), "nothing named 'y' on its left side"),
        (lambda: Rule("r", Node(pd.ExpOp, x), Make(pd.ExpOp, Node(pd.ExpOp, x))), "that is not on its left"),
        (lambda: Rule("r", Node(pd.ExpOp, x), Make(pd.PowOp, x, y=Attr("p"))), "nothing named 'p'"),
        (lambda: Node(pd.ExpOp, "x"), "an operand pattern is a Var, Number, Constant, Node or OneOf"),
        (
            lambda: Rule("r", Node(pd.AddOp, Var("v", rank(1)), Var("v", rank(2))), x),
            "uses the name 'v' for two things",
        ),
    ],
)
def test_patterns_that_cannot_be_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


def test_a_pattern_may_not_have_more_swaps_than_python_can_nest() -> None:
    node: Node | Var = x
    for i in range(16):
        node = Node(pd.AddOp, node, Var(f"v{i}"))
    with pytest.raises(TypeError, match="more than 15"):
        Rule("r", node, x)  # type: ignore[arg-type]


# --- explanations


def why(rule: Rule, program: Program) -> tuple[str, tuple[int, ...], str, str, str]:
    failure = explain(rule, last(program)).failure
    assert failure is not None
    return failure.op.name, failure.path, failure.constraint, failure.expected, failure.found


GELU_LIKE = Rule(
    "gelu-like",
    Node(pd.MultiplyOp, x, Node(pd.TanhOp, Node(pd.ScaleOp, Var("inner", rank(2)), attributes={"scale": 2.0}))),
    Make(pd.GeluOp, x),
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (lambda a: pd.exp(a), ("pd.exp", (), "kind", "pd.multiply", "pd.exp")),
        (lambda a: pd.multiply(a, pd.exp(a)), ("pd.exp", (1,), "kind", "pd.tanh", "pd.exp")),
        (lambda a: pd.multiply(pd.tanh(a), a), ("pd.tanh", (0, 0), "kind", "pd.scale", "an argument")),
        (
            lambda a: pd.multiply(a, pd.tanh(pd.scale(a, scale=3.0))),
            ("pd.scale", (1, 0), "attribute 'scale'", "2.0", "3.0"),
        ),
    ],
)
def test_the_constraint_that_failed_is_named_with_its_place(build: Build, body, expected) -> None:
    assert why(GELU_LIKE, build(body, T)) == expected


def test_a_constraint_on_a_value_is_explained_by_its_name(build: Build) -> None:
    cube = VTensorType((2, 3, 4), f32)
    program = build(lambda a: pd.multiply(a, pd.tanh(pd.scale(a, scale=2.0))), cube)
    assert why(GELU_LIKE, program) == ("pd.scale", (1, 0, 0), "'inner'", "rank 2", str(cube))
    text = str(explain(GELU_LIKE, last(program)))
    assert "operand 0 of operand 0 of operand 1 of the root: 'inner': expected rank 2, found" in text
    assert "test_rule.py" in text


def test_other_conditions_are_explained_too(build: Build) -> None:
    @constraint("different operands")
    def different(found: Match) -> bool:
        return found["x"] is not found["y"]

    program = build(lambda a: pd.add(a, a), T)
    assert why(Rule("r", Node(pd.AddOp, x, y), x, where=[different]), program)[2:] == (
        "the match",
        "different operands",
        "it does not hold",
    )
    assert why(Rule("r", Node(pd.AddOp, x), x), program)[2:] == ("operands", "1", "2")
    assert why(Rule("r", Node(pd.AddOp, x, Number("c")), x), program)[2:] == (
        "'c'",
        "a constant whose elements are one number",
        f"an argument: {T}",
    )
    named = Constraint("the last one", lambda op: op.next_op is None)
    assert why(Rule("r", Node(pd.AddOp, x, y, where=[named]), x), program)[2:] == (
        "operation",
        "the last one",
        "pd.add",
    )


def test_an_explanation_of_a_match_has_no_mismatch(build: Build) -> None:
    program = build(lambda a: pd.multiply(a, pd.tanh(pd.scale(a, scale=2.0))), T)
    explanation = explain(GELU_LIKE, last(program))
    assert explanation.matched
    assert explanation.failure is None
    assert str(explanation) == "gelu-like matches pd.multiply"


@settings(max_examples=60)
@given(data=st.data())
def test_explaining_and_matching_agree(data: st.DataObject, build: Build) -> None:
    """On random expressions over a few operations, and a random rule."""
    unary, binary = [pd.ExpOp, pd.TanhOp], [pd.AddOp, pd.SubtractOp, pd.MultiplyOp]

    def expression(depth: int, leaf: Callable[[], object], make: Callable[..., object]) -> object:
        kind = data.draw(st.sampled_from([None, *unary, *binary] if depth else [None]))
        if kind is None:
            return leaf()
        return make(kind, *[expression(depth - 1, leaf, make) for _ in range(1 if kind in unary else 2)])

    def body(a: Value, b: Value) -> object:
        return pd.assign(expression(3, lambda: data.draw(st.sampled_from([a, b])), lambda k, *o: k(*o)))

    program = build(body, T, T)
    left = expression(3, lambda: Var(data.draw(st.sampled_from("xy"))), Node)
    rule = Rule("r", Node(pd.AssignOp, left), lambda found, rewriter: None)
    op = last(program)
    assert rule.explain(op).matched == (rule.match(op) is not None)


# --- explanations of imperative patterns


@pattern(pd.AddOp)
def add_of_exp(op: pd.AddOp, rewriter: Rewriter) -> bool:
    inner = op.x.defining_op
    if not isinstance(inner, pd.ExpOp):
        return False
    if inner.x is op.y:
        rewriter.replace(op, pd.tanh(op.y))
        return True
    return op.y.type.rank == 3


def test_an_imperative_pattern_is_explained_by_the_condition_that_stopped_it(build: Build) -> None:
    first = explain(add_of_exp, last(build(lambda a: pd.add(pd.sin(a), a), T))).failure
    assert first is not None
    assert first.expected == "not (not isinstance(inner, pd.ExpOp))"
    assert "inner = pd.sin" in first.found
    assert "test_rule.py:" in first.constraint
    second = explain(add_of_exp, last(build(lambda a, b: pd.add(pd.exp(a), b), T, T))).failure
    assert second is not None
    assert second.expected == "(op.y.type.rank == 3)"
    wrong_kind = explain(add_of_exp, last(build(pd.exp, T))).failure
    assert (wrong_kind.constraint, wrong_kind.expected, wrong_kind.found) == ("kind", "pd.add", "pd.exp")


def test_explaining_changes_nothing(build: Build) -> None:
    program = build(lambda a: pd.add(pd.exp(a), a), T)
    before = program.clone()
    assert explain(add_of_exp, last(program)).matched
    assert structurally_equal(before.module, program.module) is None


def test_every_canonicalization_pattern_can_be_explained(build: Build) -> None:
    program = build(lambda a: pd.add(pd.exp(a), a), T)
    for rule in canonicalization_patterns():
        explanation = explain(rule, last(program))
        assert explanation.matched or explanation.failure.expected


def test_a_detached_operation_cannot_be_explained_imperatively() -> None:
    with pytest.raises(IrError, match="is in no block"):
        explain(pattern(pd.FullOp)(lambda op, rewriter: False), full(1.0))


# --- provenance


def test_what_is_made_knows_the_pass_the_pattern_and_the_sources(build: Build) -> None:
    def body(a: Value) -> Operation:
        inner = pd.scale(a, scale=2.0)
        inner.location = NamedLocation("inner")
        middle = pd.tanh(inner)
        middle.location = NamedLocation("middle")
        outer = pd.multiply(a, middle)
        outer.location = NamedLocation("outer")
        return outer

    program = build(body, T)
    rewrite_greedily(program.module, [GELU_LIKE], by="fuse")
    made = provenance(last(program))
    assert made.steps == (RewriteStep("fuse", "gelu-like"),)
    assert [source.name for source in made.sources] == ["outer", "middle", "inner"]
    rewrite_greedily(program.module, [Rule("soften", Node(pd.GeluOp, x), Make(pd.TanhOp, x))], by="relax")
    again = provenance(last(program))
    assert again.steps == (RewriteStep("fuse", "gelu-like"), RewriteStep("relax", "soften"))
    assert again.made_by == RewriteStep("relax", "soften")
    assert again.sources == made.sources
    assert str(again) == '"outer", "middle", "inner" -> fuse/gelu-like -> relax/soften'


def test_provenance_survives_the_text(build: Build) -> None:
    program = build(lambda a: pd.multiply(a, pd.tanh(pd.scale(a, scale=2.0))), T)
    rewrite_greedily(program.module, [GELU_LIKE], by="fuse")
    from_text = parse(print_op(program.module, locations=True))
    assert provenance(last(from_text)) == provenance(last(program))


def test_an_operation_that_no_pass_made_has_no_steps(build: Build) -> None:
    made = provenance(last(build(pd.exp, T)))
    assert made.steps == ()
    assert made.made_by is None
    assert len(made.sources) == 1


def test_the_history_grows_with_what_differs_only(build: Build) -> None:
    there = Rule("there", Node(pd.ExpOp, x), Make(pd.TanhOp, x))
    back = Rule("back", Node(pd.TanhOp, x), Make(pd.ExpOp, x))
    program = build(pd.exp, T)
    for _ in range(5):
        rewrite_greedily(program.module, [there])
        rewrite_greedily(program.module, [back])
    assert provenance(last(program)).steps == (
        RewriteStep("greedy-rewrite", "there"),
        RewriteStep("greedy-rewrite", "back"),
    )
