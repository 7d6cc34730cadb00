"""The vector unit's peripheral functions: packed bits, counting and searching, tables, random numbers, resampling.

Packed bits are i1: eight to a byte, the first in the lowest bit; the unused bits of a last byte are written as zero.
"""

from __future__ import annotations

from typing import ClassVar

from tx8ir.core import attribute
from tx8ir.target.chip import Engine, Target
from tx8ir.target.rounding import Rounding

from .access import Access, Shape4
from .instruction import BYTE_FORMATS, FLOATS, NUMERIC, Instruction, PerTile, format_bytes, spm_access
from .tensors import aligned_access, shape4

BIT_FUNCTIONS = ("not", "and", "or", "xor")
EXTREMES = ("argmax", "argmin")
COORDINATES = ("half_pixel", "align_corners", "asymmetric")
RANDOM_FORMATS = (*FLOATS, "i8", "i16", "i32", "ui8", "ui16", "ui32")


def packed_bytes(count: int) -> int:
    """Bytes of `count` packed bits."""
    return -(-count // 8)


class PeripheralOp(Instruction):
    """Base of the peripheral functions over `count` elements."""

    engine: ClassVar[Engine | None] = Engine.CT

    dst: PerTile = attribute(doc="SPM address of the result")
    count: int = attribute(doc="elements, at least 1")

    def verify_fields(self, chip: Target) -> None:
        self.require_range("count", self.count, 1)


class BitLogicOp(PeripheralOp, name="tx8.bit_logic"):
    """`dst[i] = lhs[i] function rhs[i]` on packed bits, for `i < count`; not takes lhs alone."""

    function: str = attribute(doc="not and or xor")
    lhs: PerTile = attribute(doc="SPM address of the left operand, packed bits")
    rhs: PerTile | None = attribute(default=None, doc="SPM address of the right operand, packed bits; absent for not")

    def verify_fields(self, chip: Target) -> None:
        super().verify_fields(chip)
        self.require_one_of("function", self.function, BIT_FUNCTIONS)
        needed = self.function != "not"
        self.require(
            (self.rhs is not None) == needed, f"{self.function} {'needs' if needed else 'takes no'} right operand rhs"
        )

    def effects(self) -> tuple[Access, ...]:
        nbytes = packed_bytes(self.count)
        rhs = () if self.rhs is None else (spm_access("rhs", self.rhs, nbytes, format="i1"),)
        return (
            spm_access("lhs", self.lhs, nbytes, format="i1"),
            *rhs,
            spm_access("dst", self.dst, nbytes, writes=True, format="i1"),
        )


class Bit2FpOp(PeripheralOp, name="tx8.bit2fp"):
    """`dst[i] = 1.0 if bit i of src else 0.0` for `i < count`."""

    src: PerTile = attribute(doc="SPM address of the packed bits")
    format: str = attribute(doc="of dst: f32, f16, bf16 or tf32")

    def verify_fields(self, chip: Target) -> None:
        super().verify_fields(chip)
        self.require_one_of("format", self.format, FLOATS)

    def effects(self) -> tuple[Access, ...]:
        return (
            spm_access("src", self.src, packed_bytes(self.count), format="i1"),
            spm_access("dst", self.dst, self.count * format_bytes(self.format), writes=True, format=self.format),
        )


class CountOp(PeripheralOp, name="tx8.count"):
    """`dst = number of i < count with src[i] != 0`, one i32; a NaN is not zero."""

    src: PerTile = attribute(doc="SPM address of the operand")
    format: str = attribute(doc="of src: i8 i16 i32 i64 ui8 ui16 ui32 ui64 f16 bf16 tf32 f32, or i1 (packed bits)")

    def verify_fields(self, chip: Target) -> None:
        super().verify_fields(chip)
        self.require_one_of("format", self.format, (*BYTE_FORMATS, "i1"))
        self.require_range("count", self.count, 1, (1 << 31) - 1)

    def effects(self) -> tuple[Access, ...]:
        nbytes = packed_bytes(self.count) if self.format == "i1" else self.count * format_bytes(self.format)
        return (
            spm_access("src", self.src, nbytes, format=self.format),
            spm_access("dst", self.dst, 4, writes=True, format="i32"),
        )


class ArgOp(PeripheralOp, name="tx8.arg"):
    """`dst = the least i < count at which src[i] is the maximum (argmax) or minimum (argmin)`, one i32.

    A NaN counts as the extreme, the first one as the place.
    """

    function: str = attribute(doc="argmax argmin")
    src: PerTile = attribute(doc="SPM address of the operand")
    format: str = attribute(doc="of src: f32 f16 bf16 tf32 i8 i16 i32")

    def verify_fields(self, chip: Target) -> None:
        super().verify_fields(chip)
        self.require_one_of("function", self.function, EXTREMES)
        self.require_one_of("format", self.format, NUMERIC)

    def effects(self) -> tuple[Access, ...]:
        source = spm_access("src", self.src, self.count * format_bytes(self.format), format=self.format)
        return source, spm_access("dst", self.dst, 4, writes=True, format="i32")


class LutOp(PeripheralOp):
    """Base of the table look-ups."""

    word: ClassVar[int]
    """Bytes of an index and of an entry."""

    src: PerTile = attribute(doc="SPM address of the indices, unsigned words")
    table: PerTile = attribute(doc="SPM address of the entries")
    entries: int = attribute(doc="entries of the table: 1..65536 of lut16, 1..2^31 of lut32")

    def verify_fields(self, chip: Target) -> None:
        super().verify_fields(chip)
        self.require_range("entries", self.entries, 1, 1 << min(8 * self.word, 31))

    def effects(self) -> tuple[Access, ...]:
        word = f"ui{8 * self.word}"
        return (
            spm_access("src", self.src, self.count * self.word, format=word),
            spm_access("table", self.table, self.entries * self.word, format=word),
            spm_access("dst", self.dst, self.count * self.word, writes=True, format=word),
        )


class Lut16Op(LutOp, name="tx8.lut16"):
    """`dst[i] = table[src[i]]` for `i < count`, in 16-bit words (entries 1..65536).

    An index outside of `0..entries-1` is an error of the running program.
    """

    word: ClassVar[int] = 2


class Lut32Op(LutOp, name="tx8.lut32"):
    """`dst[i] = table[src[i]]` for `i < count`, in 32-bit words.

    An index outside of `0..entries-1` is an error of the running program.
    """

    word: ClassVar[int] = 4


class RandGenOp(PeripheralOp, name="tx8.rand_gen"):
    """`dst[i] = random(seed, tile, i)` for `i < count`: the same numbers in every run, others on every tile [D].

    `random` is output i of the SplitMix64 generator that starts at `mix(mix(seed) + tile)`. Integers are its top bits;
    floats are uniform in [0, 1): its top bits, as many as the format has significant ones, divided by 2 to that number.
    """

    seed: int = attribute(doc="0..2^63-1")
    format: str = attribute(doc="f32 f16 bf16 tf32 i8 i16 i32 ui8 ui16 ui32")

    def verify_fields(self, chip: Target) -> None:
        super().verify_fields(chip)
        self.require_one_of("format", self.format, RANDOM_FORMATS)
        self.require_range("seed", self.seed, 0, (1 << 63) - 1)

    def effects(self) -> tuple[Access, ...]:
        nbytes = self.count * format_bytes(self.format)
        return (spm_access("dst", self.dst, nbytes, writes=True, format=self.format),)


class ElemMaskOp(PeripheralOp, name="tx8.elem_mask"):
    """Drops elements at random: `dst[i] = src[i] * scale if r >= probability else 0`, r = rand_gen's f32 number i [D].

    The product is of fp32 and is rounded once.
    """

    src: PerTile = attribute(doc="SPM address of the operand")
    probability: float = attribute(doc="of dropping an element, 0..1")
    scale: float = attribute(default=1.0, doc="factor of those that stay, taken as fp32")
    seed: int = attribute(doc="0..2^63-1")
    format: str = attribute(doc="f32, f16, bf16 or tf32")
    rounding: int = attribute(default=0, doc="0 nearest even, 1 toward zero, 2 up, 3 down, 4 stochastic")

    def verify_fields(self, chip: Target) -> None:
        super().verify_fields(chip)
        self.require_one_of("format", self.format, FLOATS)
        self.require(0.0 <= self.probability <= 1.0, f"probability is {self.probability}; expected 0..1")
        self.require_range("seed", self.seed, 0, (1 << 63) - 1)
        self.require_range("rounding", self.rounding, 0, max(Rounding))

    def effects(self) -> tuple[Access, ...]:
        nbytes = self.count * format_bytes(self.format)
        return (
            spm_access("src", self.src, nbytes, format=self.format),
            spm_access("dst", self.dst, nbytes, writes=True, format=self.format),
        )


class BilinearOp(Instruction, name="tx8.bilinear"):
    """Resamples H and W bilinearly; both sides NCx. For an output row y of H' (columns likewise):

        half_pixel     s = (y + 1/2) * H / H' - 1/2
        align_corners  s = y * (H - 1) / (H' - 1), 0 if H' = 1
        asymmetric     s = y * H / H'
        dst[y] = (1 - f) * src[i] + f * src[min(i + 1, H - 1)]   with s clipped to 0..H-1, i = floor(s), f = s - i

    s and f are computed exactly and f is rounded to fp32; rows are combined before columns, each step
    `a + f * (b - a)` in fp32; the result is rounded once to the format.
    """

    engine: ClassVar[Engine | None] = Engine.CT

    src: PerTile = attribute(doc="SPM address of the operand, NCx")
    dst: PerTile = attribute(doc="SPM address of the result, NCx")
    shape: tuple[int, ...] = attribute(doc="(N, H, W, C) of src; N, H, W 1..4096, C 1..16384")
    extents: tuple[int, ...] = attribute(doc="(H', W') of dst, each 1..4096")
    coordinates: str = attribute(default="half_pixel", doc="half_pixel align_corners asymmetric")
    format: str = attribute(doc="f32, f16, bf16 or tf32")

    def verify_fields(self, chip: Target) -> None:
        self.require_one_of("format", self.format, FLOATS)
        self.require_one_of("coordinates", self.coordinates, COORDINATES)
        self.require_shape(chip, "shape", self.shape)
        self.require_length("extents", self.extents, 2, "height, width")
        self.require_shape(chip, "shape of dst", self.out_shape)

    @property
    def out_shape(self) -> Shape4:
        """(N, H', W', C) of the result."""
        n, _, _, c = self.shape
        return n, self.extents[0], self.extents[1], c

    def effects(self) -> tuple[Access, ...]:
        return (
            aligned_access("src", self.src, shape4(self.shape), self.format),
            aligned_access("dst", self.dst, self.out_shape, self.format, writes=True),
        )
