"""A target is data: the same kernels on a smaller and on a larger chip, and what one of them does not have."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from tx8ir.core import VerifyError, parse
from tx8ir.dialects import tx8
from tx8ir.dialects.tx8 import ChipAttr
from tx8ir.kernels import Kernel, KernelError, all_reduce
from tx8ir.sim import Interleaved, SimError, Simulator
from tx8ir.target.chip import TX8, NeLimits, Target

SMALL = attrs.evolve(
    TX8,
    name="small",
    grid=(2, 2),
    spm_bytes=1 << 20,
    spm_allocatable=(0x10000, 0xF0000),
    ddr_base=0x1000_0000,
    dte_message_bytes=1 << 16,
    profile=attrs.evolve(TX8.profile, ne_steps_per_cycle=(("f32", 1, 1), ("bf16", 8, 1)), ct_bytes_per_cycle=64),
)
LARGE = attrs.evolve(TX8, name="large", grid=(4, 8), ne=attrs.evolve(NeLimits(), channels=(1, 65536)))


def sum_of_products(target: Target) -> tuple[Kernel, np.ndarray, np.ndarray]:
    """Each tile multiplies its own matrices; all tiles get the sum of the products."""
    k = Kernel("sum of products", target=target)
    n = target.tiles
    x, y = k.input("x", (n, 8, 8), "f32"), k.output("y", (n, 8, 8), "f32")
    data, scratch = k.spm("data", (8, 8), "f32"), k.spm("scratch", (64 // n,), "f32")
    a, b = k.matrix("a", 8, 8, "f32"), k.matrix("b", 8, 8, "f32")
    k.load(data, [x[t] for t in range(n)])
    k.block(a, data)
    k.gemm(b, a, a)
    k.block(data, b)
    all_reduce(k, data.reshape(64), scratch)
    k.store([y[t] for t in range(n)], data)
    values = np.random.default_rng(0).integers(-4, 5, (n, 8, 8)).astype(np.float32)
    return k, values, (values @ values).sum(axis=0)


@pytest.mark.parametrize("target", [SMALL, TX8, LARGE], ids=lambda target: target.name)
def test_the_same_kernel_runs_on_every_chip(target: Target) -> None:
    k, values, expected = sum_of_products(target)
    program = k.program()
    assert ("#tx8.chip" in str(program)) is (target is not TX8)
    again = parse(str(program))
    again.verify()
    simulator = Simulator(again, target)
    for schedule in (None, Interleaved(0)) if target is SMALL else (None,):  # drawing orders for many tiles takes long
        outputs = simulator.run({"x": values}, schedule).outputs["y"]
        np.testing.assert_array_equal(outputs, np.broadcast_to(expected, outputs.shape))
    assert simulator.report.busy.shape[1] == target.tiles
    assert all(row["NE"] > 0 for row in simulator.report.cycles_by_tile)


def test_the_peaks_are_those_of_the_chip() -> None:
    def cycles(target: Target) -> int:
        k = Kernel("peak", (0,), target)
        a, b, c = (k.matrix(name, 64, 64, "bf16") for name in "abc")
        k.fill(a, 1.0)
        k.fill(b, 1.0)
        k.gemm(c, a, b)
        return Simulator(k.program(), target).report.cycles_by_engine["NE"]

    assert cycles(TX8) == 2 * cycles(SMALL) == 64 * 64 * 64 // (8 * 16 * 8) // 4


def test_a_program_is_checked_against_the_chip_that_it_is_for() -> None:
    k = Kernel("large", target=LARGE)
    with k.on(31):
        k.fill(k.spm("a", (4,), "f32"), 0)
    k.program()
    k = Kernel("small", target=SMALL)
    a = k.spm("a", (1 << 16,), "i8")
    k.fill(a, 0)
    with k.on(0):
        k.instruction(tx8.dte_send, src=a, nbytes=(1 << 16) + 1, peers=(1,))
    with pytest.raises(VerifyError, match=r"nbytes is 65537; a message has 1\.\.65536 bytes"):
        k.program()
    with pytest.raises(KernelError, match=r"there is no tile 4; target small has tiles 0\.\.3"):
        Kernel("small", range(4, 6), SMALL)
    with pytest.raises(KernelError, match='no room for "b"'):
        Kernel("small", target=SMALL).spm("b", (1 << 20,), "i8")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tiles": (7,), "dst": (0x10000,)}, r"not for target small: tiles \[7\] must lie in 0\.\.3"),
        ({"tiles": (0,), "dst": (0x200000,)}, r"not for target small: dst takes SPM bytes \[0x200000, 0x200010\)"),
    ],
)
def test_a_program_for_another_chip_is_refused_where_it_does_not_fit(fields: dict[str, object], message: str) -> None:
    k = Kernel("for the TX8")
    k.tiles = fields["tiles"]  # type: ignore[assignment]
    k.instruction(tx8.memset, dst=fields["dst"], count=4, format="f32", value=0)
    target = attrs.evolve(SMALL, ddr_base=TX8.ddr_base)
    with pytest.raises(SimError, match=message) as caught:
        Simulator(k.program(), target)
    assert caught.value.index == 0


def test_a_chip_is_what_a_target_may_use() -> None:
    for target in (SMALL, LARGE, TX8):
        described = ChipAttr.of(target).target
        assert attrs.evolve(described, name=target.name, profile=target.profile) == target
