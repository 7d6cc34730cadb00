"""Matrix products and convolutions of i8: the low bits of the exact sums, as NumPy and the interpreter give them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import tx8ir
from tx8ir.core import Program
from tx8ir.interpreter import evaluate
from tx8ir.passes import PassError


def drawn(*shape: int) -> NDArray[np.int8]:
    return np.random.default_rng(len(shape)).integers(-128, 128, shape, np.int8)


def same_on_chip(program: Program, *inputs: NDArray[np.int8]) -> NDArray[np.int8]:
    """The result on the chip, which is that of the interpreter."""
    given = {f"arg{i}": x for i, x in enumerate(inputs)}
    (found,) = tx8ir.compile(program).run(given).values()
    (wanted,) = evaluate(program, given).values()
    np.testing.assert_array_equal(found, wanted)
    return found


def program(name: str, attributes: str, result: tuple[int, ...], *shapes: tuple[int, ...]) -> Program:
    out, *types = (f"!pd.vtensor<{'x'.join(map(str, shape))}xi8>" for shape in (result, *shapes))
    given = ", ".join(f"%{i}" for i in range(len(types)))
    declared = ", ".join(f"%{i}: {t}" for i, t in enumerate(types))
    return tx8ir.parse(
        f"module {{ func.func @main({declared}) -> {out} {{\n"
        f'%y = "{name}"({given}) {{{attributes}}} : ({", ".join(types)}) -> {out}\n'
        f"return %y : {out} }} }}"
    )


def convolution(name: str, groups: int, result: tuple[int, ...], inputs: list[NDArray[np.int8]]) -> Program:
    attributes = (
        f"groups = {groups} : i64, strides = array<i64: 1, 1>, paddings = array<i64: 0, 0>, "
        f'dilations = array<i64: 1, 1>, data_format = "NHWC", filter_format = "HWOI", '
        f"operandSegmentSizes = array<i32: 1, 1, {len(inputs) - 2}>"
    )
    return program(name, attributes, result, *(x.shape for x in inputs))


@pytest.mark.parametrize("k", [1, 3, 70, 1500])
def test_a_product_has_the_low_bits_of_the_sums(k: int) -> None:
    x, y = drawn(5, k), drawn(k, 133)
    x[0], y[:, 0] = -128, -128  # the largest product
    found = same_on_chip(program("pd.matmul", "", (5, 133), x.shape, y.shape), x, y)
    exact = x.astype(np.int64) @ y.astype(np.int64)
    np.testing.assert_array_equal(found, exact.astype(np.int8))
    assert np.any((exact < -128) | (exact > 127))


@pytest.mark.parametrize(("groups", "outputs"), [(1, 5), (6, 6), (2, 4)], ids=["whole", "depthwise", "grouped"])
@pytest.mark.parametrize("biased", [False, True])
def test_a_convolution_has_the_low_bits_of_the_sums(groups: int, outputs: int, biased: bool) -> None:
    inputs = [drawn(1, 6, 6, 6), drawn(3, 3, outputs, 6 // groups), drawn(outputs)][: 2 + biased]
    name = "pd.depthwise_conv2d" if groups == 6 else "pd.conv2d"
    found = same_on_chip(convolution(name, groups, (1, 4, 4, outputs), inputs), *inputs)
    assert found.shape == (1, 4, 4, outputs)


def test_sums_that_may_need_more_than_32_bits_are_refused() -> None:
    inputs = [np.zeros((1, 3, 3, 16384), np.int8), np.zeros((3, 3, 1, 16384), np.int8)]
    with pytest.raises(PassError, match=r"pd\.conv2d .*: sums of 147456 products of i8 may need more than the 32 bits"):
        tx8ir.compile(convolution("pd.conv2d", 1, (1, 1, 1, 1), inputs))
