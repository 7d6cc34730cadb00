"""Sums of products by Einstein's convention."""

from __future__ import annotations

from tx8ir.frontends import einsum
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.registry import Converted, converter


@converter("Einsum", first=12, last=28, attributes=("equation",))
def sum_of_products(node: OnnxNode) -> Converted:
    """Products of all operands, summed over the letters that the result does not have."""
    return einsum.einsum(node, node.text("equation"), node.operands())
