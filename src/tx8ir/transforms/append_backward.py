"""Reverse-mode differentiation of a program: operations that compute gradients, behind those that compute a loss."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import attrs

from tx8ir.core import (
    Block,
    Builder,
    Grad,
    Inplace,
    IrError,
    Operation,
    Program,
    RankedTensor,
    TensorType,
    Terminator,
    Value,
    at_location,
)
from tx8ir.dialects import builtin, pd

from .alias import AliasAnalysis

STOP_GRADIENT = "stop_gradient"
"""Attribute of an operation: no gradient flows to its results. True for all of them, or one truth value for each."""


@attrs.frozen(eq=False)
class Gradients:
    """Gradients of a loss, vtensors at the end of the block that computes it.

    Attributes:
        parameters: by the name of each parameter that the loss depends on; summed over its reads.
        values: by each value asked for that the loss depends on.
    """

    parameters: Mapping[str, Value]
    values: Mapping[Value, Value]


def append_backward(
    program: Program, loss: Value, *, parameters: Collection[str] | None = None, wrt: Sequence[Value] = ()
) -> Gradients:
    """Compute the gradients of `loss`: operations are added to its block, in front of the terminator.

    No gradient flows through results marked by the attribute `stop_gradient`, nor through those whose operation gives
    none (labels, say).

    Args:
        program: what `loss` is part of.
        loss: a floating-point tensor of one element.
        parameters: names of the parameters to differentiate by; by default all that the block reads and `loss` depends
            on, each with a floating-point type.
        wrt: other values to differentiate by, computed in the block of `loss` or its arguments.

    Raises:
        IrError: `loss` is no such tensor; an operation between has no `Grad`, works in place, or reads a tensor whose
            storage the program writes (`to-value-semantics` and `fold-copies` make values of those that nobody else
            sees); a parameter that the loss does not depend on. The program is then as it was.
    """
    block = loss.parent_block
    kind = loss.type
    if not isinstance(kind, RankedTensor) or not kind.element.is_float or not kind.is_static or kind.num_elements != 1:
        raise IrError(f"a loss is a floating-point tensor of one element, not {kind}", loss.defining_op)
    if block is None:
        raise IrError("the loss is in no block", loss.defining_op)
    path = _path(block, loss, parameters, wrt)
    missing = set(parameters or ()) - {op.parameter for op in path if isinstance(op, builtin.GetParameterOp)}
    if missing:
        raise IrError(f"the loss does not depend on parameter {min(missing)!r}", loss.defining_op)
    _check(program, path)
    present = set(block)
    try:
        gradients = _differentiate(block, loss, path, wrt)
    except IrError:
        for op in reversed([op for op in block if op not in present]):
            op.erase("append_backward")
        raise
    by_name: dict[str, Value] = {}
    with _at_end(block):
        for op in path:
            if isinstance(op, builtin.GetParameterOp) and op.out in gradients:
                given = gradients[op.out]
                earlier = by_name.get(op.parameter)
                by_name[op.parameter] = given if earlier is None else pd.add(earlier, given).out
    return Gradients(by_name, {value: gradients[value] for value in wrt if value in gradients})


def _stops(value: Value) -> bool:
    """Whether no gradient flows to `value`: it is marked, or is no floating-point tensor."""
    if not isinstance(value.type, RankedTensor) or not value.type.element.is_float:
        return True
    op = value.defining_op
    mark = op.attributes.get(STOP_GRADIENT) if op is not None else None
    if op is None or mark is None:
        return False
    given: Any = mark.value
    return bool(given if isinstance(given, bool) else given[op.results.index(value)])


def _path(block: Block, loss: Value, parameters: Collection[str] | None, wrt: Sequence[Value]) -> list[Operation]:
    """The operations that a gradient flows through, or that read a parameter asked for; in program order."""
    needed: set[Operation] = set()
    pending = [loss.defining_op] if loss.defining_op is not None else []
    while pending:
        op = pending.pop()
        if op in needed:
            continue
        needed.add(op)
        pending += [v.defining_op for v in op.operands if v.defining_op is not None and not _stops(v)]
    live = set(wrt)
    path: list[Operation] = []
    for op in block:
        if op not in needed:
            continue
        if isinstance(op, builtin.GetParameterOp):
            flows = parameters is None or op.parameter in parameters
        else:
            flows = any(v in live for v in op.operands)
        if flows:
            live.update(r for r in op.results if not _stops(r))
            path.append(op)
    return path


def _check(program: Program, path: Sequence[Operation]) -> None:
    analysis = AliasAnalysis(program)
    for op in path:
        if op.has_trait(Inplace):
            raise IrError(f"{op.name} works in place, so it has no gradient; run to-value-semantics first", op)
    for op in path:
        if isinstance(op, builtin.GetParameterOp):
            continue
        if op.interface(Grad) is None:
            raise IrError(f"{op.name} has no gradient (Grad)", op)
        for value in (*op.operands, *op.results):
            if isinstance(value.type, TensorType) and analysis.is_written(value):
                raise IrError(
                    f"{op.name} has a tensor whose storage is written elsewhere, so its gradient would see another "
                    "content; run to-value-semantics first",
                    op,
                )


def _at_end(block: Block) -> Builder:
    last = block.last_op
    return Builder.before(last) if last is not None and last.has_trait(Terminator) else Builder.at_end(block)


def _differentiate(block: Block, loss: Value, path: Sequence[Operation], wrt: Sequence[Value]) -> dict[Value, Value]:
    gradients: dict[Value, Value] = {}
    wanted = {r for op in path for r in op.results if not _stops(r)} | set(wrt)
    kind = loss.type
    assert isinstance(kind, RankedTensor)  # append_backward
    with _at_end(block):
        gradients[loss] = pd.full(shape=kind.shape, value=1.0, dtype=kind.element).out
        for op in reversed(path):
            model = op.interface(Grad)
            cotangents = [gradients.get(r) for r in op.results]
            if model is None or all(g is None for g in cotangents):
                continue
            with at_location(op.location):
                for value, given in zip(op.operands, model.grad(cotangents), strict=True):
                    if given is None or value not in wanted:
                        continue
                    earlier = gradients.get(value)
                    gradients[value] = given if earlier is None else pd.add(earlier, given).out
    return gradients
