"""Passes that fit any target: the pass manager, the rewriter, and the passes that clean up and prepare a `pd` graph.

Importing this package registers its passes.
"""

from __future__ import annotations

from .canonicalize import Canonicalize, canonicalization, canonicalization_patterns
from .constant_fold import ConstantFold
from .convert_dtype import ConvertDtype, Dtype
from .cse import CommonSubexpressionElimination, eliminate_common_subexpressions
from .dce import DeadCodeElimination, eliminate_dead_code
from .greedy import ConvergenceError, GreedyResult, rewrite_greedily
from .nhwc import Nhwc
from .pass_manager import (
    Pass,
    PassError,
    PassManager,
    PipelineReport,
    StageReport,
    all_passes,
    register_pass,
)
from .rewriter import FunctionPattern, RewritePattern, Rewriter, pattern

__all__ = [
    "all_passes",
    "canonicalization",
    "canonicalization_patterns",
    "Canonicalize",
    "CommonSubexpressionElimination",
    "ConstantFold",
    "ConvergenceError",
    "ConvertDtype",
    "DeadCodeElimination",
    "Dtype",
    "eliminate_common_subexpressions",
    "eliminate_dead_code",
    "FunctionPattern",
    "GreedyResult",
    "Nhwc",
    "Pass",
    "PassError",
    "PassManager",
    "pattern",
    "PipelineReport",
    "register_pass",
    "rewrite_greedily",
    "RewritePattern",
    "Rewriter",
    "StageReport",
]
