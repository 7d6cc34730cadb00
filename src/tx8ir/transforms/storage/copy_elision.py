"""Fold copies: vtensors pass through where a copy between tensor and vtensor has no purpose."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from typing import ClassVar, Final, cast

import attrs

from tx8ir.analysis import AliasAnalysis
from tx8ir.analysis.control_flow import forwarded_operands, is_choice
from tx8ir.analysis.storage_origin import only_read, takes_value
from tx8ir.core import (
    Block,
    Builder,
    CallLike,
    ConstantLike,
    HasValueSemantics,
    Inplace,
    InPlaceUpdate,
    MemoryEffects,
    NamedStorage,
    Operation,
    OpOperand,
    ParameterAccess,
    Program,
    Pure,
    ReadOnly,
    Snapshot,
    TensorType,
    Value,
    ViewLike,
    at_location,
    detached,
    relaxed_gc,
)
from tx8ir.core.ir.calls import returns_of
from tx8ir.core.ir.region_branch import region_flow
from tx8ir.dialects import builtin, func
from tx8ir.passes import Pass, register_pass
from tx8ir.support.trampoline import Task, run_trampoline

from .copies import read_before, tensor_before


@register_pass
@attrs.frozen
class CopyElision(Pass):
    """Removes copies (`to_tensor`, `to_vtensor`) that nothing needs, within and across blocks.

    1. A tensor whose storage the function does not write, nor anything it calls, is as good as a value. Reads of it,
       through views, branches and loops too, become reads of the vtensor it was made from. Branch results and
       loop-carried tensors become vtensors.
    2. What any other tensor holds is known after `to_tensor`, `to_vtensor` and `pd.assign_` until something may write
       its storage; a `to_vtensor` in between is replaced by it.
    3. What is then unused goes away.

    A tensor is left, made by `to_tensor` as late as possible, where something takes a tensor: `return`, a call, a list.
    A tensor that comes from outside is read once, where it comes in.

    Assumes: nothing. Guarantees: after `to-value-semantics`, a function that writes no tensor has only vtensors, and
    copies only of tensor arguments, call operands, list elements and results. A second run finds nothing: where a
    function was called with two names of one storage and is called with two copies now, all functions are gone through
    again.
    Cost: linear, for each time. Statistics:
    `folded` (reads that became values), `retyped` (results and arguments that became vtensors), `removed`.
    """

    name: ClassVar[str] = "copy-elision"
    aliases: ClassVar[tuple[str, ...]] = ("fold-copies",)  # its name until 0.1; for one release

    def run(self, program: Program) -> None:
        with relaxed_gc():
            self._run(program)

    def _run(self, program: Program) -> None:
        if not any(isinstance(v.type, TensorType) for op in program.module.walk() for v in _defined(op)):
            return
        analysis = self.analyses.get(AliasAnalysis, program)
        shared = _shared_arguments(program, analysis)
        self._round(program, analysis)
        while shared:
            analysis = AliasAnalysis(program)
            before, shared = shared, _shared_arguments(program, analysis)
            if shared >= before:
                break
            self._round(program, analysis)

    def _round(self, program: Program, analysis: AliasAnalysis) -> None:
        called = {call.callee_symbol() for call in _calls(program)}
        for function in program.body:
            if isinstance(function, func.FuncOp):
                is_called = function.sym_name != "main" or "main" in called
                folding = _Folding(function, analysis, is_called, self.name)
                folding.run()
                # Last, because copies of what is never written have become copies of values only now, and what is
                # read where it is copied is known from here on.
                self.count("folded", folding.folded + _forward(function, analysis, self.name))
                self.count("retyped", folding.retyped)
                self.count("removed", _remove_unused(function, self.name))


def _calls(program: Program) -> list[CallLike]:
    calls = (op.interface(CallLike) for op in program.module.walk() if CallLike in op.info.interfaces)
    return [call for call in calls if call is not None]


def _shared_arguments(program: Program, analysis: AliasAnalysis) -> int:
    """How many arguments of calls share storage with one before them."""
    count = 0
    for call in _calls(program):
        seen: set[int] = set()
        for argument in call.call_arguments():
            storages = analysis.storages(argument)
            count += not seen.isdisjoint(storages)
            seen |= storages
    return count


def _defined(op: Operation) -> Sequence[Value]:
    """What `op` and its regions define: its results, and the arguments of its blocks."""
    if not op.regions:
        return op.results
    return [*op.results, *(argument for region in op.regions for block in region.blocks for argument in block.args)]


# --- what tensors hold, along the program -------------------------------------------------------------------------


class _Kind(enum.Enum):
    """What operations of a class do to what is known of tensors."""

    HARMLESS = enum.auto()
    READ = enum.auto()
    COPY = enum.auto()
    OTHER = enum.auto()


_HARMLESS: Final = frozenset((Pure, ReadOnly, HasValueSemantics, ConstantLike))


class _Kinds(dict[type[Operation], _Kind]):
    """The kind of each class; found on first sight."""

    __slots__ = ()

    def __missing__(self, cls: type[Operation]) -> _Kind:
        kind = _Kind.OTHER
        if cls is builtin.ToVTensorOp:
            kind = _Kind.READ
        elif cls is builtin.ToTensorOp:
            kind = _Kind.COPY
        elif not cls.info.traits.isdisjoint(_HARMLESS) and Inplace not in cls.info.traits:
            kind = _Kind.HARMLESS
        self[cls] = kind
        return kind


class _Contents:
    """Walks a function in order and knows what tensors hold, as vtensors, until their storage may be written."""

    def __init__(self, analysis: AliasAnalysis, by: str) -> None:
        self.analysis = analysis
        self.by = by
        self.kinds = _Kinds()
        self.folded = 0
        self.known: dict[Value, Value] = {}
        self.on_storage: dict[int, dict[Value, None]] = {}
        self.undo: list[tuple[Value, Value | None]] = []

    def block(self, block: Block) -> Task:
        """Replace the reads in a block whose content is known."""
        kinds = self.kinds
        for op in block:
            kind = kinds[op.__class__]
            if kind is _Kind.HARMLESS and not op.regions:
                continue
            if kind is _Kind.READ:
                x = op.operands[0]
                content = self.known.get(x)
                if content is not None:
                    op.replace_with(content, self.by)
                    self.folded += 1
                elif isinstance(x.type, TensorType):
                    self._learn(x, op.results[0])
            elif kind is _Kind.COPY:
                x = op.operands[0]
                content = self.known.get(x) if isinstance(x.type, TensorType) else x
                if content is not None:
                    self._learn(op.results[0], content)
            elif op.regions:
                if not is_choice(region_flow(op)):
                    self._forget(op)  # a later round of a loop sees what an earlier one wrote
                for region in op.regions:
                    for inner in region.blocks:
                        mark = len(self.undo)
                        yield self.block(inner)
                        self._back_to(mark)
                self._forget(op)
            else:
                self._forget(op)
                update = op.interface(InPlaceUpdate)
                stored = update.stored() if update is not None else None
                if stored is not None and not isinstance(stored.type, TensorType):
                    self._learn(op.operands[0], stored)
                    self._learn(op.results[0], stored)

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
        run_trampoline(contents.block(block))
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
        self.copies: dict[Operation | Block, Operation] = {}  # the last copy put after each place
        self.chosen: set[Value] = set()  # branch results and carried tensors that become vtensors
        self.kept = self._same_outside() if is_called else set[int]()

    def _same_outside(self) -> set[int]:
        """Storages whose identity a caller can see: returned twice, or existing outside and returned."""
        seen: set[int] = set()
        kept: set[int] = set()
        for op in returns_of(self.function.body):
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
            for value in _chosen_by_control(op) if op.regions or op.successors else ():
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
        uses = [use for use in op.op_operands if self._is_stable(use.value)]
        if not uses or op.interface(ViewLike) is not None:
            return  # where a view is used, its shadow takes its place
        given = forwarded_operands(op)
        tensors: dict[Value, Value] = {}
        for use in uses:
            value, index = use.value, use.index
            targets = given[index].targets if given is not None else ()
            decides = given is not None and not targets
            becomes_value = not self.chosen.isdisjoint(targets)
            if becomes_value or ((decides or _reads(op, use)) and takes_value(use)):
                if value not in self.chosen:
                    use.set(self.shadow(value))
            elif not self._is_tensor(value):
                if value not in tensors:
                    tensors[value] = tensor_before(self.shadow(value), op)
                use.set(tensors[value])

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
        found = self.shadows.get(value)
        while found is None:
            op = value.defining_op
            if op is not None and op.interface(ViewLike) is not None:
                views.append(value)
                value = op.operands[0]
                found = self.shadows.get(value)
            elif isinstance(op, builtin.ToTensorOp) and not isinstance(op.x.type, TensorType):
                found = op.x  # not to be kept: what it copies may be replaced yet
            else:
                found = self.shadows[value] = self._made(value)
        for result in reversed(views):
            op = cast(Operation, result.defining_op)
            if result not in self.shadows:
                with at_location(op.location), Builder.after(op):
                    shown = cast(ViewLike, op.interface(ViewLike)).forward(found)
                self.shadows.update(zip(op.results, shown, strict=True))
            found = self.shadows[result]
        return found

    def _place(self, copy: Operation, value: Value) -> None:
        """Put the copy of a tensor where the tensor comes from, after the copies put there before."""
        source = value.owner
        last = self.copies.get(source, source if isinstance(source, Operation) else None)
        if last is not None and last.parent is not None:
            last.parent.insert_after(copy, last)
        else:
            cast(Block, source).prepend(copy)
        self.copies[source] = copy

    def _made(self, value: Value) -> Value:
        """The shadow of a tensor that is not a view."""
        op = value.defining_op
        if _comes_from_outside(value):
            with at_location(op.location) if op is not None else nullcontext(), detached():
                copy = builtin.to_vtensor(value)
            self._place(copy, value)
            return copy.out
        assert op is not None  # block arguments come from outside
        if isinstance(op, builtin.ToTensorOp):
            return self.shadow(op.x) if self._is_stable(op.x) else read_before(op.x, op)
        with at_location(op.location), Builder.after(op):
            return cast(Snapshot, op.interface(Snapshot)).snapshot()


def _chosen_by_control(op: Operation) -> list[Value]:
    """The results and block arguments of `op` that control flow chooses."""
    flow = region_flow(op)
    if flow is not None:
        return list(dict.fromkeys(value for _, _, edge in flow.with_ends() for value in edge.inputs))
    return [argument for block in op.successors for argument in block.args]


def _reads(op: Operation, use: OpOperand) -> bool:
    """Whether `op` reads an operand and does nothing else with it."""
    interfaces = op.info.interfaces
    if MemoryEffects in interfaces:
        return use.value in only_read(op)
    return isinstance(op, builtin.ToTensorOp) or ParameterAccess in interfaces


def _comes_from_outside(value: Value) -> bool:
    op = value.defining_op
    return op is None or not (
        isinstance(op, builtin.ToTensorOp) or Snapshot in op.info.interfaces or ViewLike in op.info.interfaces
    )


def _remove_unused(function: func.FuncOp, by: str) -> int:
    """Erase copies, views and reads of parameters and inputs without a user; how many.

    One feed of each name stays: the program has that input.
    """
    removed = 0
    ops = list(function.walk())
    feeds = Counter(feed for op in ops if (feed := _feed(op)) is not None)
    for op in reversed(ops):
        if any(r.has_uses for r in op.results):
            continue
        if isinstance(op, (builtin.ToTensorOp, builtin.ToVTensorOp)) or not _SHOWING.isdisjoint(op.info.interfaces):
            feed = _feed(op)
            if feed is not None:
                if feeds[feed] == 1:
                    continue
                feeds[feed] -= 1
            op.erase(by)
            removed += 1
    return removed


_SHOWING: Final = frozenset((Snapshot, ViewLike))
"""What makes another name of storage, or reads it: nothing is lost when nobody uses that."""


def _feed(op: Operation) -> NamedStorage | None:
    """The input of the program that `op` is, if it is one."""
    model = op.interface(MemoryEffects) if Snapshot in op.info.interfaces else None
    named = [e.storage for e in model.memory_effects() if isinstance(e.storage, NamedStorage)] if model else []
    return named[0] if named and named[0].kind == "feed" else None
