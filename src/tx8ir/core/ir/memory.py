"""`MemoryEffects`, `StorageAliases` and `InPlaceUpdate`: what operations do to the storage of tensors."""

from __future__ import annotations

import enum
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from .interfaces import Interface
from .value import Value

if TYPE_CHECKING:
    from .operation import Operation


class NamedStorage(NamedTuple):
    """Storage that a program refers to by name.

    Attributes:
        kind: "parameter" for a variable of the weight store, "feed" for an input of the program; or one of your own.
        name: tells those of a kind apart.
    """

    kind: str
    name: str


OUTSIDE: Final = NamedStorage("outside", "")
"""What is seen from outside of the program, in the order in which it is written: outputs, printing."""


class EffectKind(enum.Enum):
    """What is done to a storage."""

    READ = enum.auto()
    WRITE = enum.auto()
    ALLOCATE = enum.auto()
    FREE = enum.auto()


class MemoryEffect(NamedTuple):
    """One effect: on the storage of an operand or result, or on a named storage.

    Only results are allocated: such a result shares storage with nothing that was there before.
    """

    kind: EffectKind
    storage: Value | NamedStorage


class MemoryEffects(Interface):
    """Says what storage an operation reads, writes, allocates and frees. What is not said is not done."""

    __slots__ = ()

    @abstractmethod
    def memory_effects(self) -> Sequence[MemoryEffect]:
        """The effects, in the order in which they happen."""
        raise NotImplementedError  # declares the method; op classes that inherit define it


class Element(NamedTuple):
    """What a list or tuple holds at an index, or a dictionary under a key."""

    container: Value
    key: int | str


class StorageAliases(Interface):
    """Says which results, or elements of them, are storage that was there before: of operands, or named."""

    __slots__ = ()

    @abstractmethod
    def storage_aliases(self) -> Sequence[tuple[Value | Element, Value | Element | NamedStorage]]:
        """Pairs of what is a result and what it shows, of the same type."""
        raise NotImplementedError  # declares the method; op classes that inherit define it


class Snapshot(Interface):
    """Gives a tensor that is named storage, or a vtensor of what that holds now, by the type of its only result."""

    __slots__ = ()

    @abstractmethod
    def snapshot(self) -> Value:
        """The vtensor: a new operation at the active `Builder`."""
        raise NotImplementedError  # declares the method; op classes that inherit define it


class InPlaceUpdate(Interface):
    """Writes the storage of its first operand, a tensor; its only result is another name of that operand.

    The class has the trait `Inplace`.
    """

    __slots__ = ()

    @abstractmethod
    def new_content(self, operands: Sequence[Value]) -> Value | Operation:
        """What the storage holds then, as a vtensor: one of `operands`, or a new, detached operation with one result.

        Args:
            operands: what the operands hold, each a vtensor where the operand is a tensor.
        """
        raise NotImplementedError  # declares the method; op classes that inherit define it

    def stored(self) -> Value | None:
        """The operand that becomes the content as it is, for an operation that only stores."""
        return None


class InPlaceForm(Interface):
    """Computes what an operation with `InPlaceUpdate`, its form in place, writes to storage."""

    __slots__ = ()

    @abstractmethod
    def in_place(self, operands: Sequence[Value]) -> Operation:
        """That operation: new and detached, on the same operands but the first, a tensor now."""
        raise NotImplementedError  # declares the method; op classes that inherit define it
