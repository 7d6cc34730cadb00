"""Passes that are wrong, each in a way that real compilers have been: the oracle catches every one.

The same programs are tried on each, up to the first that it gets wrong. Of some passes every day, and of all at
night, that one is reduced, and must end as a handful of operations. The table of all of them:
``python -m support.known_miscompilations``.
"""

from __future__ import annotations

import functools

import pytest

from support.known_miscompilations import BANK, BrokenPass, Measured, draw_programs, measure
from support.known_miscompilations.__main__ import main
from tx8ir.testing.passes.preserve import reduce_counterexample

PROGRAMS = 999
"""As many as are drawn the same every time; nearly all passes are caught within the first 150."""
SMALL = 5
"""Operations of a reduced program, but for those below."""

LARGER = {
    # a loop or a branch, and what is inside it
    "both_branches_run": 8,
    "cse_across_mutation": 8,
    "cse_across_blocks": 8,
    "effectful_loop_dropped": 7,
    "loop_carried_alias_forgotten": 8,
    "loop_carried_value_forgotten": 6,
    "loop_peeled_once_too_often": 6,
    "loop_run_at_least_once": 8,
    "loop_values_assigned_one_by_one": 8,
    "read_forwarded_past_an_alias": 6,
    "read_forwarded_past_control_flow": 8,
    "read_hoisted_out_of_a_loop": 8,
    "write_hoisted_out_of_a_loop": 8,
    "yields_of_a_branch_exchanged": 8,
}


def test_the_bank_is_large_and_says_what_is_wrong() -> None:
    assert len(BANK) >= 75
    assert len({broken.name for broken in BANK}) == len(BANK)
    assert {broken.name for broken in BANK} >= {*REDUCED_EVERY_DAY, *LARGER}
    assert all(len(broken.mistake) > 20 for broken in BANK)


REDUCED_EVERY_DAY = {
    "subtract_with_swapped_operands",
    "casts_merged",
    "reduction_over_the_wrong_axis",
    "transposes_composed_in_the_wrong_order",
    "list_of_copies",
    "both_branches_run",
    "loop_carried_value_forgotten",
    "block_argument_of_one_predecessor",
    "inlined_with_swapped_arguments",
    "cse_across_blocks",
    "parameter_reads_merged",
    "dead_store_that_was_read",
}
"""Of every kind of reduction some: of operands, attributes, types, branches, loops, blocks, calls and storage."""


@functools.cache
def caught(broken: BrokenPass) -> Measured:
    """Its first wrong program, looked for once."""
    return measure(broken, draw_programs(broken.features, PROGRAMS), all=False, reduce=False)


@pytest.mark.parametrize("broken", BANK, ids=lambda broken: broken.name)
def test_a_broken_pass_is_caught(broken: BrokenPass) -> None:
    """Caught as what it is, another answer or an invalid program; an exception of the pass would not count."""
    found = caught(broken).found
    assert found is not None, f"{broken.name} got {PROGRAMS} programs right"
    assert found.failure.stage.subject is broken.run
    assert found.failure.kind == broken.shows_as


@pytest.mark.parametrize(
    "broken",
    [pytest.param(b, marks=[pytest.mark.nightly] * (b.name not in REDUCED_EVERY_DAY)) for b in BANK],
    ids=lambda broken: broken.name,
)
def test_what_a_broken_pass_gets_wrong_is_reduced(broken: BrokenPass) -> None:
    found = caught(broken).found
    assert found is not None, f"{broken.name} got {PROGRAMS} programs right"
    reduced = reduce_counterexample(found)
    assert reduced.failure.stage.subject is broken.run
    assert reduced.failure.kind == broken.shows_as
    assert reduced.operations <= LARGER.get(broken.name, SMALL), str(reduced)


def test_the_table_counts_what_is_not_caught(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(0) == 1
    assert capsys.readouterr().out.splitlines()[-1] == f"0 of {len(BANK)} broken passes caught within 0 programs"
