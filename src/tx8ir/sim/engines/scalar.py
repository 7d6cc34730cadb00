"""Executors of the kernel core's own instructions."""

from __future__ import annotations

import numpy as np

from tx8ir.dialects.tx8 import CsrReadOp, CsrWriteOp, ExceptionFlag, ScalarAddOp, ScalarMoveOp
from tx8ir.sim.memory.memory import Placed
from tx8ir.target.formats import I32, UI32

from .registry import Machine, Semantics, executes


@executes(ScalarMoveOp)
def decode_scalar_move(op: ScalarMoveOp) -> Semantics:
    """Write one word."""
    value = op.value

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        *sources, dst = placed
        memory = machine.memory
        memory.store(dst, memory.load(sources[0], I32).copy() if value is None else np.array(value, np.int32))

    return step


@executes(ScalarAddOp)
def decode_scalar_add(op: ScalarAddOp) -> Semantics:
    """Add two words modulo 2^32."""
    value = op.value

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        lhs, *sources, dst = placed
        memory = machine.memory
        rhs = memory.load(sources[0], I32) if value is None else np.array(value, np.int32)
        memory.store(dst, memory.load(lhs, I32) + rhs)

    return step


@executes(CsrReadOp)
def decode_csr_read(op: CsrReadOp) -> Semantics:
    """Write the readable flags, or the cycle counter, of each tile."""

    def read_cycles(machine: Machine, placed: tuple[Placed, ...]) -> None:
        (dst,) = placed
        assert machine.clock is not None  # the program has this instruction
        machine.memory.store(dst, np.array(machine.clock.read(op, dst.tiles), np.uint64)[:, None])

    def read_exceptions(machine: Machine, placed: tuple[Placed, ...]) -> None:
        (dst,) = placed
        assert machine.exceptions is not None  # the program has this instruction
        machine.memory.store(dst, machine.exceptions.readable[list(dst.tiles)][:, None])

    return read_cycles if op.register == "cycles" else read_exceptions


@executes(CsrWriteOp)
def decode_csr_write(op: CsrWriteOp) -> Semantics:
    """Replace the readable flags of each tile."""

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        (src,) = placed
        assert machine.exceptions is not None  # the program has this instruction
        flags = machine.memory.load(src, UI32)[:, 0]
        machine.exceptions.readable[list(src.tiles)] = flags & np.uint32(~ExceptionFlag(0))

    return step
