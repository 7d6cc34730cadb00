"""`Evaluate` for the globals of a module, and for what control never comes to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tx8ir.core import Model
from tx8ir.core.attrs.builtin_types import array_type
from tx8ir.dialects import ml_program, ub
from tx8ir.dialects.arith import constants

from .arrays import EvaluationError, load
from .interfaces import Evaluate, Evaluator, Outcome, RuntimeValue


def _initial(op: ml_program.GlobalOp, evaluator: Evaluator) -> RuntimeValue:
    value = op.value
    array = None if value is None else constants.array_of(value)
    held = None if value is None else constants.type_of(value)
    kind = None if held is None else array_type(held)
    return None if array is None or kind is None else np.asarray(load(array, kind.element, evaluator.precision))


def _globals(evaluator: Evaluator) -> dict[str, RuntimeValue]:
    table = evaluator.globals
    if not table:
        ops = [op for op in evaluator.program.body if isinstance(op, ml_program.GlobalOp)]
        table.update((op.sym_name, _initial(op, evaluator)) for op in ops)
    return table


@Evaluate.implement(ml_program.GlobalLoadOp, ml_program.GlobalLoadConstOp)
class GlobalLoadEvaluate(Model["ml_program.GlobalLoadOp | ml_program.GlobalLoadConstOp"], Evaluate):
    """Reads a global."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Outcome:
        name = self.op.symbol.value
        held = _globals(evaluator).get(name)
        if held is None:
            raise EvaluationError(f"loads @{name}, which holds no numbers")
        return (held,)


@Evaluate.implement(ml_program.GlobalStoreOp)
class GlobalStoreEvaluate(Model[ml_program.GlobalStoreOp], Evaluate):
    """Writes a global."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Outcome:
        _globals(evaluator)[self.op.symbol.value] = operands[0]
        return ()


@Evaluate.implement(ub.UnreachableOp)
class UnreachableEvaluate(Model[ub.UnreachableOp], Evaluate):
    """Fails: the program promised that control does not come here."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Outcome:
        raise EvaluationError("is reached")
