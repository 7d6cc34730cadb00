"""Nodes: one for each tensor inside a value; those that may share storage are merged with union-find."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from tx8ir.core import DictType, Element, ListType, TensorType, TupleType, Type, Value


class StorageNodes:
    """The nodes of values, and which of them are merged."""

    def __init__(self) -> None:
        self._parents: list[int] = []
        self._nodes: dict[Value, list[int]] = {}
        self._leaves: dict[Type, int] = {}
        self._starts: dict[Type, list[int]] = {}  # of a list, say: where the nodes of each element start

    def _new(self) -> int:
        self._parents.append(len(self._parents))
        return len(self._parents) - 1

    def _find(self, node: int) -> int:
        parents = self._parents
        while parents[node] != node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    def _union(self, a: int, b: int) -> None:
        a, b = self._find(a), self._find(b)
        if a < b:
            self._parents[b] = a
        elif b < a:
            self._parents[a] = b

    def _union_each(self, left: Sequence[int], right: Sequence[int]) -> None:
        for a, b in zip(left, right, strict=True):
            self._union(a, b)

    def _count(self, type_: Type) -> int:
        """How many tensors a value of the type holds."""
        count = self._leaves.get(type_)
        if count is None:
            if isinstance(type_, TensorType):
                count = 1
            elif isinstance(type_, (ListType, TupleType)):
                count = sum(map(self._count, type_.elements))
            else:
                count = sum(map(self._count, type_.values)) if isinstance(type_, DictType) else 0
            self._leaves[type_] = count
        return count

    def _of(self, value: Value) -> list[int]:
        """The nodes of a value, one for each tensor in it."""
        nodes = self._nodes.get(value)
        if nodes is None:
            count = self._count(value.type)
            if not count:
                return []
            nodes = self._nodes[value] = [self._new() for _ in range(count)]
        return nodes

    def _of_all(self, values: Iterable[Value]) -> list[int]:
        return [node for value in values for node in self._of(value)]

    def _of_element(self, element: Element) -> list[int]:
        """The nodes of what a value holds at an index or under a key."""
        held = element.container.type
        if isinstance(held, DictType):
            elements, position = held.values, held.keys.index(str(element.key))
        else:
            assert isinstance(held, (ListType, TupleType))  # other types hold nothing
            elements, position = held.elements, int(element.key)
        starts = self._starts.get(held)
        if starts is None:
            starts = self._starts[held] = [0, *accumulate(map(self._count, elements))]
        return self._of(element.container)[starts[position] : starts[position + 1]]
