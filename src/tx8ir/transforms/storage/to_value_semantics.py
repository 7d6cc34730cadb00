"""To value semantics: operations compute on vtensors; storage that a function owns is written no more."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import ClassVar, Final, cast

import attrs

from tx8ir.analysis import AliasAnalysis
from tx8ir.analysis.storage_origin import Places
from tx8ir.core import (
    Block,
    Branch,
    HasValueSemantics,
    InPlaceUpdate,
    Operation,
    OpOperand,
    Program,
    Region,
    TensorType,
    Value,
    relaxed_gc,
)
from tx8ir.core.attrs.attributes import EMPTY_DICT
from tx8ir.core.ir.dominance import immediate_dominators
from tx8ir.core.ir.operation import create_unchecked
from tx8ir.dialects import builtin, func, pd
from tx8ir.passes import Pass, register_pass

from .copies import inserted, read_before, tensor_after
from .promote_storage import PromoteStorage


@register_pass
@attrs.frozen
class ToValueSemantics(Pass):
    """Makes operations compute on vtensors, and replaces writes by new values where every alias is known.

    1. What is taken from a list or dictionary that is made in the program is what was put in.
    2. An operation with value semantics on tensors reads them through `to_vtensor` and gives its results through
       `to_tensor`.
    3. An in-place `foo_` becomes `foo`. When the function allocates the storage written (by `to_tensor`, or a call that
       does) and owns it, the storage is a new value from there on, and so are all its aliases; else `pd.assign_` writes
       the result of `foo` to it. A write through views scatters back into what they are views of, by their inverses;
       reading a view applies it to the storage as it is then. Storage written in a branch or loop becomes a result of
       it and a loop-carried value; storage written on the ways to a block of several predecessors becomes an argument
       of it (`promote_storage`).
    4. Storage that control flow chooses between several (a branch, a loop, the argument of a block) is new storage when
       none of these is used any more (`analysis.storage_origin`).

    Storage stays written by `pd.assign_` when it exists outside of the function (arguments, parameters, inputs), when
    it is written after a name for it was given away (to a list, a call that returns it, a branch or loop that chooses
    between it and storage that is still used), and when it is chosen from such storage; in a function with branches
    that do not say what they give (`Branch`) always.

    Assumes: nothing. Blocks that the entry of a function does not reach are erased. Guarantees: no in-place operation
    but `pd.assign_` is left, none of storage that is owned and known; no operation with value semantics has a tensor
    operand. Idempotent. Cost: linear (see `promote_storage`). Statistics: `opened` (lists, and what is taken from
    them),
    `wrapped`, `rewritten` (in-place operations), `owned` (storages that are written no more), `unreachable` (blocks).
    """

    name: ClassVar[str] = "to-value-semantics"

    def run(self, program: Program) -> None:
        with relaxed_gc():
            self._run(program)

    def _run(self, program: Program) -> None:
        for function in program.body:
            if isinstance(function, func.FuncOp) and len(function.body) > 1:
                self.count("unreachable", _erase_unreachable(function.body, self.name))
        kinds = _Kinds()
        containers: list[Operation] = []
        inplace: list[Operation] = []
        values: list[Operation] = []
        for op in program.module.walk():
            kind = kinds[op.__class__]
            if kind is _Kind.CONTAINER:
                containers.append(op)
            elif kind is _Kind.INPLACE:
                inplace.append(op)
            elif kind is _Kind.VALUE:
                values.append(op)
        self.count("opened", _open_lists(containers, self.name))
        self.count("wrapped", sum(map(_wrap, values)))
        if not inplace:
            return
        for op in inplace:
            op.results[0].replace_all_uses_with(op.operands[0])
        self.count("rewritten", sum(_update(op).stored() is None for op in inplace))
        rewritten: set[Operation] = set()
        known: list[AliasAnalysis] = []

        def analysis() -> AliasAnalysis:
            if not known:
                known.append(AliasAnalysis(program))
            return known[0]

        for function in program.body:
            if isinstance(function, func.FuncOp) and _has_known_branches(function.body):
                places = Places(function, analysis)
                if places.owned:
                    PromoteStorage(function, places, self.name).run()
                    self.count("owned", len(places.owned))
                    rewritten.update(op for storage in places.owned.values() for op in storage.writes)
        for op in inplace:
            if op not in rewritten:
                _rewrite_inplace(op, self.name)


class _Kind(enum.Enum):
    """What the pass does with the operations of a class."""

    NOTHING = enum.auto()
    CONTAINER = enum.auto()
    INPLACE = enum.auto()
    VALUE = enum.auto()


_CONTAINERS: Final = (builtin.SliceOp, builtin.GetItemOp, builtin.SplitOp, builtin.CombineOp, builtin.MakeDictOp)


class _Kinds(dict[type[Operation], _Kind]):
    """The kind of each class; found on first sight."""

    __slots__ = ()

    def __missing__(self, cls: type[Operation]) -> _Kind:
        kind = _Kind.NOTHING
        if issubclass(cls, _CONTAINERS):
            kind = _Kind.CONTAINER
        elif InPlaceUpdate in cls.info.interfaces:
            kind = _Kind.INPLACE
        elif HasValueSemantics in cls.info.traits:
            kind = _Kind.VALUE
        self[cls] = kind
        return kind


def _open_lists(containers: Sequence[Operation], by: str) -> int:
    """Replace the elements taken from lists and dictionaries that are made here; how many operations went."""
    removed = 0
    made: list[Operation] = []
    for op in containers:
        given: list[Value] | None = None
        if isinstance(op, (builtin.SliceOp, builtin.GetItemOp)):
            element = op.fold(())
            given = [element] if isinstance(element, Value) else None
        elif isinstance(op, builtin.SplitOp):
            combine = op.x.defining_op
            given = list(combine.inputs) if isinstance(combine, builtin.CombineOp) else None
        else:
            made.append(op)
        if given is not None:
            op.replace_with(given, by)
            removed += 1
    for op in reversed(made):  # a list in a list goes after the one it is in
        if not op.results[0].has_uses:
            op.erase(by)
            removed += 1
    return removed


def _wrap(op: Operation) -> int:
    """Read tensor operands through `to_vtensor`, give tensor results through `to_tensor`; 1 when there were any."""
    changed = _read_operands(op, op.op_operands)
    for result in op.results:
        if isinstance(result.type, TensorType):
            result.type = result.type.to_vtensor()
            uses = list(result.uses)
            given = tensor_after(result, op)
            for use in uses:
                use.set(given)
            changed = True
    return int(changed)


def _read_operands(op: Operation, uses: Sequence[OpOperand]) -> bool:
    """Let uses by `op` of tensors read them through `to_vtensor`; whether there were any."""
    read: dict[Value, Value] = {}
    for use in uses:
        value = use.value
        if isinstance(value.type, TensorType):
            if value not in read:
                read[value] = read_before(value, op)
            use.set(read[value])
    return bool(read)


def _update(op: Operation) -> InPlaceUpdate:
    return cast(InPlaceUpdate, op.interface(InPlaceUpdate))


def _rewrite_inplace(op: Operation, by: str) -> None:
    """`foo_` as `foo` and `pd.assign_`."""
    target = op.operands[0]
    update = _update(op)
    if update.stored() is not None:
        _read_operands(op, op.op_operands[1:])
        return
    read: dict[Value, Value] = {}
    operands = op.operands
    for value in operands:
        if value not in read:
            read[value] = read_before(value, op) if isinstance(value.type, TensorType) else value
    content = inserted(update.new_content([read[value] for value in operands]), op)
    block = cast(Block, op.parent)
    write = create_unchecked(
        pd.Assign_Op, (target, content), (target.type,), EMPTY_DICT, (), (), op.location
    )  # types are those of `foo_`: its result has the type of its first operand
    block.insert_before(write, op)
    op.erase(by)


def _has_known_branches(region: Region) -> bool:
    """Whether all branches between its blocks say what they give to these."""
    ends = [block.last_op for block in region.blocks]
    return all(op is None or not op.successors or op.interface(Branch) is not None for op in ends)


def _erase_unreachable(region: Region, by: str) -> int:
    """Erase the blocks that no way from the entry leads to; how many."""
    reached = immediate_dominators(region)
    gone = [block for block in region.blocks if block not in reached]
    for block in gone:  # their values are used in each other only
        for op in list(block):
            for inner in op.walk():
                inner.set_operands(())
    for block in gone:
        for op in list(block):
            op.erase(by)
    for block in gone:
        block.erase(by)
    return len(gone)
