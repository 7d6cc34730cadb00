"""The engines: one module of executors each, registered in `EXECUTORS` by instruction class."""

from __future__ import annotations

from . import ct_elementwise, ct_move, ct_peripheral, ct_pool, ct_tensor, dma, ne, scalar
from .registry import EXECUTORS, Clock, Machine, Semantics, executes

__all__ = [
    "EXECUTORS",
    "Clock",
    "Machine",
    "Semantics",
    "ct_elementwise",
    "ct_move",
    "ct_peripheral",
    "ct_pool",
    "ct_tensor",
    "dma",
    "executes",
    "ne",
    "scalar",
]
