"""Where a compiled program first leaves the reference: value by value, with the instruction that made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Operation, Program, RankedTensor, Value
from tx8ir.dialects import tx8, tx8be
from tx8ir.interpreter import Interpreter
from tx8ir.sim import Debugger
from tx8ir.target.chip import TX8, Target
from tx8ir.target.layout import address as element_address

Array: TypeAlias = NDArray[Any]


@attrs.frozen(eq=False)
class Divergence:
    """A value of the program that the chip holds otherwise than the reference interpreter.

    Attributes:
        value: the name of the value: its group and the operation that stores it.
        group: the group's number.
        index: the element with the largest difference; got, expected: what it is and what it should be.
        error: that difference, relative to the largest magnitude of the value.
        wrong: how many of the elements differ by more than the tolerance, of how many.
        instruction: the number of the instruction that wrote the element last; source, location: where it comes from.
        chip, reference: the whole value.
    """

    value: str
    group: int
    index: tuple[int, ...]
    got: float
    expected: float
    error: float
    wrong: tuple[int, int]
    instruction: int
    source: str
    location: str
    chip: Array
    reference: Array

    def __str__(self) -> str:
        wrong, total = self.wrong
        return (
            f"{self.value} differs in {wrong} of {total} elements, most at {list(self.index)}: "
            f"{self.got:.6g}, expected {self.expected:.6g} ({self.error:.2g} of the largest)\n"
            f'  written by instruction {self.instruction} from "{self.source}"\n  {self.location}'
        )


@attrs.frozen(eq=False)
class _Stored:
    """A value in DDR: what a group stores."""

    name: str
    group: int
    address: int
    tensor: RankedTensor
    layout: str
    last: int
    """The last instruction of the group."""


def first_divergence(
    lowered: Program,
    machine: Program,
    inputs: Mapping[str, Array],
    target: Target = TX8,
    *,
    tolerance: float = 1e-4,
) -> Divergence | None:
    """Run a compiled program beside the reference interpreter, and stop at the first value that differs.

    The values compared are those that groups store to DDR, in the order in which the chip makes them. Compile with
    `CompileOptions(opt_group="single")` to have every operation's value among them.

    Args:
        lowered: the graph after the stage `allocate-ddr` (`tx8ir.executable.lower`), which says where values lie; the
            interpreter evaluates it.
        machine: the instructions generated from it.
        inputs: in the types of `lowered`.
        target: the chip.
        tolerance: how far an element may be off, relative to the largest magnitude of its value. A NaN where the
            reference has none, or the other way round, always differs.

    Returns:
        The first divergence, or None when every value agrees.

    Raises:
        SimError: the instructions do what the machine does not allow.
    """
    references: dict[Operation, Array] = {}

    def remember(op: Operation, results: Any) -> None:
        if isinstance(op, tx8be.GroupOp):
            references[op] = np.asarray(results[0])

    Interpreter(lowered, "native", remember).run(inputs)
    debugger = Debugger(machine, inputs, target)
    stored = _stored(references, debugger)
    writers: list[tuple[int, tx8.Instruction]] = []
    while debugger.current is not None:
        current = debugger.current
        if any(a.writes and a.space is tx8.MemorySpace.DDR for a in current.op.effects()):
            writers.append((current.index, current.op))
        debugger.step()
        for group, value in stored.items():
            if value.last == current.index:
                found = _compare(debugger, value, references[group], tolerance, writers)
                if found is not None:
                    return found
    return None


def _stored(references: Mapping[Operation, Array], debugger: Debugger) -> dict[Operation, _Stored]:
    last: dict[int, int] = {}
    for index, op in enumerate(debugger.simulator.instructions):
        words = (op.source or "").split()
        if (
            len(words) > 1
            and words[0] == "group"
            and any(a.writes and a.space is tx8.MemorySpace.DDR for a in op.effects())
        ):
            last[int(words[1])] = index
    found: dict[Operation, _Stored] = {}
    for group in references:
        assert isinstance(group, tx8be.GroupOp)
        address = group.attributes.get("ddr_addr")
        store = next((op for op in group.body.block if isinstance(op, tx8be.StoreVarOp)), None)
        number = group.group_id
        if address is None or store is None or number not in last:
            continue  # an alias: no instruction makes it
        tensor = store.result.type
        assert isinstance(tensor, RankedTensor)
        layout = store.dev_info.mem_layout if store.dev_info is not None else "Tensor"
        found[group] = _Stored(
            f"group {number} {_made_by(store.operands[0])}", number, address.value, tensor, layout, last[number]
        )
    return found


def _made_by(value: Value) -> str:
    op = value.defining_op
    name = op.name.partition(".")[2] if op is not None else "argument"
    return f"{name} {value.name_hint}" if value.name_hint else name


def _compare(
    debugger: Debugger,
    value: _Stored,
    reference: Array,
    tolerance: float,
    writers: list[tuple[int, tx8.Instruction]],
) -> Divergence | None:
    tensor = value.tensor
    chip = debugger.ddr(value.address, tensor.shape, str(tensor.element), value.layout)
    got, expected = chip.astype(np.float64), reference.astype(np.float64).reshape(chip.shape)
    with np.errstate(invalid="ignore"):
        off = np.where(got == expected, 0.0, np.abs(got - expected))
    off[np.isnan(got) != np.isnan(expected)] = np.inf
    off[np.isnan(got) & np.isnan(expected)] = 0.0
    finite = np.abs(expected[np.isfinite(expected)])
    scale = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    bad = off > tolerance * scale
    if not bad.any():
        return None
    worst = tuple(int(i) for i in np.unravel_index(int(off.argmax()), off.shape))
    address = value.address + _byte_of(worst, value)
    index, op = next(
        ((index, op) for index, op in reversed(writers) if _writes(op, address)),
        (value.last, debugger.simulator.instructions[value.last]),
    )
    return Divergence(
        value=value.name,
        group=value.group,
        index=worst,
        got=float(got[worst]),
        expected=float(expected[worst]),
        error=float(off[worst]) / scale,
        wrong=(int(bad.sum()), int(bad.size)),
        instruction=index,
        source=op.source or "",
        location=str(op.location),
        chip=chip,
        reference=reference,
    )


def _byte_of(index: tuple[int, ...], value: _Stored) -> int:
    format = value.tensor.element.format
    return int(element_address(index, value.tensor.shape, format, value.layout)) * format.bytes


def _writes(op: tx8.Instruction, address: int) -> bool:
    """Whether an instruction writes a byte of DDR, on any of its tiles."""
    for access in op.effects():
        if not access.writes or access.space is not tx8.MemorySpace.DDR:
            continue
        starts = np.array(access.addresses, np.int64)
        for iterations, stride in access.walk:
            starts = (starts[:, None] + stride * np.arange(iterations)).reshape(-1)
        if ((starts <= address) & (address < starts + access.nbytes)).any():
            return True
    return False
