"""Memory planning: allocation of DDR, and the planner of offsets for buffers of any origin.

Importing it registers `allocate-ddr`.
"""

from __future__ import annotations

from .allocate_ddr import AllocateDdr
from .buffers import (
    AlignmentError,
    Buffer,
    BufferTooLargeError,
    CapacityError,
    DuplicateBufferError,
    LifetimeError,
    MemoryPlanError,
    SizeError,
    lower_bound,
)
from .minimalloc import CsvError, read_csv, write_csv
from .planner import MemoryPlan, plan

__all__ = [
    "plan",
    "AlignmentError",
    "AllocateDdr",
    "Buffer",
    "BufferTooLargeError",
    "CapacityError",
    "CsvError",
    "DuplicateBufferError",
    "LifetimeError",
    "MemoryPlan",
    "MemoryPlanError",
    "SizeError",
    "lower_bound",
    "read_csv",
    "write_csv",
]
