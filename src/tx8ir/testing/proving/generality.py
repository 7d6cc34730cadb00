"""Leaves out programs that are special cases of others: what the rule does there, it does to any number.

An operand of the root, be it a constant, the result of an operation or an input used before, is replaced by a new
input. Where the rule still fits, and makes of it what it made of the special program, the general one proves both.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

from tx8ir.core import Commutative, Program, RankedTensor, Value, VTensorType
from tx8ir.testing.cases.mutation.values import add_input

from .instances import Instance
from .scalars import operations

Applied: TypeAlias = Callable[[Instance], "Program | None"]
"""The program after a rule was applied to the root of an instance, None where it does not fit."""


def is_special_case(instance: Instance, after: Program, apply: Applied) -> bool:
    """Whether a program with a new input in place of one operand of the root is rewritten in the same way.

    Args:
        instance: a program that the rule fits.
        after: what the rule has made of it.
        apply: applies the rule.
    """
    arguments = instance.program.main.body.block.args
    for place, operand in enumerate(instance.root.operands):
        is_general = operand in arguments and sum(v is operand for v in instance.root.operands) == 1
        if is_general or not isinstance(operand.type, RankedTensor):
            continue
        general = _generalized(instance, place, operand.type.to_vtensor())
        rewritten = apply(general)
        if rewritten is None or rewritten.outputs != after.outputs:
            continue
        terms = _Terms()
        inputs = [terms.of(("input", i)) for i in range(len(arguments))]
        before = terms.values(instance.program, inputs)
        if terms.results(rewritten, [*inputs, before[operand]]) == terms.results(after, inputs):
            return True
    return False


def _generalized(instance: Instance, place: int, kind: VTensorType) -> Instance:
    position = operations(instance.program).index(instance.root)
    program = instance.program.clone()
    root = operations(program)[position]
    root.set_operand(place, add_input(program, kind))
    return Instance(program, root)


def is_reordered(before: Program, after: Program) -> bool:
    """Whether only the order of the operands of commutative operations is another, which no number can tell."""
    terms = _Terms(commutes=True)
    inputs = [terms.of(("input", i)) for i in range(len(before.inputs))]
    return terms.results(before, inputs) == terms.results(after, inputs)


class _Terms:
    """Numbers for terms: equal terms over equal inputs have the same (hash consing).

    commutes: whether terms are equal in which a commutative operation has its operands in another order.
    """

    def __init__(self, *, commutes: bool = False) -> None:
        self._known: dict[Hashable, int] = {}
        self._commutes = commutes

    def of(self, key: Hashable) -> int:
        return self._known.setdefault(key, len(self._known))

    def values(self, program: Program, inputs: Sequence[int]) -> dict[Value, int]:
        """The term of each value of `main`. O(operations)."""
        found: dict[Value, int] = dict(zip(program.main.body.block.args, inputs, strict=True))
        for op in operations(program):
            attributes = tuple((key, str(value)) for key, value in op.attributes.items())
            operands = [found[v] for v in op.operands]
            if self._commutes and Commutative in op.info.traits:
                operands.sort()
            for index, result in enumerate(op.results):
                found[result] = self.of((op.name, index, attributes, *operands))
        return found

    def results(self, program: Program, inputs: Sequence[int]) -> list[int]:
        found = self.values(program, inputs)
        terminator = program.main.body.block.terminator
        return [] if terminator is None else [found[v] for v in terminator.operands]
