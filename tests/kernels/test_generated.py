"""Correct kernels, drawn at random: every schedule gives NumPy's answer, and no check raises a false alarm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tx8ir.kernels import Kernel
from tx8ir.sim import Interleaved, Simulator

LENGTH = 48
NAMES = ("a", "b", "c", "d")
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "max": np.maximum,
    "min": np.minimum,
}


class Drawn:
    """A kernel built step by step, and beside it what its scratch-pads must hold."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.n = int(self.rng.integers(2, 7))
        self.tiles = sorted(self.rng.permutation(16)[: self.n].tolist())
        self.k = Kernel("drawn", self.tiles)
        self.x = self.rng.integers(-9, 9, (len(NAMES), self.n, LENGTH)).astype(np.float32)
        self.state = {name: self.x[i].copy() for i, name in enumerate(NAMES)}
        source = self.k.input("x", self.x.shape, "f32")
        self.spm = {name: self.k.spm(name, (LENGTH,), "f32") for name in NAMES}
        self.shared = 0
        for i, name in enumerate(NAMES):
            self.k.load(self.spm[name], [source[i, r] for r in range(self.n)])
        for _ in range(int(self.rng.integers(4, 12))):
            step: Callable[[], None] = self.rng.choice(  # pyright: ignore[reportArgumentType]
                np.array([self.arithmetic, self.copy, self.permute, self.broadcast, self.gather, self.scatter,
                          self.through_ddr, self.repeat], object)
            )  # fmt: skip
            step()
        result = self.k.output("y", self.x.shape, "f32")
        for i, name in enumerate(NAMES):
            self.k.store([result[i, r] for r in range(self.n)], self.spm[name])
        self.expected = np.stack([self.state[name] for name in NAMES])

    def names(self, count: int) -> list[str]:
        return [str(name) for name in self.rng.permutation(NAMES)[:count]]

    def parts(self, count: int, length: int | None = None) -> list[slice]:
        length = length or int(self.rng.integers(1, LENGTH))
        starts = self.rng.integers(0, LENGTH - length + 1, count)
        return [slice(int(start), int(start) + length) for start in starts]

    def some(self, least: int = 1) -> list[int]:
        """Numbers of some tiles."""
        count = int(self.rng.integers(least, self.n + 1))
        return sorted(self.rng.permutation(self.n)[:count].tolist())

    def arithmetic(self) -> None:
        function = str(self.rng.choice(list(FUNCTIONS)))
        out, left, right = (str(name) for name in self.rng.choice(NAMES, 3))
        # In place only element by element: an instruction reads all of its sources first only where they do not differ.
        here = self.parts(1) * 3 if out in (left, right) else self.parts(3)
        rows = self.some()
        with self.k.on(*[self.tiles[r] for r in rows]):
            self.k.binary(function, self.spm[out][here[0]], self.spm[left][here[1]], self.spm[right][here[2]])
        for r in rows:
            value = FUNCTIONS[function](self.state[left][r][here[1]], self.state[right][r][here[2]])
            self.state[out][r][here[0]] = value

    def copy(self) -> None:
        out, of = self.names(2)
        to, where = self.parts(2)
        self.k.copy(self.spm[out][to], self.spm[of][where])
        self.state[out][:, to] = self.state[of][:, where]

    def permute(self) -> None:
        """Every one of some tiles sends to another of them; an instruction on other bytes runs meanwhile."""
        rows = self.some(2)
        if len(rows) < 2:
            return
        out, of, other = self.names(3)
        to, where = self.parts(2)
        shift = int(self.rng.integers(1, len(rows)))
        before = [rows[(i - shift) % len(rows)] for i in range(len(rows))]
        after = [rows[(i + shift) % len(rows)] for i in range(len(rows))]
        with self.k.on(*[self.tiles[r] for r in rows]):
            self.k.arm(self.spm[out][to], [self.tiles[r] for r in before], channel=1)
            self.k.send(self.spm[of][where], [self.tiles[r] for r in after], channel=1)
            self.k.binary("max", self.spm[other], self.spm[other], 1.0)
            self.k.wait([self.tiles[r] for r in before], channel=1)
        sent = self.state[of][:, where].copy()
        for r, sender in zip(rows, before, strict=True):
            self.state[out][r, to] = sent[sender]
            self.state[other][r] = np.maximum(self.state[other][r], 1.0)

    def ends(self) -> tuple[int, list[int]]:
        """One tile and all the others."""
        root = int(self.rng.integers(self.n))
        return root, [r for r in range(self.n) if r != root]

    def broadcast(self) -> None:
        root, others = self.ends()
        out, of = self.names(2)
        to, where = self.parts(2)
        members = [self.tiles[r] for r in others]
        with self.k.on(*members):
            self.k.arm(self.spm[out][to], [self.tiles[root]])
        with self.k.on(self.tiles[root]):
            self.k.send(self.spm[of][where], members, pattern="broadcast")
        with self.k.on(*members):
            self.k.wait([self.tiles[root]])
        self.state[out][others, to] = self.state[of][root, where]

    def gather(self) -> None:
        root, others = self.ends()
        out, of = self.names(2)
        size = LENGTH // self.n
        members = [self.tiles[r] for r in others]
        with self.k.on(self.tiles[root]):
            self.k.arm(self.spm[out][: size * len(others)], members, gather=True)
        with self.k.on(*members):
            self.k.send(self.spm[of][:size], [self.tiles[root]])
        with self.k.on(self.tiles[root]):
            self.k.wait(members, gather=True)
        for i, r in enumerate(others):
            self.state[out][root, i * size : (i + 1) * size] = self.state[of][r, :size]

    def scatter(self) -> None:
        root, others = self.ends()
        out, of = self.names(2)
        size = LENGTH // self.n
        members = [self.tiles[r] for r in others]
        with self.k.on(*members):
            self.k.arm(self.spm[out][:size], [self.tiles[root]])
        with self.k.on(self.tiles[root]):
            self.k.send(self.spm[of][: size * len(others)], members, pattern="scatter")
        with self.k.on(*members):
            self.k.wait([self.tiles[root]])
        for i, r in enumerate(others):
            self.state[out][r, :size] = self.state[of][root, i * size : (i + 1) * size]

    def through_ddr(self) -> None:
        out, of = self.names(2)
        shared = self.k.scratch(f"shared{self.shared}", (self.n, LENGTH), "f32")
        self.shared += 1
        shift = int(self.rng.integers(0, self.n))
        self.k.store([shared[r] for r in range(self.n)], self.spm[of])
        self.k.barrier()
        self.k.load(self.spm[out], [shared[(r + shift) % self.n] for r in range(self.n)])
        self.state[out][:] = np.roll(self.state[of], -shift, axis=0)

    def repeat(self) -> None:
        """A loop over pieces that takes turns in halves of a buffer."""
        out, of = self.names(2)
        trips = int(self.rng.integers(1, 5))
        piece = LENGTH // 4
        with self.k.loop(trips) as i:
            self.k.binary("add", self.spm[out][i * piece : i * piece + piece], self.spm[of][:piece], 1.0)
            self.k.copy(self.spm[of][:piece], self.spm[out][i * piece : (i + 1) * piece])
        for trip in range(trips):
            self.state[out][:, trip * piece : (trip + 1) * piece] = self.state[of][:, :piece] + 1
            self.state[of][:, :piece] += 1


def run(seed: int) -> None:
    drawn = Drawn(seed)
    simulator = Simulator(drawn.k.program())
    for schedule in (None, Interleaved(seed)):
        outputs = simulator.run({"x": drawn.x}, schedule).outputs
        np.testing.assert_array_equal(outputs["y"], drawn.expected, f"seed {seed}, {schedule}")


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_correct_kernels_give_numpys_answer_on_any_schedule(start: int) -> None:
    for seed in range(start, start + 50):
        run(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("start", range(1000, 11000, 500))
def test_ten_thousand_correct_kernels_raise_no_false_alarm(start: int) -> None:
    for seed in range(start, start + 500):
        run(seed)
