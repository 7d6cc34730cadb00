"""Rules with alternatives (`OneOf`): what they match, what the match has, and why they do not match."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.core import Operation, Program, Value, VTensorType, f32
from tx8ir.dialects import pd
from tx8ir.rewriting import rewrite_greedily
from tx8ir.rewriting.declarative import Attr, Make, Match, Node, Number, OneOf, Rule, Var
from tx8ir.rewriting.declarative.constraints import constraint, near
from tx8ir.rewriting.declarative.explain import explain

T = VTensorType((2, 3), f32)
Build = Callable[..., Program]
x, y = Var("x"), Var("y")


def last(program: Program) -> Operation:
    found = program.main.body.block.terminator.prev_op
    assert found is not None
    return found


def full(value: float) -> Value:
    return pd.full(shape=(), value=value, dtype=f32).out


half_of_x = OneOf(
    Node(pd.MultiplyOp, x, Number("half", near(0.5))),
    Node(pd.DivideOp, x, Number("two", near(2.0))),
    Node(pd.ScaleOp, x, attributes={"scale": 0.5, "bias": 0.0}),
)
WAYS = [
    lambda a: pd.multiply(a, full(0.5)),
    lambda a: pd.multiply(full(0.5), a),
    lambda a: pd.divide(a, full(2.0)),
    lambda a: pd.scale(a, scale=0.5),
]


@pytest.mark.parametrize("way", WAYS)
def test_any_of_the_patterns_of_an_operand_may_fit(build: Build, names, way: Callable[[Value], Operation]) -> None:
    rule = Rule("half", Node(pd.ExpOp, half_of_x), Make(pd.TanhOp, x))
    program = build(lambda a: pd.exp(way(a)), T)
    assert rewrite_greedily(program.module, [rule]).rewrites == {"half": 1}
    assert names(program) == ["pd.tanh"]


@pytest.mark.parametrize("way", WAYS)
def test_any_of_several_roots_may_fit(build: Build, names, way: Callable[[Value], Operation]) -> None:
    rule = Rule("half", half_of_x, Make(pd.TanhOp, x))
    assert rule.roots == (pd.MultiplyOp, pd.DivideOp, pd.ScaleOp)
    program = build(way, T)
    found = rule.match(last(program))
    assert found is not None
    assert found.root is last(program)
    assert rewrite_greedily(program.module, [rule]).rewrites == {"half": 1}
    assert names(program) == ["pd.tanh"]


def test_a_match_has_what_the_alternative_that_fitted_has(build: Build) -> None:
    rule = Rule("half", half_of_x, Make(pd.TanhOp, x))
    found = rule.match(last(build(WAYS[2], T)))
    assert found is not None
    assert set(found.values) == {"x", "two"}
    assert found.constants == {"two": 2.0}
    assert len(found.ops) == 1
    assert rule.matched_operations(found) == (found.root,)


def test_attributes_of_alternatives_are_bound_or_missing(build: Build) -> None:
    scaled = OneOf(Node(pd.ScaleOp, x, attributes={"scale": Attr("k")}), Node(pd.TanhOp, x))
    rule = Rule("r", Node(pd.ExpOp, scaled), x)
    found = rule.match(last(build(lambda a: pd.exp(pd.scale(a, scale=3.0)), T)))
    assert found is not None
    assert found.attributes == {"k": 3.0}
    found = rule.match(last(build(lambda a: pd.exp(pd.tanh(a)), T)))
    assert found is not None
    assert found.attributes == {}


def test_an_attribute_that_every_alternative_has_can_be_used(build: Build, names) -> None:
    powers = OneOf(Node(pd.PowOp, x, attributes={"y": Attr("k")}), Node(pd.ScaleOp, x, attributes={"scale": Attr("k")}))
    same = Rule("r", Node(pd.AddOp, powers, Node(pd.LeakyReluOp, x, attributes={"negative_slope": Attr("k")})), x)
    assert same.match(last(build(lambda a: pd.add(pd.scale(a, scale=2.0), pd.leaky_relu(a, negative_slope=2.0)), T)))
    assert not same.match(last(build(lambda a: pd.add(pd.pow(a, y=2.0), pd.leaky_relu(a, negative_slope=3.0)), T)))
    made = Rule("r", Node(pd.ExpOp, powers), Make(pd.PowOp, x, y=Attr("k")))
    program = build(lambda a: pd.exp(pd.scale(a, scale=2.0)), T)
    rewrite_greedily(program.module, [made])
    assert last(program).attributes["y"].value == 2.0


def test_nodes_of_different_alternatives_may_have_one_name(build: Build) -> None:
    bent = OneOf(Node(pd.ExpOp, x, name="bent"), Node(pd.TanhOp, Node(pd.AbsOp, x), name="bent"))
    rule = Rule("r", Node(pd.ReluOp, bent), lambda found, rewriter: None)
    for body in (lambda a: pd.relu(pd.exp(a)), lambda a: pd.relu(pd.tanh(pd.abs(a)))):
        root = last(build(body, T))
        found = rule.match(root)
        assert found is not None
        assert found.ops["bent"] is root.operands[0].defining_op
    with pytest.raises(TypeError, match="uses the name 'bent' for two things"):
        Rule("r", Node(pd.AddOp, bent, Node(pd.LogOp, x, name="bent")), lambda found, rewriter: None)


def test_later_failures_lead_to_the_next_alternative(build: Build) -> None:
    """`x` is first taken from the wrong side; only the second alternative agrees with what comes after."""
    either = OneOf(Node(pd.SubtractOp, x, y), Node(pd.SubtractOp, y, x))
    rule = Rule("r", Node(pd.DivideOp, either, Node(pd.ExpOp, x)), x)
    program = build(lambda a, b: pd.divide(pd.subtract(a, b), pd.exp(b)), T, T)
    found = rule.match(last(program))
    assert found is not None
    assert found["x"] is program.main.body.block.args[1]


def test_a_name_bound_before_means_the_same_inside(build: Build) -> None:
    rule = Rule("r", Node(pd.DivideOp, x, OneOf(Node(pd.ExpOp, x), Node(pd.TanhOp, x))), x)
    assert rule.match(last(build(lambda a: pd.divide(a, pd.tanh(a)), T)))
    assert not rule.match(last(build(lambda a, b: pd.divide(a, pd.tanh(b)), T, T)))


def test_the_same_alternatives_in_two_places_are_the_same_operations(build: Build) -> None:
    shared = OneOf(Node(pd.ExpOp, x), Node(pd.TanhOp, x))
    rule = Rule("r", OneOf(Node(pd.DivideOp, shared, Node(pd.AbsOp, shared)), Node(pd.SubtractOp, shared, x)), x)

    def once(a: Value) -> Operation:
        t = pd.tanh(a)
        return pd.divide(t, pd.abs(t))

    assert rule.match(last(build(once, T)))
    twice = last(build(lambda a: pd.divide(pd.tanh(a), pd.abs(pd.tanh(a))), T))
    assert not rule.match(twice)
    assert any(m.expected == "the same value in both places" for m in explain(rule, twice).mismatches)
    assert rule.match(last(build(lambda a: pd.subtract(pd.exp(a), a), T)))


def test_a_value_and_what_it_was_made_from_are_kept_apart(build: Build) -> None:
    """The inner choice is the value of the outer one, or its operand; a third alternative sees the value again."""
    inner = OneOf(Node(pd.ExpOp, x), Node(pd.TanhOp, x))
    outer = OneOf(inner, Node(pd.AbsOp, inner), Node(pd.ReluOp, inner), y, Node(pd.FloorOp, y))
    rule = Rule("r", OneOf(Node(pd.DivideOp, outer, Node(pd.LogOp, outer))), lambda found, rewriter: None)
    for wrap in (pd.assign, pd.abs, pd.relu, pd.floor):

        def body(a: Value, wrap=wrap) -> Operation:
            once = wrap(pd.exp(a))
            return pd.divide(once, pd.log(once))

        root = last(build(body, T))
        assert rule.match(root)
        assert explain(rule, root).matched
    found = rule.match(root)
    assert found is not None
    assert found["y"] is root.operands[0]


def test_alternatives_nest(build: Build) -> None:
    cube = OneOf(
        Node(pd.PowOp, x, attributes={"y": 3.0}),
        Node(pd.MultiplyOp, x, OneOf(Node(pd.SquareOp, x), Node(pd.MultiplyOp, x, x))),
    )
    rule = Rule("cube", Node(pd.ExpOp, cube), x)
    for body in (
        lambda a: pd.pow(a, y=3.0),
        lambda a: pd.multiply(pd.square(a), a),
        lambda a: pd.multiply(a, pd.multiply(a, a)),
    ):
        assert rule.match(last(build(lambda a, body=body: pd.exp(body(a)), T)))
    assert not rule.match(last(build(lambda a, b: pd.exp(pd.multiply(b, pd.multiply(a, a))), T, T)))


def test_constraints_on_the_match_see_what_was_bound(build: Build) -> None:
    @constraint("a division")
    def divides(found: Match) -> bool:
        return "two" in found.constants

    rule = Rule("half", half_of_x, Make(pd.TanhOp, x), where=[divides])
    assert rule.match(last(build(WAYS[2], T)))
    assert not rule.match(last(build(WAYS[0], T)))
    assert "expected a division" in str(explain(rule, last(build(WAYS[0], T))))


def test_the_failure_of_the_alternative_that_got_furthest_is_explained(build: Build) -> None:
    rule = Rule("half", Node(pd.ExpOp, half_of_x), Make(pd.TanhOp, x))
    failure = explain(rule, last(build(lambda a: pd.exp(pd.divide(a, full(3.0))), T))).failure
    assert failure is not None
    assert (failure.path, failure.constraint) == ((0, 1), "'two'")
    assert (failure.expected, failure.found) == ("2.0 within 1e-06", "3.0")
    assert explain(rule, last(build(lambda a: pd.exp(pd.scale(a, scale=0.5)), T))).matched


def test_every_failure_of_every_alternative_is_there(build: Build) -> None:
    rule = Rule("half", half_of_x, Make(pd.TanhOp, x))
    found = explain(rule, last(build(lambda a: pd.scale(a, scale=3.0), T)))
    assert [m.expected for m in found.mismatches] == ["0.5", "pd.multiply", "pd.divide"]


FACTORS = st.permutations([0, 1, 2])


@given(order=FACTORS, left=st.booleans(), swap=st.tuples(st.booleans(), st.booleans()))
def test_a_product_of_three_in_any_association(build: Build, order: list[int], left: bool, swap) -> None:
    """As a pattern library writes associativity: one alternative for each tree."""
    factors = (x, Node(pd.ExpOp, x), Node(pd.TanhOp, x))
    trees = [
        Node(pd.MultiplyOp, factors[i], Node(pd.MultiplyOp, *(f for j, f in enumerate(factors) if j != i)))
        for i in range(3)
    ]
    rule = Rule("product", OneOf(*trees), x)

    def body(a: Value) -> Operation:
        leaves = [a, pd.exp(a).out, pd.tanh(a).out]
        one, two, three = (leaves[i] for i in order)
        inner = pd.multiply(*((one, two) if swap[0] else (two, one))).out
        return pd.multiply(*((inner, three) if swap[1] else (three, inner)))

    assert rule.match(last(build(body, T)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (OneOf, "needs patterns to choose from"),
        (lambda: Rule("r", OneOf(Node(pd.ExpOp, x), y), x), "each root of rule 'r' is a Node"),
        (lambda: Rule("r", OneOf(Node(pd.ExpOp, x), Node(pd.AbsOp, y)), x), "'x' on its right side, which only some"),
        (
            lambda: Rule("r", Node(pd.AddOp, OneOf(Node(pd.ExpOp, x), Node(pd.AbsOp, y)), x), y),
            "uses 'x' again, which only some alternatives have",
        ),
        (lambda: Rule("r", Node(pd.AbsOp, half_of_x), half_of_x), "which is not one value"),
    ],
)
def test_choices_that_cannot_be_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


def test_every_combination_of_alternatives_is_tried(build: Build) -> None:
    rule = Rule("r", Node(pd.ExpOp, OneOf(Node(pd.TanhOp, half_of_x), Node(pd.AbsOp, half_of_x))), x)
    for way, outer in itertools.product(WAYS, (pd.tanh, pd.abs)):
        assert rule.match(last(build(lambda a, way=way, outer=outer: pd.exp(outer(way(a))), T)))
