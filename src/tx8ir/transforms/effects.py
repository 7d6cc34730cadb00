"""What passes may do with an operation without knowing it: drop it, merge it, read a parameter as a constant."""

from __future__ import annotations

from tx8ir.core import (
    ConstantLike,
    IsolatedFromAbove,
    Operation,
    Program,
    Pure,
    ReadOnly,
    Symbol,
    TensorType,
    Terminator,
)
from tx8ir.dialects import builtin


class DroppableKinds(dict[type[Operation], bool]):
    """Whether operations of a class may be dropped when no result is used, as far as the class can tell.

    True for `Pure` and `ReadOnly` kinds that are neither terminators nor symbols. `is_droppable` also looks at the
    operation. One dict lookup per question; a class is looked at once.
    """

    __slots__ = ()

    def __missing__(self, kind: type[Operation]) -> bool:
        traits = kind.info.traits
        effect_free = Pure in traits or ReadOnly in traits or ConstantLike in traits
        self[kind] = effect_free and Terminator not in traits and Symbol not in traits
        return self[kind]


def has_tensor_operand(op: Operation) -> bool:
    """True when an operand is a `TensorType`, which may alias others and be changed behind the operation's back."""
    return any(value.type.__class__ is TensorType for value in op.operands)


def is_droppable(op: Operation, kinds: DroppableKinds) -> bool:
    """True when `op`, with no result used, may be removed: no effect of its own, none inside its regions, no tensor
    operand.

    O(operations inside `op`).
    """
    if not kinds[op.__class__] or has_tensor_operand(op):
        return False
    if not op.regions:
        return True
    return all(
        inner is op or inner.has_trait(Terminator) or (kinds[inner.__class__] and not has_tensor_operand(inner))
        for inner in op.walk()
    )


def is_isolated(op: Operation) -> bool:
    """True when the regions of `op` use no value from outside."""
    return IsolatedFromAbove in op.info.traits


def mutable_parameters(program: Program) -> frozenset[str]:
    """Names of the variables that some operation of `program`, or another program attached to its store, may write.

    A variable is mutable when the store says so, when a `set_parameter` names it, or when a `get_parameter` yields a
    `TensorType`, an alias through which it could be written. O(operations).
    """
    names = {name for name, variable in program.weights.items() if variable.is_mutable}
    for op in program.module.walk():
        if isinstance(op, builtin.SetParameterOp) or (
            isinstance(op, builtin.GetParameterOp) and op.out.type.__class__ is TensorType
        ):
            names.add(op.parameter)
    return frozenset(names)
