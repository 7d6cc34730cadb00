"""The writer: draws from what a program has so far, and writes operations at the end of a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from hypothesis import strategies as st
from hypothesis.control import current_build_context

from tx8ir.core import (
    Block,
    Builder,
    DictType,
    ListType,
    Operation,
    Program,
    RankedTensor,
    ScalarType,
    TensorType,
    Type,
    Value,
    i1,
)
from tx8ir.dialects import builtin, func, pd
from tx8ir.testing.inputs import draw_array

from .features import LARGEST, NUMBERS, SHAPES, Features

T = TypeVar("T")
WriterStep: TypeAlias = "Callable[[Writer], Sequence[Value]]"
"""Writes operations at the end of a `Writer`'s block, from values of its pool, and gives the values they make."""

_VARIABLES = 3
"""A program has this many variables at most, so that accesses of one meet."""


def ranked(value: Value) -> RankedTensor:
    """Its type, a tensor."""
    assert isinstance(value.type, RankedTensor)
    return value.type


class Writer:
    """Writes the operations of one block, and of those that follow it in its region.

    Attributes:
        draw: draws from a Hypothesis strategy.
        features: what the program may have.
        program: the program.
        block: where the next operation goes.
        pool: the values that operations may use there, oldest first.
        depth: how many regions and functions are around.
        menu: the steps that may be next, likely ones more than once.
        functions: those that are finished, and may be called.
        can_branch: whether the block may end in a branch to blocks of its own.
        in_main: whether it is in `main`, whose inputs it sees.
    """

    def __init__(
        self,
        draw: st.DrawFn,
        features: Features,
        program: Program,
        block: Block,
        pool: list[Value],
        menu: Callable[[Writer], Sequence[WriterStep]],
    ) -> None:
        self.draw = draw
        self.features = features
        self.program = program
        self.block = block
        self.pool = pool
        self.menu = menu
        self.depth = 0
        self.functions: list[func.FuncOp] = []
        self.can_branch = isinstance(block.parent_op, func.FuncOp)
        self.in_main = True
        self._habits: dict[str, list[int]] = {}
        # Hundreds of numbers are drawn for a program: a strategy for each would take as long as all the rest.
        self._data = current_build_context().data

    def inside(self, block: Block, pool: Sequence[Value]) -> Writer:
        """A writer with the same habits for a block of a region or function inside."""
        inner = Writer(self.draw, self.features, self.program, block, list(pool), self.menu)
        inner.depth = self.depth + 1
        inner.functions = self.functions
        inner.in_main = self.in_main
        inner._habits = self._habits
        return inner

    # --- drawing ---------------------------------------------------------------------------------------------------

    def one_of(self, choices: Sequence[T]) -> T:
        """One of them; the first is the simplest."""
        return choices[self.number(0, len(choices) - 1) if len(choices) > 1 else 0]

    def perhaps(self) -> bool:
        """True every other time; False is simpler."""
        return self._data.draw_boolean()

    def number(self, low: int, high: int) -> int:
        """A whole number, both ends included; the lowest is the simplest."""
        return self._data.draw_integer(low, high)

    def by_habit(self, site: str, choices: Sequence[T], size: int = 2) -> T:
        """One of them: mostly one of the few that this program prefers at that site."""
        last = len(choices) - 1
        if site not in self._habits:
            self._habits[site] = [self.number(0, last) for _ in range(size)]
        preferred = self._habits[site]
        which = self.number(0, size)
        number = preferred[which - 1] if which else self.number(0, last)
        return choices[number % len(choices)]

    def newest(self, found: Sequence[T]) -> T:
        """The first of them every other time."""
        return found[self.number(0, len(found) - 1) if self.number(0, 1) else 0]

    def element(self) -> ScalarType:
        """A type of elements, every other time the one that this program prefers."""
        elements = self.features.elements
        return self.one_of(elements) if self.number(0, 1) else elements[0]

    def literal(self, element: ScalarType) -> float:
        """A number that an attribute may have where the elements are of that type."""
        return self.by_habit("number", NUMBERS if element.is_float else NUMBERS[:5])

    # --- values ----------------------------------------------------------------------------------------------------

    def value(self, fits: Callable[[RankedTensor], bool] = lambda _: True) -> Value | None:
        """A value of the pool whose type fits, the newest for preference."""
        found = [v for v in reversed(self.pool) if isinstance(v.type, RankedTensor) and fits(v.type)]
        return self.newest(found) if found else None

    def tensor(self) -> Value:
        """Any tensor of the pool; a new one where it has none."""
        found = self.value()
        return self.filled((), 0.0, self.features.elements[0]) if found is None else found

    def related(self, x: Value, fits: Callable[[RankedTensor], bool]) -> Value | None:
        """A value that `x` was made of, that was made of `x`, or `x` itself; if none fits, any of the pool."""
        near: dict[Value, None] = {x: None}
        for other in (x, *(v for user in x.users for v in user.results)):
            op = other.defining_op
            near |= dict.fromkeys((other, *op.operands) if op is not None else (other,))
        pool = set(self.pool)
        found = [v for v in near if v in pool and isinstance(v.type, RankedTensor) and fits(v.type)]
        return self.one_of(found) if found and self.number(0, 2) else self.value(fits)

    def some(self, low: int, high: int) -> list[Value]:
        """Values of the pool."""
        return [self.newest(self.pool[::-1]) for _ in range(self.number(low, high))]

    def unused(self) -> list[Value]:
        """Tensors of the pool that nothing uses, but for arguments."""
        return [v for v in self.pool if isinstance(v.type, RankedTensor) and v.defining_op and not v.has_uses]

    def two_alike(self) -> list[Value]:
        """One value, or two, of one type where there are."""
        first = self.newest(self.pool[::-1])
        alike = [v for v in reversed(self.pool) if v.type is first.type and v is not first]
        if not self.perhaps():
            return [first]
        return [first, self.newest(alike) if alike else self.newest(self.pool[::-1])]

    def value_of(self, type_: Type) -> Value:
        """A value of exactly that type: of the pool, or made of zeros."""
        found = [v for v in reversed(self.pool) if v.type is type_]
        if found:
            return self.newest(found)
        if isinstance(type_, ListType):
            items = [self.value_of(t) for t in type_.elements]
            return self.insert(lambda: builtin.combine(items))[0]
        if isinstance(type_, DictType):
            held = [self.value_of(type_[key]) for key in type_.keys]
            return self.insert(lambda: builtin.make_dict(held, keys=tuple(type_.keys)))[0]
        assert isinstance(type_, RankedTensor)
        zeros = self.filled(type_.shape, 0.0, type_.element)
        return self.insert(lambda: builtin.to_tensor(zeros))[0] if isinstance(type_, TensorType) else zeros

    def filled(self, shape: Sequence[int], number: float, element: ScalarType) -> Value:
        """A new value with that number everywhere."""
        return self.insert(lambda: pd.full(shape=tuple(shape), value=number, dtype=element))[0]

    @property
    def inputs(self) -> Sequence[Value]:
        """The inputs of `main`."""
        return self.program.main.body.blocks[0].args

    def input(self, type_: RankedTensor) -> Value:
        """A new input of `main`."""
        return self.program.main.body.blocks[0].add_argument(type_)

    def condition(self) -> Value:
        """A truth value of one element: of the pool, or what is made of another value."""
        x = self.tensor()
        type_ = ranked(x)
        with Builder.at_end(self.block):
            if type_.num_elements != 1:
                axes = tuple(range(type_.rank))
                zeros = (0,) * type_.rank
                x = pd.slice(x, axes=axes, starts=zeros, ends=(1,) * type_.rank, decrease_axis=axes).out
            if type_.element is not i1:
                x = pd.greater_than(x, pd.full(shape=(), value=0.0, dtype=type_.element)).out
        return x

    # --- variables -------------------------------------------------------------------------------------------------

    def parameter(self, type_: RankedTensor, *, mutable: bool = False) -> Value:
        """A read of a new variable of that type, with drawn contents."""
        weights = self.program.weights
        name = f"w{len(weights)}"
        rng = np.random.default_rng(self.number(0, 3))
        data = draw_array(rng, type_.shape, type_.element.format, "ordinary")
        weights.add(name, data, type_.to_tensor(), is_mutable=mutable)
        return self.insert(lambda: builtin.get_parameter(parameter=name, out=type_.to_vtensor()))[0]

    def variable(self, *, mutable: bool = False) -> tuple[str, RankedTensor] | None:
        """The name and type of a variable, an old or a new one; a mutable one, or None where there can be no more."""
        weights = self.program.weights
        names = [name for name, variable in weights.items() if variable.is_mutable or not mutable]
        if len(weights) >= _VARIABLES or (names and self.number(0, 2)):
            if not names:
                return None
            chosen = self.one_of(names)
            return chosen, weights[chosen].type
        shape = self.one_of(SHAPES)
        element = self.element()
        name = f"w{len(weights)}"
        may_change = self.features.aliases or self.features.branches
        data = draw_array(np.random.default_rng(len(weights)), shape, element.format, "ordinary")
        weights.add(name, data, TensorType(shape, element), is_mutable=mutable or (may_change and self.perhaps()))
        return name, TensorType(shape, element)

    # --- writing ---------------------------------------------------------------------------------------------------

    def insert(self, make: Callable[[], Any]) -> Sequence[Value]:
        """The results of the operation that `make` constructs, at the end of the block."""
        with Builder.at_end(self.block):
            made: Operation = make()
        return made.results

    def write(self, max_steps: int) -> None:
        """Draws and writes up to that many steps."""
        for _ in range(max_steps if self.number(0, 2) else self.number(0, max_steps)):
            if self.number(0, 9):  # a step that is left out is the simplest
                self.take(self.by_habit("step", self.menu(self), 4))

    def take(self, step: WriterStep) -> None:
        """Writes one step; operations may use what it makes from then on."""
        made = step(self)
        self.pool += [v for v in made if not isinstance(v.type, RankedTensor) or v.type.num_elements <= LARGEST]
