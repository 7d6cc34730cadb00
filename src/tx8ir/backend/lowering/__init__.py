"""Lowering of the tensor dialect to the backend graph. Importing it registers its passes."""

from __future__ import annotations

from .check_ranges import CheckRanges, status_words
from .composite import lowers_as
from .context import lowers
from .lower_to_tx8be import LowerToTx8be
from .value_signature import ValueSignature

__all__ = ["CheckRanges", "LowerToTx8be", "ValueSignature", "lowers", "lowers_as", "status_words"]
