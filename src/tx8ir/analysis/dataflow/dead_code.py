"""Which blocks control may enter, and on which ways: what other analyses of the solver are told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

from tx8ir.analysis.control_flow import deciding_operands, unforwarded
from tx8ir.analysis.symbols import is_public, referenced_symbols
from tx8ir.core import (
    Attribute,
    Block,
    Branch,
    CallableLike,
    CallLike,
    Operation,
    Region,
    RegionBranch,
    SymbolTable,
    Terminator,
    Value,
)
from tx8ir.core.ir.interfaces import operation_of
from tx8ir.core.ir.region_branch import region_branch_around
from tx8ir.core.ir.symbol_table import SymbolTables

from .base import DataFlowAnalysis, NotYet, Point


class ControlKinds(dict[type[Operation], bool]):
    """Whether operations of a class decide where control goes; a class is looked at once."""

    def __missing__(self, kind: type[Operation]) -> bool:
        info = kind.info
        found = RegionBranch in info.interfaces or CallLike in info.interfaces or Terminator in info.traits
        self[kind] = found
        return found


class DeadCodeAnalysis(DataFlowAnalysis):
    """Follows control from the entries: through branches, between regions, into functions and back.

    Where an analysis of the solver knows the constants that decide, only the ways that they leave are taken. It visits
    the operations that decide, and those with regions of which nothing is said; all ways into these are taken.

    Args:
        interprocedural: see `DataFlowSolver`.

    Attributes:
        kinds: which classes of operations it visits, and analyses of values do not.
    """

    def __init__(self, interprocedural: bool) -> None:
        super().__init__()
        self._interprocedural = interprocedural
        self._functions: dict[str, Operation] = {}
        self._known: frozenset[Operation] = frozenset()
        self._tables = SymbolTables()
        self._only_called: set[Operation] = set()
        self._taken: dict[Operation, set[Hashable]] = defaultdict(set)
        self.kinds = ControlKinds()

    def initialize(self) -> None:
        root = self.solver.root
        starts = [root]
        if SymbolTable in root.info.traits:
            starts = [op for region in root.regions for block in region.blocks for op in block]
            if self._interprocedural and root.parent is None:
                self._functions = {
                    op.attributes["sym_name"].value: op for op in starts if CallableLike in op.info.interfaces
                }
                self._known = frozenset(self._functions.values())
                self._only_called = _only_called(root, self._functions)
        for op in starts:
            if op not in self._only_called:
                self._enter_unknown(region.blocks[0] for region in op.regions if len(region))

    def visit(self, op: Operation) -> None:
        interfaces = op.info.interfaces
        if op.successors:
            self._visit_branch(op)
        elif RegionBranch in interfaces:
            branch = op.interface(RegionBranch)
            assert branch is not None  # its class has one
            self._visit_edges(op, branch, None)
        elif CallLike in interfaces:
            self._visit_call(op)
        elif Terminator in op.info.traits:
            self._visit_end(op)
        else:
            self._visit_unknown(op)

    # -- blocks --------------------------------------------------------------------------------------------------------

    def _enter(self, block: Block) -> None:
        reached = self.solver.reached
        if block in reached:
            return
        reached.add(block)
        kinds, push = self.kinds, self.push
        for op in block:
            if kinds[op.__class__] or op.regions:
                push(op)
        for analysis in self.solver.analyses:
            analysis.block_reached(block)

    def _enter_unknown(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            for analysis in self.solver.analyses:
                analysis.values_enter(block.args)
                analysis.control_enters(block)
            self._enter(block)

    def _is_new(self, op: Operation, way: Hashable) -> bool:
        """Whether a way from `op` was not taken before."""
        taken = self._taken[op]
        if way in taken:
            return False
        taken.add(way)
        return True

    def _forward(self, source: Operation, target: Point, sources: Sequence[Value], targets: Sequence[Value]) -> None:
        for analysis in self.solver.analyses:
            if sources:
                analysis.values_forwarded(sources, targets)
            analysis.control_forwarded(source, target)

    def _escape(self, values: Sequence[Value], op: Operation) -> None:
        for analysis in self.solver.analyses:
            analysis.values_escape(values, op)
            analysis.control_escapes(op)

    # -- decisions -----------------------------------------------------------------------------------------------------

    def _constants(self, op: Operation, deciding: Sequence[int]) -> list[Attribute | None] | None:
        """For each operand by which `op` decides the constant that it is; None if one is not known yet."""
        operands = op.operands
        constants: list[Attribute | None] = [None] * len(operands)
        first, known = op not in self._taken, True
        if first and deciding:
            values = [operands[index] for index in deciding]
            for analysis in self.solver.analyses:
                analysis.values_decide(values, op)
        for index in deciding:
            for analysis in self.solver.deciding:
                if first:
                    analysis.depend(operands[index], self, op)
                found = analysis.constant(operands[index])
                if isinstance(found, NotYet):
                    known = False
                elif found is not None:
                    constants[index] = found
        _ = self._taken[op]
        return constants if known else None

    def _visit_branch(self, op: Operation) -> None:
        branch = op.interface(Branch)
        if branch is None:
            self._escape(op.operands, op)
            self._enter_unknown(op.successors)
            return
        constants = self._constants(op, deciding_operands(op))
        for index in branch.possible_successors(constants) if constants is not None else ():
            if self._is_new(op, index):
                block = op.successors[index]
                self._forward(op, block, branch.successor_operands(index), block.args)
                self._enter(block)

    def _visit_edges(self, op: Operation, branch: RegionBranch, source: Region | None) -> None:
        """Where control goes from a source, with the operands of `op`."""
        operands = op.operands
        edges = list(branch.region_edges(source))
        deciding = unforwarded(range(len(operands)), edges)
        if deciding or op not in self._taken:
            constants = self._constants(op, deciding)
            if constants is None:
                return
            if deciding:
                edges = list(branch.possible_edges(source, constants))
        around = operation_of(branch)
        while edges:
            target, forwarded, inputs = edges.pop()
            if not self._is_new(op, (target, forwarded)):
                continue
            if target is None:
                point, taken = around, around.results
            elif len(target):
                point = target.blocks[0]
                taken = point.args
            else:  # control goes on at once
                edges += branch.region_edges(target)
                continue
            own = taken[: len(taken) - len(inputs)]
            if own:
                for analysis in self.solver.analyses:
                    analysis.values_made(own, around, target)
            self._forward(op, point, operands[forwarded.start : forwarded.stop] if forwarded else (), inputs)
            if isinstance(point, Block):
                self._enter(point)

    # -- functions -----------------------------------------------------------------------------------------------------

    def _visit_call(self, op: Operation) -> None:
        call = op.interface(CallLike)
        assert call is not None  # its class has one
        function = self._tables.resolve(op, call.callee_reference()) if self._functions else None
        function = function if function in self._known else None
        callable_ = function.interface(CallableLike) if function is not None else None
        region = callable_.callable_region() if callable_ is not None else None
        if function is None or region is None or not len(region):
            self._visit_unknown(op)
            return
        arguments, entry = call.call_arguments(), region.blocks[0]
        passed = set(arguments)
        read = [value for value in op.operands if value not in passed] if len(arguments) < len(op.operands) else ()
        for analysis in self.solver.analyses:
            if read:
                analysis.values_decide(read, op)
            analysis.called(op, function)
        self._forward(op, entry, arguments, entry.args)
        self._enter(entry)

    def _visit_end(self, op: Operation) -> None:
        """A terminator without successors."""
        around = region_branch_around(op)
        if around is not None:
            self._visit_edges(op, around[0], around[1])
            return
        function = op.parent_op
        is_known = function in self._known
        if function is not None and is_known:
            for analysis in self.solver.analyses:
                analysis.returned(function, op)
        if not is_known or function not in self._only_called:
            self._escape(op.operands, op)

    def _visit_unknown(self, op: Operation) -> None:
        """An operation of which only this is known: it may run its regions, with any arguments, in any order."""
        self._escape(op.operands, op)
        for analysis in self.solver.analyses:
            analysis.values_enter(op.results)
            analysis.control_enters(op)
        self._enter_unknown(region.blocks[0] for region in op.regions if len(region))


def _only_called(module: Operation, functions: Mapping[str, Operation]) -> set[Operation]:
    """Those of `functions` that nothing reaches but calls in the module."""
    calls: dict[str, int] = defaultdict(int)
    for op in module.walk():
        call = op.interface(CallLike)
        if call is not None:
            calls[call.callee_symbol()] += 1
    references = referenced_symbols(module) if calls else {}
    found: list[Operation] = [
        function
        for name, function in functions.items()
        if calls.get(name) and calls[name] == references[name] and not is_public(function)
    ]
    return set(found)
