"""Padding of windows: which stays with them, what becomes an operation, and with which number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from support.examples import with_examples
from tx8ir.core import Builder, Program, TensorType, Value, VTensorType, bf16, f16, f32, i8, i32, parse, ui8
from tx8ir.dialects import builtin, pd
from tx8ir.passes import PassError, PassManager
from tx8ir.testing import NumericGuarantee, assert_preserves, check
from tx8ir.testing.programs import EVERYTHING, Writer, ranked, tensor_programs

PASS = "legalize-conv-padding"
RNG = np.random.default_rng(0)
WEIGHTS = {"w": RNG.standard_normal((4, 3, 3, 3)).astype(np.float32), "d": np.ones((3, 1, 3, 3), np.float32)}
IMAGE = VTensorType((2, 3, 7, 6), f32)


def read(name: str) -> Any:
    return builtin.GetParameterOp(parameter=name, out=VTensorType(WEIGHTS[name].shape, f32))


def conv(x: Any, **attributes: Any) -> Any:
    return pd.conv2d(x, read("w"), **attributes)


def window(program: Program) -> Any:
    (op,) = (op for op in program.main.walk() if hasattr(op, "padding_algorithm"))
    return op


def frames(program: Program) -> list[tuple[tuple[int, ...], float]]:
    """The paddings of each `pd.pad`, and with what."""
    return [(op.paddings, op.pad_value) for op in program.main.walk() if isinstance(op, pd.PadOp)]


# Each: options, the attributes of the convolution; what its paddings become, the frame of H and W, and the counts.
CASES: list[tuple[str, dict[str, Any], tuple[int, ...], tuple[int, ...], dict[str, int]]] = [
    ("", {"padding_algorithm": "SAME"}, (1, 1, 1, 1), (), {"padding_in_numbers": 1}),
    ("", {"padding_algorithm": "SAME", "strides": (2, 2)}, (1, 1, 0, 1), (), {"padding_in_numbers": 1}),
    ("", {"padding_algorithm": "VALID", "paddings": (5, 5)}, (0, 0), (), {"padding_in_numbers": 1}),
    ("", {"paddings": (0, 1024)}, (0, 1023), (0, 0, 1, 1), {"explicit_padding": 1}),
    ("max-pad=1", {"paddings": (1, 2, 0, 3)}, (1, 1, 0, 1), (0, 1, 0, 2), {"explicit_padding": 1}),
    ("max-pad=0", {"paddings": (1, 2)}, (0, 0), (1, 1, 2, 2), {"explicit_padding": 1}),
    ("symmetric=true", {"paddings": (1, 3, 2, 0)}, (1, 0), (0, 2, 2, 0), {"explicit_padding": 1}),
    ("symmetric=true,max-pad=1", {"paddings": (4, 2, 1, 2)}, (1, 1), (3, 1, 0, 1), {"explicit_padding": 1}),
    (
        "symmetric=true",
        {"padding_algorithm": "SAME", "strides": (2, 2)},
        (1, 0),
        (0, 0, 0, 1),
        {"padding_in_numbers": 1, "explicit_padding": 1},
    ),
]


@pytest.mark.parametrize(("options", "attributes", "paddings", "frame", "counts"), CASES)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_what_a_convolution_keeps(
    build, run, layout: str, options: str, attributes: dict[str, Any], paddings, frame, counts: dict[str, int]
) -> None:
    kind = IMAGE if layout == "NCHW" else VTensorType((2, 7, 6, 3), f32)
    program: Program = build(lambda x: conv(x, data_format=layout, **attributes), kind, weights=WEIGHTS)
    before = program.clone()
    name = f"{PASS}{{{options}}}"
    assert run(program, name).stages[0].statistics == counts
    assert (window(program).padding_algorithm, window(program).paddings) == ("EXPLICIT", paddings)
    whole = (0, 0, 0, 0, *frame) if layout == "NCHW" else (0, 0, *frame, 0, 0)
    assert frames(program) == ([(whole, 0.0)] if frame else [])
    assert check(before, name, guarantee=NumericGuarantee.BITWISE).passed
    text = str(program)
    assert run(program, name).stages[0].statistics == {}
    assert str(program) == text


# Each: the element type, attributes of the pool, and the number in the frame; None where padding stays.
POOLS: list[tuple[Any, dict[str, Any], float | None]] = [
    (f32, {"pooling_type": "max"}, -np.inf),
    (bf16, {"pooling_type": "max", "ceil_mode": True, "strides": (2, 1)}, -np.inf),
    (i32, {"pooling_type": "max"}, -(2.0**31)),
    (i8, {"pooling_type": "max"}, -128.0),
    (ui8, {"pooling_type": "max"}, 0.0),
    (f32, {"pooling_type": "avg", "exclusive": False}, 0.0),
    (f16, {"pooling_type": "avg", "exclusive": False, "ceil_mode": True, "strides": (2, 1)}, 0.0),
    (f32, {"pooling_type": "avg"}, None),
    (f32, {"pooling_type": "max", "global_pooling": True}, None),
    (f32, {"pooling_type": "avg", "adaptive": True}, None),
]


@pytest.mark.parametrize(("element", "attributes", "number"), POOLS)
def test_what_surrounds_a_pooled_image(build, run, element, attributes: dict[str, Any], number: float | None) -> None:
    def body(x: Value) -> Any:
        return pd.pool2d(x, kernel_size=(3, 3), paddings=(2, 1, 0, 2), **attributes)

    program: Program = build(body, IMAGE.with_element(element))
    before = program.clone()
    name = f"{PASS}{{max-pad=1,symmetric=true}}"
    run(program, name)
    if number is None:
        assert str(program) == str(before)
    else:
        assert frames(program) == [((0, 0, 0, 0, 1, 0, 0, 2), number)]
        assert window(program).paddings == (1, 0)
        assert check(before, name, guarantee=NumericGuarantee.BITWISE).passed


def test_every_kind_of_convolution_and_other_attributes_stay(build, run) -> None:
    def body(x: Value) -> Any:
        d = pd.depthwise_conv2d(x, read("d"), groups=3, paddings=(0, 3), strides=(2, 1), dilations=(1, 2))
        return d, pd.fused_conv2d_add_act(x, read("w"), paddings=(0, 3), dilations=(2, 1))

    program: Program = build(body, IMAGE, weights=WEIGHTS)
    before = program.clone()
    name = f"{PASS}{{max-pad=2}}"
    assert run(program, name).stages[0].statistics == {"explicit_padding": 2}
    assert check(before, name, guarantee=NumericGuarantee.BITWISE).passed


def test_a_tensor_is_padded_as_it_is_when_the_convolution_reads_it(build, run, names) -> None:
    def body(x: Value) -> Any:
        out = conv(x, paddings=(2, 2))
        pd.relu_(x)
        return out

    program: Program = build(body, TensorType(IMAGE.shape, f32), weights=WEIGHTS)
    before = program.clone()
    run(program, f"{PASS}{{max-pad=1}}")
    assert names(program)[1:] == ["pd.pad", "pd.conv2d", "pd.relu_"]
    assert check(before, f"{PASS}{{max-pad=1}}", guarantee=NumericGuarantee.BITWISE).passed


def test_a_limit_below_nothing_is_refused() -> None:
    with pytest.raises(PassError, match=r"'max_pad' must be >= 0: -1"):
        PassManager.parse(f"{PASS}{{max-pad=-1}}")


TEXT = """
module {
  func.func @main(%x: !pd.vtensor<1x8x8x3xf32>, %w: !pd.vtensor<3x3x4x3xf32>) -> !pd.vtensor<1x4x4x4xf32> {
    %0 = "pd.conv2d"(%x, %w) {data_format = "NHWC", dilations = array<i64: 1, 1>, filter_format = "HWOI", groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>, padding_algorithm = "SAME", paddings = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (!pd.vtensor<1x8x8x3xf32>, !pd.vtensor<3x3x4x3xf32>) -> !pd.vtensor<1x4x4x4xf32>
    %1 = "pd.pool2d"(%0) {adaptive = false, ceil_mode = false, data_format = "NHWC", exclusive = true, global_pooling = false, kernel_size = array<i64: 2, 2>, padding_algorithm = "SAME", paddings = array<i64: 0, 0>, pooling_type = "max", strides = array<i64: 1, 1>} : (!pd.vtensor<1x4x4x4xf32>) -> !pd.vtensor<1x4x4x4xf32>
    return %1 : !pd.vtensor<1x4x4x4xf32>
  }
}
"""  # noqa: E501  (as it is printed)


def test_the_text_before_and_after(run, golden) -> None:
    program = parse(TEXT)
    before = str(program)
    name = f"{PASS}{{symmetric=true}}"
    assert run(program, name).stages[0].statistics == {"padding_in_numbers": 2, "explicit_padding": 2}
    golden(f"// before\n{before}\n\n// {name}\n{program}", "transforms/legalize-conv-padding.mlir")


def test_the_chip_agrees_and_no_transpose_is_left_between(build, run) -> None:
    def body(x: Value) -> Any:
        y = conv(x, paddings=(1, 2, 0, 1))
        return pd.pool2d(pd.relu(y), kernel_size=(3, 3), paddings=(0, 2, 1, 0), pooling_type="max")

    program: Program = build(body, IMAGE, weights=WEIGHTS)
    run(program, f"{PASS}{{symmetric=true}}")
    assert len(frames(program)) == 2
    assert check(program).passed
    run(program, "nhwc,canonicalize")
    assert [op.name for op in program.main.walk()].count("pd.transpose") == 2  # of input and output


def windows(writer: Writer) -> Sequence[Value]:
    """A convolution or a pool with any padding."""
    x = writer.value(lambda t: t.rank == 4 and min(t.shape[2:]) >= 2 and t.element in (f32, bf16, i32))
    if x is None:
        return ()
    kind = ranked(x)
    top, left = (writer.one_of([2, 3]) for _ in range(2))
    paddings = (top, writer.one_of([0, 1, 2, 3]), left, writer.one_of([1, 0, 2, 3]))
    algorithm = writer.one_of(["EXPLICIT", "EXPLICIT", "SAME"])
    if writer.one_of([True, False]) and isinstance(kind, VTensorType):
        weight = writer.parameter(VTensorType((2, kind.shape[1], 2, 2), kind.element))
        with Builder.at_end(writer.block):
            return pd.conv2d(x, weight, paddings=paddings, padding_algorithm=algorithm).results
    function = writer.one_of(["max", "avg"] if kind.element.is_float else ["max"])
    with Builder.at_end(writer.block):
        return pd.pool2d(
            x, kernel_size=(4, 4), paddings=paddings, padding_algorithm=algorithm, exclusive=False,
            pooling_type=function,
        ).results  # fmt: skip


INPUTS = [VTensorType((1, 2, 3, 4), f32), VTensorType((2, 1, 4, 3), bf16), VTensorType((1, 1, 3, 3), i32)]
INPUTS += [TensorType((1, 2, 3, 3), f32)]
LIMITED = f"{PASS}{{max-pad=1,symmetric=true}}"


@with_examples()
def test_generated_programs_keep_their_bits(examples: int) -> None:
    programs = tensor_programs(EVERYTHING, steps=[windows], inputs=INPUTS)
    assert_preserves(LIMITED, programs=programs, examples=examples, guarantee=NumericGuarantee.BITWISE, changed=2 / 3)
