"""Gradients and training: `append_backward` and optimizers. Importing this package registers the operations' rules."""

from __future__ import annotations

from . import rules as rules
from .append_backward import Gradients, append_backward
from .optimizers import append_adam, append_sgd

__all__ = ["append_adam", "append_backward", "append_sgd", "Gradients"]
