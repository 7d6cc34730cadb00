"""`schedule-groups`: the strategy of every group that `nest` covers, as ops of the group."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from tx8ir.backend.graph import CompileError, backend_ops, region_tiles
from tx8ir.backend.nest.body import NestBody, covers, fold_relayouts
from tx8ir.backend.nest.kernels import Kernels
from tx8ir.backend.nest.price import Plan
from tx8ir.backend.nest.schedule import write_schedule
from tx8ir.backend.nest.search import is_large
from tx8ir.backend.nest.solutions import Solutions
from tx8ir.backend.nest.spm import plan_spm
from tx8ir.backend.schedule.body import GroupBody
from tx8ir.backend.schedule.transfer import Transfers
from tx8ir.backend.search.problem import SearchMemory
from tx8ir.core import Program
from tx8ir.dialects import tx8be
from tx8ir.passes import Pass, option, register_pass

__all__ = ["ScheduleGroups"]


@register_pass
@attrs.frozen
class ScheduleGroups(Pass):
    """Gives groups a `tx8be.schedule`: strategy, buffers, who loads what tiles share, and the order of all work.

    Of the groups that `backend.nest.covers` says it takes those that are large or for which `shard-and-split` has no
    tiling, or `every` one; those for which no strategy is found stay as they are. Layout changes at their borders
    become part of the transfers. Equal groups are searched once. They take the low and the high end of SPM in turn, as
    in `allocate-spm`, so that a group's constants can load while the one before computes.

    Assumes: loads and stores are in place. Cost: a tenth of a second for each distinct group, seconds for large ones.
    """

    name: ClassVar[str] = "schedule-groups"
    preserves: ClassVar[frozenset[type[Any]]] = frozenset({SearchMemory, Solutions, Transfers})
    every: bool = option(False, "whether small groups that have a tiling become loop nests too")

    def run(self, program: Program) -> None:
        solutions = self.analyses.get(Solutions, program)
        groups = [op for op in backend_ops(program) if isinstance(op, tx8be.GroupOp) and op.group_tag != 2]
        for number, group in enumerate(groups):
            if covers(group) and (self.every or self._is_for_here(program, group)):
                self._schedule(group, solutions, high=number % 2 == 1)

    def _is_for_here(self, program: Program, group: tx8be.GroupOp) -> bool:
        memory, transfers = self.analyses.get(SearchMemory, program), self.analyses.get(Transfers, program)
        target = memory.costs.target
        if is_large(NestBody.of(group, target)):
            return True
        try:
            memory.best_tiling(GroupBody.of(group, target, transfers), len(region_tiles(group, target)))
        except CompileError:
            return True
        return False

    def _schedule(self, group: tx8be.GroupOp, solutions: Solutions, high: bool) -> None:
        solution = solutions.of(group)
        if solution is None:
            self.count("without a strategy")
            return
        fold_relayouts(group, self.name)
        body = NestBody.of(group, solutions.target)
        plan = Plan.of(body, solution.choice)
        spm = plan_spm(plan, Kernels(body))
        if high:
            spm = spm.moved(solutions.target.spm_allocatable_bytes - spm.size)
        write_schedule(plan, spm)
        self.count("scheduled")
        self.count("priced", solution.priced)
