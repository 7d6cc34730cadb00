"""Every way in which something can be built that makes choices: a builder runs again for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """The choices of one run: the first options, but for a path that says otherwise."""

    def __init__(self, path: Sequence[int] = ()) -> None:
        self._path = path
        self.taken: list[tuple[int, int]] = []
        """Which option was chosen, and of how many."""

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, of which there is at least one."""
        place = len(self.taken)
        index = self._path[place] if place < len(self._path) else 0
        self.taken.append((index, len(options)))
        return options[index]


def every_way(build: Callable[[Choices], T | None]) -> Iterator[T]:
    """What `build` gives, for every sequence of choices that it makes, depth first; None is left out.

    How many choices there are, and among what, may depend on those before.
    """
    path: list[int] | None = []
    while path is not None:
        choices = Choices(path)
        made = build(choices)
        if made is not None:
            yield made
        taken = choices.taken
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        path = [index for index, _ in taken[:-1]] + [taken[-1][0] + 1] if taken else None
