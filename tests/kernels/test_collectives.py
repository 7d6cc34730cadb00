"""Collective routines against NumPy, for 2 to 16 tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tx8ir.kernels import Kernel, KernelError, View, all_gather, all_reduce, all_to_all, reduce_scatter
from tx8ir.sim import Interleaved, Simulator

CHUNK = 5
TILES = range(2, 17)


def run(n: int, routine: Any, result_length: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """What the tiles put in, [n, n * chunk], and what they end with; `routine` returns views if not all of `data`."""
    tiles = np.random.default_rng(n).permutation(16)[:n].tolist()
    k = Kernel("collective", tiles)
    length = n * CHUNK
    x, y = k.input("x", (n, length), "f32"), k.output("y", (n, result_length or length), "f32")
    data, scratch = k.spm("data", (length,), "f32"), k.spm("scratch", (CHUNK,), "f32")
    k.load(data, [x[r] for r in range(n)])
    found: View | list[View] | None = routine(k, data, scratch)
    k.store([y[r] for r in range(n)], data if found is None else found)
    values = np.random.default_rng(n).integers(-50, 50, (n, length)).astype(np.float32)
    simulator = Simulator(k.program())
    outputs = simulator.run({"x": values}).outputs["y"]
    if n <= 4:  # drawing orders for many tiles takes long
        np.testing.assert_array_equal(simulator.run({"x": values}, Interleaved(n)).outputs["y"], outputs)
    return values, outputs


@pytest.mark.parametrize("n", TILES)
@pytest.mark.parametrize(("function", "reference"), [("add", np.sum), ("max", np.max)])
def test_all_reduce(n: int, function: str, reference: Any) -> None:
    x, y = run(n, lambda k, data, scratch: all_reduce(k, data, scratch, function))
    np.testing.assert_array_equal(y, np.broadcast_to(reference(x, axis=0), x.shape))


@pytest.mark.parametrize("n", TILES)
def test_reduce_scatter(n: int) -> None:
    x, y = run(n, reduce_scatter, CHUNK)
    np.testing.assert_array_equal(y, x.sum(axis=0).reshape(n, CHUNK))


@pytest.mark.parametrize("n", TILES)
def test_all_gather(n: int) -> None:
    x, y = run(n, lambda k, data, scratch: all_gather(k, data))
    mine = np.concatenate([x[r, r * CHUNK : (r + 1) * CHUNK] for r in range(n)])
    np.testing.assert_array_equal(y, np.broadcast_to(mine, x.shape))


@pytest.mark.parametrize("n", TILES)
def test_all_to_all(n: int) -> None:
    def routine(k: Kernel, data: View, scratch: View) -> View:
        result = k.spm("result", data.shape, "f32")
        all_to_all(k, result, data)
        return result

    x, y = run(n, routine)
    np.testing.assert_array_equal(y, x.reshape(n, n, CHUNK).swapaxes(0, 1).reshape(n, -1))


def test_what_the_tiles_do_not_divide_is_refused() -> None:
    k = Kernel("collective", range(4))
    data, scratch = k.spm("data", (18,), "f32"), k.spm("scratch", (4,), "f32")
    with pytest.raises(KernelError, match=r"axis 0 of .* has extent 18, which 4 parts do not divide"):
        all_reduce(k, data, scratch)
    with pytest.raises(KernelError, match=r"is not of the shape of a chunk, \[5\]"):
        all_reduce(k, k.spm("other", (20,), "f32"), scratch)
