"""Layers of a model, from the names in it: what a picture collapses together.

Exporters name parameters by the module that owns them (`h.0.attn.c_attn.weight`) and some name nodes by the path of the
module that computes them (`/layer1/conv1/Conv`). An operation belongs to the module whose parameters it alone reads, or
that its name says; one without either to what its neighbours in program order have in common.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from .model import Scope

_PART: Final = re.compile(r"[/.]")
_SMALLEST: Final = 2
"""Operations in a scope that is shown as one."""
_LARGEST: Final = 0.85
"""The part of what is around it that a scope may hold."""
_NAME_PARTS: Final = 2

Path = tuple[str, ...]


def path_of(name: str) -> Path | None:
    """The module that a name speaks of; None of a name without parts."""
    parts = tuple(part for part in _PART.split(name) if part)
    return parts[:-1] if len(parts) > 1 else None


def assign_scopes(names: Sequence[str], parameters: Sequence[Sequence[str]]) -> tuple[tuple[Scope, ...], list[int]]:
    """Scopes, and the number of the scope of each operation.

    Args:
        names: of the operations, in program order; empty where there is none.
        parameters: the variables that each operation reads.
    """
    readers = Counter(parameter for read in parameters for parameter in read)
    own = [[parameter for parameter in read if readers[parameter] == 1] for read in parameters]
    anchors = [_anchor(name, read) for name, read in zip(names, own, strict=True)]
    paths = _filled(anchors)
    kept = _kept(paths)
    scopes = [Scope("model", "", -1)]
    numbers: dict[Path, int] = {(): 0}
    found: list[int] = []
    for path in paths:
        parent = 0
        shown: Path = ()
        for depth in range(1, len(path) + 1):
            prefix = path[:depth]
            if prefix not in kept:
                continue
            if prefix not in numbers:
                numbers[prefix] = len(scopes)
                name = ".".join(prefix[len(shown) :][-_NAME_PARTS:])
                scopes.append(Scope(name, ".".join(prefix), parent))
            parent, shown = numbers[prefix], prefix
        found.append(parent)
    return tuple(scopes), found


def _anchor(name: str, parameters: Sequence[str]) -> Path | None:
    own = path_of(name) if "/" in name else None
    if own:
        return own
    owners = [path for parameter in parameters if (path := path_of(parameter)) is not None]
    return None if not owners else owners[0] if len(owners) == 1 else _common(owners) or owners[0]


def _common(paths: Sequence[Path]) -> Path:
    first, *others = paths
    length = len(first)
    for other in others:
        same = 0
        while same < min(length, len(other)) and first[same] == other[same]:
            same += 1
        length = same
    return first[:length]


def _filled(anchors: Sequence[Path | None]) -> list[Path]:
    """Operations without an anchor between two get what the two have in common."""
    following: list[Path | None] = [None] * len(anchors)
    after: Path | None = None
    for i in range(len(anchors) - 1, -1, -1):
        after = anchors[i] if anchors[i] is not None else after
        following[i] = after
    before: Path | None = None
    paths: list[Path] = []
    for anchor, after in zip(anchors, following, strict=True):
        if anchor is not None:
            before = anchor
            paths.append(anchor)
        else:
            paths.append(_common([before, after]) if before is not None and after is not None else ())
    return paths


def _kept(paths: Sequence[Path]) -> frozenset[Path]:
    """The prefixes worth a frame: of several operations, and not of nearly all that the frame around holds."""
    counts: Counter[Path] = Counter()
    for path in paths:
        counts.update(path[:depth] for depth in range(1, len(path) + 1))
    kept: set[Path] = set()
    around: dict[Path, int] = {(): len(paths)}
    """How many operations the closest kept prefix of a prefix holds, itself included."""
    for prefix in sorted(counts, key=len):
        size = around[prefix[:-1]]
        if _SMALLEST <= counts[prefix] <= _LARGEST * size:
            kept.add(prefix)
            size = counts[prefix]
        around[prefix] = size
    return frozenset(kept)
