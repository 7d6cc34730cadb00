"""One step of an optimiser, for any number of tensors at once."""

from __future__ import annotations

from collections.abc import Callable

from tx8ir.core import Operation, Value
from tx8ir.dialects import pd
from tx8ir.frontends.onnx.node import OnnxNode
from tx8ir.frontends.onnx.ops.arithmetic import times
from tx8ir.frontends.onnx.registry import Converted, converter

DOMAIN = "ai.onnx.preview.training"


def _grouped(node: OnnxNode, kinds: int, step: Callable[[list[Value]], list[Operation]]) -> list[Operation]:
    """The outputs of a step: all tensors, then all first states, and so on. Inputs lie so too, after R and T."""
    count = (node.num_inputs - 2) // kinds
    rows = [step([node.operand(2 + kind * count + i) for kind in range(kinds)]) for i in range(count)]
    return [row[kind] for kind in range(kinds - 1) for row in rows]


def _regularised(node: OnnxNode, x: Value, gradient: Value) -> Value:
    """The gradient with that of norm_coefficient / 2 |x|²."""
    coefficient = node.float("norm_coefficient", 0.0)
    return pd.add(times(x, coefficient), gradient).out if coefficient else gradient


def _later(node: OnnxNode, first: float, later: float) -> Value:
    """A number for step T = 0, and another one for all steps after it."""
    element = node.type_of(0).element
    one, other = node.scalar(first, element), node.scalar(later, element)
    start = pd.equal(node.operand(1), node.scalar(0, node.type_of(1).element))
    return pd.where(start, one, other).out


@converter("Momentum", first=1, last=1, attributes=("alpha", "beta", "mode", "norm_coefficient"), domain=DOMAIN)
def momentum(node: OnnxNode) -> Converted:
    """V = alpha V + beta G, X = X - R V; "nesterov" takes G + alpha V for V at last. beta is 1 in the first step."""
    alpha = node.float("alpha")
    nesterov = node.string("mode", ("standard", "nesterov")) == "nesterov"
    beta = _later(node, 1.0, node.float("beta"))

    def step(values: list[Value]) -> list[Operation]:
        x, given, velocity = values
        gradient = _regularised(node, x, given)
        new = pd.add(times(velocity, alpha), pd.multiply(gradient, beta))
        direction = pd.add(gradient, times(new, alpha)) if nesterov else new
        return [pd.subtract(x, pd.multiply(direction, node.operand(0))), new]

    return [*_grouped(node, 3, step)]


@converter("Adagrad", first=1, last=1, attributes=("decay_factor", "epsilon", "norm_coefficient"), domain=DOMAIN)
def adagrad(node: OnnxNode) -> Converted:
    """H = H + G², X = X - R G / (sqrt(H) + epsilon), where R falls by 1 / (1 + T decay_factor)."""
    element = node.type_of(0).element
    count = pd.cast(node.operand(1), dtype=element)
    rate = pd.divide(node.operand(0), pd.scale(count, scale=node.float("decay_factor", 0.0), bias=1.0))

    def step(values: list[Value]) -> list[Operation]:
        x, given, squares = values
        gradient = _regularised(node, x, given)
        new = pd.add(squares, pd.square(gradient))
        adapted = pd.scale(pd.sqrt(new), bias=node.float("epsilon", 0.0))
        return [pd.subtract(x, pd.divide(pd.multiply(rate, gradient), adapted)), new]

    return [*_grouped(node, 3, step)]


_ADAM = ("alpha", "beta", "epsilon", "norm_coefficient", "norm_coefficient_post")


@converter("Adam", first=1, last=1, attributes=_ADAM, domain=DOMAIN)
def adam(node: OnnxNode) -> Converted:
    """V = alpha V + (1 - alpha) G, H = beta H + (1 - beta) G², X = X - R V / (sqrt(H) + epsilon), R corrected for T."""
    element = node.type_of(0).element
    alpha, beta = node.float("alpha", 0.9), node.float("beta", 0.999)
    count = pd.cast(node.operand(1), dtype=element)

    def rest(base: float) -> Operation:
        """1 - base^T."""
        return pd.scale(pd.elementwise_pow(node.scalar(base, element), count), scale=-1.0, bias=1.0)

    corrected = pd.divide(pd.multiply(node.operand(0), pd.sqrt(rest(beta))), rest(alpha))
    started = pd.greater_than(count, node.scalar(0, element))
    rate = pd.where(started, corrected, node.operand(0))

    def step(values: list[Value]) -> list[Operation]:
        x, given, mean, squares = values
        gradient = _regularised(node, x, given)
        new_mean = pd.add(times(mean, alpha), times(gradient, 1 - alpha))
        new_squares = pd.add(times(squares, beta), times(pd.square(gradient), 1 - beta))
        adapted = pd.scale(pd.sqrt(new_squares), bias=node.float("epsilon", 0.0))
        out: Operation = pd.subtract(x, pd.divide(pd.multiply(rate, new_mean), adapted))
        post = node.float("norm_coefficient_post", 0.0)
        return [times_of(out, 1 - post), new_mean, new_squares]

    return [*_grouped(node, 4, step)]


def times_of(x: Operation, factor: float) -> Operation:
    """`x * factor`; x itself for 1."""
    return x if factor == 1.0 else pd.scale(x, scale=factor, bias=-0.0)
