"""`int-range-optimizations`: what the ranges of integers decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final, TypeAlias

import attrs

from tx8ir.analysis.constants import constant_type, is_number
from tx8ir.analysis.dataflow import DataFlowSolver
from tx8ir.analysis.integer_range_models import signed_bounds, unsigned_bounds, view_of
from tx8ir.analysis.integer_ranges import IntegerRangeAnalysis, constant_attribute
from tx8ir.core import ConstantLike, DenseAttr, Operation, Program, Value, detached
from tx8ir.core.ir.int_range import IntRange
from tx8ir.core.ir.operation import ErasedOperation
from tx8ir.dialects import arith, builtin, index, pd, scf
from tx8ir.dialects.arith.constants import make_constant
from tx8ir.passes import OperationPass, register_pass

from .dce import eliminate_dead_code

__all__ = ["IntRangeOptimizations"]

Bounds: TypeAlias = tuple[int, int]
_View: TypeAlias = "Callable[[IntRange], Bounds] | None"

# How the operands are read; None: as the element type of a tensor says.
_REMAINDERS: Final[dict[type[Operation], _View]] = {
    arith.RemSIOp: signed_bounds,
    index.RemSOp: signed_bounds,
    arith.RemUIOp: unsigned_bounds,
    index.RemUOp: unsigned_bounds,
    pd.RemainderOp: None,
    pd.FmodOp: None,
}
_MAXIMA: Final[dict[type[Operation], _View]] = {
    arith.MaxSIOp: signed_bounds,
    index.MaxSOp: signed_bounds,
    arith.MaxUIOp: unsigned_bounds,
    index.MaxUOp: unsigned_bounds,
    pd.MaximumOp: None,
}
_MINIMA: Final[dict[type[Operation], _View]] = {
    arith.MinSIOp: signed_bounds,
    index.MinSOp: signed_bounds,
    arith.MinUIOp: unsigned_bounds,
    index.MinUOp: unsigned_bounds,
    pd.MinimumOp: None,
}


@register_pass
@attrs.frozen
class IntRangeOptimizations(OperationPass):
    """Simplifies what the ranges of integers decide: comparisons, quotients and other results that can be one number
    alone, remainders of what is less than the divisor, the larger and the smaller of what does not overlap, and
    `scf.for` that runs never or once.

    Branches whose condition has become constant are left to `simplify-control-flow`.

    Assumes: nothing. Guarantees: each value that was replaced is the same in every run that ends without an error.
    Cost: that of the analysis, O(operations + uses). Statistics: `constants`, `remainders`, `extrema`, `loops`.

    As MLIR's pass of that name, with the extrema and loops of LLVM's `correlated-propagation` and `indvars`.
    """

    name: ClassVar[str] = "int-range-optimizations"

    def run_on(self, root: Operation, program: Program) -> None:
        solver = DataFlowSolver(root, interprocedural=root is program.module)
        ranges = solver.load(IntegerRangeAnalysis())
        solver.run()
        changed = False
        with detached():
            for op in list(root.walk()):
                if op is root or isinstance(op, ErasedOperation):
                    continue
                arguments = [value for region in op.regions for block in region for value in block.args]
                for value in (*arguments, *op.results):
                    changed |= self._constant(value, ranges)
                if isinstance(op, scf.ForOp):
                    changed |= self._loop(op, ranges)
                elif len(op.results) == 1 and op.result.has_uses:
                    kept = self._kept_operand(op, ranges)
                    if kept is not None and kept.type is op.result.type:
                        op.result.replace_all_uses_with(kept)
                        changed = True
        if changed:
            eliminate_dead_code(root, by=self.name)

    def _constant(self, value: Value, ranges: IntegerRangeAnalysis) -> bool:
        """Let a constant take the place of a value that is one integer."""
        known = ranges.range_of(value)
        number = known.as_constant if known is not None and value.has_uses else None
        op, block = value.defining_op, value.parent_block
        if number is None or block is None:
            return False
        if op is not None and (ConstantLike in op.info.traits or isinstance(op, pd.FullOp)):
            return False
        if constant_type(value) is None and not is_number(value.type):
            return False
        attribute = constant_attribute(number, value.type)
        if attribute is None:
            return False
        is_dense = isinstance(attribute, DenseAttr)
        constant = builtin.ConstantOp(value=attribute, out=value.type) if is_dense else make_constant(attribute)
        if op is None:
            block.prepend(constant)
        else:
            constant.location = op.location
            block.insert_before(constant, op)
        value.replace_all_uses_with(constant.result)
        ranges.states[constant.result] = known  # for those that use it now
        self.count("constants")
        return True

    def _kept_operand(self, op: Operation, ranges: IntegerRangeAnalysis) -> Value | None:
        """The operand that the result of a remainder, maximum or minimum is; None where it is not known."""
        kind = op.__class__
        if kind in _REMAINDERS:
            x, y = _bounds(op, _REMAINDERS[kind], ranges)
            # Whole numbers round towards 0, but for `pd.remainder`, which takes the sign of the divisor.
            least = 0 if kind is pd.RemainderOp or y is None else 1 - y[0]
            if x is None or y is None or y[0] <= 0 or x[0] < least or x[1] >= y[0]:
                return None
            self.count("remainders")
            return op.operands[0]
        is_maximum = kind in _MAXIMA
        if not is_maximum and kind not in _MINIMA:
            return None
        x, y = _bounds(op, (_MAXIMA if is_maximum else _MINIMA)[kind], ranges)
        if x is None or y is None or not (x[0] >= y[1] or y[0] >= x[1]):
            return None
        self.count("extrema")
        return op.operands[0 if (x[0] >= y[1]) is is_maximum else 1]

    def _loop(self, op: scf.ForOp, ranges: IntegerRangeAnalysis) -> bool:
        """Drop a loop that never runs, and put the body of one that runs once in its place."""
        lower, upper, step = (ranges.range_of(value) for value in op.operands[:3])
        if lower is None or upper is None or step is None or step.smin < 1:
            return False
        if lower.smin >= upper.smax:
            op.replace_with(op.inits, self.name)
        elif lower.smax < upper.smin and upper.smax <= lower.smin + step.smin:
            for argument, value in zip(op.body.block.args, (op.lower, *op.inits), strict=True):
                argument.replace_all_uses_with(value)
            end: Any = op.body.block.last_op
            values = end.operands
            end.erase(self.name)
            assert op.parent is not None  # it was found in a block
            op.parent.splice_before(op, op.body.block)
            op.replace_with(values, self.name)
        else:
            return False
        self.count("loops")
        return True


def _bounds(op: Operation, view: _View, ranges: IntegerRangeAnalysis) -> list[Bounds | None]:
    """In which bounds the two operands are, as the operation reads them."""
    read = view_of(op.results[0]) if view is None else view
    known = [ranges.range_of(value) for value in op.operands]
    return [None if found is None or found.width < 2 else read(found) for found in known]
