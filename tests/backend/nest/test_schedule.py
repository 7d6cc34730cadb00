"""The schedule in the IR: printed, parsed, verified, read back; and what `schedule-groups` does in the compiler."""

from __future__ import annotations

import pytest

import tx8ir
from support import nests
from tx8ir.backend.axes import Cut, Strategy
from tx8ir.backend.graph import CompileError, schedule_of
from tx8ir.backend.nest.body import refusal
from tx8ir.backend.nest.choice import Choice
from tx8ir.backend.nest.schedule import read_schedule
from tx8ir.compiler import CompileOptions, lower
from tx8ir.core import Program, VerifyError, f32, parse
from tx8ir.interpreter import evaluate
from tx8ir.testing import check

SHARED = Choice(Strategy((Cut(0, 4),), (Cut(1, 4),), (Cut(2, 8),)), 2, 1, ("x", "y"))


def scheduled() -> Program:
    program = nests.lowered(nests.product(256, 256, 512))
    nests.schedule(program, nests.body_of(program), SHARED)
    return program


def changed(old: str, new: str, count: int = 1) -> Program:
    text = str(scheduled())
    assert old in text
    return parse(text.replace(old, new, count))


def test_text_goes_both_ways() -> None:
    program = scheduled()
    again = parse(str(program))
    again.verify()
    assert str(again) == str(program)
    (group,) = nests.groups(again)
    found = read_schedule(group)
    assert found.nest.choice.strategy == SHARED.strategy
    assert [level.trips for level in found.nest.levels] == [8]
    assert found.counts == (2, 2, 1)


def test_what_is_read_back_generates_the_same_code() -> None:
    program = scheduled()
    again = parse(str(program))
    assert str(nests.generate(again)) == str(nests.generate(program))


def test_a_scheduled_graph_evaluates_as_before() -> None:
    source = nests.product(256, 256, 512)
    feeds = nests.random_feeds(source)
    expected = evaluate(source, feeds, "fp64")["y"]
    (got,) = evaluate(scheduled(), feeds, "fp64").values()
    assert abs(got - expected).max() < 1e-9


@pytest.mark.parametrize(("old", "new", "message"), [
    ('role = "send"', 'role = "shout"', 'there is no role "shout"; expected one of load, arm, send'),
    ('engine = "ne"', 'engine = "st"', 'compute is done by ne or ct or tdma or ld, not by "st"'),
    ("times = 6", "times = 7", "runs in trips 2..8 of loop 0, which has 8"),
    ("times = 6", "times = 0", "times is 0; expected at least 1"),
    ("over = array<i64: 0>", "over = array<i64: 1>", "over names repeat 1; there are 1 around the step"),
    ('along = "x"', 'along = "z"', 'along is "z"; expected "x", "y", "xy" or nothing'),
    ('time = ["k=8"]', 'time = ["k"]', '"k" is no cut; expected an axis and a number of parts, as in "m=4"'),
    ('time = ["k=8"]', 'time = ["k=8", "n=2"]', "are for 1 and 1 loops; the strategy has 2"),
])  # fmt: skip
def test_a_schedule_that_is_wrong_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(VerifyError) as error:
        changed(old, new).verify()
    assert message in str(error.value)


def test_an_axis_that_the_group_does_not_have_is_named() -> None:
    (group,) = nests.groups(changed('"k=8"', '"q=8"'))
    with pytest.raises(CompileError, match='the strategy cuts "q"; the axes of the group are m, n, k'):
        read_schedule(group)


def test_the_compiler_schedules_what_has_no_tiling() -> None:
    program = nests.softmax((4, 32000))
    (group,) = nests.groups(lower(program, through="schedule-groups"))
    assert schedule_of(group) is not None
    assert check(program).passed


def test_the_compiler_schedules_all_groups() -> None:
    for m in (64, 1024):
        (group,) = nests.groups(lower(nests.product(m, 64, 128), through="schedule-groups"))
        assert schedule_of(group) is not None


def test_constants_of_loop_nests_are_fetched_before_the_barrier() -> None:
    program = nests.residual(1, 9, 16, 32)
    options = CompileOptions(opt_group="single")
    assert check(program, options=options).passed
    names = [op.name for op in tx8ir.compile(program, options=options).program.module.walk()]
    first = names.index("tx8.barrier")
    assert "tx8.rdma" in names[names.index("tx8.wdma") : first]


@pytest.mark.parametrize(
    "program",
    [nests.copy((4, 100)), nests.copy(()), nests.taken(9, 33, (4, 3)), nests.scaled_by_its_mean((6, 5))],
    ids=["copy", "copy of a scalar", "rows of a table", "scalars"],
)
def test_groups_of_all_kinds_have_loops(program: Program) -> None:
    found = nests.groups(lower(program, through="schedule-groups"))
    assert all(schedule_of(group) is not None or group.group_tag == 2 for group in found)
    assert check(program).passed


def test_what_is_not_covered_says_why() -> None:
    program = lower(nests.reshaped(), through="group-mapping")
    assert [refusal(group) for group in nests.groups(program)] == ["it is an alias in DDR"]


def test_blocks_with_padding_lanes_are_changed_in_spm() -> None:
    program = nests.product(64, 10, 64, f32)
    lower = nests.lowered(program)
    body = nests.body_of(lower)
    assert [op.name for op in body.space.ops] == ["tx8be.ChannelNorm", "tx8be.Gemm"]
    nests.schedule(lower, body, Choice(Strategy((Cut(0, 4),), (Cut(2, 4),))))
    nests.check(program, nests.generate(lower))
