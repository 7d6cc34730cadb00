"""Operators that give elements another place or shape."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tx8ir.core import Operation, Value
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.registry import Converted, converter

MOST_REPEATS = 1 << 16
"""A tensor is repeated up to so many times on an axis: each time is an operand."""


def _reshape(node: OnnxNode, shape: Sequence[int]) -> Value | Operation:
    """The input in a static shape; itself if that is its shape."""
    type_ = node.type_of(0)
    if math.prod(shape) != type_.num_elements:
        raise node.error(f"{type_} has {type_.num_elements} elements and cannot become {list(shape)}")
    if tuple(shape) == type_.shape:
        return node.operand(0)
    if 0 in shape:  # a 0 would copy an extent
        return pd.full(shape=tuple(shape), value=0.0, dtype=type_.element)
    return pd.reshape(node.operand(0), shape=tuple(shape))


@converter("Reshape", first=1, last=25, attributes=("shape", "allowzero"))
def reshape(node: OnnxNode) -> Converted:
    """The elements in another shape: -1 is what is left over, 0 copies the input's extent unless `allowzero`."""
    source = node.type_of(0)
    wanted = list(node.ints("shape") if node.version < 5 else node.known_ints(1, "the shape"))
    for axis, extent in enumerate(wanted):
        if extent == 0 and not node.bool("allowzero", False):
            if axis >= source.rank:
                raise node.error(f"the shape is {wanted}; the 0 on axis {axis} has no extent to copy in {source}")
            wanted[axis] = source.shape[axis]
    if -1 in wanted:
        rest = math.prod(extent for extent in wanted if extent != -1)
        if wanted.count(-1) > 1 or rest <= 0 or source.num_elements % rest:
            raise node.error(f"the shape is {wanted}; {source} has {source.num_elements} elements")
        wanted[wanted.index(-1)] = source.num_elements // rest
    if min(wanted, default=0) < 0:
        raise node.error(f"the shape is {wanted}; expected extents >= -1")
    return _reshape(node, wanted)


@converter("Flatten", first=1, last=25, attributes=("axis",))
def flatten(node: OnnxNode) -> Converted:
    """The tensor as a matrix: the axes before `axis`, and the rest."""
    shape = node.type_of(0).shape
    axis = node.int("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise node.error(f"attribute axis is {axis}; expected an axis of {node.type_of(0)}, or its rank")
    axis = axis + len(shape) if axis < 0 else axis
    return _reshape(node, (math.prod(shape[:axis]), math.prod(shape[axis:])))


def _axes(node: OnnxNode, *, required: bool) -> tuple[int, ...]:
    """The list of axes: an attribute before version 13, an input from there."""
    if node.version < 13:
        return node.ints("axes", None if required else ())
    node.check_attributes(())
    return node.known_ints(1, "the list of axes") if required or node.has(1) else ()


@converter("Squeeze", first=1, last=25, attributes=("axes",))
def squeeze(node: OnnxNode) -> Converted:
    """Without the given axes of extent 1, or without all such."""
    shape = node.type_of(0).shape
    axes = node.axes(_axes(node, required=False), len(shape), "the list of axes")
    dropped = axes or tuple(axis for axis, extent in enumerate(shape) if extent == 1)
    if any(shape[axis] != 1 for axis in dropped):
        raise node.error(f"the list of axes is {list(dropped)}; expected axes of extent 1 in {node.type_of(0)}")
    return _reshape(node, [extent for axis, extent in enumerate(shape) if axis not in dropped])


@converter("Unsqueeze", first=1, last=25, attributes=("axes",))
def unsqueeze(node: OnnxNode) -> Converted:
    """With axes of extent 1 at the given places of the result."""
    shape = list(node.type_of(0).shape)
    given = _axes(node, required=True)
    for axis in node.axes(given, len(shape) + len(given), "the list of axes"):
        shape.insert(axis, 1)
    return _reshape(node, shape)


@converter("Transpose", first=1, last=25, attributes=("perm",))
def transpose(node: OnnxNode) -> Converted:
    """Axes in another order; reversed by default."""
    rank = node.type_of(0).rank
    return pd.transpose(node.operand(0), perm=node.ints("perm", tuple(reversed(range(rank))), length=rank))


@converter("DepthToSpace", first=1, last=28, attributes=("blocksize", "mode"))
def depth_to_space(node: OnnxNode) -> Converted:
    """Blocks of channels become blocks of cells."""
    n, c, h, w = _image(node)
    b = node.int("blocksize")
    if b < 1 or c % (b * b):
        raise node.error(f"attribute blocksize is {b}; {c} channels do not divide into blocks of {b} x {b}")
    if node.string("mode", ("DCR", "CRD"), "DCR") == "DCR":
        split = pd.transpose(pd.reshape(node.operand(0), shape=(n, b, b, c // (b * b), h, w)), perm=(0, 3, 4, 1, 5, 2))
    else:
        split = pd.transpose(pd.reshape(node.operand(0), shape=(n, c // (b * b), b, b, h, w)), perm=(0, 1, 4, 2, 5, 3))
    return pd.reshape(split, shape=(n, c // (b * b), h * b, w * b))


@converter("SpaceToDepth", first=1, last=28, attributes=("blocksize", "mode"))
def space_to_depth(node: OnnxNode) -> Converted:
    """Blocks of cells become blocks of channels; `mode`, from version 28 on, says which come first."""
    n, c, h, w = _image(node)
    b = node.int("blocksize")
    if b < 1 or h % b or w % b:
        raise node.error(f"attribute blocksize is {b}; an image of {h} x {w} does not divide into such blocks")
    perm = (0, 3, 5, 1, 2, 4) if node.string("mode", ("DCR", "CRD"), "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    split = pd.transpose(pd.reshape(node.operand(0), shape=(n, c, h // b, b, w // b, b)), perm=perm)
    return pd.reshape(split, shape=(n, c * b * b, h // b, w // b))


def _image(node: OnnxNode) -> tuple[int, int, int, int]:
    shape = node.type_of(0).shape
    if len(shape) != 4 or 0 in shape:
        raise node.error(f"the input is {node.type_of(0)}; expected [N, C, H, W] with elements")
    return shape[0], shape[1], shape[2], shape[3]


@converter("Expand", first=8, last=13)
def expand(node: OnnxNode) -> Converted:
    """The tensor broadcast against a shape: each extent is that of the one that is not 1."""
    source, given = node.type_of(0), node.known_ints(1, "the shape")
    try:
        shape = np.broadcast_shapes(source.shape, given)
    except ValueError as error:
        raise node.error(f"{source} does not broadcast with the shape {list(given)}") from error
    return node.operand(0) if shape == source.shape else pd.expand(node.operand(0), shape=shape)


@converter("Tile", first=1, last=13)
def tile(node: OnnxNode) -> Converted:
    """The tensor repeated along each axis."""
    source = node.type_of(0)
    if node.version < 6:
        count, axis = (int(node.known_scalar(index, what)) for index, what in ((1, "tiles"), (2, "the axis")))
        repeats = tuple(count if place == axis else 1 for place in range(source.rank))
    else:
        repeats = node.known_ints(1, "the list of repeats")
    if len(repeats) != source.rank or min(repeats, default=1) < 1:
        raise node.error(f"the list of repeats is {list(repeats)}; expected {source.rank} integers >= 1 for {source}")
    if max(repeats, default=1) > MOST_REPEATS:
        raise node.error(f"the list of repeats is {list(repeats)}; at most {MOST_REPEATS} are supported on an axis")
    out: Value | Operation = node.operand(0)
    for axis, count in enumerate(repeats):
        if count > 1:
            out = pd.concat([out] * count, axis=axis)
    return out


@converter("Concat", first=1, last=13, attributes=("axis",))
def concat(node: OnnxNode) -> Converted:
    """The tensors one after the other."""
    operands = node.operands()
    axis = node.axis("axis", node.type_of(0).rank, 1 if node.version < 4 else None)
    return operands[0] if len(operands) == 1 else pd.concat(operands, axis=axis)


@converter("Split", first=1, last=18, attributes=("axis", "num_outputs", "split"))
def split(node: OnnxNode) -> Converted:
    """The tensor cut into pieces: of given extents, or of equal ones (from version 18 the last may be smaller)."""
    source = node.type_of(0)
    axis = node.axis("axis", source.rank, 0)
    extent, count = source.shape[axis], node.num_outputs
    if node.version < 13:
        listed = node.version < 2 and node.has(1)
        sections = node.known_ints(1, "the list of extents") if listed else node.ints("split", ())
    else:
        sections = node.known_ints(1, "the list of extents") if node.has(1) else ()
    if node.version >= 18 and not sections and node.int("num_outputs") != count:
        raise node.error(f"attribute num_outputs is {node.int('num_outputs')}, but the node has {count} outputs")
    if not sections:
        piece = -(-extent // count)
        sections = (*[piece] * (count - 1), extent - piece * (count - 1))
        if sections[-1] < 0 or (node.version < 18 and sections[-1] != piece):
            raise node.error(f"the extent {extent} on axis {axis} does not divide into {count} outputs")
    if len(sections) != count or sum(sections) != extent or min(sections) < 0:
        raise node.error(f"the pieces {list(sections)} do not make the extent {extent} of {count} outputs")
    return node.operand(0) if count == 1 else pd.split(node.operand(0), sections=sections, axis=axis)
