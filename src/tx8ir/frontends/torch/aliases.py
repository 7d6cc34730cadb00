"""What the names of a graph stand for, where operators may write in place and some tensors show parts of others.

A name stands for a root and the views that lead from there. Writing through one of several views gives the root another
value (by `ViewLike.inverse`, from the last view to the first), and what else shows the root is rebuilt when it is next
asked for (by `ViewLike.forward`). So the program that is built has values only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from tx8ir.core import OpResult, Value, ViewLike


@attrs.define(eq=False)
class Root:
    """A tensor of its own.

    Attributes:
        label: its name, for messages.
        version: how many times it was written.
    """

    label: str
    _make: Callable[[], Value]
    _value: Value | None = None
    version: int = 0

    @property
    def value(self) -> Value:
        """What it holds now; made when it is first asked for."""
        if self._value is None:
            self._value = self._make()
        return self._value

    def write(self, value: Value) -> None:
        """Give it another value."""
        self._value = value
        self.version += 1


_Step = tuple[ViewLike, int]
"""A view, and which of its results."""


class StaleError(ValueError):
    """A tensor that shows another in a way that cannot be followed was used after that one was written."""


@attrs.define(eq=False)
class Entry:
    """What a name stands for.

    Attributes:
        root: the tensor that it shows, whole or in part.
        views: the views from there, in order; None if they are not known, and the tensor only valid until a write.
    """

    root: Root
    views: Sequence[_Step] | None = ()
    _shown: Value | None = None
    _version: int = 0

    @classmethod
    def of(cls, label: str, value: Value) -> Entry:
        """A tensor of its own."""
        return cls(Root(label, lambda: value, value))

    @classmethod
    def lazy(cls, label: str, make: Callable[[], Value]) -> Entry:
        """A tensor of its own that is made when it is first used."""
        return cls(Root(label, make))

    def shown_by(self, value: Value) -> Entry:
        """The entry of `value`, which shows elements of this one."""
        steps: list[_Step] = []
        at, base = value, self.value()
        while at is not base:
            op = at.owner if isinstance(at, OpResult) else None
            if not isinstance(op, ViewLike) or self.views is None:
                return Entry(self.root, None, value, self.root.version)
            steps.append((op, at.index))
            at = op.operands[0]
        return Entry(self.root, (*(self.views or ()), *reversed(steps)), value, self.root.version)

    def value(self) -> Value:
        """The tensor as it is now.

        Raises:
            StaleError: what it shows was written, and how it shows that is not known.
        """
        if self._shown is None or self._version != self.root.version:
            if self.views is None:
                raise StaleError(f"shows parts of {self.root.label!r}, which has been written since")
            value = self.root.value
            for view, index in self.views:
                value = view.forward(value)[index]
            self._shown, self._version = value, self.root.version
        return self._shown

    def write(self, value: Value) -> None:
        """Put `value`, of the same type, where this tensor is.

        Raises:
            StaleError: how it shows its root is not known.
        """
        if self.views is None:
            raise StaleError(f"shows parts of {self.root.label!r} in a way that cannot be written through")
        bases = [self.root.value]
        for view, index in self.views:
            bases.append(view.forward(bases[-1])[index])
        for (view, index), base in zip(reversed(self.views), reversed(bases[:-1]), strict=True):
            value = view.inverse(base, index, value)
        self.root.write(value)
