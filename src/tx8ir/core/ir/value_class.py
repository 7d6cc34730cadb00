"""What values can do in Python, `x + y` and `x.relu()`: the core knows no operation, so dialects lend it.

A dialect registers a subclass of `Value` for its types. Values are never made of that class: operators and names that
`Value` does not have are looked up there, by the type that the value has at the moment.

Each such name is a descriptor of `PythonOperators`, the common base of values and operations. A `__getattr__` would do
without, but of a class that has one Python reads every attribute six times slower, slots too. So there is one only
until the dialects are loaded that lend something.
"""

# Values and operations say which value they stand for.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tx8ir.core.attrs.types import Type
from tx8ir.core.errors import IrError
from tx8ir.core.location import THREAD, at_location, caller_location
from tx8ir.support.registration import is_loaded, load_registered

if TYPE_CHECKING:
    from .value import Value

_CLASSES: Final[dict[type[Type], tuple[str, type[Any]]]] = {}


def register_value_class(dialect: str, value_class: type[Value], *type_classes: type[Type]) -> None:
    """Let values of these types do what `value_class` defines: operators (`__add__`), methods and properties.

    A function of it is called with the value; one that cannot take its other operand returns NotImplemented. A later
    definition of the same class, in a notebook's cell that runs again, takes the place of the earlier one.

    Raises:
        IrError: another dialect has registered a class for one of the types.
    """
    for type_class in type_classes:
        owner, known = _CLASSES.get(type_class, (dialect, value_class))
        if (owner, known.__qualname__) != (dialect, value_class.__qualname__):
            raise IrError(
                f"{dialect} lends {value_class.__name__} to values of {type_class.__name__}, "
                f"which {owner} does already, with {known.__name__}; one dialect says what + means"
            )
    for type_class in type_classes:
        _CLASSES[type_class] = (dialect, value_class)
    for name in _names(value_class):
        if not hasattr(PythonOperators, name):
            setattr(PythonOperators, name, _Lent(name))
    if is_loaded("value class"):
        _end_lookup()


def value_class_of(kind: Type) -> tuple[str, type[Any]] | None:
    """The dialect and the class that lend values of this type what they can do, or None."""
    for base in type(kind).__mro__:
        if base in _CLASSES:
            return _CLASSES[base]
    return None


def _find(kind: Type) -> tuple[str, type[Any]] | None:
    found = value_class_of(kind)
    if found is None:
        load_registered("value class")
        found = value_class_of(kind)
    return found


def _lent(value: Value, name: str) -> Any:
    """The attribute `name` that the value is lent, bound to it. Raises AttributeError when there is none."""
    found = _find(value.type)
    own = None if found is None else _own(found[1], name)
    if own is not None:
        return own.__get__(value, type(value))
    raise AttributeError(
        f"a value of {value.type} has no attribute {name!r}", name=name, obj=value if found is None else found[1]
    )


def _own(value_class: type[Any], name: str) -> Any:
    """What the class defines under that name itself, beside what every value has; None when it does not."""
    for base in value_class.__mro__:
        if base is not PythonOperators and name in vars(base):
            return vars(base)[name]
    return None


def _names(value_class: type[Any]) -> list[str]:
    return [name for name in dir(value_class) if not name.startswith("_")]


class _Lent:
    """A name of values, and of operations with one result, that is what the dialect of the type says."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, given: PythonOperators | None, owner: type[Any]) -> Any:
        if given is None:
            return self
        value = _value_of(given, self.name)
        return _lent(value, self.name) if self.name not in _OF_TENSORS else getattr(value, self.name)


_OF_TENSORS: Final = ("dtype", "rank", "shape")
"""What every value of a tensor type has, and an operation by its result."""


def _value_of(given: PythonOperators, name: str) -> Value:
    try:
        return given._as_value()
    except IrError as error:
        raise AttributeError(f"no attribute {name!r}: {error.message}", name=name, obj=given) from None


def _load_and_look_again(given: PythonOperators, name: str) -> Any:
    """The `__getattr__` of `PythonOperators` until the dialects are loaded that lend names."""
    if not name.startswith("_"):
        load_registered("value class")
        _end_lookup()
        return getattr(given, name)
    raise AttributeError(f"{type(given).__name__!r} object has no attribute {name!r}", name=name, obj=given)


def _end_lookup() -> None:
    if "__getattr__" in vars(PythonOperators):
        del PythonOperators.__getattr__  # pyright: ignore[reportAttributeAccessIssue]  (not declared)


def require_insertion_point(what: str) -> None:
    """Raise IrError when operations that are constructed now would go nowhere: what they compute would be lost."""
    if THREAD.build.insertion_point is None:
        raise IrError(
            f"{what} makes operations, and there is no place for them: write it inside "
            "`with Builder.at_end(block):`, or in a function under @tx8ir.function"
        )


def _operator(name: str, symbol: str) -> Callable[..., Any]:
    """The special method of that name of `PythonOperators`."""

    def operate(self: Any, *others: Any) -> Any:
        value: Value = self._as_value()
        found = _find(value.type)
        function = None if found is None else _own(found[1], name)
        if found is None or function is None:
            raise IrError(f"{symbol} means nothing for a value of {value.type}; call the operation by its name")
        for other in others:
            if isinstance(other, PythonOperators):
                _require_same(symbol, value, found, other._as_value())
        location = caller_location()
        require_insertion_point(symbol)
        with at_location(location):
            return function(value, *others)

    operate.__name__ = operate.__qualname__ = name
    operate.__doc__ = f"`{symbol}`, as the dialect of the type says."
    return operate


def _require_same(symbol: str, value: Value, found: tuple[str, type[Any]], other: Value) -> None:
    theirs = _find(other.type)
    if theirs is None or theirs[1] is not found[1]:
        of_other = "which no dialect lends operators" if theirs is None else f"of dialect {theirs[0]}"
        raise IrError(
            f"{symbol} is ambiguous between a value of {value.type}, of dialect {found[0]}, and one of {other.type}, "
            f"{of_other}; call the operation that is meant by its name"
        )


class PythonOperators:
    """Python's operators, for values and for operations with one result, which stand for that result.

    `==` and `!=` compare identity, as sets and dictionaries of values need it: `x.equal(y)` compares numbers.
    """

    __slots__ = ()

    def _as_value(self) -> Value:
        raise NotImplementedError  # both say

    def __dir__(self) -> list[str]:
        """For TAB: its own names, and those that the dialect of its type lends it."""
        own = [name for name in super().__dir__() if not isinstance(getattr(type(self), name, None), _Lent)]
        try:
            found = _find(self._as_value().type)
        except IrError:
            return own
        return own if found is None else [*own, *_names(found[1])]

    if TYPE_CHECKING:

        def __add__(self, other: Any, /) -> Any: ...
        def __radd__(self, other: Any, /) -> Any: ...
        def __sub__(self, other: Any, /) -> Any: ...
        def __rsub__(self, other: Any, /) -> Any: ...
        def __mul__(self, other: Any, /) -> Any: ...
        def __rmul__(self, other: Any, /) -> Any: ...
        def __truediv__(self, other: Any, /) -> Any: ...
        def __rtruediv__(self, other: Any, /) -> Any: ...
        def __pow__(self, other: Any, /) -> Any: ...
        def __rpow__(self, other: Any, /) -> Any: ...
        def __matmul__(self, other: Any, /) -> Any: ...
        def __rmatmul__(self, other: Any, /) -> Any: ...
        def __lt__(self, other: Any, /) -> Any: ...
        def __le__(self, other: Any, /) -> Any: ...
        def __gt__(self, other: Any, /) -> Any: ...
        def __ge__(self, other: Any, /) -> Any: ...
        def __and__(self, other: Any, /) -> Any: ...
        def __or__(self, other: Any, /) -> Any: ...
        def __neg__(self) -> Any: ...
        def __abs__(self) -> Any: ...
        def __invert__(self) -> Any: ...
        def __getitem__(self, index: Any, /) -> Any: ...

    else:
        __add__, __radd__ = _operator("__add__", "x + y"), _operator("__radd__", "x + y")
        __sub__, __rsub__ = _operator("__sub__", "x - y"), _operator("__rsub__", "x - y")
        __mul__, __rmul__ = _operator("__mul__", "x * y"), _operator("__rmul__", "x * y")
        __truediv__, __rtruediv__ = _operator("__truediv__", "x / y"), _operator("__rtruediv__", "x / y")
        __pow__, __rpow__ = _operator("__pow__", "x ** y"), _operator("__rpow__", "x ** y")
        __matmul__, __rmatmul__ = _operator("__matmul__", "x @ y"), _operator("__rmatmul__", "x @ y")
        __lt__, __le__ = _operator("__lt__", "x < y"), _operator("__le__", "x <= y")
        __gt__, __ge__ = _operator("__gt__", "x > y"), _operator("__ge__", "x >= y")
        __and__, __or__ = _operator("__and__", "x & y"), _operator("__or__", "x | y")
        __neg__, __abs__, __invert__ = (
            _operator("__neg__", "-x"),
            _operator("__abs__", "abs(x)"),
            _operator("__invert__", "~x"),
        )
        __getitem__ = _operator("__getitem__", "x[...]")
        # With __getitem__ alone, Python would iterate for ever; and a lone value is not a list of values.
        __iter__ = None
        # NumPy leaves `array + x` to the value.
        __array_ufunc__ = None
        __getattr__ = _load_and_look_again
        dtype, rank, shape = map(_Lent, _OF_TENSORS)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            f"a value of {self._as_value().type} is a place in a program and holds no numbers; "
            "run the program: tx8ir.interpreter.evaluate(program, inputs), or tx8ir.compile(program).run(inputs)"
        )
