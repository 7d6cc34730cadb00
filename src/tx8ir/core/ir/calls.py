"""`CallLike` and `CallableLike`: operations that run a function, and functions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tx8ir.core.attrs.attributes import SymbolRefAttr

from .block import Region
from .interfaces import Interface
from .value import Value

if TYPE_CHECKING:
    from .operation import Operation
    from .symbol_table import SymbolReference


class CallLike(Interface):
    """Runs a function of the module. Its results are what the function returns, one for one."""

    __slots__ = ()

    @abstractmethod
    def callee_symbol(self) -> str:
        """The name of the function."""
        raise NotImplementedError  # declares the method; op classes that inherit define it

    def callee_reference(self) -> SymbolReference:
        """The function, as a symbol of the table around or of one in it. By default the name."""
        return SymbolRefAttr(self.callee_symbol())

    @abstractmethod
    def call_arguments(self) -> Sequence[Value]:
        """The operands that become the arguments of the function, in order; any others are read."""
        raise NotImplementedError  # declares the method; op classes that inherit define it


class CallableLike(Interface):
    """A function: a `Symbol` whose region runs when it is called, with an argument for each of its entry block's."""

    __slots__ = ()

    @abstractmethod
    def callable_region(self) -> Region:
        """What runs; each terminator without successors returns its operands."""
        raise NotImplementedError  # declares the method; op classes that inherit define it


def returns_of(region: Region) -> Iterator[Operation]:
    """The terminators that return from a callable region."""
    for block in region.blocks:
        end = block.last_op
        if end is not None and not end.successors:
            yield end
