"""Terms: what a pass asks of operations and values (see `shapes`), and the patterns of programs that are so."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from tx8ir.core import Op, Operation
from tx8ir.dialects import builtin
from tx8ir.rewriting.declarative import Constant, Node, Number, Pattern, Var

Classes: TypeAlias = Mapping[str, type[Operation]]
DEPTH = 5
"""How deep the tree of a program is."""


@attrs.define(eq=False)
class OpTerm:
    """An operation: what it may be, and what its operands and attributes were asked."""

    kinds: dict[type[Any], None] = attrs.field(factory=dict[type[Any], None])
    operands: dict[str | int, ValueTerm] = attrs.field(factory=lambda: dict[str | int, ValueTerm]())
    every: ValueTerm | None = None
    attributes: dict[str, list[Any]] = attrs.field(factory=lambda: dict[str, list[Any]]())
    result: ValueTerm | None = None
    is_inner: bool = False


@attrs.define(eq=False)
class ValueTerm:
    """A value: what made it, and whether it was asked for its number."""

    maker: OpTerm | None = None
    is_number: bool = False
    numbers: list[float] = attrs.field(factory=list[float])
    same: list[ValueTerm] = attrs.field(factory=lambda: list[ValueTerm]())

    @property
    def is_any(self) -> bool:
        """Whether it was asked for nothing that a program could show."""
        return self.maker is None and not self.is_number and not self.same


class ParameterVar(Var):
    """The value of a variable of the program."""

    __slots__ = ()


def as_pattern(
    root: OpTerm, rng: random.Random, concrete: Callable[[Iterable[type[Any]]], Sequence[str]], classes: Classes
) -> Node:
    """A pattern for one choice of what the operations may be.

    Args:
        root: the operation at the end.
        rng: chooses.
        concrete: the names of the operations that are of some kinds.
        classes: all operations, by name.

    Raises:
        ValueError: an operation of no known kind.
    """
    return _Choice(rng, concrete, classes).node(root, 0)


class _Choice:
    def __init__(
        self, rng: random.Random, concrete: Callable[[Iterable[type[Any]]], Sequence[str]], classes: Classes
    ) -> None:
        self.rng = rng
        self.concrete = concrete
        self.classes = classes
        self.made: dict[int, Pattern] = {}
        self.count = itertools.count()

    def node(self, term: OpTerm, depth: int) -> Node:
        names = self.concrete(term.kinds) if term.kinds else ()
        asked = {name for name in term.operands if isinstance(name, str)} | set(term.attributes)
        fitting = [n for n in names if asked <= _fields(self.classes[n])]
        if not names:
            raise ValueError("an operation of no known kind")
        cls = self.classes[self.rng.choice(fitting or list(names))]
        fields = [f.name for f in cls.definition.operands] if issubclass(cls, Op) else []
        operands: list[Pattern] = []
        last = max(
            [i for i, f in enumerate(fields) if f in term.operands or i in term.operands],
            default=-1,
        )
        if term.every is not None:
            last = max(last, min(1, len(fields) - 1))
        for index in range(last + 1):
            value = term.operands.get(fields[index]) or term.operands.get(index)
            if term.every is not None and (value is None or value.is_any):
                self._forget(term.every)
                operands.append(self.value(term.every, depth + 1))
                if value is not None:
                    self.made[id(value)] = operands[-1]
            else:
                operands.append(Var(f"v{next(self.count)}") if value is None else self.value(value, depth + 1))
        fixed = [f.name for f in cls.definition.operands if f.count == "one"] if issubclass(cls, Op) else []
        while len(operands) > len(fixed) and isinstance(operands[-1], Var) and self.rng.random() < 0.4:
            operands.pop()  # an optional one
        chosen: dict[str, Any] = {}
        own = _fields(cls)
        for name, values in term.attributes.items():
            if name in own and self.rng.random() < 0.6:
                chosen[name] = self.rng.choice(values)
        return Node(cls, *operands, attributes=chosen, commutative=False)

    def _forget(self, every: ValueTerm) -> None:
        """What stands for each operand becomes another one for the next: the same question, mostly another answer.

        Of the values that it is made of in turn, some are still the same.
        """
        work, seen = [every], set[int]()
        while work:
            term = work.pop()
            if id(term) in seen:
                continue
            seen.add(id(term))
            if term is every or self.rng.random() < (0.8 if term.is_number else 0.4):
                self.made.pop(id(term), None)
            if term.maker is not None:
                inner = term.maker.operands.values()
                work += [*inner, *([term.maker.every] if term.maker.every is not None else [])]

    def value(self, term: ValueTerm, depth: int) -> Pattern:
        if term.same and self.rng.random() < 0.5:
            term = self.rng.choice(term.same)
        if id(term) in self.made:
            return self.made[id(term)]
        pattern: Pattern
        if term.maker is not None and builtin.GetParameterOp in term.maker.kinds:
            pattern = ParameterVar(f"w{next(self.count)}")
        elif term.maker is not None and list(term.maker.kinds) == [builtin.ConstantOp]:
            pattern = Constant(f"c{next(self.count)}")
        elif term.maker is not None and term.maker.kinds and depth < DEPTH and self.rng.random() < 0.93:
            try:
                pattern = self.node(term.maker, depth)
            except ValueError:
                pattern = Var(f"v{next(self.count)}")
        elif term.is_number and self.rng.random() < 0.85:
            pattern = Number(f"n{next(self.count)}")
        else:
            pattern = Var(f"v{next(self.count)}")
        self.made[id(term)] = pattern
        return pattern


def _fields(cls: type[Operation]) -> set[str]:
    if not issubclass(cls, Op):
        return set()
    return {f.name for f in (*cls.definition.operands, *cls.definition.attributes)}
