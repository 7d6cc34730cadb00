"""The exception of the PyTorch front end."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tx8ir.core import IrError


@attrs.frozen
class MissingOperator:
    """An operator of a program that the front end lacks, at one node.

    Attributes:
        operator: its name with the overload, as in `aten.add.Tensor`.
        node: name of the node.
        place: where in the user's source the node comes from; empty if the program does not say.
    """

    operator: str
    node: str
    place: str = ""

    def __str__(self) -> str:
        place = f" ({self.place})" if self.place else ""
        return f"{self.operator} at node {self.node!r}{place}"


class TorchImportError(IrError, ValueError):
    """An exported program that cannot be imported: damaged, or beyond what is supported. The message is one paragraph.

    Attributes:
        file: the file, or `<bytes>` / `<ExportedProgram>`.
        node: name of the node concerned, or None.
        operator: its operator with the overload, or None.
        needs: symbols whose values would have to be given (`load(…, dimensions=…)`) for the import to go on.
        missing: every operator of the program that the front end lacks, where that is what is wrong.
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
        place = file if node is None else f"{file}: node {node!r} ({operator})"
        super().__init__(" ".join(f"{place}: {message}".split()))
