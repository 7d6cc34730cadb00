"""The chip that a program is for, as an attribute of the program: what its instructions are checked against."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import attrs

from tx8ir.core import StructAttr, struct_attr
from tx8ir.target.chip import TX8, NeLimits, Target


@struct_attr("tx8.chip")
@attrs.frozen
class ChipAttr(StructAttr):
    """Grid, memories and descriptor limits of a chip. The defaults are the TX8's; time is not part of it.

    The fields are those of `tx8ir.target.chip.Target` of the same names, and of its `NeLimits` with `ne_` before.
    """

    grid: tuple[int, ...] = TX8.grid
    spm_bytes: int = TX8.spm_bytes
    spm_allocatable: tuple[int, ...] = TX8.spm_allocatable
    ddr_base: int = TX8.ddr_base
    ddr_bytes: int = TX8.ddr_bytes
    dma_levels: int = TX8.dma_levels
    tdma_levels: int = TX8.tdma_levels
    dte_message_bytes: int = TX8.dte_message_bytes
    ne_extent: tuple[int, ...] = TX8.ne.extent
    ne_channels: tuple[int, ...] = TX8.ne.channels
    ne_pad: tuple[int, ...] = TX8.ne.pad
    ne_kernel: tuple[int, ...] = TX8.ne.kernel
    ne_stride: tuple[int, ...] = TX8.ne.stride
    ne_dilation: tuple[int, ...] = TX8.ne.dilation

    @classmethod
    def of(cls, target: Target) -> ChipAttr:
        """What a program for `target` may use."""
        plain = {name: getattr(target, name) for name in _names() if not name.startswith("ne_")}
        limits = {f"ne_{field.name}": getattr(target.ne, field.name) for field in attrs.fields(NeLimits)}
        return cls(**plain, **limits)

    @property
    def target(self) -> Target:
        """The TX8 with these fields."""
        return _target(self)


def _names() -> tuple[str, ...]:
    return tuple(field.name for field in attrs.fields(ChipAttr))


@lru_cache(maxsize=16)
def _target(chip: ChipAttr) -> Target:
    fields: dict[str, Any] = {name: getattr(chip, name) for name in _names()}
    ne = NeLimits(**{name.removeprefix("ne_"): fields.pop(name) for name in list(fields) if name.startswith("ne_")})
    return attrs.evolve(TX8, ne=ne, **fields)


ATTRIBUTES = (ChipAttr,)
