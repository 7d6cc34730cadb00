"""Attention and what is made simpler around it, rows of a table, and products with ones."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from support.mutants.first.linear import wave
from support.mutants.mutant import Area
from support.mutants.programs import INF, case, constant, count, f32, ints, on_values, operations, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Builder, Program
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import Rewriter, pattern

AREA = Area("linear", round=4)


def attention(op: Any, query: Any, mask: Any, **changed: Any) -> Any:
    """Attention like `op`, of another query and mask."""
    names = ("scale", "is_causal", "masked_score", "nan_to_zero")
    given = {name: getattr(op, name) for name in names} | changed
    return pd.scaled_dot_product_attention(query, op.key, op.value, mask, **given)


@pattern(pd.ScaledDotProductAttentionOp)
def scale_into_attention(op: pd.ScaledDotProductAttentionOp, rewriter: Rewriter) -> bool:
    """Scales the scores instead of the queries"""
    scaled = op.query.defining_op
    if not isinstance(scaled, pd.ScaleOp) or scaled.bias != 0.0 or not on_values(scaled) or not on_values(op):
        return False
    if not 0.125 <= abs(scaled.scale) <= 8.0:
        return False
    factor = scaled.scale if op.scale is None else scaled.scale * op.scale
    rewriter.replace(op, rewriter.insert(attention(op, scaled.x, op.attn_mask, scale=factor)))
    return True


AREA.rules(
    "scale-into-attention",
    scale_into_attention,
    citation="pytorch/pytorch#195383: [inductor] Validate pattern-matcher matches by re-tracing (SDPA patterns)",
    mistake="without a scale the scores are divided by the root of the width, and not left as they are",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda q, k, v: pd.scaled_dot_product_attention(pd.scale(q, scale=2.0), k, v),
        q=wave(2, 4), k=wave(3, 4), v=wave(3, 2),
    ),
    control=lambda: case(
        lambda q, k, v: pd.scaled_dot_product_attention(pd.scale(q, scale=2.0), k, v, scale=0.5),
        q=wave(2, 4), k=wave(3, 4), v=wave(3, 2),
    ),
)  # fmt: skip


@AREA.mutant(
    citation="pytorch/pytorch#103963: `scaled_dot_product_attention` produces `nan`s with boolean `attn_mask`",
    mistake="minus infinity for all keys hides all of them, and does not leave the weights as they are",
    special_value=True,
    witness=lambda: case(
        lambda q, k, v: pd.scaled_dot_product_attention(q, k, v, constant([-INF])),
        q=wave(2, 4), k=wave(3, 4), v=wave(3, 2),
    ),
    control=lambda: case(
        lambda q, k, v: pd.scaled_dot_product_attention(q, k, v, constant([2.5])),
        q=wave(2, 4), k=wave(3, 4), v=wave(3, 2),
    ),
)  # fmt: skip
@attrs.frozen
class DropUniformMask(Pass):
    """Drops a mask that adds the same to all scores."""

    name: ClassVar[str] = "drop-uniform-mask"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.ScaledDotProductAttentionOp):
            mask = op.attn_mask
            if mask is None or op.is_causal or not on_values(op) or not ranked(mask).element.is_float:
                continue
            if splat_value(mask) is not None:
                with Builder.before(op):
                    plain = attention(op, op.query, None)
                if plain.out.type is op.out.type:
                    op.replace_with(plain)
                    self.count("masks")
                else:
                    plain.erase()


@AREA.mutant(
    citation="huggingface/optimum-graphcore#403: Add `padding_idx` to appropriate embedding split",
    mistake="the row of zeros is counted in the part of the table, and not in the whole",
    witness=lambda: case(
        lambda i, w: pd.embedding(i, pd.slice(w, axes=(0,), starts=(1,), ends=(4,)), padding_idx=0),
        i=ints("int64", 0, 1), w=count(5, 2),
    ),
    control=lambda: case(
        lambda i, w: pd.embedding(i, pd.slice(w, axes=(0,), starts=(1,), ends=(4,))),
        i=ints("int64", 0, 1), w=count(5, 2),
    ),
)  # fmt: skip
def look_up_in_whole_table(program: Program) -> None:
    """Looks rows up in a table instead of in a slice of it."""
    for op in operations(program, pd.EmbeddingOp):
        cut = op.weight.defining_op
        if not isinstance(cut, pd.SliceOp) or not on_values(op) or not ranked(cut.input).is_static:
            continue
        if cut.decrease_axis or [axis % 2 for axis in cut.axes] != [0] or ranked(op.x).element.dtype.itemsize < 4:
            continue
        first = range(ranked(cut.input).shape[0])[cut.starts[0] :].start
        with Builder.before(op):
            rows = pd.scale(op.x, bias=float(first))
            looked_up = pd.embedding(rows, cut.input, padding_idx=op.padding_idx)
        op.replace_with(looked_up)


@AREA.mutant(
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: flags that square shapes hide)",
    mistake="sums the rows of the left side, which are its columns when it is transposed",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x: pd.matmul(x, constant([[1, 1, 1], [1, 1, 1]]), transpose_x=True), x=f32(1, 2, 3, 5).reshape(2, 2)
    ),
    control=lambda: case(
        lambda x: pd.matmul(x, constant([[1, 1, 1], [1, 1, 1]])), x=f32(1, 2, 3, 5).reshape(2, 2)
    ),
)  # fmt: skip
def product_with_ones(program: Program) -> None:
    """A product with a matrix of ones sums rows."""
    for op in operations(program, pd.MatmulOp):
        kind, left = ranked(op.out), ranked(op.x)
        if splat_value(op.y) != 1.0 or not on_values(op) or left.rank != 2 or ranked(op.y).rank != 2:
            continue
        if kind.element.is_float and kind.is_static and left.is_static and left.shape[0] == kind.shape[0]:
            with Builder.before(op):
                sums = pd.expand(pd.sum(op.x, axis=(1,), keepdim=True), shape=kind.shape)
            op.replace_with(sums)


@AREA.mutant(
    citation="pytorch/pytorch#131060: Add a private _safe_softmax (what to do for NaN in the weights)",
    mistake="infinite scores give NaN, too, whether there is a mask or not",
    special_value=True,
    witness=lambda: case(
        lambda q, k, v: pd.scaled_dot_product_attention(q, k, v, nan_to_zero=True),
        q=f32(INF, 1).reshape(2, 1), k=count(2, 1), v=count(2, 2),
    ),
    control=lambda: case(
        lambda q, k, v: pd.scaled_dot_product_attention(q, k, v, nan_to_zero=True),
        q=f32(2, 1).reshape(2, 1), k=count(2, 1), v=count(2, 2),
    ),
)  # fmt: skip
@attrs.frozen
class DropNanToZero(Pass):
    """Nothing has to be replaced where no key is hidden."""

    name: ClassVar[str] = "drop-nan-to-zero"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.ScaledDotProductAttentionOp):
            if op.nan_to_zero and op.attn_mask is None and on_values(op) and ranked(op.key).shape[-2] > 0:
                with Builder.before(op):
                    plain = attention(op, op.query, None, nan_to_zero=False)
                op.replace_with(plain)
                self.count("attentions")
