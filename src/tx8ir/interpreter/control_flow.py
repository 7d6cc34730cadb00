"""`Evaluate` for branches, conditionals, loops and fusions."""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.core import Model
from tx8ir.dialects import cf, pd, scf

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


@Evaluate.implement(pd.FusionOp)
class FusionEvaluate(Model[pd.FusionOp], Evaluate):
    """Runs the body, every operation of which rounds its result as it would outside."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        return (yield Enter(self.op.body.block, operands))
