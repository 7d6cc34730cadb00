"""`main_c`: an instruction program as C, one file for the chip, against the header `c_interface.header`.

A function for each group of the source program, in it the loads, the computation and the stores as calls; loops are C
loops, whose counters move the addresses. Every tile runs the whole file and takes part where it is in a set of tiles.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs
import numpy as np

from tx8ir.backend.codegen import c_interface
from tx8ir.backend.codegen.c_interface import CField, CInstruction, CType
from tx8ir.core import Operation, Program
from tx8ir.dialects import tx8
from tx8ir.dialects.tx8 import Access, Instruction, LoopOp, MemorySpace, Requantize
from tx8ir.target.chip import Engine
from tx8ir.target.formats import UI8, Format

__all__ = ["main_c"]

_PART: Final = {Engine.RDMA: "load", Engine.WDMA: "store"}
_MOST_TILES: Final = 64


def main_c(program: Program, version: str) -> str:
    """The text of ``main.c`` for the `tx8.program` of a module.

    Raises ValueError for a chip of more than 64 tiles.
    """
    (body,) = [op for op in program.body if isinstance(op, tx8.ProgramOp)]
    target = tx8.target_of(program)
    if target.tiles > _MOST_TILES:
        raise ValueError(f"main.c holds sets of tiles in 64 bits; the chip has {target.tiles} tiles")
    ops = [op for op in body.body.block if isinstance(op, (Instruction, LoopOp))]
    writer = _Writer([op for op in body.body.block if isinstance(op, tx8.PortOp)], target.tiles)
    lines = [
        f"/* Written by tx8ir {version}. Every tile of the chip runs tx8_main with its number. */",
        '#include "tx8.h"',
        "",
    ]
    names: list[str] = []
    for number, (title, members) in enumerate(_sections(ops)):
        names.append(f"part_{number}")
        lines += [f"/* {_comment(title)} */", f"static uint64_t part_{number}(const TX8_DEVICE *device, int32_t tile)"]
        lines += ["{", "    uint64_t cycles = 0;", *writer.block(members, 1, ()), "    return cycles;", "}", ""]
    lines += ["uint64_t tx8_main(const TX8_DEVICE *device, int32_t tile)", "{", "    uint64_t cycles = 0;"]
    lines += [f"    cycles += {name}(device, tile);" for name in names]
    if not names:
        lines += ["    (void)device;", "    (void)tile;"]
    return "\n".join([*lines, "    return cycles;", "}", ""])


def _sections(ops: Sequence[Operation]) -> Iterator[tuple[str, list[Operation]]]:
    """The operations by the group that they come from, in order."""
    title = ""
    members: list[Operation] = []
    for op in ops:
        group = _group_of(op)
        if members and group != title:
            yield title, members
            members = []
        title = group
        members.append(op)
    if members:
        yield title, members


def _group_of(op: Operation) -> str:
    first = op if isinstance(op, Instruction) else next(iter(tx8.instructions_of(iter([op]))), None)
    if first is None:
        return "an empty loop"
    origin = first.origin
    return (first.source or "without source") if origin is None else f"group {origin.group}"


def _comment(text: str) -> str:
    return re.sub(r"\*/|/\*|[^ -~]", "?", text)


@attrs.frozen
class _Shape:
    """A tensor descriptor's extents, and for a tensor in DDR the address that slices are counted from."""

    format: Format
    whole: tuple[int, ...]
    slice: tuple[int, ...]
    base: int | None = None


class _Writer:
    """Writes instructions and loops; `ports` are the tensors that the program declares in DDR."""

    def __init__(self, ports: Sequence[tx8.PortOp], tiles: int) -> None:
        self.ports = ports
        self.tiles = tiles

    def block(self, ops: Sequence[Operation], depth: int, counters: tuple[str, ...]) -> Iterator[str]:
        """Lines of C; `counters` are those of the loops around, outermost first."""
        margin = "    " * depth
        for op in ops:
            if isinstance(op, LoopOp):
                counter = f"trip{len(counters)}"
                yield f"{margin}if (tx8_in({self._set(op.tiles)}, tile)) {{"
                yield f"{margin}    for (int64_t {counter} = 0; {counter} < {op.count}; ++{counter}) {{"
                yield from self.block(list(op.body.block), depth + 2, (*counters, counter))
                yield f"{margin}    }}"
                yield f"{margin}}}"
            elif isinstance(op, Instruction):
                yield f"{margin}if (tx8_in({self._set(op.tiles)}, tile)) {{ /* {_comment(_title(op))} */"
                yield from (f"{margin}    {line}" for line in self._call(op, counters))
                yield f"{margin}}}"

    def _set(self, tiles: Sequence[int]) -> str:
        return f"UINT64_C({sum(1 << tile for tile in tiles):#x})"

    def _call(self, op: Instruction, counters: tuple[str, ...]) -> Iterator[str]:
        made = c_interface.of(type(op))
        yield from self._parameters(op, made)
        accesses: dict[str, Access] = {}
        for access in op.effects():
            accesses.setdefault(access.operand, access)
        arguments = ["tile", "&param"]
        for name in made.operands:
            addresses: tuple[int, ...] | None = getattr(op, name)
            if addresses is None:
                arguments.append("NULL")
                continue
            yield from self._operand(op, name, addresses, accesses.get(name), counters)
            arguments.append(f"&{name}")
        yield f"cycles += device->{made.name}({', '.join(arguments)});"

    def _parameters(self, op: Instruction, made: CInstruction) -> Iterator[str]:
        members = [f".{field.member} = {value}" for field in made.fields if (value := _value(op, field)) is not None]
        if isinstance(op, tx8.MessageOp) and op.pattern == "unicast" and len(op.peers) > 1:
            yield f"static const int64_t peer_of[] = {{{', '.join(map(str, self._by_tile(op, op.peers)))}}};"
            members = [m for m in members if not m.startswith(".peers")] + [".peers = {1, &peer_of[tile]}"]
        if members:
            yield f"const {made.struct} param = {{"
            yield from (f"    {member}," for member in members)
            yield "};"
        else:
            yield f"const {made.struct} param = {{0}};"

    def _operand(
        self, op: Instruction, name: str, addresses: tuple[int, ...], access: Access | None, counters: tuple[str, ...]
    ) -> Iterator[str]:
        """The descriptor of one operand."""
        if len(set(addresses)) == 1:
            address = f"UINT64_C({addresses[0]:#x})"
        else:
            table = ", ".join(f"{a:#x}" for a in self._by_tile(op, addresses))
            yield f"static const uint64_t {name}_of[] = {{{table}}};"
            address = f"{name}_of[tile]"
        for term in op.terms:
            if term.field == name:
                address += _moved(term, counters)
        shape = self._shape(access, addresses)
        whole, part = _numbers(shape.whole), _numbers(shape.slice)
        yield f"L_SHAPE {name}_shape = {{{whole}, {{0}}, {part}, {part}, {len(shape.whole)}}};"
        yield f"const TSR {name} = {{Fmt_{shape.format.vendor_name.upper()}, {address}, &{name}_shape}};"
        if shape.base is not None:
            yield (f"tx8_locate(&{name}_shape, ({name}.addr - UINT64_C({shape.base:#x})) / {shape.format.bytes});")

    def _by_tile(self, op: Instruction, values: Sequence[int]) -> list[int]:
        """A table by the number of the tile."""
        table = [0] * (max(op.tiles) + 1)
        for tile, value in zip(op.tiles, values, strict=True):
            table[tile] = value
        return table

    def _shape(self, access: Access | None, addresses: tuple[int, ...]) -> _Shape:
        """What is known of a tensor: its axes, those of the declared tensor in DDR it is a slice of, or its bytes."""
        if access is None:
            return _Shape(UI8, (1,), (1,))
        if access.tensor is not None:
            return _Shape(access.tensor.format, access.tensor.shape, access.tensor.shape)
        if access.space is MemorySpace.DDR:
            for port in self.ports:
                if port.address <= addresses[0] < port.address + port.size_bytes:
                    found = _slice(port, access, addresses[0])
                    if found is not None:
                        return found
        format = access.format or UI8
        count = max(1, access.total_bytes // format.bytes) if format.code is not None and format.bits >= 8 else 1
        return _Shape(format if format.bits >= 8 else UI8, (count,), (count,))


def _slice(port: tx8.PortOp, access: Access, address: int) -> _Shape | None:
    """The box of a dense tensor that an access covers; None where there is none to say."""
    format, whole = port.tensor.element.format, tuple(port.tensor.shape)
    small = 0 < len(whole) <= c_interface.SHAPE_DIMENSIONS and 0 not in whole
    if not small or format.code is None or format.bits < 8 or _is_blocked(port):
        return None
    first = np.unravel_index((address - port.address) // format.bytes, whole)
    end = (address - port.address + access.extent) // format.bytes - 1
    if end >= int(np.prod(whole)):
        return None
    last = np.unravel_index(end, whole)
    extents = tuple(max(1, int(b) - int(a) + 1) for a, b in zip(first, last, strict=True))
    return _Shape(format, whole, extents, port.address)


def _is_blocked(port: tx8.PortOp) -> bool:
    """Whether a declared tensor is channel-blocked."""
    return port.layout in ("Cx", "NCx")


def _title(op: Instruction) -> str:
    part = "compute" if op.engine is None or op.engine not in _PART else _PART[op.engine]
    return f"{part}: {op.source}" if op.source else part


def _moved(term: tx8.Follow, counters: tuple[str, ...]) -> str:
    """What a term adds to an address."""
    trip = counters[-1 - term.level]
    t = f"({trip} + {term.phase})" if term.phase else trip
    if term.modulo:
        t = f"({t} % {term.modulo})"
    return f" + (uint64_t)(INT64_C({term.stride}) * {t})"


def _numbers(values: Sequence[int]) -> str:
    return f"{{{', '.join(map(str, values))}}}"


def _value(op: Instruction, field: CField) -> str | None:
    """The initializer of a member; None where it is absent or zero."""
    value: Any = getattr(op, field.name)
    if value is None:
        return None
    match field.type:
        case CType.FLAG:
            return "true" if value else None
        case CType.INTEGER:
            return _integer(value)
        case CType.NUMBER:
            return _number(value)
        case CType.WORD:
            return json.dumps(value)
        case CType.LIST:
            return f"TX8_NUMBERS({', '.join(map(_integer, value))})" if value else None
        case CType.OPTIONAL_INTEGER:
            return f"&(const int64_t){{{_integer(value)}}}"
        case CType.OPTIONAL_NUMBER:
            return f"&(const double){{{_number(value)}}}"
        case CType.REQUANTIZE:
            return f"&(const TX8_REQUANTIZE){{{_requantize(value)}}}"


def _requantize(value: Requantize) -> str:
    fields: Mapping[str, int] = attrs.asdict(value)
    return ", ".join(f".{name} = {_integer(number)}" for name, number in fields.items())


def _integer(value: int) -> str:
    """A constant of 64 bits; above 2**63 - 1 the same bits."""
    return f"INT64_C({value})" if -(1 << 63) < value < 1 << 63 else f"(int64_t)UINT64_C({value & (1 << 64) - 1})"


def _number(value: float) -> str:
    if value != value:
        return "(0.0 / 0.0)"
    if value in (float("inf"), float("-inf")):
        return "(1.0 / 0.0)" if value > 0 else "(-1.0 / 0.0)"
    return value.hex()
