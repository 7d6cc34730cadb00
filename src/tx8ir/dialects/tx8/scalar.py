"""The kernel core's own instructions: scalar words in SPM, and the control and status registers (CSR).

They keep their place in the order of a tile like every instruction, and wait for the bytes they share with others.
"""

from __future__ import annotations

from typing import ClassVar

from tx8ir.core import attribute
from tx8ir.target.chip import Engine

from .access import Access
from .instruction import Instruction, PerTile, spm_access

CSRS = {"exceptions": 4, "cycle": 8}
"""Bytes of each register. exceptions: ui32 of `ExceptionFlag` bits; cycle: ui64, the tile's time when it is read."""
INT32 = (-(1 << 31), (1 << 31) - 1)


class ScalarOp(Instruction):
    """Base of the scalar and CSR instructions, which the kernel core executes."""

    engine: ClassVar[Engine | None] = Engine.SCALAR


class ScalarMoveOp(ScalarOp, name="tx8.scalar_move"):
    """`dst = value`, one i32; or `dst = src` when there is a src."""

    dst: PerTile = attribute(doc="SPM address of the result")
    src: PerTile | None = attribute(default=None, doc="SPM address of an i32 to copy; absent with value")
    value: int | None = attribute(default=None, doc="-2^31..2^31-1; absent with src")

    def verify_fields(self) -> None:
        self.require((self.src is None) != (self.value is None), "expected one of src and value")
        if self.value is not None:
            self.require_range("value", self.value, *INT32)

    def effects(self) -> tuple[Access, ...]:
        sources = () if self.src is None else (spm_access("src", self.src, 4),)
        return *sources, spm_access("dst", self.dst, 4, writes=True)


class ScalarAddOp(ScalarOp, name="tx8.scalar_add"):
    """`dst = lhs + rhs`, or `dst = lhs + value`: i32, modulo 2^32."""

    dst: PerTile = attribute(doc="SPM address of the result")
    lhs: PerTile = attribute(doc="SPM address of the left operand, i32")
    rhs: PerTile | None = attribute(default=None, doc="SPM address of the right operand, i32; absent with value")
    value: int | None = attribute(default=None, doc="-2^31..2^31-1; absent with rhs")

    def verify_fields(self) -> None:
        self.require((self.rhs is None) != (self.value is None), "expected one of rhs and value")
        if self.value is not None:
            self.require_range("value", self.value, *INT32)

    def effects(self) -> tuple[Access, ...]:
        rhs = () if self.rhs is None else (spm_access("rhs", self.rhs, 4),)
        return spm_access("lhs", self.lhs, 4), *rhs, spm_access("dst", self.dst, 4, writes=True)


OPS = (ScalarMoveOp, ScalarAddOp)
