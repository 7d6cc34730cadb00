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
or loses everything, a pass owes nothing; nor where rounding decides how often a loop runs (`loop_decisions`).
Infinities and NaN that are the exact result have to stay: 1 / 0, log(-1), inf - inf. What is infinite or 0 in fp64 only
because fp64 ends there is no exact result; the perturbed runs have some other number of that end instead
(`Perturbation`), so that they disagree about all that comes of it.

A pass that keeps `NumericGuarantee.FORMATS` may store constants in other formats. How much that changes is measured in
the same way: the program is evaluated in fp64 with all constants moved that do not fit into the new formats
(`format_difference`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.analysis.constants import splat_value
from tx8ir.analysis.effects import mutable_parameters
from tx8ir.core import DenseAttr, Operation, Program, RankedTensor, ScalarType, scalar_type_of
from tx8ir.dialects import builtin, pd
from tx8ir.interpreter import Computer, EvaluationError, RuntimeValue
from tx8ir.rewriting.type_conversion import tensor_type
from tx8ir.target.formats import Format
from tx8ir.testing.chip.differential import RATIO

from .loop_decisions import loop_deciders
from .observe import Difference, NumericGuarantee, Observation, difference, observe
from .perturbation import CountedEvaluations, Perturbation, each_result, is_float_array, ulps

Array: TypeAlias = NDArray[Any]
T = TypeVar("T")

RUNS: Final = 4
"""Perturbed runs. With signs drawn for every element, four of them miss a deviation by chance in one of 16 elements
that a single rounding leads to, and the factor below makes up for more."""
MORE_RUNS, _NEARLY = 16, 16.0
"""How many runs there are before a difference is reported that is at most so many times as large as is allowed: where
several roundings meet, all of the first few runs may have them cancel."""
SPREAD: Final = 4.0
"""How many times as far as the perturbed runs a result may be off."""
ULPS: Final = 4.0


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
    """The first difference after a pass that is not allowed, or None.

    It perturbs only as often as it takes to see that there is none.

    Raises what `observe` raises; `EvaluationError` too where rounding decides how often a loop runs.
    """
    return _unallowed(before, after, guarantee, _growing_allowances(program, before, inputs, max_steps))


def _unallowed(
    before: Observation,
    after: Observation,
    guarantee: NumericGuarantee,
    growing: Iterator[Mapping[str, Allowance]],
) -> Difference | None:
    """The first difference that the allowances of no run allow, or None; of few runs where it is out of reach."""
    allowances: Mapping[str, Allowance] = {}
    for run, allowances in enumerate(growing, start=1):
        if difference(before, after, guarantee, {name: a.holds for name, a in allowances.items()}) is None:
            return None
        admits = {name: a.admits for name, a in allowances.items()}
        with np.errstate(over="ignore"):
            nearly = {name: attrs.evolve(a, bound=_NEARLY * a.bound).admits for name, a in allowances.items()}
        if run == RUNS and (
            difference(before, after, guarantee, admits) is None
            or difference(before, after, guarantee, nearly) is not None
        ):
            break
    return difference(before, after, guarantee, {name: a.admits for name, a in allowances.items()})


def _growing_allowances(
    program: Program, before: Observation, inputs: Mapping[str, Array], max_steps: int
) -> Iterator[dict[str, Allowance]]:
    """The allowances of the first perturbed run, of the first two, and so on."""
    deciders = loop_deciders(program)

    def exactly(computer: Computer | None) -> Mapping[str, Array]:
        variables = before.variables
        return observe(program, inputs, "f64", max_steps=max_steps, variables=variables, computer=computer).arrays()

    counted = CountedEvaluations(deciders)
    exact = exactly(counted if deciders else None)
    perturbed: list[Mapping[str, Array]] = []
    for run in range(MORE_RUNS):
        perturbation = Perturbation(run, deciders)
        perturbed.append(exactly(perturbation))
        if perturbation.evaluated != counted.evaluated:
            raise EvaluationError("rounding decides how often a loop runs")
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
            found = each_result(op, computed)
            if any(map(_holds_nan, found)):
                found = each_result(op, compute(*map(_without_nan, given)))
                made = any(map(_holds_nan, found))
        return computed

    observe(program, inputs, "f64", max_steps=max_steps, computer=compute)
    return made


def exceeds(
    program: Program, inputs: Mapping[str, Array], elements: Sequence[ScalarType], *, max_steps: int = 10_000_000
) -> bool:
    """Whether an operation gives, or a variable holds, an integer beyond the range of one of these types of its
    signedness.

    Raises what `observe` raises.
    """
    found = not all(is_inside(variable.numpy(), elements) for variable in program.weights.values())

    def compute(op: Operation, compute: Callable[..., Any], given: Sequence[RuntimeValue]) -> Any:
        nonlocal found
        computed = compute(*given)
        arrays = [np.asarray(v) for v in each_result(op, computed) if isinstance(v, np.ndarray | np.generic)]
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


def _without_nan(value: RuntimeValue) -> RuntimeValue:
    return np.where(np.isnan(value), 1.0, value) if is_float_array(value) else value


def _holds_nan(value: RuntimeValue) -> bool:
    return is_float_array(value) and bool(np.isnan(value).any())


def format_difference(
    before: Program,
    after: Program,
    earlier: Observation,
    later: Observation,
    inputs: Mapping[str, Array],
    *,
    max_steps: int = 10_000_000,
) -> Difference | None:
    """The first difference, in fp64, after a pass that stores numbers otherwise that is not allowed, or None.

    `earlier` and `later` are what the programs before and after it do in fp64.

    Raises what `observe` raises.
    """
    formats = narrower(stored_formats(before), stored_formats(after), lambda format: format.bits)
    if not formats:
        return difference(earlier, later, NumericGuarantee.FORMATS)
    growing = _growing_format_allowances(before, formats, earlier, inputs, max_steps)
    return _unallowed(earlier, later, NumericGuarantee.FORMATS, growing)


def _growing_format_allowances(
    program: Program, formats: Sequence[Format], seen: Observation, inputs: Mapping[str, Array], max_steps: int
) -> Iterator[dict[str, Allowance]]:
    """The allowances of the first run with moved constants, of the first two, and so on."""
    exact, variables = seen.arrays(), seen.variables
    perturbed: list[Mapping[str, Array]] = []
    for run in range(MORE_RUNS):
        moved = with_moved_numbers(program, formats, run)
        perturbed.append(observe(moved, inputs, "f64", max_steps=max_steps, variables=variables).arrays())
        found = {
            name: _allowance(array, array, [arrays[name] for arrays in perturbed], is_float_off=True)
            for name, array in exact.items()
        }
        yield {name: allowance for name, allowance in found.items() if allowance is not None}


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

    With seed 0 they are rounded to the formats one after the other, so that what vanishes does so here, too.
    Numbers that are in all `formats` stay. One beyond the range of a format becomes NaN: nothing is said of it.
    """
    rng = np.random.default_rng(seed) if seed else None
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


def _stored(array: Array, formats: Sequence[Format], rng: np.random.Generator | None) -> Array:
    number = array.astype(np.float64)
    with np.errstate(all="ignore"):
        for format in formats:
            unit = ulps(number, format)
            rounded = np.where(np.isfinite(number), np.rint(number / unit) * unit, number)
            if rng is None:
                number = np.where(np.isfinite(number) & (np.abs(rounded) > format.limits[1]), np.nan, rounded)
                continue
            # About one unit: two numbers that are both moved by exactly one may cancel in every run.
            units = rng.choice([-1.0, 1.0], number.shape) * rng.uniform(0.75, 1.25, number.shape)
            moved = np.where((rounded == number) | np.isnan(number), number, number + units * unit)
            number = np.where(np.isfinite(number) & (np.abs(number) > format.limits[1]), np.nan, moved)
        return number.astype(array.dtype)
