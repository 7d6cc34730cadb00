"""`OpKernel`: what an op's `emit` writes its instructions to, and `OpSlice`, what it is asked to compute.

A kernel is written once and serves three ends: code generation (the instructions), SPM allocation (the bytes of
temporaries it takes) and the search (the clock cycles it needs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import attrs
import numpy as np

from tx8ir.backend.oplib.moves import AxisMap, Walk, identity, split_levels, walks
from tx8ir.backend.oplib.tensor import SpmTensor, align_up
from tx8ir.target.chip import Target
from tx8ir.target.formats import F32, Format
from tx8ir.target.rounding import Rounding, convert

__all__ = ["FieldValue", "InstructionDraft", "OpKernel", "OpSlice", "addends", "scalar_bits"]

FieldValue: TypeAlias = "int | bool | str | float | tuple[int, ...] | None"


@attrs.frozen
class OpSlice:
    """One slice of one op on one tile: its operands and result as they lie in SPM.

    An operand that is absent is None; one that is not loaded (`OpQuery.need_load`) has its DDR addresses, one per tile,
    in `tables`. `pads` (top, bottom, left, right) are those of the slice's own window.
    """

    operands: tuple[SpmTensor | None, ...]
    result: SpmTensor
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    tables: Mapping[int, tuple[int, ...]] = attrs.field(factory=dict[int, tuple[int, ...]], eq=False)

    def operand(self, index: int) -> SpmTensor:
        """Operand `index`, which must be present."""
        tensor = self.operands[index]
        if tensor is None:
            raise ValueError(f"operand {index} of the slice is absent")
        return tensor


@attrs.frozen
class InstructionDraft:
    """One tx8 instruction without its tiles: the name after ``tx8.`` and its fields.

    Address fields hold one integer, or one per tile of the class the kernel is emitted for.
    """

    name: str
    fields: Mapping[str, FieldValue]


def scalar_bits(value: float, format: Format) -> int:
    """The raw bits of `value`, rounded to `format`, as an unsigned integer: the scalar field of VS and memset."""
    if format.is_float:
        with np.errstate(over="ignore"):
            wide = np.float32(value)
        rounded = convert(np.asarray(wide), F32, format) if format != F32 else np.asarray(wide)
    else:
        rounded = np.asarray(value).astype(format.dtype)
    return int.from_bytes(rounded.tobytes(), "little")


def addends(**tensors: SpmTensor | None) -> Mapping[str, FieldValue]:
    """The fields of the addends of a neural instruction, by name: address and format of those that are there."""
    present = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    formats = {f"{name}_format": tensor.format.name for name, tensor in present.items()}
    return {name: tensor.address for name, tensor in present.items()} | formats


class OpKernel:
    """Records the instructions of one slice.

    `scratch` is the SPM address of the op's temporaries; `take` hands them out in order and `temp_bytes` says how many
    were taken. Every method that names an instruction appends it.
    """

    def __init__(self, op_slice: OpSlice, target: Target, scratch: int = 0) -> None:
        self.slice = op_slice
        self.target = target
        self.instructions: list[InstructionDraft] = []
        self.temp_bytes = 0
        self._scratch = scratch
        self._cuts: dict[int, tuple[Sequence[int], tuple[int, ...]]] = {}

    # -- operands and temporaries

    @property
    def result(self) -> SpmTensor:
        return self.slice.result

    def operand(self, index: int) -> SpmTensor:
        """Operand `index`, which must be present."""
        if index in self._cuts:
            self._cut_out(index, *self._cuts.pop(index))
        return self.slice.operand(index)

    def optional(self, index: int) -> SpmTensor | None:
        """Operand `index`, or None when the op has none there."""
        if index >= len(self.slice.operands) or self.slice.operands[index] is None:
            return None
        return self.operand(index)

    def take(self, num_bytes: int) -> int:
        """The address of `num_bytes` bytes of temporary SPM, 256-byte aligned."""
        address = self._scratch + self.temp_bytes
        self.temp_bytes += align_up(num_bytes)
        return address

    def temporary(self, like: SpmTensor) -> SpmTensor:
        """A temporary of the shape, format and layout of `like`."""
        return like.at(self.take(like.size_bytes))

    def cut_out(self, index: int, start: Sequence[int], extent: tuple[int, ...]) -> None:
        """Makes operand `index` the box of it that begins at `start`, in a temporary once a kernel asks for it."""
        self._cuts[index] = start, extent

    def _cut_out(self, index: int, start: Sequence[int], extent: tuple[int, ...]) -> None:
        source = self.slice.operand(index)
        part = SpmTensor(source.format, extent, source.layout)
        part = part.at(self.take(part.size_bytes))
        self.clear_padding(part)
        self.move(source, part, [AxisMap(e, axis, s) for axis, (e, s) in enumerate(zip(extent, start, strict=True))])
        operands = (*self.slice.operands[:index], part, *self.slice.operands[index + 1 :])
        self.slice = attrs.evolve(self.slice, operands=operands)

    # -- instructions

    def add(self, name: str, **fields: FieldValue) -> None:
        """Append instruction `name`; a field that is None is left out."""
        self.instructions.append(
            InstructionDraft(name, {key: value for key, value in fields.items() if value is not None})
        )

    def unary(self, function: str, src: int, dst: int, count: int, format: Format, alpha: float | None = None) -> None:
        """``dst[i] = function(src[i])``."""
        self.add("unary", function=function, src=src, dst=dst, count=count, format=format.name, alpha=alpha)

    def binary_vv(self, function: str, lhs: int, rhs: int, dst: int, count: int, format: Format) -> None:
        """``dst[i] = function(lhs[i], rhs[i])``."""
        self.add("binary_vv", function=function, lhs=lhs, rhs=rhs, dst=dst, count=count, format=format.name)

    def binary_vs(self, function: str, lhs: int, scalar: float, dst: int, count: int, format: Format) -> None:
        """``dst[i] = function(lhs[i], scalar)``; the scalar is rounded to the format."""
        bits = scalar_bits(scalar, format)
        self.add("binary_vs", function=function, src=lhs, scalar=bits, dst=dst, count=count, format=format.name)

    def memset(self, dst: int, count: int, format: Format, value: float = 0.0) -> None:
        """``dst[i] = value``."""
        self.add("memset", dst=dst, count=count, format=format.name, value=scalar_bits(value, format))

    def maskmove(self, src: int, mask: int, dst: int, count: int, format: Format) -> None:
        """``dst[i] = src[i]`` where ``mask[i] != 0``."""
        self.add("maskmove", src=src, mask=mask, dst=dst, count=count, format=format.name)

    def convert(
        self,
        src: int,
        dst: int,
        count: int,
        source: Format,
        target: Format,
        rounding: Rounding = Rounding.NEAREST_EVEN,
    ) -> None:
        """Converts element i at ``src + i*w`` to ``dst + i*w``, w the wider element's bytes."""
        fields = {"src_format": source.name, "dst_format": target.name, "rounding": int(rounding)}
        self.add("convert", src=src, dst=dst, count=count, **fields)

    def reduce(self, function: str, axis: str, src: SpmTensor, dst: SpmTensor) -> None:
        """Reduces `axis` ("C", "W", "H", "HW") of an aligned tensor; the axis keeps extent 1."""
        fields = {"function": function, "axis": axis, "src": src.address, "dst": dst.address}
        self.add("reduce", **fields, shape=src.nhwc, format=src.format.name)

    def gemm(
        self,
        lhs: SpmTensor,
        rhs: SpmTensor,
        out: SpmTensor,
        *,
        m: int,
        k: int,
        n: int,
        transpose_lhs: bool = False,
        transpose_rhs: bool = False,
        bias: SpmTensor | None = None,
        psum: SpmTensor | None = None,
        activation: str = "none",
    ) -> None:
        """``out = activation(op(lhs) @ op(rhs) + psum + bias)`` on aligned operands of batch 1 or the result's."""
        self.add(
            "gemm",
            lhs=lhs.address,
            rhs=rhs.address,
            out=out.address,
            batch=out.batches,
            m=m,
            k=k,
            n=n,
            lhs_batch=lhs.batches,
            rhs_batch=rhs.batches,
            transpose_lhs=transpose_lhs,
            transpose_rhs=transpose_rhs,
            in_format=lhs.format.name,
            out_format=out.format.name,
            **addends(psum=psum, bias=bias),
            activation=activation,
        )

    # -- walks: one call, as many instructions as the descriptors need

    def tdma(
        self, moves: Sequence[Walk], src: int, dst: int, layout: str | None = None, format: Format | None = None
    ) -> None:
        """Copies within SPM: `moves` are relative to `src` and `dst`; `layout` and `format` are what they make of the
        elements, where that is something else than before.
        """
        for walk in split_levels(moves, self.target.tdma_levels):
            padding = (self.target.tdma_levels - len(walk.levels)) * ((1, 0, 0),)
            levels = (*padding, *walk.levels)
            self.add(
                "tdma",
                src=src + walk.source,
                dst=dst + walk.target,
                segment_bytes=walk.segment,
                src_strides=tuple(level[1] for level in levels),
                dst_strides=tuple(level[2] for level in levels),
                iterations=tuple(level[0] for level in levels),
                as_layout=layout,
                as_format=None if format is None else format.name,
            )

    def move(self, source: SpmTensor, target: SpmTensor, axes: Sequence[AxisMap]) -> None:
        """TDMA copy of `axes` (see `moves.walks`), logical elements only."""
        moves = walks(source, target, axes)
        rearranges = (source.blocked or target.blocked) and any(move.levels for move in moves)
        layout = target.layout.value if rearranges else None
        self.tdma(moves, source.address, target.address, layout)

    def copy(self, source: SpmTensor, target: SpmTensor) -> None:
        """TDMA copy of a whole tensor, padding lanes included, into one of the same shape and layout."""
        a, b = source.padded(), target.padded()
        self.move(a, b, identity(a.shape))

    def each_run(self, *tensors: SpmTensor) -> list[tuple[int, ...]]:
        """``(elements, address, address, …)`` per run of `tensors`, which have one shape, format size and layout."""
        first = tensors[0]
        for other in tensors[1:]:
            if other.shape != first.shape or other.layout != first.layout or other.runs != first.runs:
                raise ValueError(f"an elementwise kernel needs operands of one form, got {first} and {other}")
        return [(count, *(t.address + offset for t in tensors)) for offset, count in first.runs]

    def fill(self, tensor: SpmTensor, value: float = 0.0) -> None:
        """Sets every element of a tensor, padding lanes included; nothing where a tile has no part of it."""
        for count, dst in self.each_run(tensor):
            if count:
                self.memset(dst, count, tensor.format, value)

    def clear_padding(self, tensor: SpmTensor) -> None:
        """Zeroes a tensor that is about to be written element by element, so that its padding lanes are defined."""
        if tensor.lanes != tensor.channels:
            self.fill(tensor)
