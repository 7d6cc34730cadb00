"""Which operators of a program the front end lacks: all of them, before anything is imported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, cast

from tx8ir.frontends.errors import MissingOperator, listed

from .archive import Source
from .document import Node
from .errors import TorchImportError
from .node import frames, node_label, operator_of
from .registry import find_converter

INLINED: Final = frozenset({"higher_order.wrap_with_set_grad_enabled", "higher_order.wrap_with_autocast"})
"""Operators whose result is that of the graph they are given."""
NOTHING_TO_DO: Final = frozenset(
    {
        "aten._assert_async.msg",
        "aten._assert_scalar.default",
        "aten._assert_tensor_metadata.default",
        "aten.sym_constrain_range.default",
        "aten.sym_constrain_range_for_size.default",
        "aten.sym_is_contiguous.default",
        "aten.sym_numel.default",
        "aten.sym_size.int",
        "aten.sym_storage_offset.default",
        "aten.sym_stride.int",
        "math.ceil",
        "math.floor",
        "math.trunc",
        "torch.sym_float",
        "torch.sym_int",
        "torch.sym_ite",
        "torch.sym_max",
        "torch.sym_min",
        "torch.sym_not",
        "torch.sym_sqrt",
    }
)
"""Operators that compute or check what is known about extents: the program says itself what they come to."""


def is_about_extents(operator: str) -> bool:
    """Whether an operator computes with extents, or checks them."""
    return operator in NOTHING_TO_DO or operator.startswith("_operator.")


def functional_of(operator: str) -> str | None:
    """The operator that computes what one writes in place (`aten.relu.default` for `aten.relu_.default`), or None."""
    space, _, rest = operator.partition(".")
    name, _, overload = rest.partition(".")
    return f"{space}.{name[:-1]}.{overload}" if name.endswith("_") and not name.endswith("__") else None


def check_operators(source: Source) -> None:
    """Check that every operator of a program, and of graphs inside it, is supported.

    Raises:
        TorchImportError: with all that are not.
    """
    missing = list(_missing(source))
    if not missing:
        return
    one = len(missing) == 1
    raise TorchImportError(
        f"{listed(missing)}; docs/reference/torch.md lists those that are, `register_operator` adds others, and "
        "`run_decompositions` before saving leaves fewer kinds",
        file=source.file,
        node=missing[0].node if one else None,
        operator=missing[0].operator if one else None,
        missing=missing,
    )


def _missing(source: Source) -> Iterator[MissingOperator]:
    for node in source.document.graph_module.graph.nodes:
        yield from _lacking(operator_of(node.target), node)
        work = [arg for argument in node.inputs if (arg := argument.arg.get("as_graph")) is not None]
        while work:  # what is inside is checked again, as a whole, when it is imported
            graph = work.pop()
            inside = cast("dict[str, object]", graph).get("graph") if isinstance(graph, dict) else None
            nodes = cast("dict[str, object]", inside).get("nodes") if isinstance(inside, dict) else None
            for item in cast("list[object]", nodes) if isinstance(nodes, list) else ():
                if isinstance(item, dict) and isinstance(target := cast("dict[str, object]", item).get("target"), str):
                    yield from _lacking(operator_of(target), node)


def _lacking(operator: str, node: Node) -> Iterator[MissingOperator]:
    if operator in INLINED or is_about_extents(operator) or find_converter(operator) is not None:
        return
    functional = functional_of(operator)
    if functional is not None and find_converter(functional) is not None:
        return
    place = frames(node)
    yield MissingOperator(operator, node_label(node), f"{place[-1].file}:{place[-1].line}" if place else "")
