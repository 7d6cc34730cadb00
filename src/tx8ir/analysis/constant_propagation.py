"""Which values are constant, and which paths can be taken: the analysis behind `sccp`."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    Block,
    Branch,
    CallableLike,
    CallLike,
    DenseAttr,
    Fold,
    Operation,
    Program,
    Region,
    RegionBranch,
    Terminator,
    Value,
    VTensorType,
)
from tx8ir.core.ir.interfaces import operation_of
from tx8ir.core.ir.region_branch import region_branch_around

from .constants import constant_type, evaluate_constants, is_constant, is_evaluable, read_constant
from .control_flow import deciding_operands, unforwarded
from .effects import mutable_parameters
from .symbols import is_public, referenced_symbols


@attrs.frozen(eq=False)
class Constant:
    """What a value is known to be.

    Attributes:
        array: in the element's own dtype.
        source: the operation that it was read from, if that is a constant of the program.
    """

    array: NDArray[Any]
    source: Operation | None = None


State: TypeAlias = "Constant | None"
"""A constant, or None: not constant. A value that no state is known of has not been reached."""


class ConstantPropagation:
    """The lattice, and the two worklists of the algorithm in one: operations whose operands or block became known.

    A value goes from unknown to a constant to not constant, and never back; so each operation is visited at most
    three times for each operand.

    Attributes:
        known: the states of values that were reached.
        refused: operations on constants that were not evaluated.
    """

    def __init__(self, root: Operation, program: Program, max_bytes: int, interprocedural: bool) -> None:
        self.known: dict[Value, State] = {}
        self.refused: set[Operation] = set()
        self._root = root
        self._program = program
        self._max_bytes = max_bytes
        self._mutable = mutable_parameters(program)
        self._reached: set[Block] = set()
        self._work: deque[Operation] = deque()
        self._queued: set[Operation] = set()
        self._watchers: dict[Value, dict[Operation, None]] = defaultdict(dict)
        self._functions: dict[str, Operation] = {}
        self._callers: dict[Operation, dict[Operation, None]] = defaultdict(dict)
        self._returned: dict[tuple[Operation, int], State] = {}
        if interprocedural and root is program.module:
            self._functions = {
                op.attributes["sym_name"].value: op for op in program.body if CallableLike in op.info.interfaces
            }

    def is_constant(self, value: Value) -> bool:
        """Whether the value is made by a constant of the program."""
        return is_constant(value, self._program, self._mutable)

    def solve(self) -> None:
        """Visit operations until nothing changes."""
        only_called = _only_called(self._program, self._functions)
        for op in [self._root] if self._root is not self._program.module else self._program.body:
            if op not in only_called:
                for region in op.regions:
                    self._enter_unknown(region.blocks[:1])
        while self._work:
            op = self._work.popleft()
            self._queued.discard(op)
            interfaces = op.info.interfaces
            if RegionBranch in interfaces:
                self._visit_regions(op)
            elif CallLike in interfaces:
                self._visit_call(op)
            elif op.has_trait(Terminator):
                self._visit_end(op)
            else:
                self._visit_other(op)

    # -- the lattice ---------------------------------------------------------------------------------------------------

    def _join(self, value: Value, state: State) -> None:
        """Learn that `value` may be this."""
        if value in self.known:
            merged = self._meet(self.known[value], state)
            if merged is self.known[value]:
                return
            state = merged
        elif constant_type(value) is None:
            state = None
        self.known[value] = state
        for user in (*value.users, *self._watchers.get(value, ())):
            self._push(user)

    def _meet(self, one: State, other: State) -> State:
        if one is None or other is None:
            return None
        a, b = one.array, other.array
        if a is b:
            return one
        if a.nbytes > self._max_bytes or a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes():
            return None
        return one

    def _join_all(self, values: Iterable[Value], given: Iterable[Value]) -> None:
        """Learn that `values` may be what is `given`, as far as that is known."""
        for value, source in zip(values, given, strict=True):
            if source in self.known:
                self._join(value, self.known[source])

    def _give_up(self, values: Iterable[Value]) -> None:
        for value in values:
            self._join(value, None)

    def _push(self, op: Operation) -> None:
        if op.parent in self._reached and op not in self._queued:
            self._queued.add(op)
            self._work.append(op)

    # -- paths ---------------------------------------------------------------------------------------------------------

    def _enter(self, block: Block) -> None:
        """Learn that `block` may run."""
        if block not in self._reached:
            self._reached.add(block)
            for op in block:
                self._push(op)

    def _enter_unknown(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            self._give_up(block.args)
            self._enter(block)

    def _constants(self, operands: Sequence[Value], deciding: Sequence[int]) -> list[DenseAttr | None] | None:
        """For each operand that decides where control goes the constant that it is; None if one is not known yet."""
        constants: list[DenseAttr | None] = [None] * len(operands)
        for index in deciding:
            value = operands[index]
            if value not in self.known:
                return None
            constants[index] = _attribute(value, self.known[value])
        return constants

    def _visit_end(self, op: Operation) -> None:
        """A terminator."""
        around = region_branch_around(op)
        function = op.parent_op
        if op.successors:
            self._visit_branch(op)
        elif around is not None:
            self._take_edges(op, around[0], around[1])
        elif function is not None and CallableLike in function.info.interfaces:
            self._visit_return(op, function)

    def _visit_branch(self, op: Operation) -> None:
        branch = op.interface(Branch)
        if branch is None:
            self._enter_unknown(op.successors)
            return
        constants = self._constants(op.operands, deciding_operands(op))
        for index in branch.possible_successors(constants) if constants is not None else ():
            block = op.successors[index]
            self._enter(block)
            self._join_all(block.args, branch.successor_operands(index))

    def _visit_regions(self, op: Operation) -> None:
        branch = op.interface(RegionBranch)
        assert branch is not None  # its class has one
        self._take_edges(op, branch, None)

    def _take_edges(self, op: Operation, branch: RegionBranch, source: Region | None) -> None:
        """Learn where control may go from a source, with the operands of `op`."""
        operands = op.operands
        edges = list(branch.region_edges(source))
        deciding = unforwarded(range(len(operands)), edges)
        if deciding:
            constants = self._constants(operands, deciding)
            if constants is None:
                return
            edges = list(branch.possible_edges(source, constants))
        left_out: set[Region] = set()
        while edges:
            target, forwarded, inputs = edges.pop()
            if target is None:
                taken = operation_of(branch).results
            elif len(target):
                self._enter(target.blocks[0])
                taken = target.blocks[0].args
            else:  # control goes on at once
                if target not in left_out:
                    left_out.add(target)
                    edges += branch.region_edges(target)
                continue
            self._give_up(taken[: len(taken) - len(inputs)])
            if forwarded:
                self._join_all(inputs, operands[forwarded.start : forwarded.stop])

    def _visit_call(self, op: Operation) -> None:
        call = op.interface(CallLike)
        assert call is not None  # its class has one
        callee = self._functions.get(call.callee_symbol())
        callable_ = callee.interface(CallableLike) if callee is not None else None
        if callee is None or callable_ is None:
            self._give_up(op.results)
            return
        self._callers[callee][op] = None
        entry = callable_.callable_region().block
        self._enter(entry)
        self._join_all(entry.args, call.call_arguments())
        for index, result in enumerate(op.results):
            if (callee, index) in self._returned:
                self._join(result, self._returned[callee, index])

    def _visit_return(self, op: Operation, function: Operation) -> None:
        for index, value in enumerate(op.operands):
            if value not in self.known:
                continue
            key, state = (function, index), self.known[value]
            if key in self._returned:
                merged = self._meet(self._returned[key], state)
                if merged is self._returned[key]:
                    continue
                state = merged
            self._returned[key] = state
            for call in self._callers[function]:
                self._push(call)

    # -- operations ----------------------------------------------------------------------------------------------------

    def _visit_other(self, op: Operation) -> None:
        """An operation that is not control flow, or control flow that is not known."""
        if op.regions:
            self._give_up(op.results)
            for region in op.regions:
                self._enter_unknown(region.blocks[:1])
            return
        if not op.results or all(result in self.known and self.known[result] is None for result in op.results):
            return
        if self.is_constant(op.results[0]):
            array = read_constant(op.results[0], self._program, self._mutable)
            if op.results[0] not in self.known and array is not None:
                self._join(op.results[0], Constant(array, op))
            return
        if self._fold(op):
            return
        states = [self.known[value] for value in op.operands if value in self.known]
        if not op.operands or None in states or not is_evaluable(op):
            self._give_up(op.results)
        elif len(states) == len(op.operands) and op.results[0] not in self.known:
            arrays = evaluate_constants(op, [state.array for state in states if state is not None], self._max_bytes)
            if arrays is None:
                self.refused.add(op)
                self._give_up(op.results)
            else:
                for result, array in zip(op.results, arrays, strict=True):
                    self._join(result, Constant(np.asarray(array)))

    def _fold(self, op: Operation) -> bool:
        """Learn what the operation's `Fold` says of its result; whether it says anything."""
        model = op.interface(Fold)
        if model is None or len(op.results) != 1:
            return False
        folded = model.fold([_attribute(value, self.known.get(value)) for value in op.operands])
        if isinstance(folded, Value):
            self._watchers[folded][op] = None
            self._join_all(op.results, [folded])
            return True
        if isinstance(folded, DenseAttr) and folded.type is op.result.type:
            self._join(op.result, Constant(folded.value))
            return True
        return False


def _only_called(program: Program, functions: Mapping[str, Operation]) -> set[Operation]:
    """Those of `functions` that nothing reaches but calls in the program."""
    if not functions:
        return set()
    calls: dict[str, int] = defaultdict(int)
    for op in program.module.walk():
        call = op.interface(CallLike)
        if call is not None:
            calls[call.callee_symbol()] += 1
    references = referenced_symbols(program.module)
    found: list[Operation] = [
        function
        for name, function in functions.items()
        if calls[name] and calls[name] == references[name] and not is_public(function)
    ]
    return set(found)


def _attribute(value: Value, state: State) -> DenseAttr | None:
    kind = value.type
    return DenseAttr(state.array, kind) if state is not None and isinstance(kind, VTensorType) else None
