"""The simulator: executes TX8 instruction programs on byte-addressed memories, and says what the run cost."""

from __future__ import annotations

from .errors import SimError
from .report import SimReport, SourceRow
from .scheduler import Interleaved, Lockstep, Schedule
from .simulator import SimResult, Simulator

__all__ = ["Interleaved", "Lockstep", "Schedule", "SimError", "SimReport", "SimResult", "Simulator", "SourceRow"]
