"""The window that the attributes of a node describe."""

from __future__ import annotations

from typing import Final

from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.windows import Window

WINDOW: Final = ("auto_pad", "dilations", "kernel_shape", "pads", "strides")
"""The attributes that say what a window is."""
_AUTO_PAD: Final = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


def window_of(node: OnnxNode, kernel: tuple[int, ...]) -> Window:
    """The window that the attributes of a node describe, `auto_pad` resolved."""
    image = node.type_of(0)
    axes = image.rank - 2
    if axes < 1:
        raise node.error(f"the input is {image}; expected [N, C, D1, …]")
    if len(kernel) != axes:
        raise node.error(f"the kernel has the extents {list(kernel)}; expected {axes}")
    strides = node.ints("strides", (1,) * axes, length=axes)
    dilations = node.ints("dilations", (1,) * axes, length=axes)
    if min(*kernel, *strides, *dilations) < 1:
        raise node.error(
            f"kernel {list(kernel)}, strides {list(strides)} and dilations {list(dilations)} must be positive"
        )
    auto_pad = node.string("auto_pad", _AUTO_PAD, "NOTSET")
    pads = node.ints("pads", (0,) * 2 * axes, length=2 * axes)
    if auto_pad != "NOTSET" and any(pads):
        raise node.error(f"attribute pads is {list(pads)} although auto_pad is {auto_pad!r}; expected one of them")
    if min(pads) < 0:
        raise node.error(f"attribute pads is {list(pads)}; expected values >= 0")
    window = Window(image.shape[2:], kernel, strides, dilations, pads[:axes], pads[axes:])
    return window.same(upper=auto_pad == "SAME_UPPER") if auto_pad.startswith("SAME") else window
