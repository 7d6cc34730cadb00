"""`Evaluate` for tensors whose elements regions give."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tx8ir.core import Block, Model
from tx8ir.dialects.tensor.construction import GenerateOp, PadOp
from tx8ir.dialects.tensor.declaration import mixed, with_extents

from .interfaces import Asking, Enter, Evaluate, Evaluator, RuntimeValue, runs_at_once
from .storage import array_of


def _elements(block: Block, shape: tuple[int, ...]) -> Asking:
    """What a block gives for each place of an array, of which it takes the indices."""
    if runs_at_once(block):
        places = [np.ascontiguousarray(axis) for axis in np.indices(shape, np.int64)]
        (found,) = yield Enter(block, places, space=shape)
        return (np.ascontiguousarray(np.broadcast_to(array_of(found), shape)),)
    elements: list[RuntimeValue] = []
    for place in np.ndindex(*shape):
        elements += yield Enter(block, [np.asarray(n, np.int64) for n in place])
    return (np.asarray([array_of(e) for e in elements]).reshape(shape),)


@Evaluate.implement(GenerateOp)
class GenerateEvaluate(Model[GenerateOp], Evaluate):
    """Runs the region for every element."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        shape = with_extents(self.op.out.type, [array_of(v) for v in operands])
        return (yield from _elements(self.op.body.block, shape))


@Evaluate.implement(PadOp)
class PadEvaluate(Model[PadOp], Evaluate):
    """Runs the region for every element of the result, and takes those of the operand where there are."""

    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        source, *numbers = (array_of(v) for v in operands)
        count = len(self.op.low)
        low, high = mixed(self.op.static_low, numbers[:count]), mixed(self.op.static_high, numbers[count:])
        if min((0, *low, *high)) < 0:
            raise ValueError(f"paddings {low} and {high} are not all 0 or more")
        shape = tuple(a + extent + b for a, extent, b in zip(low, source.shape, high, strict=True))
        (found,) = yield from _elements(self.op.body.block, shape)
        made = np.array(array_of(found), dtype=source.dtype)
        made[tuple(slice(a, a + n) for a, n in zip(low, source.shape, strict=True))] = source
        return (made,)
