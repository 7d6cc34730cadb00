"""A program that keeps the sum of its inputs in a variable, and gives what it was before."""

from __future__ import annotations

import numpy as np

import tx8ir
from tx8ir.executable import Executable

V = "!pd.vtensor<2x4xf32>"
SUMMING = f"""
module {{
  func.func @main(%x: {V}) -> {V} attributes {{arg_names = ["x"], result_names = ["before"]}} {{
    %0 = "builtin.get_parameter"() {{name = "total"}} : () -> {V}
    %1 = "pd.add"(%0, %x) : ({V}, {V}) -> {V}
    "builtin.set_parameter"(%1) {{name = "total"}} : ({V}) -> ()
    return %0 : {V}
  }}
}}
"""
ONE = np.ones((2, 4), np.float32)


def summing_from(start: float) -> Executable:
    """The program compiled; all elements of its variable `total` are `start` at first."""
    program = tx8ir.parse(SUMMING)
    program.weights.add("total", start * ONE, is_mutable=True)
    return tx8ir.compile(program)
