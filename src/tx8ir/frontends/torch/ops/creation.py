"""Tensors from nothing, copies and casts."""

from __future__ import annotations

import math

import numpy as np

from tx8ir.core import DYNAMIC, ScalarType, Value, VTensorType, i1
from tx8ir.dialects import pd
from tx8ir.frontends.torch.node import TorchNode
from tx8ir.frontends.torch.registry import Converted, converter
from tx8ir.frontends.values import tensor_type

_HOW = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_LIKE = f"{_HOW}, MemoryFormat? memory_format=None"


def filled(node: TorchNode, value: float, like: Value | None = None) -> Value:
    """A tensor of the declared type, full of one number; of the extents of `like` where these are not known."""
    if not node.results:
        raise node.error("declares no result")
    type_ = node.results[0]
    if DYNAMIC in type_.shape and like is not None:
        same = node.cast(like, type_.element)
        return pd.where(node.scalar(1, i1), node.scalar(value, type_.element), same).out
    if DYNAMIC in type_.shape:
        raise node.error(f"makes {type_}, whose extents have to be known: load(…, dimensions=…)")
    if not type_.element.is_float and abs(int(value)) > 1 << 53:
        return pd.expand(node.scalar(value, type_.element), shape=type_.shape).out
    return pd.full(shape=type_.shape, value=float(value), dtype=type_.element).out


@converter(
    f"full(SymInt[] size, Scalar fill_value, {_HOW})",
    f"full_like(Tensor self, Scalar fill_value, {_LIKE})",
)
def full(node: TorchNode, like: object, value: float, *how: object) -> Converted:
    """One number everywhere."""
    return filled(node, value, like if isinstance(like, Value) else None)


@converter(f"new_full(Tensor self, SymInt[] size, Scalar fill_value, {_HOW})")
def new_full(node: TorchNode, like: object, size: object, value: float, *how: object) -> Converted:
    """One number everywhere."""
    return filled(node, value)


@converter(
    f"zeros(SymInt[] size, {_HOW})",
    f"zeros_like(Tensor self, {_LIKE})",
    f"empty.memory_format(SymInt[] size, {_LIKE})",
    f"empty_like(Tensor self, {_LIKE})",
    f"empty_permuted(SymInt[] size, int[] physical_layout, {_HOW})",
    "zero(Tensor self)",
)
def zeros(node: TorchNode, like: object, *how: object) -> Converted:
    """Zeros, also where any numbers would do."""
    return filled(node, 0.0, like if isinstance(like, Value) else None)


@converter(f"ones(SymInt[] size, {_HOW})", f"ones_like(Tensor self, {_LIKE})")
def ones(node: TorchNode, like: object, *how: object) -> Converted:
    """Ones."""
    return filled(node, 1.0, like if isinstance(like, Value) else None)


@converter(f"new_zeros(Tensor self, SymInt[] size, {_HOW})", f"new_empty(Tensor self, SymInt[] size, {_HOW})")
def new_zeros(node: TorchNode, *how: object) -> Converted:
    """Zeros."""
    return filled(node, 0.0)


@converter(f"new_ones(Tensor self, SymInt[] size, {_HOW})")
def new_ones(node: TorchNode, *how: object) -> Converted:
    """Ones."""
    return filled(node, 1.0)


@converter(f"scalar_tensor(Scalar s, {_HOW})")
def scalar_tensor(node: TorchNode, value: float, *how: object) -> Converted:
    """One number."""
    return filled(node, value)


@converter("fill.Scalar(Tensor self, Scalar value)")
def fill(node: TorchNode, x: Value, value: float) -> Converted:
    """One number everywhere."""
    return filled(node, value, x)


@converter("fill.Tensor(Tensor self, Tensor value)")
def fill_tensor(node: TorchNode, x: Value, value: Value) -> Converted:
    """One number everywhere."""
    return pd.expand(node.cast(value, tensor_type(x).element), shape=tensor_type(x).shape)


def _declared(node: TorchNode) -> VTensorType:
    if not node.results or DYNAMIC in node.results[0].shape:
        raise node.error("makes a tensor whose extents have to be known: load(…, dimensions=…)")
    return node.results[0]


@converter(f"arange(Scalar end, {_HOW})")
def arange(node: TorchNode, end: float, *how: object) -> Converted:
    """0, 1, … below the end."""
    return arange_step(node, 0, end, 1)


@converter(f"arange.start(Scalar start, Scalar end, {_HOW})")
def arange_start(node: TorchNode, start: float, end: float, *how: object) -> Converted:
    """Start, start + 1, … below the end."""
    return arange_step(node, start, end, 1)


@converter(f"arange.start_step(Scalar start, Scalar end, Scalar step=1, {_HOW})")
def arange_step(node: TorchNode, start: float, end: float, step: float, *how: object) -> Converted:
    """Start, start + step, … before the end."""
    type_ = _declared(node)
    count = type_.shape[0]
    if step == 0 or max(math.ceil((end - start) / step), 0) != count:
        raise node.error(f"counts from {start} to {end} by {step}, which are not {count} numbers")
    return node.constant(start + np.arange(count) * step, type_.element, "numbers")


@converter(f"linspace(Scalar start, Scalar end, int steps, {_HOW})")
def linspace(node: TorchNode, start: float, end: float, steps: int, *how: object) -> Converted:
    """Equally spaced numbers, both ends included."""
    return node.constant(np.linspace(start, end, steps), _declared(node).element, "numbers")


@converter(f"eye(int n, {_HOW})")
def eye(node: TorchNode, n: int, *how: object) -> Converted:
    """Ones on the diagonal."""
    return node.constant(np.eye(n), _declared(node).element, "identity")


@converter(f"eye.m(int n, int m, {_HOW})")
def eye_m(node: TorchNode, n: int, m: int, *how: object) -> Converted:
    """Ones on the diagonal."""
    return node.constant(np.eye(n, m), _declared(node).element, "identity")


def _triangle(node: TorchNode, x: Value, diagonal: int, *, upper: bool) -> Value:
    type_ = tensor_type(x)
    rows, columns = type_.shape[-2:]
    if DYNAMIC in (rows, columns):
        raise node.error(f"takes a triangle of {type_}, whose extents have to be known: load(…, dimensions=…)")
    lower = np.tri(rows, columns, diagonal - upper, dtype=np.bool_)
    kept = node.constant(~lower if upper else lower, i1, "triangle")
    return pd.where(kept, x, node.scalar(0, type_.element)).out


@converter("tril(Tensor self, int diagonal=0)")
def tril(node: TorchNode, x: Value, diagonal: int) -> Converted:
    """The lower triangle, zeros above."""
    return _triangle(node, x, diagonal, upper=False)


@converter("triu(Tensor self, int diagonal=0)")
def triu(node: TorchNode, x: Value, diagonal: int) -> Converted:
    """The upper triangle, zeros below."""
    return _triangle(node, x, diagonal, upper=True)


@converter(
    "clone(Tensor self, *, MemoryFormat? memory_format=None)",
    "lift_fresh_copy(Tensor self)",
    "dropout(Tensor input, float p, bool train)",
    "feature_dropout(Tensor input, float p, bool train)",
    "alpha_dropout(Tensor input, float p, bool train)",
)
def clone(node: TorchNode, x: Value, p: object = None, train: bool = False) -> Converted:
    """A copy."""
    if train and p:
        raise node.error(f"drops elements at random (p {p}); only inference is supported: export after module.eval()")
    return x


@converter("native_dropout(Tensor input, float p, bool? train)")
def native_dropout(node: TorchNode, x: Value, p: float, train: bool | None) -> Converted:
    """A copy."""
    clone(node, x, p, train is not False)
    return [x, None]


@converter(
    "contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",
    "detach(Tensor(a) self) -> Tensor(a)",
    "alias(Tensor(a) self) -> Tensor(a)",
    "lift_fresh(Tensor(a) self) -> Tensor(a)",
)
def same(node: TorchNode, x: Value, memory_format: object = None) -> Converted:
    """The tensor itself."""
    return x


@converter("view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)")
def view_bits(node: TorchNode, x: Value, dtype: ScalarType) -> Converted:
    """The same bits as numbers of another element type, which is as wide."""
    return x if dtype is tensor_type(x).element else pd.bitcast(x, dtype=dtype)


_COPYING = "bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None"


@converter(
    f"_to_copy({_HOW.replace('*', 'Tensor self, *')}, bool non_blocking=False, MemoryFormat? memory_format=None)",
    f"to.dtype(Tensor(a) self, ScalarType dtype, {_COPYING}) -> Tensor(a)",
    f"to.dtype_layout({_HOW.replace('*', 'Tensor(a) self, *')}, {_COPYING}) -> Tensor(a)",
)
def to(node: TorchNode, x: Value, dtype: ScalarType | None = None, *how: object) -> Converted:
    """The numbers in another element type."""
    return x if dtype is None else node.cast(x, dtype)


@converter(f"to.device(Tensor(a) self, Device device, ScalarType dtype, {_COPYING}) -> Tensor(a)")
def to_device(node: TorchNode, x: Value, device: object, dtype: ScalarType, *how: object) -> Converted:
    """The numbers in another element type."""
    return node.cast(x, dtype)


@converter("type_as(Tensor self, Tensor other)", f"to.other(Tensor(a) self, Tensor other, {_COPYING}) -> Tensor(a)")
def type_as(node: TorchNode, x: Value, other: Value, *how: object) -> Converted:
    """The numbers in the element type of another tensor."""
    return node.cast(x, tensor_type(other).element)


@converter("copy(Tensor self, Tensor src, bool non_blocking=False)")
def copy(node: TorchNode, x: Value, source: Value, non_blocking: bool) -> Converted:
    """The source, in type and shape of the tensor that it is copied to."""
    source = node.cast(source, tensor_type(x).element)
    shape = tensor_type(x).shape
    return source if tensor_type(source).shape == shape else pd.expand(source, shape=shape)


@converter("one_hot(Tensor self, int num_classes=-1)")
def one_hot(node: TorchNode, x: Value, num_classes: int) -> Converted:
    """1 at the place that each number names, 0 elsewhere."""
    if num_classes < 1:
        raise node.error(f"num_classes is {num_classes}; it has to be given")
    element = tensor_type(x).element
    classes = node.constant(np.arange(num_classes), element, "classes")
    rank = tensor_type(x).rank
    return pd.cast(pd.equal(pd.unsqueeze(x, axis=(rank,)), classes), dtype=element)
