"""What devices do together, which becomes `ccl`."""

from __future__ import annotations

from typing import Final

import numpy as np

from tx8ir.core import DenseAttr, IntAttr, Value, VTensorType, i1, i64
from tx8ir.dialects import ccl
from tx8ir.frontends.stablehlo.bodies import body_of, combination
from tx8ir.frontends.stablehlo.node import StableHloNode
from tx8ir.frontends.stablehlo.registry import Converted, converter
from tx8ir.frontends.values import tensor_type

_REDUCES: Final = {"add": "add", "multiply": "mul", "minimum": "min", "maximum": "max"}
_TRUTHS: Final = {"and": "and", "multiply": "and", "minimum": "and", "or": "or", "add": "or", "maximum": "or"}


def _devices(node: StableHloNode) -> int:
    """How many devices there are: replicas or partitions of a module, of which one is 1."""
    attributes = node.graph.module.attributes
    counts = [
        found.value if isinstance(found := attributes.get(f"mhlo.num_{what}"), IntAttr) else 1
        for what in ("replicas", "partitions")
    ]
    if min(counts) > 1:
        raise node.error(
            f"stands in a module of {counts[0]} replicas of {counts[1]} partitions; supported is one of both"
        )
    return max(counts)


def _pairs(node: StableHloNode, key: str, columns: int | None = None) -> DenseAttr:
    numbers = np.asarray(node.ints(key, ()), np.int64)
    found = node.proto.attributes.get(key)
    width = columns or (found.type.shape[-1] if isinstance(found, DenseAttr) and found.type.rank == 2 else len(numbers))
    if not len(numbers) and columns is None:
        numbers, width = np.arange(_devices(node)), _devices(node)
    if not len(numbers) or len(numbers) % width or numbers.min() < 0:
        raise node.error(f"attribute {key} is {found}; supported are groups of equal size")
    _devices(node)
    rows = numbers.reshape(-1, width)
    return DenseAttr(rows, VTensorType(rows.shape, i64))


def _groups(node: StableHloNode) -> DenseAttr:
    return _pairs(node, "replica_groups")


def _reduce(node: StableHloNode, x: Value) -> str:
    kind = combination(body_of(node)) or "another body"
    found = (_TRUTHS if tensor_type(x).element is i1 else _REDUCES).get(kind)
    if found is None:
        raise node.error(f"combines by {kind}, which is not supported; {', '.join(_REDUCES)} are")
    return found


@converter("stablehlo.all_reduce")
def all_reduce(node: StableHloNode) -> Converted:
    """The elements of all devices of a group combined."""
    groups = _groups(node)
    return [ccl.all_reduce(x, replica_groups=groups, reduce=_reduce(node, x)).out for x in node.operands]


@converter("stablehlo.reduce_scatter")
def reduce_scatter(node: StableHloNode) -> Converted:
    """A part of that for each device."""
    (x,) = node.take(1)
    axis = node.int("scatter_dimension")
    return ccl.reduce_scatter(x, replica_groups=_groups(node), reduce=_reduce(node, x), axis=axis)


@converter("stablehlo.all_gather")
def all_gather(node: StableHloNode) -> Converted:
    """The tensors of all devices of a group, one after the other."""
    groups, axis = _groups(node), node.int("all_gather_dim")
    return [ccl.all_gather(x, replica_groups=groups, axis=axis).out for x in node.operands]


@converter("stablehlo.all_to_all")
def all_to_all(node: StableHloNode) -> Converted:
    """A part of the tensor of each device, one after the other."""
    groups = _groups(node)
    if node.int("split_count") != groups.type.shape[1]:
        raise node.error(f"splits into {node.int('split_count')} parts for groups of {groups.type.shape[1]}")
    split, concat = node.int("split_dimension"), node.int("concat_dimension")
    return [ccl.all_to_all(x, replica_groups=groups, split_axis=split, concat_axis=concat).out for x in node.operands]


@converter("stablehlo.collective_permute")
def collective_permute(node: StableHloNode) -> Converted:
    """The tensor of the device that sends to this one; zeros where none does."""
    pairs = _pairs(node, "source_target_pairs", 2)
    return [ccl.collective_permute(x, source_target_pairs=pairs).out for x in node.operands]


@converter("stablehlo.partition_id", "stablehlo.replica_id")
def number_of_device(node: StableHloNode) -> Converted:
    """The number of the device; 0 where there is one of what is counted."""
    node.take(0)
    attribute = node.graph.module.attributes.get(f"mhlo.num_{node.proto.name.split('.')[1].removesuffix('_id')}s")
    if _devices(node) > 1 and not (isinstance(attribute, IntAttr) and attribute.value > 1):
        return node.scalar(0, node.result.element)
    return node.cast(ccl.replica_id().out, node.result.element)
