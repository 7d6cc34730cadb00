"""Which operations of a program the front end lacks: all of them, before anything is imported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tx8ir.frontends.errors import MissingOperator, listed

from .document import Document
from .errors import PaddleImportError
from .registry import find_converter, functional_of

STRUCTURE: Final = frozenset(
    {
        "builtin.parameter", "builtin.set_parameter", "builtin.constant", "builtin.shadow_output", "builtin.combine",
        "builtin.split", "builtin.slice", "pd_op.data", "pd_op.feed", "pd_op.fetch", "pd_op.if", "pd_op.while",
        "cf.yield", "cf.stack_create", "cf.tuple_push",
    }
)  # fmt: skip
"""Operations that the importer follows itself."""


def check_operators(document: Document) -> None:
    """Check that every operation of a program is supported.

    Raises:
        PaddleImportError: with all that are not.
    """
    missing = list(_missing(document))
    if not missing:
        return
    one = missing[0] if len(missing) == 1 else None
    raise PaddleImportError(
        f"{listed(missing)}; docs/reference/paddle.md lists those that are, `register_operator` adds others",
        file=document.file,
        version=document.version,
        missing=missing,
        node=one.node if one else None,
        operator=one.operator if one else None,
        place=one.place if one else "",
    )


def _missing(document: Document) -> Iterator[MissingOperator]:
    for op in document.block.walk():
        functional = functional_of(op.name)
        known = op.name in STRUCTURE or find_converter(op.name) is not None
        if not known and (functional is None or find_converter(functional) is None):
            yield MissingOperator(op.name, op.label, op.place)
