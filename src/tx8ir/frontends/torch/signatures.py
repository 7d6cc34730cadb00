"""Signatures of operators, in the notation of PyTorch: `softmax.int(Tensor self, int dim, ScalarType? dtype=None)`."""

from __future__ import annotations

import ast
import re
from typing import Any, Final, cast

import attrs

KINDS: Final = frozenset(
    {"Tensor", "Scalar", "int", "SymInt", "float", "bool", "str", "ScalarType", "Layout", "Device", "MemoryFormat",
     "Generator"}
)  # fmt: skip
_HEAD: Final = re.compile(r"(?:(\w+)::)?(\w+)(?:\.(\w+))?\((.*)\)$", re.DOTALL)
_PARAMETER: Final = re.compile(
    r"(\w+)(?:\(\w+(!?)(?: -> \*)?\))?(\?)?(\[\d*\])?(\?)?(?:\(\w+(!?)\))?\s+(\w+)(?:=(.*))?$", re.DOTALL
)

REQUIRED: Final[Any] = object()
"""The default of a parameter that has none."""


@attrs.frozen
class Parameter:
    """One parameter of an operator.

    Attributes:
        name: its name.
        kind: what an element of it is, as in `Tensor` or `int`.
        is_list: whether it is a list of these.
        is_optional: whether it may be None.
        has_optional_items: whether items of the list may be None.
        is_view: whether the result may show elements of it (`Tensor(a)`).
        default: what it is when it is not given; `REQUIRED` if it has to be.
    """

    name: str
    kind: str
    is_list: bool
    is_optional: bool
    has_optional_items: bool
    is_view: bool
    default: Any

    def __str__(self) -> str:
        return f"{self.kind}{'[]' if self.is_list else ''}{'?' if self.is_optional else ''} {self.name}"


@attrs.frozen
class Signature:
    """An operator and its parameters.

    Attributes:
        operator: namespace, name and overload: `aten.softmax.int`; the overload without a name is `default`.
        parameters: in order.
        text: what it was read from.
    """

    operator: str
    parameters: tuple[Parameter, ...]
    text: str


def parse_signature(text: str, namespace: str = "aten") -> Signature:
    """Read a signature; `namespace` is that of an operator without one (`my::op(…)` has one).

    Raises:
        ValueError: it is none.
    """
    head = _HEAD.match(text.partition(") -> ")[0].removesuffix(")") + ")")
    if head is None:
        raise ValueError(
            f"{text!r} is not a signature; expected, for example, 'my::op.overload(Tensor x, float scale=1.0)'"
        )
    space, name, overload, inside = head.groups()
    parameters = [_parameter(part, text) for part in _parts(inside) if part != "*"]
    return Signature(f"{space or namespace}.{name}.{overload or 'default'}", tuple(parameters), text)


def _parts(text: str) -> list[str]:
    """What stands between the commas outside of brackets."""
    parts, depth, start = list[str](), 0, 0
    for place, character in enumerate(text):
        depth += (character in "[(") - (character in "])")
        if character == "," and not depth:
            parts.append(text[start:place].strip())
            start = place + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def _parameter(text: str, signature: str) -> Parameter:
    found = _PARAMETER.match(text)
    if found is None or found[1] not in KINDS:
        raise ValueError(f"{signature!r}: {text!r} is not a parameter; expected a type of {', '.join(sorted(KINDS))}")
    kind, _, question, brackets, last_question, _, name, default = found.groups()
    is_list = brackets is not None
    return Parameter(
        name,
        kind,
        is_list,
        bool(last_question if is_list else question),
        is_list and bool(question),
        "(" in text.partition(name)[0],
        REQUIRED if default is None else _default(default, brackets),
    )


def _default(text: str, brackets: str | None) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # a word, as `contiguous_format`
    if brackets is None:
        return value
    if isinstance(value, list):
        return tuple(cast("list[object]", value))
    if value is None or brackets == "[]":
        return value
    return (value,) * int(brackets[1:-1])
