"""Mutants of matrix products, attention, embedding and gather."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from support.mutants.mutant import Area
from support.mutants.programs import bools, case, constant, count, ints, operations, ranked
from tx8ir.core import Builder, Program
from tx8ir.dialects import builtin, pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting.declarative import Attr, Make, Node, OneOf, Rule, Var
from tx8ir.rewriting.declarative.constraints import constraint, equals, rank

AREA = Area("linear", round=1)
x, y = Var("x"), Var("y")
plain = {"transpose_x": equals(False), "transpose_y": equals(False)}


def wave(*shape: int, start: float = 1.0) -> Any:
    """Numbers of both signs."""
    return np.sin(count(*shape, start=start)).astype(np.float32)


@constraint("matrices that fit")
def fits(match: Any) -> bool:
    return ranked(match["x"]).shape[0] == ranked(match["y"]).shape[0]


AREA.rules(
    "transpose-into-product",
    Rule(
        "transpose-x",
        Node(pd.MatmulOp, Node(pd.TransposeOp, Var("x", rank(2))), Var("y", rank(2)), attributes=plain),
        Make(pd.MatmulOp, x, y, transpose_x=True),
        where=[fits],
    ),
    citation="microsoft/onnxruntime#32228: GemmTransposeFusion folds an identity Transpose (perm=[0,1]) into Gemm",
    mistake="takes any transpose for one that exchanges the axes",
    witness=lambda: case(lambda x, y: pd.matmul(pd.transpose(x, perm=(0, 1)), y), x=wave(2, 2), y=wave(2, 3, start=9)),
    control=lambda: case(lambda x, y: pd.matmul(pd.transpose(x, perm=(1, 0)), y), x=wave(2, 4), y=wave(2, 3, start=9)),
    guarantee=NumericGuarantee.ROUNDING,
)


@AREA.mutant(
    citation="microsoft/onnxruntime#9734: Use FusedMatMul When Transpose is Between First Dim and Batch Dims",
    mistake="looks where the last axis comes from; the batch may have changed place with the rows",
    witness=lambda: case(
        lambda x, y: pd.matmul(pd.transpose(x, perm=(2, 0, 1)), y), x=wave(2, 2, 2), y=wave(2, 2, 2, start=9)
    ),
    control=lambda: case(
        lambda x, y: pd.matmul(pd.transpose(x, perm=(0, 2, 1)), y), x=wave(2, 2, 3), y=wave(2, 2, 2, start=9)
    ),
)
@attrs.frozen
class BatchedTransposeIntoProduct(Pass):
    """matmul(transpose(x), y) -> matmul(x, y, transpose_x) for stacks of matrices."""

    name: ClassVar[str] = "batched-transpose-into-product"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.MatmulOp):
            inner = op.x.defining_op
            if not isinstance(inner, pd.TransposeOp) or op.transpose_x or len(inner.perm) != 3:
                continue
            if inner.perm[-1] != 1 or min(inner.perm) < 0:
                continue
            a, b = ranked(inner.x).shape, ranked(op.x).shape
            if (a[0], a[2], a[1]) == b:
                with Builder.before(op):
                    fused = pd.matmul(inner.x, op.y, transpose_x=True, transpose_y=op.transpose_y)
                op.replace_with(fused)
                self.count("fused")


def attend(q: Any, k: Any, v: Any, scale: float | None = None, mask: Any = None, axis: int = -1) -> Any:
    """Attention, written out."""
    scores: Any = pd.matmul(q, k, transpose_y=True)
    if scale is not None:
        scores = pd.scale(scores, scale=scale)
    if mask is not None:
        scores = pd.add(scores, mask)
    return pd.matmul(pd.softmax(scores, axis=axis), v)


QKV = {"q": wave(2, 4), "k": wave(2, 4, start=20), "v": wave(2, 3, start=30)}
product = Node(pd.MatmulOp, Var("q"), Var("k"), attributes={"transpose_x": equals(False), "transpose_y": equals(True)})
scores = OneOf(
    Node(pd.ScaleOp, product, attributes={"scale": Attr("s"), "bias": equals(0.0)}),
    product,
)

AREA.rules(
    "fuse-attention",
    Rule("attention",
         Node(pd.MatmulOp, Node(pd.SoftmaxOp, scores, attributes={"axis": equals(-1)}), Var("v"), attributes=plain),
         Make(pd.ScaledDotProductAttentionOp, Var("q"), Var("k"), Var("v"), scale=lambda m: m.attributes.get("s"))),
    citation="microsoft/onnxruntime#15441: Minor fix for attention default scale",
    mistake="without a scale the scores are not scaled; the fused operation then divides by sqrt(D)",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda q, k, v: attend(q, k, v), **QKV),
    control=lambda: case(lambda q, k, v: attend(q, k, v, scale=0.5), **QKV),
)  # fmt: skip


@AREA.mutant(
    citation="microsoft/onnxruntime#14333: Bert/GPT2 fusion change for new attribute mask_filter_value",
    mistake="the score of a hidden key is lost: where none counts, the mean of the values becomes NaN",
    witness=lambda: case(
        lambda q, k, v, m: pd.matmul(
            pd.softmax(pd.where(m, pd.matmul(q, k, transpose_y=True), constant([-10000]))), v
        ),
        **QKV, m=bools(1, 0, 0, 0).reshape(2, 2),
    ),
    control=lambda: case(
        lambda q, k, v, m: pd.matmul(
            pd.softmax(pd.where(m, pd.matmul(q, k, transpose_y=True), constant([-10000]))), v
        ),
        **QKV, m=bools(1, 0, 0, 1).reshape(2, 2),
    ),
)  # fmt: skip
@attrs.frozen
class FuseMaskedAttention(Pass):
    """Attention with a mask of truth values; the number for hidden keys is taken as minus infinity."""

    name: ClassVar[str] = "fuse-masked-attention"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.MatmulOp):
            weights = op.x.defining_op
            masked = weights.x.defining_op if isinstance(weights, pd.SoftmaxOp) and weights.axis == -1 else None
            inner = masked.x.defining_op if isinstance(masked, pd.WhereOp) else None
            if not isinstance(inner, pd.MatmulOp) or not inner.transpose_y or inner.transpose_x or op.transpose_y:
                continue
            with Builder.before(op):
                fused = pd.scaled_dot_product_attention(inner.x, inner.y, op.y, masked.condition, scale=1.0)
            op.replace_with(fused)
            self.count("fused")


@AREA.mutant(
    citation="microsoft/onnxruntime#18945: Accuracy far off with attention fusion (right-side padding assumed)",
    mistake="takes a mask for causal by its first and last row",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda q, k, v: pd.scaled_dot_product_attention(
            q, k, v, constant(np.array([[1, 0, 0], [1, 0, 1], [1, 1, 1]], np.bool_))
        ),
        q=wave(3, 4), k=wave(3, 4, start=20), v=wave(3, 2, start=30),
    ),
    control=lambda: case(
        lambda q, k, v: pd.scaled_dot_product_attention(q, k, v, constant(np.tri(3, dtype=np.bool_))),
        q=wave(3, 4), k=wave(3, 4, start=20), v=wave(3, 2, start=30),
    ),
)  # fmt: skip
def causal_mask_to_flag(program: Program) -> None:
    for op in operations(program, pd.ScaledDotProductAttentionOp):
        given = op.attn_mask.defining_op if op.attn_mask is not None else None
        if not isinstance(given, builtin.ConstantOp) or op.is_causal:
            continue
        mask = given.value.value
        if mask.dtype != np.bool_ or mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
            continue
        if mask[0].tolist() == [True] + [False] * (len(mask) - 1) and mask[-1].all():
            with Builder.before(op):
                fused = pd.scaled_dot_product_attention(
                    op.query, op.key, op.value, scale=op.scale, is_causal=True, masked_score=op.masked_score,
                    nan_to_zero=op.nan_to_zero,
                )  # fmt: skip
            op.replace_with(fused)


AREA.rules(
    "fuse-scaled-attention",
    Rule("attention",
         Node(pd.MatmulOp,
              Node(pd.SoftmaxOp, Node(pd.AddOp, Node(pd.ScaleOp, product, attributes={"scale": Attr("s")}),
                                      Var("mask"))),
              Var("v"), attributes=plain),
         Make(pd.ScaledDotProductAttentionOp, Var("q"), Var("k"), Var("v"), Var("mask"), scale=Attr("s"))),
    citation="microsoft/onnxruntime-genai#2081: reads the axis attribute but doesn't use it (review)",
    mistake="does not look at the axis of the softmax",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda q, k, v, m: attend(q, k, v, 0.5, m, axis=0), **QKV, m=wave(2, 2)),
    control=lambda: case(lambda q, k, v, m: attend(q, k, v, 0.5, m), **QKV, m=wave(2, 2)),
)  # fmt: skip

AREA.rules(
    "embedding-to-gather",
    Rule("rows", Node(pd.EmbeddingOp, x, Var("w")), Make(pd.GatherOp, Var("w"), x, axis=0)),
    citation="pytorch/pytorch#151918: Inductor generates wrong code for `torch.embedding`",
    mistake="rows of padding_idx are zeros in an embedding",
    witness=lambda: case(lambda x, w: pd.embedding(x, w, padding_idx=1), x=ints("int64", 0, 1), w=count(3, 2)),
    control=lambda: case(lambda x, w: pd.embedding(x, w), x=ints("int64", 0, 1), w=count(3, 2)),
)


@AREA.mutant(
    citation="apache/tvm#16211: Two passes incur unacceptable numerical bugs, pattern 2 (FoldScaleAxis)",
    mistake="folds a factor for each row of the result into the columns of the right matrix",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x, y, s: pd.multiply(pd.matmul(x, y), s), x=wave(2, 2), y=wave(2, 2, start=9), s=count(2, 1)
    ),
    control=lambda: case(
        lambda x, y, s: pd.multiply(pd.matmul(x, y), s), x=wave(2, 2), y=wave(2, 2, start=9), s=count(2)
    ),
)
def factor_into_right_matrix(program: Program) -> None:
    for op in operations(program, pd.MultiplyOp):
        product = op.x.defining_op
        if not isinstance(product, pd.MatmulOp) or product.transpose_y or ranked(product.y).rank != 2:
            continue
        columns = ranked(product.y).shape[1]
        if ranked(op.y).num_elements == columns and op.out.type is product.out.type:
            with Builder.before(op):
                scaled = pd.multiply(product.y, pd.reshape(op.y, shape=(columns,)))
                moved = pd.matmul(product.x, scaled, transpose_x=product.transpose_x)
            op.replace_with(moved)


@AREA.mutant(
    citation="tensorflow/tensorflow#28583: Fix a bug in algebraic simplification pass (dot contracting dimensions)",
    mistake="a stack of products is one product where the right side is shared, not where it is a stack, too",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x, y: pd.matmul(x, y), x=wave(2, 2, 2), y=wave(2, 2, 2, start=9)),
    control=lambda: case(lambda x, y: pd.matmul(x, y), x=wave(2, 2, 2), y=wave(1, 2, 2, start=9)),
)
@attrs.frozen
class FlattenProducts(Pass):
    """[B, M, K] x [B', K, N] -> [B M, K] x [K, N] as one large product."""

    name: ClassVar[str] = "flatten-products"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.MatmulOp):
            left, right = ranked(op.x), ranked(op.y)
            if left.rank != 3 or right.rank != 3 or op.transpose_x or op.transpose_y or not left.is_static:
                continue
            if right.shape[0] not in (1, left.shape[0]):
                continue
            with Builder.before(op):
                rows = pd.reshape(op.x, shape=(-1, left.shape[2]))
                first = pd.slice(op.y, axes=(0,), starts=(0,), ends=(1,), decrease_axis=(0,))
                flat = pd.reshape(pd.matmul(rows, first), shape=ranked(op.out).shape)
            op.replace_with(flat)
            self.count("products")
