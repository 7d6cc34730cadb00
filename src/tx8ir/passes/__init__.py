"""Passes, and pipelines of them: defining, registering, running, watching, taking back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tx8ir.support.lazy_names import lazy_names

from .base import OperationPass, Pass, PassError, all_passes, all_patterns, find_pass, register_pass
from .debug_counter import DebugCounter
from .executor import Instrumentation, NestedPassManager, OnStage, PassRun, StageReport
from .guarantee import NumericGuarantee
from .manager import PassManager, PipelineReport, RollbackScope
from .options import Option, describe_options, option
from .reproducer import CrashReproducer, Reproducer, read_reproducer
from .text import all_pipelines, register_pipeline

if TYPE_CHECKING:
    from .bisect import WrongStep, find_wrong_step, same_results
else:  # they ask the interpreter, which running passes does not need
    __getattr__, __dir__ = lazy_names(
        __name__, dict.fromkeys(("WrongStep", "find_wrong_step", "same_results"), "bisect")
    )

__all__ = [
    "all_passes",
    "all_patterns",
    "all_pipelines",
    "CrashReproducer",
    "RollbackScope",
    "DebugCounter",
    "describe_options",
    "find_pass",
    "find_wrong_step",
    "Instrumentation",
    "NestedPassManager",
    "OnStage",
    "OperationPass",
    "Option",
    "option",
    "Pass",
    "PassError",
    "PassManager",
    "PassRun",
    "PipelineReport",
    "NumericGuarantee",
    "read_reproducer",
    "register_pass",
    "register_pipeline",
    "Reproducer",
    "same_results",
    "StageReport",
    "WrongStep",
]
