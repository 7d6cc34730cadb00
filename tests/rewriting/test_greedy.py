"""Patterns, the rewriter, the greedy driver: dispatch, order, folding, bounds, locations, and how much is looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from tx8ir.core import (
    Attribute,
    Builder,
    DenseAttr,
    Fold,
    FunctionType,
    FusedLocation,
    InferTypes,
    IrError,
    NamedLocation,
    Op,
    Operand,
    Operation,
    Program,
    Pure,
    Region,
    Result,
    StrAttr,
    TensorType,
    Type,
    Value,
    VTensorType,
    at_location,
    f16,
    f32,
    operand,
    region,
    result,
)
from tx8ir.dialects import builtin, func, pd
from tx8ir.rewriting import ConvergenceError, RewritePattern, Rewriter, pattern, rewrite_greedily
from tx8ir.rewriting.greedy import materialize_constant

T = VTensorType((2,), f32)
Names = Callable[[Program], list[str]]


@pattern(pd.ReluOp)
def relu_of_relu(op: pd.ReluOp, rewriter: Rewriter) -> bool:
    if not isinstance(op.x.defining_op, pd.ReluOp):
        return False
    rewriter.replace(op, op.x)
    return True


class PatternOf(RewritePattern[Operation]):
    """Records what it is asked about; changes nothing."""

    def __init__(self, *roots: type[Any], benefit: int = 1) -> None:
        self.roots = roots
        self.benefit = benefit
        self.seen: list[str] = []

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool:
        self.seen.append(op.name)
        return False


def test_a_pattern_is_asked_about_its_roots_only_classes_traits_and_interfaces(build) -> None:
    program = build(lambda x: pd.add(pd.relu(x), pd.tanh(pd.reshape(x, shape=(2,)))), T)
    for roots, expected in (
        ((pd.ReluOp, pd.TanhOp), ["pd.relu", "pd.tanh"]),
        ((pd.elementwise_unary.ElementwiseUnaryOp,), ["pd.relu", "pd.tanh"]),  # a base class
        ((pd.View,), ["pd.reshape"]),  # a trait
        ((InferTypes,), ["pd.relu", "pd.reshape", "pd.tanh", "pd.add"]),  # an interface
    ):
        asked = PatternOf(*roots)
        result = rewrite_greedily(program.module, [asked])
        assert asked.seen == expected  # in program order, once each: nothing changed
        assert not result.changed


def test_higher_benefits_are_tried_first_and_equal_ones_in_the_order_given(build) -> None:
    program = build(lambda x: pd.relu(x), T)
    order: list[str] = []

    def make(label: str, benefit: int) -> RewritePattern[Any]:
        @pattern(pd.ReluOp, benefit=benefit)
        def note(op: pd.ReluOp, rewriter: Rewriter) -> bool:
            order.append(label)
            return False

        return note

    rewrite_greedily(program.module, [make("a", 1), make("b", 5), make("c", 1)])
    assert order == ["b", "a", "c"]


def test_a_chain_collapses_and_the_rewrites_are_counted(build, names: Names) -> None:
    def chain(x: Value) -> Value:
        for _ in range(100):
            x = pd.relu(x).out
        return x

    program = build(chain, T)
    result = rewrite_greedily(program.module, [relu_of_relu])
    assert result.rewrites == {"relu_of_relu": 99}
    assert names(program) == ["pd.relu"]
    program.verify()


def test_what_nobody_uses_goes_unless_asked_to_stay(build, names: Names) -> None:
    def body(x: Value) -> Value:
        pd.tanh(pd.exp(x))
        return pd.relu(x).out

    program = build(body, T)
    assert rewrite_greedily(program.module, [], drop_dead=False).removed == 0
    assert rewrite_greedily(program.module, []).removed == 2
    assert names(program) == ["pd.relu"]


def test_the_driver_looks_at_what_a_change_concerns_and_at_nothing_else(build) -> None:
    """One rewrite in a program of n operations asks the patterns about O(1) operations again, not about n."""
    asked = 0

    @pattern(pd.ReluOp, pd.AddOp)
    def once(op: Operation, rewriter: Rewriter) -> bool:
        nonlocal asked
        asked += 1
        return relu_of_relu.match_and_rewrite(op, rewriter) if isinstance(op, pd.ReluOp) else False

    def body(x: Value) -> Value:
        y = x
        for i in range(400):
            y = pd.add(y, x).out if i != 200 else pd.relu(pd.relu(y)).out
        return y

    program = build(body, T)
    assert rewrite_greedily(program.module, [once]).rewrites == {"once": 1}
    assert asked <= 401 + 4


def test_a_modified_operation_and_its_users_are_looked_at_again(build) -> None:
    @pattern(pd.ScaleOp)
    def halve(op: pd.ScaleOp, rewriter: Rewriter) -> bool:
        if op.scale <= 1.0:
            return False
        rewriter.set_attribute(op, "scale", op.scale / 2)
        return True

    @pattern(pd.ReluOp)
    def drop_after_unit_scale(op: pd.ReluOp, rewriter: Rewriter) -> bool:
        inner = op.x.defining_op
        if not isinstance(inner, pd.ScaleOp) or inner.scale > 1.0:
            return False
        rewriter.replace(op, op.x)
        return True

    program = build(lambda x: pd.relu(pd.scale(x, scale=8.0)), T)
    # drop_after_unit_scale comes first for its root, and matches only after the operand was modified.
    result = rewrite_greedily(program.module, [drop_after_unit_scale, halve])
    assert result.rewrites == {"drop_after_unit_scale": 1, "halve": 3}


def test_users_of_a_replaced_value_are_looked_at_again(build, names: Names) -> None:
    @pattern(pd.TanhOp)
    def replace_operand(op: pd.TanhOp, rewriter: Rewriter) -> bool:
        inner = op.x.defining_op
        if not isinstance(inner, pd.ExpOp):
            return False
        rewriter.replace(inner, pd.ReluOp(inner.x))
        return True

    @pattern(pd.SinOp)
    def sin_of_relu(op: pd.SinOp, rewriter: Rewriter) -> bool:
        if not isinstance(op.x.defining_op, pd.ReluOp):
            return False
        rewriter.replace(op, pd.CosOp(op.x))
        return True

    def body(x: Value) -> list[Operation]:
        shared = pd.exp(x)
        return [pd.sin(shared), pd.tanh(shared)]  # sin is asked first, when its operand is still exp

    program = build(body, T)
    assert rewrite_greedily(program.module, [replace_operand, sin_of_relu]).rewrites == {
        "replace_operand": 1,
        "sin_of_relu": 1,
    }
    assert names(program) == ["pd.relu", "pd.cos", "pd.tanh"]


def test_what_lost_all_but_one_user_is_looked_at_again(build, names: Names) -> None:
    @pattern(pd.ReluOp)
    def relu_of_single_use(op: pd.ReluOp, rewriter: Rewriter) -> bool:
        if not isinstance(op.x.defining_op, pd.ExpOp) or not op.x.has_one_use:
            return False
        rewriter.replace(op, op.x)
        return True

    @pattern(pd.TanhOp)
    def drop_tanh(op: pd.TanhOp, rewriter: Rewriter) -> bool:
        rewriter.replace(op, op.x.defining_op.operands[0])
        return True

    def body(x: Value) -> list[Operation]:
        shared = pd.exp(x)
        return [pd.relu(shared), pd.tanh(shared)]

    program = build(body, T)
    rewrite_greedily(program.module, [relu_of_single_use, drop_tanh])
    assert names(program) == ["pd.exp"]


def test_patterns_that_undo_each_other_are_an_error_that_names_them(build) -> None:
    @pattern(pd.SinOp)
    def there(op: pd.SinOp, rewriter: Rewriter) -> bool:
        rewriter.replace(op, pd.CosOp(op.x))
        return True

    @pattern(pd.CosOp)
    def back(op: pd.CosOp, rewriter: Rewriter) -> bool:
        rewriter.replace(op, pd.SinOp(op.x))
        return True

    program = build(lambda x: pd.sin(x), T)
    message = r"did not converge within 10 rewrites; the last ones: back, there, back, there, back, there, back, there"
    with pytest.raises(ConvergenceError, match=message):
        rewrite_greedily(program.module, [there, back], max_rewrites=10)
    program.verify()
    with pytest.raises(ConvergenceError, match=r"did not converge within [0-9]+ rewrites"):
        rewrite_greedily(program.module, [there, back])  # there is a bound by default


def test_a_bound_that_is_reached_by_the_last_rewrite_is_no_error(build) -> None:
    program = build(lambda x: pd.relu(pd.relu(x)), T)
    assert rewrite_greedily(program.module, [relu_of_relu], max_rewrites=1).rewrites == {"relu_of_relu": 1}


def test_a_pattern_that_forgets_to_say_that_it_changed_something_is_an_error(build) -> None:
    @pattern(pd.ReluOp)
    def forgetful(op: pd.ReluOp, rewriter: Rewriter) -> bool:
        rewriter.replace(op, op.x)
        return False

    program = build(lambda x: pd.relu(x), T)
    with pytest.raises(IrError, match="a pattern changed the graph and did not return True; tried here: forgetful"):
        rewrite_greedily(program.module, [forgetful])


# --- replacing ------------------------------------------------------------------------------------------------------


def test_replacements_are_checked_before_anything_changes(build) -> None:
    program = build(lambda x, y: [pd.relu(x), y], T, VTensorType((3,), f32))
    relu = program.main.body.block.first_op
    x, y = program.main.body.block.args
    before = str(program)
    for values, message in (
        (y, r"result 0 of pd.relu has type !pd.vtensor<2xf32>, its replacement !pd.vtensor<3xf32>"),
        ([x, x], r"pd.relu has 1 results; it cannot be replaced with 2 values"),
        (relu.out, r"pd.relu cannot be replaced with its own result"),
    ):
        with pytest.raises(IrError, match=message):
            Rewriter(relu).replace(relu, values)
    with pytest.raises(IrError, match=r"pd.relu cannot be erased: its result 0 is used by func.return"):
        Rewriter(relu).erase(relu)
    assert str(program) == before


def test_detached_operations_among_the_replacements_are_inserted(build, names: Names) -> None:
    program = build(lambda x: list(pd.split(x, sections=(1, 1)).outs), T)
    split = program.main.body.block.first_op
    x = split.x
    rewriter = Rewriter(split)
    first = pd.SliceOp(x, axes=(0,), starts=(0,), ends=(1,))
    rewriter.replace(split, [first, pd.SliceOp(x, axes=(0,), starts=(1,), ends=(2,))])
    assert names(program) == ["pd.slice", "pd.slice"]
    program.verify()


def test_uses_can_be_redirected_one_by_one(build) -> None:
    program = build(lambda x: pd.add(pd.relu(x), pd.relu(x)), T)
    _, second, add, _ = program.main.body.block
    rewriter = Rewriter()
    assert rewriter.replace_uses(second.results[0], add.x, lambda use: use.index == 1) == 1
    assert add.y is add.x
    assert set(rewriter.worklist) == {add, second}  # the user, and what lost its last use


def test_a_rewriter_without_a_root_says_so(build) -> None:
    relu = build(lambda x: pd.relu(x), T).main.body.block.first_op
    with pytest.raises(IrError, match="no root"):
        Rewriter().insert(pd.ReluOp(relu.x))
    with pytest.raises(IrError, match=r"pd.relu is in no block"):
        Rewriter().insert_before(pd.ReluOp(relu.x), pd.ReluOp(relu.x))


def test_a_pattern_needs_a_root() -> None:
    with pytest.raises(TypeError, match="at least one root"):
        pattern()


# --- locations ------------------------------------------------------------------------------------------------------


def test_new_operations_take_the_location_of_what_they_replace(build) -> None:
    @pattern(pd.TanhOp)
    def to_sin(op: pd.TanhOp, rewriter: Rewriter) -> bool:
        rewriter.replace(op, pd.SinOp(op.x))
        return True

    @pattern(pd.AddOp)
    def add_of_exp(op: pd.AddOp, rewriter: Rewriter) -> bool:
        inner = op.x.defining_op
        if not isinstance(inner, pd.ExpOp):
            return False
        new = rewriter.insert(pd.MultiplyOp(inner.x, op.y))
        rewriter.replace(op, new)
        rewriter.erase(inner)
        return True

    def body(x: Value) -> list[Operation]:
        with at_location(NamedLocation("tanh")):
            tanh = pd.tanh(x)
        with at_location(NamedLocation("exp")):
            exp = pd.exp(x)
        with at_location(NamedLocation("add")):
            return [tanh, pd.add(exp, x)]

    program = build(body, T)
    rewrite_greedily(program.module, [to_sin, add_of_exp])
    sin, multiply, _ = program.main.body.block
    assert str(sin.location) == 'loc(fused<"greedy-rewrite/to_sin">["tanh"])'
    assert isinstance(multiply.location, FusedLocation)
    assert str(multiply.location) == 'loc(fused<"greedy-rewrite/add_of_exp">["add", "exp"])'


# --- folding --------------------------------------------------------------------------------------------------------


class NegateOp(Op, Fold, InferTypes, name="test_fold.negate", traits=(Pure,)):
    """-x, which folds constants and its own inverse."""

    x: Operand = operand()
    out: Result = result()

    mode: ClassVar[str] = "right"

    def infer_types(self) -> tuple[Type, ...]:
        return (self.x.type,)

    def fold(self, operands: Sequence[Attribute | None]) -> Value | Attribute | None:
        if self.mode == "own":
            return self.out
        if self.mode == "type":
            return builtin.ConstantOp(value=np.zeros(7, np.float32)).out
        (constant,) = operands
        if isinstance(constant, DenseAttr):
            return DenseAttr(-constant.value, constant.type)
        inner = self.x.defining_op
        return inner.x if isinstance(inner, NegateOp) else None


def test_folding_finds_values_and_makes_constants(build, names: Names) -> None:
    ones = DenseAttr(np.ones(2, np.float32), T)

    def body(x: Value) -> list[Any]:
        return [NegateOp(NegateOp(NegateOp(x))), NegateOp(NegateOp(builtin.ConstantOp(value=ones)))]

    program = build(body, T)
    result = rewrite_greedily(program.module, [])
    assert result.rewrites == {"fold": 3}
    # -(-(-x)) is -x; the constants in between are gone.
    assert names(program) == ["test_fold.negate", "builtin.constant"]
    assert program.main.body.block.terminator.operands[1].defining_op.value is ones
    assert not rewrite_greedily(program.module, []).changed


def test_folding_can_be_switched_off(build) -> None:
    program = build(lambda x: NegateOp(NegateOp(x)), T)
    assert not rewrite_greedily(program.module, [], fold=False).changed


def test_constants_are_made_for_values_of_the_same_type_only() -> None:
    ones = DenseAttr(np.ones(2, np.float32), T)
    made = materialize_constant(ones, T)
    assert made is not None
    assert made.results[0].type is T
    assert materialize_constant(ones, TensorType((2,), f32)) is None  # a tensor has storage of its own
    assert materialize_constant(ones, VTensorType((2,), f16)) is None
    assert materialize_constant(StrAttr("one"), T) is None


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("own", r"the fold of test_fold.negate gave its own result"),
        ("type", r"the fold of test_fold.negate gave a value of type !pd.vtensor<7xf32> for !pd.vtensor<2xf32>"),
    ],
)
def test_a_fold_that_breaks_the_rules_is_an_error(build, monkeypatch, mode: str, message: str) -> None:
    program = build(lambda x: NegateOp(x), T)
    monkeypatch.setattr(NegateOp, "mode", mode)
    with pytest.raises(IrError, match=message):
        rewrite_greedily(program.module, [])


# --- regions and depth ----------------------------------------------------------------------------------------------


class HolderOp(Op, name="test_fold.holder"):
    """Holds operations; has an effect, so it stays."""

    body: Region = region()


def test_operations_inside_regions_are_rewritten_at_any_depth() -> None:
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType((T,), (T,)))
    (x,) = main.body.block.args
    block = main.body.block
    for _ in range(5000):
        with Builder.at_end(block):
            block = HolderOp().body.block
    with Builder.at_end(block):
        y = pd.relu(pd.relu(x))
        HolderOp().body.block.append(func.ReturnOp.create([y.out]))
    with Builder.at_end(main.body.block):
        func.ReturnOp([x])
    result = rewrite_greedily(program.module, [relu_of_relu])
    assert result.rewrites == {"relu_of_relu": 1}
    assert sum(op.name == "pd.relu" for op in program.module.walk()) == 1
