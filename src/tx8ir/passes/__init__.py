"""Passes, and pipelines of them: defining, registering, running, watching, taking back."""

from __future__ import annotations

from .base import OperationPass, Pass, PassError, all_passes, all_patterns, find_pass, register_pass
from .executor import Instrumentation, NestedPassManager, OnStage, PassRun, StageReport
from .guarantee import NumericGuarantee
from .manager import PassManager, PipelineReport, RollbackScope
from .options import Option, describe_options, option
from .reproducer import CrashReproducer, Reproducer, read_reproducer
from .text import all_pipelines, register_pipeline

__all__ = [
    "all_passes",
    "all_patterns",
    "all_pipelines",
    "CrashReproducer",
    "RollbackScope",
    "describe_options",
    "find_pass",
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
    "StageReport",
]
