"""Operations built from samples on values that there are, and what mutations are made of."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from typing import Any, cast

import attrs

from tx8ir.core import Builder, Inplace, IrError, Op, Operation, Program, RankedTensor, ScalarType, Type, Value
from tx8ir.dialects.domains import Domain
from tx8ir.dialects.samples import Sample, samples_of
from tx8ir.testing.guidance.direction import ANYTHING, Direction
from tx8ir.testing.guidance.extraction import op_classes

from .fitted import fitted
from .values import add_input, is_tensor, number, numbers, numbers_in, values_before, variable

NUMBERS = (0.0, 1.0, -0.0, 2.0, -1.0, 0.5)


@attrs.frozen(eq=False)
class Material:
    """What mutations are made of.

    Attributes:
        direction: what the pass under test is about.
        words: names that the pass mentions: attributes, and what they may be.
        donors: programs of which parts may be used.
    """

    direction: Direction = ANYTHING
    words: frozenset[str] = frozenset()
    donors: Sequence[Program] = ()

    @functools.cached_property
    def elements(self) -> tuple[ScalarType, ...]:
        """Element types that the pass asks for."""
        return tuple(sorted(self.direction.element_types, key=str))

    @functools.cached_property
    def numbers(self) -> tuple[float, ...]:
        """Numbers that a pass may compare with, and ordinary ones."""
        return (*self.direction.numbers, *NUMBERS)

    @functools.cached_property
    def ops(self) -> tuple[str, ...]:
        """Operations with samples that the pass is about; all, where it does not say."""
        return tuple(sorted(name for name in self.direction.ops if samples(name))) or sampled_ops()

    def op(self, rng: random.Random) -> str:
        """The name of an operation: mostly one that the pass is about."""
        return rng.choice(self.ops if rng.random() < 0.8 else sampled_ops())


@functools.cache
def samples(name: str) -> tuple[Sample, ...]:
    """The samples of an operation, by its name; of operands that are tensors of a size that is operated on."""
    found = samples_of(op_classes()[name]) if name in op_classes() else ()
    return tuple(s for s in found if all(is_tensor(t) for t in s.types))


@functools.cache
def sampled_ops() -> tuple[str, ...]:
    """The names of all operations with samples."""
    return tuple(sorted(name for name in op_classes() if samples(name)))


@functools.cache
def siblings(name: str) -> tuple[str, ...]:
    """The other operations with samples that take and give as many values, in place or not as this one."""
    cls = op_classes().get(name)
    if cls is None or not issubclass(cls, Op):
        return ()
    kind = _signature(cls)
    found = ((other, op_classes()[other]) for other in sampled_ops() if other != name)
    return tuple(other for other, c in found if issubclass(c, Op) and _signature(c) == kind)


def _signature(op: type[Op]) -> tuple[object, ...]:
    """How many operands and results it has, and whether it writes the first."""
    definition = op.definition
    return [f.count for f in definition.operands], [f.count for f in definition.results], Inplace in op.info.traits


@functools.cache
def attribute_values(name: str) -> Mapping[str, tuple[object, ...]]:
    """What the samples of an operation have as its attributes, by name, each value once."""
    found: dict[str, dict[str, object]] = {}
    for sample in samples(name):
        for key, value in sample.attributes.items():
            found.setdefault(key, {})[repr(value)] = value
    return {key: tuple(values.values()) for key, values in found.items()}


def grow(
    program: Program, at: Operation, name: str, rng: random.Random, material: Material, on: Value | None = None
) -> Operation | None:
    """A new operation of that name before `at`, on values of the program and new ones; None when none fits.

    Args:
        program: what it is part of.
        at: where it goes.
        name: of the operation.
        rng: chooses.
        material: what to make it of.
        on: a value to use as one of its operands.
    """
    choices = samples(name)
    if not choices:
        return None
    known = values_before(at)
    for _ in range(6):
        sample = _chosen(choices, rng)
        operands = sample.operands
        values: list[Value | None] = [None] * len(operands)
        if on is not None and operands:
            places = [i for i, o in enumerate(operands) if o.domain.is_everything]
            if not places:
                return None
            values[rng.choice(places) if rng.random() < 0.4 else places[0]] = on
            sample = adapted(sample, values.index(on), on.type, rng)
        filled = [
            value
            if value is not None
            else new_operand(program, at, sample.types[i], operands[i].domain, known, rng, material)
            for i, value in enumerate(values)
        ]
        fitting = sample if rng.random() < 0.5 else fitted_to(sample, filled, rng)
        try:
            with Builder.before(at):
                return fitting.build(filled)
        except (IrError, ValueError, TypeError):
            continue
    return None


def _chosen(choices: Sequence[Sample], rng: random.Random) -> Sample:
    """A sample; the first, common ones as often as all others."""
    return choices[rng.randrange(min(8, len(choices)))] if rng.random() < 0.5 else rng.choice(choices)


def adapted(sample: Sample, place: int, given: Type, rng: random.Random) -> Sample:
    """The sample with operands, and attributes, that are more likely to go with a value of that type in that place.

    Where the value has other extents than the sample's operand, the other operands get these where they had the old
    ones; one that several axes claim goes to one of them.
    """
    wanted = sample.types[place]
    if not isinstance(wanted, RankedTensor) or not isinstance(given, RankedTensor):
        return sample
    extents: dict[int, int] = {}
    if given.rank == wanted.rank:
        pairs = list(zip(wanted.shape, given.shape, strict=True))
        rng.shuffle(pairs)
        extents = {old: new for old, new in pairs if old != new}
        if rng.random() < 0.3:  # only where no axis keeps the old one
            extents = {old: new for old, new in extents.items() if (old, old) not in pairs}
    types: list[Type] = []
    for i, type_ in enumerate(sample.types):
        if i != place and isinstance(type_, RankedTensor):
            if type_ is wanted:
                type_ = given.to_vtensor()
            else:
                type_ = type_.with_shape(extents.get(extent, extent) for extent in type_.shape)
                if type_.element is wanted.element:
                    type_ = type_.with_element(given.element)
        types.append(type_)
    sample = sample.with_types(types)
    if extents and rng.random() < 0.5:
        attributes = {key: _with_extents(value, extents) for key, value in sample.attributes.items()}
        sample = attrs.evolve(sample, attributes=attributes)
    return sample


def fitted_to(sample: Sample, operands: Sequence[Value], rng: random.Random) -> Sample:
    """The sample with attributes that go with these operands, where it takes them; see `fitted`."""
    attributes = fitted(sample.op, sample.attributes, operands, rng)
    changed = attrs.evolve(sample.with_types([v.type for v in operands]), attributes=attributes)
    try:
        return changed if changed.result_types else sample
    except (IrError, ValueError, TypeError, OverflowError):
        return sample


def _with_extents(value: Any, extents: Mapping[int, int]) -> Any:
    if isinstance(value, tuple):
        return tuple(
            extents.get(part, part) if isinstance(part, int) else part for part in cast("tuple[Any, ...]", value)
        )
    return value


def new_operand(
    program: Program,
    at: Operation,
    type_: Type,
    domain: Domain,
    known: Sequence[Value],
    rng: random.Random,
    material: Material,
) -> Value:
    """A value of that type: one of the program, or a new input, number or variable."""
    assert isinstance(type_, RankedTensor)
    if not domain.is_everything:
        return numbers_in(program, at, type_, domain, rng)
    fitting = [v for v in known if isinstance(v.type, RankedTensor) and v.type.to_vtensor() is type_]
    if fitting and rng.random() < 0.7:
        return rng.choice(fitting[:4])
    how = rng.random()
    if type_.is_static and (how < 0.05 or not _is_in_main(program, at)):
        return numbers(at, type_, rng)
    if type_.is_static and how < 0.15:
        return number(at, type_, rng.choice(material.numbers), rng)
    if type_.is_static and how < 0.3:
        return variable(program, at, type_, rng, mutable=rng.random() < 0.2)
    return add_input(program, type_)


def _is_in_main(program: Program, at: Operation) -> bool:
    """Whether inputs of the program are seen there: not in other functions."""
    return any(op is program.main for op in at.ancestors())
