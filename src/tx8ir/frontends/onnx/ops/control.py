"""Graphs inside a graph: branches, loops and scans, which become what they do for the inputs at hand."""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.core import Operation, Value
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.registry import Converted, converter
from tx8ir.frontends.onnx.scope import Entry
from tx8ir.frontends.onnx.structure import Found
from tx8ir.frontends.onnx.tensors import Known
from tx8ir.frontends.values import tensor_type

LONGEST = 1 << 16
"""Loops are unrolled up to this many steps."""


@converter("If", first=1, last=25, attributes=("else_branch", "then_branch"))
def if_(node: OnnxNode) -> Converted:
    """The branch that the condition chooses."""
    chosen = bool(node.known_scalar(0, "the condition"))
    branch = node.subgraph("then_branch" if chosen else "else_branch")
    return [entry.found for entry in node.graph.import_graph(node.proto, branch, [])]


@converter("Loop", first=1, last=25, attributes=("body",))
def loop(node: OnnxNode) -> Converted:
    """A body again and again: as often as the trip count says, and while the condition holds."""
    body = node.subgraph("body")
    trips = int(node.known_scalar(0, "the trip count")) if node.has(0) else None
    going = bool(node.known_scalar(1, "the condition")) if node.has(1) else True
    carried = [node.entry(index) for index in range(2, node.num_inputs)]
    scanned: list[list[Entry]] = [[] for _ in range(len(body.output) - 1 - len(carried))]
    step = 0
    while going and (trips is None or step < trips):
        if step == LONGEST:
            raise node.error(f"takes more than {LONGEST} steps; loops are unrolled, which is not supported for so many")
        count = Entry(node.known_number(step, f"step_{step}"))
        outputs = node.graph.import_graph(
            node.proto, body, [count, Entry(node.known_truth(True, f"go_{step}")), *carried]
        )
        going = _condition(node, outputs[0], step)
        carried = outputs[1 : 1 + len(carried)]
        for column, entry in zip(scanned, outputs[1 + len(carried) :], strict=True):
            column.append(entry)
        step += 1
    if not step and scanned:
        raise node.error("takes no step, so that the shape of what it would have collected is not known")
    return [*(entry.found for entry in carried), *(_stacked(node, column, 0) for column in scanned)]


def _condition(node: OnnxNode, entry: Entry, step: int) -> bool:
    if isinstance(entry.found, Known):
        return bool(entry.found.array().reshape(()))
    raise node.graph.error(
        f"the condition after step {step} is computed at run time; it must be known", node.proto, needs=entry.roots
    )


def _value(node: OnnxNode, found: Found) -> Value:
    return node.graph.value_of(node.plain(found, "what it collects"))


def _stacked(node: OnnxNode, column: Sequence[Entry], axis: int) -> Value | Operation:
    """Tensors of equal shape as one, with a new axis."""
    parts: list[Value | Operation] = []
    for entry in column:
        value = _value(node, entry.found)
        rank = len(tensor_type(value).shape)
        parts.append(pd.unsqueeze(value, axis=(axis % (rank + 1),)))
    return parts[0] if len(parts) == 1 else pd.concat(parts, axis=axis)


_SCAN = ("body", "num_scan_inputs", "scan_input_axes", "scan_input_directions", "scan_output_axes",
         "scan_output_directions", "directions")  # fmt: skip


@converter("Scan", first=8, last=25, attributes=_SCAN)
def scan(node: OnnxNode) -> Converted:
    """A body for each slice of the scanned inputs, with states carried on; what it puts out is collected."""
    body, count = node.subgraph("body"), node.int("num_scan_inputs")
    if node.version >= 9:
        states = node.num_inputs - count
        inputs = [node.operand(states + i) for i in range(count)]
        finals, columns, axes = _scanned(node, [node.entry(i) for i in range(states)], inputs)
        return [*(e.found for e in finals), *(_stacked(node, c, a) for c, a in zip(columns, axes, strict=True))]
    # Version 8 has a batch in front of everything, and lengths of sequences as its first input.
    if node.has(0):
        raise node.error("lengths of sequences (input 0) are not supported")
    states = node.num_inputs - 1 - count
    batch = node.type_of(1).shape[0]
    results: list[list[Value]] = []
    for element in range(batch):

        def at(index: int, element: int = element) -> Value:
            return pd.slice(
                node.operand(index), axes=(0,), starts=(element,), ends=(element + 1,), decrease_axis=(0,)
            ).out

        inputs = [at(1 + states + i) for i in range(count)]
        finals, columns, axes = _scanned(node, [Entry(at(1 + i)) for i in range(states)], inputs)
        outputs: list[Value | Operation] = [_value(node, entry.found) for entry in finals]
        outputs += [_stacked(node, c, a) for c, a in zip(columns, axes, strict=True)]
        results.append([o if isinstance(o, Value) else o.results[0] for o in outputs])
    assert len(body.output) == len(results[0])
    return [pd.concat([pd.unsqueeze(row[i], axis=(0,)) for row in results], axis=0) for i in range(len(results[0]))]


def _scanned(
    node: OnnxNode, carried: list[Entry], inputs: Sequence[Value]
) -> tuple[list[Entry], list[list[Entry]], tuple[int, ...]]:
    """The final states, what each scanned output collects, in order, and the axes where that goes."""
    body, count = node.subgraph("body"), len(inputs)
    outputs = len(body.output) - len(carried)
    input_axes = node.ints("scan_input_axes", (0,) * count, length=count)
    backwards = node.ints("scan_input_directions", node.ints("directions", (0,) * count), length=count)
    output_axes = node.ints("scan_output_axes", (0,) * outputs, length=outputs)
    reverse = node.ints("scan_output_directions", (0,) * outputs, length=outputs)
    axes = [
        node.axes((axis,), len(tensor_type(x).shape), "scan_input_axes")[0]
        for axis, x in zip(input_axes, inputs, strict=True)
    ]
    lengths = {tensor_type(x).shape[axis] for axis, x in zip(axes, inputs, strict=True)}
    if len(lengths) != 1 or 0 in lengths:
        raise node.error(f"the scanned inputs have the lengths {sorted(lengths)}; expected one, and a step at least")
    (steps,) = lengths
    columns: list[list[Entry]] = [[] for _ in range(outputs)]
    for step in range(steps):
        slices: list[Entry] = []
        for x, axis, back in zip(inputs, axes, backwards, strict=True):
            at = steps - 1 - step if back else step
            part = pd.slice(x, axes=(axis,), starts=(at,), ends=(at + 1,), decrease_axis=(axis,)).out
            slices.append(Entry(part))
        found = node.graph.import_graph(node.proto, body, [*carried, *slices])
        carried = found[: len(carried)]
        for column, entry, back in zip(columns, found[len(carried) :], reverse, strict=True):
            column.insert(0 if back else len(column), entry)
    return carried, columns, output_axes
