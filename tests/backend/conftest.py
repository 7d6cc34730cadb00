"""What the backend suites share: building small programs, running passes on them, and comparing values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tx8ir.compiler as _executable  # registers every pass
from tx8ir.core import Builder, FunctionType, Operation, Program, RankedTensor, Type, Value, f32
from tx8ir.dialects import builtin, func
from tx8ir.interpreter import evaluate
from tx8ir.passes import PassManager

assert _executable

Parameter = Callable[[str], Value]


def _build_program(
    build: Callable[..., Value | Operation | Sequence[Any]],
    inputs: Mapping[str, Type],
    weights: Mapping[str, NDArray[Any]] | None = None,
) -> Program:
    """`main` over `inputs`: `build` takes its arguments and a function that reads a weight by name."""
    program = Program.empty()
    for name, array in (weights or {}).items():
        program.weights.add(name, array)

    def parameter(name: str) -> Value:
        return builtin.get_parameter(parameter=name, out=program.weights[name].type.to_vtensor()).out

    main = func.FuncOp(sym_name="main", function_type=FunctionType(tuple(inputs.values()), ()), arg_names=tuple(inputs))
    block = main.body.block
    with Builder.at_end(block):
        given = build(*block.args, parameter)
        made = list(given) if isinstance(given, (list, tuple)) else [given]
        values = [v.results[0] if isinstance(v, Operation) else v for v in made]
        func.ReturnOp(values)
    main.set_attribute("function_type", FunctionType(tuple(inputs.values()), tuple(v.type for v in values)))
    main.set_attribute("result_names", tuple(f"out{i}" for i in range(len(values))))
    program.body.append(main)
    program.verify()
    return program


def _run_passes(program: Program, pipeline: str) -> Program:
    """A copy of the program after the passes, verified after each."""
    copy = program.clone()
    PassManager.parse(pipeline).run(copy, verify_each=True)
    return copy


def _random_inputs(program: Program, seed: int = 0, low: float = -2.0, high: float = 2.0) -> dict[str, NDArray[Any]]:
    """Inputs of `main`: floats uniform in [low, high), integers in [0, 3)."""
    rng = np.random.default_rng(seed)
    inputs: dict[str, NDArray[Any]] = {}
    for name, kind in program.inputs.items():
        assert isinstance(kind, RankedTensor)
        if kind.element.is_float:
            inputs[name] = rng.uniform(low, high, kind.shape).astype(np.float32 if kind.element is f32 else np.float64)
        else:
            inputs[name] = rng.integers(0, 3, kind.shape).astype(kind.element.dtype)
    return inputs


def _check_same_values(
    before: Program, after: Program, inputs: Mapping[str, NDArray[Any]] | None = None, tolerance: float = 1e-12
) -> None:
    """Both programs give the same values in fp64, relative to the largest output."""
    inputs = _random_inputs(before) if inputs is None else inputs
    expected, given = evaluate(before, inputs, "fp64"), evaluate(after, inputs, "fp64")
    assert list(given) == list(expected)
    for name, array in expected.items():
        assert given[name].shape == array.shape
        finite = np.isfinite(array.astype(np.float64))
        scale = max(1e-30, float(np.abs(array[finite].astype(np.float64)).max(initial=0)))
        np.testing.assert_allclose(
            given[name].astype(np.float64), array.astype(np.float64), rtol=0, atol=tolerance * scale
        )


def _op_names(program: Program, dialect: str = "tx8be") -> list[str]:
    """Names of the ops of `main` in order, without the dialect and without what only frames them."""
    frame = {"Input", "Tuple", "Output", "None", "Constant"}
    names = [op.name.removeprefix(f"{dialect}.") for op in program.main.body.block]
    return [n for n in names if n not in frame and n != "func.return"]


@pytest.fixture(scope="session")
def build_program() -> Callable[..., Program]:
    return _build_program


@pytest.fixture(scope="session")
def run_passes() -> Callable[[Program, str], Program]:
    return _run_passes


@pytest.fixture(scope="session")
def random_inputs() -> Callable[..., dict[str, NDArray[Any]]]:
    return _random_inputs


@pytest.fixture(scope="session")
def check_same_values() -> Callable[..., None]:
    return _check_same_values


@pytest.fixture(scope="session")
def op_names() -> Callable[[Program], list[str]]:
    return _op_names
