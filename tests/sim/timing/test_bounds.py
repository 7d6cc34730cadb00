"""Groups beside their bounds: what is tight is named, no run is below its bound, and times add up to the program's."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import tx8ir
from support.timed import ALL, RATE, A, B, C, D, rdma, tdma, timed, unary
from tx8ir.dialects import tx8
from tx8ir.sim import SimReport
from tx8ir.sim.timing.bounds import group_of
from tx8ir.target import cost
from tx8ir.target.chip import BOARD, TX8


def of_group(group: int, instruction: tuple[Any, dict[str, Any]]) -> tuple[Any, dict[str, Any]]:
    op, fields = instruction
    return op, {**fields, "source": f"group {group} Relu"}


def spans(report: SimReport) -> dict[str, int]:
    """From when the first instruction of each group was issued to the end of the last one."""
    found: dict[str, tuple[int, int]] = {}
    for event in report.events:
        if event.item.engine is not None:
            name = group_of(event.item.op.source or "")
            first, last = found.get(name, (event.done, 0))
            issued = event.issued - report.target.profile.issue_cycles
            found[name] = min(first, issued), max(last, event.done)
    return {name: last - first for name, (first, last) in found.items()}


def test_a_group_is_bound_by_the_engine_with_the_most_work() -> None:
    report = timed(tdma(A, B, 4096), *[unary(C, D, 8192)] * 3)
    (group,) = report.groups
    assert (group.tight, group.bound) == ("CT", 3 * cost.ct(TX8, 4 * 8192))
    assert group.cycles == report.cycles == report.whole.cycles


def test_by_the_bandwidth_where_all_tiles_load() -> None:
    (group,) = timed(*[rdma(100_000, ALL, spm) for spm in (A, C)]).groups
    assert (group.tight, group.bound) == ("DDR", 2 * 16 * 100_000 // RATE)
    assert group.cycles == group.bound + 2 * TX8.profile.dma_startup_cycles


def test_by_a_chain_of_what_is_read_and_written() -> None:
    report = timed(tdma(A, B), unary(B, C), tdma(C, D))
    (group,) = report.groups
    assert (group.tight, group.bound) == ("latency", 2 * cost.tdma(TX8, 4096) + cost.ct(TX8, 4096))
    assert group.ratio == 1


def test_by_the_kernel_core_where_instructions_are_small() -> None:
    report = timed(*[unary(A, B, 32)] * 5, target=attrs.evolve(TX8, profile=BOARD))
    assert (report.whole.tight, report.whole.bound) == ("issue", 5 * 1000)


def test_by_the_links_where_messages_want_the_same() -> None:
    """Tiles 0, 1 and 2 send to tile 3 of their line: the last link passes all, and each tile sends a third."""
    senders = (0, 1, 2)
    ops: list[Any] = [
        (tx8.dte_arm, {"tiles": (3,), "dst": (A + (tile << 16),), "peers": (tile,), "nbytes": 1 << 16, "channel": tile})
        for tile in senders
    ]
    ops += [
        (tx8.dte_send, {"tiles": (tile,), "src": (A,), "peers": (3,), "nbytes": 1 << 16, "channel": tile})
        for tile in senders
    ]
    (group,) = timed(*ops).groups
    assert group.tight == "links"
    each = cost.dte(TX8, 1 << 16) - TX8.profile.dte_message_cycles
    assert group.bound == 3 * each <= group.cycles


INSTRUCTIONS = st.one_of(
    st.builds(unary, st.sampled_from([A, B, C]), st.just(D), st.sampled_from([32, 4096]), st.just(ALL)),
    st.builds(tdma, st.sampled_from([A, B, D]), st.just(C), st.sampled_from([64, 4096]), st.just(ALL[:3])),
    st.builds(rdma, st.sampled_from([512, 50_000]), st.just(ALL), st.sampled_from([A, B])),
)


@given(
    st.lists(st.tuples(st.integers(0, 1), INSTRUCTIONS), min_size=1, max_size=12), st.sampled_from([TX8.profile, BOARD])
)
def test_nothing_is_faster_than_its_bound(drawn: list[tuple[int, Any]], profile: Any) -> None:
    ops = [of_group(group, instruction) for group, instruction in sorted(drawn, key=lambda one: one[0])]
    report = timed(*ops, target=attrs.evolve(TX8, profile=profile))
    assert sum(group.cycles for group in report.groups) == report.cycles
    assert report.whole.bound <= report.cycles
    for group in report.groups:
        assert group.bound <= spans(report)[group.group]


def test_reports_of_compiled_programs_print_the_ratio_of_each_group() -> None:
    program = tx8ir.parse(
        """module { func.func @main(%x: !pd.vtensor<64x64xf32>) -> !pd.vtensor<64x64xf32>
            attributes {arg_names = ["x"], result_names = ["y"]} {
            %0 = "pd.softmax"(%x) {axis = 1 : i32} : (!pd.vtensor<64x64xf32>) -> !pd.vtensor<64x64xf32>
            return %0 : !pd.vtensor<64x64xf32> } }"""
    )
    executable = tx8ir.compile(program)
    executable.run({"x": np.zeros((64, 64), np.float32)})
    (group,) = executable.estimate().groups
    line = f"{group.group}  {group.cycles:>6,}  {group.bound:>5,}  {group.ratio:>5.2f}  {group.tight}"
    for text in (str(executable.report), str(executable.estimate())):
        assert line in text, text
