"""`Pricer`: the cycles of a choice, by the clock of its pipelined program, and a lower bound of them."""

from __future__ import annotations

import math
from collections.abc import Hashable

import attrs

from tx8ir.backend.axes import CutError, GroupSlices
from tx8ir.backend.nest.body import NestBody
from tx8ir.backend.nest.buffers import Buffering
from tx8ir.backend.nest.choice import Choice, Nest
from tx8ir.backend.nest.clock import Action, Clock, Instruction, Use
from tx8ir.backend.nest.kernels import Kernels, KernelWork, Work, form_of, state_size
from tx8ir.backend.nest.pipeline import Node, Repeat, Slot, pipelined
from tx8ir.backend.nest.stages import Stage, stages_of
from tx8ir.core import Operation
from tx8ir.target import cost

__all__ = ["Plan", "Pricer", "Unfit"]


class Unfit(CutError):
    """A choice that no instructions can carry out, or that does not fit SPM."""


@attrs.frozen(eq=False)
class Plan:
    """A choice with all that follows from it.

    Attributes:
        nest: its loops.
        buffering: its buffers.
        stages: what an iteration consists of.
        nodes: the program.
    """

    nest: Nest
    buffering: Buffering
    stages: tuple[Stage, ...]
    nodes: tuple[Node, ...]

    @staticmethod
    def of(body: NestBody, choice: Choice, like: Nest | None = None) -> Plan:
        """The plan of a choice. `like` is a nest of the same strategy. Raises `CutError` where it is none."""
        nest = Nest.of(body, choice) if like is None else attrs.evolve(like, choice=choice)
        buffering = Buffering(nest)
        stages = stages_of(nest, buffering)
        return Plan(nest, buffering, stages, pipelined(nest.levels, stages))


class Pricer:
    """Prices choices of one group; what slices of one form cost is found once."""

    def __init__(self, body: NestBody) -> None:
        self.body = body
        self.target = body.target
        self.kernels = Kernels(body)
        self._nest: object = None
        self._actions_of: dict[Hashable, Action] = {}
        """Of the nest at hand, whatever its loads share."""
        self._sizes: dict[tuple[Operation, tuple[int, ...]], tuple[tuple[int, ...], bool]] = {}

    def cycles(self, plan: Plan) -> int:
        """The cycles of a plan. Raises `Unfit` where an instruction of it is none."""
        period = math.lcm(*plan.buffering.counts)
        actions: dict[int, list[Action]] = {}
        self._prepare(plan, plan.nodes, actions)
        return Clock(self.target, self._roles(plan), len(plan.nest.parts), period).cycles(plan.nodes, actions)

    def _roles(self, plan: Plan) -> list[int]:
        """How many tiles have each role: to load for others, one for each shared value, and only to receive."""
        tiles = len(plan.nest.parts)
        owners = [tiles // sharers(plan.nest, along) for along in plan.nest.choice.along if along]
        rest = tiles - sum(owners)
        return [*owners, rest] if rest > 0 else owners

    def _owner(self, plan: Plan, stage: Stage) -> int | None:
        """The role of the tiles that load for others; None where each loads its own."""
        if not stage.along:
            return None
        return sum(1 for along in plan.nest.choice.along[: stage.subject] if along)

    def _prepare(self, plan: Plan, nodes: tuple[Node, ...], actions: dict[int, list[Action]]) -> None:
        for node in nodes:
            if isinstance(node, Repeat):
                self._prepare(plan, node.body, actions)
            else:
                actions[id(node)] = [action for slot in node.slots for action in self._actions(plan, slot)]

    # -- what a slot does -----------------------------------------------------------------------------------------

    def _actions(self, plan: Plan, slot: Slot) -> list[Action]:
        stage = slot.stage
        match stage.role:
            case "load":
                return [self._load(plan, slot)]
            case "store":
                return [self._store(plan, slot)]
            case "arm" | "wait":
                use = self._value(plan, stage.subject, slot)
                return [Action(stage.role, owner=self._owner(plan, stage), use=use, channel=stage.subject)]
            case "send":
                return [self._send(plan, slot)]
            case "merge":
                return self._merge(plan, slot)
            case _:
                return [self._compute(plan, slot)]

    def part_of(self, plan: Plan, slot: Slot) -> tuple[int, ...]:
        """Counters that stand for those of a slot: of trips of equal sizes, one."""
        found: list[int] = []
        for level, (repeat, first) in zip(plan.nest.levels, slot.at, strict=True):
            differs = repeat < 0 and ((level.ragged and first == level.trips - 1) or (level.edges and first == 0))
            found.append(first if differs else 1 if level.edges and level.trips > 2 else 0)
        return tuple(found[: slot.stage.depth])

    def slices(self, plan: Plan, slot: Slot) -> GroupSlices:
        """The slices of a tile inside of the mesh in a slot."""
        nest = plan.nest
        strategy = nest.choice.strategy
        inner = any(level.edges for level in nest.levels) or strategy.columns * strategy.rows > 1
        tile = (min(1, strategy.columns - 1), min(1, strategy.rows - 1)) if inner else (0, 0)
        return nest.slices(tile, self.part_of(plan, slot))

    def _value(self, plan: Plan, number: int, slot: Slot) -> Use:
        count = plan.buffering.counts[number]
        if count == 1:
            return Use("value", number)
        turn = plan.buffering.turn(number, slot.at)
        return Use("value", number, count, turn.first, turn.factors)

    def _bytes(self, op: Operation, plan: Plan, slot: Slot) -> tuple[tuple[int, ...], bool]:
        """The bytes of each transfer of a load's or a store's slice, and whether they write its padding lanes."""
        value = op.operands[0] if op.name == "tx8be.StoreVar" else op.results[0]
        box = self.slices(plan, slot).held[value]
        found = self._sizes.get((op, box.extent))
        if found is None:
            moved = self.kernels.transfer(op, box)
            found = self._sizes[op, box.extent] = (moved.sizes, moved.complete)
        return found

    def _load(self, plan: Plan, slot: Slot) -> Action:
        stage, load = slot.stage, self.body.loads[slot.stage.subject]
        sizes, complete = self._bytes(load, plan, slot)
        use = (self._value(plan, stage.subject, slot),)
        startup = cost.dma_startup(self.target, 0)
        moves = tuple(Instruction("rdma", startup, size, (), use) for size in sizes)
        if not complete:
            works = self.kernels.blank(load.y, self.slices(plan, slot).held[load.y].extent).works
            moves = (*(self._instruction(plan, slot, stage.subject, one) for one in works), *moves)
        return Action("load", moves, self._owner(plan, stage))

    def _store(self, plan: Plan, slot: Slot) -> Action:
        store = self.body.stores[slot.stage.subject]
        sizes, complete = self._bytes(store, plan, slot)
        if not complete:
            raise Unfit("a store cuts a channel block")
        storing, tiles = len(plan.nest.storing(store.x)), len(plan.nest.parts)
        sizes = tuple(-(-size * storing // tiles) for size in sizes)  # as if all stored a part of what some store
        use = (self._value(plan, self.body.number[store.x], slot),)
        startup = cost.dma_startup(self.target, 0)
        return Action("store", tuple(Instruction("wdma", startup, size, use, (), True) for size in sizes))

    def _send(self, plan: Plan, slot: Slot) -> Action:
        stage, load = slot.stage, self.body.loads[slot.stage.subject]
        box = self.slices(plan, slot).held[load.y]
        size = self.body.message_bytes(load.y, box.extent)
        peers = sharers(plan.nest, stage.along) - 1
        cycles = cost.dte(self.target, size * peers)
        use = self._value(plan, stage.subject, slot)
        return Action("send", (), self._owner(plan, stage), use, stage.subject, stage.along, cycles)

    def _compute(self, plan: Plan, slot: Slot) -> Action:
        if self._nest is not plan.nest.known:
            self._nest, self._actions_of = plan.nest.known, {}
        op = slot.stage.subject
        key = (op, slot.phase, slot.stage.depth, slot.at, plan.buffering.counts)
        found = self._actions_of.get(key)
        if found is None:
            work = self._work(plan, slot)
            found = Action("compute", tuple(self._instruction(plan, slot, op, one) for one in work.works))
            self._actions_of[key] = found
        return found

    def _work(self, plan: Plan, slot: Slot) -> KernelWork:
        form = form_of(self.body, slot.stage.subject, self.slices(plan, slot))
        if form is None:
            return KernelWork(())
        work = self.kernels.compute(slot.stage.subject, slot.phase, form)
        if work.illegal is not None:
            raise Unfit(work.illegal)
        return work

    def _instruction(self, plan: Plan, slot: Slot, op: int, work: Work) -> Instruction:
        def use(resource: tuple[str, int]) -> Use:
            kind, number = resource
            if kind == "value":
                return self._value(plan, number, slot)
            return Use(kind, op if kind == "state" else number)

        queue = work.engine.value.lower()
        return Instruction(
            queue, work.cycles, work.ddr_bytes, tuple(map(use, work.reads)), tuple(map(use, work.writes))
        )

    def _merge(self, plan: Plan, slot: Slot) -> list[Action]:
        """An exchange of states, a message to each other tile, and the merge."""
        form = form_of(self.body, slot.stage.subject, self.slices(plan, slot))
        assert form is not None
        op, stage = slot.stage.subject, slot.stage
        found = self.body.space.ops[op]
        result = self.body.in_spm(found.results[0], form.result)
        size, tiles = state_size(found, result), sharers(plan.nest, stage.along)
        state, channel = Use("state", op), len(self.body.values) + op
        messages = [
            Action(role, use=state, channel=channel, cycles=self._round(size, distance, tiles) if role == "send" else 0)
            for role in ("arm", "send", "wait")
            for distance in range(1, tiles)
        ]
        works = self.kernels.merge(op, form, tiles - 1)
        if works.illegal is not None:
            raise Unfit(works.illegal)
        before, after = (
            tuple(self._instruction(plan, slot, op, one) for one in found.works)
            for found in (self.kernels.fill(op, form), works)
        )
        return [Action("compute", before), *messages, Action("compute", after)]

    def _round(self, size: int, distance: int, tiles: int) -> int:
        """Cycles of a message from each tile of a line to the one at a distance round it.

        They want the same links in the middle of the line, those to tiles before the sender in the other direction.
        """
        waiting = (min(distance, tiles - distance) - 1) * size // self.target.profile.dte_bytes_per_cycle
        return cost.dte(self.target, size) + int(waiting)


def sharers(nest: Nest, along: str) -> int:
    """Tiles that share a transfer."""
    strategy = nest.choice.strategy
    return (strategy.columns if "x" in along else 1) * (strategy.rows if "y" in along else 1)
