"""What a run of a program leaves behind, and whether two runs left the same.

An *observation* is everything a caller can see after `main` has run: its results, the final contents of the variables
that some program may write, and the final contents of its inputs, which a `tensor` argument lets the program change.

Two observations are compared under a *promise*, what a pass promises to keep:

BITS      Every number has the same bits, but that a NaN is a NaN: IEEE 754 leaves its sign and payload open.
VALUES    As BITS, but -0 and +0 are one number.
ROUNDING  Floating-point arithmetic may be done in another order. Integers, truth values, and results that no rounding
          operation leads to are compared as VALUES. Any other result x may differ from its exact value x* by

              |x' - x*|  <=  3 max |x - x*|  +  k ulp(max |x*|)

          elementwise, where x is what the program gave before the pass, x* its evaluation in fp64, and k the number
          of rounding operations in the graph that lead to the result. A reordered operation rounds as often as before,
          so its error is of the size seen before (measured, times 3 as in `check`); where the run before
          happened to round to the exact value, each operation may still be off by one unit: its own half, and half
          of one that was added for it. Infinities and NaN must be where they were.
FORMATS   Number formats may change, values may not: the evaluations in fp64, where no format rounds, are equal.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Operation, ParameterAccess, Program, RankedTensor, Value, scalar_type_of
from tx8ir.dialects import builtin, func, pd
from tx8ir.interpreter import Interpreter, Precision
from tx8ir.transforms.effects import mutable_parameters
from tx8ir.transforms.promise import Promise

from .differential import RATIO, ulp

Array: TypeAlias = NDArray[Any]


@attrs.frozen(eq=False)
class Observation:
    """What a run leaves behind, in the order and under the names of the program.

    Attributes:
        results: what `main` returns and fetches.
        variables: final contents of the variables that may be written.
        inputs: final contents of the inputs.
        steps: how many operations were evaluated; of no concern to a comparison.
    """

    results: Mapping[str, Array]
    variables: Mapping[str, Array]
    inputs: Mapping[str, Array]
    steps: int = 0

    def arrays(self) -> dict[str, Array]:
        """All of them, by what they are: ``result 'y'``, ``variable 'w'``, ``input 'x'``."""
        kinds = (("result", self.results), ("variable", self.variables), ("input", self.inputs))
        return {f"{kind} {name!r}": array for kind, arrays in kinds for name, array in arrays.items()}


def observe(
    program: Program, inputs: Mapping[str, Array], precision: Precision = "native", *, max_steps: int = 10_000_000
) -> Observation:
    """Runs `main` and looks at everything it leaves behind; `program`, its store and `inputs` stay as they are.

    Raises:
        EvaluationError: the program cannot be evaluated on these inputs (an index out of range, say), or evaluates more
            than `max_steps` operations: a loop that does not end.
    """
    mutable = mutable_parameters(program)
    # The interpreter writes inputs and variables in storage of its own, and variables back into the store it is given.
    scratch = Program(program.module, program.weights.copy())
    interpreter = Interpreter(scratch, precision, max_steps=max_steps)
    results = interpreter.run(inputs)
    stored = {name: variable.numpy() for name, variable in scratch.weights.items() if name in mutable}
    return Observation(results, {**stored, **interpreter.parameters}, interpreter.feeds, interpreter.steps)


@attrs.frozen
class Difference:
    """The first number that differs.

    Attributes:
        where: what it belongs to, ``result 'y'`` say, and its place.
        before: the number, or shape or dtype, that was expected.
        after: what was found instead.
    """

    where: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.where} is {self.after}, before the pass {self.before}"


def difference(
    before: Observation,
    after: Observation,
    promise: Promise = Promise.BITS,
    allowances: Mapping[str, Allowance] | None = None,
) -> Difference | None:
    """The first difference that the promise does not allow, or None.

    `allowances` (of `rounding_allowances`, for `Promise.ROUNDING`) say how far off a result may be, by its name.
    """
    left, right = before.arrays(), after.arrays()
    for missing in left.keys() - right.keys():
        return Difference(missing, str(left[missing].tolist()), "missing")
    for added in right.keys() - left.keys():
        return Difference(added, "missing", str(right[added].tolist()))
    for name, a in left.items():
        b = right[name]
        if a.shape != b.shape or (a.dtype != b.dtype and promise is not Promise.FORMATS):
            return Difference(name, f"{a.dtype}{list(a.shape)}", f"{b.dtype}{list(b.shape)}")
        allowance = (allowances or {}).get(name)
        wrong = _differs(a, b, signed_zeros=promise is Promise.BITS)
        if allowance is not None:
            wrong &= ~allowance.admits(b)
        if wrong.any():
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            return Difference(f"{name}{list(place) if place else ''}", str(a[place]), str(b[place]))
    return None


def _differs(a: Array, b: Array, *, signed_zeros: bool) -> NDArray[np.bool_]:
    """Where numbers are not the same; a NaN is a NaN."""
    with np.errstate(all="ignore"):
        differs = np.asarray(a != b)
        if a.dtype.kind not in "iub":
            a, b = a.astype(np.float64), b.astype(np.float64)
            differs &= ~(np.isnan(a) & np.isnan(b))
            if signed_zeros:
                differs |= (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
    return differs


# --- rounding ------------------------------------------------------------------------------------------------------

_EXACT: Final = (
    pd.ReluOp, pd.AbsOp, pd.FloorOp, pd.AssignOp, pd.IsnanOp, pd.LogicalNotOp, pd.MaximumOp, pd.MinimumOp,
    pd.ComparisonOp, pd.WhereOp, pd.MaxOp, pd.MinOp, pd.ReshapeOp, pd.FlattenOp, pd.SqueezeOp, pd.UnsqueezeOp,
    pd.TransposeOp, pd.SliceOp, pd.SplitOp, pd.ConcatOp, pd.ExpandOp, pd.PadOp, pd.EmbeddingOp, pd.GatherOp, pd.FullOp,
    pd.FeedOp, pd.FetchOp, builtin.ConstantOp, builtin.GetParameterOp, builtin.SetParameterOp, builtin.ToTensorOp,
    builtin.ToVTensorOp, func.ReturnOp,
)  # fmt: skip
"""Operations that compute no new floating-point number: each number of their results is one of their operands', or its
magnitude, or a whole or a truth value."""


@attrs.frozen(eq=False)
class Allowance:
    """How far a result may be from its exact value (see the module, ROUNDING).

    Attributes:
        exact: the result in fp64.
        bound: the largest distance.
    """

    exact: Array
    bound: float

    def admits(self, array: Array) -> NDArray[np.bool_]:
        """Which numbers are near enough."""
        with np.errstate(all="ignore"):
            return np.asarray(np.abs(array.astype(np.float64) - self.exact) <= self.bound)


def rounding_allowances(program: Program, before: Observation, inputs: Mapping[str, Array]) -> Mapping[str, Allowance]:
    """How far each result and variable of `program` may be off after a pass that keeps `Promise.ROUNDING`.

    Raises what `observe` raises.
    """
    exact = observe(program, inputs, "fp64").arrays()
    k = sum(_rounds(op) for op in program.module.walk())
    leads = _roundings_of_results(program, k)
    allowances: dict[str, Allowance] = {}
    for name, rounded in before.arrays().items():
        steps = leads.get(name, k)
        if rounded.dtype.kind in "iub" or not steps:
            continue
        wanted = exact[name].astype(np.float64)
        finite = np.isfinite(wanted) & np.isfinite(rounded.astype(np.float64))
        error = float(np.max(np.abs(rounded.astype(np.float64)[finite] - wanted[finite]), initial=0.0))
        largest = float(np.max(np.abs(wanted[finite]), initial=0.0))
        allowances[name] = Allowance(wanted, RATIO * error + steps * ulp(largest, scalar_type_of(rounded.dtype).format))
    return allowances


def _rounds(op: Operation) -> bool:
    """Whether an operation rounds a floating-point number. A cast does: where it widens, its error is measured as 0."""
    if isinstance(op, _EXACT) or op.regions:
        return False
    return any(isinstance(r.type, RankedTensor) and r.type.element.is_float for r in (*op.results, *op.operands))


def _roundings_of_results(program: Program, everything: int) -> dict[str, int]:
    """How many rounding operations lead to each result; all of the program's where calls, regions or storage do."""
    counts: dict[str, int] = {}
    names: Sequence[str] = tuple(program.outputs)
    returned = program.main.body.blocks[-1].terminator
    if not isinstance(returned, func.ReturnOp) or len(returned.operands) != len(names):
        return counts
    mutable = mutable_parameters(program)
    for name, value in zip(names, returned.operands, strict=True):
        seen: set[Operation] = set()
        work: list[Value] = [value]
        opaque = False
        while work:
            current = work.pop()
            op = current.defining_op
            opaque |= (op is None and current.owner is not program.main.body.block) or not _is_value(current)
            if op is not None and op not in seen:
                seen.add(op)
                opaque |= bool(op.regions) or isinstance(op, func.CallOp) or _reads_any(op, mutable)
                work += op.operands
        counts[f"result {name!r}"] = everything if opaque else sum(map(_rounds, seen))
    return counts


def _reads_any(op: Operation, parameters: Collection[str]) -> bool:
    access = op.interface(ParameterAccess)
    return access is not None and any(name in parameters for name in access.parameter_reads())


def _is_value(value: Value) -> bool:
    type_ = value.type
    return isinstance(type_, RankedTensor) and type_.to_vtensor() is cast(object, type_)
