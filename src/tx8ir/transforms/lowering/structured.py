"""Structured operations as operations on whole tensors, where the elements of their operands lie along dimensions.

The region is computed on tensors of the extents of the grid, each operand transposed and stretched to them. Reductions
accumulate by one operation, the last of the region: what is accumulated is summed, or the largest or smallest of it
taken, along the dimensions that are reduced. Products of matrices and convolutions become those of `pd`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tx8ir.core import (
    Builder,
    ConstantLike,
    DenseAttr,
    IndexType,
    Operation,
    Type,
    UnsupportedError,
    Value,
    VTensorType,
    at_location,
    i64,
)
from tx8ir.core.attrs.builtin_types import tensor_type
from tx8ir.core.ir.traits import MapsNumbers
from tx8ir.dialects import arith, builtin, linalg, pd, tensor
from tx8ir.dialects.linalg.structured import IndexOp, IteratorType, StructuredOp, dimension_of
from tx8ir.dialects.tensor.construction import ByRegionOp
from tx8ir.rewriting.provenance import derived_location

from .tensors import static_type

_REDUCTIONS: Final[dict[type[Any], Callable[..., Any]]] = {
    arith.AddFOp: pd.sum,
    arith.AddIOp: pd.sum,
    arith.MaximumFOp: pd.max,
    arith.MaxSIOp: pd.max,
    arith.MinimumFOp: pd.min,
    arith.MinSIOp: pd.min,
    arith.MulFOp: pd.prod,
    arith.MulIOp: pd.prod,
}
"""By the operation that accumulates, that of a whole axis."""


def expand_structured(root: Operation, by: str) -> None:
    """Let operations on tensors do what structured operations do, and `tensor.generate` and `tensor.pad`.

    Raises:
        UnsupportedError: one that cannot be written so, and why.
    """
    for op in reversed([op for op in root.walk() if isinstance(op, (StructuredOp, ByRegionOp))]):
        with Builder.before(op), at_location(derived_location([op.location], by)):
            if isinstance(op, ByRegionOp):
                made = [_by_region(op)]
            else:
                made = _contraction(op) or _convolution(op) or _Grid(op, _extents(op)).results()
        op.replace_with(made, by)


def _types(op: StructuredOp) -> list[VTensorType]:
    types = [static_type(v) for v in op.operands]
    found = [t for t in types if t is not None]
    if len(found) != len(types):
        raise UnsupportedError(f"{op.name} has operands of extents that are not known", op)
    return found


def _accumulated(total: Value, made: Value) -> Value:
    """Their sum, in the element type of the total."""
    return pd.add(total, made).out


def _wide(value: Value, like: Value) -> Value:
    kind, target = static_type(value), static_type(like)
    assert kind is not None
    assert target is not None
    return value if kind.element is target.element else pd.cast(value, dtype=target.element).out


def _contraction(op: StructuredOp) -> list[Value] | None:
    """A product of matrices, with or without a batch, either of them transposed."""
    if not isinstance(op, (linalg.MatmulOp, linalg.BatchMatmulOp)) or not op.fits_short_form():
        return None
    _types(op)
    places = [[dimension_of(e) for e in map.results] for map in op.maps]
    batch = [0] if isinstance(op, linalg.BatchMatmulOp) else []
    m, n, k = (len(batch) + at for at in range(3))
    if places[2] != [*batch, m, n]:
        return None
    transposed = [places[0] == [*batch, k, m], places[1] == [*batch, n, k]]
    if not (transposed[0] or places[0] == [*batch, m, k]) or not (transposed[1] or places[1] == [*batch, k, n]):
        return None
    x, y, total = (_wide(v, op.outputs[0]) for v in op.operands)
    return [_accumulated(total, pd.matmul(x, y, transpose_x=transposed[0], transpose_y=transposed[1]).out)]


def _convolution(op: StructuredOp) -> list[Value] | None:
    if not isinstance(op, linalg.Conv2DNchwFchwOp) or not op.fits_short_form():
        return None
    _types(op)
    image, weight, total = (_wide(v, op.outputs[0]) for v in op.operands)
    strides, dilations = (tuple(np.broadcast_to(a, 2).tolist()) for a in (op.strides, op.dilations))
    return [_accumulated(total, pd.conv2d(image, weight, strides=strides, dilations=dilations).out)]


def _extents(op: StructuredOp) -> tuple[int, ...]:
    """Of the grid."""
    extents: dict[int, int] = {}
    for map, kind in zip(op.maps, _types(op), strict=True):
        for expression, extent in zip(map.results, kind.shape, strict=True):
            at = dimension_of(expression)
            if at is None:
                raise UnsupportedError(f"{op.name} finds elements by {map}, which is not a list of dimensions", op)
            extents[at] = extent
    return tuple(extents[n] for n in range(len(op.iterators)))


def _by_region(op: ByRegionOp) -> Value:
    """A tensor whose elements a region gives from their places, or those of another one with such elements around."""
    kind = static_type(op.results[0])
    source = static_type(op.source) if isinstance(op, tensor.PadOp) else None
    if kind is None or (isinstance(op, tensor.PadOp) and (source is None or op.low or op.high)):
        raise UnsupportedError(f"{op.name} makes a tensor of extents that are not known", op)
    grid = _Regional(op, kind.shape)
    block = op.regions[0].block
    end: Any = block.terminator
    values: dict[Value, Value] = {a: grid.places(a.index) for a in block.args if a.has_uses}
    made = grid.computed(end.value, values)
    if not isinstance(op, tensor.PadOp) or source is None:
        return made
    paddings = list(zip(op.static_low, op.static_high, strict=True))
    inside = np.pad(np.ones(source.shape, np.bool_), paddings)
    padded = pd.pad(op.source, paddings=tuple(n for pair in paddings for n in pair))
    return pd.where(builtin.ConstantOp(value=DenseAttr(inside)).results[0], padded, made).out


class _Regional:
    """The region of an operation computed on tensors of the extents of a grid."""

    def __init__(self, op: Operation, shape: tuple[int, ...]) -> None:
        self.op = op
        self.shape = shape

    def places(self, dimension: int) -> Value:
        """The number of each place in a dimension."""
        numbers = np.broadcast_to(np.indices(self.shape, sparse=True)[dimension], self.shape)
        made = arith.ConstantOp(value=DenseAttr(np.ascontiguousarray(numbers).astype(np.int64)))
        return arith.IndexCastOp(made.out, out=tensor_type(self.shape, IndexType())).out

    def computed(self, value: Value, values: dict[Value, Value]) -> Value:
        """A value of the region for all places of the grid."""
        work = [value]
        while work:
            now = work[-1]
            if now in values:
                work.pop()
                continue
            op = now.defining_op
            if op is None or op.parent is not self.op.regions[0].block:
                if now in self.op.regions[0].block.args:
                    raise UnsupportedError(f"{self.op.name} uses what it accumulates before it does", self.op)
                values[now] = self.everywhere(now)
                continue
            missing = [v for v in op.operands if v not in values]
            if missing and not op.has_trait(ConstantLike):
                work += missing
                continue
            values |= zip(op.results, self.cloned(op, values), strict=True)
        return values[value]

    def everywhere(self, value: Value) -> Value:
        """A number from outside, at each place."""
        if static_type(value) is None or (static_type(value) or VTensorType((1,), i64)).rank:
            raise UnsupportedError(f"{self.op.name} uses a {value.type} from outside", self.op)
        return tensor.SplatOp(value, (), out=tensor_type(self.shape, value.type)).out

    def cloned(self, op: Operation, values: dict[Value, Value]) -> Sequence[Value]:
        """An operation of the region on tensors."""
        if isinstance(op, IndexOp):
            return [self.places(op.dim)]
        if op.has_trait(ConstantLike):
            alone = op.clone()
            _insert(alone, self.op)
            return [self.everywhere(alone.results[0])]
        if not op.has_trait(MapsNumbers) or op.regions:
            raise UnsupportedError(f"{op.name} in the region of {self.op.name} is computed on numbers only", op)
        return self.created(op, [values[v] for v in op.operands], [tensor_type(self.shape, r.type) for r in op.results])

    def created(self, like: Operation, operands: Sequence[Value], types: Sequence[Type]) -> Sequence[Value]:
        """The results of an operation like another one, on tensors."""
        made: Operation = type(like).create(operands, types, attributes=like.attributes, location=like.location)
        _insert(made, self.op)
        return made.results


class _Grid(_Regional):
    """A structured operation computed on tensors of the extents of its grid."""

    op: StructuredOp  # pyright: ignore[reportIncompatibleVariableOverride]  (never assigned another)

    def __init__(self, op: StructuredOp, shape: tuple[int, ...]) -> None:
        super().__init__(op, shape)
        self.maps = list(op.maps)
        self.reduced = [n for n, kind in enumerate(op.iterators) if kind is not IteratorType.PARALLEL]

    def results(self) -> list[Value]:
        """What takes the place of the results."""
        op = self.op
        body = op.regions[0].block
        end: Any = body.terminator
        first = len(op.operands) - len(op.output_values)
        outputs = body.args[first:]
        if not self.reduced:
            values: dict[Value, Value] = {a: self.stretched(n) for n, a in enumerate(body.args) if a.has_uses}
            computed = [self.computed(value, values) for value in end.values]
            return [self.placed(value, first + n) for n, value in enumerate(computed)]
        values = {a: self.stretched(n) for n, a in enumerate(body.args[:first]) if a.has_uses}
        found: list[Value] = []
        for number, (given, output) in enumerate(zip(end.values, outputs, strict=True)):
            last = given.defining_op
            reduce = _REDUCTIONS.get(last.__class__)
            if last is None or reduce is None or list(last.operands).count(output) != 1 or len(list(output.uses)) != 1:
                raise UnsupportedError(f"{op.name} accumulates by more than one sum, product or extremum", op)
            other = next(v for v in last.operands if v is not output)
            whole = reduce(self.computed(other, values), axis=tuple(self.reduced)).out
            placed = self.placed(whole, first + number)
            output_value = op.operands[first + number]
            found.append(self.created(last, [output_value, placed], [output_value.type])[0])
        return found

    def stretched(self, number: int) -> Value:
        """An operand with the extents of the grid."""
        op, places = self.op, [dimension_of(e) or 0 for e in self.maps[number].results]
        value = op.operands[number]
        if len(set(places)) != len(places):
            raise UnsupportedError(f"{op.name} reads a diagonal, by {self.maps[number]}", op)
        if static_type(value) is not value.type:
            return tensor.SplatOp(value, (), out=tensor_type(self.shape, value.type)).out
        order = sorted(range(len(places)), key=places.__getitem__)
        if order != list(range(len(order))):
            value = pd.transpose(value, perm=tuple(order)).out
        missing = tuple(n for n in range(len(self.shape)) if n not in places)
        if missing:
            value = pd.unsqueeze(value, axis=missing).out
            value = pd.expand(value, shape=self.shape).out
        return value

    def placed(self, value: Value, number: int) -> Value:
        """What was computed on the dimensions that are not reduced, in the order of an output."""
        places = [dimension_of(e) for e in self.maps[number].results]
        kept = [n for n in range(len(self.shape)) if n not in self.reduced]
        if sorted(p for p in places if p is not None) != kept:
            raise UnsupportedError(f"{self.op.name} writes elements by {self.maps[number]}", self.op)
        perm = tuple(kept.index(p) for p in places if p is not None)
        return value if perm == tuple(range(len(perm))) else pd.transpose(value, perm=perm).out


def _insert(op: Operation, before: Operation) -> None:
    block = before.parent
    assert block is not None  # what is lowered is in a program
    block.insert_before(op, before)
