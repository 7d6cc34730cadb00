"""Reverse-mode differentiation of a program: operations that compute gradients, after those that compute a loss."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, cast

import attrs

from tx8ir.analysis import AliasAnalysis
from tx8ir.analysis.control_flow import is_choice, is_loop
from tx8ir.core import (
    Block,
    Builder,
    CallLike,
    DictAttr,
    Grad,
    Inplace,
    IrError,
    Op,
    Operation,
    Program,
    Pure,
    RankedTensor,
    RecursiveEffects,
    Region,
    RegionBranch,
    TensorType,
    Terminator,
    Value,
    at_location,
    insert_here,
)
from tx8ir.core.ir.region_branch import region_branch_around, region_flow
from tx8ir.core.opdef.definition import SEGMENTS
from tx8ir.core.opdef.operand_fields import set_operand_ranges
from tx8ir.dialects import builtin, pd
from tx8ir.support.screen import fitting_repr
from tx8ir.support.trampoline import Task, run_trampoline

STOP_GRADIENT = "stop_gradient"
"""Attribute of an operation: no gradient flows to its results. True for all of them, or one truth value for each."""


@attrs.frozen(eq=False)
class Gradients:
    """Gradients of a loss, vtensors at the end of the block that computes it.

    Attributes:
        parameters: by the name of each parameter that the loss depends on; summed over its reads.
        values: by each value asked for that the loss depends on.
    """

    __repr__ = fitting_repr

    parameters: Mapping[str, Value]
    values: Mapping[Value, Value]


def append_backward(
    program: Program, loss: Value, *, parameters: Collection[str] | None = None, wrt: Sequence[Value] = ()
) -> Gradients:
    """Compute the gradients of `loss`: operations are added to its block, before the terminator.

    No gradient flows through results marked by the attribute `stop_gradient`, nor through those whose operation gives
    none (labels, say). The gradient of a choice (`scf.if`, or another operation with `RegionBranch` that runs at most
    one of its regions, once) is one on the same condition: it computes the side that was taken once more, and its
    gradients by what the side uses from outside.

    Args:
        program: what `loss` is part of.
        loss: a floating-point tensor of one element.
        parameters: names of the parameters to differentiate by; by default all that the block reads and `loss` depends
            on, each with a floating-point type.
        wrt: other values to differentiate by, computed in the block of `loss` or its arguments.

    Raises:
        IrError: `loss` is not such a tensor; an operation between has no `Grad` (`inline` replaces calls, `unroll`
        loops
            of known length), works in place, reads a tensor whose storage the program writes (`to-value-semantics` and
            `copy-elision` make values of those that nobody else sees), or does anything but compute inside a branch; a
            parameter that the loss does not depend on. The error says where the operation was made; the program is
            then as it was.
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
        gradients: dict[Value, Value] = {}
        with _at_end(block):
            gradients[loss] = pd.full(shape=kind.shape, value=1.0, dtype=kind.element).out
            run_trampoline(_backward(path, gradients, set(wrt)))
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
    """Whether no gradient flows to `value`: it is marked, or is not a floating-point tensor."""
    if not isinstance(value.type, RankedTensor) or not value.type.element.is_float:
        return True
    op = value.defining_op
    mark = op.attributes.get(STOP_GRADIENT) if op is not None else None
    if op is None or mark is None:
        return False
    given: Any = mark.value
    return bool(given if isinstance(given, bool) else given[op.results.index(value)])


def _inputs(op: Operation) -> list[Value]:
    """What an operation uses: its operands, and what is used inside it and comes from outside; each once."""
    if not op.regions:
        return list(dict.fromkeys(op.operands))
    found: dict[Value, None] = dict.fromkeys(op.operands)
    inside: set[Value] = set()
    for inner in op.walk():
        if inner is not op:
            found.update((value, None) for value in inner.operands if value not in inside)
            inside.update(inner.results)
    return list(found)


def _path(block: Block, loss: Value, parameters: Collection[str] | None, wrt: Sequence[Value]) -> list[Operation]:
    """The operations that a gradient flows through, or that read a parameter asked for; in program order."""

    def is_asked_for(op: builtin.GetParameterOp) -> bool:
        return parameters is None or op.parameter in parameters

    return _between(block, [loss], set(wrt), is_asked_for)


def _between(
    block: Block, ends: Sequence[Value], starts: set[Value], is_asked_for: Callable[[builtin.GetParameterOp], bool]
) -> list[Operation]:
    """The operations of a block that `ends` depend on and that depend on `starts` or a parameter asked for."""
    needed: set[Operation] = set()
    pending = [value.defining_op for value in ends if value.defining_op is not None]
    while pending:
        op = pending.pop()
        if op in needed:
            continue
        needed.add(op)
        pending += [v.defining_op for v in _inputs(op) if v.defining_op is not None and not _stops(v)]
    live = set(starts)
    path: list[Operation] = []
    for op in block:
        if op not in needed:
            continue
        if isinstance(op, builtin.GetParameterOp):
            flows = is_asked_for(op)
        else:
            flows = any(v in live for v in _inputs(op))
        if flows:
            live.update(r for r in op.results if not _stops(r))
            path.append(op)
    return path


def _advice(op: Operation) -> str:
    if CallLike in op.info.interfaces:
        return "; run inline first"
    return "; run unroll first, if its length is known" if is_loop(region_flow(op)) else ""


def _choice(op: Operation) -> RegionBranch | None:
    """The interface of an operation that runs one of its regions, which sees the values around it, and yields."""
    flow = region_flow(op)
    if flow is None or not is_choice(flow) or any(edge.inputs for edge in flow.edges(None)):
        return None
    ends = [edge for region in op.regions for edge in flow.edges(region)]
    return flow.branch if all(len(edge.inputs) == len(op.results) for edge in ends) else None


def _check(program: Program, path: Sequence[Operation]) -> None:
    for inner in (inner for op in path for inner in op.walk()):
        if inner.has_trait(Inplace):
            raise IrError(f"{inner.name} works in place, so it has no gradient; run to-value-semantics first", inner)
    analysis = AliasAnalysis(program)
    for op in path:
        if isinstance(op, builtin.GetParameterOp):
            continue
        if op.interface(Grad) is None and _choice(op) is None:
            raise IrError(f"{op.name} has no gradient (Grad){_advice(op)}", op)
        for inner in op.walk() if op.interface(Grad) is None else ():
            if not _only_computes(inner):
                raise IrError(
                    f"{inner.name} is in a branch that a gradient flows through, which may only compute"
                    + _advice(inner),
                    inner,
                )
        for value in (*_inputs(op), *op.results):
            if isinstance(value.type, TensorType) and analysis.is_written(value):
                raise IrError(
                    f"{op.name} has a tensor whose storage is written elsewhere, so its gradient would see another "
                    "content; run to-value-semantics first",
                    op,
                )


def _only_computes(op: Operation) -> bool:
    """Whether `op` may be in a branch: computed once more, it gives the same."""
    return (
        op.has_trait(Pure)
        or isinstance(op, (builtin.ToTensorOp, builtin.ToVTensorOp))
        or (op.has_trait(RecursiveEffects) and _choice(op) is not None)
        or region_branch_around(op) is not None
    )


def _at_end(block: Block) -> Builder:
    last = block.last_op
    return Builder.before(last) if last is not None and last.has_trait(Terminator) else Builder.at_end(block)


def _add(gradients: dict[Value, Value], value: Value, given: Value) -> None:
    earlier = gradients.get(value)
    gradients[value] = given if earlier is None else pd.add(earlier, given).out


def _backward(path: Sequence[Operation], gradients: dict[Value, Value], starts: set[Value]) -> Task:
    """Walk a path backwards and add up the gradients by the values on it, and by `starts`."""
    wanted = {r for op in path for r in op.results if not _stops(r)} | starts
    for op in reversed(path):
        cotangents = [gradients.get(r) for r in op.results]
        if isinstance(op, builtin.GetParameterOp) or all(g is None for g in cotangents):
            continue
        with at_location(op.location):
            model = op.interface(Grad)
            branch = _choice(op) if model is None else None
            if branch is not None:
                yield _backward_choice(op, branch, cotangents, gradients, wanted)
                continue
            if model is None:
                raise IrError(f"{op.name} has no gradient (Grad)", op)
            for value, given in zip(op.operands, model.grad(cotangents), strict=True):
                if given is not None and value in wanted:
                    _add(gradients, value, given)


def _backward_choice(
    op: Operation,
    branch: RegionBranch,
    cotangents: Sequence[Value | None],
    gradients: dict[Value, Value],
    wanted: set[Value],
) -> Task:
    """A choice that gives the gradients by what its sides use; a side computes its values once more."""
    used = [value for value in _inputs(op) if value in wanted]
    blocks: list[Block] = []
    try:
        for region in op.regions:
            (edge,) = branch.region_edges(region)
            blocks.append(Block())
            with Builder.at_end(blocks[-1]):
                yield _side(blocks[-1], region.block, cast(range, edge.forwarded), cotangents, used)
        regions = [Region([block]) for block in blocks]
    except BaseException:  # an error of this task, or of one further inside
        for inner in [inner for block in blocks for inner in block][::-1]:
            inner.erase("append_backward")
        raise
    types = [cast(RankedTensor, value.type).to_vtensor() for value in used]
    given = [builtin.to_vtensor(v).out if isinstance(v.type, TensorType) else v for v in op.operands]
    made = insert_here(branch.rebuilt(given, types, _declared(op), regions))
    for value, gradient in zip(used, made.results, strict=True):
        _add(gradients, value, gradient)


def _declared(op: Operation) -> DictAttr:
    """The attributes of `op` that its class declares."""
    definition = op.definition if isinstance(op, Op) else None
    keys = {SEGMENTS, *(field.key for field in definition.attributes)} if definition is not None else set(op.attributes)
    return DictAttr({key: op.attributes[key] for key in op.attributes if key in keys})


def _side(
    block: Block, source: Block, forwarded: range, cotangents: Sequence[Value | None], used: Sequence[Value]
) -> Task:
    """Fill the block of one side: what `source` computes, and the gradients by `used` from those of what it yields."""
    mapping: dict[Value, Value] = {}
    end = cast(Operation, source.last_op)
    for inner in source:
        if inner is not end:
            block.append(inner.clone(mapping))
    gradients: dict[Value, Value] = {}
    for value, given in zip(end.operands[forwarded.start : forwarded.stop], cotangents, strict=True):
        if given is not None:
            _add(gradients, mapping.get(value, value), given)
    path = _between(block, list(gradients), set(used), lambda _: False)
    yield _backward(path, gradients, set(used))
    given = [gradients[value] if value in gradients else _zeros(value) for value in used]
    ended: Operation = end.clone(mapping)
    set_operand_ranges(ended, [(forwarded, given)])
    block.append(ended)


def _zeros(value: Value) -> Value:
    type_ = cast(RankedTensor, value.type)
    return pd.full(shape=type_.shape, value=0.0, dtype=type_.element).out
