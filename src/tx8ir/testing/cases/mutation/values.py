"""Which values can be used where, and new ones: inputs, numbers, variables."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Iterator, Sequence

import numpy as np

from tx8ir.core import (
    Block,
    Builder,
    DenseAttr,
    FunctionType,
    Operation,
    Program,
    RankedTensor,
    ScalarType,
    Terminator,
    Type,
    Value,
)
from tx8ir.dialects import builtin, func, pd
from tx8ir.dialects.domains import Domain
from tx8ir.testing.inputs import draw_array, held, structured_array

LARGEST = 256
"""Values of more elements are not operated on."""


def operations(program: Program) -> list[Operation]:
    """The operations of all functions but the terminators."""
    return [
        op
        for function in program.body
        for op in function.walk()
        if op is not function and not op.has_trait(Terminator) and not isinstance(op, func.FuncOp)
    ]


def values_before(op: Operation) -> list[Value]:
    """The tensors that an operation may use, those further up in its block and in the blocks around, newest first."""
    found: list[Value] = []
    at: Operation | None = op
    while at is not None and not isinstance(at, func.FuncOp):
        earlier = at.prev_op
        while earlier is not None:
            found += reversed(earlier.results)
            earlier = earlier.prev_op
        if at.parent is not None:
            found += at.parent.args
            if at.parent.parent is not None and at.parent is not at.parent.parent.blocks[0]:
                break  # what dominates a later block is not looked for, but for the entry
        at = at.parent_op
    return [v for v in found if is_tensor(v.type)]


def is_tensor(type_: Type) -> bool:
    """Whether it is a tensor of a size that is operated on."""
    return isinstance(type_, RankedTensor) and (not type_.is_static or type_.num_elements <= LARGEST)


def insertion_points(program: Program) -> Iterator[Operation]:
    """The operations before which others may be put: all but functions."""
    for function in program.body:
        for op in function.walk():
            if op is not function:
                yield op


def add_input(program: Program, type_: Type) -> Value:
    """A new input of `main`."""
    main = program.main
    names = tuple(program.inputs)
    argument = main.body.blocks[0].add_argument(type_)
    name = next(f"arg{i}" for i in range(len(names) + 1) if f"arg{i}" not in names)
    main.set_attribute("function_type", FunctionType((*main.function_type.inputs, type_), main.function_type.results))
    main.set_attribute("arg_names", (*names, name))
    return argument


def add_results(program: Program, values: Sequence[Value]) -> bool:
    """Further results of `main`; False when it does not return in exactly one place."""
    main = program.main
    end = main.body.blocks[-1].terminator
    if not isinstance(end, func.ReturnOp) or any(b.terminator is not end for b in main.body.blocks if not b.successors):
        return False
    end.set_operands([*end.operands, *values])
    set_results(program)
    return True


def set_results(program: Program) -> None:
    """Lets the type of `main` say what it returns."""
    main = program.main
    end = main.body.blocks[-1].terminator
    assert isinstance(end, func.ReturnOp)
    types = [v.type for v in end.operands]
    main.set_attribute("function_type", FunctionType(main.function_type.inputs, types))
    main.set_attribute("result_names", tuple(f"result{i}" for i in range(len(types))))


def number(at: Operation, type_: RankedTensor, value: float, rng: random.Random) -> Value:
    """A constant of that type before an operation: a `pd.full`, or the numbers written out.

    Of those that are written out, some have one other number among the elements, as what looks at the first expects
    not.
    """
    element = type_.element
    value = _in_format(value, element)
    fits_float = not element.format.is_integer or abs(value) < 1 << 53
    with Builder.before(at):
        if fits_float and (rng.random() < 0.4 or element.format.bits < 8):
            return pd.full(shape=type_.shape, value=float(value), dtype=element).out
        return builtin.ConstantOp(value=_alike(type_, value, rng)).out  # pyright: ignore[reportArgumentType]  converted


def _in_format(value: float, element: ScalarType) -> float:
    """`value`, or a number that an integer format has instead."""
    if element.format.is_bool:
        return float(bool(value))
    if element.format.is_integer:
        low, high = element.format.integer_range
        return int(value) if math.isfinite(value) and low <= value <= high else 1
    return value


def _alike(type_: RankedTensor, value: float, rng: random.Random) -> np.ndarray:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
    """That number everywhere; some have another one in one place."""
    element = type_.element
    exactly = np.dtype("O") if element.format.is_integer and abs(value) >= 1 << 53 else None
    with np.errstate(all="ignore"):
        data = np.full(type_.shape, value, exactly).astype(element.dtype)
        if data.size > 1 and rng.random() < 0.3:
            flat = data.reshape(-1)
            others = [-flat[:1], flat[:1] * 3, flat[:1] + 1]
            if element.is_float:  # its neighbour, which is nearly the same
                others += [(flat[:1] * (1 + math.ldexp(1.0, -element.format.mantissa_bits))).astype(element.dtype)] * 2
            flat[rng.randrange(1, data.size)] = rng.choice(others)[0]
        return held(data, element.format) if element.is_float else data


def variable_data(type_: RankedTensor, rng: random.Random) -> np.ndarray:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
    """What a variable holds: drawn numbers, one telling number or one near it, or a structure, like constants."""
    generator, format = np.random.default_rng(rng.randrange(1 << 30)), type_.element.format
    how = rng.random()
    if how < 0.15 and type_.rank:
        return structured_array(generator, type_.shape, format)
    if how < 0.35 and format.bits >= 8:
        return _alike(type_, _in_format(rng.choice(telling_numbers(type_.element)), type_.element), rng)
    return draw_array(generator, type_.shape, format, "mixed" if how < 0.45 else "ordinary")


def numbers(at: Operation, type_: RankedTensor, rng: random.Random) -> Value:
    """A constant of several numbers before an operation: drawn ones, special ones among them, or a structure."""
    generator = np.random.default_rng(rng.randrange(1 << 30))
    format = type_.element.format
    if rng.random() < 0.4 and type_.rank:
        data = structured_array(generator, type_.shape, format)
    else:
        data = draw_array(generator, type_.shape, format, "mixed" if rng.random() < 0.3 else "ordinary")
    with Builder.before(at):
        return builtin.ConstantOp(value=DenseAttr(data, type_.to_vtensor())).out


def numbers_again(program: Program, at: Operation, type_: RankedTensor, rng: random.Random) -> Value | None:
    """A constant, before an operation, of what a variable or another constant of that type holds; None without any."""
    wanted = type_.to_vtensor()
    held = [v.numpy() for v in program.weights.values() if v.type.to_vtensor() is wanted]
    if not held:
        constants = (op for op in program.module.walk() if isinstance(op, builtin.ConstantOp))
        held = [op.value.value for op in constants if op.out.type is wanted]
    if not held:
        return None
    with Builder.before(at):
        return builtin.ConstantOp(value=DenseAttr(np.array(rng.choice(held)), wanted)).out


def numbers_in(program: Program, at: Operation, type_: RankedTensor, domain: Domain, rng: random.Random) -> Value:
    """A constant of numbers that belong to a domain, before an operation."""
    shape = tuple(2 if extent < 0 else extent for extent in type_.shape)
    chosen = domain.numbers(-100, 100) or (0,)
    generator = np.random.default_rng(rng.randrange(1 << 30))
    data = generator.choice(np.array(chosen), shape).astype(type_.element.dtype)
    with Builder.before(at):
        return builtin.ConstantOp(value=data).out  # pyright: ignore[reportArgumentType]  converted


def variable(program: Program, at: Operation, type_: RankedTensor, rng: random.Random, *, mutable: bool) -> Value:
    """A read of a variable of that type, mostly a new one, before an operation."""
    held = [name for name, v in program.weights.items() if v.type.to_vtensor() is type_.to_vtensor()]
    if held and rng.random() < 0.4:  # the same variable once more
        with Builder.before(at):
            return builtin.get_parameter(parameter=rng.choice(held), out=type_.to_vtensor()).out
    name = program.weights.unique_name("w")
    program.weights.add(name, variable_data(type_, rng), type_.to_tensor(), is_mutable=mutable)
    with Builder.before(at):
        return builtin.get_parameter(parameter=name, out=type_.to_vtensor()).out


def entry(program: Program) -> Block:
    """The first block of `main`."""
    return program.main.body.blocks[0]


def stretched(type_: RankedTensor, rng: random.Random) -> RankedTensor:
    """A type that broadcasts to this one: of its last axes, some of them of one element."""
    shape = [1 if rng.random() < 0.4 else extent for extent in type_.shape]
    return type_.with_shape(shape[rng.randrange(len(shape)) if shape and rng.random() < 0.5 else 0 :])


@functools.cache
def telling_numbers(element: ScalarType) -> tuple[float, ...]:
    """Numbers at which arithmetic in a format changes: powers of two, odd numbers, the ends, and subnormal ones.

    Two of some of them have a sum or a product beyond the range, where a third one takes it back.
    """
    if element.format.is_bool:
        return (0.0, 1.0)
    if element.format.is_integer:
        low, high = element.format.integer_range
        # More bits than single and double precision have; half of the range, of which two are beyond it.
        beyond = ((1 << 24) + 1, (1 << 53) + 1, -(1 << 53) - 1, (1 << 62) + 1, high // 2 + 1)
        return tuple(n for n in (2, 3, 4, 5, 8, 10, 7, -1, -3, high, low, 1 << 10, *beyond) if low <= n <= high)
    normal = math.ldexp(1.0, 2 - (1 << (element.format.exponent_bits - 1)))
    largest = element.format.limits[1]
    # 1 and half of its last place: a sum of them rounds.
    half, whole = math.ldexp(1.0, -element.format.mantissa_bits - 1), math.ldexp(1.0, element.format.mantissa_bits)
    return (
        4.0, 0.25, 3.0, -2.0, 0.1, normal, normal / 8, -normal / 4, largest, -largest, 1e-3, 1e3, math.inf, -4.0,
        half, 1.0, -1.0, whole, 1.0 + 2 * half, 0.6 * largest, -0.6 * largest,
    )  # fmt: skip
