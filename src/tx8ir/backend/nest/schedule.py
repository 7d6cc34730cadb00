"""The program of a plan as ops of its group, and back: `write_schedule`, `read_schedule`."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tx8ir.backend.axes import Cut, Strategy
from tx8ir.backend.graph import CompileError, schedule_of
from tx8ir.backend.nest.body import NestBody
from tx8ir.backend.nest.buffers import depths_of
from tx8ir.backend.nest.choice import Choice, Nest
from tx8ir.backend.nest.pipeline import Node, Repeat
from tx8ir.backend.nest.price import Plan
from tx8ir.backend.nest.spm import SpmPlan
from tx8ir.core import ArrayAttr, Block, Builder, Operation, Region, Value, at_location
from tx8ir.core.ir.builder import detached
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import BackendOp, SlotAttr, StrategyAttr

__all__ = ["Scheduled", "read_schedule", "write_schedule"]


@attrs.frozen(eq=False)
class Scheduled:
    """What the ops of a scheduled group say.

    Attributes:
        nest: the loops of the strategy.
        depths: the loops around each of `NestBody.values`.
        counts: the buffers of each.
        spm: addresses.
        schedule: the ops.
    """

    nest: Nest
    depths: tuple[int, ...]
    counts: tuple[int, ...]
    spm: SpmPlan
    schedule: tx8be.ScheduleOp


def write_schedule(plan: Plan, spm: SpmPlan) -> tx8be.ScheduleOp:
    """Give the group of a plan its schedule, before the `Return`, and write where everything lies."""
    body = plan.nest.body
    terminator = body.group.body.block.last_op
    assert terminator is not None
    block = Block()
    _build(body, plan.nodes, block)
    with detached(), at_location(body.group.location):
        schedule = tx8be.ScheduleOp(strategy=strategy_attr(plan.nest), body=Region([block]))
    with Builder.before(terminator) as builder:
        builder.insert(schedule)
    for number, value in enumerate(body.values):
        first, spacing = spm.values[number]
        count = plan.buffering.counts[number]
        addresses = tuple(first + i * spacing for i in range(count))
        info = attrs.evolve(_info(value), mem_addr=addresses, multi_buf_en=count > 1, multi_buf_num=count)
        if number >= len(body.loads):
            op = number - len(body.loads)
            info = attrs.evolve(info, imm_addr=spm.scratch[op], state_addr=spm.states[op])
        _note(value, info)
    body.group.set_attribute("spm_alloc_size", spm.size)
    return schedule


def strategy_attr(nest: Nest) -> StrategyAttr:
    """A strategy by the names of its axes; loops of one trip are left out."""
    axes, strategy = nest.body.space.axes, nest.choice.strategy

    def text(cuts: Sequence[Cut]) -> tuple[str, ...]:
        return tuple(f"{axes[cut.axis].name}={cut.parts}" for cut in cuts if cut.parts > 1)

    passes = next((level.trips for level in nest.levels if level.axis < 0), 1)
    return StrategyAttr(text(strategy.x), text(strategy.y), text(strategy.time), passes)


def read_schedule(group: tx8be.GroupOp) -> Scheduled:
    """What a scheduled group says. Raises `CompileError` where the schedule does not fit the group."""
    body, schedule = NestBody.of(group), schedule_of(group)
    if schedule is None:
        raise CompileError("the group has no schedule; run schedule-groups first", op=group)
    x, y, time = (
        tuple(Cut(_axis(body, name, schedule), parts) for name, parts in cuts)
        for cuts in tx8be.cuts_of(schedule.strategy, schedule)
    )
    infos = [_info(value) for value in body.values]
    nest = Nest.of(body, Choice(Strategy(x, y, time)))
    spm = SpmPlan(
        tuple(
            (info.mem_addr[0], info.mem_addr[1] - info.mem_addr[0] if len(info.mem_addr) > 1 else 0) for info in infos
        ),
        tuple(info.state_addr for info in infos[len(body.loads) :]),
        tuple(info.imm_addr for info in infos[len(body.loads) :]),
        group.spm_alloc_size or 0,
    )
    return Scheduled(nest, depths_of(nest), tuple(len(info.mem_addr) for info in infos), spm, schedule)


def _axis(body: NestBody, name: str, op: Operation) -> int:
    names = [axis.name for axis in body.space.axes]
    if name not in names:
        raise CompileError(f'the strategy cuts "{name}"; the axes of the group are {", ".join(names)}', op=op)
    return names.index(name)


def _build(body: NestBody, nodes: Sequence[Node], block: Block) -> None:
    for node in nodes:
        with detached(), at_location(body.group.location):
            if isinstance(node, Repeat):
                inner = Block()
                _build(body, node.body, inner)
                made: Operation = tx8be.RepeatOp(times=node.times, body=Region([inner]))
            else:
                slots = [
                    SlotAttr(
                        slot.stage.engine,
                        slot.stage.role,
                        tuple(first for _, first in slot.at),
                        tuple(repeat for repeat, _ in slot.at),
                        slot.phase,
                        slot.stage.along,
                        slot.stage.turn,
                    )
                    for slot in node.slots
                ]
                values = [_subject(body, slot.stage.role, slot.stage.subject) for slot in node.slots]
                made = tx8be.StepOp(values, slots=ArrayAttr(slots))
        block.append(made)


def _subject(body: NestBody, role: str, number: int) -> Value:
    if role in ("compute", "merge"):
        return body.space.ops[number].results[0]
    return body.stores[number].y if role == "store" else body.loads[number].y


def _note(value: Value, info: tx8be.DevAttr) -> None:
    op = value.defining_op
    assert isinstance(op, BackendOp)
    op.set_attribute("dev_info", info)


def _info(value: Value) -> tx8be.DevAttr:
    op = value.defining_op
    assert isinstance(op, BackendOp)
    if op.dev_info is None:
        raise CompileError(f"{op.name} has no dev_info: the layout passes come before this stage", op=op)
    return op.dev_info
