"""The exception of the Paddle front end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tx8ir.core import IrError
from tx8ir.frontends.errors import FrontendError


class PaddleExportError(IrError, ValueError):
    """A program that cannot be written as one of Paddle: with all operations that it has no operator for.

    Attributes:
        operations: their names.
    """

    def __init__(self, message: str, operations: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.operations = tuple(operations)


class PaddleImportError(FrontendError):
    """A program of Paddle that cannot be imported: damaged, or beyond what is supported.

    `node` is the layer, operator and result of an operation (`/Linear_1/add_9`), and `needs` are places of inputs whose
    extents would have to be given (`load(…, dimensions=…)`).

    Attributes:
        version: version of the file's format, or None where it is not known.
        place: where the operation stands in the file, or an empty string.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str,
        node: str | None = None,
        operator: str | None = None,
        version: int | None = None,
        place: str = "",
        needs: Sequence[str] = (),
        **details: Any,
    ) -> None:
        self.version = version
        self.place = place
        super().__init__(message, file=file, node=node, operator=operator, needs=needs, **details)

    def described_operator(self) -> str:
        """The operator, the version of the program and the place in it."""
        return ", ".join(filter(None, (str(self.operator), f"version {self.version}", self.place)))
