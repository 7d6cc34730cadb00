"""The lockstep simulator: executes instructions in block order, each for all of its tiles at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Program, VTensorType, ui8
from tx8ir.dialects.tx8 import (
    BarrierOp,
    InputOp,
    Instruction,
    MemorySpace,
    OutputOp,
    PortOp,
    ProgramOp,
    SegmentOp,
)
from tx8ir.dialects.tx8.cost import instruction_cycles
from tx8ir.target.chip import TX8, Engine, Target
from tx8ir.target.layout import element_mask, pack, unpack

from .clock import ENGINES, Clock, Footprint, footprint
from .engines import EXECUTORS, Machine, Step
from .errors import Fault, SimError
from .memory import ByteStore, Memory, Placed
from .races import RaceDetector, SharedBytes, shared_bytes
from .report import SimReport, Tally

Array = NDArray[Any]

_PATHS = {Engine.RDMA: "DDR to SPM", Engine.WDMA: "SPM to DDR", Engine.TDMA: "SPM to SPM"}
_NO_SOURCE = "(no source)"


@attrs.frozen
class SimResult:
    """Outputs by name, in their declared types, and what the run cost."""

    outputs: Mapping[str, Array]
    report: SimReport


@attrs.define(eq=False)
class _Decoded:
    """An instruction with every field read and every access placed: what is left is to run it."""

    name: str
    source: str
    engine: Engine | None
    tiles: slice | NDArray[np.intp]
    step: Step | None
    placed: tuple[Placed, ...]
    checked: tuple[Placed, ...]
    """Sources whose bytes must have been written."""
    marked: tuple[Placed, ...]
    """Destinations that are written as a whole."""
    shared: tuple[SharedBytes, ...]
    """Accesses to DDR that some instruction may write: those that can race."""
    cycles: int | NDArray[np.int64]
    footprint: Footprint
    moved: int


class Simulator:
    """Runs the `tx8.program` of a module on byte-addressed memories.

    Args:
        program: its module holds one `tx8.program`, its weight store the data of the constant segments. It is taken to
            be verified.
        target: the chip, and the profile that time is computed from.
        checks: whether to find reads of bytes that were never written and cross-tile races in DDR. Addresses are always
            checked.
        disabled: names of instruction classes ("tx8.gemm") whose execution is an error; for tests that show that a
            result depends on them.
        seed: of the generator for stochastic rounding, which every run starts anew.

    Raises:
        SimError: the module has no program or several, or the data of a constant segment are missing or mistyped.
    """

    def __init__(
        self,
        program: Program,
        target: Target = TX8,
        checks: bool = True,
        *,
        disabled: frozenset[str] = frozenset(),
        seed: int = 0,
    ) -> None:
        self.target = target
        self.checks = checks
        self.disabled = disabled
        self.seed = seed
        ops = list(_program_op(program).body.block)
        stores = [_store(program, op) for op in ops if isinstance(op, SegmentOp)]
        self.memory = Memory(target, stores, checks=checks)
        """The memories, as the latest run left them."""
        self.inputs = tuple(op for op in ops if isinstance(op, InputOp))
        self.outputs = tuple(op for op in ops if isinstance(op, OutputOp))
        self.instructions = tuple(op for op in ops if isinstance(op, Instruction))
        self._decoded: list[_Decoded | None] = [None] * len(self.instructions)

    def run(self, inputs: Mapping[str, Array]) -> SimResult:
        """Execute the program once, on fresh memories.

        Args:
            inputs: one array for each declared input, of exactly its shape and NumPy type.

        Raises:
            SimError: inputs do not fit, or an instruction does what the machine does not allow; it names the
                instruction, the tile and the bytes.
        """
        memory = self.memory
        memory.clear()
        self._write_inputs(inputs)
        machine = Machine(self.target, memory, self.seed)
        clock, tally = Clock(self.target), Tally(self.target.tiles)
        races = RaceDetector(self.target.tiles) if self.checks else None
        with np.errstate(all="ignore"):
            for index, op in enumerate(self.instructions):
                try:
                    self._execute(index, op, machine, clock, tally, races)
                except Fault as fault:
                    raise SimError(fault.message, op, index=index, tile=fault.tile, addresses=fault.addresses) from None
        outputs = {op.port_name: _read_output(memory, op) for op in self.outputs}
        return SimResult(outputs, self._report(clock, tally))

    # -- instructions ---------------------------------------------------------------------------------------------

    def _execute(
        self, index: int, op: Instruction, machine: Machine, clock: Clock, tally: Tally, races: RaceDetector | None
    ) -> None:
        if op.name in self.disabled:
            raise Fault(f"{op.name} is disabled in this simulator")
        decoded = self._decoded[index]
        if decoded is None:
            decoded = self._decoded[index] = self._decode(op)
        tiles = decoded.tiles
        if decoded.step is None:  # a barrier
            clock.barrier(tiles)
            if races is not None:
                races.barrier(op.tiles)
            tally.add(decoded.name, decoded.source, tiles, 0, None, 0)
            return
        if self.checks:
            for placed in decoded.checked:
                machine.memory.check_written(placed)
        if races is not None:
            for shared in decoded.shared:
                races.access(shared, index)
        decoded.step(machine, decoded.placed)
        for placed in decoded.marked:
            machine.memory.mark_written(placed)
        engine = decoded.engine
        assert engine is not None
        clock.run(engine, tiles, decoded.cycles, decoded.footprint)
        tally.add(decoded.name, decoded.source, tiles, decoded.cycles, _PATHS.get(engine), decoded.moved)

    def _decode(self, op: Instruction) -> _Decoded:
        """Read all fields of an instruction. Raises Fault when its bytes are not where the machine allows them."""
        tiles = op.tiles
        accesses = op.effects()
        placed = tuple([self.memory.place(access, tiles) for access in accesses])
        index = _tile_index(tiles)
        ordering = [p for p in placed if p.is_writable]
        intervals: list[tuple[bool, Any, Any]] = []
        for p in ordering:
            first = np.array(p.access.addresses)
            intervals.append((p.access.writes, first, first + p.extent))
        shared: list[SharedBytes] = []
        if self.checks:
            for p in ordering:
                if p.access.space is MemorySpace.DDR:
                    shared += shared_bytes(p)
        engine = op.engine
        return _Decoded(
            name=op.name,
            source=op.source or _NO_SOURCE,
            engine=engine,
            tiles=index,
            step=None if isinstance(op, BarrierOp) else EXECUTORS[type(op)](op),
            placed=placed,
            checked=tuple([p for p in placed if not p.access.writes and not p.access.conditional]),
            marked=tuple([p for p in placed if p.access.writes and not p.access.conditional]),
            shared=tuple(shared),
            cycles=instruction_cycles(op, self.target, accesses),
            footprint=footprint(intervals, index, self.target.tiles),
            moved=placed[-1].access.total_bytes * len(tiles) if engine in _PATHS else 0,
        )

    # -- memory before and after ----------------------------------------------------------------------------------

    def _write_inputs(self, inputs: Mapping[str, Array]) -> None:
        names = {op.port_name for op in self.inputs}
        for name in inputs:
            if name not in names:
                raise SimError(f'there is no input "{name}"; expected {_listed(names)}')
        for op in self.inputs:
            name, tensor = op.port_name, op.tensor
            if name not in inputs:
                raise SimError(f'input "{name}" is missing; expected {_listed(names)}', op)
            array = np.asarray(inputs[name])
            dtype = tensor.element.dtype
            if array.shape != tensor.shape or array.dtype != dtype:
                raise SimError(
                    f'input "{name}" has shape {list(array.shape)} and type {array.dtype}; '
                    f"expected {list(tensor.shape)} and {dtype} for {tensor}",
                    op,
                )
            store, start, size = _port_bytes(self.memory, op)
            data = pack(np.ascontiguousarray(array), tensor.element.format, op.layout)
            store.data[start : start + size] = data
            assert store.written is not None
            store.written[start : start + size] = True

    def _report(self, clock: Clock, tally: Tally) -> SimReport:
        cycles = clock.now
        chip = max(cycles, 1) * self.target.tiles
        return SimReport(
            instructions=len(self.instructions),
            instructions_by_class=tally.classes,
            cycles=cycles,
            cycles_by_engine={e.value: int(clock.busy[i].max()) for i, e in enumerate(ENGINES)},
            bytes=tally.bytes,
            utilisation={e.value: float(clock.busy[i].sum() / chip) for i, e in enumerate(ENGINES)},
            by_source=tally.rows(),
        )


def _program_op(program: Program) -> ProgramOp:
    found = [op for op in program.body if isinstance(op, ProgramOp)]
    if len(found) != 1:
        raise SimError(f"the module has {len(found)} tx8.program; expected one", program.module)
    return found[0]


def _store(program: Program, segment: SegmentOp) -> ByteStore:
    """A segment's memory; a constant one over the bytes of the weight store's variable of its name."""
    name = segment.segment_name
    if segment.kind != "const":
        return ByteStore(name, segment.address, segment.size, segment.kind)
    if name not in program.weights:
        raise SimError(f'the weight store has no variable "{name}" for the constant segment', segment)
    variable = program.weights[name]
    expected = VTensorType((segment.size,), ui8)
    if variable.type.to_vtensor() is not expected:
        raise SimError(f'variable "{name}" has type {variable.type}; expected {expected} for the segment', segment)
    return ByteStore(name, segment.address, segment.size, "const", np.ascontiguousarray(variable.numpy()))


def _port_bytes(memory: Memory, op: PortOp) -> tuple[ByteStore, int, int]:
    """The segment that holds a declared tensor, and its first byte and size there."""
    size = op.size_bytes
    store = memory.segment_at(op.address, size)
    if store is None:
        raise SimError(
            f'"{op.port_name}" takes DDR [{op.address:#x}, {op.address + size:#x}), which is in no segment', op
        )
    return store, op.address - store.address, size


def _read_output(memory: Memory, op: OutputOp) -> Array:
    """Unpack an output. Raises SimError when one of its elements was never written."""
    store, start, size = _port_bytes(memory, op)
    tensor = op.tensor
    format = tensor.element.format
    if memory.checks and store.written is not None:
        written = store.written[start : start + size]
        if not written.all():
            missing = ~written & element_mask(tensor.shape, format, op.layout)
            if missing.any():
                address = op.address + int(missing.argmax())
                raise SimError(
                    f'output "{op.port_name}" has {int(missing.sum())} bytes that no instruction wrote, '
                    f"the first at {address:#x}",
                    op,
                    addresses=(op.address, op.address + size),
                )
    return unpack(store.data[start : start + size], tensor.shape, format, op.layout)


def _tile_index(tiles: tuple[int, ...]) -> slice | NDArray[np.intp]:
    """An index for arrays over tiles: a slice where the ids are consecutive."""
    first = tiles[0]
    if tiles == tuple(range(first, first + len(tiles))):
        return slice(first, first + len(tiles))
    return np.array(tiles, np.intp)


def _listed(names: set[str]) -> str:
    return ", ".join(f'"{name}"' for name in sorted(names)) or "none"
