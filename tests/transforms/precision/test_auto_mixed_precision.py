"""Products in a narrow format, what needs digits in f32, and casts where both meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tx8ir
from support.examples import with_examples
from tx8ir.core import Builder, Operation, Program, TensorType, Value, VTensorType, bf16, f16, f32, f64, i32
from tx8ir.dialects import builtin, pd, scf
from tx8ir.dialects.pd.declaration import Elementwise
from tx8ir.interpreter import evaluate
from tx8ir.passes import PassError, PassManager
from tx8ir.testing import NumericGuarantee, assert_preserves, check, ulp
from tx8ir.testing.chip.differential import RATIO, ULPS
from tx8ir.testing.programs import EVERYTHING, Writer, ranked, tensor_programs
from tx8ir.transforms.precision.auto_mixed_precision import ALLOW, DENY, INFER, usual_list

PASS = "auto-mixed-precision"
MODELS = Path(__file__).parents[2] / "data" / "models"
X = VTensorType((4, 4), f32)
Build = Callable[..., Program]


def read(name: str, kind: Any = X) -> Any:
    return builtin.GetParameterOp(parameter=name, out=kind)


def formats(program: Program) -> list[str]:
    """Operations that compute, each with the element type of its first result."""
    skipped = (builtin.GetParameterOp, builtin.ConstantOp, pd.CastOp)
    return [
        f"{op.name[3:]} {op.results[0].type.element}"
        for op in program.main.walk()
        if op.name.startswith("pd.") and not isinstance(op, skipped)
    ]


W = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)


def perceptron(x: Value) -> Any:
    """Two layers and a softmax."""
    hidden = pd.relu(pd.add(pd.matmul(x, read("w")), builtin.constant(value=np.float32([1.0, -3.4e38, 0.1, 0.5]))))
    return pd.softmax(pd.reshape(pd.matmul(hidden, read("w")), shape=(2, 8)))


def test_the_text_before_and_after(build, run, golden) -> None:
    program = build(perceptron, X, weights={"w": W})
    before = str(program)
    assert run(program, PASS).stages[0].statistics == {
        "narrow": 5, "casts": 2, "parameters": 1, "constants": 1, "saturated": 1,
    }  # fmt: skip
    golden(f"// before\n{before}\n\n// {PASS}\n{program}", "transforms/auto-mixed-precision.mlir")
    assert formats(program) == ["matmul bf16", "add bf16", "relu bf16", "matmul bf16", "reshape bf16", "softmax f32"]
    assert list(program.weights) == ["w", "w.bf16"]
    assert run(program, PASS).stages[0].statistics == {}


@pytest.mark.parametrize(("dtype", "tolerance"), [("bf16", 2e-2), ("f16", 3e-3)])
def test_the_program_computes_the_same_up_to_the_precision(build, run, assert_same, dtype, tolerance) -> None:
    program = build(lambda x: pd.tanh(pd.matmul(pd.matmul(x, read("w")), x)), X, weights={"w": W})
    before = program.clone()
    run(program, f"{PASS}{{dtype={dtype}}}")
    assert formats(program) == [f"matmul {dtype}", f"matmul {dtype}", f"tanh {dtype}"]
    assert program.outputs == before.outputs
    assert_same(before, program, tolerance=tolerance)


def test_the_lists_share_nothing() -> None:
    lists = [*ALLOW, *DENY, *INFER]
    assert len(set(lists)) == len(lists)
    assert not [kind for kind in lists if issubclass(kind, Elementwise)]  # these say it themselves


def test_what_elementwise_operations_say_of_themselves() -> None:
    kept_wide = {
        name[3:]
        for name, kind in pd.DIALECT.ops.items()
        if issubclass(kind, Elementwise) and usual_list(kind) == "deny"
    }
    assert kept_wide == {
        "exp", "log", "pow", "elementwise_pow", "square", "reciprocal", "rsqrt", "softplus", "erf", "sin", "cos",
        "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "remainder", "fmod",
    }  # fmt: skip


# --- who is narrow ----------------------------------------------------------------------------------------------------


def test_what_needs_digits_stays_wide_and_elementwise_follows(build, run) -> None:
    def body(x: Value) -> Any:
        product = pd.matmul(x, x)
        wide = pd.layer_norm(product)
        return [pd.add(product, wide), pd.add(product, product), pd.relu(x), pd.sum(product)]

    program = build(body, X)
    run(program, PASS)
    assert formats(program) == ["matmul bf16", "layer_norm f32", "add f32", "add bf16", "relu f32", "sum f32"]


def test_convolutions_and_what_is_between_them_are_narrow(build, run) -> None:
    image = VTensorType((1, 2, 4, 4), f32)

    def body(x: Value) -> Any:
        y = pd.conv2d(x, read("k", VTensorType((2, 2, 3, 3), f32)), paddings=(1, 1))
        y = pd.pool2d(pd.relu(y), kernel_size=(2, 2), pooling_type="max")
        y = pd.depthwise_conv2d(y, read("d", VTensorType((2, 1, 1, 1), f32)), groups=2)
        return pd.mean(y, axis=(2, 3))

    weights = {"k": np.ones((2, 2, 3, 3), np.float32), "d": np.ones((2, 1, 1, 1), np.float32)}
    program = build(body, image, weights=weights)
    assert run(program, PASS).stages[0].statistics["casts"] == 2
    assert formats(program) == ["conv2d bf16", "relu bf16", "pool2d bf16", "depthwise_conv2d bf16", "mean f32"]


def test_attention_is_a_product_and_rms_norm_is_not(build, run) -> None:
    program = build(lambda x: pd.rms_norm(pd.scaled_dot_product_attention(x, x, x, scale=0.5)), X)
    run(program, PASS)
    assert formats(program) == ["scaled_dot_product_attention bf16", "rms_norm f32"]


def test_the_lists_of_the_pass_overrule(build, run) -> None:
    def body(x: Value) -> Any:
        return pd.exp(pd.tanh(pd.matmul(x, x)))

    options = {
        "allow=[pd.exp]": ["matmul bf16", "tanh bf16", "exp bf16"],
        "infer=[pd.exp]": ["matmul bf16", "tanh bf16", "exp bf16"],
        "infer=[pd.exp],deny=[pd.tanh]": ["matmul bf16", "tanh f32", "exp f32"],
        "deny=[pd.matmul],allow=[pd.matmul]": ["matmul f32", "tanh f32", "exp f32"],
    }
    for text, expected in options.items():
        program = build(body, X)
        run(program, f"{PASS}{{{text}}}")
        assert formats(program) == expected, text


def test_a_name_that_is_no_operation_is_an_error(build, run) -> None:
    with pytest.raises(PassError, match=r"there is no operation 'pd.matmull' to list for mixed precision"):
        run(build(pd.exp, X), f"{PASS}{{deny=[pd.matmull]}}")


def test_other_formats_are_left_alone(build, run) -> None:
    program = build(
        lambda a, b, n: [pd.matmul(a, a), pd.matmul(b, b), pd.add(n, n)],
        VTensorType((2, 2), f64), VTensorType((2, 2), f16), VTensorType((2, 2), i32),
    )  # fmt: skip
    before = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == before


# --- casts ------------------------------------------------------------------------------------------------------------


def test_a_value_is_cast_once_for_all_who_use_it(build, run, names) -> None:
    program = build(lambda x: [pd.matmul(x, read(n)) for n in "qkv"], X, weights=dict.fromkeys("qkv", W))
    run(program, PASS)
    assert names(program).count("pd.cast") == 4  # x, and three results
    assert names(program)[0] == "pd.cast"


def test_a_mutable_parameter_is_cast_where_it_was_read(build, run, names) -> None:
    def body(x: Value) -> Any:
        y = pd.matmul(x, read("w"))
        builtin.SetParameterOp(y, parameter="w")
        return pd.matmul(x, read("w"))

    program = build(body, X, weights={"w": W}, mutable=["w"])
    before = program.clone()
    run(program, PASS)
    assert list(program.weights) == ["w"]
    assert program.weights["w"].type.element is f32
    found, wanted = (evaluate(p, {"arg0": W})["result0"] for p in (program, before))
    np.testing.assert_allclose(found, wanted, atol=3e-2 * np.max(np.abs(wanted)))


def test_in_loops_what_is_carried_stays_wide_and_what_is_not_is_cast_before(build, run) -> None:
    def body(x: Value, w: Value) -> Any:
        stop = builtin.constant(value=np.array(False))
        (y,) = scf.WhileOp.build([x], lambda y: (stop, [y]), lambda y: [pd.matmul(y, w)]).results
        return y

    program = build(body, X, X)
    run(program, PASS)
    (loop,) = [op for op in program.main.walk() if isinstance(op, scf.WhileOp)]
    assert loop.outputs[0].type is X
    assert [op.name for op in loop.after.block] == ["pd.cast", "pd.matmul", "pd.cast", "scf.yield"]
    assert program.main.body.block.first_op.name == "pd.cast"


def test_storage_is_read_when_it_was_read_and_stays_wide(build, run, assert_same) -> None:
    def body(x: Value) -> Any:
        y = pd.matmul(x, x)
        pd.scale_(x, scale=2.0)
        pd.relu_(y)
        return [y, pd.matmul(x, y), pd.tanh(y)]

    program = build(body, TensorType((4, 4), f32))
    before = program.clone()
    run(program, PASS)
    assert formats(program) == ["matmul bf16", "scale_ f32", "relu_ f32", "matmul bf16", "tanh f32"]
    assert_same(before, program, tolerance=2e-2)


def test_constants_may_be_cast_when_the_program_runs(build, run, names) -> None:
    program = build(perceptron, X, weights={"w": W})
    assert run(program, f"{PASS}{{convert-constants=false}}").stages[0].statistics == {
        "narrow": 5,
        "casts": 5,
    }  # x, three constants, the result
    assert list(program.weights) == ["w"]


# --- how far off ------------------------------------------------------------------------------------------------------


def errors(program: Program, inputs: dict[str, Any]) -> tuple[float, float, float]:
    """Largest errors of mixed precision and of bf16 throughout, and the largest number."""
    (exact,) = evaluate(program, inputs, "fp64").values()
    found: list[float] = []
    for pipeline in (PASS, "convert-dtype{dtype=bf16}"):
        changed = program.clone()
        PassManager.parse(pipeline).run(changed)
        given = {k: inputs[k].astype(t.element.dtype) for k, t in changed.inputs.items()}
        (result,) = evaluate(changed, given).values()
        found.append(float(np.max(np.abs(result.astype(np.float64) - exact))))
    return found[0], found[1], float(np.max(np.abs(exact)))


@st.composite
def networks(draw: st.DrawFn) -> Callable[[Value], Any]:
    """Layers of smooth operations on matrices of 4 by 4."""
    layers: list[Callable[[Value], Any]] = [
        lambda x: pd.matmul(x, read("w")),
        lambda x: pd.matmul(x, x, transpose_y=True),
        lambda x: pd.add(pd.matmul(x, read("w")), x),
        lambda x: pd.multiply(x, read("w")),
        pd.tanh,
        pd.relu,
        pd.softmax,
        pd.layer_norm,
        lambda x: pd.gelu(x, approximate=True),
        lambda x: pd.transpose(x, perm=(1, 0)),
        lambda x: pd.exp(pd.scale(pd.tanh(x), scale=2.0)),
        lambda x: pd.subtract(x, pd.mean(x, axis=(1,), keepdim=True)),
    ]
    chosen = draw(st.lists(st.sampled_from(layers), min_size=1, max_size=6))

    def body(x: Value) -> Any:
        x = pd.matmul(x, read("w")).out
        for layer in chosen:
            x = layer(x).out
        return x

    return body


@given(networks(), st.integers(0, 10**6))
def test_the_error_is_within_the_bound_of_the_narrow_format(build, body: Any, seed: int) -> None:
    """As `check` bounds the chip: three times what the interpreter is off in bf16, and eight units of the last place.

    Rounding in fewer places than everywhere may hit another number, not a larger error.
    """
    rng = np.random.default_rng(seed)
    program = build(body, X, weights={"w": rng.standard_normal((4, 4)).astype(np.float32) / 2})
    mixed, narrow, largest = errors(program, {"arg0": rng.standard_normal((4, 4)).astype(np.float32)})
    assert mixed <= RATIO * narrow + ULPS * ulp(largest, bf16.format)


def test_a_deep_sum_of_layers_is_nearer_than_in_the_narrow_format(build) -> None:
    """What adds up stays in f32."""

    def body(x: Value) -> Any:
        for _ in range(24):
            x = pd.add(x, pd.tanh(pd.matmul(pd.layer_norm(x), read("w")))).out
        return x

    program = build(body, X, weights={"w": W / 8})
    mixed, narrow, largest = errors(program, {"arg0": W})
    assert mixed < narrow / 2 < largest


@pytest.mark.slow
@pytest.mark.parametrize(("network", "bound"), [("gpt2", 3e-2), ("resnet18", 8e-2)])
def test_networks_within_the_bounds_of_bf16_on_the_chip(network: str, bound: float) -> None:
    data = np.load(MODELS / network / "data.npz")
    program = tx8ir.frontends.onnx.load(MODELS / network / "model.onnx")
    inputs = {name: data[f"in_{name}"] for name in program.inputs}
    report = PassManager.parse(f"nhwc,canonicalize,{PASS},cse,dce").run(program)
    assert report.stages[2].statistics["narrow"] >= 48
    decided = {name[3:] for name, kind in pd.DIALECT.ops.items() if usual_list(kind) != "infer"}
    computing = [f for f in formats(program) if f.split()[0] in decided]
    allowed = {k.name[3:] for k in ALLOW}
    assert all((f.split()[0] in allowed) == f.endswith("bf16") for f in computing)
    assert {f.endswith("f32") for f in computing} == {True, False}
    (output,) = tx8ir.compile(program).run(inputs).values()
    expected = data["ref64_0"]
    assert output.dtype == np.float32
    assert np.max(np.abs(output - expected)) <= bound * np.max(np.abs(expected))


def test_the_chip_agrees(build, run) -> None:
    program = build(perceptron, X, weights={"w": W})
    run(program, PASS)
    assert check(program).passed


# --- generated programs -----------------------------------------------------------------------------------------------


def product(writer: Writer) -> Sequence[Value]:
    """A matrix product, and now and then something that follows."""
    x = writer.value(lambda t: t.rank == 2 and t.element is f32)
    if x is None:
        return ()
    with Builder.at_end(writer.block):
        y = pd.matmul(x, x, transpose_y=True)
        shape = ranked(y.out).shape
        follows: list[Callable[[], Operation]] = [
            lambda: y,
            lambda: pd.relu(y),
            lambda: pd.add(y, builtin.constant(value=np.float32([0.25]))),
            lambda: pd.softmax(pd.reshape(y, shape=(shape[1], shape[0]))),
            lambda: pd.matmul(y, pd.full(shape=(shape[1], 2), value=0.5)),
        ]
        return writer.one_of(follows)().results


FEATURES = attrs.evolve(EVERYTHING, sums=True)
INPUTS = [VTensorType((2, 3), f32), TensorType((2, 2), f32)]


@with_examples()
def test_generated_programs_keep_their_values(examples: int) -> None:
    programs = tensor_programs(FEATURES, steps=[product], inputs=INPUTS)
    assert_preserves(PASS, programs=programs, examples=examples, guarantee=NumericGuarantee.FORMATS, changed=9 / 10)
