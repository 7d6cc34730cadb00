"""Clock cycles of recorded instructions, from the functions of `target.cost` that the simulator's clock uses too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

from tx8ir.backend.oplib.kernel import Instruction
from tx8ir.target import cost
from tx8ir.target.chip import Target
from tx8ir.target.formats import Format
from tx8ir.target.layout import MemLayout, size_bytes

__all__ = ["beyond_limits", "instruction_cycles", "kernel_cycles"]


def _number(instruction: Instruction, field: str) -> int:
    value = instruction.fields[field]
    if not isinstance(value, int):
        raise TypeError(f"field {field} of {instruction.name} is {value!r}; expected an integer")
    return value


def _numbers(instruction: Instruction, field: str) -> tuple[int, ...]:
    value = instruction.fields[field]
    if not isinstance(value, tuple):
        raise TypeError(f"field {field} of {instruction.name} is {value!r}; expected a tuple of integers")
    return value


def _format(instruction: Instruction, field: str = "format") -> Format:
    return Format.named(str(instruction.fields[field]))


def _vector(i: Instruction, target: Target) -> int:
    count = _number(i, "full_count" if i.name == "binary_vuv_loop" else "count")
    return cost.ct(target, count * _format(i).bytes)


def _convert(i: Instruction, target: Target) -> int:
    widest = max(_format(i, "src_format").bytes, _format(i, "dst_format").bytes)
    return cost.ct(target, _number(i, "count") * widest)


def _aligned(i: Instruction, target: Target) -> int:
    return cost.ct(target, size_bytes(_numbers(i, "shape"), _format(i), MemLayout.NCx))


def _pool(i: Instruction, target: Target) -> int:
    n, h, w, c = _numbers(i, "shape")
    kernel, strides = _numbers(i, "kernel"), _numbers(i, "strides")
    top, bottom, left, right = _numbers(i, "pads")
    out = (n, (h + top + bottom - kernel[0]) // strides[0] + 1, (w + left + right - kernel[1]) // strides[1] + 1, c)
    source = size_bytes((n, h, w, c), _format(i), MemLayout.NCx)
    return cost.ct(target, max(source, size_bytes(out, _format(i), MemLayout.NCx)))


def _gemm(i: Instruction, target: Target) -> int:
    m, k, n, batch = (_number(i, field) for field in ("m", "k", "n", "batch"))
    return cost.ne_gemm(target, m, k, n, _format(i, "in_format"), batch)


def _conv(i: Instruction, target: Target) -> int:
    n, h, w, c = _numbers(i, "shape")
    (kh, kw), strides, dilations = _numbers(i, "kernel"), _numbers(i, "strides"), _numbers(i, "dilations")
    top, bottom, left, right = _numbers(i, "pads")
    oh = (h + top + bottom - dilations[0] * (kh - 1) - 1) // strides[0] + 1
    ow = (w + left + right - dilations[1] * (kw - 1) - 1) // strides[1] + 1
    if i.fields["depthwise"]:
        return cost.ne_depthwise_conv(target, n * oh * ow, c, kh * kw, _format(i, "in_format"))
    return cost.ne_conv(target, n * oh * ow, c, _number(i, "out_channels"), kh * kw, _format(i, "in_format"))


def _tdma(i: Instruction, target: Target) -> int:
    segments = math.prod(_numbers(i, "iterations"))
    return cost.tdma(target, segments * _number(i, "segment_bytes"), segments)


def _dma(i: Instruction, target: Target) -> int:
    elements = _number(i, "count") * math.prod(_numbers(i, "iterations"))
    return cost.dma(target, elements * _number(i, "element_bytes"))


def _gather(i: Instruction, target: Target) -> int:
    return cost.dma(target, _number(i, "count") * _number(i, "row_bytes"))


_CYCLES: dict[str, Callable[[Instruction, Target], int]] = {
    "unary": _vector,
    "binary_vv": _vector,
    "binary_vs": _vector,
    "binary_vuv": _vector,
    "binary_vuv_loop": _vector,
    "maskmove": _vector,
    "memset": _vector,
    "convert": _convert,
    "reduce": _aligned,
    "channelnorm": _aligned,
    "pool": _pool,
    "gemm": _gemm,
    "conv": _conv,
    "tdma": _tdma,
    "rdma": _dma,
    "wdma": _dma,
    "rdma_gather": _gather,
}


def instruction_cycles(instruction: Instruction, target: Target) -> int:
    """Cycles of one instruction on its engine, with DDR shared by all tiles."""
    return _CYCLES[instruction.name](instruction, target)


def kernel_cycles(instructions: Iterable[Instruction], target: Target) -> int:
    """Cycles of a kernel: its instructions form a chain through SPM, so they run one after the other.

    On a profile with a software cost per instruction, issuing overlaps with execution: the larger of the two.
    """
    busy = issued = 0
    for instruction in instructions:
        busy += instruction_cycles(instruction, target)
        issued += 1
    return max(busy, cost.issue(target, issued))


Range = tuple[int, int]


def beyond_limits(instruction: Instruction, target: Target) -> str | None:
    """What of a gemm, conv, reduce, pool or channelnorm instruction does not fit its descriptor; None when all does."""
    for what, value, (least, most) in _limited(instruction, target):
        if not isinstance(value, int) or not least <= value <= most:
            return f"{what} of tx8.{instruction.name} is {value}; expected {least} to {most}"
    return None


def _limited(instruction: Instruction, target: Target) -> Iterator[tuple[str, object, Range]]:
    """Name, value and limits of every field that has limits."""
    fields, ne = instruction.fields, target.ne
    if instruction.name == "gemm":
        for name, limits in (("batch", ne.extent), ("m", ne.extent), ("k", ne.channels), ("n", ne.channels)):
            yield name, fields[name], limits
        return
    shape = fields.get("shape")
    if not isinstance(shape, tuple):
        return
    for name, extent in zip(("batch", "height", "width"), shape, strict=False):
        yield name, extent, ne.extent
    yield "channels", shape[-1], ne.channels
    if instruction.name == "conv":
        yield "out_channels", fields["out_channels"], ne.channels
    for name, limits in (("kernel", ne.kernel), ("strides", ne.stride), ("dilations", ne.dilation), ("pads", ne.pad)):
        values = fields.get(name)
        if isinstance(values, tuple):
            for value in values:
                yield name, value, limits
