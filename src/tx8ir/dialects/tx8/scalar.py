"""The kernel core's own instructions: scalar words in SPM, and the control and status registers (CSR).

They keep their place in the order of a tile like every instruction, and wait for the bytes they share with others.
"""

from __future__ import annotations

import enum
from typing import ClassVar

from tx8ir.core import attribute
from tx8ir.target.chip import Engine, Target

from .access import Access
from .instruction import Instruction, PerTile, spm_access

INT32 = (-(1 << 31), (1 << 31) - 1)
CSR_REGISTERS = {"exceptions": 4, "cycles": 8}
"""The registers that can be read, and the bytes of their values [D]."""


class ExceptionFlag(enum.IntFlag):
    """Bits of the exception register: what results of the vector and the neural engine have been [D]."""

    NAN = 1
    """A result is a NaN."""
    INFINITY = 2
    """A result is infinite."""
    OVERFLOW = 4
    """A result is infinite, and no element of the operands on the tile was infinite or a NaN. The functions that are
    infinite at zero (recip, rsqrt, div, log2, ln) raise INFINITY alone."""


class ScalarOp(Instruction):
    """Base of the scalar and CSR instructions, which the kernel core executes."""

    engine: ClassVar[Engine | None] = Engine.SCALAR
    cost_formula: ClassVar[str] = "{scalar_cycles}"


class ScalarMoveOp(ScalarOp, name="tx8.scalar_move"):
    """`dst = value`, one i32; or `dst = src` when there is a src."""

    dst: PerTile = attribute(doc="SPM address of the result")
    src: PerTile | None = attribute(default=None, doc="SPM address of an i32 to copy; absent with value")
    value: int | None = attribute(default=None, doc="-2^31..2^31-1; absent with src")

    def verify_fields(self, chip: Target) -> None:
        self.require((self.src is None) != (self.value is None), "expected one of src and value")
        if self.value is not None:
            self.require_range("value", self.value, *INT32)

    def effects(self) -> tuple[Access, ...]:
        sources = () if self.src is None else (spm_access("src", self.src, 4, format="i32"),)
        return *sources, spm_access("dst", self.dst, 4, writes=True, format="i32")


class ScalarAddOp(ScalarOp, name="tx8.scalar_add"):
    """`dst = lhs + rhs`, or `dst = lhs + value`: i32, modulo 2^32."""

    dst: PerTile = attribute(doc="SPM address of the result")
    lhs: PerTile = attribute(doc="SPM address of the left operand, i32")
    rhs: PerTile | None = attribute(default=None, doc="SPM address of the right operand, i32; absent with value")
    value: int | None = attribute(default=None, doc="-2^31..2^31-1; absent with rhs")

    def verify_fields(self, chip: Target) -> None:
        self.require((self.rhs is None) != (self.value is None), "expected one of rhs and value")
        if self.value is not None:
            self.require_range("value", self.value, *INT32)

    def effects(self) -> tuple[Access, ...]:
        rhs = () if self.rhs is None else (spm_access("rhs", self.rhs, 4, format="i32"),)
        return (
            spm_access("lhs", self.lhs, 4, format="i32"),
            *rhs,
            spm_access("dst", self.dst, 4, writes=True, format="i32"),
        )


class CsrReadOp(ScalarOp, name="tx8.csr_read"):
    """Reads a register of the tile: `dst = exceptions`, one ui32, or `dst = cycles`, one ui64.

    exceptions: the flags of what the tile executed before its latest barrier, see `ExceptionFlag`. They stay until they
    are written. Engines overlap, so that only a barrier says that an instruction has raised its flags. Of an
    element-wise instruction all `count` elements count, of a blocked tensor not the padding lanes.

    cycles: the cycle, counted from the start of the program, at which this read starts. Simulated time depends on the
    program and the target's profile alone, not on data nor on the order in which tiles are executed: every run, on any
    schedule, reads the start time that `SimReport` gives this instruction, also where nobody asks for a report. The
    kernel core reads when it comes to the instruction; to time what came before, put a barrier before.
    """

    register: str = attribute(default="exceptions", doc="exceptions or cycles")
    dst: PerTile = attribute(doc="SPM address of the result: 4 bytes of exceptions, 8 of cycles")

    def verify_fields(self, chip: Target) -> None:
        self.require_one_of("register", self.register, CSR_REGISTERS)

    def effects(self) -> tuple[Access, ...]:
        size = CSR_REGISTERS[self.register]
        return (spm_access("dst", self.dst, size, writes=True, format=f"ui{8 * size}"),)


class CsrWriteOp(ScalarOp, name="tx8.csr_write"):
    """`exceptions = src & 7`: clears or sets the flags that `tx8.csr_read` reads."""

    src: PerTile = attribute(doc="SPM address of the flags, one ui32")

    def effects(self) -> tuple[Access, ...]:
        return (spm_access("src", self.src, 4, format="ui32"),)
