"""Reductions over axes."""

from __future__ import annotations

import math
from collections.abc import Callable

from tx8ir.core import Operation, Value, i1, ui8
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.registry import Converted, converter

_ATTRIBUTES = ("axes", "keepdims", "noop_with_empty_axes")


def _axes(node: OnnxNode, as_input: int) -> tuple[int, ...] | None:
    """The axes to reduce, ascending; None if the node reduces nothing. They are an input from version `as_input`."""
    rank = node.type_of(0).rank
    if node.version >= as_input:
        given = node.known_ints(1, "the list of axes") if node.has(1) else ()
        if not given and node.bool("noop_with_empty_axes", False):
            return None
    else:
        given = node.ints("axes", ())
    return node.axes(given, rank, "the list of axes") if given else tuple(range(rank))


_Reduce = Callable[[OnnxNode, "Value | Operation", tuple[int, ...], bool], Operation]


def _sum(node: OnnxNode, x: Value | Operation, axes: tuple[int, ...], keepdim: bool) -> Operation:
    element = node.type_of(0).element
    return pd.sum(x, axis=axes, keepdim=keepdim, dtype=None if element.is_float else element)


def _largest(node: OnnxNode, x: Value | Operation, axes: tuple[int, ...], keepdim: bool) -> Operation:
    """The largest element: the smallest there is over no elements. Truth values are 0 and 1."""
    return _extremum(node, x, axes, keepdim, pd.max, 0)


def _smallest(node: OnnxNode, x: Value | Operation, axes: tuple[int, ...], keepdim: bool) -> Operation:
    """The smallest element: the largest there is over no elements. Truth values are 0 and 1."""
    return _extremum(node, x, axes, keepdim, pd.min, 1)


def _extremum(
    node: OnnxNode,
    x: Value | Operation,
    axes: tuple[int, ...],
    keepdim: bool,
    build: type[pd.MaxOp | pd.MinOp],
    end: int,
) -> Operation:
    type_ = node.type_of(0)
    if any(type_.shape[axis] == 0 for axis in axes):
        kept = [1 if a in axes else n for a, n in enumerate(type_.shape) if keepdim or a not in axes]
        infinite = (-math.inf, math.inf)[end]
        fill = infinite if type_.element.is_float else float(type_.element.format.limits[end])
        return pd.full(shape=tuple(kept), value=fill, dtype=type_.element)
    if type_.element is i1:
        return pd.cast(build(pd.cast(x, dtype=ui8), axis=axes, keepdim=keepdim), dtype=i1)
    return build(x, axis=axes, keepdim=keepdim)


def _register(
    operator: str,
    last: int,
    as_input: int,
    build: _Reduce,
    before: Callable[[Value | Operation], Operation] | None = None,
    after: Callable[[Value | Operation], Operation] | None = None,
) -> None:
    """Register a reduction; `before` and `after` are applied elementwise."""

    def convert(node: OnnxNode) -> Converted:
        axes = _axes(node, as_input)
        out: Value | Operation = node.operand(0)
        if axes is None:
            axes = ()
        if before is not None:
            out = before(out)
        if axes:  # none are left of a scalar, which is its own sum, mean and extremum
            out = build(node, out, axes, node.bool("keepdims", True))
        return out if after is None else after(out)

    converter(operator, first=1, last=last, attributes=_ATTRIBUTES)(convert)


_register("ReduceSum", 13, 13, _sum)
_register("ReduceMean", 18, 18, lambda _, x, axes, keepdim: pd.mean(x, axis=axes, keepdim=keepdim))
_register("ReduceProd", 18, 18, lambda _, x, axes, keepdim: pd.prod(x, axis=axes, keepdim=keepdim))
_register("ReduceMax", 20, 18, _largest)
_register("ReduceMin", 20, 18, _smallest)
_register("ReduceL1", 18, 18, _sum, before=pd.abs)
_register("ReduceL2", 18, 18, _sum, before=pd.square, after=pd.sqrt)
_register("ReduceSumSquare", 18, 18, _sum, before=pd.square)
_register("ReduceLogSum", 28, 18, _sum, after=pd.log)


@converter("ReduceLogSumExp", first=1, last=28, attributes=_ATTRIBUTES)
def reduce_log_sum_exp(node: OnnxNode) -> Converted:
    """The maximum m plus log(sum(exp(x - m))), so that no exponential overflows."""
    axes = _axes(node, 18)
    x, keepdim = node.operand(0), node.bool("keepdims", True)
    if not axes:
        return x
    if any(node.type_of(0).shape[axis] == 0 for axis in axes):
        return pd.log(pd.sum(pd.exp(x), axis=axes, keepdim=keepdim))
    largest = pd.max(x, axis=axes, keepdim=True)
    total = pd.add(pd.log(pd.sum(pd.exp(pd.subtract(x, largest)), axis=axes, keepdim=True)), largest)
    return total if keepdim else pd.squeeze(total, axis=axes)


@converter("GlobalAveragePool", first=1, last=22)
def global_average_pool(node: OnnxNode) -> Converted:
    """The mean of each channel, spatial axes kept."""
    return pd.mean(node.operand(0), axis=_spatial(node), keepdim=True)


@converter("GlobalMaxPool", first=1, last=22)
def global_max_pool(node: OnnxNode) -> Converted:
    """The largest element of each channel, spatial axes kept."""
    return pd.max(node.operand(0), axis=_spatial(node), keepdim=True)


def _spatial(node: OnnxNode) -> tuple[int, ...]:
    type_ = node.type_of(0)
    if type_.rank < 3 or math.prod(type_.shape[2:]) == 0:
        raise node.error(f"the input is {type_}; expected [N, C, D1, …] with elements")
    return tuple(range(2, type_.rank))


def _cumulative(operator: str, first: int, last: int, build: type[pd.CumsumOp | pd.CumprodOp]) -> None:
    @converter(operator, first=first, last=last, attributes=("exclusive", "reverse"))
    def convert(node: OnnxNode) -> Converted:
        axis = node.axes((int(node.known_scalar(1, "the axis")),), node.type_of(0).rank, "the axis")[0]
        exclusive, reverse = node.bool("exclusive", False), node.bool("reverse", False)
        return build(node.operand(0), axis=axis, exclusive=exclusive, reverse=reverse)

    assert convert is not None


_cumulative("CumSum", 11, 14, pd.CumsumOp)
_cumulative("CumProd", 26, 26, pd.CumprodOp)
