"""A kernel by hand: z = x + y, a part of the vectors on each tile, in pieces that take turns in two buffers."""

from __future__ import annotations

import numpy as np

from tx8ir.core import Program
from tx8ir.kernels import Kernel
from tx8ir.sim import Simulator

PIECES = 8


def vector_add(length: int, tiles: int = 16) -> Program:
    """The program for vectors of `length` elements, which 8 pieces on each tile divide."""
    k = Kernel("vector add", range(tiles))
    x, y, z = k.input("x", (length,), "f32"), k.input("y", (length,), "f32"), k.output("z", (length,), "f32")
    piece = length // tiles // PIECES
    a, b = k.spm_buffers("a", 2, (piece,), "f32"), k.spm_buffers("b", 2, (piece,), "f32")
    with k.loop(PIECES) as i:
        here = slice(i * piece, i * piece + piece)
        k.load(a[i % 2], [part[here] for part in x.split(tiles)])
        k.load(b[i % 2], [part[here] for part in y.split(tiles)])
        k.binary("add", a[i % 2], a[i % 2], b[i % 2])
        k.store([part[here] for part in z.split(tiles)], a[i % 2])
    return k.program()


def main() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 1 << 17), np.float32)
    result = Simulator(vector_add(x.size)).run({"x": x, "y": y})
    assert np.array_equal(result.outputs["z"], x + y)
    print(result.report)


if __name__ == "__main__":
    main()
