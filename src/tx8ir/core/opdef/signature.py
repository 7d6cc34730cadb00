"""The signature of an op class: what `help`, `inspect.signature` and stubs show before the constructor is generated."""

from __future__ import annotations

import inspect
from typing import Any, Final

from .definition import OpDef
from .fields import MISSING, NumericOperand

_OPERANDS: Final = {
    "one": ("Value | Operation", inspect.Parameter.empty),
    "optional": ("Value | Operation | None", None),
    "many": ("Iterable[Value | Operation]", ()),
}


def signature_of(definition: OpDef) -> inspect.Signature:
    """What the constructor takes: operands in order, then attributes, successors, regions and result types by name."""
    found: list[inspect.Parameter] = []
    last_required = max((i for i, f in enumerate(definition.operands) if f.count == "one"), default=-1)
    for i, operand in enumerate(definition.operands):
        annotation, default = _OPERANDS[operand.count]
        if isinstance(operand, NumericOperand):
            annotation = "OperandLike"
        if i < last_required:  # one before a required one has no default, as in any Python signature
            default = inspect.Parameter.empty
        found.append(_parameter(operand.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation, default))
    for attribute in definition.attributes:
        default = attribute.default
        if default is MISSING:
            default = None if definition.codecs[attribute.name][1] else inspect.Parameter.empty
        found.append(_parameter(attribute.name, inspect.Parameter.KEYWORD_ONLY, attribute.annotation, default))
    for successor in definition.successors:
        found.append(_parameter(successor.name, inspect.Parameter.KEYWORD_ONLY, "Block", inspect.Parameter.empty))
    for region in definition.regions:
        found.append(_parameter(region.name, inspect.Parameter.KEYWORD_ONLY, "Region | None", None))
    for result in definition.results:
        annotation = "Sequence[Type] | None" if result.count == "many" else "Type | None"
        found.append(_parameter(result.name, inspect.Parameter.KEYWORD_ONLY, annotation, None))
    return inspect.Signature(found)


def _parameter(name: str, kind: Any, annotation: object, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, kind, default=default, annotation=annotation)
