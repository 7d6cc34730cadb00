"""Cases of single operations and small contexts of them, to be computed here and on other hardware.

case = random_case("Softmax", seed=3).init_data()
result = case.compile()                 # the interpreter's answers and the simulated chip's
save_case(case, result, "softmax-3")    # case.json, .bin files, the program as text and as C
"""

from __future__ import annotations

from .case import Case, CaseResult, fixed_cases, ops, random_case
from .configuration import Configuration, OperandConfig, Range
from .files import load_case, read_answer, save_case

__all__ = [
    "Case",
    "CaseResult",
    "Configuration",
    "OperandConfig",
    "Range",
    "fixed_cases",
    "load_case",
    "ops",
    "random_case",
    "read_answer",
    "save_case",
]
