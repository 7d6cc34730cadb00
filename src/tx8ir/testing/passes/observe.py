"""What a run of a program leaves behind, and whether two runs left the same.

An *observation* is everything a caller can see after `main` has run: its results, the final contents of the variables
that some program may write, and the final contents of its inputs, which a `tensor` argument lets the program change.

Two observations are compared under a *guarantee*, what a pass guarantees to keep:

BITWISE      Every number has the same bits, but that a NaN is a NaN: IEEE 754 leaves its sign and payload open.
VALUES    As BITWISE, but -0 and +0 are one number.
ROUNDING  Floating-point arithmetic may be done in another order. What that may change is measured (`rounding`).
NO_NANS   As ROUNDING, where no NaN arises on the way.
FORMATS   Number formats may change, values may not: the evaluations in fp64, where no format rounds, are equal, but for
          what constants change that are stored in other formats (`rounding`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.analysis.effects import mutable_parameters
from tx8ir.core import Program
from tx8ir.interpreter import Computer, Interpreter, Precision
from tx8ir.passes import NumericGuarantee
from tx8ir.support.screen import fitting_repr

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

    __repr__ = fitting_repr

    results: Mapping[str, Array]
    variables: Mapping[str, Array]
    inputs: Mapping[str, Array]
    steps: int = 0

    def arrays(self) -> dict[str, Array]:
        """All of them, by what they are: ``result 'y'``, ``variable 'w'``, ``input 'x'``."""
        kinds = (("result", self.results), ("variable", self.variables), ("input", self.inputs))
        return {f"{kind} {name!r}": array for kind, arrays in kinds for name, array in arrays.items()}


def observe(
    program: Program,
    inputs: Mapping[str, Array],
    precision: Precision = "native",
    *,
    max_steps: int = 10_000_000,
    variables: Collection[str] = (),
    computer: Computer | None = None,
) -> Observation:
    """Runs `main` and looks at everything it leaves behind; `program`, its store and `inputs` stay as they are.

    variables: names to look at too, though no program may write them: a pass may find that out.

    Raises:
        EvaluationError: the program cannot be evaluated on these inputs (an index out of range, say), or evaluates more
            than `max_steps` operations: a loop that does not end.
    """
    return ObservedProgram(program, precision, computer).observe(inputs, max_steps=max_steps, variables=variables)


class ObservedProgram:
    """A program that is run on many sets of inputs; what is the same in every run is found once.

    Args:
        program: it and its store stay as they are, and must not change between runs.
        precision: what floating-point numbers are computed in.
        computer: see `tx8ir.interpreter.Interpreter`.
    """

    def __init__(self, program: Program, precision: Precision = "native", computer: Computer | None = None) -> None:
        self.program = program
        self._mutable = mutable_parameters(program)
        # The interpreter writes inputs and variables in storage of its own, and variables back into the store it is
        # given.
        self._scratch = Program(program.module, program.weights.copy())
        self._interpreter = Interpreter(self._scratch, precision, computer=computer)

    @property
    def steps(self) -> int:
        """How many operations the last run has evaluated, one that failed too."""
        return self._interpreter.steps

    def entered(self) -> frozenset[str]:
        """The regions, and the successors, that runs have entered: "scf.if 0", "cf.cond_br 1"."""
        entered = self._interpreter.entered
        found: set[str] = set()
        for op in self.program.module.walk():
            blocks = [*(region.blocks[:1] for region in op.regions), *((block,) for block in op.successors)]
            found |= {f"{op.name} {i}" for i, first in enumerate(blocks) if any(block in entered for block in first)}
        return frozenset(found)

    def observe(
        self, inputs: Mapping[str, Array], *, max_steps: int = 10_000_000, variables: Collection[str] = ()
    ) -> Observation:
        """What a run on these inputs leaves behind; see `observe`. Raises EvaluationError."""
        interpreter, store = self._interpreter, self._scratch.weights
        for name, variable in self.program.weights.items():
            store[name].data = variable.data
        interpreter.max_steps = max_steps
        results = interpreter.run(inputs)
        shown = self._mutable.union(variables) if variables else self._mutable
        stored = {name: variable.numpy() for name, variable in store.items() if name in shown}
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
    guarantee: NumericGuarantee = NumericGuarantee.BITWISE,
    admits: Mapping[str, Callable[[Array], NDArray[np.bool_]]] | None = None,
) -> Difference | None:
    """The first difference that the guarantee does not allow, or None.

    `admits` (for `NumericGuarantee.ROUNDING`) says of a result, by its name, which of its numbers are near enough all
    the same.
    """
    left, right = before.arrays(), after.arrays()
    for missing in left.keys() - right.keys():
        return Difference(missing, str(left[missing].tolist()), "missing")
    for added in right.keys() - left.keys():
        return Difference(added, "missing", str(right[added].tolist()))
    for name, a in left.items():
        b = right[name]
        if a.shape != b.shape or (a.dtype != b.dtype and guarantee is not NumericGuarantee.FORMATS):
            return Difference(name, f"{a.dtype}{list(a.shape)}", f"{b.dtype}{list(b.shape)}")
        admitted = (admits or {}).get(name)
        wrong = _differs(a, b, signed_zeros=guarantee is NumericGuarantee.BITWISE)
        if admitted is not None:
            wrong &= ~admitted(b)
        if wrong.any():
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            return Difference(f"{name}{list(place) if place else ''}", str(a[place]), str(b[place]))
    return None


def _differs(a: Array, b: Array, *, signed_zeros: bool) -> NDArray[np.bool_]:
    """Where numbers are not the same; a NaN is a NaN."""
    if a.dtype == b.dtype and a.tobytes() == b.tobytes():
        return np.zeros(a.shape, np.bool_)  # most of what is compared
    with np.errstate(all="ignore"):
        differs = np.asarray(a != b)
        if a.dtype.kind not in "iub":
            a, b = a.astype(np.float64), b.astype(np.float64)
            differs &= ~(np.isnan(a) & np.isnan(b))
            if signed_zeros:
                differs |= (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
    return differs
