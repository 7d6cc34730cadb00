"""Time: when each instruction starts and ends on each tile, from the program and the target alone.

The kernel core of a tile issues instructions in the order of the program. Every engine executes its queue in order. An
instruction starts when it has been issued, its engine is free, and every earlier instruction of the tile whose bytes
conflict with its own has ended (the busytable; bounding intervals of the bytes are compared). How long it takes
comes from `target.cost`, but for two resources that tiles share, which are followed through time:

- DDR: after its start-up a transfer takes, at every moment, an equal share of the chip's bandwidth among the tiles that
  are transferring.
- The links of the mesh: a message goes along x, then along y, and holds the links of its route while it passes;
  messages that want the same link go one after the other, first come first served [D].

A barrier releases its tiles when the last of them has come and finished. The k-th message of a (sender, receiver,
channel) meets the k-th arm and the k-th wait; a send holds its tile back until it is armed, a wait until it has come.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import BarrierOp, DteArmOp, DteSendOp, DteWaitOp
from tx8ir.sim.errors import SimError
from tx8ir.target import cost
from tx8ir.target.chip import Engine, Target

from .program import Item, TimedNode, classes, stretches, unrolled

ENGINES = tuple(Engine)
ROWS = {engine: row for row, engine in enumerate(ENGINES)}
STALLS = ("engine busy", "RAW", "WAR", "WAW", "issue", "barrier", "message", "link", "DDR bandwidth")
"""Causes of stalls; see `SimReport.stalls`."""

Interval: TypeAlias = tuple[int, int, bool]
Key: TypeAlias = tuple[int, int, int]


class Event:
    """One execution of an instruction by the tiles of a class. Times are in cycles."""

    __slots__ = (
        *("blocker", "cause", "end", "gate_cause", "gate_time", "intervals", "issued", "item", "lane", "pending"),
        *("previous", "ready", "start", "trips", "waiters"),
    )

    def __init__(self, item: Item, trips: tuple[int, ...], lane: Lane, issued: int) -> None:
        self.item = item
        self.trips = trips
        self.lane = lane
        self.issued = issued
        self.gate_time, self.gate_cause = lane.gate_time, lane.gate_cause
        self.start = 0
        self.end: int | None = None
        self.intervals: list[Interval] = []
        self.previous: Event | None = None
        """The one before it on its engine."""
        self.pending = 0
        self.ready = 0
        self.cause = ""
        """What its start waited for last, of `STALLS`; empty at the start of the program."""
        self.blocker: Event | None = None
        """The event whose end let it start."""
        self.waiters: list[Event | Lane] = []

    @property
    def tiles(self) -> tuple[int, ...]:
        """The tiles that ran it."""
        return self.lane.tiles if self.item.engine is not None else self.item.tiles

    @property
    def done(self) -> int:
        """When it ended; only asked where that is known."""
        assert self.end is not None
        return self.end


class Lane:
    """The kernel core and the queues of the tiles of a class."""

    def __init__(self, tiles: tuple[int, ...], start: int, depth: int, gate: Event | None) -> None:
        self.tiles = tiles
        self.tile = tiles[0]
        self.program: Iterator[tuple[Item, tuple[int, ...]]] = iter(())
        self.issued = start
        self.gate, self.gate_time, self.gate_cause = gate, start, "barrier"
        """The event that last held back the kernel core, and when it let go."""
        self.last: dict[Engine, Event] = {}
        self.recent: deque[Event] = deque(maxlen=depth)
        self.unresolved = 0
        self.parked: tuple[Item, tuple[int, ...]] | None = None
        self.draining = False
        self.latest: Event | None = None
        self.barriers: dict[int, int] = defaultdict(int)
        self.busy: dict[tuple[int, str], int] = defaultdict(int)
        """Cycles by engine row and source."""
        self.stalls: dict[tuple[int, str], int] = defaultdict(int)
        """Cycles by engine row and cause."""


class Timing:
    """The times of a program.

    Args:
        nodes: the program, from `stream.decode`.
        target: the chip and its profile.
        keep: whether to keep every event, for the trace and the critical path.
        watch: numbers of instructions whose start times are wanted.
    """

    def __init__(
        self, nodes: Sequence[TimedNode], target: Target, *, keep: bool = True, watch: frozenset[int] = frozenset()
    ) -> None:
        self._target = target
        self._watch = watch
        self.starts: dict[tuple[int, int], list[int]] = {}
        """Of the watched instructions: the cycle of each execution, by instruction and tile."""
        self._keep = keep
        self.events: list[Event] = []
        """Every event, when they are kept, in the order in which their times became known."""
        self.busy: dict[str, NDArray[np.int64]] = {}
        """[engines, tiles] of cycles, by source."""
        self.finished: dict[str, int] = defaultdict(int)
        """When the last instruction of each source has ended."""
        self.stalls = np.zeros((len(STALLS), len(ENGINES), target.tiles), np.int64)
        """[causes, engines, tiles] in cycles."""
        self.ends = np.zeros((len(ENGINES), target.tiles), np.int64)
        """When each engine has finished its last instruction."""
        self.last: Event | None = None
        """An event at whose end the program ends."""
        self._sent: set[int] = set()
        time, gate = np.zeros(target.tiles, np.int64), None
        for stretch in stretches(nodes, target.tiles):
            time, gate = self._run(stretch, time, gate)
        self.cycles = int(time.max()) if len(time) else 0

    # -- one stretch ----------------------------------------------------------------------------------------------

    def _run(
        self, stretch: Sequence[TimedNode], time: NDArray[np.int64], gate: Event | None
    ) -> tuple[NDArray[np.int64], Event | None]:
        self._heap: list[tuple[int, int, Event]] = []
        self._flowing: list[tuple[float, int, Event]] = []
        self._now, self._virtual, self._weight, self._serial = 0.0, 0.0, 0, 0
        self._links: dict[tuple[int, int], tuple[int, Event]] = {}
        self._armed: dict[Key, list[Event]] = defaultdict(list)
        self._arrived: dict[Key, list[Event]] = defaultdict(list)
        self._taken: dict[tuple[str, Key], int] = defaultdict(int)
        self._listening: dict[tuple[str, Key, int], Lane] = {}
        self._meetings: dict[tuple[int, int], list[Lane]] = defaultdict(list)
        depth = self._target.profile.instructions_in_flight
        lanes = [Lane(tiles, int(time[tiles[0]]), depth, gate) for tiles in classes(stretch, self._target.tiles)]
        self._lane_of = {tile: lane for lane in lanes for tile in lane.tiles}
        self._work: list[Lane] = list(reversed(lanes))
        for lane in lanes:
            lane.program = unrolled(stretch, lane.tile)
        while True:
            while self._work:
                self._advance(self._work.pop())
            if not self._step():
                break
        stuck = [lane.tile for lane in lanes if lane.parked is not None]
        if stuck:
            raise SimError(f"deadlock: tiles {stuck} wait for messages or barriers that never come")
        last: Event | None = None
        for lane in lanes:
            time[list(lane.tiles)] = max(lane.issued, lane.latest.done if lane.latest else 0)
            for (row, source), cycles in lane.busy.items():
                if source not in self.busy:
                    self.busy[source] = np.zeros((len(ENGINES), self._target.tiles), np.int64)
                self.busy[source][row, list(lane.tiles)] += cycles
            for (row, cause), cycles in lane.stalls.items():
                self.stalls[STALLS.index(cause), row, list(lane.tiles)] += cycles
            if lane.latest is not None and (last is None or lane.latest.done > last.done):
                last = lane.latest
        if last is not None and (self.last is None or last.done >= self.last.done):
            self.last = last
        return time, self.last

    def _step(self) -> bool:
        """Go to the next moment at which something happens in DDR or on the links; False when nothing is to come."""
        rate = self._target.profile.ddr_bytes_per_cycle
        flow_end = math.inf
        if self._flowing:
            flow_end = self._now + max(0.0, self._flowing[0][0] - self._virtual) * self._weight / rate
        if self._heap and self._heap[0][0] <= flow_end:
            at, serial, event = heapq.heappop(self._heap)
            if self._weight:
                self._virtual += (at - self._now) * rate / self._weight
            self._now = at
            if event.item.ddr_bytes:
                self._weight += len(event.lane.tiles)
                heapq.heappush(self._flowing, (self._virtual + event.item.ddr_bytes, serial, event))
            else:
                self._pass_links(event, at)
            return True
        if not self._flowing:
            return False
        finish, _, event = heapq.heappop(self._flowing)
        self._now, self._virtual = flow_end, finish
        self._weight -= len(event.lane.tiles)
        alone = event.start + event.item.cycles_on(event.lane.tile) + math.ceil(event.item.ddr_bytes / rate)
        end = max(alone, math.ceil(flow_end - 1e-6))
        event.lane.stalls[ROWS[_engine(event.item)], "DDR bandwidth"] += end - alone
        self._resolve(event, end)
        return True

    # -- issuing --------------------------------------------------------------------------------------------------

    def _advance(self, lane: Lane) -> None:
        """Issue instructions of a lane until one has to wait for something whose time is not known yet."""
        while True:
            entry = lane.parked or next(lane.program, None)
            lane.parked = None
            if entry is None:
                return
            if not self._issue(lane, *entry):
                lane.parked = entry
                return

    def _issue(self, lane: Lane, item: Item, trips: tuple[int, ...]) -> bool:
        op = item.op
        if isinstance(op, BarrierOp):
            return self._barrier(lane, item)
        recent = lane.recent
        if len(recent) == recent.maxlen:
            oldest = recent[0]
            if oldest.end is None:
                oldest.waiters.append(lane)
                return False
            if oldest.end > lane.issued:
                lane.issued = oldest.end
                lane.gate, lane.gate_time, lane.gate_cause = oldest, oldest.end, "issue"
        # Last of what may hold it back: a message that has been taken is not there when the lane tries again.
        if isinstance(op, (DteSendOp, DteWaitOp)) and not self._meet(lane, item, op):
            return False
        lane.issued += self._target.profile.issue_cycles
        if item.engine is None:
            lane.issued += item.cycles_on(lane.tile)
            return True
        self._queue(lane, item, trips, item.engine)
        return True

    def _queue(self, lane: Lane, item: Item, trips: tuple[int, ...], engine: Engine) -> None:
        event = Event(item, trips, lane, lane.issued)
        position = item.position[lane.tile]
        for span in item.spans:
            low = span.low(position, trips)
            event.intervals.append((low, low + span.extent, span.writes))
        event.ready, event.blocker, event.cause = lane.issued, lane.gate, lane.gate_cause
        if lane.issued > lane.gate_time or lane.gate is None:
            event.cause = "issue" if lane.issued > 0 else ""
        depends: list[Event] = []
        if not isinstance(item.op, DteArmOp):  # an arm sets up a descriptor: it does not wait behind messages
            previous = lane.last.get(engine)
            if previous is not None:
                event.previous = previous
                depends.append(previous)
            lane.last[engine] = event
        issued, publishes = lane.issued, isinstance(item.op, (DteArmOp, DteSendOp))
        for other in lane.recent:
            if other.end is not None and other.end <= issued:
                continue
            # What was done in DDR before an arm or a send comes before the message.
            if (publishes and other.item.is_shared) or _conflict(event.intervals, other.intervals):
                depends.append(other)
        lane.recent.append(event)
        lane.unresolved += 1
        for other in depends:
            if other.end is None:
                event.pending += 1
                other.waiters.append(event)
            elif other.end > event.ready:
                event.ready, event.blocker = other.end, other
                event.cause = self._cause(event, other)
        if not event.pending:
            self._start(event)

    @staticmethod
    def _cause(event: Event, other: Event) -> str:
        if other is event.previous:
            return "engine busy"
        return _conflict(event.intervals, other.intervals) or "message"

    # -- running --------------------------------------------------------------------------------------------------

    def _start(self, event: Event) -> None:
        event.start = event.ready
        item = event.item
        if item.index in self._watch:
            for tile in event.lane.tiles:
                self.starts.setdefault((item.index, tile), []).append(event.start)
        cycles = item.cycles_on(event.lane.tile)
        if not isinstance(item.op, DteArmOp):
            self._account(event)
        if item.ddr_bytes or isinstance(item.op, DteSendOp):
            self._serial += 1
            heapq.heappush(self._heap, (event.start + cycles if item.ddr_bytes else event.start, self._serial, event))
        else:
            self._resolve(event, event.start + cycles)

    def _resolve(self, event: Event, end: int) -> None:
        event.end = end
        lane, row = event.lane, ROWS[_engine(event.item)]
        source = event.item.op.source or ""
        lane.busy[row, source] += end - event.start
        self.finished[source] = max(self.finished[source], end)
        if not isinstance(event.item.op, DteArmOp):
            self.ends[row, list(lane.tiles)] = end
        if self._keep:
            self.events.append(event)
        else:
            event.blocker = None
        lane.unresolved -= 1
        if lane.latest is None or end >= lane.latest.done:
            lane.latest = event
        if lane.draining and not lane.unresolved:
            lane.draining = False
            self._work.append(lane)
        if isinstance(event.item.op, (DteArmOp, DteSendOp)):
            self._announce(event)
        for waiter in event.waiters:
            if isinstance(waiter, Lane):
                self._work.append(waiter)
                continue
            if end > waiter.ready:
                waiter.ready, waiter.blocker, waiter.cause = end, event, self._cause(waiter, event)
            waiter.pending -= 1
            if not waiter.pending:
                self._start(waiter)
        event.waiters = []

    def _account(self, event: Event) -> None:
        """Say why the engine was idle, or the instruction in its queue, until the start, which is known now."""
        lane, row = event.lane, ROWS[_engine(event.item)]
        if event.previous is not None:
            free = event.previous.done
            event.previous = None
            idle = max(event.issued - free, 0)
            held = min(max(event.gate_time - free, 0), idle)
            lane.stalls[row, event.gate_cause] += held
            lane.stalls[row, "issue"] += idle - held
        else:  # the first in the stretch: the tiles of the class may have last used the engine at different times
            index = list(lane.tiles)
            free = int(self.ends[row, index].max())
            self.stalls[STALLS.index(event.gate_cause), row, index] += event.gate_time - self.ends[row, index]
            lane.stalls[row, "issue"] += event.issued - event.gate_time
        lane.stalls[row, "engine busy"] += max(free - event.issued, 0)
        waited = event.start - max(free, event.issued)
        if waited:
            lane.stalls[row, event.cause] += waited

    # -- tiles that meet ------------------------------------------------------------------------------------------

    def _barrier(self, lane: Lane, item: Item) -> bool:
        if lane.unresolved:
            lane.draining = True
            return False
        lane.issued += self._target.profile.issue_cycles
        if lane.latest is not None:
            lane.issued = max(lane.issued, lane.latest.done)
        key = (item.index, lane.barriers[item.index])
        lane.barriers[item.index] += 1
        meeting = self._meetings[key]
        meeting.append(lane)
        if sum(len(member.tiles) for member in meeting) < len(item.tiles):
            return False
        del self._meetings[key]
        slowest = max(meeting, key=lambda member: member.issued)
        event = Event(item, (), slowest, slowest.issued)
        event.start = slowest.issued
        event.end = event.start + cost.barrier(self._target)
        event.blocker, event.cause = slowest.gate, "issue"
        if slowest.latest is not None and slowest.latest.done == event.start:
            event.blocker, event.cause = slowest.latest, "barrier"
        if self._keep:
            self.events.append(event)
        else:
            event.blocker = None
        for member in meeting:
            member.issued = event.end
            member.gate, member.gate_time, member.gate_cause = event, event.end, "barrier"
            member.latest = event
            member.recent.clear()
            if member is not lane:
                member.parked = None
                self._work.append(member)
        return True

    def _meet(self, lane: Lane, item: Item, op: DteSendOp | DteWaitOp) -> bool:
        """Let a send or a wait go on if all that it waits for has happened; otherwise the lane listens for it."""
        kind, happened = ("send", self._armed) if isinstance(op, DteSendOp) else ("wait", self._arrived)
        found: list[Event] = []
        keys = _keys(item, op, lane.tile)
        for key in keys:
            k = self._taken[kind, key]
            if k >= len(happened[key]):
                self._listening[kind, key, k] = lane
                return False
            found.append(happened[key][k])
        for key in keys:
            self._taken[kind, key] += 1
        latest = max(found, key=lambda event: event.done)
        if latest.done > lane.issued:
            lane.issued = latest.done
            lane.gate, lane.gate_time, lane.gate_cause = latest, latest.done, "message"
        return True

    def _announce(self, event: Event) -> None:
        """A receiver has armed, or a message has arrived: wake who listens."""
        op = event.item.op
        assert isinstance(op, (DteArmOp, DteSendOp))
        kind, happened = ("send", self._armed) if isinstance(op, DteArmOp) else ("wait", self._arrived)
        for key in _keys(event.item, op, event.lane.tile):
            happened[key].append(event)
            listener = self._listening.pop((kind, key, len(happened[key]) - 1), None)
            if listener is not None:
                self._work.append(listener)

    def _pass_links(self, event: Event, at: int) -> None:
        """Give a message the links of its routes, at the earliest from `at` on."""
        item, tile, profile = event.item, event.lane.tile, self._target.profile
        software = profile.dte_message_cycles
        cycles = item.cycles_on(tile)
        if tile not in self._sent:
            self._sent.add(tile)
            cycles += profile.dte_first_message_cycles - software
            software = profile.dte_first_message_cycles
        op = item.op
        assert isinstance(op, DteSendOp)
        links = {link for peer in op.peers_of(item.position[tile]) for link in route(self._target, tile, peer)}
        held = [self._links[link] for link in links if link in self._links]
        event.start = at
        if held:
            free, holder = max(held, key=lambda entry: entry[0])
            if free - software > at:
                event.start, event.blocker, event.cause = free - software, holder, "link"
                event.lane.stalls[ROWS[Engine.DTE], "link"] += event.start - at
        end = event.start + cycles
        self._links.update(dict.fromkeys(links, (end, event)))
        self._resolve(event, end)


def route(target: Target, sender: int, receiver: int) -> list[tuple[int, int]]:
    """The links (from tile, to tile) of a message: first along x, then along y."""
    (x, y), (to_x, to_y) = target.tile_position(sender), target.tile_position(receiver)
    path = [sender]
    while x != to_x:
        x += 1 if to_x > x else -1
        path.append(target.tile_id(x, y))
    while y != to_y:
        y += 1 if to_y > y else -1
        path.append(target.tile_id(x, y))
    return list(pairwise(path))


def _keys(item: Item, op: DteArmOp | DteSendOp | DteWaitOp, tile: int) -> list[Key]:
    """(sender, receiver, channel) of the messages of an instruction on a tile."""
    peers, channel = op.peers_of(item.position[tile]), op.channel
    if isinstance(op, DteSendOp):
        return [(tile, peer, channel) for peer in peers]
    return [(peer, tile, channel) for peer in peers]


def _conflict(mine: list[Interval], theirs: list[Interval]) -> str:
    """RAW, WAR or WAW between an instruction and an earlier one, or nothing."""
    for low, high, writes in mine:
        for other_low, other_high, wrote in theirs:
            if (writes or wrote) and low < other_high and other_low < high:
                return ("WAW" if wrote else "WAR") if writes else "RAW"
    return ""


def _engine(item: Item) -> Engine:
    assert item.engine is not None
    return item.engine
