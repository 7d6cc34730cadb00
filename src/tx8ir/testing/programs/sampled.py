"""The step that writes any operation, as one of its samples says: on values of the pool where they fit, or new ones."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from tx8ir.core import (
    DYNAMIC,
    Builder,
    DenseAttr,
    ElementwiseMappable,
    Op,
    RankedTensor,
    ScalarType,
    TensorType,
    Value,
    VTensorType,
    i1,
    i8,
    i32,
    i64,
)
from tx8ir.dialects import builtin, pd
from tx8ir.dialects.pd.inplace import InplaceOp
from tx8ir.dialects.samples import Operand, Sample, samples_of
from tx8ir.testing.cases.small_scope import sampled_ops
from tx8ir.testing.cases.small_scope.draft import clamped, fit
from tx8ir.testing.inputs import draw_array, in_domain

from .features import LARGEST
from .writer import Writer, ranked

_INPUTS = 8
"""A program has this many inputs at most."""
_ORDERED = (
    pd.SumOp,
    pd.MeanOp,
    pd.SoftmaxOp,
    pd.softmax_,
    pd.MatmulOp,
    pd.ConvolutionOp,
    pd.LayerNormOp,
    pd.RmsNormOp,
    pd.BatchNormTrainingOp,
    pd.ScaledDotProductAttentionOp,
    pd.CrossEntropyWithSoftmaxOp,
    pd.CrossEntropyWithSoftmaxGradOp,
)
"""Operations that sum floats; how these round depends on the order. So does `pd.pool2d` where it averages."""


def sampled(writer: Writer) -> Sequence[Value]:
    """Any operation, in any of the ways that its samples show."""
    features = writer.features
    key = (frozenset(features.elements), features.sums, features.aliases)
    op = writer.by_habit("sampled", _ops(*key), 5)
    samples = _samples(op, *key)
    sample = samples[writer.number(0, len(samples) - 1)]
    place = writer.number(0, max(0, len(sample.types) - 1))
    x: Value | None = None
    if sample.types:
        x = writer.value(lambda t: _fitted(sample, place, t, *key) is not None)
        if x is not None:
            sample = _fitted(sample, place, ranked(x), *key) or sample
    made: list[Value] = []
    values: list[Value] = []
    for index, operand in enumerate(sample.operands):
        value = _inside(writer, x, operand) if index == place and x is not None else _found(writer, operand)
        if value is None:
            value = _new(writer, operand)
            made.append(value)
        values.append(value)
    held = [_in_storage(writer, v, o) for v, o in zip(values, sample.operands, strict=True)]
    return (*made, *writer.insert(lambda: sample.build(held)))


def _in_storage(writer: Writer, value: Value, operand: Operand) -> Value:
    """The value, copied into storage where the operation writes it."""
    if isinstance(operand.type, TensorType) and isinstance(value.type, VTensorType):
        return writer.insert(lambda: builtin.to_tensor(value))[0]
    return value


def _found(writer: Writer, operand: Operand) -> Value | None:
    """A value of the pool of that shape and element type, brought into the domain; None where a new one is wanted."""
    wanted = operand.type
    assert isinstance(wanted, RankedTensor)
    value = writer.value(lambda t: t.to_vtensor() is wanted.to_vtensor()) if writer.perhaps() else None
    return _inside(writer, value, operand) if value is not None else None


def _inside(writer: Writer, value: Value, operand: Operand) -> Value:
    """The value, brought into the domain: the type that it was fitted to decides whether there is one."""
    if operand.domain.is_everything:
        return value
    with Builder.at_end(writer.block):
        return clamped(value, operand.domain)


def _new(writer: Writer, operand: Operand) -> Value:
    """A new value inside the domain: a constant, an input or a variable."""
    type_ = operand.type
    assert isinstance(type_, RankedTensor)
    element = type_.element
    how = ["number"] * (operand.domain.is_everything and element is not i1) + ["constant"]
    how += ["input"] * (writer.in_main and len(writer.inputs) < _INPUTS)
    chosen = writer.by_habit("operand", how)
    if chosen == "number":
        return writer.filled(type_.shape, writer.literal(element), element)
    if chosen == "input":
        return writer.input(type_.to_vtensor())  # inputs in storage there are already, and values reduce further
    rng = np.random.default_rng(writer.number(0, 3))
    data = in_domain(draw_array(rng, type_.shape, element.format, "ordinary"), operand.domain, element.format, rng)
    return writer.insert(lambda: builtin.constant(value=DenseAttr(data, type_.to_vtensor())))[0]


# --- what there is to choose from ------------------------------------------------------------------------------------


def _elements(elements: frozenset[ScalarType]) -> frozenset[ScalarType]:
    """With i32 also the integers that indices and quantised numbers have."""
    return elements | {i64, i8} if i32 in elements else elements


def _may_have(sample: Sample, elements: frozenset[ScalarType], sums: bool) -> bool:
    """Whether a program may have what the sample says."""
    types = [t for t in sample.types if isinstance(t, RankedTensor)]
    if any(0 in t.shape or DYNAMIC in t.shape or t.num_elements > LARGEST for t in types):
        return False
    types += [t for t in sample.result_types if isinstance(t, RankedTensor)]
    allowed = _elements(elements)
    if any(t.element not in allowed or 0 in t.shape for t in types):
        return False
    return sums or not _sums_floats(sample, types)


def _sums_floats(sample: Sample, types: Sequence[RankedTensor]) -> bool:
    if not any(t.element.is_float for t in types):
        return False
    return issubclass(sample.op, _ORDERED) or sample.attributes.get("pooling_type") == "avg"


@functools.cache
def _samples(op: type[Op], elements: frozenset[ScalarType], sums: bool, aliases: bool) -> tuple[Sample, ...]:
    found = (s for s in samples_of(op) if aliases or not any(isinstance(t, TensorType) for t in s.types))
    return tuple(s for s in found if _may_have(s, elements, sums))


@functools.cache
def _ops(elements: frozenset[ScalarType], sums: bool, aliases: bool) -> tuple[type[Op], ...]:
    """The operations to choose from. Those that move, sum or window elements are there twice: two thirds of all are
    element-wise, which differ in a formula only.
    """
    copies = () if aliases else (builtin.ToTensorOp,)
    ops = [op for op in sampled_ops() if op not in copies and _samples(op, elements, sums, aliases)]
    elementwise = [op for op in ops if ElementwiseMappable in op.info.traits or issubclass(op, InplaceOp)]
    return (*ops, *(op for op in ops if op not in elementwise))


@functools.lru_cache(maxsize=1 << 14)
def _fitted(
    sample: Sample, place: int, type_: RankedTensor, elements: frozenset[ScalarType], sums: bool, aliases: bool
) -> Sample | None:
    """The sample on an operand of that type, or None."""
    found = fit(sample, place, type_)
    return found if found is not None and _may_have(found, elements, sums) else None
