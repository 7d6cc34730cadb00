"""Python functions of arrays: traced into programs, compiled, and run on the simulated chip.

    @tx8ir.function
    def layer(x, w):
        return (x @ w).relu()

    layer.program(x, w)    # a Program; arrays say shapes and element types, and so do types
    tx8ir.jit(layer)(x, w) # compiled, simulated: arrays

- `trace`: `function`, which calls a Python function with values instead of arrays
- `control`: `cond` and `while_loop`, control flow of the program
- `jit`: `jit`, which compiles for each kind of arguments once
- `trees`: arguments and results that are lists, tuples and dictionaries of arrays
"""

from __future__ import annotations

from .control import cond, while_loop
from .jit import Jitted, jit
from .trace import Function, function

__all__ = ["Function", "Jitted", "cond", "function", "jit", "while_loop"]
