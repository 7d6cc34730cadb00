"""Groups of several ops: intermediates stay in SPM, windows grow backwards through the chain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.kernels import KernelRun, Operand, build_kernel_program, run_kernel
from tx8ir.backend.graph import CompileError
from tx8ir.backend.oplib.boxes import Box
from tx8ir.backend.schedule.body import GroupBody
from tx8ir.core import Program
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import Activation, DevAttr
from tx8ir.target.chip import TX8

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


def test_every_cut_of_a_chain_recomputes_its_halo() -> None:
    body = GroupBody.of(group_of(build_kernel_program(residual_block, BLOCK, blocked=True)), TX8)
    found = body.slice_for(Box((0, 4, 0, 0), (1, 2, 12, 16)))
    assert found is not None
    x, _, _, inner, *_ = found.boxes
    assert x == Box((0, 2, 0, 0), (1, 6, 12, 16))  # two windows of 3 around rows 4 and 5
    assert inner == Box((0, 3, 0, 0), (1, 4, 12, 16))
    assert found.pads[:2] == ((0, 0, 1, 1), (0, 0, 1, 1))


def group_of(program: Program) -> tx8be.GroupOp:
    return next(op for op in program.module.walk() if isinstance(op, tx8be.GroupOp))


def gram(x: Any, none: Any) -> Any:
    """tanh(x) @ x.T: tanh needs the rows of the result, the product all of x."""
    y = tx8be.TanhOp(x, dev_info=DevAttr(mem_layout="Cx"))
    return tx8be.GemmOp(y.y, x, none, none, transR=True, dev_info=DevAttr(mem_layout="Cx"))


def test_what_one_op_reads_of_a_buffer_begins_elsewhere_on_every_tile() -> None:
    operands = [Operand(data(32, 64)), None]
    body = GroupBody.of(group_of(build_kernel_program(gram, operands, blocked=True)), TX8)
    slices = [body.slice_for(Box((row, 0), (2, 32))) for row in (0, 2)]
    cuts = [found.cuts[0] for found in slices if found is not None]
    assert cuts == [((0, 0),), ((2, 0),)]
    assert len({found.form for found in slices if found is not None}) == 2
    for sharding in (None, (16, 1), (4, 1)):
        run_kernel(gram, operands, blocked=True, sharding=sharding).check()


def test_a_cut_that_some_op_forbids_is_no_candidate() -> None:
    def normalise(x: Any) -> Any:
        return tx8be.ReluOp(tx8be.SoftmaxOp(x, dev_info=NCX).y, dev_info=NCX)

    operands = [Operand(data(2, 3, 256))]
    body = GroupBody.of(group_of(build_kernel_program(normalise, operands, blocked=True)), TX8)
    assert body.cut_alignment == (1, 1, 16)
    assert body.slice_for(Box((0, 0, 0), (2, 3, 64))) is None
    run_kernel(normalise, operands, blocked=True).check()


def test_chains_split_over_time() -> None:
    run = run_kernel(residual_block, BLOCK, blocked=True, spm_bytes=30_000, sharding=(1, 1, 1, 1))
    run.check()
    assert run.slice < (1, 12, 12, 16)


def test_a_group_that_only_copies() -> None:
    class Copy:
        def __init__(self, x: Any) -> None:
            self.results = (x,)
            self.dev_info = NCX

    run_kernel(Copy, [Operand(data(2, 3, 70))], blocked=True).check()


def test_a_group_stores_one_result() -> None:
    group = group_of(build_kernel_program(tx8be.ReluOp, [Operand(data(4, 4))], blocked=False))
    store = next(op for op in group.body.block if isinstance(op, tx8be.StoreVarOp))
    store.y.replace_all_uses_with(store.x)
    store.erase()
    with pytest.raises(CompileError, match="this one has 0 stores"):
        GroupBody.of(group, TX8)
