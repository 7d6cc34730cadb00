"""Normalisations and softmax that are recognised, written out, or given a weight."""

from __future__ import annotations

from support.mutants.first.linear import wave
from support.mutants.mutant import Area
from support.mutants.programs import INF, case, count, f32, ranked
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Attr, Make, Match, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import constraint, equals, is_float

AREA = Area("norms", round=2)
x = Var("x", is_float)


def last(match: Match) -> int:
    """The last axis of x."""
    return ranked(match["x"]).rank - 1


@constraint("the last axis")
def over_last_axis(match: Match) -> bool:
    return bool(match.attributes["axis"]) and [a % (last(match) + 1) for a in match.attributes["axis"]] == [last(match)]


centred = Node(
    pd.SubtractOp, x, Node(pd.MeanOp, x, attributes={"axis": Attr("axis"), "keepdim": equals(True)}), name="centred"
)
shifted = {"scale": equals(1.0), "bias": Attr("epsilon"), "bias_after_scale": equals(True)}

AREA.rules(
    "recognize-centred-norm",
    Rule(
        "layer-norm",
        Node(
            pd.DivideOp,
            centred,
            Node(
                pd.SqrtOp,
                Node(
                    pd.ScaleOp,
                    Node(pd.MeanOp, Node(pd.SquareOp, centred), attributes={"keepdim": equals(True)}),
                    attributes=shifted,
                ),
            ),
        ),
        Make(pd.LayerNormOp, x, epsilon=Attr("epsilon"), begin_norm_axis=last),
        where=[over_last_axis],
    ),
    citation="microsoft/onnxruntime#15844: layer_norm_fix (more checks on ReduceMean axes)",
    mistake="looks at the axis of the mean, and not at that of the variance",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x: pd.divide(
            d := pd.subtract(x, pd.mean(x, axis=(1,), keepdim=True)),
            pd.sqrt(pd.scale(pd.mean(pd.square(d), axis=(0, 1), keepdim=True), bias=1e-5)),
        ),
        x=wave(2, 3),
    ),
    control=lambda: case(
        lambda x: pd.divide(
            d := pd.subtract(x, pd.mean(x, axis=(1,), keepdim=True)),
            pd.sqrt(pd.scale(pd.mean(pd.square(d), axis=(1,), keepdim=True), bias=1e-5)),
        ),
        x=wave(2, 3),
    ),
)

power = Node(pd.ExpOp, x, name="power")

AREA.rules(
    "recognize-softmax-along-axis",
    Rule(
        "softmax",
        Node(
            pd.DivideOp,
            power,
            Node(pd.SumOp, power, attributes={"axis": Attr("axis"), "keepdim": equals(True), "dtype": equals(None)}),
        ),
        Make(pd.SoftmaxOp, x, axis=lambda m: m.attributes["axis"][0]),
        where=[constraint("axes that are named")(lambda m: bool(m.attributes["axis"]))],
    ),
    citation="uTensor/uTensor#171: Fix SoftmaxOp (summed all elements rather than along one axis)",
    mistake="the sum may be over more axes than the first of its list",
    guarantee=NumericGuarantee.NO_NANS,
    witness=lambda: case(
        lambda x: pd.divide(p := pd.exp(x), pd.sum(p, axis=(1, 0), keepdim=True)), x=wave(2, 3)
    ),
    control=lambda: case(lambda x: pd.divide(p := pd.exp(x), pd.sum(p, axis=(1,), keepdim=True)), x=wave(2, 3)),
)  # fmt: skip

AREA.rules(
    "recognize-rms-norm",
    Rule(
        "rms-norm",
        Node(
            pd.DivideOp,
            x,
            Node(
                pd.ScaleOp,
                Node(
                    pd.SqrtOp,
                    Node(
                        pd.MeanOp, Node(pd.SquareOp, x), attributes={"axis": Attr("axis"), "keepdim": equals(True)}
                    ),
                ),
                attributes=shifted,
            ),
        ),
        Make(pd.RmsNormOp, x, epsilon=Attr("epsilon"), begin_norm_axis=last),
        where=[over_last_axis],
    ),
    citation="NVIDIA/TransformerEngine#364: Fix for the RMSNorm tests/doc/ONNX export (epsilon inside the root)",
    mistake="epsilon is added to the root, and in the operation under it",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x: pd.divide(
            x, pd.scale(pd.sqrt(pd.mean(pd.square(x), axis=(1,), keepdim=True)), bias=0.25)
        ),
        x=wave(2, 3),
    ),
    control=lambda: case(
        lambda x: pd.divide(x, pd.scale(pd.sqrt(pd.mean(pd.square(x), axis=(1,), keepdim=True)), bias=0.0)),
        x=wave(2, 3),
    ),
)  # fmt: skip


@pattern(pd.LayerNormOp)
def write_out_layer_norm(op: pd.LayerNormOp, rewriter: Rewriter) -> bool:
    """Layer normalisation, as reductions and arithmetic"""
    if op.scale is not None or op.bias is not None:
        return False
    axes = (ranked(op.x).rank - 1,)
    mean = rewriter.insert(pd.mean(op.x, axis=axes, keepdim=True))
    difference = rewriter.insert(pd.subtract(op.x, mean))
    variance = rewriter.insert(pd.mean(rewriter.insert(pd.square(difference)), axis=axes, keepdim=True))
    root = rewriter.insert(pd.sqrt(rewriter.insert(pd.scale(variance, bias=op.epsilon))))
    rewriter.replace(op, rewriter.insert(pd.divide(difference, root)))
    return True


AREA.rules(
    "write-out-layer-norm",
    write_out_layer_norm,
    citation="onnxruntime/onnxruntime-qnn#167: [QNN EP] Add LayerNorm Fusion node group pattern (review: axes)",
    mistake="normalises the last axis alone, also where the operation begins before it",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x: pd.layer_norm(x, begin_norm_axis=1), x=wave(2, 2, 3)),
    control=lambda: case(lambda x: pd.layer_norm(x, begin_norm_axis=-1), x=wave(2, 2, 3)),
)


@pattern(pd.SoftmaxOp)
def softmax_of_one(op: pd.SoftmaxOp, rewriter: Rewriter) -> bool:
    """A softmax along an axis of one element is 1"""
    kind = ranked(op.x)
    if not kind.is_static or kind.shape[op.axis] != 1:
        return False
    rewriter.replace(op, rewriter.insert(pd.full(shape=kind.shape, value=1.0, dtype=kind.element)))
    return True


AREA.rules(
    "softmax-of-one-element",
    softmax_of_one,
    citation="Theano/Theano#5634: Warn if taking softmax over broadcastable dimension",
    mistake="an infinity less itself is NaN",
    special_value=True,
    witness=lambda: case(lambda x: pd.softmax(x, axis=1), x=f32(1, -INF).reshape(2, 1)),
    control=lambda: case(lambda x: pd.softmax(x, axis=1), x=f32(1, -2).reshape(2, 1)),
)


@pattern(pd.MultiplyOp)
def weight_into_layer_norm(op: pd.MultiplyOp, rewriter: Rewriter) -> bool:
    """Gives a layer normalisation the weight that it is multiplied with"""
    inner, weight = op.x.defining_op, op.y
    if not isinstance(inner, pd.LayerNormOp) or inner.scale is not None or inner.bias is not None:
        return False
    if weight.parent_block is not inner.parent or weight.defining_op is not None or op.out.type is not inner.out.type:
        return False
    if ranked(weight).shape != ranked(inner.x).shape[inner.begin_norm_axis % ranked(inner.x).rank :]:
        return False
    weighted = pd.layer_norm(inner.x, weight, epsilon=inner.epsilon, begin_norm_axis=inner.begin_norm_axis)
    rewriter.insert_before(weighted, inner)
    rewriter.replace(op, weighted)
    rewriter.replace(inner, weighted)
    return True


AREA.rules(
    "weight-into-layer-norm",
    weight_into_layer_norm,
    citation="PaddlePaddle/Paddle#43089: [inference]fix bug of scale_matmul_fuse (its output has other consumers)",
    mistake="other users of the normalisation get it with the weight, too",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x, w: [pd.multiply(n := pd.layer_norm(x), w), pd.relu(n)], x=wave(2, 3), w=count(3)
    ),
    control=lambda: case(lambda x, w: pd.multiply(pd.layer_norm(x), w), x=wave(2, 3), w=count(3)),
)  # fmt: skip
