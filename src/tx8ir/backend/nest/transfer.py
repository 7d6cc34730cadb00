"""Loads and stores: the DMA instructions that move a box of a tensor in DDR from or to its slice in SPM."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import attrs

from tx8ir.backend.graph import CompileError
from tx8ir.backend.oplib.boxes import Box
from tx8ir.backend.oplib.kernel import InstructionDraft, OpKernel, OpSlice
from tx8ir.backend.oplib.moves import AxisMap, Walk, split_dense, walks
from tx8ir.backend.oplib.tensor import SpmTensor
from tx8ir.target.chip import Target

__all__ = ["Transfer", "load_instructions", "store_instructions", "transfer"]


@attrs.frozen(slots=False)
class Transfer:
    """Walks from `box` of a whole tensor in DDR (source) to its slice in SPM (target), dense on the SPM side.

    `complete` is False when the slice has padding lanes that the walks do not write.
    """

    whole: SpmTensor
    box: Box
    walks: tuple[Walk, ...]
    complete: bool

    @cached_property
    def structure(self) -> tuple[object, ...]:
        """Equal for transfers that differ in where they start only: tiles with equal ones share instructions.

        Slices of equal extents may differ: one of whole channel blocks has other strides than one of the C0 tail.
        """
        first = self.walks[0].source if self.walks else 0
        rows = tuple((walk.source - first, walk.target, walk.levels, walk.segment) for walk in self.walks)
        return rows, self.complete

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Bytes that each walk moves."""
        return tuple(w.segment * math.prod(extent for extent, _, _ in w.levels) for w in self.walks)


def transfer(tensor: SpmTensor, box: Box, part: SpmTensor, target: Target) -> Transfer:
    """How `box` of `tensor` maps to `part`, a tensor of the box's extents, in walks that a DMA of `target` can do.

    A slice of a dense tensor is a strided box; one of a blocked tensor is, per batch, a walk over its channel blocks
    and one for the C0 tail. Padding lanes are copied along where the slice's blocks are the tensor's. The two may have
    different layouts: the walks then change one into the other.

    Raises:
        CompileError: the format packs several elements into a byte.
    """
    whole, slice_ = tensor, box
    if whole.format.is_packed:
        raise CompileError(f"slices of packed {whole.format} tensors cannot be moved by DMA; widen to i8 first")
    if not part.shape:  # a scalar is stored as one element of rank 1
        whole, slice_, part = whole.with_channels(1), Box((0,), (1,)), part.with_channels(1)
    complete = True
    if part.blocked and part.lanes != part.channels:
        complete = whole.blocked and whole.covers_blocks(*slice_.channels)
        if complete:
            whole, part = whole.padded(), part.padded()
    axes = [
        AxisMap(extent, axis, start) for axis, (start, extent) in enumerate(zip(slice_.start, part.shape, strict=True))
    ]
    return Transfer(tensor, box, tuple(split_dense(walks(whole, part, axes), target.dma_levels)), complete)


def _fields(walk: Walk, spm: int, ddr: Sequence[int], element_bytes: int) -> dict[str, int | tuple[int, ...]]:
    return {
        "spm": spm + walk.target,
        "ddr": tuple(base + walk.source for base in ddr),
        "element_bytes": element_bytes,
        "count": walk.segment // element_bytes,
        "strides": tuple(stride // element_bytes for _, stride, _ in walk.levels),
        "iterations": tuple(extent for extent, _, _ in walk.levels),
    }


def _becomes(source: SpmTensor, target: SpmTensor) -> str | None:
    """The layout that a copy makes of its bytes; None where it keeps theirs."""
    return target.layout.value if source.blocked != target.blocked else None


def _placed(transfers: Sequence[Transfer], ddr: int) -> list[tuple[Walk, list[int]]]:
    """The walks of the first transfer, each with the DDR address it starts at in every one."""
    first = transfers[0]
    if any(t.structure != first.structure for t in transfers):
        boxes = [t.box for t in transfers]
        raise ValueError(f"slices {boxes} of {first.whole} differ in more than where they start")
    rows: list[tuple[Walk, list[int]]] = []
    for k, walk in enumerate(first.walks):
        rows.append((walk, [ddr + t.walks[k].source - walk.source for t in transfers]))
    return rows


def load_instructions(
    transfers: Sequence[Transfer], part: SpmTensor, ddr: int, target: Target
) -> list[InstructionDraft]:
    """The instructions that load slices of a tensor at `ddr`, one per tile and of equal structure, to `part`."""
    rows = _placed(transfers, ddr)
    kernel = OpKernel(OpSlice((), part), target)
    if not transfers[0].complete:
        kernel.fill(part)
    for walk, bases in rows:
        layout = _becomes(transfers[0].whole, part)
        kernel.add("rdma", **_fields(walk, part.address, bases, part.format.bytes), as_layout=layout)
    return kernel.instructions


def store_instructions(
    transfers: Sequence[Transfer], part: SpmTensor, ddr: int, target: Target
) -> list[InstructionDraft]:
    """The instructions that store `part` to slices of a tensor at `ddr`, one per tile and of equal structure.

    Raises:
        CompileError: the cut falls inside a channel block, so that the padding of the slice would overwrite elements.
    """
    rows, first = _placed(transfers, ddr), transfers[0]
    if not first.complete:
        raise CompileError(f"a store of channels {first.box.channels} of {first.whole.channels} cuts a channel block")
    kernel = OpKernel(OpSlice((), part), target)
    for walk, bases in rows:
        layout = _becomes(part, first.whole)
        kernel.add("wdma", **_fields(walk, part.address, bases, part.format.bytes), as_layout=layout)
    return kernel.instructions
