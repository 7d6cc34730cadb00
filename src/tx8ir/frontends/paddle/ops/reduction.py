"""Reductions, and what is like them."""

from __future__ import annotations

import math

from tx8ir.core import Value, f32, i1, i32, i64
from tx8ir.dialects import pd
from tx8ir.frontends.paddle.node import PaddleNode
from tx8ir.frontends.paddle.registry import Converted, converter
from tx8ir.frontends.values import tensor_type

from .activation import times


@converter("sum")
def sum_(node: PaddleNode) -> Converted:
    """The sum; of truth values and short integers in 64 bits."""
    x = node.operand(0)
    x = node.cast(x, node.result().element)
    return pd.sum(x, axis=node.known_ints(1, "axis"), keepdim=node.flag("keepdim"))


@converter("amax", "amin")
def extreme(node: PaddleNode) -> Converted:
    """The largest or the smallest."""
    build = pd.max if node.proto.short == "amax" else pd.min
    return build(node.operand(0), axis=node.ints("axis", ()), keepdim=node.flag("keepdim"))


@converter("any", "all")
def truth(node: PaddleNode) -> Converted:
    """Whether any, or every, element holds."""
    x = node.operand(0)
    build = pd.max if node.proto.short == "any" else pd.min
    counted = node.cast(x if tensor_type(x).element is i1 else _is_true(node, x), f32)
    return pd.cast(build(counted, axis=node.ints("axis", ()), keepdim=node.flag("keepdim")), dtype=i1)


def _is_true(node: PaddleNode, x: Value) -> Value:
    return pd.not_equal(x, node.scalar(0, tensor_type(x).element)).out


@converter("argmax", "argmin")
def arg_extreme(node: PaddleNode) -> Converted:
    """The place of the largest, or the smallest, along an axis or of all elements."""
    x = node.operand(0)
    rank = tensor_type(x).rank
    axis = int(node.known_number(1, "axis"))
    flat = node.flag("flatten")
    if flat:
        x, axis = pd.reshape(x, shape=(-1,)).out, 0
    keep = node.flag("keepdims")
    build = pd.argmax if node.proto.short == "argmax" else pd.argmin
    out = build(x, axis=axis, keepdims=keep and not flat, dtype=node.element() or i64)
    return pd.reshape(out, shape=(1,) * rank) if flat and keep else out


@converter("cumsum", "cumprod")
def cumulative(node: PaddleNode) -> Converted:
    """Sums or products of all elements up to each, along an axis or of all elements."""
    x = node.operand(0)
    if node.proto.short == "cumprod":
        return pd.cumprod(x, axis=node.int("dim"), exclusive=node.flag("exclusive"), reverse=node.flag("reverse"))
    axis = int(node.known_number(1, "axis"))
    if node.flag("flatten"):
        x, axis = pd.reshape(x, shape=(-1,)).out, 0
    return pd.cumsum(x, axis=axis, exclusive=node.flag("exclusive"), reverse=node.flag("reverse"))


@converter("logsumexp")
def logsumexp(node: PaddleNode) -> Converted:
    """log(sum(exp(x))), from x less its maximum."""
    x = node.operand(0)
    axes = node.axes(() if node.flag("reduce_all") else node.ints("axis", ()), tensor_type(x).rank)
    largest = pd.max(x, axis=axes, keepdim=True)
    total = pd.sum(pd.exp(pd.subtract(x, largest)), axis=axes, keepdim=True)
    out = pd.add(pd.log(total), largest)
    return out if node.flag("keepdim") else pd.squeeze(out, axis=axes)


@converter("p_norm")
def p_norm(node: PaddleNode) -> Converted:
    """The p-norm, along an axis or of all elements."""
    x = node.operand(0)
    order, keep = node.float("porder", 2.0), node.flag("keepdim")
    rank = tensor_type(x).rank
    axes = () if node.flag("asvector") else (node.axis(node.int("axis", -1), rank),)
    size = pd.abs(x).out
    if math.isinf(order):
        return (pd.max if order > 0 else pd.min)(size, axis=axes, keepdim=keep)
    if order == 0:
        there = node.cast(_is_true(node, x), tensor_type(x).element)
        return pd.sum(there, axis=axes, keepdim=keep)
    if order == 1:
        return pd.sum(size, axis=axes, keepdim=keep)
    if order == 2:
        return pd.sqrt(pd.sum(pd.square(x), axis=axes, keepdim=keep))
    return pd.pow(pd.sum(pd.pow(size, y=order), axis=axes, keepdim=keep), y=1 / order)


@converter("frobenius_norm", "squared_l2_norm")
def frobenius_norm(node: PaddleNode) -> Converted:
    """The root of the sum of squares, or that sum itself."""
    x = node.operand(0)
    if node.proto.short == "squared_l2_norm":
        return pd.reshape(pd.sum(pd.square(x)), shape=(1,))
    axes = () if node.flag("reduce_all") else node.known_ints(1, "axis")
    return pd.sqrt(pd.sum(pd.square(x), axis=axes, keepdim=node.flag("keepdim")))


@converter("mean_all")
def mean_all(node: PaddleNode) -> Converted:
    """The mean of all elements."""
    return pd.mean(node.operand(0))


@converter("numel")
def numel(node: PaddleNode) -> Converted:
    """The number of elements."""
    return node.scalar(math.prod(node.static_shape(node.operand(0), "the operand")), i64)


@converter("shape", "shape64")
def shape(node: PaddleNode) -> Converted:
    """The extents."""
    extents = node.static_shape(node.operand(0), "the operand")
    element = node.result().element
    return node.cast(node.places(extents, "extents"), element)


@converter("accuracy")
def accuracy(node: PaddleNode) -> Converted:
    """The share of rows among whose best places is the label, and the numbers that it is the quotient of."""
    places, label = node.operand(1), node.operand(2)
    rows = node.static_shape(places, "the places")[0]
    found = node.cast(pd.equal(places, node.cast(label, tensor_type(places).element)).out, i32)
    right = pd.sum(pd.max(found, axis=(1,)))
    share = times(pd.cast(right, dtype=f32), 1 / max(rows, 1))
    return [share, right, node.scalar(rows, i32)]
