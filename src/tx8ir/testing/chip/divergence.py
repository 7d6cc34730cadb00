"""Where a compiled program first leaves the reference: value by value, with the instruction that made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Operation, Program, Value
from tx8ir.dialects import tx8
from tx8ir.interpreter import Interpreter
from tx8ir.target.chip import Target
from tx8ir.testing.chip.inspector import Inspector, Made

Array: TypeAlias = NDArray[Any]


@attrs.frozen(eq=False)
class Divergence:
    """A value of the program that the chip holds otherwise than the reference interpreter.

    Attributes:
        value: its group, the operation that makes it, and its name; group: the group's number.
        memory: "SPM" or "DDR": where it was looked at.
        index: the element with the largest difference; got, expected: what it is and what it should be.
        error: that difference, relative to the largest magnitude of the value.
        wrong: how many of the elements that were looked at differ by more than the tolerance, of how many.
        instruction: the number of the last instruction that makes the value; source, location: where it comes from.
        chip, reference: the whole value; elements that the chip does not hold at that moment are masked.
        instructions: the numbers of all instructions that make it.
    """

    value: str
    group: int
    memory: str
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
        return (
            f"{self.value} in {self.memory} differs in {wrong} of {total} elements, most at {list(self.index)}: "
            f"{self.got:.6g}, expected {self.expected:.6g} ({self.error:.2g} of the largest)\n"
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

    Every value of every group is compared as soon as the chip has made it: in the scratch-pads what loads and
    operations leave there, time step by time step, and in DDR what groups store.

    Args:
        lowered: the graph after the stage `allocate-ddr` (`tx8ir.compiler.lower`), which says where values lie; the
            interpreter evaluates it. Compiled with `opt_loops="none"`.
        machine: the instructions generated from it.
        inputs: in the types of `lowered`.
        target: the chip; by default the one that `machine` names.
        tolerance: how far an element may be off, relative to the largest magnitude of its value. A NaN where the
            reference has none, or the other way round, always differs.

    Returns:
        The first divergence, or None when every value agrees.

    Raises:
        SimError: the instructions do what the machine does not allow.
    """
    references: dict[Value, Array] = {}

    def remember(op: Operation, results: Any) -> None:
        for value, array in zip(op.results, results, strict=True):
            if isinstance(array, np.ndarray):
                references[value] = array

    Interpreter(lowered, "native", remember).run(inputs)
    inspector = Inspector(lowered, machine, inputs, target)
    makers = inspector.makers()
    debugger = inspector.debugger
    while debugger.current is not None:
        index = debugger.current.index
        debugger.step()
        for made in makers.get(index, ()):
            held = inspector.made_value(made)
            if held is not None and made.value in references:
                found = _compare(made, held, references[made.value], tolerance, debugger.simulator.instructions)
                if found is not None:
                    return found
    return None


def _compare(
    made: Made,
    chip: np.ma.MaskedArray[Any, Any],
    reference: Array,
    tolerance: float,
    instructions: Sequence[tx8.Instruction],
) -> Divergence | None:
    got, expected = np.ma.getdata(chip).astype(np.float64), reference.astype(np.float64).reshape(chip.shape)
    held = np.logical_not(np.ma.getmaskarray(chip))
    with np.errstate(invalid="ignore"):
        off = np.where(got == expected, 0.0, np.abs(got - expected))
    off[np.isnan(got) != np.isnan(expected)] = np.inf
    off[np.isnan(got) & np.isnan(expected)] = 0.0
    off[~held] = 0.0
    finite = np.abs(expected[np.isfinite(expected)])
    scale = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    bad = off > tolerance * scale
    if not bad.any():
        return None
    worst = tuple(int(i) for i in np.unravel_index(int(off.argmax()), off.shape))
    op = instructions[made.instructions[-1]]
    return Divergence(
        value=made.title,
        group=made.group,
        memory="DDR" if made.step is None else "SPM",
        index=worst,
        got=float(got[worst]),
        expected=float(expected[worst]),
        error=float(off[worst]) / scale,
        wrong=(int(bad.sum()), int(held.sum())),
        instruction=made.instructions[-1],
        source=op.source or "",
        location=str(op.location),
        chip=chip,
        reference=reference,
        instructions=made.instructions,
    )
