"""Limits of instruction descriptors, so that the search splits what no descriptor can say (machine.md §4)."""

from __future__ import annotations

from collections.abc import Iterator

from tx8ir.backend.oplib.kernel import Instruction
from tx8ir.target.chip import Target

__all__ = ["beyond_limits"]

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
