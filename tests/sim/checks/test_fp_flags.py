"""The registers: which results set which flags, on which tile, and when they can be read; and the cycle counter."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

from tx8ir.core import VerifyError
from tx8ir.dialects import tx8
from tx8ir.dialects.tx8 import ExceptionFlag
from tx8ir.kernels import Kernel
from tx8ir.sim import Interleaved, Lockstep, Simulator
from tx8ir.target.chip import BOARD, TX8

NONE = ExceptionFlag(0)
NAN, INFINITY, OVERFLOW = ExceptionFlag.NAN, ExceptionFlag.INFINITY, ExceptionFlag.OVERFLOW
inf, nan = np.inf, np.nan


def flags_of(tools: Any, operands: list[float], op: Any, *, barrier: bool = True, **fields: Any) -> list[ExceptionFlag]:
    """The flags on each tile after `op` over one f32 per tile."""
    bench = tools.Bench(tuple(range(len(operands))))
    values = np.array(operands, np.float32)[:, None]
    src, dst, flags = bench.put_array(values), bench.room(4), bench.room(4)
    bench.do(op, src=src, dst=dst, count=1, **fields)
    if barrier:
        bench.do(tx8.barrier)
    bench.do(tx8.csr_read, dst=flags)
    bench.get(flags, 4)
    (out,) = bench.run()
    return [ExceptionFlag(int(v)) for v in out.view(np.uint32)[:, 0]]


@pytest.mark.parametrize(
    ("function", "operands", "expected"),
    [
        ("sqrt", [4.0, -1.0, inf, nan], [NONE, NAN, INFINITY, NAN]),
        ("recip", [1.0, 0.0, inf, 1e-40], [NONE, INFINITY, NONE, INFINITY]),
        ("square", [1e19, 1e20, -inf, nan], [NONE, INFINITY | OVERFLOW, INFINITY, NAN]),
        ("exp", [88.0, 89.0, -inf, inf], [NONE, INFINITY | OVERFLOW, NONE, INFINITY]),
    ],
)
def test_unary_results_set_the_flags_of_their_tile(
    tools: Any, function: str, operands: list[float], expected: list[ExceptionFlag]
) -> None:
    assert flags_of(tools, operands, tx8.unary, function=function, format="f32") == expected


def test_a_conversion_overflows_where_its_destination_ends(tools: Any) -> None:
    fields = {"src_format": "f32", "dst_format": "f16"}
    found = flags_of(tools, [65504.0, 65520.0, inf, nan], tx8.convert, **fields)
    assert found == [NONE, INFINITY | OVERFLOW, INFINITY, NAN]


def test_a_move_raises_nothing(tools: Any) -> None:
    bench = tools.Bench((0,))
    src, dst, flags = bench.put_array(np.array([[nan, inf]], np.float32)), bench.room(8), bench.room(4)
    bench.do(tx8.tdma, src=src, dst=dst, segment_bytes=8)
    bench.do(tx8.mirror, src=src, dst=dst, shape=(1, 1, 1, 2), axis="C", format="f32")
    bench.do(tx8.barrier)
    bench.do(tx8.csr_read, dst=flags)
    bench.get(flags, 4)
    assert bench.run()[0].view(np.uint32)[0, 0] == 0


def test_flags_can_be_read_after_a_barrier_only(tools: Any) -> None:
    fields = {"function": "sqrt", "format": "f32"}
    assert flags_of(tools, [-1.0], tx8.unary, barrier=False, **fields) == [NONE]
    assert flags_of(tools, [-1.0], tx8.unary, barrier=True, **fields) == [NAN]


def test_flags_stay_until_they_are_written(tools: Any) -> None:
    bench = tools.Bench((0, 3))
    src, dst = bench.put_array(np.array([[-1.0], [1.0]], np.float32)), bench.room(4)
    zero, four = bench.put_array(np.zeros((2, 1), np.uint32)), bench.put_array(np.full((2, 1), 0xFC, np.uint32))
    reads = [bench.room(4) for _ in range(4)]
    bench.do(tx8.unary, function="sqrt", src=src, dst=dst, count=1, format="f32")
    bench.do(tx8.barrier)
    bench.do(tx8.csr_read, dst=reads[0])
    bench.do(tx8.csr_read, dst=reads[1])
    bench.do(tx8.csr_write, src=zero)
    bench.do(tx8.csr_read, dst=reads[2])
    bench.do(tx8.csr_write, src=four)
    bench.do(tx8.csr_read, dst=reads[3])
    for read in reads:
        bench.get(read, 4)
    found = [out.view(np.uint32)[:, 0].tolist() for out in bench.run()]
    assert found == [[1, 0], [1, 0], [0, 0], [4, 4]]


def test_padding_of_a_blocked_operand_raises_nothing_and_its_elements_do(tools: Any) -> None:
    a = np.full((2, 1, 1, 1, 3), 1e30, np.float32)
    a[1] = 1.0
    bench = tools.Bench((0, 1))
    lhs, rhs = bench.put_tensor(a, "f32"), bench.put_tensor(np.full((2, 1, 1, 3, 2), 1e30, np.float32), "f32")
    out, flags = bench.room(256), bench.room(4)
    bench.do(tx8.gemm, lhs=lhs, rhs=rhs, out=out, m=1, k=3, n=2, in_format="f32", out_format="f32")
    bench.do(tx8.barrier)
    bench.do(tx8.csr_read, dst=flags)
    bench.get(flags, 4)
    assert bench.run()[0].view(np.uint32)[:, 0].tolist() == [INFINITY | OVERFLOW, NONE]


# -- the cycle counter ---------------------------------------------------------------------------------------------


def timed_loop() -> Kernel:
    """Three trips of arithmetic on three tiles, of which tile 2 has more to do; the counter is read in each trip."""
    k = Kernel("timed", range(3))
    y = k.output("y", (3, 3), "i64")
    a, now = k.spm("a", (4096,), "f32"), k.spm("now", (3,), "i64")
    k.fill(a, 1.0)
    with k.loop(3) as i:
        with k.on(2):
            k.unary("exp", a, a)
        k.barrier()
        k.instruction(tx8.csr_read, register="cycles", dst=now[i])
    k.store([y[t] for t in range(3)], now)
    return k


def test_the_cycle_counter_gives_the_time_of_the_report() -> None:
    simulator = Simulator(timed_loop().program())
    cycles = simulator.run({}).outputs["y"]
    reads = [e for e in simulator.report.events if e.item.op.name == "tx8.csr_read"]
    for event in reads:
        assert (cycles[list(event.tiles), event.trips[0]] == event.start).all()
    assert sum(len(e.tiles) for e in reads) == 9
    exp = 45 + 4096 * 4 // 128
    assert cycles[0].tolist() == [first := int(cycles[0, 0]), first + exp + 200, first + 2 * (exp + 200)]
    assert first == 2 * exp + 200  # the fill, the first exp, the barrier


def test_the_cycle_counter_does_not_depend_on_the_schedule_nor_on_checks() -> None:
    simulator = Simulator(timed_loop().program())
    expected = simulator.run({}).outputs["y"]
    for schedule in (Lockstep(), Interleaved(0), Interleaved(1)):
        np.testing.assert_array_equal(simulator.run({}, schedule).outputs["y"], expected)
    np.testing.assert_array_equal(Simulator(timed_loop().program(), checks=False).run({}).outputs["y"], expected)
    slow = attrs.evolve(TX8, profile=BOARD)
    assert (Simulator(timed_loop().program(), slow).run({}).outputs["y"] > expected).all()


def test_there_is_no_other_register(tools: Any) -> None:
    bench = tools.Bench((0,))
    bench.do(tx8.csr_read, dst=bench.room(8), register="temperature")
    with pytest.raises(VerifyError, match='register is "temperature"; expected one of exceptions, cycles'):
        bench.build()
