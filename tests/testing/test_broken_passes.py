"""Passes that are wrong, each in a way that real compilers have been: the oracle catches every one.

Each is a few lines, as its author would have written them. The same 500 programs are tried on each; the first that it
gets wrong is reduced, and must end as a handful of operations.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tx8ir.core import (
    Builder,
    ConstantLike,
    HasValueSemantics,
    Operation,
    Program,
    Pure,
    RankedTensor,
    TensorType,
    Value,
    VTensorType,
    f32,
    i1,
)
from tx8ir.dialects import builtin, cf, func, pd, scf
from tx8ir.testing import Counterexample, check
from tx8ir.testing.programs import EVERYTHING, VALUES, Features, tensor_programs

OpT = TypeVar("OpT", bound=Operation)
Broken = Callable[[Program], object]

FLOATS = attrs.evolve(VALUES, elements=(f32,), parameters=False)
TRUTHS = attrs.evolve(FLOATS, elements=(f32, i1))
LISTS = attrs.evolve(FLOATS, lists=True)
STORAGE = attrs.evolve(VALUES, elements=(f32,), aliases=True)
"""What programs may have: as few features as a pass is about, so that they meet often."""

BANK: list[Any] = []


def broken(features: Features, most: int) -> Callable[[Broken], Broken]:
    """Adds a pass to the bank: tried on programs with those features, its failure has at most so many operations."""

    def add(run: Broken) -> Broken:
        marks = () if features in (VALUES, EVERYTHING) else pytest.mark.nightly  # each set of features is drawn once
        BANK.append(pytest.param(run, features, most, id=run.__name__, marks=marks))
        return run

    return add


def find(program: Program, kind: type[OpT]) -> Iterator[OpT]:
    return (op for op in list(program.module.walk()) if isinstance(op, kind) and op.parent is not None)


def shape(value: Value) -> tuple[int, ...]:
    assert isinstance(value.type, RankedTensor)
    return value.type.shape


def is_value(value: Value) -> bool:
    return isinstance(value.type, VTensorType)


def swap(op: Operation, make: Callable[[], Operation]) -> None:
    """Replaces an operation by what `make` makes in front of it."""
    with Builder.before(op):
        new = make()
    op.replace_with(new)


def filled(value: Value) -> float | None:
    """The number that a `pd.full` fills a value with."""
    op = value.defining_op
    return op.value if isinstance(op, pd.FullOp) else None


# --- arithmetic ----------------------------------------------------------------------------------------------------


@broken(VALUES, 3)
def subtract_with_swapped_operands(program: Program) -> None:
    """Canonical order of operands, also of a subtraction."""
    for op in find(program, pd.SubtractOp):
        if isinstance(op.x.defining_op, Operation) and op.y.defining_op is None:
            op.set_operands([op.y, op.x])


@broken(FLOATS, 4)
def add_zero_is_nothing(program: Program) -> None:
    """X + 0 -> x: but -0 + 0 is +0."""
    for op in find(program, pd.AddOp):
        for zero, x in (op.operands, reversed(op.operands)):
            if str(filled(zero)) == "0.0" and x.type is op.out.type and op.parent is not None:
                op.replace_with(x)


@broken(VALUES, 3)
def multiply_by_zero_is_zero(program: Program) -> None:
    """X * 0 -> 0: but NaN * 0 and infinity * 0 are NaN, and -1 * 0 is -0."""
    for op in find(program, pd.MultiplyOp):
        for factor in op.operands:
            if filled(factor) == 0.0 and factor.type is op.out.type and op.parent is not None:
                op.replace_with(factor)


@broken(FLOATS, 3)
def relu_by_selection(program: Program) -> None:
    """Relu as a selection, x > 0 ? x : 0: a NaN is lost."""
    for op in find(program, pd.ReluOp):
        if is_value(op.out) and op.x.type.element.is_float:
            with Builder.before(op):
                zeros = pd.full(shape=shape(op.x), value=0.0, dtype=op.x.type.element).out
                positive = pd.greater_than(op.x, zeros).out
                chosen = pd.where(positive, op.x, zeros)
            op.replace_with(chosen)


@broken(TRUTHS, 3)
def equal_to_itself_is_true(program: Program) -> None:
    """X == x -> true: not of a NaN."""
    for op in find(program, pd.EqualOp):
        if op.x is op.y and is_value(op.out):
            swap(op, lambda op=op: pd.full(shape=shape(op.out), value=1.0, dtype=i1))


@broken(VALUES, 5)
def comparison_negated(program: Program) -> None:
    """Not (x > y) -> x <= y: but a NaN is neither."""
    for op in find(program, pd.LogicalNotOp):
        compared = op.x.defining_op
        if isinstance(compared, pd.GreaterThanOp):
            swap(op, lambda op=op, c=compared: pd.less_equal(c.x, c.y))


@broken(FLOATS, 3)
def reciprocal_twice(program: Program) -> None:
    """1 / (1 / x) -> x: rounded twice."""
    for op in find(program, pd.ReciprocalOp):
        inner = op.x.defining_op
        if isinstance(inner, pd.ReciprocalOp):
            op.replace_with(inner.x)


@broken(VALUES, 3)
def scale_after_bias(program: Program) -> None:
    """Scale * (x + bias) instead of scale * x + bias."""
    for op in find(program, pd.ScaleOp):
        op.set_attribute("bias_after_scale", False)


@broken(VALUES, 3)
def square_as_absolute(program: Program) -> None:
    """sqrt(x * x) computed as |x| in another format: x * x -> |x| * x, wrong where x < 0."""
    for op in find(program, pd.SquareOp):
        with Builder.before(op):
            new = pd.multiply(pd.abs(op.x), op.x)
        op.replace_with(new)


# --- formats -------------------------------------------------------------------------------------------------------


@broken(VALUES, 3)
def cast_by_truncation(program: Program) -> None:
    """A float cast to bf16 rounded towards zero: the low bits masked off first."""
    for op in find(program, pd.CastOp):
        if op.x.type.element is f32 and op.out.type.element.name == "bf16" and is_value(op.x):
            with Builder.before(op):
                kept = pd.subtract(op.x, pd.multiply(op.x, pd.full(shape=(), value=2.0**-9)))
            op.set_operand(0, kept.out)


@broken(VALUES, 4)
def addition_in_another_format(program: Program) -> None:
    """A chain of two bf16 additions kept in f32 between them: one rounding less."""
    for op in find(program, pd.AddOp):
        inner = op.x.defining_op
        if isinstance(inner, pd.AddOp) and op.out.type.element.name in ("bf16", "f16") and is_value(op.out):
            element = op.out.type.element
            with Builder.before(op):
                a, b, c = (pd.cast(v, dtype=f32) for v in (inner.x, inner.y, op.y))
                new = pd.cast(pd.add(pd.add(a, b), c), dtype=element)
            op.replace_with(new)


# --- shapes --------------------------------------------------------------------------------------------------------


@broken(FLOATS, 3)
def broadcast_at_the_wrong_axis(program: Program) -> None:
    """An operand of lower rank aligned at the first axis, where the extents happen to allow it."""
    for op in find(program, pd.ElementwiseBinaryOp):
        x, y = shape(op.x), shape(op.y)
        if len(y) == len(x) - 1 and len(y) >= 1 and x[:-1] == y and is_value(op.y):
            with Builder.before(op):
                aligned = pd.unsqueeze(op.y, axis=(len(y),))
            op.set_operand(1, aligned.out)


@broken(VALUES, 3)
def transpose_as_reshape(program: Program) -> None:
    """A transpose that moves no long axis is a reshape: axes of extent 3 are counted as short."""
    for op in find(program, pd.TransposeOp):
        if sum(extent > 3 for extent in shape(op.x)) <= 1:
            swap(op, lambda op=op: pd.reshape(op.x, shape=shape(op.out)))


@broken(VALUES, 3)
def slice_off_by_one(program: Program) -> None:
    """A slice shifted by one where there is room behind it."""
    for op in find(program, pd.SliceOp):
        extent = shape(op.input)[op.axes[0]]
        if len(op.axes) == 1 and 0 < op.ends[0] < extent:
            op.set_attributes({"starts": (op.starts[0] + 1,), "ends": (op.ends[0] + 1,)})


@broken(VALUES, 3)
def slices_merged_without_offset(program: Program) -> None:
    """slice(slice(x)) -> slice(x) with the outer places, which count from the inner start."""
    for op in find(program, pd.SliceOp):
        inner = op.input.defining_op
        if isinstance(inner, pd.SliceOp) and inner.axes == op.axes and not inner.decrease_axis:
            op.set_operand(0, inner.input)


@broken(VALUES, 3)
def concat_reversed(program: Program) -> None:
    """The operands of a concat in the order of their definition."""
    for op in find(program, pd.ConcatOp):
        a, b = (v.defining_op for v in op.operands)
        if a is not None and (b is None or (a is not b and a.parent is b.parent and not a.is_before(b))):
            op.set_operands(list(reversed(op.operands)))


@broken(VALUES, 3)
def reduction_over_the_wrong_axis(program: Program) -> None:
    """Negative axes counted from the front after the reduced ones went: the last axis for the first."""
    for op in find(program, pd.ReductionOp):
        if len(op.axis) == 1 and shape(op.x)[0] == shape(op.x)[-1]:
            op.set_attribute("axis", (len(shape(op.x)) - 1 - op.axis[0],))


# --- merging and dropping ------------------------------------------------------------------------------------------


@broken(VALUES, 3)
def cse_without_attributes(program: Program) -> None:
    """Equal operations are those with the same name, operands and types."""
    for block in {op.parent for op in program.module.walk() if op.parent is not None}:
        seen: dict[Any, Operation] = {}
        for op in list(block):
            if op.has_trait(Pure) and not op.regions and not op.has_trait(ConstantLike) and op.operands:
                earlier = seen.setdefault((op.name, *op.operands, *(r.type for r in op.results)), op)
                if earlier is not op:
                    op.replace_with(earlier.results)


@broken(STORAGE, 5)
def cse_across_mutation(program: Program) -> None:
    """Equal reads of storage merged, though it is written between them."""
    seen: dict[Any, Operation] = {}
    for op in list(program.main.body.block):
        if op.has_trait(HasValueSemantics) or isinstance(op, (builtin.ToVTensorOp, builtin.ToTensorOp)):
            key = (op.name, *op.operands, op.attributes, *(r.type for r in op.results))
            earlier = seen.setdefault(key, op) if op.operands else op
            if earlier is not op:
                op.replace_with(earlier.results)


@broken(STORAGE, 4)
def read_moved_past_a_write(program: Program) -> None:
    """A snapshot taken where it is first used."""
    for op in find(program, builtin.ToVTensorOp):
        users = [u for u in op.out.users if u.parent is op.parent]
        if users and len(users) == op.out.num_uses:
            first = users[0]
            for user in users:
                first = user if user.is_before(first) else first
            op.move_before(first)


@broken(EVERYTHING, 4)
def write_moved_to_the_end(program: Program) -> None:
    """Writes of variables gathered at the end of the block, in the opposite order."""
    for block in {op.parent for op in find(program, builtin.SetParameterOp)}:
        assert block is not None
        assert block.terminator is not None
        for op in reversed([op for op in block if isinstance(op, builtin.SetParameterOp)]):
            op.move_before(block.terminator)


@broken(EVERYTHING, 4)
def mutable_parameter_folded(program: Program) -> None:
    """Every variable is what it is when compiling."""
    for op in find(program, builtin.GetParameterOp):
        if is_value(op.out):
            data = program.weights[op.parameter].numpy()
            swap(op, lambda d=data: builtin.constant(value=np.array(d)))


@broken(EVERYTHING, 3)
def dead_set_parameter(program: Program) -> None:
    """An operation without results is dead."""
    for op in find(program, builtin.SetParameterOp):
        op.erase()


@broken(EVERYTHING, 3)
def dead_in_place_operation(program: Program) -> None:
    """An operation whose result nobody uses is dead."""
    for op in reversed(list(find(program, pd.InplaceOp))):
        if not op.results[0].has_uses:
            op.erase()


@broken(EVERYTHING, 6)
def effectful_if_dropped(program: Program) -> None:
    """An `scf.if` without used results is dead, whatever it does inside."""
    for op in reversed(list(find(program, scf.IfOp))):
        if not any(r.has_uses for r in op.results):
            op.erase()


@broken(EVERYTHING, 8)
def effectful_loop_dropped(program: Program) -> None:
    """A loop without used results is dead."""
    for op in reversed(list(find(program, scf.WhileOp))):
        if not any(r.has_uses for r in op.results):
            op.erase()


@broken(EVERYTHING, 4)
def dead_call_dropped(program: Program) -> None:
    """A call without used results is dead."""
    for op in reversed(list(find(program, func.CallOp))):
        if not any(r.has_uses for r in op.results):
            op.erase()


# --- storage -------------------------------------------------------------------------------------------------------


@broken(EVERYTHING, 3)
def write_back_dropped(program: Program) -> None:
    """foo_ -> foo: later users of the result are right, aliases of the storage are stale."""
    for op in find(program, pd.InplaceOp):
        form = op.counterpart
        with Builder.before(op):
            new = form.create(op.value_operands(op.operands), [op.results[0].type], attributes=op.attributes)
            op.parent.insert_before(new, op)
        op.replace_with(new)


@broken(EVERYTHING, 4)
def base_of_a_view_left_stale(program: Program) -> None:
    """A view of storage made a copy: what is written through it never reaches the base."""
    for op in find(program, pd.ViewOp):
        if isinstance(op.operands[0].type, TensorType):
            with Builder.before(op):
                op.set_operand(0, builtin.to_tensor(op.operands[0]).out)


@broken(EVERYTHING, 3)
def copy_folded_away(program: Program) -> None:
    """to_tensor of a tensor -> the tensor itself, though one of both is written later."""
    for op in find(program, builtin.ToTensorOp):
        if op.x.type is op.out.type:
            op.replace_with(op.x)


@broken(EVERYTHING, 4)
def copy_pair_cancelled(program: Program) -> None:
    """to_tensor(to_vtensor(x)) -> x: two storages become one."""
    for op in find(program, builtin.ToTensorOp):
        inner = op.x.defining_op
        if isinstance(inner, builtin.ToVTensorOp) and inner.x.type is op.out.type:
            op.replace_with(inner.x)


@broken(EVERYTHING, 4)
def in_place_on_a_live_operand(program: Program) -> None:
    """Foo -> foo_ where the type fits, though others still read the operand."""
    for op in list(program.module.walk()):
        form = pd.inplace_form(type(op))
        fits = form is not None and isinstance(op.results[0].type, TensorType)
        if fits and op.operands[0].type is op.results[0].type:
            new = form.create(op.operands, [op.results[0].type], attributes=op.attributes)
            op.parent.insert_before(new, op)
            op.replace_with(new)


# --- control flow --------------------------------------------------------------------------------------------------


@broken(EVERYTHING, 6)
def condition_taken_for_true(program: Program) -> None:
    """The else region of an `if` dropped."""
    for op in find(program, scf.IfOp):
        with Builder.before(op):
            op.set_operand(0, pd.full(shape=(), value=1.0, dtype=i1).out)


@broken(EVERYTHING, 8)
def loop_carried_value_forgotten(program: Program) -> None:
    """A loop-carried value taken for the first one: its argument replaced by the operand."""
    for op in find(program, scf.WhileOp):
        for argument, init in list(zip(op.before.block.args, op.operands, strict=True))[1:]:
            argument.replace_all_uses_with(init)


@broken(EVERYTHING, 8)
def loop_carried_alias_forgotten(program: Program) -> None:
    """A loop given a copy of a tensor: what it writes stays inside."""
    for op in find(program, scf.WhileOp):
        for index, value in enumerate(op.operands):
            if isinstance(value.type, TensorType):
                with Builder.before(op):
                    op.set_operand(index, builtin.to_tensor(value).out)


@broken(EVERYTHING, 9)
def loop_peeled_once_too_often(program: Program) -> None:
    """The bound of a loop lowered by one."""
    for op in find(program, scf.WhileOp):
        for inner in op.before.block:
            if isinstance(inner, pd.LessThanOp) and inner.x is op.before.block.args[0]:
                bound = inner.y.defining_op
                if isinstance(bound, pd.FullOp) and bound.value > 1:
                    bound.set_attribute("value", bound.value - 1)


@broken(EVERYTHING, 5)
def inlined_with_swapped_arguments(program: Program) -> None:
    """A call given its arguments in the wrong order where their types allow it."""
    for op in find(program, func.CallOp):
        if len(op.operands) == 2 and op.operands[0].type is op.operands[1].type:
            op.set_operands(list(reversed(op.operands)))


@broken(EVERYTHING, 4)
def call_arguments_copied(program: Program) -> None:
    """A function inlined on copies of its tensor arguments."""
    for op in find(program, func.CallOp):
        for index, value in enumerate(op.operands):
            if isinstance(value.type, TensorType):
                with Builder.before(op):
                    op.set_operand(index, builtin.to_tensor(value).out)


@broken(EVERYTHING, 14)
def branch_to_the_wrong_block(program: Program) -> None:
    """The successors of a branch exchanged."""
    for op in find(program, cf.CondBranchOp):
        if not op.true_operands and not op.false_operands:
            first, second = op.successors
            op.set_successor(0, second)
            op.set_successor(1, first)


@broken(LISTS, 4)
def list_indexed_from_one(program: Program) -> None:
    """An element of a list taken from the wrong end."""
    for op in find(program, builtin.SliceOp):
        elements = op.x.type.elements
        if elements[0] is elements[-1]:
            op.set_attribute("index", len(elements) - 1 - op.index)


# --- the oracle ----------------------------------------------------------------------------------------------------


def _draw(features: Features, count: int) -> list[Program]:
    programs: list[Program] = []

    @settings(
        max_examples=count, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(tensor_programs(features))
    def collect(program: Program) -> None:
        programs.append(program)

    collect()
    return programs


@functools.cache
def programs_with(features: Features) -> list[Program]:
    """500 programs, drawn once."""
    return _draw(features, 500)


def test_the_bank_has_at_least_25_passes() -> None:
    assert len(BANK) >= 25


@pytest.mark.parametrize(("run", "features", "most"), BANK)
def test_a_broken_pass_is_caught_and_reduced(run: Broken, features: Features, most: int) -> None:
    for program in programs_with(features):
        found = check(program, run, reduce=False).counterexample
        if found is not None:
            break
    else:
        pytest.fail(f"{run.__name__} got 500 programs right")
    reduced = check(program, run).counterexample
    assert isinstance(reduced, Counterexample)
    assert reduced.failure.stage.subject is run
    assert reduced.operations <= most, str(reduced)
