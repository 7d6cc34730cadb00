"""scf: structured control flow. Regions see the values around them; what they give is said by their terminators.

A condition is an i1, or a tensor with one element of it, of any rank. What loops carry and choices give may have any
type: tensors, numbers, lists, …. The assembly formats are MLIR's.
"""

from __future__ import annotations

from tx8ir.core.context import Dialect, ops_of

from . import conditions, loops, switches
from .conditions import ConditionOp, IfOp, Values, WhileOp, YieldOp, condition_of, yield_of
from .loops import ForOp, ParallelOp, ReduceOp, ReduceReturnOp
from .switches import ExecuteRegionOp, IndexSwitchOp

__all__ = [
    "DIALECT",
    "ConditionOp",
    "ExecuteRegionOp",
    "ForOp",
    "IfOp",
    "IndexSwitchOp",
    "ParallelOp",
    "ReduceOp",
    "ReduceReturnOp",
    "Values",
    "WhileOp",
    "YieldOp",
    "condition",
    "condition_of",
    "execute_region",
    "for_",
    "if_",
    "index_switch",
    "parallel",
    "reduce",
    "while_",
    "yield_",
    "yield_of",
]

if_ = IfOp
while_ = WhileOp
for_ = ForOp
parallel = ParallelOp
reduce = ReduceOp
execute_region = ExecuteRegionOp
index_switch = IndexSwitchOp
yield_ = YieldOp
condition = ConditionOp

DIALECT = Dialect("scf", ops_of(conditions, loops, switches))
