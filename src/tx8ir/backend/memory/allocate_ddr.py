"""`allocate-ddr`: addresses of constants, inputs, outputs and the values between groups."""

from __future__ import annotations

from typing import ClassVar

import attrs

from tx8ir.backend.graph import CompileError, backend_ops
from tx8ir.backend.memory.buffers import Buffer
from tx8ir.backend.memory.ddr_annotations import write_ddr_addresses, write_ddr_scratch
from tx8ir.backend.memory.ddr_storage import storage_of, stored_bytes
from tx8ir.backend.memory.planner import plan
from tx8ir.backend.oplib.tensor import align_up
from tx8ir.core import Program, Value
from tx8ir.dialects import tx8, tx8be
from tx8ir.passes import Pass, option, register_pass
from tx8ir.target.chip import Target

__all__ = ["AllocateDdr", "result_values"]


def result_values(program: Program) -> tuple[tx8be.TupleOp, ...]:
    """The `Tuple` of the program's results. Raises `CompileError` unless there is exactly one `Output` of a `Tuple`."""
    outputs = [op for op in backend_ops(program) if isinstance(op, tx8be.OutputOp)]
    producers = [op.x.defining_op for op in outputs]
    if len(producers) != 1 or not isinstance(producers[0], tx8be.TupleOp):
        raise CompileError(f"expected one tx8be.Output of a tx8be.Tuple, found {len(outputs)}", op=program.main)
    return (producers[0],)


@register_pass
@attrs.frozen
class AllocateDdr(Pass):
    """Places every stored value on 4096-byte banks, from the base of DDR.

    Constants come first in the order of their ids (large ones have the lowest), then inputs, then results, then the
    space that variables share: a variable is live from its group's layer to the layer of its last reader, both
    included, and variables that are not live together may lie on the same bytes (`reuse`). Leaves `ddr_addr` on
    `Input`, `LoadConst` and `Group` ops, several addresses on a group of several results, and `ddr_scratch` (address,
    size) on the module. A group that only aliases has no storage of its own.

    Assumes: `group-barriers` ran. Raises `CompileError` when DDR is too small.
    """

    name: ClassVar[str] = "allocate-ddr"
    reuse: bool = option(True, "whether variables that are not live together may lie on the same bytes")
    max_nodes: int = option(0, "bound on the exact search behind the heuristics, in placed buffers")

    def run(self, program: Program) -> None:
        target = tx8.target_of(program)
        cursor = self._constants(program, target)
        for op in backend_ops(program):
            if isinstance(op, tx8be.InputOp):
                write_ddr_addresses(op, [cursor])
                cursor += _banks(stored_bytes(op.y), target)
        (results,) = result_values(program)
        placed: dict[Value, int] = {}
        for value in dict.fromkeys(storage_of(value) for value in results.xs):
            if isinstance(value.defining_op, tx8be.GroupOp):
                placed[value] = cursor
                cursor += _banks(stored_bytes(value), target)
        cursor = self._variables(program, target, cursor, placed)
        for group in backend_ops(program):
            if isinstance(group, tx8be.GroupOp) and group.group_tag != 2 and group.outs:
                write_ddr_addresses(group, [placed[value] for value in group.outs])
        needed = cursor - target.ddr_base
        if needed > target.ddr_bytes:
            raise CompileError(f"the program needs {needed} bytes of DDR; there are {target.ddr_bytes}")
        self.count("bytes", needed)

    def _constants(self, program: Program, target: Target) -> int:
        """Places constants from the base of DDR on; all loads of one id share its address. The first free address."""
        cursor = target.ddr_base
        loads: dict[int, list[tx8be.LoadConstOp]] = {}
        for op in program.module.walk():
            if isinstance(op, tx8be.LoadConstOp):
                loads.setdefault(op.id, []).append(op)
        for number in sorted(loads):
            first = loads[number][0]
            for op in loads[number]:
                same = op.parameter == first.parameter and op.y.type == first.y.type
                if not same or stored_bytes(op.y) != stored_bytes(first.y):
                    raise CompileError(f"constant id {number} is loaded as two different constants", op=op)
                write_ddr_addresses(op, [cursor])
            cursor += _banks(stored_bytes(first.y), target)
        self.count("constants", len(loads))
        return cursor

    def _variables(self, program: Program, target: Target, base: int, placed: dict[Value, int]) -> int:
        """Adds to `placed` the results of groups that are not results of the program. The first free address."""
        groups = [op for op in backend_ops(program) if isinstance(op, tx8be.GroupOp)]
        deepest = max((group.layer or 0 for group in groups), default=0)
        time = {group: number if group.layer is None else deepest - group.layer for number, group in enumerate(groups)}
        ends: dict[Value, int] = {}
        for group in groups:
            for value in group.inputs:
                owner = storage_of(value)
                ends[owner] = max(ends.get(owner, 0), time[group])
        made = [(value, time[g]) for g in groups if g.group_tag != 2 for value in g.outs if value not in placed]
        variables = [value for value, _ in made]
        sizes = [_banks(stored_bytes(value), target) for value in variables]
        # Without reuse all are live all the time: first fit lays them one after the other, large ones first.
        lifetimes = [(first, max(first, ends.get(value, 0)) + 1) if self.reuse else (0, 1) for value, first in made]
        items = [
            Buffer(str(number), *lifetime, size, target.ddr_bank)
            for number, (lifetime, size) in enumerate(zip(lifetimes, sizes, strict=True))
        ]
        placement = plan(items, steps=self.max_nodes)
        for value, offset in zip(variables, placement.offsets, strict=True):
            placed[value] = base + offset
        if placement.peak:
            write_ddr_scratch(program, base, placement.peak)
        self.count("variables", len(variables))
        self.count("variable bytes", placement.peak)
        self.count("variable bound bytes", placement.bound)
        return base + placement.peak


def _banks(size: int, target: Target) -> int:
    """`size` in whole banks, in bytes."""
    return align_up(size, target.ddr_bank)
