"""The error of the simulator: which instruction, tile, bytes and source operation went wrong."""

from __future__ import annotations

from tx8ir.core import IrError, Operation, print_op
from tx8ir.dialects.tx8 import Access, Instruction

_TEXT_LIMIT = 400  # characters of an instruction that a message shows


class SimError(IrError):
    """A program that does what the machine does not allow, or inputs that do not fit the program.

    Attributes:
        index: position of the instruction among the program's instructions, or None when none is concerned.
        tile: the tile concerned, or None.
        addresses: first byte and end of the bytes concerned, or None.
        source: the IR operation or group that the instruction was generated from, or None.
        op, location: the instruction or declaration, and where it comes from.
    """

    def __init__(
        self,
        message: str,
        op: Operation | None = None,
        *,
        index: int | None = None,
        tile: int | None = None,
        addresses: tuple[int, int] | None = None,
    ) -> None:
        self.index = index
        self.tile = tile
        self.addresses = addresses
        self.source = op.source if isinstance(op, Instruction) else None
        if isinstance(op, Instruction):
            text = print_op(op)
            shown = text if len(text) <= _TEXT_LIMIT else text[:_TEXT_LIMIT] + " ..."
            origin = f' from "{self.source}"' if self.source is not None else ""
            message = f"instruction {index} ({op.name}{origin}): {message}\n  {shown}"
        super().__init__(message, op)


class Fault(Exception):
    """What went wrong while one instruction ran; the simulator turns it into a `SimError` that names the instruction.

    `tile` and `addresses` are as in `SimError`.
    """

    def __init__(self, message: str, *, tile: int | None = None, addresses: tuple[int, int] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.tile = tile
        self.addresses = addresses


def bytes_text(access: Access, tile: int, low: int, high: int) -> str:
    """The bytes [low, high) of an operand on a tile, for messages."""
    return f"operand {access.operand} of tile {tile}, {access.space.value} [{low:#x}, {high:#x})"
