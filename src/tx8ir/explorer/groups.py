"""What the compiler decided about groups, read from the backend graph: all that the explorer knows of the search.

The facts are words and text, so that another search changes this module alone. What was tried besides the choice is
not in the graph yet: `candidates` stays empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tx8ir.backend.graph import CompileError, region_tiles
from tx8ir.backend.schedule.annotations import read_spm_bytes
from tx8ir.core import Operation, Program
from tx8ir.dialects import tx8, tx8be
from tx8ir.target.chip import Target

from .model import Group

_NO_WORK = (tx8be.LoadVarOp, tx8be.LoadConstOp, tx8be.StoreVarOp, tx8be.ReturnOp, tx8be.NoneOp)
_TAGS = {0: "searched", 1: "split over N, H and T", 2: "an alias in DDR, no code"}


def read_groups(
    program: Program, number: Callable[[Operation], int], sources: Callable[[Operation], tuple[int, ...]]
) -> tuple[Group, ...]:
    """The groups of a backend graph, in order; none before there are any.

    Args:
        program: at any stage.
        number: the number of an operation in the texts.
        sources: the source operations that one stands for.
    """
    target = tx8.target_of(program)
    groups = [op for op in program.module.walk() if isinstance(op, tx8be.GroupOp) and op.group_id >= 0]
    return tuple(_group(op, target, number(op), sources) for op in groups)


def _group(group: tx8be.GroupOp, target: Target, number: int, sources: Callable[[Operation], tuple[int, ...]]) -> Group:
    body = list(group.body.block)
    work = [op for op in body if not isinstance(op, _NO_WORK)]
    stands_for = dict.fromkeys(n for op in (group, *body) for n in sources(op))
    return Group(
        id=group.group_id,
        op=number,
        ops=tuple(op.name.removeprefix("tx8be.") for op in work),
        sources=tuple(sorted(stands_for)),
        facts={name: text for name, text in _facts(group, body) if text},
        spm_bytes=read_spm_bytes(group),
        tiles=_tiles(group, target),
        template=group.template_id,
        candidates=(),
    )


def _tiles(group: tx8be.GroupOp, target: Target) -> int:
    try:
        return len(region_tiles(group, target))
    except CompileError:
        return 0  # before `group-mapping`


def _facts(group: tx8be.GroupOp, body: list[Operation]) -> Iterator[tuple[str, str]]:
    yield "kind", _TAGS.get(group.group_tag or 0, "")
    for store in body:
        if isinstance(store, tx8be.StoreVarOp):
            parallel, info = store.tile_parallel, store.dev_info
            if parallel is not None and parallel.shape_spatial_sharding:
                yield "sharding", _times(parallel.shape_spatial_sharding)
                yield "sharding given", "yes" if parallel.sharding_is_given else ""
            if info is not None and info.temporal_mem_slice:
                yield "slice of a step", _times(info.temporal_mem_slice)
            if info is not None:
                yield "buffers", str(info.multi_buf_num)
                yield "stored as", info.mem_layout
            yield "result", str(store.y.type)
    if group.dev_region is not None:
        yield "region", f"{group.dev_region.dx} × {group.dev_region.dy} tiles"
    yield "barrier after it", "yes" if group.need_barrier else "no"
    if group.layer is not None:
        yield "layer", str(group.layer)


def _times(extents: tuple[int, ...]) -> str:
    return " × ".join(map(str, extents))
