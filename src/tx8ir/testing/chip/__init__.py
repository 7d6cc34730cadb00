"""What the chip computes, against the interpreter: outputs, the first divergence, values by name."""

from __future__ import annotations
