"""`shard-and-split`: every group's tiling, over tiles in space and over steps in time."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import attrs

from tx8ir.backend.graph import CompileError, backend_ops, region_tiles, schedule_of
from tx8ir.backend.schedule.annotations import read_given_sharding, write_tiling
from tx8ir.backend.schedule.body import GroupBody
from tx8ir.backend.schedule.problem import problem_key
from tx8ir.backend.schedule.transfer import Transfers
from tx8ir.backend.search.estimate import Candidate
from tx8ir.backend.search.problem import SearchMemory
from tx8ir.core import Program
from tx8ir.dialects import tx8, tx8be
from tx8ir.passes import Pass, register_pass

__all__ = ["ShardAndSplit"]


@register_pass
@attrs.frozen
class ShardAndSplit(Pass):
    """Chooses, per searched group, the cheapest tiling that fits SPM.

    Leaves `tile_parallel.shape_spatial_sharding` (parts per axis of the stored result) on the `StoreVar`, and on every
    op `dev_info.temporal_mem_slice` (extents of its slice in the first time step) and, when the time steps alternate
    between two buffers, `multi_buf_en` / `multi_buf_num`. Groups that are equal up to names and constants reuse a
    result and name its group in `template_id`. Groups with a schedule have all of this.
    A `tile_parallel` with `sharding_is_given` is taken as it is.

    Assumes: loads and stores are in place. Cost: linear in groups; per distinct group about 40 shardings.
    Raises `CompileError` when no slice of a group fits.
    """

    name: ClassVar[str] = "shard-and-split"
    preserves: ClassVar[frozenset[type[Any]]] = frozenset({Transfers})

    def run(self, program: Program) -> None:
        target = tx8.target_of(program)
        memory, transfers = self.analyses.get(SearchMemory, program), self.analyses.get(Transfers, program)
        templates: dict[Hashable, tuple[int, Candidate]] = {}
        for group in backend_ops(program):
            if isinstance(group, tx8be.GroupOp) and group.group_tag != 2 and schedule_of(group) is None:
                self._tile(GroupBody.of(group, target, transfers), memory, templates)

    def _tile(self, body: GroupBody, memory: SearchMemory, templates: dict[Hashable, tuple[int, Candidate]]) -> None:
        group, tiles = body.group, len(region_tiles(body.group, body.target))
        key = (problem_key(group), tiles)
        known = templates.get(key)
        if known is None:
            candidate = memory.best_tiling(body, tiles, given=_given(body))
            templates[key] = (group.group_id, candidate)
            self.count("searched")
        else:
            template, candidate = known
            group.set_attribute("template_id", template)
            self.count("reused")
        self.count("split over time", int(candidate.steps > 1))
        write_tiling(body, candidate.tiling, candidate.buffers, tiles)


def _given(body: GroupBody) -> tuple[int, ...] | None:
    """The sharding that was set beforehand, if any."""
    sharding = read_given_sharding(body.store)
    if sharding is None:
        return None
    if len(sharding) != len(body.shape) or min(sharding, default=1) < 1:
        raise CompileError(
            f"sharding {list(sharding)} is given for a result of shape {list(body.shape)}", op=body.store
        )
    return sharding
