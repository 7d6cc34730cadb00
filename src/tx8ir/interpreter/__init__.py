"""The reference evaluator: any program, through the `Compute` of its operations, in NumPy.

`evaluate(program, inputs)` runs `main`, `evaluate_replicas` several replicas of it in lockstep; `Interpreter` does so
repeatedly and can be watched; `evaluate_operation` runs one operation. `Evaluate`, `Enter` and `Meet` let operations
with regions, calls, effects or partners take part.
"""

from __future__ import annotations

# These attach Evaluate to operations.
from . import backend_models as backend_models
from . import collective_models as collective_models
from . import control_flow as control_flow
from . import global_models as global_models
from . import linalg_models as linalg_models
from . import models as models
from . import tensor_models as tensor_models
from .arrays import EvaluationError
from .evaluator import Computer, Interpreter, Observer, evaluate, evaluate_operation, run_startup
from .interfaces import Asking, Enter, Evaluate, Evaluator, Jump, Meet, Outcome, Precision, RuntimeValue
from .replicas import evaluate_replicas
from .storage import Storage as Storage
from .storage import TensorRef as TensorRef

__all__ = [
    "Asking",
    "Computer",
    "Enter",
    "Evaluate",
    "EvaluationError",
    "Evaluator",
    "Interpreter",
    "Jump",
    "Meet",
    "Observer",
    "Outcome",
    "Precision",
    "RuntimeValue",
    "evaluate",
    "evaluate_operation",
    "evaluate_replicas",
    "run_startup",
]
