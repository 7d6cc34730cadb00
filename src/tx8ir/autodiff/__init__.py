"""Gradients: `append_backward`, and the rules of the operations. Importing this package registers the rules."""

from __future__ import annotations

from . import rules as rules
from .append_backward import Gradients, append_backward

__all__ = ["append_backward", "Gradients"]
