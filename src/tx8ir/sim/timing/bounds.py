"""How close each group of a program comes to what the machine allows: `GroupTime`."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence

import attrs

from tx8ir.dialects.tx8 import DteArmOp, DteSendOp, Source
from tx8ir.support.screen import fitting_repr
from tx8ir.target.chip import Target

from .clock import route
from .program import Item

__all__ = ["NO_SOURCE", "GroupTime", "group_of", "group_times", "program_time"]

NO_SOURCE = "(no source)"

_RECENT = 64  # writes among which the producer of what an instruction reads is looked for
_FIRST = (0,) * 16  # the first trip of all loops


@attrs.frozen
class GroupTime:
    """The time of a group, or of the program, and the least that it could take.

    group: its name; cycles: from the end of the groups before it to its own, so that those of all groups add up to the
        program's.
    bound: the largest of what no order of its instructions can go below; tight: which of them that is:
        an engine ("NE", "CT", "TDMA", "RDMA", "WDMA", "DTE") with all work of the busiest tile, transfers as if alone
        in DDR; "DDR", all bytes over the bandwidth; "links", the messages over the busiest link; "issue", the kernel
        core of the tile with the most instructions; or "latency", the longest chain of instructions each of which reads
        what the one before it wrote, of loops in one trip.
    """

    __repr__ = fitting_repr

    group: str
    cycles: int
    bound: int
    tight: str

    @property
    def ratio(self) -> float:
        """`cycles` over `bound`. It can be below 1 where a group's constants were loaded while the one before ran."""
        return self.cycles / self.bound if self.bound else 1.0


def group_of(source: str) -> str:
    """The group of a source: "group 3" of "group 3 Softmax probs"; of a program written by hand the source itself."""
    origin = Source.parse(source)
    return source or NO_SOURCE if origin is None else f"group {origin.group}"


def group_times(found: Sequence[Item], ends: Mapping[str, int], target: Target) -> tuple[GroupTime, ...]:
    """The times of groups, in the order of the program.

    Args:
        found: every instruction once.
        ends: when the last instruction of each source has ended.
        target: the chip.
    """
    members: dict[str, list[Item]] = {}
    for item in found:
        if item.engine is not None:
            members.setdefault(group_of(item.op.source or ""), []).append(item)
    last: dict[str, int] = defaultdict(int)
    for source, end in ends.items():
        last[group_of(source)] = max(last[group_of(source)], end)
    times: list[GroupTime] = []
    begin = 0
    for group, items in members.items():
        end = max(begin, last[group])
        times.append(_time(group, end - begin, {**_work(items, target), "latency": _latency(items, target)}))
        begin = end
    return tuple(times)


def program_time(found: Sequence[Item], cycles: int, target: Target) -> GroupTime:
    """The time of all groups together. Their latencies do not add up, for groups may overlap."""
    return _time("program", cycles, _work(found, target))


def _time(group: str, cycles: int, bounds: Mapping[str, int]) -> GroupTime:
    tight = max(bounds, key=lambda name: bounds[name])
    return GroupTime(group, cycles, bounds[tight], tight)


def _work(items: Sequence[Item], target: Target) -> dict[str, int]:
    """The bounds that are work of something that does one thing at a time."""
    engines: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    issued: dict[int, int] = defaultdict(int)
    links: dict[tuple[int, int], int] = defaultdict(int)
    ddr_bytes = 0
    for item in items:
        ddr_bytes += item.ddr_bytes * len(item.tiles) * item.times
        for tile in item.tiles:
            issued[tile] += item.times * target.profile.issue_cycles
            if item.engine is not None and not isinstance(item.op, DteArmOp):
                engines[item.engine.value][tile] += _alone(item, tile, target) * item.times
            if isinstance(item.op, DteSendOp):
                peers = item.op.peers_of(item.position[tile])
                held = max(item.cycles_on(tile) - target.profile.dte_message_cycles, 0) * item.times
                for link in {link for peer in peers for link in route(target, tile, peer)}:
                    links[link] += held
    found = {engine: max(tiles.values()) for engine, tiles in engines.items()}
    found["DDR"] = math.ceil(ddr_bytes / target.profile.ddr_bytes_per_cycle)
    found["links"] = max(links.values(), default=0)
    found["issue"] = max(issued.values(), default=0)
    return found


def _alone(item: Item, tile: int, target: Target) -> int:
    """The cycles of an instruction that has DDR for itself."""
    return item.cycles_on(tile) + math.ceil(item.ddr_bytes / target.profile.ddr_bytes_per_cycle)


def _latency(items: Sequence[Item], target: Target) -> int:
    """The longest chain of producers and readers on the tile with the most instructions."""
    counts: dict[int, int] = defaultdict(int)
    for item in items:
        for tile in item.tiles:
            counts[tile] += 1
    tile = max(counts, key=lambda tile: (counts[tile], -tile))
    written: deque[tuple[int, int, int]] = deque(maxlen=_RECENT)
    longest = 0
    for item in items:
        if tile not in item.position or isinstance(item.op, DteArmOp):
            continue
        spans = [(span, span.low(item.position[tile], _FIRST)) for span in item.spans]
        begin = 0
        for span, low in spans:
            if not span.writes:
                made = [end for start, stop, end in written if start < low + span.extent and low < stop]
                begin = max(begin, max(made, default=0))
        end = begin + _alone(item, tile, target)
        written.extend((low, low + span.extent, end) for span, low in spans if span.writes)
        longest = max(longest, end)
    return longest
