"""`Evaluate` for the backend graph's groups and constants."""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.core import Model
from tx8ir.dialects import tx8be

from .arrays import EvaluationError, load
from .interfaces import Asking, Enter, Evaluate, Evaluator, Outcome, RuntimeValue


@Evaluate.implement(tx8be.ConstantOp, tx8be.LoadConstOp)
class ConstantEvaluate(Model["tx8be.ConstantOp | tx8be.LoadConstOp"], Evaluate):
    """Reads a variable of the program's store; the layout it is stored in does not change its value."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Outcome:
        name, type_ = self.op.parameter, tx8be.ranked(self.op.y, "result")
        weights = evaluator.program.weights
        if name not in weights:
            raise EvaluationError(f"reads variable {name!r}, which the program's weights do not have")
        variable = weights[name]
        if variable.type.to_vtensor() is not type_:
            raise EvaluationError(f"reads variable {name!r} as {type_}; it is {variable.type}")
        return (load(variable.numpy(), type_.element, evaluator.precision),)


@Evaluate.implement(tx8be.GroupOp)
class GroupEvaluate(Model[tx8be.GroupOp], Evaluate):
    """Evaluates the body inline."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        return (yield Enter(self.op.body.block, operands))
