"""`Evaluate` for the backend graph's groups, schedules and constants."""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.core import Model
from tx8ir.dialects import tx8be

from .interfaces import Asking, Enter, Evaluate, Evaluator, Outcome, RuntimeValue
from .models import read_variable


@Evaluate.implement(tx8be.ConstantOp, tx8be.LoadConstOp)
class ConstantEvaluate(Model["tx8be.ConstantOp | tx8be.LoadConstOp"], Evaluate):
    """Reads a variable of the program's store; the layout it is stored in does not change its value."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Outcome:
        return (read_variable(evaluator, self.op.parameter, self.op.y.type),)


@Evaluate.implement(tx8be.GroupOp)
class GroupEvaluate(Model[tx8be.GroupOp], Evaluate):
    """Evaluates the body inline."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        return (yield Enter(self.op.body.block, operands))


@Evaluate.implement(tx8be.ScheduleOp)
class ScheduleEvaluate(Model[tx8be.ScheduleOp], Evaluate):
    """A schedule says when the ops of its group run, and gives no values."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Outcome:
        return ()
