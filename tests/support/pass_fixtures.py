"""Fixtures of suites about passes, which they import in their `conftest.py`: small programs, running a pipeline on
them, and comparing evaluations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tx8ir
from tx8ir.core import Builder, FunctionType, Operation, Program, Type, Value, detached
from tx8ir.dialects import func
from tx8ir.interpreter import evaluate
from tx8ir.passes import PassManager, PipelineReport


def _build(
    body: Callable[..., Any],
    *inputs: Type,
    weights: Mapping[str, NDArray[Any]] | None = None,
    mutable: Sequence[str] = (),
) -> Program:
    program = Program.empty()
    for name, array in (weights or {}).items():
        program.weights.add(name, array, is_mutable=name in mutable)
    with detached():
        main = func.FuncOp(sym_name="main", function_type=FunctionType(inputs, ()))
    program.body.append(main)
    with Builder.at_end(main.body.block):
        outcome = body(*main.body.block.args)
        outputs = [outcome] if isinstance(outcome, (Value, Operation)) else list(outcome)
        returned = func.ReturnOp(outputs)
    main.set_attribute("function_type", FunctionType(inputs, [v.type for v in returned.operands]))
    program.verify()
    return program


def _run(program: Program, pipeline: str) -> PipelineReport:
    return PassManager.parse(pipeline).run(program)


def _inputs(program: Program, seed: int) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(seed)
    drawn: dict[str, NDArray[Any]] = {}
    for name, kind in program.inputs.items():
        if kind.element.is_float:
            drawn[name] = rng.standard_normal(kind.shape).astype(np.float32)
        elif kind.element.format.is_bool:
            drawn[name] = rng.integers(0, 2, kind.shape).astype(bool)
        else:
            drawn[name] = rng.integers(0, 4, kind.shape).astype(kind.element.dtype)
    return drawn


def _assert_same(before: Program, after: Program, *, seed: int = 0, tolerance: float = 0.0) -> None:
    inputs = _inputs(before, seed)
    given = {
        name: inputs[name].astype(kind.element.dtype) if not kind.element.is_float else inputs[name]
        for name, kind in after.inputs.items()
    }
    expected, got = evaluate(before, inputs), evaluate(after, given)
    assert list(expected) == list(got)
    for name, wanted in expected.items():
        a, b = wanted.astype(np.float64), got[name].astype(np.float64)
        assert a.shape == b.shape
        if tolerance == 0.0:
            np.testing.assert_array_equal(a, b, err_msg=name)
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b), err_msg=f"signs of {name}")
        else:
            np.testing.assert_allclose(b, a, rtol=0, atol=tolerance * max(1e-30, float(np.max(np.abs(a), initial=0))))


def _cycles(program: Program) -> int:
    executable = tx8ir.compile(program, options=tx8ir.CompileOptions(opt_graph="required"))
    executable.run(_inputs(program, 0))
    found = executable.report.run
    assert found is not None
    return found.sim.cycles


@pytest.fixture(scope="session")
def cycles() -> Callable[[Program], int]:
    """`cycles(program)`: how many it takes on the simulated chip, the graph compiled as it is."""
    return _cycles


@pytest.fixture(scope="session")
def build() -> Callable[..., Program]:
    """`build(body, *input types, weights=, mutable=)`: `main` that returns what `body` makes of its arguments."""
    return _build


@pytest.fixture(scope="session")
def run() -> Callable[[Program, str], PipelineReport]:
    """`run(program, pipeline)` in place, verified before and after each pass."""
    return _run


@pytest.fixture(scope="session")
def assert_same() -> Callable[..., None]:
    """`assert_same(before, after, seed=, tolerance=)`: both compute the same on drawn inputs; bit for bit by default,
    else within `tolerance` of the largest element.
    """
    return _assert_same


@pytest.fixture(scope="session")
def names() -> Callable[[Program], list[str]]:
    """The names of the operations of `main`, without the return."""
    return lambda program: [op.name for op in program.main.body.block if op.name != "func.return"]


def _twice(pipeline: str) -> Callable[[Program], None]:
    def run_twice(program: Program) -> None:
        _run(program, pipeline)
        text = str(program)
        _run(program, pipeline)
        assert str(program) == text, f"a second run of {pipeline} changes the program again"

    return run_twice


@pytest.fixture(scope="session")
def twice() -> Callable[[str], Callable[[Program], None]]:
    """`twice(pipeline)`: a function for `assert_preserves` that runs a pipeline twice; again must change nothing."""
    return _twice
