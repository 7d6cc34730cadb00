"""Operators that are operations of `pd`, under the same name, with the same operands and attributes.

Paddle gives some of what is an attribute of `pd` as a further operand, which has to be known on import.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import attrs

from tx8ir.core import Op
from tx8ir.dialects import pd
from tx8ir.frontends.paddle.node import PaddleNode
from tx8ir.frontends.paddle.registry import Converted, Converter, register

_READERS: Final[dict[str, Callable[[PaddleNode, str], Any]]] = {
    "flag": lambda node, name: node.flag(name),
    "i32": lambda node, name: node.int(name),
    "i64": lambda node, name: node.int(name),
    "i32s": lambda node, name: node.ints(name),
    "f32": lambda node, name: node.float(name),
    "word": lambda node, name: node.word(name),
    "type": lambda node, name: node.element(name),
}
_KNOWN: Final[dict[str, Callable[[PaddleNode, int, str], Any]]] = {
    "int": lambda node, index, name: int(node.known_number(index, name)),
    "ints": lambda node, index, name: node.known_ints(index, name),
    "float": lambda node, index, name: node.known_number(index, name),
}
_ENTRY: Final = re.compile(r"(\w+)\((.*?)\)(.*)")
_ITEM: Final = re.compile(r"(\w+)(?::(\w+))?(\??)(\*?)")


@attrs.frozen
class Parameter:
    """An operand or an attribute.

    Attributes:
        name: its name.
        kind: what it is, where it is no tensor: the type of an attribute in files of version 1, or that of an operand
            whose elements are an attribute of `pd`.
        is_optional: whether it may be left out.
        is_list: whether it is a list of tensors.
    """

    name: str
    kind: str
    is_optional: bool
    is_list: bool


@attrs.frozen
class Same:
    """An operator that is an operation of `pd`.

    Attributes:
        name: its name in Paddle, without the dialect.
        op_class: the operation.
        operands: in Paddle's order.
        attributes: those that the operation has, too.
        further: truth values that Paddle has beside these, and that say nothing about the result.
    """

    name: str
    op_class: type[Op]
    operands: tuple[Parameter, ...]
    attributes: tuple[Parameter, ...]
    further: Mapping[str, bool]

    def __call__(self, node: PaddleNode) -> Converted:
        """Build the operation."""
        given: list[Any] = []
        keywords: dict[str, Any] = {}
        for index, parameter in enumerate(self.operands):
            if parameter.kind:
                keywords[parameter.name] = _KNOWN[parameter.kind](node, index, parameter.name)
            elif parameter.is_list:
                given.append(node.list(index))
            else:
                given.append(node.optional(index) if parameter.is_optional else node.operand(index))
        for parameter in self.attributes:
            if parameter.name in node.proto.attributes or not parameter.is_optional:
                keywords[parameter.name] = _READERS[parameter.kind](node, parameter.name)
        return self.op_class(*given, **keywords)


def _parameter(text: str) -> Parameter:
    match = _ITEM.fullmatch(text)
    assert match is not None, text
    name, kind, optional, listed = match.groups()
    return Parameter(name, kind or "", bool(optional), bool(listed))


def parse_entry(text: str) -> Same:
    """An entry of the table: `name(operands) attributes`.

    `:kind` for what is no tensor, `?` for what may be left out, `*` for lists, `+name` and `-name` for further truth
    values.
    """
    match = _ENTRY.fullmatch(text.strip())
    assert match is not None, text
    name, operands, attributes = match.groups()
    further = {item[1:]: item[0] == "+" for item in attributes.split() if item[0] in "+-"}
    return Same(
        name,
        cast("type[Op]", pd.DIALECT.ops[f"pd.{name}"]),
        tuple(_parameter(item.strip()) for item in operands.split(",") if item.strip()),
        tuple(_parameter(item) for item in attributes.split() if item[0] not in "+-"),
        further,
    )


_UNARY: Final = (
    "abs acos acosh asin asinh assign atan atanh cos cosh det erf exp floor isnan log logical_not reciprocal relu "
    "rsqrt sigmoid sign sin sinh sqrt square tan tanh"
)
_BINARY: Final = (
    "add bitwise_and bitwise_or bitwise_xor divide elementwise_pow equal fmod greater_equal greater_than less_equal "
    "less_than logical_and logical_or maximum minimum multiply not_equal remainder subtract"
)
_WINDOW: Final = "strides:i32s paddings:i32s padding_algorithm:word? dilations:i32s? groups:i32? data_format:word?"
_OTHERS: Final = f"""
    bitwise_left_shift(x, y)
    bitwise_right_shift(x, y)
    cast(x) dtype:type
    concat(x*, axis:int)
    conv2d(input, filter) {_WINDOW}
    depthwise_conv2d(input, filter) {_WINDOW}
    embedding(x, weight) padding_idx:i64? -sparse
    flatten(x) start_axis:i32 stop_axis:i32
    gelu(x) approximate:flag?
    leaky_relu(x) negative_slope:f32
    matmul(x, y) transpose_x:flag? transpose_y:flag?
    max(x, axis:ints) keepdim:flag?
    mean(x, axis:ints) keepdim:flag?
    min(x, axis:ints) keepdim:flag?
    pow(x) y:f32
    prod(x, axis:ints) keepdim:flag? -reduce_all
    softmax(x) axis:i32?
    softplus(x) beta:f32? threshold:f32?
    squeeze(x, axis:ints)
    topk(x, k:int) axis:i32? largest:flag? +sorted
    transpose(x) perm:i32s
    unsqueeze(x, axis:ints)
    where(condition, x, y)
"""


def entries() -> Sequence[Same]:
    """The table."""
    texts = [f"{name}(x)" for name in _UNARY.split()]
    texts += [f"{name}(x, y)" for name in _BINARY.split()]
    texts += [line for line in _OTHERS.splitlines() if line.strip()]
    return [parse_entry(text) for text in texts]


TABLE: Final[dict[str, Same]] = {entry.name: entry for entry in entries()}
"""By name in Paddle, without the dialect."""

for _same in TABLE.values():
    register(Converter(f"pd_op.{_same.name}", _same, _same.op_class.name))
