"""The dialects that texts of JAX are in: `stablehlo`, `chlo`, and of `sdy` what says how a program is split.

Assembly formats are those of StableHLO (stablehlo/dialect/StablehloOps.td); where a format is code there, it is code
here. Attributes in a notation of their own (`#stablehlo.dot<…>`) stay as they are written; `written` reads them.
"""

from __future__ import annotations

from tx8ir.core import Dialect, IrContext, default_context
from tx8ir.core.context import ops_of

from . import chlo, elementwise, movement, sharding, structured, structures
from .enums import ENUMS

STABLEHLO = Dialect(
    "stablehlo", [*elementwise.OPS, *ops_of(movement, structured, structures), *structures.GENERIC], ENUMS
)
CHLO = Dialect("chlo", chlo.OPS)
SDY = Dialect("sdy", ops_of(sharding))


def stablehlo_context() -> IrContext:
    """A context with the dialects of such texts: these, and `builtin` and `func`."""
    default = default_context()
    context = IrContext(found for name in ("builtin", "func") if (found := default.dialect(name)) is not None)
    context.keywords.update(default.keywords)
    for dialect in (STABLEHLO, CHLO, SDY):
        context.register(dialect)
    return context
