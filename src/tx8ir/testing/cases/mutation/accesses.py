"""Programs that read and write storage and variables, in a row and inside branches, loops and functions.

What a pass over effects gets wrong is a matter of order: a write between two reads, one in the next turn of a loop, one
inside a branch that was not looked into, one under another name. So the accesses are drawn one by one, at any place of
any nesting, on few things, that they meet; and what was read is given in the end, with all that is stored then.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from tx8ir.core import ListType, TensorType, Type, Value, i32
from tx8ir.dialects import builtin, pd
from tx8ir.testing.inputs import draw_array

from .draft import Draft

_DEPTH = 2
_LISTS = frozenset({"builtin.get_combine_parameter", "builtin.set_combine_parameter"})
_MEETINGS = 0.35
"""How many accesses are of one place under two names."""
_ACCESSES = ("read",) * 3 + ("write",) * 3 + ("copy", "view", "view", "name")


@attrs.define(eq=False)
class _Scope:
    """What accesses of a block can be about.

    Attributes:
        values: the values there are, of the usual type, newest last.
        stored: the tensors in storage, and other names and views of them.
        kept: what was read and computed, which should be seen.
        depth: how many regions and functions are around.
    """

    values: list[Value]
    stored: list[Value]
    kept: list[Value] = attrs.field(factory=list[Value])
    depth: int = 0

    def inside(self, *values: Value) -> _Scope:
        """What a region inside starts with."""
        return _Scope([*self.values, *values], list(self.stored), [], self.depth + 1)


class _Accesses:
    """Draws the accesses of one program."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.rng = rng = draft.rng
        about = draft.material.direction.ops
        which = rng.choice(("storage", "storage", "variables", "both"))
        if about and rng.random() < 0.75:  # what the pass names
            variables = any("parameter" in name for name in about)
            storage = any(name.endswith("_") or "tensor" in name for name in about)
            which = "both" if variables == storage else "variables" if variables else "storage"
        regions = {"branch": "scf.if", "loop": "scf.while", "call": "func.call"}
        wanted = [kind for kind, op in regions.items() if op in about]
        self.regions = wanted if wanted and rng.random() < 0.7 else [k for k in regions if rng.random() < 0.4]
        self.names: list[str] = []
        if which != "storage":
            first = contents(draft, None)
            self.names.append(draft.variable(first, mutable=True))
            if draft.perhaps(0.7 if _LISTS & about else 0.3):
                self.names.append(draft.variable(contents(draft, first), mutable=draft.perhaps()))
        self.has_storage = which != "variables"
        self.most = rng.choice((2, 3, 3, 4))

    def program(self) -> Sequence[Value]:
        draft, rng = self.draft, self.rng
        x = draft.input()
        scope = _Scope([x, draft.input()] if draft.perhaps() else [x], [])
        if self.has_storage:
            for _ in range(rng.choice((1, 1, 2))):
                if draft.perhaps(0.6):
                    scope.stored.append(draft.input(draft.type.to_tensor()))
                else:
                    with draft.at(draft.block):
                        scope.stored.append(builtin.to_tensor(rng.choice(scope.values)).out)
        if self.regions and draft.perhaps(0.7):
            # One access, or none, on each side of a region: what passes over effects look at first.
            self.some(scope, rng.choice((0, 1, 1, 2)))
            self.region(scope)
            self.some(scope, rng.choice((0, 1, 1, 2)))
        else:
            self.some(scope, rng.randrange(2, 7))
        last: list[Value] = []
        for name in self.names:
            if draft.perhaps(0.7):
                last.append(draft.read(name))
        with draft.at(draft.block):
            for stored in scope.stored:
                if draft.perhaps(0.7):
                    last.append(builtin.to_vtensor(stored).out)
            if last and draft.perhaps(0.15):
                return [pd.divide(x, v).out if v.type is x.type else v for v in (*scope.kept[-4:], *last)]
        return [*scope.kept[-4:], *last] or [x]

    def some(self, scope: _Scope, count: int) -> None:
        for _ in range(count):
            self.access(scope)

    def access(self, scope: _Scope) -> None:
        """One access, of storage or of a variable, an operation, or a region with accesses inside."""
        rng = self.rng
        if self.regions and scope.depth < _DEPTH and rng.random() < 0.2:
            self.region(scope)
        elif rng.random() < _MEETINGS and (scope.stored or self.mutable()):
            self.meeting(scope)
        elif self.names and (not scope.stored or rng.random() < 0.5):
            self.variable(scope)
        elif scope.stored:
            stored = scope.stored[0] if rng.random() < 0.4 else rng.choice(scope.stored)
            self.storage(scope, stored, rng.choice(_ACCESSES))
        else:
            self.operation(scope)
        if rng.random() < 0.15:
            self.operation(scope)

    def mutable(self) -> list[str]:
        """The variables that can be written."""
        return [name for name in self.names if self.draft.program.weights[name].is_mutable]

    def meeting(self, scope: _Scope) -> None:
        """An access, a write of the same place under another name, and a read under the first.

        Names are views, what a branch or a list gives, and the storage of a variable; the write is here, in a branch,
        a loop or a function, or nothing is written after all.
        """
        draft, rng = self.draft, self.rng
        given: list[Value] = []  # to a function besides the other name
        variables = self.mutable()
        if variables and (not scope.stored or draft.perhaps()):
            name = rng.choice(variables)

            def first(how: str) -> None:
                if how == "read":
                    self.keep(scope, draft.read(name))
                else:
                    draft.store(name, rng.choice(scope.values[-3:]))

            def other() -> Value:
                return self.storage_of(name)
        else:
            names = [v for v in scope.stored if v.type is scope.stored[0].type]
            one = rng.choice(names if draft.perhaps(0.7) else scope.stored)
            given.append(one)

            def first(how: str) -> None:
                self.storage(scope, one, how)

            def other() -> Value:
                if draft.perhaps(0.3):
                    return rng.choice(scope.stored)
                if draft.perhaps():
                    return self.other_name(scope, one)
                with draft.at(draft.block):
                    assert isinstance(one.type, TensorType)
                    return self.view(one, one.type)

        second = other() if draft.perhaps(0.6) else None
        first(rng.choice(("read", "write", "write")))
        second = other() if second is None else second
        how = "plain" if not self.regions or scope.depth >= _DEPTH or draft.perhaps(0.35) else rng.choice(self.regions)
        if how == "plain":
            self.storage(scope, second, "write" if draft.perhaps(0.85) else "read")
        elif how == "call":
            self.call(scope, [second, *given] if draft.perhaps() else [second])
        else:
            self.region(_Scope(list(scope.values), [second], scope.kept, scope.depth), how)
        first("read")

    def storage_of(self, name: str) -> Value:
        """A variable itself, which can be written in place."""
        with self.draft.at(self.draft.block):
            return builtin.get_parameter(parameter=name, out=self.draft.program.weights[name].type.to_tensor()).out

    def operation(self, scope: _Scope) -> None:
        made = self.draft.op(*self.rng.sample(scope.values, min(2, len(scope.values))))
        scope.values.append(made)
        scope.kept.append(made)

    def variable(self, scope: _Scope) -> None:
        draft, rng = self.draft, self.rng
        name = self.names[0] if draft.perhaps(0.8) else rng.choice(self.names)
        if draft.perhaps(0.7 if _LISTS & draft.material.direction.ops else 0.1):
            self.several(scope, name)
        elif draft.perhaps(0.2) and draft.program.weights[name].is_mutable:
            scope.stored.append(self.storage_of(name))
        elif draft.perhaps() or not draft.program.weights[name].is_mutable:
            self.keep(scope, draft.read(name))
        else:
            draft.store(name, rng.choice(scope.values[-3:]))

    def several(self, scope: _Scope, name: str) -> None:
        """Variables read at once, as a list of which elements are taken now and later; or written at once."""
        draft, rng = self.draft, self.rng
        others = [n for n in self.names if n != name]
        names = [name, rng.choice(others)] if others else [name]
        rng.shuffle(names)
        weights = draft.program.weights
        with draft.at(draft.block):
            if draft.perhaps(0.4) and all(weights[n].is_mutable for n in names):
                held = builtin.combine([rng.choice(scope.values[-3:]) for _ in names]).out
                builtin.set_combine_parameter(held, parameters=tuple(names))
                return
            types = ListType([weights[n].type.to_vtensor() for n in names])
            read = builtin.get_combine_parameter(parameters=tuple(names), out=types).out
        place = rng.randrange(len(names))
        if weights[names[place]].is_mutable and draft.perhaps():
            draft.store(names[place], rng.choice(scope.values[-3:]))
        with draft.at(draft.block):
            self.keep(scope, builtin.slice_(read, index=place).out)

    def storage(self, scope: _Scope, stored: Value, how: str) -> None:
        draft, rng = self.draft, self.rng
        type_ = stored.type
        assert isinstance(type_, TensorType)
        if how == "write":
            fitting = [v for v in scope.values[-3:] if v.type is type_.to_vtensor()]
            again = draft.write(stored, rng.choice(fitting) if fitting else None)
            if again is not None and draft.perhaps(0.15):
                scope.stored.append(again)
            return
        if how == "name":
            scope.stored.append(self.other_name(scope, stored))
            return
        with draft.at(draft.block):
            if how == "read":
                self.keep(scope, builtin.to_vtensor(stored).out)
            elif how == "copy":
                source = stored if draft.perhaps() else rng.choice(scope.values[-3:])
                scope.stored.append(builtin.to_tensor(source).out)
            else:
                scope.stored.append(self.view(stored, type_))

    def view(self, stored: Value, type_: TensorType) -> Value:
        rng, shape = self.rng, type_.shape
        how = rng.randrange(4)
        if how == 0 and shape and shape[0] > 1:
            low = rng.randrange(shape[0])
            return pd.slice(stored, axes=(0,), starts=(low,), ends=(low + 1,)).out
        if how == 1 and len(shape) > 1:
            return pd.transpose(stored, perm=tuple(rng.sample(range(len(shape)), len(shape)))).out
        return pd.reshape(stored, shape=shape if how == 2 else (*shape, 1) if rng.random() < 0.5 else (-1,)).out

    def other_name(self, scope: _Scope, stored: Value) -> Value:
        """What a branch chooses of two storages, what a loop carries, or an element of a list."""
        draft, rng = self.draft, self.rng
        alike = [v for v in scope.stored if v.type is stored.type]
        other = rng.choice(alike)
        makers = {"branch": "scf.if", "list": "builtin.slice", "loop": "scf.while"}
        named = [kind for kind, op in makers.items() if op in draft.material.direction.ops]
        how = rng.choice(named if named and draft.perhaps(0.7) else list(makers))
        if how == "branch":
            sides = [stored, other] if draft.perhaps() else [other, stored]
            return draft.choice(draft.condition(), lambda: sides[:1], lambda: sides[1:], [stored.type])[0]
        if how == "list":
            with draft.at(draft.block):
                held = builtin.combine([stored, other]).out
                return builtin.slice_(held, index=rng.randrange(2)).out

        def before(args: Sequence[Value]) -> tuple[Value, Sequence[Value]]:
            return draft.is_below(args[0], rng.randrange(3)), args

        def after(args: Sequence[Value]) -> Sequence[Value]:
            return [draft.one_more(args[0]), other]

        return draft.loop([draft.number(0, i32), stored], before, after)[1]

    def keep(self, scope: _Scope, value: Value) -> None:
        scope.kept.append(value)
        if value.type is self.draft.type:
            scope.values.append(value)

    # --- regions ---------------------------------------------------------------------------------------------------

    def region(self, scope: _Scope, how: str | None = None) -> None:
        how = how or self.rng.choice(self.regions)
        if how == "branch":
            self.branch(scope)
        elif how == "loop":
            self.loop(scope)
        else:
            self.call(scope)

    def body(self, scope: _Scope, *values: Value) -> list[Value]:
        """Accesses inside; what was read there, or computed, that has the usual type."""
        inner = scope.inside(*values)
        self.some(inner, self.rng.randrange(1, self.most))
        return [v for v in inner.kept if v.type is self.draft.type]

    def branch(self, scope: _Scope) -> None:
        draft, rng = self.draft, self.rng
        gives = draft.perhaps(0.7)
        usual: list[Type] = [draft.type] if gives else []

        def side() -> Sequence[Value]:
            made = self.body(scope) if draft.perhaps(0.8) else []
            return [rng.choice(made) if made and draft.perhaps(0.85) else rng.choice(scope.values)] if gives else []

        otherwise = side if gives or draft.perhaps(0.3) else None
        made = draft.choice(draft.condition(), side, otherwise, usual)
        scope.kept += made
        scope.values += made

    def loop(self, scope: _Scope) -> None:
        """A loop of 0 to 3 turns that carries what it reads, or adds it up; its test may read, too."""
        draft, rng = self.draft, self.rng
        trips, test_reads, adds = rng.choice((0, 1, 2, 2, 3)), draft.perhaps(0.15), draft.perhaps()

        def before(args: Sequence[Value]) -> tuple[Value, Sequence[Value]]:
            if test_reads:
                self.access(scope.inside(args[1]))
            return draft.is_below(args[0], trips), args

        def after(args: Sequence[Value]) -> Sequence[Value]:
            made = self.body(scope, args[1])
            following = rng.choice(made) if made and draft.perhaps(0.9) else args[1]
            with draft.at(draft.block):
                if adds and following is not args[1]:
                    following = (pd.add if draft.perhaps(0.7) else pd.maximum)(args[1], following).out
            return [draft.one_more(args[0]), following]

        init = rng.choice(scope.values)
        if init.type is not draft.type:
            return
        made = draft.loop([draft.number(0, i32), init], before, after)
        scope.kept.append(made[1])
        scope.values.append(made[1])

    def call(self, scope: _Scope, stored: Sequence[Value] = ()) -> None:
        """A call of a function that accesses variables, and storage that it is given: one name, two, or one twice."""
        draft, rng = self.draft, self.rng
        if not stored and scope.stored and draft.perhaps(0.85):
            first = scope.stored[0] if draft.perhaps(0.6) else rng.choice(scope.stored)
            stored = [first] if draft.perhaps() else [first, first if draft.perhaps() else rng.choice(scope.stored)]
        given = [rng.choice(scope.values), *stored]
        returns_given = draft.perhaps(0.15)

        def write(args: Sequence[Value]) -> Sequence[Value]:
            inner = _Scope([args[0]], list(args[1:]), [], scope.depth + 1)
            self.some(inner, rng.randrange(1, self.most + len(stored)))
            made = [v for v in inner.kept if v.type is draft.type]
            return [rng.choice(made) if made else args[0], *(args[1:] if returns_given else ())]

        made = draft.function([v.type for v in given], write)
        for _ in range(rng.choice((1, 1, 2))):
            results = draft.call(made, given)
            scope.kept.append(results[0])
            scope.stored += results[1:]
            for place, value in enumerate(given):  # the next time perhaps another one
                alike = [v for v in (*scope.values, *scope.stored) if v.type is value.type]
                given[place] = rng.choice(alike) if alike and draft.perhaps(0.3) else value


def accesses(draft: Draft) -> Sequence[Value]:
    """Reads and writes of storage and of variables, at any nesting."""
    return _Accesses(draft).program()


def storage_of_a_loop(draft: Draft) -> Sequence[Value]:
    """Storage of the program that a loop alone uses, turn after turn, beside storage that is made in each turn."""
    rng = draft.rng
    x, y = draft.input(), draft.input()
    with draft.at(draft.block):
        own = [builtin.to_tensor(v).out for v in rng.choice(((x,), (x, y)))]
    trips = rng.choice((1, 2, 2, 3))

    def before(args: Sequence[Value]) -> tuple[Value, Sequence[Value]]:
        return draft.is_below(args[0], trips), args

    def after(args: Sequence[Value]) -> Sequence[Value]:
        count, value = args
        stored = list(own)
        for _ in range(rng.choice((2, 3, 3, 4))):
            how = rng.choice(("read", "read", "write", "make"))
            if how == "write":
                draft.write(rng.choice(stored), value)
                continue
            changed = draft.op(value, y) if draft.perhaps(0.3) else value
            with draft.at(draft.block):
                if how == "read":
                    value = pd.add(changed, builtin.to_vtensor(rng.choice(stored)).out).out
                else:
                    stored.append(builtin.to_tensor(changed).out)
        return [draft.one_more(count), value]

    results = draft.loop([draft.number(0), x], before, after)[1:]
    if draft.perhaps(0.2):
        with draft.at(draft.block):
            results.append(builtin.to_vtensor(own[0]).out)
    return results


def contents(draft: Draft, old: np.ndarray | None) -> np.ndarray:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
    """What a variable holds: the numbers of another one, the same with a sign or an element changed, or others."""
    rng, type_ = draft.rng, draft.type
    generator = np.random.default_rng(rng.randrange(1 << 30))
    flavour = "mixed" if draft.perhaps(0.4) else "ordinary"
    made = _zeros(draft) if draft.perhaps(0.3) else draw_array(generator, type_.shape, type_.element.format, flavour)
    if old is None or draft.perhaps(0.25):
        return made
    made = np.array(old)
    with np.errstate(all="ignore"):
        if draft.perhaps(0.6):
            zeros = made == 0
            made[zeros] = -made[zeros]
    return made


def _zeros(draft: Draft) -> np.ndarray:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
    """Zeros of both signs, and ones."""
    choices = np.array((0.0, -0.0, 1.0, 0.0), np.float64)
    generator = np.random.default_rng(draft.rng.randrange(1 << 30))
    return np.asarray(generator.choice(choices, draft.type.shape)).astype(draft.type.element.dtype)


def work_on_a_copy(draft: Draft) -> Sequence[Value]:
    """Storage that is copied, and written back in the end; both, or what they held before, are read in between.

    One of them may be written where the other is expected to be, and the copy live on.
    """
    rng = draft.rng
    x = draft.input()
    original = draft.input(draft.type.to_tensor())
    kept: list[Value] = []

    def read(stored: Value, share: float) -> None:
        if draft.perhaps(share):
            with draft.at(draft.block):
                kept.append(builtin.to_vtensor(stored).out)

    read(original, 0.3)
    with draft.at(draft.block):
        copy = builtin.to_tensor(original).out
    for _ in range(rng.choice((1, 1, 2))):
        read(original, 0.2)
        draft.effect(original if draft.perhaps(0.15) else copy, x)
        read(rng.choice((original, original, copy)), 0.5)
    with draft.at(draft.block):
        pd.assign_(original, builtin.to_vtensor(copy).out)
    for stored in (copy, original):
        if draft.perhaps(0.2):
            draft.effect(stored, x)
    read(copy, 0.2)
    read(original, 0.8)
    return kept or [x]
