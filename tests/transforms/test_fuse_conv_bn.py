"""Batch normalisation goes into the convolution before it, where the weights may not change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tx8ir.core import Value, VTensorType, f32
from tx8ir.dialects import builtin, pd

IMAGE = VTensorType((1, 3, 6, 6), f32)
RNG = np.random.default_rng(1)
WEIGHTS = {
    "w": RNG.standard_normal((4, 3, 3, 3)).astype(np.float32),
    "b": RNG.standard_normal(4).astype(np.float32),
    "mean": RNG.standard_normal(4).astype(np.float32),
    "variance": RNG.uniform(0.5, 2, 4).astype(np.float32),
    "scale": RNG.standard_normal(4).astype(np.float32),
    "offset": RNG.standard_normal(4).astype(np.float32),
}


def read(name: str) -> Any:
    return builtin.GetParameterOp(parameter=name, out=VTensorType(WEIGHTS[name].shape, f32))


def network(x: Value, *, bias: bool = True, keep: bool = False) -> Any:
    y = pd.conv2d(x, read("w"), bias=read("b") if bias else None, paddings=(1, 1))
    out = pd.batch_norm(y, read("mean"), read("variance"), scale=read("scale"), bias=read("offset"))
    return (out, y) if keep else out


def kinds(program: Any) -> list[str]:
    return [op.name for op in program.main.body.block if op.name.startswith("pd.")]


@pytest.mark.parametrize("bias", [True, False])
def test_the_pair_becomes_one_convolution(build, run, assert_same, golden, bias: bool) -> None:
    program = build(lambda x: network(x, bias=bias), IMAGE, weights=WEIGHTS)
    before = program.clone()
    report = run(program, "fuse-conv-bn")
    assert report.stages[0].statistics == {"fused": 1}
    assert kinds(program) == ["pd.conv2d"]
    assert_same(before, program, tolerance=1e-5)
    if bias:
        golden(f"// before\n{before}\n\n// fuse-conv-bn\n{program}", "transforms/fuse-conv-bn.mlir")
    assert run(program, "fuse-conv-bn").stages[0].statistics == {}


def test_weights_that_may_change_stay(build, run) -> None:
    program = build(network, IMAGE, weights=WEIGHTS, mutable=["mean"])
    assert run(program, "fuse-conv-bn").stages[0].statistics == {}
    assert kinds(program) == ["pd.conv2d", "pd.batch_norm"]


def test_a_convolution_that_others_read_stays(build, run) -> None:
    program = build(lambda x: network(x, keep=True), IMAGE, weights=WEIGHTS)
    assert run(program, "fuse-conv-bn").stages[0].statistics == {}


def test_relu_goes_into_the_convolution_and_the_chip_agrees(build, run, assert_same, golden) -> None:
    program = build(lambda x: pd.relu(network(x)), IMAGE, weights=WEIGHTS)
    before = program.clone()
    run(program, "fuse-conv-bn,fuse-conv-activation")
    assert kinds(program) == ["pd.fused_conv2d_add_act"]
    assert_same(before, program, tolerance=1e-5)
    run(program, "nhwc,canonicalize")
    assert "pd.fused_conv2d_add_act" in kinds(program)
    assert_same(before, program, tolerance=1e-5)
    golden(str(program), "transforms/fuse-conv-activation.mlir")


def test_the_fused_operation_compiles(build) -> None:
    import tx8ir

    program = build(
        lambda x: pd.fused_conv2d_add_act(x, read("w"), bias=read("b"), paddings=(1, 1)), IMAGE, weights=WEIGHTS
    )
    x = RNG.standard_normal(IMAGE.shape).astype(np.float32)
    (out,) = tx8ir.compile(program).run({next(iter(program.inputs)): x}).values()
    (wanted,) = tx8ir.interpreter.evaluate(program, {next(iter(program.inputs)): x}, "fp64").values()
    np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-5)
