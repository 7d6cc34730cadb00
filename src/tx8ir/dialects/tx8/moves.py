"""The vector unit's moves: whole tensors mirrored, transposed, rotated, joined, padded; columns of a convolution.

A move copies bits. Tensors are (N, H, W, C); both sides lie in the same `layout`, dense (NTensor) or channel-blocked
(NCx), of which padding lanes are not read, and written as zero. All sources are read before anything is written.
`gatherscatter`, the strided move, is `tx8.tdma`.
"""

from __future__ import annotations

import math
from typing import ClassVar

from tx8ir.core import attribute
from tx8ir.target import cost
from tx8ir.target.chip import Engine, Target
from tx8ir.target.formats import Format
from tx8ir.target.layout import MemLayout, channel_blocking

from .access import Access, Shape4
from .instruction import BYTE_FORMATS, Instruction, PerTile, format_bytes, spm_access
from .tensors import aligned_access, dense_access, shape4, verify_window, window_extents
from .work import TDMA_FORMULA, Work

MOVE_LAYOUTS = ("NTensor", "NCx")
AXES = {"N": 0, "H": 1, "W": 2, "C": 3}
ROTATIONS = {"rot90": 1, "rot180": 2, "rot270": 3}
"""Quarter turns of each function of `tx8.rotate`."""


def tensor_access(
    operand: str, addresses: PerTile, shape: Shape4, format: str, layout: str, *, writes: bool = False
) -> Access:
    """An access to a whole tensor in SPM, dense (NTensor) or channel-blocked (NCx)."""
    return aligned_access(operand, addresses, shape, format, writes=writes, layout=MemLayout(layout))


class MoveOp(Instruction):
    """Base of the moves of one tensor."""

    engine: ClassVar[Engine | None] = Engine.CT

    src: PerTile = attribute(doc="SPM address of the operand")
    dst: PerTile = attribute(doc="SPM address of the result")
    shape: tuple[int, ...] = attribute(doc="(N, H, W, C) of the operand; N, H, W 1..4096, C 1..16384")
    format: str = attribute(doc="i8 i16 i32 i64 ui8 ui16 ui32 ui64 f16 bf16 tf32 f32")
    layout: str = attribute(default="NTensor", doc="of both sides: NTensor (dense) or NCx (channel-blocked)")

    def verify_fields(self, chip: Target) -> None:
        self.require_one_of("format", self.format, BYTE_FORMATS)
        self.require_one_of("layout", self.layout, MOVE_LAYOUTS)
        self.require_shape(chip, "shape", self.shape)
        self.verify_move(chip)
        self.require_shape(chip, "shape of dst", self.out_shape)

    def verify_move(self, chip: Target) -> None:
        """Check what is particular to the move; format, layout and shape are valid."""

    @property
    def out_shape(self) -> Shape4:
        """(N, H, W, C) of the result."""
        return shape4(self.shape)

    def effects(self) -> tuple[Access, ...]:
        return (
            tensor_access("src", self.src, shape4(self.shape), self.format, self.layout),
            tensor_access("dst", self.dst, self.out_shape, self.format, self.layout, writes=True),
        )


class MirrorOp(MoveOp, name="tx8.mirror"):
    """`dst[.., i, ..] = src[.., extent - 1 - i, ..]` along `axis`."""

    axis: str = attribute(doc="N, H, W or C")

    def verify_move(self, chip: Target) -> None:
        self.require_one_of("axis", self.axis, AXES)


class TransposeOp(MoveOp, name="tx8.transpose"):
    """`dst[i[perm[0]], i[perm[1]], i[perm[2]], i[perm[3]]] = src[i[0], i[1], i[2], i[3]]`."""

    perm: tuple[int, ...] = attribute(doc="axis of src that each axis of dst is: a permutation of 0 1 2 3")

    def verify_move(self, chip: Target) -> None:
        self.require(sorted(self.perm) == [0, 1, 2, 3], f"perm is {list(self.perm)}; expected an order of 0, 1, 2, 3")

    @property
    def out_shape(self) -> Shape4:
        a, b, c, d = self.perm
        return self.shape[a], self.shape[b], self.shape[c], self.shape[d]


class RotateOp(MoveOp, name="tx8.rotate"):
    """Turns the image of every (n, c) counterclockwise by a multiple of 90 degrees.

    rot90: `dst[n, i, j, c] = src[n, j, W - 1 - i, c]`, rot180: `dst[n, i, j, c] = src[n, H - 1 - i, W - 1 - j, c]`,
    rot270: `dst[n, i, j, c] = src[n, H - 1 - j, i, c]`.
    """

    function: str = attribute(doc="rot90 rot180 rot270")

    def verify_move(self, chip: Target) -> None:
        self.require_one_of("function", self.function, ROTATIONS)

    @property
    def out_shape(self) -> Shape4:
        n, h, w, c = self.shape
        return (n, h, w, c) if self.function == "rot180" else (n, w, h, c)


class ImageOrderOp(Instruction):
    """Base of the two changes of axis order; both sides are dense, since NCHW has no channel blocks [D]."""

    engine: ClassVar[Engine | None] = Engine.CT
    to_nhwc: ClassVar[bool]

    src: PerTile = attribute(doc="SPM address of the operand, dense")
    dst: PerTile = attribute(doc="SPM address of the result, dense")
    shape: tuple[int, ...] = attribute(
        doc="(N, H, W, C) of the tensor, whichever way it is stored; N, H, W 1..4096, C 1..16384"
    )
    format: str = attribute(doc="i8 i16 i32 i64 ui8 ui16 ui32 ui64 f16 bf16 tf32 f32")

    def verify_fields(self, chip: Target) -> None:
        self.require_one_of("format", self.format, BYTE_FORMATS)
        self.require_shape(chip, "shape", self.shape)

    def effects(self) -> tuple[Access, ...]:
        n, h, w, c = self.shape
        stored, made = ((n, c, h, w), (n, h, w, c)) if self.to_nhwc else ((n, h, w, c), (n, c, h, w))
        return dense_access("src", self.src, stored, self.format), dense_access(
            "dst", self.dst, made, self.format, writes=True
        )


class Nchw2NhwcOp(ImageOrderOp, name="tx8.nchw2nhwc"):
    """`dst[n, h, w, c] = src[n, c, h, w]`."""

    to_nhwc: ClassVar[bool] = True


class Nhwc2NchwOp(ImageOrderOp, name="tx8.nhwc2nchw"):
    """`dst[n, c, h, w] = src[n, h, w, c]`."""

    to_nhwc: ClassVar[bool] = False


class ConcatOp(Instruction, name="tx8.concat"):
    """Joins two tensors along `axis`, on which lhs has extent e:

        dst[.., i, ..] = lhs[.., i, ..] if i < e else rhs[.., i - e, ..]

    More than two are joined one after the other.
    """

    engine: ClassVar[Engine | None] = Engine.CT

    lhs: PerTile = attribute(doc="SPM address of the first operand")
    rhs: PerTile = attribute(doc="SPM address of the second operand")
    dst: PerTile = attribute(doc="SPM address of the result")
    lhs_shape: tuple[int, ...] = attribute(doc="(N, H, W, C) of lhs; N, H, W 1..4096, C 1..16384, of the result too")
    rhs_shape: tuple[int, ...] = attribute(doc="(N, H, W, C) of rhs, equal to lhs_shape but along axis")
    axis: str = attribute(doc="N, H, W or C")
    format: str = attribute(doc="i8 i16 i32 i64 ui8 ui16 ui32 ui64 f16 bf16 tf32 f32")
    layout: str = attribute(default="NTensor", doc="of all three: NTensor (dense) or NCx (channel-blocked)")

    def verify_fields(self, chip: Target) -> None:
        self.require_one_of("axis", self.axis, AXES)
        self.require_one_of("format", self.format, BYTE_FORMATS)
        self.require_one_of("layout", self.layout, MOVE_LAYOUTS)
        self.require_shape(chip, "lhs_shape", self.lhs_shape)
        self.require_shape(chip, "rhs_shape", self.rhs_shape)
        joined = AXES[self.axis]
        for i, (a, b) in enumerate(zip(self.lhs_shape, self.rhs_shape, strict=True)):
            self.require(
                i == joined or a == b,
                f"lhs_shape {list(self.lhs_shape)} and rhs_shape {list(self.rhs_shape)} differ along more than "
                f"axis {self.axis}",
            )
        self.require_shape(chip, "shape of dst", self.out_shape)

    @property
    def out_shape(self) -> Shape4:
        """(N, H, W, C) of the result."""
        joined = AXES[self.axis]
        n, h, w, c = (
            a + b if i == joined else a for i, (a, b) in enumerate(zip(self.lhs_shape, self.rhs_shape, strict=True))
        )
        return n, h, w, c

    def effects(self) -> tuple[Access, ...]:
        return (
            tensor_access("lhs", self.lhs, shape4(self.lhs_shape), self.format, self.layout),
            tensor_access("rhs", self.rhs, shape4(self.rhs_shape), self.format, self.layout),
            tensor_access("dst", self.dst, self.out_shape, self.format, self.layout, writes=True),
        )


class PadOp(MoveOp, name="tx8.pad"):
    """`dst[n, y, x, c] = src[n, y - top, x - left, c]`, and `value` where that lies outside of src."""

    pads: tuple[int, ...] = attribute(doc="(top, bottom, left, right), each 0..1023")
    value: int = attribute(default=0, doc="raw bits of a number of the format: 0..2^bits-1")

    def verify_move(self, chip: Target) -> None:
        self.require_length("pads", self.pads, 4, "top, bottom, left, right")
        for pad in self.pads:
            self.require_range("pads", pad, *chip.ne.pad)
        self.require_range("value", self.value, 0, (1 << 8 * format_bytes(self.format)) - 1)

    @property
    def out_shape(self) -> Shape4:
        n, h, w, c = self.shape
        top, bottom, left, right = self.pads
        return n, h + top + bottom, w + left + right, c


class Img2ColOp(MoveOp, name="tx8.img2col"):
    """The rows of a convolution as a matrix product: one for each position of the window.

        dst[n, y, x, (i*KW + j)*C + c] = src[n, y*sh + i*dh - top, x*sw + j*dw - left, c]

    and zero where that lies outside of src.
    """

    kernel: tuple[int, ...] = attribute(doc="(height, width), each 1..255")
    strides: tuple[int, ...] = attribute(default=(1, 1), doc="(height, width), each 1..1023")
    pads: tuple[int, ...] = attribute(default=(0, 0, 0, 0), doc="(top, bottom, left, right), each 0..1023")
    dilations: tuple[int, ...] = attribute(default=(1, 1), doc="(height, width), each 1..1023")

    def verify_move(self, chip: Target) -> None:
        verify_window(self, chip, (self.shape[1], self.shape[2]), self.kernel, self.strides, self.pads, self.dilations)

    @property
    def out_shape(self) -> Shape4:
        n, h, w, c = self.shape
        height, width = window_extents((h, w), self.kernel, self.strides, self.pads, self.dilations)
        return n, height, width, self.kernel[0] * self.kernel[1] * c


class MaskGatherOp(Instruction, name="tx8.maskgather"):
    """Packs the chosen elements: `dst[j] = src[i]` for the j-th i with `mask[i] != 0`, and `found = how many`.

    The rest of dst stays as it was. The mask has values of the same format; zeros of both signs are zero, a NaN is not.
    """

    engine: ClassVar[Engine | None] = Engine.CT

    src: PerTile = attribute(doc="SPM address of the operand")
    mask: PerTile = attribute(doc="SPM address of the mask")
    dst: PerTile = attribute(doc="SPM address of the result, room for count elements")
    found: PerTile = attribute(doc="SPM address of the number of elements written, one i32")
    count: int = attribute(doc="elements of src, at least 1")
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
            spm_access("found", self.found, 4, writes=True, format="i32"),
        )


class TdmaReshapeOp(Instruction, name="tx8.tdma_reshape"):
    """Re-spaces a tensor: `dst[j] = src[j]` for the j-th element in row-major order of `dst_shape` and of `src_shape`.

    The two sides may lie in different layouts: with equal shapes this is a change of layout.
    """

    engine: ClassVar[Engine | None] = Engine.TDMA
    cost_formula: ClassVar[str] = TDMA_FORMULA

    src: PerTile = attribute(doc="SPM address of the operand")
    dst: PerTile = attribute(doc="SPM address of the result")
    src_shape: tuple[int, ...] = attribute(doc="(N, H, W, C) of src; N, H, W 1..4096, C 1..16384")
    dst_shape: tuple[int, ...] = attribute(doc="(N, H, W, C) of dst, of as many elements")
    format: str = attribute(doc="i8 i16 i32 i64 ui8 ui16 ui32 ui64 f16 bf16 tf32 f32")
    src_layout: str = attribute(default="NTensor", doc="NTensor (dense) or NCx (channel-blocked)")
    dst_layout: str = attribute(default="NTensor", doc="NTensor (dense) or NCx (channel-blocked)")

    def verify_fields(self, chip: Target) -> None:
        self.require_one_of("format", self.format, BYTE_FORMATS)
        for side in ("src", "dst"):
            self.require_one_of(f"{side}_layout", getattr(self, f"{side}_layout"), MOVE_LAYOUTS)
            self.require_shape(chip, f"{side}_shape", getattr(self, f"{side}_shape"))
        self.require(
            math.prod(self.src_shape) == math.prod(self.dst_shape),
            f"src_shape {list(self.src_shape)} has {math.prod(self.src_shape)} elements, "
            f"dst_shape {list(self.dst_shape)} has {math.prod(self.dst_shape)}",
        )

    def work(self, target: Target, accesses: tuple[Access, ...] | None = None) -> Work:
        accesses = self.effects() if accesses is None else accesses
        return Work(cost.tdma(target, max(access.total_bytes for access in accesses), self.segments))

    @property
    def segments(self) -> int:
        """Contiguous runs of the side that has more of them: a dense side is one, a blocked one has one per block."""
        sides = ((self.src_shape, self.src_layout), (self.dst_shape, self.dst_layout))
        return max(self._side_segments(shape, layout) for shape, layout in sides)

    def _side_segments(self, shape: tuple[int, ...], layout: str) -> int:
        if layout == "NTensor":
            return 1
        n, h, w, c = shape
        blocking = channel_blocking(c, Format.named(self.format))
        return n * h * w * (blocking.cx + (blocking.c0 > 0))

    def effects(self) -> tuple[Access, ...]:
        return (
            tensor_access("src", self.src, shape4(self.src_shape), self.format, self.src_layout),
            tensor_access("dst", self.dst, shape4(self.dst_shape), self.format, self.dst_layout, writes=True),
        )
