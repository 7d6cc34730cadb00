"""Matrix products."""

from __future__ import annotations

from tx8ir.core import Operation, Value
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.ops.arithmetic import times
from tx8ir.frontends.onnx.registry import Converted, converter


@converter("MatMul", first=1, last=13)
def matmul(node: OnnxNode) -> Converted:
    """Matrix product over the last two axes, NumPy's rules for vectors and batches."""
    return pd.matmul(node.operand(0), node.operand(1))


@converter("Gemm", first=1, last=13, attributes=("alpha", "beta", "broadcast", "transA", "transB"))
def gemm(node: OnnxNode) -> Converted:
    """Alpha A' B' + beta C; C broadcasts to the product."""
    for index in (0, 1):
        if node.type_of(index).rank != 2:
            raise node.error(f"input {index} is {node.type_of(index)}; expected a matrix")
    out: Operation = pd.matmul(
        node.operand(0),
        node.operand(1),
        transpose_x=node.bool("transA", False),
        transpose_y=node.bool("transB", False),
    )
    alpha, beta = node.float("alpha", 1.0), node.float("beta", 1.0)
    if alpha != 1.0:
        out = times(out, alpha)
    addend: Value | Operation | None = node.optional(2)
    if addend is None or beta == 0.0:
        return out
    return pd.add(out, addend if beta == 1.0 else times(addend, beta))


@converter("Det", first=11, last=22)
def det(node: OnnxNode) -> Converted:
    """The determinants of matrices."""
    return pd.det(node.operand(0))
