"""Wirings: the ways in which one operation stands in a program.

A wiring writes the operation of a sample into a draft. It is told a `turn`, a number by which it chooses where it has a
choice (a constant, a way to write storage), so that many programs of one wiring meet all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from tx8ir.core import RankedTensor, TensorType, Type, Value, VTensorType
from tx8ir.dialects import builtin, pd
from tx8ir.dialects.samples import Sample

from .draft import Draft, Unfit, computed, ranked, stored

Wiring: TypeAlias = Callable[[Draft, Sample, int], None]
WiringT = TypeVar("WiringT", bound=Callable[..., None])

_TAKES: dict[Callable[..., None], tuple[int, ...]] = {}


def takes(*counts: int) -> Callable[[WiringT], WiringT]:
    """Says how many operands the operations of a wiring have at least."""

    def say(wiring: WiringT) -> WiringT:
        _TAKES[wiring] = counts
        return wiring

    return say


def may_take(wiring: Callable[..., None], samples: Sequence[Sample]) -> bool:
    """Whether the operations have as many operands as a wiring needs; most that do not fit are found so."""
    return all(len(s.types) >= count for s, count in zip(samples, _TAKES.get(wiring, ()), strict=False))


def alone(d: Draft, s: Sample, turn: int) -> None:
    """On inputs, its results given."""
    d.give(*d.apply(s, d.inputs(s)))


def given_twice(d: Draft, s: Sample, turn: int) -> None:
    """Its results given twice."""
    results = d.apply(s, d.inputs(s))
    d.give(*results, *results)


def unused(d: Draft, s: Sample, turn: int) -> None:
    """Its results not used; what it was given is."""
    values = d.inputs(s)
    d.apply(s, values)
    d.give(*values)


def unused_in_part(d: Draft, s: Sample, turn: int) -> None:
    """Some of its results not used: each choice of them in turn."""
    count = len(s.result_types)
    if count < 2:
        raise Unfit
    results = d.apply(s, d.inputs(s))
    used = 1 + turn % ((1 << count) - 2)
    d.give(*(r for i, r in enumerate(results) if used >> i & 1))


def between_others(d: Draft, s: Sample, turn: int) -> None:
    """On values that are computed; its results are operands."""
    values = [v if not o.domain.is_everything else computed(v) for v, o in zip(d.inputs(s), s.operands, strict=True)]
    d.give(*map(computed, d.apply(s, values)))


@takes(2)
def one_value(d: Draft, s: Sample, turn: int) -> None:
    """One value for all operands of its type."""
    made: dict[Type, Value] = {}
    values = [made[t] if t in made else made.setdefault(t, d.input(t)) for t in s.types]
    if len(made) == len(values):
        raise Unfit
    d.give(*d.apply(s, values))


@takes(1)
def on_storage(d: Draft, s: Sample, turn: int) -> None:
    """On inputs that are storage."""
    s = stored(s)
    d.give(*d.apply(s, d.inputs(s)))


@takes(1)
def on_constants(d: Draft, s: Sample, turn: int) -> None:
    """On constants."""
    d.give(*d.apply(s, [d.dense(o, i) for i, o in enumerate(s.operands)]))


def _one_splat(d: Draft, s: Sample, place: int, turn: int) -> None:
    operands = s.operands
    place %= len(operands)
    d.give(*d.apply(s, [d.splat(o, turn) if i == place else d.input(o.type) for i, o in enumerate(operands)]))


@takes(2)
def splat_first(d: Draft, s: Sample, turn: int) -> None:
    """A constant of one number as its first operand."""
    _one_splat(d, s, 0, turn)


@takes(2)
def splat_last(d: Draft, s: Sample, turn: int) -> None:
    """A constant of one number as its last operand."""
    _one_splat(d, s, -1, turn)


@takes(2)
def dense_last(d: Draft, s: Sample, turn: int) -> None:
    """A constant as its last operand."""
    d.give(*d.apply(s, [*(d.input(t) for t in s.types[:-1]), d.dense(s.operands[-1], turn)]))


@takes(1)
def on_weights(d: Draft, s: Sample, turn: int) -> None:
    """On variables, all but the first operand."""
    first = [d.input(s.types[0])] if len(s.types) > 1 else []
    d.give(*d.apply(s, [*first, *(d.weight(o)[1] for o in s.operands[len(first) :])]))


def twice(d: Draft, s: Sample, turn: int) -> None:
    """Twice on the same operands."""
    values = d.inputs(s)
    d.give(*d.apply(s, values), *d.apply(s, values))


@takes(2)
def exchanged(d: Draft, s: Sample, turn: int) -> None:
    """On two operands, and on these exchanged."""
    values = d.inputs(s)
    if values[0].type is not values[1].type:
        raise Unfit
    d.give(*d.apply(s, values), *d.apply(s, [values[1], values[0], *values[2:]]))


@takes(1)
def on_its_result(d: Draft, s: Sample, turn: int) -> None:
    """On its own result."""
    values = d.inputs(s)
    first = d.apply(s, values)
    places = [i for i, v in enumerate(values) if v.type is first[0].type]
    if not places:
        raise Unfit
    place = places[turn % len(places)]
    d.give(*d.apply(s, [first[0] if i == place else v for i, v in enumerate(values)]))


def _written(d: Draft, s: Sample, turn: int, around: Callable[[Callable[[], None]], None]) -> None:
    """Looked at, written, looked at again."""
    s = stored(s)
    values = d.inputs(s)
    places = [i for i, v in enumerate(values) if isinstance(v.type, TensorType)]
    first = d.apply(s, values)
    around(lambda: d.write(values[places[turn % len(places)]], turn // len(places)))
    d.give(*first, *d.apply(s, values))


@takes(1)
def across_a_write(d: Draft, s: Sample, turn: int) -> None:
    """Twice on storage that is written in between."""
    _written(d, s, turn, lambda write: write())


@takes(1)
def across_a_write_in_a_branch(d: Draft, s: Sample, turn: int) -> None:
    """Twice on storage that a branch may write in between."""

    def branch(write: Callable[[], None]) -> None:
        def then() -> Sequence[Value]:
            write()
            return ()

        d.branch(then)

    _written(d, s, turn, branch)


@takes(1)
def across_a_write_in_a_loop(d: Draft, s: Sample, turn: int) -> None:
    """Twice on storage that a loop writes in between, or does not: of 0 to 2 rounds."""

    def loop(write: Callable[[], None]) -> None:
        def body(carried: Sequence[Value]) -> Sequence[Value]:
            write()
            return ()

        d.loop(turn % 3, (), body)

    _written(d, s, turn, loop)


@takes(1)
def across_a_new_parameter(d: Draft, s: Sample, turn: int) -> None:
    """Twice on reads of a variable that gets another content in between."""
    values = d.inputs(s)
    place = turn % len(values)
    operand = s.operands[place]
    type_ = ranked(operand.type)
    if not operand.domain.is_everything or isinstance(type_, TensorType):
        raise Unfit
    name, values[place] = d.weight(operand, mutable=True)
    first = d.apply(s, values)
    builtin.set_parameter(d.input(type_), parameter=name)
    values[place] = d.read(name, type_)
    d.give(*first, *d.apply(s, values))


def in_a_branch(d: Draft, s: Sample, turn: int) -> None:
    """In a branch; the other gives inputs."""
    values = d.inputs(s)
    d.give(*d.branch(lambda: d.apply(s, values), lambda given: [d.input(v.type) for v in given]))


def in_both_branches(d: Draft, s: Sample, turn: int) -> None:
    """The same in both branches."""
    values = d.inputs(s)
    d.give(*d.branch(lambda: d.apply(s, values), lambda given: d.apply(s, values)))


def in_a_loop(d: Draft, s: Sample, turn: int) -> None:
    """In a loop of 0 to 2 rounds, on what it carries where that is possible."""
    types = s.result_types
    values = d.inputs(s)

    def body(carried: Sequence[Value]) -> Sequence[Value]:
        return d.apply(s, [carried[0] if v.type is types[0] and i == 0 else v for i, v in enumerate(values)])

    d.give(*d.loop(turn % 3, [d.input(t) for t in types], body))


def invariant_in_a_loop(d: Draft, s: Sample, turn: int) -> None:
    """In a loop of 0 to 2 rounds, the same in every round."""
    values = d.inputs(s)
    d.give(*d.loop(turn % 3, [d.input(t) for t in s.result_types], lambda carried: d.apply(s, values)))


@takes(2)
def exchanged_by_a_loop(d: Draft, s: Sample, turn: int) -> None:
    """In a loop that exchanges two values in every round."""
    types = s.types
    if types[0] is not types[1] or s.result_types[0] is not types[0]:
        raise Unfit
    values = d.inputs(s)

    def body(carried: Sequence[Value]) -> Sequence[Value]:
        return carried[1], d.apply(s, [*carried, *values[2:]])[0]

    d.give(*d.loop(turn % 3, values[:2], body))


def in_a_function(d: Draft, s: Sample, turn: int) -> None:
    """In a function that is called twice."""
    values = d.inputs(s)
    if any(not o.domain.is_everything for o in s.operands):
        raise Unfit
    d.function("f", s.types, lambda args: d.apply(s, args))
    others = [d.input(t) if i == turn % max(1, len(values)) else values[i] for i, t in enumerate(s.types)]
    d.give(*d.call("f", values), *d.call("f", others))


@takes(1)
def through_a_list(d: Draft, s: Sample, turn: int) -> None:
    """On operands that come out of a list."""
    if any(not o.domain.is_everything for o in s.operands):
        raise Unfit
    held = builtin.combine(d.inputs(s)).out
    d.give(*d.apply(s, builtin.split(held).results))


def fed_and_fetched(d: Draft, s: Sample, turn: int) -> None:
    """On feeds, its result fetched."""
    values = [pd.feed(feed_name=f"feed{i}", out=t).out for i, t in enumerate(s.types)]
    if any(not o.domain.is_everything for o in s.operands):
        raise Unfit
    results = d.apply(s, values)
    pd.fetch(results[0], fetch_name="fetched")
    d.give(*results)


@takes(1)
def on_scalars_stretched(d: Draft, s: Sample, turn: int) -> None:
    """On an operand that was stretched from one element."""
    values = d.inputs(s)
    place = turn % len(values)
    type_ = ranked(s.types[place])
    if isinstance(type_, TensorType) or not s.operands[place].domain.is_everything:
        raise Unfit
    scalar = d.input(VTensorType((), type_.element))
    values[place] = pd.expand(scalar, shape=type_.shape).out
    d.give(*d.apply(s, values))


@takes(1)
def into_a_view(d: Draft, s: Sample, turn: int) -> None:
    """On storage of which a view is written; both are given."""
    s = stored(s)
    values = d.inputs(s)
    x = next(v for v in values if isinstance(v.type, TensorType))
    type_ = x.type
    assert isinstance(type_, RankedTensor)
    if not type_.rank or type_.rank > 4:
        raise Unfit
    view = pd.transpose(x, perm=tuple(reversed(range(type_.rank)))).out
    first = d.apply(s, values)
    d.write(view, turn)
    d.give(*first, *d.apply(s, values), view)


ONE: tuple[Wiring, ...] = (
    alone, splat_last, splat_first, one_value, on_storage, across_a_write, on_constants, dense_last, on_weights,
    on_its_result, twice, exchanged, unused, given_twice, in_a_branch, in_both_branches, in_a_loop,
    invariant_in_a_loop, exchanged_by_a_loop, in_a_function, across_a_new_parameter, across_a_write_in_a_branch,
    across_a_write_in_a_loop, into_a_view, through_a_list, fed_and_fetched, on_scalars_stretched, unused_in_part,
    between_others,
)  # fmt: skip
"""The wirings of one operation, the plainest first."""
