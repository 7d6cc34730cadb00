"""Code generation. Importing it registers `generate-tx8`."""

from __future__ import annotations

from .generate_tx8 import GenerateTx8

__all__ = ["GenerateTx8"]
