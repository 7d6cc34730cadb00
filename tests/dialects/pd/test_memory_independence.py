"""An element of a result depends on the elements it is made of, not on how NumPy finds them in memory.

The same numbers are given at rank 0, alone, in short and long rows, strided, reversed, shifted and stretched: passes
reshape, transpose, split and stretch operands, and guarantee to keep every bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from support.formulas import formula_of, unary_operations
from tx8ir.core import (
    Block,
    ElementwiseMappable,
    Operation,
    ScalarType,
    VerifyError,
    VTensorType,
    default_context,
    f32,
    f64,
    i1,
    i32,
)
from tx8ir.core.ir.interfaces import Compute
from tx8ir.dialects import pd
from tx8ir.dialects.pd import numerics

Array = NDArray[Any]

EXPONENTS = (0.5, 2.0, -1.0, 0.0, 1.0, 3.0, -0.5, 0.25, 1.5, math.inf)
ATTRIBUTES: dict[type[Operation], list[dict[str, Any]]] = {
    pd.PowOp: [{"y": y} for y in EXPONENTS],
    **{op: [{}, *formula_of(op).variants] for op in unary_operations() if op not in (pd.PowOp, pd.ScaleOp)},
    pd.ScaleOp: [{"scale": 0.3, "bias": 0.7}, {"scale": 0.3, "bias": 0.7, "bias_after_scale": False}],
}


def _operations() -> list[type[Operation]]:
    dialect = default_context().dialect("pd")
    assert dialect is not None
    return [kind for kind in dialect.ops.values() if ElementwiseMappable in kind.info.traits]


def _numbers(dtype: np.dtype[Any], seed: int) -> Array:
    rng = np.random.default_rng(seed)
    if dtype == np.bool_:
        return rng.integers(0, 2, 300).astype(np.bool_)
    if dtype.kind == "i":
        return rng.integers(1, 1000, 300).astype(dtype)
    drawn = (rng.standard_normal(300) * np.exp(3 * rng.standard_normal(300))).astype(dtype)
    limits = np.finfo(dtype)
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 1, -1, 0.5, 2, limits.max, limits.tiny, -limits.tiny / 2]
    drawn[: len(special)] = special
    return rng.permutation(drawn)


def _each_way(compute: Callable[..., Array], given: list[Array]) -> Iterator[tuple[str, Array]]:
    """The result on the numbers of `given`, in order, got in many ways."""
    count = len(given[0])

    def pieces(size: int) -> Array:
        return np.concatenate([compute(*(a[i : i + size] for a in given)) for i in range(0, count, size)])

    for size in (1, 3, 17):
        yield f"rows of {size}", pieces(size)
    yield "rank 0", np.array([compute(*(a[i].reshape(()) for a in given)) for i in range(count)])
    yield "strided", compute(*(np.repeat(a, 3)[1::3] for a in given))
    yield "reversed", compute(*(a[::-1].copy()[::-1] for a in given))
    yield "shifted", compute(*(np.concatenate([a[:1], a])[1:] for a in given))
    yield "stretched", compute(*(np.broadcast_to(a[:, None], (count, 5)) for a in given))[:, 3]
    yield "columns", compute(*(np.broadcast_to(a, (5, count)).T.copy().T for a in given))[2]
    for index in range(1, len(given)):  # each operand but the first as one number, and as a column, for a whole row
        for form in ((), (1,), (1, 1)):
            parts = [
                compute(*(a[[i, i]] if at != index else a[i].reshape(form) for at, a in enumerate(given)))
                for i in range(count)
            ]
            yield f"operand {index} of shape {form}", np.array([part.reshape(-1)[0] for part in parts])


def _same(a: Array, b: Array) -> NDArray[np.bool_]:
    if a.dtype.kind != "f":
        return a == b
    return ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))


def _types(kind: type[Operation], element: ScalarType, shape: tuple[int, ...]) -> list[VTensorType]:
    if kind is pd.WhereOp:
        return [VTensorType(shape, e) for e in (i1, element, element)]
    return [VTensorType(shape, element)] * (2 if {"y"} & {o.name for o in kind.definition.operands} else 1)


def _cases() -> Iterator[Any]:
    """Every elementwise operation with every element type it takes."""
    for kind in _operations():
        for element in (f32, f64, i32):
            try:
                kind(*Block(_types(kind, element, (3,))).args)
            except VerifyError:
                continue
            yield pytest.param(kind, element, id=f"{kind.name} of {element}")


def test_every_elementwise_operation_is_looked_at() -> None:
    assert {case.values[0] for case in _cases()} == set(_operations())


@pytest.mark.parametrize(("kind", "element"), list(_cases()))
def test_elementwise_operations_give_the_same_bits_for_the_same_numbers(kind, element) -> None:
    types = _types(kind, element, (300,))
    for attributes in ATTRIBUTES.get(kind, [{}]):
        if element is i32 and attributes:
            continue
        op = kind(*Block(types).args, **attributes)
        given = [_numbers(t.element.dtype, seed) for seed, t in enumerate(types)]
        if kind is pd.ElementwisePowOp:
            given[1][: len(EXPONENTS) * 20] = np.repeat(EXPONENTS, 20)
        compute = op.interface(Compute).compute
        with np.errstate(all="ignore"):
            whole = compute(*given)
            for way, found in _each_way(compute, given):
                same = _same(whole, found.astype(whole.dtype))
                assert same.all(), f"{kind.name} {attributes}, {way}: {[a[~same][0] for a in given]} give " + (
                    f"{found[~same][0]}, and {whole[~same][0]} in a row of 300"
                )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_exponent_is_as_good_as_many(dtype) -> None:
    x = _numbers(np.dtype(dtype), 0)
    for y in EXPONENTS:
        with np.errstate(all="ignore"):
            one, many = numerics.power(x, np.asarray(y, dtype)), numerics.power(x, np.full_like(x, y))
        assert _same(one, many).all()
    assert numerics.power(dtype(-math.inf), dtype(0.5)) == math.inf
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(numerics.power(x, np.full_like(x, 2)), x * x)


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2), ()])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_sum_depends_on_the_order_of_its_axes_alone(axes, order) -> None:
    x = np.random.default_rng(0).standard_normal((7, 41, 33)).astype(np.float32)
    kept = [axis for axis in range(3) if axis not in axes]
    expected = [
        np.ascontiguousarray(row).reshape(-1).sum(dtype=np.float32)
        for row in x.transpose(*kept, *axes).reshape(math.prod(x.shape[a] for a in kept), -1)
    ]
    found = numerics.total(np.asarray(x, order=order), axes=axes, keepdims=False)
    np.testing.assert_array_equal(found.reshape(-1), expected)
    for position in range(len(kept) + 1):  # the axes that are summed stand elsewhere
        perm = [*kept[:position], *axes, *kept[position:]]
        moved = tuple(range(position, position + len(axes)))
        np.testing.assert_array_equal(numerics.total(x.transpose(perm), axes=moved, keepdims=False), found)


def test_no_element_and_no_axis_to_sum() -> None:
    assert numerics.total(np.zeros((2, 0), np.float32), axes=(1,), keepdims=True).tolist() == [[0], [0]]
    assert numerics.total(np.zeros((0, 2), np.float32), axes=(1,), keepdims=False).shape == (0,)
    assert numerics.total(np.float32(3), axes=(), keepdims=False) == 3
