"""Memory planning: SPM and DDR allocation, and the planner below them, for buffers of any origin.

Importing it registers `allocate-spm` and `allocate-ddr`.
"""

from __future__ import annotations

from .allocate_ddr import AllocateDdr
from .allocate_spm import AllocateSpm
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
    "AllocateSpm",
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
