"""The `repr` of what people look at in a shell fits a screen: 24 lines of 80 characters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tx8ir
from tx8ir.dialects import pd
from tx8ir.passes import PassManager
from tx8ir.testing import check


@tx8ir.function
def layer(x: Any, w: Any) -> Any:
    return pd.softmax((x @ w + 1.0).relu())


def looked_at() -> list[Any]:
    """One of each kind that the first hour meets."""
    x, w = np.ones((8, 64), np.float32), np.ones((64, 10), np.float32)
    on_chip = tx8ir.jit(layer)
    on_chip(x, w)
    executable, program = on_chip.compile(x, w), layer.program(x, w)
    main = program["main"]
    passes = PassManager.parse("canonicalize,func.func(cse,dce)")
    report = executable.report
    return [
        *(layer, on_chip, program, program.module, program.body, program.weights, main, main.body, main.location),
        *(
            main.body.block.args[0],
            main.body.block.first_op,
            main.function_type,
            pd.DIALECT,
            tx8ir.core.default_context(),
        ),
        *(executable, executable.signature, executable.target, report, report.compilation, report.run),
        *(tx8ir.CompileOptions(), passes, passes.passes[0], passes.run(program), check(program)),
    ]


@pytest.mark.slow
def test_everything_that_is_looked_at_fits_a_screen() -> None:
    for thing in looked_at():
        shown = repr(thing)
        assert len(shown) <= 24 * 80, type(thing)
        assert shown.count("\n") <= 24, type(thing)
        assert " object at 0x" not in shown, type(thing)
