"""What the names of an ONNX graph stand for: a scope for each graph and each body of a function that is imported."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from .structure import Found, Nothing

Roots = frozenset[str]
"""Names of graph inputs."""


@attrs.frozen
class Entry:
    """What a name stands for.

    Attributes:
        found: a value, a known tensor, a sequence.
        roots: the graph inputs that its numbers depend on; none for what is known.
    """

    found: Found
    roots: Roots = frozenset()


NOTHING = Entry(Nothing())


@attrs.define(eq=False)
class Scope:
    """The names of one graph or function body.

    Attributes:
        opsets: version of each operator set there, by domain.
        outer: the graph around, whose names are visible here; None for a function body, and the model's graph.
        place: names of the nodes around, for messages.
        depth: how many graphs and bodies are around.
        names: what is defined so far.
    """

    opsets: Mapping[str, int]
    outer: Scope | None = None
    place: tuple[str, ...] = ()
    depth: int = 0
    names: dict[str, Entry] = attrs.field(factory=dict[str, Entry], init=False)

    def find(self, name: str) -> Entry | None:
        """What a name stands for here, or None."""
        scope: Scope | None = self
        while scope is not None:
            if (entry := scope.names.get(name)) is not None:
                return entry
            scope = scope.outer
        return None
