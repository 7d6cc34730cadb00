"""Each line that ends in `# wrong` is one that a type checker must refuse."""

from __future__ import annotations

import tx8ir
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
