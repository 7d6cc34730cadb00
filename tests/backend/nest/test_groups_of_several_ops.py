"""Groups of several ops: intermediates stay in SPM, windows grow backwards through the chain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.kernels import KernelRun, Operand, run_kernel
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import Activation, DevAttr

NCX = DevAttr(mem_layout="NCx")
GEOMETRY = {"pads": (1, 1, 1, 1), "dev_info": NCX}


def data(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def residual_block(x: Any, w1: Any, w2: Any, none: Any) -> Any:
    """conv, relu, conv, + x, relu: the input has two readers, the windows two levels."""
    y = tx8be.ConvOp(x, w1, none, none, activation=Activation.RELU, **GEOMETRY)
    y = tx8be.ConvOp(y.out, w2, none, none, **GEOMETRY)
    y = tx8be.AddOp(y.out, x, dev_info=NCX)
    return tx8be.ReluOp(y.out, dev_info=NCX)


BLOCK = [
    Operand(data(1, 12, 12, 16)),
    Operand(data(3, 3, 16, 16), kind="const", layout="Cx"),
    Operand(data(3, 3, 16, 16), kind="const", layout="Cx"),
    None,
]


def names(run: KernelRun) -> list[str]:
    return [op.name for op in run.compiled.module.walk() if op.name.startswith("tx8.")]


@pytest.mark.parametrize("sharding", [None, (1, 1, 1, 1)])
def test_a_residual_block_in_one_group(sharding: tuple[int, ...] | None) -> None:
    run = run_kernel(residual_block, BLOCK, blocked=True, sharding=sharding)
    run.check()
    assert names(run).count("tx8.conv") >= 2


def gram(x: Any, none: Any) -> Any:
    """tanh(x) @ x.T: tanh needs the rows of the result, the product all of x."""
    y = tx8be.TanhOp(x, dev_info=DevAttr(mem_layout="Cx"))
    return tx8be.GemmOp(y.y, x, none, none, transR=True, dev_info=DevAttr(mem_layout="Cx"))


@pytest.mark.parametrize("sharding", [None, (16, 1), (4, 1)])
def test_what_one_op_reads_of_a_buffer_begins_elsewhere_on_every_tile(sharding: tuple[int, ...] | None) -> None:
    run_kernel(gram, [Operand(data(32, 64)), None], blocked=True, sharding=sharding).check()


def test_chains_split_over_time() -> None:
    run = run_kernel(residual_block, BLOCK, blocked=True, spm_bytes=30_000, sharding=(1, 1, 1, 1))
    run.check()
    assert run.schedule.strategy.time


def test_a_group_that_only_copies() -> None:
    class Copy:
        def __init__(self, x: Any) -> None:
            self.results = (x,)
            self.dev_info = NCX

    run_kernel(Copy, [Operand(data(2, 3, 70))], blocked=True).check()
