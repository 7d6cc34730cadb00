"""Convolutions and pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tx8ir.core import DYNAMIC, Operation, Value
from tx8ir.dialects import pd
from tx8ir.frontends import pooling
from tx8ir.frontends.convolution import convolve, convolve_transposed
from tx8ir.frontends.torch.node import TorchNode
from tx8ir.frontends.torch.registry import Converted, converter
from tx8ir.frontends.values import tensor_type
from tx8ir.frontends.windows import Window

_CONVOLUTION: Final = "Tensor input, Tensor weight, Tensor? bias=None, int[{n}] stride=1, int[{n}] padding=0, "
_BY_NAME: Final = "Tensor input, Tensor weight, Tensor? bias=None, int[{n}] stride=1, str padding='valid', "
_TRANSPOSED: Final = (
    "Tensor input, Tensor weight, Tensor? bias=None, int[{n}] stride=1, int[{n}] padding=0, "
    "int[{n}] output_padding=0, int groups=1, int[{n}] dilation=1"
)
_REST: Final = "int[{n}] dilation=1, int groups=1"


def spread(node: TorchNode, values: Sequence[int], axes: int, what: str) -> tuple[int, ...]:
    """One number for each spatial axis; one alone counts for all."""
    found = tuple(values) * axes if len(values) == 1 else tuple(values)
    if len(found) != axes:
        raise node.error(f"{what} is {list(values)}; expected {axes} numbers")
    return found


def batched(x: Value, axes: int, build: Callable[[Value], Value]) -> Value:
    """What `build` makes of images [N, C, …]; one image alone, [C, …], is a batch for a while."""
    if tensor_type(x).rank == axes + 2:
        return build(x)
    out = build(pd.unsqueeze(x, axis=(0,)).out)
    return pd.squeeze(out, axis=(0,)).out


def _space(node: TorchNode, x: Value) -> tuple[int, ...]:
    space = tensor_type(x).shape[2:]
    if DYNAMIC in space:
        raise node.error(f"the image is {tensor_type(x)}; its extents have to be known: load(…, dimensions=…)")
    return space


def _one(value: Value | Operation) -> Value:
    return value if isinstance(value, Value) else value.results[0]


@converter(*(f"conv{n}d({(_CONVOLUTION + _REST).format(n=n)}) -> Tensor" for n in (1, 2, 3)))
def conv(
    node: TorchNode, x: Value, weight: Value, bias: Value | None, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], groups: int,
) -> Converted:  # fmt: skip
    """Convolution with zeros around the image."""
    axes = tensor_type(weight).rank - 2
    pads = spread(node, padding, axes, "padding")
    return _convolved(node, x, weight, bias, stride, (pads, pads), dilation, groups)


@converter(*(f"conv{n}d.padding({(_BY_NAME + _REST).format(n=n)}) -> Tensor" for n in (1, 2, 3)))
def conv_by_name(
    node: TorchNode, x: Value, weight: Value, bias: Value | None, stride: Sequence[int], padding: str,
    dilation: Sequence[int], groups: int,
) -> Converted:  # fmt: skip
    """Convolution without padding, or with as much as keeps the extents; the odd cell is at the end."""
    kernel = tensor_type(weight).shape[2:]
    totals = [0] * len(kernel)
    if padding == "same":
        steps = spread(node, dilation, len(kernel), "dilation")
        totals = [(extent - 1) * step for extent, step in zip(kernel, steps, strict=True)]
    elif padding != "valid":
        raise node.error(f"padding is {padding!r}; expected 'valid' or 'same'")
    begin = tuple(total // 2 for total in totals)
    end = tuple(total - total // 2 for total in totals)
    return _convolved(node, x, weight, bias, stride, (begin, end), dilation, groups)


def _convolved(
    node: TorchNode, x: Value, weight: Value, bias: Value | None, stride: Sequence[int],
    pads: tuple[tuple[int, ...], tuple[int, ...]], dilation: Sequence[int], groups: int,
) -> Value:  # fmt: skip
    kernel = tensor_type(weight).shape[2:]
    axes = len(kernel)
    strides, steps = spread(node, stride, axes, "stride"), spread(node, dilation, axes, "dilation")

    def build(images: Value) -> Value:
        window = Window(tensor_type(images).shape[2:], kernel, strides, steps, *pads)
        return _one(convolve(node, images, weight, bias, window, groups))

    return batched(x, axes, build)


@converter(
    f"conv_transpose1d({_TRANSPOSED.format(n=1)})",
    *(f"conv_transpose{n}d.input({_TRANSPOSED.format(n=n)})" for n in (2, 3)),
)
def conv_transpose(
    node: TorchNode, x: Value, weight: Value, bias: Value | None, stride: Sequence[int], padding: Sequence[int],
    output_padding: Sequence[int], groups: int, dilation: Sequence[int],
) -> Converted:  # fmt: skip
    """The transpose of a convolution."""
    axes = tensor_type(weight).rank - 2
    strides, steps = spread(node, stride, axes, "stride"), spread(node, dilation, axes, "dilation")
    cut = spread(node, padding, axes, "padding")
    extra = spread(node, output_padding, axes, "output_padding")

    def build(images: Value) -> Value:
        _space(node, images)
        return _one(convolve_transposed(node, images, weight, bias, strides, steps, (cut, cut), extra, groups))

    return batched(x, axes, build)


@converter(
    "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
    "bool transposed, int[] output_padding, int groups)"
)
def convolution(
    node: TorchNode, x: Value, weight: Value, bias: Value | None, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int,
) -> Converted:  # fmt: skip
    """Either."""
    if transposed:
        return conv_transpose(node, x, weight, bias, stride, padding, output_padding, groups, dilation)
    return conv(node, x, weight, bias, stride, padding, dilation, groups)


# --- pooling ---------------------------------------------------------------------------------------------------------


def _pooled(
    node: TorchNode, x: Value, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], ceil_mode: bool, axes: int,
) -> tuple[Window, tuple[int, ...]]:  # fmt: skip
    sizes = spread(node, kernel, axes, "kernel_size")
    pads = spread(node, padding, axes, "padding")
    strides = spread(node, stride, axes, "stride") if stride else sizes
    window = Window(_space(node, x), sizes, strides, spread(node, dilation, axes, "dilation"), pads, pads)
    if min(*window.kernel, *window.strides, *window.dilations) < 1 or min(pads) < 0:
        raise node.error(f"kernel {list(sizes)}, stride {list(strides)} and dilation must be positive")
    counts = window.counts(ceil_mode=ceil_mode)
    window.check(node, counts)
    return window, counts


_MAX: Final = (
    "(Tensor self, int[{n}] kernel_size, int[{n}] stride=[], int[{n}] padding=0, int[{n}] dilation=1, "
    "bool ceil_mode=False)"
)


def _register_max(axes: int) -> None:
    @converter(f"max_pool{axes}d{_MAX.format(n=axes)}")
    def max_pool(
        node: TorchNode, x: Value, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
        dilation: Sequence[int], ceil_mode: bool,
    ) -> Converted:  # fmt: skip
        def build(images: Value) -> Value:
            found = _pooled(node, images, kernel, stride, padding, dilation, ceil_mode, axes)
            return pooling.max_pool(node, images, *found)

        return batched(x, axes, build)

    @converter(f"max_pool{axes}d_with_indices{_MAX.format(n=axes)}")
    def with_indices(
        node: TorchNode, x: Value, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
        dilation: Sequence[int], ceil_mode: bool,
    ) -> Converted:  # fmt: skip
        alone = tensor_type(x).rank == axes + 1
        images = pd.unsqueeze(x, axis=(0,)).out if alone else x
        found = _pooled(node, images, kernel, stride, padding, dilation, ceil_mode, axes)
        if not node.graph.is_used(node.proto, 1):
            best = pooling.max_pool(node, images, *found)
            return [pd.squeeze(best, axis=(0,)).out if alone else best, None]
        pair = pooling.max_pool_with_places(node, images, *found, per_image=True)
        return [pd.squeeze(value, axis=(0,)).out if alone else value for value in pair]

    assert max_pool is not None
    assert with_indices is not None


def _register_average(axes: int) -> None:
    divisor = "" if axes == 1 else ", int? divisor_override=None"

    @converter(
        f"avg_pool{axes}d(Tensor self, int[{axes}] kernel_size, int[{axes}] stride=[], int[{axes}] padding=0, "
        f"bool ceil_mode=False, bool count_include_pad=True{divisor})"
    )
    def avg_pool(
        node: TorchNode, x: Value, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
        ceil_mode: bool, count_include_pad: bool, divisor_override: int | None = None,
    ) -> Converted:  # fmt: skip
        if divisor_override is not None:
            raise node.error(f"divisor_override is {divisor_override}; only the number of cells is supported")

        def build(images: Value) -> Value:
            found = _pooled(node, images, kernel, stride, padding, (1,), ceil_mode, axes)
            return pooling.average_pool(node, images, *found, include_padding=count_include_pad)

        return batched(x, axes, build)

    assert avg_pool is not None


for _axes in (1, 2, 3):
    _register_max(_axes)
    _register_average(_axes)


@converter(
    "adaptive_avg_pool1d(Tensor self, int[1] output_size)",
    "adaptive_avg_pool2d(Tensor self, int[2] output_size)",
    "_adaptive_avg_pool2d(Tensor self, int[2] output_size)",
    "adaptive_avg_pool3d(Tensor self, int[3] output_size)",
)
def adaptive_avg_pool(node: TorchNode, x: Value, output_size: Sequence[int]) -> Converted:
    """The means of as many windows as asked for, which cover the image."""
    axes = len(output_size)
    if set(output_size) == {1}:
        rank = tensor_type(x).rank
        return pd.mean(x, axis=tuple(range(rank - axes, rank)), keepdim=True)
    if axes > 2:
        raise node.error(f"output_size is {list(output_size)}; supported is 1 on all of three axes")
    return batched(x, axes, lambda images: _adaptive(images, tuple(output_size), "avg"))


def _adaptive(images: Value, size: tuple[int, ...], kind: str) -> Value:
    flat = len(size) == 1
    if flat:
        images, size = pd.unsqueeze(images, axis=(2,)).out, (1, *size)
    out = pd.pool2d(images, kernel_size=size, adaptive=True, pooling_type=kind).out
    return pd.squeeze(out, axis=(2,)).out if flat else out


@converter(
    "adaptive_max_pool2d(Tensor self, int[2] output_size)", "adaptive_max_pool1d(Tensor self, int[1] output_size)"
)
def adaptive_max_pool(node: TorchNode, x: Value, output_size: Sequence[int]) -> Converted:
    """The largest elements of as many windows as asked for, which cover the image."""
    return [batched(x, len(output_size), lambda images: _adaptive(images, tuple(output_size), "max")), None]
