"""Messages between tiles: the receiver arms, the sender sends, the receiver waits.

A message goes from one tile to one tile over a channel, a number that tells streams of messages apart. The k-th message
that is armed for (sender, receiver, channel) is the k-th that is sent and the k-th that is waited for. Broadcast and
scatter are one send to several receivers; gather is one arm and one wait for several senders.

Between arm and wait the receiver must not touch the bytes that it armed. A send holds its tile back until every
receiver has armed. An arm or a send comes after all that its tile did before in writable DDR. [D]
"""

from __future__ import annotations

from typing import ClassVar

from tx8ir.core import attribute
from tx8ir.target import cost
from tx8ir.target.chip import Engine, Target

from .access import Access, MemorySpace
from .instruction import Instruction, PerTile, spm_access, verify_tiles
from .work import Work

SEND_PATTERNS = ("unicast", "broadcast", "scatter")
RECEIVE_PATTERNS = ("unicast", "gather")


class MessageOp(Instruction):
    """Base of arm, send and wait."""

    peers: tuple[int, ...] = attribute(doc="the other tiles; see `pattern`")
    pattern: str = attribute(
        default="unicast",
        doc="unicast: one peer for each of tiles, or one for all of them; to send also broadcast and scatter, to arm "
        "and to wait also gather: all of peers for each of tiles",
    )
    channel: int = attribute(default=0, doc="a number that tells streams of messages apart, 0 or more")

    patterns: ClassVar[tuple[str, ...]] = RECEIVE_PATTERNS
    cost_formula: ClassVar[str] = "0"

    def verify_fields(self, chip: Target) -> None:
        tiles, peers = self.tiles, self.peers
        self.require_one_of("pattern", self.pattern, self.patterns)
        self.require_range("channel", self.channel, 0)
        if self.pattern == "unicast":
            self.require(
                len(peers) in (1, len(tiles)),
                f"peers has {len(peers)} tiles; expected one, or one for each of the {len(tiles)} tiles",
            )
            for tile in set(peers):
                verify_tiles(self, (tile,), chip)
            pairs = [(tile, peer) for i, tile in enumerate(tiles) for peer in self.peers_of(i)]
        else:
            verify_tiles(self, peers, chip)
            pairs = [(tile, peer) for tile in tiles for peer in peers]
        for tile, peer in pairs:
            self.require(tile != peer, f"tile {tile} is its own peer; copies inside a tile are tx8.tdma")

    def work(self, target: Target, accesses: tuple[Access, ...] | None = None) -> Work:
        """To arm sets up a descriptor, and a wait is not executed: neither takes an engine's time."""
        return Work()

    def peers_of(self, position: int) -> tuple[int, ...]:
        """The peers of the tile at `position` of `tiles`, in the order of the pieces of a scatter or gather."""
        peers = self.peers
        return peers if self.pattern != "unicast" or len(peers) == 1 else (peers[position],)

    def require_message(self, chip: Target, nbytes: int) -> None:
        """Check the length of a message."""
        self.require(
            1 <= nbytes <= chip.dte_message_bytes,
            f"nbytes is {nbytes}; a message has 1..{chip.dte_message_bytes} bytes",
        )


class DteArmOp(MessageOp, name="tx8.dte_arm"):
    """Makes each tile ready to receive `nbytes` bytes from each of its peers.

    unicast: the message lands at `dst`. gather: the message of the i-th peer lands at `dst + i * nbytes`. Until the
    wait the bytes belong to the message.
    """

    engine: ClassVar[Engine | None] = Engine.DTE

    dst: PerTile = attribute(doc="SPM address where the message lands")
    nbytes: int = attribute(doc="bytes of one message, 1..8388608 (8 MiB)")

    def verify_fields(self, chip: Target) -> None:
        super().verify_fields(chip)
        self.require_message(chip, self.nbytes)

    def effects(self) -> tuple[Access, ...]:
        pieces = len(self.peers) if self.pattern == "gather" else 1
        return (spm_access("dst", self.dst, self.nbytes * pieces, writes=True, conditional=True),)


class DteSendOp(MessageOp, name="tx8.dte_send"):
    """Sends bytes of each tile's SPM to where its peers armed, which is `landing` there:

        unicast, broadcast   landing[:nbytes] = src[:nbytes]                on the peer, on each peer
        scatter              landing[:nbytes] = src[i*nbytes:][:nbytes]     on the i-th peer

    A send holds its tile back until every receiver has armed, and comes after all that its tile did in writable DDR.
    """

    engine: ClassVar[Engine | None] = Engine.DTE
    patterns: ClassVar[tuple[str, ...]] = SEND_PATTERNS
    cost_formula: ClassVar[str] = (
        "bytes / {dte_bytes_per_cycle} for each receiver or piece, during which the links of the way are held; "
        "software adds its part, see *Profiles*"
    )

    src: PerTile = attribute(doc="SPM address of the bytes")
    nbytes: int = attribute(doc="bytes of one message, 1..8388608 (8 MiB)")

    def verify_fields(self, chip: Target) -> None:
        super().verify_fields(chip)
        self.require_message(chip, self.nbytes)

    def work(self, target: Target, accesses: tuple[Access, ...] | None = None) -> Work:
        """The bytes pass the link of the sender once for each piece or receiver."""
        pieces = len(self.peers) if self.pattern != "unicast" else 1
        return Work(cost.dte(target, self.nbytes * pieces))

    def effects(self) -> tuple[Access, ...]:
        pieces = len(self.peers) if self.pattern == "scatter" else 1
        return (spm_access("src", self.src, self.nbytes * pieces),)


class DteWaitOp(MessageOp, name="tx8.dte_wait"):
    """Holds each tile back until the oldest armed message of each of its peers has arrived."""

    cost_formula: ClassVar[str] = "0 beyond the time until the messages have arrived"


class DteStoreOp(Instruction, name="tx8.dte_store"):
    """Copies dense bytes from SPM to DDR by the DTE: `ddr[:nbytes] = src[:nbytes]`."""

    engine: ClassVar[Engine | None] = Engine.DTE
    cost_formula: ClassVar[str] = (
        "bytes / (share of {ddr_bytes_per_cycle:g} B/cycle); software adds its part, see *Profiles*"
    )

    src: PerTile = attribute(doc="SPM address")
    ddr: PerTile = attribute(doc="DDR address")
    nbytes: int = attribute(doc="bytes, 1..8388608 (8 MiB)")

    def verify_fields(self, chip: Target) -> None:
        self.require(
            1 <= self.nbytes <= chip.dte_message_bytes,
            f"nbytes is {self.nbytes}; a message has 1..{chip.dte_message_bytes} bytes",
        )

    def work(self, target: Target, accesses: tuple[Access, ...] | None = None) -> Work:
        return Work(target.profile.dte_message_cycles, self.nbytes)

    def effects(self) -> tuple[Access, ...]:
        return (
            spm_access("src", self.src, self.nbytes),
            Access("ddr", MemorySpace.DDR, True, self.ddr, self.nbytes),
        )
