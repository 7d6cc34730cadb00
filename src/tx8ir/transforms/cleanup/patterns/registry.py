"""Which patterns canonicalization applies. Any package may add its own, for operations of its own dialect."""

from __future__ import annotations

from typing import Any, TypeVar

from tx8ir.rewriting import RewritePattern

_P = TypeVar("_P", bound=RewritePattern[Any])
_PATTERNS: dict[str, RewritePattern[Any]] = {}


def canonicalization(pattern: _P) -> _P:
    """Adds a pattern to those of the pass `canonicalize`; usable as a decorator above `@pattern(…)`.

    A canonicalization pattern is exact (same bits out, NaN, infinities and signed zeros included), makes the graph no
    larger in its own terms, and never undoes another one. Raises `ValueError` when another pattern has the same name.
    """
    taken = _PATTERNS.get(pattern.name)
    if taken is not None and taken is not pattern:
        raise ValueError(f"a canonicalization pattern is named {pattern.name!r} already: {taken!r}")
    _PATTERNS[pattern.name] = pattern
    return pattern


def canonicalization_patterns() -> tuple[RewritePattern[Any], ...]:
    """The registered patterns, in the order they were added."""
    return tuple(_PATTERNS.values())
