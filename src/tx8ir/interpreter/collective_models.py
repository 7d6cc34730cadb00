"""`Evaluate` for what replicas do together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from tx8ir.core import Model, RankedTensor
from tx8ir.dialects import ccl

from .arrays import EvaluationError, round_result
from .interfaces import Asking, Evaluate, Evaluator, Meet, Outcome, RuntimeValue
from .storage import array_of


@Evaluate.implement(ccl.AllReduceOp, ccl.AllGatherOp, ccl.AllToAllOp, ccl.ReduceScatterOp, ccl.CollectivePermuteOp)
class CollectiveEvaluate(
    Model["ccl.AllReduceOp | ccl.AllGatherOp | ccl.AllToAllOp | ccl.ReduceScatterOp | ccl.CollectivePermuteOp"],
    Evaluate,
):
    """Waits for the group, and takes from what it brings."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        op, x = self.op, array_of(operands[0])
        group = op.group_of(evaluator.replica)
        if group is None and isinstance(op, ccl.CollectivePermuteOp):
            return (np.zeros_like(x),)
        if group is None:
            raise EvaluationError(f"is evaluated by replica {evaluator.replica}, which is in none of its groups")
        parts = [array_of(part) for part in (yield Meet(op, group, x))]
        shapes = {part.shape for part in parts}
        if len(shapes) > 1:
            raise EvaluationError(f"gets tensors of the shapes {sorted(map(list, shapes))}; expected one shape")
        element = cast(RankedTensor, op.out.type).element
        found = op.exchange(parts, group.index(evaluator.replica))
        return (np.asarray(round_result(found, element, evaluator.precision), order="C"),)


@Evaluate.implement(ccl.ReplicaIdOp)
class ReplicaIdEvaluate(Model[ccl.ReplicaIdOp], Evaluate):
    """The number of the evaluation."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Outcome:
        return (np.asarray(evaluator.replica, np.uint32),)
