"""Steps that move elements: views, and copies to other places."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tx8ir.core import DenseAttr, TensorType, Value, VTensorType, i32
from tx8ir.dialects import builtin, pd

from .arithmetic import stretches
from .writer import Writer, ranked


def view_choices(writer: Writer, x: Value, perms: Sequence[tuple[int, ...]] = ()) -> Mapping[str, Callable[[], Any]]:
    """How a value can be looked at, by the name of the operation; `perms`: what transposes prefer."""
    shape = ranked(x).shape
    rank = len(shape)
    others: dict[str, Callable[[], Any]] = {
        "pd.reshape": lambda: pd.reshape(x, shape=writer.one_of([(-1,), (1, -1), (-1, 1), shape[::-1]])),
        "pd.unsqueeze": lambda: pd.unsqueeze(x, axis=(writer.number(0, rank),)),
        "pd.squeeze": lambda: pd.squeeze(x),
    }
    if not rank:
        return others

    def slice_() -> Any:
        axis, low, high = _part(writer, shape)
        dropped = (axis,) if high == low + 1 and writer.perhaps() else ()
        return pd.slice(x, axes=(axis,), starts=(low,), ends=(high,), decrease_axis=dropped)

    def permutation() -> tuple[int, ...]:
        if perms and writer.perhaps():
            return writer.one_of(perms)
        if rank > 2 and writer.perhaps():
            return (*range(1, rank), 0)  # not its own inverse, as most that are drawn are
        return tuple(writer.draw(st.permutations(range(rank))))

    def split() -> Any:
        axis, low, _ = _part(writer, shape)
        return pd.split(x, sections=(low, -1) if low else (-1,), axis=axis)

    return {
        "pd.slice": slice_,
        "pd.transpose": lambda: pd.transpose(x, perm=permutation()),
        **others,
        "pd.split": split,
        "pd.flatten": lambda: pd.flatten(x, start_axis=0, stop_axis=rank - 1),
    }


def _part(writer: Writer, shape: Sequence[int]) -> tuple[int, int, int]:
    """An axis, and the ends of a range of it that is not empty."""
    axis = writer.number(0, len(shape) - 1)
    low = writer.number(0, shape[axis] - 1)
    return axis, low, writer.number(low + 1, shape[axis])


def view(writer: Writer) -> Sequence[Value]:
    """Elements of a value at other places."""
    return _view_of(writer, writer.tensor())


def tensor_view(writer: Writer) -> Sequence[Value]:
    """A view of storage."""
    x = writer.value(lambda t: isinstance(t, TensorType))
    return _view_of(writer, x) if x is not None else ()


def _view_of(writer: Writer, x: Value) -> Sequence[Value]:
    choices = view_choices(writer, x)
    # Permutations of three axes and more are what views get wrong first.
    more = [choices["pd.transpose"]] * 3 if ranked(x).rank > 2 else []
    return writer.insert(writer.by_habit("view", [*choices.values(), *more]))


def movement(writer: Writer) -> Sequence[Value]:
    """Elements copied to other places."""
    x = writer.tensor()
    type_ = ranked(x)
    shape = type_.shape
    choices: list[Callable[[], Any]] = [lambda: pd.expand(x, shape=writer.one_of([shape, (2, *shape)]))]
    if shape:
        axis, low, high = _part(writer, shape)
        other = writer.related(x, lambda t: t.shape == shape and t.element is type_.element)
        y = x if other is None else other
        part = tuple(high - low if i == axis else extent for i, extent in enumerate(shape))
        source = writer.value(lambda t: t.element is type_.element and stretches(t.shape, part))
        places = DenseAttr(np.arange(low, high, dtype=np.int32)[::-1], VTensorType((high - low,), i32))
        choices += [
            lambda: pd.concat([x, y], axis=axis),
            lambda: pd.gather(x, builtin.constant(value=places), axis=axis),
        ]
        if source is not None:
            choices.append(lambda: pd.set_value(x, source, axes=(axis,), starts=(low,), ends=(high,)))
    return writer.insert(writer.by_habit("movement", choices))
