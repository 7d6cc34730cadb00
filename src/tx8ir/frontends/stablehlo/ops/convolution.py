"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.core import Value
from tx8ir.dialects import pd
from tx8ir.frontends.convolution import convolve
from tx8ir.frontends.stablehlo import written
from tx8ir.frontends.stablehlo.node import StableHloNode
from tx8ir.frontends.stablehlo.ops.movement import padded, reversed_axes
from tx8ir.frontends.stablehlo.registry import Converted, converter
from tx8ir.frontends.values import tensor_type
from tx8ir.frontends.windows import Window


@converter("stablehlo.convolution")
def convolution(node: StableHloNode) -> Converted:
    """Windows of an image times a filter, whatever the order of their axes."""
    x, weight = node.take(2)
    axes = written.axes_of_convolution(node.attribute("dimension_numbers"))
    if axes is None:
        raise node.error(f"dimension_numbers are {node.attribute('dimension_numbers')}")
    spatial = len(axes[0]) - 2
    if not 1 <= spatial <= 3:
        raise node.error(f"has {spatial} spatial axes; supported are 1 to 3")
    element = node.result.element
    image = _ordered(node, node.cast(x, element), axes[0], ("b", "f"))
    filter_ = _ordered(node, node.cast(weight, element), axes[1], ("o", "i"))
    ones = (1,) * spatial
    strides = node.ints("window_strides", ones, length=spatial)
    image_dilation = node.ints("lhs_dilation", ones, length=spatial)
    dilations = node.ints("rhs_dilation", ones, length=spatial)
    backwards = node.ints("window_reversal", (0,) * spatial, length=spatial)
    paddings = node.ints("padding", (0,) * (2 * spatial), length=2 * spatial)
    begin, end = list(paddings[::2]), list(paddings[1::2])
    filter_ = reversed_axes(node, filter_, [axis + 2 for axis, turned in enumerate(backwards) if turned])
    if any(width != 1 for width in image_dilation) or min(*begin, *end) < 0:
        # Zeros between the cells of the image, and padding that cuts off, are done first.
        zero = node.scalar(0, element)
        image = padded(node, image, zero, (0, 0, *begin), (0, 0, *end), (0, 0, *(w - 1 for w in image_dilation)))
        begin, end = [0] * spatial, [0] * spatial
    groups = node.int("feature_group_count", 1)
    batch_groups = node.int("batch_group_count", 1)
    if batch_groups != 1:
        if groups != 1:
            raise node.error(f"has {groups} groups of features and {batch_groups} of the batch; one must be 1")
        image, groups = _groups_of_batch(node, image, batch_groups), batch_groups
    shape, kernel = node.static_shape(image, "the image"), node.static_shape(filter_, "the filter")[2:]
    window = Window(shape[2:], kernel, strides, dilations, tuple(begin), tuple(end))
    window.check(node, window.counts())
    out = convolve(node, image, filter_, None, window, groups)
    found = out if isinstance(out, Value) else out.results[0]
    letters = ["b", "f", *(str(axis) for axis in range(spatial))]
    order = tuple(letters.index(letter) for letter in axes[2])
    return found if order == tuple(range(len(order))) else pd.transpose(found, perm=order)


def _ordered(node: StableHloNode, x: Value, axes: Sequence[str], first: tuple[str, str]) -> Value:
    """The axes in the order of `first`, then the spatial ones."""
    letters = [*first, *(str(axis) for axis in range(len(axes) - 2))]
    if sorted(letters) != sorted(axes) or len(axes) != tensor_type(x).rank:
        raise node.error(f"names the axes {list(axes)} of {tensor_type(x)}; expected {letters} in some order")
    order = tuple(list(axes).index(letter) for letter in letters)
    return x if order == tuple(range(len(order))) else pd.transpose(x, perm=order).out


def _groups_of_batch(node: StableHloNode, image: Value, groups: int) -> Value:
    """Groups of images as groups of channels: [G N, C, …] as [N, G C, …]."""
    batch, channels, *space = node.static_shape(image, "the image")
    if batch % groups:
        raise node.error(f"has {groups} groups of {batch} images")
    split = pd.reshape(image, shape=(groups, batch // groups, channels, *space))
    rest = tuple(range(2, 3 + len(space)))
    moved = pd.transpose(split, perm=(1, 0, *rest))
    return pd.reshape(moved, shape=(batch // groups, groups * channels, *space)).out
