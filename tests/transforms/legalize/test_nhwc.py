"""Feature maps to NHWC: which transposes appear, sink, cancel, and remain; results do not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tx8ir.core import Program, TensorType, Value, VTensorType, f32, i32
from tx8ir.dialects import builtin, pd

Names = Callable[[Program], list[str]]
IMAGE = VTensorType((2, 3, 8, 6), f32)
RNG = np.random.default_rng(0)
WEIGHTS = {
    "w0": RNG.standard_normal((4, 3, 3, 3)).astype(np.float32),
    "w1": RNG.standard_normal((4, 4, 3, 3)).astype(np.float32),
    "b": RNG.standard_normal(4).astype(np.float32),
    "v": np.abs(RNG.standard_normal(4)).astype(np.float32),
    "plane": RNG.standard_normal((4, 8, 6)).astype(np.float32),
    "map": RNG.standard_normal((2, 4, 8, 6)).astype(np.float32),
}


def read(name: str) -> Any:
    return builtin.GetParameterOp(parameter=name, out=VTensorType(WEIGHTS[name].shape, f32))


def conv(x: Any, weight: str = "w1", **more: Any) -> Any:
    return pd.conv2d(x, read(weight), read("b"), paddings=(1, 1), **more)


def transposes(program: Program) -> list[tuple[int, ...]]:
    return [op.perm for op in program.main.walk() if op.name == "pd.transpose"]


def last(*shape: int) -> list[tuple[int, ...]]:
    """The transposes of a program that takes and gives NCHW maps: one at the input, one at the output."""
    return [(0, 2, 3, 1), (0, 3, 1, 2)]


def block(x: Any) -> Any:
    """A residual block with a pooled and normalised branch."""
    y = pd.relu(pd.batch_norm(conv(x), read("b"), read("v"), read("b"), read("v")))
    y = pd.pool2d(y, kernel_size=(3, 3), paddings=(1, 1), pooling_type="max")
    return pd.relu(pd.add(conv(y), x))


def test_a_residual_network_keeps_one_transpose_at_the_input(build, run, golden, assert_same) -> None:
    def body(x: Value) -> Any:
        y = block(block(conv(x, "w0")))
        y = pd.mean(y, axis=(2, 3), keepdim=True)
        return pd.reshape(y, shape=(2, 4))

    program = build(body, IMAGE, weights=WEIGHTS)
    before = program.clone()
    report = run(program, "nhwc,cse")
    assert transposes(program) == [(0, 2, 3, 1)]
    assert program.main.body.block.first_op.name == "pd.transpose"
    assert report.stages[0].statistics["converted"] == 5 + 2 + 2
    assert report.stages[0].statistics["constants"] == 2  # one per filter, though w1 is read four times
    assert list(program.weights)[-2:] == ["w0.hwoi", "w1.hwoi"]
    assert {op.data_format for op in program.main.walk() if hasattr(op, "data_format")} == {"NHWC"}
    assert {op.filter_format for op in program.main.walk() if hasattr(op, "filter_format")} == {"HWOI"}
    np.testing.assert_array_equal(program.weights["w0.hwoi"].numpy(), WEIGHTS["w0"].transpose(2, 3, 0, 1))
    assert_same(before, program)
    assert run(program, "nhwc").stages[0].statistics == {}
    golden(f"// before\n{before}\n\n// nhwc,cse\n{program}", "transforms/nhwc.mlir")


# Each: the body after one convolution, the transposes that are left, and the operations that must be there.
SINKS: list[tuple[str, Callable[[Any], Any], list[tuple[int, ...]]]] = [
    ("a unary operation", lambda y: pd.tanh(y), last()),
    ("a cast and a comparison", lambda y: pd.where(pd.isnan(y), pd.full(shape=(1,), value=0.0), y), last()),
    ("a scalar", lambda y: pd.multiply(y, builtin.constant(value=np.float32(2.0))), last()),
    ("a full", lambda y: pd.minimum(y, pd.full(shape=(2, 4, 8, 6), value=0.5)), last()),
    ("a splat of lower rank", lambda y: pd.add(builtin.constant(value=np.float32([[3.0]])), y), last()),
    ("a row of W", lambda y: pd.add(y, builtin.constant(value=np.arange(6, dtype=np.float32))), last()),
    ("a parameter of lower rank", lambda y: pd.add(y, read("plane")), last()),
    ("a parameter of full shape", lambda y: pd.subtract(read("map"), y), last()),
    ("both operands", lambda y: pd.add(pd.exp(y), pd.relu(y)), last()),
    (
        "squeeze and excite: a gate with unit axes",
        lambda y: pd.multiply(y, pd.reshape(pd.sigmoid(pd.mean(y, axis=(2, 3))), shape=(2, 4, 1, 1))),
        last(),
    ),
    ("softmax over channels", lambda y: pd.softmax(y, axis=1), last()),
    ("softmax over the last axis", lambda y: pd.softmax(y, axis=-1), last()),
    ("concat", lambda y: pd.concat([y, pd.relu(y), read("map")], axis=1), last()),
    ("split", lambda y: pd.concat(list(pd.split(y, sections=(1, 3), axis=-3).outs)[::-1], axis=1), last()),
    ("slice", lambda y: pd.slice(y, axes=(1, -1), starts=(1, 0), ends=(3, -1)), last()),
    ("pad", lambda y: pd.pad(y, paddings=(0, 0, 1, 0, 0, 2, 3, 0), pad_value=0.5), last()),
    ("a reduction that keeps axes", lambda y: pd.max(y, axis=(-1,), keepdim=True), last()),
    ("a reduction to [N, C]", lambda y: pd.mean(y, axis=(2, 3)), [(0, 2, 3, 1)]),
    ("a reduction over channels", lambda y: pd.sum(y, axis=(1,)), [(0, 2, 3, 1)]),
    ("a reduction to [N, C, H]", lambda y: pd.sum(y, axis=(3,)), [(0, 2, 3, 1), (0, 2, 1)]),
    ("the largest of everything", lambda y: pd.max(y), [(0, 2, 3, 1)]),
    ("a sum of integers", lambda y: pd.sum(pd.cast(y, dtype=i32)), [(0, 2, 3, 1)]),
]


@pytest.mark.parametrize(("what", "tail", "left"), SINKS, ids=[s[0] for s in SINKS])
def test_a_transpose_sinks_through(build, run, assert_same, what, tail, left) -> None:
    program = build(lambda x: tail(conv(x, "w0")), IMAGE, weights=WEIGHTS)
    before = program.clone()
    assert run(program, "nhwc").stages[0].statistics["sunk"] >= 1
    assert transposes(program) == left
    assert_same(before, program)


@pytest.mark.parametrize(("what", "tail", "left"), SINKS, ids=[s[0] for s in SINKS])
def test_between_two_convolutions_nothing_is_left_of_it(build, run, assert_same, what, tail, left) -> None:
    def body(x: Value) -> Any:
        y = tail(conv(x, "w0"))
        if y.results[0].type.shape != (2, 4, 8, 6):
            return y
        return pd.mean(conv(y), axis=(2, 3))

    program = build(body, IMAGE, weights=WEIGHTS)
    before = program.clone()
    run(program, "nhwc")
    assert transposes(program)[:1] == [(0, 2, 3, 1)]
    if before.main.body.block.terminator.operands[0].type.shape == (2, 4):
        assert len(transposes(program)) == 1
    assert_same(before, program)


@pytest.mark.parametrize("tail", [pd.sum, pd.mean, lambda y: pd.sum(y, axis=(1, 3), keepdim=True)])
def test_floats_are_not_added_in_another_order(build, run, assert_same, tail) -> None:
    """Channels come before space in NCHW and after it in NHWC: the sum over both is another one."""
    program = build(lambda x: tail(conv(x, "w0")), IMAGE, weights=WEIGHTS)
    before = program.clone()
    run(program, "nhwc")
    assert transposes(program) == [(0, 2, 3, 1), (0, 3, 1, 2)]
    assert_same(before, program)


@pytest.mark.parametrize("pool", [{"global_pooling": True}, {"adaptive": True}, {"exclusive": False}])
@pytest.mark.parametrize("kind", ["avg", "max"])
def test_pooling_keeps_every_bit(build, run, assert_same, kind, pool) -> None:
    program = build(
        lambda x: pd.pool2d(x, kernel_size=(3, 2), pooling_type=kind, **pool), VTensorType((2, 5, 17, 19), f32)
    )
    before = program.clone()
    assert run(program, "nhwc").stages[0].statistics["converted"] == 1
    for seed in range(5):
        assert_same(before, program, seed=seed)


def test_another_feature_map_in_nchw_stops_a_transpose(build, run, assert_same) -> None:
    program = build(lambda x, z: pd.add(conv(x, "w0"), z), IMAGE, VTensorType((2, 4, 8, 6), f32), weights=WEIGHTS)
    before = program.clone()
    run(program, "nhwc")
    assert transposes(program) == last()  # before the add, which stays NCHW
    assert_same(before, program)


def test_branches_share_the_transpose_of_their_input(build, run, assert_same) -> None:
    program = build(lambda x: pd.add(conv(x, "w0"), conv(x, "w0")), IMAGE, weights=WEIGHTS)
    before = program.clone()
    run(program, "nhwc")
    assert transposes(program) == last()
    assert_same(before, program)


def test_a_filter_read_twice_is_transposed_once(build, run) -> None:
    def body(x: Value) -> Any:
        w = read("w1")
        y = pd.conv2d(pd.conv2d(x, w, paddings=(1, 1)), w, paddings=(1, 1))
        return pd.conv2d(y, w, paddings=(1, 1), data_format="NCHW")

    program = build(body, VTensorType((1, 4, 5, 5), f32), weights=WEIGHTS)
    assert run(program, "nhwc").stages[0].statistics["constants"] == 1
    assert [n for n in program.weights if n.startswith("w1")] == ["w1", "w1.hwoi"]


def test_a_filter_that_is_computed_or_mutable_gets_a_transpose(build, run, assert_same) -> None:
    program = build(
        lambda x, w: [pd.conv2d(x, w), pd.conv2d(x, read("w0"))],
        IMAGE, VTensorType((4, 3, 3, 3), f32), weights=WEIGHTS, mutable=["w0"],
    )  # fmt: skip
    before = program.clone()
    run(program, "nhwc")
    assert sorted(transposes(program))[-2:] == [(2, 3, 0, 1), (2, 3, 0, 1)]
    assert "w0.hwoi" not in program.weights
    assert_same(before, program)


@pytest.mark.parametrize(
    "body",
    [
        lambda x: pd.conv2d(x, pd.reshape(read("w0"), shape=(4, 3, 3, 3)), padding_algorithm="SAME", strides=(2, 1)),
        lambda x: pd.conv2d(x, read("w0"), dilations=(2, 1), paddings=(1, 2, 0, 3)),
        lambda x: pd.depthwise_conv2d(x, pd.slice(read("w0"), axes=(0, 1), starts=(0, 0), ends=(3, 1)), groups=3),
        lambda x: pd.pool2d(
            x, kernel_size=(2, 3), strides=(2, 2), pooling_type="avg", exclusive=False, paddings=(1, 0)
        ),
        lambda x: pd.pool2d(x, kernel_size=(3, 2), pooling_type="max", adaptive=True),
        lambda x: pd.pool2d(x, kernel_size=(1, 1), pooling_type="avg", global_pooling=True),
        lambda x: pd.batch_norm(
            x, pd.mean(x, axis=(0, 2, 3)), pd.max(x, axis=(0, 2, 3)), epsilon=30.0, data_format="NCHW"
        ),
    ],
)
def test_every_form_of_window_converts(build, run, assert_same, body) -> None:
    program = build(body, IMAGE, weights=WEIGHTS)
    before = program.clone()
    assert run(program, "constant-fold,nhwc,dce").stages[1].statistics["converted"] == 1
    assert {op.data_format for op in program.main.walk() if hasattr(op, "data_format")} == {"NHWC"}
    assert_same(before, program)


def test_batch_norm_of_other_ranks(build, run, assert_same) -> None:
    def body(x: Value) -> Any:
        return pd.batch_norm(x, read("b"), read("v"))

    program = build(body, VTensorType((2, 4, 5), f32), weights=WEIGHTS)
    before = program.clone()
    run(program, "nhwc")
    assert transposes(program) == [(0, 2, 1), (0, 2, 1)]
    assert_same(before, program)
    program = build(body, VTensorType((3, 4), f32), weights=WEIGHTS)
    assert run(program, "nhwc").stages[0].statistics == {}  # the channel is the last axis already


def test_an_nhwc_graph_and_tensors_are_left_alone(build, run) -> None:
    program = build(
        lambda x: pd.pool2d(x, kernel_size=(2, 2), pooling_type="max", data_format="NHWC"),
        VTensorType((1, 4, 4, 3), f32),
    )
    assert run(program, "nhwc").stages[0].statistics == {}
    program = build(lambda x: pd.pool2d(x, kernel_size=(2, 2), pooling_type="max"), TensorType((1, 3, 4, 4), f32))
    assert run(program, "nhwc").stages[0].statistics == {}


def test_a_long_chain_costs_linear_work(build, run) -> None:
    def body(x: Value) -> Any:
        for _ in range(300):
            x = pd.relu(pd.add(pd.pool2d(x, kernel_size=(3, 3), paddings=(1, 1), pooling_type="max"), x))
        return x

    program = build(body, VTensorType((1, 2, 4, 4), f32))
    statistics = run(program, "nhwc").stages[0].statistics
    assert len(transposes(program)) == 2
    assert sum(statistics.values()) < 300 * 8


def test_runtime_attributes_and_locations_survive(build, run) -> None:
    def body(x: Value) -> Any:
        y = conv(x, "w0")
        y.set_attribute("hint", "fast")
        return y

    program = build(body, IMAGE, weights=WEIGHTS)
    place = next(op for op in program.main.walk() if op.name == "pd.conv2d").location
    run(program, "nhwc")
    new = next(op for op in program.main.walk() if op.name == "pd.conv2d")
    assert new.attributes["hint"].value == "fast"
    assert new.location == place
