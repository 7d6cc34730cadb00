"""`schedule-groups`: the strategy of every group that `nest` covers, as ops of the group."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from tx8ir.backend.graph import backend_ops, schedule_of
from tx8ir.backend.nest.body import NestBody, fold_relayouts
from tx8ir.backend.nest.kernels import Kernels
from tx8ir.backend.nest.price import Plan
from tx8ir.backend.nest.schedule import write_schedule
from tx8ir.backend.nest.solutions import Solution, Solutions
from tx8ir.backend.nest.spm import plan_spm
from tx8ir.core import Program
from tx8ir.dialects import tx8be
from tx8ir.passes import Pass, register_pass
from tx8ir.target.chip import Target

__all__ = ["ScheduleGroups"]


@register_pass
@attrs.frozen
class ScheduleGroups(Pass):
    """Gives groups a `tx8be.schedule`: strategy, buffers, who loads what tiles share, and the order of all work.

    Layout changes at the borders of a group become part of its transfers. Equal groups are searched once, and
    `template_id` names the first of them. Groups take the low and the high end of SPM in turn, so that a group's
    constants can load while the one before computes. Groups that have a schedule keep it.

    Assumes: loads and stores are in place. Cost: a tenth of a second for each distinct group, seconds for large ones.
    Raises `CompileError` where no strategy of a group fits SPM and the instructions.
    """

    name: ClassVar[str] = "schedule-groups"
    preserves: ClassVar[frozenset[type[Any]]] = frozenset({Solutions})

    def run(self, program: Program) -> None:
        solutions = self.analyses.get(Solutions, program)
        first: dict[int, int] = {}
        groups = [op for op in backend_ops(program) if isinstance(op, tx8be.GroupOp) and op.group_tag != 2]
        for number, group in enumerate(groups):
            if schedule_of(group) is None:
                solution = solutions.required(group)
                template = first.setdefault(id(solution), group.group_id)
                if template != group.group_id:
                    group.set_attribute("template_id", template)
                    self.count("reused")
                self._schedule(group, solution, solutions.target, high=number % 2 == 1)

    def _schedule(self, group: tx8be.GroupOp, solution: Solution, target: Target, high: bool) -> None:
        fold_relayouts(group, self.name)
        body = NestBody.of(group, target)
        plan = Plan.of(body, solution.choice)
        spm = plan_spm(plan, Kernels(body))
        if high:
            spm = spm.moved(target.spm_allocatable_bytes - spm.size)
        write_schedule(plan, spm)
        self.count("scheduled")
        self.count("priced", solution.priced)
