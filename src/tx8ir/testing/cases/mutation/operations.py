"""Edits of single operations: attributes, operands, operations put in, left out and moved."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, cast

import attrs
import numpy as np

from tx8ir.core import (
    Builder,
    DenseAttr,
    IrError,
    Op,
    Operation,
    Program,
    RankedTensor,
    ScalarType,
    TensorType,
    Terminator,
    Value,
    VTensorType,
    bf16,
    f16,
    f32,
    i32,
)
from tx8ir.dialects import builtin, func, pd
from tx8ir.testing.inputs import held, structured_array
from tx8ir.testing.reduction.tensor_types import infer_again

from .fitted import fitted, spellings
from .fitting import Material, attribute_values, grow, samples, siblings
from .values import (
    add_input,
    add_results,
    insertion_points,
    is_tensor,
    number,
    numbers,
    numbers_again,
    operations,
    stretched,
    values_before,
    variable,
    variable_data,
)

_ELEMENTS = (f32, f16, bf16, i32)


def _user(program: Program, rng: random.Random, material: Material) -> Operation | None:
    """An operation, or what ends a block: mostly one that the pass is about."""
    ends = [op for op in insertion_points(program) if op.has_trait(Terminator) and op.operands]
    return rng.choice(ends) if ends and rng.random() < 0.25 else _some(program, rng, material)


def _some(program: Program, rng: random.Random, material: Material) -> Operation | None:
    """An operation: mostly one that the pass is about."""
    found = operations(program)
    wanted = [op for op in found if op.name in material.direction.ops]
    if wanted and rng.random() < 0.7:
        return rng.choice(wanted)
    return rng.choice(found) if found else None


# --- attributes ----------------------------------------------------------------------------------------------------


def change_attribute(program: Program, rng: random.Random, material: Material) -> bool:
    """Another value for an attribute: one that a sample has, a number that the pass knows, or one near the old one."""
    found = [op for op in operations(program) if isinstance(op, Op) and op.definition.attributes]
    wanted = [op for op in found if op.name in material.direction.ops]
    if not found:
        return False
    return change_attribute_of(rng.choice(wanted if wanted and rng.random() < 0.7 else found), rng, material)


def change_attribute_of(op: Op, rng: random.Random, material: Material) -> bool:
    """Another value for an attribute of an operation; for several, where they go with its operands."""
    how = rng.random()
    if how < 0.15:
        others = [(name, value) for name, value in spellings(op) if repr(value) != repr(getattr(op, name))]
        if others:
            setattr(op, *rng.choice(others))
            return True
    if how < 0.4:
        old_values = {f.name: getattr(op, f.name) for f in op.definition.attributes}
        made = fitted(type(op), old_values, op.operands, rng)
        changed = {name: value for name, value in made.items() if repr(value) != repr(old_values[name])}
        for name, value in changed.items():
            setattr(op, name, value)
        if changed:
            return True
    fields = [f for f in op.definition.attributes if f.name in material.words]
    field = rng.choice(fields if fields and rng.random() < 0.7 else op.definition.attributes)
    old = getattr(op, field.name)
    known = attribute_values(op.name).get(field.name, ())
    if known and rng.random() < 0.5:
        new: Any = rng.choice(known)
    else:
        new = _other(old, rng, material)
    if new is None or repr(new) == repr(old):
        return False
    setattr(op, field.name, new)
    return True


def _other(old: object, rng: random.Random, material: Material) -> Any:
    """Another Python value of the same kind."""
    if isinstance(old, bool):
        return not old
    if isinstance(old, int):
        return rng.choice([old + 1, old - 1, -old, 0, 1, 2, -1])
    if isinstance(old, float):
        return rng.choice([*material.numbers, -old, old * 2])
    if isinstance(old, str):
        words = sorted(material.words)
        return rng.choice(words) if words else None
    if isinstance(old, ScalarType):
        return rng.choice(material.elements or _ELEMENTS)
    if isinstance(old, tuple) and old and all(isinstance(part, int) for part in cast("tuple[Any, ...]", old)):
        values = [int(part) for part in cast("tuple[Any, ...]", old)]
        place = rng.randrange(len(values))
        how = rng.randrange(5)
        if how == 0:
            rng.shuffle(values)
        elif how == 1 and len(values) > 1:
            del values[place]
        elif how == 2:
            values = values[::-1]
        else:
            values[place] = rng.choice([values[place] + 1, values[place] - 1, 0, 1, 2, -1])
        return tuple(values)
    return None


# --- constants -----------------------------------------------------------------------------------------------------


def change_numbers(program: Program, rng: random.Random, material: Material) -> bool:
    """Other numbers in a constant: one of them another, two exchanged, in an order that may be looked for, or drawn."""
    found = [op for op in operations(program) if isinstance(op, builtin.ConstantOp) and op.value.value.size]
    if not found:
        return False
    op = rng.choice(found)
    type_ = op.out.type
    assert isinstance(type_, RankedTensor)
    data = np.array(op.value.value)
    flat = data.reshape(-1)
    how = rng.random()
    if type_.rank == 1 and type_.element.format.is_integer and rng.random() < 0.4:
        return _permute(op, type_, rng)
    if how < 0.35:
        place = rng.randrange(data.size)
        with np.errstate(all="ignore"):
            if data.dtype == np.bool_:
                flat[place] = not flat[place]
            else:
                one = flat[place : place + 1]
                flat[place] = rng.choice((-one, one + 1, one * 2, one * 0, flat[rng.randrange(data.size)][None]))[0]
    elif how < 0.5 and data.size > 1:
        a, b = rng.sample(range(data.size), 2)
        flat[[a, b]] = flat[[b, a]]
    elif how < 0.75 and type_.rank:
        generator = np.random.default_rng(rng.randrange(1 << 30))
        data = structured_array(generator, type_.shape, type_.element.format)
    else:
        data = variable_data(type_, rng)
    if data.tobytes() == op.value.value.tobytes():
        return False
    op.set_attribute("value", DenseAttr(held(data, type_.element.format) if type_.element.is_float else data, type_))
    return True


def _permute(op: builtin.ConstantOp, type_: RankedTensor, rng: random.Random) -> bool:
    """Whole numbers become places in another order: one that is not its own inverse shows which way it goes."""
    count = rng.choice((type_.shape[0], 2, 3, 4))
    order = np.array(rng.sample(range(count), count)).astype(type_.element.dtype)
    op.set_attribute("value", DenseAttr(order, type_.with_shape((count,))))
    op.out.type = type_.with_shape((count,))
    return True


# --- kinds ---------------------------------------------------------------------------------------------------------


def other_kind(program: Program, rng: random.Random, material: Material) -> bool:
    """An operation that becomes another one on the same operands: mostly one that the pass names, too.

    Operations that are equal but for their operands may stay so.
    """
    op = _some(program, rng, material)
    if not isinstance(op, Op) or op.regions or not op.operands or not op.results:
        return False
    near = siblings(op.name)
    named = [name for name in near if name in material.direction.ops]
    names = named if named and rng.random() < 0.8 else near
    return bool(names) and set_kind(alike(program, op) if rng.random() < 0.5 else [op], rng.choice(names), rng)


def set_kind(ops: Sequence[Op], name: str, rng: random.Random) -> bool:
    """Another operation in the place of some that are equal but for operands; attributes that it has, too, stay."""
    choices = [s for s in samples(name) if len(s.types) == len(ops[0].operands)]
    if not choices:
        return False
    sample = rng.choice(choices)
    for op in ops:
        kept = {f.name: getattr(op, f.name) for f in op.definition.attributes if f.name in sample.attributes}
        fit = attrs.evolve(sample.with_types([v.type for v in op.operands]), attributes={**sample.attributes, **kept})
        with Builder.before(op):
            made = fit.build(op.operands)
        for old, new in zip(op.results, made.results, strict=True):
            old.replace_all_uses_with(new)
        op.erase(by="mutate")
    return True


def other_sample(program: Program, rng: random.Random, material: Material) -> bool:
    """An operation as in another of its samples, with what goes together there: attributes, and the types of operands.

    So may those be that are equal to it but for operands; what they share, they go on to share.
    """
    op = _some(program, rng, material)
    if not isinstance(op, Op) or op.regions or not op.results:
        return False
    choices = [s for s in samples(op.name) if len(s.types) == len(op.operands)]
    choices = [s for s in choices if all(o.domain.is_everything for o in s.operands)]
    if not choices:
        return False
    sample = rng.choice(choices)
    taken: dict[tuple[int, Value], Value] = {}
    for old in alike(program, op) if rng.random() < 0.7 else [op]:
        values: list[Value] = []
        for place in enumerate(old.operands):
            if place not in taken:
                taken[place] = add_input(program, sample.types[place[0]])
            values.append(taken[place])
        with Builder.before(old):
            made = sample.build(values)
        for result, new in zip(old.results, made.results, strict=True):
            result.replace_all_uses_with(new)
        old.erase(by="mutate")
    return True


def alike(program: Program, op: Op) -> list[Op]:
    """The operations that are equal to one but for their operands, itself among them."""
    types = [v.type for v in op.operands]
    return [
        other
        for other in operations(program)
        if isinstance(other, Op) and other.name == op.name and other.attributes == op.attributes
        and [v.type for v in other.operands] == types
    ]  # fmt: skip


# --- operands ------------------------------------------------------------------------------------------------------


def rewire(program: Program, rng: random.Random, material: Material) -> bool:
    """Another value for an operand: of its type, or else of its element type."""
    op = _user(program, rng, material)
    if op is None or not op.operands:
        return False
    index = rng.randrange(len(op.operands))
    old = op.operands[index]
    if not isinstance(old.type, RankedTensor):
        return False
    known = [v for v in values_before(op) if v is not old]
    same = [v for v in known if v.type is old.type]
    alike = [v for v in known if isinstance(v.type, RankedTensor) and v.type.element is old.type.element]
    found = same if same and rng.random() < 0.7 else alike
    if not found:
        return False
    op.set_operand(index, rng.choice(found[:6]))
    return True


def copy_operand(program: Program, rng: random.Random, material: Material) -> bool:
    """The same value as two operands."""
    op = _user(program, rng, material)
    if op is None or len(op.operands) < 2:
        return False
    a, b = rng.sample(range(len(op.operands)), 2)
    return set_operands(op, {a: op.operands[b]})


def swap_operands(program: Program, rng: random.Random, material: Material) -> bool:
    """Two operands exchanged."""
    op = _user(program, rng, material)
    if op is None or len(op.operands) < 2:
        return False
    a, b = rng.sample(range(len(op.operands)), 2)
    return set_operands(op, {a: op.operands[b], b: op.operands[a]})


def set_operands(op: Operation, values: Mapping[int, Value]) -> bool:
    """Other values for some operands; whether any of them is another one."""
    changed = {place: value for place, value in values.items() if op.operands[place] is not value}
    for place, value in changed.items():
        op.set_operand(place, value)
    return bool(changed)


def other_source(program: Program, rng: random.Random, material: Material) -> bool:
    """An operand that is a new input, a constant or a variable, of its type or one that broadcasts to it."""
    op = _user(program, rng, material)
    if op is None or not op.operands:
        return False
    index = rng.randrange(len(op.operands))
    type_ = op.operands[index].type
    if not isinstance(type_, RankedTensor) or not is_tensor(type_):
        return False
    how = rng.random()
    if how > 0.6 and type_.rank:
        type_ = stretched(type_, rng)
    value = _source(program, op, type_, rng, material)
    op.set_operand(index, value)
    return True


def _source(program: Program, op: Operation, type_: RankedTensor, rng: random.Random, material: Material) -> Value:
    how = rng.randrange(3)
    if how and type_.is_static and not isinstance(type_, TensorType):
        if how == 1:
            again = numbers_again(program, op, type_, rng) if rng.random() < 0.25 else None
            if again is not None:
                return again
            return (
                number(op, type_, rng.choice(material.numbers), rng) if rng.random() < 0.5 else numbers(op, type_, rng)
            )
        return variable(program, op, type_, rng, mutable=rng.random() < 0.3)
    return add_input(program, type_)


# --- operations ----------------------------------------------------------------------------------------------------


def put_between(program: Program, rng: random.Random, material: Material) -> bool:
    """An operation on a value, which takes its place in one of its uses, or in all of them."""
    found = [v for op in operations(program) for v in (*op.operands, *op.results) if is_tensor(v.type)]
    if not found:
        return False
    value = rng.choice(found)
    uses = list(value.uses)
    if not uses:
        return False
    at = uses[0].owner
    name = material.op(rng) if rng.random() < 0.6 else rng.choice(_PLAIN)
    made = grow(program, at, name, rng, material, on=value)
    if made is None or not made.results:
        return made is not None
    result = made.results[0]
    if result.type is not value.type and rng.random() < 0.5:
        return False
    if not isinstance(result.type, RankedTensor):
        return add_results(program, made.results)
    chosen = [u for u in uses if u.owner is not made and (u.owner is at or result.type is value.type)]
    for use in chosen if rng.random() < 0.5 else chosen[:1]:
        if use.owner is at or _comes_after(use.owner, made):
            use.set(result)
    return True


_PLAIN = ("pd.relu", "pd.assign", "pd.cast", "pd.scale", "pd.transpose", "pd.reshape", "pd.exp", "pd.abs", "pd.slice")


def _comes_after(user: Operation, made: Operation) -> bool:
    """Whether an operation is below another one in its block, or inside one that is."""
    at: Operation | None = user
    while at is not None and at.parent is not made.parent:
        at = at.parent_op
    step = made.next_op
    while at is not None and step is not None:
        if step is at:
            return True
        step = step.next_op
    return False


def add_operation(program: Program, rng: random.Random, material: Material) -> bool:
    """A new operation somewhere, mostly on a value that there is, whose results are results of the program."""
    points = [op for op in insertion_points(program) if op.parent_op is program.main]
    at = points[-1] if rng.random() < 0.6 else rng.choice(points)
    known = values_before(at)
    unused = [v for v in known if not v.has_uses or all(isinstance(u, func.ReturnOp) for u in v.users)]
    on = rng.choice((unused or known)[:4]) if known and rng.random() < 0.8 else None
    made = grow(program, at, material.op(rng), rng, material, on)
    if made is None:
        return False
    results = [r for r in made.results if isinstance(r.type, RankedTensor)]
    return not results or at.parent is not program.main.body.blocks[-1] or add_results(program, results)


def repeat_operation(program: Program, rng: random.Random, material: Material) -> bool:
    """An operation once more, right after itself or further down; its results are results of the program."""
    op = _some(program, rng, material)
    if op is None or op.regions or op.parent is not program.main.body.blocks[-1]:
        return False
    later = [op]
    while (step := later[-1].next_op) is not None:
        later.append(step)
    anchor = rng.choice(later[:-1])
    copy = op.clone()
    anchor.parent.insert_after(copy, anchor)  # pyright: ignore[reportOptionalMemberAccess]  it is in a block
    return add_results(program, [r for r in copy.results if isinstance(r.type, RankedTensor)])


def drop_operation(program: Program, rng: random.Random, material: Material) -> bool:
    """An operation left out: an operand, or another value of its type, stands for its result."""
    op = _some(program, rng, material)
    if op is None or op.regions:
        return False
    known = [*op.operands, *values_before(op)]
    for result in op.results:
        if result.has_uses:
            other = next((v for v in known if v.type is result.type), None)
            if other is None and op.operands and is_tensor(op.operands[0].type):
                other = op.operands[0]
            if other is None:
                return False
            result.replace_all_uses_with(other)
    op.erase(by="mutate")
    return True


def move_operation(program: Program, rng: random.Random, material: Material) -> bool:
    """An operation one or more places further up or down in its block."""
    op = _some(program, rng, material)
    if op is None:
        return False
    anchor = op
    for _ in range(rng.randrange(1, 4)):
        step = anchor.next_op if rng.random() < 0.5 else anchor.prev_op
        if step is None or step.has_trait(Terminator):
            break
        anchor = step
    if anchor is op:
        return False
    if rng.random() < 0.5:
        op.move_after(anchor)
    else:
        op.move_before(anchor)
    return True


def write(program: Program, rng: random.Random, material: Material) -> bool:
    """A write to storage somewhere between: of an input, of a view, of the result of an operation."""
    points = list(insertion_points(program))
    at = rng.choice(points)
    stored = [v for v in values_before(at) if isinstance(v.type, TensorType)]
    if program.weights and (not stored or rng.random() < 0.4):
        return _write_variable(program, at, rng)
    if not stored:
        return False
    x = rng.choice(stored[:6])
    assert isinstance(x.type, RankedTensor)
    values = [v for v in values_before(at) if v.type.to_vtensor() is x.type.to_vtensor()]  # pyright: ignore
    y = rng.choice(values[:6])
    element = x.type.element
    try:
        with Builder.before(at):
            how = rng.randrange(5)
            if how == 0:
                pd.assign_(x, y)
            elif how == 1:
                pd.add_(x, y)
            elif how == 2:
                pd.fill_(x, value=float(rng.choice((0.0, 1.0, 2.0))))
            elif how == 3:
                pd.relu_(x)
            else:
                pd.scale_(x, scale=2.0, bias=0.0 if element.format.is_integer else 0.5)
    except (IrError, ValueError, TypeError):
        return False
    return True


def _write_variable(program: Program, at: Operation, rng: random.Random) -> bool:
    """A new content for a variable, which is mutable from then on."""
    name = rng.choice(list(program.weights))
    type_ = program.weights[name].type.to_vtensor()
    fitting: list[Value] = [v for v in values_before(at) if v.type is type_]
    value = rng.choice(fitting[:6]) if fitting and rng.random() < 0.8 else add_input(program, type_)
    program.weights[name].is_mutable = True
    with Builder.before(at):
        builtin.set_parameter(value, parameter=name)
    return True


def through_storage(program: Program, rng: random.Random, material: Material) -> bool:
    """A value copied into storage of its own, or what storage holds taken as a value, for what comes after."""
    found = [v for op in operations(program) for v in op.operands if is_tensor(v.type)]
    if not found:
        return False
    value = rng.choice(found)
    use = rng.choice(list(value.uses))
    with Builder.before(use.owner):
        make: Any = builtin.to_tensor if isinstance(value.type, VTensorType) else builtin.to_vtensor
        use.set(make(value).out)
    infer_again(program)
    return True
