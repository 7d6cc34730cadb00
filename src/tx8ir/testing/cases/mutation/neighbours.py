"""The neighbours of a program: all programs one small edit away, in place of some drawn at random."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from tx8ir.core import (
    FunctionType,
    Op,
    Operation,
    Program,
    RankedTensor,
    ScalarType,
    TensorType,
    bf16,
    detached,
    f16,
    f32,
    i32,
)
from tx8ir.dialects import builtin
from tx8ir.testing.inputs import structures
from tx8ir.testing.reduction.tensor_types import extents, infer_again, replace_element, replace_extent

from . import control
from .fitted import spellings
from .fitting import Material, attribute_values, siblings
from .mutate import FAULTS
from .operations import alike, set_kind, set_operands, through_storage, write
from .programs import equal_extents
from .values import add_input, add_results, entry, is_tensor, number, operations, telling_numbers, variable

_TELLING = (4.0, 0.25, 3.0, 1e-40, 1e38, float("inf"))
_SMALL = 12
"""Of a constant of so many numbers, each is changed."""
Edit: TypeAlias = Callable[[Program], object]


def neighbours(
    program: Program, rng: random.Random, material: Material, start: int = 0
) -> Iterator[tuple[int, Program]]:
    """Valid programs that differ from `program` in one attribute, operand, number, result, element type or extent.

    Each with the number of its edit, from `start` on. In an order that `rng` decides, those of operations that the
    pass is about first.
    """
    near: list[Edit] = []
    far: list[Edit] = []
    for place, op in enumerate(operations(program)):
        edits = [
            *_of_attributes(op, place, material),
            *_of_operands(op, place),
            *_of_kinds(op, place, material),
            *_of_sources(op, place, material),
            *_of_results(op, place),
        ]
        if isinstance(op, builtin.ConstantOp):
            near += _of_numbers(op, place)
        (near if op.name in material.direction.ops else far).extend(edits)
    types = list(_of_types(program, material))
    shapes = list(_of_inputs(program))
    far += [functools.partial(control_edit, number=n, material=material) for n in range(12)]
    near += types[: len(types) // 2] + shapes[: len(shapes) // 2]
    far += types[len(types) // 2 :] + shapes[len(shapes) // 2 :]
    rng.shuffle(near)
    rng.shuffle(far)
    near[:0] = [lambda p, n=n: equal_extents(p, random.Random(n), material) for n in range(3)]
    edits = [e for e in itertools.chain(*itertools.zip_longest(near, far)) if e is not None]
    for place, edit in enumerate(edits):
        if place < start:
            continue
        copy = program.clone()
        try:
            with detached():
                if edit(copy) is False:
                    continue
                infer_again(copy)
            copy.verify()
        except FAULTS:
            continue
        yield place, copy


def _at(program: Program, place: int) -> Any:
    return operations(program)[place]


def _of_attributes(op: Operation, place: int, material: Material) -> Iterator[Edit]:
    """Each attribute with each value that a sample of the operation has, or that is near the one it has."""
    if not isinstance(op, Op):
        return
    for name, value in spellings(op):
        yield lambda p, name=name, value=value: setattr(_at(p, place), name, value)
    known = attribute_values(op.name)
    for field in op.definition.attributes:
        old = getattr(op, field.name)
        values = {repr(v): v for v in (*known.get(field.name, ()), *_near(old, material))}
        values.pop(repr(old), None)
        for value in values.values():
            yield lambda p, name=field.name, value=value: setattr(_at(p, place), name, value)


def _near(old: Any, material: Material) -> Iterator[Any]:
    if isinstance(old, bool):
        yield not old
    elif isinstance(old, int):
        yield from (old + 1, old - 1, -old)
    elif isinstance(old, float):
        yield from (*material.numbers[:12], -old, *_TELLING)
    elif isinstance(old, str):
        yield from sorted(material.words)
    elif isinstance(old, ScalarType):
        yield from material.elements
    elif isinstance(old, tuple) and old and all(isinstance(part, int) for part in old):  # pyright: ignore[reportUnknownVariableType]
        parts = [int(part) for part in old]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        yield tuple(reversed(parts))
        if sorted(parts) == list(range(len(parts))) and len(parts) <= 4:
            yield from itertools.permutations(parts)
        for i, part in enumerate(parts):
            yield from ((*parts[:i], other, *parts[i + 1 :]) for other in (part + 1, part - 1))


def _of_operands(op: Operation, place: int) -> Iterator[Edit]:
    """Each operand in place of each other one, and two exchanged."""
    for a, b in itertools.permutations(range(min(4, len(op.operands))), 2):
        if op.operands[a] is op.operands[b]:
            continue
        yield lambda p, a=a, b=b: _at(p, place).set_operand(a, _at(p, place).operands[b])
        if a < b:
            yield lambda p, a=a, b=b: set_operands(
                _at(p, place), {a: _at(p, place).operands[b], b: _at(p, place).operands[a]}
            )


def _of_kinds(op: Operation, place: int, material: Material) -> Iterator[Edit]:
    """Each other operation that the pass names, on the same operands.

    One that the pass does not name may stand for any: each in its place, and in that of all that are equal to it.
    """
    if isinstance(op, Op) and not op.regions and op.operands and op.results:
        named = op.name in material.direction.ops
        for name in siblings(op.name):
            if not named:
                yield lambda p, name=name: set_kind(alike(p, _at(p, place)), name, random.Random(place))
            elif name in material.direction.ops:
                yield lambda p, name=name: set_kind([_at(p, place)], name, random.Random(place))


def control_edit(program: Program, number: int, material: Material) -> bool:
    """Some operations of a program in a loop or a branch, or a write between them."""
    rng = random.Random(number)
    mutator = (control.loop, control.branch, write, through_storage)[number % 4]
    return mutator(program, rng, material)


def _of_sources(op: Operation, place: int, material: Material) -> Iterator[Edit]:
    """Each operand a new input of its type, or of one that broadcasts; a variable; a number; copied through storage."""
    for i, operand in enumerate(op.operands[:4]):
        type_ = operand.type
        if not isinstance(type_, RankedTensor) or not is_tensor(type_):
            continue
        shapes = [type_.shape, type_.shape[1:], ()] + [
            (*type_.shape[:k], 1, *type_.shape[k + 1 :]) for k in range(type_.rank) if type_.shape[k] != 1
        ]
        for other in [type_.with_shape(shape) for shape in dict.fromkeys(shapes)]:
            yield lambda p, i=i, t=other: _at(p, place).set_operand(i, add_input(p, t))
        if isinstance(type_, TensorType) or not type_.is_static:
            continue
        for mutable in (False, True):
            yield lambda p, i=i, t=type_, m=mutable: _at(p, place).set_operand(
                i, variable(p, _at(p, place), t, random.Random(i), mutable=m)
            )
        for value in (*material.numbers[:6], *telling_numbers(type_.element)):
            yield lambda p, i=i, t=type_, v=value: _at(p, place).set_operand(
                i, number(_at(p, place), t, v, random.Random(i))
            )


def _of_numbers(op: builtin.ConstantOp, place: int) -> Iterator[Edit]:
    """A constant of other numbers: all one that is telling, several of them, or in an order that may be looked for."""
    array, type_ = op.value.value, op.out.type
    assert isinstance(type_, RankedTensor)
    chosen = np.array(telling_numbers(type_.element), np.float64 if type_.element.is_float else np.dtype("O"))
    with np.errstate(all="ignore"):
        choices = [np.full(array.shape, n).astype(array.dtype) for n in chosen]
        choices += [np.resize(np.roll(chosen, k), array.shape).astype(array.dtype) for k in (0, 3)]
        choices += [made.astype(array.dtype) for made in structures(array.shape)] if array.size > 1 else []
    if 1 < array.size <= _SMALL:
        for place_of_one in range(array.size):  # one of them another one
            other = array.copy()
            chosen_one = other.reshape(-1)[place_of_one : place_of_one + 1]
            with np.errstate(all="ignore"):
                chosen_one[:] = ~chosen_one if array.dtype == np.bool_ else np.ones(1, array.dtype) - chosen_one
            choices.append(other)
    for numbers in choices:
        yield lambda p, numbers=numbers: setattr(_at(p, place), "value", numbers)


def _of_inputs(program: Program) -> Iterator[Edit]:
    """Another rank or an extent of 1 for one input, and an axis more for all of them."""
    arguments = entry(program).args
    for place, argument in enumerate(arguments):
        type_ = argument.type
        if not is_tensor(type_) or not isinstance(type_, RankedTensor):
            continue
        shapes = [(2, *type_.shape), (1, *type_.shape)]
        shapes += [type_.shape[1:]] * bool(type_.shape)
        shapes += [(*type_.shape[:k], 1, *type_.shape[k + 1 :]) for k in range(type_.rank)]
        for shape in shapes:
            yield lambda p, place=place, shape=shape: _reshape_inputs(p, {place: shape})
    for extent in (2, 3, 1):
        shapes_of = {i: (extent, *a.type.shape) for i, a in enumerate(arguments) if isinstance(a.type, RankedTensor)}
        yield lambda p, shapes_of=shapes_of: _reshape_inputs(p, shapes_of)


def _reshape_inputs(program: Program, shapes: Mapping[int, tuple[int, ...]]) -> None:
    main = program.main
    arguments = entry(program).args
    for place, shape in shapes.items():
        argument: Any = arguments[place]
        argument.type = argument.type.with_shape(shape)
    main.set_attribute("function_type", FunctionType([a.type for a in arguments], main.function_type.results))


def _of_results(op: Operation, place: int) -> Iterator[Edit]:
    """Each value as a result of the program, too."""
    for i, result in enumerate(op.results):
        if isinstance(result.type, RankedTensor):
            yield lambda p, i=i: add_results(p, [_at(p, place).results[i]])


def _of_types(program: Program, material: Material) -> Iterator[Edit]:
    """Each element type and each extent replaced by others."""
    values = [v for op in operations(program) for v in (*op.operands, *op.results)]
    found = dict.fromkeys(v.type.element for v in values if isinstance(v.type, RankedTensor))
    wanted = dict.fromkeys((*material.elements, f32, f16, bf16, i32))
    for old, new in itertools.product(found, wanted):
        if old is not new:
            yield lambda p, old=old, new=new: replace_element(p, old, new)
    for extent, other in itertools.product(sorted(extents(program)), (1, 2, 3, 5, 0)):
        if extent != other:
            yield lambda p, extent=extent, other=other: replace_extent(p, extent, other)
