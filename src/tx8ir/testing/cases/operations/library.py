"""The configurations of every operation of the op library: fixed ones, and random ones within what it supports.

What varies at random is the number of axes, the extents, the format, the layout, which operands are constants, and the
attributes. Extents of the last axis meet every kind of channel tail (`CHANNELS`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from tx8ir.core import Operation, ScalarType, VTensorType, bf16, f16, f32, i8, i32
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import Activation, BackendOp, ReduceFunction

from .configuration import (
    AWAY_FROM_ZERO,
    BOTH_SIGNS,
    POSITIVE,
    SMALL_INTEGERS,
    TRUTH,
    Configuration,
    OperandConfig,
    Range,
    Shape,
)

Kind: TypeAlias = "type[BackendOp]"

FLOATS: Final = (f32, bf16, f16)
NUMBERS: Final = (f32, bf16, f16, i32, i8)
CHANNELS: Final = (1, 3, 4, 5, 32, 33, 64, 65, 96, 97, 128, 131)
"""One of each kind of channel tail, with full blocks of 64 and 128 lanes."""
RANGES: Final[Mapping[Kind, Range]] = {
    tx8be.LogOp: POSITIVE,
    tx8be.SqrtOp: POSITIVE,
    tx8be.RsqrtOp: POSITIVE,
    tx8be.RecipOp: AWAY_FROM_ZERO,
    tx8be.ExpOp: Range(-8, 8),
    tx8be.SinOp: Range(-7, 7),
    tx8be.CosOp: Range(-7, 7),
    tx8be.TanhOp: Range(-6, 6),
    tx8be.SigmoidOp: Range(-9, 9),
    tx8be.SoftplusOp: Range(-9, 9),
}
"""What unary operations are filled with where it is not both signs of small numbers."""


class _Draw:
    """Draws a configuration; without a generator of random numbers the first choice of everything."""

    def __init__(self, kind: Kind, rng: random.Random | None) -> None:
        self.kind = kind
        self.rng = rng

    def of(self, choices: Sequence[Any]) -> Any:
        return choices[0] if self.rng is None else self.rng.choice(choices)

    def flag(self) -> bool:
        return self.of((False, True))

    def extent(self, usual: int = 3, most: int = 6) -> int:
        return usual if self.rng is None else self.rng.randint(1, most)

    def shape(self, least: int = 1, most: int = 4) -> Shape:
        """Extents, the last one of some kind of channel tail."""
        rank = min(3, most) if self.rng is None else self.rng.randint(least, most)
        outer = [self.of((2, 1, 3)), *(self.extent(5, 7) for _ in range(rank - 2))][: max(rank - 1, 0)]
        return (*outer, self.of((65, *CHANNELS))) if rank else ()

    def layout(self) -> bool | None:
        return self.of((None, False, True))

    def operand(self, shape: Shape, element: ScalarType, range_: Range = BOTH_SIGNS, constant: bool = False) -> Any:
        return OperandConfig(shape, element, range_, constant)

    def made(
        self,
        *operands: Any,
        make: Callable[..., Operation] | None = None,
        is_blocked: bool | None = None,
        **attributes: Any,
    ) -> Configuration:
        """The operation on operands, with attributes; in a layout that is drawn unless it is said."""
        present = [o for o in operands if o is not None]
        shapes = " ".join(f"{'x'.join(map(str, o.shape)) or 'scalar'}{'c' * o.is_constant}" for o in present)
        said = " ".join(f"{k}={getattr(v, 'name', v)}" for k, v in attributes.items() if not isinstance(v, VTensorType))
        layout = self.layout() if is_blocked is None else is_blocked
        name = f"{shapes} {present[0].element} {said} {_LAYOUTS[layout]}"
        return Configuration(" ".join(name.split()), operands, partial(make or self.kind, **attributes), layout)


_LAYOUTS: Final = {None: "", False: "dense", True: "blocked"}


def _unary(d: _Draw) -> Configuration:
    return d.made(d.operand(d.shape(), d.of(FLOATS), RANGES.get(d.kind, BOTH_SIGNS)))


def _binary(d: _Draw) -> Configuration:
    shape, element = d.shape(), d.of(FLOATS)
    range_ = AWAY_FROM_ZERO if d.kind is tx8be.DivOp else BOTH_SIGNS
    if d.kind in _RELATIONS:
        range_ = SMALL_INTEGERS  # so that some are equal
    lhs, form = d.operand(shape, element, range_), d.of(("vector", "unit", "scalar"))
    if form == "scalar":
        return d.made(lhs, None, scalar=d.of((2.0, -0.5)))
    return d.made(lhs, d.operand(shape if form == "vector" else shape[-1:], element, range_, d.flag()))


_RELATIONS: Final = (tx8be.EqOp, tx8be.NeOp, tx8be.GeOp, tx8be.GtOp, tx8be.LeOp, tx8be.LtOp)


def _select(d: _Draw) -> Configuration:
    shape, element = d.shape(), d.of(FLOATS)
    scalars = d.of((("", ""), ("a", ""), ("", "b")))
    sides = [None if name in scalars else d.operand(shape, element) for name in "ab"]
    values: dict[str, Any] = {f"{name}_scalar": value for name, value in (("a", -2.0), ("b", 0.25)) if name in scalars}
    return d.made(d.operand(shape, element, TRUTH), *sides, **values)


def _cast(d: _Draw) -> Configuration:
    shape, (source, target) = d.shape(), d.of(((f32, bf16), (bf16, f32), (f32, i32), (i32, f32), (f16, f32)))
    return d.made(d.operand(shape, source, Range(-100, 100)), y=VTensorType(shape, target))


def _gemm(d: _Draw) -> Configuration:
    element = d.of(FLOATS)
    rows, k, n = d.of((9, 1, 16, 33)), d.of((65, *CHANNELS)), d.of((70, *CHANNELS))
    left, right = d.flag(), d.flag()
    lhs, rhs = ((k, rows) if left else (rows, k)), ((n, k) if right else (k, n))
    batch = d.of(((), (2,)))
    lhs, rhs = (*batch, *lhs), (*(batch if d.flag() else ()), *rhs)
    bias = d.operand((n,), element, constant=True) if d.flag() else None
    return d.made(
        d.operand(lhs, element), d.operand(rhs, element, constant=d.flag()), bias, None,
        transL=left, transR=right, activation=d.of(tuple(Activation)),
    )  # fmt: skip


def _conv(d: _Draw) -> Configuration:
    element, channels = d.of(FLOATS), d.of((5, 1, 3, 32, 65))
    depthwise = d.flag()
    outputs = channels if depthwise else d.of((70, 1, 33))
    window = _window(d, dilated=True)
    kernel = window.pop("kernel")
    groups = channels if depthwise else 1
    return d.made(
        d.operand((d.of((1, 2)), d.extent(9, 9) + 4, d.extent(8, 9) + 4, channels), element),
        d.operand((*kernel, outputs, channels // groups), element, constant=True),
        d.operand((outputs,), element, constant=True) if d.flag() else None, None,
        groups=groups, activation=d.of(tuple(Activation)), **window,
    )  # fmt: skip


def _window(d: _Draw, dilated: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kernel": (d.of((3, 1, 2)), d.of((3, 1, 2))),
        "strides": (d.of((1, 2)), d.of((1, 2))),
        "pads": d.of(((1, 1, 1, 1), (0, 0, 0, 0), (0, 1, 1, 0))),
    }
    if not dilated:
        found["pads"] = tuple(min(p, found["kernel"][i // 2] - 1) for i, p in enumerate(found["pads"]))
    return {**found, "dilations": (d.of((1, 2)), 1)} if dilated else found


def _pool(d: _Draw) -> Configuration:
    x = d.operand((d.of((1, 2)), d.extent(9, 9) + 2, d.extent(8, 9) + 2, d.of((5, *CHANNELS))), d.of(FLOATS))
    return d.made(x, function=d.of(tuple(ReduceFunction)), **_window(d))


def _reduce(d: _Draw) -> Configuration:
    shape = d.shape()
    x = d.operand(shape, d.of(FLOATS))
    return d.made(x, function=d.of(tuple(ReduceFunction)), axes=d.of(tuple(tx8be.reduce_axes(len(shape)))))


def _softmax(d: _Draw) -> Configuration:
    return d.made(d.operand(d.shape(), d.of(FLOATS), Range(-8, 8)))


def _layer_norm(d: _Draw) -> Configuration:
    shape, element = d.shape(), d.of(FLOATS)
    rows = [d.operand(shape[-1:], element, constant=True) if d.of((True, False)) else None for _ in range(2)]
    return d.made(d.operand(shape, element), *rows)


def _transpose(d: _Draw) -> Configuration:
    shape = d.shape(2)
    axes = list(range(len(shape)))
    perm = axes[::-1] if d.rng is None else d.rng.sample(axes, len(axes))
    return d.made(d.operand(shape, d.of(NUMBERS)), perm=tuple(perm))


def _slice(d: _Draw) -> Configuration:
    shape = d.shape()
    starts = tuple(min(d.of((0, 1)), n - 1) for n in shape)
    ends = tuple(max(s + 1, n - d.of((0, 1, 2))) for s, n in zip(starts, shape, strict=True))
    return d.made(d.operand(shape, d.of(NUMBERS)), starts=starts, ends=ends)


def _concatenate(d: _Draw) -> Configuration:
    shape, element = d.shape(), d.of(NUMBERS)
    axis = d.of(range(len(shape)))
    pieces = [(*shape[:axis], d.extent(3, 5), *shape[axis + 1 :]) for _ in range(d.of((2, 3)))]
    return d.made(*(d.operand(p, element) for p in pieces), make=_joined, axis=axis)


def _joined(*operands: Any, axis: int) -> Operation:
    return tx8be.ConcatenateOp(list(operands), axis=axis)


def _broadcast(d: _Draw) -> Configuration:
    shape, element = d.shape(2), d.of(FLOATS)
    source = tuple(d.of((1, n)) for n in shape[d.of((1, 0)) :])
    return d.made(d.operand(source, element), y=VTensorType(shape, element))


def _reshape(d: _Draw) -> Configuration:
    element, shape = d.of(NUMBERS), d.shape(2)
    joined = (shape[0] * shape[1], *shape[2:])
    return d.made(d.operand(shape, element), y=VTensorType(joined, element))


def _gather(d: _Draw) -> Configuration:
    rows, element = d.of((10, 1, 33)), d.of(FLOATS)
    indices = d.shape(1, 2)[:1] if d.rng is None else (d.extent(),)
    table = d.operand((rows, d.of((65, *CHANNELS))), element, constant=d.of((True, False)))
    return d.made(table, d.operand(indices, i32, Range(0, rows - 1, whole=True)))


def _channel_norm(d: _Draw) -> Configuration:
    """Dense operand and result around an operation that is pinned to blocked channels: one change of layout each."""
    return d.made(d.operand(d.shape(2), d.of(FLOATS)), make=tx8be.ReluOp, is_blocked=True)


MAKERS: Final[Mapping[Kind, Callable[[_Draw], Configuration]]] = {
    **dict.fromkeys(tx8be.UNARY, _unary),
    **dict.fromkeys((*tx8be.BINARY, *_RELATIONS), _binary),
    tx8be.SelectOp: _select,
    tx8be.CastOp: _cast,
    tx8be.GemmOp: _gemm,
    tx8be.ConvOp: _conv,
    tx8be.PoolOp: _pool,
    tx8be.ReduceOp: _reduce,
    tx8be.SoftmaxOp: _softmax,
    tx8be.LayerNormOp: _layer_norm,
    tx8be.ChannelNormOp: _channel_norm,
    tx8be.TransposeOp: _transpose,
    tx8be.SliceOp: _slice,
    tx8be.ConcatenateOp: _concatenate,
    tx8be.BroadcastOp: _broadcast,
    tx8be.ReshapeOp: _reshape,
    tx8be.GatherOp: _gather,
}
"""How a configuration of each operation is drawn."""


def fixed_configurations(kind: Kind) -> list[Configuration]:
    """The usual configuration, and those of three seeds that never change."""
    make = MAKERS[kind]
    seeds = (random.Random(f"{kind.name} fixed {number}") for number in range(3))
    return [make(_Draw(kind, None)), *(make(_Draw(kind, rng)) for rng in seeds)]


def random_configuration(kind: Kind, seed: int) -> Configuration:
    """A configuration from a seed, the same in every process."""
    return MAKERS[kind](_Draw(kind, random.Random(f"{kind.name} {seed}")))


def _conv_relu_pool(x: Any, weight: Any, bias: Any) -> Operation:
    none = tx8be.NoneOp().y
    made = tx8be.ConvOp(x, weight, bias, none, pads=(1, 1, 1, 1))
    return tx8be.PoolOp(tx8be.ReluOp(made.results[0]).y, function=ReduceFunction.MAX, kernel=(2, 2), strides=(2, 2))


def _scores(q: Any, k: Any) -> Operation:
    product = tx8be.GemmOp(q, k, tx8be.NoneOp().y, tx8be.NoneOp().y, transR=True)
    return tx8be.SoftmaxOp(tx8be.MulOp(product.results[0], tx8be.NoneOp().y, scalar=0.125).results[0])


def _residual_norm(x: Any, y: Any, scale: Any, bias: Any) -> Operation:
    return tx8be.LayerNormOp(tx8be.AddOp(x, y).results[0], scale, bias)


def contexts() -> dict[str, list[Configuration]]:
    """Small contexts of operations, by name, in each floating-point format."""
    found: dict[str, list[Configuration]] = {"conv-relu-pool": [], "attention-scores": [], "residual-norm": []}
    for e in FLOATS:
        image, filters = OperandConfig((1, 10, 12, 5), e), OperandConfig((3, 3, 33, 5), e, is_constant=True)
        row = OperandConfig((65,), e, is_constant=True)
        x = OperandConfig((2, 9, 65), e)
        found["conv-relu-pool"].append(
            Configuration(str(e), (image, filters, OperandConfig((33,), e, is_constant=True)), _conv_relu_pool)
        )
        found["attention-scores"].append(Configuration(str(e), (x, x), _scores))
        found["residual-norm"].append(Configuration(str(e), (x, x, row, row), _residual_norm))
    return found
