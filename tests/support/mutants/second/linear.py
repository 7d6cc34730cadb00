"""Products of matrices that are transposed, dropped, merged or widened, and the causal mask."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from support.mutants.first.linear import wave
from support.mutants.mutant import Area
from support.mutants.programs import INF, case, constant, f32, ints, operations, ranked
from tx8ir.core import Builder, DenseAttr, Program, i8, i32
from tx8ir.dialects import builtin, pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Attr, Make, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import element

AREA = Area("linear", round=2)


@pattern(pd.TransposeOp)
def transpose_of_product(op: pd.TransposeOp, rewriter: Rewriter) -> bool:
    """(X y)^T -> y^T x^T"""
    inner = op.x.defining_op
    if not isinstance(inner, pd.MatmulOp) or op.perm not in ((1, 0), (-1, 0), (-1, -2), (1, -2)):
        return False
    left, right = ranked(inner.x).shape, ranked(inner.y).shape
    if len(left) != 2 or len(right) != 2 or left[1] != right[0]:
        return False
    turned = pd.matmul(inner.y, inner.x, transpose_x=True, transpose_y=True)
    if turned.out.type is not op.out.type:
        turned.erase()
        return False
    rewriter.replace(op, rewriter.insert(turned))
    return True


AREA.rules(
    "transpose-of-product",
    transpose_of_product,
    citation="PaddlePaddle/CINN#773: Add support for the transpose_folding_output pass (review: invert lhs_trans)",
    mistake="sets the flags where it must invert them: square matrices may be transposed already",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x, y: pd.transpose(pd.matmul(x, y, transpose_y=True), perm=(1, 0)), x=wave(2, 2), y=wave(2, 2, start=9)
    ),
    control=lambda: case(lambda x, y: pd.transpose(pd.matmul(x, y), perm=(1, 0)), x=wave(2, 3), y=wave(3, 4, start=9)),
)


@pattern(pd.MatmulOp)
def product_with_identity(op: pd.MatmulOp, rewriter: Rewriter) -> bool:
    """X I -> x"""
    given = op.y.defining_op
    if not isinstance(given, builtin.ConstantOp) or op.transpose_x or op.x.type is not op.out.type:
        return False
    matrix = given.value.value
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.array_equal(matrix, np.eye(len(matrix))):
        return False
    rewriter.replace(op, op.x)
    return True


AREA.rules(
    "product-with-identity",
    product_with_identity,
    citation="tinygrad/tinygrad#7340: test uop mul min/max do not have nan in 0*inf",
    mistake="an infinity times the zeros beside the diagonal is NaN",
    guarantee=NumericGuarantee.VALUES,
    special_value=True,
    witness=lambda: case(
        lambda x: pd.matmul(x, constant(np.eye(2, dtype=np.float32))), x=f32(1, 2, INF, 4).reshape(2, 2)
    ),
    control=lambda: case(
        lambda x: pd.matmul(x, constant(np.eye(2, dtype=np.float32))), x=f32(1, 2, -3, 4).reshape(2, 2)
    ),
)


@AREA.mutant(
    citation="apache/tvm#8527: [TOPI] Add transpose_a/b & dynamic shape support for batch matmul (review: attributes)",
    mistake="compares the shapes of the right sides, and takes the flags of the first product for both",
    witness=lambda: case(
        lambda x, a, b: [pd.matmul(x, a), pd.matmul(x, b, transpose_y=True)],
        x=wave(2, 2), a=wave(2, 2, start=9), b=wave(2, 2, start=20),
    ),
    control=lambda: case(
        lambda x, a, b: [pd.matmul(x, a), pd.matmul(x, b)],
        x=wave(2, 2), a=wave(2, 3, start=9), b=wave(2, 3, start=20),
    ),
)  # fmt: skip
@attrs.frozen
class MergeParallelProducts(Pass):
    """Two products with one left side are one product with both right sides."""

    name: ClassVar[str] = "merge-parallel-products"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        waiting: dict[object, pd.MatmulOp] = {}
        for op in operations(program, pd.MatmulOp):
            if ranked(op.y).rank != 2 or ranked(op.x).rank < 2 or op.transpose_x or op.y.defining_op is not None:
                continue
            key = (op.parent, op.x, op.y.type)
            first = waiting.pop(key, None)
            if first is None:
                waiting[key] = op
                continue
            if first.out.type is not op.out.type:
                continue
            columns = ranked(first.out).shape[-1]
            with Builder.before(first):
                both = pd.concat([first.y, op.y], axis=0 if first.transpose_y else 1)
                product = pd.matmul(first.x, both, transpose_y=first.transpose_y)
                parts = pd.split(product, sections=(columns, columns), axis=-1)
            first.replace_with(parts.outs[0])
            op.replace_with(parts.outs[1])
            self.count("merged")


@pattern(pd.ScaledDotProductAttentionOp)
def causal_flag_to_mask(op: pd.ScaledDotProductAttentionOp, rewriter: Rewriter) -> bool:
    """Writes out the mask of causal attention"""
    queries, keys = ranked(op.query).shape[-2], ranked(op.key).shape[-2]
    if not op.is_causal or op.attn_mask is not None or min(queries, keys) < 1:
        return False
    visible = np.tri(queries, keys, k=keys - queries, dtype=np.bool_)
    mask = rewriter.insert(builtin.ConstantOp(value=DenseAttr(visible)))
    masked = pd.scaled_dot_product_attention(
        op.query, op.key, op.value, mask, scale=op.scale, masked_score=op.masked_score, nan_to_zero=op.nan_to_zero
    )
    rewriter.replace(op, rewriter.insert(masked))
    return True


AREA.rules(
    "causal-flag-to-mask",
    causal_flag_to_mask,
    citation="ml-explore/mlx#2835: Result of scaled_dot_product_attention does not match PyTorch when S_Q != S_KV",
    mistake="lets the last query see the last key; the operation lets the first see the first",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda q, k, v: pd.scaled_dot_product_attention(q, k, v, is_causal=True),
        q=wave(2, 4), k=wave(3, 4, start=20), v=wave(3, 2, start=30),
    ),
    control=lambda: case(
        lambda q, k, v: pd.scaled_dot_product_attention(q, k, v, is_causal=True),
        q=wave(3, 4), k=wave(3, 4, start=20), v=wave(3, 2, start=30),
    ),
)  # fmt: skip

narrow = Var("x", element(i8)), Var("y", element(i8))

AREA.rules(
    "product-before-widening",
    Rule(
        "cast-after",
        Node(
            pd.MatmulOp,
            Node(pd.CastOp, narrow[0], attributes={"dtype": i32}),
            Node(pd.CastOp, narrow[1], attributes={"dtype": i32}),
            attributes={"transpose_x": Attr("tx"), "transpose_y": Attr("ty")},
        ),
        Make(
            pd.CastOp, Make(pd.MatmulOp, *narrow, transpose_x=Attr("tx"), transpose_y=Attr("ty")), dtype=i32
        ),
    ),
    citation="triton-lang/triton#2296: INT8 overflow on matmul",
    mistake="the sum of the products wraps in the format of the operands",
    special_value=True,
    witness=lambda: case(
        lambda x, y: pd.matmul(pd.cast(x, dtype=i32), pd.cast(y, dtype=i32)),
        x=ints("int8", 100, 2).reshape(1, 2), y=ints("int8", 100, 3).reshape(2, 1),
    ),
    control=lambda: case(
        lambda x, y: pd.matmul(pd.cast(x, dtype=i32), pd.cast(y, dtype=i32)),
        x=ints("int8", 5, 2).reshape(1, 2), y=ints("int8", -6, 3).reshape(2, 1),
    ),
)  # fmt: skip
