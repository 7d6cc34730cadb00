"""`set-target`: what the program is compiled for, by the options that a command line has."""

from __future__ import annotations

from typing import ClassVar

import attrs

from tx8ir.core import Program
from tx8ir.dialects import tx8
from tx8ir.passes import Pass, option, register_pass
from tx8ir.target.chip import PROFILES, TX8, Target

__all__ = ["SetTarget", "target_with"]


def target_with(spm_bytes: int | None = None, profile: str = TX8.profile.name) -> Target:
    """TX8 with `spm_bytes` of allocatable SPM (all that the chip has when None) and the named timing profile.

    Raises:
        ValueError: more SPM than the chip has, or an unknown profile.
    """
    if profile not in PROFILES:
        raise ValueError(f"profile is {profile!r}; expected one of {', '.join(PROFILES)}")
    target = attrs.evolve(TX8, profile=PROFILES[profile])
    if spm_bytes is None:
        return target
    if not 0 < spm_bytes <= TX8.spm_allocatable_bytes:
        raise ValueError(f"spm_bytes is {spm_bytes}; expected 1 to {TX8.spm_allocatable_bytes}")
    first = TX8.spm_allocatable[0]
    return attrs.evolve(target, spm_allocatable=(first, first + spm_bytes))


@register_pass
@attrs.frozen
class SetTarget(Pass):
    """Says in the module what the program is compiled for: a TX8, with less SPM or another timing profile.

    The stages of the backend read it (`tx8.target`), each by itself; without it they compile for the TX8. Another
    target than the options can say is set by hand, or by `tx8ir.compile(program, target)`.
    """

    name: ClassVar[str] = "set-target"
    spm_bytes: int | None = option(None, "bytes of SPM per tile that may be used; none: those of TX8")
    profile: str = option(TX8.profile.name, "the timing profile: datasheet or board")

    def __attrs_post_init__(self) -> None:
        target_with(self.spm_bytes, self.profile)

    def run(self, program: Program) -> None:
        tx8.set_target(program, target_with(self.spm_bytes, self.profile))
