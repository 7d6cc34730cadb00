"""The time of a pipelined program: `Clock`.

The rules are those of the simulator's clock: the kernel core issues in order, each engine has a queue, what touches a
buffer that is in use waits, a send holds back the core until its buffer is free at the receivers, a wait until the
message is there. DDR is shared: at every moment each tile that is transferring has an equal part of it, so that what a
few tiles load for all is late while all tiles store.

Tiles of one role do the same at the same time, and one of each stands for all: a tile that loads a value for others,
for each such value, and one that only receives. Of a repeat some trips are run, and the rest of them take as long as
the last of those: the clock takes time by the distinct parts of the program, not by its iterations.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import attrs

from tx8ir.backend.nest.pipeline import Node, Repeat, Step
from tx8ir.target.chip import Target

__all__ = ["Action", "Clock", "Instruction", "Use"]

Buffer: TypeAlias = tuple[str, int, int]
"""(kind, number, turn) of a buffer of a tile."""
Message: TypeAlias = tuple[int, int]
"""(channel, how many messages there were on it before)."""

_TRIPS = 6
"""Trips of a repeat that are run at least before the rest is skipped."""
_STEADY = 0.01
"""By how much trips may differ in time that repeat themselves."""


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
        ddr_bytes: of each tile.
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
        owner: the role of the tiles that load for others; None: all tiles do it by themselves, and each
            sends to one that another one sends to.
        use: the buffer that the message is about.
        channel: of the message.
        along: the directions of the mesh whose links it takes from messages of others.
        cycles: of a message, in all.
    """

    role: str
    instructions: tuple[Instruction, ...] = ()
    owner: int | None = None
    use: Use | None = None
    channel: int = 0
    along: str = ""
    cycles: int = 0


class Clock:
    """Runs programs: `cycles`.

    Args:
        target: the chip.
        tiles: how many tiles have each role; roles that share tiles are none of the tiles that the chip has more.
        used: the tiles that run the program.
        period: the number of trips after which all buffers have had their turn.
    """

    def __init__(self, target: Target, tiles: Sequence[int], used: int, period: int) -> None:
        self._target = target
        self._tiles = tuple(tiles)
        self._used = used
        self._period = period

    def cycles(self, nodes: Sequence[Node], actions: Mapping[int, Sequence[Action]]) -> int:
        """The cycles from start to end; `actions` has those of each step, by its identity."""
        trips = max(_TRIPS, 3 * self._period)
        while True:
            unrolled = _Unrolled(actions, range(len(self._tiles)), self._period, trips)
            unrolled.add(nodes, [])
            run = _Run(self._target, self._tiles, self._used, unrolled.items)
            skipped = unrolled.skipped(run.ends)
            if skipped is not None:
                return math.ceil(run.end + skipped)
            trips *= 2


@attrs.define(eq=False)
class _Item:
    """An instruction in an iteration, or an arm, a send or a wait.

    Attributes:
        index: its place in the program.
        role: that of its action; "" of an instruction.
        lanes: the roles that run it.
        owner: whether they do it for others.
        reads, writes: buffers.
        message: what an arm, a send or a wait is about.
    """

    index: int
    role: str
    lanes: Collection[int]
    owner: bool
    queue: str
    cycles: int
    ddr_bytes: int
    is_store: bool
    reads: Sequence[Buffer]
    writes: Sequence[Buffer]
    message: Message = (-1, 0)
    receivers: int = 0
    senders: int = 1
    along: str = ""


@attrs.frozen
class _Skip:
    """A repeat of which trips were left out: where those that were run last begin and end, and how many are left."""

    trips: Sequence[tuple[int, int]]
    left: int


class _Unrolled:
    """The items of a program, with about `trips` of each repeat."""

    def __init__(self, actions: Mapping[int, Sequence[Action]], roles: Sequence[int], period: int, trips: int) -> None:
        self._trips = trips
        self.items: list[_Item] = []
        self._actions = actions
        self._roles = roles
        self._period = period
        self._skips: list[_Skip] = []
        """Inner ones before those around them."""
        self._messages: dict[tuple[str, int], int] = defaultdict(int)

    def add(self, nodes: Sequence[Node], counters: list[int]) -> None:
        """Append the items of nodes; `counters` are the trips of the repeats around."""
        for node in nodes:
            if isinstance(node, Step):
                for action in self._actions[id(node)]:
                    self._act(action, counters)
            else:
                self._repeat(node, counters)

    def _repeat(self, repeat: Repeat, counters: list[int]) -> None:
        left = max(repeat.times - self._trips - 1, 0) // self._period * self._period
        trips: list[tuple[int, int]] = []
        counters.append(0)
        for trip in range(repeat.times - left):
            counters[-1] = trip
            start = len(self.items)
            self.add(repeat.body, counters)
            trips.append((start, len(self.items)))
        counters.pop()
        if left:
            self._skips.append(_Skip(trips, left))

    def _act(self, action: Action, counters: Sequence[int]) -> None:
        owner = action.owner
        mine = self._roles if owner is None else (owner,)
        if action.use is None:
            for one in action.instructions:
                reads, writes = (
                    [(use.kind, use.number, use.turn(counters)) for use in uses] for uses in (one.reads, one.writes)
                )
                self.items.append(_Item(len(self.items), "", mine, owner is not None, one.queue, one.cycles,
                                        one.ddr_bytes, one.is_store, reads, writes))  # fmt: skip
            return
        use = action.use
        buffer = ((use.kind, use.number, use.turn(counters)),)
        number = self._messages[action.role, action.channel]
        self._messages[action.role, action.channel] += 1
        sends = action.role == "send"
        others = [role for role in self._roles if role != owner] or self._roles
        self.items.append(_Item(len(self.items), action.role, mine if sends else others, sends, "dte", action.cycles,
                                0, False, buffer if sends else (), () if sends else buffer,
                                (action.channel, number), len(others), len(mine), action.along))  # fmt: skip

    def skipped(self, ends: Sequence[Sequence[float]]) -> float | None:
        """The cycles of the trips that were left out, from when each item ended in each role.

        None where the trips that were run do not repeat themselves yet: they differ in time, or between roles, or tiles
        of one role are done with them before those of another one begin, so that they do not show what both do at once.
        """
        found: list[tuple[int, float]] = []
        for skip in self._skips:
            first, last = skip.trips[0][0], skip.trips[-1][1]
            stop = len(skip.trips) - 1 - self._period  # the last trips have no others beside them
            steps = max(stop // 2 // self._period, 1) * self._period
            marks = [skip.trips[trip] for trip in (stop - 2 * steps, stop - steps, stop)]
            within = [
                sum(cycles for index, cycles in found if before < index <= after)
                for (_, before), (_, after) in pairwise(marks)
            ]
            done = [[max(own[slice(*mark)]) for mark in marks] for own in ends if any(own[first:last])]
            taken = [
                late - early + inner
                for times in done
                for (early, late), inner in zip(pairwise(times), within, strict=True)
            ]
            step = max(taken)
            alike = step - min(taken) <= _STEADY * step
            if not alike or min(times[-1] for times in done) < max(times[0] for times in done):
                return None
            found.append((last, step / steps * skip.left))
        return sum(cycles for _, cycles in found)


class _Event:
    """An item that a tile of some role runs."""

    __slots__ = ("end", "item", "lane", "pending", "ready", "waiters")

    def __init__(self, item: _Item, lane: _Lane) -> None:
        self.item = item
        self.lane = lane
        self.end: float | None = None
        self.pending = 0
        self.ready = lane.issued
        self.waiters: list[_Event | _Lane] = []


class _Lane:
    """The kernel core and the queues of the tiles of a role."""

    def __init__(self, role: int, depth: int) -> None:
        self.role = role
        self.at = 0
        self.issued = 0.0
        self.recent: deque[_Event] = deque(maxlen=depth)
        self.last: dict[str, _Event] = {}
        self.stored: _Event | None = None
        self.written: dict[Buffer, _Event] = {}
        self.read: dict[Buffer, list[_Event]] = {}
        """What reads a buffer after it was written last."""
        self.has_sent = False


class _Run:
    """Runs items: `end`, and in `ends` when each of them has ended in each role."""

    def __init__(self, target: Target, tiles: Sequence[int], used: int, items: Sequence[_Item]) -> None:
        profile = target.profile
        self._items = items
        self._tiles = tiles
        self._scale = used / sum(tiles)
        self._issue_cycles = profile.issue_cycles
        self._rate = profile.ddr_bytes_per_cycle
        self._software = profile.dte_message_cycles
        self._first = profile.dte_first_message_cycles - profile.dte_message_cycles
        self._heap: list[tuple[float, int, _Event]] = []
        self._flowing: list[tuple[float, int, float, _Event]] = []
        self._now = self._virtual = self._weight = 0.0
        self._serial = 0
        self._links: dict[str, float] = {}
        self._armed: dict[Message, list[float]] = defaultdict(list)
        self._sent: dict[Message, int] = defaultdict(int)
        self._arrived: dict[Message, float] = {}
        self._listening: dict[tuple[str, Message], list[_Lane]] = defaultdict(list)
        self.ends = [[0.0] * len(items) for _ in tiles]
        lanes = [_Lane(role, profile.instructions_in_flight) for role in range(len(tiles))]
        self._work = lanes[::-1]
        while True:
            while self._work:
                self._advance(self._work.pop())
            if not self._step():
                break
        self.end = max(max(lane.issued, *self.ends[lane.role]) for lane in lanes)

    def _step(self) -> bool:
        """Go to the next moment at which a transfer begins or ends or a message begins; False when there is none."""
        flow_end = math.inf
        if self._flowing:
            flow_end = self._now + max(0.0, self._flowing[0][0] - self._virtual) * self._weight / self._rate
        if self._heap and self._heap[0][0] <= flow_end:
            at, serial, event = heapq.heappop(self._heap)
            if self._weight:
                self._virtual += (at - self._now) * self._rate / self._weight
            self._now = at
            if event.item.ddr_bytes:
                tiles = self._tiles[event.lane.role] * (1.0 if event.item.owner else self._scale)
                self._weight += tiles
                heapq.heappush(self._flowing, (self._virtual + event.item.ddr_bytes, serial, tiles, event))
            else:
                self._pass_links(event, at)
            return True
        if not self._flowing:
            return False
        finish, _, tiles, event = heapq.heappop(self._flowing)
        self._now, self._virtual = flow_end, finish
        self._weight = self._weight - tiles if self._flowing else 0.0
        self._resolve(event, flow_end)
        return True

    def _advance(self, lane: _Lane) -> None:
        """Issue items of a lane until one has to wait for something whose time is not known yet."""
        items = self._items
        while lane.at < len(items):
            item = items[lane.at]
            if lane.role in item.lanes and not self._issue(lane, item):
                return
            lane.at += 1

    def _issue(self, lane: _Lane, item: _Item) -> bool:
        if item.role == "wait":
            arrived = self._arrived.get(item.message)
            if arrived is None:
                self._listening["wait", item.message].append(lane)
                return False
            lane.issued = max(lane.issued, arrived) + self._issue_cycles
            return True
        if item.role == "send":
            armed = self._armed[item.message]
            if len(armed) < item.receivers:
                self._listening["send", item.message].append(lane)
                return False
            lane.issued = max(lane.issued, *armed)
        recent = lane.recent
        if len(recent) == recent.maxlen:
            oldest = recent[0]
            if oldest.end is None:
                oldest.waiters.append(lane)
                return False
            lane.issued = max(lane.issued, oldest.end)
        lane.issued += self._issue_cycles
        event = _Event(item, lane)
        recent.append(event)
        for other in self._depends(lane, item, event):
            if other.end is None:
                event.pending += 1
                other.waiters.append(event)
            elif other.end > event.ready:
                event.ready = other.end
        if not event.pending:
            self._start(event)
        return True

    @staticmethod
    def _depends(lane: _Lane, item: _Item, event: _Event) -> list[_Event]:
        """What a new event comes after."""
        found: list[_Event] = []
        if item.role != "arm":
            if item.queue in lane.last:
                found.append(lane.last[item.queue])
            lane.last[item.queue] = event
        if item.role and lane.stored is not None:
            found.append(lane.stored)
        if item.is_store:
            lane.stored = event
        found += [lane.written[buffer] for buffer in (*item.reads, *item.writes) if buffer in lane.written]
        for buffer in item.writes:
            found += lane.read.pop(buffer, ())
            lane.written[buffer] = event
        for buffer in item.reads:
            readers = [other for other in lane.read.get(buffer, ()) if other.end is None or other.end > lane.issued]
            lane.read[buffer] = [*readers, event]
        return found

    def _start(self, event: _Event) -> None:
        """Let an event start whose time is known."""
        item = event.item
        if item.ddr_bytes or item.role == "send":
            self._serial += 1
            at = event.ready + item.cycles if item.ddr_bytes else event.ready
            heapq.heappush(self._heap, (at, self._serial, event))
        else:
            self._resolve(event, event.ready + item.cycles)

    def _resolve(self, event: _Event, end: float) -> None:
        """The end of an event is known; what waited for it alone starts. As deep as instructions are in flight."""
        event.end, item = end, event.item
        self.ends[event.lane.role][item.index] = end
        if item.role == "arm":
            self._armed[item.message].append(end)
            self._work += self._listening.pop(("send", item.message), ())
        elif item.role == "send":
            self._sent[item.message] += 1
            if self._sent[item.message] == item.senders:
                self._arrived[item.message] = end
                self._work += self._listening.pop(("wait", item.message), ())
        for waiter in event.waiters:
            if isinstance(waiter, _Lane):
                self._work.append(waiter)
                continue
            waiter.ready = max(waiter.ready, end)
            waiter.pending -= 1
            if not waiter.pending:
                self._start(waiter)
        event.waiters.clear()

    def _pass_links(self, event: _Event, at: float) -> None:
        """Give a message the links of its direction: its software runs while another one still has them."""
        extra = 0 if event.lane.has_sent else self._first
        event.lane.has_sent = True
        along = event.item.along
        start = max([at, *(self._links.get(direction, 0.0) - self._software - extra for direction in along)])
        end = start + event.item.cycles + extra
        self._links.update(dict.fromkeys(along, end))
        self._resolve(event, end)
