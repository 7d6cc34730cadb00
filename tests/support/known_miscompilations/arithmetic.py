"""Broken passes about numbers: identities that floating-point arithmetic does not have, formats, comparisons."""

from __future__ import annotations

from tx8ir.core import Builder, Program, bf16, f16, f32, i1
from tx8ir.dialects import builtin, pd
from tx8ir.target.formats import Format

from .bank import copied, filled, find, is_value, on_values, shape, swap, type_of


@on_values
def subtract_with_swapped_operands(program: Program) -> None:
    """Canonical order of operands, also of a subtraction."""
    for op in find(program, pd.SubtractOp):
        if op.x.defining_op is not None and op.y.defining_op is None:
            op.set_operands([op.y, op.x])


@on_values
def add_zero_is_nothing(program: Program) -> None:
    """X + 0 -> x: but -0 + 0 is +0."""
    for op in find(program, pd.AddOp):
        for zero, x in ((op.x, op.y), (op.y, op.x)):
            if str(filled(zero)) == "0.0" and x.type is op.out.type:
                op.replace_with(x)
                break


@on_values
def multiply_by_zero_is_zero(program: Program) -> None:
    """X * 0 -> 0: but NaN * 0 and infinity * 0 are NaN, and -1 * 0 is -0."""
    for op in find(program, pd.MultiplyOp):
        if 0.0 in (filled(op.x), filled(op.y)) and is_value(op.out):
            swap(op, lambda op=op: pd.full(shape=shape(op.out), value=0.0, dtype=type_of(op.out).element))


@on_values
def difference_with_itself_is_zero(program: Program) -> None:
    """X - x -> 0: not of a NaN or an infinity."""
    for op in find(program, pd.SubtractOp):
        if op.x is op.y and is_value(op.out):
            swap(op, lambda op=op: pd.full(shape=shape(op.out), value=0.0, dtype=type_of(op.out).element))


@on_values
def sum_and_difference_cancel(program: Program) -> None:
    """(x + y) - y -> x: but the sum was rounded."""
    for op in find(program, pd.SubtractOp):
        inner = op.x.defining_op
        if isinstance(inner, pd.AddOp) and is_value(op.out):
            for kept, dropped in ((inner.x, inner.y), (inner.y, inner.x)):
                if dropped is op.y and kept.type is op.out.type:
                    op.replace_with(kept)
                    break


@on_values
def quotient_with_itself_is_one(program: Program) -> None:
    """X / x -> 1: but 0 / 0 is NaN."""
    for op in find(program, pd.DivideOp):
        if op.x is op.y and is_value(op.out):
            swap(op, lambda op=op: pd.full(shape=shape(op.out), value=1.0, dtype=type_of(op.out).element))


@on_values
def division_as_multiplication(program: Program) -> None:
    """X / y -> x * (1 / y): rounded twice."""
    for op in find(program, pd.DivideOp):
        with Builder.before(op):
            new = pd.multiply(op.x, pd.reciprocal(op.y))
        op.replace_with(new)


@on_values
def reciprocal_twice(program: Program) -> None:
    """1 / (1 / x) -> x: rounded twice."""
    for op in find(program, pd.ReciprocalOp):
        inner = op.x.defining_op
        if isinstance(inner, pd.ReciprocalOp):
            op.replace_with(inner.x)


@on_values
def scale_after_bias(program: Program) -> None:
    """Scale * (x + bias) instead of scale * x + bias."""
    for op in find(program, pd.ScaleOp):
        op.set_attribute("bias_after_scale", False)


@on_values
def scales_multiplied_without_the_bias(program: Program) -> None:
    """Scale(scale(x)) with the product of both factors, and the outer bias alone."""
    for op in find(program, pd.ScaleOp):
        inner = op.x.defining_op
        if isinstance(inner, pd.ScaleOp) and is_value(op.out):
            product = op.scale * inner.scale
            swap(op, lambda op=op, x=inner.x, s=product: pd.scale(x, scale=s, bias=op.bias))


@on_values
def square_as_absolute(program: Program) -> None:
    """X * x -> |x| * x: wrong where x < 0."""
    for op in find(program, pd.SquareOp):
        with Builder.before(op):
            new = pd.multiply(pd.abs(op.x), op.x)
        op.replace_with(new)


@on_values
def floor_by_truncation(program: Program) -> None:
    """Floor(x) as -floor(-x): rounded up."""
    for op in find(program, pd.FloorOp):
        with Builder.before(op):
            new = pd.scale(pd.floor(pd.scale(op.x, scale=-1.0)), scale=-1.0)
        op.replace_with(new)


# --- comparisons and choices -----------------------------------------------------------------------------------------


@on_values
def relu_by_selection(program: Program) -> None:
    """Relu as a selection, x > 0 ? x : 0: a NaN is lost."""
    for op in find(program, pd.ReluOp):
        if is_value(op.out) and type_of(op.x).element.is_float:
            with Builder.before(op):
                zeros = pd.full(shape=shape(op.x), value=0.0, dtype=type_of(op.x).element).out
                chosen = pd.where(pd.greater_than(op.x, zeros).out, op.x, zeros)
            op.replace_with(chosen)


@on_values
def maximum_by_selection(program: Program) -> None:
    """Max(x, y) as x > y ? x : y: the NaN of x is lost."""
    for op in find(program, pd.MaximumOp):
        if is_value(op.out):
            with Builder.before(op):
                chosen = pd.where(pd.greater_than(op.x, op.y).out, op.x, op.y)
            op.replace_with(chosen)


@on_values
def selection_by_arithmetic(program: Program) -> None:
    """C ? x : y as c * x + (1 - c) * y: a NaN or infinity that was not chosen comes through."""
    for op in find(program, pd.WhereOp):
        element = type_of(op.out).element
        if element.is_float and is_value(op.out):
            with Builder.before(op):
                c = pd.cast(op.condition, dtype=element).out
                chosen = pd.multiply(c, op.x).out
                other = pd.multiply(pd.scale(c, scale=-1.0, bias=1.0), op.y).out
                new = pd.add(chosen, other)
            op.replace_with(new)


@on_values
def equal_to_itself_is_true(program: Program) -> None:
    """X == x -> true: not of a NaN."""
    for op in find(program, pd.EqualOp):
        if op.x is op.y and is_value(op.out):
            swap(op, lambda op=op: pd.full(shape=shape(op.out), value=1.0, dtype=i1))


@on_values
def comparison_negated(program: Program) -> None:
    """Not (x > y) -> x <= y: but a NaN is neither."""
    for op in find(program, pd.LogicalNotOp):
        compared = op.x.defining_op
        if isinstance(compared, pd.GreaterThanOp):
            swap(op, lambda c=compared: pd.less_equal(c.x, c.y))


@on_values
def comparison_mirrored_badly(program: Program) -> None:
    """X <= y -> y > x: the operands exchanged, and the equality lost."""
    for op in find(program, pd.LessEqualOp):
        swap(op, lambda op=op: pd.greater_than(op.y, op.x))


@on_values
def logical_or_for_and(program: Program) -> None:
    """Not (x and y) -> not x and not y: De Morgan forgotten."""
    for op in find(program, pd.LogicalNotOp):
        inner = op.x.defining_op
        if isinstance(inner, (pd.LogicalAndOp, pd.LogicalOrOp)):
            swap(op, lambda i=inner: type(i)(pd.logical_not(i.x).out, pd.logical_not(i.y).out))


# --- formats ---------------------------------------------------------------------------------------------------------


@on_values
def cast_by_truncation(program: Program) -> None:
    """A float cast to bf16 rounded towards zero: the low bits taken off first."""
    for op in find(program, pd.CastOp):
        if type_of(op.x).element is f32 and type_of(op.out).element is bf16 and is_value(op.x):
            copied(op, 0, lambda x: pd.subtract(x, pd.multiply(x, pd.full(shape=(), value=2.0**-9))))


@on_values
def narrowing_cast_dropped(program: Program) -> None:
    """cast(cast(x)) -> x where the types at both ends are one: f32 -> bf16 -> f32 rounds."""
    for op in find(program, pd.CastOp):
        inner = op.x.defining_op
        if isinstance(inner, pd.CastOp) and inner.x.type is op.out.type:
            op.replace_with(inner.x)


@on_values
def casts_merged(program: Program) -> None:
    """cast(cast(x)) -> one cast to the last format, whatever was between."""
    for op in find(program, pd.CastOp):
        inner = op.x.defining_op
        if isinstance(inner, pd.CastOp) and is_value(op.out):
            op.set_operand(0, inner.x)


_ARITHMETIC = (pd.AddOp, pd.SubtractOp, pd.MultiplyOp)


@on_values
def chain_kept_in_a_wider_format(program: Program) -> None:
    """Two operations on bf16 or f16 with f32 between them, as of a fused multiply-add: one rounding less."""
    for op in find(program, pd.ElementwiseBinaryOp):
        inner, element = op.x.defining_op, type_of(op.out).element
        if not isinstance(op, _ARITHMETIC) or not is_value(op.out) or element not in (bf16, f16):
            continue
        if isinstance(inner, _ARITHMETIC):
            with Builder.before(op):
                a, b, c = (pd.cast(v, dtype=f32).out for v in (inner.x, inner.y, op.y))
                new = pd.cast(type(op)(type(inner)(a, b).out, c).out, dtype=element)
            op.replace_with(new)


@on_values
def integers_computed_in_floats(program: Program) -> None:
    """Integer arithmetic done in f32, which holds whole numbers up to 2^24 only."""
    for op in [*find(program, pd.AddOp), *find(program, pd.MultiplyOp)]:
        element = type_of(op.out).element
        if element.format.is_integer and not element.format.is_bool and is_value(op.out):
            with Builder.before(op):
                x, y = (pd.cast(v, dtype=f32).out for v in op.operands)
                new = pd.cast(type(op)(x, y).out, dtype=element)
            op.replace_with(new)


@on_values
def constants_merged_by_value(program: Program) -> None:
    """Constants that compare equal are one: but 0 == -0, and the types differ."""
    seen: dict[tuple[object, ...], pd.FullOp] = {}
    for op in find(program, pd.FullOp):
        if op.parent is program.main.body.block:
            earlier = seen.setdefault((op.value, op.out.type), op)
            if earlier is not op:
                op.replace_with(earlier.results)


@on_values
def largest_number_as_infinity(program: Program) -> None:
    """Overflow tested with >=: the largest finite number of a constant becomes infinite."""
    for op in find(program, builtin.ConstantOp):
        format: Format = type_of(op.out).element.format
        if format.is_float:
            with Builder.after(op):
                doubled = pd.scale(op.out, scale=2.0)
                halved = pd.scale(doubled, scale=0.5)
            for user in list(op.out.users):
                if user is not doubled:
                    user.set_operands([halved.out if v is op.out else v for v in user.operands])
