"""What passes may do with an operation without knowing it: drop it, merge it, read a parameter as a constant."""

from __future__ import annotations

from typing import Final

from tx8ir.core import (
    ConditionallySpeculatable,
    ConstantLike,
    IsolatedFromAbove,
    Operation,
    Program,
    Pure,
    RankedTensor,
    ReadOnly,
    RecursiveEffects,
    Symbol,
    Terminator,
    VTensorType,
)

_EFFECT_FREE: Final = frozenset((Pure, ReadOnly, ConstantLike, RecursiveEffects))


class DroppableKinds(dict[type[Operation], bool]):
    """Whether operations of a class may be dropped when no result is used, as far as the class can tell.

    True for `Pure` and `ReadOnly` kinds, and for those whose effects are the ones inside them, that are neither
    terminators nor symbols. `is_droppable` also looks at the operation. One dict lookup per question; a class is
    looked at once.
    """

    __slots__ = ()

    def __missing__(self, kind: type[Operation]) -> bool:
        traits = kind.info.traits
        effect_free = not traits.isdisjoint(_EFFECT_FREE)
        self[kind] = effect_free and Terminator not in traits and Symbol not in traits
        return self[kind]


def is_droppable(op: Operation, kinds: DroppableKinds, kept: set[Operation] | None = None) -> bool:
    """True when `op`, with no result used, may be removed: no effect of its own, none inside its regions.

    Reading a tensor, or showing it from another side, is not an effect; writing one is.

    O(operations inside `op`). A caller that asks about operations inside one another hands in the same set `kept` each
    time: it collects the operations around each effect found, so that no effect is looked for twice.
    """
    if not kinds[op.__class__] or (kept is not None and op in kept):
        return False
    if not op.regions:
        return True
    for inner in op.walk():
        if inner is op or inner.has_trait(Terminator):
            continue
        if not kinds[inner.__class__] or (kept is not None and inner in kept):
            if kept is not None:
                around: Operation | None = inner
                while around is not None:
                    kept.add(around)
                    around = around.parent_op if around is not op else None
            return False
    return True


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
