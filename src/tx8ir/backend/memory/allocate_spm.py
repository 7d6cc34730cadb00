"""`allocate-spm`: addresses of every group's slices and temporaries in the tiles' SPM."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from tx8ir.backend.graph import CompileError, backend_ops, region_tiles, schedule_of
from tx8ir.backend.memory.buffers import MemoryPlanError
from tx8ir.backend.memory.spm_plan import place_in_spm
from tx8ir.backend.schedule.annotations import read_tiling, write_spm
from tx8ir.backend.schedule.body import GroupBody, GroupSlice
from tx8ir.backend.schedule.steps import GroupSteps
from tx8ir.backend.schedule.transfer import Transfers
from tx8ir.core import Program
from tx8ir.dialects import tx8, tx8be
from tx8ir.passes import Pass, option, register_pass

__all__ = ["AllocateSpm"]


@register_pass
@attrs.frozen
class AllocateSpm(Pass):
    """Places the values and temporaries of every group in SPM.

    Leaves `dev_info.mem_addr` (one address per buffer) on loads and compute ops, `imm_addr` and `imm_size` on compute
    ops and `spm_alloc_size` on the group. Groups run one after the other on a tile, so each has the whole SPM; they
    take the low and the high end of it in turn, so that a group's constants can load while the one before computes.
    `max_nodes` bounds the exact search behind the heuristics, which only begins where these miss the bound.

    Assumes: `shard-and-split` ran. Raises `CompileError` when a group does not fit.
    """

    name: ClassVar[str] = "allocate-spm"
    preserves: ClassVar[frozenset[type[Any]]] = frozenset({Transfers})
    max_nodes: int = option(20_000, "bound on the exact search behind the heuristics, in placed buffers")

    def run(self, program: Program) -> None:
        target = tx8.target_of(program)
        groups = [op for op in backend_ops(program) if isinstance(op, tx8be.GroupOp) and op.group_tag != 2]
        for number, group in enumerate(groups):
            if schedule_of(group) is None:
                self._allocate(GroupBody.of(group, target), high=number % 2 == 1)

    def _allocate(self, body: GroupBody, high: bool) -> None:
        target = body.target
        tiling, buffers = read_tiling(body)
        steps = GroupSteps.make(body, tiling, len(region_tiles(body.group, target)))
        forms: dict[object, GroupSlice] = {}
        for index in steps.indices():
            for tile in range(len(steps.tiles)):
                found = steps.of(tile, index)
                if found is not None:
                    forms.setdefault(found.form, found)
        temporaries = [
            max(body.kernel(k, form).temp_bytes for form in forms.values()) for k in range(len(body.compute))
        ]
        try:
            plan = place_in_spm(
                body,
                forms.values(),
                kept=steps.kept(),
                buffers=buffers,
                temporaries=temporaries,
                max_nodes=self.max_nodes,
            )
        except MemoryPlanError as error:
            raise CompileError(f"the group does not fit the SPM: {error}", op=body.group) from None
        if high:
            plan = plan.moved(target.spm_allocatable_bytes - plan.size)
        write_spm(body, plan.values, plan.imm, plan.size)
        self.count("groups")
        self.count("bytes", plan.size)
        self.count("bound bytes", plan.bound)
