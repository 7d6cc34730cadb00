"""Reductions, extremes and sums along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tx8ir.core import DYNAMIC, Operation, ScalarType, Value, i1, i64
from tx8ir.dialects import pd
from tx8ir.frontends.torch.node import TorchNode
from tx8ir.frontends.torch.ops.arithmetic import times
from tx8ir.frontends.torch.registry import Converted, converter
from tx8ir.frontends.values import tensor_type


def _reduced_type(x: Value, dtype: ScalarType | None) -> ScalarType:
    element = tensor_type(x).element
    return dtype if dtype is not None else element if element.is_float else i64


@converter(
    "sum(Tensor self, *, ScalarType? dtype=None)",
)
def sum_all(node: TorchNode, x: Value, dtype: ScalarType | None) -> Converted:
    """The sum of all elements."""
    return sum(node, x, None, False, dtype)


@converter("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)")
def sum(node: TorchNode, x: Value, dim: Sequence[int] | None, keepdim: bool, dtype: ScalarType | None) -> Converted:
    """The sum over axes; integers become i64."""
    element = _reduced_type(x, dtype)
    axes = node.axes(dim, tensor_type(x).rank)
    if not axes:
        return node.cast(x, element)
    if tensor_type(x).element is element and element.is_float:
        return pd.sum(x, axis=axes, keepdim=keepdim)
    return pd.sum(x, axis=axes, keepdim=keepdim, dtype=element)


@converter("mean(Tensor self, *, ScalarType? dtype=None)")
def mean_all(node: TorchNode, x: Value, dtype: ScalarType | None) -> Converted:
    """The mean of all elements."""
    return mean(node, x, None, False, dtype)


@converter("mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)")
def mean(node: TorchNode, x: Value, dim: Sequence[int] | None, keepdim: bool, dtype: ScalarType | None) -> Converted:
    """The mean over axes."""
    x = node.floating(x) if dtype is None else node.cast(x, dtype)
    axes = node.axes(dim, tensor_type(x).rank)
    return pd.mean(x, axis=axes, keepdim=keepdim) if axes else x


@converter("prod(Tensor self, *, ScalarType? dtype=None)")
def prod_all(node: TorchNode, x: Value, dtype: ScalarType | None) -> Converted:
    """The product of all elements."""
    x = node.cast(x, _reduced_type(x, dtype))
    return pd.prod(x) if tensor_type(x).rank else x


@converter("prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None)")
def prod(node: TorchNode, x: Value, dim: int, keepdim: bool, dtype: ScalarType | None) -> Converted:
    """The product over an axis."""
    x = node.cast(x, _reduced_type(x, dtype))
    axes = node.axes((dim,), tensor_type(x).rank)
    return pd.prod(x, axis=axes, keepdim=keepdim) if axes else x


def _extreme(
    node: TorchNode, x: Value, dim: Sequence[int] | None, keepdim: bool, build: Callable[..., Operation]
) -> Value:
    element = tensor_type(x).element
    axes = node.axes(dim, tensor_type(x).rank)
    if not axes:
        return x
    if element is i1:  # an extreme of truth values is that of 0 and 1
        return pd.cast(build(pd.cast(x, dtype=i64), axis=axes, keepdim=keepdim), dtype=i1).out
    return build(x, axis=axes, keepdim=keepdim).results[0]


@converter("amax(Tensor self, int[1] dim=[], bool keepdim=False)")
def amax(node: TorchNode, x: Value, dim: Sequence[int], keepdim: bool) -> Converted:
    """The largest element over axes."""
    return _extreme(node, x, dim, keepdim, pd.max)


@converter("amin(Tensor self, int[1] dim=[], bool keepdim=False)")
def amin(node: TorchNode, x: Value, dim: Sequence[int], keepdim: bool) -> Converted:
    """The smallest element over axes."""
    return _extreme(node, x, dim, keepdim, pd.min)


@converter("max(Tensor self)")
def max_all(node: TorchNode, x: Value) -> Converted:
    """The largest element."""
    return _extreme(node, x, None, False, pd.max)


@converter("min(Tensor self)")
def min_all(node: TorchNode, x: Value) -> Converted:
    """The smallest element."""
    return _extreme(node, x, None, False, pd.min)


@converter("max.dim(Tensor self, int dim, bool keepdim=False)")
def max_dim(node: TorchNode, x: Value, dim: int, keepdim: bool) -> Converted:
    """The largest element over an axis, and where it is."""
    return [_extreme(node, x, (dim,), keepdim, pd.max), _place(node, x, dim, keepdim, pd.argmax)]


@converter("min.dim(Tensor self, int dim, bool keepdim=False)")
def min_dim(node: TorchNode, x: Value, dim: int, keepdim: bool) -> Converted:
    """The smallest element over an axis, and where it is."""
    return [_extreme(node, x, (dim,), keepdim, pd.min), _place(node, x, dim, keepdim, pd.argmin)]


def _place(node: TorchNode, x: Value, dim: int | None, keepdim: bool, build: Callable[..., Operation]) -> Value:
    type_ = tensor_type(x)
    if type_.element is i1:
        x = pd.cast(x, dtype=i64).out
    if dim is None or not type_.rank:
        place = build(pd.reshape(x, shape=(-1,)), axis=0)
        return pd.reshape(place, shape=(1,) * type_.rank if keepdim else ()).out
    return build(x, axis=node.axis(dim, type_.rank), keepdims=keepdim).results[0]


@converter("argmax(Tensor self, int? dim=None, bool keepdim=False)")
def argmax(node: TorchNode, x: Value, dim: int | None, keepdim: bool) -> Converted:
    """Where the largest element is; among all without an axis."""
    return _place(node, x, dim, keepdim, pd.argmax)


@converter("argmin(Tensor self, int? dim=None, bool keepdim=False)")
def argmin(node: TorchNode, x: Value, dim: int | None, keepdim: bool) -> Converted:
    """Where the smallest element is; among all without an axis."""
    return _place(node, x, dim, keepdim, pd.argmin)


@converter("any(Tensor self)", "any.dim(Tensor self, int dim, bool keepdim=False)",
           "any.dims(Tensor self, int[]? dim=None, bool keepdim=False)")  # fmt: skip
def any(node: TorchNode, x: Value, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Converted:
    """Whether some element is not 0."""
    return _extreme(node, node.cast(x, i1), (dim,) if isinstance(dim, int) else dim, keepdim, pd.max)


@converter("all(Tensor self)", "all.dim(Tensor self, int dim, bool keepdim=False)",
           "all.dims(Tensor self, int[]? dim=None, bool keepdim=False)")  # fmt: skip
def all(node: TorchNode, x: Value, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Converted:
    """Whether no element is 0."""
    return _extreme(node, node.cast(x, i1), (dim,) if isinstance(dim, int) else dim, keepdim, pd.min)


def _variance(
    node: TorchNode, x: Value, dim: Sequence[int] | None, correction: float | None, keepdim: bool
) -> tuple[Value, Value]:
    """Variance and mean."""
    shape = tensor_type(x).shape
    axes = node.axes(dim, len(shape))
    count = math.prod(shape[axis] for axis in axes)
    if DYNAMIC in [shape[axis] for axis in axes]:
        raise node.error(f"the variance of {tensor_type(x)} needs the extents of its axes: load(…, dimensions=…)")
    mean_ = pd.mean(x, axis=axes, keepdim=True)
    square = pd.mean(pd.square(pd.subtract(x, mean_)), axis=axes, keepdim=keepdim).out
    left = count - (1.0 if correction is None else float(correction))
    variance = square if left == count else times(square, count / left if left > 0 else math.inf)
    return variance, mean_.out if keepdim else pd.squeeze(mean_, axis=axes).out if axes else mean_.out


_CORRECTION = "(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)"
_UNBIASED = "(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)"


@converter(f"var.correction{_CORRECTION}")
def var(node: TorchNode, x: Value, dim: Sequence[int] | None, correction: float | None, keepdim: bool) -> Converted:
    """The variance over axes."""
    return _variance(node, x, dim, correction, keepdim)[0]


@converter(f"std.correction{_CORRECTION}")
def std(node: TorchNode, x: Value, dim: Sequence[int] | None, correction: float | None, keepdim: bool) -> Converted:
    """The deviation over axes."""
    return pd.sqrt(_variance(node, x, dim, correction, keepdim)[0])


@converter(f"var_mean.correction{_CORRECTION}")
def var_mean(
    node: TorchNode, x: Value, dim: Sequence[int] | None, correction: float | None, keepdim: bool
) -> Converted:
    """The variance and the mean over axes."""
    return list(_variance(node, x, dim, correction, keepdim))


@converter(f"std_mean.correction{_CORRECTION}")
def std_mean(
    node: TorchNode, x: Value, dim: Sequence[int] | None, correction: float | None, keepdim: bool
) -> Converted:
    """The deviation and the mean over axes."""
    variance, mean_ = _variance(node, x, dim, correction, keepdim)
    return [pd.sqrt(variance), mean_]


@converter("aminmax(Tensor self, *, int? dim=None, bool keepdim=False)")
def aminmax(node: TorchNode, x: Value, dim: int | None, keepdim: bool) -> Converted:
    """The smallest and the largest element over an axis, or over all."""
    axes = None if dim is None else (dim,)
    return [_extreme(node, x, axes, keepdim, build) for build in (pd.min, pd.max)]


@converter(f"var.dim{_UNBIASED}", "var(Tensor self, bool unbiased=True)")
def var_unbiased(
    node: TorchNode, x: Value, dim: Sequence[int] | bool | None = None, unbiased: bool = True, keepdim: bool = False
) -> Converted:
    """The variance over axes."""
    axes, corrected = (None, dim) if isinstance(dim, bool) else (dim, unbiased)
    return _variance(node, x, axes, float(corrected), keepdim)[0]


@converter(f"std.dim{_UNBIASED}", "std(Tensor self, bool unbiased=True)")
def std_unbiased(
    node: TorchNode, x: Value, dim: Sequence[int] | bool | None = None, unbiased: bool = True, keepdim: bool = False
) -> Converted:
    """The deviation over axes."""
    axes, corrected = (None, dim) if isinstance(dim, bool) else (dim, unbiased)
    return pd.sqrt(_variance(node, x, axes, float(corrected), keepdim)[0])


@converter(
    "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)"
)
def vector_norm(
    node: TorchNode, x: Value, order: float, dim: Sequence[int] | None, keepdim: bool, dtype: ScalarType | None
) -> Converted:
    """The norm over axes."""
    x = x if dtype is None else node.cast(x, dtype)
    axes = node.axes(dim, tensor_type(x).rank)
    if order == 2:
        return pd.sqrt(pd.sum(pd.square(x), axis=axes, keepdim=keepdim))
    size = pd.abs(x).out
    if order == 1:
        return pd.sum(size, axis=axes, keepdim=keepdim)
    if math.isinf(order):
        return (pd.max if order > 0 else pd.min)(size, axis=axes, keepdim=keepdim)
    return pd.pow(pd.sum(pd.pow(size, y=float(order)), axis=axes, keepdim=keepdim), y=1 / order)


@converter("norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False)")
def norm(node: TorchNode, x: Value, p: float | None, dim: Sequence[int], keepdim: bool) -> Converted:
    """The norm over axes."""
    return vector_norm(node, x, 2 if p is None else p, dim, keepdim, None)


@converter("cumsum(Tensor self, int dim, *, ScalarType? dtype=None)")
def cumsum(node: TorchNode, x: Value, dim: int, dtype: ScalarType | None) -> Converted:
    """The sum of the elements so far."""
    x = node.cast(x, _reduced_type(x, dtype))
    return pd.cumsum(x, axis=node.axis(dim, tensor_type(x).rank)) if tensor_type(x).rank else x


@converter("cumprod(Tensor self, int dim, *, ScalarType? dtype=None)")
def cumprod(node: TorchNode, x: Value, dim: int, dtype: ScalarType | None) -> Converted:
    """The product of the elements so far."""
    x = node.cast(x, _reduced_type(x, dtype))
    return pd.cumprod(x, axis=node.axis(dim, tensor_type(x).rank)) if tensor_type(x).rank else x


@converter("topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True)")
def topk(node: TorchNode, x: Value, k: int, dim: int, largest: bool, sorted: bool) -> Converted:
    """The k largest elements, in order, and where they are; PyTorch leaves open which of equal ones."""
    return pd.topk(x, k=k, axis=node.axis(dim, tensor_type(x).rank), largest=largest)


@converter("sort(Tensor self, int dim=-1, bool descending=False)",
           "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False)")  # fmt: skip
def sort(node: TorchNode, x: Value, *arguments: bool | int | None) -> Converted:
    """The elements in order, and where they were."""
    dim, descending = arguments[-2:]
    type_ = tensor_type(x)
    axis = node.axis(int(dim or 0), type_.rank)
    if type_.shape[axis] == DYNAMIC:
        raise node.error(f"sorts {type_}, whose extents have to be known: load(…, dimensions=…)")
    return pd.topk(x, k=type_.shape[axis], axis=axis, largest=bool(descending))


@converter("argsort(Tensor self, int dim=-1, bool descending=False)")
def argsort(node: TorchNode, x: Value, dim: int, descending: bool) -> Converted:
    """Where the elements in order were."""
    found = sort(node, x, dim, descending)
    assert isinstance(found, Operation)
    return found.results[1]
