"""What values of tensor types can do in Python: operators, indexing, and a method for each operation of the dialect."""

from __future__ import annotations

import functools
import inspect
import operator
import types
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Self, cast

import numpy as np

from tx8ir.core import ElementLike, IrError, NumericOperand, Op, OperandLike, Operation, Value, element_type, f32, i1
from tx8ir.core.ir.value_class import require_insertion_point
from tx8ir.core.location import at_location, caller_location
from tx8ir.core.opdef.signature import signature_of
from tx8ir.dialects import pd

from .promotion import constant, is_tensor_like, promoted


def _binary(name: str, *, swapped: bool = False) -> Callable[[Any, Any], Any]:
    """The operator that makes the operation `pd.name` of two promoted operands."""

    def operate(x: Value, y: object) -> Any:
        if not is_tensor_like(y):
            return NotImplemented
        given = (y, x) if swapped else (x, y)
        left, right = promoted(*given, f"pd.{name}")
        if name == "divide" and not left.dtype.is_float:  # as in Python, two integers give a fraction
            left, right = (pd.cast(side, dtype=f32).out for side in (left, right))
        return getattr(pd, name)(left, right).out

    return operate


def _logical(name: str) -> Callable[[Any, Any], Any]:
    make = _binary(name)

    def operate(x: Value, y: object) -> Any:
        for side in (x.dtype, y.dtype if isinstance(y, Value) else i1):
            if side is not i1:
                raise IrError(
                    f"& and | are for truth values, not for a tensor of {side}: there are no bitwise operations"
                )
        return make(x, y)

    return operate


class TensorOperators(Value):
    """Operators, indexing and the methods that are more than one operation with the same arguments."""

    __slots__ = ()

    if TYPE_CHECKING:  # what each of them gives

        def __add__(self, other: OperandLike, /) -> Self: ...
        def __radd__(self, other: OperandLike, /) -> Self: ...
        def __sub__(self, other: OperandLike, /) -> Self: ...
        def __rsub__(self, other: OperandLike, /) -> Self: ...
        def __mul__(self, other: OperandLike, /) -> Self: ...
        def __rmul__(self, other: OperandLike, /) -> Self: ...
        def __truediv__(self, other: OperandLike, /) -> Self: ...
        def __rtruediv__(self, other: OperandLike, /) -> Self: ...
        def __matmul__(self, other: OperandLike, /) -> Self: ...
        def __rmatmul__(self, other: OperandLike, /) -> Self: ...
        def __rpow__(self, other: OperandLike, /) -> Self: ...
        def __lt__(self, other: OperandLike, /) -> Self: ...
        def __le__(self, other: OperandLike, /) -> Self: ...
        def __gt__(self, other: OperandLike, /) -> Self: ...
        def __ge__(self, other: OperandLike, /) -> Self: ...
        def __and__(self, other: OperandLike, /) -> Self: ...
        def __or__(self, other: OperandLike, /) -> Self: ...

    else:
        __add__ = __radd__ = _binary("add")
        __sub__, __rsub__ = _binary("subtract"), _binary("subtract", swapped=True)
        __mul__ = __rmul__ = _binary("multiply")
        __truediv__, __rtruediv__ = _binary("divide"), _binary("divide", swapped=True)
        __matmul__, __rmatmul__ = _binary("matmul"), _binary("matmul", swapped=True)
        __lt__, __le__ = _binary("less_than"), _binary("less_equal")
        __gt__, __ge__ = _binary("greater_than"), _binary("greater_equal")
        __and__, __or__ = _logical("logical_and"), _logical("logical_or")
        __rpow__ = _binary("elementwise_pow", swapped=True)

    def __pow__(self, other: OperandLike, /) -> Self:
        if isinstance(other, (int, float, np.number)) and not isinstance(other, bool) and self.dtype.is_float:
            return _out(pd.pow(self, y=float(other)))
        return _binary("elementwise_pow")(self, other)

    def __neg__(self) -> Self:
        return _out(pd.scale(self, scale=-1.0))

    def __abs__(self) -> Self:
        return _out(pd.abs(self))

    def __invert__(self) -> Self:
        return _out(pd.logical_not(self))

    def __getitem__(self, index: Any, /) -> Self:
        """Integers, slices of step 1, `...` and None, as in NumPy. Raises IrError for another index."""
        parts = cast("tuple[Any, ...]", index if isinstance(index, tuple) else (index,))
        return _out(_indexed(self, parts))

    @property
    def ndim(self) -> int:
        """How many axes it has: `rank`, as NumPy calls it."""
        return self.rank

    @property
    def T(self) -> Self:
        """The axes in reverse order."""
        made_at = caller_location(3)  # of who reads the name that is lent
        return _construct("T", lambda: pd.transpose(self, perm=tuple(reversed(range(self.rank)))), made_at)

    def astype(self, dtype: ElementLike) -> Self:
        """The numbers in another element type: `"bf16"`, `f32`, `np.int32`."""
        return _construct("astype", lambda: pd.cast(self, dtype=element_type(dtype, what="dtype")), caller_location())

    def reshape(self, *shape: int | Sequence[int]) -> Self:
        """The same numbers in another shape, given as one sequence or as numbers; one -1 follows from the others."""
        return _construct("reshape", lambda: pd.reshape(self, shape=_whole_numbers(shape)), caller_location())

    def transpose(self, *perm: int | Sequence[int]) -> Self:
        """The axes in another order, given as one sequence or as numbers; in reverse order without."""
        order = _whole_numbers(perm) or tuple(reversed(range(self.rank)))
        return _construct("transpose", lambda: pd.transpose(self, perm=order), caller_location())


def _out(made: Value | Operation) -> Any:
    """The result, as type checkers are to see it: of the class that values are lent."""
    return made if isinstance(made, Value) else made.result


def _construct(what: str, make: Callable[[], Operation], location: Any) -> Any:
    require_insertion_point(f"x.{what}")
    with at_location(location):
        op = make()
    return op.result if len(op.results) == 1 else op.results


def _whole_numbers(given: tuple[int | Sequence[int], ...]) -> tuple[int, ...]:
    """What was given as one sequence or as separate numbers."""
    found = given[0] if len(given) == 1 and not isinstance(given[0], int) else given
    return tuple(operator.index(number) for number in cast("Iterable[Any]", found))


def _indexed(x: Value, index: tuple[Any, ...]) -> Value:
    taken = sum(part is not None and part is not ... for part in index)
    if taken > x.rank or sum(part is ... for part in index) > 1:
        raise IrError(f"{len(index)} indices {index} for a tensor of {x.rank} axes, {x.type}")
    if not any(part is ... for part in index):
        index = (*index, ...)
    cut: list[tuple[int, int, int]] = []
    dropped: list[int] = []
    added: list[int] = []  # in the shape of the answer
    axis = place = 0
    for part in index:
        if part is None:
            added.append(place)
            place += 1
        elif part is ...:
            axis, place = axis + x.rank - taken, place + x.rank - taken
        elif isinstance(part, slice):
            cut += _slice_of(axis, part)
            axis, place = axis + 1, place + 1
        else:
            cut.append(_element_of(x, axis, part))
            dropped.append(axis)
            axis += 1
    found = x
    if cut:
        axes, starts, ends = zip(*cut, strict=True)
        found = pd.slice(x, axes=axes, starts=starts, ends=ends, decrease_axis=tuple(dropped)).out
    return pd.unsqueeze(found, axis=tuple(added)).out if added else found


def _slice_of(axis: int, part: Any) -> list[tuple[int, int, int]]:
    if part.step not in (None, 1):
        raise IrError(f"x[...] takes slices of step 1, not {part}")
    if part.start is None and part.stop is None:
        return []
    start = 0 if part.start is None else operator.index(part.start)
    return [(axis, start, (1 << 31) - 1 if part.stop is None else operator.index(part.stop))]


def _element_of(x: Value, axis: int, part: Any) -> tuple[int, int, int]:
    if isinstance(part, (bool, np.ndarray, Value, Operation)) or not hasattr(part, "__index__"):
        raise IrError(
            f"x[...] takes numbers, slices, ... and None, not {part!r}; take rows with pd.gather(x, index), choose "
            "with pd.where(condition, x, y)"
        )
    number, extent = operator.index(part), x.shape[axis]
    if extent >= 0 and not -extent <= number < extent:
        raise IrError(f"index {number} is outside of axis {axis} of {x.type}")
    return axis, number, number + 1 if number != -1 else (1 << 31) - 1


def with_methods(ops: Iterable[type[Operation]]) -> type[TensorOperators]:
    """The class of tensors: `TensorOperators` and a method for each operation whose first operand is a tensor."""
    methods: dict[str, Any] = {"__slots__": (), "__doc__": TENSOR_DOC, "__module__": "tx8ir.dialects.pd"}
    for op_class in ops:
        name = op_class.name.partition(".")[2]
        if issubclass(op_class, Op) and name.isidentifier() and not hasattr(TensorOperators, name):
            operands, results = op_class.definition.operands, op_class.definition.results
            if operands and results and operands[0].count == "one":
                methods[name] = OpMethod(op_class, name)
    return cast("type[TensorOperators]", type("Tensor", (TensorOperators,), methods))


TENSOR_DOC: Final = """A value of a tensor type, as Python sees it: every value of one has these operators and methods.

`x.softmax(axis=0)` is `pd.softmax(x, axis=0).out`; attributes may be given by position, after the operands.
"""


_WIDER: Final = {
    "Type": "ElementLike",
    "Type | None": "ElementLike | None",
    "tuple[int, ...]": "int | tuple[int, ...]",
    "Value | Operation": "OperandLike",
    "Value | Operation | None": "OperandLike | None",
}
"""What methods take for what constructors take."""


class OpMethod:
    """The method that makes the operation of a value and gives its result, or its results."""

    def __init__(self, op_class: type[Op], name: str) -> None:
        self._op_class = op_class
        self.__name__ = name
        self.__qualname__ = f"Tensor.{name}"
        self.__doc__ = op_class.__doc__

    @functools.cached_property
    def __signature__(self) -> inspect.Signature:
        """That of the operation, with attributes by position as long as that leaves none without default behind."""
        definition = self._op_class.definition
        first, *others = signature_of(definition).parameters.values()
        found = [first.replace(name="self", annotation=inspect.Parameter.empty)]
        attributes = {field.name for field in definition.attributes}
        by_position = True
        for parameter in others:
            required = parameter.default is parameter.empty
            by_position &= parameter.name not in attributes or not required or found[-1].default is parameter.empty
            is_result = parameter.name not in attributes and parameter.kind is parameter.KEYWORD_ONLY
            kind = parameter.POSITIONAL_OR_KEYWORD if by_position and not is_result else parameter.kind
            annotation = parameter.annotation if is_result else _WIDER.get(str(parameter.annotation))
            found.append(parameter.replace(kind=kind, annotation=annotation or parameter.annotation))
        single = len(definition.results) == 1 and definition.results[0].count == "one"
        return inspect.Signature(found, return_annotation="Tensor" if single else "tuple[Tensor, ...]")

    def __get__(self, value: Value | None, owner: type[Any] | None = None) -> Any:
        return self if value is None else types.MethodType(self, value)

    def __call__(self, value: Value, *args: Any, **named: Any) -> Any:
        location = caller_location()
        try:
            given = self.__signature__.bind(value, *args, **named).arguments
        except TypeError as error:
            raise TypeError(f"x.{self.__name__}{str(self.__signature__).replace('(self, ', '(')}: {error}") from None
        for field in self._op_class.definition.attributes:
            if field.name in given:
                given[field.name] = _attribute(given[field.name], str(field.annotation), field.name)
        operand, *others = self._op_class.definition.operands
        for field in others:
            if not isinstance(field, NumericOperand) and isinstance(given.get(field.name), np.ndarray):
                given[field.name] = constant(given[field.name])
        given[operand.name] = given.pop("self")
        return _construct(self.__name__, lambda: self._op_class(**given), location)


def _attribute(given: Any, annotation: str, what: str) -> Any:
    """An attribute from what people write for it: a number for a list of one, the name of an element type."""
    if annotation.startswith("Type") and given is not None:
        return element_type(given, what=what)
    return (given,) if annotation.startswith("tuple[int") and isinstance(given, int) else given


__all__ = ["OpMethod", "TensorOperators", "with_methods"]
