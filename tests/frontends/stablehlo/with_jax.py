"""The front end against JAX itself (`make test-peers`): functions as it lowers and exports them, with new arguments."""

from __future__ import annotations

from typing import Any

import jax
import make_samples
import numpy as np
import pytest
from jax import export

from tx8ir.frontends.stablehlo import load
from tx8ir.interpreter import evaluate, evaluate_replicas

SAMPLES = make_samples.samples()
FOR_A_CPU = {"linear_algebra": "calls LAPACK where it is lowered for a CPU"}
SEEDS = range(3)


def redrawn(argument: Any, rng: np.random.Generator) -> np.ndarray:
    """Other numbers of the same kind: floats around 0, integers and truth values in another order."""
    array = np.asarray(argument)
    if array.dtype.kind == "f":
        return rng.standard_normal(array.shape).astype(array.dtype)
    return rng.permutation(array.reshape(-1)).reshape(array.shape)


def text_of(function: Any, arguments: Any, how: str) -> str:
    if how == "exported":
        return export.export(jax.jit(function))(*arguments).mlir_module()
    lowered = jax.jit(function).lower(*arguments)
    if how == "generic":
        return lowered.compiler_ir("stablehlo").operation.get_asm(print_generic_op_form=True)
    return lowered.as_text(debug_info=how == "located")


def compare(found: Any, expected: Any) -> None:
    """The same numbers, up to rounding of sums in another order."""
    for mine, theirs in zip(found, expected, strict=True):
        theirs = make_samples.array_of(theirs)
        assert mine.dtype == theirs.dtype
        if theirs.dtype.kind == "f":
            largest = max(1.0, float(np.abs(theirs[np.isfinite(theirs)]).max(initial=0)))
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5 * largest)
        else:
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("how", ["lowered", "located", "generic", "exported"])
@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in FOR_A_CPU])
def test_functions_are_what_jax_answers(name: str, how: str) -> None:
    function, arguments = SAMPLES[name]
    program = load(text_of(function, arguments, how))
    for seed in SEEDS:
        given = [redrawn(argument, np.random.default_rng(seed)) for argument in arguments]
        found = evaluate(program, dict(zip(program.inputs, given, strict=True)))
        compare(found.values(), jax.tree.leaves(jax.jit(function)(*given)))


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_an_open_batch_is_any(batch: int) -> None:
    function, arguments = make_samples.all_samples()["any_batch"]
    program = load(make_samples.text_of(function, arguments, "any_batch"))
    given = [np.random.default_rng(0).standard_normal((batch, 2, 3)).astype(np.float32), np.asarray(arguments[1])]
    found = evaluate(program, dict(zip(program.inputs, given, strict=True)))
    compare(found.values(), jax.tree.leaves(function(*given)))


def test_devices_are_what_jax_answers() -> None:
    function, (x,) = make_samples.all_samples()["devices"]
    program = load(jax.jit(function).lower(x).as_text())
    (name,) = program.inputs
    found = evaluate_replicas(program, [{name: part} for part in np.split(np.asarray(x), 4)])
    compare([np.concatenate([part[key] for part in found]) for key in found[0]], jax.jit(function)(x))
