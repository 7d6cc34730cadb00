"""Batch normalisation in training: what it computes, what it leaves in the variables, and that no pass freezes it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tx8ir.autodiff import append_backward
from tx8ir.core import Builder, FunctionType, IrError, Program, TensorType, Value, VTensorType, WeightStore, f32, f64
from tx8ir.dialects import builtin, func, pd
from tx8ir.interpreter import Interpreter, evaluate
from tx8ir.passes import PassManager

IMAGE = VTensorType((4, 2, 5, 5), f32)
VECTOR = TensorType((3,), f32)
ALL = "to-value-semantics,copy-elision,canonicalize,fuse-conv-bn,fuse-conv-activation,constant-fold,cse,dce,to-inplace"


def store() -> WeightStore:
    weights = WeightStore()
    rng = np.random.default_rng(0)
    weights.add("filter", rng.standard_normal((3, 2, 3, 3)).astype(np.float32) * 0.3)
    weights.add("scale", np.array([1.0, 0.5, 2.0], np.float32))
    weights.add("mean", np.zeros(3, np.float32))
    weights.add("variance", np.ones(3, np.float32))
    return weights


def training(weights: WeightStore) -> Program:
    """A step: convolution, normalisation by the batch, its statistics kept, loss, gradients, `sgd_`."""
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.func(sym_name="main", function_type=FunctionType([IMAGE], [VTensorType((), f32)]))
    with Builder.at_end(main.body.block):
        w = builtin.get_parameter(parameter="filter", out=TensorType((3, 2, 3, 3), f32)).out
        scale, mean, variance = (
            builtin.get_parameter(parameter=name, out=VECTOR).out for name in ("scale", "mean", "variance")
        )
        y = pd.conv2d(main.body.block.args[0], w, paddings=(1, 1)).out
        norm = pd.batch_norm_training(y, builtin.to_vtensor(mean), builtin.to_vtensor(variance), scale)
        loss = builtin.to_vtensor(pd.mean(pd.square(pd.relu(norm.out)))).out
        end = func.return_([loss])
    gradients = append_backward(program, loss, parameters=["filter", "scale"]).parameters
    with Builder.before(end):
        pd.assign_(mean, norm.mean_out)  # what Paddle's batch_norm_ does
        pd.assign_(variance, norm.variance_out)
        rate = pd.full(shape=(1,), value=0.1)
        pd.sgd_(w, rate, gradients["filter"])
        pd.sgd_(scale, rate, gradients["scale"])
    program.weights = weights
    for name in ("filter", "scale", "mean", "variance"):
        weights[name].is_mutable = True
    program.verify()
    return program


def inference(weights: WeightStore) -> Program:
    """The same network with the statistics of the store."""
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.func(sym_name="main", function_type=FunctionType([IMAGE], [VTensorType((4, 3, 5, 5), f32)]))
    with Builder.at_end(main.body.block):
        w = builtin.get_parameter(parameter="filter", out=VTensorType((3, 2, 3, 3), f32)).out
        scale, mean, variance = (
            builtin.get_parameter(parameter=name, out=VECTOR.to_vtensor()).out for name in ("scale", "mean", "variance")
        )
        y = pd.conv2d(main.body.block.args[0], w, paddings=(1, 1)).out
        func.return_([pd.relu(pd.batch_norm(y, mean, variance, scale))])
    program.weights = weights
    program.verify()
    return program


def batch(seed: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(IMAGE.shape).astype(np.float32)


@pytest.mark.parametrize("nhwc", [False, True])
@pytest.mark.parametrize("affine", [False, True])
def test_it_normalises_by_the_batch_and_moves_the_statistics(nhwc: bool, affine: bool) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, 3, 4)).transpose(0, 2, 1) if nhwc else rng.standard_normal((2, 3, 4))
    mean, variance, scale, bias = rng.standard_normal((4, 3))
    kinds = [VTensorType(a.shape, f64) for a in (x, mean, variance, scale, bias)]
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.func(sym_name="main", function_type=FunctionType(kinds, ()))
    with Builder.at_end(main.body.block):
        args = main.body.block.args[: 5 if affine else 3]
        made = pd.batch_norm_training(*args, momentum=0.75, epsilon=0.1, data_format="NHWC" if nhwc else "NCHW")
        func.return_(made.results)
    main.set_attribute("function_type", FunctionType(kinds, [r.type for r in made.results]))
    given = {f"arg{i}": a for i, a in enumerate((x, mean, variance, scale, bias))}
    out, mean_out, variance_out, saved_mean, saved_variance = evaluate(program, given).values()
    channels = x if nhwc else x.transpose(0, 2, 1)
    batch_mean, batch_variance = channels.mean(axis=(0, 1)), channels.var(axis=(0, 1))
    wanted = (channels - batch_mean) / np.sqrt(batch_variance + 0.1)
    wanted = wanted * scale + bias if affine else wanted
    np.testing.assert_allclose(out if nhwc else out.transpose(0, 2, 1), wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(mean_out, 0.75 * mean + 0.25 * batch_mean, rtol=1e-12)
    np.testing.assert_allclose(variance_out, 0.75 * variance + 0.25 * batch_variance, rtol=1e-12)
    np.testing.assert_allclose(saved_mean, batch_mean, rtol=1e-12)
    np.testing.assert_allclose(saved_variance, 1 / np.sqrt(batch_variance + 0.1), rtol=1e-12)


@pytest.mark.parametrize(
    ("pipeline", "tolerance"), [("to-value-semantics,copy-elision,cse,dce,to-inplace", 0.0), (ALL, 1e-5)]
)
def test_training_leaves_the_same_with_and_without_passes(pipeline: str, tolerance: float) -> None:
    """Those that fuse and canonicalise round elsewhere, and read no variable that is written as a constant."""
    states: list[dict[str, NDArray[np.float32]]] = []
    for passes in ("", pipeline):
        program = training(store())
        PassManager.parse(passes).run(program)
        losses = [float(Interpreter(program).run({"arg0": batch(i)})["result0"].item()) for i in range(5)]
        assert losses[-1] < losses[0]
        states.append({name: variable.numpy() for name, variable in program.weights.items() if name in store()})
    assert not np.array_equal(states[0]["mean"], np.zeros(3))
    for name, wanted in states[0].items():
        np.testing.assert_allclose(states[1][name], wanted, rtol=tolerance, atol=tolerance, err_msg=name)


def test_inference_is_not_frozen_while_a_training_program_is_attached_to_the_store() -> None:
    weights = store()
    step, network = training(weights), inference(weights)
    for name in ("filter", "scale", "mean", "variance"):
        weights[name].is_mutable = False  # what a store says when it was loaded; the attached program says otherwise
    PassManager.parse("fuse-conv-bn,constant-fold").run(network)
    assert [op.name for op in network.main.body.block if op.name.startswith("pd.")] == [
        "pd.conv2d", "pd.batch_norm", "pd.relu",
    ]  # fmt: skip
    for name in ("filter", "scale", "mean", "variance"):
        weights[name].is_mutable = True
    before = evaluate(network, {"arg0": batch(0)})["result0"]
    Interpreter(step).run({"arg0": batch(0)})
    assert not np.array_equal(evaluate(network, {"arg0": batch(0)})["result0"], before)


def test_inference_is_fused_once_nothing_trains_any_more() -> None:
    weights = store()
    Interpreter(training(weights)).run({"arg0": batch(0)})
    exported = weights.copy()
    for variable in exported.values():
        variable.is_mutable = False
    network = inference(exported)
    wanted = evaluate(network, {"arg0": batch(1)})["result0"]
    PassManager.parse("fuse-conv-bn").run(network)
    assert [op.name for op in network.main.body.block if op.name.startswith("pd.")] == ["pd.conv2d", "pd.relu"]
    np.testing.assert_allclose(evaluate(network, {"arg0": batch(1)})["result0"], wanted, rtol=1e-5, atol=1e-5)


def test_no_gradient_flows_through_the_statistics() -> None:
    program = Program.empty()
    kind = VTensorType((2, 3), f32)
    vector = VTensorType((3,), f32)
    with Builder.at_end(program.body):
        main = func.func(sym_name="main", function_type=FunctionType([kind, vector, vector], ()))
    x: Value = main.body.block.args[0]
    with Builder.at_end(main.body.block):
        loss = pd.sum(pd.batch_norm_training(*main.body.block.args).mean_out).out
        func.return_([])
    with pytest.raises(IrError, match=r"pd.batch_norm_training has a gradient by its first result only"):
        append_backward(program, loss, wrt=[x])
