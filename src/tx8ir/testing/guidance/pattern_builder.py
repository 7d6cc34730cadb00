"""Building the operations of a declarative pattern: what generators of matching programs share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tx8ir.core import Operation, Value
from tx8ir.rewriting.declarative import Node, OneOf, Pattern, ResultOf
from tx8ir.rewriting.declarative.constraints import Constraint


class PatternBuilder:
    """Makes an operation of each node of a pattern, operands first, each once.

    Args:
        pick: chooses among alternatives; a pattern that stands in two places becomes the same in both.
        make: makes the operation of a node from its operand patterns, in which nothing is left to choose.

    Attributes:
        ops: the operations so far.
    """

    def __init__(
        self, pick: Callable[[Sequence[Pattern]], Pattern], make: Callable[[Node, Sequence[Pattern]], Operation]
    ) -> None:
        self.ops: dict[Node, Operation] = {}
        self._pick = pick
        self._make = make
        self._chosen: dict[OneOf, Pattern] = {}

    def build(self, left: Node | OneOf) -> Operation:
        """The operation of the root. Raises what `make` raises."""
        root = self._choose(left)
        assert isinstance(root, Node)
        work: list[tuple[Node, bool]] = [(root, False)]
        while work:
            node, is_ready = work.pop()
            if node in self.ops:
                continue
            operands = [self._choose(p) for p in node.operands]
            if is_ready:
                self.ops[node] = self._make(node, operands)
                continue
            inner = [p.node if isinstance(p, ResultOf) else p for p in operands]
            work += [(node, True), *((p, False) for p in reversed(inner) if isinstance(p, Node))]
        return self.ops[root]

    def value(self, pattern: Pattern | None) -> Value | None:
        """The value that a pattern of an operation, or of one of its results, has become; None for another pattern."""
        if isinstance(pattern, Node):
            return self.ops[pattern].result
        return self.ops[pattern.node].results[pattern.index] if isinstance(pattern, ResultOf) else None

    def _choose(self, pattern: Pattern) -> Pattern:
        while isinstance(pattern, OneOf):
            if pattern not in self._chosen:
                self._chosen[pattern] = self._pick(pattern.patterns)
            pattern = self._chosen[pattern]
        return pattern


def holds(constraints: Sequence[Constraint], subject: Any) -> bool:
    """Whether all of them hold; not, where one is not about things of this kind and raises."""
    try:
        return all(c.holds(subject) for c in constraints)
    except Exception:
        return False
