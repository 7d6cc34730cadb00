"""The left side of a declarative pattern: a graph of operations with values, numbers and constants as leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Any, Final, TypeAlias

import attrs

from tx8ir.core import Operation, Value
from tx8ir.support.screen import fitted, fitting_repr

from .constraints import Constraint


class Var:
    """Any value, under a name by which it must be the same everywhere.

    Args:
        name: how the match calls it; "" for one that nothing else refers to.
        constraints: on the value.
    """

    __slots__ = ("constraints", "name")

    def __init__(self, name: str = "", *constraints: Constraint) -> None:
        self.name = name
        self.constraints = constraints

    def __repr__(self) -> str:
        return shown_pattern(self)


class Number:
    """A constant (`pd.full`, `builtin.constant`) all of whose elements are one number.

    Args:
        name: how the match calls its value; "" for one that nothing else refers to.
        constraints: on the number.
    """

    __slots__ = ("constraints", "name")

    def __init__(self, name: str = "", *constraints: Constraint) -> None:
        self.name = name
        self.constraints = constraints

    def __repr__(self) -> str:
        return shown_pattern(self)


class Constant:
    """A constant, as an attribute (see `greedy.constant_value`).

    Args:
        name: how the match calls its value; "" for one that nothing else refers to.
        constraints: on the attribute.
    """

    __slots__ = ("constraints", "name")

    def __init__(self, name: str = "", *constraints: Constraint) -> None:
        self.name = name
        self.constraints = constraints

    def __repr__(self) -> str:
        return shown_pattern(self)


@attrs.frozen(eq=False)
class Attr:
    """An attribute that the match remembers.

    Attributes:
        name: how the match calls it.
        constraint: on its Python value.
    """

    name: str
    constraint: Constraint | None = None


class Node:
    """An operation.

    Args:
        kind: an op class, a trait or an interface, or a tuple of them.
        operands: a pattern for each operand; `...` at the end stands for any further ones. Used as an operand itself, a
            node is its only result; `node[i]` is result i of several.
        name: how the match calls the operation; a node used in several places is one operation.
        attributes: by Python name: a value it must have, a `Constraint` on it, or an `Attr`.
        where: constraints on the operation.
        commutative: whether the first two operands match in either order; by default when `kind` is `Commutative`.
    """

    __slots__ = ("any_more", "attributes", "commutative", "kinds", "name", "operands", "where")

    def __init__(
        self,
        kind: type[Any] | tuple[type[Any], ...],
        *operands: Pattern | EllipsisType,
        name: str = "",
        attributes: Mapping[str, Any] | None = None,
        where: Sequence[Constraint] = (),
        commutative: bool | None = None,
    ) -> None:
        any_more = bool(operands) and operands[-1] is ...
        patterns: list[Pattern] = []
        for pattern in operands[:-1] if any_more else operands:
            if not isinstance(pattern, Var | Number | Constant | Node | ResultOf | OneOf):
                raise TypeError(f"an operand pattern is a Var, Number, Constant, Node or OneOf, not {pattern!r}")
            patterns.append(pattern)
        self.kinds: tuple[type[Any], ...] = kind if isinstance(kind, tuple) else (kind,)
        self.operands = tuple(patterns)
        self.any_more = any_more
        self.name = name
        self.attributes: Mapping[str, Any] = dict(attributes or {})
        self.where = tuple(where)
        self.commutative = commutative

    def __repr__(self) -> str:
        return shown_pattern(self)

    def __getitem__(self, index: int) -> ResultOf:
        return ResultOf(self, index)


@attrs.frozen(eq=False)
class ResultOf:
    """One of several results of a `Node`."""

    node: Node
    index: int

    def __repr__(self) -> str:
        return shown_pattern(self)


class OneOf:
    """What matches with one of several patterns; the first that fits, together with everything else, counts.

    Used in several places, it is one value. A name or node that is in some of the patterns only cannot be used outside
    of them. A `Match` has it when the pattern that fitted has.

    Args:
        patterns: two or more; for the root of a rule, each a `Node`, or a `OneOf` of these.

    Raises:
        TypeError: no pattern at all.
    """

    __slots__ = ("patterns",)

    def __init__(self, *patterns: Pattern) -> None:
        if not patterns:
            raise TypeError("OneOf needs patterns to choose from")
        self.patterns = patterns

    def __repr__(self) -> str:
        return shown_pattern(self)


Given: TypeAlias = "Var | Number | Constant | Node | ResultOf"
"""A part of the left side that is one value of the match."""
Pattern: TypeAlias = "Given | OneOf"

_DEEPEST: Final = 4
"""Operations inside operations that are shown."""


def shown_pattern(pattern: Pattern, depth: int = _DEEPEST) -> str:
    """A pattern as it is written, without constraints; what lies deep is `...`. It fits a line of a screen."""
    if isinstance(pattern, ResultOf):
        return fitted(f"{shown_pattern(pattern.node, depth)}[{pattern.index}]")
    name = type(pattern).__name__
    if isinstance(pattern, Var | Number | Constant):
        return f"{name}({pattern.name!r})" if pattern.name else f"{name}()"
    inner = pattern.patterns if isinstance(pattern, OneOf) else pattern.operands
    parts = [shown_pattern(one, depth - 1) for one in inner] if depth else ["..."]
    if isinstance(pattern, Node):
        kinds = " | ".join(str(getattr(kind, "name", "") or kind.__name__) for kind in pattern.kinds)
        parts = [kinds, *parts, *(["..."] if pattern.any_more else [])]
    return fitted(f"{name}({', '.join(parts)})")


@attrs.frozen(eq=False)
class Contents:
    """What a choice consists of, each thing once: nodes, choices (itself too), names of values and of attributes."""

    nodes: tuple[Node, ...]
    choices: tuple[OneOf, ...]
    names: tuple[str, ...]
    attributes: tuple[str, ...]


def contents(choice: OneOf) -> Contents:
    """What a choice consists of. O(its size), whatever is shared."""
    seen: dict[Pattern, None] = {choice: None}
    work: list[Pattern] = [choice]
    while work:
        pattern = work.pop()
        inner: Sequence[Pattern] = ()
        if isinstance(pattern, OneOf):
            inner = pattern.patterns
        elif isinstance(pattern, Node):
            inner = pattern.operands
        elif isinstance(pattern, ResultOf):
            inner = (pattern.node,)
        fresh = [part for part in inner if part not in seen]
        seen.update(dict.fromkeys(fresh))
        work += fresh
    nodes = tuple(pattern for pattern in seen if isinstance(pattern, Node))
    leaves = (pattern for pattern in seen if isinstance(pattern, Var | Number | Constant))
    wanted = (value for node in nodes for value in node.attributes.values())
    return Contents(
        nodes,
        tuple(pattern for pattern in seen if isinstance(pattern, OneOf)),
        tuple(dict.fromkeys(leaf.name for leaf in leaves if leaf.name)),
        tuple(dict.fromkeys(value.name for value in wanted if isinstance(value, Attr))),
    )


@attrs.frozen(eq=False)
class Match:
    """What a rule has matched.

    Attributes:
        root: the operation it matched.
        values: by name of `Var`, `Number`, `Constant`. Here and below, what only an alternative has that did not fit is
            missing.
        ops: by name of `Node`; unnamed ones are called `op0`, `op1`, ... in the order of the pattern.
        constants: numbers and attributes, by name of `Number` and `Constant`.
        attributes: Python values, by name of `Attr`.
    """

    __repr__ = fitting_repr

    root: Operation
    values: Mapping[str, Value]
    ops: Mapping[str, Operation]
    constants: Mapping[str, Any]
    attributes: Mapping[str, Any]

    def __getitem__(self, name: str) -> Value:
        """The value called so, or the only result of the operation called so."""
        if name in self.values:
            return self.values[name]
        if name in self.ops:
            return self.ops[name].result
        raise KeyError(f"the match has no value named {name!r}; it has {', '.join((*self.values, *self.ops))}")
