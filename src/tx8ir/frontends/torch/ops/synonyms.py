"""Operators that have a second name."""

from __future__ import annotations

from typing import Final

from tx8ir.frontends.torch.registry import converter, supported_ops

_NAMES: Final = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctanh": "atanh", "clip": "clamp", "divide": "div", "greater": "gt", "greater_equal": "ge", "less": "lt",
    "less_equal": "le", "multiply": "mul", "negative": "neg", "not_equal": "ne", "subtract": "sub",
}  # fmt: skip
"""The operator that each of these is."""

for _item in supported_ops():
    for _name, _known in _NAMES.items():
        if _item.operator.split(".")[:2] == ["aten", _known]:
            converter(_item.signature.text.replace(_known, _name, 1))(_item.function)
        if _item.operator in ("aten.div.Tensor", "aten.div.Scalar") and _name == "divide":
            converter(_item.signature.text.replace("div", "true_divide", 1))(_item.function)
