"""`Evaluate` for branches, conditionals, loops and fusions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from tx8ir.core import Model
from tx8ir.dialects import cf, pd, scf

from .arrays import EvaluationError
from .interfaces import Asking, Enter, Evaluate, Evaluator, Jump, Outcome, RuntimeValue
from .storage import array_of


def _holds(condition: RuntimeValue) -> bool:
    return bool(array_of(condition).item())


@Evaluate.implement(cf.BranchOp)
class BranchEvaluate(Model[cf.BranchOp], Evaluate):
    """Goes on in the only successor."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Outcome:
        return Jump(self.op.dest, operands)


@Evaluate.implement(cf.CondBranchOp)
class CondBranchEvaluate(Model[cf.CondBranchOp], Evaluate):
    """Goes on in the first or the second successor."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Outcome:
        condition, *given = operands
        count = len(self.op.true_operands)
        if _holds(condition):
            return Jump(self.op.true_dest, given[:count])
        return Jump(self.op.false_dest, given[count:])


@Evaluate.implement(scf.IfOp)
class IfEvaluate(Model[scf.IfOp], Evaluate):
    """Runs one of the regions; an else region without a block does nothing."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        region = self.op.then_region if _holds(operands[0]) else self.op.else_region
        return (yield Enter(region.block, ())) if len(region) else ()


@Evaluate.implement(scf.WhileOp)
class WhileEvaluate(Model[scf.WhileOp], Evaluate):
    """Runs both regions in turn until the condition fails."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        before, after = self.op.before.block, self.op.after.block
        carried = operands
        while True:
            condition, *passed = yield Enter(before, carried)
            if not _holds(condition):
                return passed
            carried = yield Enter(after, passed)


def _numbers(lower: int, upper: int, step: int) -> range:
    if step < 1:
        raise EvaluationError(f"counts by {step}; expected 1 or more")
    return range(lower, upper, step)


def _integer(value: RuntimeValue) -> int:
    return int(array_of(value).item())


@Evaluate.implement(scf.ForOp)
class ForEvaluate(Model[scf.ForOp], Evaluate):
    """Runs the body for each number."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        dtype = array_of(operands[0]).dtype
        carried = operands[3:]
        for number in _numbers(*map(_integer, operands[:3])):
            carried = yield Enter(self.op.body.block, [np.asarray(number, dtype), *carried])
        return carried


@Evaluate.implement(scf.ParallelOp)
class ParallelEvaluate(Model[scf.ParallelOp], Evaluate):
    """Runs the body for each place in row-major order, and after each the reductions."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        op = self.op
        rank = len(op.lower)
        bounds = [_integer(v) for v in operands[: 3 * rank]]
        ranges = [_numbers(*bounds[axis::rank]) for axis in range(rank)]
        reduced = list(operands[3 * rank :])
        end = op.end()
        for place in itertools.product(*ranges):
            given = yield Enter(op.body.block, [np.asarray(n, np.int64) for n in place])
            for number, value in enumerate(given):
                assert end is not None  # it gave the values
                (reduced[number],) = yield Enter(end.regions[number].block, [reduced[number], value])
        return reduced


@Evaluate.implement(scf.IndexSwitchOp)
class IndexSwitchEvaluate(Model[scf.IndexSwitchOp], Evaluate):
    """Runs the region of a case, or the default one."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        return (yield Enter(self.op.region_for(_integer(operands[0])).block, ()))


@Evaluate.implement(scf.ExecuteRegionOp)
class ExecuteRegionEvaluate(Model[scf.ExecuteRegionOp], Evaluate):
    """Runs the region."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        return (yield Enter(self.op.body.block, ()))


@Evaluate.implement(pd.FusionOp)
class FusionEvaluate(Model[pd.FusionOp], Evaluate):
    """Runs the body, every operation of which rounds its result as it would outside."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        return (yield Enter(self.op.body.block, operands))
