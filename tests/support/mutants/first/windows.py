"""Mutants of convolution and pooling: paddings, divisors, groups, filter layouts, what is fused into them."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from support.mutants.mutant import Area
from support.mutants.programs import Array, case, count, f32, operations, ranked
from tx8ir.core import Builder, Program
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Attr, Make, Match, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import constraint, equals

AREA = Area("windows", round=1)
x = Var("x")


def wave(*shape: int) -> Array:
    """Numbers of both signs."""
    return np.sin(count(*shape)).astype(np.float32)


def spatial_frame(op: pd.PadOp) -> tuple[int, int, int, int] | None:
    """Top, bottom, left and right of a frame of an NCHW image; None when batch or channels have one, too."""
    pads = op.paddings
    return None if len(pads) != 8 or any(pads[:4]) else (pads[4], pads[5], pads[6], pads[7])


def with_attributes(op: Any, source: Any, **changed: Any) -> Any:
    """A pooling like `op`, of `source`."""
    names = ("kernel_size", "strides", "paddings", "ceil_mode", "exclusive", "data_format", "pooling_type",
             "global_pooling", "adaptive", "padding_algorithm")  # fmt: skip
    return pd.pool2d(source, **{name: getattr(op, name) for name in names} | changed)


@pattern(pd.Pool2dOp)
def pad_into_average_pool(op: pd.Pool2dOp, rewriter: Rewriter) -> bool:
    """avg_pool(pad(x, 0)) -> avg_pool(x) with paddings"""
    inner = op.x.defining_op
    if not isinstance(inner, pd.PadOp) or inner.pad_value != 0 or op.pooling_type != "avg" or op.data_format != "NCHW":
        return False
    frame = spatial_frame(inner)
    if frame is None or op.adaptive or op.global_pooling or op.ceil_mode or op.padding_algorithm != "EXPLICIT":
        return False
    pads = tuple(a + b for a, b in zip(op.pads, frame, strict=True))
    rewriter.replace(op, rewriter.insert(with_attributes(op, inner.x, paddings=pads)))
    return True


AREA.rules(
    "pad-into-average-pool",
    pad_into_average_pool,
    citation="onnx/optimizer#108: fix fuse_pad_into_pool for AveragePool (count_include_pad should set to 1)",
    mistake="an exclusive average does not count the cells of the padding",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x: pd.pool2d(
            pd.pad(x, paddings=(0, 0, 0, 0, 1, 0, 0, 0)), kernel_size=(2, 2), strides=(2, 2), pooling_type="avg"
        ),
        x=count(1, 1, 3, 2),
    ),
    control=lambda: case(
        lambda x: pd.pool2d(
            pd.pad(x, paddings=(0, 0, 0, 0, 1, 0, 0, 0)), kernel_size=(2, 2), strides=(2, 2), pooling_type="avg",
            exclusive=False,
        ),
        x=count(1, 1, 3, 2),
    ),
)  # fmt: skip


@AREA.mutant(
    citation='onnx/optimizer#269: The pass "fuse_pad_into_pool" causes output mismatch',
    mistake="padding never wins a maximum; the zeros of the frame do, where all cells are negative",
    witness=lambda: case(
        lambda x: pd.pool2d(
            pd.pad(x, paddings=(0, 0, 0, 0, 1, 0, 0, 0)), kernel_size=(2, 2), strides=(2, 2), pooling_type="max"
        ),
        x=-count(1, 1, 3, 2),
    ),
    control=lambda: case(
        lambda x: pd.pool2d(
            pd.pad(x, paddings=(0, 0, 0, 0, 1, 0, 0, 0)), kernel_size=(2, 2), strides=(2, 2), pooling_type="max"
        ),
        x=count(1, 1, 3, 2),
    ),
)
@attrs.frozen
class PadIntoMaxPool(Pass):
    """max_pool(pad(x, 0)) -> max_pool(x) with paddings."""

    name: ClassVar[str] = "pad-into-max-pool"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.Pool2dOp):
            inner = op.x.defining_op
            if not isinstance(inner, pd.PadOp) or op.pooling_type != "max" or op.data_format != "NCHW":
                continue
            frame = spatial_frame(inner)
            if frame is None or inner.pad_value != 0 or op.adaptive or op.global_pooling or op.ceil_mode:
                continue
            if op.padding_algorithm == "EXPLICIT" and not any(op.pads):
                with Builder.before(op):
                    fused = with_attributes(op, inner.x, paddings=frame)
                op.replace_with(fused)
                self.count("fused")


@AREA.mutant(
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: order of padding attributes)",
    mistake="reads (top, bottom, left, right) as (top, left, bottom, right); often not even the size tells",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x, w: pd.conv2d(pd.pad(x, paddings=(0, 0, 0, 0, 1, 0, 0, 1)), w),
        x=wave(1, 1, 3, 3), w=wave(1, 1, 2, 2),
    ),
    control=lambda: case(
        lambda x, w: pd.conv2d(pd.pad(x, paddings=(0, 0, 0, 0, 1, 1, 1, 1)), w),
        x=wave(1, 1, 3, 3), w=wave(1, 1, 2, 2),
    ),
)  # fmt: skip
def pad_into_convolution(program: Program) -> None:
    for op in operations(program, pd.Conv2dOp):
        inner = op.input.defining_op
        if not isinstance(inner, pd.PadOp) or inner.pad_value != 0 or op.data_format != "NCHW" or op.bias is not None:
            continue
        frame = spatial_frame(inner)
        if frame is None or op.padding_algorithm != "EXPLICIT":
            continue
        top, left, bottom, right = np.add(np.take(op.pads, [0, 2, 1, 3]), (frame[2], frame[0], frame[3], frame[1]))
        with Builder.before(op):
            fused = pd.conv2d(
                inner.x, op.filter, strides=op.strides, dilations=op.dilations, groups=op.groups,
                filter_format=op.filter_format, paddings=(int(top), int(bottom), int(left), int(right)),
            )  # fmt: skip
        if fused.out.type is op.out.type:
            op.replace_with(fused)
        else:
            fused.erase()


@AREA.mutant(
    citation="microsoft/onnxruntime#29629: Fix CPU AvgPool ceil_mode + count_include_pad wrong average",
    mistake="cells that only ceil_mode adds are not in the padded image, and not in the divisor",
    witness=lambda: case(
        lambda x: pd.pool2d(x, kernel_size=(2, 2), strides=(2, 2), pooling_type="avg", ceil_mode=True, exclusive=False),
        x=count(1, 1, 3, 4),
    ),
    control=lambda: case(
        lambda x: pd.pool2d(x, kernel_size=(2, 2), strides=(2, 2), pooling_type="max", ceil_mode=True),
        x=count(1, 1, 3, 4),
    ),
)
@attrs.frozen
class CeilModeToPadding(Pass):
    """Pads the image for the windows that hang over its end, for kernels without ceil_mode."""

    name: ClassVar[str] = "ceil-mode-to-padding"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.Pool2dOp):
            if not op.ceil_mode or op.adaptive or op.global_pooling or op.padding_algorithm != "EXPLICIT":
                continue
            first = 2 if op.data_format == "NCHW" else 1
            pads = list(op.pads)
            for axis in range(2):
                extent, windows = ranked(op.x).shape[first + axis], ranked(op.out).shape[first + axis]
                reach = (windows - 1) * op.strides[axis] + op.kernel_size[axis]
                pads[2 * axis + 1] = max(pads[2 * axis + 1], reach - extent - pads[2 * axis])
            with Builder.before(op):
                padded = with_attributes(op, op.x, paddings=tuple(pads), ceil_mode=False)
            op.replace_with(padded)
            self.count("pools")


@AREA.mutant(
    citation="PaddlePaddle/Paddle#51542: pool2d with ceil_mode=True gives wrong results in some cases",
    mistake="a window of the size of the image need not lie on it: it begins in the padding",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x: pd.pool2d(x, kernel_size=(2, 2), strides=(3, 3), paddings=(1, 0, 0, 0), pooling_type="avg"),
        x=count(1, 1, 2, 2),
    ),
    control=lambda: case(
        lambda x: pd.pool2d(x, kernel_size=(2, 2), strides=(3, 3), pooling_type="avg", exclusive=False),
        x=count(1, 1, 2, 2),
    ),
)
def pool_of_image_size_to_global(program: Program) -> None:
    for op in operations(program, pd.Pool2dOp):
        first = 2 if op.data_format == "NCHW" else 1
        if op.adaptive or op.global_pooling or ranked(op.out).shape[first : first + 2] != (1, 1):
            continue
        if op.kernel_size == ranked(op.x).shape[first : first + 2]:
            with Builder.before(op):
                whole = with_attributes(op, op.x, global_pooling=True)
            op.replace_with(whole)


@AREA.mutant(
    citation="ultralytics/ultralytics#25364: Fix fuse_deconv_and_bn scaling the wrong weight axis",
    mistake="scales the first axis of the filter, which has the outputs in one of its two layouts only",
    witness=lambda: case(
        lambda x, w, m, v, s, b: pd.batch_norm(pd.conv2d(x, w, filter_format="HWOI"), m, v, s, b),
        x=wave(1, 1, 3, 3), w=wave(2, 2, 2, 1), m=f32(0, 1), v=f32(1, 4), s=f32(3, 1), b=f32(0, 2),
    ),
    control=lambda: case(
        lambda x, w, m, v, s, b: pd.batch_norm(pd.conv2d(x, w), m, v, s, b),
        x=wave(1, 1, 3, 3), w=wave(2, 1, 2, 2), m=f32(0, 1), v=f32(1, 4), s=f32(3, 1), b=f32(0, 2),
    ),
)  # fmt: skip
@attrs.frozen
class FoldNormIntoFilter(Pass):
    """batch_norm(conv2d(x, w)) -> conv2d(x, w * factor) + shift."""

    name: ClassVar[str] = "fold-norm-into-filter"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.BatchNormOp):
            conv = op.x.defining_op
            if not isinstance(conv, pd.Conv2dOp) or conv.bias is not None or not conv.out.has_one_use:
                continue
            if op.scale is None or op.bias is None or op.data_format != conv.data_format:
                continue
            outputs, shape = conv.filter_shape[0], ranked(conv.filter).shape
            if shape[0] not in (1, outputs):
                continue
            with Builder.before(op):
                factor = pd.multiply(pd.rsqrt(pd.scale(op.variance, bias=op.epsilon)), op.scale)
                scaled = pd.multiply(conv.filter, pd.reshape(factor, shape=(outputs, 1, 1, 1)))
                shift = pd.subtract(op.bias, pd.multiply(op.mean, factor))
                fused = pd.conv2d(
                    conv.input, scaled, shift, strides=conv.strides, paddings=conv.paddings, dilations=conv.dilations,
                    padding_algorithm=conv.padding_algorithm, groups=conv.groups, data_format=conv.data_format,
                    filter_format=conv.filter_format,
                )  # fmt: skip
            op.replace_with(fused)
            self.count("folded")


AREA.rules(
    "add-into-convolution-bias",
    Rule(
        "bias",
        Node(pd.AddOp, Node(pd.Conv2dOp, x, Var("w"), attributes={
            "strides": Attr("strides"), "paddings": Attr("paddings"), "dilations": Attr("dilations"),
            "groups": Attr("groups"), "padding_algorithm": equals("EXPLICIT"), "data_format": equals("NCHW"),
            "filter_format": equals("OIHW")}), Var("c")),
        Make(pd.Conv2dOp, x, Var("w"),
             Make(pd.ReshapeOp, Var("c"), shape=lambda m: (ranked(m["w"]).shape[0],)),
             strides=Attr("strides"), paddings=Attr("paddings"), dilations=Attr("dilations"), groups=Attr("groups")),
        where=[constraint("one number for each output")(
            lambda m: ranked(m["c"]).is_static and ranked(m["c"]).num_elements == ranked(m["w"]).shape[0])],
    ),
    citation="PaddlePaddle/Paddle#64412: [PIR][oneDNN] Fix conv_bias_fuse_pass (multi-dimension bias)",
    mistake="counts the elements, and does not ask along which axis they lie",
    witness=lambda: case(
        lambda x, w, c: pd.add(pd.conv2d(x, w), c), x=wave(1, 1, 2, 2), w=wave(2, 1, 1, 1), c=count(1, 1, 1, 2)
    ),
    control=lambda: case(
        lambda x, w, c: pd.add(pd.conv2d(x, w), c), x=wave(1, 1, 2, 2), w=wave(2, 1, 1, 1), c=count(1, 2, 1, 1)
    ),
)  # fmt: skip


@AREA.mutant(
    citation="microsoft/onnxruntime#28814: Fix XNNPACK Clip/Relu fusion when the producer output has other consumers",
    mistake="other users of the convolution get its result after the activation, too",
    witness=lambda: case(
        lambda x, w: [pd.relu(c := pd.conv2d(x, w)), pd.abs(c)], x=wave(1, 1, 3, 3), w=wave(1, 1, 2, 2)
    ),
    control=lambda: case(lambda x, w: pd.relu(pd.conv2d(x, w)), x=wave(1, 1, 3, 3), w=wave(1, 1, 2, 2)),
)
def fuse_relu_into_convolution(program: Program) -> None:
    for op in operations(program, pd.ReluOp):
        conv = op.x.defining_op
        if not isinstance(conv, pd.Conv2dOp) or conv.bias is not None:
            continue
        with Builder.before(conv):
            fused = pd.fused_conv2d_add_act(
                conv.input, conv.filter, strides=conv.strides, paddings=conv.paddings, dilations=conv.dilations,
                padding_algorithm=conv.padding_algorithm, groups=conv.groups, data_format=conv.data_format,
                filter_format=conv.filter_format,
            )  # fmt: skip
        op.replace_with(fused)
        conv.replace_with(fused)


@constraint("a pooling of windows")
def windowed(match: Match) -> bool:
    return not match.ops["pool"].attributes["global_pooling"].value


AREA.rules(
    "relu-after-pool",
    Rule("swap", Node(pd.Pool2dOp, Node(pd.ReluOp, x), name="pool"),
         lambda m, rewriter: rewriter.insert(pd.relu(rewriter.insert(with_attributes(m.ops["pool"], m["x"])))),
         where=[windowed]),
    citation="microsoft/onnxruntime#28543: `MaxPool + Relu` fanout fusion (AveragePool takes the same path)",
    mistake="commutes with the maximum of a window, not with its mean",
    witness=lambda: case(
        lambda x: pd.pool2d(pd.relu(x), kernel_size=(2, 2), pooling_type="avg"), x=f32(1, -3, 2, -1).reshape(1, 1, 2, 2)
    ),
    control=lambda: case(
        lambda x: pd.pool2d(pd.relu(x), kernel_size=(2, 2), pooling_type="max"), x=f32(1, -3, 2, -1).reshape(1, 1, 2, 2)
    ),
)  # fmt: skip


@AREA.mutant(
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: divisibility checked along one axis of two)",
    mistake="asks whether the height divides, and not the width",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x: pd.pool2d(x, kernel_size=(2, 2), pooling_type="avg", adaptive=True), x=count(1, 1, 4, 5)
    ),
    control=lambda: case(
        lambda x: pd.pool2d(x, kernel_size=(2, 2), pooling_type="avg", adaptive=True), x=count(1, 1, 4, 6)
    ),
)
@attrs.frozen
class AdaptiveToWindows(Pass):
    """Adaptive pooling with windows of one size is ordinary pooling."""

    name: ClassVar[str] = "adaptive-to-windows"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.Pool2dOp):
            if not op.adaptive or op.global_pooling or op.data_format != "NCHW":
                continue
            height, width = ranked(op.x).shape[2:]
            rows, columns = op.kernel_size
            if height % rows == 0 and width >= columns:
                size = (height // rows, width // columns)
                with Builder.before(op):
                    plain = with_attributes(op, op.x, adaptive=False, kernel_size=size, strides=size, paddings=(0, 0))
                if plain.out.type is op.out.type:
                    op.replace_with(plain)
                    self.count("pools")
                else:
                    plain.erase()


@AREA.mutant(
    citation="PaddlePaddle/Paddle#61167: [Inference Pir] Fix conv2d bn fuse pass diff",
    mistake="the bias that the convolution already has is not scaled",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x, w, c, s: pd.multiply(pd.conv2d(x, w, c), s),
        x=wave(1, 1, 2, 2), w=wave(2, 1, 1, 1), c=f32(1, 2), s=count(1, 2, 1, 1, start=3),
    ),
    control=lambda: case(
        lambda x, w, s: pd.multiply(pd.conv2d(x, w), s),
        x=wave(1, 1, 2, 2), w=wave(2, 1, 1, 1), s=count(1, 2, 1, 1, start=3),
    ),
)  # fmt: skip
def scale_into_filter(program: Program) -> None:
    """conv2d(x, w) * s -> conv2d(x, w * s) for a factor for each channel."""
    for op in operations(program, pd.MultiplyOp):
        conv = op.x.defining_op
        if not isinstance(conv, pd.Conv2dOp) or conv.data_format != "NCHW" or conv.filter_format != "OIHW":
            continue
        outputs = conv.filter_shape[0]
        if ranked(op.y).shape not in ((outputs, 1, 1), (1, outputs, 1, 1)) or not conv.out.has_one_use:
            continue
        with Builder.before(op):
            scaled = pd.multiply(conv.filter, pd.reshape(op.y, shape=(outputs, 1, 1, 1)))
            moved = pd.conv2d(
                conv.input, scaled, conv.bias, strides=conv.strides, paddings=conv.paddings, dilations=conv.dilations,
                padding_algorithm=conv.padding_algorithm, groups=conv.groups,
            )  # fmt: skip
        op.replace_with(moved)
