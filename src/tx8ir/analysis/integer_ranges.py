"""In which ranges integers are, wherever control may come: the elements of tensors, indices, conditions."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from tx8ir.core import Attribute, Block, BoolAttr, DenseAttr, IntAttr, Operation, Program, Region, Value
from tx8ir.core.attrs.builtin_types import element_of, integer_format, integer_range, is_integer
from tx8ir.core.attrs.types import TensorType, Type, VTensorType, i1
from tx8ir.core.ir.int_range import InferIntRange, IntRange

from . import integer_range_models as integer_range_models
from .dataflow import NOT_YET, Anchor, DataFlowSolver, DecidingAnalysis, NotYet, SparseForwardAnalysis

_GROWTH: Final = 4
"""How often a value that control carries may grow before its bounds go to the ends of the type."""


def integer_width(type: Type) -> int | None:
    """The bits of the integers that a value of the type holds; None when it holds none, or they may be written."""
    if isinstance(type, TensorType):
        return None
    element = element_of(type)
    return integer_format(element)[0] or None if is_integer(element) else None


class IntegerRangeAnalysis(SparseForwardAnalysis["IntRange | None"], DecidingAnalysis):
    """Ranges of values, by what their operations say (`InferIntRange`); None for what holds no integers.

    What a loop carries may grow a few times; then the bounds that moved are widened to the ends of the type, and in the
    end narrowed to what goes round. A range of one number decides branches. What a `tensor` holds may be written,
    so nothing is said of it. After MLIR's IntegerRangeAnalysis; on widening and narrowing see Cousot and Cousot, POPL
    1977.
    """

    def __init__(self) -> None:
        super().__init__()
        self._grown: Counter[Anchor] = Counter()
        self._entered: set[Value] = set()
        self._made: dict[Operation, list[tuple[Region, Sequence[Value]]]] = {}

    def range_of(self, value: Value) -> IntRange | None:
        """The range of a value; None for one that holds no integers or is never reached."""
        return self.states.get(value)

    def join(self, one: IntRange | None, other: IntRange | None) -> IntRange | None:
        return one if one is None or other is None else one.join(other)

    def entry_state(self, value: Value) -> IntRange | None:
        width = integer_width(value.type)
        return None if width is None else IntRange.full(width)

    def widened(self, anchor: Anchor, known: IntRange | None, state: IntRange | None) -> IntRange | None:
        if known is None or state is None or (isinstance(anchor, Value) and not _is_carried(anchor)):
            return state
        self._grown[anchor] += 1
        if self._grown[anchor] < _GROWTH:
            return state
        full = IntRange.full(state.width)
        return IntRange(
            state.width,
            state.smin if state.smin == known.smin else full.smin,
            state.smax if state.smax == known.smax else full.smax,
            state.umin if state.umin == known.umin else full.umin,
            state.umax if state.umax == known.umax else full.umax,
        )

    def constant(self, value: Value) -> Attribute | NotYet | None:
        if value not in self.states:
            return NOT_YET
        known = self.states[value]
        number = known.as_constant if known is not None else None
        return None if number is None else constant_attribute(number, value.type)

    def visit(self, op: Operation) -> None:
        if op in self._made:
            self._make_arguments(op)
        else:
            super().visit(op)

    def transfer(self, op: Operation) -> None:
        for result, found in zip(op.results, self._inferred(op), strict=False):
            self.learn(result, found)

    def _inferred(self, op: Operation) -> list[IntRange | None]:
        """The ranges of the results; none while that of an operand is not known."""
        operands = self._operands(op)
        if operands is None:
            return []
        model = op.interface(InferIntRange)
        ranges = model.infer_ranges(operands) if model is not None else ()
        inferred = [self.entry_state(result) for result in op.results]
        for index, found in enumerate(ranges):
            if found is not None and inferred[index] is not None:
                inferred[index] = found
        return inferred

    def finish(self) -> None:
        """Narrow what was widened: twice each value is what its operation, or what goes there, says of it by now."""
        if not any(times >= _GROWTH for times in self._grown.values()):
            return
        sources = {target: found for target, found in self.flows().items() if target not in self._entered}
        for _ in range(2):
            seen: set[Block] = set()
            for op in self.solver.root.walk():
                block = op.parent
                if block is None or block not in self.solver.reached:
                    continue
                if block not in seen:
                    seen.add(block)
                    self._narrow_carried(block.args, sources)
                if op.regions or self.solver.dead_code.kinds[op.__class__]:
                    self._narrow_carried(op.results, sources)
                else:
                    for result, found in zip(op.results, self._inferred(op), strict=False):
                        self._narrow(result, found)

    def _narrow_carried(self, values: Sequence[Value], sources: Mapping[Anchor, Sequence[Anchor]]) -> None:
        states = self.states
        for value in values:
            known = [states[source] for source in sources.get(value, ()) if source in states]
            if known:
                self._narrow(value, functools.reduce(self.join, known))

    def _narrow(self, value: Value, found: IntRange | None) -> None:
        known = self.states.get(value)
        if known is not None and found is not None:
            self.states[value] = known.meet(found)

    def values_enter(self, values: Sequence[Value]) -> None:
        self._entered.update(values)
        self.give_up(values)

    def values_made(self, values: Sequence[Value], op: Operation, region: Region | None) -> None:
        if region is None or InferIntRange not in op.info.interfaces:
            self.values_enter(values)
            return
        made = self._made.setdefault(op, [])
        if not made:
            for value in op.operands:
                self.depend(value, self, op)
        made.append((region, values))
        self._make_arguments(op)

    def _make_arguments(self, op: Operation) -> None:
        model, operands = op.interface(InferIntRange), self._operands(op)
        if model is None or operands is None:
            return
        for region, values in self._made[op]:
            ranges = model.argument_ranges(region, operands)
            for index, value in enumerate(values):
                found = ranges[index] if index < len(ranges) else None
                self.learn(value, found if found is not None else self.entry_state(value))

    def _operands(self, op: Operation) -> list[IntRange | None] | None:
        """The ranges of the operands; None while one is not known."""
        states = self.states
        operands = op.operands
        return [states[value] for value in operands] if all(value in states for value in operands) else None


def _is_carried(value: Value) -> bool:
    """Whether a value comes with control, so that it may come round."""
    maker = value.defining_op
    return maker is None or bool(maker.regions)


def constant_attribute(number: int, type: Type) -> Attribute | None:
    """The constant of a type whose every element has the bits of one integer; None where its extents are not known."""
    element = element_of(type)
    if element is not i1:
        low, high = integer_range(element)
        number = (number - low) % (high - low + 1) + low
    if isinstance(type, VTensorType):
        if not type.is_static:
            return None
        dtype = type.element.dtype
        return DenseAttr(np.full(type.shape, number != 0 if element is i1 else number, dtype), type)
    if type is i1:
        return BoolAttr(number != 0)
    return IntAttr(number, type) if is_integer(type) else None


def integer_ranges(program: Program) -> IntegerRangeAnalysis:
    """The ranges of the integers in a program, calls followed. O(operations + uses)."""
    solver = DataFlowSolver(program.module)
    found = solver.load(IntegerRangeAnalysis())
    solver.run()
    return found
