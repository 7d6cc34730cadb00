"""Field specifiers: what an op class writes to declare operands, attributes, results, regions and successors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, cast, overload

from tx8ir.core.attrs.types import Type
from tx8ir.core.ir.value import OpResult, Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tx8ir.core.ir.operation import Operation

OperandLike: TypeAlias = "Value | Operation | float | np.number[Any] | np.bool_ | NDArray[Any]"
"""What stands for a tensor in Python: a value, an operation with one result, a number, an array."""

T = TypeVar("T")
MISSING: Final[Any] = object()
Constraint = type[Type] | tuple[type[Type], ...] | Type | Callable[[Type], bool] | None


class Field:
    """A declared part of an operation. `name`, `owner` and `annotation` are filled in when the op class is made."""

    name: str = ""
    owner: type[Any] = object
    annotation: Any = None

    def __init__(self, doc: str = "") -> None:
        self.doc = doc

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {getattr(self.owner, 'name', self.owner.__name__)}>"


class ValueField(Field):
    """A declared operand or result.

    Attributes:
        count: "one", "optional" or "many".
        constraint: a Type class, several, the one type that fits, or a predicate that the type must satisfy.
    """

    count: Literal["one", "optional", "many"] = "one"

    def __init__(self, constraint: Constraint = None, doc: str = "") -> None:
        super().__init__(doc)
        self.constraint = constraint

    def accepts(self, type: Type) -> bool:
        if self.constraint is None:
            return True
        if self.only_type is not None:
            return type is self.only_type
        constraint = cast(Any, self.constraint)
        return isinstance(type, constraint) if isinstance(constraint, (tuple, _CLASS)) else constraint(type)

    @property
    def only_type(self) -> Type | None:
        """The type, when the constraint allows one only; no text and no constructor needs to say it."""
        return self.constraint if isinstance(self.constraint, Type) else None

    def expected(self) -> str:
        """What the constraint asks for, in words."""
        if self.only_type is not None:
            return str(self.only_type)
        if isinstance(self.constraint, tuple):
            return " or ".join([c.__name__ for c in cast(Any, self.constraint)])  # pyright: ignore[reportUnknownMemberType]
        return getattr(self.constraint, "__name__", "any type").replace("_", " ")


_CLASS: Final = type  # `type` is a parameter name above


class Operand(ValueField):
    """Annotation and specifier of one operand: reads as a `Value`; the constructor takes a value or an operation."""

    if TYPE_CHECKING:

        @overload
        def __get__(self, op: None, owner: Any) -> Operand: ...
        @overload
        def __get__(self, op: object, owner: Any) -> Value: ...
        def __get__(self, op: object, owner: Any) -> Any: ...
        def __set__(self, op: object, value: Value | Operation) -> None: ...


class NumericOperand(Operand):
    """An operand for which the constructor takes a number or an array as well; `coerce_operands` of the class makes
    it a value.
    """

    if TYPE_CHECKING:

        def __set__(self, op: object, value: OperandLike) -> None: ...


class OptionalOperand(ValueField):
    """An operand that may be absent: reads as a `Value` or None."""

    count = "optional"
    if TYPE_CHECKING:

        @overload
        def __get__(self, op: None, owner: Any) -> OptionalOperand: ...
        @overload
        def __get__(self, op: object, owner: Any) -> Value | None: ...
        def __get__(self, op: object, owner: Any) -> Any: ...
        def __set__(self, op: object, value: Value | Operation | None) -> None: ...


class VariadicOperand(ValueField):
    """Any number of operands: reads as a tuple of `Value`."""

    count = "many"
    if TYPE_CHECKING:

        @overload
        def __get__(self, op: None, owner: Any) -> VariadicOperand: ...
        @overload
        def __get__(self, op: object, owner: Any) -> tuple[Value, ...]: ...
        def __get__(self, op: object, owner: Any) -> Any: ...
        def __set__(self, op: object, value: Iterable[Value | Operation]) -> None: ...


class Result(ValueField):
    """One result: reads as an `OpResult`; the constructor takes its type, or infers it when that is left out."""

    if TYPE_CHECKING:

        @overload
        def __get__(self, op: None, owner: Any) -> Result: ...
        @overload
        def __get__(self, op: object, owner: Any) -> OpResult: ...
        def __get__(self, op: object, owner: Any) -> Any: ...
        def __set__(self, op: object, value: Type | None) -> None: ...


class VariadicResult(ValueField):
    """Any number of results: reads as a tuple of `OpResult`; the constructor takes their types."""

    count = "many"
    if TYPE_CHECKING:

        @overload
        def __get__(self, op: None, owner: Any) -> VariadicResult: ...
        @overload
        def __get__(self, op: object, owner: Any) -> tuple[OpResult, ...]: ...
        def __get__(self, op: object, owner: Any) -> Any: ...
        def __set__(self, op: object, value: Sequence[Type] | None) -> None: ...


class AttributeField(Field):
    """A declared attribute: its key in the text and its default. The annotation says what it holds."""

    def __init__(self, default: Any, key: str | None, doc: str, discardable: bool) -> None:
        super().__init__(doc)
        self.default = default
        self.discardable = discardable
        self._key = key

    @property
    def key(self) -> str:
        return self._key or self.name


class RegionField(Field):
    """A declared region."""


class VariadicRegionField(RegionField):
    """Any number of regions, after those declared before: reads as a tuple; the constructor takes a sequence."""


class SuccessorField(Field):
    """A declared successor block."""


# Type checkers build an op class's constructor from these. The specifiers that `Op` lists as such make operands
# positional and attributes keyword-only; the others read as plain defaults, so that what they declare may be left out.
# mypy does not read the default of `kw_only`, only what a call of `attribute` gives: to it attributes are positional
# too, and those without a default come before those with one. A base with attributes writes `kw_only=True`.


def operand(constraint: Constraint = None, *, doc: str = "") -> Operand:
    """One operand, optionally with a constraint on its type."""
    return Operand(constraint, doc)


def numeric_operand(constraint: Constraint = None, *, doc: str = "") -> NumericOperand:
    """One operand for which the constructor takes a number or an array as well: see `Op` on `coerce_operands`."""
    return NumericOperand(constraint, doc)


def optional_operand(constraint: Constraint = None, *, doc: str = "") -> Any:
    """An operand that may be absent."""
    return OptionalOperand(constraint, doc)


def variadic_operand(constraint: Constraint = None, *, doc: str = "") -> VariadicOperand:
    """Any number of operands; the constructor takes them as one sequence."""
    return VariadicOperand(constraint, doc)


def result(constraint: Constraint = None, *, doc: str = "") -> Any:
    """One result."""
    return Result(constraint, doc)


def variadic_result(constraint: Constraint = None, *, doc: str = "") -> Any:
    """Any number of results."""
    return VariadicResult(constraint, doc)


@overload
def attribute(
    *, name: str | None = None, doc: str = "", discardable: bool = False, kw_only: Literal[True] = True
) -> Any: ...
@overload
def attribute(
    *, default: T, name: str | None = None, doc: str = "", discardable: bool = False, kw_only: Literal[True] = True
) -> T: ...
def attribute(
    *,
    default: Any = MISSING,
    name: str | None = None,
    doc: str = "",
    discardable: bool = False,
    kw_only: Literal[True] = True,
) -> Any:
    """An attribute; required unless it has a default or its annotation allows None.

    Args:
        default: the value when the constructor is not given one.
        name: its key in the text, when that is not a Python identifier or is taken by `Operation`.
        discardable: it is ours alone, so that other tools of MLIR know the operation without it.
    """
    return AttributeField(default, name, doc, discardable)


def region(*, doc: str = "") -> Any:
    """A region; the constructor makes one with an empty block when it is not given."""
    return RegionField(doc)


def variadic_region(*, doc: str = "") -> Any:
    """Any number of regions, the last that a class declares."""
    return VariadicRegionField(doc)


def successor(*, doc: str = "", kw_only: Literal[True] = True) -> Any:
    """A block that control may go to."""
    return SuccessorField(doc)
