"""Scheduled groups, executed: any legal strategy computes what the program says."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support import nests
from tx8ir.backend.axes import Cut, CutError, Strategy
from tx8ir.backend.nest.body import NestBody
from tx8ir.backend.nest.choice import Choice
from tx8ir.backend.nest.search import sharings, strategies
from tx8ir.core import Program, bf16, f32
from tx8ir.dialects import tx8
from tx8ir.sim import Interleaved, Simulator

PROGRAMS: dict[str, Callable[[st.DataObject], Program]] = {
    "product": lambda data: nests.product(
        data.draw(st.sampled_from([1, 24, 64, 100])),
        data.draw(st.sampled_from([32, 64, 192])),
        data.draw(st.sampled_from([16, 64, 128, 320])),
        data.draw(st.sampled_from([bf16, f32])),
        activated=data.draw(st.booleans()),
    ),
    "softmax": lambda data: nests.softmax(
        data.draw(st.sampled_from([(4, 512), (7, 64), (2, 6, 128), (1, 2, 5, 192)])),
        data.draw(st.sampled_from([bf16, f32])),
    ),
    "residual": lambda data: nests.residual(
        data.draw(st.integers(1, 2)),
        data.draw(st.sampled_from([6, 9, 16])),
        data.draw(st.sampled_from([16, 64])),
        data.draw(st.sampled_from([32, 128])),
    ),
    "rows of a table": lambda data: nests.taken(
        data.draw(st.sampled_from([1, 5, 40])),
        data.draw(st.sampled_from([1, 7, 64, 200])),
        data.draw(st.sampled_from([(1,), (24,), (3, 5), (2, 4, 8)])),
        data.draw(st.sampled_from([bf16, f32])),
    ),
    "copy": lambda data: nests.copy(
        data.draw(st.sampled_from([(), (1,), (100,), (7, 33), (24, 64), (2, 3, 5, 20)])),
        data.draw(st.sampled_from([bf16, f32])),
    ),
}


def any_choice(data: st.DataObject, body: NestBody) -> Choice:
    """A choice for a group, legal or not."""
    found = list(strategies(body, most_steps=32))
    strategy = found[data.draw(st.integers(0, len(found) - 1), label="strategy")]
    return Choice(
        strategy,
        data.draw(st.integers(1, 3), label="load buffers"),
        data.draw(st.integers(1, 2), label="store buffers"),
        tuple(data.draw(st.sampled_from(options), label="along") for options in sharings(body, strategy)),
    )


@pytest.mark.parametrize("kind", PROGRAMS)
@given(data=st.data())
def test_any_strategy_computes_the_program(kind: str, data: st.DataObject) -> None:
    program = PROGRAMS[kind](data)
    lower = nests.lowered(program)
    body = nests.body_of(lower)
    try:
        nests.schedule(lower, body, any_choice(data, body))
    except CutError:
        assume(False)
    instructions = nests.generate(lower)
    nests.check(program, instructions)


def by_name(body: NestBody, **cuts: dict[str, int]) -> Strategy:
    names = [axis.name for axis in body.space.axes]
    return Strategy(
        **{
            where: tuple(Cut(names.index(axis), parts) for axis, parts in found.items())
            for where, found in cuts.items()
        }
    )


def test_rows_and_columns_of_tiles_share_their_loads() -> None:
    program = nests.product(256, 256, 512)
    made = nests.compiled(
        program,
        lambda body: Choice(by_name(body, x={"m": 4}, y={"n": 4}, time={"n": 2, "k": 4}), 2, 2, ("x", "y")),
    )
    nests.check(program, made.program)
    report = Simulator(made.program).run(nests.random_feeds(program)).report
    assert report.bytes["DDR to SPM"] == 2 * (256 * 256 * 2 + 256 * 512)  # x once for each half of the columns


def test_the_strategy_of_a_large_product_at_an_eighth_of_its_size() -> None:
    """What the search takes for 4096 x 4096 x 4096 on boards (docs/benchmarks/compile.md)."""
    program = nests.product(512, 512, 512)
    time = {"m": 2, "n": 2, "k": 32}
    made = nests.compiled(
        program, lambda body: Choice(by_name(body, x={"m": 4}, y={"n": 4}, time=time), 4, 1, ("x", "y"))
    )
    nests.check(program, made.program)


def test_a_row_that_is_cut_in_time_is_read_twice() -> None:
    program = nests.softmax((4, 2048))
    made = nests.compiled(program, lambda body: Choice(by_name(body, x={"d0": 4}, time={"d1": 8}), 2, 2, ("",)))
    nests.check(program, made.program)
    report = Simulator(made.program).run(nests.random_feeds(program)).report
    assert report.bytes["DDR to SPM"] == 2 * 4 * 4 * 2048


def test_a_row_that_is_cut_over_the_mesh_is_read_once() -> None:
    program = nests.softmax((4, 2048))
    made = nests.compiled(program, lambda body: Choice(by_name(body, x={"d0": 4}, y={"d1": 4}), 1, 1, ("",)))
    nests.check(program, made.program)
    report = Simulator(made.program).run(nests.random_feeds(program)).report
    assert report.bytes["DDR to SPM"] == 4 * 4 * 2048


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_tiles_changes_nothing(seed: int) -> None:
    program = nests.product(64, 128, 128)
    made = nests.compiled(
        program, lambda body: Choice(by_name(body, x={"m": 4}, y={"n": 4}, time={"k": 4}), 2, 1, ("x", "y"))
    )
    feeds = nests.random_feeds(program)
    expected = Simulator(made.program).run(feeds).outputs["y"]
    got = Simulator(made.program).run(feeds, schedule=Interleaved(seed)).outputs["y"]
    assert got.tobytes() == expected.tobytes()


def test_instructions_are_those_of_the_program_and_not_of_its_steps() -> None:
    def instructions(rows: int) -> int:
        made = nests.compiled(
            nests.softmax((rows, 128)),
            lambda body: Choice(by_name(body, x={"d0": 4}, y={"d0": 4}, time={"d0": rows // 64}), 2, 2, ("",)),
        )
        return sum(isinstance(op, tx8.Instruction) for op in made.program.module.walk())

    assert instructions(1024) == instructions(2048) < 60
