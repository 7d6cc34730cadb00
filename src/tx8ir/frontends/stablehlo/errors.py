"""The exception of the StableHLO front end."""

from __future__ import annotations

from tx8ir.frontends.errors import FrontendError


class StableHloImportError(FrontendError):
    """A program that cannot be imported: malformed, or beyond what is supported.

    `node` is the name that JAX gave an operation (`jit(f)/dot_general`), else its line in the text. `needs` are places
    of inputs whose extents would have to be given (`load(…, dimensions=…)`).
    """
