"""The vector unit's other work: reduce and pool, layout change, masked moves, conversion, fills."""

from __future__ import annotations

from typing import ClassVar

from tx8ir.core import VerifyError, attribute
from tx8ir.target.chip import Engine, Target
from tx8ir.target.formats import Format
from tx8ir.target.layout import MemLayout, size_bytes
from tx8ir.target.rounding import Rounding

from .access import Access, MemorySpace, OperandTensor, Shape4
from .conversions import CONVERSIONS
from .instruction import BYTE_FORMATS, FLOATS, NUMERIC, Instruction, PerTile, format_bytes, spm_access

REDUCTIONS = ("sum", "avg", "max", "min")
REDUCE_AXES = {"C": (3,), "W": (2,), "H": (1,), "HW": (1, 2)}
"""The NHWC axes that each value of `axis` reduces."""


def aligned_access(
    operand: str,
    addresses: PerTile,
    shape: Shape4,
    format: str,
    *,
    writes: bool = False,
    layout: MemLayout = MemLayout.NCx,
) -> Access:
    """An access to a whole tensor in SPM, channel-blocked (NCx, or Cx for weights) unless `layout` is a dense one."""
    f = Format.named(format)
    nbytes = size_bytes(shape, f, layout)
    return Access(operand, MemorySpace.SPM, writes, addresses, nbytes, (), OperandTensor(shape, f, layout))


def dense_access(operand: str, addresses: PerTile, shape: Shape4, format: str, *, writes: bool = False) -> Access:
    """An access to a whole dense (NTensor) tensor in SPM, by an instruction that goes by its axes."""
    return aligned_access(operand, addresses, shape, format, writes=writes, layout=MemLayout.NTensor)


def shape4(shape: tuple[int, ...]) -> Shape4:
    """A shape field of a verified instruction as the 4-tuple that it is."""
    n, h, w, c = shape
    return n, h, w, c


def window_extents(
    extents: tuple[int, int],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...] = (1, 1),
) -> tuple[int, int]:
    """Output height and width of a sliding window: `(in + pads - ((k - 1) * dilation + 1)) // stride + 1`."""
    top, bottom, left, right = pads
    height = (extents[0] + top + bottom - (kernel[0] - 1) * dilations[0] - 1) // strides[0] + 1
    width = (extents[1] + left + right - (kernel[1] - 1) * dilations[1] - 1) // strides[1] + 1
    return height, width


def verify_window(
    op: Instruction,
    chip: Target,
    extents: tuple[int, int],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...] = (1, 1),
) -> None:
    """Check the fields of a sliding window against the limits of the NE, which pools have too [D]; one must fit."""
    limits = chip.ne
    op.require_length("kernel", kernel, 2, "height, width")
    op.require_length("strides", strides, 2, "height, width")
    op.require_length("pads", pads, 4, "top, bottom, left, right")
    op.require_length("dilations", dilations, 2, "height, width")
    for value in kernel:
        op.require_range("kernel", value, *limits.kernel)
    for value in strides:
        op.require_range("strides", value, *limits.stride)
    for value in pads:
        op.require_range("pads", value, *limits.pad)
    for value in dilations:
        op.require_range("dilations", value, *limits.dilation)
    out = window_extents(extents, kernel, strides, pads, dilations)
    op.require(
        min(out) >= 1,
        f"kernel {list(kernel)} with dilations {list(dilations)} does not fit the input {list(extents)} padded by "
        f"{list(pads)}",
    )


class ReduceOp(Instruction, name="tx8.reduce"):
    """Combines the elements along one or two axes, which keep extent 1; both sides are channel-blocked (NCx).

        C    dst[n, h, w, 0] = function over c of src[n, h, w, c]
        W    dst[n, h, 0, c] = function over w of src[n, h, w, c]
        H    dst[n, 0, w, c] = function over h of src[n, h, w, c]
        HW   dst[n, 0, 0, c] = function over h, w of src[n, h, w, c]

    sum and avg accumulate in fp32 and round once; avg divides by the number of elements; max and min give NaN for a
    NaN. Padding lanes are not read, and written as zero.
    """

    engine: ClassVar[Engine | None] = Engine.CT

    function: str = attribute(doc="sum avg max min")
    axis: str = attribute(doc="C, W, H or HW")
    src: PerTile = attribute(doc="SPM address of the operand")
    dst: PerTile = attribute(doc="SPM address of the result")
    shape: tuple[int, ...] = attribute(doc="(N, H, W, C) of the operand; N, H, W 1..4096, C 1..16384")
    format: str = attribute(doc="f32, f16, bf16 or tf32")

    def verify_fields(self, chip: Target) -> None:
        self.require_one_of("function", self.function, REDUCTIONS)
        self.require_one_of("axis", self.axis, REDUCE_AXES)
        self.require_one_of("format", self.format, FLOATS)
        self.require_shape(chip, "shape", self.shape)

    @property
    def out_shape(self) -> Shape4:
        """(N, H, W, C) of the result."""
        reduced = REDUCE_AXES[self.axis]
        n, h, w, c = (1 if i in reduced else extent for i, extent in enumerate(self.shape))
        return n, h, w, c

    def effects(self) -> tuple[Access, ...]:
        return (
            aligned_access("src", self.src, shape4(self.shape), self.format),
            aligned_access("dst", self.dst, self.out_shape, self.format, writes=True),
        )


class PoolOp(Instruction, name="tx8.pool"):
    """`dst[n, y, x, c] = function over (i, j) of src[n, y*sh + i - top, x*sw + j - left, c]`, both sides NCx.

    Padding never wins a max or a min; it adds zeros to a sum, and avg divides by the size of the kernel. Sums
    accumulate in fp32 and are rounded once.
    """

    engine: ClassVar[Engine | None] = Engine.CT

    function: str = attribute(doc="max avg sum min")
    src: PerTile = attribute(doc="SPM address of the operand")
    dst: PerTile = attribute(doc="SPM address of the result")
    shape: tuple[int, ...] = attribute(doc="(N, H, W, C) of the operand; N, H, W 1..4096, C 1..16384")
    kernel: tuple[int, ...] = attribute(doc="(height, width), each 1..255; one must fit into the padded operand")
    strides: tuple[int, ...] = attribute(default=(1, 1), doc="(height, width), each 1..1023")
    pads: tuple[int, ...] = attribute(
        default=(0, 0, 0, 0), doc="(top, bottom, left, right), each 0..1023 and less than the kernel"
    )
    format: str = attribute(doc="f32, f16, bf16 or tf32")

    def verify_fields(self, chip: Target) -> None:
        self.require_one_of("function", self.function, REDUCTIONS)
        self.require_one_of("format", self.format, FLOATS)
        self.require_shape(chip, "shape", self.shape)
        verify_window(self, chip, (self.shape[1], self.shape[2]), self.kernel, self.strides, self.pads)
        kh, kw = self.kernel
        top, bottom, left, right = self.pads
        self.require(
            max(top, bottom) < kh and max(left, right) < kw,
            f"pads {list(self.pads)} reach kernel {list(self.kernel)}: a window would lie in the padding alone",
        )

    @property
    def out_shape(self) -> Shape4:
        """(N, H, W, C) of the result."""
        n, h, w, c = self.shape
        return n, *window_extents((h, w), self.kernel, self.strides, self.pads), c

    def effects(self) -> tuple[Access, ...]:
        return (
            aligned_access("src", self.src, shape4(self.shape), self.format),
            aligned_access("dst", self.dst, self.out_shape, self.format, writes=True),
        )


class ChannelNormOp(Instruction, name="tx8.channelnorm"):
    """Changes the layout of a tensor: `dst[n, h, w, c] = src[n, h, w, c]` for all indices of the shape.

    With `direction` src is dense (NTensor) and dst channel-blocked (NCx), without it the other way round. Padding lanes
    are written as zero, and not read.
    """

    engine: ClassVar[Engine | None] = Engine.CT

    src: PerTile = attribute(doc="SPM address of the operand")
    dst: PerTile = attribute(doc="SPM address of the result")
    shape: tuple[int, ...] = attribute(doc="(N, H, W, C) of the tensor; N, H, W 1..4096, C 1..16384")
    format: str = attribute(doc="i8 i16 i32 i64 ui8 ui16 ui32 ui64 f16 bf16 tf32 f32")
    direction: bool = attribute(default=True, doc="true: dense to blocked")

    def verify_fields(self, chip: Target) -> None:
        self.require_one_of("format", self.format, BYTE_FORMATS)
        self.require_shape(chip, "shape", self.shape)

    def effects(self) -> tuple[Access, ...]:
        shape, f = shape4(self.shape), self.format
        if self.direction:
            return dense_access("src", self.src, shape, f), aligned_access("dst", self.dst, shape, f, writes=True)
        return aligned_access("src", self.src, shape, f), dense_access("dst", self.dst, shape, f, writes=True)


class MaskMoveOp(Instruction, name="tx8.maskmove"):
    """`dst[i] = src[i]` where `mask[i] != 0`, else unchanged, for `i < count`; the mask has values of the same format.

    Zeros of both signs are zero; a NaN is not.
    """

    engine: ClassVar[Engine | None] = Engine.CT

    src: PerTile = attribute(doc="SPM address of the operand")
    mask: PerTile = attribute(doc="SPM address of the mask")
    dst: PerTile = attribute(doc="SPM address of the result")
    count: int = attribute(doc="elements, at least 1")
    format: str = attribute(doc="i8 i16 i32 i64 ui8 ui16 ui32 ui64 f16 bf16 tf32 f32")

    def verify_fields(self, chip: Target) -> None:
        self.require_one_of("format", self.format, BYTE_FORMATS)
        self.require_range("count", self.count, 1)

    def effects(self) -> tuple[Access, ...]:
        nbytes = self.count * format_bytes(self.format)
        return (
            spm_access("src", self.src, nbytes, format=self.format),
            spm_access("mask", self.mask, nbytes, format=self.format),
            spm_access("dst", self.dst, nbytes, writes=True, conditional=True, format=self.format),
        )


class ConvertOp(Instruction, name="tx8.convert"):
    """`dst[i] = src_format to dst_format of src[i]` for `i < count`, both at a spacing of the wider format's bytes.

    The 36 pairs of `tx8ir.dialects.tx8.CONVERSIONS`. A pair that narrows rounds once in the mode `rounding`; to an
    integer it then saturates, and a NaN gives 0. Element i is read at `src + i * w` and written at `dst + i * w`, with
    w the larger of the two sizes. To widen, spread with tdma, then convert; to narrow, convert, then pack with tdma.
    All are read before any is written.
    """

    engine: ClassVar[Engine | None] = Engine.CT

    src: PerTile = attribute(doc="SPM address of the operand")
    dst: PerTile = attribute(doc="SPM address of the result")
    count: int = attribute(doc="elements, at least 1")
    src_format: str = attribute(doc="i8 i16 i32 f16 bf16 tf32 f32")
    dst_format: str = attribute(doc="i8 i16 i32 f16 bf16 tf32 f32, another one; src or dst is a float")
    rounding: int = attribute(
        default=0, doc="0 nearest even, 1 toward zero, 2 up, 3 down, 4 stochastic; 0 where the pair is exact"
    )

    def verify_fields(self, chip: Target) -> None:
        self.require_one_of("src_format", self.src_format, NUMERIC)
        self.require_one_of("dst_format", self.dst_format, NUMERIC)
        self.require(self.src_format != self.dst_format, f"src_format and dst_format are both {self.src_format}")
        conversion = CONVERSIONS.get((self.src_format, self.dst_format))
        if conversion is None:
            raise VerifyError(
                f"hardware does not convert {self.src_format} to {self.dst_format}; expected a float on one side "
                "(one integer becomes another by way of f32)",
                self,
            )
        self.require_range("count", self.count, 1)
        self.require_range("rounding", self.rounding, 0, max(Rounding))
        self.require(
            conversion.narrows or self.rounding == Rounding.NEAREST_EVEN,
            f"rounding is {self.rounding}; {self.src_format} to {self.dst_format} is exact and takes none",
        )

    def effects(self) -> tuple[Access, ...]:
        spacing = max(format_bytes(self.src_format), format_bytes(self.dst_format))
        return (
            self._side("src", self.src, self.src_format, spacing, writes=False),
            self._side("dst", self.dst, self.dst_format, spacing, writes=True),
        )

    def _side(self, operand: str, addresses: PerTile, format: str, spacing: int, *, writes: bool) -> Access:
        nbytes = format_bytes(format)
        if nbytes == spacing:
            return spm_access(operand, addresses, self.count * nbytes, writes=writes, format=format)
        return spm_access(operand, addresses, nbytes, walk=((self.count, spacing),), writes=writes, format=format)


class MemsetOp(Instruction, name="tx8.memset"):
    """`dst[i] = value` for `i < count`; `value` holds the raw bits of a number of the format."""

    engine: ClassVar[Engine | None] = Engine.CT

    dst: PerTile = attribute(doc="SPM address of the result")
    count: int = attribute(doc="elements, at least 1")
    format: str = attribute(doc="i8 i16 i32 i64 ui8 ui16 ui32 ui64 f16 bf16 tf32 f32")
    value: int = attribute(doc="raw bits: 0..2^8-1, 0..2^16-1, 0..2^32-1 or 0..2^64-1 by the format")

    def verify_fields(self, chip: Target) -> None:
        self.require_one_of("format", self.format, BYTE_FORMATS)
        self.require_range("count", self.count, 1)
        self.require_range("value", self.value, 0, (1 << 8 * format_bytes(self.format)) - 1)

    def effects(self) -> tuple[Access, ...]:
        return (spm_access("dst", self.dst, self.count * format_bytes(self.format), writes=True, format=self.format),)
