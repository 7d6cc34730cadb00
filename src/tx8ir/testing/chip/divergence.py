"""Where a compiled program first leaves the reference: value by value, with the instruction that made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.backend.graph import shape_of
from tx8ir.core import Operation, Program, Value
from tx8ir.interpreter import Interpreter
from tx8ir.target.chip import Target
from tx8ir.testing.chip.inspector import Inspector
from tx8ir.testing.chip.made import Counter, MadeSlice, assembled

Array: TypeAlias = NDArray[Any]


@attrs.frozen(eq=False)
class Divergence:
    """A value of the program that the chip holds otherwise than the reference interpreter.

    Attributes:
        value: its group, the operation that makes it, and its name; group: the group's number.
        memory: "SPM" or "DDR": where it was looked at.
        tile: which tile made or stored the element; iteration: the trips of the loops of the group then.
        index: the element with the largest difference; got, expected: what it is and what it should be.
        error: that difference, relative to the largest magnitude of the value.
        wrong: how many of the elements that were looked at differ by more than the tolerance, of how many.
        instruction: the number of the last instruction that makes the value; source, location: where it comes from.
        chip, reference: the whole value; elements that were not looked at are masked.
        instructions: the numbers of all instructions that make it.
    """

    value: str
    group: int
    memory: str
    tile: int
    iteration: tuple[Counter, ...]
    index: tuple[int, ...]
    got: float
    expected: float
    error: float
    wrong: tuple[int, int]
    instruction: int
    source: str
    location: str
    chip: np.ma.MaskedArray[Any, Any]
    reference: Array
    instructions: tuple[int, ...]

    def __str__(self) -> str:
        wrong, total = self.wrong
        where = ", ".join([f"tile {self.tile}", *map(str, self.iteration)])
        return (
            f"{self.value} in {self.memory} differs in {wrong} of {total} elements, most at {list(self.index)} "
            f"({where}): {self.got:.6g}, expected {self.expected:.6g} ({self.error:.2g} of the largest)\n"
            f'  made by instruction {self.instruction} from "{self.source}"\n  {self.location}'
        )

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def first_divergence(
    lowered: Program,
    machine: Program,
    inputs: Mapping[str, Array],
    target: Target | None = None,
    *,
    tolerance: float = 1e-4,
) -> Divergence | None:
    """Run a compiled program beside the reference interpreter, and stop at the first value that differs.

    Every value of every group is compared as soon as the chip has made it: in the scratch-pads what loads, messages and
    operations leave there, slice by slice as the iterations of the group make them, of sums when they are complete; in
    DDR what groups store, when all of it is there.

    Args:
        lowered: the graph after the stage `allocate-ddr` (`tx8ir.compiler.lower`), which says where values lie; the
            interpreter evaluates it.
        machine: the instructions generated from it.
        inputs: in the types of `lowered`.
        target: the chip; by default the one that `machine` names.
        tolerance: how far an element may be off, relative to the largest magnitude of its value. A NaN where the
            reference has none, or the other way round, always differs.

    Returns:
        The first divergence, or None when every value agrees.

    Raises:
        SimError: the instructions do what the machine does not allow.
        IrError: the instructions are not as many as the graph gives.
    """
    references: dict[Value, Array] = {}

    def remember(op: Operation, results: Any) -> None:
        for value, array in zip(op.results, results, strict=True):
            if isinstance(array, np.ndarray):
                references[value] = array

    Interpreter(lowered, "native", remember).run(inputs)
    comparison = _Comparison(Inspector(lowered, machine, inputs, target), references, tolerance)
    debugger = comparison.inspector.debugger
    while debugger.current is not None:
        debugger.step()
        found = comparison.of_latest()
        if found is not None:
            return found
    return None


@attrs.frozen(eq=False)
class _Comparison:
    inspector: Inspector
    references: Mapping[Value, Array]
    tolerance: float
    _scales: dict[Value, float] = attrs.field(factory=dict[Value, float], init=False)

    def of_latest(self) -> Divergence | None:
        """Compare what the latest instruction has completed."""
        holdings = self.inspector.holdings
        slices = [made for made in holdings.latest if made.value in self.references]
        for value in dict.fromkeys(made.value for made in slices):
            own = [made for made in slices if made.value is value]
            if own[0].address is None:
                stored = holdings.ddr[value]
                if stored.missing:
                    continue
                own = stored.slices
                whole = self.inspector.in_ddr(value)
                arrays = [whole[made.part] for made in own]
            else:
                arrays = [self.inspector.array(made) for made in own]
            found = self._compared(own, arrays)
            if found is not None:
                return found
        return None

    def _compared(self, slices: Sequence[MadeSlice], arrays: Sequence[Array]) -> Divergence | None:
        """The divergence of slices of a value, if they diverge."""
        value = slices[0].value
        scale, reference = self._scale(value), self.references[value].reshape(shape_of(value))
        errors = [_errors(array, reference[made.part]) for made, array in zip(slices, arrays, strict=True)]
        wrong = sum(int((error > self.tolerance * scale).sum()) for error in errors)
        if not wrong:
            return None
        largest = max(range(len(slices)), key=lambda i: float(errors[i].max(initial=0.0)))
        made, error = slices[largest], errors[largest]
        worst = np.unravel_index(int(error.argmax()), error.shape)
        element = tuple(start + int(i) for start, i in zip(made.box.start, worst, strict=True))
        op = self.inspector.debugger.simulator.instructions[made.instructions[-1]]
        return Divergence(
            value=f"group {made.group} {made.op.name.removeprefix('tx8be.')} {self.inspector.name_of(value)}",
            group=made.group,
            memory="DDR" if made.address is None else "SPM",
            tile=made.tile,
            iteration=made.iteration,
            index=element,
            got=float(arrays[largest][worst]),
            expected=float(reference[element]),
            error=float(error[worst]) / scale,
            wrong=(wrong, sum(error.size for error in errors)),
            instruction=made.instructions[-1],
            source=op.source or "",
            location=str(op.location),
            chip=assembled(slices, arrays),
            reference=reference,
            instructions=made.instructions,
        )

    def _scale(self, value: Value) -> float:
        """The largest finite magnitude of a value; 1 without any."""
        if value not in self._scales:
            reference = self.references[value].astype(np.float64)
            finite = np.abs(reference[np.isfinite(reference)])
            self._scales[value] = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
        return self._scales[value]


def _errors(chip: Array, expected: Array) -> Array:
    """How far each element is off; infinitely where one side alone is a NaN."""
    got, expected = chip.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        off = np.where(got == expected, 0.0, np.abs(got - expected))
    off[np.isnan(got) != np.isnan(expected)] = np.inf
    off[np.isnan(got) & np.isnan(expected)] = 0.0
    return off
