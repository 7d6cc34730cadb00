"""Edits of a whole program: element types, extents, storage, results, and another program added."""

from __future__ import annotations

import random
from typing import Any

from tx8ir.core import (
    DYNAMIC,
    Block,
    FunctionType,
    Program,
    RankedTensor,
    TensorType,
    Value,
    VTensorType,
    bf16,
    f16,
    f32,
    i1,
    i8,
    i32,
    i64,
)
from tx8ir.dialects import func
from tx8ir.testing.reduction.tensor_types import extents, infer_again, replace_element, replace_extent

from .fitting import Material
from .values import add_input, add_results, is_tensor, operations, set_results, variable_data

_ELEMENTS = (f32, f16, bf16, i32, i64, i8, i1)
_EXTENTS = (1, 2, 3, 5, 1, 4)
_LARGEST = 128
"""A number that the pass names is not an extent if it is larger."""


def change_element(program: Program, rng: random.Random, material: Material) -> bool:
    """Another element type, everywhere."""
    found = {t.element: None for op in operations(program) for v in (*op.operands, *op.results) if (t := _ranked(v))}
    if not found:
        return False
    old = rng.choice(list(found))
    new = rng.choice(material.elements if material.elements and rng.random() < 0.5 else _ELEMENTS)
    return new is not old and replace_element(program, old, new)


def change_extent(program: Program, rng: random.Random, material: Material) -> bool:
    """Another extent, everywhere."""
    found = sorted({*extents(program)})
    if not found:
        return False
    old, new = rng.choice(found), _extent(rng, material)
    if rng.random() < 0.06:
        new = rng.choice((0, DYNAMIC))
    return new != old and replace_extent(program, old, new)


def _extent(rng: random.Random, material: Material) -> int:
    """An extent: a small one, or one next to a number that the pass names: what it compares extents with, perhaps."""
    named = [int(n) for n in material.direction.numbers if 3 < n <= _LARGEST and n == int(n)]
    if named and rng.random() < 0.4:
        return rng.choice(named) + rng.choice((0, 0, 1, -1))
    return rng.choice(_EXTENTS)


def equal_extents(program: Program, rng: random.Random, material: Material) -> bool:
    """All extents, or all above 1, become 2 or 3: what is mistaken for what then has the right type."""
    new = rng.choice((2, 2, 3))
    found = extents(program) | ({1} if rng.random() < 0.6 else set[int]())
    for old in sorted(found - {new}):
        if not replace_extent(program, old, new):
            return False
    return found != {new}


def change_storage(program: Program, rng: random.Random, material: Material) -> bool:
    """An input that has storage becomes a value, or the other way round; or all of them do."""
    block = program.main.body.blocks[0]
    tensors = [a for a in block.args if isinstance(a.type, TensorType | VTensorType)]
    if not tensors:
        return False
    chosen = tensors if rng.random() < 0.4 else [rng.choice(tensors)]
    makes_storage = isinstance(chosen[0].type, VTensorType)
    for argument in chosen:
        type_: Any = argument.type
        argument.type = type_.to_tensor() if makes_storage else type_.to_vtensor()
    main = program.main
    main.set_attribute("function_type", FunctionType([a.type for a in block.args], main.function_type.results))
    return infer_again(program)


def change_input(program: Program, rng: random.Random, material: Material) -> bool:
    """The shape of one input: an extent of 1, another one, an axis more or less."""
    block = program.main.body.blocks[0]
    tensors = [a for a in block.args if is_tensor(a.type)]
    if not tensors:
        return False
    argument: Any = rng.choice(tensors)
    shape = list(argument.type.shape)
    how = rng.randrange(4)
    if how == 0 or not shape:
        shape.insert(0, _extent(rng, material))
    elif how == 1:
        del shape[0]
    else:
        shape[rng.randrange(len(shape))] = _extent(rng, material)
    argument.type = argument.type.with_shape(shape)
    if not is_tensor(argument.type):
        return False
    main = program.main
    main.set_attribute("function_type", FunctionType([a.type for a in block.args], main.function_type.results))
    return infer_again(program)


def change_variable(program: Program, rng: random.Random, material: Material) -> bool:
    """Other contents for a variable."""
    if not program.weights:
        return False
    variable = program.weights[rng.choice(list(program.weights))]
    variable.data = variable_data(variable.type, rng)
    return True


def return_more(program: Program, rng: random.Random, material: Material) -> bool:
    """A value that is not a result becomes one, too."""
    end = program.main.body.blocks[-1].terminator
    if end is None:
        return False
    inner = [
        r
        for op in program.main.body.blocks[-1]
        for r in op.results
        if isinstance(r.type, RankedTensor) and r not in end.operands
    ]
    return bool(inner) and add_results(program, [rng.choice(inner)])


def return_less(program: Program, rng: random.Random, material: Material) -> bool:
    """A result that is none any more."""
    end = program.main.body.blocks[-1].terminator
    if not isinstance(end, func.ReturnOp) or len(end.operands) < 2 or len(program.main.body.blocks) > 1:
        return False
    kept = list(end.operands)
    del kept[rng.randrange(len(kept))]
    end.set_operands(kept)
    set_results(program)
    return True


def join(program: Program, rng: random.Random, material: Material) -> bool:
    """Another program added at the end; its inputs are values of this one where types allow, else new inputs."""
    donors = [p for p in material.donors if len(p.main.body.blocks) == 1 and len(list(p.body)) == 1]
    main = program.main
    end = main.body.blocks[-1].terminator
    if not donors or not isinstance(end, func.ReturnOp) or len(program.weights) > 6:
        return False
    donor = rng.choice(donors)
    if sum(1 for _ in donor.main.walk()) > 30:
        return False
    block: Block = end.parent  # pyright: ignore[reportAssignmentType]  it is in one
    values = [r for op in block for r in op.results if is_tensor(r.type)] + [
        a for a in main.body.blocks[0].args if is_tensor(a.type)
    ]
    mapping: dict[Any, Any] = {}
    for argument in donor.main.body.block.args:
        fitting = [v for v in values if v.type is argument.type]
        taken = rng.choice(fitting) if fitting and rng.random() < 0.8 else add_input(program, argument.type)
        mapping[argument] = taken
    names = {name: program.weights.unique_name(name) for name in donor.weights}
    results: list[Value] = []
    for op in donor.main.body.block:
        if isinstance(op, func.ReturnOp):
            results = [mapping[v] for v in op.operands]
            break
        copy = op.clone(mapping)
        block.insert_before(copy, end)
        for inner in copy.walk():
            key = inner.attributes.get("name")
            if key is not None and key.value in names:  # pyright: ignore[reportAttributeAccessIssue]  a string
                name = names[key.value]  # pyright: ignore[reportAttributeAccessIssue]
                inner.set_attribute("name", name)
    for old, new in names.items():
        program.weights[new] = donor.weights[old].copy()
    return add_results(program, results)


def _ranked(value: Value) -> RankedTensor | None:
    return value.type if isinstance(value.type, RankedTensor) else None
