"""Patterns that are written down as what they match and what takes its place; see `rule`."""

from __future__ import annotations

from .nodes import Attr, Constant, Match, Node, Number, OneOf, Pattern, ResultOf, Var
from .rule import MadeResult, Make, Rule
from .several_roots import MultiMatch, MultiRootRule

__all__ = [
    "Attr",
    "Constant",
    "MadeResult",
    "Make",
    "Match",
    "MultiMatch",
    "MultiRootRule",
    "Node",
    "Number",
    "OneOf",
    "Pattern",
    "ResultOf",
    "Rule",
    "Var",
]
