"""Symbols: which of them somebody outside of the program may ask for, and who refers to them."""

from __future__ import annotations

from tx8ir.core import Attribute, Operation
from tx8ir.core.ir.symbol_table import SymbolReference, names_of, references_in


def is_public(symbol: Operation) -> bool:
    """Whether somebody outside may ask for a symbol: it is `main`, or its `sym_visibility` is "public"."""
    visibility = symbol.attributes.get("sym_visibility")
    return symbol.attributes["sym_name"].value == "main" or (visibility is not None and visibility.value == "public")


def referenced_symbols(
    op: Operation, known: dict[Attribute, tuple[SymbolReference, ...]] | None = None
) -> dict[str, int]:
    """The names of the symbols that `op` and what is inside it refer to, with the number of operations that do.

    Of a reference into another table (`@library::@function`) it is the outermost name.

    O(operations inside + distinct attributes).

    Args:
        op: the operation, a function say.
        known: what attributes refer to, shared between calls; the function fills it.
    """
    found: dict[str, int] = {}
    seen: dict[Attribute, tuple[SymbolReference, ...]] = {} if known is None else known
    for inner in op.walk():
        attributes = inner.attributes
        references = seen.get(attributes)
        if references is None:
            references = seen[attributes] = references_in(attributes)
        for reference in references:
            name = names_of(reference)[0]
            found[name] = found.get(name, 0) + 1
    return found
