"""The simulator: executes TX8 instruction programs on byte-addressed memories, and says what the run cost."""

from __future__ import annotations

from .chip import Chip
from .debugger import Debugger
from .errors import SimError
from .exceptions import FlagRow, flags_table
from .report import PathStep, Roofline, SimReport, SourceRow, Traffic
from .scheduler import Interleaved, Lockstep, Schedule
from .simulator import Execution, SimResult, Simulator, time_program

__all__ = [
    "Chip",
    "Debugger",
    "Execution",
    "FlagRow",
    "Interleaved",
    "Lockstep",
    "PathStep",
    "Roofline",
    "Schedule",
    "SimError",
    "SimReport",
    "SimResult",
    "Simulator",
    "SourceRow",
    "Traffic",
    "flags_table",
    "time_program",
]
