"""`shard-and-split`: every group's tiling, over tiles in space and over steps in time."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

import attrs

from tx8ir.backend.errors import CompileError
from tx8ir.backend.graph import backend_ops
from tx8ir.backend.schedule.body import GroupBody
from tx8ir.backend.schedule.region import region_tiles
from tx8ir.backend.schedule.steps import GroupSteps
from tx8ir.backend.schedule.tiling import Tiling
from tx8ir.backend.search.estimate import Candidate
from tx8ir.backend.search.problem import best_tiling, problem_key
from tx8ir.backend.target_options import target_with
from tx8ir.core import Program
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import BackendOp, DevAttr, ParallelAttr
from tx8ir.target.chip import Target
from tx8ir.transforms.pass_manager import Pass, option, register_pass

__all__ = ["ShardAndSplit"]


@register_pass
@attrs.frozen
class ShardAndSplit(Pass):
    """Chooses, per searched group, the cheapest tiling that fits SPM.

    Leaves `tile_parallel.shape_spatial_sharding` (parts per axis of the stored result) on the `StoreVar`, and on every
    op `dev_info.temporal_mem_slice` (extents of its slice in the first time step) and, when the time steps alternate
    between two buffers, `multi_buf_en` / `multi_buf_num`. Groups that are equal up to names and constants reuse a
    result and name its group in `template_id`. A `tile_parallel` with `sharding_is_given` is taken as it is.

    Assumes: loads and stores are in place. Cost: linear in groups; per distinct group about 40 shardings.
    Raises `CompileError` when no slice of a group fits.
    """

    name: ClassVar[str] = "shard-and-split"
    spm_bytes: int | None = option(None, "bytes of SPM per tile that may be used; none: those of TX8")
    profile: str = option("datasheet", "the timing profile that costs are taken from: datasheet or board")

    def run(self, program: Program) -> None:
        target = target_with(self.spm_bytes, self.profile)
        templates: dict[Hashable, tuple[int, Candidate]] = {}
        for group in backend_ops(program):
            if isinstance(group, tx8be.GroupOp) and group.group_tag != 2:
                self._tile(group, target, templates)

    def _tile(self, group: tx8be.GroupOp, target: Target, templates: dict[Hashable, tuple[int, Candidate]]) -> None:
        body = GroupBody.of(group)
        tiles = len(region_tiles(group))
        key = (problem_key(group), tiles)
        known = templates.get(key)
        if known is None:
            candidate = best_tiling(body, target, tiles, given=_given(body))
            templates[key] = (group.group_id, candidate)
            self.count("searched")
        else:
            template, candidate = known
            group.set_attribute("template_id", template)
            self.count("reused")
        self.count("split over time", int(candidate.steps > 1))
        annotate(body, candidate.tiling, candidate.buffers, tiles)


def _given(body: GroupBody) -> tuple[int, ...] | None:
    """The sharding that was set beforehand, if any."""
    parallel = body.store.tile_parallel
    if parallel is None or not parallel.sharding_is_given:
        return None
    sharding = parallel.shape_spatial_sharding
    if len(sharding) != len(body.shape) or min(sharding, default=1) < 1:
        raise CompileError(
            f"sharding {list(sharding)} is given for a result of shape {list(body.shape)}", op=body.store
        )
    return sharding


def annotate(body: GroupBody, tiling: Tiling, buffers: int, tiles: int) -> None:
    """Writes a tiling into the IR; `read_tiling` reads it back."""
    steps = GroupSteps.make(body, tiling, tiles)
    first = steps.of(next(t for t, box in enumerate(steps.tiles) if box is not None), (0,) * len(steps.steps))
    assert first is not None
    for i, value in enumerate(body.values):
        op = value.defining_op
        assert isinstance(op, BackendOp)
        box = first.boxes[i]
        doubled = buffers > 1 and (i < len(body.loads) or value is body.stored) and i not in steps.kept()
        info = op.dev_info if op.dev_info is not None else DevAttr()
        slice_ = () if box is None else box.extent
        info = attrs.evolve(
            info, temporal_mem_slice=slice_, multi_buf_en=doubled, multi_buf_num=buffers if doubled else 1
        )
        op.set_attribute("dev_info", info)
    parallel = body.store.tile_parallel if body.store.tile_parallel is not None else ParallelAttr()
    body.store.set_attribute("tile_parallel", attrs.evolve(parallel, shape_spatial_sharding=tiling.sharding))
    info = body.store.dev_info if body.store.dev_info is not None else DevAttr()
    info = attrs.evolve(info, temporal_mem_slice=tiling.slice, multi_buf_en=buffers > 1, multi_buf_num=buffers)
    body.store.set_attribute("dev_info", info)
