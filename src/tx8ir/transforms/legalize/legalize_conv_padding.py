"""`legalize-conv-padding`: what a machine's windows cannot pad is padded by an operation of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from tx8ir.core import Operation, Program, RankedTensor
from tx8ir.dialects import pd
from tx8ir.dialects.pd.conv import ConvolutionOp
from tx8ir.passes import OperationPass, option, register_pass
from tx8ir.rewriting import RewritePattern, Rewriter, pattern, rewrite_greedily
from tx8ir.target.chip import TX8


def _has_padding(op: ConvolutionOp | pd.Pool2dOp) -> bool:
    """Whether the attributes `paddings` and `padding_algorithm` mean something."""
    return isinstance(op, ConvolutionOp) or not (op.global_pooling or op.adaptive)


@pattern(ConvolutionOp, pd.Pool2dOp)
def padding_in_numbers(op: ConvolutionOp | pd.Pool2dOp, rewriter: Rewriter) -> bool:
    """`padding_algorithm` "SAME" or "VALID" → the numbers that it stands for."""
    if op.padding_algorithm == "EXPLICIT" or not _has_padding(op):
        return False
    with rewriter.modify(op):
        pads = op.pads
        op.padding_algorithm = "EXPLICIT"
        op.paddings = pads if any(pads) else (0, 0)
    return True


class ExplicitPadding(RewritePattern[Any]):
    """conv(x) → conv(pad(x)): what a window cannot pad goes into a `pd.pad`.

    Args:
        max_pad: the most cells that a window may pad on one side.
        symmetric: whether a window must pad both sides of an axis alike.
    """

    name = "explicit_padding"
    roots = (ConvolutionOp, pd.Pool2dOp)

    def __init__(self, max_pad: int, symmetric: bool) -> None:
        self.max_pad = max_pad
        self.symmetric = symmetric

    def match_and_rewrite(self, op: ConvolutionOp | pd.Pool2dOp, rewriter: Rewriter) -> bool:
        if op.padding_algorithm != "EXPLICIT" or not _has_padding(op):
            return False
        top, bottom, left, right = op.pads
        kept = (*self._kept(top, bottom), *self._kept(left, right))
        moved = tuple(pad - keep for pad, keep in zip(op.pads, kept, strict=True))
        number = _padding_value(op)
        if not any(moved) or number is None:
            return False
        space = ((0, 0), moved[:2], moved[2:])
        frame = (*space, (0, 0)) if op.data_format == "NHWC" else ((0, 0), *space)
        image = rewriter.insert(
            pd.PadOp(op.operands[0], paddings=tuple(width for widths in frame for width in widths), pad_value=number)
        )
        paddings = (kept[0], kept[2]) if kept[0] == kept[1] and kept[2] == kept[3] else kept
        made = op.__class__.create(
            [image.out, *op.operands[1:]], [op.out.type], {**op.attributes, "paddings": paddings}
        )
        rewriter.replace(op, made)
        return True

    def _kept(self, low: int, high: int) -> tuple[int, int]:
        """What a window may pad of the padding of one axis."""
        low, high = min(low, self.max_pad), min(high, self.max_pad)
        return (min(low, high), min(low, high)) if self.symmetric else (low, high)


def _padding_value(op: ConvolutionOp | pd.Pool2dOp) -> float | None:
    """What padding cells hold; None where they must not be mistaken for cells of the image."""
    if isinstance(op, ConvolutionOp) or (op.pooling_type == "avg" and not op.exclusive):
        return 0.0
    if op.pooling_type == "avg":
        return None
    kind = op.x.type
    assert isinstance(kind, RankedTensor)  # infer_types
    return -math.inf if kind.element.is_float else kind.element.format.limits[0]


@register_pass
@attrs.frozen
class LegalizeConvPadding(OperationPass):
    """Gives convolutions and pools paddings that a machine's windows can do, and pads the image itself by the rest.

    "SAME" and "VALID" become numbers. Padding beyond `max-pad` on one side, and with `symmetric` what one side of an
    axis has more than the other, goes into a `pd.pad` of the image: with zeros for a convolution and for an average
    that counts padding, with the smallest number for a maximum. (Padding is never negative: `pd` refuses it.)

    Assumes: nothing; a tensor is padded where the operation reads it. Guarantees: the paddings of each convolution and
    maximum pool, and of each average pool that counts its padding, are within `max-pad`, and alike on both sides with
    `symmetric`. An average of image cells only (`exclusive`) keeps its padding, whose cells an explicit frame would
    count; pools that are global or adaptive have none. Keeps every bit. Idempotent.
    Cost: O(operations); a copy of each image that is padded. By default `max-pad` is what an instruction of the TX8 can
    say, which pads four sides one by one. From BladeDISC's DhloGpuConvPaddingLegalization. Statistics:
    `padding_in_numbers`, `explicit_padding` (operations).
    """

    name: ClassVar[str] = "legalize-conv-padding"

    max_pad: int = option(
        TX8.ne.pad[1], "the most cells that a window may pad on one side", validator=attrs.validators.ge(0)
    )
    symmetric: bool = option(False, "whether a window must pad both sides of an axis alike")

    def patterns(self) -> Sequence[RewritePattern[Any]]:
        return (padding_in_numbers, ExplicitPadding(self.max_pad, self.symmetric))

    def run_on(self, root: Operation, program: Program) -> None:
        result = rewrite_greedily(root, self.patterns(), fold=False, drop_dead=False, by=self.name)
        for what, n in result.rewrites.items():
            self.count(what, n)
