"""SPM: live buffers never share bytes, dead ones do, in-place chains have one buffer."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from support.kernels import KernelRun, Operand, build_kernel_program, run_kernel
from tx8ir.backend.memory import AllocateSpm
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import DevAttr
from tx8ir.passes import PassError, PassManager
from tx8ir.target.chip import TX8

NCX = DevAttr(mem_layout="NCx")


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def addresses(run: KernelRun) -> dict[str, tuple[int, ...]]:
    """SPM addresses by op name."""
    infos = {op.name.removeprefix("tx8be."): getattr(op, "dev_info", None) for op in run.group.body.block}
    return {name: info.mem_addr for name, info in infos.items() if info is not None and info.mem_addr}


def test_an_op_in_place_takes_its_operands_buffer() -> None:
    run = run_kernel(tx8be.ReluOp, [Operand(zeros(4, 64))], blocked=True, sharding=(1, 1))
    assert addresses(run) == {"LoadVar": (0x10000,), "Relu": (0x10000,)}
    assert run.group.spm_alloc_size == 4 * 64 * 4


def test_an_operand_that_is_read_again_keeps_its_buffer() -> None:
    def make(x: Any) -> Any:
        return tx8be.AddOp(tx8be.ReluOp(x, dev_info=NCX).y, x, dev_info=NCX)

    run = run_kernel(make, [Operand(zeros(1, 4, 64) + 1)], blocked=True, sharding=(1, 1, 1))
    run.check()
    found = addresses(run)
    assert found["LoadVar"] != found["Relu"]
    assert found["Add"] == found["Relu"]


def test_addresses_are_aligned_and_allocatable() -> None:
    operands = [Operand(zeros(3, 5, 70)), Operand(zeros(70), kind="const"), Operand(zeros(70), kind="const")]
    run = run_kernel(tx8be.LayerNormOp, operands, blocked=True)
    low, high = TX8.spm_allocatable
    for op in run.group.body.block:
        info = getattr(op, "dev_info", None)
        if info is None or not info.mem_addr:
            continue
        for address in (*info.mem_addr, *([info.imm_addr] if info.imm_size else [])):
            assert address % TX8.spm_alignment == 0
            assert low <= address < high


def test_temporaries_do_not_touch_operands_or_result() -> None:
    run = run_kernel(tx8be.SoftmaxOp, [Operand(zeros(2, 3, 70))], blocked=True, sharding=(1, 1, 1))
    load, softmax = (op for op in run.group.body.block if op.name in ("tx8be.LoadVar", "tx8be.Softmax"))
    size = 2 * -(-3 * 68 * 4 // 256) * 256  # two batches of three rows of 64 + 4 lanes (70 - 64 = 6 rounds to 8)
    size = max(size, 2 * -(-3 * 72 * 4 // 256) * 256)
    spans = [(load.dev_info.mem_addr[0], size), (softmax.dev_info.mem_addr[0], size)]
    spans.append((softmax.dev_info.imm_addr, softmax.dev_info.imm_size))
    spans.sort()
    assert all(a + n <= b for (a, n), (b, _) in itertools.pairwise(spans))
    assert softmax.dev_info.imm_size > 0


def test_double_buffers_alternate() -> None:
    run = run_kernel(tx8be.NegOp, [Operand(zeros(64, 4096))], blocked=True, spm_bytes=8192)
    (load, _) = addresses(run).values()
    assert len(load) == 2
    used = [op.spm for op in run.compiled.module.walk() if op.name == "tx8.rdma"]
    assert {address for (address,) in used} == set(load)


def test_the_search_comes_first() -> None:
    program = build_kernel_program(tx8be.ReluOp, [Operand(zeros(4, 4))], blocked=False)
    with pytest.raises(PassError, match="run shard-and-split first"):
        PassManager((AllocateSpm(),)).run(program)


def test_less_spm_than_the_tiling_was_made_for() -> None:
    run = run_kernel(tx8be.ReluOp, [Operand(zeros(64, 4096))], blocked=True)
    with pytest.raises(PassError, match=r"buffer 'LoadVar 0' has \d+ bytes, \d+ more than the capacity of 512"):
        PassManager.parse("set-target{spm-bytes=512},allocate-spm").run(run.allocated)
