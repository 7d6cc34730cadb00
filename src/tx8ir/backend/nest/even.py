"""`check_even`: whether the trips of each loop are alike but for where they lie: a repeat then stands for them all."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tx8ir.backend.nest.kernels import Kernels, form_of
from tx8ir.backend.nest.price import Plan, Unfit
from tx8ir.backend.nest.transfer import Transfer
from tx8ir.dialects import tx8be

__all__ = ["check_even"]


def check_even(plan: Plan, kernels: Kernels) -> None:
    """Raise `CutError` where trips between the border ones have other sizes, or lie at uneven distances in DDR.

    Such are slices that begin now and then inside of a channel block, and windows over padding of more than one trip.
    Slices that transfers or messages cannot move are refused as well.
    """
    nest, body = plan.nest, plan.nest.body
    moved = [(load, load.y) for load in body.loads] + [(store, store.x) for store in body.stores]
    borders = [sorted({0, 1, level.trips - 1}) if level.ragged or level.edges else [0] for level in nest.levels]
    shared = [load.y for load, along in zip(body.loads, nest.choice.along, strict=False) if along]
    for tile, counters in itertools.product(nest.parts, itertools.product(*borders)):
        held = nest.slices(tile, counters).held
        for op, value in moved:
            if isinstance(op, tx8be.StoreVarOp) and not kernels.transfer(op, held[value]).complete:
                raise Unfit(f"a slice of {op.name} cuts a channel block")
        for value in shared:
            body.message_bytes(value, held[value].extent)
    for number, level in enumerate(nest.levels):
        low, high = int(level.edges), level.trips - 1 - int(level.ragged)
        if high <= low:
            continue
        trips = sorted({low, low + 1, high})
        for tile, counters in itertools.product(nest.parts, itertools.product(*borders)):
            found = [nest.slices(tile, (*counters[:number], trip, *counters[number + 1 :])) for trip in trips]
            for op in range(len(body.space.ops)):
                if len({form_of(body, op, slices) for slices in found}) > 1:
                    raise Unfit(f"trips of a loop of {level.trips} differ in the slices of {body.space.ops[op].name}")
            for op, value in moved:
                transfers = [kernels.transfer(op, slices.held[value]) for slices in found]
                if not _is_even(transfers, high - low):
                    raise Unfit(f"trips of a loop of {level.trips} lie unevenly in DDR for {op.name}")


def _is_even(transfers: Sequence[Transfer], distance: int) -> bool:
    """Whether transfers of a first, the next and a last trip, `distance` after the first, have the same steps."""
    first, second, last = transfers[0], transfers[1], transfers[-1]
    if any(one.structure != first.structure for one in transfers):
        return False
    near, far = (
        {b.source - a.source for a, b in zip(first.walks, other.walks, strict=True)} or {0} for other in (second, last)
    )
    return len(near) == 1 and far == {near.pop() * distance}
