"""The machine that a program is compiled for, as one attribute: `tx8.target = #tx8.target<{...}>`.

It stands on the module while the program is compiled, where every stage reads it, and in the end on the `tx8.program`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import attrs

from tx8ir.core import Attribute, IrError, Operation, Program, SparseStructAttr, struct_attr
from tx8ir.target.chip import TX8, Profile, Target

from .chip import ChipAttr

TARGET: Final = "tx8.target"
"""The attribute of a module that says what it is compiled for; without it, the TX8."""
_PROGRAM: Final = "tx8.program"


@struct_attr("tx8.timing")
@attrs.frozen
class Timing(SparseStructAttr):
    """The figures that costs are computed from: the fields of `tx8ir.target.chip.Profile`. The defaults are the TX8's.

    `ne_rates` is `Profile.ne_steps_per_cycle`, each entry as text: `f32 2/3`.
    """

    name: str = TX8.profile.name
    ne_step: tuple[int, ...] = TX8.profile.ne_step
    ne_rates: tuple[str, ...] = tuple(f"{name} {Fraction(n, d)}" for name, n, d in TX8.profile.ne_steps_per_cycle)
    ne_efficiency: float = TX8.profile.ne_efficiency
    ne_weight_bytes_per_cycle: int = TX8.profile.ne_weight_bytes_per_cycle
    ct_startup_cycles: int = TX8.profile.ct_startup_cycles
    ct_bytes_per_cycle: int = TX8.profile.ct_bytes_per_cycle
    tdma_bytes_per_cycle: int = TX8.profile.tdma_bytes_per_cycle
    tdma_segment_cycles: int = TX8.profile.tdma_segment_cycles
    dma_startup_cycles: int = TX8.profile.dma_startup_cycles
    ddr_bytes_per_cycle: float = TX8.profile.ddr_bytes_per_cycle
    ddr_bank_cycles: int = TX8.profile.ddr_bank_cycles
    dte_bytes_per_cycle: int = TX8.profile.dte_bytes_per_cycle
    dte_first_message_cycles: int = TX8.profile.dte_first_message_cycles
    dte_message_cycles: int = TX8.profile.dte_message_cycles
    scalar_cycles: int = TX8.profile.scalar_cycles
    barrier_cycles: int = TX8.profile.barrier_cycles
    issue_cycles: int = TX8.profile.issue_cycles
    instructions_in_flight: int = TX8.profile.instructions_in_flight

    @classmethod
    def of(cls, profile: Profile) -> Timing:
        """The figures of `profile`."""
        fields = {f.name: getattr(profile, f.name) for f in attrs.fields(Profile)}
        rates = fields.pop("ne_steps_per_cycle")
        return cls(ne_rates=tuple(f"{name} {Fraction(n, d)}" for name, n, d in rates), **fields)

    @property
    def profile(self) -> Profile:
        """The profile with these figures. Raises ValueError where an entry of `ne_rates` is wrong."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.field_names()}
        return Profile(ne_steps_per_cycle=tuple(_rate(text) for text in fields.pop("ne_rates")), **fields)


def _rate(text: str) -> tuple[str, int, int]:
    name, _, steps = text.partition(" ")
    try:
        fraction = Fraction(steps)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f'ne_rates has "{text}"; expected a format and steps per cycle, as "f32 2/3"') from None
    return name, fraction.numerator, fraction.denominator


_CHIP: Final = ChipAttr()
_TIMING: Final = Timing()


@struct_attr("tx8.target")
@attrs.frozen
class TargetAttr(SparseStructAttr):
    """A `tx8ir.target.chip.Target`: what its programs may use, its timing, and its other fields by their names."""

    name: str = TX8.name
    chip: ChipAttr = _CHIP
    timing: Timing = _TIMING
    spm_banks: int = TX8.spm_banks
    spm_bank_bytes: int = TX8.spm_bank_bytes
    spm_alignment: int = TX8.spm_alignment
    ddr_bank: int = TX8.ddr_bank
    chip_links: int = TX8.chip_links
    chip_link_bytes_per_cycle: int = TX8.chip_link_bytes_per_cycle
    chip_grid: tuple[int, ...] = TX8.chip_grid
    ne_fp_postproc: bool = TX8.ne_fp_postproc

    @classmethod
    def of(cls, target: Target) -> TargetAttr:
        """The attribute that describes `target`."""
        return cls(
            chip=ChipAttr.of(target), timing=Timing.of(target.profile), **{n: getattr(target, n) for n in _own()}
        )

    @property
    def target(self) -> Target:
        """The target that the attribute describes. Raises ValueError where its timing describes none."""
        return _target(self)


def _own() -> tuple[str, ...]:
    return tuple(name for name in TargetAttr.field_names() if name not in ("chip", "timing"))


@lru_cache(maxsize=16)
def _target(attribute: TargetAttr) -> Target:
    own: dict[str, Any] = {name: getattr(attribute, name) for name in _own()}
    return attrs.evolve(attribute.chip.target, profile=attribute.timing.profile, **own)


def target_of(subject: Program | Operation) -> Target:
    """What a program, or the one around an operation, is compiled for: the TX8 unless it says another target.

    Raises:
        IrError: the attribute is not a target.
    """
    if isinstance(subject, Program):
        inside = next((op for op in subject.body if op.name == _PROGRAM), None)
        return target_of(subject.module if inside is None else inside)
    owner: Operation | None = subject
    while owner is not None:
        attribute = owner.attributes.get("target" if owner.name == _PROGRAM else TARGET)
        if attribute is not None:
            return _read(attribute, owner)
        owner = owner.parent_op
    return TX8


def _read(attribute: Attribute, owner: Operation) -> Target:
    if not isinstance(attribute, TargetAttr):
        raise IrError(f"{TARGET} is {attribute}; expected #{TargetAttr.attr_name}<...>", op=owner)
    try:
        return attribute.target
    except ValueError as error:
        raise IrError(f"{TARGET}: {error}", op=owner) from None


def set_target(program: Program, target: Target) -> None:
    """Make `target` what `program` is compiled for."""
    owner = next((op for op in program.body if op.name == _PROGRAM), program.module)
    name = TARGET if owner is program.module else "target"
    if target != TX8:
        owner.set_attribute(name, TargetAttr.of(target))
    elif name in owner.attributes:
        owner.remove_attribute(name)


ATTRIBUTES = (Timing, TargetAttr)
