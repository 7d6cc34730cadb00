"""Ops of one's own with the kinds of axes that no op of the backend graph has yet: scanned and whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tx8ir.backend.axes import (
    Axes,
    Axis,
    AxisKind,
    CutError,
    Declaration,
    OpSlices,
    declaration_of,
    group_space,
    needs,
    slices,
)
from tx8ir.backend.axes.combination import Maximum, State, Sum
from tx8ir.backend.axes.cuts import part_counts
from tx8ir.backend.axes.evaluate import evaluate_cut
from tx8ir.backend.axes.maps import FIXED, along
from tx8ir.backend.axes.spaces import identity, parallel_axes, shape_of
from tx8ir.backend.oplib.boxes import Box
from tx8ir.core import Block, Compute, InferTypes, Op, Operand, Result, Type, VTensorType, i32, operand, result
from tx8ir.dialects import tx8be
from tx8ir.target.formats import I32

Array = NDArray[Any]


class RunningSumOp(Op, Compute, InferTypes, name="test.running_sum"):
    """Sums over the last axis up to and with each element."""

    x: Operand = operand()
    y: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        return (self.x.type,)

    def compute(self, x: Array) -> Array:
        return np.cumsum(x, axis=-1, dtype=x.dtype)


@Axes.implement(RunningSumOp)
class RunningSumAxes(Axes):
    def __init__(self, op: RunningSumOp) -> None:
        self.op = op

    def declare(self) -> Declaration:
        axes = parallel_axes(shape_of(self.op.x))
        axes = (*axes[:-1], attrs.evolve(axes[-1], kind=AxisKind.SCANNED))
        return Declaration(axes, (identity(axes),), (identity(axes),), Sum(I32))

    def step(self, slices: OpSlices, operands: Sequence[Array | None]) -> State:
        (x,) = operands
        assert x is not None
        return (x.sum(axis=-1, keepdims=True, dtype=x.dtype),)

    def finish(self, state: State, slices: OpSlices, operands: Sequence[Array | None]) -> Array:
        (x,) = operands
        assert x is not None
        return state[0] + self.op.compute(x)


class SortOp(Op, Compute, InferTypes, name="test.sort"):
    """Sorts the last axis."""

    x: Operand = operand()
    y: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        return (self.x.type,)

    def compute(self, x: Array) -> Array:
        return np.sort(x, axis=-1)


@Axes.implement(SortOp)
class SortAxes(Axes):
    def __init__(self, op: SortOp) -> None:
        self.op = op

    def declare(self) -> Declaration:
        axes = parallel_axes(shape_of(self.op.x))
        axes = (*axes[:-1], attrs.evolve(axes[-1], kind=AxisKind.WHOLE))
        return Declaration(axes, (identity(axes),), (identity(axes),))


@settings(max_examples=settings().max_examples // 2)
@given(st.sampled_from([RunningSumOp, SortOp]), st.data())
def test_parts_compute_what_the_whole_does(kind: Any, data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=3)))
    op = kind(*Block([VTensorType(shape, i32)]).args)
    declaration = declaration_of(op)
    parts = [data.draw(st.sampled_from(part_counts(axis))) for axis in declaration.axes]
    x = np.random.default_rng(data.draw(st.integers(0, 999))).integers(-99, 99, shape, dtype=np.int32)
    assert evaluate_cut(op, declaration, parts, (x,)).tobytes() == op.compute(x).tobytes()


def test_a_whole_axis_is_whole_in_every_group() -> None:
    (x,) = Block([VTensorType((4, 6), i32)]).args
    sort = SortOp(x)
    absolute = tx8be.Abs(sort.y)
    assert [axis.kind for axis in group_space([sort, absolute], [absolute.y]).axes] == [
        AxisKind.PARALLEL,
        AxisKind.WHOLE,
    ]
    with pytest.raises(CutError, match=r"whole axis d1:6 \(whole\) is cut to \(0, 3\)"):
        slices(declaration_of(sort), Box((0, 0), (4, 3)))


def test_a_slice_of_a_scan_reads_all_of_it() -> None:
    """The parts of a group's cut are not parts of the scan's axis: nobody else has the state."""
    (x,) = Block([VTensorType((8,), i32)]).args
    scan = RunningSumOp(x)
    part = tx8be.Slice(scan.y, starts=(3,), ends=(7,))
    space = group_space([scan, part], [part.y])
    assert needs(space, Box((0,), (2,))).held[x] == Box((0,), (8,))


class TestDeclarationsThatCannotBe:
    def test_a_reduced_axis_in_a_result(self) -> None:
        axis = Axis("k", 4, AxisKind.REDUCED)
        with pytest.raises(ValueError, match="reduced axis k is in a result"):
            Declaration((axis,), ((along(0, 4),),), ((along(0, 4),),), Maximum(I32))

    def test_a_parallel_axis_in_no_result(self) -> None:
        with pytest.raises(ValueError, match="parallel axis m is not in a result"):
            Declaration((Axis("m", 4),), ((along(0, 4),),), ((FIXED,),))

    def test_a_reduced_axis_without_a_state(self) -> None:
        with pytest.raises(ValueError, match="exactly when there is a combination state"):
            Declaration((Axis("k", 4, AxisKind.REDUCED),), ((along(0, 4),),), ((FIXED,),))
