"""Messages between tiles: what is armed, sent and waited for, and which bytes are in flight meanwhile.

Between arm and wait the armed bytes belong to the message: the receiver races with the sender if it touches them,
unless something else (a barrier, another message) has ordered the arrival before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import DteArmOp, DteSendOp, DteWaitOp, MemorySpace, MessageOp

from .errors import Fault
from .layouts import LayoutMap
from .memory import Memory, Placed
from .races import RaceDetector

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


class Mailbox:
    """All messages that are armed and not yet waited for.

    Args:
        memory: the memories.
        races: the detector that messages order accesses for, or None without checks.
        layouts: the map of what the bytes are, which goes along with them; or None without it.
    """

    def __init__(self, memory: Memory, races: RaceDetector | None, layouts: LayoutMap | None = None) -> None:
        self._memory = memory
        self._layouts = layouts
        self._races = races
        self._unsent: dict[Key, deque[Message]] = {}
        self._unwaited: dict[Key, deque[Message]] = {}
        self._open: dict[int, list[Message]] = {}
        """By receiver: armed and not waited for."""

    # -- what a tile waits for --------------------------------------------------------------------------------------

    def awaited(self, op: MessageOp, position: int) -> tuple[int, ...]:
        """The tiles that the tile at `position` of the instruction has to wait for before it can execute it."""
        return tuple([peer for peer, key in _keys(op, position) if not self._is_ready(op, key)])

    def _is_ready(self, op: MessageOp, key: Key) -> bool:
        if isinstance(op, DteSendOp):
            return bool(self._unsent.get(key))
        if isinstance(op, DteWaitOp):
            messages = self._unwaited.get(key)
            return not messages or messages[0].arrived  # a wait for nothing is an error, not a reason to wait
        return True

    # -- executing --------------------------------------------------------------------------------------------------

    def arm(self, op: DteArmOp, placed: Placed, index: int, positions: list[int]) -> None:
        """Arm for the tiles at `positions` of `op`."""
        for i, position in enumerate(positions):
            tile = op.tiles[position]
            low = placed.address(i)
            known = self._races.publish(tile) if self._races is not None else None
            for _, key in _keys(op, position):
                message = Message(key, low, low + op.nbytes, index, known)
                self._unsent.setdefault(key, deque()).append(message)
                self._unwaited.setdefault(key, deque()).append(message)
                self._open.setdefault(tile, []).append(message)
                low += op.nbytes

    def begin_send(self, op: DteSendOp, position: int) -> None:
        """Order the send of the tile at `position` after the arms of its receivers.

        Raises Fault when a receiver armed for another number of bytes.
        """
        tile = op.tiles[position]
        for peer, key in _keys(op, position):
            message = self._unsent[key][0]
            expected = message.high - message.low
            if expected != op.nbytes:
                raise Fault(
                    f"tile {tile} sends {op.nbytes} bytes to tile {peer}, which armed for {expected} in instruction "
                    f"{message.armed_in}",
                    tile=tile,
                )
            if self._races is not None and message.armed_clock is not None:
                self._races.receive(tile, message.armed_clock)

    def send(self, op: DteSendOp, placed: Placed, i: int, position: int) -> None:
        """Deliver from the tile at `position` of `op`, which is the i-th of `placed`."""
        tile = op.tiles[position]
        size = self._memory.target.spm_bytes
        spm = self._memory.spm
        source = tile * size + placed.address(i)
        known = self._races.publish(tile) if self._races is not None else None
        for peer, key in _keys(op, position):
            message = self._unsent[key].popleft()
            landing = peer * size + message.low
            spm.data[landing : landing + op.nbytes] = spm.data[source : source + op.nbytes]
            assert spm.written is not None
            spm.written.mark(landing, landing + op.nbytes)
            if self._layouts is not None:
                self._layouts.deliver(source, landing, op.nbytes)
            message.arrived, message.sent_clock = True, known
            if op.pattern == "scatter":
                source += op.nbytes

    def wait(self, op: DteWaitOp, position: int) -> None:
        """Take the messages that the tile at `position` waits for, all of which have arrived.

        Raises Fault when it has armed none.
        """
        tile = op.tiles[position]
        for peer, key in _keys(op, position):
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


def _keys(op: MessageOp, position: int) -> Iterator[tuple[int, Key]]:
    """(peer, key) of each message of the tile at `position` of the instruction."""
    tile = op.tiles[position]
    for peer in op.peers_of(position):
        yield peer, ((tile, peer, op.channel) if isinstance(op, DteSendOp) else (peer, tile, op.channel))


def _first_touched(placed: Placed, first: int, low: int, high: int) -> int | None:
    """The first byte of [low, high) that the walk from `first` on touches."""
    starts = np.array([first], np.int64)
    for iterations, stride in placed.access.walk:
        starts = (starts[:, None] + stride * np.arange(iterations)).reshape(-1)
    hit = (starts < high) & (low < starts + placed.access.nbytes)
    return max(low, int(starts[hit].min())) if hit.any() else None
