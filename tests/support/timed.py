"""The report of a few instructions, of which nothing is run."""

from __future__ import annotations

from typing import Any

from tx8ir.core import Builder, Program
from tx8ir.dialects import tx8
from tx8ir.sim import SimReport, time_program
from tx8ir.target.chip import TX8, Target

ALL = tuple(range(TX8.tiles))
DDR, A, B, C, D = TX8.ddr_base, 0x10000, 0x20000, 0x30000, 0x40000
RATE = TX8.profile.ddr_bytes_per_cycle


def timed(*ops: Any, target: Target = TX8) -> SimReport:
    """The report of a program made of instructions (each a constructor and its fields), of which nothing is run."""
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    with Builder.at_end(block):
        tx8.segment(segment_name="const", address=DDR, size=1 << 24, kind="const")
        tx8.segment(segment_name="scratch", address=DDR + (1 << 24), size=1 << 24, kind="scratch")
        for op, fields in ops:
            op(**fields)
    program.verify()
    return time_program(program, target)


def unary(src: int, dst: int, count: int = 1024, tiles: tuple[int, ...] = (0,)) -> Any:
    fields = {"function": "abs", "src": (src,), "dst": (dst,), "count": count, "format": "f32", "tiles": tiles}
    return tx8.unary, fields


def tdma(src: int, dst: int, nbytes: int = 4096, tiles: tuple[int, ...] = (0,)) -> Any:
    return tx8.tdma, {"src": (src,), "dst": (dst,), "segment_bytes": nbytes, "tiles": tiles}


def rdma(nbytes: int, tiles: tuple[int, ...], spm: int = A) -> Any:
    return tx8.rdma, {"spm": (spm,), "ddr": (DDR,), "element_bytes": 1, "count": nbytes, "tiles": tiles}
