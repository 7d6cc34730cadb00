"""What passes may do with an operation without knowing it: drop it, merge it, read a parameter as a constant."""

from __future__ import annotations

import enum
from collections.abc import Container
from typing import Final

from tx8ir.core import (
    ConditionallySpeculatable,
    ConstantLike,
    EffectKind,
    IsolatedFromAbove,
    MemoryEffects,
    Operation,
    Program,
    Pure,
    RankedTensor,
    ReadOnly,
    RecursiveEffects,
    Symbol,
    Terminator,
    Value,
    VTensorType,
)

_EFFECT_FREE: Final = frozenset((Pure, ReadOnly, ConstantLike, RecursiveEffects))


class DroppableKinds(dict[type[Operation], "Drop"]):
    """Whether operations of a class may be dropped when no result is used, as far as the class can tell.

    One dict lookup per question; a class is looked at once. What is not dropped is false.
    """

    __slots__ = ()

    def __missing__(self, kind: type[Operation]) -> Drop:
        traits = kind.info.traits
        drop = Drop.NEVER
        if Terminator not in traits and Symbol not in traits:
            if not traits.isdisjoint(_EFFECT_FREE):
                drop = Drop.ALWAYS
            elif MemoryEffects in kind.info.interfaces:
                drop = Drop.IF_IT_ONLY_READS
        self[kind] = drop
        return drop


class Drop(enum.IntEnum):
    """When operations of a class may be dropped.

    ALWAYS goes for `Pure` and `ReadOnly` classes, which say so once for all their operations, and for those whose
    effects are the ones inside them; those that state effects (`MemoryEffects`) are asked.
    """

    NEVER = 0
    ALWAYS = 1
    IF_IT_ONLY_READS = 2


def only_reads(op: Operation, mutable: Container[str] = ()) -> bool:
    """Whether an operation with `MemoryEffects` states nothing but reads, of operands and of parameters.

    What else has a name, as the inputs of the program have, belongs to what the program is to others.

    Args:
        mutable: parameters that do not count.
    """
    model = op.interface(MemoryEffects)
    return model is not None and all(
        kind is EffectKind.READ
        and (isinstance(storage, Value) or (storage.kind == "parameter" and storage.name not in mutable))
        for kind, storage in model.memory_effects()
    )


def is_droppable(op: Operation, kinds: DroppableKinds, kept: set[Operation] | None = None) -> bool:
    """True when `op`, with no result used, may be removed: no effect of its own, none inside its regions.

    Reading a tensor, or showing it from another side, is not an effect; writing one is.

    O(operations inside `op`). A caller that asks about operations inside one another hands in the same set `kept` each
    time: it collects the operations around each effect found, so that no effect is looked for twice.
    """
    if not _may_go(op, kinds) or (kept is not None and op in kept):
        return False
    if not op.regions:
        return True
    for inner in op.walk():
        if inner is op or inner.has_trait(Terminator):
            continue
        if not _may_go(inner, kinds) or (kept is not None and inner in kept):
            if kept is not None:
                around: Operation | None = inner
                while around is not None:
                    kept.add(around)
                    around = around.parent_op if around is not op else None
            return False
    return True


def _may_go(op: Operation, kinds: DroppableKinds) -> bool:
    drop = kinds[op.__class__]
    return drop is Drop.ALWAYS or (drop is Drop.IF_IT_ONLY_READS and only_reads(op))


def may_fail(op: Operation) -> bool:
    """Whether evaluating `op`, an operation without regions, may end in an error.

    It may when it says so (`ConditionallySpeculatable`), and where shapes are not known or there are no elements:
    extents that do not fit, or the largest of nothing, are errors too.
    """
    fallible = op.interface(ConditionallySpeculatable)
    if fallible is not None and fallible.can_fail():
        return True
    ranked = [v.type for v in (*op.operands, *op.results) if isinstance(v.type, RankedTensor)]
    return any(not kind.is_static or kind.num_elements == 0 for kind in ranked)


def is_speculatable(op: Operation) -> bool:
    """Whether `op` may be evaluated where the program would not: pure, on vtensors alone, without regions, never fails.

    It costs time then, and nothing else.
    """
    return (
        Pure in op.info.traits
        and not op.regions
        and all(isinstance(v.type, VTensorType) for v in (*op.operands, *op.results))
        and not may_fail(op)
    )


def is_isolated(op: Operation) -> bool:
    """True when the regions of `op` use no value from outside."""
    return IsolatedFromAbove in op.info.traits


def mutable_parameters(program: Program) -> frozenset[str]:
    """Names of the variables that some operation of `program`, or another program attached to its store, may write.

    A variable is mutable when the store says so, or when an operation of a program attached to the store writes it or
    reads it as a `TensorType`, an alias through which it could be written. O(operations of these programs).
    """
    return program.mutable_parameters()
