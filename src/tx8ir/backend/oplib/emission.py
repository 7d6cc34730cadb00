"""From recorded instructions to tx8 operations: tiles whose instructions agree share one operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import attrs

from tx8ir.backend.oplib.address import Address, Term
from tx8ir.backend.oplib.kernel import FieldValue, InstructionDraft
from tx8ir.core import ArrayAttr, Location, Operation, at_location
from tx8ir.dialects import tx8

__all__ = ["Stream", "emit_streams", "instruction_class"]


def instruction_class(name: str) -> type[tx8.Instruction]:
    """The tx8 operation of a recorded instruction. Raises KeyError when there is none of that name."""
    return cast("type[tx8.Instruction]", tx8.DIALECT.ops[f"tx8.{name}"])


@attrs.frozen
class Stream:
    """The instructions of one phase (a load, an op's kernel, a store) on a class of tiles."""

    tiles: tuple[int, ...]
    instructions: Sequence[InstructionDraft]


def emit_streams(streams: Sequence[Stream], source: tx8.Source, location: Location, loops: int = 0) -> int:
    """Builds the streams' operations at the current insertion point, inside of `loops` loops; returns how many.

    Instructions at the same position that differ only in per-tile addresses become one operation, whose addresses
    follow the loops by the terms of theirs (`Address`). Order on each tile is that of its stream.
    """
    made = 0
    longest = max((len(s.instructions) for s in streams), default=0)
    for position in range(longest):
        merged: dict[object, list[tuple[tuple[int, ...], InstructionDraft]]] = {}
        for stream in streams:
            if position < len(stream.instructions):
                instruction = stream.instructions[position]
                merged.setdefault(_uniform_part(instruction), []).append((stream.tiles, instruction))
        for parts in merged.values():
            _build(parts, source, location, loops)
            made += 1
    return made


def _uniform_part(instruction: InstructionDraft) -> object:
    """What instructions must have in common to be one operation: everything but addresses that differ between tiles."""
    addresses = instruction_class(instruction.name).address_fields()
    fields = tuple(
        (key, None if key in addresses and isinstance(value, tuple) else value)
        for key, value in sorted(instruction.fields.items())
    )
    return instruction.name, fields, _terms(instruction)


def _terms(instruction: InstructionDraft) -> tuple[tuple[str, Term], ...]:
    """How the addresses of an instruction follow loops, by field; those of all tiles do it alike."""
    found: list[tuple[str, Term]] = []
    for key in sorted(instruction_class(instruction.name).address_fields()):
        value = instruction.fields.get(key)
        addresses = value if isinstance(value, tuple) else (value,)
        terms = {address.terms if isinstance(address, Address) else () for address in addresses}
        if len(terms) != 1:
            raise ValueError(f"the tiles' addresses of {key} follow loops in different ways: {terms}")
        found += [(key, term) for term in terms.pop()]
    return tuple(found)


def _build(
    parts: Sequence[tuple[tuple[int, ...], InstructionDraft]], source: tx8.Source, location: Location, loops: int
) -> None:
    rows = sorted((tile, number, part) for part, (tiles, _) in enumerate(parts) for number, tile in enumerate(tiles))
    first = parts[0][1]
    cls = instruction_class(first.name)
    fields: dict[str, FieldValue] = {}
    for key, value in first.fields.items():
        if key in cls.address_fields():
            if isinstance(value, tuple):
                addresses = tuple(int(_address(parts[part][1].fields, key, number)) for _, number, part in rows)
                value = addresses[:1] if len(set(addresses)) == 1 else addresses
            elif isinstance(value, int):
                value = (int(value),)
        fields[key] = value
    follows = [
        tx8.Follow(key, loops - 1 - term.repeat, term.stride, term.modulo, term.phase) for key, term in _terms(first)
    ]
    build = cast("Callable[..., Operation]", cls)
    with at_location(location):
        build(
            tiles=tuple(tile for tile, _, _ in rows),
            source=str(source),
            follows=ArrayAttr(follows) if follows else None,
            **fields,
        )


def _address(fields: Mapping[str, FieldValue], key: str, number: int) -> int:
    addresses = fields[key]
    if not isinstance(addresses, tuple):
        raise TypeError(f"field {key} is {addresses!r}; expected one address per tile")
    return addresses[min(number, len(addresses) - 1)]
