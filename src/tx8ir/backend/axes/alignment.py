"""Where an axis may be cut so that every piece of a channel-blocked tensor is made of whole blocks.

A blocked tensor (`Cx`, `NCx`) keeps its last dimension in blocks of 64 elements, 128 of a one-byte format, the last
one padded with lanes that its writer must fill. A cut therefore falls on a block; without padding lanes it may also
fall on 16 elements, the columns of one step of the neural engine, as each piece is then a full tail by itself.
"""

from __future__ import annotations

import math

import attrs

from tx8ir.backend.axes.declaration import Declaration
from tx8ir.backend.axes.maps import Along
from tx8ir.backend.graph import storage_op
from tx8ir.core import Block, Operation, RankedTensor, Value
from tx8ir.target.formats import Format
from tx8ir.target.layout import MemLayout, aligned_channels

__all__ = ["aligned", "block_alignment", "layout_of", "value_alignment"]

_UNPADDED = 16  # elements: columns of a step of the neural engine, and a C0 tail without padding lanes


def block_alignment(channels: int, format: Format) -> int:
    """Multiple of elements at which the last dimension of a blocked tensor may be cut; 1 for packed formats."""
    if format.is_packed:
        return 1
    return _UNPADDED if aligned_channels(channels, format) == channels else format.block


def value_alignment(value: Value) -> int:
    """Multiple of elements at which the last dimension of a tensor may be cut; 1 where it is dense."""
    kind = value.type
    if not isinstance(kind, RankedTensor) or not kind.shape or not layout_of(value).is_blocked:
        return 1
    return block_alignment(kind.shape[-1], kind.element.format)


def layout_of(value: Value) -> MemLayout:
    """The physical layout of a tensor; dense as long as the layout passes have said nothing."""
    rank = value.type.rank if isinstance(value.type, RankedTensor) else 0
    op = value.defining_op if value.defining_op is not None or not _in_group(value) else storage_op(value)
    info = getattr(op, "dev_info", None)
    return MemLayout.for_rank(rank, blocked=False) if info is None else MemLayout(info.mem_layout)


def aligned(declaration: Declaration, op: Operation) -> Declaration:
    """The declaration with the alignments that the layouts of the op's values want.

    The last dimension of a blocked value asks for cuts at its blocks: directly where it is one axis, and at
    `alignment / gcd(alignment, stride)` of an axis that moves along it by `stride` elements, as the group axis of a
    grouped convolution or the outer axis of a merged dimension. Windows and shifted pieces ask for nothing: their
    slices are re-blocked when they are moved, at a price.
    """
    alignments = [axis.alignment for axis in declaration.axes]
    accesses = [*declaration.operands, *declaration.results]
    for value, access in zip([*op.operands, *op.results], accesses, strict=True):
        if not access or not isinstance(value.type, RankedTensor) or not layout_of(value).is_blocked:
            continue
        last = access[-1]
        if not isinstance(last, Along):
            continue
        alignment = block_alignment(last.extent, value.type.element.format)
        for axis, stride in zip(last.axes, last.strides, strict=True):
            alignments[axis] = math.lcm(alignments[axis], alignment // math.gcd(alignment, stride))
    axes = tuple(attrs.evolve(axis, alignment=n) for axis, n in zip(declaration.axes, alignments, strict=True))
    return attrs.evolve(declaration, axes=axes)


def _in_group(value: Value) -> bool:
    parent = value.owner.parent_op if isinstance(value.owner, Block) else None
    return parent is not None and parent.name == "tx8be.Group"
