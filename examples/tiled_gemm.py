"""A kernel by hand: c = a @ b on 4 x 4 tiles, each with its block of c, loading a step ahead of the matrix engine.

While the engine multiplies what one pair of buffers holds, the next slices of a and b arrive in the other pair.
"""

from __future__ import annotations

import numpy as np

from tx8ir.core import Program
from tx8ir.kernels import Kernel, View
from tx8ir.sim import Simulator
from tx8ir.target.chip import TX8

STEP = 64  # elements of the inner dimension that a step takes


def tiled_gemm(m: int, inner: int, n: int, grid: tuple[int, int] = TX8.grid) -> Program:
    """The program for [m, inner] @ [inner, n] in f32; the grid divides m and n, the step divides `inner`."""
    k = Kernel("tiled gemm", range(grid[0] * grid[1]))
    a, b, c = k.input("a", (m, inner), "f32"), k.input("b", (inner, n), "f32"), k.output("c", (m, n), "f32")
    rows, columns = m // grid[0], n // grid[1]

    # The tiles of one grid row share rows of a; those of one grid column share columns of b.
    a_rows = [part for part in a.split(grid[0]) for _ in range(grid[1])]
    b_columns = b.split(grid[1], axis=1) * grid[0]
    c_blocks = [block for band in c.split(grid[0]) for block in band.split(grid[1], axis=1)]

    a_dense = k.spm_buffers("a_dense", 2, (rows, STEP), "f32")
    b_dense = k.spm_buffers("b_dense", 2, (STEP, columns), "f32")
    a_blocked = k.matrix("a_blocked", rows, STEP, "f32")
    b_blocked = k.matrix("b_blocked", STEP, columns, "f32")
    total, c_dense = k.matrix("total", rows, columns, "f32"), k.spm("c_dense", (rows, columns), "f32")

    def multiply(left: View, right: View) -> None:
        k.block(a_blocked, left)
        k.block(b_blocked, right)
        k.gemm(total, a_blocked, b_blocked, psum=total)

    k.fill(total, 0.0)
    k.load(a_dense[0], [part[:, :STEP] for part in a_rows])
    k.load(b_dense[0], [part[:STEP] for part in b_columns])
    steps = inner // STEP
    with k.loop(steps - 1) as i:
        ahead = slice((i + 1) * STEP, (i + 2) * STEP)
        k.load(a_dense[(i + 1) % 2], [part[:, ahead] for part in a_rows])
        k.load(b_dense[(i + 1) % 2], [part[ahead] for part in b_columns])
        multiply(a_dense[i % 2], b_dense[i % 2])
    multiply(a_dense[(steps - 1) % 2], b_dense[(steps - 1) % 2])
    k.block(c_dense, total)
    k.store(c_blocks, c_dense)
    return k.program()


def main() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((256, 512), np.float32), rng.standard_normal((512, 384), np.float32)
    result = Simulator(tiled_gemm(256, 512, 384)).run({"a": a, "b": b})
    exact = a.astype(np.float64) @ b.astype(np.float64)
    error = np.abs(result.outputs["c"] - exact).max() / np.abs(exact).max()
    assert error < 1e-6
    print(f"largest error {error:.1e} of the largest output")
    print(result.report)


if __name__ == "__main__":
    main()
