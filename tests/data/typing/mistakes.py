"""Each line that ends in `# wrong` is one that a type checker must refuse."""

from __future__ import annotations

from user import BlendOp, SumOp

import tx8ir
from tx8ir.core import Value
from tx8ir.dialects import pd


def mistakes(x: tx8ir.Tensor) -> None:
    pd.relu(x, slope=1)  # wrong
    pd.relu("x")  # wrong
    pd.softmax(x, axis="last")  # wrong
    pd.add(x, "a")  # wrong
    pd.rellu(x)  # wrong
    x.rellu()  # wrong
    x.softmax(axis="last")  # wrong
    tx8ir.complie(x)  # wrong
    tx8ir.compile(x)  # wrong
    tx8ir.CompileOptions(opt_group="fuse")  # wrong


def mistakes_of_own_operations(x: Value, y: Value) -> None:
    BlendOp(x)  # wrong
    BlendOp(x, "y")  # wrong
    BlendOp(x, y, a="1")  # wrong
    SumOp([x])  # wrong
