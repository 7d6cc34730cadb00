"""Corners of whole programs: scalars, one value in several places, unused and empty values, results without an op."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tx8ir
from tx8ir.backend.graph import CompileError
from tx8ir.compiler import CompileOptions, lower
from tx8ir.core import Builder, FunctionType, Program, Value, VTensorType, f32, i1
from tx8ir.dialects import builtin, func, pd, tx8
from tx8ir.executable import Executable
from tx8ir.passes import PassError
from tx8ir.testing import check

NHWC = {"data_format": "NHWC", "filter_format": "HWOI"}
OPTIONS = [
    CompileOptions(dtype, graph, grouping)
    for dtype, graph, grouping in itertools.product((None, "bfloat16"), ("full", "required"), ("fused", "single"))
]


def t(*shape: int) -> VTensorType:
    return VTensorType(shape, f32)


def program_of(inputs: Sequence[VTensorType], body: Callable[..., Sequence[Any]]) -> Program:
    program = Program.empty()
    program.weights.add("scalar", np.asarray(3.0, np.float32))
    program.weights.add("filter", np.random.default_rng(0).standard_normal((3, 3, 3, 3)).astype(np.float32))
    with Builder.at_end(program.body):
        main = func.func(sym_name="main", function_type=FunctionType(inputs, ()))
    with Builder.at_end(main.body.block):
        results: list[Value] = [getattr(value, "out", value) for value in body(*main.body.block.args)]
        func.return_(results)
    main.set_attribute("function_type", FunctionType(inputs, [value.type for value in results]))
    program.verify()
    return program


def parameter(name: str, kind: VTensorType) -> Value:
    return builtin.get_parameter(parameter=name, out=kind).out


def loss(x: Value, y: Value) -> Sequence[Any]:
    return [pd.mean(pd.square(pd.subtract(x, y)))]


def scalars(a: Value, b: Value) -> Sequence[Any]:
    """Rank 0 as input, parameter, constant, and results of every kind."""
    c = pd.add(pd.multiply(a, b), pd.multiply(parameter("scalar", t()), pd.full(shape=(), value=2.0)))
    image = pd.reshape(c, shape=(1, 1, 1, 1))
    return [c, a, pd.full(shape=(), value=2.0), image, pd.greater_than(a, b), pd.expand(c, shape=(2, 3)), pd.sum(c)]


def product_and_scalar(x: Value, y: Value, c: Value) -> Sequence[Any]:
    return [pd.add(pd.matmul(x, y), c)]


def image_and_filter(x: Value) -> Sequence[Any]:
    """One value as image and filter of one convolution."""
    return [pd.conv2d(x, x, **NHWC)]


def filter_elsewhere(x: Value) -> Sequence[Any]:
    """Values, and a parameter, that are filter here, and image or operand there."""
    y, w = pd.tanh(x).out, parameter("filter", t(3, 3, 3, 3))
    same = {**NHWC, "paddings": (1, 1)}
    return [
        pd.conv2d(y, x, **same),
        pd.add(pd.conv2d(x, pd.relu(x), **same), x),
        pd.conv2d(pd.add(w, y), w, **same),
        pd.conv2d(x, pd.softmax(pd.add(w, y)), **same),
    ]


def pooled_filter(x: Value, y: Value) -> Sequence[Any]:
    """A filter that is the sum of an image over one axis, and another under another shape."""
    summed = pd.sum(y, axis=(1,), keepdim=True)
    return [pd.conv2d(x, summed, **NHWC), pd.conv2d(x, pd.reshape(pd.tanh(y), shape=(3, 1, 12, 5)), **NHWC)]


def one_value_twice(x: Value) -> Sequence[Any]:
    y = pd.tanh(x).out
    return [
        pd.add(y, y), pd.matmul(y, y), pd.matmul(y, y, transpose_y=True), pd.concat([y, y, y], axis=0),
        pd.where(pd.isnan(y), y, y), pd.where(pd.greater_than(y, y), x, x), pd.divide(y, y),
        pd.set_value(y, y, axes=(), starts=(), ends=()), pd.scaled_dot_product_attention(y, y, y),
    ]  # fmt: skip


def unused_pieces(x: Value) -> Sequence[Any]:
    return [pd.split(pd.tanh(x), sections=(1, 2, 3), axis=0).outs[1]]


def overwritten(x: Value, y: Value) -> Sequence[Any]:
    """Every element of a computed value is replaced."""
    return [pd.set_value(pd.tanh(x), y, axes=(0,), starts=(0,), ends=(4,))]


def overwritten_join(x: Value, y: Value) -> Sequence[Any]:
    joined = pd.concat([x, x], axis=0)
    return [pd.set_value(joined, y, axes=(0,), starts=(0,), ends=(4,))]


def no_results(x: Value) -> Sequence[Any]:
    return []


def nothing_computed(x: Value) -> Sequence[Any]:
    constant = pd.full(shape=(2, 3), value=2.0).out
    return [x, x, constant, constant, pd.full(shape=(2, 3), value=2.0), pd.reshape(x, shape=(6,)), pd.assign(x)]


def empty_values(x: Value, empty: Value) -> Sequence[Any]:
    """Tensors without elements as input, inside and as results."""
    none, rest = pd.split(x, sections=(0, 4), axis=0).outs
    total = pd.sum(none, axis=(0,))
    product = pd.matmul(pd.transpose(none, perm=(1, 0)), none)
    return [rest, none, pd.concat([none, rest, none], axis=0), total, product, pd.tanh(empty), pd.add(rest, total)]


def masks(x: Value, mask: Value) -> Sequence[Any]:
    """Bool inputs, constants and results, joined with masks in another format."""
    known = pd.isnan(pd.full(shape=(2, 3), value=float("nan")))
    computed = pd.isnan(x)
    joined = pd.concat([known, computed, mask], axis=1)
    return [mask, known, joined, pd.where(mask, x, pd.scale(x, scale=2.0)), pd.logical_and(mask, computed)]


PROGRAMS: dict[Callable[..., Sequence[Any]], list[VTensorType]] = {
    loss: [t(4, 5), t(4, 5)],
    scalars: [t(), t()],
    product_and_scalar: [t(3, 4), t(4, 5), t()],
    image_and_filter: [t(3, 3, 3, 3)],
    filter_elsewhere: [t(3, 3, 3, 3)],
    pooled_filter: [t(3, 4, 12, 5), t(3, 4, 3, 5)],
    one_value_twice: [t(6, 6)],
    unused_pieces: [t(6, 4)],
    overwritten: [t(4, 4), t(4, 4)],
    overwritten_join: [t(2, 4), t(1, 4)],
    no_results: [t(2, 3)],
    nothing_computed: [t(2, 3)],
    empty_values: [t(4, 3), t(0, 2)],
    masks: [t(2, 3), VTensorType((2, 3), i1)],
}


@pytest.mark.parametrize("body", PROGRAMS, ids=lambda body: body.__name__)
def test_it_compiles_and_agrees(body: Callable[..., Sequence[Any]]) -> None:
    program = program_of(PROGRAMS[body], body)
    for options in OPTIONS:
        assert check(program, options=options).passed, options


@pytest.mark.parametrize("body", [scalars, empty_values, masks], ids=lambda body: body.__name__)
def test_it_runs_after_being_saved(body: Callable[..., Sequence[Any]], tmp_path: Path) -> None:
    program = program_of(PROGRAMS[body], body)
    executable = tx8ir.compile(program)
    executable.save(tmp_path)
    rng = np.random.default_rng(0)
    feeds = {port.name: rng.integers(0, 2, port.shape).astype(port.dtype) for port in executable.signature.inputs}
    first, second = executable.run(feeds), Executable.load(tmp_path).run(feeds)
    assert first.keys() == second.keys() == program.outputs.keys()
    for name, array in first.items():
        assert array.shape == program.outputs[name].shape
        np.testing.assert_array_equal(array, second[name])


def test_what_is_not_used_costs_nothing() -> None:
    """Neither the unused pieces, nor the base that is overwritten, nor an unused input leave anything behind."""
    program = program_of([t(6, 4), t(7, 7)], lambda x, unused: unused_pieces(x))
    lowered = lower(program, through="lower-to-tx8be")
    names = [op.name for op in lowered.main.body.block]
    assert names.count("tx8be.Slice") == 1
    assert names.count("tx8be.Input") == 1
    inputs = [op for op in tx8ir.compile(program).program.module.walk() if isinstance(op, tx8.InputOp)]
    assert [op.port_name for op in inputs] == ["arg0"]


def test_a_filter_read_as_an_image_is_one_copy_under_another_name() -> None:
    """No instruction moves the value for its second name; the two blocked forms are made from the dense input."""
    program = program_of([t(3, 3, 3, 3)], image_and_filter)
    executable = tx8ir.compile(program)
    instructions = [op.name for op in executable.program.module.walk() if isinstance(op, tx8.Instruction)]
    assert instructions.count("tx8.conv") == 1
    assert instructions.count("tx8.channelnorm") <= 3


WIDE: dict[str, tuple[VTensorType, Callable[..., Any], str]] = {
    "kernel": (
        t(1, 1, 1, 300),
        lambda x: pd.conv2d(x, pd.full(shape=(1, 1, 1, 260), value=1.0)),
        "tx8.conv: kernel is 260; expected 1..255",
    ),
    "dilation": (
        t(1, 1, 1, 1100),
        lambda x: pd.conv2d(x, pd.full(shape=(1, 1, 1, 2), value=1.0), dilations=(1, 1025)),
        "tx8.conv: dilations is 1025; expected 1..1023",
    ),
    "pool": (
        t(1, 1, 1, 300),
        lambda x: pd.pool2d(x, kernel_size=(1, 260), pooling_type="max"),
        "tx8.pool: kernel is 260; expected 1..255",
    ),
}


@pytest.mark.parametrize("name", WIDE)
def test_what_no_instruction_can_say_is_refused_with_its_limit(name: str) -> None:
    kind, body, message = WIDE[name]
    with pytest.raises(PassError, match=rf"no slice of tx8be\.\w+ -> .* and the instructions: {message}"):
        tx8ir.compile(program_of([kind], lambda x: [body(x)]))


def test_an_input_of_dynamic_shape_is_refused() -> None:
    with pytest.raises(CompileError, match=r"has a dynamic extent .*, and the chip runs static shapes alone"):
        check(program_of([t(-1, 3)], lambda x: [pd.tanh(x)]))


def test_tensors_of_many_axes() -> None:
    def body(x: Value) -> Sequence[Any]:
        turned = pd.transpose(x, perm=(6, 5, 4, 3, 2, 1, 0))
        return [turned, pd.sum(x, axis=(1, 3, 5)), pd.softmax(x, axis=2), pd.concat([x, x], axis=3), pd.tanh(x)]

    assert check(program_of([t(2, 1, 3, 2, 1, 2, 3)], body)).passed
