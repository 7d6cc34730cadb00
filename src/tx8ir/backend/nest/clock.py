"""The time of a pipelined program: `Clock`.

The rules are those of the simulator's clock: the kernel core issues in order, each engine has a queue, what touches a
buffer that is in use waits, DDR is shared by all tiles, a send holds back the core until its buffer is free at the
receivers, a wait until the message is there. Tiles of one role do the same at the same time, so that one of each stands
for all: a tile that loads a value for others, for each such value, and one that only receives. A repeat is run until
its trips repeat themselves, and the rest of them is skipped: the clock takes time by the distinct parts of the program,
not by its iterations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import attrs

from tx8ir.backend.nest.pipeline import Node, Repeat, Step
from tx8ir.target.chip import Target

__all__ = ["Action", "Clock", "Instruction", "Use"]

Key: TypeAlias = tuple[int, str, int, int]
"""(role, kind, number, turn) of a buffer or a queue of a tile; role -1: of the chip."""

_PATIENCE = 24
"""Trips of a repeat that are run before the rest is extrapolated although they do not repeat themselves."""
_MEMORY = 8
"""Stretches of time in which DDR was busy that are remembered."""
_CHIP = -1
_DDR: Key = (_CHIP, "ddr", 0, 0)
_END: Key = (_CHIP, "end", 0, 0)


@attrs.frozen
class Use:
    """A buffer that an instruction touches: `number` of `kind`, in turn number `first` plus counters times factors."""

    kind: str
    number: int
    count: int = 1
    first: int = 0
    factors: tuple[tuple[int, int], ...] = ()

    def turn(self, counters: Sequence[int]) -> int:
        """Which of the buffers it is in an iteration of the repeats around."""
        if self.count == 1:
            return 0
        turn = self.first
        for repeat, factor in self.factors:
            turn += counters[repeat] * factor
        return turn % self.count


@attrs.frozen
class Instruction:
    """One instruction of an action.

    Attributes:
        queue: the engine.
        cycles: on the engine, without those in which bytes pass to or from DDR.
        ddr_bytes: of all tiles together.
        reads, writes: buffers.
        is_store: whether messages that are issued later wait for it.
    """

    queue: str
    cycles: int
    ddr_bytes: int = 0
    reads: tuple[Use, ...] = ()
    writes: tuple[Use, ...] = ()
    is_store: bool = False


@attrs.frozen
class Action:
    """What a slot does: instructions, or a part of a message (`role`).

    Attributes:
        role: "arm", "send", "wait", or anything else for instructions.
        instructions: what the tiles of `owner` run, or all tiles.
        owner: the role of the tiles that load for others; None: all tiles do it by themselves.
        use: the buffer that the message is about.
        along: the directions of the mesh whose links it takes.
        cycles: of a message, in all.
    """

    role: str
    instructions: tuple[Instruction, ...] = ()
    owner: int | None = None
    use: Use | None = None
    along: str = ""
    cycles: int = 0


class Clock:
    """Runs programs: `cycles`.

    Args:
        target: the chip.
        roles: how many roles tiles have; at least 1.
        period: the number of trips after which all buffers have had their turn.
    """

    def __init__(self, target: Target, roles: int, period: int) -> None:
        profile = target.profile
        self._roles = range(roles)
        self._period = period
        self._issue = profile.issue_cycles
        self._rate = profile.ddr_bytes_per_cycle
        self._software = profile.dte_message_cycles
        self._first = profile.dte_first_message_cycles - profile.dte_message_cycles

    def cycles(self, nodes: Sequence[Node], actions: Mapping[int, Sequence[Action]]) -> int:
        """The cycles from start to end; `actions` has those of each step, by its identity."""
        self._actions = actions
        self._state: dict[Key, float] = {_DDR: 0.0, _END: 0.0}
        self._busy: list[tuple[float, float]] = []
        self._sent: set[Key] = set()
        self._traffic = 0.0
        """The time that DDR was wanted for: by all bytes and, once there are stores, by start-ups of loads.

        Transfers have equal shares of DDR for each tile, so that the loads of a few tiles end after the stores of all,
        and nothing passes while the next ones start up.
        """
        self._stored = False
        self._run(nodes, [])
        return math.ceil(self._state[_END])

    def _run(self, nodes: Sequence[Node], counters: list[int]) -> None:
        for node in nodes:
            if isinstance(node, Step):
                for action in self._actions[id(node)]:
                    self._act(action, counters)
            else:
                self._repeat(node, counters)

    def _repeat(self, repeat: Repeat, counters: list[int]) -> None:
        """Run trips until they repeat themselves, and skip what is left in whole periods."""
        counters.append(0)
        before: dict[Key, float] | None = None
        known = -1.0
        start, wanted = dict(self._state), self._traffic
        traffic, trip, skipped = 0.0, 0, False
        while trip < repeat.times:
            counters[-1] = trip
            self._run(repeat.body, counters)
            trip += 1
            if skipped or trip % self._period or repeat.times - trip < self._period:
                continue
            step = None if before is None else _step(before, self._state)
            if before is not None and step is not None and (abs(step - known) <= 1.0 or trip >= _PATIENCE):
                periods = (repeat.times - trip) // self._period
                self._shift(before, step * periods)
                self._traffic += (self._traffic - traffic) * periods
                trip += periods * self._period
                skipped = True
                continue
            known = -1.0 if step is None else step
            before, traffic = dict(self._state), self._traffic
        late = self._traffic - wanted - (self._state[_END] - start[_END])
        if late > 0.0:
            self._shift(start, late)
        counters.pop()

    def _shift(self, before: Mapping[Key, float], by: float) -> None:
        """Move everything on that has moved since `before`."""
        for key, at in self._state.items():
            if at != before.get(key):
                self._state[key] = at + by
        self._busy = [(low + by, high + by) for low, high in self._busy]

    def _act(self, action: Action, counters: Sequence[int]) -> None:
        match action.role:
            case "arm":
                self._arm(action, counters)
            case "send":
                self._send(action, counters)
            case "wait":
                self._wait(action, counters)
            case _:
                for instruction in action.instructions:
                    self._execute(instruction, action.owner, counters)

    def _others(self, action: Action) -> Sequence[int]:
        """The roles that receive."""
        return [role for role in self._roles if role != action.owner] or self._roles

    def _arm(self, action: Action, counters: Sequence[int]) -> None:
        state, use = self._state, action.use
        assert use is not None
        turn, armed = use.turn(counters), 0.0
        for role in self._others(action):
            core = state[role, "core", 0, 0] = state.get((role, "core", 0, 0), 0.0) + self._issue
            free = max(
                core,
                state.get((role, "read value", use.number, turn), 0.0),
                state.get((role, "write value", use.number, turn), 0.0),
                state.get((role, "stores", 0, 0), 0.0),
            )
            armed = max(armed, free)
        state[_CHIP, "armed", use.number, turn] = armed

    def _send(self, action: Action, counters: Sequence[int]) -> None:
        state, use, role = self._state, action.use, action.owner
        assert use is not None
        assert role is not None
        turn = use.turn(counters)
        core = max(state.get((role, "core", 0, 0), 0.0), state[_CHIP, "armed", use.number, turn]) + self._issue
        state[role, "core", 0, 0] = core
        queue: Key = (role, "dte", 0, 0)
        start = max(
            core,
            state.get(queue, 0.0),
            state.get((role, "write value", use.number, turn), 0.0),
            state.get((role, "stores", 0, 0), 0.0),
        )
        extra = 0 if queue in self._sent else self._first
        self._sent.add(queue)
        links: list[Key] = [(_CHIP, "link " + direction, 0, 0) for direction in action.along]
        for link in links:
            start = max(start, state.get(link, 0.0) - self._software - extra)
        end = start + action.cycles + extra
        for key in (*links, queue, (_CHIP, "arrived", use.number, turn), (role, "read value", use.number, turn)):
            state[key] = end
        state[_END] = max(state[_END], end)

    def _wait(self, action: Action, counters: Sequence[int]) -> None:
        state, use = self._state, action.use
        assert use is not None
        turn = use.turn(counters)
        arrived = state.get((_CHIP, "arrived", use.number, turn), 0.0)
        for role in self._others(action):
            state[role, "core", 0, 0] = max(state.get((role, "core", 0, 0), 0.0), arrived) + self._issue
            state[role, "write value", use.number, turn] = arrived

    def _execute(self, instruction: Instruction, owner: int | None, counters: Sequence[int]) -> None:
        """Run an instruction on the tiles of `owner`, or on all; the bytes of all of them pass one after the other."""
        state, queue = self._state, instruction.queue
        reads = [(use.kind, use.number, use.turn(counters)) for use in instruction.reads]
        writes = [(use.kind, use.number, use.turn(counters)) for use in instruction.writes]
        roles = self._roles if owner is None else (owner,)
        ends: list[float] = []
        for role in roles:
            core = state[role, "core", 0, 0] = state.get((role, "core", 0, 0), 0.0) + self._issue
            start = max(core, state.get((role, queue, 0, 0), 0.0))
            for kind, number, turn in reads:
                start = max(start, state.get((role, "write " + kind, number, turn), 0.0))
            for kind, number, turn in writes:
                start = max(
                    start,
                    state.get((role, "write " + kind, number, turn), 0.0),
                    state.get((role, "read " + kind, number, turn), 0.0),
                )
            ends.append(start + instruction.cycles)
        if instruction.ddr_bytes:
            passed = self._pass(min(ends), instruction.ddr_bytes / self._rate)
            self._stored = self._stored or instruction.is_store
            startup = instruction.cycles if self._stored and not instruction.is_store else 0
            self._traffic += startup + instruction.ddr_bytes / self._rate
            share = instruction.ddr_bytes / self._rate / len(ends)
            ends = [max(passed, end + share) for end in ends]
        for role, end in zip(roles, ends, strict=True):
            state[role, queue, 0, 0] = end
            for kind, number, turn in reads:
                key = (role, "read " + kind, number, turn)
                state[key] = max(state.get(key, 0.0), end)
            for kind, number, turn in writes:
                state[role, "write " + kind, number, turn] = end
            if instruction.is_store:
                state[role, "stores", 0, 0] = end
        state[_END] = max(state[_END], *ends)

    def _pass(self, start: float, duration: float) -> float:
        """When bytes have passed that may begin at `start`: they take what time DDR is free from then on.

        Transfers that overlap share DDR. Which of them has it first matters little to when both are done.
        """
        busy, left = self._busy, duration
        at = start
        found = len(busy)
        for i, (low, high) in enumerate(busy):
            if high <= at:
                continue
            if at + left <= low:
                found = i
                break
            left -= max(low - at, 0.0)
            at = max(at, high)
        end = at + left
        merged = [span for span in busy[:found] if span[1] < start]
        low = min([span[0] for span in busy[len(merged) : found] if span[0] < start], default=start)
        self._busy = [*merged, (low, end), *busy[found:]][-_MEMORY:]
        self._state[_DDR] = self._busy[-1][1]
        return end


def _step(before: Mapping[Key, float], now: Mapping[Key, float]) -> float | None:
    """By how much everything that moved has moved; None where that is not the same for all."""
    moved = [at - before[key] for key, at in now.items() if key in before and at != before[key]]
    if not moved or len(before) != len(now):
        return None
    low, high = min(moved), max(moved)
    return high if high - low <= 2.0 else None
