"""Symbol tables: which operation a name stands for, `@main` or `@library::@function`.

A reference is looked up in the nearest operation around that is a `SymbolTable`; each further name in the table of the
symbol before it. A name that a table lacks is not looked up further out, as in MLIR.
"""

# The way up from an operation is walked for every reference.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from tx8ir.core.attrs.attributes import ArrayAttr, Attribute, DictAttr, StrAttr, SymbolRefAttr
from tx8ir.core.attrs.builtin_attributes import NestedSymbolRefAttr
from tx8ir.core.attrs.structured import StructAttr

from .traits import SymbolTable

if TYPE_CHECKING:
    from .operation import Operation

SymbolReference: TypeAlias = "SymbolRefAttr | NestedSymbolRefAttr"


def names_of(reference: SymbolReference) -> tuple[str, ...]:
    """The names in a reference, the outermost first."""
    return (reference.value,) if isinstance(reference, SymbolRefAttr) else reference.value


class Symbols(dict[str, "Operation"]):
    """The definitions of one symbol table by name. Those of tables inside are made when they are asked for, once."""

    __slots__ = ("_inner",)

    def __init__(self) -> None:
        super().__init__()
        self._inner: dict[Operation, Symbols] = {}

    @classmethod
    def of(cls, table: Operation) -> Symbols:
        """The symbols directly inside an operation; of two of one name the first. O(operations directly inside)."""
        found = cls()
        for region in table.regions[:1]:
            for block in region.blocks:
                for op in block:
                    name = op._attributes.get("sym_name")
                    if isinstance(name, StrAttr):
                        found.setdefault(name.value, op)
        return found

    def resolve(self, reference: SymbolReference) -> Operation | None:
        """What a reference stands for; None when there is none of a name, or it has no table for the next."""
        first, *others = names_of(reference)
        symbols, found = self, self.get(first)
        for name in others:
            if found is None or not found.has_trait(SymbolTable):
                return None
            inner = symbols._inner.get(found)
            if inner is None:
                inner = symbols._inner[found] = Symbols.of(found)
            symbols, found = inner, inner.get(name)
        return found


class SymbolTables:
    """The symbol tables of a program, each made once, and the way to them. Not kept up to date when symbols change."""

    def __init__(self) -> None:
        self._around: dict[Operation, Operation | None] = {}
        self._symbols: dict[Operation, Symbols] = {}

    def around(self, op: Operation) -> Operation | None:
        """The nearest symbol table around `op`; the way up is walked once, however many operations ask."""
        climbed: list[Operation] = []
        around = op.parent_op
        while around is not None and around not in self._around and not around.has_trait(SymbolTable):
            climbed.append(around)
            around = around.parent_op
        table = self._around.get(around, around) if around is not None else None
        self._around.update(dict.fromkeys(climbed, table))
        return table

    def of(self, table: Operation) -> Symbols:
        """The symbols of a table."""
        found = self._symbols.get(table)
        if found is None:
            found = self._symbols[table] = Symbols.of(table)
        return found

    def resolve(self, op: Operation, reference: SymbolReference) -> Operation | None:
        """What `op` means by a reference; None when that is not defined."""
        table = self.around(op)
        return self.of(table).resolve(reference) if table is not None else None


def references_in(attribute: Attribute) -> tuple[SymbolReference, ...]:
    """The references in an attribute, however deep, each once."""
    found: dict[SymbolReference, None] = {}
    work: list[Any] = [attribute]
    while work:
        item = work.pop()
        if isinstance(item, (SymbolRefAttr, NestedSymbolRefAttr)):
            found[item] = None
        elif isinstance(item, ArrayAttr):
            work += item.elements
        elif isinstance(item, StructAttr):
            work.append(DictAttr(item.fields()))
        elif isinstance(item, Mapping):
            work += item.values()
    return tuple(found)
