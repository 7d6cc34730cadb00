"""Custom calls, and operations that compute nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tx8ir.core import DYNAMIC, Operation, StrAttr, Value, i32
from tx8ir.dialects import pd
from tx8ir.frontends.stablehlo.bodies import body_of, on_tensors
from tx8ir.frontends.stablehlo.node import StableHloNode
from tx8ir.frontends.stablehlo.ops.movement import broadcast, counted, reshaped
from tx8ir.frontends.stablehlo.registry import Converted, converter
from tx8ir.frontends.values import tensor_type


@converter("stablehlo.optimization_barrier", "sdy.sharding_constraint", "@Sharding", "@annotate_device_placement")
def same(node: StableHloNode) -> Converted:
    """The operands: what is said of them is where, or in which order, they are computed."""
    return node.operands


@converter("@shape_assertion")
def shape_assertion(node: StableHloNode) -> Converted:
    """Nothing where it holds or extents are open; an error with the message of the program where it does not hold."""
    holds, *values = node.operands
    known = node.known(holds)
    if known is not None and not known.all():
        message = node.proto.attributes.get("error_message")
        text = message.value if isinstance(message, StrAttr) else "an assertion about extents does not hold"
        numbers = [node.known(value) for value in values]
        raise node.error(re.sub(r"\{(\d+)\}", lambda found: _number(numbers, int(found[1])), text))
    return None


def _number(numbers: Sequence[object], index: int) -> str:
    return str(numbers[index]) if index < len(numbers) else "?"


@converter("stablehlo.map")
def map_(node: StableHloNode) -> Converted:
    """A body for the elements at each place."""
    return on_tensors(node, body_of(node), node.operands)


@converter("stablehlo.get_dimension_size")
def get_dimension_size(node: StableHloNode) -> Converted:
    """The extent of an axis; one that is open is counted when it runs."""
    (x,) = node.take(1)
    type_ = tensor_type(x)
    (axis,) = node.axes((node.int("dimension"),), type_.rank, "the axis")
    if type_.shape[axis] != DYNAMIC:
        return node.cast(node.scalar(type_.shape[axis], i32), node.result.element)
    line = pd.slice(x, axes=_others(axis, type_.rank), starts=(0,) * (type_.rank - 1), ends=(1,) * (type_.rank - 1))
    ones = pd.equal(line, line)
    same_or_nan = pd.logical_or(ones, pd.logical_not(ones))
    return pd.sum(pd.cast(same_or_nan, dtype=i32), axis=tuple(range(type_.rank)), dtype=node.result.element)


def _others(axis: int, rank: int) -> tuple[int, ...]:
    return tuple(other for other in range(rank) if other != axis)


def _shape(node: StableHloNode, extents: Value) -> tuple[int, ...]:
    """Computed extents where they are known, and those that the text declares."""
    known = node.known(extents)
    declared = node.result.shape
    if known is None:
        return declared
    found = tuple(int(extent) for extent in known.reshape(-1))
    if len(found) != len(declared):
        raise node.error(f"gives the shape {list(found)}; the text declares {node.result}")
    return found


@converter("stablehlo.dynamic_reshape")
def dynamic_reshape(node: StableHloNode) -> Converted:
    """The elements in another shape, which is computed."""
    x, extents = node.take(2)
    return reshaped(node, x, _shape(node, extents))


@converter("stablehlo.dynamic_broadcast_in_dim")
def dynamic_broadcast_in_dim(node: StableHloNode) -> Converted:
    """Repeats elements to extents that are computed.

    Along an axis whose extent is open elements are left as they are, where there is one: what uses them repeats them.
    """
    x, extents = node.take(2)
    shape = _shape(node, extents)
    dims = node.ints("broadcast_dimensions")
    own = dict(zip(dims, tensor_type(x).shape, strict=False))
    kept = tuple(own.get(axis, 1) if extent == DYNAMIC else extent for axis, extent in enumerate(shape))
    if DYNAMIC not in kept:
        return broadcast(node, x, kept, dims)
    raise_extents = tuple(1 if own.get(axis, 1) == 1 else extent for axis, extent in enumerate(kept))
    return _unspread(node, x, kept, raise_extents, dims)


def _unspread(
    node: StableHloNode, x: Value, shape: tuple[int, ...], least: tuple[int, ...], dims: tuple[int, ...]
) -> Value | Operation:
    placed = (
        pd.reshape(x, shape=least)
        if DYNAMIC not in least
        else pd.unsqueeze(x, axis=tuple(axis for axis in range(len(shape)) if axis not in dims))
        if len(dims) < len(shape)
        else x
    )
    found = placed if isinstance(placed, Value) else placed.results[0]
    target = tuple(-1 if extent == DYNAMIC else extent for extent in shape)
    return found if tensor_type(found).shape == shape else pd.expand(found, shape=target)


@converter("stablehlo.dynamic_iota")
def dynamic_iota(node: StableHloNode) -> Converted:
    """The place of each element on one axis, in a shape that is computed."""
    (extents,) = node.take(1)
    shape = _shape(node, extents)
    if DYNAMIC in shape:
        raise node.graph.open(f"makes {node.result}", node.proto)
    return counted(node, shape)
