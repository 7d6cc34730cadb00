"""What all instructions share: the tiles that run them, and the checks of fields against the machine's limits."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import ClassVar

import attrs

from tx8ir.core import (
    ArrayAttr,
    Attribute,
    Op,
    Operation,
    StructAttr,
    VerifyError,
    attribute,
    struct_attr,
)
from tx8ir.target import cost
from tx8ir.target.chip import Engine, Target
from tx8ir.target.formats import Format
from tx8ir.target.layout import MemLayout

from .access import Access, MemorySpace
from .chip import ChipAttr
from .machine import target_of
from .source import Source
from .work import Cycles, Work

PerTile = tuple[int, ...]
"""An address: one for all tiles, or one per tile in the order of the instruction's `tiles`."""

FLOATS = ("f32", "f16", "bf16", "tf32")
"""Formats of the vector unit's arithmetic."""
NUMERIC = (*FLOATS, "i8", "i16", "i32")
"""Formats that the vector unit converts between."""
BYTE_FORMATS = (*NUMERIC, "ui8", "ui16", "ui32", "i64", "ui64")
"""Formats of whole bytes, which moves and fills take."""


@struct_attr("tx8.follow")
@attrs.frozen
class Follow(StructAttr):
    """One term of an address inside loops: `stride * t` is added, with `t = trip + phase`, or that modulo `modulo`.

    The trips of a loop count from 0. With a modulo the address goes round a set of equally spaced buffers:
    `buffer[(trip + phase) mod k]`.
    """

    field: str
    """The address field, by name."""
    level: int
    """The loop: 0 is the innermost one around the instruction, 1 the next."""
    stride: int
    """Bytes."""
    modulo: int = 0
    """Number of buffers; 0: the address goes on and on."""
    phase: int = 0
    """Trips ahead; not negative."""

    def offset(self, trip: int) -> int:
        """The bytes to add in a trip."""
        t = trip + self.phase
        return self.stride * (t % self.modulo if self.modulo else t)


class Instruction(Op):
    """Base of all instructions: an operation without operands and results that a set of tiles executes.

    `effects` gives the exact bytes that it reads and writes, which is all that ordering between instructions rests on.
    """

    engine: ClassVar[Engine | None] = None
    """The engine that executes it; None for control."""
    cost_formula: ClassVar[str] = "{ct_startup_cycles} + bytes of the widest operand / {ct_bytes_per_cycle}"
    """What `work` computes, for readers: fields of the chip's `Profile` in braces. Stands with each `work`."""

    tiles: tuple[int, ...] = attribute(doc="ids of the tiles that execute it, distinct")
    source: str | None = attribute(default=None, doc="the IR operation or group it was generated from")
    follows: Attribute | None = attribute(default=None, doc="an array of Follow: how addresses change with the trips")
    as_format: str | None = attribute(default=None, doc="takes the bytes of its sources as of this format")
    as_layout: str | None = attribute(
        default=None, doc="takes the bytes of its sources as lying in this layout: Tensor, NTensor, Cx or NCx"
    )

    @property
    def origin(self) -> Source | None:
        """What the compiler generated it from; None of an instruction that was written by hand."""
        return Source.parse(self.source)

    def effects(self) -> tuple[Access, ...]:
        """The accesses, sources before destinations, for which `tiles` and the fields are taken to be valid."""
        return ()

    def work(self, target: Target, accesses: tuple[Access, ...] | None = None) -> Work:
        """What it costs each of its tiles; the one place where this is said.

        A vector instruction takes the time of its largest operand. Control has no engine: it costs nothing by itself.
        `accesses` are its effects, for a caller that has them already.
        """
        if self.engine is None:
            return Work()
        if self.engine is Engine.SCALAR:
            return Work(target.profile.scalar_cycles)
        if self.engine is Engine.CT:
            accesses = self.effects() if accesses is None else accesses
            return Work(cost.ct(target, max(access.total_bytes for access in accesses)))
        raise NotImplementedError(f"{self.name} does not say what it costs")

    def cycles(self, target: Target) -> Cycles:
        """Cycles that it keeps its engine busy: one number for all of its tiles, or an array with one per tile."""
        return self.work(target).cycles_on(target)

    @classmethod
    def address_fields(cls) -> frozenset[str]:
        """The names of the fields that hold addresses."""
        return _address_fields(cls)

    def verify_fields(self, chip: Target) -> None:
        """Check what is particular to the instruction, against a chip's limits. Raises VerifyError naming the field."""

    def verify_op(self) -> None:
        """Check the instruction against the chip that its program is for. Raises VerifyError naming the field."""
        self.verify_for(chip_of(self))

    def verify_for(self, chip: Target) -> None:
        """Check the tiles, the fields, and that every address fits its memory. Raises VerifyError naming the field."""
        verify_tiles(self, self.tiles, chip)
        self.verify_fields(chip)
        accesses = self.effects()
        self._verify_follows({access.operand for access in accesses})
        if self.as_format is not None or self.as_layout is not None:
            self._verify_reinterpretation(accesses)
        for access in accesses:
            self._verify_access(access, chip)

    @property
    def terms(self) -> tuple[Follow, ...]:
        """The terms of `follows`."""
        follows = self.follows
        if follows is None:
            return ()
        entries = follows.value if isinstance(follows, ArrayAttr) else (follows,)
        terms: list[Follow] = []
        for entry in entries:
            if not isinstance(entry, Follow):
                raise VerifyError(f"follows holds {entry}; expected an array of #tx8.follow", self)
            terms.append(entry)
        return tuple(terms)

    def _verify_reinterpretation(self, accesses: Sequence[Access]) -> None:
        """Check `as_format` and `as_layout`: formats that the sources are read in, or any of bytes that are moved."""
        sources = [access for access in accesses if not access.writes]
        field = "as_format" if self.as_format is not None else "as_layout"
        self.require(bool(sources), f"{field} is set; {self.name} reads no bytes of memory")
        self.require(
            not self.name.startswith("tx8.dte_") or self.name == "tx8.dte_store",
            f"{field} is set; a message carries bytes as they are",
        )
        if self.as_format is not None:
            read = [access.format.name for access in sources if access.format is not None]
            moved = [name for name in BYTE_FORMATS if any(access.format is None for access in sources)]
            self.require_one_of("as_format", self.as_format, list(dict.fromkeys([*read, *moved])))
        if self.as_layout is not None:
            self.require_one_of("as_layout", self.as_layout, list(MemLayout.__members__))

    def _verify_follows(self, operands: set[str]) -> None:
        terms = self.terms
        if not terms:
            return
        depth, owner = 0, self.parent_op
        while isinstance(owner, Op) and owner.name == "tx8.loop":
            depth, owner = depth + 1, owner.parent_op
        for term in terms:
            self.require_one_of("field of follows", term.field, operands)
            self.require(
                0 <= term.level < depth, f"follows names loop {term.level}, but there are {depth} loops around"
            )
            self.require_range("modulo of follows", term.modulo, 0)
            self.require_range("phase of follows", term.phase, 0)

    def _verify_access(self, access: Access, chip: Target) -> None:
        addresses, tiles = access.addresses, self.tiles
        if len(addresses) not in (1, len(tiles)):
            expected = "one address" if len(tiles) == 1 else f"one address, or one for each of the {len(tiles)} tiles"
            raise VerifyError(f"{access.operand} has {len(addresses)} addresses; expected {expected}", self)
        if access.space is MemorySpace.SPM:
            first, end = 0, chip.spm_bytes
        else:
            first, end = chip.ddr_base, chip.ddr_end
        low, high = min(addresses), max(addresses) + access.extent
        if low < first or high > end:
            raise VerifyError(
                f"{access.operand} takes {access.space.value} bytes [{low:#x}, {high:#x}), "
                f"outside of [{first:#x}, {end:#x})",
                self,
            )

    # -- checks that instructions share ---------------------------------------------------------------------------

    def require(self, condition: bool, message: str) -> None:
        """Raise VerifyError with `message` unless `condition`."""
        if not condition:
            raise VerifyError(message, self)

    def require_one_of(self, field: str, value: str, allowed: Collection[str]) -> None:
        """Check that a string field has one of the `allowed` values."""
        if value not in allowed:
            raise VerifyError(f'{field} is "{value}"; expected one of {", ".join(allowed)}', self)

    def require_range(self, field: str, value: int, low: int, high: int | None = None) -> None:
        """Check that an integer field lies in `low..high` (both inclusive)."""
        if value < low or (high is not None and value > high):
            expected = f"{low}..{high}" if high is not None else f"at least {low}"
            raise VerifyError(f"{field} is {value}; expected {expected}", self)

    def require_length(self, field: str, values: Sequence[int], length: int, what: str) -> None:
        """Check the number of entries of an array field; `what` says what they are."""
        if len(values) != length:
            raise VerifyError(f"{field} is {list(values)}; expected {length} entries: {what}", self)

    def require_shape(self, chip: Target, field: str, shape: Sequence[int]) -> None:
        """Check a (N, H, W, C) shape against the limits of the chip: of the TX8, N, H, W 1..4096 and C 1..16384."""
        self.require_length(field, shape, 4, "N, H, W, C")
        for axis, extent in zip("NHWC", shape, strict=True):
            limits = chip.ne.channels if axis == "C" else chip.ne.extent
            self.require_range(f"extent {axis} of {field}", extent, *limits)

    def require_walk(self, levels: int, iterations: Sequence[int], **strides: Sequence[int]) -> None:
        """Check the loops of a strided copy: not too many, iterations >= 1, strides >= 0, as many as iterations."""
        if len(iterations) > levels:
            raise VerifyError(f"iterations has {len(iterations)} levels; the engine has {levels}", self)
        for n in iterations:
            self.require_range("iterations", n, 1)
        for field, values in strides.items():
            self.require_length(field, values, len(iterations), "one for each of iterations")
            for stride in values:
                self.require_range(field, stride, 0)


@cache
def _address_fields(cls: type[Instruction]) -> frozenset[str]:
    fields = cls.definition.attributes
    return frozenset(field.name for field in fields if str(field.annotation).partition(" ")[0] == "PerTile")


def chip_of(op: Operation) -> Target:
    """The chip that the program around an operation is for: its `chip`, else that of its target (`target_of`)."""
    owner = op
    while owner.parent_op is not None:
        owner = owner.parent_op
        chip = owner.attributes.get("chip") if owner.name == "tx8.program" else None
        if isinstance(chip, ChipAttr):
            return chip.target
    return target_of(op)


def verify_tiles(op: Operation, tiles: Sequence[int], chip: Target) -> None:
    """Check a set of tile ids. Raises VerifyError when it is empty, or names a tile twice or one that is not there."""
    if not tiles:
        raise VerifyError("tiles is empty; an instruction needs at least one tile", op)
    if len(set(tiles)) != len(tiles):
        raise VerifyError(f"tiles {list(tiles)} names a tile twice", op)
    unknown = [t for t in tiles if not 0 <= t < chip.tiles]
    if unknown:
        raise VerifyError(f"tiles {list(tiles)} must lie in 0..{chip.tiles - 1}; there is no tile {unknown[0]}", op)


def spm_access(
    operand: str,
    addresses: PerTile,
    nbytes: int,
    *,
    writes: bool = False,
    walk: tuple[tuple[int, int], ...] = (),
    conditional: bool = False,
    format: str | None = None,
) -> Access:
    """An access to SPM; see `Access`. `format` is that of the elements, None of bytes."""
    element = Format.named(format) if format is not None else None
    return Access(operand, MemorySpace.SPM, writes, addresses, nbytes, walk, None, conditional, element)


def format_bytes(name: str) -> int:
    """Bytes of one element of the format called `name`."""
    return Format.named(name).bytes
