"""The solver: analyses, each with a worklist of operations, visited until none of them learns anything."""

from __future__ import annotations

from typing import TypeVar

from tx8ir.core import Block, Operation
from tx8ir.support.screen import fitted

from .base import DataFlowAnalysis, DecidingAnalysis
from .dead_code import DeadCodeAnalysis

AnalysisT = TypeVar("AnalysisT", bound=DataFlowAnalysis)


class DataFlowSolver:
    """Solves analyses over the regions of an operation, all together.

    Optimistic: control goes nowhere and nothing is known until something says otherwise; so what is found is the least
    fixpoint. Operations are visited once when control may reach them, then when a state that they read changes. With
    lattices of bounded height that is O(operations + uses + edges).

    Args:
        root: what is analysed: a module, a function, or any operation with regions. What is inside it and not in
            blocks that can be reached is never visited.
        interprocedural: whether calls of functions in `root`, a whole module, are followed. A function that is not
            public, and that nothing but calls in the module names, is then entered from these calls alone.

    Attributes:
        reached: the blocks that control may enter.
    """

    def __init__(self, root: Operation, *, interprocedural: bool = True) -> None:
        self.root = root
        self.reached: set[Block] = set()
        self.analyses: list[DataFlowAnalysis] = []
        self.deciding: list[DecidingAnalysis] = []
        self.dead_code = DeadCodeAnalysis(interprocedural)
        self.dead_code.solver = self

    def __repr__(self) -> str:
        return fitted(f"<DataFlowSolver of {self.root.name}: {', '.join(map(repr, self.analyses)) or 'no analyses'}>")

    def load(self, analysis: AnalysisT) -> AnalysisT:
        """Add an analysis, before `run`; returns it."""
        analysis.solver = self
        self.analyses.append(analysis)
        if isinstance(analysis, DecidingAnalysis):
            self.deciding.append(analysis)
        return analysis

    def run(self) -> None:
        """Visit operations until nothing changes."""
        for analysis in self.analyses:
            analysis.initialize()
        self.dead_code.initialize()
        busy = True
        while busy:
            self.dead_code.drain()
            busy = False
            for analysis in self.analyses:
                if not analysis.is_done:
                    analysis.drain()
                    busy = True
            busy = busy or not self.dead_code.is_done
        for analysis in self.analyses:
            analysis.finish()

    def is_reached(self, op: Operation) -> bool:
        """Whether control may come to the block of `op`."""
        return op.parent in self.reached
