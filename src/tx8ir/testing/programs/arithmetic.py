"""Steps that compute: elementwise operations, reductions, sums and products."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tx8ir.core import DenseAttr, ScalarType, Value, VTensorType, i1
from tx8ir.dialects import builtin, pd
from tx8ir.testing.inputs import FLAVOURS, draw_array

from .features import SHAPES
from .writer import Writer, ranked


def unary_choices(writer: Writer, x: Value, to: Sequence[ScalarType] = ()) -> Mapping[str, Callable[[], Any]]:
    """What can be done to each element of a value, by the name of the operation; `to`: what casts prefer to go to."""
    element = ranked(x).element
    choices: dict[str, Callable[[], Any]] = {
        "pd.assign": lambda: pd.assign(x),
        "pd.cast": lambda: pd.cast(
            x, dtype=writer.one_of(to) if to else writer.by_habit("cast", writer.features.elements)
        ),
    }
    if i1 in writer.features.elements:
        choices["pd.logical_not"] = lambda: pd.logical_not(x)
    if element is not i1:
        choices |= {
            "pd.relu": lambda: pd.relu(x),
            "pd.scale": lambda: pd.scale(x, scale=writer.literal(element), bias=writer.literal(element)),
            "pd.abs": lambda: pd.abs(x),
            "pd.square": lambda: pd.square(x),
        }
    if element.is_float:
        choices |= {
            "pd.floor": lambda: pd.floor(x),
            "pd.exp": lambda: pd.exp(x),
            "pd.tanh": lambda: pd.tanh(x),
            "pd.reciprocal": lambda: pd.reciprocal(x),
            "pd.sqrt": lambda: pd.sqrt(x),
        }
        if i1 in writer.features.elements:
            choices["pd.isnan"] = lambda: pd.isnan(x)
    return choices


def unary(writer: Writer) -> Sequence[Value]:
    """An operation on each element of one value."""
    choices = unary_choices(writer, writer.tensor())
    return writer.insert(writer.by_habit("unary", list(choices.values())))


def binary(writer: Writer) -> Sequence[Value]:
    """An operation on two values that broadcast, often values that have to do with each other."""
    x = writer.value(lambda t: t.element is not i1)
    if x is None:
        return ()
    return _applied(writer, x, writer.by_habit("binary", binary_kinds(ranked(x).element)))


def compare(writer: Writer) -> Sequence[Value]:
    """A comparison of two values that broadcast."""
    x = writer.value(lambda t: t.element is not i1)
    return (
        _applied(writer, x, writer.by_habit("compare", [pd.greater_than, pd.equal, pd.less_equal]))
        if x is not None
        else ()
    )


def _applied(writer: Writer, x: Value, op: Any) -> Sequence[Value]:
    """An operation on a value and a related one, or a number, which may be used again."""
    type_ = ranked(x)
    number: Sequence[Value] = ()
    if writer.number(0, 2) == 2:
        y = writer.filled(writer.one_of([(), type_.shape]), writer.literal(type_.element), type_.element)
        number = (y,)
    else:
        y = writer.related(x, lambda t: t.element is type_.element and broadcast(t.shape, type_.shape))
    assert y is not None  # x itself at least
    swap = writer.perhaps()
    return (*number, *writer.insert(lambda: op(y, x) if swap else op(x, y)))


def binary_kinds(element: ScalarType) -> list[Any]:
    """The operations on two values of that element type, no truth values."""
    kinds: list[Any] = [pd.add, pd.subtract, pd.multiply, pd.maximum, pd.minimum]
    return [*kinds, pd.divide] if element.is_float else kinds


def logical(writer: Writer) -> Sequence[Value]:
    """And, or, not of truth values."""
    x = writer.value(lambda t: t.element is i1)
    return combined_truths(writer, x) if x is not None else ()


def combined_truths(writer: Writer, x: Value) -> Sequence[Value]:
    """Not of truth values, or and, or of them and others."""
    other = writer.related(x, lambda t: t.element is i1 and broadcast(t.shape, ranked(x).shape))
    y = x if other is None else other
    choices: list[Callable[[], Any]] = [
        lambda: pd.logical_not(x),
        lambda: pd.logical_and(x, y),
        lambda: pd.logical_or(x, y),
    ]
    return writer.insert(writer.by_habit("logical", choices))


def select(writer: Writer) -> Sequence[Value]:
    """A choice between two values by truth values."""
    c = writer.value(lambda t: t.element is i1)
    x = writer.value(lambda t: c is None or broadcast(t.shape, ranked(c).shape))
    if c is None or x is None:
        return ()
    condition, type_ = ranked(c), ranked(x)
    y = writer.related(
        x,
        lambda t: (
            t.element is type_.element and broadcast(t.shape, type_.shape) and broadcast(t.shape, condition.shape)
        ),
    )
    return writer.insert(lambda: pd.where(c, x, y)) if y is not None else ()


def constant(writer: Writer) -> Sequence[Value]:
    """Numbers known when compiling, special ones among them."""
    element = writer.element()
    shape, flavour = writer.one_of(SHAPES), writer.one_of(FLAVOURS)
    if writer.perhaps() and element is not i1:
        return (writer.filled(shape, writer.literal(element), element),)
    data = draw_array(np.random.default_rng(writer.number(0, 3)), shape, element.format, flavour)
    return writer.insert(lambda: builtin.constant(value=DenseAttr(data, VTensorType(shape, element))))


def reduction(writer: Writer) -> Sequence[Value]:
    """The largest or smallest element over some axes."""
    x = writer.value(lambda t: t.element is not i1 and t.rank > 0)
    if x is None:
        return ()
    axes = tuple(writer.draw(st.lists(st.integers(0, ranked(x).rank - 1), unique=True, max_size=2)))
    op, keepdim = writer.one_of([pd.max, pd.min]), writer.perhaps()
    return writer.insert(lambda: op(x, axis=axes, keepdim=keepdim))


def sum_(writer: Writer) -> Sequence[Value]:
    """A sum over some axes."""
    x = writer.value(lambda t: t.element.is_float and t.rank > 0)
    if x is None:
        return ()
    axis = writer.number(0, ranked(x).rank - 1)
    choices: list[Callable[[], Any]] = [
        lambda: pd.sum(x, axis=(axis,), keepdim=writer.perhaps()),
        lambda: pd.mean(x, axis=(axis,), keepdim=writer.perhaps()),
        lambda: pd.softmax(x, axis=axis),
    ]
    return writer.insert(writer.by_habit("sum", choices))


def matmul(writer: Writer) -> Sequence[Value]:
    """A product of a matrix and another."""
    x = writer.value(lambda t: t.element.is_float and t.rank >= 2)
    if x is None:
        return ()
    k = ranked(x).shape[-1]
    y = writer.value(lambda t: t.element is ranked(x).element and t.rank == 2 and k in t.shape)
    if y is None:
        return writer.insert(lambda: pd.matmul(x, x, transpose_y=True))
    return writer.insert(lambda: pd.matmul(x, y, transpose_y=ranked(y).shape[0] != k))


def broadcast(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether shapes broadcast to a common one."""
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b), strict=False))


def stretches(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether a tensor of shape `a` broadcasts to exactly `b`."""
    return len(a) <= len(b) and all(m in (1, n) for m, n in zip(reversed(a), reversed(b), strict=False))
