"""The exception of the PyTorch front end."""

from __future__ import annotations

from tx8ir.frontends.errors import FrontendError


class TorchImportError(FrontendError):
    """An exported program that cannot be imported: damaged, or beyond what is supported.

    `file` may be `<bytes>` or `<ExportedProgram>`, operators are named with the overload, and `needs` are symbols whose
    values would have to be given (`load(…, dimensions=…)`).
    """
