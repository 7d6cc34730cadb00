"""What is known about a program without changing it: aliases, effects, control flow, constants, calls."""

from __future__ import annotations

from .alias import AliasAnalysis, Effects
from .manager import AnalysisManager

__all__ = ["AliasAnalysis", "AnalysisManager", "Effects"]
