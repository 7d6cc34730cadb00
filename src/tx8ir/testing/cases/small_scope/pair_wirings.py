"""Wirings of two operations: one on the result of the other, or both on the same, and what may lie between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tx8ir.core import RankedTensor, TensorType, Type, Value, VTensorType, bf16, f32
from tx8ir.dialects import builtin, pd
from tx8ir.dialects.domains import Domain
from tx8ir.dialects.samples import Sample

from .draft import Draft, Unfit, fitted, ranked, stored
from .wirings import takes

PairWiring: TypeAlias = Callable[[Draft, Sample, Sample, int], None]
Change: TypeAlias = Callable[[Draft, Value, int], Value]


def _second(
    d: Draft, t: Sample, place: int, value: Value, near: Sequence[Value] = (), *, all_: bool = False
) -> tuple[Value, ...]:
    """The second operation on a value as that operand, or as all of its type; the others are `near` or inputs."""
    t = fitted(t, place, value.type)
    is_static = isinstance(value.type, RankedTensor) and value.type.is_static
    values: list[Value] = []
    for index, operand in enumerate(t.operands):
        type_ = operand.type
        if index == place or (all_ and _alike(type_, value.type)):
            values.append(value)
            continue
        if not is_static and not (isinstance(type_, RankedTensor) and type_.is_static):
            raise Unfit  # nothing says that the extents are the same
        found = [v for v in near if v.type is type_]
        values.append(found[0] if found else d.input(type_))
    return d.apply(t, values)


def _alike(a: Type, b: Type) -> bool:
    return isinstance(a, RankedTensor) and isinstance(b, RankedTensor) and a.to_tensor() is b.to_tensor()


def _chained(place: int) -> PairWiring:
    def chain(d: Draft, s: Sample, t: Sample, turn: int) -> None:
        d.give(*_second(d, t, place, d.apply(s, d.inputs(s))[0]))

    chain.__name__ = f"chain_{place}"
    return takes(0, place + 1)(chain)


chain_0, chain_1, chain_2 = map(_chained, range(3))


@takes(0, 2)
def chain_all(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """The result as every operand of its type."""
    d.give(*_second(d, t, 0, d.apply(s, d.inputs(s))[0], all_=True))


@takes(0, 2)
def chain_back(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """On the result and what it was made of: (x + y) - y."""
    values = d.inputs(s)
    first = d.apply(s, values)[0]
    near = values[::-1] if turn % 2 == 0 else values
    d.give(*_second(d, t, turn % 2, first, near))


@takes(0, 1)
def chain_kept(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """On the result, which is given, too."""
    first = d.apply(s, d.inputs(s))
    d.give(*_second(d, t, turn % max(1, len(t.types)), first[0]), *first)


@takes(0, 1)
def chain_of_last_result(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """On the last of several results."""
    first = d.apply(s, d.inputs(s))
    if len(first) < 2:
        raise Unfit
    d.give(*_second(d, t, 0, first[-1]))


@takes(2, 2)
def chain_with_constants(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """Each with a constant of one number as its last operand: (x * 2) * 3."""
    *others, last = s.operands
    first = d.apply(s, [*(d.input(o.type) for o in others), d.splat(last, turn)])[0]
    t = fitted(t, 0, first.type)
    *rest, last = t.operands
    if isinstance(first.type, RankedTensor) and not first.type.is_static:
        raise Unfit
    d.give(*d.apply(t, [first, *(d.input(o.type) for o in rest[1:]), d.splat(last, turn // 2 + 1)]))


@takes(1, 1)
def chain_on_storage(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """On the result, all on storage."""
    s = stored(s)
    d.give(*_second(d, t, 0, d.apply(s, d.inputs(s))[0]))


@takes(1, 1)
def written_between(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """On the result, which is written before; both are on storage."""
    s = stored(s)
    values = d.inputs(s)
    first = d.apply(s, values)[0]
    if not isinstance(first.type, TensorType):
        raise Unfit
    d.write(first, turn)
    d.give(*_second(d, t, 0, first), first)


@takes(1, 1)
def source_written_between(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """On the result, after what it was made of was written."""
    s = stored(s)
    values = d.inputs(s)
    first = d.apply(s, values)[0]
    d.write(next(v for v in values if isinstance(v.type, TensorType)), turn)
    d.give(*_second(d, t, 0, first), *values)


def _through(change: Change) -> PairWiring:
    def through(d: Draft, s: Sample, t: Sample, turn: int) -> None:
        first = d.apply(s, d.inputs(s))[0]
        d.give(*_second(d, t, 0, change(d, first, turn)))

    through.__name__ = f"through_{change.__name__}"
    return takes(0, 1)(through)


def reshape(d: Draft, x: Value, turn: int) -> Value:
    """The elements in another shape of as many axes."""
    type_ = ranked(x.type)
    return pd.reshape(x, shape=type_.shape[::-1]).out if all(type_.shape) else pd.unsqueeze(x, axis=(0,)).out


def transpose(d: Draft, x: Value, turn: int) -> Value:
    """Its axes in another order."""
    rank = ranked(x.type).rank
    perm = tuple(reversed(range(rank))) if turn % 2 else (*range(1, rank), *range(min(rank, 1)))
    return pd.transpose(x, perm=perm).out


def slice_(d: Draft, x: Value, turn: int) -> Value:
    """A part of it."""
    type_ = ranked(x.type)
    if not type_.rank or not type_.shape[0]:
        raise Unfit
    return pd.slice(x, axes=(0,), starts=(-1,), ends=(2**31 - 1,)).out


def cast(d: Draft, x: Value, turn: int) -> Value:
    """To another element type and back."""
    element = ranked(x.type).element
    other = bf16 if element is f32 else f32
    return pd.cast(pd.cast(x, dtype=other).out, dtype=element).out if turn % 2 else pd.cast(x, dtype=other).out


def copy(d: Draft, x: Value, turn: int) -> Value:
    """A copy."""
    return (pd.assign(x) if turn % 2 else builtin.to_vtensor(builtin.to_tensor(x))).out


def written_copy(d: Draft, x: Value, turn: int) -> Value:
    """A copy in storage, written there."""
    held = builtin.to_tensor(x).out
    d.write(held, turn)
    return held


def loops_value(d: Draft, x: Value, turn: int) -> Value:
    """What a loop of 0 to 2 rounds carries, which it exchanges with an input."""
    return d.loop(turn % 3, [x, d.input(x.type)], lambda carried: (carried[1], carried[0]))[0]


def branchs_value(d: Draft, x: Value, turn: int) -> Value:
    """What one side of a branch gives, and the other does not."""
    return d.branch(lambda: [x], lambda given: [d.input(x.type)])[0]


@takes(1, 1)
def siblings(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """Both on the same operands where they can be."""
    values = d.inputs(s)
    first = d.apply(s, values)
    d.give(*first, *_on_the_same(d, t, values))


@takes(1, 1)
def siblings_across_a_write(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """Both on the same storage, which is written in between."""
    s = stored(s)
    values = d.inputs(s)
    x = next(v for v in values if isinstance(v.type, TensorType))
    first = d.apply(s, values)
    d.write(x, turn)
    d.give(*first, *_second(d, t, 0, x, values[1:]))


@takes(1, 1)
def siblings_in_branches(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """One in each branch, on the same operands."""
    values = d.inputs(s)

    def otherwise(given: Sequence[Value]) -> Sequence[Value]:
        found = _on_the_same(d, t, values)
        return [*found[:1], *(d.input(v.type) for v in given[1:])]

    types = s.result_types
    t = fitted(t, 0, values[0].type)
    if t.result_types[0] is not types[0]:
        raise Unfit
    d.give(*d.branch(lambda: d.apply(s, values), otherwise))


def _on_the_same(d: Draft, t: Sample, values: Sequence[Value]) -> tuple[Value, ...]:
    """The second operation on values that the first has."""
    t = fitted(t, 0, values[0].type)
    rest = list(values)
    found: list[Value] = []
    for type_ in t.types:
        value = next((v for v in rest if v.type is type_), None)
        if value is None:
            value = d.input(type_)
        else:
            rest.remove(value)
        found.append(value)
    return d.apply(t, found)


def _same_weights(d: Draft, s: Sample, t: Sample, make: Callable[[int, Domain, Type], Value]) -> None:
    place = len(s.types) - 1
    operand = s.operands[place]
    t = fitted(t, len(t.types) - 1, operand.type)
    domains = (operand.domain, t.operands[-1].domain)
    if domains[0] != domains[1] or isinstance(operand.type, TensorType):
        raise Unfit
    first = d.apply(s, [*(d.input(o) for o in s.types[:-1]), make(0, domains[0], operand.type)])
    second = d.apply(t, [*(d.input(o) for o in t.types[:-1]), make(1, domains[1], operand.type)])
    d.give(*first, *second)


@takes(1, 1)
def equal_weights(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """Each with a variable of its own, both with the same contents."""
    _same_weights(d, s, t, lambda number, domain, type_: d.weight(s.operands[-1])[1])


@takes(1, 1)
def one_weight(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """Both on the same variable, read twice."""
    names: list[str] = []

    def make(number: int, domain: Domain, type_: Type) -> Value:
        if names:
            return d.read(names[0], ranked(type_))
        name, value = d.weight(s.operands[-1], mutable=bool(turn % 2))
        names.append(name)
        return value

    if not s.operands[-1].domain.is_everything:
        raise Unfit
    _same_weights(d, s, t, make)


@takes(1, 1)
def equal_constants(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """Both with equal constants, or with nearly equal ones."""
    _same_weights(d, s, t, lambda number, domain, type_: d.dense(s.operands[-1], number * (turn % 2)))


@takes(0, 1)
def outside_and_inside(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """The second inside a branch, on the result of the first outside."""
    first = d.apply(s, d.inputs(s))[0]
    d.give(*d.branch(lambda: _second(d, t, 0, first), lambda given: [d.input(v.type) for v in given]))


@takes(0, 1)
def inside_and_outside(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """The second on the result of a branch that the first is in."""
    values = d.inputs(s)
    results = d.branch(lambda: d.apply(s, values), lambda given: [d.input(v.type) for v in given])
    d.give(*_second(d, t, 0, results[0]))


@takes(0, 1)
def before_a_loop(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """The second in a loop of 0 to 2 rounds, on the result of the first outside."""
    first = d.apply(s, d.inputs(s))[0]
    types = fitted(t, 0, first.type).result_types
    d.give(*d.loop(turn % 3, [d.input(u) for u in types], lambda carried: _second(d, t, 0, first)))


@takes(0, 1)
def after_a_loop(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """The second on what a loop of 0 to 2 rounds gives that the first is in."""
    values = d.inputs(s)
    results = d.loop(turn % 3, [d.input(u) for u in s.result_types], lambda carried: d.apply(s, values))
    d.give(*_second(d, t, 0, results[0]))


@takes(0, 1)
def both_in_a_loop(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """Both in a loop of 0 to 2 rounds that carries the result of the second to the first, where it can."""
    values = d.inputs(s)
    types = fitted(t, 0, s.result_types[0]).result_types

    def body(carried: Sequence[Value]) -> Sequence[Value]:
        first = d.apply(s, [carried[0] if i == 0 and v.type is types[0] else v for i, v in enumerate(values)])
        return _second(d, t, 0, first[0])

    d.give(*d.loop(turn % 3, [d.input(u) for u in types], body))


@takes(0, 1)
def in_caller_and_function(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """The second in a function that is given the result of the first."""
    first = d.apply(s, d.inputs(s))[0]
    t = fitted(t, 0, first.type)
    if any(not o.domain.is_everything for o in t.operands):
        raise Unfit
    if any(isinstance(u, RankedTensor) and not u.is_static for u in t.types):
        raise Unfit
    given = [first, *(d.input(u) for u in t.types[1:])]
    types = [v.type for v in given]
    d.function("f", types, lambda args: d.apply(t, args))
    d.give(*d.call("f", given))


@takes(0, 1)
def taken_from_a_list(d: Draft, s: Sample, t: Sample, turn: int) -> None:
    """The second on the result of the first, put into a list with another value and taken out."""
    first = d.apply(s, d.inputs(s))[0]
    held = builtin.combine([d.input(first.type), first, first]).out
    d.give(*_second(d, t, 0, builtin.slice_(held, index=1 + turn % 2).out))


def stretched(d: Draft, x: Value, turn: int) -> Value:
    """Stretched along a new axis."""
    type_ = ranked(x.type)
    return pd.expand(x, shape=(2, *type_.shape)).out


def joined(d: Draft, x: Value, turn: int) -> Value:
    """Behind itself, or an input."""
    type_ = ranked(x.type)
    if not type_.rank:
        raise Unfit
    other = x if turn % 2 else d.input(VTensorType(type_.shape, type_.element))
    return pd.concat([x, other], axis=-1).out


PAIRS: tuple[PairWiring, ...] = (
    chain_0, chain_1, siblings, chain_back, chain_all, chain_with_constants, chain_kept, chain_2, chain_of_last_result,
    _through(transpose), _through(reshape), _through(cast), _through(copy), _through(slice_), _through(stretched),
    _through(joined), _through(written_copy), _through(loops_value), _through(branchs_value), chain_on_storage,
    written_between, source_written_between, siblings_across_a_write, siblings_in_branches, one_weight, equal_weights,
    equal_constants, outside_and_inside, inside_and_outside, before_a_loop, after_a_loop, both_in_a_loop,
    in_caller_and_function, taken_from_a_list,
)  # fmt: skip
"""The wirings of two operations, the plainest first."""
