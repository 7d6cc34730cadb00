"""The target that the options of a pass describe."""

from __future__ import annotations

import attrs

from tx8ir.target.chip import BOARD, DATASHEET, TX8, Target

__all__ = ["PROFILES", "target_with"]

PROFILES = {"datasheet": DATASHEET, "board": BOARD}
"""Timing profiles by name."""


def target_with(spm_bytes: int | None = None, profile: str = "datasheet") -> Target:
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
