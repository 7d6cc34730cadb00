"""Messages between tiles: what is armed, sent and waited for, and which bytes are in flight meanwhile.

Between arm and wait the armed bytes belong to the message: the receiver races with the sender if it touches them,
unless something else (a barrier, another message) has ordered the arrival before.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import DteArmOp, DteSendOp, DteWaitOp, MemorySpace, MessageOp
from tx8ir.sim.checks.layouts import LayoutShadow
from tx8ir.sim.checks.races import RaceDetector
from tx8ir.sim.errors import Fault
from tx8ir.sim.memory.memory import Memory, Placed

Key = tuple[int, int, int]
"""(sender, receiver, channel)."""


@attrs.define(eq=False)
class Message:
    """A message from its arm to its wait."""

    key: Key
    low: int
    high: int
    """The bytes in the receiver's SPM where it lands."""
    armed_in: int
    """The instruction that armed it."""
    armed_clock: NDArray[np.int64] | None
    """What the arm comes after, for the race detector."""
    sent_clock: NDArray[np.int64] | None = None
    """What the send comes after; None until it is sent, or without race detection."""
    arrived: bool = False


@attrs.frozen(eq=False)
class MessagePlan:
    """What a message instruction says, read once."""

    sends: bool
    waits: bool
    nbytes: int
    """Bytes of one message; 0 for a wait."""
    step: int
    """Bytes from the source of one message to that of the next."""
    tiles: tuple[int, ...]
    messages: dict[int, tuple[tuple[int, Key], ...]]
    """By tile: (peer, key) of each of its messages."""


class Mailbox:
    """All messages that are armed and not yet waited for.

    Args:
        memory: the memories.
        races: the detector that messages order accesses for, or None without checks.
        layouts: the map of what the bytes are, which goes along with them; or None without it.
        plans: what the message instructions say, as far as they have been read; kept from run to run.
    """

    def __init__(
        self,
        memory: Memory,
        races: RaceDetector | None,
        layouts: LayoutShadow | None = None,
        plans: dict[MessageOp, MessagePlan] | None = None,
    ) -> None:
        self._memory = memory
        self._layouts = layouts
        self._races = races
        self._unsent: dict[Key, deque[Message]] = {}
        self._unwaited: dict[Key, deque[Message]] = {}
        self._open: dict[int, list[Message]] = {}
        """By receiver: armed and not waited for."""
        self._plans: dict[MessageOp, MessagePlan] = {} if plans is None else plans

    # -- what a tile waits for --------------------------------------------------------------------------------------

    def awaited(self, op: MessageOp, tile: int) -> tuple[int, ...]:
        """The tiles that a tile has to wait for before it can execute the instruction."""
        plan = self._plan(op)
        if plan.sends:
            return tuple([peer for peer, key in plan.messages[tile] if not self._unsent.get(key)])
        if not plan.waits:
            return ()
        waiting: list[int] = []
        for peer, key in plan.messages[tile]:
            messages = self._unwaited.get(key)
            if messages and not messages[0].arrived:  # a wait for nothing is an error, not a reason to wait
                waiting.append(peer)
        return tuple(waiting)

    # -- executing --------------------------------------------------------------------------------------------------

    def arm(self, op: DteArmOp, placed: Placed, index: int, positions: Sequence[int]) -> None:
        """Arm for the tiles at `positions` of `op`."""
        plan = self._plan(op)
        nbytes, tiles = plan.nbytes, [plan.tiles[position] for position in positions]
        for i, (tile, known) in enumerate(zip(tiles, self._publish(tiles), strict=True)):
            low = placed.address(i)
            here = self._open.setdefault(tile, [])
            for _, key in plan.messages[tile]:
                message = Message(key, low, low + nbytes, index, known)
                if key not in self._unwaited:
                    self._unwaited[key], self._unsent[key] = deque[Message](), deque[Message]()
                self._unwaited[key].append(message)
                self._unsent[key].append(message)
                here.append(message)
                low += nbytes

    def send(self, op: DteSendOp, placed: Placed, positions: Sequence[int]) -> None:
        """Deliver from the tiles at `positions` of `op`, which are those of `placed`.

        Raises Fault when a receiver armed for another number of bytes.
        """
        plan = self._plan(op)
        tiles, nbytes = [plan.tiles[position] for position in positions], plan.nbytes
        for tile in tiles:
            self._order_after_arms(plan, tile)
        spm, size = self._memory.spm, self._memory.target.spm_bytes
        data, written = spm.data, spm.written
        assert written is not None
        for i, (tile, known) in enumerate(zip(tiles, self._publish(tiles), strict=True)):
            source = tile * size + placed.address(i)
            for peer, key in plan.messages[tile]:
                message = self._unsent[key].popleft()
                landing = peer * size + message.low
                data[landing : landing + nbytes] = data[source : source + nbytes]
                written.mark(landing, landing + nbytes)
                if self._layouts is not None:
                    self._layouts.deliver(source, landing, nbytes)
                message.arrived, message.sent_clock = True, known
                source += plan.step

    def _order_after_arms(self, plan: MessagePlan, tile: int) -> None:
        for peer, key in plan.messages[tile]:
            message = self._unsent[key][0]
            expected = message.high - message.low
            if expected != plan.nbytes:
                raise Fault(
                    f"tile {tile} sends {plan.nbytes} bytes to tile {peer}, which armed for {expected} in instruction "
                    f"{message.armed_in}",
                    tile=tile,
                )
            if self._races is not None and message.armed_clock is not None:
                self._races.receive(tile, message.armed_clock)

    def wait(self, op: DteWaitOp, positions: Sequence[int]) -> None:
        """Take the messages that the tiles at `positions` of `op` wait for, all of which have arrived.

        Raises Fault when one has armed none.
        """
        plan = self._plan(op)
        for position in positions:
            tile = plan.tiles[position]
            for peer, key in plan.messages[tile]:
                messages = self._unwaited.get(key)
                if not messages:
                    raise Fault(
                        f"tile {tile} waits for a message of tile {peer} on channel {op.channel} that it has not armed",
                        tile=tile,
                    )
                message = messages.popleft()
                self._open[tile].remove(message)
                if self._races is not None and message.sent_clock is not None:
                    self._races.receive(tile, message.sent_clock)

    def _publish(self, tiles: Sequence[int]) -> Iterable[NDArray[np.int64] | None]:
        return itertools.repeat(None, len(tiles)) if self._races is None else self._races.publish(tiles)

    def _plan(self, op: MessageOp) -> MessagePlan:
        plan = self._plans.get(op)
        if plan is None:
            plan = self._plans[op] = _plan(op)
        return plan

    # -- checks -----------------------------------------------------------------------------------------------------

    def check(self, placed: tuple[Placed, ...]) -> None:
        """Raise Fault when an access touches bytes of a message in flight."""
        if not self._open:
            return
        for access in placed:
            if access.access.space is not MemorySpace.SPM:
                continue
            for i, tile in enumerate(access.tiles):
                for message in self._open.get(tile, ()):
                    self._check_one(access, i, tile, message)

    def _check_one(self, placed: Placed, i: int, tile: int, message: Message) -> None:
        first = placed.address(i)
        if first >= message.high or message.low >= first + placed.extent:
            return
        sender = message.key[0]
        known = message.sent_clock
        if known is not None and self._races is not None and self._races.is_ordered(tile, sender, known):
            return
        byte = _first_touched(placed, first, message.low, message.high)
        if byte is None:
            return
        verb = "writes" if placed.access.writes else "reads"
        raise Fault(
            f"race: operand {placed.access.operand} of tile {tile} {verb} SPM byte {byte:#x}, where the message of "
            f"tile {sender} lands that instruction {message.armed_in} armed and nothing has waited for",
            tile=tile,
            addresses=(message.low, message.high),
        )

    def unfinished(self) -> tuple[int, Fault] | None:
        """A message that was armed and never waited for: the instruction that armed it, and what is wrong."""
        for tile, messages in sorted(self._open.items()):
            for message in messages:
                sender, _, channel = message.key
                state = "arrived, but tile" if message.arrived else "was never sent; tile"
                return message.armed_in, Fault(
                    f"the message of tile {sender} on channel {channel} that instruction {message.armed_in} armed "
                    f"{state} {tile} never waits for it",
                    tile=tile,
                    addresses=(message.low, message.high),
                )
        return None


def _plan(op: MessageOp) -> MessagePlan:
    sends, channel, peers, tiles = isinstance(op, DteSendOp), op.channel, op.peers, op.tiles
    one_each = op.pattern == "unicast" and len(peers) > 1
    messages: dict[int, tuple[tuple[int, Key], ...]] = {}
    for position, tile in enumerate(tiles):
        mine = peers[position : position + 1] if one_each else peers
        messages[tile] = tuple([(peer, (tile, peer, channel) if sends else (peer, tile, channel)) for peer in mine])
    nbytes = op.nbytes if isinstance(op, (DteArmOp, DteSendOp)) else 0
    step = nbytes if op.pattern == "scatter" else 0
    return MessagePlan(sends, isinstance(op, DteWaitOp), nbytes, step, tiles, messages)


def _first_touched(placed: Placed, first: int, low: int, high: int) -> int | None:
    """The first byte of [low, high) that the walk from `first` on touches."""
    starts = np.array([first], np.int64)
    for iterations, stride in placed.access.walk:
        starts = (starts[:, None] + stride * np.arange(iterations)).reshape(-1)
    hit = (starts < high) & (low < starts + placed.access.nbytes)
    return max(low, int(starts[hit].min())) if hit.any() else None
