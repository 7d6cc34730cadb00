"""Operations that copy elements into a larger tensor: concat, expand and pad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    DYNAMIC,
    Compute,
    HasValueSemantics,
    InferTypes,
    Op,
    Operand,
    Pure,
    RankedTensor,
    Result,
    Type,
    VariadicOperand,
    attribute,
    operand,
    result,
    variadic_operand,
)
from tx8ir.dialects.samples import Sampled, case

from .inference import (
    extents_match,
    fail,
    int_list,
    make_type,
    normalize_axis,
    number_of,
    same_element,
    tensor_operand,
)


class ConcatOp(Op, Compute, InferTypes, Sampled, name="pd.concat", traits=(Pure, HasValueSemantics)):
    """The operands one after the other along `axis`; they agree in rank, element type and the other extents."""

    x: VariadicOperand = variadic_operand(doc="one or more, each [..., n_i, ...]")
    axis: int = attribute(default=0)
    out: Result = result(doc="[..., sum of n_i, ...]")

    cases = (
        case([(2, 3), (1, 3)]),
        case([(2, 3), (2, 3)], axis=1),
        case([(2, 1), (2, 3)], axis=-1),
        case([(5,)]),
        case([(1,), (2,), (3,)]),
        case([(0,), (2,)]),
        case([(2, 1, 3), (2, 2, 3)], axis=-2),
        case([(2, 3, 1, 2), (2, 3, 1, 2)], axis=3),
        case([(2, 2), (2, 2)], axis=-2),
        case([(DYNAMIC, 3), (2, 3)]),
        case([(DYNAMIC, 3), (DYNAMIC, 1)], axis=1),
    )

    def infer_types(self) -> tuple[Type, ...]:
        types = {f"x[{i}]": tensor_operand(self, value, f"x[{i}]") for i, value in enumerate(self.x)}
        if not types:
            raise fail(self, "there is no operand; expected one or more")
        element = same_element(self, **types)
        first = next(iter(types.values()))
        axis = normalize_axis(self, self.axis, first.rank)
        shape = list(first.shape)
        for name, type_ in types.items():
            if type_.rank != first.rank:
                raise fail(self, f"operand `{name}` has type {type_}; expected rank {first.rank} as `x[0]` {first}")
            for i, extent in enumerate(type_.shape):
                if i != axis and not extents_match(shape[i], extent):
                    raise fail(self, f"operand `{name}` has type {type_}; expected extent {shape[i]} on axis {i}")
                if shape[i] == DYNAMIC:
                    shape[i] = extent
        along = [type_.shape[axis] for type_ in types.values()]
        shape[axis] = DYNAMIC if DYNAMIC in along else sum(along)
        return (make_type(tuple(types.values()), shape, element),)

    def compute(self, *x: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate(x, axis=self.axis)


class ExpandOp(Op, Compute, InferTypes, Sampled, name="pd.expand", traits=(Pure, HasValueSemantics)):
    """x broadcast to `shape`, aligned at the last axis; -1 keeps the extent of x."""

    x: Operand = operand(doc="[...]")
    shape: tuple[int, ...] = attribute(doc="at least as many entries as x has axes")
    out: Result = result(doc="`shape`")

    cases = (
        case((2, 1), shape=(2, 3)),
        case((2, 3), shape=(2, 3)),
        case((3,), shape=(2, 3)),
        case((3,), shape=(2, -1)),
        case((), shape=(2,)),
        case((), shape=()),
        case((1, 3), shape=(5, -1)),
        case((1,), shape=(0,)),
        case((0,), shape=(2, 0)),
        case((2, 1, 3), shape=(1, 2, 2, 3)),
        case((2, 1, 1, 3), shape=(2, 2, 3, 3)),
        case((DYNAMIC, 1), shape=(-1, 3)),
    )

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x")
        return (self._expanded(x),)

    def _expanded(self, x: RankedTensor) -> RankedTensor:
        return x.with_shape(self._resolve(x.shape))

    def _resolve(self, source: Sequence[int]) -> tuple[int, ...]:
        text = f"attribute `shape` is {list(self.shape)}; operand `x` has shape {list(source)}"
        new = len(self.shape) - len(source)
        if new < 0:
            raise fail(self, f"{text}, of higher rank")
        shape: list[int] = []
        for axis, wanted in enumerate(self.shape):
            have = source[axis - new] if axis >= new else 1
            if wanted < -1 or (wanted == -1 and axis < new):
                raise fail(self, f"{text}; {wanted} on axis {axis} names no extent")
            if wanted not in (-1, have) and have not in (1, DYNAMIC):
                raise fail(self, f"{text}; extent {have} does not stretch to {wanted} on axis {axis}")
            shape.append(have if wanted == -1 else wanted)
        return tuple(shape)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.broadcast_to(x, self._resolve(x.shape))


class PadOp(Op, Compute, InferTypes, Sampled, name="pd.pad", traits=(Pure, HasValueSemantics)):
    """x in a frame of elements that are all `pad_value`, rounded to the element type."""

    x: Operand = operand(doc="[...]")
    paddings: tuple[int, ...] = attribute(doc="before and after axis 0, before and after axis 1, …; each >= 0")
    pad_value: float = attribute(default=0.0)
    out: Result = result(doc="each extent with its paddings added")

    cases = (
        case((2, 3), paddings=(1, 0, 0, 2)),
        case((2, 3), paddings=(0, 0, 0, 0)),
        case((2, 3), paddings=(1, 1, 1, 1)),
        case((5,), paddings=(0, 3)),
        case((), paddings=()),
        case((0,), paddings=(1, 1)),
        case((1, 2, 3, 2), paddings=(0, 0, 0, 0, 1, 2, 2, 1)),
        case((2, 1, 3), paddings=(0, 0, 2, 0, 0, 1)),
        case((DYNAMIC, 3), paddings=(1, 0, 0, 1)),
    )

    @property
    def frame(self) -> tuple[tuple[int, int], ...]:
        """Elements added before and after, for each axis."""
        return tuple(zip(self.paddings[::2], self.paddings[1::2], strict=True))

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x")
        int_list(self, "paddings", self.paddings, length=2 * x.rank, at_least=0)
        number_of(self, "pad_value", self.pad_value, x)
        return (
            x.with_shape(
                DYNAMIC if extent == DYNAMIC else low + extent + high
                for extent, (low, high) in zip(x.shape, self.frame, strict=True)
            ),
        )

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        frame = self.frame
        out = np.full([low + n + high for n, (low, high) in zip(x.shape, frame, strict=True)], self.pad_value, x.dtype)
        out[tuple(slice(low, low + n) for n, (low, _) in zip(x.shape, frame, strict=True))] = x
        return out
