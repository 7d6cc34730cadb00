"""What the stages after the grouping find out, as attributes of the graph: tilings, addresses in SPM and in DDR.

Each fact has one writer and one reader here; nothing else knows in which attribute it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from tx8ir.backend.graph import CompileError
from tx8ir.backend.schedule.body import GroupBody
from tx8ir.backend.schedule.steps import GroupSteps
from tx8ir.backend.schedule.tiling import Tiling
from tx8ir.core import Operation, Program, Value
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import BackendOp, DevAttr, ParallelAttr

__all__ = [
    "Scratch",
    "read_ddr_address",
    "read_ddr_scratch",
    "read_given_sharding",
    "read_scratch",
    "read_spm_addresses",
    "read_spm_bytes",
    "read_tiling",
    "remove_ddr_scratch",
    "write_ddr_addresses",
    "write_ddr_scratch",
    "write_spm",
    "write_tiling",
]

# -- tiling ------------------------------------------------------------------------------------------------------------


def read_tiling(body: GroupBody) -> tuple[Tiling, int]:
    """The tiling that `shard-and-split` left on a group, and its number of buffers.

    Raises:
        CompileError: there is none.
    """
    parallel, info = body.store.tile_parallel, body.store.dev_info
    if parallel is None or info is None or len(info.temporal_mem_slice) != len(body.shape):
        raise CompileError("the group has no tiling; run shard-and-split first", op=body.group)
    return Tiling(parallel.shape_spatial_sharding, info.temporal_mem_slice), info.multi_buf_num


def write_tiling(body: GroupBody, tiling: Tiling, buffers: int, tiles: int) -> None:
    """Writes a tiling into the IR: on the store, and on every op the slice that its result has in the first step."""
    steps = GroupSteps.make(body, tiling, tiles)
    first = steps.of(next(t for t, box in enumerate(steps.tiles) if box is not None), (0,) * len(steps.steps))
    assert first is not None
    kept = steps.kept()
    for i, value in enumerate(body.values):
        op = _owner(value)
        box = first.boxes[i]
        doubled = buffers > 1 and (i < len(body.loads) or value is body.stored) and i not in kept
        slice_ = () if box is None else box.extent
        info = attrs.evolve(
            _info(op), temporal_mem_slice=slice_, multi_buf_en=doubled, multi_buf_num=buffers if doubled else 1
        )
        op.set_attribute("dev_info", info)
    parallel = body.store.tile_parallel if body.store.tile_parallel is not None else ParallelAttr()
    body.store.set_attribute("tile_parallel", attrs.evolve(parallel, shape_spatial_sharding=tiling.sharding))
    info = attrs.evolve(
        _info(body.store), temporal_mem_slice=tiling.slice, multi_buf_en=buffers > 1, multi_buf_num=buffers
    )
    body.store.set_attribute("dev_info", info)


def read_given_sharding(op: Operation) -> tuple[int, ...] | None:
    """The sharding that a user set on an op before the search, parts per axis; None when there is none."""
    parallel = op.tile_parallel if isinstance(op, BackendOp) else None
    return parallel.shape_spatial_sharding if parallel is not None and parallel.sharding_is_given else None


# -- SPM ---------------------------------------------------------------------------------------------------------------


@attrs.frozen
class Scratch:
    """The temporaries of an op: their address in SPM and their bytes."""

    address: int
    size: int


def write_spm(
    body: GroupBody, addresses: Sequence[tuple[int, ...]], scratches: Sequence[tuple[int, int]], size: int
) -> None:
    """Writes where a group's data lies in SPM.

    `addresses` has one per buffer of each of `body.values`, `scratches` address and bytes of the temporaries of each
    compute op; `size` counts the bytes in use.
    """
    for i, value in enumerate(body.values):
        op = _owner(value)
        info = attrs.evolve(_info(op), mem_addr=addresses[i])
        if i >= len(body.loads):
            address, bytes_ = scratches[i - len(body.loads)]
            info = attrs.evolve(info, imm_addr=address, imm_size=bytes_)
        op.set_attribute("dev_info", info)
    body.group.set_attribute("spm_alloc_size", size)


def read_spm_addresses(value: Value) -> tuple[int, ...]:
    """The SPM addresses of a value, one per buffer. Raises `CompileError` when there is none."""
    op = value.defining_op
    if not isinstance(op, BackendOp) or op.dev_info is None or not op.dev_info.mem_addr:
        raise CompileError("a value has no SPM address; run allocate-spm first", op=op)
    return op.dev_info.mem_addr


def read_scratch(op: BackendOp) -> Scratch:
    """Where the temporaries of a compute op lie; nothing of them when it was given none."""
    return Scratch(0, 0) if op.dev_info is None else Scratch(op.dev_info.imm_addr, op.dev_info.imm_size)


def read_spm_bytes(op: Operation) -> int:
    """The bytes of SPM that a group takes; 0 of any other operation, and before `allocate-spm`."""
    return op.spm_alloc_size or 0 if isinstance(op, tx8be.GroupOp) else 0


# -- DDR ---------------------------------------------------------------------------------------------------------------

_ADDRESS: Final = "ddr_addr"
_SCRATCH: Final = "ddr_scratch"


def write_ddr_addresses(op: Operation, addresses: Sequence[int]) -> None:
    """Writes where in DDR the results of an input, a constant or a group lie: a number, several for several results."""
    op.set_attribute(_ADDRESS, addresses[0] if len(addresses) == 1 else tuple(addresses))


def read_ddr_address(value: Value) -> int:
    """Where in DDR the result of an input, a constant or a group lies.

    Raises `CompileError` when `allocate-ddr` has not said it.
    """
    op = value.defining_op
    assert op is not None
    found = op.attributes.get(_ADDRESS)
    if found is None:
        raise CompileError(f"{op.name} has no {_ADDRESS}; run allocate-ddr first", op=op)
    return int(found.value if len(op.results) == 1 else found.value[op.results.index(value)])


def write_ddr_scratch(program: Program, address: int, size: int) -> None:
    """Writes which bytes of DDR the variables of the program share."""
    program.module.set_attribute(_SCRATCH, (address, size))


def read_ddr_scratch(program: Program) -> tuple[int, int] | None:
    """First address and size of the space in DDR that variables share; None when there are none."""
    found = program.module.attributes.get(_SCRATCH)
    if found is None:
        return None
    address, size = found.value
    return address, size


def remove_ddr_scratch(program: Program) -> None:
    """Removes what `write_ddr_scratch` wrote."""
    if _SCRATCH in program.module.attributes:
        program.module.remove_attribute(_SCRATCH)


def _owner(value: Value) -> BackendOp:
    op = value.defining_op
    assert isinstance(op, BackendOp)
    return op


def _info(op: BackendOp) -> DevAttr:
    if op.dev_info is None:
        raise CompileError(f"{op.name} has no dev_info: the layout passes come before this stage", op=op)
    return op.dev_info
