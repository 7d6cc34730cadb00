"""Which operations of a module the front end lacks: all of them, before anything is imported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tx8ir.core import Operation, RankedTensor, StrAttr
from tx8ir.frontends.errors import MissingOperator, listed

from .registry import find_converter

if TYPE_CHECKING:
    from .importer import ModuleImporter

STRUCTURE = frozenset(
    {
        "builtin.module", "func.func", "func.return", "func.call", "stablehlo.return", "stablehlo.while",
        "stablehlo.if", "stablehlo.case", "stablehlo.composite", "sdy.mesh", "sdy.return", "sdy.manual_computation",
    }
)  # fmt: skip
"""Operations that the importer follows itself."""


def operator_of(op: Operation) -> str:
    """The name of an operation; of a custom call `@` and its target."""
    if op.name == "stablehlo.custom_call":
        target = op.attributes.get("call_target_name")
        return f"@{target.value}" if isinstance(target, StrAttr) else "@"
    return op.name


def check_operators(graph: ModuleImporter) -> None:
    """Check that every operation of a module is supported.

    Raises:
        StableHloImportError: with all that are not.
    """
    missing = list(_missing(graph))
    if not missing:
        return
    one = len(missing) == 1
    raise graph.error(
        f"{listed(missing)}; docs/reference/stablehlo.md lists those that are, `register_operator` adds others",
        missing=missing,
        node=missing[0].node if one else None,
        operator=missing[0].operator if one else None,
    )


def _missing(graph: ModuleImporter) -> Iterator[MissingOperator]:
    for op in graph.module.walk():
        operator = operator_of(op)
        if operator in STRUCTURE:
            continue
        if find_converter(operator) is None:
            yield MissingOperator(operator, graph.label(op), graph.place(op))
            continue
        for value in (*op.results, *op.operands):
            if not isinstance(value.type, RankedTensor):
                yield MissingOperator(f"{operator} of {value.type}", graph.label(op), graph.place(op))
                break
