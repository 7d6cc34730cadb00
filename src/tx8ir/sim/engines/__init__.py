"""The engines: one module of executors each, registered in `EXECUTORS` by instruction class."""

from __future__ import annotations

from . import ct_elementwise, ct_tensor, dma, ne
from .registry import EXECUTORS, Machine, Step, executes

__all__ = ["EXECUTORS", "Machine", "Step", "ct_elementwise", "ct_tensor", "dma", "executes", "ne"]
