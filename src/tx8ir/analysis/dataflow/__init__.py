"""Dataflow analyses: a solver, reachable code, and the bases of sparse and dense analyses.

    solver = DataFlowSolver(program.module)
    ranges = solver.load(IntegerRangeAnalysis())
    solver.run()
    ranges.state(value)

After MLIR's DataFlowFramework. An analysis says what its states are, how two of them join, and what an operation makes
of them; where control goes, and values with it, the solver finds out, by the interfaces of operations (`Branch`,
`RegionBranch`, `CallLike`, `CallableLike`). Analyses in one solver are solved together: code that one of them proves
unreachable is not looked at by any.
"""

from __future__ import annotations

from .base import NOT_YET, DataFlowAnalysis, DecidingAnalysis, NotYet, Point
from .dead_code import DeadCodeAnalysis
from .dense import DenseBackwardAnalysis, DenseForwardAnalysis
from .solver import DataFlowSolver
from .sparse import Anchor, Returned, SparseBackwardAnalysis, SparseForwardAnalysis

__all__ = [
    "Anchor",
    "DataFlowAnalysis",
    "DataFlowSolver",
    "DeadCodeAnalysis",
    "DecidingAnalysis",
    "DenseBackwardAnalysis",
    "DenseForwardAnalysis",
    "NOT_YET",
    "NotYet",
    "Point",
    "Returned",
    "SparseBackwardAnalysis",
    "SparseForwardAnalysis",
]
