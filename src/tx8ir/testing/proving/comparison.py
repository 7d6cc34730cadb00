"""Compares two programs on many numbers at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Program
from tx8ir.passes import NumericGuarantee
from tx8ir.target.rounding import Rounding

from .modes import NAMES, Evaluation, evaluate_rounded
from .scalars import on_scalars, on_vectors

Array: TypeAlias = NDArray[Any]

_LOOKED_AT = 400
"""Of so many inputs that two programs differ on, the one that is written most shortly is shown."""


def differing(before: Evaluation, after: Evaluation, guarantee: NumericGuarantee) -> NDArray[np.bool_]:
    """For which numbers `after` is not what the guarantee asks for; where `before` has no result, nothing is asked."""
    wrong: Any = after.is_undefined
    for left, right in zip(before.results.values(), after.results.values(), strict=True):
        wrong = wrong | _differs(left, right, signed_zeros=guarantee is NumericGuarantee.BITWISE)
    return np.asarray(wrong & ~before.is_undefined)


def _differs(a: Array, b: Array, *, signed_zeros: bool) -> NDArray[np.bool_]:
    with np.errstate(all="ignore"):
        differs = np.asarray(a != b)
        if a.dtype.kind not in "iub":
            wide, other = a.astype(np.float32), b.astype(np.float32)
            differs = differs & ~(np.isnan(wide) & np.isnan(other))
            if signed_zeros:
                differs = differs | ((wide == 0) & (other == 0) & (np.signbit(wide) != np.signbit(other)))
    return differs


class Comparison:
    """Two programs on scalars, made ready to be evaluated on many numbers."""

    def __init__(self, before: Program, after: Program) -> None:
        self.before = on_vectors(before)
        self.after = on_vectors(after)

    def counterexample(
        self, inputs: Mapping[str, Array], rounding: Rounding, guarantee: NumericGuarantee
    ) -> dict[str, Array] | None:
        """Numbers of shape () that the programs differ on, or None.

        Args:
            inputs: as many numbers of each input.
            rounding: the mode that both are evaluated in.
            guarantee: BITWISE or VALUES.
        """
        left, right = (evaluate_rounded(program, inputs, rounding) for program in (self.before, self.after))
        wrong = differing(left, right, guarantee)
        if not wrong.any():
            return None
        places = np.flatnonzero(wrong) if wrong.ndim else np.array([0])
        places = places[np.linspace(0, places.size - 1, min(_LOOKED_AT, places.size)).astype(int)]
        best = min(places, key=lambda place: sum(_length(array[place]) for array in inputs.values()))
        return {name: np.asarray(array[best]) for name, array in inputs.items()}


def _length(number: Any) -> int:
    return len(repr(number.item()).replace(".0", "")) if np.isfinite(number) else 6


def assert_same(
    before: Program,
    after: Program,
    inputs: Mapping[str, Array],
    rounding: Rounding = Rounding.NEAREST_EVEN,
    guarantee: NumericGuarantee = NumericGuarantee.BITWISE,
) -> None:
    """Raises AssertionError when two programs of element-wise operations differ on these numbers.

    Args:
        before: a program that `prove` takes.
        after: what is to be equal to it.
        inputs: a number of shape () for each input.
        rounding: the mode that both are evaluated in.
        guarantee: BITWISE, or VALUES: -0 and +0 are equal.
    """
    left, right = (evaluate_rounded(on_scalars(program), inputs, rounding) for program in (before, after))
    if differing(left, right, guarantee).any():
        raise AssertionError(f"rounding {NAMES[rounding]}: {shown(left)} before, {shown(right)} after")


def shown(evaluation: Evaluation) -> str:
    """The results as text."""
    if evaluation.is_undefined.any():
        return "an integer divided by 0"
    return ", ".join(f"{name} = {array.item()!r}" for name, array in evaluation.results.items())
