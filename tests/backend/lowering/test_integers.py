"""Whole numbers on the simulated chip, which computes them in floating point: exactly as the interpreter has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import tx8ir
from tx8ir.core import Builder, FunctionType, Program, ScalarType, Value, VTensorType, f16, f32, i8, i16, i32, i64
from tx8ir.dialects import func, pd
from tx8ir.interpreter import evaluate
from tx8ir.passes import PassError

Array = np.ndarray
RNG = np.random.default_rng(3)

COMPARISONS = (pd.equal, pd.not_equal, pd.less_than, pd.less_equal, pd.greater_than, pd.greater_equal)
ARITHMETIC = (pd.add, pd.subtract, pd.multiply, pd.maximum, pd.minimum)


def program_of(write: Callable[..., Sequence[Value]], *inputs: tuple[Array, ScalarType]) -> Program:
    """A program of the inputs x0, x1, … and the results y0, y1, …"""
    program = Program.empty()
    types = [VTensorType(array.shape, element) for array, element in inputs]
    with Builder.at_end(program.body):
        main = func.FuncOp(
            sym_name="main",
            function_type=FunctionType(types, []),
            arg_names=tuple(f"x{i}" for i in range(len(types))),
            result_names=(),
        )
    with Builder.at_end(main.body.block):
        results = write(*main.body.block.args)
        func.ReturnOp(results)
    main.set_attribute("function_type", FunctionType(types, [value.type for value in results]))
    main.set_attribute("result_names", tuple(f"y{i}" for i in range(len(results))))
    return program


def check(write: Callable[..., Sequence[Value]], *inputs: tuple[Array, ScalarType]) -> None:
    program = program_of(write, *inputs)
    given = {f"x{i}": array.astype(element.dtype) for i, (array, element) in enumerate(inputs)}
    expected = evaluate(program, given)
    found = tx8ir.compile(program).run(given)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name, strict=True)


def around(*numbers: int) -> Array:
    return np.asarray([n + d for n in numbers for d in (-1, 0, 1)])


POINTS = {
    i8: np.concatenate([np.arange(-128, 128, 5), around(-127, 0, 126)]),
    i16: np.concatenate([around(-32767, -256, 0, 256, 257, 32766), RNG.integers(-(2**15), 2**15, 46)]),
    i32: around(1 - 2**31, -(2**30) - 65, -(2**24), -(2**16), -(2**15), 0, 2**15, 2**16, 2**24, 2**30 + 64, 2**31 - 2),
}


@pytest.mark.parametrize("element", [i8, i16, i32], ids=str)
def test_all_pairs(element: ScalarType) -> None:
    points = POINTS[element]
    x, y = (array.copy() for array in np.meshgrid(points, points))

    def write(a: Value, b: Value) -> list[Value]:
        results = [op(a, b).out for op in COMPARISONS]
        small = pd.full(shape=(), value=100, dtype=element).out
        results += [op(a, small).out for op in COMPARISONS]
        results += [op(a, b).out for op in (ARITHMETIC if element is not i32 else (pd.maximum, pd.minimum))]
        results += (
            []
            if element is i32
            else [pd.scale(a, scale=-100.0, bias=99.0, bias_after_scale=order).out for order in (True, False)]
        )
        results.append(pd.where(pd.less_than(a, b), a, b).out)
        results.append(pd.where(pd.less_than(a, b), small, b).out)
        return results

    check(write, (x, element), (y, element))


def test_what_is_known_to_be_small_is_computed() -> None:
    x = RNG.integers(-128, 128, (4, 16))

    def write(a: Value) -> list[Value]:
        wide = pd.cast(a, dtype=i32)
        product = pd.multiply(wide, wide)
        return [pd.scale(wide, scale=-3.0, bias=7.0).out, pd.add(product, wide).out, pd.maximum(product, wide).out]

    check(write, (x, i8))


def test_what_may_be_too_large_is_refused() -> None:
    x = np.zeros((4,))
    with pytest.raises(PassError, match="fp32 may not have every result in i32"):
        tx8ir.compile(program_of(lambda a: [pd.scale(a, scale=2.0).out], (x, i32)))


@pytest.mark.parametrize("element", [i32, i64], ids=str)
def test_sums_and_products_of_any_numbers_are_exact_or_a_run_fails(element: ScalarType) -> None:
    def write(a: Value, b: Value) -> list[Value]:
        return [pd.add(pd.multiply(a, b), pd.subtract(a, b)).out]

    limit = 1 << 24
    near = np.array([[-4096, 3000, 7], [0, -1, limit - 1]])
    check(write, (near, element), (np.array([[4000, 4097, -9], [limit - 1, 5, 0]]), element))
    executable = tx8ir.compile(program_of(write, (near, element), (near, element)))
    for x, y in ((4097, 4096), (limit, 0), (0, limit), (1, 1 - limit), (-limit, 1)):
        given = {name: np.full(near.shape, n, element.dtype) for name, n in (("x0", x), ("x1", y))}
        with pytest.raises(tx8ir.RangeError, match=r"pd\.(multiply|subtract|add) .* 16777216 or more"):
            executable.run(given)


@pytest.mark.parametrize(("element", "shape"), [(f32, (3, 4, 5)), (f16, (6, 9)), (i8, (40, 7))], ids=str)
def test_places_of_extremes(element: ScalarType, shape: tuple[int, ...]) -> None:
    x = RNG.integers(-3, 4, shape).astype(np.float64)  # with equal ones
    if element.is_float:
        x.reshape(-1)[[1, 8, 17]] = np.nan
        x.reshape(-1)[[2, 3]] = np.inf, -np.inf
        x[x == 0] *= -1

    def write(a: Value) -> list[Value]:
        return [
            op(a, axis=axis, keepdims=keepdims).out
            for op in (pd.argmax, pd.argmin)
            for axis, keepdims in zip(range(-1, len(shape) - 1), (True, False, True), strict=False)
        ]

    check(write, (x, element))
