"""The simulator: decodes each instruction once, and executes it for all of its tiles at once where they go together.

Programs without messages are executed in block order, which is legal because only barriers make tiles wait. With
messages tiles take turns (`scheduler`): whichever has come least far and has nothing to wait for goes on, with all
tiles that are at the same place. Results do not depend on that choice, unless the program has a race.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Program, VerifyError, VTensorType, ui8
from tx8ir.dialects.tx8 import (
    Access,
    BarrierOp,
    ChipAttr,
    ConstantOp,
    CsrReadOp,
    CsrWriteOp,
    DteArmOp,
    DteSendOp,
    DteWaitOp,
    Follow,
    InputOp,
    Instruction,
    MemorySpace,
    MessageOp,
    OutputOp,
    PortOp,
    ProgramOp,
    RowCopyOp,
    SegmentOp,
    chip_of,
    instructions_of,
    target_of,
)
from tx8ir.sim.checks.fp_flags import ExceptionPlan, Exceptions, FlagRow, exception_plan, flags_table
from tx8ir.sim.checks.layout_plan import LayoutPlan
from tx8ir.sim.checks.layouts import LayoutShadow
from tx8ir.sim.checks.operands import check_operands
from tx8ir.sim.checks.races import RaceDetector, SharedBytes, shared_bytes, shared_rows
from tx8ir.sim.engines import EXECUTORS, Clock, Machine, Semantics
from tx8ir.sim.engines.dma import row_numbers
from tx8ir.sim.errors import Fault, SimError
from tx8ir.sim.memory.memory import Memory, Placed
from tx8ir.sim.memory.stores import ByteStore
from tx8ir.sim.timing.clock import Timing
from tx8ir.sim.timing.program import decode
from tx8ir.sim.timing.report import SimReport, make_report
from tx8ir.support.screen import fitting_repr
from tx8ir.support.table import Table
from tx8ir.target.chip import Engine, Target
from tx8ir.target.layout import element_mask, pack, unpack

from .issue import Issue, all_issues, nodes_of, stream
from .mailbox import Mailbox, MessagePlan
from .scheduler import Begun, Lockstep, Schedule, Tiles

Array = NDArray[Any]

_SHIFTS_KEPT = 256  # of each instruction


@attrs.frozen
class SimResult:
    """Outputs by name, in their declared types, and what the run cost (computed when it is first asked for)."""

    __repr__ = fitting_repr

    outputs: Mapping[str, Array]
    flags: tuple[FlagRow, ...]
    """Where arithmetic first gave a NaN or an infinity on each tile; empty without checks."""
    _simulator: Simulator = attrs.field(repr=False, alias="simulator")

    @property
    def report(self) -> SimReport:
        """What the run cost."""
        return self._simulator.report

    @property
    def tables(self) -> tuple[Table, ...]:
        """The flags, if there are any, and the report."""
        return *((flags_table(self.flags),) if self.flags else ()), *self.report.tables

    def _repr_html_(self) -> str:
        return "".join(table.to_html() for table in self.tables)


@attrs.frozen
class Execution:
    """One execution of an instruction: its number, the tiles that execute it together, the trips of its loops."""

    __repr__ = fitting_repr

    index: int
    op: Instruction
    tiles: tuple[int, ...]
    trips: tuple[int, ...]


@attrs.define(eq=False)
class _Decoded:
    """An instruction with every field read and every access placed: what is left is to run it."""

    engine: Engine | None
    positions: list[int]
    """Where these tiles are among those of the instruction."""
    step: Semantics | None
    placed: tuple[Placed, ...]
    moves: tuple[tuple[Follow, ...], ...]
    """The terms by which loops move each access; empty when none moves."""
    checked: tuple[int, ...]
    """Sources whose bytes must have been written, by their number among `placed`."""
    marked: tuple[int, ...]
    """Destinations that are written as a whole, likewise."""
    shared: tuple[tuple[int, SharedBytes], ...]
    """Accesses to DDR that some instruction may write: those that can race; with their number."""
    table: tuple[int, int] | None
    """Of a gather or scatter in DDR that can race: the numbers of the table and of the indices."""
    exceptions: ExceptionPlan | None
    """What of it can raise flags; None for nothing."""
    layouts: LayoutPlan | None
    """What the layout map needs to know; None without it."""
    allowed: set[tuple[int, ...]] = attrs.field(factory=set[tuple[int, ...]])
    """How far loops have moved the accesses where their places were found to be right."""


@attrs.define(eq=False)
class _Run:
    """The state of one run."""

    machine: Machine
    races: RaceDetector | None
    mailbox: Mailbox


class Simulator:
    """Runs the `tx8.program` of a module on byte-addressed memories.

    Args:
        program: its module holds one `tx8.program`, its weight store the data of the constant segments. It is taken to
            be verified.
        target: the chip, and the profile that time is computed from; by default those that the program names, or the
            TX8.
        checks: whether to find reads of bytes that were never written or hold elements of another format or layout, and
            cross-tile races in DDR. Addresses are always checked.
        strict_operands: whether to check, with `checks`, the alignment of operands and that results do not overlap them
            displaced, by the strict reading of what the machine's description leaves open (`sim.checks.operands`).
        disabled: names of instruction classes ("tx8.gemm") whose execution is an error; for tests that show that a
            result depends on them.
        seed: of the generator for stochastic rounding, which every run starts anew.

    Raises:
        SimError: the module has no program or several, or the data of a constant segment are missing or mistyped.
    """

    def __init__(
        self,
        program: Program,
        target: Target | None = None,
        checks: bool = True,
        *,
        strict_operands: bool = True,
        disabled: frozenset[str] = frozenset(),
        seed: int = 0,
    ) -> None:
        target = target_of(program) if target is None else target
        self.target = target
        self.checks = checks
        self.strict_operands = strict_operands
        self.disabled = disabled
        self.seed = seed
        ops = list(_program_op(program).body.block)
        stores = [_store(program, op) for op in ops if isinstance(op, SegmentOp)]
        self.memory = Memory(target, stores, checks=checks)
        """The memories, as the latest run left them."""
        self.inputs = tuple(op for op in ops if isinstance(op, InputOp))
        self.outputs = tuple(op for op in ops if isinstance(op, OutputOp))
        constants = tuple(op for op in ops if isinstance(op, ConstantOp))
        self.instructions = tuple(instructions_of(iter(ops)))
        self.nodes = nodes_of(ops, itertools.count())
        _check_chip(self.instructions, target)
        self._ops = ops
        self._raises = checks or any(isinstance(op, (CsrReadOp, CsrWriteOp)) for op in self.instructions)
        self._has_messages = any(isinstance(op, MessageOp) for op in self.instructions)
        self._layouts = LayoutShadow(self.memory, (*self.inputs, *constants)) if checks else None
        self._decoded: dict[tuple[int, tuple[int, ...]], _Decoded] = {}
        self._messages: dict[MessageOp, MessagePlan] = {}
        self._exceptions: Exceptions | None = None
        self._readings: dict[tuple[Instruction, int], list[int]] | None = None

    def __repr__(self) -> str:
        return f"<Simulator of {len(self.instructions)} instructions on {self.target.name}>"

    def run(self, inputs: Mapping[str, Array], schedule: Schedule | None = None) -> SimResult:
        """Execute the program once, on fresh memories.

        Args:
            inputs: one array for each declared input, of exactly its shape and NumPy type.
            schedule: the order in which tiles and engines take turns; by default tiles go together (`Lockstep`).

        Raises:
            SimError: inputs do not fit, or an instruction does what the machine does not allow; it names the
                instruction, the tile and the bytes.
        """
        for _ in self.executions(inputs, schedule):
            pass
        return self.result()

    def executions(self, inputs: Mapping[str, Array], schedule: Schedule | None = None) -> Iterator[Execution]:
        """Run as `run` does, one instruction at a time: each is given right before it is executed.

        The memories may be looked at in between; `result` gives the outputs in the end.
        """
        memory = self.memory
        memory.clear()
        self._write_inputs(inputs)
        if self._layouts is not None:
            self._layouts.clear(in_order=schedule is None)
        races = RaceDetector(self.target.tiles) if self.checks else None
        self._exceptions = Exceptions(self.target.tiles, memory, self._layouts) if self._raises else None
        machine = Machine(self.target, memory, self.seed, self._exceptions, self._clock())
        run = _Run(machine, races, Mailbox(memory, races, self._layouts, self._messages))
        with np.errstate(all="ignore"):
            if schedule is None and not self._has_messages:
                for leaf, trips in all_issues(self.nodes):
                    yield Execution(leaf.index, leaf.op, leaf.tiles, trips)
                    self._execute(leaf.index, leaf.op, leaf.tiles, trips, run)
            else:
                for issue, tiles in (schedule or Lockstep()).turns(_Tiles(self, run)):
                    yield Execution(issue.leaf.index, issue.leaf.op, tiles, issue.trips)
        if self._layouts is not None:
            self._layouts.finish(in_order=schedule is None)
        unfinished = run.mailbox.unfinished() if self.checks else None
        if unfinished is not None:
            index, fault = unfinished
            raise _error(fault, index, self.instructions[index], ())

    def forget(self) -> None:
        """Forget what was decoded: the next run decodes all instructions again, as the first one did."""
        self._decoded.clear()
        self._messages.clear()
        if self._layouts is not None:
            self._layouts.forget()

    def result(self) -> SimResult:
        """The outputs that the memories hold.

        Raises SimError when an element of one was never written, or is of another format or layout than declared.
        """
        flags = self._exceptions.rows() if self.checks and self._exceptions is not None else ()
        outputs = {op.port_name: _read_output(self.memory, op) for op in self.outputs}
        if self._layouts is not None:
            for op in self.outputs:
                self._layouts.check_port(op)
        return SimResult(outputs, flags, self)

    @cached_property
    def report(self) -> SimReport:
        """What a run costs. It depends on the program and the target only: asking for it runs nothing."""
        return make_report(decode(self._ops, self.target), self.target)

    # -- instructions ---------------------------------------------------------------------------------------------

    def _clock(self) -> Clock | None:
        """The cycle counters, for a program that reads them; their values are those of the report."""
        reads = [i for i, op in enumerate(self.instructions) if isinstance(op, CsrReadOp) and op.register == "cycles"]
        if not reads:
            return None
        if self._readings is None:
            timing = Timing(decode(self._ops, self.target), self.target, keep=False, watch=frozenset(reads))
            self._readings = {(self.instructions[i], tile): starts for (i, tile), starts in timing.starts.items()}
        return Clock(self._readings)

    def _execute(self, index: int, op: Instruction, tiles: tuple[int, ...], trips: tuple[int, ...], run: _Run) -> None:
        """Execute an instruction on some of its tiles, which have nothing to wait for any more."""
        try:
            decoded, placed = self._prepare(index, op, tiles, trips)
            self._check_order(index, decoded, placed, run)
            self._perform(op, index, decoded, placed, run)
        except Fault as fault:
            raise _error(fault, index, op, trips) from None

    def _begin(self, issue: Issue, tile: int, run: _Run) -> Begun:
        """Place an instruction for one tile and check its order with other tiles; `_finish` executes it later."""
        leaf = issue.leaf
        try:
            decoded, placed = self._prepare(leaf.index, leaf.op, (tile,), issue.trips)
            self._check_order(leaf.index, decoded, placed, run)
        except Fault as fault:
            raise _error(fault, leaf.index, leaf.op, issue.trips) from None
        spans = tuple([(p.access.writes, p.access.space, *p.interval(0)) for p in placed if p.is_writable])
        touches = bool(decoded.shared) or decoded.table is not None
        return Begun(issue, tile, decoded.engine, spans, touches, decoded.table is not None, decoded, placed)

    def _finish(self, begun: Begun, run: _Run) -> None:
        leaf = begun.issue.leaf
        try:
            self._perform(leaf.op, leaf.index, begun.decoded, begun.placed, run)
        except Fault as fault:
            raise _error(fault, leaf.index, leaf.op, begun.issue.trips) from None

    def _prepare(
        self, index: int, op: Instruction, tiles: tuple[int, ...], trips: tuple[int, ...]
    ) -> tuple[_Decoded, tuple[Placed, ...]]:
        """The instruction decoded for these tiles, and its accesses where the trips have moved them."""
        if op.name in self.disabled:
            raise Fault(f"{op.name} is disabled in this simulator")
        decoded = self._decoded.get((index, tiles))
        if decoded is None:
            decoded = self._decoded[index, tiles] = self._decode(index, op, tiles)
        if not decoded.moves:
            return decoded, decoded.placed
        shifts = [
            sum([term.offset(trips[-1 - term.level]) - term.offset(0) for term in terms]) for terms in decoded.moves
        ]
        placed = tuple(
            [self.memory.move(p, shift) if shift else p for p, shift in zip(decoded.placed, shifts, strict=True)]
        )
        if self.checks and self.strict_operands:
            key = tuple(shifts)
            if key not in decoded.allowed:
                check_operands(op, placed)
                if len(decoded.allowed) < _SHIFTS_KEPT:
                    decoded.allowed.add(key)
        return decoded, placed

    def _check_order(self, index: int, decoded: _Decoded, placed: tuple[Placed, ...], run: _Run) -> None:
        """Find conflicts with what other tiles do, and let later instructions be checked against this one."""
        races = run.races
        if races is None:
            return
        if self._has_messages:
            run.mailbox.check(placed)
        for i, shared in decoded.shared:
            before, now = decoded.placed[i], placed[i]
            if now.access is before.access:
                races.access(shared if now is before else shared.moved(now.shift - before.shift), index)
            else:
                for other in shared_bytes(now):
                    races.access(other, index)

    def _perform(self, op: Instruction, index: int, decoded: _Decoded, placed: tuple[Placed, ...], run: _Run) -> None:
        """Do what an instruction does. Raises Fault when it reads bytes that were never written."""
        memory, mailbox = run.machine.memory, run.mailbox
        if self.checks:
            for i in decoded.checked:
                memory.check_written(placed[i])
        layouts, layout_plan = self._layouts, decoded.layouts
        if layouts is not None and layout_plan is not None:
            layout_plan = layouts.at(layout_plan, placed)
            layouts.check(layout_plan)
        if decoded.table is not None:
            self._check_rows(op, index, decoded.table, placed, run)
        if decoded.step is not None:
            exceptions, plan = run.machine.exceptions, decoded.exceptions
            finite = exceptions.before(plan, placed) if exceptions is not None and plan is not None else None
            decoded.step(run.machine, placed)
            for i in decoded.marked:
                memory.mark_written(placed[i])
            if layouts is not None and layout_plan is not None:
                layouts.record(layout_plan)
            if exceptions is not None and plan is not None:
                exceptions.after(plan, op, index, placed, finite)
        elif isinstance(op, BarrierOp):
            if run.races is not None:
                run.races.barrier(op.tiles)
            if run.machine.exceptions is not None:
                run.machine.exceptions.barrier(op.tiles)
        elif isinstance(op, DteWaitOp):
            mailbox.wait(op, decoded.positions)
        elif isinstance(op, DteArmOp):
            mailbox.arm(op, placed[0], index, decoded.positions)
        else:
            assert isinstance(op, DteSendOp)
            mailbox.send(op, placed[0], decoded.positions)

    @staticmethod
    def _check_rows(op: Instruction, index: int, table: tuple[int, int], placed: tuple[Placed, ...], run: _Run) -> None:
        """Find conflicts of the rows that a gather or scatter names, which are known when it is executed."""
        assert isinstance(op, RowCopyOp)
        assert run.races is not None
        rows = row_numbers(op, run.machine.memory, placed[table[1]])
        for shared in shared_rows(placed[table[0]], rows):
            run.races.access(shared, index)

    def _decode(self, index: int, op: Instruction, tiles: tuple[int, ...]) -> _Decoded:
        """Read all fields of an instruction, for some of its tiles.

        Raises Fault when its bytes are not where the machine allows them.
        """
        accesses = op.effects()
        positions = list(range(len(tiles)))
        if tiles != op.tiles:
            positions = [op.tiles.index(tile) for tile in tiles]
            accesses = tuple([_of_tiles(access, positions) for access in accesses])
        terms = op.terms
        moves = tuple([tuple([t for t in terms if t.field == a.operand]) for a in accesses]) if terms else ()
        if moves:
            accesses = tuple(
                [_moved_to(a, sum(t.offset(0) for t in ts)) for a, ts in zip(accesses, moves, strict=True)]
            )
        placed = tuple([self.memory.place(access, tiles) for access in accesses])
        if self.checks and self.strict_operands:
            check_operands(op, placed)
        shared: list[tuple[int, SharedBytes]] = []
        table: tuple[int, int] | None = None
        if self.checks:
            for i, p in enumerate(placed):
                if p.access.space is not MemorySpace.DDR or not p.is_writable:
                    continue
                if isinstance(op, RowCopyOp):
                    table = i, next(j for j, a in enumerate(accesses) if a.operand == "index_spm")
                else:
                    shared += [(i, s) for s in shared_bytes(p)]
        executor = EXECUTORS.get(type(op))
        return _Decoded(
            engine=op.engine,
            positions=positions,
            step=executor(op) if executor is not None else None,
            placed=placed,
            moves=moves,
            checked=tuple([i for i, a in enumerate(accesses) if not a.writes and not a.conditional]),
            marked=tuple([i for i, a in enumerate(accesses) if a.writes and not a.conditional]),
            shared=tuple(shared),
            table=table,
            exceptions=exception_plan(op, placed),
            layouts=self._layouts.plan(op, index, placed)
            if self._layouts is not None and executor is not None
            else None,
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
            out = store.data[start : start + size]
            pack(np.ascontiguousarray(array), tensor.element.format, op.layout, out=out)
            assert store.written is not None
            store.written.mark(start, start + size)


class _Tiles(Tiles):
    """A run of a simulator as its schedule sees it."""

    def __init__(self, simulator: Simulator, run: _Run) -> None:
        self._simulator = simulator
        self._run = run

    @property
    def tiles(self) -> tuple[int, ...]:
        return tuple(sorted({tile for op in self._simulator.instructions for tile in op.tiles}))

    def stream(self, tile: int) -> Iterator[Issue]:
        return stream(self._simulator.nodes, tile)

    def awaited(self, op: MessageOp, tile: int) -> tuple[int, ...]:
        return self._run.mailbox.awaited(op, tile)

    def execute(self, issue: Issue, tiles: tuple[int, ...]) -> None:
        leaf = issue.leaf
        self._simulator._execute(leaf.index, leaf.op, tiles, issue.trips, self._run)  # pyright: ignore[reportPrivateUsage]

    def begin(self, issue: Issue, tile: int) -> Begun:
        return self._simulator._begin(issue, tile, self._run)  # pyright: ignore[reportPrivateUsage]

    def finish(self, begun: Begun) -> None:
        self._simulator._finish(begun, self._run)  # pyright: ignore[reportPrivateUsage]


def _error(fault: Fault, index: int, op: Instruction, trips: tuple[int, ...]) -> SimError:
    message = fault.message + (f" (in trip {', '.join(map(str, trips))} of the loops around)" if trips else "")
    return SimError(message, op, index=index, tile=fault.tile, addresses=fault.addresses)


def _of_tiles(access: Access, positions: list[int]) -> Access:
    """An access of an instruction for some of its tiles."""
    if len(access.addresses) == 1:
        return access
    return attrs.evolve(access, addresses=tuple([access.addresses[p] for p in positions]))


def _moved_to(access: Access, shift: int) -> Access:
    """An access `shift` bytes further."""
    return attrs.evolve(access, addresses=tuple([a + shift for a in access.addresses])) if shift else access


def time_program(program: Program, target: Target | None = None) -> SimReport:
    """What running a `tx8` program costs, without executing it: neither inputs nor constants are needed.

    `target` is as for `Simulator`.

    Raises:
        SimError: the module has no program or several, or it waits for messages or barriers that never come.
    """
    target = target_of(program) if target is None else target
    return make_report(decode(list(_program_op(program).body.block), target), target)


def _check_chip(instructions: Sequence[Instruction], target: Target) -> None:
    """Check instructions that were verified for one chip against another one. Raises SimError."""
    if not instructions or ChipAttr.of(chip_of(instructions[0])) == ChipAttr.of(target):
        return
    for index, op in enumerate(instructions):
        try:
            op.verify_for(target)
        except VerifyError as error:
            raise SimError(f"not for target {target.name}: {error.message}", op, index=index) from None


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
    if memory.checks and store.written is not None and not store.written.covers(start, start + size):
        missing = ~store.written.bytes(start, start + size) & element_mask(tensor.shape, format, op.layout)
        if missing.any():
            address = op.address + int(missing.argmax())
            raise SimError(
                f'output "{op.port_name}" has {int(missing.sum())} bytes that no instruction wrote, '
                f"the first at {address:#x}",
                op,
                addresses=(op.address, op.address + size),
            )
    return unpack(store.data[start : start + size], tensor.shape, format, op.layout)


def _listed(names: set[str]) -> str:
    return ", ".join(f'"{name}"' for name in sorted(names)) or "none"
