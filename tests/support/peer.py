"""xDSL as a peer: what it reads and writes. Two modules of it are one program if `is_structurally_equivalent`."""

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
