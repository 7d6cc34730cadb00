"""Views: operations that rearrange or select elements, and `set_value`, which writes what a slice shows.

The operations with the trait `View` (reshape, squeeze, unsqueeze, flatten, transpose, slice, split) show elements of
their first operand at other places and compute nothing. On a `TensorType` their results share its storage, so they
have no value semantics.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    DYNAMIC,
    Compute,
    HasValueSemantics,
    InferTypes,
    Op,
    Operand,
    Operation,
    Pure,
    RankedTensor,
    Result,
    Trait,
    Type,
    Value,
    VariadicResult,
    VerifyError,
    ViewLike,
    VTensorType,
    attribute,
    insert_here,
    operand,
    result,
    variadic_result,
)
from tx8ir.dialects.samples import Sampled, case, each

from .inference import (
    extents_match,
    fail,
    make_type,
    normalize_axes,
    normalize_axis,
    same_element,
    tensor_operand,
)


class View(Trait):
    """Every result shows elements of the first operand, unchanged, at other places."""


class ViewOp(Op, Compute, InferTypes, ViewLike, Sampled, traits=(Pure, View)):
    """Base of the views: `forward` is the operation itself on another base."""

    def forward(self, base: Value) -> tuple[Value, ...]:
        types = [_like(r.type, base) for r in self.results]
        with_base: Operation = type(self).create([base], types, attributes=self.attributes, location=self.location)
        return insert_here(with_base).results


def _like(type_: Type, base: Value) -> Type:
    """`type_` as a value or a tensor, whichever `base` is."""
    if not isinstance(type_, RankedTensor):
        raise VerifyError(f"expected a tensor, not {type_}")
    return type_.to_vtensor() if isinstance(base.type, VTensorType) else type_.to_tensor()


def shape_attribute(value: Value) -> tuple[int, ...]:
    """The shape of `value` for `pd.reshape`: a dynamic extent is -1. Raises VerifyError when several are dynamic."""
    type_ = value.type
    if not isinstance(type_, RankedTensor) or type_.shape.count(DYNAMIC) > 1:
        raise VerifyError(f"{type_} is not a tensor with at most one dynamic extent: no reshape gives its shape")
    return type_.shape


_INT_MAX: Final = 2**31 - 1
"""A place after the end of every axis, as Paddle writes it."""


WINDOWS: Final[Sequence[tuple[tuple[int, ...], Mapping[str, Any]]]] = (
    ((2, 3), {"axes": (1,), "starts": (1,), "ends": (3,)}),
    ((2, 3), {"axes": (0,), "starts": (1,), "ends": (2,), "decrease_axis": (0,)}),
    ((2, 3), {"axes": (-1,), "starts": (-2,), "ends": (-1,)}),
    ((2, 3), {"axes": (1,), "starts": (0,), "ends": (_INT_MAX,)}),
    ((2, 3), {"axes": (0, 1), "starts": (0, 1), "ends": (1, 2), "decrease_axis": (0, 1)}),
    ((2, 3), {"axes": (1, 0), "starts": (2, 1), "ends": (3, 5), "decrease_axis": (-1,)}),
    ((2, 3), {"axes": (), "starts": (), "ends": ()}),
    ((), {"axes": (), "starts": (), "ends": ()}),
    ((5,), {"axes": (0,), "starts": (3,), "ends": (1,)}),
    ((5,), {"axes": (0,), "starts": (-7,), "ends": (4,)}),
    ((2, 1, 3), {"axes": (2,), "starts": (-1,), "ends": (_INT_MAX,), "decrease_axis": (2,)}),
    ((2, 3, 1, 2), {"axes": (1, 3), "starts": (1, 0), "ends": (3, 1)}),
    ((0, 3), {"axes": (1,), "starts": (0,), "ends": (2,)}),
    ((DYNAMIC, 3), {"axes": (1,), "starts": (1,), "ends": (2,), "decrease_axis": (1,)}),
    ((DYNAMIC, 3), {"axes": (0,), "starts": (0,), "ends": (1,)}),
)
"""Shapes and slices of them: from either end, clamped, empty, of several axes in any order, with axes dropped."""


def sliced_shape(
    op: Operation,
    x: RankedTensor,
    axes: Sequence[int],
    starts: Sequence[int],
    ends: Sequence[int],
    decrease_axis: Sequence[int],
) -> tuple[int, ...]:
    """The shape that a slice of `x` with these attributes has. Raises VerifyError naming the attribute at fault."""
    if not len(axes) == len(starts) == len(ends):
        raise fail(
            op,
            f"attributes `axes`, `starts` and `ends` have {len(axes)}, {len(starts)} and {len(ends)} entries; "
            "expected as many of each",
        )
    shape = list(x.shape)
    for axis, start, end in zip(normalize_axes(op, axes, x.rank, attribute="axes"), starts, ends, strict=True):
        if shape[axis] == DYNAMIC:
            continue  # how many elements are left is not known either
        shape[axis] = len(range(shape[axis])[start:end])
    dropped = normalize_axes(op, decrease_axis, x.rank, attribute="decrease_axis")
    for axis in dropped:
        if not extents_match(shape[axis], 1):
            raise fail(op, f"attribute `decrease_axis` names axis {axis}, cut to {shape[axis]}; expected 1")
    return tuple(extent for axis, extent in enumerate(shape) if axis not in dropped)


class ReshapeOp(ViewOp, name="pd.reshape"):
    """The elements of x, in row-major order, in another shape.

    In `shape`, 0 copies the extent of x on that axis and one -1 stands for what is left over.
    """

    x: Operand = operand(doc="[...]")
    shape: tuple[int, ...] = attribute()
    out: Result = result(doc="as many elements in `shape`")

    cases = (
        *(
            case((2, 3), shape=shape)
            for shape in ((3, 2), (6,), (-1,), (0, 3), (2, 3), (0, -1), (1, -1, 2), (1, 2, 3, 1))
        ),
        *(case((), shape=shape) for shape in ((), (1,), (-1,), (1, 1))),
        *(case((1,), shape=shape) for shape in ((), (1,))),
        *(case((5,), shape=shape) for shape in ((5, 1), (-1, 5))),
        *(case((0, 3), shape=shape) for shape in ((0, -1), (0, 0), (-1,), (0, 1, 5))),
        *(case((2, 3, 5), shape=shape) for shape in ((6, 5), (0, 15), (5, 3, 2), (-1, 5))),
        *(case((DYNAMIC, 3), shape=shape) for shape in ((-1,), (0, 3), (0, 1, 3), (3, -1))),
    )

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x")
        return (x.with_shape(self._resolve(x.shape)),)

    def _resolve(self, source: tuple[int, ...]) -> tuple[int, ...]:
        text = f"attribute `shape` is {list(self.shape)}"
        if any(extent < -1 for extent in self.shape) or self.shape.count(-1) > 1:
            raise fail(self, f"{text}; expected extents >= 0 and at most one -1")
        copied = {axis for axis, extent in enumerate(self.shape) if extent == 0}
        if copied and max(copied) >= len(source):
            raise fail(self, f"{text}; the 0 on axis {max(copied)} has no extent to copy in {list(source)}")
        resolved = [source[axis] if axis in copied else extent for axis, extent in enumerate(self.shape)]
        # Copied extents cancel, also dynamic ones and 0: the others must have equal products.
        left = [extent for axis, extent in enumerate(source) if axis not in copied]
        if DYNAMIC in left:
            return tuple(resolved)
        count, rest = math.prod(left), math.prod(extent for extent in self.shape if extent > 0)
        if -1 in self.shape:
            if count % rest:
                raise fail(self, f"{text}; {count} elements of {list(source)} are not a multiple of {rest}")
            resolved[self.shape.index(-1)] = count // rest
        elif count != rest and 0 not in (source[axis] for axis in copied):
            kept = " beside the extents that a 0 copies" if copied else ""
            raise fail(self, f"{text}: {rest} elements{kept} where {list(source)} has {count}")
        return tuple(resolved)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return x.reshape(self._resolve(x.shape))

    def inverse(self, base: Value, index: int, value: Value) -> Value:
        return ReshapeOp(value, shape=shape_attribute(base)).out


class FlattenOp(ViewOp, name="pd.flatten"):
    """The axes from `start_axis` to `stop_axis`, both included, as one."""

    x: Operand = operand(doc="[...], rank 1 or more")
    start_axis: int = attribute(default=1)
    stop_axis: int = attribute(default=1)
    out: Result = result(doc="[..., product, ...]")

    cases = (
        case((2, 3), start_axis=0),
        case((2, 3)),
        case((5,), start_axis=0, stop_axis=-1),
        case((2, 3, 5), start_axis=-2, stop_axis=2),
        case((2, 1, 3), start_axis=0, stop_axis=2),
        case((2, 3, 1, 2), stop_axis=-1),
        case((0, 3), start_axis=0),
        case((DYNAMIC, 3, 2), start_axis=0),
        case((DYNAMIC, 3, 2), stop_axis=2),
    )

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x")
        return (x.with_shape(self._flat(x.shape)),)

    def _flat(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        start = normalize_axis(self, self.start_axis, len(shape), attribute="start_axis")
        stop = normalize_axis(self, self.stop_axis, len(shape), attribute="stop_axis")
        if start > stop:
            raise fail(self, f"attribute `start_axis` is {self.start_axis}, after `stop_axis` {self.stop_axis}")
        merged = shape[start : stop + 1]
        return (*shape[:start], DYNAMIC if DYNAMIC in merged else math.prod(merged), *shape[stop + 1 :])

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return x.reshape(self._flat(x.shape))

    def inverse(self, base: Value, index: int, value: Value) -> Value:
        return ReshapeOp(value, shape=shape_attribute(base)).out


class SqueezeOp(ViewOp, name="pd.squeeze"):
    """x without the axes in `axis`, which have extent 1 (Paddle skips others); with none given, without every such."""

    x: Operand = operand(doc="[...]")
    axis: tuple[int, ...] = attribute(default=())
    out: Result = result(doc="[...]")

    cases = (
        case((2, 1, 3), axis=(1,)),
        case((2, 1, 3), axis=(-2,)),
        case((1, 2, 1), axis=(0, 2)),
        case((1, 2, 1), axis=(-1, 0)),
        *each(((1, 3), (1, 2, 1), (2, 3), (), (1,), (5, 1), (1, 1, 1, 1), (0, 1))),
        case((1, DYNAMIC, 3), axis=(0,)),
    )

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x")
        dropped = self._dropped(x.shape)
        return (x.with_shape(extent for axis, extent in enumerate(x.shape) if axis not in dropped),)

    def _dropped(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if not self.axis:
            return tuple(axis for axis, extent in enumerate(shape) if extent == 1)
        axes = normalize_axes(self, self.axis, len(shape))
        for axis in axes:
            if not extents_match(shape[axis], 1):
                raise fail(self, f"attribute `axis` names axis {axis} of {list(shape)}; expected extent 1 there")
        return axes

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.squeeze(x, axis=self._dropped(x.shape))

    def inverse(self, base: Value, index: int, value: Value) -> Value:
        return ReshapeOp(value, shape=shape_attribute(base)).out


class UnsqueezeOp(ViewOp, name="pd.unsqueeze"):
    """x with axes of extent 1 inserted, one after the other: each entry of `axis` is a place in the result so far."""

    x: Operand = operand(doc="[...]")
    axis: tuple[int, ...] = attribute()
    out: Result = result(doc="[..., 1, ...]")

    cases = (
        *(case((2, 3), axis=axis) for axis in ((0,), (1,), (2,), (-1,), (-3,), (0, 2), (1, 1), (-1, 0), ())),
        *(case((), axis=axis) for axis in ((0,), (0, 0), (-1,))),
        case((0,), axis=(0,)),
        case((5,), axis=(1,)),
        case((DYNAMIC, 3), axis=(1,)),
    )

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x")
        return (x.with_shape(self._grown(x.shape)),)

    def _grown(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        grown = list(shape)
        for axis in self.axis:
            grown.insert(normalize_axis(self, axis, len(grown) + 1), 1)
        return tuple(grown)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return x.reshape(self._grown(x.shape))

    def inverse(self, base: Value, index: int, value: Value) -> Value:
        return ReshapeOp(value, shape=shape_attribute(base)).out


class TransposeOp(ViewOp, name="pd.transpose"):
    """out's axis i is x's axis perm[i]."""

    x: Operand = operand(doc="[...]")
    perm: tuple[int, ...] = attribute()
    out: Result = result(doc="the extents of `x` in the order of `perm`")

    cases = (
        *(case((2, 3), perm=perm) for perm in ((1, 0), (0, 1), (-1, 0))),
        *(case((2, 1, 3), perm=perm) for perm in ((0, 2, 1), (1, 0, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0), (-1, -3, -2))),
        *(case((2, 3, 1, 2), perm=perm) for perm in ((0, 2, 3, 1), (0, 3, 1, 2), (3, 2, 1, 0))),
        case((2, 1, 2, 3, 1), perm=(4, 0, 2, 1, 3)),
        case((), perm=()),
        case((5,), perm=(0,)),
        case((0, 3), perm=(1, 0)),
        case((3, 3), perm=(1, 0)),
        case((DYNAMIC, 3), perm=(1, 0)),
    )

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x")
        if len(self.perm) != x.rank:
            raise fail(self, f"attribute `perm` is {list(self.perm)}; expected {x.rank} axes for {x}")
        perm = normalize_axes(self, self.perm, x.rank, attribute="perm")
        return (x.with_shape(x.shape[axis] for axis in perm),)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return x.transpose(self.perm)

    def inverse(self, base: Value, index: int, value: Value) -> Value:
        rank = len(self.perm)
        return TransposeOp(value, perm=tuple(sorted(range(rank), key=lambda i: self.perm[i] % rank))).out


class SliceOp(ViewOp, name="pd.slice"):
    """On each of `axes` the elements from `starts` (included) to `ends` (excluded), step 1, as a Python slice.

    Negative places count from the end, places outside are clamped, and the axes in `decrease_axis`, cut to extent 1,
    are then dropped. Paddle's attribute `infer_flags` (which places are known at compile time) has no meaning here.
    """

    input: Operand = operand(doc="[...]")
    axes: tuple[int, ...] = attribute()
    starts: tuple[int, ...] = attribute(doc="one per entry of `axes`")
    ends: tuple[int, ...] = attribute(doc="one per entry of `axes`")
    decrease_axis: tuple[int, ...] = attribute(default=())
    out: Result = result(doc="[...]")

    cases = tuple(case(shape, **window) for shape, window in WINDOWS)

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.input, "input")
        return (x.with_shape(sliced_shape(self, x, self.axes, self.starts, self.ends, self.decrease_axis)),)

    def _dropped(self, rank: int) -> tuple[int, ...]:
        return normalize_axes(self, self.decrease_axis, rank, attribute="decrease_axis")

    def compute(self, input: NDArray[Any]) -> NDArray[Any]:
        window = [slice(None)] * input.ndim
        for axis, start, end in zip(self.axes, self.starts, self.ends, strict=True):
            window[axis] = slice(start, end)
        return np.squeeze(input[tuple(window)], axis=self._dropped(input.ndim))

    def inverse(self, base: Value, index: int, value: Value) -> Value:
        return SetValueOp(
            base, value, axes=self.axes, starts=self.starts, ends=self.ends, decrease_axis=self.decrease_axis
        ).out


class SetValueOp(Op, Compute, InferTypes, Sampled, name="pd.set_value", traits=(Pure, HasValueSemantics)):
    """x where the elements that `pd.slice` with the same attributes takes are those of `value`."""

    has_inplace_form = True
    x: Operand = operand(doc="[...]")
    value: Operand = operand(doc="the shape that the slice has, or one that broadcasts to it")
    axes: tuple[int, ...] = attribute()
    starts: tuple[int, ...] = attribute(doc="one per entry of `axes`")
    ends: tuple[int, ...] = attribute(doc="one per entry of `axes`")
    decrease_axis: tuple[int, ...] = attribute(default=())
    out: Result = result(doc="the type of `x`")

    cases = (
        *(case(shape, (), **window) for shape, window in WINDOWS),
        case((2, 3), (2, 1), axes=(1,), starts=(1,), ends=(2,)),
        case((2, 3), (2,), axes=(1,), starts=(1,), ends=(2,), decrease_axis=(1,)),
        case((2, 3), (3,), axes=(0,), starts=(-1,), ends=(_INT_MAX,)),
        case((2, 3), (1, 3), axes=(0,), starts=(0,), ends=(1,)),
        case((2, 3), (2, 3), axes=(), starts=(), ends=()),
        case((5,), (2,), axes=(-1,), starts=(1,), ends=(3,)),
        case((2, 3, 5), (3, 2), axes=(0, 2), starts=(1, 3), ends=(2, 5), decrease_axis=(0,)),
        case((DYNAMIC, 3), (1, 3), axes=(0,), starts=(0,), ends=(1,)),
    )

    def infer_types(self) -> tuple[Type, ...]:
        x, value = tensor_operand(self, self.x, "x"), tensor_operand(self, self.value, "value")
        same_element(self, x=x, value=value)
        window = sliced_shape(self, x, self.axes, self.starts, self.ends, self.decrease_axis)
        if value.rank > len(window) or not all(
            v == 1 or extents_match(v, w) for v, w in zip(value.shape[::-1], window[::-1], strict=False)
        ):
            raise fail(self, f"operand `value` has type {value}; expected a shape that broadcasts to {list(window)}")
        return (make_type((x, value), x.shape, x.element),)

    def compute(self, x: NDArray[Any], value: NDArray[Any]) -> NDArray[Any]:
        out = np.array(x)
        window: list[Any] = [slice(None)] * x.ndim
        for axis, start, end in zip(self.axes, self.starts, self.ends, strict=True):
            window[axis] = slice(start, end)
        dropped = normalize_axes(self, self.decrease_axis, x.ndim, attribute="decrease_axis")
        shown = out[(*window, ...)]  # of what `out` holds: basic indexing gives views, with an ellipsis at rank 0 too
        np.squeeze(shown, axis=dropped)[...] = value
        return out


class SplitOp(ViewOp, name="pd.split"):
    """x cut along `axis` into pieces of the extents in `sections`; one -1 stands for what is left over.

    Paddle's operation gives a list; this one has a result for each piece.
    """

    x: Operand = operand(doc="[...]")
    sections: tuple[int, ...] = attribute()
    axis: int = attribute(default=0)
    outs: VariadicResult = variadic_result(doc="one per section")

    cases = (
        case((5,), sections=(2, 3)),
        case((2, 3), sections=(1, 1)),
        case((2, 3), sections=(1, -1), axis=1),
        case((2, 3), sections=(-1, 1), axis=-1),
        case((2, 3), sections=(2,)),
        case((2, 3), sections=(1, 0, 2), axis=1),
        case((2, 1, 3), sections=(1, 1, 1), axis=2),
        case((2, 3, 1, 2), sections=(-1, 2), axis=1),
        case((0, 3), sections=(0, 0)),
        case((DYNAMIC, 3), sections=(1, 2), axis=1),
        case((DYNAMIC, 3), sections=(-1,)),
        case((DYNAMIC, 3), sections=(1, -1)),
    )

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x")
        axis = normalize_axis(self, self.axis, x.rank)
        return tuple(
            x.with_shape((*x.shape[:axis], section, *x.shape[axis + 1 :])) for section in self._sections(x.shape[axis])
        )

    def _sections(self, extent: int) -> tuple[int, ...]:
        sections = list(self.sections)
        text = f"attribute `sections` is {sections}"
        if not sections or any(s < -1 for s in sections) or sections.count(-1) > 1:
            raise fail(self, f"{text}; expected one or more extents >= 0, at most one of them -1")
        if extent == DYNAMIC:
            return tuple(sections)
        if -1 in sections:
            sections[sections.index(-1)] = extent - sum(s for s in sections if s != -1)
        if sum(sections) != extent or min(sections) < 0:
            raise fail(self, f"{text}; the extent along axis {self.axis} is {extent}")
        return tuple(sections)

    def compute(self, x: NDArray[Any]) -> NDArray[Any] | tuple[NDArray[Any], ...]:
        ends = np.cumsum(self._sections(x.shape[self.axis]))
        pieces = tuple(np.split(x, ends[:-1].tolist(), axis=self.axis))
        return pieces[0] if len(pieces) == 1 else pieces

    def has_disjoint_results(self) -> bool:
        return True

    def inverse(self, base: Value, index: int, value: Value) -> Value:
        x = tensor_operand(self, self.x, "x")
        axis = normalize_axis(self, self.axis, x.rank)
        sections = self._sections(x.shape[axis])
        if -1 in sections[:index]:
            raise fail(self, f"piece {index} starts after a section of dynamic extent")
        start = sum(sections[:index])
        end = x.shape[axis] if sections[index] == -1 else start + sections[index]
        return SetValueOp(base, value, axes=(axis,), starts=(start,), ends=(_INT_MAX if end == -1 else end,)).out
