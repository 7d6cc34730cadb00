"""Products of matrices, attention, determinants, and rows that are written or gathered."""

from __future__ import annotations

from typing import ClassVar

import attrs

from support.mutants.first.linear import wave
from support.mutants.mutant import Area, Case
from support.mutants.programs import bools, case, count, f32, ints, on_values, operations, ranked
from tx8ir.core import Builder, Program, i1
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Attr, Make, Match, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import constraint, equals, is_float, is_vtensor, rank

AREA = Area("linear", round=3)
a, b, c = (Var(name, rank(2), is_float, is_vtensor) for name in "abc")
plain = {"transpose_x": equals(False), "transpose_y": equals(False)}


@constraint("fewer products from the right")
def is_cheaper(match: Match) -> bool:
    (m, k), (_, n), (_, p) = (ranked(match[name]).shape for name in "abc")
    return min(m, k, n, p) >= 0 and k * n * p + m * k * p <= m * k * n + m * n * p


AREA.rules(
    "reassociate-products",
    Rule(
        "right",
        Node(pd.MatmulOp, Node(pd.MatmulOp, a, b, attributes=plain), c, attributes=plain),
        Make(pd.MatmulOp, a, Make(pd.MatmulOp, b, c)),
        where=[is_cheaper],
    ),
    citation="numpy/numpy#22953: BUG: Different results after using multi_dot vs functools.reduce",
    mistake="the product of the last two may overflow where that of the first two does not",
    guarantee=NumericGuarantee.ROUNDING,
    special_value=True,
    witness=lambda: case(
        lambda a, b, c: pd.matmul(pd.matmul(a, b), c),
        a=f32(1e-30).reshape(1, 1), b=f32(1e30).reshape(1, 1), c=f32(1e30).reshape(1, 1),
    ),
    control=lambda: case(
        lambda a, b, c: pd.matmul(pd.matmul(a, b), c), a=wave(2, 2), b=wave(2, 2), c=wave(2, 1)
    ),
)  # fmt: skip


def attention(with_mask: bool) -> Case:
    """Attention with a mask that is added, or without one."""
    given = {"q": wave(2, 4), "k": wave(3, 4), "v": wave(3, 2)}
    if with_mask:
        return case(
            lambda q, k, v, m: pd.scaled_dot_product_attention(q, k, v, m), **given, m=wave(2, 3)
        )  # fmt: skip
    return case(lambda q, k, v: pd.scaled_dot_product_attention(q, k, v), **given)


@AREA.mutant(
    citation="tenstorrent/tt-metal#42891: Fix SDPA mask scaling to match PyTorch semantics",
    mistake="the mask is added to the scores before they are scaled",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: attention(with_mask=True),
    control=lambda: attention(with_mask=False),
)
def write_out_attention(program: Program) -> None:
    """Attention as two products and a softmax."""
    for op in operations(program, pd.ScaledDotProductAttentionOp):
        mask = op.attn_mask
        if op.is_causal or op.nan_to_zero or (mask is not None and ranked(mask).element is i1):
            continue
        with Builder.before(op):
            scores = pd.matmul(op.query, op.key, transpose_y=True)
            masked = scores if mask is None else pd.add(scores, mask)
            weights = pd.softmax(pd.scale(masked, scale=op.factor))
            written = pd.matmul(weights, op.value)
        op.replace_with(written)


@AREA.mutant(
    citation="microsoft/onnxruntime#27129: Support boolean attention mask in Attention(23) CUDA (mask_filter_value)",
    mistake="the score of a hidden key is replaced by a number, to which it is added here",
    witness=lambda: case(
        lambda q, k, v, m: pd.scaled_dot_product_attention(q, k, v, m, masked_score=-1.0),
        q=wave(2, 4), k=count(3, 4), v=wave(3, 2), m=bools(1, 0, 1, 1, 1, 0).reshape(2, 3),
    ),
    control=lambda: case(
        lambda q, k, v, m: pd.scaled_dot_product_attention(q, k, v, m),
        q=wave(2, 4), k=count(3, 4), v=wave(3, 2), m=bools(1, 0, 1, 1, 1, 0).reshape(2, 3),
    ),
)  # fmt: skip
@attrs.frozen
class MaskToAddend(Pass):
    """Gives attention a mask that is added to the scores instead of one of truth values."""

    name: ClassVar[str] = "mask-to-addend"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.ScaledDotProductAttentionOp):
            mask = op.attn_mask
            if mask is None or ranked(mask).element is not i1 or op.is_causal or op.nan_to_zero:
                continue
            element = ranked(op.query).element
            with Builder.before(op):
                shown, hidden = (pd.full(shape=(), value=number, dtype=element) for number in (0.0, op.masked_score))
                addend = pd.where(mask, shown, hidden)
                added = pd.scaled_dot_product_attention(op.query, op.key, op.value, addend, scale=op.scale)
            op.replace_with(added)
            self.count("masks")


x, index, rows = (Var(name, is_vtensor) for name in ("x", "index", "rows"))

AREA.rules(
    "gather-of-scatter",
    Rule(
        "written",
        Node(
            pd.GatherOp,
            Node(pd.ScatterOp, x, index, rows, attributes={"reduce": equals("assign")}),
            index,
            attributes={"axis": equals(0)},
        ),
        rows,
    ),
    citation="tracel-ai/burn-onnx#487: Simplify ScatterElements reduction codegen (review: indices that repeat)",
    mistake="of rows that are written to one place the last one is found there",
    witness=lambda: case(
        lambda x, i, u: pd.gather(pd.scatter(x, i, u), i), x=count(3, 2), i=ints("int64", 1, 1), u=count(2, 2, start=7)
    ),
    control=lambda: case(
        lambda x, i, u: pd.gather(pd.scatter(x, i, u), i), x=count(3, 2), i=ints("int64", 2, 1), u=count(2, 2, start=7)
    ),
)

square = Var("square", is_float, is_vtensor)

AREA.rules(
    "factor-out-of-determinant",
    Rule(
        "det",
        Node(
            pd.DetOp,
            Node(pd.ScaleOp, square, attributes={"scale": Attr("factor"), "bias": equals(0.0)}),
        ),
        Make(pd.ScaleOp, Make(pd.DetOp, square), scale=Attr("factor")),
    ),
    citation="hendrycks/math#24: Some answers are incorrect (det(kA), with the square of k for any size)",
    mistake="the factor is one of each row",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x: pd.det(pd.scale(x, scale=3.0)), x=f32(1, 2, 3, 5).reshape(2, 2)),
    control=lambda: case(lambda x: pd.det(pd.scale(x, scale=3.0)), x=f32(5).reshape(1, 1)),
)


@pattern(pd.MatmulOp)
def scale_after_product(op: pd.MatmulOp, rewriter: Rewriter) -> bool:
    """Scales a product of matrices instead of its left side, when it is the smaller one"""
    scaled = op.x.defining_op
    if (
        not isinstance(scaled, pd.ScaleOp)
        or not on_values(op)
        or not ranked(op.out).element.is_float
        or not scaled.bias_after_scale
    ):
        return False
    product = pd.matmul(scaled.x, op.y, transpose_x=op.transpose_x, transpose_y=op.transpose_y)
    rewriter.replace(op, rewriter.insert(pd.scale(rewriter.insert(product), scale=scaled.scale, bias=scaled.bias)))
    return True


AREA.rules(
    "scale-after-product",
    scale_after_product,
    citation="microsoft/onnxscript#3027: Fold Gemm beta into the fused BatchNorm bias",
    mistake="the bias was multiplied with each column of the right side",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x, y: pd.matmul(pd.scale(x, bias=1.0), y), x=wave(2, 3), y=count(3, 2)),
    control=lambda: case(lambda x, y: pd.matmul(pd.scale(x, scale=2.0), y), x=wave(2, 3), y=count(3, 2)),
)
