"""Every instruction of the dialect beside NumPy: what each is compared with, and how its executions are timed.

`cases` has one or more cases for each instruction class; `check_complete` fails when the dialect has one without.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from sim_case import ALL, KIB, SCRATCH, TILES, Array, Case, Data
from sim_cases_engines import memory, neural
from sim_cases_vector import elementwise, moves, peripheral, tensors
from tx8ir.core import Builder, Op, Program, VTensorType, ui8
from tx8ir.dialects import tx8
from tx8ir.sim import Simulator
from tx8ir.target.chip import TX8


class OneInstruction:
    """A program that fills SPM and then repeats one instruction, each execution of which is timed."""

    def __init__(self, case: Case, repeat: int) -> None:
        self._case = case
        program = Program.empty()
        self._feeds: dict[str, Array] = {}
        with Builder.at_end(program.body):
            block = tx8.program().body.block
        ddr = TX8.ddr_base
        with Builder.at_end(block):
            loads: list[Callable[[], object]] = []
            for i, (address, data) in enumerate(case.sources.items()):
                rows = np.ascontiguousarray(data).reshape(TILES, -1).view(np.uint8)
                self._feeds[f"x{i}"] = rows.reshape(-1)
                tx8.segment(segment_name=f"x{i}", address=ddr, size=rows.size, kind="input")
                tx8.input(port_name=f"x{i}", address=ddr, tensor_type=VTensorType((rows.size,), ui8))
                loads.append(lambda a=address, d=ddr, n=rows.shape[1]: _rdma(a, d, n))
                ddr += rows.size + -rows.size % TX8.ddr_bank
            tx8.segment(segment_name="scratch", address=SCRATCH, size=TILES * 512 * KIB, kind="scratch")
            for load in loads:
                load()
            for _ in range(repeat):
                case.make()
        program.verify()
        self._program = program
        self.simulator = Simulator(program)

    def times(self) -> list[float]:
        """CPU seconds of each execution: decoding where it is the first, checks, execution, flags."""
        case, clock = self._case, time.thread_time
        found: list[float] = []
        counted, before = False, 0.0
        for number, execution in enumerate(self.simulator.executions(self._feeds)):
            now = clock()
            if counted:
                found.append(now - before)
            counted = number >= len(case.sources) and isinstance(execution.op, case.op_class)  # after the loads
            before = clock()
        if counted:
            found.append(clock() - before)
        return found

    def measure(self, rounds: int) -> tuple[float, float, float]:
        """Least CPU seconds of an execution, of NumPy, and of a first execution, which decodes the instruction."""
        other, clock = self._case.other, time.thread_time
        self.times()  # takes the pages of its memories from the system
        ours: list[float] = []
        theirs: list[float] = []
        first: list[float] = []
        other()
        for _ in range(rounds):
            self.simulator.forget()
            first += self.times()
            for seconds in self.times():
                ours.append(seconds)
                started = clock()
                other()
                theirs.append(clock() - started)
        return min(ours), min(theirs), min(first)


def _rdma(spm: int, ddr: int, nbytes: int) -> None:
    tx8.rdma(tiles=ALL, spm=(spm,), ddr=tuple(ddr + i * nbytes for i in ALL), element_bytes=1, count=nbytes)


def check_complete(found: list[Case]) -> None:
    """Raise AssertionError when an instruction class of the dialect has no case."""
    missing = {op.name for op in _instruction_classes()} - {case.op_class.name for case in found}
    assert not missing, f"no case for {', '.join(sorted(missing))}"


def _instruction_classes() -> list[type[Op]]:
    return [op for op in tx8.DIALECT.ops.values() if issubclass(op, tx8.Instruction)]


def cases(rows: int) -> list[Case]:
    """The cases for operands of `rows` rows of 64 channels on each tile; a square or twice one, from 16 on."""
    data = Data(rows)
    return [*elementwise(data), *tensors(data), *moves(data), *peripheral(data), *neural(data), *memory(data)]
