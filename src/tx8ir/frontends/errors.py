"""What a front end raises: what is wrong with a file of another framework, at which node of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from tx8ir.core import IrError

SHOWN: Final = 20
"""Nodes that a message lists; the error has them all."""


@attrs.frozen
class MissingOperator:
    """An operator of a program that the front end lacks, at one node.

    Attributes:
        operator: its name in the framework, complete (`aten.add.Tensor`).
        node: name of the node.
        place: where the node stands, for people: a line of the source, or the graphs around it; may be empty.
    """

    operator: str
    node: str
    place: str = ""

    @property
    def kind(self) -> str:
        """The operator as a message names it; equal ones are one kind."""
        return self.operator

    def __str__(self) -> str:
        place = f" ({self.place})" if self.place else ""
        return f"{self.kind} at node {self.node!r}{place}"


class FrontendError(IrError, ValueError):
    """A file that cannot be imported: malformed, or beyond what is supported. The message is one paragraph.

    Attributes:
        file: the file, or what was given in place of one (`<bytes>`).
        node: name of the node concerned, or None.
        operator: its operator, or None.
        needs: names of what would have to be given to `load` for the import to go on.
        missing: every operator of the file that the front end lacks, where that is what is wrong.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str,
        node: str | None = None,
        operator: str | None = None,
        needs: Sequence[str] = (),
        missing: Sequence[MissingOperator] = (),
    ) -> None:
        self.file = file
        self.node = node
        self.operator = operator
        self.needs = tuple(needs)
        self.missing = tuple(missing)
        place = file if node is None else f"{file}: node {node!r} ({self.described_operator()})"
        super().__init__(" ".join(f"{place}: {message}".split()))

    def described_operator(self) -> str:
        """The operator as the message names it."""
        return str(self.operator)


def listed(missing: Sequence[MissingOperator]) -> str:
    """One sentence on operators that a front end lacks, at least one; the first of them by name."""
    items = "; ".join(map(str, missing[:SHOWN])) + ("; …" if len(missing) > SHOWN else "")
    if len(missing) == 1:
        return f"the operator is not supported: {items}"
    return f"{len(missing)} nodes of {len({item.kind for item in missing})} operators are not supported: {items}"
