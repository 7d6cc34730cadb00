"""Values and their uses: a value is defined once, by an operation or a block, and knows everyone who uses it."""

# Values, uses and operations keep each other consistent, so they share their slots.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tx8ir.core.attrs.types import RankedTensor, ScalarType, Type
from tx8ir.core.errors import IrError
from tx8ir.core.location import Location, NamedLocation, unnamed
from tx8ir.support.display import Displayable

from .value_class import PythonOperators

if TYPE_CHECKING:
    from .block import Block
    from .operation import Operation


class Value(PythonOperators, Displayable):
    """What operations take and give: a type and a chain of uses, nothing else.

    What it can do beside that (`x + y`, `x.relu()`) the dialect of its type lends it: see `value_class`. The chain is
    linked through the `OpOperand` objects, so adding, removing and redirecting a use is O(1).
    """

    __slots__ = ("_first_use", "_last_use", "_owner", "_type", "index")
    _owner: Any
    index: int
    _type: Type
    _first_use: OpOperand | None
    _last_use: OpOperand | None

    @property
    def type(self) -> Type:
        return self._type

    @type.setter
    def type(self, new: Type) -> None:
        if not isinstance(new, Type):  # pyright: ignore[reportUnnecessaryIsInstance]  (a caller without types)
            raise IrError(f"the type of a value is a Type, not {new!r}")
        self._type = new

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of a tensor, -1 (`DYNAMIC`) where unknown. Raises AttributeError for another type."""
        return self._tensor_type("shape").shape

    @property
    def rank(self) -> int:
        """How many axes a tensor has. Raises AttributeError for another type."""
        return self._tensor_type("rank").rank

    @property
    def dtype(self) -> ScalarType:
        """The element type of a tensor, `f32` and the like. Raises AttributeError for another type."""
        return self._tensor_type("dtype").element

    def _tensor_type(self, what: str) -> RankedTensor:
        if not isinstance(self._type, RankedTensor):
            raise AttributeError(f"a value of {self._type} has no attribute {what!r}")
        return self._type

    @property
    def owner(self) -> Operation | Block:
        """The operation or the block that defines it."""
        return self._owner

    @property
    def defining_op(self) -> Operation | None:
        """The operation whose result it is, or None for a block argument."""
        return None

    @property
    def parent_block(self) -> Block | None:
        """The block that it is defined in, or None when its operation is detached."""
        raise NotImplementedError  # both kinds of value say

    @property
    def uses(self) -> Iterator[OpOperand]:
        """The uses, oldest first. The use just given may be changed or removed, and uses may be added."""
        use = self._first_use
        while use is not None:
            following = use._next
            yield use
            # When the loop body appended a use to a chain that had ended here, it is seen too.
            use = following if following is not None or use._value is not self else use._next

    @property
    def users(self) -> Iterator[Operation]:
        """The operation of each use, oldest use first; one that uses the value twice comes twice."""
        for use in self.uses:
            yield use._owner

    @property
    def has_uses(self) -> bool:
        return self._first_use is not None

    @property
    def has_one_use(self) -> bool:
        return self._first_use is not None and self._first_use is self._last_use

    @property
    def num_uses(self) -> int:
        """The number of uses; O(uses)."""
        count, use = 0, self._first_use
        while use is not None:
            count, use = count + 1, use._next
        return count

    def replace_all_uses_with(self, other: Value) -> None:
        """Make every user use `other` instead; the uses are appended to its chain in order. O(uses).

        Raises:
        ------
            IrError: `other` is not a value, or belongs to an erased operation.
        """
        if other.__class__ is not OpResult:
            other = as_value(other)
        first = self._first_use
        if first is None or other is self:
            return
        use: OpOperand | None = first
        while use is not None:
            use._value = other
            use = use._next
        last = other._last_use
        if last is None:
            other._first_use = first
        else:
            last._next = first
            first._previous = last
        other._last_use = self._last_use
        self._first_use = self._last_use = None

    def replace_uses_if(self, other: Value, condition: Any) -> int:
        """Redirect the uses for which `condition(use)` holds to `other`; their number. O(uses)."""
        other = as_value(other)
        chosen = [use for use in self.uses if condition(use)]
        for use in chosen:
            use.set(other)
        return len(chosen)

    def __str__(self) -> str:
        return f"{self.name_hint or '<value>'} : {self._type}"

    def _as_value(self) -> Value:
        return self

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"a value of {self._type} is neither true nor false before the program runs; branch in the program with "
            "tx8ir.cond or tx8ir.while_loop (and compare with None by `is None`)"
        )

    @property
    def name_hint(self) -> str | None:
        """The name that a front end or a text gave it, or None."""
        return None


class OpResult(Value):
    """The `index`-th result of an operation."""

    __slots__ = ()

    @property
    def owner(self) -> Operation:
        return self._owner

    @property
    def defining_op(self) -> Operation:
        return self._owner

    @property
    def parent_block(self) -> Block | None:
        return self._owner._parent

    @property
    def name_hint(self) -> str | None:
        return self._owner.location.name

    @name_hint.setter
    def name_hint(self, name: str) -> None:
        self._owner.location = NamedLocation(name, unnamed(self._owner.location))

    def __repr__(self) -> str:
        return f"<OpResult {self.index} of {self._owner.name} : {self._type}>"


class BlockArgument(Value):
    """The `index`-th argument of a block, and where it comes from."""

    __slots__ = ("location",)
    location: Location

    @property
    def owner(self) -> Block:
        return self._owner

    @property
    def parent_block(self) -> Block:
        return self._owner

    @property
    def name_hint(self) -> str | None:
        return self.location.name

    @name_hint.setter
    def name_hint(self, name: str) -> None:
        self.location = NamedLocation(name, unnamed(self.location))

    def __repr__(self) -> str:
        return f"<BlockArgument {self.index} : {self._type}>"


class ErasedValue(Value):
    """What a result becomes when its operation is erased: it cannot be used any more."""

    __slots__ = ()

    @property
    def parent_block(self) -> None:
        return None

    def __repr__(self) -> str:
        return f"<erased value : {self._type}>"


class OpOperand:
    """One use of a value: the `index`-th operand of `owner`."""

    __slots__ = ("_next", "_owner", "_previous", "_value", "index")
    _owner: Operation
    _value: Value
    _next: OpOperand | None
    _previous: OpOperand | None
    index: int

    @property
    def owner(self) -> Operation:
        return self._owner

    @property
    def value(self) -> Value:
        return self._value

    def set(self, value: Value) -> None:
        """Use `value` instead; O(1). Raises IrError when `value` is none or belongs to an erased operation."""
        value = as_value(value)
        if value is not self._value:
            unlink((self,))
            self._value = value
            link((self,))

    def __repr__(self) -> str:
        return f"<OpOperand {self.index} of {self._owner.name} : {self._value._type}>"


def operand_source(use: str, owner: str, index: object, value: str) -> str:
    """The line that makes a use, which is in no chain yet, given the names of all; see `link_source`."""
    return f"{use} = OpOperand(); {use}._owner = {owner}; {use}.index = {index}; {use}._value = {value}"


def result_source(result: str, owner: str, index: object, type: str) -> str:
    """The line that makes a result without uses, given the names of all."""
    made = f"{result} = OpResult(); {result}._owner = {owner}; {result}.index = {index}"
    return f"{made}; {result}._type = {type}; {result}._first_use = {result}._last_use = None"


def link_source(use: str, value: str) -> list[str]:
    """The lines that append a use to the chain of its value, given the names of both.

    Constructors are generated with them in line, as nothing is done as often; `link` has the same lines.
    """
    return [
        f"{use}._next = None",
        f"last = {use}._previous = {value}._last_use",
        f"if last is None: {value}._first_use = {use}",
        f"else: last._next = {use}",
        f"{value}._last_use = {use}",
    ]


def _generated(signature: str, *lines: str) -> Any:
    """A function with `link_source` in line."""
    scope: dict[str, Any] = {"OpOperand": OpOperand}
    source = "\n".join((f"def {signature}:", *lines))
    exec(compile(source, f"<{signature} of {__name__}>", "exec"), scope)
    return scope[signature.partition("(")[0]]


link: Final[Callable[[Iterable[OpOperand]], None]] = _generated(
    "link(uses)",
    "  for use in uses:",
    "    value = use._value",
    *(f"    {line}" for line in link_source("use", "value")),
)
"""Append each of some uses, whose values are set, to the chain of its value."""

make_uses: Final[Callable[[Operation, Iterable[Value]], tuple[OpOperand, ...]]] = _generated(
    "make_uses(owner, values)",
    "  index, uses = 0, []",
    "  for value in values:",
    f"    {operand_source('use', 'owner', 'index', 'value')}",
    *(f"    {line}" for line in link_source("use", "value")),
    "    uses.append(use)",
    "    index += 1",
    "  return tuple(uses)",
)
"""The uses that the operands of an operation are, appended to the chains of the values."""


def unlink(uses: Iterable[OpOperand]) -> None:
    """Take each of some uses out of the chain it is in."""
    for use in uses:
        before, after, value = use._previous, use._next, use._value
        if before is None:
            value._first_use = after
        else:
            before._next = after
        if after is None:
            value._last_use = before
        else:
            after._previous = before
        use._previous = use._next = None


def as_values(given: Iterable[Any], name: str) -> list[Value]:
    """What is given as the operands of an operation called `name`, each as `as_value` has it; and the same errors."""
    values = list(given)
    for index, value in enumerate(values):
        cls = value.__class__
        if cls is not OpResult and cls is not BlockArgument:
            values[index] = as_value(value, f"operand {index} of {name}")
    return values


def as_value(given: Any, what: str = "an operand") -> Value:
    """`given` as a value: itself, or the only result of an operation.

    Raises:
    ------
        IrError: something else, an operation without exactly one result, or a value of an erased operation.
    """
    if given.__class__ is OpResult or given.__class__ is BlockArgument:
        return given
    if isinstance(given, ErasedValue):
        raise IrError(f"{what} is a result of an erased operation: {given._owner.describe()}")
    results = getattr(given, "_results", None)
    if results is None:
        raise IrError(f"{what} must be a Value or an operation with one result, not {given!r}")
    if len(results) != 1:
        raise IrError(f"{what} must be a Value; {given.name} has {len(results)} results, say which", given)
    return results[0]
