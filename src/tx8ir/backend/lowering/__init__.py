"""Lowering of the tensor dialect to the backend graph. Importing it registers `value-signature`, `lower-to-tx8be`."""

from __future__ import annotations

from .lower_to_tx8be import LowerToTx8be
from .value_signature import ValueSignature

__all__ = ["LowerToTx8be", "ValueSignature"]
