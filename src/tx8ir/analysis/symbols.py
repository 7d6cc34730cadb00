"""Symbols: which of them somebody outside of the program may ask for, and who refers to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tx8ir.core import Attribute, DictAttr, Operation, SymbolRefAttr
from tx8ir.core.attrs.attributes import ArrayAttr
from tx8ir.core.attrs.structured import StructAttr


def is_public(symbol: Operation) -> bool:
    """Whether somebody outside may ask for a symbol: it is `main`, or its `sym_visibility` is "public"."""
    visibility = symbol.attributes.get("sym_visibility")
    return symbol.attributes["sym_name"].value == "main" or (visibility is not None and visibility.value == "public")


def referenced_symbols(
    op: Operation, known: dict[Attribute, tuple[SymbolRefAttr, ...]] | None = None
) -> dict[str, int]:
    """The names of the symbols that `op` and what is inside it refer to, with the number of operations that do.

    O(operations inside + distinct attributes).

    Args:
        op: the operation, a function say.
        known: what attributes refer to, shared between calls; the function fills it.
    """
    found: dict[str, int] = {}
    seen: dict[Attribute, tuple[SymbolRefAttr, ...]] = {} if known is None else known
    for inner in op.walk():
        attributes = inner.attributes
        references = seen.get(attributes)
        if references is None:
            references = seen[attributes] = _references(attributes)
        for reference in references:
            found[reference.value] = found.get(reference.value, 0) + 1
    return found


def _references(attributes: Attribute) -> tuple[SymbolRefAttr, ...]:
    """The symbols in an attribute, however deep, each once."""
    found: dict[SymbolRefAttr, None] = {}
    work: list[Any] = [attributes]
    while work:
        item = work.pop()
        if isinstance(item, SymbolRefAttr):
            found[item] = None
        elif isinstance(item, ArrayAttr):
            work += item.elements
        elif isinstance(item, StructAttr):
            work.append(DictAttr(item.fields()))
        elif isinstance(item, Mapping):
            work += item.values()
    return tuple(found)
