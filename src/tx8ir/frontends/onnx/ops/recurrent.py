"""Recurrent layers, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import attrs

from tx8ir.core import Operation, Value, i64
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.ops.arithmetic import times
from tx8ir.frontends.onnx.registry import Converted, converter
from tx8ir.frontends.values import tensor_type

_Any: TypeAlias = "Value | Operation"
_Function: TypeAlias = "Callable[[_Any], Operation]"


def _functions(node: OnnxNode) -> dict[str, Callable[[float, float], _Function]]:
    """The activations by name in lower case, from their two numbers."""

    def number(x: _Any, value: float) -> Value:
        return node.scalar(value, node.type_of(0).element)

    def hard_sigmoid(x: _Any, a: float, b: float) -> Operation:
        return pd.maximum(pd.minimum(pd.scale(x, scale=a, bias=b), number(x, 1)), number(x, 0))

    def elu(x: _Any, a: float) -> Operation:
        below = pd.scale(pd.exp(pd.minimum(x, number(x, 0))), scale=a, bias=-a)
        return pd.where(pd.greater_than(x, number(x, 0)), x, below)

    return {
        "tanh": lambda a, b: pd.tanh,
        "sigmoid": lambda a, b: pd.sigmoid,
        "relu": lambda a, b: pd.relu,
        "softplus": lambda a, b: lambda x: pd.softplus(x, threshold=1000.0),
        "softsign": lambda a, b: lambda x: pd.divide(x, pd.scale(pd.abs(x), bias=1.0)),
        "affine": lambda a, b: lambda x: pd.scale(x, scale=a, bias=b),
        "leakyrelu": lambda a, b: lambda x: pd.leaky_relu(x, negative_slope=a),
        "thresholdedrelu": lambda a, b: lambda x: pd.where(pd.greater_than(x, number(x, a)), x, number(x, 0)),
        "scaledtanh": lambda a, b: lambda x: times(pd.tanh(times(x, b)), a),
        "hardsigmoid": lambda a, b: lambda x: hard_sigmoid(x, a, b),
        "elu": lambda a, b: lambda x: elu(x, a),
    }


_NUMBERS: Final = {"affine": (1.0, 0.0), "leakyrelu": (0.01, 0.0), "thresholdedrelu": (1.0, 0.0),
                   "scaledtanh": (1.0, 1.0), "hardsigmoid": (0.2, 0.5), "elu": (1.0, 0.0)}  # fmt: skip
"""The default numbers of activations that have any."""

_ATTRIBUTES: Final = ("activation_alpha", "activation_beta", "activations", "clip", "direction", "hidden_size",
                      "layout", "output_sequence")  # fmt: skip


@attrs.frozen
class _Layer:
    """One direction of a layer.

    Attributes:
        weight, recurrence: [hidden * gates, …].
        bias: of the inputs and of the state, [hidden * gates] each; None without.
        functions: the activations.
    """

    weight: Value
    recurrence: Value
    bias: tuple[Value, Value] | None
    functions: Sequence[_Function]


class _Recurrent:
    """What the three recurrent operators share: directions, layout, lengths, activations.

    Args:
        node: the node.
        activations: names of the default activations of one direction.
    """

    def __init__(self, node: OnnxNode, activations: Sequence[str]) -> None:
        self.node = node
        self.element = node.type_of(0).element
        if node.type_of(0).rank != 3 or node.type_of(1).rank != 3 or node.type_of(2).rank != 3:
            raise node.error(
                f"the input is {node.type_of(0)}, and the weights are {node.type_of(1)} and {node.type_of(2)}; "
                "expected rank 3 of each"
            )
        self.batch_first = node.version >= 14 and node.bool("layout", False)
        x = node.operand(0)
        self.x = pd.transpose(x, perm=(1, 0, 2)).out if self.batch_first else x
        self.steps, self.batch, _ = tensor_type(self.x).shape
        direction = node.string("direction", ("forward", "reverse", "bidirectional"), "forward")
        self.backwards = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[direction]
        self.hidden = node.type_of(2).shape[-1]
        if node.type_of(1).shape[0] != len(self.backwards):
            raise node.error(f"direction is {direction!r}, but the weights are {node.type_of(1)}")
        if not self.steps:
            raise node.error("the sequence is empty")
        names = node.texts("activations", tuple(activations) * len(self.backwards))
        alphas, betas = list(node.floats("activation_alpha", ())), list(node.floats("activation_beta", ()))
        known = _functions(node)
        if len(names) != len(activations) * len(self.backwards) or any(name.lower() not in known for name in names):
            raise node.error(f"attribute activations is {list(names)}; supported are {', '.join(sorted(known))}")
        functions: list[_Function] = []
        for name in (name.lower() for name in names):
            alpha, beta = _NUMBERS.get(name, (0.0, 0.0))
            if name in _NUMBERS:  # the lists have numbers for those that take some
                alpha = alphas.pop(0) if alphas else alpha
                beta = betas.pop(0) if betas and name in ("affine", "scaledtanh", "hardsigmoid") else beta
            functions.append(known[name](alpha, beta))
        self.layers: list[_Layer] = []
        for index in range(len(self.backwards)):
            mine = functions[index * len(activations) : (index + 1) * len(activations)]
            bias: tuple[Value, Value] | None = None
            if node.has(3):
                width = node.type_of(3).shape[1] // 2
                whole = self.part(node.operand(3), index)
                bias = (_cut(whole, 0, 0, width), _cut(whole, 0, width, 2 * width))
            self.layers.append(_Layer(self.part(node.operand(1), index), self.part(node.operand(2), index), bias, mine))
        self.lengths = self._lengths()

    def part(self, value: Value, index: int) -> Value:
        """One direction of a tensor whose first axis they are."""
        return pd.slice(value, axes=(0,), starts=(index,), ends=(index + 1,), decrease_axis=(0,)).out

    def _lengths(self) -> Value | None:
        """Lengths of the sequences, [batch, 1]; None if all are whole."""
        if not self.node.has(4):
            return None
        known = self.node.find_known(4)
        if known is not None and (known == self.steps).all():
            return None
        if any(self.backwards):
            self.node.known(4, "the lengths of sequences that are read backwards")
            raise self.node.error("sequences of several lengths (input 4) are supported forwards only")
        lengths = pd.cast(self.node.operand(4), dtype=i64)
        return pd.reshape(lengths, shape=(self.batch, 1)).out

    def state(self, index: int, direction: int) -> Value:
        """A first state: input `index`, or zeros."""
        if not self.node.has(index):
            return pd.full(shape=(self.batch, self.hidden), value=0.0, dtype=self.element).out
        given = self.node.operand(index)
        if self.batch_first:
            given = pd.transpose(given, perm=(1, 0, 2)).out
        return self.part(given, direction)

    def clipped(self, x: _Any) -> _Any:
        """What goes into an activation, within `clip`."""
        if not self.node.has_attribute("clip"):
            return x
        bound = self.node.float("clip")
        return pd.minimum(pd.maximum(x, self.node.scalar(-bound, self.element)), self.node.scalar(bound, self.element))

    def run(
        self, states: Sequence[int], step: Callable[[_Layer, int, Value, list[Value]], list[Value]]
    ) -> list[Operation]:
        """The outputs of all steps, and the last states.

        Args:
            states: inputs that are first states; the state of the hidden units comes first.
            step: from a layer, its direction, the input of a step and the states, the states after it.
        """
        directions: list[list[Value]] = []
        finals: list[list[Value]] = []
        for direction, (layer, back) in enumerate(zip(self.layers, self.backwards, strict=True)):
            now: list[Value] = [self.state(index, direction) for index in states]
            hidden: list[Value] = []
            for place in reversed(range(self.steps)) if back else range(self.steps):
                after = step(layer, direction, self.part(self.x, place), now)
                put_out = after[0]
                if self.lengths is not None:
                    going = pd.less_than(self.node.scalar(place, i64), self.lengths)
                    after: list[Value] = [
                        pd.where(going, new, old).results[0] for new, old in zip(after, now, strict=True)
                    ]
                    put_out = pd.where(going, put_out, self.node.scalar(0, self.element)).out
                now = after
                hidden.insert(0 if back else len(hidden), put_out)
            directions.append(hidden)
            finals.append(now)
        shape = (1, 1, self.batch, self.hidden)
        rows = [
            pd.concat([pd.reshape(d[place], shape=shape) for d in directions], axis=1) for place in range(self.steps)
        ]
        outputs: list[Operation] = [pd.concat(rows, axis=0)]
        for index in range(len(states)):
            outputs.append(pd.concat([pd.reshape(f[index], shape=shape[1:]) for f in finals], axis=0))
        if self.batch_first:
            outputs[0] = pd.transpose(outputs[0], perm=(2, 0, 1, 3))
            outputs[1:] = [pd.transpose(output, perm=(1, 0, 2)) for output in outputs[1:]]
        return outputs

    def gate(self, value: Value, index: int) -> Value:
        """One gate of weights, biases or sums, whose gates lie side by side on their last axis, or the first."""
        type_ = tensor_type(value)
        axis = type_.rank - 1
        return _cut(value, axis, index * self.hidden, (index + 1) * self.hidden)


def _cut(value: Value, axis: int, start: int, end: int) -> Value:
    return pd.slice(value, axes=(axis,), starts=(start,), ends=(end,)).out


def _affine(x: Value, weight: Value, bias: Value | None) -> Operation:
    out = pd.matmul(x, weight, transpose_y=True)
    return out if bias is None else pd.add(out, bias)


@converter("RNN", first=1, last=22, attributes=_ATTRIBUTES)
def rnn(node: OnnxNode) -> Converted:
    """H = f(x Wᵀ + h Rᵀ + b)."""
    layers = _Recurrent(node, ("Tanh",))

    def step(layer: _Layer, direction: int, x: Value, states: list[Value]) -> list[Value]:
        w, r = layer.bias or (None, None)
        total = pd.add(_affine(x, layer.weight, w), _affine(states[0], layer.recurrence, r))
        return [layer.functions[0](layers.clipped(total)).results[0]]

    return [*layers.run([5], step)]


@converter("GRU", first=1, last=22, attributes=(*_ATTRIBUTES, "linear_before_reset"))
def gru(node: OnnxNode) -> Converted:
    """Gates z and r, and the candidate h: H = (1 - z) h + z H."""
    layers = _Recurrent(node, ("Sigmoid", "Tanh"))
    linear = node.version >= 3 and node.bool("linear_before_reset", False)

    def step(layer: _Layer, direction: int, x: Value, states: list[Value]) -> list[Value]:
        (h,) = states
        f, g = layer.functions
        w, r = layer.bias or (None, None)
        inputs = _affine(x, layer.weight, w).results[0]
        z, reset = (
            f(layers.clipped(pd.add(layers.gate(inputs, index), recurrent(layer, h, r, index)))) for index in (0, 1)
        )
        if linear:
            inner = pd.multiply(reset, recurrent(layer, h, r, 2))
        else:
            inner = recurrent(layer, pd.multiply(reset, h).out, r, 2)
        candidate = g(layers.clipped(pd.add(layers.gate(inputs, 2), inner)))
        kept = pd.multiply(z, h)
        return [pd.add(pd.multiply(pd.scale(z, scale=-1.0, bias=1.0), candidate), kept).out]

    def recurrent(layer: _Layer, h: Value, bias: Value | None, index: int) -> Operation:
        start, end = index * layers.hidden, (index + 1) * layers.hidden
        weight = _cut(layer.recurrence, 0, start, end)
        return _affine(h, weight, None if bias is None else _cut(bias, 0, start, end))

    return [*layers.run([5], step)]


@converter("LSTM", first=1, last=22, attributes=(*_ATTRIBUTES, "input_forget"))
def lstm(node: OnnxNode) -> Converted:
    """Gates i, o, f and the candidate c: C = f C + i c and H = o h(C); peepholes let the gates see C."""
    layers = _Recurrent(node, ("Sigmoid", "Tanh", "Tanh"))
    coupled = node.int("input_forget", 0) != 0

    def step(layer: _Layer, direction: int, x: Value, states: list[Value]) -> list[Value]:
        h, c = states
        f, g, last = layer.functions
        w, r = layer.bias or (None, None)
        sums = pd.add(_affine(x, layer.weight, w), _affine(h, layer.recurrence, r)).out
        peepholes = layers.part(node.operand(7), direction) if node.has(7) else None

        def gate(index: int, cell: Value, peephole: int) -> Operation:
            total: _Any = layers.gate(sums, index)
            if peepholes is not None:
                total = pd.add(total, pd.multiply(layers.gate(peepholes, peephole), cell))
            return f(layers.clipped(total))

        i = gate(0, c, 0)
        forget = pd.scale(i, scale=-1.0, bias=1.0) if coupled else gate(2, c, 2)
        candidate = g(layers.clipped(layers.gate(sums, 3)))
        new = pd.add(pd.multiply(forget, c), pd.multiply(i, candidate)).out
        return [pd.multiply(gate(1, new, 1), last(new)).out, new]

    return [*layers.run([5, 6], step)]
