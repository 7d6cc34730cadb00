"""Correct kernels, drawn at random: every schedule gives NumPy's answer, and no check raises a false alarm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

from tx8ir.dialects import tx8
from tx8ir.kernels import Kernel, View
from tx8ir.sim import Interleaved, SimError, Simulator

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
                          self.through_ddr, self.repeat, self.product, self.batch, self.reduction, self.rows], object)
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

    # -- channel-blocked tensors --------------------------------------------------------------------------------------

    def room(self, *shape: int, layout: str = "NCx") -> View:
        """Scratch-pad of its own for a step."""
        self.shared += 1
        return self.k.spm(f"room{self.shared}", shape, "f32", layout)

    def small(self, name: str) -> None:
        """Make the elements small enough for sums of products to be exact."""
        for function, bound in (("max", -9.0), ("min", 9.0)):
            self.k.binary(function, self.spm[name], self.spm[name], bound)
        self.state[name][:] = np.clip(self.state[name], -9, 9)

    def blocked(self, name: str, *shape: int) -> View:
        """The first elements of a vector as a blocked tensor, by way of some moves that change nothing."""
        k, size = self.k, int(np.prod(shape))
        tensor = self.room(*shape)
        k.block(tensor, self.spm[name][:size].reshape(*shape))
        for _ in range(int(self.rng.integers(0, 3))):
            how = int(self.rng.integers(4))
            if how == 0:
                k.unary("neg", tensor, tensor)
                k.unary("neg", tensor, tensor)
            elif how == 1:
                other = self.room(*shape)
                k.copy(other, tensor)
                tensor = other
            elif how == 2:  # to the next tile and back
                before, after = (tuple(np.roll(self.tiles, shift).tolist()) for shift in (1, -1))
                other, again = self.room(*shape), self.room(*shape)
                for into, of, ahead, behind in ((other, tensor, after, before), (again, other, before, after)):
                    k.arm(into, behind, channel=2)
                    k.send(of, ahead, channel=2)
                    k.wait(behind, channel=2)
                tensor = again
            else:
                self.shared += 1
                stored = k.scratch(f"stored{self.shared}", (self.n, *shape[1:]), "f32", "NCx")
                places = [attrs.evolve(stored, address=stored.address + i * tensor.nbytes) for i in range(self.n)]
                if shape[0] == 1:
                    k.store([attrs.evolve(place, shape=shape) for place in places], tensor)
                    k.load(tensor, [attrs.evolve(place, shape=shape) for place in places])
        return tensor

    def product(self) -> None:
        """A product of two matrices, the first of which may be transposed."""
        out, left, right = self.names(3)
        m, inner, n = (int(v) for v in self.rng.integers(1, 7, 3))
        turned = bool(self.rng.integers(2))
        self.small(left)
        self.small(right)
        a = self.blocked(left, *((1, 1, inner, m) if turned else (1, 1, m, inner)))
        b, c = self.blocked(right, 1, 1, inner, n), self.room(1, 1, m, n)
        self.k.gemm(c, a, b, transpose_lhs=turned)
        self.k.block(self.spm[out][: m * n].reshape(1, 1, m, n), c)
        x = self.state[left][:, : m * inner].reshape(self.n, *((inner, m) if turned else (m, inner)))
        y = self.state[right][:, : inner * n].reshape(self.n, inner, n)
        self.state[out][:, : m * n] = ((x.swapaxes(1, 2) if turned else x) @ y).reshape(self.n, -1)

    def batch(self) -> None:
        """A tensor is blocked as several batches, and one of them is used by itself."""
        out, of = self.names(2)
        batches, rows, channels = int(self.rng.integers(1, 4)), int(self.rng.integers(1, 4)), 4
        chosen = int(self.rng.integers(batches))
        self.small(of)
        a, b, c = self.blocked(of, batches, 1, rows, channels), self.room(1, 1, channels, 4), self.room(1, 1, rows, 4)
        self.k.fill(b, 1.0)
        self.k.instruction(
            tx8.gemm, lhs=(a.address.constant + chosen * a.nbytes // batches,), rhs=b, out=c, m=rows, k=channels, n=4,
            in_format="f32", out_format="f32",
        )  # fmt: skip
        self.k.block(self.spm[out][: rows * 4].reshape(1, 1, rows, 4), c)
        sums = (
            self.state[of][:, : batches * rows * channels].reshape(self.n, batches, rows, channels)[:, chosen].sum(-1)
        )
        self.state[out][:, : rows * 4] = np.repeat(sums, 4, axis=1)

    def reduction(self) -> None:
        out, of = self.names(2)
        rows, channels = (int(v) for v in self.rng.integers(1, 7, 2))
        a, b = self.blocked(of, 1, 1, rows, channels), self.room(1, 1, rows, 1)
        self.k.instruction(tx8.reduce, function="max", axis="C", src=a, dst=b, shape=a.shape, format="f32")
        self.k.block(self.spm[out][:rows].reshape(1, 1, rows, 1), b)
        self.state[out][:, :rows] = self.state[of][:, : rows * channels].reshape(self.n, rows, channels).max(axis=2)

    def rows(self) -> None:
        """Every tile scatters to rows of its own in one table, and then gathers any."""
        out, of = self.names(2)
        self.shared += 1
        here, count = self.shared, 2
        table = self.k.scratch(f"table{here}", (count * self.n, LENGTH // 2), "f32")
        own = self.rng.permutation(count * self.n).reshape(self.n, count).astype(np.int32)
        wanted = self.rng.integers(0, count * self.n, (self.n, count)).astype(np.int32)
        fields = {"ddr": table, "row_bytes": 2 * LENGTH, "row_stride_bytes": 2 * LENGTH, "rows": count * self.n}
        for name, op, numbers, data in (("own", tx8.wdma_scatter, own, of), ("any", tx8.rdma_gather, wanted, out)):
            constant, index = (
                self.k.constant(f"{name}{here}", numbers, "i32"),
                self.k.spm(f"i{name}{here}", (2,), "i32"),
            )
            self.k.load(index, [constant[r] for r in range(self.n)])
            self.k.instruction(op, spm=self.spm[data], index_spm=index, count=count, **fields)
            self.k.barrier()
        filled = np.empty((count * self.n, LENGTH // 2), np.float32)
        filled[own.reshape(-1)] = self.state[of].reshape(-1, LENGTH // 2)
        self.state[out][:] = filled[wanted].reshape(self.n, LENGTH)


def run(seed: int) -> None:
    drawn = Drawn(seed)
    simulator = Simulator(drawn.k.program())
    for schedule in (None, Interleaved(seed)):
        outputs = simulator.run({"x": drawn.x}, schedule).outputs
        np.testing.assert_array_equal(outputs["y"], drawn.expected, f"seed {seed}, {schedule}")


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_correct_kernels_give_numpys_answer_on_any_schedule(start: int) -> None:
    for seed in range(start, start + 20):
        run(seed)


def run_without(seed: int) -> bool:
    """Take a barrier, a wait or a message out of a correct kernel: on any schedule the answer is the same, or an error.

    Gives whether there was an error.
    """
    drawn = Drawn(seed)
    program = drawn.k.program()
    ordering = [op for op in drawn.k.body if isinstance(op, (tx8.BarrierOp, tx8.DteWaitOp, tx8.DteSendOp))]
    if not ordering:
        return False
    ordering[int(drawn.rng.integers(len(ordering)))].erase()
    simulator = Simulator(program)
    found: list[np.ndarray | None] = []
    for schedule in (None, *(Interleaved(seed + i) for i in range(3))):
        try:
            found.append(simulator.run({"x": drawn.x}, schedule).outputs["y"])
        except SimError:
            found.append(None)
    failed = [outputs is None for outputs in found]
    assert all(failed) or not any(failed), f"seed {seed}: only some schedules find what is wrong"
    for outputs in found:
        np.testing.assert_array_equal(np.nan if outputs is None else outputs, np.nan if outputs is None else found[0])
    return failed[0]


def test_any_schedule_of_a_kernel_without_its_order_gives_one_answer_or_an_error() -> None:
    assert sum(run_without(seed) for seed in range(40)) >= 20


@pytest.mark.nightly
@pytest.mark.parametrize("start", range(1000, 3000, 250))
def test_two_thousand_kernels_without_their_order(start: int) -> None:
    assert sum(run_without(seed) for seed in range(start, start + 250)) >= 125


@pytest.mark.nightly
@pytest.mark.parametrize("start", range(1000, 11000, 500))
def test_ten_thousand_correct_kernels_raise_no_false_alarm(start: int) -> None:
    for seed in range(start, start + 500):
        run(seed)
