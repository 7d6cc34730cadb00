"""`group-mapping`: which tiles a group runs on."""

from __future__ import annotations

from typing import ClassVar

import attrs

from tx8ir.backend.graph import CompileError, backend_ops
from tx8ir.core import Program
from tx8ir.dialects import tx8, tx8be
from tx8ir.dialects.tx8be import RegionAttr
from tx8ir.passes import Pass, register_pass

TILE_DX, TILE_DY = "tile_dx", "tile_dy"
"""Attributes of the module: extents of its tile grid; the whole chip where they are absent."""


def tile_grid(program: Program) -> tuple[int, int]:
    """The module's tile grid (x, y). Raises `CompileError` when it is not inside the chip's."""
    attributes = program.module.attributes
    extents: list[int] = []
    for name, limit in zip((TILE_DX, TILE_DY), tx8.target_of(program).grid, strict=True):
        value = attributes[name].value if name in attributes else limit
        if not isinstance(value, int) or not 1 <= value <= limit:
            raise CompileError(f"{name} is {value}; expected 1 to {limit}", op=program.module)
        extents.append(value)
    return extents[0], extents[1]


@register_pass
@attrs.frozen
class GroupMapping(Pass):
    """Gives every group the module's tile grid (`tile_dx` x `tile_dy`, by default the whole chip) as `dev_region`.

    Assumes: groups are made. A `dev_region` that is there already stays. Cost: O(groups).
    """

    name: ClassVar[str] = "group-mapping"

    def run(self, program: Program) -> None:
        dx, dy = tile_grid(program)
        for op in backend_ops(program):
            if isinstance(op, tx8be.GroupOp) and op.dev_region is None:
                op.set_attribute("dev_region", RegionAttr(dx=dx, dy=dy))
                self.count("groups")
