"""Executors of pooling with places, and of its inverse."""

from __future__ import annotations

import numpy as np

from tx8ir.dialects.tx8 import PoolIndexOp, UnpoolOp
from tx8ir.sim.errors import Fault
from tx8ir.sim.memory.memory import Placed
from tx8ir.target.formats import Format

from .functions import narrow, widen
from .registry import Machine, Semantics, executes
from .windows import pad, taps


@executes(PoolIndexOp)
def decode_pool_index(op: PoolIndexOp) -> Semantics:
    """Keep the extreme of each window and where it was; tap by tap, so that the first in row-major order stays."""
    format, largest = Format.named(op.format), op.function == "max"
    kernel, strides, pads = op.kernel, op.strides, op.pads
    _, h, w, _ = op.shape
    out_extents = op.out_shape[1:3]
    neutral = np.float32(-np.inf if largest else np.inf)
    beats = wins = np.greater if largest else np.less
    # The place of every element of the padded feature, -1 in the padding: one image serves all n and c.
    places = pad(np.arange(h * w, dtype=np.int32).reshape(1, 1, h, w, 1), pads, np.int32(-1))

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        src, dst, index = placed
        x = pad(widen(machine.memory.load_tensor(src), format), pads, neutral)
        best = np.full((len(x), *op.out_shape), neutral, np.float32)
        where = np.full(best.shape, -1, np.int32)
        for (_, values), (_, place) in zip(
            taps(x, kernel, strides, (1, 1), out_extents),
            taps(places, kernel, strides, (1, 1), out_extents),
            strict=True,
        ):
            better = beats(values, best) | (where < 0) | (np.isnan(values) & ~np.isnan(best))
            better |= (values == 0) & (best == 0) & wins(np.signbit(best), np.signbit(values))  # +0 is larger than -0
            np.copyto(best, values, where=better)
            np.copyto(where, place, where=better)
        machine.memory.store_tensor(dst, narrow(best, format))
        machine.memory.store_tensor(index, where)

    return step


@executes(UnpoolOp)
def decode_unpool(op: UnpoolOp) -> Semantics:
    """Put elements back to their places among zeros."""
    n, h, w, c = op.out_shape

    def step(machine: Machine, placed: tuple[Placed, ...]) -> None:
        src, index, dst = placed
        memory = machine.memory
        values, places = memory.load_tensor(src), memory.load_tensor(index)
        outside = (places < 0) | (places >= h * w)
        if outside.any():
            position, *at = (int(v) for v in np.unravel_index(int(outside.argmax()), outside.shape))
            raise Fault(
                f"place {at} of tile {index.tiles[position]} is {places[position, *at]}; "
                f"the result has places 0..{h * w - 1}",
                tile=index.tiles[position],
                addresses=index.interval(position),
            )
        tiles = len(values)
        result = np.zeros((tiles, n, h * w, c), values.dtype)
        flat = places.reshape(tiles, n, -1, c)
        np.put_along_axis(result, flat, values.reshape(flat.shape), axis=2)
        memory.store_tensor(dst, result.reshape(tiles, n, h, w, c))

    return step
