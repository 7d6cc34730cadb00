"""Every op of the backend graph declares its axes, and any legal cut of them computes what the whole op does."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from support.backend_ops import COMPUTED, Sample, samples
from support.formulas import inexact
from tx8ir.backend.axes import Along, Axes, CutError, Declaration, Window, declaration_of, slices
from tx8ir.backend.axes.combination import Combination, Maximum, Minimum, Moments, Normalizer, Sum
from tx8ir.backend.axes.cuts import boxes, part_counts
from tx8ir.backend.axes.evaluate import evaluate_cut
from tx8ir.backend.axes.spaces import shape_of
from tx8ir.backend.axes.volume import work
from tx8ir.backend.graph import CompileError
from tx8ir.core import Block, Compute, NoneType, Operation, VTensorType, f32
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import ReduceFunction
from tx8ir.target.formats import F32, I32

Array = NDArray[Any]

NO_AXES = {
    tx8be.OutputOp: "takes a tuple",
    tx8be.TupleOp: "gives a tuple",
    tx8be.NoneOp: "gives no tensor",
    tx8be.ReturnOp: "ends a group and has no result",
    tx8be.GroupOp: "has the iteration space of its body",
    tx8be.ScheduleOp: "says when ops run",
    tx8be.RepeatOp: "is a part of a schedule",
    tx8be.StepOp: "is a part of a schedule",
}
NO_OPERANDS = {tx8be.ConstantOp, tx8be.LoadConstOp}

SUMS = (tx8be.GemmOp, tx8be.ConvOp, tx8be.ReduceOp, tx8be.PoolOp)
TWO_ULP = tuple(op for op in tx8be.UNARY if op.function.name in inexact())
HALF = settings(max_examples=settings().max_examples // 2)


def test_every_op_declares_its_axes_or_has_a_reason_not_to() -> None:
    without = {op for op in tx8be.DIALECT.ops.values() if Axes not in op.info.interfaces}
    assert without == set(NO_AXES)


def test_every_op_with_axes_is_tested() -> None:
    with_axes = {op for op in tx8be.DIALECT.ops.values() if Axes in op.info.interfaces}
    assert with_axes == {*COMPUTED, *NO_OPERANDS}


@pytest.mark.parametrize("kind", COMPUTED, ids=lambda kind: kind.name)
@HALF
@given(data=st.data())
def test_parts_compute_what_the_whole_does(kind: type[Operation], data: st.DataObject) -> None:
    sample = data.draw(samples(kind))
    declaration = declaration_of(sample.op)
    parts = [data.draw(st.sampled_from(part_counts(axis))) for axis in declaration.axes]
    expected = whole(sample.op, sample.arrays)
    try:
        found = evaluate_cut(sample.op, declaration, parts, sample.arrays)
    except CutError:
        assert kind is tx8be.ReshapeOp  # the only op that refuses some products of legal cuts: those that are strided
        assert not is_contiguous(declaration, parts)
        return
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    bound = error_bound(sample, expected)
    if bound is None:
        assert found.tobytes() == expected.tobytes()
    else:
        assert (np.abs(found.astype(np.float64) - expected) <= bound).all()


FAMILIES = [op for op in COMPUTED if op not in (*tx8be.UNARY[1:], *tx8be.BINARY[1:])]


@pytest.mark.parametrize("kind", FAMILIES, ids=lambda kind: kind.name)
@HALF
@given(data=st.data())
def test_slices_are_the_positions_that_points_read(kind: type[Operation], data: st.DataObject) -> None:
    """Counted one by one; and the work of all parts is that of the op."""
    op = data.draw(samples(kind)).op
    declaration = declaration_of(op)
    parts = [data.draw(st.sampled_from(part_counts(axis))) for axis in declaration.axes]
    if not is_contiguous(declaration, parts):
        return
    spaces = boxes(declaration.axes, parts)
    assert sum(work(declaration, part) for part in spaces) == multiplications(op)
    part = data.draw(st.sampled_from(spaces))
    sliced = slices(declaration, part)
    for value, access, taken in zip(op.operands, declaration.operands, sliced.operands, strict=True):
        assert (access is None) == (taken is None)
        if access is None or taken is None:
            continue
        for number, dimension in enumerate(access):
            ranges = (range(part.start[axis], part.stop[axis]) for axis in dimension.axes)
            points = [dict(zip(dimension.axes, chosen, strict=True)) for chosen in itertools.product(*ranges)]
            reached = covering({index for point in points for index in positions(dimension, point)})
            extent = shape_of(value)[number]
            inside = {index for index in reached if 0 <= index < extent}
            assert set(range(taken.box.start[number], taken.box.stop[number])) == inside
            if isinstance(dimension, Window):
                outside = len({i for i in reached if i < 0}), len({i for i in reached if i >= extent})
                assert (taken.before[number], taken.after[number]) == outside


def covering(indices: set[int]) -> set[int]:
    """All positions from the first to the last."""
    return set(range(min(indices), max(indices) + 1)) if indices else set()


def multiplications(op: Operation) -> int:
    """Multiplications of a product, elements combined by a reduction, elements of anything else: from shapes alone."""
    elements = math.prod(shape_of(op.results[0]))
    match op:
        case tx8be.GemmOp():
            return elements * shape_of(op.lhs)[-2 if op.transL else -1]
        case tx8be.ConvOp():
            kh, kw, _, channels = shape_of(op.weight)
            return elements * kh * kw * channels
        case tx8be.PoolOp():
            return elements * math.prod(op.kernel)
        case tx8be.ReduceOp():
            return math.prod(shape_of(op.x))
        case _:
            return elements


def positions(dimension: Any, point: dict[int, int]) -> list[int]:
    """The positions that one point of the iteration space reads of a dimension, from the formulas in `maps`."""
    match dimension:
        case Along():
            index = 0
            for axis, extent in zip(dimension.axes, dimension.extents, strict=True):
                index = index * extent + point[axis]
            return [index * dimension.inner + i for i in range(dimension.inner)]
        case Window():
            moved = point[dimension.output] * dimension.stride + point[dimension.kernel] * dimension.dilation
            return [moved - dimension.before]
        case _:
            return [point[dimension.axis] + dimension.offset]


def is_contiguous(declaration: Declaration, parts: list[int]) -> bool:
    """Whether in all dimensions the first parts are one run of positions: inner axes are cut only below single ones."""
    for part in boxes(declaration.axes, parts):
        for access in declaration.accesses():
            for dimension in access:
                several = False
                for axis in dimension.axes:
                    if several and part.extent[axis] != declaration.axes[axis].extent:
                        return False
                    several = several or part.extent[axis] > 1
    return True


@np.errstate(all="ignore")
def whole(op: Operation, arrays: tuple[Array | None, ...]) -> Array:
    model = op.interface(Compute)
    assert model is not None
    return np.asarray(model.compute(*arrays))


def error_bound(sample: Sample, expected: Array) -> Any:
    """How far apart two orders of summation may be (Higham, ch. 3 and 4); None where bits must be equal."""
    op, arrays = sample.op, sample.arrays
    unit = float(np.finfo(np.float32).eps)
    if expected.dtype.kind != "f":
        return None
    if isinstance(op, TWO_ULP):
        return 2 * np.spacing(np.abs(expected))
    if isinstance(op, tx8be.SoftmaxOp):
        # Each term: the rounded distances from two maxima, two exponentials; then the sum.
        return (expected.shape[-1] + 40) * unit * expected
    if isinstance(op, tx8be.LayerNormOp):
        x = arrays[0]
        assert x is not None
        spread = np.sqrt(x.var(-1, keepdims=True) + op.epsilon)
        ratio = 1 + np.abs(x).max(-1, keepdims=True) / spread
        scale = 1 if arrays[1] is None else np.abs(arrays[1])
        normal = np.abs((x - x.mean(-1, keepdims=True)) / spread)
        return 8 * (x.shape[-1] + 8) * unit * (1 + normal) * ratio * scale + 4 * unit * np.abs(expected)
    if isinstance(op, SUMS):
        if getattr(op, "function", None) in (ReduceFunction.MAX, ReduceFunction.MIN):
            return None
        magnitudes = whole(op, tuple(None if a is None else np.abs(a) for a in arrays))
        terms = math.prod(axis.extent for axis in declaration_of(op).axes if axis.kind.is_combined)
        return 2 * (terms + 3) * unit * magnitudes
    return None


def test_an_op_without_axes_is_refused() -> None:
    with pytest.raises(CompileError, match=r"tx8be\.None declares no axes"):
        declaration_of(tx8be.NoneOp())


@pytest.mark.parametrize("kind", sorted(NO_OPERANDS, key=lambda kind: kind.name), ids=lambda kind: kind.name)
def test_constants_have_the_axes_of_their_value(kind: type[Operation]) -> None:
    t = VTensorType((3, 4), f32)
    op = kind.create((), (t,), {"name": "w", "id": 0} if kind is tx8be.LoadConstOp else {"name": "w"})
    assert str(declaration_of(op)) == "-> [d0, d1]"


def gemm(lhs: tuple[int, ...], rhs: tuple[int, ...], **attributes: Any) -> tx8be.GemmOp:
    types = (VTensorType(lhs, f32), VTensorType(rhs, f32), NoneType(), NoneType())
    return tx8be.GemmOp(*Block(types).args, **attributes)


@pytest.mark.parametrize(
    ("source", "target", "text"),
    [
        ((6, 4), (3, 8), "[f0·f1, f2] -> [f0, f1·f2]"),
        ((24,), (2, 3, 4), "[f0·f1·f2] -> [f0, f1, f2]"),
        ((6, 4), (8, 3), "[f0·3, 4] -> [f0·4, 3]"),
        ((2, 3, 4), (4, 3, 2), "[f0, 3, 4] -> [f0·2, 3, 2]"),
        ((3, 4, 2), (2, 12), "[3, 4, 2] -> [2, 12]"),  # 2 divides both last extents, but lies inside of a block
        ((4, 1, 6), (4, 6), "[f0, 1, f1] -> [f0, f1]"),
        ((0, 4), (2, 0), "[0, 4] -> [2, 0]"),
    ],
)
def test_a_reshape_has_the_common_factors_of_its_shapes(
    source: tuple[int, ...], target: tuple[int, ...], text: str
) -> None:
    op = tx8be.Reshape(*Block([VTensorType(source, f32)]).args, y=VTensorType(target, f32))
    assert str(declaration_of(op)) == text


STATES = [Sum(F32), Sum(I32), Maximum(F32), Maximum(I32), Minimum(F32), Minimum(I32), Normalizer(), Moments()]


@pytest.mark.parametrize("combination", STATES, ids=repr)
def test_the_state_of_no_positions_changes_nothing(combination: Combination) -> None:
    state = tuple(np.array([3, 2], f.dtype) for f in combination.formats)
    none = combination.init((2,), state[0].dtype)
    for merged in (combination.merge(none, state), combination.merge(state, none)):
        assert [a.tobytes() for a in merged] == [a.tobytes() for a in state]


def test_extrema_of_zeros_do_not_depend_on_the_order() -> None:
    plus, minus = (np.array([0.0], np.float32),), (np.array([-0.0], np.float32),)
    for a, b in ((plus, minus), (minus, plus)):
        assert not np.signbit(Maximum(F32).merge(a, b)[0])
        assert np.signbit(Minimum(F32).merge(a, b)[0])


class TestText:
    def test_a_product(self) -> None:
        assert str(declaration_of(gemm((2, 3, 4), (1, 5, 4), transR=True))) == "[b, m, k] [1, n, k] - - -> [b, m, n]"

    def test_a_space(self) -> None:
        assert repr(declaration_of(gemm((3, 4), (4, 5)))) == (
            "<[m, k] [k, n] - - -> [m, n]; m:3, n:5, k:4 (reduced), sum>"
        )
