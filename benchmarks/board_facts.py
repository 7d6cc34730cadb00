"""Figures published for boards beside those of the simulated `board` profile: `python benchmarks/board_facts.py`.

The 4096 x 4096 x 4096 bf16 product is timed only (`tx8ir.sim.time_program`): no data move. Tile (x, y) makes block
(x, y) of 4 x 4 of the result, 1024 x 1024, piece by piece, 256 of K at a time. Factors lie in DDR in the pieces that
are loaded. A `Plan` says how the tiles come by them; the plans after the first leave out, one by one, what makes the
program fast, and the report of each says what its matrix engines then wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from tx8ir.core import Builder, Program
from tx8ir.dialects import tx8
from tx8ir.sim import SimReport, time_program
from tx8ir.target.chip import BOARD, TX8

BOARD_TX8 = attrs.evolve(TX8, profile=BOARD)
SIZE, STEP = 4096, 256
BLOCK = SIZE // 4
ALL = tuple(range(TX8.tiles))
FIRST = TX8.spm_allocatable[0]
A = TX8.ddr_base
B, C = A + 2 * SIZE * SIZE, A + 4 * SIZE * SIZE


@attrs.frozen
class Plan:
    """How the product is computed.

    name: what it leaves out.
    share: one tile of a grid row (column) loads what all of them need of the left (right) factor and broadcasts it;
        they take turns. Otherwise every tile loads all of its factors.
    ahead: the factors of a step are fetched while the one before is multiplied, into a second pair of buffers.
    piece: (rows, columns) of the result that a tile sums up at a time.
    """

    name: str
    share: bool = True
    ahead: bool = True
    piece: tuple[int, int] = (512, 512)

    @property
    def steps(self) -> list[tuple[int, int, int]]:
        """(row of pieces, column of pieces, step of K), in order."""
        rows, columns = self.piece
        return [(i, j, k) for i in range(BLOCK // rows) for j in range(BLOCK // columns) for k in range(SIZE // STEP)]


PLANS = (
    Plan("all of it"),
    Plan("without fetching ahead", ahead=False),
    Plan("without sharing", share=False),
    Plan("without either", share=False, ahead=False),
    Plan("without sharing, pieces of 512 x 256", share=False, piece=(512, 256)),
    Plan("without sharing, pieces of 256 x 256", share=False, piece=(256, 256)),
)


class Gemm:
    """The instructions of the product by a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        rows, columns = plan.piece
        self.chunks = {"left": rows * STEP * 2, "right": STEP * columns * 2}
        buffers = 2 if plan.ahead else 1
        self.places = {"left": FIRST, "right": FIRST + buffers * self.chunks["left"]}
        self.sums = self.places["right"] + buffers * self.chunks["right"]
        self.result = self.sums + 4 * rows * columns

    def program(self) -> Program:
        """The whole program, verified."""
        program = Program.empty()
        with Builder.at_end(program.body):
            block = tx8.program().body.block
        steps = self.plan.steps
        with Builder.at_end(block):
            for name, address, kind in (("a", A, "input"), ("b", B, "input"), ("c", C, "output")):
                tx8.segment(segment_name=name, address=address, size=2 * SIZE * SIZE, kind=kind)
            self.fetch(0, *steps[0])
            for number, (i, j, k) in enumerate(steps):
                following = number + 1 < len(steps)
                if following and self.plan.ahead:
                    self.fetch(number + 1, *steps[number + 1])
                self.multiply(number, k)
                if k == SIZE // STEP - 1:
                    self.store(i, j)
                if following and not self.plan.ahead:
                    self.fetch(number + 1, *steps[number + 1])
        program.verify()
        return program

    def buffer(self, side: str, number: int) -> int:
        """Where a factor of step `number` lies in SPM."""
        return self.places[side] + (number % 2 * self.chunks[side] if self.plan.ahead else 0)

    def fetch(self, number: int, i: int, j: int, k: int) -> None:
        """Bring what step `number` needs: piece row i of each tile row, piece column j of each tile column."""
        rows, columns = self.plan.piece
        for channel, side, base, which, pieces in (
            (0, "left", A, i, BLOCK // rows),
            (1, "right", B, j, BLOCK // columns),
        ):
            spm, nbytes = self.buffer(side, number), self.chunks[side]
            places = [base + ((pieces * n + which) * (SIZE // STEP) + k) * nbytes for n in range(4)]
            copy = {"spm": (spm,), "element_bytes": 2, "count": nbytes // 2}
            if not self.plan.share:
                tx8.rdma(tiles=ALL, ddr=tuple(places[t // 4 if channel == 0 else t % 4] for t in ALL), **copy)
                continue
            turn = number % 4
            lines = [[4 * n + m if channel == 0 else 4 * m + n for m in range(4)] for n in range(4)]
            others = {t: line[turn] for line in lines for t in line if t != line[turn]}
            message = {"channel": channel, "nbytes": nbytes}
            tx8.dte_arm(tiles=tuple(others), peers=tuple(others.values()), dst=(spm,), **message)
            tx8.rdma(tiles=tuple(line[turn] for line in lines), ddr=tuple(places), **copy)
            for line in lines:
                peers = tuple(t for t in line if t != line[turn])
                tx8.dte_send(tiles=(line[turn],), peers=peers, pattern="broadcast", src=(spm,), **message)

    def multiply(self, number: int, k: int) -> None:
        """Wait for the factors of step `number`, and add their product to the sums; the last one writes the result."""
        rows, columns = self.plan.piece
        turn, last = number % 4, k == SIZE // STEP - 1
        if self.plan.share:
            for channel in (0, 1):
                sender = {t: (t - t % 4 + turn if channel == 0 else 4 * turn + t % 4) for t in ALL}
                receivers = {t: s for t, s in sender.items() if s != t}
                tx8.dte_wait(tiles=tuple(receivers), peers=tuple(receivers.values()), channel=channel)
        tx8.gemm(
            tiles=ALL, lhs=(self.buffer("left", number),), rhs=(self.buffer("right", number),),
            out=(self.result if last else self.sums,), psum=(self.sums,) if k else None,
            psum_format="f32" if k else None, m=rows, k=STEP, n=columns, in_format="bf16",
            out_format="bf16" if last else "f32",
        )  # fmt: skip

    def store(self, i: int, j: int) -> None:
        """Write a finished piece of the result."""
        rows, columns = self.plan.piece
        places = tuple(C + 2 * ((BLOCK * (t // 4) + rows * i) * SIZE + BLOCK * (t % 4) + columns * j) for t in ALL)
        tx8.wdma(
            tiles=ALL, spm=(self.result,), ddr=places, element_bytes=2, count=columns, strides=(SIZE,),
            iterations=(rows,),
        )  # fmt: skip


def small(op: Callable[[], object]) -> SimReport:
    """The report of one instruction on one tile, in the default profile."""
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    with Builder.at_end(block):
        op()
    return time_program(program)


def facts(report: SimReport) -> Iterator[str]:
    """The table of what is published; `report` is that of the first plan."""
    ct = small(lambda: tx8.unary(tiles=(0,), function="abs", src=(FIRST,), dst=(1 << 20,), count=1024, format="f32"))
    row = small(
        lambda: tx8.gemm(
            tiles=(0,),
            lhs=(FIRST,),
            rhs=(1 << 17,),
            out=(1 << 21,),
            m=1,
            k=1024,
            n=512,
            in_format="bf16",
            out_format="bf16",
        )
    )
    busy = report.busy[report.engines.index("NE")].mean()
    yield "| what | published | simulated |"
    yield "|---|---:|---:|"
    yield f"| a 4 KiB instruction of the vector unit | 77 cycles | {ct.cycles} cycles |"
    yield f"| weights per cycle and tile, gemm of one row | 128 | {1024 * 512 / row.cycles_by_engine['NE']:g} |"
    yield f"| 4096^3 bf16, NE busy per tile | 1.19 ms | {busy / 1e6:.2f} ms |"
    yield f"| 4096^3 bf16, from start to end | 6.0 ms | {report.microseconds / 1e3:.2f} ms |"


def variants(reports: list[SimReport]) -> Iterator[str]:
    """The table of the plans: for each, what the NE of a tile waited for, on average, in ms."""
    yield "| program | start to end | NE busy | waits for messages | waits for DDR (RAW) | issue | tail | DDR bytes |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for plan, report in zip(PLANS, reports, strict=True):
        ne = report.engines.index("NE")
        waits = {cause: report.stalls[n, ne].mean() / 1e6 for n, cause in enumerate(report.stalls_by_cause)}
        tail = (report.cycles - report.ends[ne].mean()) / 1e6
        moved = sum(report.bytes[path] for path in ("DDR to SPM", "SPM to DDR")) / (1 << 20)
        yield (
            f"| {plan.name} | {report.microseconds / 1e3:.2f} ms | {report.busy[ne].mean() / 1e6:.2f} | "
            f"{waits['message']:.2f} | {waits['RAW']:.2f} | {waits['issue']:.2f} | {tail:.2f} | {moved:,.0f} MiB |"
        )


def tables() -> tuple[str, str]:
    """Both tables, as docs/explanation/time.md has them."""
    reports = [time_program(Gemm(plan).program(), BOARD_TX8) for plan in PLANS]
    return "\n".join(facts(reports[0])), "\n".join(variants(reports))


if __name__ == "__main__":
    print("\n\n".join(tables()))
