"""Every pass keeps what a program computes: drawn programs are evaluated before and after, on drawn inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tx8ir.core import Builder, FunctionType, Program, Value, VTensorType, bf16, f16, f32, i1, i32, i64, parse
from tx8ir.dialects import builtin, func, pd
from tx8ir.interpreter import evaluate
from tx8ir.passes import PassManager

SHAPES = [(2, 3), (1, 6), (3,), (), (1, 2, 3), (2, 3, 4, 4), (1, 2, 5, 3)]
SPLATS = [0.0, -0.0, 1.0, 2.0, 0.5, -1.0, 3.0]
Maker = Callable[[st.DrawFn, "list[Value]", Value], Any]


def shape_of(value: Value) -> tuple[int, ...]:
    kind = value.type
    assert isinstance(kind, VTensorType)
    return kind.shape


def is_float(value: Value) -> bool:
    kind = value.type
    assert isinstance(kind, VTensorType)
    return kind.element.is_float


def _unary(draw: st.DrawFn, pool: list[Value], x: Value) -> Any:
    if not is_float(x):
        return pd.logical_not(x)
    make = draw(
        st.sampled_from(
            [
                pd.relu,
                pd.abs,
                pd.floor,
                pd.square,
                pd.assign,
                pd.tanh,
                pd.exp,
                pd.isnan,
                lambda x: pd.scale(x, scale=draw(st.sampled_from(SPLATS)), bias=draw(st.sampled_from(SPLATS))),
                lambda x: pd.pow(x, y=draw(st.sampled_from([1.0, 2.0]))),
            ]
        )
    )
    return make(x)


def _binary(draw: st.DrawFn, pool: list[Value], x: Value) -> Any:
    kind = x.type
    if kind.element is i1:
        return pd.where(
            x, pd.full(shape=(), value=1.0), pd.full(shape=shape_of(x), value=draw(st.sampled_from(SPLATS)))
        )
    fitting = [v for v in pool if v.type.element is kind.element and _broadcasts(shape_of(v), kind.shape)]
    shape = draw(st.sampled_from([kind.shape, (), (1,) * len(kind.shape)]))
    number = draw(st.sampled_from(SPLATS if kind.element.is_float else [0, 1, 2]))
    y = draw(
        st.sampled_from(fitting)
        | st.builds(lambda: builtin.constant(value=np.full(shape, number, kind.element.dtype)).out)
        | st.builds(lambda: pd.full(shape=shape, value=float(number), dtype=kind.element).out)
    )
    ops = [pd.add, pd.subtract, pd.multiply, pd.maximum, pd.minimum, pd.equal, *([pd.divide] if is_float(x) else [])]
    return draw(st.sampled_from(ops))(*draw(st.permutations([x, y])))


def _broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b), strict=False))


def _cast(draw: st.DrawFn, pool: list[Value], x: Value) -> Any:
    return pd.cast(x, dtype=draw(st.sampled_from([f32, f16, bf16, i32, i64, i1])))


def _move(draw: st.DrawFn, pool: list[Value], x: Value) -> Any:
    shape = shape_of(x)
    rank = len(shape)
    choices: list[Callable[[], Any]] = [
        lambda: pd.transpose(x, perm=tuple(draw(st.permutations(range(rank))))),
        lambda: pd.reshape(x, shape=tuple(draw(st.permutations(shape)))),
        lambda: pd.reshape(x, shape=draw(st.sampled_from([(-1,), (1, -1), (-1, 1)]))),
        lambda: pd.unsqueeze(x, axis=(draw(st.integers(0, rank)),)),
        lambda: pd.squeeze(x),
        lambda: pd.expand(x, shape=draw(st.sampled_from([shape, (1, *shape)]))),
    ]
    if rank:
        axis = draw(st.integers(-rank, rank - 1))
        low = draw(st.integers(0, shape[axis] - 1))
        choices += [
            lambda: pd.flatten(x, start_axis=0, stop_axis=rank - 1),
            lambda: pd.concat(draw(st.sampled_from([[x], [x, x]])), axis=axis),
            lambda: pd.slice(x, axes=(axis,), starts=(low,), ends=(draw(st.integers(low + 1, shape[axis])),)),
            lambda: pd.split(x, sections=(-1, low) if low else (-1,), axis=axis),
        ]
    return draw(st.sampled_from(choices))()


def _reduce(draw: st.DrawFn, pool: list[Value], x: Value) -> Any:
    rank = len(shape_of(x))
    if not is_float(x) or rank == 0:
        return pd.logical_not(x)
    axes = tuple(draw(st.lists(st.integers(0, rank - 1), unique=True, max_size=2)))
    keepdim = draw(st.booleans())
    return draw(
        st.sampled_from(
            [
                lambda: pd.max(x, axis=axes, keepdim=keepdim),
                lambda: pd.mean(x, axis=axes, keepdim=keepdim),
                lambda: pd.softmax(x, axis=draw(st.integers(-rank, rank - 1))),
            ]
        )
    )()


def _matmul(draw: st.DrawFn, pool: list[Value], x: Value) -> Any:
    shape = shape_of(x)
    if len(shape) < 2 or x.type.element is not f32:
        return pd.assign(x)
    perm = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
    return pd.matmul(x, pd.transpose(x, perm=perm), **draw(st.sampled_from([{}, {"transpose_x": False}])))


def _image(draw: st.DrawFn, pool: list[Value], x: Value) -> Any:
    shape = shape_of(x)
    if len(shape) != 4 or x.type.element is not f32:
        return pd.assign(x)
    channels = shape[1]
    image = [
        lambda: pd.pool2d(x, kernel_size=(2, 2), paddings=(1, 1), pooling_type=draw(st.sampled_from(["max", "avg"]))),
        lambda: pd.conv2d(x, read(pool, (3, channels, 1, 1)), dilations=(1, 2)),
        lambda: pd.conv2d(x, read(pool, (channels, channels, 3, 3)), read(pool, (channels,)), paddings=(1, 1)),
        lambda: pd.batch_norm(x, read(pool, (channels,)), pd.square(read(pool, (channels,)))),
        lambda: pd.add(x, read(pool, shape[1:])),
    ]
    return draw(st.sampled_from(image))()


def read(pool: list[Value], shape: tuple[int, ...]) -> Any:
    """A read of the parameter of that shape; `program` adds the variables that are read."""
    return builtin.get_parameter(parameter="w" + "x".join(map(str, shape)), out=VTensorType(shape, f32))


EXACT: list[Maker] = [_unary, _binary, _cast, _move]
SMOOTH: list[Maker] = [_move, _image, _image, _reduce, _matmul]


@st.composite
def programs(draw: st.DrawFn, makers: list[Maker]) -> Program:
    """`main` with up to three f32 inputs, 14 operations on values and reads of parameters, and three results."""
    program = Program.empty()
    with Builder.at_end(program.body):
        kinds = [VTensorType(s, f32) for s in draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3))]
        main = func.FuncOp(sym_name="main", function_type=FunctionType(kinds, ()))
    pool: list[Value] = list(main.body.block.args)
    with Builder.at_end(main.body.block):
        for shape in draw(st.lists(st.sampled_from(SHAPES), max_size=2)):
            pool.append(read(pool, shape).out)
        for _ in range(draw(st.integers(1, 14))):
            op = draw(st.sampled_from(makers))(draw, pool, draw(st.sampled_from(pool)))
            pool += [r for r in op.results if math.prod(shape_of(r)) <= 400]
        returned = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=3))
        func.ReturnOp(returned)
    main.set_attribute("function_type", FunctionType(kinds, [v.type for v in returned]))
    rng = np.random.default_rng(0)
    for op in program.module.walk():
        if isinstance(op, builtin.GetParameterOp) and op.parameter not in program.weights:
            program.weights.add(op.parameter, rng.standard_normal(shape_of(op.out)).astype(np.float32))
    program.verify()
    return program


def _inputs(program: Program, special: bool) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(1)
    drawn: dict[str, NDArray[Any]] = {}
    for name, kind in program.inputs.items():
        array = np.asarray(rng.standard_normal(kind.shape), np.float32)
        if special:
            odd = rng.choice(np.float32([-0.0, 0.0, np.nan, np.inf, -np.inf, 1e-42, 3e38]), kind.shape)
            array = np.where(rng.random(kind.shape) < 0.5, odd, array).astype(np.float32)
        drawn[name] = array
    return drawn


@pytest.mark.parametrize(
    "pipeline", ["cse", "dce", "canonicalize", "constant-fold", "nhwc,canonicalize,constant-fold,cse,dce"]
)
@given(data=st.data())
def test_results_keep_their_bits(pipeline: str, data: st.DataObject) -> None:
    program = data.draw(programs(EXACT))
    inputs = _inputs(program, special=True)
    expected = evaluate(program, inputs)
    PassManager.parse(pipeline).run(program)
    for name, array in evaluate(program, inputs).items():
        assert array.dtype == expected[name].dtype
        a, b = expected[name].astype(np.float64), array.astype(np.float64)
        np.testing.assert_array_equal(a, b)
        known = ~np.isnan(a)
        np.testing.assert_array_equal(np.signbit(a)[known], np.signbit(b)[known])


@given(data=st.data())
def test_sums_keep_their_value_up_to_rounding(data: st.DataObject) -> None:
    program = data.draw(programs(SMOOTH))
    inputs = _inputs(program, special=False)
    expected = evaluate(program, inputs, "fp64")
    PassManager.parse("nhwc,canonicalize,constant-fold,cse,dce").run(program)
    for name, array in evaluate(program, inputs, "fp64").items():
        # Constants are folded in f32.
        max(1.0, float(np.max(np.abs(expected[name]))))
        np.testing.assert_allclose(
            array, expected[name], rtol=0, atol=1e-5 * max(1, float(np.max(np.abs(expected[name]))))
        )


@pytest.mark.parametrize("name", ["cse", "dce", "canonicalize", "constant-fold", "nhwc", "convert-dtype{dtype=bf16}"])
@given(data=st.data())
def test_a_second_run_changes_nothing_and_text_keeps_the_program(name: str, data: st.DataObject) -> None:
    program = data.draw(programs([*EXACT, *SMOOTH]))
    manager = PassManager.parse(name)
    manager.run(program)
    text = str(program)
    assert str(parse(text)) == text
    again = manager.run(program).stages[0].statistics
    assert not again.keys() - {"refused"}  # folding tries again what cannot be evaluated
    assert str(program) == text
