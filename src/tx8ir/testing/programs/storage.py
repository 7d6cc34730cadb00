"""Steps about what changes: storage, variables, feeds; and about lists and dictionaries, which share it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tx8ir.core import DictType, ListType, RankedTensor, TensorType, Value, VTensorType, i1
from tx8ir.dialects import builtin, pd

from .arithmetic import stretches
from .features import SHAPES
from .writer import Writer, ranked

# --- storage ---------------------------------------------------------------------------------------------------------


def copy(writer: Writer) -> Sequence[Value]:
    """A value in storage of its own, or what storage holds now."""
    x = writer.tensor()
    held = isinstance(x.type, TensorType) and writer.perhaps()
    return writer.insert(lambda: builtin.to_vtensor(x) if held else builtin.to_tensor(x))


def in_place(writer: Writer) -> Sequence[Value]:
    """An operation that writes storage."""
    x = writer.value(lambda t: isinstance(t, TensorType) and t.element is not i1)
    return write_to(writer, x) if x is not None else ()


def write_to(writer: Writer, x: Value) -> Sequence[Value]:
    """An operation that writes the storage of `x`, not of truth values."""
    type_ = ranked(x)
    choices: list[Callable[[], Any]] = [
        lambda: pd.scale_(x, scale=writer.literal(type_.element), bias=1.0),
        lambda: pd.relu_(x),
        lambda: pd.fill_(x, value=writer.literal(type_.element)),
    ]
    # What is read comes from anywhere, the storage written included.
    y = writer.related(x, lambda t: t.element is type_.element and stretches(t.shape, type_.shape))
    if y is not None:
        choices += [lambda: pd.add_(x, y), lambda: pd.subtract_(x, y), lambda: pd.multiply_(x, y)]
        if ranked(y).shape == type_.shape:
            choices.append(lambda: pd.assign_(x, y))
        if type_.rank:
            axis = writer.number(0, type_.rank - 1)
            low = writer.number(0, type_.shape[axis] - 1)
            part = [1 if i == axis else extent for i, extent in enumerate(type_.shape)]
            if stretches(ranked(y).shape, tuple(part)):
                choices.append(lambda: pd.set_value_(x, y, axes=(axis,), starts=(low,), ends=(low + 1,)))
    return writer.insert(writer.by_habit("in_place", choices))


# --- variables -------------------------------------------------------------------------------------------------------


def read(writer: Writer) -> Sequence[Value]:
    """A read of a variable; a mutable one may be read as a tensor, which shares its storage."""
    found = writer.variable()
    assert found is not None  # any will do
    name, type_ = found
    return writer.insert(lambda: builtin.get_parameter(parameter=name, out=_read_type(writer, name, type_)))


def _read_type(writer: Writer, name: str, type_: RankedTensor) -> RankedTensor:
    shares = writer.features.aliases and writer.program.weights[name].is_mutable and writer.perhaps()
    return type_.to_tensor() if shares else type_.to_vtensor()


def write_parameter(writer: Writer) -> Sequence[Value]:
    """A new content for a mutable variable."""
    found = writer.variable(mutable=True)
    if found is None:
        return ()
    name, type_ = found
    value = writer.value(lambda t: t.to_vtensor() is type_.to_vtensor())
    if value is None:
        value = writer.value_of(type_.to_vtensor())
    return writer.insert(lambda: builtin.set_parameter(value, parameter=name))


def combined_parameters(writer: Writer) -> Sequence[Value]:
    """Several variables read or written at once, as a list."""
    weights = writer.program.weights
    chosen: dict[str, RankedTensor] = dict(v for v in (writer.variable(), writer.variable()) if v is not None)
    if all(weights[name].is_mutable for name in chosen) and writer.perhaps():
        values = [writer.value_of(type_.to_vtensor()) for type_ in chosen.values()]
        made = writer.insert(lambda: builtin.combine(values))[0]
        return writer.insert(lambda: builtin.set_combine_parameter(made, parameters=tuple(chosen)))
    out = ListType([_read_type(writer, name, type_) for name, type_ in chosen.items()])
    made = writer.insert(lambda: builtin.get_combine_parameter(parameters=tuple(chosen), out=out))[0]
    return writer.insert(lambda: builtin.split(made))


# --- feeds -----------------------------------------------------------------------------------------------------------


def feed(writer: Writer) -> Sequence[Value]:
    """An input read by name."""
    features = writer.features
    name = f"feed{sum(isinstance(op, pd.FeedOp) for op in writer.program.main.walk())}"
    element = writer.element()
    kind = TensorType if features.aliases and writer.perhaps() else VTensorType
    type_ = kind(writer.one_of(SHAPES), element)
    return writer.insert(lambda: pd.feed(feed_name=name, out=type_))


def fetch(writer: Writer) -> Sequence[Value]:
    """A value made a result by name."""
    name = f"fetch{sum(isinstance(op, pd.FetchOp) for op in writer.program.main.walk())}"
    x = writer.tensor()
    return writer.insert(lambda: pd.fetch(x, fetch_name=name))


# --- lists and dictionaries ------------------------------------------------------------------------------------------

KEYS = ("b", "a")
"""Keys of dictionaries, in an order that sorting changes."""


def put_together(writer: Writer) -> Sequence[Value]:
    """Values put into a list or a dictionary, and perhaps taken out again at once."""
    items = writer.two_alike()
    if writer.perhaps():
        made = writer.insert(lambda: builtin.make_dict(items, keys=KEYS[: len(items)]))[0]
    else:
        made = writer.insert(lambda: builtin.combine(items))[0]
    return (made, *_taken_out(writer, made)) if writer.perhaps() else _taken_out(writer, made)


def take_apart(writer: Writer) -> Sequence[Value]:
    """A value taken out of a list or dictionary of the pool."""
    holders = [v for v in reversed(writer.pool) if isinstance(v.type, (ListType, DictType))]
    return _taken_out(writer, writer.newest(holders)) if holders else ()


def _taken_out(writer: Writer, holder: Value) -> Sequence[Value]:
    if isinstance(holder.type, DictType):
        key = writer.one_of(tuple(holder.type.keys))
        return writer.insert(lambda: builtin.get_item(holder, key=key))
    assert isinstance(holder.type, ListType)
    if writer.perhaps():
        return writer.insert(lambda: builtin.split(holder))
    index = writer.number(0, len(holder.type.elements) - 1)
    return writer.insert(lambda: builtin.slice_(holder, index=index))
