"""What `allocate-ddr` finds out, as attributes of the graph. Nothing else knows in which attribute it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tx8ir.backend.graph import CompileError
from tx8ir.core import Operation, Program, Value

__all__ = [
    "read_ddr_address",
    "read_ddr_scratch",
    "remove_ddr_scratch",
    "write_ddr_addresses",
    "write_ddr_scratch",
]

_ADDRESS: Final = "ddr_addr"
_SCRATCH: Final = "ddr_scratch"


def write_ddr_addresses(op: Operation, addresses: Sequence[int]) -> None:
    """Writes where in DDR the results of an input, a constant or a group lie: a number, several for several results."""
    op.set_attribute(_ADDRESS, addresses[0] if len(addresses) == 1 else tuple(addresses))


def read_ddr_address(value: Value) -> int:
    """Where in DDR the result of an input, a constant or a group lies.

    Raises `CompileError` when `allocate-ddr` has not said it.
    """
    op = value.defining_op
    assert op is not None
    found = op.attributes.get(_ADDRESS)
    if found is None:
        raise CompileError(f"{op.name} has no {_ADDRESS}; run allocate-ddr first", op=op)
    return int(found.value if len(op.results) == 1 else found.value[op.results.index(value)])


def write_ddr_scratch(program: Program, address: int, size: int) -> None:
    """Writes which bytes of DDR the variables of the program share."""
    program.module.set_attribute(_SCRATCH, (address, size))


def read_ddr_scratch(program: Program) -> tuple[int, int] | None:
    """First address and size of the space in DDR that variables share; None when there are none."""
    found = program.module.attributes.get(_SCRATCH)
    if found is None:
        return None
    address, size = found.value
    return address, size


def remove_ddr_scratch(program: Program) -> None:
    """Removes what `write_ddr_scratch` wrote."""
    if _SCRATCH in program.module.attributes:
        program.module.remove_attribute(_SCRATCH)
