"""A Hypothesis strategy for every op of the backend graph: the op on small tensors, and arrays for its operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tx8ir.core import (
    Block,
    NoneType,
    Operation,
    ScalarType,
    Type,
    Value,
    VTensorType,
    bf16,
    detached,
    f16,
    f32,
    i8,
    i32,
)
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import Activation, ReduceFunction

Array = NDArray[Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]
Shape = tuple[int, ...]

FLOATS = (f32, f16, bf16)
NUMBERS = (f32, i8, f16, i32, bf16)
EXTENTS = st.integers(1, 6)


@attrs.frozen
class Sample:
    """An op and arrays for its operands in the working precision, None for absent ones."""

    op: Operation
    arrays: tuple[Array | None, ...]


def shapes(least: int = 0, most: int = 4) -> st.SearchStrategy[Shape]:
    return st.lists(EXTENTS, min_size=least, max_size=most).map(tuple)


def fill(t: Type, seed: int, low: float = -4, high: float = 4) -> Array | None:
    """Numbers of a tensor type that its format holds: float32 for floats. Some are equal and some are zeros."""
    if isinstance(t, NoneType):
        return None
    assert isinstance(t, VTensorType)
    rng = np.random.default_rng(seed)
    if not t.element.is_float:
        least, most = t.element.format.integer_range
        return rng.integers(max(least, -100), min(most, 100), t.shape, dtype=t.element.dtype, endpoint=True)
    numbers = rng.uniform(low, high, t.shape)
    numbers = np.where(rng.random(t.shape) < 0.2, np.round(numbers) * 0.0, numbers)
    return np.asarray(numbers, np.float32).astype(t.element.dtype).astype(np.float32)


class _Maker:
    """Draws what an op takes."""

    def __init__(self, draw: Draw, elements: Sequence[ScalarType]) -> None:
        self.draw = draw
        self.element: ScalarType = draw(st.sampled_from(elements))

    def build(
        self, op: Callable[..., Operation], *operands: Shape | None, types: Sequence[Type] = (), **rest: Any
    ) -> Sample:
        given = [*types, *(NoneType() if s is None else VTensorType(s, self.element) for s in operands)]
        made = op(*Block(given).args, **rest)
        seed = self.draw(st.integers(0, 2**16))
        positive = isinstance(made, tx8be.LogOp | tx8be.SqrtOp | tx8be.RsqrtOp | tx8be.RecipOp | tx8be.DivOp)
        arrays = [fill(t, seed + i, *((0.5, 4) if positive else ())) for i, t in enumerate(given)]
        if positive:
            arrays = [None if a is None else np.where(a == 0, a.dtype.type(1), a) for a in arrays]
        return Sample(made, tuple(arrays))

    def maybe(self, shape: Shape) -> Shape | None:
        return shape if self.draw(st.booleans()) else None


def _unary(kind: type[Operation], draw: Draw) -> Sample:
    m = _Maker(draw, FLOATS)
    return m.build(kind, draw(shapes()))


def _binary(kind: type[Operation], draw: Draw) -> Sample:
    m = _Maker(draw, NUMBERS)
    shape = draw(shapes())
    rhs = draw(st.sampled_from([shape, shape[-1:], None]))
    if rhs is None:
        return m.build(kind, shape, None, scalar=2.0)
    return m.build(kind, shape, rhs)


def _select(kind: type[Operation], draw: Draw) -> Sample:
    m = _Maker(draw, FLOATS)
    shape = draw(shapes())
    a, b = m.maybe(shape), m.maybe(shape)
    scalars = {"a_scalar": None if a is not None else 1.0, "b_scalar": None if b is not None else -1.0}
    return m.build(kind, shape, a, b, **scalars)


def _cast(kind: type[Operation], draw: Draw) -> Sample:
    m = _Maker(draw, NUMBERS)
    shape = draw(shapes())
    return m.build(kind, shape, y=VTensorType(shape, draw(st.sampled_from(NUMBERS))))


def _same(kind: type[Operation], draw: Draw) -> Sample:
    return _Maker(draw, NUMBERS).build(kind, draw(shapes()))


def _channel_norm(kind: type[Operation], draw: Draw) -> Sample:
    return _Maker(draw, NUMBERS).build(kind, draw(shapes()), direction=draw(st.booleans()))


def _gemm(kind: type[Operation], draw: Draw) -> Sample:
    m = _Maker(draw, (f32, i8, bf16))
    b, rows, k, n = (draw(EXTENTS) for _ in range(4))
    left, right = draw(st.booleans()), draw(st.booleans())
    lhs, rhs = ((k, rows) if left else (rows, k)), ((n, k) if right else (k, n))
    one = st.sampled_from([(), (1,), (b,)])
    lhs, rhs = (*draw(one), *lhs), (*draw(one), *rhs)
    batch = max([s[0] for s in (lhs, rhs) if len(s) == 3], default=1)
    out = (rows, n) if len(lhs) == len(rhs) == 2 else (batch, rows, n)
    return m.build(
        kind,
        lhs,
        rhs,
        m.maybe((n,)),
        m.maybe(out),
        transL=left,
        transR=right,
        activation=draw(st.sampled_from(Activation)),
    )


def _window(draw: Draw, height: int, width: int, dilated: bool) -> dict[str, Any]:
    kernel = tuple(draw(st.integers(1, 3)) for _ in range(2))
    strides = tuple(draw(st.integers(1, 3)) for _ in range(2))
    dilations = tuple(draw(st.integers(1, 2)) for _ in range(2)) if dilated else (1, 1)
    pads: list[int] = []
    for extent, k, d in zip((height, width), kernel, dilations, strict=True):
        reach = d * (k - 1) + 1
        before, after = draw(st.integers(0, 2)), draw(st.integers(0, 2))
        pads += [before, max(after, reach - extent - before)]
    found: dict[str, Any] = {"kernel": kernel, "strides": strides, "pads": tuple(pads)}
    return {**found, "dilations": dilations} if dilated else found


def _conv(kind: type[Operation], draw: Draw) -> Sample:
    m = _Maker(draw, (f32, i8, bf16))
    batch, height, width, channels = (draw(st.integers(1, 2)), draw(EXTENTS), draw(EXTENTS), draw(st.integers(1, 4)))
    depthwise = draw(st.booleans())
    window = _window(draw, height, width, dilated=True)
    kernel = window.pop("kernel")
    outputs = channels if depthwise else draw(st.integers(1, 4))
    groups = channels if depthwise else 1
    out = [
        (extent + window["pads"][2 * i] + window["pads"][2 * i + 1] - window["dilations"][i] * (kernel[i] - 1) - 1)
        // window["strides"][i]
        + 1
        for i, extent in enumerate((height, width))
    ]
    return m.build(
        kind, (batch, height, width, channels), (*kernel, outputs, channels // groups), m.maybe((outputs,)),
        m.maybe((batch, *out, outputs)), groups=groups, activation=draw(st.sampled_from(Activation)), **window,
    )  # fmt: skip


def _pool(kind: type[Operation], draw: Draw) -> Sample:
    function = draw(st.sampled_from(ReduceFunction))
    m = _Maker(draw, FLOATS if function is ReduceFunction.AVG else NUMBERS)
    shape = (draw(st.integers(1, 2)), draw(EXTENTS), draw(EXTENTS), draw(st.integers(1, 4)))
    return m.build(kind, shape, function=function, **_window(draw, *shape[1:3], dilated=False))


def _reduce(kind: type[Operation], draw: Draw) -> Sample:
    function = draw(st.sampled_from(ReduceFunction))
    m = _Maker(draw, FLOATS if function is ReduceFunction.AVG else NUMBERS)
    shape = draw(shapes(1))
    return m.build(kind, shape, function=function, axes=draw(st.sampled_from(list(tx8be.reduce_axes(len(shape))))))


def _softmax(kind: type[Operation], draw: Draw) -> Sample:
    return _Maker(draw, FLOATS).build(kind, draw(shapes(1)))


def _layer_norm(kind: type[Operation], draw: Draw) -> Sample:
    m = _Maker(draw, FLOATS)
    shape = draw(shapes(1))
    return m.build(kind, shape, m.maybe(shape[-1:]), m.maybe(shape[-1:]))


def _transpose(kind: type[Operation], draw: Draw) -> Sample:
    shape = draw(shapes(1))
    return _Maker(draw, NUMBERS).build(kind, shape, perm=tuple(draw(st.permutations(range(len(shape))))))


def _slice(kind: type[Operation], draw: Draw) -> Sample:
    shape = draw(shapes(1))
    starts = tuple(draw(st.integers(0, n - 1)) for n in shape)
    ends = tuple(draw(st.integers(s + 1, n)) for s, n in zip(starts, shape, strict=True))
    return _Maker(draw, NUMBERS).build(kind, shape, starts=starts, ends=ends)


def _concatenate(kind: type[Operation], draw: Draw) -> Sample:
    m = _Maker(draw, NUMBERS)
    shape = draw(shapes(1))
    axis = draw(st.integers(0, len(shape) - 1))
    extents = draw(st.lists(EXTENTS, min_size=1, max_size=4))
    pieces = [(*shape[:axis], n, *shape[axis + 1 :]) for n in extents]
    return m.build(lambda *xs, **rest: kind(list(xs), **rest), *pieces, axis=axis)


def _broadcast(kind: type[Operation], draw: Draw) -> Sample:
    m = _Maker(draw, NUMBERS)
    shape = draw(shapes())
    kept = shape[draw(st.integers(0, len(shape))) :]
    source = tuple(draw(st.sampled_from([1, n])) for n in kept)
    return m.build(kind, source, y=VTensorType(shape, m.element))


def _reshape(kind: type[Operation], draw: Draw) -> Sample:
    m = _Maker(draw, NUMBERS)
    total = draw(st.sampled_from([1, 6, 12, 24, 30, 36, 48, 60]))
    return m.build(kind, draw(factorings(total)), y=VTensorType(draw(factorings(total)), m.element))


@st.composite
def factorings(draw: Draw, total: int) -> Shape:
    """Shapes of `total` elements."""
    shape: list[int] = []
    while total > 1 and len(shape) < 4:
        shape.append(draw(st.sampled_from([d for d in range(1, total + 1) if total % d == 0])))
        total //= shape[-1]
    return (*shape, total)


def _gather(kind: type[Operation], draw: Draw) -> Sample:
    m = _Maker(draw, NUMBERS)
    rows, columns = draw(EXTENTS), draw(EXTENTS)
    indices = draw(shapes(0, 3))
    sample = m.build(kind, types=[VTensorType((rows, columns), m.element), VTensorType(indices, i32)])
    chosen = np.random.default_rng(draw(st.integers(0, 2**16))).integers(0, rows, indices, dtype=np.int32)
    return Sample(sample.op, (sample.arrays[0], chosen))


_MAKERS: dict[type[Operation], Callable[[Any, Draw], Sample]] = {
    **dict.fromkeys(tx8be.UNARY, _unary),
    **dict.fromkeys(tx8be.BINARY, _binary),
    tx8be.SelectOp: _select, tx8be.CastOp: _cast,
    tx8be.InputOp: _same, tx8be.LoadVarOp: _same, tx8be.StoreVarOp: _same, tx8be.ChannelNormOp: _channel_norm,
    tx8be.GemmOp: _gemm, tx8be.ConvOp: _conv, tx8be.PoolOp: _pool, tx8be.ReduceOp: _reduce,
    tx8be.SoftmaxOp: _softmax, tx8be.LayerNormOp: _layer_norm,
    tx8be.TransposeOp: _transpose, tx8be.SliceOp: _slice, tx8be.ConcatenateOp: _concatenate,
    tx8be.BroadcastOp: _broadcast, tx8be.ReshapeOp: _reshape, tx8be.GatherOp: _gather,
}  # fmt: skip

COMPUTED = tuple(_MAKERS)
"""The ops with a `Compute` on tensors."""


@st.composite
def samples(draw: Draw, kind: type[Operation]) -> Sample:
    """An op of a class, with arrays."""
    return _MAKERS[kind](kind, draw)


# --- groups ----------------------------------------------------------------------------------------------------------


@attrs.frozen
class GroupSample:
    """Ops in order, the values of them that are stored, and arrays for the values that nothing gives."""

    ops: tuple[Operation, ...]
    stores: tuple[Value, ...]
    arrays: Mapping[Value, Array]


@st.composite
def groups(draw: Draw, most: int = 5, kinds: Sequence[str] | None = None) -> GroupSample:
    """A few connected ops on small fp32 tensors: unary, binary, product, transpose, reshape, reduce, softmax, …"""
    with detached():
        return _Group(draw).make(draw(st.integers(1, most)), kinds or _Group.KINDS)


class _Group:
    KINDS = (
        "unary", "binary", "row", "gemm", "gemm", "transpose", "reshape", "reduce", "softmax", "slice", "concatenate",
        "conv", "pool",
    )  # fmt: skip

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.ops: list[Operation] = []
        self.values: list[Value] = []
        self.none = tx8be.NoneOp().y

    def make(self, count: int, kinds: Sequence[str]) -> GroupSample:
        rank = self.draw(st.sampled_from([2, 3, 4] if "conv" in kinds else [2, 3]))
        self.tensor(tuple(self.draw(st.sampled_from([1, 2, 3, 4, 6])) for _ in range(rank)))
        while len(self.ops) < count:
            x = self.values[-1] if self.draw(st.booleans()) else self.draw(st.sampled_from(self.values))
            kind = self.draw(st.sampled_from(kinds))
            made = getattr(self, kind)(x) or tx8be.ReluOp(x)
            self.ops.append(made)
            self.values.append(made.results[0])
        read = {value for op in self.ops for value in op.operands}
        ends = [op.results[0] for op in self.ops if op.results[0] not in read]
        others = [op.results[0] for op in self.ops if op.results[0] in read]
        more = self.draw(st.lists(st.sampled_from(others), max_size=1)) if others else []
        given = {op.results[0] for op in self.ops}
        arrays = {v: fill(v.type, i) for i, v in enumerate(self.values) if v not in given}
        return GroupSample(tuple(self.ops), tuple(dict.fromkeys([*ends, *more])), arrays)

    def tensor(self, shape: Shape) -> Value:
        (value,) = Block([VTensorType(shape, f32)]).args
        self.values.append(value)
        return value

    def shape(self, x: Value) -> Shape:
        assert isinstance(x.type, VTensorType)
        return x.type.shape

    def of_shape(self, shape: Shape) -> Value:
        """A value of the group of this shape, or a new operand."""
        found = [v for v in self.values if self.shape(v) == shape]
        return self.draw(st.sampled_from(found)) if found and self.draw(st.booleans()) else self.tensor(shape)

    def unary(self, x: Value) -> Operation:
        return self.draw(st.sampled_from([tx8be.ReluOp, tx8be.NegOp]))(x)

    def binary(self, x: Value) -> Operation:
        return self.draw(st.sampled_from([tx8be.AddOp, tx8be.MaxOp]))(x, self.of_shape(self.shape(x)))

    def row(self, x: Value) -> Operation:
        return tx8be.AddOp(x, self.of_shape(self.shape(x)[-1:]))

    def gemm(self, x: Value) -> Operation | None:
        shape = self.shape(x)
        if len(shape) not in (2, 3):
            return None
        rhs = self.of_shape((shape[-1], self.draw(st.sampled_from([2, 3, 4]))))
        if self.draw(st.booleans()) and len(shape) == 2:  # x @ transpose(x) and the like
            return tx8be.GemmOp(x, self.of_shape(shape), self.none, self.none, transR=True)
        return tx8be.GemmOp(x, rhs, self.none, self.none)

    def transpose(self, x: Value) -> Operation:
        return tx8be.TransposeOp(x, perm=tuple(self.draw(st.permutations(range(len(self.shape(x)))))))

    def reshape(self, x: Value) -> Operation:
        target = self.draw(factorings(math.prod(self.shape(x))))
        return tx8be.ReshapeOp(x, y=VTensorType(target, f32))

    def reduce(self, x: Value) -> Operation | None:
        axes = list(tx8be.reduce_axes(len(self.shape(x))))
        function = self.draw(st.sampled_from([ReduceFunction.SUM, ReduceFunction.MAX]))
        return tx8be.ReduceOp(x, function=function, axes=self.draw(st.sampled_from(axes))) if axes else None

    def softmax(self, x: Value) -> Operation | None:
        return tx8be.SoftmaxOp(x) if self.shape(x) else None

    def slice(self, x: Value) -> Operation:
        starts = tuple(self.draw(st.integers(0, n - 1)) for n in self.shape(x))
        ends = tuple(self.draw(st.integers(s + 1, n)) for s, n in zip(starts, self.shape(x), strict=True))
        return tx8be.SliceOp(x, starts=starts, ends=ends)

    def concatenate(self, x: Value) -> Operation | None:
        shape = self.shape(x)
        if not shape:
            return None
        axis = self.draw(st.integers(0, len(shape) - 1))
        other = (*shape[:axis], self.draw(st.sampled_from([1, 2, 3])), *shape[axis + 1 :])
        return tx8be.ConcatenateOp([x, self.of_shape(other)], axis=axis)

    def conv(self, x: Value) -> Operation | None:
        shape = self.shape(x)
        if len(shape) != 4:
            return None
        window = _window(self.draw, *shape[1:3], dilated=True)
        weight = self.of_shape((*window.pop("kernel"), self.draw(st.sampled_from([shape[3], 2])), shape[3]))
        return tx8be.ConvOp(x, weight, self.none, self.none, **window)

    def pool(self, x: Value) -> Operation | None:
        shape = self.shape(x)
        if len(shape) != 4:
            return None
        return tx8be.PoolOp(x, function=ReduceFunction.MAX, **_window(self.draw, *shape[1:3], dilated=False))
