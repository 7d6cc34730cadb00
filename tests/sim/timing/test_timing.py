"""Time: engines overlap, conflicts and barriers wait, DDR and links are shared, and all cycles are accounted for."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.timed import ALL, DDR, RATE, A, B, C, D, rdma, tdma, timed, unary
from tx8ir.core import Builder, Program
from tx8ir.dialects import tx8
from tx8ir.kernels import Kernel, all_reduce
from tx8ir.sim import SimReport, time_program
from tx8ir.sim.timing.clock import STALLS
from tx8ir.target import cost
from tx8ir.target.chip import BOARD, TX8


def stall(report: SimReport, cause: str) -> int:
    return report.stalls_by_cause[cause]


def test_engines_overlap_unless_their_bytes_conflict() -> None:
    copy, work = cost.tdma(TX8, 4096), cost.ct(TX8, 4096)
    assert timed(tdma(A, B), unary(C, D)).cycles == max(copy, work)
    for first, second, cause in (
        (tdma(A, B), unary(B + 4092, D), "RAW"),
        (tdma(A, B), unary(C, A + 4092), "WAR"),
        (tdma(A, B), unary(C, B + 4092), "WAW"),
    ):
        report = timed(first, second)
        assert report.cycles == copy + work
        assert report.stalls_by_cause == {c: copy if c == cause else 0 for c in STALLS}


def test_an_engine_executes_its_queue_in_order() -> None:
    report = timed(unary(A, B), unary(C, D))
    work = cost.ct(TX8, 4096)
    assert report.cycles == 2 * work
    assert stall(report, "engine busy") == work


@pytest.mark.parametrize("tiles", [1, 2, 4, 16])
def test_tiles_that_transfer_together_share_the_bandwidth(tiles: int) -> None:
    report = timed(rdma(100_000, ALL[:tiles]))
    assert report.cycles == cost.dma(TX8, 100_000, DDR, sharing=tiles)
    assert stall(report, "DDR bandwidth") == tiles * (report.cycles - cost.dma(TX8, 100_000, DDR, sharing=1))


def test_who_transfers_alone_has_the_whole_bandwidth() -> None:
    """One tile loads twice as much as the other: half of the time they share, then it is alone."""
    report = timed(rdma(100_000, (0,)), rdma(200_000, (1,)))
    startup = TX8.profile.dma_startup_cycles
    shared = 2 * 100_000 / RATE
    assert report.ends.max(axis=0)[:2].tolist() == [startup + shared, startup + shared + 100_000 / RATE]


def test_a_transfer_that_comes_later_slows_the_first_down() -> None:
    """Tile 1 first works for some time on the bytes that it will overwrite, so that its transfer starts later."""
    late = cost.ct(TX8, 4 * 8192)
    report = timed(rdma(200_000, (0,), C), unary(A, B, 8192, (1,)), rdma(100_000, (1,)))
    startup = TX8.profile.dma_startup_cycles
    alone = late * RATE  # what tile 0 has transferred when tile 1 begins
    together = 2 * 100_000 / RATE
    first = startup + late + together + (200_000 - alone - 100_000) / RATE
    assert report.ends.max(axis=0)[:2].tolist() == [first, startup + late + together]


def test_the_kernel_core_takes_time_to_issue() -> None:
    target = attrs.evolve(TX8, profile=BOARD)
    report = timed(*[unary(A, B, 32)] * 5, target=target)
    assert report.cycles == 5 * 1000 + cost.ct(target, 128)
    assert stall(report, "issue") == report.cycles - 5 * cost.ct(target, 128)


def test_an_instruction_waits_for_an_entry_of_the_busytable() -> None:
    target = attrs.evolve(TX8, profile=attrs.evolve(TX8.profile, instructions_in_flight=1))
    report = timed(tdma(A, B), unary(C, D), target=target)
    assert report.cycles == cost.tdma(TX8, 4096) + cost.ct(TX8, 4096)
    assert stall(report, "issue") == cost.tdma(TX8, 4096)


def test_a_barrier_joins_the_tiles_it_names() -> None:
    work, short = cost.ct(TX8, 4096), cost.ct(TX8, 128)
    report = timed(
        unary(A, B), (tx8.barrier, {"tiles": (0, 1)}), unary(A, B, 32, (1,)), unary(A, B, 32, (2,))
    )  # fmt: skip
    assert report.cycles == work + cost.barrier(TX8) + short
    assert report.ends.max(axis=0)[:3].tolist() == [work, report.cycles, short]
    assert stall(report, "barrier") == work + cost.barrier(TX8)


def message(receiver: int, sender: int, nbytes: int = 4096, src: int = A, dst: int = B) -> list[Any]:
    return [
        (tx8.dte_arm, {"tiles": (receiver,), "peers": (sender,), "dst": (dst,), "nbytes": nbytes}),
        (tx8.dte_send, {"tiles": (sender,), "peers": (receiver,), "src": (src,), "nbytes": nbytes}),
        (tx8.dte_wait, {"tiles": (receiver,), "peers": (sender,)}),
    ]


def test_a_receiver_goes_on_when_its_message_has_come() -> None:
    send, work = cost.dte(TX8, 4096), cost.ct(TX8, 4096)
    report = timed(*message(1, 0), unary(B, C, tiles=(1,)))
    assert report.cycles == send + work
    assert stall(report, "message") == send
    assert report.bytes["tile to tile"] == 4096


def test_messages_over_one_link_go_one_after_the_other() -> None:
    """Routes go along x first: 0 to 8 passes 0-4-8, and 4 to 8 wants the second of these links."""
    one = cost.dte(TX8, 4096)

    def both(other: list[Any]) -> SimReport:
        return timed(*[op for pair in zip(message(8, 0), other, strict=True) for op in pair])

    crossing = both(message(8, 4, dst=C))
    assert crossing.cycles == 2 * one
    assert stall(crossing, "link") == one
    apart = both(message(5, 4, dst=C))
    assert apart.cycles == one
    assert stall(apart, "link") == 0


def test_a_send_that_waits_for_an_entry_of_the_busytable_takes_its_arm_once() -> None:
    arm, send, wait = message(1, 0)
    full = [rdma(4096, (0,), D), *[unary(B, C, 32)] * (TX8.profile.instructions_in_flight - 1)]
    report = timed(arm, *full, send, wait)
    assert report.bytes["tile to tile"] == 4096
    assert stall(report, "issue") > 0


def test_the_first_message_of_a_tile_costs_more_on_boards() -> None:
    target = attrs.evolve(TX8, profile=attrs.evolve(BOARD, issue_cycles=0))
    assert timed(*message(1, 0), target=target).cycles == 13_000 + 32
    assert timed(*message(1, 0), *message(1, 0), target=target).cycles == 13_000 + 1_500 + 2 * 32


def test_a_loop_moves_its_addresses() -> None:
    """Double buffers: the load of the next trip overlaps the work of this one; with one buffer it cannot."""

    def cycles(buffers: int) -> int:
        program = Program.empty()
        with Builder.at_end(program.body):
            block = tx8.program().body.block
        with Builder.at_end(block):
            tx8.segment(segment_name="const", address=DDR, size=1 << 20, kind="const")
            loop = tx8.loop(count=10, tiles=(0,))
        follow = [tx8.Follow(field="spm", level=0, stride=65536, modulo=buffers)]
        src = [tx8.Follow(field="src", level=0, stride=65536, modulo=buffers)]
        with Builder.at_end(loop.body.block):
            tx8.rdma(spm=(A,), ddr=(DDR,), element_bytes=1, count=65536, tiles=(0,), follows=follow)
            tx8.unary(function="abs", src=(A,), dst=(0x200000,), count=16384, format="f32", tiles=(0,), follows=src)
        program.verify()
        return time_program(program).cycles

    load, work = cost.dma(TX8, 65536, DDR, sharing=1), cost.ct(TX8, 65536)
    assert cycles(2) == 10 * max(load, work) + min(load, work)
    assert cycles(1) == 10 * (load + work)


INSTRUCTIONS = st.one_of(
    st.builds(
        unary, st.sampled_from((A, B, C)), st.sampled_from((A, B, D)), st.integers(1, 4000),
        st.sampled_from([(0,), (1, 2), ALL]),
    ),
    st.builds(
        tdma, st.sampled_from((A, C)), st.sampled_from((B, D)), st.integers(1, 9000), st.sampled_from([(1,), ALL])
    ),
    st.builds(rdma, st.integers(1, 60_000), st.sampled_from([(0,), (1, 2), (3, 4, 5), ALL]), st.sampled_from((A, C))),
    st.sampled_from([(0, 1), (2, 3, 4), ALL]).map(lambda tiles: (tx8.barrier, {"tiles": tiles})),
)  # fmt: skip


@given(st.lists(INSTRUCTIONS, min_size=1, max_size=25), st.sampled_from((0, 30)), st.sampled_from((2, 64)))
@settings(max_examples=60)
def test_every_cycle_is_accounted_for(program: list[Any], issue: int, depth: int) -> None:
    """Busy and idle cycles of an engine add up to the end of its last instruction, and no queue is overtaken."""
    profile = attrs.evolve(TX8.profile, issue_cycles=issue, instructions_in_flight=depth)
    report = timed(*program, target=attrs.evolve(TX8, profile=profile))
    idle = sum(report.stalls[STALLS.index(c)] for c in ("RAW", "WAR", "WAW", "issue", "barrier", "message", "link"))
    assert (report.busy + idle == report.ends).all()
    assert report.stalls.min() >= 0
    _check_rule(report)
    path = report.critical_path
    assert path[-1].end == report.cycles
    assert all(before.end <= step.start for before, step in pairwise(path))
    # Bandwidth: no more bytes than DDR can give, from the end of the first start-up on.
    moved = sum(e.item.ddr_bytes * len(e.tiles) for e in report.events)
    transfers = [e for e in report.events if e.item.ddr_bytes]
    if transfers:
        span = max(e.done for e in transfers) - min(e.start + e.item.cycles[0] for e in transfers)
        assert moved <= (span + 1) * RATE


def _check_rule(report: SimReport) -> None:
    """The rule of the busytable, by comparing each event with all earlier ones of the same tile."""
    for tile in range(TX8.tiles):
        events = sorted((e for e in report.events if tile in e.tiles and e.intervals), key=lambda e: e.item.index)
        for i, event in enumerate(events):
            for other in events[:i]:
                conflict = any(
                    (w or v) and low < end and first < high
                    for low, high, w in event.intervals
                    for first, end, v in other.intervals
                )
                if conflict or other.item.engine is event.item.engine:
                    assert event.start >= other.done


def test_tiles_in_step_are_timed_as_one_and_reported_each(tools: Any) -> None:
    report = timed(unary(A, B, tiles=(0, 1, 5)), unary(A, B, tiles=(3,)))
    work = cost.ct(TX8, 4096)
    assert [row["CT"] for row in report.cycles_by_tile] == [work if t in (0, 1, 3, 5) else 0 for t in ALL]
    assert len(report.events) == 2


def test_the_report_adds_up_by_engine_path_and_source() -> None:
    first = (tx8.unary, {**unary(A, B, tiles=ALL)[1], "source": "first"})
    second = (tx8.unary, {**unary(B, C, tiles=ALL)[1], "source": "second"})
    copy = (tx8.tdma, {**tdma(C, D, 256, ALL)[1], "source": "second"})
    report = timed(rdma(4096, ALL), first, second, copy, (tx8.barrier, {"tiles": ALL}))
    ct, move, load = cost.ct(TX8, 4096), cost.tdma(TX8, 256), cost.dma(TX8, 4096, DDR)
    assert report.instructions == 5
    assert report.bytes == {"DDR to SPM": 65536, "SPM to DDR": 0, "SPM to SPM": 4096, "tile to tile": 0}
    assert report.cycles == load + 2 * ct + move + cost.barrier(TX8)
    assert report.cycles_by_engine["CT"] == 2 * ct
    assert report.utilisation["CT"] == pytest.approx(2 * ct / report.cycles)
    assert [(r.source, r.instructions, r.cycles, r.bytes) for r in report.by_source] == [
        ("(no source)", 2, load, 65536),
        ("first", 1, ct, 0),
        ("second", 2, ct + move, 4096),
    ]
    assert [s.name for s in report.critical_path] == ["tx8.rdma", "tx8.unary", "tx8.unary", "tx8.tdma", "tx8.barrier"]
    assert [s.cause for s in report.critical_path] == ["", "RAW", "engine busy", "RAW", "barrier"]


def test_the_report_adds_up_by_group_and_by_memory() -> None:
    def named(op: Any, source: str) -> Any:
        return op[0], {**op[1], "source": source}

    load = named(rdma(4096, (0, 1)), "group 3 LoadVar x")
    work = named(unary(A, B, tiles=(0, 1)), "group 3 Relu")
    other = named(unary(C, D, tiles=(1,)), "group 4 Relu")
    report = timed(load, work, other, (tx8.barrier, {"tiles": ALL, "source": "barrier before group 4"}))
    ct = cost.ct(TX8, 4096)
    ddr = int(report.busy[report.engines.index("RDMA")].max())
    assert [(r.source, r.instructions, r.cycles, r.bytes) for r in report.by_group] == [
        ("group 3", 2, ddr + ct, 8192),
        ("group 4", 2, ct, 0),
    ]
    assert report.cycles_by_group["group 3"] == {e: {"RDMA": ddr, "CT": ct}.get(e, 0) for e in report.engines}
    np.testing.assert_array_equal(sum(r.busy for r in report.by_group), report.busy)
    np.testing.assert_array_equal(sum(r.busy for r in report.by_source), report.busy)
    assert (report.traffic["DDR"].read, report.traffic["DDR"].written) == (8192, 0)
    assert (report.traffic["SPM"].read, report.traffic["SPM"].written) == (3 * 4096, 2 * 4096 + 3 * 4096)
    assert "busy cycles by group" in str(report)
    assert "busy cycles by source" in str(report)


def test_a_broadcast_is_read_once_and_written_by_every_receiver() -> None:
    arm = (tx8.dte_arm, {"tiles": (1, 2, 3), "peers": (0,), "dst": (A,), "nbytes": 512})
    send = (tx8.dte_send, {"tiles": (0,), "peers": (1, 2, 3), "pattern": "broadcast", "src": (A,), "nbytes": 512})
    report = timed(arm, send)
    assert (report.traffic["SPM"].read, report.traffic["SPM"].written) == (512, 3 * 512)


def test_of_a_gather_the_rows_count_that_are_copied() -> None:
    gather = {"tiles": (0,), "spm": (A,), "ddr": (DDR,), "index_spm": (B,), "row_bytes": 64, "row_stride_bytes": 64}
    report = timed((tx8.rdma_gather, {**gather, "count": 3, "rows": 1000}))
    assert report.traffic["DDR"].read == 3 * 64


def gemm(m: int, k: int, n: int, tiles: tuple[int, ...] = ALL, format: str = "bf16") -> Any:
    fields = {"lhs": (A,), "rhs": (0x80000,), "out": (0x100000,), "m": m, "k": k, "n": n, "tiles": tiles}
    return tx8.gemm, {**fields, "in_format": format, "out_format": format}


def test_the_roofline_says_what_bounds_a_program() -> None:
    light = timed(rdma(1 << 16, ALL), gemm(8, 64, 64)).roofline
    assert light.bound == "DDR bandwidth"
    assert light.operations == 2 * 8 * 64 * 64 * 16
    assert light.ddr_bytes == 16 << 16
    assert light.attained < light.roof < light.peak
    assert light.peak == pytest.approx(TX8.peak_operations_per_second("bf16"))
    heavy = timed(rdma(1024, ALL), *[gemm(256, 256, 256)] * 8).roofline
    assert heavy.bound == "compute"


# -- published facts -----------------------------------------------------------------------------------------------


def test_a_4_kib_instruction_of_the_vector_unit_takes_77_cycles() -> None:
    assert timed(unary(A, B, 1024)).cycles == 77


@pytest.mark.parametrize("format", ["bf16", "f16"])
def test_a_gemm_of_one_row_streams_128_weights_per_cycle_and_tile(format: str) -> None:
    k, n = 1024, 512
    assert timed(gemm(1, k, n, format=format)).cycles_by_engine["NE"] == k * n / 128


def test_another_chip_runs_the_same_kernels(tools: Any) -> None:
    """2 x 2 tiles, 1 MiB of SPM, half of the matrix peak, other bandwidths: a target is data."""
    profile = attrs.evolve(
        TX8.profile, name="small", ne_steps_per_cycle=(("f32", 1, 3),), ct_bytes_per_cycle=64, ddr_bytes_per_cycle=50.0
    )
    small = attrs.evolve(
        TX8, name="small", grid=(2, 2), spm_bytes=1 << 20, spm_allocatable=(0x10000, 0xF0000), profile=profile
    )
    bench = tools.Bench((0, 1, 2, 3))
    x = tools.random_values(0, (4, 1, 1, 8, 64), "f32")
    y = tools.random_values(1, (4, 1, 1, 64, 32), "f32")
    lhs, rhs, out = bench.put_tensor(x, "f32"), bench.put_tensor(y, "f32"), bench.room(8 * 32 * 4)
    bench.do(tx8.gemm, lhs=lhs, rhs=rhs, out=out, m=8, k=64, n=32, in_format="f32", out_format="f32")
    bench.do(tx8.unary, function="relu", src=out, dst=out, count=8 * 32, format="f32")
    bench.get(out, 8 * 32 * 4)
    (on_small,) = bench.run(small)
    report = bench.report
    expected = np.maximum(x[:, 0, 0].astype(np.float64) @ y[:, 0, 0], 0)
    np.testing.assert_allclose(tools.tensor(on_small, (1, 1, 8, 32), "f32")[:, 0, 0], expected, rtol=0, atol=1e-4)
    assert report.busy.shape[1] == 4
    assert report.cycles_by_engine["NE"] == 16 * 3  # steps of 8 x 16 x 8, a third each per cycle
    assert report.cycles_by_engine["CT"] == 45 + 8 * 32 * 4 // 64
    big = time_program(bench.program)
    assert big.cycles < report.cycles


def tx8_format(name: str) -> Any:
    from tx8ir.target.formats import Format

    return Format.named(name)


# -- trace ---------------------------------------------------------------------------------------------------------


FIELDS = {
    "M": {"name", "ph", "pid", "tid", "args"},
    "X": {"name", "cat", "ph", "pid", "tid", "ts", "dur", "args"},
    "s": {"name", "cat", "ph", "pid", "tid", "ts", "id"},
    "f": {"name", "cat", "ph", "pid", "tid", "ts", "id", "bp"},
}
"""What the Trace Event Format asks of an entry, by phase; nothing else is written."""
METADATA = {
    "process_name": ("name", str),
    "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str),
    "thread_sort_index": ("sort_index", int),
}


def checked_trace(report: SimReport, path: Path) -> list[dict[str, Any]]:
    """The entries of a trace, which follow the format to the letter."""
    document = json.loads(report.trace(path).read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert document.keys() == {"displayTimeUnit", "traceEvents"}
    assert document["displayTimeUnit"] in ("ms", "ns")
    entries: list[dict[str, Any]] = document["traceEvents"]
    for entry in entries:
        assert entry.keys() == FIELDS[entry["ph"]], entry
        assert type(entry["pid"]) is int
        assert type(entry["tid"]) is int
        assert entry["name"]
        if entry["ph"] == "M":
            key, kind = METADATA[entry["name"]]
            assert entry["args"].keys() == {key}
            assert type(entry["args"][key]) is kind
        else:
            assert entry["ts"] >= 0
            assert entry["cat"]
    phases = [entry["ph"] for entry in entries]
    assert "M" not in phases[phases.index("X") :]  # names come first
    assert all(a["ts"] <= b["ts"] for a, b in pairwise(e for e in entries if e["ph"] != "M"))
    tracks = {(e["pid"], e["tid"]) for e in entries if e["name"] == "thread_name"}
    processes = {e["pid"] for e in entries if e["name"] == "process_name"}
    slices: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for entry in entries:
        if entry["ph"] != "M":
            assert (entry["pid"], entry["tid"]) in tracks
            assert entry["pid"] in processes
        if entry["ph"] == "X":
            assert entry["dur"] >= 0
            slices.setdefault((entry["pid"], entry["tid"]), []).append(entry)
    for mine in slices.values():  # an engine does one thing at a time (but for an arm, which takes none)
        lasting = [e for e in mine if e["dur"]]
        assert all(a["ts"] + a["dur"] <= b["ts"] + 1e-9 for a, b in pairwise(lasting))
    starts = {e["id"]: e for e in entries if e["ph"] == "s"}
    ends = {e["id"]: e for e in entries if e["ph"] == "f"}
    assert starts.keys() == ends.keys()
    assert len(starts) + len(ends) == phases.count("s") + phases.count("f")  # ids are distinct
    for key, start in starts.items():
        end = ends[key]
        assert (start["name"], start["cat"], end["bp"]) == (end["name"], end["cat"], "e")
        assert start["name"] in STALLS
        assert start["ts"] <= end["ts"]
        assert any(s["ts"] <= start["ts"] <= s["ts"] + s["dur"] for s in slices[start["pid"], start["tid"]])
        assert any(s["ts"] == end["ts"] for s in slices[end["pid"], end["tid"]])
    return entries


def test_the_trace_follows_the_trace_event_format(tmp_path: Path) -> None:
    first = (tx8.unary, {**unary(A, B, tiles=(0, 1))[1], "source": "group 3 Relu node"})
    report = timed(rdma(4096, (0, 1)), first, *message(3, 2, src=A), (tx8.barrier, {"tiles": ALL}))
    entries = checked_trace(report, tmp_path / "trace.json")
    assert {entry["ph"] for entry in entries} == {"M", "X", "s", "f"}
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in entries if e["name"] == "thread_name"}
    assert len(tracks) == TX8.tiles * (len(report.engines) + 1)
    work = [e for e in entries if e["name"] == "unary abs | group 3 Relu node"]
    assert [(tracks[e["pid"], e["tid"]], e["pid"], e["args"]["source"]) for e in work] == [
        ("CT", 0, "group 3 Relu node"),
        ("CT", 1, "group 3 Relu node"),
    ]
    assert work[0]["dur"] == pytest.approx(cost.ct(TX8, 4096) / 1000)
    assert work[0]["args"]["waited for"] == "RAW"


def test_the_trace_of_loops_and_messages_follows_it_too(tmp_path: Path) -> None:
    k = Kernel("ring", range(4))
    data, scratch = k.spm("data", (64,), "f32"), k.spm("scratch", (16,), "f32")
    k.fill(data, 1.0)
    with k.loop(3):
        k.unary("neg", data, data)
        k.binary("add", data, data, data)
    all_reduce(k, data, scratch)
    k.barrier()
    for profile in (TX8.profile, BOARD):
        report = time_program(k.program(), attrs.evolve(TX8, profile=profile))
        entries = checked_trace(report, tmp_path / "trace.json")
        executions = [e for e in entries if e["ph"] == "X"]
        assert len(executions) == sum(len(event.tiles) for event in report.events)
        assert {tuple(e["args"]["trips"]) for e in executions if "trips" in e["args"]} == {(0,), (1,), (2,)}


def test_the_report_reads_as_text_and_as_html(golden: Any) -> None:
    first = (tx8.unary, {**unary(A, B, tiles=(0, 1))[1], "source": "a < b"})
    report = timed(rdma(4096, (0, 1)), first)
    golden(str(report), "sim/report.txt")
    html = report._repr_html_()
    assert ">a &lt; b</td>" in html
    assert html.count("<table ") == html.count("</table>") == 10
