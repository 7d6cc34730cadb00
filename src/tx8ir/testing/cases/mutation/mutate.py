"""Mutants of a program."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final, TypeAlias

from tx8ir.core import IrError, Program, detached
from tx8ir.testing.reduction.reduce import count_operations
from tx8ir.testing.reduction.tensor_types import infer_again

from . import control, operations, programs
from .fitting import Material

Mutator: TypeAlias = Callable[[Program, random.Random, Material], bool]
"""Edits a program; False when it found nothing to edit. The program is of no use when it raises."""

_MUTATORS: Final[tuple[tuple[Mutator, int], ...]] = (
    (operations.change_attribute, 10),
    (operations.other_kind, 4),
    (operations.other_sample, 3),
    (operations.change_numbers, 4),
    (operations.rewire, 4),
    (operations.copy_operand, 2),
    (operations.swap_operands, 2),
    (operations.other_source, 3),
    (operations.put_between, 5),
    (operations.add_operation, 5),
    (operations.repeat_operation, 2),
    (operations.drop_operation, 3),
    (operations.move_operation, 2),
    (operations.write, 3),
    (operations.through_storage, 1),
    (programs.change_element, 2),
    (programs.change_extent, 2),
    (programs.equal_extents, 2),
    (programs.change_storage, 2),
    (programs.change_input, 3),
    (programs.change_variable, 2),
    (programs.return_more, 4),
    (programs.return_less, 1),
    (programs.join, 2),
    (control.choose, 2),
    (control.branch, 2),
    (control.loop, 2),
    (control.function, 1),
)
_CHOICES: Final = tuple(mutator for mutator, weight in _MUTATORS for _ in range(weight))
_TRIES = 4
FAULTS = (IrError, TypeError, ValueError, OverflowError, IndexError, ZeroDivisionError, AssertionError)
"""What an edit that does not fit raises."""
LARGEST = 30
"""Mutants of more operations are given up."""


def mutate(program: Program, rng: random.Random, material: Material) -> Program | None:
    """A valid program like `program`, which stays as it is; None when the edits that were drawn lead nowhere."""
    mutant = program.clone()
    edited = False
    for _ in range(rng.choice((1, 1, 2, 3))):
        try:
            with detached():
                # Many find nothing to edit in a small program.
                edited |= any(rng.choice(_CHOICES)(mutant, rng, material) for _ in range(_TRIES))
                if not edited:
                    continue
                infer_again(mutant)
            mutant.verify()
        except FAULTS:
            return None
        if count_operations(mutant) > LARGEST:
            return None
    return mutant if edited else None


def with_equal_extents(program: Program, rng: random.Random, material: Material) -> Program | None:
    """A copy whose extents above 1 are all the same; None when they are, or it cannot be."""
    copy = program.clone()
    try:
        with detached():
            if not programs.equal_extents(copy, rng, material):
                return None
            infer_again(copy)
        copy.verify()
    except FAULTS:
        return None
    return copy


def grow_program(program: Program, rng: random.Random, material: Material) -> Program | None:
    """`program` with one to six operations more, mostly on each other; changed in place, and None when that fails."""
    try:
        with detached():
            for number in range(rng.choice((1, 2, 2, 3, 3, 4, 6))):
                repeats = number and rng.random() < 0.3  # what merges equal operations looks for
                (operations.repeat_operation if repeats else operations.add_operation)(program, rng, material)
                if not number and rng.random() < 0.3:
                    programs.change_storage(program, rng, material)
            infer_again(program)
        program.verify()
    except FAULTS:
        return None
    if rng.random() < 0.35:
        program = with_equal_extents(program, rng, material) or program
    for _ in range(rng.choice((0, 0, 1, 2))):
        program = mutate(program, rng, material) or program
    return program
