"""Which values are constant, and which paths can be taken: the analysis behind `sccp`."""

from __future__ import annotations

from typing import Any, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Attribute, ConstantLike, DenseAttr, Fold, Operation, Program, Value, VTensorType
from tx8ir.dialects.arith.constants import type_of

from .constants import constant_type, evaluate_constants, is_constant, is_evaluable, is_number, read_constant
from .dataflow import NOT_YET, DataFlowSolver, DecidingAnalysis, NotYet, SparseForwardAnalysis
from .effects import mutable_parameters


@attrs.frozen(eq=False)
class Constant:
    """What a value is known to be.

    Attributes:
        array: in the element's own dtype.
        source: the operation that it was read from, if that is a constant of the program.
    """

    array: NDArray[Any]
    source: Operation | None = None


@attrs.frozen(eq=False)
class Number:
    """What a value that is a number and no tensor is known to be; its attribute has its type."""

    attribute: Attribute


State: TypeAlias = "Constant | Number | None"
"""A constant, or None: not constant. A value that no state is known of has not been reached."""


class ConstantPropagation(SparseForwardAnalysis["State"], DecidingAnalysis):
    """Evaluates operations on constants. A value goes from unknown to a constant to not constant, and never back.

    Args:
        program: whose parameters are read, and which is analysed.
        max_bytes: see `evaluate_constants`.

    Attributes:
        refused: operations on constants that were not evaluated.
    """

    def __init__(self, program: Program, max_bytes: int) -> None:
        super().__init__()
        self.refused: set[Operation] = set()
        self._program = program
        self._max_bytes = max_bytes
        self._mutable = mutable_parameters(program)

    def is_constant(self, value: Value) -> bool:
        """Whether the value is made by a constant of the program."""
        op = value.defining_op
        if op is not None and ConstantLike in op.info.traits and is_number(value.type):
            return True
        return is_constant(value, self._program, self._mutable)

    def constants(self) -> dict[Value, Constant | Number]:
        """The values that are constant, wherever control may come."""
        return {value: state for value, state in self.states.items() if state is not None and isinstance(value, Value)}

    # -- the lattice ---------------------------------------------------------------------------------------------------

    def join(self, one: State, other: State) -> State:
        if one is None or other is None:
            return None
        if isinstance(one, Number) or isinstance(other, Number):  # equal attributes are one object
            same = isinstance(one, Number) and isinstance(other, Number) and one.attribute is other.attribute
            return one if same else None
        a, b = one.array, other.array
        if a is b:
            return one
        if a.nbytes > self._max_bytes or a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes():
            return None
        return one

    def entry_state(self, value: Value) -> State:
        return None

    def constant(self, value: Value) -> Attribute | NotYet | None:
        return _attribute(value, self.states[value]) if value in self.states else NOT_YET

    # -- operations ----------------------------------------------------------------------------------------------------

    def transfer(self, op: Operation) -> None:
        results, states = op.results, self.states
        if all(result in states and states[result] is None for result in results):
            return
        if constant_type(results[0]) is not None and self.is_constant(results[0]):
            array = read_constant(results[0], self._program, self._mutable)
            if results[0] not in states and array is not None:
                self.learn(results[0], Constant(array, op))
            return
        if self._fold(op):
            return
        operands = op.operands
        known = [states[value] for value in operands if value in states]
        if len(known) < len(operands) and None not in known and len(results) == 1 and Fold in op.info.interfaces:
            return  # it may fold once the others are reached
        if not operands or None in known or not is_evaluable(op):
            self.give_up(results)
        elif len(known) == len(operands) and results[0] not in states:
            arrays = evaluate_constants(
                op, [state.array for state in known if isinstance(state, Constant)], self._max_bytes
            )
            if arrays is None:
                self.refused.add(op)
                self.give_up(results)
            else:
                for result, array in zip(results, arrays, strict=True):
                    self.learn(result, Constant(np.asarray(array)))

    def _fold(self, op: Operation) -> bool:
        """Learn what the operation's `Fold` says of its result; whether it says anything."""
        model = op.interface(Fold)
        if model is None or len(op.results) != 1:
            return False
        folded = model.fold([_attribute(value, self.states.get(value)) for value in op.operands])
        kind = op.result.type
        if isinstance(folded, Value):
            self.depend(folded, self, op)
            if folded in self.states:
                is_known = constant_type(op.result) is not None or is_number(kind)
                self.learn(op.result, self.states[folded] if is_known else None)
            return True
        if isinstance(folded, DenseAttr) and folded.type is kind:
            self.learn(op.result, Constant(folded.value))
            return True
        if isinstance(folded, Attribute) and is_number(kind) and type_of(folded) is kind:
            self.learn(op.result, Number(folded))
            return True
        return False


def propagate_constants(
    root: Operation, program: Program, *, max_bytes: int, interprocedural: bool
) -> ConstantPropagation:
    """The constants inside `root`, `program`'s module or an operation in it."""
    solver = DataFlowSolver(root, interprocedural=interprocedural)
    found = solver.load(ConstantPropagation(program, max_bytes))
    solver.run()
    return found


def _attribute(value: Value, state: State) -> Attribute | None:
    if isinstance(state, Number):
        return state.attribute
    kind = value.type
    return DenseAttr(state.array, kind) if state is not None and isinstance(kind, VTensorType) else None
