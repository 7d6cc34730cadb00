"""Figures published for boards beside those of the simulated `board` profile: `python benchmarks/board_facts.py`.

The 4096 x 4096 x 4096 bf16 product is timed only (`tx8ir.sim.time_program`): no data move. Tile (x, y) makes block
(x, y) of 4 x 4 of the result, 1024 x 1024, in four pieces of 512 x 512, 256 of K at a time. What the tiles of a row
need of the left factor, and those of a column of the right one, one of them loads and broadcasts; they take turns.
Factors lie in DDR in the pieces that are loaded, and are double-buffered in SPM.
"""

from __future__ import annotations

import attrs

from tx8ir.core import Builder, Program
from tx8ir.dialects import tx8
from tx8ir.sim import SimReport, time_program
from tx8ir.target.chip import BOARD, TX8

BOARD_TX8 = attrs.evolve(TX8, profile=BOARD)
SIZE, PIECE, STEP = 4096, 512, 256
CHUNK = PIECE * STEP * 2  # bytes of a piece of a factor, for one step
ALL = tuple(range(TX8.tiles))
FIRST = TX8.spm_allocatable[0]
LEFT, RIGHT, SUMS, RESULT = FIRST, FIRST + 2 * CHUNK, FIRST + 4 * CHUNK, FIRST + 4 * CHUNK + 4 * PIECE * PIECE
A = TX8.ddr_base
B, C = A + 2 * SIZE * SIZE, A + 4 * SIZE * SIZE


def gemm_program() -> Program:
    """The instructions of the product."""
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    pieces = [(i, j) for i in range(2) for j in range(2)]
    steps = [(i, j, k) for i, j in pieces for k in range(SIZE // STEP)]
    with Builder.at_end(block):
        for name, address, kind in (("a", A, "input"), ("b", B, "input"), ("c", C, "output")):
            tx8.segment(segment_name=name, address=address, size=2 * SIZE * SIZE, kind=kind)
        fetch(0, *steps[0])
        for number, (i, j, k) in enumerate(steps):
            if number + 1 < len(steps):
                fetch(number + 1, *steps[number + 1])
            multiply(number, k)
            if k == SIZE // STEP - 1:
                rows = tuple(C + 2 * ((1024 * (t // 4) + PIECE * i) * SIZE + 1024 * (t % 4) + PIECE * j) for t in ALL)
                tx8.wdma(
                    tiles=ALL,
                    spm=(RESULT,),
                    ddr=rows,
                    element_bytes=2,
                    count=PIECE,
                    strides=(SIZE,),
                    iterations=(PIECE,),
                )
    program.verify()
    return program


def fetch(number: int, i: int, j: int, k: int) -> None:
    """Load and broadcast what step `number` needs: piece row i of each tile row, piece column j of each column."""
    buffer, turn = number % 2 * CHUNK, number % 4
    for channel, base, place, which in ((0, LEFT, A, i), (1, RIGHT, B, j)):
        lines = [[4 * n + m if channel == 0 else 4 * m + n for m in range(4)] for n in range(4)]
        loaders = [line[turn] for line in lines]
        others = {t: line[turn] for line in lines for t in line if t != line[turn]}
        tx8.dte_arm(
            tiles=tuple(others), peers=tuple(others.values()), channel=channel, dst=(base + buffer,), nbytes=CHUNK
        )
        chunks = tuple(place + ((2 * n + which) * (SIZE // STEP) + k) * CHUNK for n in range(4))
        tx8.rdma(tiles=tuple(loaders), spm=(base + buffer,), ddr=chunks, element_bytes=2, count=CHUNK // 2)
        for line in lines:
            peers = tuple(t for t in line if t != line[turn])
            tx8.dte_send(
                tiles=(line[turn],),
                peers=peers,
                pattern="broadcast",
                channel=channel,
                src=(base + buffer,),
                nbytes=CHUNK,
            )


def multiply(number: int, k: int) -> None:
    """Wait for the factors of step `number`, and add their product to the sums; the last one writes the result."""
    buffer, turn, last = number % 2 * CHUNK, number % 4, k == SIZE // STEP - 1
    for channel in (0, 1):
        sender = {t: (t - t % 4 + turn if channel == 0 else 4 * turn + t % 4) for t in ALL}
        receivers = {t: s for t, s in sender.items() if s != t}
        tx8.dte_wait(tiles=tuple(receivers), peers=tuple(receivers.values()), channel=channel)
    tx8.gemm(
        tiles=ALL,
        lhs=(LEFT + buffer,),
        rhs=(RIGHT + buffer,),
        out=(RESULT if last else SUMS,),
        psum=(SUMS,) if k else None,
        psum_format="f32" if k else None,
        m=PIECE,
        k=STEP,
        n=PIECE,
        in_format="bf16",
        out_format="bf16" if last else "f32",
    )


def small(op: object) -> SimReport:
    """The report of one instruction on one tile."""
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    with Builder.at_end(block):
        op()  # type: ignore[operator]
    return time_program(program)


def main() -> None:
    report = time_program(gemm_program(), BOARD_TX8)
    ct = small(lambda: tx8.unary(tiles=(0,), function="abs", src=(FIRST,), dst=(LEFT,), count=1024, format="f32"))
    row = small(
        lambda: tx8.gemm(
            tiles=(0,), lhs=(LEFT,), rhs=(RIGHT,), out=(SUMS,), m=1, k=1024, n=512, in_format="bf16", out_format="bf16"
        )
    )
    ne = report.engines.index("NE")
    busy, idle = (
        report.busy[ne].mean(),
        {c: int(report.stalls[n, ne].mean()) for n, c in enumerate(report.stalls_by_cause)},
    )
    print("| what | published | simulated |\n|---|---:|---:|")
    print(f"| a 4 KiB instruction of the vector unit | 77 cycles | {ct.cycles} cycles |")
    print(f"| weights per cycle and tile, gemm of one row | 128 | {1024 * 512 / row.cycles_by_engine['NE']:g} |")
    print(f"| 4096^3 bf16, NE busy per tile | 1.19 ms | {busy / 1e6:.2f} ms |")
    print(f"| 4096^3 bf16, from start to end | 6.0 ms | {report.microseconds / 1e3:.2f} ms |")
    print("\nWhy the NE of a tile was not busy, on average:\n\n| cause | ms |\n|---|---:|")
    for cause, cycles in idle.items():
        if cycles and cause not in ("engine busy", "DDR bandwidth"):
            print(f"| {cause} | {cycles / 1e6:.2f} |")
    print(f"| after its last product | {(report.cycles - report.ends[ne].mean()) / 1e6:.2f} |")


if __name__ == "__main__":
    main()
