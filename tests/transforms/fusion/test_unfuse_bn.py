"""Batch normalisation by constants becomes a multiplication and an addition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import with_examples
from tx8ir.core import Builder, TensorType, Value, VTensorType, bf16, f16, f32
from tx8ir.dialects import builtin, pd, scf
from tx8ir.interpreter import evaluate
from tx8ir.testing import NumericGuarantee, assert_preserves, check, ulp
from tx8ir.testing.programs import EVERYTHING, Writer, ranked, tensor_programs

IMAGE = VTensorType((2, 3, 4, 5), f32)
RNG = np.random.default_rng(2)
NAMES = ("mean", "variance", "scale", "offset")


def weights(channels: int = 3, kind: Any = f32, **given: Any) -> dict[str, Any]:
    drawn = {name: RNG.standard_normal(channels) for name in NAMES}
    drawn["variance"] = RNG.uniform(0.5, 2, channels)
    return {name: array.astype(kind.dtype) for name, array in (drawn | given).items()}


def norm(x: Value, channels: int = 3, kind: Any = f32, **options: Any) -> Any:
    mean, variance, scale, offset = (
        builtin.GetParameterOp(parameter=name, out=VTensorType((channels,), kind)) for name in NAMES
    )
    return pd.batch_norm(x, mean, variance, scale=scale, bias=offset, **options)


def test_the_text_before_and_after(build, run, assert_same, golden) -> None:
    program = build(norm, IMAGE, weights=weights())
    before = program.clone()
    assert run(program, "unfuse-bn").stages[0].statistics == {"unfused": 1}
    golden(f"// before\n{before}\n\n// unfuse-bn\n{program}", "transforms/unfuse-bn.mlir")
    assert_same(before, program, tolerance=1e-6)
    assert run(program, "unfuse-bn").stages[0].statistics == {}


@pytest.mark.parametrize(("shape", "layout"), [((2, 3), "NCHW"), ((4, 5, 3), "NHWC"), ((2, 3, 2, 2, 2), "NCHW")])
def test_scale_and_shift_lie_along_the_channels(build, run, assert_same, names, shape, layout) -> None:
    program = build(lambda x: norm(x, data_format=layout), VTensorType(shape, f32), weights=weights())
    before = program.clone()
    run(program, "unfuse-bn")
    assert names(program) == ["builtin.constant", "builtin.constant", "pd.multiply", "pd.add"]
    assert_same(before, program, tolerance=1e-6)


def test_many_channels_are_variables_named_after_the_mean(build, run, assert_same) -> None:
    program = build(lambda x: norm(x, 40), VTensorType((2, 40, 3), f32), weights=weights(40))
    before = program.clone()
    run(program, "unfuse-bn")
    assert {"mean.factor", "mean.shift"} < set(program.weights)
    assert program.weights["mean.factor"].type.shape == (40, 1)
    assert_same(before, program, tolerance=1e-6)


def test_statistics_that_may_change_stay(build, run) -> None:
    program = build(norm, IMAGE, weights=weights(), mutable=["offset"])
    assert run(program, "unfuse-bn").stages[0].statistics == {}


def test_storage_stays(build, run) -> None:
    program = build(norm, TensorType(IMAGE.shape, f32), weights=weights())
    assert run(program, "unfuse-bn").stages[0].statistics == {}


@pytest.mark.parametrize("variance", [-1.0, 0.0])
def test_numbers_that_are_not_finite_stay(build, run, variance: float) -> None:
    given = weights(variance=np.array([1.0, variance, 1.0]))
    program = build(lambda x: norm(x, epsilon=0.0), IMAGE, weights=given)
    assert run(program, "unfuse-bn").stages[0].statistics == {}


def test_a_scale_beyond_the_format_stays(build, run) -> None:
    given = weights(3, f16, scale=np.full(3, 6e4), variance=np.full(3, 1e-3))
    program = build(lambda x: norm(x, 3, f16), IMAGE.with_element(f16), weights=given)
    assert run(program, "unfuse-bn").stages[0].statistics == {}


def test_inside_regions(build, run, assert_same) -> None:
    def body(x: Value) -> Any:
        flag = builtin.constant(value=np.array(True))
        return scf.IfOp.build(flag, lambda: [norm(x)], lambda: [x])

    program = build(body, IMAGE, weights=weights())
    before = program.clone()
    assert run(program, "unfuse-bn").stages[0].statistics == {"unfused": 1}
    assert_same(before, program, tolerance=1e-6)


def test_what_is_not_behind_a_convolution_computes_on_the_chip(build, run, names) -> None:
    program = build(lambda x: pd.relu(norm(x, data_format="NHWC")), VTensorType((1, 4, 4, 3), f32), weights=weights())
    run(program, "fuse-conv-bn,unfuse-bn")
    assert names(program)[-3:] == ["pd.multiply", "pd.add", "pd.relu"]
    assert check(program).passed


@given(st.integers(0, 10**6), st.sampled_from([f32, bf16, f16]), st.floats(0, 50))
def test_the_error_is_within_the_bound_of_the_docstring(build, run, seed: int, kind: Any, mean: float) -> None:
    """Also where mean and x nearly cancel."""
    rng = np.random.default_rng(seed)
    given = weights(3, kind, mean=mean + rng.standard_normal(3))
    program = build(lambda x: norm(x, 3, kind), VTensorType((4, 3), kind), weights=given)
    x = (mean + rng.standard_normal((4, 3))).astype(kind.dtype)
    (exact,) = evaluate(program, {"arg0": x}, "fp64").values()
    run(program, "unfuse-bn")
    (found,) = evaluate(program, {"arg0": x}).values()
    mean_, variance, scale, offset = (given[name].astype(np.float64) for name in NAMES)
    k = scale / np.sqrt(variance + 1e-5)
    c = offset - mean_ * k
    bound = 2 * ulp(float(np.max(np.abs(x.astype(np.float64) * k))), kind.format)
    bound += 2 * ulp(float(np.max(np.abs(c))), kind.format)
    assert np.max(np.abs(found.astype(np.float64) - exact)) <= bound


def normalisation(writer: Writer) -> Sequence[Value]:
    """A normalisation by powers of four, of which one may be mutable.

    The factor is a power of two whichever is the mean, the variance and the scale. Then x·k + c and (x - mean)·k round
    alike, and whatever else the program does with it, such as writing it again with its operands exchanged, can be
    compared exactly.
    """
    x = writer.value(lambda t: isinstance(t, VTensorType) and t.rank >= 2 and t.element is f32)
    if x is None:
        return ()
    layout = writer.one_of(["NCHW", "NHWC"])
    channels = ranked(x).shape[1 if layout == "NCHW" else -1]
    rng = np.random.default_rng(writer.one_of(range(9)))
    values: list[Value] = []
    for _ in range(3):
        name = f"w{len(writer.program.weights)}"
        powers = (4.0 ** rng.integers(-2, 3, channels)).astype(np.float32)
        writer.program.weights.add(name, powers, is_mutable=writer.one_of(range(7)) == 6)
        with Builder.at_end(writer.block):
            values.append(builtin.GetParameterOp(parameter=name, out=VTensorType((channels,), f32)).out)
    mean, variance, scale = values
    with Builder.at_end(writer.block):
        return pd.batch_norm(x, mean, variance, scale=scale, epsilon=0.0, data_format=layout).results


INPUTS = [VTensorType((1, 2, 3, 3), f32)]


@with_examples()
def test_generated_programs_keep_their_values(examples: int) -> None:
    programs = tensor_programs(EVERYTHING, steps=[normalisation], inputs=INPUTS)
    assert_preserves(
        "unfuse-bn", programs=programs, examples=examples, guarantee=NumericGuarantee.VALUES, changed=1 / 3
    )


def test_a_factor_that_vanishes_in_the_format_stays_where_it_is(build, run, names) -> None:
    """Infinity times 0 is not a number, and infinity times 1e-15 is."""
    program = build(
        lambda x: norm(x, kind=f16, epsilon=1e30), VTensorType((1, 3, 1, 1), f16), weights=weights(kind=f16)
    )
    run(program, "unfuse-bn")
    assert "pd.batch_norm" in names(program)
