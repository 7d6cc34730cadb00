"""Ops that move elements without computing: reshape, transpose, slice, concatenate, broadcast, gather, channel norm."""

from __future__ import annotations

import numpy as np

from tx8ir.core import (
    Compute,
    InferTypes,
    Operand,
    Pure,
    Result,
    Type,
    VariadicOperand,
    VerifyError,
    attribute,
    operand,
    result,
    variadic_operand,
)

from .base import Array, BackendOp, ranked, require, require_element, same_type


class ChannelNormOp(BackendOp, Compute, InferTypes, name="tx8be.ChannelNorm", traits=(Pure,)):
    """Changes the physical layout, never the value: `y = x`.

    `direction` true converts dense (NALIGN) to channel-blocked (ALIGN), false the reverse.
    """

    x: Operand = operand()
    direction: bool = attribute()
    y: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        return same_type(self.x, "operand")

    def compute(self, x: Array) -> Array:
        return x


class ReshapeOp(BackendOp, Compute, name="tx8be.Reshape", traits=(Pure,)):
    """The same elements in row-major order under the result's shape."""

    x: Operand = operand()
    y: Result = result()

    def verify_op(self) -> None:
        x, y = ranked(self.x, "operand"), ranked(self.y, "result")
        require_element(y, x.element, "result")
        for type_, role in ((x, "operand"), (y, "result")):
            require(type_.is_static, f"{role} {type_} has a dynamic extent; the shapes of the backend are static")
        require(
            x.num_elements == y.num_elements,
            f"result {list(y.shape)} has {y.num_elements} elements; operand {list(x.shape)} has {x.num_elements}",
        )

    def compute(self, x: Array) -> Array:
        return x.reshape(ranked(self.y, "result").shape)


class TransposeOp(BackendOp, Compute, InferTypes, name="tx8be.Transpose", traits=(Pure,)):
    """Permutes axes: axis `i` of the result is axis `perm[i]` of `x`."""

    x: Operand = operand()
    perm: tuple[int, ...] = attribute()
    y: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        x = ranked(self.x, "operand")
        require(sorted(self.perm) == list(range(x.rank)), f"perm {list(self.perm)} does not permute {x.rank} axes")
        return (x.with_shape(tuple(x.shape[p] for p in self.perm)),)

    def compute(self, x: Array) -> Array:
        return np.transpose(x, self.perm)


class SliceOp(BackendOp, Compute, InferTypes, name="tx8be.Slice", traits=(Pure,)):
    """The box `starts[i] <= index < ends[i]` of every axis i."""

    x: Operand = operand()
    starts: tuple[int, ...] = attribute()
    ends: tuple[int, ...] = attribute()
    y: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        x = ranked(self.x, "operand")
        require(
            len(self.starts) == len(self.ends) == x.rank,
            f"starts {list(self.starts)} and ends {list(self.ends)} do not fit rank {x.rank}",
        )
        for axis, (start, end, extent) in enumerate(zip(self.starts, self.ends, x.shape, strict=True)):
            if not 0 <= start < end <= extent:
                raise VerifyError(
                    f"axis {axis} of extent {extent} is sliced [{start}, {end}); expected 0 <= start < end <= {extent}"
                )
        return (x.with_shape(tuple(e - s for s, e in zip(self.starts, self.ends, strict=True))),)

    def compute(self, x: Array) -> Array:
        return x[tuple(slice(s, e) for s, e in zip(self.starts, self.ends, strict=True))]


class ConcatenateOp(BackendOp, Compute, InferTypes, name="tx8be.Concatenate", traits=(Pure,)):
    """Joins the operands along `axis` (0 <= axis < rank); all other extents are equal."""

    xs: VariadicOperand = variadic_operand()
    axis: int = attribute()
    y: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        require(len(self.xs) > 0, "there are no operands")
        types = [ranked(x, f"operand {i}") for i, x in enumerate(self.xs)]
        first = types[0]
        require(0 <= self.axis < first.rank, f"axis is {self.axis}; expected 0 <= axis < {first.rank}")
        for i, t in enumerate(types[1:], 1):
            require_element(t, first.element, f"operand {i}")
            fits = t.rank == first.rank and all(
                a == b for axis, (a, b) in enumerate(zip(t.shape, first.shape, strict=False)) if axis != self.axis
            )
            require(
                fits,
                f"operand {i} has shape {list(t.shape)}; expected {list(first.shape)} but for axis {self.axis}",
            )
        shape = list(first.shape)
        shape[self.axis] = sum(t.shape[self.axis] for t in types)
        return (first.with_shape(tuple(shape)),)

    def compute(self, *xs: Array) -> Array:
        return np.concatenate(xs, axis=self.axis)


class BroadcastOp(BackendOp, Compute, name="tx8be.Broadcast", traits=(Pure,)):
    """Repeats `x` to the result's shape by NumPy's rules: axes align right, extent 1 repeats."""

    x: Operand = operand()
    y: Result = result()

    def verify_op(self) -> None:
        x, y = ranked(self.x, "operand"), ranked(self.y, "result")
        require_element(y, x.element, "result")
        fits = x.rank <= y.rank and all(a in (1, b) for a, b in zip(reversed(x.shape), reversed(y.shape), strict=False))
        require(fits, f"shape {list(x.shape)} does not broadcast to {list(y.shape)}")

    def compute(self, x: Array) -> Array:
        return np.broadcast_to(x, ranked(self.y, "result").shape)


class GatherOp(BackendOp, Compute, InferTypes, name="tx8be.Gather", traits=(Pure,)):
    """Rows of a table: `y[..., :] = table[indices[...], :]` with `table` [V, D] and integer indices in [0, V)."""

    table: Operand = operand(doc="[V, D]")
    indices: Operand = operand(doc="int32, any shape")
    y: Result = result(doc="[*indices, D]")

    def infer_types(self) -> tuple[Type, ...]:
        table, indices = ranked(self.table, "table"), ranked(self.indices, "indices")
        require(table.rank == 2, f"table has shape {list(table.shape)}; expected rank 2")
        require(
            indices.element.format.is_integer, f"indices have element type {indices.element}; expected an integer type"
        )
        return (table.with_shape((*indices.shape, table.shape[1])),)

    def compute(self, table: Array, indices: Array) -> Array:
        rows = table.shape[0]
        if indices.size and (indices.min() < 0 or indices.max() >= rows):
            raise IndexError(f"indices run from {indices.min()} to {indices.max()}; the table has {rows} rows")
        return table[indices]
