"""Evaluating a program with each rounding moved: what `rounding` measures with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, TypeAlias, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Operation, RankedTensor, Value
from tx8ir.dialects import builtin, func, pd
from tx8ir.interpreter import RuntimeValue
from tx8ir.target.formats import Format
from tx8ir.testing.inputs import held

Array: TypeAlias = NDArray[Any]

_EXACT: Final = (
    pd.ReluOp, pd.AbsOp, pd.FloorOp, pd.AssignOp, pd.IsnanOp, pd.LogicalNotOp, pd.MaximumOp, pd.MinimumOp,
    pd.ComparisonOp, pd.WhereOp, pd.MaxOp, pd.MinOp, pd.ReshapeOp, pd.FlattenOp, pd.SqueezeOp, pd.UnsqueezeOp,
    pd.TransposeOp, pd.SliceOp, pd.SplitOp, pd.ConcatOp, pd.ExpandOp, pd.PadOp, pd.EmbeddingOp, pd.GatherOp, pd.FullOp,
    pd.FeedOp, pd.FetchOp, builtin.ConstantOp, builtin.GetParameterOp, builtin.SetParameterOp, builtin.ToTensorOp,
    builtin.ToVTensorOp, func.ReturnOp,
)  # fmt: skip
"""Operations that compute no new floating-point number: each number of their results is one of their operands', or its
magnitude, or a whole or a truth value."""


_SUMS: Final = (
    pd.MatmulOp, pd.Conv2dOp, pd.DepthwiseConv2dOp, pd.FusedConv2dAddActOp, pd.SumOp, pd.MeanOp,
    pd.ScaledDotProductAttentionOp,
)  # fmt: skip
"""Operations that add up products or numbers."""
_TWO_TERMS: Final = (pd.AddOp, pd.SubtractOp)
_ADDING: Final = (*_SUMS, *_TWO_TERMS, pd.BatchNormOp)
_SCALING: Final = (pd.MultiplyOp, pd.ScaleOp)
"""Operations that a factor may be taken out of, or put into: of the terms of what they are given."""
_MOVES: Final = (
    pd.AssignOp, pd.WhereOp, pd.ReshapeOp, pd.FlattenOp, pd.SqueezeOp, pd.UnsqueezeOp, pd.TransposeOp, pd.SliceOp,
    pd.SplitOp, pd.ConcatOp, pd.ExpandOp, pd.PadOp, pd.GatherOp,
)  # fmt: skip
"""Operations whose results have the numbers that they are given, each with the terms that it has."""
_CANCELS: Final = 2.0
"""Terms are remembered that are so many times as large as their sum."""


def each_result(op: Operation, computed: Any) -> Sequence[RuntimeValue]:
    """The results of an operation, one by one; NumPy gives a scalar where an array has no axes."""
    results = [computed] if len(op.results) == 1 else list(cast("Sequence[RuntimeValue]", computed))
    return [np.asarray(value) if np.isscalar(value) else value for value in results]


def ulps(numbers: Array, format: Format) -> Array:
    """One unit in the last place of each number in a format, as fp64; of the smallest subnormal at least."""
    smallest = 2 - (1 << (format.exponent_bits - 1))
    exponent = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))[1] - 1
    exponent = np.where(numbers == 0, smallest, np.maximum(exponent, smallest))
    return np.ldexp(1.0, exponent - format.mantissa_bits)


class CountedEvaluations:
    """Computes operations as they are, and counts how often each of some was (`interpreter.Computer`).

    Attributes:
        evaluated: how often each was.
    """

    def __init__(self, counted: AbstractSet[Operation]) -> None:
        self._counted = counted
        self.evaluated: Counter[Operation] = Counter()

    def __call__(self, op: Operation, compute: Callable[..., Any], given: Sequence[RuntimeValue]) -> Any:
        if op in self._counted:
            self.evaluated[op] += 1
        return compute(*given)


class Perturbation:
    """Computes operations with operands and results moved by a unit in the last place (`interpreter.Computer`).

    A sum of terms so large that it overflows in another order is left open; so is what scales one whose terms overflow
    when each of them is scaled.
    A result that is infinite or 0 because the range of fp64 ends there is moved, too: to a finite number, and to one
    that is not 0. It is one where it stays infinite or 0 when all infinities, NaN and zeros among the operands are
    replaced by ordinary numbers.

    Attributes:
        evaluated: how often each of the deciders was.

    Args:
        seed: of what is drawn.
        deciders: operations of which the results are moved only where they round, see `loop_decisions`.
    """

    def __init__(self, seed: int, deciders: AbstractSet[Operation] = frozenset()) -> None:
        self._seed = seed
        self._rng = np.random.default_rng(seed)
        self._deciders = deciders
        self.evaluated: Counter[Operation] = Counter()
        # The magnitudes of the terms of sums, where they cancel: of the last time that each was evaluated.
        self._sizes: dict[Value, Array] = {}

    def __call__(self, op: Operation, compute: Callable[..., Any], given: Sequence[RuntimeValue]) -> Any:
        format = rounded_format(op)
        if op in self._deciders:
            self.evaluated[op] += 1
            if format is not None and not isinstance(op, _SUMS):
                results = [self._rounded(value, format) for value in each_result(op, compute(*given))]
                return results[0] if len(op.results) == 1 else tuple(results)
        if format is None:
            computed = compute(*given)
            if isinstance(op, _MOVES):
                self._open(op, each_result(op, computed), compute, given, None)
            return computed
        if isinstance(op, pd.CastOp):  # it rounds what it is given once, by half a unit at most
            return self._moved(compute(*given), format, 0.5)
        operands = [self._moved(value, format) for value in given]
        results = each_result(op, compute(*operands))
        if any(is_float_array(value) and (np.isinf(value) | (value == 0)).any() for value in results):
            ordinary = each_result(op, compute(*map(self._ordinary, operands)))
            results = [self._inside(*values) for values in zip(results, ordinary, strict=True)]
        if isinstance(op, (*_ADDING, *_SCALING)):
            results = self._open(op, results, compute, operands, None if isinstance(op, _TWO_TERMS) else format)
        results = [self._moved(value, format) for value in results]
        return results[0] if len(op.results) == 1 else tuple(results)

    def _open(
        self,
        op: Operation,
        results: Sequence[RuntimeValue],
        compute: Callable[..., Any],
        operands: Sequence[RuntimeValue],
        format: Format | None,
    ) -> list[RuntimeValue]:
        """The results, left open where the magnitudes of their terms are too large for a format.

        Remembers these magnitudes where terms cancel. What only scales or moves numbers has terms if they have.
        """
        if not (isinstance(op, _ADDING) or any(value in self._sizes for value in op.operands)):
            for place in op.results:
                self._sizes.pop(place, None)
            return list(results)
        found: list[RuntimeValue] = []
        sizes = each_result(op, compute(*self._largest_terms(op, operands)))
        for place, value, size in zip(op.results, results, sizes, strict=True):
            self._sizes.pop(place, None)
            if is_float_array(value) and is_float_array(size):
                size = np.asarray(np.minimum(np.abs(size), _LAST))
                if (size > _CANCELS * np.where(np.isfinite(value), np.abs(value), 0.0)).any():
                    self._sizes[place] = size
                value = value if format is None else self._left_open(value, size, format)
            found.append(value)
        return found

    def _largest_terms(self, op: Operation, operands: Sequence[RuntimeValue]) -> list[RuntimeValue]:
        """Operands on which the result is the sum of the magnitudes of the terms."""
        known = (self._sizes.get(value) for value in op.operands)
        found = [
            size if size is not None and is_float_array(value) and size.shape == value.shape else _magnitude(value)
            for value, size in zip(operands, known, strict=True)
        ]
        if isinstance(op, pd.BatchNormOp | pd.SubtractOp):  # the mean is subtracted
            found[1] = -cast("NDArray[Any]", found[1])
        return found

    def _rounded(self, value: RuntimeValue, format: Format) -> RuntimeValue:
        """`value`, moved where it is none of the format."""
        if not is_float_array(value):
            return value
        stored = held(value, format).astype(np.float64)
        return np.where((stored == value) | np.isnan(value), value, self._moved_array(value, format))

    def _moved(self, value: RuntimeValue, format: Format, by: float = 1.0) -> RuntimeValue:
        return self._moved_array(value, format, by) if is_float_array(value) else value

    def _moved_array(self, value: Array, format: Format, by: float = 1.0) -> Array:
        up = self._rng.integers(0, 2, value.shape, np.int8) * 2 - 1
        # About one unit: of two numbers that cancel, both moved by exactly one would cancel in every other run.
        units = by * up * self._rng.uniform(0.75, 1.25, value.shape)
        moved = value + np.where(value == 0, 0.0, units * ulps(value, format))
        # The last number of fp64 stays one: the magnitudes of terms are those of finite numbers.
        return np.where(np.isfinite(value), np.clip(moved, -_LAST, _LAST), value)

    def _left_open(self, value: RuntimeValue, size: RuntimeValue, format: Format) -> RuntimeValue:
        """`value`, but NaN or any finite number, by turns, where the sum of the magnitudes is too large."""
        if not (is_float_array(value) and is_float_array(size)):
            return value
        other = np.nan if self._seed % 2 else format.limits[1] * self._rng.uniform(-1, 1, value.shape)
        return np.where(size > format.limits[1] / 2, other, value)

    def _ordinary(self, value: RuntimeValue) -> RuntimeValue:
        if not is_float_array(value):
            return value
        return np.where(np.isfinite(value) & (value != 0), value, self._rng.uniform(1, 2, value.shape))

    def _inside(self, value: RuntimeValue, ordinary: RuntimeValue) -> RuntimeValue:
        """`value` with what is infinite or 0 in `ordinary`, too, as finite numbers that are not 0."""
        if not (is_float_array(value) and is_float_array(ordinary)) or value.shape != ordinary.shape:
            return value
        large = np.copysign(np.ldexp(self._rng.uniform(0.5, 1, value.shape), _LARGEST), value)
        small = np.ldexp(1 - 2.0 * self._rng.integers(0, 2, value.shape), _SMALLEST)
        value = np.where(np.isinf(value) & np.isinf(ordinary), large, value)
        return np.where((value == 0) & (ordinary == 0), small, value)


def _magnitude(value: RuntimeValue) -> RuntimeValue:
    """The magnitudes of the finite numbers, 0 for others."""
    return np.where(np.isfinite(value), np.abs(value), 0.0) if is_float_array(value) else value


_LAST: Final = np.finfo(np.float64).max
_LARGEST: Final = np.finfo(np.float64).maxexp
_SMALLEST: Final = np.finfo(np.float64).minexp - np.finfo(np.float64).nmant


def is_float_array(value: RuntimeValue) -> TypeGuard[Array]:
    """Whether it is an array of floating-point numbers."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def rounded_format(op: Operation) -> Format | None:
    """The format that an operation rounds floating-point numbers to, None for one that does not round.

    A cast does: where it widens, it moves numbers by less than the operation before it.
    """
    if isinstance(op, _EXACT) or op.regions:
        return None
    types = (v.type for v in (*op.results, *op.operands))
    return next((t.element.format for t in types if isinstance(t, RankedTensor) and t.element.is_float), None)
