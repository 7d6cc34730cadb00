"""Limits of instruction descriptors, so that the search splits what no descriptor can say (machine.md §4)."""

from __future__ import annotations

from tx8ir.backend.oplib.kernel import Instruction
from tx8ir.target.chip import Target

__all__ = ["within_limits"]


def _fits(value: object, limits: tuple[int, int]) -> bool:
    return isinstance(value, int) and limits[0] <= value <= limits[1]


def within_limits(instruction: Instruction, target: Target) -> bool:
    """Whether the extents of a gemm, conv, reduce, pool or channelnorm instruction fit its descriptor."""
    fields, ne = instruction.fields, target.ne
    if instruction.name == "gemm":
        return all(_fits(fields[f], ne.extent) for f in ("batch", "m")) and all(
            _fits(fields[f], ne.channels) for f in ("k", "n")
        )
    shape = fields.get("shape")
    if not isinstance(shape, tuple):
        return True
    n, h, w, c = shape
    legal = all(_fits(extent, ne.extent) for extent in (n, h, w)) and _fits(c, ne.channels)
    if instruction.name == "conv":
        legal = legal and _fits(fields["out_channels"], ne.channels)
    return legal
