"""The tiling of a group as annotations of its operations: written by the search, read by allocation and code
generation.
"""

from __future__ import annotations

import attrs

from tx8ir.backend.graph import CompileError
from tx8ir.backend.schedule.body import GroupBody
from tx8ir.backend.schedule.steps import GroupSteps
from tx8ir.backend.schedule.tiling import Tiling
from tx8ir.dialects.tx8be import BackendOp, DevAttr, ParallelAttr


def read_tiling(body: GroupBody) -> tuple[Tiling, int]:
    """The tiling that `shard-and-split` left on a group, and its number of buffers.

    Raises:
        CompileError: there is none.
    """
    parallel, info = body.store.tile_parallel, body.store.dev_info
    if parallel is None or info is None or len(info.temporal_mem_slice) != len(body.shape):
        raise CompileError("the group has no tiling; run shard-and-split first", op=body.group)
    return Tiling(parallel.shape_spatial_sharding, info.temporal_mem_slice), info.multi_buf_num


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
