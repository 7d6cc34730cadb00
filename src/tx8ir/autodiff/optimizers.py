"""Training steps: what an optimizer does with gradients, written after them.

The formulas are those of PyTorch's `torch.optim.SGD` and `torch.optim.Adam`. What an optimizer remembers from step to
step (velocities, moments) are further variables of the program's weight store, beside the parameters.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tx8ir.core import Builder, IrError, Program, RankedTensor, ScalarType, Value, VTensorType, WeightStore, at_location
from tx8ir.dialects import builtin, pd

from .append_backward import Gradients

__all__ = ["append_adam", "append_sgd"]


def append_sgd(
    program: Program,
    gradients: Gradients,
    *,
    learning_rate: float,
    momentum: float = 0.0,
    weight_decay: float = 0.0,
) -> None:
    """Add a step of gradient descent: w -= learning_rate · v, v = momentum · v + g, g = gradient + weight_decay · w.

    The operations follow the gradients in their block, and write each parameter of `gradients.parameters` at its end.
    The velocity v of parameter `w` is the variable `w.velocity`, at first 0; without momentum there is none.

    Raises:
        IrError: there is no gradient by a parameter; a rate is not a finite number from 0; an optimizer was added to
            the program already. The program is then as it was.
    """
    _check(gradients, learning_rate=learning_rate, momentum=momentum, weight_decay=weight_decay)
    suffixes = ("velocity",) if momentum else ()

    def step(name: str, weight: Value, gradient: Value) -> Value:
        if weight_decay:
            gradient = pd.add(gradient, pd.scale(weight, scale=weight_decay)).out
        if momentum:
            velocity = _Remembered(program, f"{name}.velocity", _kind(weight))
            gradient = velocity.become(pd.add(pd.scale(velocity.value, scale=momentum), gradient).out)
        return pd.subtract(weight, pd.scale(gradient, scale=learning_rate)).out

    _append(program, gradients, suffixes, step)


def append_adam(
    program: Program,
    gradients: Gradients,
    *,
    learning_rate: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    weight_decay: float = 0.0,
) -> None:
    """Add a step of Adam (Kingma and Ba, 2015, algorithm 1) with the gradient g = gradient + weight_decay · w.

    m = beta1 · m + (1 - beta1) · g, v = beta2 · v + (1 - beta2) · g²,
    w -= learning_rate · (m / c1) / (√(v / c2) + epsilon), with c = 1 - betaᵗ in step t.

    The operations follow the gradients in their block, and write each parameter of `gradients.parameters` at its end.
    For parameter `w` the moments m and v are the variables `w.first_moment` and `w.second_moment`, at first 0. So are
    `adam.first_correction` and `adam.second_correction`, which hold the c of the step before: c = beta · c + (1 - beta)
    has no cancellation, which 1 - betaᵗ has in the first steps. Of parameters of several formats each has its own.

    Raises:
        IrError: as `append_sgd`.
    """
    _check(gradients, learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon, weight_decay=weight_decay)

    corrections: dict[tuple[str, ScalarType], Value] = {}

    def corrected(which: str, beta: float, moment: Value) -> Value:
        element = _kind(moment).element
        factor = corrections.get((which, element))
        if factor is None:
            name = program.weights.unique_name(f"adam.{which}_correction")
            held = _Remembered(program, name, VTensorType((1,), element))
            factor = held.become(pd.scale(held.value, scale=beta, bias=1 - beta).out)
            corrections[which, element] = factor
        return pd.divide(moment, factor).out

    def step(name: str, weight: Value, gradient: Value) -> Value:
        if weight_decay:
            gradient = pd.add(gradient, pd.scale(weight, scale=weight_decay)).out
        estimates: list[Value] = []
        for which, beta, given in (("first", beta1, gradient), ("second", beta2, pd.square(gradient).out)):
            held = _Remembered(program, f"{name}.{which}_moment", _kind(weight))
            moment = held.become(pd.add(pd.scale(held.value, scale=beta), pd.scale(given, scale=1 - beta)).out)
            estimates.append(corrected(which, beta, moment))
        first, second = estimates
        moved = pd.divide(first, pd.scale(pd.sqrt(second), bias=epsilon)).out
        return pd.subtract(weight, pd.scale(moved, scale=learning_rate)).out

    _append(program, gradients, ("first_moment", "second_moment"), step)


class _Remembered:
    """A variable that an optimizer keeps, at first 0."""

    def __init__(self, program: Program, name: str, kind: RankedTensor) -> None:
        variable = program.weights.add(name, np.zeros(kind.shape, kind.element.dtype), is_mutable=True)
        self._name = name
        self.value = builtin.get_parameter(parameter=name, out=variable.type).out
        """What it holds before the step."""

    def become(self, value: Value) -> Value:
        """Writes the new content, and returns it."""
        builtin.set_parameter(value, parameter=self._name)
        return value


def _kind(value: Value) -> RankedTensor:
    assert isinstance(value.type, RankedTensor)  # a parameter that has a gradient
    return value.type


def _append(
    program: Program, gradients: Gradients, suffixes: tuple[str, ...], step: Callable[[str, Value, Value], Value]
) -> None:
    """Writes `step` for each parameter, where the gradients are."""
    _check_new(program.weights, gradients, suffixes)
    for name, gradient in gradients.parameters.items():
        made, block = gradient.defining_op, gradient.parent_block
        assert made is not None  # `append_backward` wrote it
        assert block is not None
        end = block.terminator
        builder = Builder.at_end(block) if end is None else Builder.before(end)
        with builder, at_location(made.location):
            weight = builtin.get_parameter(parameter=name, out=_kind(gradient).to_vtensor()).out
            builtin.set_parameter(step(name, weight, gradient), parameter=name)
        program.weights[name].is_mutable = True


def _check(gradients: Gradients, **rates: float) -> None:
    if not gradients.parameters:
        raise IrError("an optimizer needs gradients by parameters; these are by values, or there are none")
    for name, rate in rates.items():
        if not 0 <= rate < float("inf"):
            raise IrError(f"{name} is {rate!r}; expected a finite number from 0")


def _check_new(weights: WeightStore, gradients: Gradients, suffixes: tuple[str, ...]) -> None:
    for name in gradients.parameters:
        if name not in weights:
            raise IrError(f"parameter {name!r} is not in the program's weight store")
        for suffix in suffixes:
            if f"{name}.{suffix}" in weights:
                raise IrError(
                    f"the weight store has {f'{name}.{suffix}'!r} already, which an optimizer keeps its own in"
                )
