"""A kernel by hand: every tile gets the sum of all tiles' vectors, by messages to the next tile of a ring.

It is what `tx8ir.kernels.all_reduce` does, written out.
"""

from __future__ import annotations

import numpy as np

from tx8ir.core import Program
from tx8ir.kernels import Kernel
from tx8ir.sim import Simulator


def ring_all_reduce(length: int, tiles: int = 16) -> Program:
    """The program for one vector of `length` elements on each tile, which the number of tiles divides."""
    k = Kernel("ring all-reduce", range(tiles))
    x, y = k.input("x", (tiles, length), "f32"), k.output("y", (tiles, length), "f32")
    data, received = k.spm("data", (length,), "f32"), k.spm("received", (length // tiles,), "f32")
    chunks = data.split(tiles)
    after = [(tile + 1) % tiles for tile in range(tiles)]
    before = [(tile - 1) % tiles for tile in range(tiles)]

    k.load(data, [x[tile] for tile in range(tiles)])
    for step in range(tiles - 1):  # partial sums go round; each tile adds its own part
        k.arm(received, before)
        k.send([chunks[(tile - step - 1) % tiles] for tile in range(tiles)], after)
        k.wait(before)
        mine = [chunks[(tile - step - 2) % tiles] for tile in range(tiles)]
        k.binary("add", mine, mine, received)
    for step in range(tiles - 1):  # finished sums go round
        k.arm([chunks[(tile - step - 1) % tiles] for tile in range(tiles)], before)
        k.send([chunks[(tile - step) % tiles] for tile in range(tiles)], after)
        k.wait(before)
    k.store([y[tile] for tile in range(tiles)], data)
    return k.program()


def main() -> None:
    x = np.random.default_rng(0).integers(-100, 100, (16, 4096)).astype(np.float32)
    result = Simulator(ring_all_reduce(x.shape[1])).run({"x": x})
    assert (result.outputs["y"] == x.sum(axis=0)).all()
    print(result.report)


if __name__ == "__main__":
    main()
