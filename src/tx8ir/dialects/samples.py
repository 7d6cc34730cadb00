"""Samples: for each operation, operand types and attributes that it takes.

An op class that implements `Sampled` declares `cases`: shapes and attributes that show what it can do. `samples()`
makes the samples of them: every case in the first element type, some cases in each of the others that the class
accepts, and every number and truth value that its attributes can have. A family shares its cases by inheritance.
Tests, generators of programs and searches for wrong passes draw from them, so that a new operation is part of all of
these at once.

    class ExpOp(ElementwiseUnaryOp, name="pd.exp"): ...     # has the samples of its family

    for sample in pd.ExpOp.samples():
        block = Block(sample.types)
        with Builder.at_end(block):
            op = sample.build(block.args)

Everything is deterministic, and lazy: a sample is made when it is asked for.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, TypeAlias, cast

import attrs

from tx8ir.core import (
    DYNAMIC,
    Block,
    Interface,
    Op,
    RankedTensor,
    ScalarType,
    Type,
    Value,
    VTensorType,
    bf16,
    detached,
    f16,
    f32,
    f64,
    i1,
    i4,
    i8,
    i16,
    i32,
    i64,
    tf32,
    ui4,
    ui8,
    ui16,
    ui32,
    ui64,
)

from .domains import ANYTHING, Domain, OperandDomains

Kind: TypeAlias = Literal["float", "integer", "number", "bool", "any"]
"""Element types that an operand may have."""
Shape: TypeAlias = "tuple[int, ...]"

_FLOATS: Final = (f32, bf16, f16, tf32, f64)
_INTEGERS: Final = (i32, i64, i8, ui8, i16, ui16, ui32, ui64, i4, ui4)


def is_kind(element: ScalarType, kind: Kind) -> bool:
    """Whether an element type is of a kind."""
    match kind:
        case "float":
            return element.is_float
        case "integer":
            return not element.is_float and element is not i1
        case "number":
            return element is not i1
        case "bool":
            return element is i1
        case "any":
            return True


ELEMENTS: Final[Mapping[Kind, tuple[ScalarType, ...]]] = {
    "float": _FLOATS,
    "integer": _INTEGERS,
    "number": (f32, i32, *_FLOATS[1:], *_INTEGERS[1:]),
    "bool": (i1,),
    "any": (f32, i32, i1, *_FLOATS[1:], *_INTEGERS[1:]),
}
"""The element types of each kind, the most common first."""

NUMBERS: Final = (1.0, 0.0, -1.0, 2.0, 0.5, -0.0, 3.0, -0.5, 1e30, 1e-30, 0.1, math.inf, -math.inf, math.nan)
"""What an attribute that is a number may be where elements are floats: exact ones, ones that round, and extremes."""
_WHOLE: Final = (1.0, 0.0, 2.0, -1.0, 3.0, 100.0)


def numbers_for(element: ScalarType) -> tuple[float, ...]:
    """What an attribute that is a number may be where elements have that type; whole and in range for integers."""
    if element.is_float:
        return NUMBERS
    if element is i1:
        return _WHOLE[:2]
    bits = element.format.bits - element.format.is_signed
    return tuple(n for n in _WHOLE if n < 2.0**bits and (n >= 0 or element.format.is_signed))


# --- shapes ----------------------------------------------------------------------------------------------------------

SHAPES: Final[tuple[Shape, ...]] = (
    (2, 3), (), (1,), (2,), (3,), (5,), (0,), (1, 3), (3, 1), (2, 2), (2, 0), (2, 1, 3), (3, 2, 5), (2, 3, 1, 2),
    (1, 2, 1, 3, 2), (DYNAMIC,), (DYNAMIC, 3), (2, DYNAMIC, DYNAMIC),
)  # fmt: skip
"""Shapes of one tensor: all ranks to 5, extents 0, 1 and odd ones, dynamic ones."""

BROADCASTS: Final[tuple[tuple[Shape, Shape], ...]] = (
    ((2, 3), (2, 3)), ((), ()), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 3), ()), ((), (2,)), ((2, 1), (1, 3)),
    ((1,), (5,)), ((5,), (1,)), ((2, 2), (2, 1)), ((0,), (0,)), ((0,), (1,)), ((2, 0), (2, 1)), ((3, 3), (3,)),
    ((2, 1, 3), (5, 1)), ((2, 3, 1, 2), (3, 2, 1)), ((2, 1, 2, 1, 2), (2, 2, 2)), ((DYNAMIC,), (DYNAMIC,)),
    ((DYNAMIC, 3), (3,)), ((2, DYNAMIC), (2, 1)),
)  # fmt: skip
"""Pairs of shapes that broadcast: equal ones, one stretched, both stretched, scalars, empty and dynamic ones."""


# --- cases -----------------------------------------------------------------------------------------------------------


@attrs.frozen
class _Of:
    shape: Shape
    element: ScalarType


_Given: TypeAlias = "Shape | _Of | list[Shape | _Of] | None"


@attrs.frozen
class Case:
    """What an operation takes, but for the element type that is left open; `case` makes it."""

    operands: tuple[_Given, ...]
    attributes: Mapping[str, Any]
    kind: Kind | None = None

    def over(self, kind: Kind) -> Case:
        """The same for operands whose open element type is of another kind than the class says."""
        return attrs.evolve(self, kind=kind)


def case(*operands: _Given, **attributes: Any) -> Case:
    """A case of an operation.

    Args:
        operands: for each declared operand its shape, `of(shape, element)` for one with an element type of its own,
            None for an optional one that is absent, or a list for a variadic one.
        attributes: those that differ from their defaults.
    """
    return Case(operands, attributes)


def of(shape: Shape, element: ScalarType) -> _Of:
    """A tensor of that element type, whatever that of the others is."""
    return _Of(shape, element)


def each(shapes: Iterable[Shape], **attributes: Any) -> tuple[Case, ...]:
    """A case of one operand for each shape."""
    return tuple(case(shape, **attributes) for shape in shapes)


def pairs(shapes: Iterable[tuple[Shape, Shape]], **attributes: Any) -> tuple[Case, ...]:
    """A case of two operands for each pair of shapes."""
    return tuple(case(*pair, **attributes) for pair in shapes)


# --- samples ---------------------------------------------------------------------------------------------------------


@attrs.frozen
class Operand:
    """What an operation takes as one operand.

    Attributes:
        type: its type.
        domain: the numbers that it may hold.
    """

    type: Type
    domain: Domain


@attrs.frozen(eq=False)
class Sample:
    """Operand types and attributes with which an operation is valid, and can be evaluated.

    Attributes:
        op: the op class.
        fields: for each declared operand its type, several for a variadic one, None for one that is absent.
        attributes: by the names of the constructor's parameters.
    """

    op: type[Op]
    fields: tuple[Type | tuple[Type, ...] | None, ...]
    attributes: Mapping[str, Any]

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of the operands that are present, in order."""
        found: list[Type] = []
        for field in self.fields:
            found += () if field is None else field if isinstance(field, tuple) else (field,)
        return tuple(found)

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The operands that are present, in order, each with its domain."""
        return _operands(self)

    @property
    def result_types(self) -> tuple[Type, ...]:
        """The types of the results. Raises VerifyError when the operation does not take what the sample says."""
        return _result_types(self)

    def build(self, values: Sequence[Value]) -> Op:
        """The operation on values, one for each operand that is present; inserted at the active `Builder`.

        Raises:
            VerifyError: the values have types that the operation does not take.
        """
        rest = iter(values)
        given = [
            None if field is None else [next(rest) for _ in field] if isinstance(field, tuple) else next(rest)
            for field in self.fields
        ]
        make: Any = self.op
        return make(*given, **self.attributes)

    def with_types(self, types: Sequence[Type]) -> Sample:
        """The same on operands of other types."""
        rest = iter(types)
        fields = tuple(
            None if field is None else tuple(next(rest) for _ in field) if isinstance(field, tuple) else next(rest)
            for field in self.fields
        )
        return attrs.evolve(self, fields=fields)

    def __str__(self) -> str:
        types = ", ".join(map(str, self.types))
        attributes = "".join(f", {name}={value!r}" for name, value in self.attributes.items())
        return f"{self.op.name}({types}{attributes})"


def _detached(sample: Sample) -> Op:
    with detached():
        return sample.build(Block(sample.types).args)


@functools.lru_cache(maxsize=1 << 14)
def _operands(sample: Sample) -> tuple[Operand, ...]:
    types = sample.types
    if OperandDomains not in sample.op.info.interfaces:
        return tuple(Operand(type_, ANYTHING) for type_ in types)
    says = _detached(sample).interface(OperandDomains)
    assert says is not None
    return tuple(map(Operand, types, says.operand_domains()))


@functools.lru_cache(maxsize=1 << 14)
def _result_types(sample: Sample) -> tuple[Type, ...]:
    return tuple(r.type for r in _detached(sample).results)


class Sampled(Interface):
    """An operation on tensors that says what it takes."""

    __slots__ = ()

    cases: ClassVar[Sequence[Case]] = ()
    """Shapes and attributes. The first is the most common, of a tensor that is not empty: attributes vary on it."""
    accepts: ClassVar[Kind] = "any"
    """Element types that the operands may have."""
    refuses: ClassVar[Mapping[str, Sequence[float]]] = {}
    """Numbers that an attribute must not be."""

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Samples, the most common first; the same in every process."""
        op = cast("type[Op]", cls)
        kinds = cast("dict[Kind, None]", dict.fromkeys(c.kind or cls.accepts for c in cls.cases))
        for kind in kinds:
            cases = [c for c in cls.cases if (c.kind or cls.accepts) == kind]
            first, *others = ELEMENTS[kind]
            made = [_sample(op, c, first) for c in cases]
            yield from made
            yield from _varied(op, cases[0], first)
            for number, element in enumerate(others):
                # Three cases each, others for each type.
                chosen = dict.fromkeys((0, (2 * number + 1) % len(cases), (2 * number + 2) % len(cases)))
                yield from (_sample(op, cases[index], element) for index in chosen)
                if number < 2 or element in (i8, ui8):
                    yield from _varied(op, cases[0], element)


def samples_of(op: type[Any]) -> Iterator[Sample]:
    """The samples of an op class; none for one that is not `Sampled`."""
    return op.samples() if issubclass(op, Sampled) else iter(())


def _sample(op: type[Op], case_: Case, element: ScalarType) -> Sample:
    def typed(given: Shape | _Of) -> Type:
        return VTensorType(given.shape, given.element) if isinstance(given, _Of) else VTensorType(given, element)

    fields = [
        None if given is None else tuple(map(typed, given)) if isinstance(given, list) else typed(given)
        for given in case_.operands
    ]
    fields += [() if f.count == "many" else None for f in op.definition.operands[len(fields) :]]
    return Sample(op, tuple(fields), case_.attributes)


@functools.cache
def _fields_of(op: type[Op], annotation: str) -> tuple[str, ...]:
    return tuple(f.name for f in op.definition.attributes if str(f.annotation).split(" | ")[0] == annotation)


def _varied(op: type[Op], case_: Case, element: ScalarType) -> Iterator[Sample]:
    """The case with each number and truth value that the attributes can have, and with several of them changed."""
    refuses: Mapping[str, Sequence[float]] = getattr(op, "refuses", {})
    numbers = {
        name: tuple(n for n in numbers_for(element) if n not in refuses.get(name, ()))
        for name in _fields_of(op, "float")
    }
    flags = [name for name in _fields_of(op, "bool") if name not in case_.attributes]
    usual = {f.name: f.default for f in op.definition.attributes}

    def with_(changed: Mapping[str, Any]) -> Sample:
        return _sample(op, attrs.evolve(case_, attributes={**case_.attributes, **changed}), element)

    for name in flags:
        yield with_({name: not usual[name]})
    for name, choices in numbers.items():
        yield from (with_({name: number}) for number in choices)
    if len(numbers) + len(flags) > 1 and numbers:
        for turn in range(4):
            changed: dict[str, Any] = {
                name: choices[(turn + place + 1) % len(choices)]
                for place, (name, choices) in enumerate(numbers.items())
            }
            changed |= {
                name: usual[name] if (turn >> place) % 2 else not usual[name] for place, name in enumerate(flags)
            }
            yield with_(changed)


def extents_of(sample: Sample) -> Iterator[int]:
    """The extents of its operands."""
    for type_ in sample.types:
        if isinstance(type_, RankedTensor):
            yield from type_.shape


__all__ = [
    "ANYTHING",
    "BROADCASTS",
    "Case",
    "ELEMENTS",
    "Kind",
    "NUMBERS",
    "Operand",
    "SHAPES",
    "Sample",
    "Sampled",
    "case",
    "each",
    "extents_of",
    "is_kind",
    "numbers_for",
    "of",
    "pairs",
    "samples_of",
]
