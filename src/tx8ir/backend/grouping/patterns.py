"""Patterns of ops that become one group: a file of them, the trie that they make, and what of a program they match.

A line of a file is a priority and a sequence of kinds of ops of `tx8be`, each of which reads the one before:

    20: Conv * Add Relu OR Gemm Add     # a comment

`*` repeats the kind before it one to five times in all, `OR` separates alternatives of the whole line. From each op on
the longest match is taken, of equal ones that of the highest priority. Layout changes and aliases count for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import attrs

from tx8ir.backend.grouping.group_costs import GroupCosts
from tx8ir.backend.grouping.partition import members, order_of
from tx8ir.backend.grouping.units import Units
from tx8ir.core import IrError
from tx8ir.dialects import tx8be

__all__ = ["DEFAULT_PATTERNS", "Pattern", "PatternError", "Trie", "matched_parts", "read_patterns"]

DEFAULT_PATTERNS: Final = Path(__file__).parent / "patterns.txt"
OR, WILDCARD = "OR", "*"
MOST_REPEATS = 5


class PatternError(IrError):
    """A line of a file of patterns that is none: the file, the line and what was expected."""


@attrs.frozen
class Pattern:
    """Kinds of ops, each of which reads the one before, without alternatives or repetitions."""

    kinds: tuple[str, ...]
    priority: int = 0


def read_patterns(path: Path) -> list[Pattern]:
    """The patterns of a file. Raises `PatternError` where a line is none, or the file cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise PatternError(f"{path}: patterns cannot be read: {error.strerror}") from error
    return parse_patterns(text, str(path))


def parse_patterns(text: str, name: str = "patterns") -> list[Pattern]:
    """The patterns of a text; `name` is the file's in errors. Raises `PatternError` as `read_patterns`."""
    found: list[Pattern] = []
    for number, line in enumerate(text.splitlines(), 1):
        words, _, _ = line.partition("#")
        if not words.strip():
            continue
        priority, colon, kinds = words.partition(":")
        if not colon or not priority.strip().removeprefix("-").isdigit():
            raise PatternError(f"{name}:{number}: expected 'priority: kinds of ops', got {line.strip()!r}")
        for alternative in _split(kinds.split()):
            problem = _problem(alternative)
            if problem is not None:
                raise PatternError(f"{name}:{number}:{line.find(':') + 2}: {problem}")
            found += [Pattern(one, int(priority)) for one in _repeated(alternative)]
    return found


def _split(words: Sequence[str]) -> Iterator[list[str]]:
    alternative: list[str] = []
    for word in [*words, OR]:
        if word == OR:
            yield alternative
            alternative = []
        else:
            alternative.append(word)


def _problem(words: Sequence[str]) -> str | None:
    """Why an alternative is none."""
    known = {
        kind.name.removeprefix("tx8be.") for kind in vars(tx8be).values()
        if isinstance(kind, type) and issubclass(kind, tx8be.BackendOp) and kind is not tx8be.BackendOp
    }  # fmt: skip
    if not words:
        return "an alternative has no ops"
    for before, word in zip([WILDCARD, *words], words, strict=False):
        if word == WILDCARD:
            if before == WILDCARD:
                return f"'{WILDCARD}' repeats nothing"
        elif word not in known:
            near = get_close_matches(word, known, 1)
            return f"no op is called {word!r}" + (f"; do you mean {near[0]!r}?" if near else "")
    return None


def _repeated(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The sequences without wildcards that a sequence stands for."""
    if WILDCARD not in words:
        yield tuple(words)
        return
    at = words.index(WILDCARD)
    for times in range(1, MOST_REPEATS + 1):
        for rest in _repeated(words[at + 1 :]) if at + 1 < len(words) else [()]:
            yield (*words[: at - 1], *[words[at - 1]] * times, *rest)


class Trie:
    """Patterns by their first kind, then their second, ...: what may come next, and the priority of what ends here."""

    def __init__(self, patterns: Sequence[Pattern] = ()) -> None:
        self.priority: int | None = None
        self.children: dict[str, Trie] = {}
        for pattern in patterns:
            node = self
            for kind in pattern.kinds:
                node = node.children.setdefault(kind, Trie())
            node.priority = pattern.priority if node.priority is None else max(node.priority, pattern.priority)

    def after(self, kinds: Sequence[str]) -> Trie | None:
        """Where these kinds lead; None where no pattern has them here."""
        node: Trie | None = self
        for kind in kinds:
            node = None if node is None else node.children.get(kind)
        return node


def matched_parts(units: Units, patterns: Trie, costs: GroupCosts) -> list[int]:
    """The units in parts, in an order to carry them out: those that match a pattern together, any other one alone.

    What several matches want the first one has; one that no strategy computes, or whose ops would have to wait for
    others between them, is none.
    """
    reads = units.graph.reads
    parts = {unit: 1 << unit for unit in range(len(reads))}
    for start in range(len(reads)):
        if parts[start] != 1 << start:
            continue
        for match in sorted(_matches(units, patterns, start, parts), reverse=True):
            part = match[-1]
            trial = {**parts, **dict.fromkeys(members(part), part)}
            if order_of(units.graph, set(trial.values())) is not None and costs.has_strategy(part):
                parts = trial
                break
    ordered = order_of(units.graph, set(parts.values()))
    assert ordered is not None
    return ordered


def _matches(units: Units, patterns: Trie, start: int, parts: dict[int, int]) -> Iterator[tuple[int, int, int]]:
    """(ops, priority, units) of the matches of several units that begin with one, along those that read it."""
    waiting: list[tuple[int, Trie, int, int]] = []
    first = patterns.after(units.kinds(start)) if units.kinds(start) else None
    if first is not None:
        waiting.append((start, first, len(units.kinds(start)), 1 << start))
    while waiting:
        last, node, length, part = waiting.pop()
        if node.priority is not None and part & (part - 1):
            yield length, node.priority, part
        for reader in range(last + 1, len(units.groups)):
            if units.graph.reads[reader] >> last & 1 and parts[reader] == 1 << reader:
                kinds = units.kinds(reader)
                following = node.after(kinds) if kinds else None
                if following is not None:
                    waiting.append((reader, following, length + len(kinds), part | 1 << reader))
