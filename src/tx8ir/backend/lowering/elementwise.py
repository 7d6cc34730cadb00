"""Lowering of elementwise ops: unary functions, arithmetic, comparisons and logic on value masks, select, cast."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tx8ir.backend.lowering import integers
from tx8ir.backend.lowering.composite import lower_as
from tx8ir.backend.lowering.context import NO_LOWERING, Lowering, LoweringError, lowers, ranked_type
from tx8ir.core import Builder, ScalarType, Value, f32, i1
from tx8ir.dialects import pd, tx8be
from tx8ir.dialects.tx8be import BinaryOp

#: `op(a, b)` equals `SWAPPED[op](b, a)`.
SWAPPED: dict[type[BinaryOp], type[BinaryOp]] = {
    tx8be.AddOp: tx8be.AddOp,
    tx8be.MulOp: tx8be.MulOp,
    tx8be.MaxOp: tx8be.MaxOp,
    tx8be.MinOp: tx8be.MinOp,
    tx8be.EqOp: tx8be.EqOp,
    tx8be.NeOp: tx8be.NeOp,
    tx8be.GeOp: tx8be.LeOp,
    tx8be.LeOp: tx8be.GeOp,
    tx8be.GtOp: tx8be.LtOp,
    tx8be.LtOp: tx8be.GtOp,
}
MAX_EXPONENT = 64


# -- unary ------------------------------------------------------------------------------------------------------------


@lowers(pd.ElementwiseUnaryOp)
def lower_unary(ctx: Lowering, op: pd.ElementwiseUnaryOp) -> Sequence[Value]:
    """The vector function that the class names."""
    return [tx8be.unary_of(vector_function(op))(ctx.get(op.x)).y]


def vector_function(op: pd.ElementwiseUnaryOp | pd.ElementwiseBinaryOp | pd.ComparisonOp) -> str:
    """The vector function that computes an op. Raises `LoweringError` when it names none."""
    if op.vector_function is None:
        raise LoweringError(NO_LOWERING)
    return op.vector_function


@lowers(pd.LeakyReluOp)
def lower_leaky_relu(ctx: Lowering, op: pd.LeakyReluOp) -> Sequence[Value]:
    return [tx8be.LeakyReluOp(ctx.get(op.x), alpha=op.negative_slope).y]


@lowers(pd.SoftplusOp)
def lower_softplus(ctx: Lowering, op: pd.SoftplusOp) -> Sequence[Value]:
    if op.threshold < 20:
        # beyond 20 the linear branch equals the function to 2e-9; a lower threshold changes values
        raise LoweringError(f"threshold is {op.threshold}; the TX8's softplus has none, so at least 20 is expected")
    if op.beta == 0 or not math.isfinite(op.beta):
        raise LoweringError(f"beta is {op.beta}; expected a finite number other than 0")
    x = ctx.get(op.x)
    if op.beta == 1.0:
        return [tx8be.SoftplusOp(x).y]
    return [with_scalar(ctx, tx8be.MulOp, tx8be.SoftplusOp(with_scalar(ctx, tx8be.MulOp, x, op.beta)).y, 1 / op.beta)]


@lowers(pd.PowOp)
def lower_pow(ctx: Lowering, op: pd.PowOp) -> Sequence[Value]:
    return [power(ctx, ctx.get(op.x), op.y)]


@lowers(pd.ElementwisePowOp)
def lower_elementwise_pow(ctx: Lowering, op: pd.ElementwisePowOp) -> Sequence[Value]:
    exponent = ctx.splat(op.y)
    if exponent is None:
        raise LoweringError("the exponent is not one number known at compile time")
    return [power(ctx, ctx.broadcast(op.x, ctx.shape(op.out)), exponent)]


def power(ctx: Lowering, x: Value, exponent: float) -> Value:
    """X ** exponent as squares and products, for an integer exponent up to 64, or ±1/2."""
    if exponent == 0.5:
        return tx8be.SqrtOp(x).y
    if exponent == -0.5:
        return tx8be.RsqrtOp(x).y
    if not float(exponent).is_integer() or abs(exponent) > MAX_EXPONENT:
        raise LoweringError(
            f"the exponent is {exponent}; expected an integer from -{MAX_EXPONENT} to {MAX_EXPONENT}, or ±0.5"
        )
    if exponent == 0:
        return with_scalar(ctx, tx8be.AddOp, with_scalar(ctx, tx8be.MulOp, tx8be.NeOp(x, x).out, 0.0), 1.0)
    product: Value | None = None
    factor, bits = x, int(abs(exponent))
    while True:
        if bits & 1:
            product = factor if product is None else tx8be.MulOp(product, factor).out
        bits >>= 1
        if not bits:
            break
        factor = tx8be.SquareOp(factor).y
    assert product is not None
    return product if exponent > 0 else tx8be.RecipOp(product).y


@lowers(pd.ScaleOp)
def lower_scale(ctx: Lowering, op: pd.ScaleOp) -> Sequence[Value]:
    """One operation for each number that changes something: -0.0 + 0.0 is 0.0, and x + -0.0 is x for every float."""
    adds = op.bias != 0.0 or (ranked_type(op.x).element.is_float and math.copysign(1.0, op.bias) > 0)
    whole = of_integers(ctx, op.x, lambda: integers.scale(op))
    if whole is not None:
        return whole
    steps = [(tx8be.MulOp, op.scale, op.scale != 1.0), (tx8be.AddOp, op.bias, adds)]
    value = ctx.get(op.x)
    for kind, scalar, changes in steps if op.bias_after_scale else reversed(steps):
        if changes:
            value = with_scalar(ctx, kind, value, scalar)
    return [value]


# -- binary -----------------------------------------------------------------------------------------------------------


def with_scalar(ctx: Lowering, kind: type[BinaryOp], x: Value, scalar: float) -> Value:
    """`kind(x, scalar)`."""
    return kind(x, ctx.none(), scalar=scalar).out


@lowers(pd.ElementwiseBinaryOp, pd.ComparisonOp)
def lower_binary(ctx: Lowering, op: pd.ElementwiseBinaryOp | pd.ComparisonOp) -> Sequence[Value]:
    """The vector function that the class names, in the form that its operands have."""
    kind = tx8be.binary_of(vector_function(op))
    whole = of_integers(
        ctx, op.x, lambda: integers.compare(op) if isinstance(op, pd.ComparisonOp) else integers.arithmetic(op)
    )
    if whole is not None:
        return whole
    if isinstance(op, pd.AddOp):
        fused = add_bias(ctx, op)
        if fused is not None:
            return [fused]
    shape = ctx.shape(op.out)
    if ranked_type(op.x).element is i1:
        element = ctx.mask_format(op.x, op.y)
        return [kind(ctx.mask(op.x, shape, element), ctx.mask(op.y, shape, element)).out]
    return [binary(ctx, kind, op.x, op.y, shape)]


def of_integers(ctx: Lowering, x: Value, decompose: Callable[[], Value | None]) -> Sequence[Value] | None:
    """The results of an operation on integers like `x`, by what `decompose` writes; None if it is on others."""
    if ranked_type(x).element not in integers.SIGNED:
        return None

    def write() -> Value:
        result = decompose()
        if result is None:
            raise LoweringError(
                f"the vector unit computes in floating point, and fp32 may not have every result in "
                f"{ranked_type(x).element}"
            )
        return result

    return lower_as(ctx, write)


def binary(ctx: Lowering, kind: type[BinaryOp], x: Value, y: Value, shape: tuple[int, ...]) -> Value:
    """`kind(x, y)` of two source values that broadcast to `shape`, in the cheapest form the vector unit has."""
    scalar = ctx.scalar(y)
    if scalar is not None:
        return with_scalar(ctx, kind, ctx.broadcast(x, shape), scalar)
    if is_row(ctx, y, shape):
        return kind(ctx.broadcast(x, shape), ctx.vector(y)).out
    swapped = SWAPPED.get(kind)
    scalar = ctx.scalar(x)
    if swapped is not None and (scalar is not None or is_row(ctx, x, shape)):
        return binary(ctx, swapped, y, x, shape)
    if kind is tx8be.SubOp and (scalar is not None or is_row(ctx, x, shape)):
        # c - y = -1 * y + c, exactly, for zeros too: the vector unit's `neg` gives +0 for both
        negative = with_scalar(ctx, tx8be.MulOp, ctx.broadcast(y, shape), -1.0)
        return (
            with_scalar(ctx, tx8be.AddOp, negative, scalar)
            if scalar is not None
            else tx8be.AddOp(negative, ctx.vector(x)).out
        )
    return kind(ctx.broadcast(x, shape), ctx.broadcast(y, shape)).out


def is_row(ctx: Lowering, value: Value, shape: tuple[int, ...]) -> bool:
    """Whether `value` is one row that repeats over all other axes of a larger `shape`."""
    own = ctx.shape(value)
    return own != shape and len(own) > 0 and own[-1] == shape[-1] and math.prod(own) == own[-1]


def add_bias(ctx: Lowering, op: pd.AddOp) -> Value | None:
    """A constant row added to a `Gemm` or `Conv` whose result only this add uses becomes its bias."""
    for product, row in ((op.x, op.y), (op.y, op.x)):
        engine = ctx.fusable.get(product)
        if engine is None or not product.has_one_use or not tx8be.is_none(engine.bias):
            continue
        channels = tx8be.ranked(engine.out, "result").shape[-1]
        own = ctx.shape(row)
        if not ctx.is_constant(row) or own[-1:] != (channels,) or math.prod(own) != channels:
            continue
        if ctx.shape(op.out) != ctx.shape(product) or engine.activation is not tx8be.Activation.NONE:
            continue
        none = engine.bias.defining_op
        with Builder.before(engine):
            engine.set_operand(2, ctx.vector(row))
        if none is not None:
            none.erase(by="lower-to-tx8be")
        ctx.fusable[op.out] = engine
        return ctx.get(product)
    return None


@lowers(pd.ReluOp)
def lower_relu(ctx: Lowering, op: pd.ReluOp) -> Sequence[Value]:
    """A relu that alone uses a `Gemm` or `Conv` becomes its activation."""
    engine = ctx.fusable.get(op.x)
    if engine is not None and op.x.has_one_use:
        engine.set_attribute("activation", tx8be.Activation.RELU)
        return [ctx.get(op.x)]
    return [tx8be.ReluOp(ctx.get(op.x)).y]


# -- masks ------------------------------------------------------------------------------------------------------------


def truth_format(ctx: Lowering, *values: Value) -> ScalarType:
    """The format to compute the masks of these values in; f32 for integers: the vector unit does not compare them."""
    element = ctx.mask_format(*values)
    return element if element.is_float else f32


def truth(ctx: Lowering, value: Value, shape: tuple[int, ...], element: ScalarType) -> Value:
    """The mask of `value != 0`, of a bool value its own, broadcast to `shape`."""
    if ranked_type(value).element is i1:
        return ctx.mask(value, shape, element)
    number = ctx.broadcast(value, shape)
    if not ranked_type(value).element.is_float:  # the vector unit compares no integers; fp32 has no zero for another
        number = ctx.in_format(number, f32)
    return ctx.in_format(with_scalar(ctx, tx8be.NeOp, number, 0.0), element)


@lowers(pd.LogicalAndOp, pd.LogicalOrOp)
def lower_logical(ctx: Lowering, op: pd.LogicalAndOp | pd.LogicalOrOp) -> Sequence[Value]:
    """`and` is the minimum of two masks, `or` the maximum."""
    kind = tx8be.MinOp if isinstance(op, pd.LogicalAndOp) else tx8be.MaxOp
    shape, element = ctx.shape(op.out), truth_format(ctx, op.x, op.y)
    return [kind(truth(ctx, op.x, shape, element), truth(ctx, op.y, shape, element)).out]


@lowers(pd.LogicalNotOp)
def lower_logical_not(ctx: Lowering, op: pd.LogicalNotOp) -> Sequence[Value]:
    shape, element = ctx.shape(op.out), truth_format(ctx, op.x)
    x = ctx.mask(op.x, shape, element) if ranked_type(op.x).element is i1 else ctx.get(op.x)
    return [with_scalar(ctx, tx8be.EqOp, x, 0.0)]


@lowers(pd.IsnanOp)
def lower_isnan(ctx: Lowering, op: pd.IsnanOp) -> Sequence[Value]:
    """Only NaN differs from itself."""
    x = ctx.get(op.x)
    return [tx8be.NeOp(x, x).out]


@lowers(pd.WhereOp)
def lower_where(ctx: Lowering, op: pd.WhereOp) -> Sequence[Value]:
    shape, element = ctx.shape(op.out), ranked_type(op.out).element
    if element is i1:
        raise LoweringError("where chooses between bool values; write it with logical_and, logical_or and logical_not")
    whole = of_integers(ctx, op.out, lambda: integers.where(op))
    if whole is not None:
        return whole
    cond = ctx.mask(op.condition, shape, element)
    scalars = [ctx.scalar(v) for v in (op.x, op.y)]
    a, b = (
        ctx.none() if s is not None else ctx.broadcast(v, shape) for s, v in zip(scalars, (op.x, op.y), strict=True)
    )
    return [tx8be.SelectOp(cond, a, b, a_scalar=scalars[0], b_scalar=scalars[1]).out]


@lowers(pd.CastOp)
def lower_cast(ctx: Lowering, op: pd.CastOp) -> Sequence[Value]:
    shape, target = ctx.shape(op.out), ranked_type(op.out).element
    if target is i1:
        return [truth(ctx, op.x, shape, truth_format(ctx, op.x))]
    if ranked_type(op.x).element is i1:
        return [ctx.mask(op.x, shape, target)]
    return [ctx.in_format(ctx.get(op.x), target)]
