"""Operations that make a tensor from nothing, copy one, or pass one in and out of the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    OUTSIDE,
    Compute,
    EffectKind,
    HasValueSemantics,
    InferTypes,
    MemoryEffect,
    MemoryEffects,
    NamedStorage,
    Op,
    Operand,
    Pure,
    Result,
    ScalarType,
    Snapshot,
    StorageAliases,
    Type,
    Value,
    VTensorType,
    attribute,
    f32,
    i32,
    operand,
    result,
)
from tx8ir.dialects.samples import ELEMENTS, Sampled, case
from tx8ir.target.casting import cast
from tx8ir.target.formats import F64

from .declaration import Primal
from .elementwise_unary import ElementwiseUnaryOp
from .inference import fail, tensor_operand


class FullOp(Op, Compute, InferTypes, Sampled, name="pd.full", traits=(Pure, HasValueSemantics)):
    """A tensor filled with `value`, converted to `dtype` as by `pd.cast`."""

    shape: tuple[int, ...] = attribute()
    value: float = attribute()
    dtype: Type = attribute(default=f32)
    out: Result = result(doc="`shape` of `dtype`")

    accepts = "float"
    cases = (
        case(shape=(2, 3), value=1.0),
        *(case(shape=shape, value=1.0) for shape in ((), (1,), (5,), (0,), (2, 0), (3, 1), (2, 1, 3), (2, 3, 1, 2))),
        *(case(shape=(2,), value=1.0, dtype=element) for element in ELEMENTS["any"]),
        *(case(shape=(), value=number, dtype=i32) for number in (0.0, -2.0, 2.5, 1e10)),
    )

    def infer_types(self) -> tuple[Type, ...]:
        if any(extent < 0 for extent in self.shape):
            raise fail(self, f"attribute `shape` is {list(self.shape)}; expected extents >= 0")
        return (VTensorType(self.shape, self._element()),)

    def _element(self) -> ScalarType:
        if not isinstance(self.dtype, ScalarType):
            raise fail(self, f"attribute `dtype` is {self.dtype}; expected a scalar type")
        return self.dtype

    def compute(self) -> NDArray[Any]:
        return np.full(self.shape, cast(np.asarray(self.value), F64, self._element().format))


class AssignOp(ElementwiseUnaryOp, name="pd.assign"):
    """out = x, a copy."""

    has_inplace_form = False  # pd.assign_ has an operand more
    mixed_precision = "infer"
    accepts = "any"

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return x

    def gradient(self, at: Primal, g: Value) -> Value:
        return g


class FeedOp(Op, MemoryEffects, StorageAliases, Snapshot, name="pd.feed"):
    """The program's input `name`. Its type is given: `FeedOp(feed_name="x", out=VTensorType(...))`.

    Feeds become arguments of `main` before compiling; nothing ever changes an input. Like an argument, an input that
    nothing uses is still one: a feed is part of what callers see, and no pass may drop it.
    """

    feed_name: str = attribute(name="name")
    col: int = attribute(default=0, doc="column in Paddle's feed list")
    out: Result = result()

    def memory_effects(self) -> Sequence[MemoryEffect]:
        return [MemoryEffect(EffectKind.READ, NamedStorage("feed", self.feed_name))]

    def storage_aliases(self) -> Sequence[tuple[Value, NamedStorage]]:
        return [(self.out, NamedStorage("feed", self.feed_name))]

    def snapshot(self) -> Value:
        kind = tensor_operand(self, self.out, "out").to_vtensor()
        return FeedOp(feed_name=self.feed_name, col=self.col, out=kind).out


class FetchOp(Op, MemoryEffects, name="pd.fetch"):
    """Makes `x` the program's output `name`. Fetches become results of `main` before compiling."""

    x: Operand = operand()
    fetch_name: str = attribute(name="name")
    col: int = attribute(default=0, doc="column in Paddle's fetch list")

    def memory_effects(self) -> Sequence[MemoryEffect]:
        return [MemoryEffect(EffectKind.READ, self.x), MemoryEffect(EffectKind.WRITE, OUTSIDE)]

    def verify_op(self) -> None:
        tensor_operand(self, self.x, "x")
