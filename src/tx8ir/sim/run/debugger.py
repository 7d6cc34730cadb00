"""Stop a simulation where you like, look at its memories, and go on.

    debugger = Debugger(program, {"x": x})
    debugger.break_on("Softmax")       # an operation, by a part of the name in `source`
    debugger.run()                     # Execution(index=41, op=tx8.unary, ...): about to be executed
    debugger.operands()["src"]         # its bytes on each tile, as elements in their layout
    debugger.step()                    # execute it

Everything shown is what the memories hold before the instruction at which the debugger stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Program, print_op
from tx8ir.dialects.tx8 import Access, BarrierOp, MemorySpace, MessageOp
from tx8ir.target.chip import Target
from tx8ir.target.formats import F32, Format
from tx8ir.target.layout import size_bytes, unpack

from .scheduler import Schedule
from .simulator import Execution, SimResult, Simulator

Array: TypeAlias = NDArray[Any]
Condition: TypeAlias = Callable[["Debugger"], bool]
Watcher: TypeAlias = Callable[[Execution], None]


class Debugger:
    """A simulation that stops.

    Args:
        program, target: as for `Simulator`.
        inputs: one array for each declared input.
        schedule: the order of tiles and engines, as for `Simulator.run`.

    Attributes:
        simulator: what runs; its `memory` is all there is.
        current: the execution that comes next, None at the end.
        executed: how many executions have happened.
        stop: why it stands where it stands: "start", "step", "breakpoint at ...", or "end".
    """

    def __init__(
        self,
        program: Program,
        inputs: Mapping[str, Array],
        target: Target | None = None,
        *,
        schedule: Schedule | None = None,
    ) -> None:
        self.simulator = Simulator(program, target)
        self._executions = self.simulator.executions(inputs, schedule)
        self._breakpoints: dict[str, Condition] = {}
        self._watchers: list[Watcher] = []
        self.executed = 0
        self.current = next(self._executions, None)
        self.stop = "start"

    # -- stopping -------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<Debugger after {self.executed} instructions: {self.stop}>"

    def break_at(self, index: int) -> None:
        """Stop before instruction `index`, counted as in errors and reports. Raises ValueError if there is none."""
        count = len(self.simulator.instructions)
        if not 0 <= index < count:
            raise ValueError(f"there is no instruction {index}; the program has {count}")
        self._breakpoints[f"instruction {index}"] = lambda d: d.current is not None and d.current.index == index

    def break_on(self, text: str) -> None:
        """Stop before each instruction whose name or source has `text` in it.

        Raises ValueError if no instruction has.
        """
        if not any(text in op.name or text in (op.source or "") for op in self.simulator.instructions):
            raise ValueError(f'no instruction has "{text}" in its name or source')
        self._breakpoints[f'"{text}"'] = lambda d: (
            d.current is not None and (text in d.current.op.name or text in (d.current.op.source or ""))
        )

    def break_when(self, condition: Condition, name: str = "condition") -> None:
        """Stop before the first instruction at which `condition`, called with the debugger, is true."""
        self._breakpoints[name] = condition

    def clear(self) -> None:
        """Forget all breakpoints."""
        self._breakpoints.clear()

    def watch(self, watcher: Watcher) -> None:
        """Call `watcher` with every execution from here on, right after it, however the debugger goes on."""
        self._watchers.append(watcher)

    # -- going on -------------------------------------------------------------------------------------------------

    def step(self, count: int = 1) -> Execution | None:
        """Execute `count` instructions, whatever breakpoints say; the next one, or None at the end.

        Raises SimError as `Simulator.run`.
        """
        for _ in range(count):
            if not self._advance():
                break
        else:
            self.stop = "step"
        return self.current

    def run(self) -> Execution | None:
        """Go on to the next breakpoint; what comes there, or None at the end. Raises SimError as `Simulator.run`."""
        while self._advance():
            for name, condition in self._breakpoints.items():
                if condition(self):
                    self.stop = f"breakpoint at {name}"
                    return self.current
        return None

    def finish(self) -> SimResult:
        """Execute the rest and give the result. Raises SimError as `Simulator.run`."""
        while self._advance():
            pass
        return self.simulator.result()

    def _advance(self) -> bool:
        done = self.current
        if done is None:
            return False
        self.current = next(self._executions, None)
        self.executed += 1
        for watcher in self._watchers:
            watcher(done)
        if self.current is None:
            self.stop = "end"
        return self.current is not None

    # -- looking --------------------------------------------------------------------------------------------------

    def spm(
        self, tile: int, address: int, shape: tuple[int, ...], format: str = "f32", layout: str = "Tensor"
    ) -> Array:
        """A copy of what lies in the scratch-pad of a tile, as a tensor. Raises ValueError if it does not fit there."""
        target = self.simulator.target
        size = size_bytes(shape, Format.named(format), layout)
        if not 0 <= tile < target.tiles or not target.in_spm(address, size):
            raise ValueError(f"tile {tile} has no SPM bytes [{address:#x}, {address + size:#x})")
        start = tile * target.spm_bytes + address
        return unpack(self.simulator.memory.spm.data[start : start + size], shape, Format.named(format), layout)

    def ddr(self, address: int, shape: tuple[int, ...], format: str = "f32", layout: str = "Tensor") -> Array:
        """A copy of what lies in DDR, as a tensor. Raises ValueError if it is not inside of one segment."""
        size = size_bytes(shape, Format.named(format), layout)
        store = self.simulator.memory.segment_at(address, size)
        if store is None:
            raise ValueError(f"no segment has the DDR bytes [{address:#x}, {address + size:#x})")
        start = address - store.address
        return unpack(store.data[start : start + size], shape, Format.named(format), layout)

    def operands(self) -> dict[str, Array]:
        """The operands of the current instruction by field: [tiles, *shape] where it is a tensor, else elements.

        Elements have the operand's format where the instruction says one, and are bytes otherwise; loops of a strided
        walk are axes. Where loops of the program move an address, it is that of the current trip.

        Raises ValueError at the end of the program.
        """
        if self.current is None:
            raise ValueError("the program has ended; there is no current instruction")
        return {
            access.operand: np.stack([self._operand(self.current, access, tile) for tile in self.current.tiles])
            for access in self.current.op.effects()
        }

    def _operand(self, execution: Execution, access: Access, tile: int) -> Array:
        op, target, memory = execution.op, self.simulator.target, self.simulator.memory
        address = access.addresses[op.tiles.index(tile) if len(access.addresses) > 1 else 0]
        for term in op.terms:
            if term.field == access.operand:
                address += term.offset(execution.trips[-1 - term.level])
        if access.space is MemorySpace.SPM:
            data, start = memory.spm.data, tile * target.spm_bytes + address
        else:
            store = memory.segment_at(address, access.extent)
            if store is None:
                raise ValueError(f"{access.operand} takes DDR bytes at {address:#x}, which no segment has")
            data, start = store.data, address - store.address
        if access.aligned is not None:
            tensor = access.aligned
            return unpack(data[start : start + access.extent], tensor.shape, tensor.format, tensor.layout)
        shape = (*[n for n, _ in access.walk], access.nbytes)
        strides = (*[s for _, s in access.walk], 1)
        run = np.ndarray(shape, np.uint8, data, start, strides).copy()  # pyright: ignore[reportArgumentType]  # any buffer will do
        format = _format_of(execution, access)
        return run if format is None or access.nbytes % format.bytes else run.view(format.dtype)

    def __str__(self) -> str:
        total = len(self.simulator.instructions)
        head = f"{self.stop}; {self.executed} executed"
        if self.current is None:
            return f"{head}, at the end of {total} instructions"
        current = self.current
        trips = f", trip {', '.join(map(str, current.trips))}" if current.trips else ""
        source = f' from "{current.op.source}"' if current.op.source else ""
        lines = [f"{head}, at instruction {current.index} of {total}{source}, tiles {list(current.tiles)}{trips}"]
        lines.append(f"  {print_op(current.op)}")
        if not isinstance(current.op, (BarrierOp, MessageOp)):
            lines += [f"  {name}: {_summary(array)}" for name, array in self.operands().items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _format_of(execution: Execution, access: Access) -> Format | None:
    """The format that an instruction gives an operand: its own field, or the one for all operands."""
    attributes = execution.op.attributes
    for field in (f"{access.operand}_format", "out_format" if access.writes else "in_format", "format"):
        attribute = attributes.get(field)
        if attribute is not None and isinstance(attribute.value, str):
            format = Format.named(attribute.value)
            return None if format.is_packed else format
    size = attributes.get("element_bytes")
    return F32 if size is not None and size.value == F32.bytes else None


def _summary(array: Array) -> str:
    flat = array.reshape(len(array), -1)[0]
    values = ", ".join(f"{value:.5g}" for value in flat[:4].astype(np.float64))
    return f"{array.dtype}{list(array.shape)} {values}{', ...' if flat.size > 4 else ''}"
