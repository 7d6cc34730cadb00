"""Several programs on one chip: their DDR segments must not overlap."""

from __future__ import annotations

from tx8ir.core import Program
from tx8ir.dialects.tx8 import ProgramOp, SegmentOp
from tx8ir.sim.errors import SimError
from tx8ir.target.chip import TX8, Target

from .simulator import Simulator


class MultiProgramChip:
    """A chip onto which programs are loaded, each under a name."""

    def __init__(self, target: Target = TX8) -> None:
        self.target = target
        self._segments: list[tuple[str, SegmentOp]] = []
        self.programs: dict[str, Simulator] = {}
        """The loaded programs."""

    def load(self, name: str, program: Program) -> Simulator:
        """Load a program, beside those that are loaded already.

        Raises SimError when the name is taken, or when a DDR segment overlaps one of another program; it names both.
        """
        if name in self.programs:
            raise SimError(f'a program named "{name}" is loaded already')
        blocks = [op.body.block for op in program.body if isinstance(op, ProgramOp)]
        segments = [op for block in blocks for op in block if isinstance(op, SegmentOp)]
        for segment in segments:
            low, high = segment.address, segment.address + segment.size
            for owner, other in self._segments:
                first, end = other.address, other.address + other.size
                if low < end and first < high:
                    raise SimError(
                        f'segment "{segment.segment_name}" [{low:#x}, {high:#x}) of program "{name}" overlaps segment '
                        f'"{other.segment_name}" [{first:#x}, {end:#x}) of program "{owner}"',
                        segment,
                        addresses=(max(low, first), min(high, end)),
                    )
        simulator = Simulator(program, self.target)
        self._segments += [(name, segment) for segment in segments]
        self.programs[name] = simulator
        return simulator
