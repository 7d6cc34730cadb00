"""What watches a pipeline: each instrument says what happened, where, and nothing else."""

from __future__ import annotations

import re

import pytest

import tx8ir
from tx8ir.core import Program
from tx8ir.passes import Instrumentation, PassError, PassManager, PassRun
from tx8ir.passes.instrumentation import (
    IrDiff,
    OpCounts,
    PrintAfterAll,
    PrintAfterChange,
    Statistics,
    Timing,
    VerifyEach,
)

PIPELINE = "canonicalize,func.func(cse,dce)"


@pytest.fixture
def program() -> Program:
    return tx8ir.parse("""
module {
  func.func @main(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "pd.exp"(%x) : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    %1 = "pd.exp"(%x) : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    %2 = "pd.add"(%0, %1) : (!pd.vtensor<4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %2 : !pd.vtensor<4xf32>
  }
  func.func @same(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    return %x : !pd.vtensor<4xf32>
  }
}
""")


def test_hooks_are_called_in_order_and_nests_enclose_their_passes(program: Program) -> None:
    class Log(Instrumentation):
        def __init__(self) -> None:
            self.lines: list[str] = []

        def before_pipeline(self, program: Program) -> None:
            self.lines.append("start")

        def before_pass(self, run: PassRun) -> None:
            self.lines.append(f"> {run.text} {run.place} {'/'.join(run.path)}".strip())

        def after_pass(self, run: PassRun) -> None:
            assert run.seconds >= 0
            self.lines.append(f"< {run.text}")

        def after_pipeline(self, program: Program) -> None:
            self.lines.append("end")

    log = Log()
    PassManager.parse("canonicalize,func.func(cse)").run(program, instruments=[log])
    assert log.lines == [
        "start",
        "> canonicalize",
        "< canonicalize",
        "> func.func(cse)",
        "> cse func.func @main func.func",
        "< cse",
        "> cse func.func @same func.func",
        "< cse",
        "< func.func(cse)",
        "end",
    ]


def test_timing_adds_up_and_sums_over_operations(program: Program) -> None:
    timing = Timing()
    report = PassManager.parse(PIPELINE).run(program, instruments=[timing])
    assert timing.seconds == pytest.approx(report.seconds)
    rows = [line.split() for line in str(timing).splitlines()[1:]]
    assert [(row[3], row[4]) for row in rows[:-1]] == [
        ("1", "canonicalize"),
        ("1", "func.func(cse,dce)"),
        ("2", "cse"),
        ("2", "dce"),
    ]
    assert rows[-1][2:] == ["100.0%", "total"]


def test_equal_passes_at_different_places_are_timed_apart(program: Program) -> None:
    timing = Timing()
    PassManager.parse("cse,cse").run(program, instruments=[timing])
    assert len(str(timing).splitlines()) == 4


def test_operation_counts_say_what_changed(program: Program) -> None:
    counts = OpCounts()
    PassManager.parse(PIPELINE).run(program, instruments=[counts])
    assert [(change.text, change.place, change.delta) for change in counts.changes if change.delta] == [
        ("cse", "func.func @main", {"pd.exp": -1}),
        ("func.func(cse,dce)", "", {"pd.exp": -1}),
    ]
    assert "cse in func.func @main: 4 -> 3 operations (pd.exp -1)" in str(counts)


def test_print_after_change_is_silent_where_nothing_changed(program: Program) -> None:
    texts: list[str] = []
    PassManager.parse(PIPELINE).run(program, instruments=[PrintAfterChange(texts.append)])
    (text,) = texts
    assert text.startswith("// -----// IR after cse in func.func @main //----- //\nfunc.func @main")
    assert text.count("pd.exp") == 1


def test_print_after_all_shows_every_pass_and_parses(program: Program) -> None:
    texts: list[str] = []
    PassManager.parse(PIPELINE).run(program, instruments=[PrintAfterAll(texts.append)])
    assert [re.match("// -----// (.*) //-----", text)[1] for text in texts] == [
        "IR after canonicalize",
        "IR after cse in func.func @main",
        "IR after dce in func.func @main",
        "IR after cse in func.func @same",
        "IR after dce in func.func @same",
    ]
    for text in texts:
        tx8ir.parse(text).verify()


def test_differences_are_unified_diffs(program: Program) -> None:
    written: list[str] = []
    diffs = IrDiff(written.append, context=0)
    PassManager.parse(PIPELINE).run(program, instruments=[diffs])
    (diff,) = diffs.diffs
    assert written == [str(diff)]
    assert (diff.text, diff.place) == ("cse", "func.func @main")
    lines = diff.diff.splitlines()
    assert lines[:2] == ["--- before cse in func.func @main", "+++ after cse in func.func @main"]
    assert sum(line.startswith("-  ") for line in lines) == 3  # a pd.exp; the rest is renumbered
    assert sum(line.startswith("+  ") for line in lines) == 2


def test_statistics_are_summed_by_pass(program: Program) -> None:
    statistics = Statistics()
    PassManager.parse(f"{PIPELINE},cse").run(program, instruments=[statistics])
    assert statistics.counts == {"canonicalize": {}, "cse": {"merged": 1}, "dce": {}}
    assert "cse\n       1  merged" in str(statistics)


def test_verification_is_an_instrument_too(program: Program) -> None:
    program.main.body.block.terminator.set_operands(())
    with pytest.raises(PassError, match="invalid before the first pass"):
        PassManager.parse("cse").run(program, verify_each=False, instruments=[VerifyEach()])


def test_the_text_is_shown_when_the_verification_fails() -> None:
    broken = tx8ir.parse("""
module {
  func.func @main(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    return %x : !pd.vtensor<4xf32>
  }
}""")
    broken.main.body.block.terminator.set_operands(())
    texts: list[str] = []

    class Late(VerifyEach):
        def before_pipeline(self, program: Program) -> None:
            pass

    with pytest.raises(PassError, match="invalid after pass 'cse'"):
        PassManager.parse("cse").run(broken, verify_each=False, instruments=[Late(), PrintAfterAll(texts.append)])
    assert texts[0].startswith("// -----// IR after the failure of cse //----- //")
