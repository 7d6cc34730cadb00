"""Passes with one subtle mistake each, on which the fuzzer is measured: what it is about, and what is wrong.

Each is what a careful author might hand in. None is an example of `known_miscompilations`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import attrs

from tx8ir.core import Program, RankedTensor, Value, VTensorType, f32
from tx8ir.dialects import builtin, pd, scf
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import rewrite_greedily
from tx8ir.rewriting.declarative import Attr, Make, Node, Number, Rule, Var
from tx8ir.rewriting.declarative.constraints import equals, is_float, near

FAULTY: dict[str, Any] = {}
"""The passes, by what is wrong with them."""


def faulty(function: Callable[[Program], None]) -> Callable[[Program], None]:
    FAULTY[function.__name__] = function
    return function


def operations(program: Program, *kinds: type[Any]) -> list[Any]:
    return [op for op in program.module.walk() if isinstance(op, kinds)]


def is_value(value: Value) -> bool:
    return isinstance(value.type, VTensorType)


# --- functions -------------------------------------------------------------------------------------------------------


@faulty
def sum_of_sum_forgets_keepdim(program: Program) -> None:
    """sum(sum(x, a), b) -> sum(x, a + b), b taken for an axis of x although the inner sum has dropped a."""
    for op in operations(program, pd.SumOp):
        inner = op.x.defining_op
        if (
            isinstance(inner, pd.SumOp)
            and inner.axis
            and op.axis
            and is_value(op.out)
            and not set(inner.axis) & set(op.axis)
        ):
            made = pd.sum(inner.x, axis=(*inner.axis, *op.axis), keepdim=op.keepdim)
            if made.out.type is op.out.type:
                op.parent.insert_before(made, op)
                op.replace_with(made.out)


@faulty
def average_of_padding(program: Program) -> None:
    """An average pool without padding may count padding or not; ceil_mode makes padding, too."""
    for op in operations(program, pd.Pool2dOp):
        if op.pooling_type == "avg" and not op.exclusive and not any(op.paddings):
            op.exclusive = True


@faulty
def stride_moved_into_max_pool(program: Program) -> None:
    """relu(max_pool(x)) -> max_pool(relu(x)), but for average pools too."""
    for op in operations(program, pd.ReluOp):
        pool = op.x.defining_op
        if isinstance(pool, pd.Pool2dOp) and pool.out.has_one_use and is_value(op.out):
            inner = pd.relu(pool.x)
            pool.parent.insert_before(inner, pool)
            pool.set_operand(0, inner.out)
            op.replace_with(pool.out)


@faulty
def negative_axis_is_the_last(program: Program) -> None:
    """Softmax over axis -1 of two axes is over axis 1; of any other number it is not."""
    for op in operations(program, pd.SoftmaxOp):
        if op.axis < 0:
            op.axis = 1 if op.x.type.rank > 1 else 0


@faulty
def clamp_bounds_exchanged(program: Program) -> None:
    """minimum(maximum(x, a), b) -> maximum(minimum(x, b), a): the same only where a <= b."""
    for op in operations(program, pd.MinimumOp):
        inner = op.x.defining_op
        if isinstance(inner, pd.MaximumOp) and is_value(op.out) and inner.out.type is op.out.type:
            low = pd.minimum(inner.x, op.y)
            high = pd.maximum(low, inner.y)
            if high.out.type is op.out.type:
                op.parent.insert_before(low, op)
                op.parent.insert_before(high, op)
                op.replace_with(high.out)


@faulty
def cast_there_and_back(program: Program) -> None:
    """cast(cast(x)) of the old type is x: not after a narrower one."""
    for op in operations(program, pd.CastOp):
        inner = op.x.defining_op
        if isinstance(inner, pd.CastOp) and inner.x.type is op.out.type and inner.x.type.element is not f32:
            op.replace_with(inner.x)


@faulty
def zero_times_anything(program: Program) -> None:
    """X * 0 -> 0, NaN and infinity forgotten."""
    for op in operations(program, pd.MultiplyOp):
        zero = op.y.defining_op
        if isinstance(zero, pd.FullOp) and zero.value == 0.0 and op.y.type is op.out.type and is_value(op.out):
            op.replace_with(op.y)


@faulty
def read_before_the_write(program: Program) -> None:
    """x.to_vtensor() twice is the same value, although x was written between."""
    seen: dict[Value, Value] = {}
    for op in operations(program, builtin.ToVTensorOp):
        if op.parent_op is program.main:
            if op.x in seen:
                op.replace_with(seen[op.x])
            else:
                seen[op.x] = op.out


@faulty
def yields_of_an_empty_branch(program: Program) -> None:
    """An `scf.if` both of whose sides only yield becomes a `where`, the sides exchanged."""
    for op in operations(program, scf.IfOp):
        sides = [list(region.block) for region in op.regions if len(region)]
        if len(sides) == 2 and all(len(side) == 1 for side in sides) and len(op.results) == 1:
            a, b = (side[0].operands[0] for side in sides)
            if is_value(a) and a.type is b.type and op.operands[0].type is not None:
                made = pd.where(op.operands[0], b, a)
                if made.out.type is op.results[0].type:
                    op.parent.insert_before(made, op)
                    op.replace_with(made.out)


@faulty
def loop_of_one_round_left_out(program: Program) -> None:
    """A loop that never runs gives its inits; whether it does is off by one."""
    for op in operations(program, scf.WhileOp):
        more = op.before.block.terminator.operands[0].defining_op
        if not isinstance(more, pd.LessThanOp) or more.x is not op.before.block.args[0]:
            continue
        start, end = op.operands[0].defining_op, more.y.defining_op
        if isinstance(start, pd.FullOp) and isinstance(end, pd.FullOp) and start.value + 1 >= end.value:
            for result, init in zip(op.results, op.operands, strict=True):
                result.replace_all_uses_with(init)


@faulty
def transpose_of_transpose_composed_the_wrong_way(program: Program) -> None:
    """transpose(transpose(x, p), q) -> transpose(x, q of p) instead of p of q: alike for two axes."""
    for op in operations(program, pd.TransposeOp):
        inner = op.x.defining_op
        if isinstance(inner, pd.TransposeOp) and is_value(op.out):
            made = pd.transpose(inner.x, perm=tuple(op.perm[p] for p in inner.perm))
            if made.out.type is op.out.type:
                op.parent.insert_before(made, op)
                op.replace_with(made.out)


@faulty
def bias_broadcast_over_the_wrong_axis(program: Program) -> None:
    """add(conv2d(x, w), b) with b [N] is taken for the bias of the channels, although it is along W."""
    for op in operations(program, pd.Conv2dOp):
        user = next(iter(op.out.users), None)
        if isinstance(user, pd.AddOp) and op.out.has_one_use and user.x is op.out and is_value(op.out):
            bias = user.y
            channels = op.out.type.shape[1]
            if isinstance(bias.type, RankedTensor) and bias.type.shape == (channels,) and user.out.type is op.out.type:
                made = pd.reshape(bias, shape=(1, channels, 1, 1))
                user.parent.insert_before(made, user)
                user.set_operand(1, made.out)


@faulty
def matmul_flags_swapped(program: Program) -> None:
    """transpose(matmul(x, y)) -> matmul(y, x) with the flags as they are, not inverted."""
    for op in operations(program, pd.TransposeOp):
        inner = op.x.defining_op
        if isinstance(inner, pd.MatmulOp) and tuple(op.perm) == (1, 0) and is_value(op.out):
            try:
                made = pd.matmul(inner.y, inner.x, transpose_x=inner.transpose_x, transpose_y=inner.transpose_y)
            except Exception:
                continue
            if made.out.type is op.out.type:
                op.parent.insert_before(made, op)
                op.replace_with(made.out)


@faulty
def named_by_address(program: Program) -> None:
    """Adds a variable that is named after an address."""
    for op in operations(program, builtin.ConstantOp):
        if op.out.has_uses and is_value(op.out):
            name = f"constant_{id(op)}"
            program.weights.add(name, op.value.value)
            made = builtin.get_parameter(parameter=name, out=op.out.type)
            op.parent.insert_before(made, op)
            op.replace_with(made.out)


@faulty
def does_not_end(program: Program) -> None:
    """Looks for the first operation that nothing uses, and waits for a use."""
    for op in operations(program, pd.FloorOp):
        at = op
        while isinstance(at, pd.FloorOp):
            user = next(iter(at.out.users), None)
            at = user if user is not None else at


# --- passes with rules -----------------------------------------------------------------------------------------------

_x, _y, _f = Var("x"), Var("y"), Var("x", is_float)


def _rules(name: str, *rules: Rule) -> None:
    def run(program: Program) -> None:
        rewrite_greedily(program.module, rules)

    run.__name__ = name
    FAULTY[name] = run


_rules(
    "half_of_a_sum", Rule("half", Node(pd.DivideOp, _f, Number("c", equals(3.0))), _third := None)
) if False else None
_rules(
    "abs_of_square_root",
    Rule("sqrt-square", Node(pd.SqrtOp, Node(pd.SquareOp, _f)), _f, where=()),
)
_rules(
    "exp_of_difference",
    Rule(
        "divide-exp",
        Node(pd.DivideOp, Node(pd.ExpOp, _x), Node(pd.ExpOp, _y)),
        Make(pd.ExpOp, Make(pd.SubtractOp, _x, _y)),
    ),
)
_rules(
    "scale_of_scale_forgets_the_order_of_the_bias",
    Rule(
        "scale-scale",
        Node(
            pd.ScaleOp,
            Node(pd.ScaleOp, _x, attributes={"scale": Attr("s"), "bias": equals(0.0)}),
            attributes={"scale": Attr("t"), "bias": Attr("b")},
        ),
        Make(pd.ScaleOp, _x, scale=lambda m: m.attributes["s"] * m.attributes["t"], bias=Attr("b")),
    ),
)
_rules(
    "twice_a_value_of_any_constant",
    Rule("double", Node(pd.MultiplyOp, _x, Number("c", near(2.0, 0.6))), Make(pd.AddOp, _x, _x)),
)
_rules(
    "minimum_of_maximum_absorbed",
    Rule("absorb", Node(pd.MinimumOp, _x, Node(pd.MaximumOp, _x, _y)), _x),
)
_rules(
    "leaky_relu_of_leaky_relu",
    Rule(
        "leaky-leaky",
        Node(
            pd.LeakyReluOp,
            Node(pd.LeakyReluOp, _x, attributes={"negative_slope": Attr("a")}),
            attributes={"negative_slope": Attr("b")},
        ),
        Make(pd.LeakyReluOp, _x, negative_slope=lambda m: m.attributes["a"] * m.attributes["b"]),
    ),
)
_rules(
    "flattened_softmax",
    Rule(
        "softmax-reshape",
        Node(pd.SoftmaxOp, Node(pd.ReshapeOp, _x), attributes={"axis": equals(-1)}),
        lambda m, rewriter: (
            None
            if m["x"].type.rank < 2
            else pd.reshape(rewriter.insert(pd.softmax(m["x"], axis=-1)).out, shape=m.root.results[0].type.shape)
        ),
    ),
)


@attrs.frozen
class FoldsMutableVariables(Pass):
    """x + w - w -> x, where w is read twice."""

    name: ClassVar[str] = "folds-mutable-variables"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.SubtractOp):
            inner = op.x.defining_op
            if isinstance(inner, pd.AddOp) and inner.x.type is op.out.type and is_value(op.out):
                a, b = inner.y.defining_op, op.y.defining_op
                reads = isinstance(a, builtin.GetParameterOp) and isinstance(b, builtin.GetParameterOp)
                if reads and a.parameter == b.parameter:
                    op.replace_with(inner.x)


FAULTY["cancels_across_a_write"] = FoldsMutableVariables()


@attrs.frozen
class MovesCastsOut(Pass):
    """relu(cast(x)) -> cast(relu(x)), also where the cast is to a type without a sign."""

    name: ClassVar[str] = "moves-casts-out"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.ReluOp):
            inner = op.x.defining_op
            if isinstance(inner, pd.CastOp) and is_value(op.out) and not inner.x.type.element.format.is_bool:
                first = pd.relu(inner.x)
                second = pd.cast(first, dtype=op.out.type.element)
                op.parent.insert_before(first, op)
                op.parent.insert_before(second, op)
                op.replace_with(second.out)


FAULTY["casts_change_signs"] = MovesCastsOut()
