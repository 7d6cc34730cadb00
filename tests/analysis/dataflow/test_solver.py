"""The solver and its four kinds of analyses: against brute force on graphs of blocks, against runs on programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tx8ir
from support.steps import assert_linear
from tx8ir.analysis.dataflow import (
    DataFlowSolver,
    DenseBackwardAnalysis,
    DenseForwardAnalysis,
    SparseForwardAnalysis,
)
from tx8ir.core import Block, Builder, FunctionType, Operation, Program, Value, VTensorType, i1
from tx8ir.dialects import cf, func, pd, scf
from tx8ir.interpreter import Interpreter
from tx8ir.testing.inputs import draw_inputs
from tx8ir.testing.programs import EVERYTHING, tensor_programs
from tx8ir.testing.programs.drawing import for_each_program

Ops = frozenset[Operation]


class Before(DenseForwardAnalysis[Ops]):
    """The operations that may have run."""

    def join(self, one: Ops, other: Ops) -> Ops:
        return one if other <= one else one | other

    def transfer(self, op: Operation, state: Ops) -> Ops:
        return state | set(op.walk())

    def entry_state(self, block: Block) -> Ops:
        return frozenset()


class After(DenseBackwardAnalysis[Ops]):
    """The operations that may still run."""

    def join(self, one: Ops, other: Ops) -> Ops:
        return one if other <= one else one | other

    def transfer(self, op: Operation, state: Ops) -> Ops:
        return state | set(op.walk())

    def exit_state(self, op: Operation) -> Ops:
        return frozenset()


class Origins(SparseForwardAnalysis[frozenset[Value]]):
    """The arguments of entries, and results of operations without operands, that a value may be made from."""

    def join(self, one: frozenset[Value], other: frozenset[Value]) -> frozenset[Value]:
        return one if other <= one else one | other

    def entry_state(self, value: Value) -> frozenset[Value]:
        return frozenset({value})

    def transfer(self, op: Operation) -> None:
        found = [self.states[v] for v in op.operands if v in self.states]
        for result in op.results:
            self.learn(result, frozenset().union(*found) if op.operands else frozenset({result}))


def solved(program: Program) -> tuple[DataFlowSolver, Before, After]:
    solver = DataFlowSolver(program.module)
    before, after = solver.load(Before()), solver.load(After())
    solver.run()
    return solver, before, after


# --- graphs of blocks ------------------------------------------------------------------------------------------------

B = VTensorType((), i1)


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[int, ...]]:
    """For each block where it may go on: nowhere, to one, or to one of two; never to the first."""
    count = draw(st.integers(1, 6))
    target = st.integers(1, max(1, count - 1))
    ways = st.one_of(st.just(()), st.tuples(target), st.tuples(target, target)) if count > 1 else st.just(())
    return draw(st.lists(ways, min_size=count, max_size=count))


def blocks_of(graph: Sequence[tuple[int, ...]]) -> Program:
    """A function of blocks, each with one operation and a terminator; every block is given the condition."""
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType([B], []))
    region = main.body
    blocks = [region.block, *(region.append(Block([B])) for _ in graph[1:])]
    for block, targets in zip(blocks, graph, strict=True):
        given = block.args[0]
        with Builder.at_end(block):
            made = pd.logical_not(given).out
            if not targets:
                func.ReturnOp([])
            elif len(targets) == 1:
                cf.br([made], dest=blocks[targets[0]])
            else:
                true, false = (blocks[t] for t in targets)
                cf.cond_br(given, [made], [given], true_dest=true, false_dest=false)
    return program


def reachable(graph: Sequence[tuple[int, ...]], starts: Sequence[int]) -> set[int]:
    """The blocks on all ways from some blocks, these included."""
    found, work = set[int](), list(starts)
    while work:
        node = work.pop()
        if node not in found:
            found.add(node)
            work += graph[node]
    return found


@given(graphs())
def test_blocks_that_are_reached_are_those_of_the_graph(graph: list[tuple[int, ...]]) -> None:
    program = blocks_of(graph)
    solver, _, _ = solved(program)
    blocks = program.main.body.blocks
    assert solver.reached == {blocks[index] for index in reachable(graph, [0])}


@given(graphs())
def test_what_may_have_run_is_what_some_way_leads_from(graph: list[tuple[int, ...]]) -> None:
    program = blocks_of(graph)
    _, before, _ = solved(program)
    blocks = program.main.body.blocks
    live = reachable(graph, [0])
    for index, block in enumerate(blocks):
        found = before.before(next(iter(block)))
        if index not in live:
            assert found is None
            continue
        earlier = {i for i in live if index in reachable(graph, graph[i])}
        assert found == {op for i in earlier for op in blocks[i]}
        assert before.before(list(block)[1]) == found | {next(iter(block))}
        assert before.after(list(block)[1]) == found | set(block)


@given(graphs())
def test_what_may_still_run_is_what_some_way_leads_to(graph: list[tuple[int, ...]]) -> None:
    program = blocks_of(graph)
    _, _, after = solved(program)
    blocks = program.main.body.blocks
    live = reachable(graph, [0])
    ends = [i for i, targets in enumerate(graph) if not targets]
    for index, block in enumerate(blocks):
        later = reachable(graph, graph[index])
        found = after.after(list(block)[1])
        if index not in live or not any(end in later or end == index for end in ends):
            assert found is None  # never reached, or never left
            continue
        leaving = {i for i in later if any(end in reachable(graph, [i]) for end in ends)}
        assert found == {op for i in leaving for op in blocks[i]}
        assert after.before(next(iter(block))) == found | set(block)


@given(graphs())
def test_the_origins_of_a_value_are_found_through_blocks(graph: list[tuple[int, ...]]) -> None:
    program = blocks_of(graph)
    solver = DataFlowSolver(program.module)
    origins = solver.load(Origins())
    solver.run()
    blocks = program.main.body.blocks
    live = reachable(graph, [0])
    for index, block in enumerate(blocks):
        expected = frozenset({blocks[0].args[0]}) if index in live else None
        assert origins.state(block.args[0]) == expected


# --- programs --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_whatever_a_run_does_is_foreseen() -> None:
    """Loops, choices, blocks, calls, operations with regions of another dialect: every operation that runs was expected
    to, after those that ran before it, and before those that ran after it.
    """
    seen = 0

    def check(program: Program) -> None:
        nonlocal seen
        solver, before, after = solved(program)
        ran: list[Operation] = []
        Interpreter(program, observer=lambda op, _: ran.append(op)).run(draw_inputs(program, 0))
        crossed = [op for op in ran if not op.regions and not isinstance(op, func.CallOp)]
        done = set[Operation]()
        for op in crossed:
            known = before.before(op)
            assert solver.is_reached(op)
            assert known is not None
            assert done <= known
            done.add(op)
        done.clear()
        for op in reversed(crossed):
            known = after.after(op)
            assert known is not None
            assert done <= known
            done.add(op)
        seen += len(done)

    for_each_program(tensor_programs(EVERYTHING), 60, check)
    assert seen > 300


TEXT = """
module {
  func.func @main(%c: !pd.vtensor<i1>) -> !pd.vtensor<i1> {
    %0 = func.call @twice(%c) : (!pd.vtensor<i1>) -> !pd.vtensor<i1>
    %1 = func.call @twice(%0) : (!pd.vtensor<i1>) -> !pd.vtensor<i1>
    %2 = func.call @elsewhere(%1) : (!pd.vtensor<i1>) -> !pd.vtensor<i1>
    return %2 : !pd.vtensor<i1>
  }
  func.func private @twice(%x: !pd.vtensor<i1>) -> !pd.vtensor<i1> {
    %0 = "pd.logical_not"(%x) : (!pd.vtensor<i1>) -> !pd.vtensor<i1>
    %1 = "pd.logical_not"(%0) : (!pd.vtensor<i1>) -> !pd.vtensor<i1>
    return %1 : !pd.vtensor<i1>
  }
  func.func private @elsewhere(!pd.vtensor<i1>) -> !pd.vtensor<i1>
  func.func private @unused(%x: !pd.vtensor<i1>) -> !pd.vtensor<i1> {
    return %x : !pd.vtensor<i1>
  }
}
"""


def test_calls_are_followed_there_and_back() -> None:
    program = tx8ir.parse(TEXT)
    solver, before, after = solved(program)
    origins = DataFlowSolver(program.module)
    found = origins.load(Origins())
    origins.run()
    main, twice = program.main.body.block, list(program.body)[1].regions[0].block
    first, second, unknown, end = main
    names = {op: sorted(o.name for o in known) for op in main if (known := before.before(op)) is not None}
    assert names[first] == []
    assert names[second] == ["func.return", "pd.logical_not", "pd.logical_not"]
    assert names[end] == ["func.call", *names[unknown]]
    assert after.after(second) == {unknown, end}
    assert after.before(first) == {unknown, end, *twice}
    assert found.state(unknown.operands[0]) == {main.args[0]}
    assert found.state(end.operands[0]) == {unknown.results[0]}
    assert solver.is_reached(next(iter(twice)))


def test_one_operation_alone_takes_nothing_for_granted() -> None:
    program = tx8ir.parse(TEXT)
    twice = list(program.body)[1]
    solver = DataFlowSolver(twice)
    found = solver.load(Origins())
    solver.run()
    block = twice.regions[0].block
    assert solver.reached == {block}
    assert found.state(list(block)[2].operands[0]) == {block.args[0]}


# --- cost ------------------------------------------------------------------------------------------------------------


class LastMade(DenseForwardAnalysis[int]):
    """How many operations ran at least, up to ten: a lattice of bounded height."""

    def join(self, one: int, other: int) -> int:
        return one if one <= other else other

    def transfer(self, op: Operation, state: int) -> int:
        return min(10, state + 1)

    def entry_state(self, block: Block) -> int:
        return 0


class StillToCome(DenseBackwardAnalysis[int]):
    """How many operations run at least from here on, up to ten."""

    def join(self, one: int, other: int) -> int:
        return one if one <= other else other

    def transfer(self, op: Operation, state: int) -> int:
        return min(10, state + 1)

    def exit_state(self, op: Operation) -> int:
        return 0


def nested(depth: int) -> Program:
    """Loops inside one another, with a value carried through all of them."""
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType([B], [B]))
    block = main.body.block
    with Builder.at_end(block):
        outer = scf.WhileOp.build([block.args[0]], lambda x: (x, [x]), lambda x: [x])
        func.ReturnOp([outer.outputs[0]])
    for _ in range(depth):
        inside = outer.after.block
        end = inside.last_op
        assert end is not None
        with Builder.before(end):
            outer = scf.WhileOp.build([inside.args[0]], lambda x: (x, [x]), lambda x: [x])
        end.set_operand(0, outer.outputs[0])
    return program


def solve_all(program: Program) -> None:
    solver = DataFlowSolver(program.module)
    for analysis in (LastMade(), StillToCome(), Origins()):
        solver.load(analysis)
    solver.run()


@pytest.mark.slow
def test_the_cost_is_linear_in_blocks_calls_and_depth() -> None:
    assert_linear(lambda size: _solving(blocks_of([(i + 1,) for i in range(size)] + [()])), 60)
    assert_linear(lambda depth: _solving(nested(depth)), 30)
    solve_all(nested(1500))


def _solving(program: Program) -> Callable[[], None]:
    return lambda: solve_all(program)
