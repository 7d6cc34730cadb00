"""`recognize-attention`: two products of matrices with a softmax between them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any, ClassVar, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.analysis.constants import read_constant, splat_value
from tx8ir.analysis.effects import mutable_parameters
from tx8ir.core import Operation, Program, RankedTensor, Value, detached, i1
from tx8ir.dialects import pd
from tx8ir.passes import register_pass
from tx8ir.rewriting import Rewriter
from tx8ir.rewriting.declarative import Attr, Match, Node, Number, OneOf, Pattern, Rule, Var
from tx8ir.rewriting.declarative.constraints import Constraint, constraint, element, equals
from tx8ir.target.formats import Format
from tx8ir.transforms.cleanup.dce import eliminate_dead_code

from .base import FUSIBLE, Recognizer

_SCALES: Final = ("query", "key", "scores")
"""What a scale may be multiplied with, as names of scales begin."""


def _shape(value: Value) -> tuple[int, ...]:
    assert isinstance(value.type, RankedTensor)
    return value.type.shape


# --- constraints


def _stretches(op: Operation) -> bool:
    return not any(v.type is op.results[0].type and splat_value(v) is None for v in op.operands)


_KEEPS_TYPE: Final = Constraint(
    "a factor that does not stretch", lambda op: not _stretches(op), lambda op: str(op.results[0].type)
)
_DIVISOR: Final = Constraint("a number other than 0", lambda number: number != 0)
_LAST_AXIS: Final = Constraint(
    "softmax over the last axis",
    lambda op: op.axis % op.x.type.rank == op.x.type.rank - 1,
    lambda op: f"axis {op.axis} of {op.x.type}",
)


def _perm(op: Operation) -> tuple[int, ...]:
    assert isinstance(op, pd.TransposeOp)
    return op.perm


def _swaps_matrices(op: Operation) -> bool:
    """Whether a transpose swaps the last two axes, and no others."""
    perm, rank = _perm(op), len(_perm(op))
    return rank >= 2 and tuple(a % rank for a in perm) == (*range(rank - 2), rank - 1, rank - 2)


def _keeps_matrices(op: Operation) -> bool:
    """Whether a reshape changes batch axes only."""
    before, after = _shape(op.operands[0]), _shape(op.results[0])
    return len(before) >= 2 and len(after) >= 2 and before[-2:] == after[-2:]


def _reshaped(op: Operation) -> str:
    return f"{list(_shape(op.operands[0]))} to {list(_shape(op.results[0]))}"


_KEEPS_MATRICES: Final = Constraint("a reshape of batch axes only", _keeps_matrices, _reshaped)
_SWAPS_MATRICES: Final = Constraint(
    "a transpose of the last two axes", _swaps_matrices, lambda op: f"perm {list(_perm(op))}"
)
_OF_MATRICES: Final = Constraint(
    "a transpose of two axes or more", lambda op: len(op.perm) >= 2, lambda op: f"perm {list(op.perm)}"
)


@constraint("matrices", lambda found: ", ".join(str(v.type) for v in found.ops["product"].operands))
def _matrices(found: Match) -> bool:
    """Vectors in a product lose their axis."""
    values = (*found.ops["product"].operands, found.root.operands[1])
    return all(len(_shape(value)) >= 2 for value in values)


@constraint(
    "a mask that does not stretch the scores",
    lambda found: f"{found.ops['softmax'].operands[0].type} of {found.ops['product'].results[0].type}",
)
def _scores_keep_type(found: Match) -> bool:
    return found.ops["softmax"].operands[0].type is found.ops["product"].results[0].type


# --- the pattern


def _scaled(x: Pattern, what: str) -> OneOf:
    """`x`, or a multiple of it."""
    return OneOf(
        Node(pd.MultiplyOp, x, Number(f"{what}_factor"), where=[_KEEPS_TYPE]),
        Node(pd.DivideOp, x, Number(f"{what}_divisor", _DIVISOR), where=[_KEEPS_TYPE]),
        Node(pd.ScaleOp, x, attributes={"scale": Attr(f"{what}_scale"), "bias": 0.0}),
        x,
    )


_key = Var("key")
_batch_restored = Node(
    pd.ReshapeOp,
    Node(pd.TransposeOp, Node(pd.ReshapeOp, _key, where=[_KEEPS_MATRICES]), where=[_SWAPS_MATRICES]),
    name="restored",
)
_transposed_key = OneOf(_batch_restored, Node(pd.TransposeOp, _key, name="transpose", where=[_OF_MATRICES]))
_query = _scaled(Var("query"), "query")
_product = OneOf(
    Node(
        pd.MatmulOp,
        _query,
        _scaled(_transposed_key, "key"),
        name="product",
        attributes={"transpose_x": False, "transpose_y": False},
    ),
    Node(
        pd.MatmulOp,
        _query,
        _scaled(_key, "key"),
        name="product",
        attributes={"transpose_x": False, "transpose_y": True},
    ),
)
_scores = _scaled(_product, "scores")
_masked = OneOf(
    Node(pd.WhereOp, Var("visible"), _scores, Number("masked_score")),
    Node(pd.WhereOp, Var("hidden"), Number("masked_score"), _scores),
    Node(pd.AddOp, _scores, Var("bias")),
    _scores,
)
_softmax = Node(pd.SoftmaxOp, _masked, name="softmax", where=[_LAST_AXIS])
_weights = OneOf(
    Node(pd.WhereOp, Node(pd.IsnanOp, _softmax, name="isnan"), Number("", equals(0.0)), _softmax),
    _softmax,
)


@constraint("batch axes put back as they were", lambda found: _reshaped(found.ops["restored"]))
def _restores_batch(found: Match) -> bool:
    if "restored" not in found.ops:
        return True
    *batch, rows, columns = _shape(found["key"])
    return _shape(found.ops["restored"].results[0]) == (*batch, columns, rows)


# --- the operation


def _factors(found: Match) -> Iterator[float]:
    for what in _SCALES:
        yield found.constants.get(f"{what}_factor", 1.0) / found.constants.get(f"{what}_divisor", 1.0)
        yield found.attributes.get(f"{what}_scale", 1.0)


def _scale(found: Match) -> float:
    """The product of all scales."""
    return math.prod(_factors(found))


@constraint("a product of scales inside the format", lambda found: f"{_scale(found)}")
def _scale_fits(found: Match) -> bool:
    """Where two scales overflow together, a score of 0 would become NaN; where they vanish, all scores would be 0."""
    kind = found["query"].type
    if not isinstance(kind, RankedTensor):
        return False
    format, scale = kind.element.format, abs(_scale(found))
    return format.smallest_normal <= scale <= format.limits[1] or 0.0 in _factors(found)


def _untransposed_key(found: Match, rewriter: Rewriter) -> Value:
    """The key, its last two axes as they were: what was transposed, or transposed in another way."""
    if "transpose" not in found.ops:
        return found["key"]
    perm = list(_perm(found.ops["transpose"]))
    perm[-2:] = perm[:-3:-1]
    rank = len(perm)
    if [axis % rank for axis in perm] == list(range(rank)):
        return found["key"]
    return rewriter.insert(pd.TransposeOp(found["key"], perm=tuple(perm))).out


def _mask(found: Match, rewriter: Rewriter) -> Value | None:
    """The mask as the operation takes it."""
    for name in ("visible", "bias"):
        if name in found.values:
            return found[name]
    if "hidden" not in found.values:
        return None
    negation = found["hidden"].defining_op
    if isinstance(negation, pd.LogicalNotOp) and element(i1).holds(negation.x):
        return negation.x
    return rewriter.insert(pd.LogicalNotOp(found["hidden"])).out


def _attention(found: Match, rewriter: Rewriter) -> Operation:
    attributes: dict[str, Any] = {"scale": _scale(found), "nan_to_zero": "isnan" in found.ops}
    if "masked_score" in found.constants:
        attributes["masked_score"] = float(found.constants["masked_score"])
    return pd.ScaledDotProductAttentionOp(
        found["query"],
        _untransposed_key(found, rewriter),
        found.root.operands[1],
        attn_mask=_mask(found, rewriter),
        **attributes,
    )


attention: Final = Rule(
    "attention",
    Node(pd.MatmulOp, _weights, Var("value"), attributes={"transpose_x": False, "transpose_y": False}),
    _attention,
    where=[_matrices, _restores_batch, _scores_keep_type, _scale_fits, *FUSIBLE],
    doc="softmax(scale * query · key^T, masked) · value → scaled_dot_product_attention(query, key, value)",
)


# --- causal masks


def _causal_score(mask: NDArray[Any], format: Format, scores: tuple[int, ...]) -> float | None:
    """The score of hidden keys when a mask of i1, or one that is added, hides key j of query i for j > i; else None."""
    if mask.shape[-2:] != scores:
        return None
    visible = np.broadcast_to(np.tri(*scores, dtype=np.bool_), mask.shape)
    if mask.dtype == np.bool_:
        return -math.inf if np.array_equal(mask, visible) else None
    hidden = mask[~visible].astype(np.float64)
    if np.any(mask[visible] != 0) or hidden.size == 0 or np.any(hidden != hidden[0]):
        return None
    # Added to any other score, it leaves a weight of 0.
    return float(hidden[0]) if hidden[0] <= format.limits[0] / 2 else None


def _without_causal_mask(
    op: pd.ScaledDotProductAttentionOp, program: Program, mutable: Collection[str]
) -> pd.ScaledDotProductAttentionOp | None:
    """The operation with `is_causal` in the place of a mask that says the same."""
    if op.attn_mask is None or op.is_causal:
        return None
    mask = read_constant(op.attn_mask, program, mutable)
    kind = op.attn_mask.type
    if mask is None or mask.ndim < 2 or not isinstance(kind, RankedTensor):
        return None
    score = _causal_score(mask, kind.element.format, (_shape(op.query)[-2], _shape(op.key)[-2]))
    if score is None:
        return None
    return pd.ScaledDotProductAttentionOp(
        op.query,
        op.key,
        op.value,
        scale=op.scale,
        is_causal=True,
        masked_score=op.masked_score if mask.dtype == np.bool_ else score,
        nan_to_zero=op.nan_to_zero,
    )


@register_pass
@attrs.frozen
class RecognizeAttention(Recognizer):
    """Rewrites `softmax(scale * query · keyᵀ, masked) · value` to `pd.scaled_dot_product_attention`.

    Heads are batch axes. The key is transposed by the product (`transpose_y`), by a `pd.transpose` with whatever else
    it permutes, or between two reshapes that merge batch axes, as `torch.onnx` writes it. Scales (a factor, a divisor
    or `pd.scale`) are on the query, the transposed key, the scores, or several of these. A mask is added, or chooses
    between the scores and a number; one that is constant and hides later keys becomes `is_causal`. Weights that are NaN
    may be replaced by 0, as PyTorch's safe softmax does for queries that attend to nothing. After Vaswani et al.,
    arXiv:1706.03762, and the exports of PyTorch.

    Run `recognize-softmax` before, and `constant-fold` after: a mask that says what is hidden is negated. Not
    recognised: a mask applied under other batch axes than the product's, casts around the softmax, vectors.

    Assumes: nothing. Fires on vtensors of one block, where no inner value is used elsewhere, and no factor or mask
    stretches what it is applied to.
    Guarantees: equal up to rounding; infinities and NaN stay where they are, except those of scores that overflowed
    before they were scaled, or in a short format, and of scores that a causal mask hides, which do not count any more.
    No such group is left. Idempotent. On the TX8 the scales become one, of the query unless it is more than 1.
    Cost: O(operations + elements of constant masks). Statistics: `attention`, and `causal` masks.
    """

    name: ClassVar[str] = "recognize-attention"
    rules: ClassVar[tuple[Rule, ...]] = (attention,)

    def run_on(self, root: Operation, program: Program) -> None:
        super().run_on(root, program)
        mutable = mutable_parameters(program)
        attentions = [op for op in root.walk() if isinstance(op, pd.ScaledDotProductAttentionOp)]
        causal = 0
        for op in attentions:
            rewriter = Rewriter(op, self.name)
            with detached():
                made = _without_causal_mask(op, program, mutable)
            if made is not None:
                location = op.location
                rewriter.replace(op, made)
                rewriter.settle(location, "causal")
                causal += 1
        if causal:
            self.count("causal", causal)
            eliminate_dead_code(root, by=self.name)
