"""Nested lists, tuples and dictionaries: their leaves in order, with names, and the same nesting of other leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

Path = tuple[str, ...]
"""The way to a leaf: names of parameters, keys of dictionaries, places in lists."""


def _parts(tree: Any) -> list[tuple[Any, Any]] | None:
    """Keys and what is there, of a list, a tuple or a dictionary; None for a leaf."""
    if isinstance(tree, Mapping):
        return list(cast("Mapping[Any, Any]", tree).items())
    if isinstance(tree, (list, tuple)):
        return list(enumerate(cast("Sequence[Any]", tree)))
    return None


def leaves(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """What is nested in lists, tuples and dictionaries, in order; `tree` itself if it is none of these."""
    parts = _parts(tree)
    if parts is None:
        yield path, tree
    else:
        for key, value in parts:
            yield from leaves(value, (*path, str(key)))


def mapped(tree: Any, change: Callable[[Any], Any]) -> Any:
    """The same nesting with `change(leaf)` for each leaf, in order."""
    parts = _parts(tree)
    if parts is None:
        return change(tree)
    changed = {key: mapped(value, change) for key, value in parts}
    if isinstance(tree, Mapping):
        return changed
    kind: Any = tree.__class__
    return kind(*changed.values()) if hasattr(kind, "_fields") else kind(changed.values())  # fields: a named tuple


def structure(tree: Any) -> Any:
    """What is left when the leaves are taken out; equal for trees that nest in the same way, and hashable."""
    parts = _parts(tree)
    if parts is None:
        return None
    kind = "dictionary" if isinstance(tree, Mapping) else tree.__class__.__name__
    return (kind, *((key, structure(value)) for key, value in parts))
