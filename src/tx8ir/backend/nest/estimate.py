"""`estimated_cycles`: about the least time of a strategy, in closed form, before its stages and buffers are known.

The first step runs alone: loads one after the other, ops as soon as their operands are there, the stores. What the
steps after it add is the work of the busiest engine. What several tiles read is loaded by one of them for as many as is
cheapest, so the estimate is for the best way of sharing, and for buffers enough to overlap.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tx8ir.core import Value
from tx8ir.target import cost
from tx8ir.target.chip import Target

__all__ = ["Computed", "Moved", "estimated_cycles"]


@attrs.frozen
class Moved:
    """A value that passes DDR.

    Attributes:
        value: the one in SPM.
        size: bytes of a tile's slice.
        times: transfers of a tile.
        owners: tiles with a slice of their own.
        sharers: numbers of tiles that one transfer may be for, 1 included.
    """

    value: Value
    size: int
    times: int
    owners: int
    sharers: tuple[int, ...] = (1,)


@attrs.frozen
class Computed:
    """An op: cycles of a step on each engine, how many steps have it, and its values."""

    ne: float
    ct: float
    times: int
    operands: tuple[Value, ...]
    results: tuple[Value, ...]


def estimated_cycles(
    target: Target, tiles: int, loads: Sequence[Moved], ops: Sequence[Computed], stores: Sequence[Moved]
) -> float:
    """About the least cycles of a strategy that uses `tiles`, of what each moves and computes."""
    rate, startup = target.profile.ddr_bytes_per_cycle, cost.dma_startup(target, 0)
    at: dict[Value, float] = {}
    begun = ddr = ddr_after = rdma_after = dte_after = 0.0
    issued = 0
    for load in loads:
        streamed, sent, transfers = min(_ways(target, tiles, load), key=lambda way: way[0] + way[1])
        begun += transfers / tiles
        ddr += streamed
        at[load.value] = startup * max(1.0, begun) + ddr + sent
        ddr_after += (load.times - 1) * streamed
        rdma_after += (load.times - 1) * startup * transfers / tiles
        dte_after += (load.times - 1) * sent
        issued += load.times * (2 if transfers < tiles else 1)  # shared: two of arm and wait, or of load and send
    loaded = max(at.values(), default=0.0)
    ne_after = ct_after = 0.0
    free = {"ne": 0.0, "ct": 0.0}
    for op in ops:
        end = max((at.get(value, 0.0) for value in op.operands), default=0.0)
        for engine, cycles in (("ne", op.ne), ("ct", op.ct)):
            if cycles:
                end = free[engine] = max(end, free[engine]) + cycles
        at.update(dict.fromkeys(op.results, end))
        ne_after += (op.times - 1) * op.ne
        ct_after += (op.times - 1) * op.ct
        issued += op.times
    end, wdma_after = loaded, 0.0
    for number, store in enumerate(stores):
        streamed = store.size * store.owners / rate
        end = max(end, at.get(store.value, 0.0) + streamed + startup, startup * (number + 1))
        ddr_after += (store.times - 1) * streamed
        wdma_after += (store.times - 1) * startup
        issued += store.times
    after = max(ne_after, ct_after, ddr_after, rdma_after, dte_after, wdma_after)
    return max(end + after, startup + cost.issue(target, issued))


def _ways(target: Target, tiles: int, load: Moved) -> list[tuple[float, float, int]]:
    """(cycles in which DDR passes a step's bytes, cycles of the messages, transfers of a step) of ways to load."""
    found: list[tuple[float, float, int]] = []
    for sharers in load.sharers:
        transfers = tiles // sharers
        streamed = load.size * transfers / target.profile.ddr_bytes_per_cycle
        sent = cost.dte(target, load.size * (sharers - 1)) if sharers > 1 else 0
        found.append((streamed, sent, transfers))
    return found
