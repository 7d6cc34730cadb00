"""The reference evaluator: any program, through the `Compute` of its operations, in NumPy.

`evaluate(program, inputs)` runs `main`; `Interpreter` does so repeatedly and can be watched; `evaluate_operation` runs
one operation. `Evaluate` and `Enter` let operations with regions, calls or effects take part.
"""

from __future__ import annotations

from . import models as models  # attaches Evaluate to the operations of builtin, func and pd
from .arrays import EvaluationError
from .evaluator import Interpreter, Observer, evaluate, evaluate_operation
from .interfaces import Enter, Evaluate, Evaluator, Outcome, Precision, RuntimeValue

__all__ = [
    "Enter",
    "Evaluate",
    "EvaluationError",
    "Evaluator",
    "Interpreter",
    "Observer",
    "Outcome",
    "Precision",
    "RuntimeValue",
    "evaluate",
    "evaluate_operation",
]
