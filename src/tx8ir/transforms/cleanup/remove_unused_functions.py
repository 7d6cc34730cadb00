"""`remove-unused-functions`: functions and other symbols that nothing reaches from outside go away."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from tx8ir.analysis.symbols import is_public, referenced_symbols
from tx8ir.core import Attribute, Operation, Program, Symbol
from tx8ir.core.ir.symbol_table import SymbolReference
from tx8ir.passes import Pass, PassError, option, register_pass

__all__ = ["RemoveUnusedFunctions"]


@register_pass
@attrs.frozen
class RemoveUnusedFunctions(Pass):
    """Erases the symbols of the module that nobody outside of it may ask for and nothing that stays refers to.

    What stays is `main`, what `keep` names, every symbol with `sym_visibility = "public"`, whatever in the module is no
    symbol, and all that these refer to, directly or through others: a call, or a symbol anywhere in an attribute.
    Functions that call only each other go. MLIR calls it `symbol-dce`.

    Assumes: the program is complete: what its symbols refer to is in the module. A module without `main` and without a
    public symbol is a library, in which each function may be asked for: it stays as it is.
    Guarantees: every function left is reachable. Variables that are no longer read stay in the store, which other
    programs may share. Idempotent. Cost: O(operations). Statistics: `removed` (symbols).
    """

    name: ClassVar[str] = "remove-unused-functions"

    keep: tuple[str, ...] = option((), "names of further functions that stay, with all they call")

    def run(self, program: Program) -> None:
        symbols = {op.attributes["sym_name"].value: op for op in program.body if op.has_trait(Symbol)}
        for name in self.keep:
            if name not in symbols:
                raise PassError(
                    f"option keep names {name!r}; the program has: {', '.join(symbols) or 'no function'}",
                    pass_name=self.name,
                    op=program.module,
                )
        asked_for = [op for name, op in symbols.items() if is_public(op) or name in self.keep]
        if not asked_for:
            return
        others = [op for op in program.body if not op.has_trait(Symbol)]
        reached = _reachable([*asked_for, *others], symbols)
        for op in symbols.values():
            if op not in reached:
                op.erase(self.name)
                self.count("removed")


def _reachable(roots: Iterable[Operation], symbols: dict[str, Operation]) -> set[Operation]:
    """The operations of the module that `roots` are or refer to, through any number of others."""
    known: dict[Attribute, tuple[SymbolReference, ...]] = {}
    reached: set[Operation] = set()
    work = list(roots)
    while work:
        op = work.pop()
        if op not in reached:
            reached.add(op)
            work += [symbols[name] for name in referenced_symbols(op, known) if name in symbols]
    return reached
