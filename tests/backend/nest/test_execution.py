"""Scheduled groups, executed: any legal strategy computes what the program says."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support import nests
from tx8ir.backend.axes import CutError
from tx8ir.backend.nest.choice import Choice
from tx8ir.dialects import tx8
from tx8ir.sim import Interleaved, Simulator


@pytest.mark.parametrize("kind", nests.PROGRAMS)
@given(data=st.data())
def test_any_strategy_computes_the_program(kind: str, data: st.DataObject) -> None:
    program = nests.PROGRAMS[kind](data)
    lower = nests.lowered(program)
    body = nests.body_of(lower)
    try:
        nests.schedule(lower, body, nests.any_choice(data, body))
    except CutError:
        assume(False)
    instructions = nests.generate(lower)
    nests.check(program, instructions)


def test_rows_and_columns_of_tiles_share_their_loads() -> None:
    program = nests.product(256, 256, 512)
    made = nests.compiled(
        program,
        lambda body: Choice(nests.by_name(body, x={"m": 4}, y={"n": 4}, time={"n": 2, "k": 4}), 2, 2, ("x", "y")),
    )
    nests.check(program, made.program)
    report = Simulator(made.program).run(nests.random_feeds(program)).report
    assert report.bytes["DDR to SPM"] == 2 * (256 * 256 * 2 + 256 * 512)  # x once for each half of the columns


def test_the_strategy_of_a_large_product_at_an_eighth_of_its_size() -> None:
    """What the search takes for 4096 x 4096 x 4096 on boards (docs/benchmarks/compile.md)."""
    program = nests.product(512, 512, 512)
    time = {"m": 2, "n": 2, "k": 32}
    made = nests.compiled(
        program, lambda body: Choice(nests.by_name(body, x={"m": 4}, y={"n": 4}, time=time), 4, 1, ("x", "y"))
    )
    nests.check(program, made.program)


def test_a_row_that_is_cut_in_time_is_read_twice() -> None:
    program = nests.softmax((4, 2048))
    made = nests.compiled(program, lambda body: Choice(nests.by_name(body, x={"d0": 4}, time={"d1": 8}), 2, 2, ("",)))
    nests.check(program, made.program)
    report = Simulator(made.program).run(nests.random_feeds(program)).report
    assert report.bytes["DDR to SPM"] == 2 * 4 * 4 * 2048


def test_a_row_that_is_cut_over_the_mesh_is_read_once() -> None:
    program = nests.softmax((4, 2048))
    made = nests.compiled(program, lambda body: Choice(nests.by_name(body, x={"d0": 4}, y={"d1": 4}), 1, 1, ("",)))
    nests.check(program, made.program)
    report = Simulator(made.program).run(nests.random_feeds(program)).report
    assert report.bytes["DDR to SPM"] == 4 * 4 * 2048


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_tiles_changes_nothing(seed: int) -> None:
    program = nests.product(64, 128, 128)
    made = nests.compiled(
        program, lambda body: Choice(nests.by_name(body, x={"m": 4}, y={"n": 4}, time={"k": 4}), 2, 1, ("x", "y"))
    )
    feeds = nests.random_feeds(program)
    expected = Simulator(made.program).run(feeds).outputs["y"]
    got = Simulator(made.program).run(feeds, schedule=Interleaved(seed)).outputs["y"]
    assert got.tobytes() == expected.tobytes()


def test_instructions_are_those_of_the_program_and_not_of_its_steps() -> None:
    def instructions(rows: int) -> int:
        made = nests.compiled(
            nests.softmax((rows, 128)),
            lambda body: Choice(nests.by_name(body, x={"d0": 4}, y={"d0": 4}, time={"d0": rows // 64}), 2, 2, ("",)),
        )
        return sum(isinstance(op, tx8.Instruction) for op in made.program.module.walk())

    assert instructions(1024) == instructions(2048) < 60
