"""Asks the solver z3 for numbers on which two programs differ; where there are none, they are equal on all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Program
from tx8ir.passes import NumericGuarantee
from tx8ir.target.formats import TF32, Format
from tx8ir.target.rounding import Rounding

from .scalars import input_formats
from .translation import Term, Terms, Translator, Untranslatable, fp, z3

Array: TypeAlias = NDArray[Any]


@attrs.frozen(eq=False)
class Answer:
    """What the solver says about one rounding mode.

    Attributes:
        verdict: "same" on all numbers, "different" on `inputs`, or "unknown".
        inputs: numbers of shape (), in the dtypes of their formats.
        reason: why it is unknown.
    """

    verdict: Literal["same", "different", "unknown"]
    inputs: Mapping[str, Array] = attrs.field(factory=dict[str, Array])
    reason: str = ""


_MODES: Final[Mapping[Rounding, str]] = {
    Rounding.NEAREST_EVEN: "RNE",
    Rounding.TOWARD_ZERO: "RTZ",
    Rounding.UPWARD: "RTP",
    Rounding.DOWNWARD: "RTN",
}


def ask(
    before: Program,
    after: Program,
    guarantee: NumericGuarantee,
    roundings: Sequence[Rounding],
    *,
    seconds: float | None,
    rlimit: int | None,
) -> dict[Rounding, Answer]:
    """Whether two programs on scalars are equal for all inputs, in each of these rounding modes.

    All modes are asked about at once; one by one where that has no answer, or the answer is no.

    Args:
        before: what has to be kept. Where it divides an integer by 0, nothing has to.
        after: what must be equal.
        guarantee: BITWISE or VALUES.
        roundings: the modes, one or more.
        seconds: how long each question may take; None: as long as it takes.
        rlimit: how many steps of the solver each question may take, which is the same on every machine.
    """
    formats = input_formats(before)
    translator = Translator(formats)
    try:
        left, right = translator.translate(before), translator.translate(after)
    except Untranslatable as error:
        return dict.fromkeys(roundings, Answer("unknown", reason=f"z3 has no word for {error}"))
    differs = _differ(left, right, guarantee)
    together = _ask(translator, formats, differs, roundings, seconds, rlimit)
    if together.verdict == "same" or len(roundings) == 1:
        return dict.fromkeys(roundings, together)
    return {rounding: _ask(translator, formats, differs, (rounding,), seconds, rlimit) for rounding in roundings}


def _differ(before: Terms, after: Terms, guarantee: NumericGuarantee) -> Term:
    same = [_same(x, y, format, guarantee) for (x, format), (y, _) in zip(before.results, after.results, strict=True)]
    return z3.And(before.is_defined, z3.Not(z3.And(after.is_defined, *same)))


def _same(x: Term, y: Term, format: Format, guarantee: NumericGuarantee) -> Term:
    """In z3 there is one NaN, and equal terms are equal to the sign of zero."""
    if guarantee is NumericGuarantee.BITWISE or not format.is_float:
        return x == y
    return z3.Or(x == y, fp.EQ(x, y))


def _ask(
    translator: Translator,
    formats: Mapping[str, Format],
    differs: Term,
    roundings: Sequence[Rounding],
    seconds: float | None,
    rlimit: int | None,
) -> Answer:
    context, mode = translator.context, translator.rounding
    solver = z3.SolverFor("QF_FPBV", ctx=context)
    if rlimit is not None:
        solver.set("rlimit", rlimit)
    elif seconds is not None:
        solver.set("timeout", max(1, round(seconds * 1000)))
    solver.add(z3.Or([mode == getattr(z3, _MODES[rounding])(context) for rounding in roundings]))
    solver.add(differs)
    found = solver.check()
    if found == z3.unsat:
        return Answer("same")
    if found == z3.unknown:
        bound = f"{rlimit} steps" if rlimit is not None else f"{seconds} s"
        return Answer("unknown", reason=f"z3 has no answer within {bound}")
    model = solver.model()
    inputs = {
        name: _number(model.eval(translator.inputs[name], model_completion=True), format)
        for name, format in formats.items()
    }
    return Answer("different", inputs)


def _number(term: Term, format: Format) -> Array:
    """A number of a model in NumPy."""
    if format.is_bool:
        return np.array(bool(z3.is_true(term)))
    if not format.is_float:
        value = term.as_signed_long() if format.is_signed else term.as_long()
        return np.array(value).astype(format.dtype)
    if z3.simplify(fp.IsNaN(term)).eq(z3.BoolVal(True, term.ctx)):
        return np.array(np.nan, np.float32).astype(format.dtype)
    bits = z3.simplify(fp.ToIEEEBV(term)).as_long()
    word = np.dtype(f"u{format.dtype.itemsize}").type(bits << 13 if format is TF32 else bits)
    return np.array(word).view(format.dtype)
