"""`canonicalize-reductions`: every reduction becomes one of the rows or the columns of a matrix."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from tx8ir.core import Operation, Program, Value
from tx8ir.dialects import pd
from tx8ir.dialects.pd.reduce import ReductionOp
from tx8ir.passes import NumericGuarantee, OperationPass, register_pass
from tx8ir.rewriting import RewritePattern, Rewriter, rewrite_greedily
from tx8ir.transforms.cleanup.patterns.shape import static_value


class Form(enum.Enum):
    """What a reduction is of, once axes of extent 1 are left out."""

    ROWS = "rows"
    COLUMNS = "columns"
    ALL = "all"
    OTHERS = "others"


def form_of(op: ReductionOp) -> Form | None:
    """The form of a reduction that is not canonical yet; None for one that is, or that has no canonical form."""
    source = static_value(op.x)
    if source is None or (source.rank == 2 and op.axis in ((0,), (1,)) and not op.keepdim):
        return None
    long_axes = [axis for axis, extent in enumerate(source.shape) if extent != 1]
    reduced = [axis for axis in long_axes if axis in op.axes]
    if len(reduced) == len(long_axes):
        return Form.ALL
    if reduced == long_axes[len(long_axes) - len(reduced) :]:
        return Form.ROWS
    return Form.COLUMNS if reduced == long_axes[: len(reduced)] else Form.OTHERS


class ReductionPattern(RewritePattern[ReductionOp]):
    """A reduction of one form → a reduction over axis 0 or 1 of a matrix, between reshapes."""

    roots = (ReductionOp,)

    def __init__(self, form: Form) -> None:
        self.form = form
        self.name = f"reduction_of_{form.value}"

    def match_and_rewrite(self, op: ReductionOp, rewriter: Rewriter) -> bool:
        if form_of(op) is not self.form:
            return False
        result = static_value(op.out)
        assert result is not None  # its operand is static and has elements
        matrix, axis = self._matrix(op, rewriter)
        kind = static_value(matrix)
        assert kind is not None  # a matrix with elements
        made = rewriter.insert(
            op.__class__.create(
                [matrix],
                [result.with_shape((kind.shape[1 - axis],))],
                {**op.attributes, "axis": (axis,), "keepdim": False},
            )
        )
        rewriter.replace(op, _reshaped(made.results[0], result.shape, rewriter))
        return True

    def _matrix(self, op: ReductionOp, rewriter: Rewriter) -> tuple[Value, int]:
        """The operand as a matrix, and the axis to reduce."""
        source = static_value(op.x)
        assert source is not None  # form_of
        shape, axes = source.shape, op.axes
        kept = tuple(axis for axis in range(len(shape)) if axis not in axes)
        reduced, rest = math.prod(shape[axis] for axis in axes), math.prod(shape[axis] for axis in kept)
        value = op.x
        by_rows = self.form is not Form.COLUMNS
        if self.form is Form.OTHERS:  # the last axis stays where it is, so that rows move whole
            by_rows = max(axis for axis, extent in enumerate(shape) if extent != 1) in axes
            perm = kept + axes if by_rows else axes + kept
            value = rewriter.insert(pd.TransposeOp(value, perm=perm)).out
        if by_rows:
            return _reshaped(value, (rest, reduced), rewriter), 1
        return _reshaped(value, (reduced, rest), rewriter), 0


def _reshaped(value: Value, shape: tuple[int, ...], rewriter: Rewriter) -> Value:
    kind = static_value(value)
    assert kind is not None  # callers have asked
    return value if kind.shape == shape else rewriter.insert(pd.ReshapeOp(value, shape=shape)).out


PATTERNS = tuple(map(ReductionPattern, Form))


@register_pass
@attrs.frozen
class CanonicalizeReductions(OperationPass):
    """Writes every `pd.sum`, `mean`, `max` and `min` as a reduction over one axis of a matrix, between reshapes.

    Reducing the last axes reduces rows (axis 1), reducing the first ones columns (axis 0), reducing all of them the
    only row of a matrix of one; axes of extent 1 count as either. For any other set of axes the operand is transposed
    first, so that the last axis stays where it is: columns when it is kept, rows when it is reduced. A code generator
    then needs two reductions. (The TX8 reduces some inner axes of an image as they are; its compiler therefore runs
    without this pass.)

    Assumes: nothing; fires on vtensors of static shape with elements. Guarantees: each such reduction has an operand of
    rank 2, `axis` [0] or [1], and no `keepdim`. Sums and means may be taken in another order; a maximum keeps its
    value, though which of two zeros it is may change. Idempotent. Cost: O(operations); a transpose moves the operand
    once. From BladeDISC's DhloCanonicalizeReduction. Statistics: `reduction_of_rows`, `reduction_of_columns`,
    `reduction_of_all`, `reduction_of_others` (those with a transpose).
    """

    name: ClassVar[str] = "canonicalize-reductions"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def patterns(self) -> Sequence[RewritePattern[Any]]:
        return PATTERNS

    def run_on(self, root: Operation, program: Program) -> None:
        result = rewrite_greedily(root, PATTERNS, fold=False, drop_dead=False, by=self.name)
        for what, n in result.rewrites.items():
            self.count(what, n)
