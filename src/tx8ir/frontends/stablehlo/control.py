"""Control flow, which becomes `scf`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from tx8ir.core import Region, Value, i32
from tx8ir.dialects import pd, scf

from .node import StableHloNode
from .registry import Converted


def _regions(node: StableHloNode, count: int | None = None) -> Sequence[Region]:
    regions = node.proto.regions
    if (count is not None and len(regions) != count) or not regions or any(len(region) != 1 for region in regions):
        raise node.error(f"has {len(regions)} regions of a block each; expected {'some' if count is None else count}")
    return regions


def while_(node: StableHloNode) -> Converted:
    """Runs a body as long as a condition holds."""
    condition, body = _regions(node, 2)
    run = node.graph.run_block
    if not node.operands:
        raise node.error("carries no value")

    def before(*carried: Value) -> tuple[Value, Sequence[Value]]:
        (holds,) = run(condition.block, carried)
        return holds, carried

    return scf.WhileOp.build(node.operands, before, lambda *carried: run(body.block, carried)).outputs


def if_(node: StableHloNode) -> Converted:
    """Runs one of two bodies."""
    (condition,) = node.take(1)
    then, otherwise = _regions(node, 2)
    run = node.graph.run_block
    built = scf.IfOp.build(condition, lambda: run(then.block, ()), lambda: run(otherwise.block, ()))
    return built.outputs


def case(node: StableHloNode) -> Converted:
    """Runs the body that a number chooses; a number that chooses none chooses the last."""
    (index,) = node.take(1)
    bodies = _regions(node)
    last = node.constant(np.asarray(len(bodies) - 1), i32, "last")
    chosen = pd.where(pd.less_than(index, node.constant(np.asarray(0), i32, "first")), last, index).out
    return _among(node, chosen, bodies, 0)


def _among(node: StableHloNode, chosen: Value, bodies: Sequence[Region], first: int) -> Sequence[Value]:
    """One of some bodies, the first of which has number `first`: halves, until one is left."""
    if len(bodies) == 1:
        return node.graph.run_block(bodies[0].block, ())
    half = len(bodies) // 2
    low = pd.less_than(chosen, node.constant(np.asarray(first + half), i32, "half"))
    built = scf.IfOp.build(
        low,
        lambda: _among(node, chosen, bodies[:half], first),
        lambda: _among(node, chosen, bodies[half:], first + half),
    )
    return built.outputs


CONVERTERS: Final[dict[str, Callable[[StableHloNode], Converted]]] = {
    "stablehlo.while": while_,
    "stablehlo.if": if_,
    "stablehlo.case": case,
}
