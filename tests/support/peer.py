"""xDSL as a peer: what it makes of a text, and whether two texts are one program to it."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

from xdsl.context import Context
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.universe import Universe


@cache
def _context() -> Context:
    """All dialects of xDSL. One for all texts: attributes that no dialect has are compared by their class in it."""
    context = Context(allow_unregistered=True)
    for name, factory in Universe.get_multiverse().all_dialects.items():
        context.register_dialect(name, factory)
    return context


def peer_module(text: str) -> Any:
    """The module that xDSL reads, verified. Operations that none of its dialects has are kept as they are."""
    module = Parser(_context(), text).parse_module()
    module.verify()
    return module


def peer_text(module: Any, *, generic: bool = True) -> str:
    """What xDSL writes for a module of its own, in the generic form or in its assembly formats."""
    out = io.StringIO()
    printer = Printer(stream=out, print_generic_format=generic)
    printer.print_op(module)
    printer.print_metadata(_context().loaded_dialects)
    return out.getvalue() + "\n"


def same_to_peer(one: str, other: str) -> bool:
    """Whether two texts are structurally equal programs to xDSL."""
    return peer_module(one).is_structurally_equivalent(peer_module(other))
