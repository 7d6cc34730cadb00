"""Changing programs by patterns: the rewriter, the greedy driver, conversion of dialects and of types."""

from __future__ import annotations

from .greedy import ConvergenceError, GreedyResult, rewrite_greedily
from .rewriter import FunctionPattern, RewritePattern, Rewriter, pattern

__all__ = [
    "ConvergenceError",
    "FunctionPattern",
    "GreedyResult",
    "pattern",
    "rewrite_greedily",
    "RewritePattern",
    "Rewriter",
]
