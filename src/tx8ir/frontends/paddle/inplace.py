"""Which operations write in place, and what: Paddle's own names for that end in `_`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .document import PaddleBlock, PaddleOp

_WRITES: Final[dict[str, dict[int, int]]] = {
    "batch_norm_": {1: 1, 2: 2},
    "assign_out_": {1: 0},
    "adam_": {0: 0, 3: 1, 4: 2, 5: 3, 6: 4},
    "adamw_": {0: 0, 3: 1, 4: 2, 5: 3, 6: 4},
    "momentum_": {0: 0, 2: 1},
}
"""Operand to result that holds what is written to it, where it is not the first to the first
(`inplace` in `paddle/phi/ops/yaml`)."""
VIEWS: Final = frozenset({"reshape_", "squeeze_", "unsqueeze_", "flatten_", "share_data_"})
"""Operations whose result shows the first operand, which they do not write."""


def writes(op: PaddleOp) -> Mapping[int, int]:
    """For each operand that an operation writes the result that is what it holds afterwards."""
    if not op.name.endswith("_") or op.short in VIEWS:
        return {}
    if op.short == "batch_norm_" and (op.attributes.get("is_test") or op.attributes.get("use_global_stats")):
        return {}
    return _WRITES.get(op.short, {0: 0})


def aliases(op: PaddleOp) -> Mapping[int, int]:
    """For each operand that a result shows that result."""
    return {0: 0} if op.short in VIEWS else _WRITES.get(op.short, {0: 0}) if op.name.endswith("_") else {}


def written_values(block: PaddleBlock) -> frozenset[int]:
    """The numbers of all values whose storage some operation of a program writes."""
    parent: dict[int, int] = {}

    def root(number: int) -> int:
        while (above := parent.get(number, number)) != number:
            parent[number] = parent.get(above, above)
            number = above
        return number

    written: set[int] = set()
    for op in block.walk():
        for operand, result in aliases(op).items():
            if operand < len(op.operands) and result < len(op.results):
                parent[root(op.results[result][0])] = root(op.operands[operand])
    for op in block.walk():
        for operand in writes(op):
            if operand < len(op.operands) and op.operands[operand]:
                written.add(root(op.operands[operand]))
    return frozenset(number for number in {*parent, *written} if root(number) in written)
