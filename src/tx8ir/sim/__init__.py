"""The simulator: executes TX8 instruction programs on byte-addressed memories, and says what the run cost."""

from __future__ import annotations

from .checks.fp_flags import FlagRow, flags_table
from .errors import SimError
from .run.debugger import Debugger
from .run.multi_program import MultiProgramChip
from .run.scheduler import Interleaved, Lockstep, Schedule
from .run.simulator import Execution, SimResult, Simulator, time_program
from .timing.bounds import GroupTime
from .timing.report import PathStep, Roofline, SimReport, SourceRow, Traffic

__all__ = [
    "MultiProgramChip",
    "Debugger",
    "Execution",
    "FlagRow",
    "GroupTime",
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
