"""Fold copies: vtensors pass through where a copy between tensor and vtensor has no purpose."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from typing import ClassVar, cast

import attrs

from tx8ir.core import (
    Block,
    Branch,
    Builder,
    Operation,
    Program,
    TensorType,
    Value,
    ViewLike,
    at_location,
    detached,
)
from tx8ir.dialects import builtin, func, pd, scf

from .alias import AliasAnalysis
from .pass_manager import Pass, register_pass
from .tasks import Task, run_tasks


@register_pass
@attrs.frozen
class FoldCopies(Pass):
    """Removes copies (`to_tensor`, `to_vtensor`) that nothing needs, within and across blocks.

    1. What a tensor holds is known after `to_tensor`, `to_vtensor` and `pd.assign_` until something may write its
       storage; a `to_vtensor` in between is replaced by it.
    2. A tensor whose storage the function does not write, nor anything it calls, is as good as a value. Reads of it,
       through views, branches and loops too, become reads of the vtensor it was made from. Branch results and
       loop-carried tensors become vtensors. What is then unused goes away.

    A tensor is left, made by `to_tensor` as late as possible, where something takes a tensor: `return`, a call, a list.
    A tensor that comes from outside is read once, where it comes in.

    Assumes: nothing. Guarantees: after `to-value-semantics`, a function that writes no tensor has only vtensors, and
    copies only of tensor arguments, call operands, list elements and results. Idempotent. Cost: linear. Statistics:
    `folded` (reads that became values), `retyped` (results and arguments that became vtensors), `removed`.
    """

    name: ClassVar[str] = "fold-copies"

    def run(self, program: Program) -> None:
        analysis = AliasAnalysis(program)
        for function in program.body:
            if isinstance(function, func.FuncOp):
                self.count("folded", _forward(function, analysis, self.name))
        called = {op.callee.value for op in program.module.walk() if isinstance(op, func.CallOp)}
        for function in program.body:
            if isinstance(function, func.FuncOp):
                is_called = function.sym_name != "main" or "main" in called
                folding = _Folding(function, analysis, is_called, self.name)
                folding.run()
                self.count("folded", folding.folded)
                self.count("retyped", folding.retyped)
                self.count("removed", _remove_unused(function, self.name))


# --- what tensors hold, along the program -------------------------------------------------------------------------


class _Contents:
    """Walks a function in order and knows what tensors hold, as vtensors, until their storage may be written."""

    def __init__(self, analysis: AliasAnalysis, by: str) -> None:
        self.analysis = analysis
        self.by = by
        self.folded = 0
        self.known: dict[Value, Value] = {}
        self.on_storage: dict[int, dict[Value, None]] = {}
        self.undo: list[tuple[Value, Value | None]] = []

    def block(self, block: Block) -> Task:
        """Replace the reads in a block whose content is known."""
        for op in list(block):
            if isinstance(op, builtin.ToVTensorOp):
                content = self.known.get(op.x)
                if content is not None:
                    op.replace_with(content, self.by)
                    self.folded += 1
                elif isinstance(op.x.type, TensorType):
                    self._learn(op.x, op.out)
            elif isinstance(op, builtin.ToTensorOp):
                content = self.known.get(op.x) if isinstance(op.x.type, TensorType) else op.x
                if content is not None:
                    self._learn(op.out, content)
            elif op.regions:
                if not isinstance(op, scf.IfOp):
                    self._forget(op)  # a later round of a loop sees what an earlier one wrote
                for region in op.regions:
                    for inner in region.blocks:
                        mark = len(self.undo)
                        yield self.block(inner)
                        self._back_to(mark)
                self._forget(op)
            else:
                self._forget(op)
                if isinstance(op, pd.Assign_Op) and not isinstance(op.value.type, TensorType):
                    self._learn(op.x, op.value)
                    self._learn(op.out, op.value)

    def _learn(self, tensor: Value, content: Value) -> None:
        self.undo.append((tensor, self.known.get(tensor)))
        self._hold(tensor, content)

    def _hold(self, tensor: Value, content: Value) -> None:
        self.known[tensor] = content
        for storage in self.analysis.storages(tensor):
            self.on_storage.setdefault(storage, {})[tensor] = None

    def _forget(self, op: Operation) -> None:
        effects = self.analysis.effects(op)
        for storage in list(self.on_storage) if effects.opaque else effects.writes:
            for tensor in self.on_storage.pop(storage, ()):
                if tensor in self.known:
                    self.undo.append((tensor, self.known.pop(tensor)))

    def _back_to(self, mark: int) -> None:
        while len(self.undo) > mark:
            tensor, content = self.undo.pop()
            if content is None:
                self.known.pop(tensor, None)
            else:
                self._hold(tensor, content)


def _forward(function: func.FuncOp, analysis: AliasAnalysis, by: str) -> int:
    """Replace reads of tensors whose content is known; the number of reads replaced."""
    contents = _Contents(analysis, by)
    for block in function.body.blocks:
        run_tasks(contents.block(block))
        contents.known.clear()
        contents.on_storage.clear()
        contents.undo.clear()
    return contents.folded


# --- tensors that nobody writes -----------------------------------------------------------------------------------


class _Folding:
    """One function: tensors whose storage it does not write give way to vtensors, their *shadows*."""

    def __init__(self, function: func.FuncOp, analysis: AliasAnalysis, is_called: bool, by: str) -> None:
        self.function = function
        self.analysis = analysis
        self.by = by
        self.folded = 0
        self.retyped = 0
        self.shadows: dict[Value, Value] = {}
        self.copies: dict[Operation | Block, Operation] = {}  # the last copy put behind each place
        self.chosen: set[Value] = set()  # branch results and carried tensors that become vtensors
        self.kept = self._same_outside() if is_called else set[int]()

    def _same_outside(self) -> set[int]:
        """Storages whose identity a caller can see: returned twice, or existing outside and returned."""
        seen: set[int] = set()
        kept: set[int] = set()
        for op in self.function.walk():
            if isinstance(op, func.ReturnOp):
                for value in op.operands:
                    storages = self.analysis.storages(value)
                    kept |= storages & seen
                    seen |= storages
                    if self.analysis.is_external(value):
                        kept |= storages
        return kept

    def run(self) -> None:
        if self.analysis.is_opaque(self.function):
            return
        order = list(self.function.walk())
        for op in order:
            for value in _chosen_by_control(op):
                if self._is_stable(value) and self.kept.isdisjoint(self.analysis.storages(value)):
                    self.chosen.add(value)
        for value in self.chosen:
            value.type = cast(TensorType, value.type).to_vtensor()
            self.shadows[value] = value
            self.retyped += 1
        for op in order:
            if not isinstance(op, builtin.ToVTensorOp):
                self._operands(op)
        for op in order:  # last, because from here on vtensors stand where nothing else tells that they are ones
            if isinstance(op, builtin.ToVTensorOp):
                self._read(op)

    def _is_stable(self, value: Value) -> bool:
        return value in self.chosen or (isinstance(value.type, TensorType) and not self.analysis.is_written(value))

    def _operands(self, op: Operation) -> None:
        if op.interface(ViewLike) is not None:
            return  # where a view is used, its shadow takes its place
        tensors: dict[Value, Value] = {}
        for index, value in enumerate(op.operands):
            if not self._is_stable(value):
                continue
            taken = _taken(op, index)
            is_lost = not self._is_tensor(value)
            if (
                any(target in self.chosen for target in taken)
                or _reads_any(op)
                or (is_lost and _is_condition(op, index))
            ):
                if value not in self.chosen:
                    op.set_operand(index, self.shadow(value))
            elif is_lost:
                if value not in tensors:
                    shadow = self.shadow(value)
                    with at_location(op.location), Builder.before(op):
                        tensors[value] = builtin.to_tensor(shadow).out
                op.set_operand(index, tensors[value])

    def _read(self, op: builtin.ToVTensorOp) -> None:
        value = op.x
        if not self._is_stable(value):
            return
        if value not in self.shadows and _comes_from_outside(value) and op.parent is value.parent_block:
            op.detach()
            self._place(op, value)
            self.shadows[value] = op.out
            return
        op.replace_with(self.shadow(value), self.by)
        self.folded += 1

    def _is_tensor(self, value: Value) -> bool:
        """Whether a stable tensor stays one: it is not made by views of a value that became a vtensor."""
        while value not in self.chosen:
            op = value.defining_op
            if op is None or op.interface(ViewLike) is None:
                return True
            value = op.operands[0]
        return False

    def shadow(self, value: Value) -> Value:
        """What a stable tensor holds, as a vtensor that is made where the tensor is."""
        views: list[Value] = []
        while value not in self.shadows:
            op = value.defining_op
            if op is None or op.interface(ViewLike) is None:
                self.shadows[value] = self._made(value)
            else:
                views.append(value)
                value = op.operands[0]
        for result in reversed(views):
            op = cast(Operation, result.defining_op)
            if result not in self.shadows:
                with at_location(op.location), Builder.after(op):
                    shown = cast(ViewLike, op.interface(ViewLike)).forward(self.shadows[op.operands[0]])
                self.shadows.update(zip(op.results, shown, strict=True))
            value = result
        return self.shadows[value]

    def _place(self, copy: Operation, value: Value) -> None:
        """Put the copy of a tensor where the tensor comes from, behind the copies put there before."""
        source = value.owner
        last = self.copies.get(source, source if isinstance(source, Operation) else None)
        if last is not None and last.parent is not None:
            last.parent.insert_after(copy, last)
        else:
            cast(Block, source).prepend(copy)
        self.copies[source] = copy

    def _made(self, value: Value) -> Value:
        """The shadow of a tensor that is no view."""
        op = value.defining_op
        if _comes_from_outside(value):
            with at_location(op.location) if op is not None else nullcontext(), detached():
                copy = builtin.to_vtensor(value)
            self._place(copy, value)
            return copy.out
        assert op is not None  # block arguments come from outside
        type_ = cast(TensorType, value.type).to_vtensor()
        if isinstance(op, builtin.ToTensorOp):
            if not isinstance(op.x.type, TensorType):
                return op.x
            if self._is_stable(op.x):
                return self.shadow(op.x)
            with at_location(op.location), Builder.before(op):
                return builtin.to_vtensor(op.x).out
        with at_location(op.location), Builder.after(op):
            if isinstance(op, builtin.GetParameterOp):
                return builtin.get_parameter(parameter=op.parameter, out=type_).out
            if isinstance(op, pd.FeedOp):
                return pd.feed(feed_name=op.feed_name, col=op.col, out=type_).out
        raise AssertionError(f"{op.name} makes no tensor that is read at its place")


def _chosen_by_control(op: Operation) -> list[Value]:
    """The results and block arguments of `op` that control flow chooses."""
    values: list[Value] = []
    if isinstance(op, (scf.IfOp, scf.WhileOp)):
        values += op.results
        for region in op.regions:
            for block in region.blocks:
                values += block.args
    for block in op.successors:
        values += block.args
    return values


def _taken(op: Operation, index: int) -> tuple[Value, ...]:
    """The values that control flow gives operand `index` to."""
    parent = op.parent_op
    if isinstance(op, scf.WhileOp):
        return (op.before.block.args[index],)
    if isinstance(op, scf.ConditionOp) and isinstance(parent, scf.WhileOp) and index:
        return (parent.after.block.args[index - 1], parent.results[index - 1])
    if isinstance(op, scf.YieldOp) and isinstance(parent, scf.IfOp):
        return (parent.results[index],)
    if isinstance(op, scf.YieldOp) and isinstance(parent, scf.WhileOp):
        return (parent.before.block.args[index],)
    branch = op.interface(Branch)
    if branch is None:
        return ()
    counts = [len(branch.successor_operands(i)) for i in range(len(op.successors))]
    at = index - (len(op.operands) - sum(counts))  # the operands of successors are the last ones, in order
    for count, block in zip(counts, op.successors, strict=True):
        if 0 <= at < count:
            return (block.args[at],)
        at -= count
    return ()


def _reads_any(op: Operation) -> bool:
    """Whether `op` reads its operand and takes a vtensor as well."""
    return isinstance(op, (builtin.ToTensorOp, builtin.SetParameterOp, pd.FetchOp))


def _is_condition(op: Operation, index: int) -> bool:
    return index == 0 and (isinstance(op, (scf.IfOp, scf.ConditionOp)) or len(op.successors) > 1)


def _comes_from_outside(value: Value) -> bool:
    op = value.defining_op
    return not isinstance(op, (builtin.ToTensorOp, builtin.GetParameterOp, pd.FeedOp)) and (
        op is None or op.interface(ViewLike) is None
    )


def _remove_unused(function: func.FuncOp, by: str) -> int:
    """Erase copies, views and reads of parameters and inputs without a user; how many.

    One feed of each name stays: the program has that input.
    """
    removed = 0
    ops = list(function.walk())
    feeds = Counter(op.feed_name for op in ops if isinstance(op, pd.FeedOp))
    for op in reversed(ops):
        kinds = (builtin.ToTensorOp, builtin.ToVTensorOp, builtin.GetParameterOp, pd.FeedOp)
        if (isinstance(op, kinds) or op.interface(ViewLike) is not None) and not any(r.has_uses for r in op.results):
            if isinstance(op, pd.FeedOp):
                if feeds[op.feed_name] == 1:
                    continue
                feeds[op.feed_name] -= 1
            op.erase(by)
            removed += 1
    return removed
