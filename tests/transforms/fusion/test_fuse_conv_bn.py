"""Batch normalisation goes into the convolution before it, where the weights may not change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from support.examples import with_examples
from tx8ir.core import Builder, TensorType, Value, VTensorType, f16, f32
from tx8ir.dialects import builtin, pd
from tx8ir.testing import NumericGuarantee, assert_preserves
from tx8ir.testing.programs import EVERYTHING, Writer, ranked, tensor_programs

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


# --- which convolutions -----------------------------------------------------------------------------------------------


def statistics(channels: int, kind: Any = f32) -> dict[str, NDArray[Any]]:
    return {
        "mean": RNG.standard_normal(channels).astype(kind.dtype),
        "variance": RNG.uniform(0.5, 2, channels).astype(kind.dtype),
    }


def normalised(conv: Any, channels: int, kind: Any = f32, **options: Any) -> Any:
    given = [
        builtin.GetParameterOp(parameter=name, out=VTensorType((channels,), kind)) for name in ("mean", "variance")
    ]
    return pd.batch_norm(conv, *given, **options)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("form", ["groups", "depthwise", "depthwise twice"])
def test_every_convolution_keeps_its_attributes(build, run, assert_same, form: str, layout: str) -> None:
    outputs, groups = {"groups": (6, 2), "depthwise": (4, 4), "depthwise twice": (8, 4)}[form]
    kind = pd.conv2d if form == "groups" else pd.depthwise_conv2d
    first = layout == "NCHW"
    shape = (outputs, 4 // groups, 3, 2) if first else (3, 2, outputs, 4 // groups)
    weights = {"w": RNG.standard_normal(shape).astype(np.float32), **statistics(outputs)}

    def body(x: Value) -> Any:
        conv = kind(
            x, builtin.GetParameterOp(parameter="w", out=VTensorType(shape, f32)), strides=(2, 1), dilations=(1, 2),
            paddings=(1, 0, 2, 1), groups=groups, data_format=layout, filter_format="OIHW" if first else "HWOI",
        )  # fmt: skip
        return normalised(conv, outputs, data_format=layout, epsilon=1e-3)

    program = build(body, VTensorType((2, 4, 7, 6) if first else (2, 7, 6, 4), f32), weights=weights)
    before = program.clone()
    attributes = next(op for op in program.main.walk() if op.name == kind.name).attributes
    assert run(program, "fuse-conv-bn").stages[0].statistics == {"fused": 1}
    (fused,) = [op for op in program.main.walk() if op.name.startswith("pd.")]
    assert isinstance(fused, kind)
    assert fused.attributes is attributes
    assert fused.location.by == "fuse-conv-bn"
    assert_same(before, program, tolerance=1e-5)


def test_normalisations_behind_each_other_all_go(build, run, assert_same) -> None:
    program = build(
        lambda x: normalised(normalised(pd.conv2d(x, read("w")), 4), 4),
        IMAGE,
        weights={**WEIGHTS, **statistics(4)},
    )
    before = program.clone()
    assert run(program, "fuse-conv-bn").stages[0].statistics == {"fused": 2}
    assert kinds(program) == ["pd.conv2d"]
    assert_same(before, program, tolerance=1e-5)


def test_an_activation_between_keeps_them_apart(build, run) -> None:
    program = build(
        lambda x: normalised(pd.fused_conv2d_add_act(x, read("w")), 4), IMAGE, weights={**WEIGHTS, **statistics(4)}
    )
    assert run(program, "fuse-conv-bn").stages[0].statistics == {}


def test_another_layout_of_channels_keeps_them_apart(build, run) -> None:
    program = build(
        lambda x: normalised(pd.conv2d(x, read("w")), 4, data_format="NHWC"),
        IMAGE,
        weights={**WEIGHTS, **statistics(4)},
    )
    assert run(program, "fuse-conv-bn").stages[0].statistics == {}


@pytest.mark.parametrize("what", ["variance", "overflow", "underflow", "subnormal"])
def test_weights_that_would_not_be_finite_or_vanish_stay(build, run, what: str) -> None:
    """With a weight that vanishes, an infinity of the image would become a NaN; a subnormal one has few digits."""
    kind = f16 if what == "overflow" else f32
    weights = {"w": np.full((4, 3, 3, 3), 6e4, kind.dtype), **statistics(4, kind)}
    if what in ("underflow", "subnormal"):
        weights["w"][1, 0, 0, 0] = 2e-38
    variance = {"variance": -1.0, "overflow": 1e-3, "underflow": 1e20, "subnormal": 1e4}[what]
    weights["variance"] = np.full(4, variance, kind.dtype)

    def body(x: Value) -> Any:
        w = builtin.GetParameterOp(parameter="w", out=VTensorType((4, 3, 3, 3), kind))
        return normalised(pd.conv2d(x, w), 4, kind)

    program = build(body, IMAGE.with_element(kind), weights=weights)
    assert run(program, "fuse-conv-bn").stages[0].statistics == {}


def test_the_convolution_stays_where_its_image_is_read(build, run, assert_same) -> None:
    """The image is storage that is written after the convolution."""

    def body(x: Value) -> Any:
        storage = builtin.to_tensor(x)
        held = builtin.to_vtensor(storage)
        conv = pd.conv2d(held, read("w"))
        pd.scale_(storage, scale=3.0)
        return [normalised(conv, 4), storage]

    program = build(body, IMAGE, weights={**WEIGHTS, **statistics(4)})
    before = program.clone()
    assert run(program, "fuse-conv-bn").stages[0].statistics == {"fused": 1}
    names = [op.name for op in program.main.body.block]
    assert names.index("pd.conv2d") < names.index("pd.scale_")
    assert_same(before, program, tolerance=1e-5)


def test_a_convolution_of_storage_stays(build, run) -> None:
    program = build(
        lambda x: normalised(pd.conv2d(x, read("w")), 4), TensorType(IMAGE.shape, f32),
        weights={**WEIGHTS, **statistics(4)},
    )  # fmt: skip
    assert run(program, "fuse-conv-bn").stages[0].statistics == {}


# --- generated programs -----------------------------------------------------------------------------------------------


def variable(writer: Writer, array: NDArray[Any]) -> Value:
    """A read of a new variable."""
    name = f"w{len(writer.program.weights)}"
    writer.program.weights.add(name, array)
    with Builder.at_end(writer.block):
        return builtin.GetParameterOp(parameter=name, out=VTensorType(array.shape, f32)).out


def convolution_and_norm(writer: Writer) -> Sequence[Value]:
    """A convolution of an image, and a normalisation after it; now and then of a mutable variance.

    Mean, variance and scale are 1, so both forms round alike, whatever else the program does with it, such as writing
    it again with its operands exchanged; two after each other are rounded once. Other numbers have their own tests.
    """
    x = writer.value(lambda t: isinstance(t, VTensorType) and t.rank == 4 and t.element is f32)
    if x is None:
        return ()
    rng = np.random.default_rng(writer.one_of(range(9)))
    channels = ranked(x).shape[1]
    outputs = channels * writer.one_of([1, 2])
    depthwise = writer.one_of([False, True])
    weight = variable(writer, rng.standard_normal((outputs, 1 if depthwise else channels, 1, 1)).astype(np.float32))
    mean, variance, scale = (variable(writer, np.ones(outputs, np.float32)) for _ in range(3))
    if writer.one_of(range(4)) == 3:
        writer.program.weights[variance.defining_op.parameter].is_mutable = True
    with Builder.at_end(writer.block):
        kind = pd.depthwise_conv2d if depthwise else pd.conv2d
        conv = kind(x, weight, groups=channels if depthwise else 1)
        return pd.batch_norm(conv, mean, variance, scale=scale, epsilon=0.0).results


INPUTS = [VTensorType((1, 2, 3, 3), f32)]


@with_examples()
def test_generated_programs_keep_their_values(examples: int) -> None:
    programs = tensor_programs(EVERYTHING, steps=[convolution_and_norm], inputs=INPUTS)
    assert_preserves(
        "fuse-conv-bn", programs=programs, examples=examples, guarantee=NumericGuarantee.ROUNDING, changed=1 / 3
    )
