"""Nodes: one for each tensor inside a value; those that may share storage are merged with union-find."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from tx8ir.core import DictType, Element, ListType, TensorType, TupleType, Type, Value


class _Leaves(dict[Type, int]):
    """How many tensors a value of a type holds; found on first sight."""

    __slots__ = ()

    def __missing__(self, type_: Type) -> int:
        if isinstance(type_, TensorType):
            count = 1
        elif isinstance(type_, (ListType, TupleType)):
            count = sum(map(self.__getitem__, type_.elements))
        else:
            count = sum(map(self.__getitem__, type_.values)) if isinstance(type_, DictType) else 0
        self[type_] = count
        return count


class StorageNodes:
    """The nodes of values, and which of them are merged. Nobody changes the list of nodes of a value."""

    def __init__(self) -> None:
        self._parents: list[int] = []
        self._nodes: dict[Value, list[int]] = {}
        self._leaves = _Leaves()
        self._starts: dict[Type, list[int]] = {}  # of a list, say: where the nodes of each element start

    def _new(self) -> int:
        self._parents.append(len(self._parents))
        return len(self._parents) - 1

    def _find(self, node: int) -> int:
        parents = self._parents
        while (parent := parents[node]) != node:
            parents[node] = node = parents[parent]
        return node

    def _union(self, a: int, b: int) -> None:
        a, b = self._find(a), self._find(b)
        if a < b:
            self._parents[b] = a
        elif b < a:
            self._parents[a] = b

    def _union_each(self, left: Sequence[int], right: Sequence[int]) -> None:
        for a, b in zip(left, right, strict=True):
            if a != b:
                self._union(a, b)

    def _share(self, value: Value, nodes: list[int]) -> None:
        """Merge the nodes of `value` with some, one each; a value that is new takes them for its own."""
        known = self._nodes.get(value)
        if known is not None:
            self._union_each(known, nodes)
        elif self._leaves[value.type] != len(nodes):
            raise ValueError(f"{value!r} does not hold {len(nodes)} tensors")
        elif nodes:
            self._nodes[value] = nodes

    def _of(self, value: Value) -> list[int]:
        """The nodes of a value, one for each tensor in it."""
        nodes = self._nodes.get(value)
        if nodes is None:
            count = self._leaves[value.type]
            if not count:
                return []
            first = len(self._parents)
            nodes = self._nodes[value] = list(range(first, first + count))
            self._parents += nodes
        return nodes

    def _of_all(self, values: Iterable[Value]) -> list[int]:
        return [node for value in values for node in self._of(value)]

    def _of_element(self, element: Element) -> list[int]:
        """The nodes of what a value holds at an index or under a key."""
        container, key = element
        held = container.type
        starts = self._starts.get(held)
        if starts is None:
            starts = self._starts[held] = [0, *accumulate(map(self._leaves.__getitem__, _elements(held)))]
        position = held.keys.index(str(key)) if isinstance(held, DictType) else int(key)
        return self._of(container)[starts[position] : starts[position + 1]]


def _elements(held: Type) -> Sequence[Type]:
    if isinstance(held, DictType):
        return held.values
    assert isinstance(held, (ListType, TupleType))  # other types hold nothing
    return held.elements
