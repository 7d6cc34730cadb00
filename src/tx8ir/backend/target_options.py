"""The target that the options of a pass describe, and the options that describe a target."""

from __future__ import annotations

from typing import Any, cast

import attrs

from tx8ir.core import IrError
from tx8ir.target.chip import BOARD, DATASHEET, TX8, Target

__all__ = ["PROFILES", "target_choices", "target_with"]

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


def target_choices(target: Target) -> dict[str, object]:
    """The options, shared by several passes, that describe `target`; those of `TX8` are left out."""
    choices: dict[str, object] = {}
    if target.spm_allocatable != TX8.spm_allocatable:
        choices["spm_bytes"] = target.spm_allocatable_bytes
    if target.profile != TX8.profile:
        choices["profile"] = target.profile.name
    try:
        described = target_with(**cast("dict[str, Any]", choices))
    except ValueError as error:
        raise IrError(f"cannot compile for this target: {error}") from error
    if described != target:
        raise IrError(
            f"cannot compile for this target: it may differ from TX8 by a smaller allocatable SPM and by its profile "
            f"({', '.join(PROFILES)}); given: {target}"
        )
    return choices
