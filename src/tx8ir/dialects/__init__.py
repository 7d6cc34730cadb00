"""The shipped dialects. Each is imported when it is first used, by name in a text or as `tx8ir.dialects.pd`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tx8ir.core.context import default_context
from tx8ir.support.lazy_names import lazy_names
from tx8ir.support.registration import register_lazily

if TYPE_CHECKING:
    from . import arith, builtin, ccl, cf, func, index, linalg, math, ml_program, pd, scf, tensor, tx8, tx8be, ub

__all__ = [
    "arith", "builtin", "ccl", "cf", "func", "index", "linalg", "math", "ml_program", "pd", "scf", "tensor", "tx8",
    "tx8be", "ub",
]  # fmt: skip

_KEYWORDS = {"builtin": {"module": "builtin.module"}, "func": {"call": "func.call", "return": "func.return"}}

for _name in __all__:
    default_context().register_lazily(_name, f"{__name__}.{_name}", _KEYWORDS.get(_name))

# Values of tensor types are lent their operators and methods by `pd`.
register_lazily("value class", f"{__name__}.pd")

if not TYPE_CHECKING:  # to whom a `__getattr__` says that there is every name
    __getattr__, __dir__ = lazy_names(__name__, modules=__all__)
