"""What the backend raises when a program cannot be compiled."""

from __future__ import annotations

from tx8ir.core import IrError


class CompileError(IrError):
    """A correct program that the backend cannot compile: which op, its shapes, what is missing, and where it is."""
