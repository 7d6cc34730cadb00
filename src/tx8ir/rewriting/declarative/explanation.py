"""Why a pattern does or does not match: which constraint failed, at which operation, what was there."""

from __future__ import annotations

import attrs

from tx8ir.core import Operation


@attrs.frozen
class MatchFailure:
    """One constraint that failed.

    Attributes:
        op: the operation it was about: the root, or one that an operand of it comes from.
        path: which operand of which: `(1, 0)` is operand 0 of what defines operand 1 of the root; `()` the root.
        constraint: what was asked: `kind`, `attribute 'perm'`, the name of a `Constraint`.
        expected: what would have matched.
        found: what was there.
    """

    op: Operation
    path: tuple[int, ...]
    constraint: str
    expected: str
    found: str

    @property
    def place(self) -> str:
        """The path in words: `operand 0 of operand 1 of the root`."""
        return " of ".join([*(f"operand {index}" for index in reversed(self.path)), "the root"])

    def __str__(self) -> str:
        where = f"\n  at {self.op.location}" if self.op.location.is_known else ""
        return f"{self.place}: {self.constraint}: expected {self.expected}, found {self.found}{where}"


@attrs.frozen
class Explanation:
    """Whether a pattern matches an operation.

    Attributes:
        pattern: its name.
        op: the operation tried as the root.
        mismatches: empty when it matches. Else the failure that got furthest first; with operands that may be swapped,
            then those of the other orders.
    """

    pattern: str
    op: Operation
    mismatches: tuple[MatchFailure, ...]

    @property
    def matched(self) -> bool:
        """Whether the pattern matches."""
        return not self.mismatches

    @property
    def failure(self) -> MatchFailure | None:
        """The mismatch that got furthest, or None."""
        return self.mismatches[0] if self.mismatches else None

    def __str__(self) -> str:
        if self.matched:
            return f"{self.pattern} matches {self.op.name}"
        return f"{self.pattern} does not match {self.op.name}: {self.mismatches[0]}"
