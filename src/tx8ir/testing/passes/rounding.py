"""How far results may be off after a pass that may round otherwise: measured by perturbing each rounding.

A pass that keeps `NumericGuarantee.ROUNDING` may sum in another order, or round more seldom or more often. How much
that changes depends on the program and on the numbers: a sum of cancelling terms loses all digits, one of like terms
none. Monte Carlo arithmetic measures it (Parker 1997; Denis, de Oliveira Castro and Petit, ARITH 2016): the program is
evaluated in fp64 a few times, and each operation that rounds has its operands and its results moved by one unit in the
last place of its format, up or down at random. With x* the exact result, evaluated in fp64, x the result of the program
before the pass, and y those of the perturbed runs, a result x' after the pass may be off by

    |x' - x*|  <=  3 |x - x*|  +  4 max |y - x*|  +  4 ulp(x*)

elementwise. Where nothing rounds on the way to a result, the perturbed runs are equal to the exact one, and no
difference is allowed. A truth value or whole number may differ where the perturbed runs disagree about it.

Numbers are judged where the program itself makes sense: where x is as near to x* as that. Where it overflows on its way
or loses everything, a pass owes nothing. Infinities and NaN that are the exact result have to stay: 1 / 0, log(-1),
inf - inf. What is infinite or 0 in fp64 only because fp64 ends there is no exact result; the perturbed runs have some
other number of that end instead (`Perturbation`), so that they disagree about all that comes of it.

A pass that keeps `NumericGuarantee.FORMATS` may store constants in other formats. How much that changes is measured in
the same way: the program is evaluated in fp64 with all constants moved that do not fit into the new formats
(`format_allowances`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeGuard, TypeVar, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.analysis.constants import splat_value
from tx8ir.analysis.effects import mutable_parameters
from tx8ir.core import DenseAttr, Operation, Program, RankedTensor, ScalarType, scalar_type_of
from tx8ir.dialects import builtin, func, pd
from tx8ir.interpreter import Computer, RuntimeValue
from tx8ir.rewriting.type_conversion import tensor_type
from tx8ir.target.formats import Format
from tx8ir.testing.chip.differential import RATIO

from .observe import Difference, NumericGuarantee, Observation, difference, observe

Array: TypeAlias = NDArray[Any]
T = TypeVar("T")

RUNS: Final = 4
"""Perturbed runs. With signs drawn for every element, four of them miss a deviation by chance in one of 16 elements
that a single rounding leads to, and the factor below makes up for more."""
SPREAD: Final = 4.0
"""How many times as far as the perturbed runs a result may be off."""
ULPS: Final = 4.0

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


@attrs.frozen(eq=False)
class Allowance:
    """How far a result may be from its exact value (see the module).

    Attributes:
        exact: the result in fp64.
        bound: the largest distance of each element.
        is_judged: for each element, whether it has to be that near: not where the program itself is not.
        may_be_infinite: for each element, whether it may be infinite, too: where no digit of it is certain, there may
            be a pole between.
    """

    exact: Array
    bound: Array
    is_judged: NDArray[np.bool_]
    may_be_infinite: NDArray[np.bool_] = attrs.field(factory=lambda: np.zeros((), np.bool_))

    def admits(self, array: Array) -> NDArray[np.bool_]:
        """Which numbers are near enough, or not judged."""
        return self.holds(array) | ~self.is_judged

    def holds(self, array: Array) -> NDArray[np.bool_]:
        """Which numbers are near enough, however many more perturbed runs there are: the bound only grows with them."""
        number = array.astype(np.float64)
        with np.errstate(all="ignore"):
            near = _same(number, self.exact) | (np.abs(number - self.exact) <= self.bound)
            return near | (np.isinf(number) & self.may_be_infinite)


def rounding_allowances(
    program: Program, before: Observation, inputs: Mapping[str, Array], *, max_steps: int = 10_000_000
) -> dict[str, Allowance]:
    """How far each result and variable of `program` may be off after a pass that keeps `NumericGuarantee.ROUNDING`.

    A result without an allowance has to stay as it is.

    Raises what `observe` raises.
    """
    *_, allowances = _growing_allowances(program, before, inputs, max_steps)
    return allowances


def rounding_difference(
    program: Program,
    before: Observation,
    after: Observation,
    inputs: Mapping[str, Array],
    guarantee: NumericGuarantee = NumericGuarantee.ROUNDING,
    *,
    max_steps: int = 10_000_000,
) -> Difference | None:
    """The first difference after a pass that `rounding_allowances` do not allow, or None.

    It perturbs only as often as it takes to see that there is none.

    Raises what `observe` raises.
    """
    allowances: Mapping[str, Allowance] = {}
    for allowances in _growing_allowances(program, before, inputs, max_steps):
        if difference(before, after, guarantee, {name: a.holds for name, a in allowances.items()}) is None:
            return None
    return difference(before, after, guarantee, {name: a.admits for name, a in allowances.items()})


def _growing_allowances(
    program: Program, before: Observation, inputs: Mapping[str, Array], max_steps: int
) -> Iterator[dict[str, Allowance]]:
    """The allowances of the first perturbed run, of the first two, and so on."""

    def exactly(computer: Computer | None) -> Mapping[str, Array]:
        variables = before.variables
        return observe(program, inputs, "f64", max_steps=max_steps, variables=variables, computer=computer).arrays()

    exact = exactly(None)
    perturbed: list[Mapping[str, Array]] = []
    for run in range(RUNS):
        perturbed.append(exactly(Perturbation(run)))
        found = {
            name: _allowance(rounded, exact[name], [arrays[name] for arrays in perturbed])
            for name, rounded in before.arrays().items()
        }
        yield {name: allowance for name, allowance in found.items() if allowance is not None}


def makes_nan(program: Program, inputs: Mapping[str, Array], *, max_steps: int = 10_000_000) -> bool:
    """Whether an operation, evaluated in fp64, makes a NaN of numbers that are none.

    Raises what `observe` raises.
    """
    made = False

    def compute(op: Operation, compute: Callable[..., Any], given: Sequence[RuntimeValue]) -> Any:
        nonlocal made
        computed = compute(*given)
        if not made and not isinstance(op, builtin.ConstantOp | pd.FullOp):
            found = _each(op, computed)
            if any(map(_holds_nan, found)):
                found = _each(op, compute(*map(_without_nan, given)))
                made = any(map(_holds_nan, found))
        return computed

    observe(program, inputs, "f64", max_steps=max_steps, computer=compute)
    return made


def exceeds(
    program: Program, inputs: Mapping[str, Array], elements: Sequence[ScalarType], *, max_steps: int = 10_000_000
) -> bool:
    """Whether an operation gives an integer beyond the range of one of these types of its signedness.

    Raises what `observe` raises.
    """
    found = False

    def compute(op: Operation, compute: Callable[..., Any], given: Sequence[RuntimeValue]) -> Any:
        nonlocal found
        computed = compute(*given)
        arrays = [np.asarray(v) for v in _each(op, computed) if isinstance(v, np.ndarray | np.generic)]
        found = found or not all(is_inside(array, elements) for array in arrays)
        return computed

    observe(program, inputs, "f64", max_steps=max_steps, computer=compute)
    return found


def is_inside(array: Array, elements: Sequence[ScalarType]) -> bool:
    """Whether an array's integers, if it has any, are in the ranges of those of these types of its signedness."""
    if array.dtype.kind not in "iu" or not array.size:
        return True
    ranges = [e.format.integer_range for e in elements if e.format.is_signed == (array.dtype.kind == "i")]
    return all(low <= int(array.min()) <= int(array.max()) <= high for low, high in ranges)


def _each(op: Operation, computed: Any) -> Sequence[RuntimeValue]:
    """The results of an operation, one by one."""
    return [computed] if len(op.results) == 1 else list(cast("Sequence[RuntimeValue]", computed))


def _without_nan(value: RuntimeValue) -> RuntimeValue:
    return np.where(np.isnan(value), 1.0, value) if _is_float(value) else value


def _holds_nan(value: RuntimeValue) -> bool:
    return _is_float(value) and bool(np.isnan(value).any())


def format_allowances(
    before: Program, after: Program, seen: Observation, inputs: Mapping[str, Array], *, max_steps: int = 10_000_000
) -> dict[str, Allowance]:
    """How far each result and variable, evaluated in fp64, may be off in `after`, which stores numbers otherwise.

    `seen` is what `before` does in fp64. A result without an allowance has to stay as it is.

    Raises what `observe` raises.
    """
    formats = narrower(stored_formats(before), stored_formats(after), lambda format: format.bits)
    if not formats:
        return {}
    moved = [
        observe(with_moved_numbers(before, formats, run), inputs, "f64", max_steps=max_steps, variables=seen.variables)
        for run in range(RUNS)
    ]
    perturbed = [observation.arrays() for observation in moved]
    allowances = {
        name: _allowance(exact, exact, [run[name] for run in perturbed], is_float_off=True)
        for name, exact in seen.arrays().items()
    }
    return {name: allowance for name, allowance in allowances.items() if allowance is not None}


def _allowance(
    rounded: Array, exact: Array, perturbed: Sequence[Array], *, is_float_off: bool = False
) -> Allowance | None:
    """How far a result may be off; `is_float_off` by units in the last place even where nothing moves it."""
    wanted = exact.astype(np.float64)
    format = scalar_type_of(rounded.dtype).format
    if all(_same(exact, y).all() for y in (rounded, *perturbed)) and not (is_float_off and format.is_float):
        return None
    if not format.is_float:  # NumPy's kind of an integer of 4 bits is not "i"
        agreed = np.logical_and.reduce([exact == y for y in perturbed])
        return Allowance(wanted, np.zeros(wanted.shape), agreed & (exact == rounded))
    with np.errstate(all="ignore"):
        moved = np.maximum.reduce([_distance(y.astype(np.float64), wanted) for y in perturbed])
        error = _distance(rounded.astype(np.float64), wanted)
        near = SPREAD * moved + ULPS * ulps(wanted, format)
        # At the end of the range, rounding decides between the largest number and infinity.
        overflows = np.isfinite(wanted) & (np.abs(wanted) > format.limits[1] / 2)
        is_judged = np.isfinite(moved) & (error <= near) & ~overflows
        bound = np.where(np.isfinite(wanted), near + RATIO * np.where(np.isfinite(error), error, 0.0), 0.0)
        may_be_infinite = (wanted != 0) & (SPREAD * moved >= np.abs(wanted))
    return Allowance(wanted, bound, is_judged, may_be_infinite)


def _same(a: Array, b: Array) -> NDArray[np.bool_]:
    """Where numbers are equal; a NaN is a NaN."""
    with np.errstate(all="ignore"):
        return np.asarray((a == b) | ((a != a) & (b != b)))


def _distance(a: Array, b: Array) -> Array:
    """How far numbers are apart: 0 for equal infinities and two NaN; infinite or NaN for others of them."""
    return np.where(_same(a, b), 0.0, np.abs(a - b))


def ulps(numbers: Array, format: Format) -> Array:
    """One unit in the last place of each number in a format, as fp64; of the smallest subnormal at least."""
    smallest = 2 - (1 << (format.exponent_bits - 1))
    exponent = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))[1] - 1
    exponent = np.where(numbers == 0, smallest, np.maximum(exponent, smallest))
    return np.ldexp(1.0, exponent - format.mantissa_bits)


# --- perturbation ----------------------------------------------------------------------------------------------------


class Perturbation:
    """Computes operations with operands and results moved by a unit in the last place (`interpreter.Computer`).

    A sum of terms so large that it overflows in another order is left open.
    A result that is infinite or 0 because the range of fp64 ends there is moved, too: to a finite number, and to one
    that is not 0. It is one where it stays infinite or 0 when all infinities, NaN and zeros among the operands are
    replaced by ordinary numbers.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._rng = np.random.default_rng(seed)

    def __call__(self, op: Operation, compute: Callable[..., Any], given: Sequence[RuntimeValue]) -> Any:
        format = rounded_format(op)
        if format is None:
            return compute(*given)
        if isinstance(op, pd.CastOp):  # it rounds what it is given once, by half a unit at most
            return self._moved(compute(*given), format, 0.5)
        operands = [self._moved(value, format) for value in given]
        computed = compute(*operands)
        results = _each(op, computed)
        if any(_is_float(value) and (np.isinf(value) | (value == 0)).any() for value in results):
            ordinary = _each(op, compute(*map(self._ordinary, operands)))
            results = [self._inside(*values) for values in zip(results, ordinary, strict=True)]
        if isinstance(op, (*_SUMS, pd.BatchNormOp)):
            sizes = _each(op, compute(*_largest_terms(op, operands)))
            results = [self._left_open(*values, format) for values in zip(results, sizes, strict=True)]
        results = [self._moved(value, format) for value in results]
        return results[0] if len(op.results) == 1 else tuple(results)

    def _moved(self, value: RuntimeValue, format: Format, by: float = 1.0) -> RuntimeValue:
        if not _is_float(value):
            return value
        up = self._rng.integers(0, 2, value.shape, np.int8) * 2 - 1
        # About one unit: of two numbers that cancel, both moved by exactly one would cancel in every other run.
        units = by * up * self._rng.uniform(0.75, 1.25, value.shape)
        moved = value + np.where(value == 0, 0.0, units * ulps(value, format))
        # The last number of fp64 stays one: the magnitudes of terms are those of finite numbers.
        return np.where(np.isfinite(value), np.clip(moved, -_LAST, _LAST), value)

    def _left_open(self, value: RuntimeValue, size: RuntimeValue, format: Format) -> RuntimeValue:
        """`value`, but NaN or any finite number, by turns, where the sum of the magnitudes is too large."""
        if not (_is_float(value) and _is_float(size)):
            return value
        other = np.nan if self._seed % 2 else format.limits[1] * self._rng.uniform(-1, 1, value.shape)
        return np.where(size > format.limits[1] / 2, other, value)

    def _ordinary(self, value: RuntimeValue) -> RuntimeValue:
        if not _is_float(value):
            return value
        return np.where(np.isfinite(value) & (value != 0), value, self._rng.uniform(1, 2, value.shape))

    def _inside(self, value: RuntimeValue, ordinary: RuntimeValue) -> RuntimeValue:
        """`value` with what is infinite or 0 in `ordinary`, too, as finite numbers that are not 0."""
        if not (_is_float(value) and _is_float(ordinary)) or value.shape != ordinary.shape:
            return value
        large = np.copysign(np.ldexp(self._rng.uniform(0.5, 1, value.shape), _LARGEST), value)
        small = np.ldexp(1 - 2.0 * self._rng.integers(0, 2, value.shape), _SMALLEST)
        value = np.where(np.isinf(value) & np.isinf(ordinary), large, value)
        return np.where((value == 0) & (ordinary == 0), small, value)


def _largest_terms(op: Operation, operands: Sequence[RuntimeValue]) -> list[RuntimeValue]:
    """Operands on which the result is the sum of the magnitudes of the terms."""
    found = [_magnitude(value) for value in operands]
    if isinstance(op, pd.BatchNormOp):  # the mean is subtracted
        found[1] = -cast("NDArray[Any]", found[1])
    return found


def _magnitude(value: RuntimeValue) -> RuntimeValue:
    """The magnitudes of the finite numbers, 0 for others."""
    return np.where(np.isfinite(value), np.abs(value), 0.0) if _is_float(value) else value


_LAST: Final = np.finfo(np.float64).max
_LARGEST: Final = np.finfo(np.float64).maxexp
_SMALLEST: Final = np.finfo(np.float64).minexp - np.finfo(np.float64).nmant


def _is_float(value: RuntimeValue) -> TypeGuard[Array]:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def rounded_format(op: Operation) -> Format | None:
    """The format that an operation rounds floating-point numbers to, None for one that does not round.

    A cast does: where it widens, it moves numbers by less than the operation before it.
    """
    if isinstance(op, _EXACT) or op.regions:
        return None
    types = (v.type for v in (*op.results, *op.operands))
    return next((t.element.format for t in types if isinstance(t, RankedTensor) and t.element.is_float), None)


# --- stored numbers --------------------------------------------------------------------------------------------------


def narrower(before: Counter[T], after: Counter[T], bits: Callable[[T], int]) -> tuple[T, ...]:
    """The types that there are more of than before, and those of fewer bits than one that there are fewer of.

    Of those too, as what had the same type may be gone: a dead constant, a cast that became another.
    """
    gone = before - after
    return tuple(t for t in after if after[t] > before[t] or any(bits(t) < bits(g) for g in gone))


def stored_formats(program: Program) -> Counter[Format]:
    """How many constants and variables a program has of each floating-point format."""
    constants = (op.results[0].type for op in program.module.walk() if isinstance(op, builtin.ConstantOp | pd.FullOp))
    types = (*constants, *(variable.type for variable in program.weights.values()))
    elements = (t.element for t in types if isinstance(t, RankedTensor))
    return Counter(element.format for element in elements if element.is_float)


def with_moved_numbers(program: Program, formats: Sequence[Format], seed: int) -> Program:
    """A copy in which the constants, and the variables that are only read, are about a unit in the last place off.

    Numbers that are in all `formats` stay. One beyond the range of a format becomes NaN: nothing is said of it.
    """
    rng = np.random.default_rng(seed)
    copy = program.clone()
    written = mutable_parameters(program)
    for op in copy.module.walk():
        value = op.attributes.get("value")
        if isinstance(op, builtin.ConstantOp) and isinstance(value, DenseAttr) and value.type.element.is_float:
            op.set_attribute("value", DenseAttr(_stored(value.value, formats, rng), value.type))
        elif isinstance(op, pd.FullOp) and tensor_type(op.out).element.is_float:
            splat = splat_value(op.out)
            if splat is not None:
                op.set_attribute("value", float(_stored(np.asarray(splat, np.float64), formats, rng)))
    for name, variable in copy.weights.items():
        if name not in written and variable.type.element.is_float:
            variable.data = _stored(variable.numpy(), formats, rng)
    return copy


def _stored(array: Array, formats: Sequence[Format], rng: np.random.Generator) -> Array:
    number = array.astype(np.float64)
    with np.errstate(all="ignore"):
        for format in formats:
            unit = ulps(number, format)
            fits = ~np.isfinite(number) | (np.rint(number / unit) == number / unit)
            # About one unit: two numbers that are both moved by exactly one may cancel in every run.
            units = rng.choice([-1.0, 1.0], number.shape) * rng.uniform(0.75, 1.25, number.shape)
            moved = np.where(fits, number, number + units * unit)
            number = np.where(np.isfinite(number) & (np.abs(number) > format.limits[1]), np.nan, moved)
        return number.astype(array.dtype)
