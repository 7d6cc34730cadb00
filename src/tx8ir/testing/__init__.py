"""Oracles for compiled programs: is what the simulator computed what the source program says?"""

from __future__ import annotations

from tx8ir.testing.check import CheckResult, OutputCheck, check, check_outputs, random_inputs, ulp

__all__ = ["CheckResult", "OutputCheck", "check", "check_outputs", "random_inputs", "ulp"]
