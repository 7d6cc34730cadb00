"""What an instruction says that it reads and writes is what it reads and writes, for one of each class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from support.scripts import load
from tx8ir.core import Builder, Program
from tx8ir.dialects import tx8
from tx8ir.sim import Simulator
from tx8ir.sim.engines import EXECUTORS
from tx8ir.target.chip import TX8
from tx8ir.target.layout import written_mask

Mask = NDArray[np.bool_]
CLASSES = sorted(op.name for op in EXECUTORS)
INDICES = ("index", "index_spm")


MAKE: Any = load("tests/dialects/test_tx8_instructions.py").make
"""One valid instruction of each class."""


def touched(
    op: tx8.Instruction, space: tx8.MemorySpace, size: int, base: int, *, writes: bool, conditional: bool
) -> Mask:
    """The bytes of a memory that the accesses of tile 0 name, one run after the other."""
    mask = np.zeros(size, np.bool_)
    for access in op.effects():
        if access.space is space and access.writes is writes and access.conditional >= conditional:
            for index in np.ndindex(*[n for n, _ in access.walk]):
                start = access.addresses[0] - base + sum(i * s for i, (_, s) in zip(index, access.walk, strict=True))
                mask[start : start + access.nbytes] = True
    return mask


class Rig:
    """One instruction on tile 0, run on memories filled by the caller."""

    SPM, DDR = TX8.spm_bytes, 1 << 14

    def __init__(self, name: str) -> None:
        program = Program.empty()
        with Builder.at_end(program.body):
            block = tx8.program().body.block
        with Builder.at_end(block):
            tx8.segment(segment_name="s", address=TX8.ddr_base, size=self.DDR, kind="scratch")
            one = {"ddr": (TX8.ddr_base,)} if name in ("tx8.wdma", "tx8.dte_store") else {}
            self.op: tx8.Instruction = MAKE(name.removeprefix("tx8."), tiles=(0,), **one)
        program.verify()
        self.simulator = Simulator(program, checks=False)
        self.reads = self._both(writes=False)
        self.writes = self._both(writes=True)
        self.conditional = self._both(writes=True, conditional=True)

    def _both(self, **which: bool) -> Mask:
        spaces, which = tx8.MemorySpace, {"conditional": False, **which}
        spm = touched(self.op, spaces.SPM, self.SPM, 0, **which)
        return np.concatenate([spm, touched(self.op, spaces.DDR, self.DDR, TX8.ddr_base, **which)])

    def run(self, content: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The bytes of SPM and DDR after the instruction, which began with `content`."""
        (segment,) = self.simulator.memory.segments
        for _ in self.simulator.executions({}):
            spm = self.simulator.memory.spm
            spm.data[: self.SPM], segment.data[:] = content[: self.SPM], content[self.SPM :]
        return np.concatenate([self.simulator.memory.spm.data[: self.SPM], segment.data])

    def content(self, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Random bytes, but zeros where indices are read, so that they are valid."""
        content = rng.integers(0, 256, self.SPM + self.DDR, np.uint8)
        for access in self.op.effects():
            if access.operand in INDICES or (self.op.name.startswith("tx8.lut") and access.operand == "src"):
                start = access.addresses[0]
                content[start : start + access.extent] = 0
        return content


@pytest.mark.parametrize("name", CLASSES)
def test_it_changes_only_bytes_that_it_writes_and_depends_only_on_bytes_that_it_reads(name: str) -> None:
    rig, rng = Rig(name), np.random.default_rng(5)
    before = rig.content(rng)
    after = rig.run(before)
    assert (after == before)[~rig.writes].all()
    assert rig.writes.any() or name == "tx8.csr_write"
    other = rig.content(rng)
    same = rig.reads | rig.conditional  # what data leave alone there stays as it was
    other[same] = before[same]
    np.testing.assert_array_equal(rig.run(other)[rig.writes & ~_gaps(rig)], after[rig.writes & ~_gaps(rig)])


def _gaps(rig: Rig) -> Mask:
    """The bytes between batches of a blocked result, which stay as they were."""
    gaps = np.zeros_like(rig.writes)
    for access in rig.op.effects():
        if access.writes and access.aligned is not None:
            tensor = access.aligned
            start = access.addresses[0]
            gaps[start : start + access.nbytes] = ~written_mask(tensor.shape, tensor.format, tensor.layout)
    return gaps
