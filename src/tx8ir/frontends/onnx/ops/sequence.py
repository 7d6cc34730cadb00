"""Sequences and optional values. Their lengths are known on import, so that these build no operation of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tx8ir.core import Operation, Value, f32, i64
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.registry import Converted, converter
from tx8ir.frontends.onnx.scope import Entry
from tx8ir.frontends.onnx.structure import Found, Nothing, Parts
from tx8ir.frontends.onnx.tensors import Known, element_of
from tx8ir.frontends.values import tensor_type


def _value(node: OnnxNode, found: Found) -> Value:
    return node.graph.value_of(node.plain(found, "a part of the sequence"))


@converter("SequenceEmpty", first=11, last=11, attributes=("dtype",))
def sequence_empty(node: OnnxNode) -> Converted:
    """A sequence of nothing."""
    return Parts((), element_of(node.int("dtype")) if node.has_attribute("dtype") else f32)


@converter("SequenceConstruct", first=11, last=11)
def sequence_construct(node: OnnxNode) -> Converted:
    """A sequence of the inputs."""
    return Parts(tuple(node.structure(index) for index in range(node.num_inputs)))


def _position(node: OnnxNode, index: int, length: int, last: int) -> int:
    """Input `index`, a place in a sequence: negative ones count from the end."""
    position = int(node.known_scalar(index, "the position"))
    if not -length <= position <= last:
        raise node.error(f"the position is {position}; expected {-length} to {last} for {length} parts")
    return position + length if position < 0 else position


@converter("SequenceInsert", first=11, last=11)
def sequence_insert(node: OnnxNode) -> Converted:
    """The sequence with a part more, at a place or at the end."""
    items = node.parts(0).items
    at = _position(node, 2, len(items), len(items)) if node.has(2) else len(items)
    return Parts((*items[:at], node.structure(1), *items[at:]))


@converter("SequenceErase", first=11, last=11)
def sequence_erase(node: OnnxNode) -> Converted:
    """The sequence without one part, the last by default."""
    parts = node.parts(0)
    items, length = parts.items, len(parts.items)
    at = _position(node, 1, length, length - 1) if node.has(1) else length - 1
    return Parts((*items[:at], *items[at + 1 :]), parts.element)


@converter("SequenceAt", first=11, last=11)
def sequence_at(node: OnnxNode) -> Converted:
    """One part."""
    items = node.parts(0).items
    return items[_position(node, 1, len(items), len(items) - 1)]


@converter("SequenceLength", first=11, last=11)
def sequence_length(node: OnnxNode) -> Converted:
    """How many parts there are."""
    return Known.of_array(node.output_name(0), np.asarray(len(node.parts(0).items), np.int64), i64)


@converter("SplitToSequence", first=11, last=24, attributes=("axis", "keepdims"))
def split_to_sequence(node: OnnxNode) -> Converted:
    """A tensor cut into parts: of given extents, of one extent (the last may be smaller), or of extent 1."""
    type_ = node.type_of(0)
    axis = node.axis("axis", type_.rank, 0)
    extent = type_.shape[axis]
    given = node.known(1, "the extents") if node.has(1) else None
    if given is None:
        sections: Sequence[int] = (1,) * extent
    elif given.ndim == 0:
        size = int(given)
        if size < 1:
            raise node.error(f"the extent of the parts is {size}; expected 1 or more")
        sections = [min(size, extent - start) for start in range(0, extent, size)]
    else:
        sections = [int(size) for size in given]
    if sum(sections) != extent or min(sections, default=0) < 0:
        raise node.error(f"the parts {list(sections)} do not make the extent {extent}")
    items: list[Found] = []
    start = 0
    dropped = (axis,) if given is None and not node.bool("keepdims", True) else ()
    for size in sections:
        part = pd.slice(node.operand(0), axes=(axis,), starts=(start,), ends=(start + size,), decrease_axis=dropped)
        items.append(part.out)
        start += size
    return Parts(tuple(items), type_.element)


@converter("ConcatFromSequence", first=11, last=11, attributes=("axis", "new_axis"))
def concat_from_sequence(node: OnnxNode) -> Converted:
    """The parts one after the other, along an axis of theirs or a new one."""
    values: list[Value | Operation] = [_value(node, part) for part in node.parts(0).items]
    if not values:
        raise node.error("the sequence is empty; there is nothing to put together")
    rank = tensor_type(_value(node, node.parts(0).items[0])).rank
    if node.bool("new_axis", False):
        axis = node.axis("axis", rank + 1)
        values = [pd.unsqueeze(value, axis=(axis,)) for value in values]
    else:
        axis = node.axis("axis", rank)
    return values[0] if len(values) == 1 else pd.concat(values, axis=axis)


@converter("SequenceMap", first=17, last=17, attributes=("body",))
def sequence_map(node: OnnxNode) -> Converted:
    """The outputs of a body for each part of a sequence, collected; other sequences go along, tensors stay."""
    body = node.subgraph("body")
    first = node.parts(0).items
    columns: list[list[Found]] = [[] for _ in body.output]
    for place in range(len(first)):
        given: list[Entry] = []
        for index in range(node.num_inputs):
            entry = node.entry(index)
            if isinstance(entry.found, Parts):
                if len(entry.found.items) != len(first):
                    raise node.error(
                        f"sequences have {len(entry.found.items)} and {len(first)} parts; expected as many"
                    )
                entry = Entry(entry.found.items[place], entry.roots)
            given.append(entry)
        for column, entry in zip(columns, node.graph.import_graph(node.proto, body, given), strict=True):
            column.append(entry.found)
    return [Parts(tuple(column)) for column in columns]


@converter("Optional", first=15, last=28, attributes=("type",))
def optional(node: OnnxNode) -> Converted:
    """The input, or nothing."""
    return node.structure(0) if node.num_inputs else Nothing()


@converter("OptionalHasElement", first=15, last=28)
def optional_has_element(node: OnnxNode) -> Converted:
    """Whether there is something."""
    return node.known_truth(node.has(0), "has_element")


@converter("OptionalGetElement", first=15, last=28)
def optional_get_element(node: OnnxNode) -> Converted:
    """What is there."""
    found = node.structure(0)
    if isinstance(found, Nothing):
        raise node.error("the optional value is absent; there is nothing to get")
    return found
