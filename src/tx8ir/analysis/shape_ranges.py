"""Which extents the dynamic dimensions of tensors may have."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from tx8ir.core import (
    DYNAMIC,
    Block,
    ElementwiseMappable,
    InferTypes,
    IrError,
    Operation,
    Program,
    Pure,
    RankedTensor,
    Type,
    Value,
    VerifyError,
    detached,
)
from tx8ir.core.ir.interfaces import Model
from tx8ir.core.ir.shape_range import Extents, InferShapeRange, ShapeRange
from tx8ir.dialects import pd

from .dataflow import Anchor, DataFlowSolver, SparseForwardAnalysis

_GROWTH: Final = 4
"""How often an extent that control carries may grow before it may be any."""


class ShapeRangeAnalysis(SparseForwardAnalysis["ShapeRange | None"]):
    """The extents of tensors, by what their operations say (`InferShapeRange`); None for what is not a tensor.

    Without that interface, a type with dynamic extents is all that is known. What a loop carries may grow a few times,
    then it may be anything.

    Args:
        inputs: extents of values that are known from elsewhere, the arguments of `main` above all; others may be any.
    """

    def __init__(self, inputs: Mapping[Value, Sequence[Extents]] | None = None) -> None:
        super().__init__()
        self._inputs = {value: tuple(shape) for value, shape in (inputs or {}).items()}
        self._grown: Counter[Anchor] = Counter()

    def shape_of(self, value: Value) -> ShapeRange | None:
        """The extents of a value; None for one that is not a tensor or is never reached."""
        return self.states.get(value)

    def join(self, one: ShapeRange | None, other: ShapeRange | None) -> ShapeRange | None:
        if one is None or other is None or one == other:
            return one
        joined = tuple(a.join(b) for a, b in zip(one, other, strict=True))
        return one if joined == one else joined

    def widened(self, anchor: Anchor, known: ShapeRange | None, state: ShapeRange | None) -> ShapeRange | None:
        if known is None or state is None:
            return state
        self._grown[anchor] += 1
        if self._grown[anchor] < _GROWTH:
            return state
        return tuple(
            Extents(new.low if new.low == old.low else 0, new.high if new.high == old.high else None)
            for old, new in zip(known, state, strict=True)
        )

    def entry_state(self, value: Value) -> ShapeRange | None:
        declared = declared_extents(value.type)
        given = self._inputs.get(value)
        return _meet(declared, given) if declared is not None and given is not None else declared

    def learn(self, anchor: Anchor, state: ShapeRange | None) -> None:
        declared = declared_extents(anchor.type) if isinstance(anchor, Value) else None
        super().learn(anchor, state if state is None or declared is None else _meet(declared, state))

    def transfer(self, op: Operation) -> None:
        states = self.states
        operands = [states[value] for value in op.operands if value in states]
        if len(operands) != len(op.operands):
            return
        model = op.interface(InferShapeRange)
        inferred = model.infer_shapes(operands) if model is not None and _has_dynamic_result(op) else ()
        for index, result in enumerate(op.results):
            found = inferred[index] if index < len(inferred) else None
            self.learn(result, self.entry_state(result) if found is None else found)


def shape_ranges(
    program: Program, inputs: Mapping[str, Sequence[tuple[int, int | None]]] | None = None
) -> ShapeRangeAnalysis:
    """The extents of all tensors of a program, calls followed. O(operations + uses).

    Args:
        program: the program.
        inputs: for inputs by name, for each dimension the least and the greatest extent (None: no bound).

    Raises:
        IrError: no input has that name, or it has another rank.
    """
    known: dict[Value, Sequence[Extents]] = {}
    arguments = dict(zip(program.inputs, program.main.body.block.args, strict=True))
    for name, bounds in (inputs or {}).items():
        value = arguments.get(name)
        declared = declared_extents(value.type) if value is not None else None
        if value is None or declared is None:
            raise IrError(f"no tensor is an input of the name {name!r}; there are {', '.join(arguments) or 'none'}")
        if len(declared) != len(bounds):
            raise IrError(f"input {name!r} has rank {len(declared)}; extents of {len(bounds)} dimensions are given")
        known[value] = [Extents(*pair) for pair in bounds]
    solver = DataFlowSolver(program.module)
    found = solver.load(ShapeRangeAnalysis(known))
    solver.run()
    return found


def declared_extents(type: Type) -> ShapeRange | None:
    """What a type says of extents; None for a type that is not a tensor."""
    return tuple(Extents.of(extent) for extent in type.shape) if isinstance(type, RankedTensor) else None


def _meet(one: ShapeRange, other: ShapeRange) -> ShapeRange:
    return tuple(a.meet(b) for a, b in zip(one, other, strict=True))


def _has_dynamic_result(op: Operation) -> bool:
    return any(isinstance(r.type, RankedTensor) and not r.type.is_static for r in op.results)


# --- operations ------------------------------------------------------------------------------------------------------


class MonotoneShape(Model[Operation], InferShapeRange):
    """Extents of results that grow with those of operands: what `InferTypes` says of the least and the greatest ones.

    Where it says nothing of these (they do not fit together, although others between them do), nothing is known.
    """

    def infer_shapes(self, operands: Sequence[ShapeRange | None]) -> Sequence[ShapeRange | None]:
        lows = self._types([None if s is None else [e.low for e in s] for s in operands])
        highs = self._types(
            [None if s is None else [DYNAMIC if e.high is None else e.high for e in s] for s in operands]
        )
        found: list[ShapeRange | None] = []
        for index in range(len(self.op.results)):
            least = declared_extents(lows[index]) if lows is not None else None
            greatest = declared_extents(highs[index]) if highs is not None else None
            shown = least or greatest
            if shown is None:
                found.append(None)
                continue
            least, greatest = least or (Extents(0, None),) * len(shown), greatest or (Extents(0, None),) * len(shown)
            found.append(tuple(Extents(low.low, high.high) for low, high in zip(least, greatest, strict=True)))
        return found

    def _types(self, shapes: Sequence[Sequence[int] | None]) -> Sequence[Type] | None:
        """The types of the results for operands of these shapes; None where they do not fit."""
        types = [
            value.type if shape is None or not isinstance(value.type, RankedTensor) else value.type.with_shape(shape)
            for value, shape in zip(self.op.operands, shapes, strict=True)
        ]
        op = self.op
        with detached():
            made: Operation = type(op).create(Block(types).args, [r.type for r in op.results], op.attributes)
        model = made.interface(InferTypes)
        try:
            return model.infer_types() if model is not None else None
        except VerifyError:
            return None


class BroadcastShape(Model[Operation], InferShapeRange):
    """NumPy's rule: operands are aligned at the last axis, an extent of 1 stretches."""

    def infer_shapes(self, operands: Sequence[ShapeRange | None]) -> Sequence[ShapeRange | None]:
        shapes = [shape for shape in operands if shape is not None]
        rank = max(map(len, shapes), default=0)
        axes = [[shape[axis] for shape in shapes if len(shape) >= -axis] for axis in range(-rank, 0)]
        return [tuple(functools.reduce(broadcast_extents, extents) for extents in axes)] * len(self.op.results)


def broadcast_extents(x: Extents, y: Extents) -> Extents:
    """What becomes of two dimensions: the one that is not 1, or what both are."""
    if _may_be_one(x):
        return x.join(y) if _may_be_one(y) else y
    return x if _may_be_one(y) else x.meet(y)


def _may_be_one(extents: Extents) -> bool:
    return extents.low <= 1 and extents.high != 0


class ConvolutionShape(MonotoneShape):
    """A larger filter makes a smaller image: only a filter of one shape is looked at."""

    def infer_shapes(self, operands: Sequence[ShapeRange | None]) -> Sequence[ShapeRange | None]:
        if any(low != high for shape in operands[1:] for low, high in shape or ()):
            return (None,) * len(self.op.results)
        return super().infer_shapes(operands)


_CONVOLUTIONS: Final = (pd.Conv2dOp, pd.DepthwiseConv2dOp, pd.FusedConv2dAddActOp)
_UNKNOWN: Final = (pd.SqueezeOp,)  # which dimensions are left depends on which are 1


def _attach() -> None:
    for kind in pd.DIALECT.ops.values():
        if InferTypes not in kind.info.interfaces or Pure not in kind.info.traits or kind in _UNKNOWN:
            continue
        if kind in _CONVOLUTIONS:
            InferShapeRange.attach(kind, ConvolutionShape)
        elif ElementwiseMappable in kind.info.traits:
            InferShapeRange.attach(kind, BroadcastShape)
        else:
            InferShapeRange.attach(kind, MonotoneShape)


_attach()
