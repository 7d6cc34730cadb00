"""`TilingProgram`: what the instructions of a group make that is cut into time steps, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from tx8ir.backend.codegen.group_code import GroupCode
from tx8ir.backend.schedule.steps import step_buffer
from tx8ir.core import Block, Builder, Operation
from tx8ir.dialects import tx8, tx8be
from tx8ir.testing.chip.made import Counter, Instructions, MadeSlice, Position

__all__ = ["TilingProgram"]


@attrs.frozen(eq=False)
class _Phase:
    """An op of the body in a time step, and its instructions."""

    op: Operation
    step: int
    numbers: tuple[int, ...]
    last: Mapping[int, int]


class TilingProgram:
    """The instructions of a group with a tiling; see `GroupProgram`, and `NestProgram` for the arguments."""

    def __init__(self, group: tx8be.GroupOp, program: Sequence[tx8.Instruction], numbers: Sequence[int]) -> None:
        self.group = group
        self._code = code = GroupCode(group)
        self.values = code.body.values
        self._indices = list(code.steps.indices())
        own = Instructions(group, program, numbers)
        self._phases: dict[int, _Phase] = {}
        with Builder.at_end(Block()):
            for made in (*code.constant_phases(), *code.phases()):
                phase = _Phase(made.op, made.step, *own.take(made.instructions))
                self._phases.update(dict.fromkeys(phase.numbers, phase))
        own.end()

    def position(self, index: int, trips: tuple[int, ...]) -> Position:
        phase = self._phases[index]
        loads = isinstance(phase.op, (tx8be.LoadVarOp, tx8be.LoadConstOp))
        role = "load" if loads else "store" if phase.op is self._code.body.store else "compute"
        return Position(self.group.group_id, phase.op, role, "", self._iteration(phase), (phase.step,))

    def made(self, index: int, tiles: Sequence[int], trips: tuple[int, ...]) -> Iterator[MadeSlice]:
        phase, code = self._phases[index], self._code
        body, is_stored = code.body, phase.op is code.body.store
        position = body.index[body.stored if is_stored else phase.op.results[0]]
        for tile in tiles:
            piece = code.steps.of(code.tile_ids.index(tile), self._indices[phase.step])
            box = None if piece is None else piece.boxes[position]
            if piece is None or box is None or phase.last[tile] != index:
                continue
            yield MadeSlice(
                self.group.outs[0] if is_stored else phase.op.results[0],
                phase.op,
                tile,
                box,
                None if is_stored else step_buffer(phase.step, code.addresses[position]),
                body.slice_tensor(position, piece).size_bytes,
                self.group.group_id,
                self._iteration(phase),
                phase.numbers,
            )

    def _iteration(self, phase: _Phase) -> tuple[Counter, ...]:
        return (Counter("step", phase.step, len(self._indices)),) if len(self._indices) > 1 else ()
