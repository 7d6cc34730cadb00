"""Control flow, which becomes `scf`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tx8ir.core import Value, i1
from tx8ir.dialects import scf
from tx8ir.frontends.values import tensor_type

from .document import PaddleBlock
from .node import PaddleNode
from .registry import Converted


def _regions(node: PaddleNode, count: int) -> Sequence[PaddleBlock]:
    if len(node.proto.blocks) != count:
        raise node.error(f"has {len(node.proto.blocks)} regions; expected {count}")
    return node.proto.blocks


def _condition(node: PaddleNode, value: Value) -> Value:
    """One truth value."""
    type_ = tensor_type(value)
    if type_.element is not i1 or type_.shape not in ((), (1,)):
        raise node.error(f"the condition is {type_}; expected one truth value")
    return value


def if_(node: PaddleNode) -> Converted:
    """Runs one of two bodies."""
    then, otherwise = _regions(node, 2)
    run = node.graph.import_block
    built = scf.IfOp.build(_condition(node, node.operand(0)), lambda: run(then, ()), lambda: run(otherwise, ()))
    return built.outputs


def while_(node: PaddleNode) -> Converted:
    """Runs a body, which says with its first result whether to go on, as long as it does.

    Where the first answer is known, the body comes before the question, so that rounds that are counted can be seen.
    """
    (body,) = _regions(node, 1)
    first, *carried = (node.operand(index) for index in range(node.count))
    _condition(node, first)
    known = node.graph.known(first)
    if known is not None and not known.item():
        return carried

    def round_of(*given: Value) -> tuple[Value, Sequence[Value]]:
        again, *values = node.graph.import_block(body, given)
        return _condition(node, again), values

    if known is not None:
        return scf.WhileOp.build(carried, round_of, lambda *given: given).outputs

    def before(holds: Value, *given: Value) -> tuple[Value, Sequence[Value]]:
        return holds, given

    def after(*given: Value) -> Sequence[Value]:
        again, values = round_of(*given)
        return [again, *values]

    return scf.WhileOp.build([first, *carried], before, after).outputs


CONVERTERS: Final[dict[str, Callable[[PaddleNode], Converted]]] = {"pd_op.if": if_, "pd_op.while": while_}
