"""The search: the cheapest of all candidates, splits when SPM is short, reuse for equal groups, and its errors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from support.kernels import Operand, build_kernel_program, run_kernel
from tx8ir.backend.oplib.costs import InstructionCosts
from tx8ir.backend.schedule.body import GroupBody
from tx8ir.backend.schedule.tiling import Tiling, axis_parts, factor_vectors
from tx8ir.backend.search import find_tiling, shardings
from tx8ir.backend.search.estimate import Pricer, pipelined_cycles
from tx8ir.backend.set_target import SetTarget
from tx8ir.core import Program, parse
from tx8ir.dialects import tx8, tx8be
from tx8ir.dialects.tx8be import Activation
from tx8ir.passes import PassError, PassManager
from tx8ir.target.chip import TX8

COSTS = InstructionCosts(TX8)


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def group_of(program: Program) -> tx8be.GroupOp:
    return next(op for op in program.module.walk() if isinstance(op, tx8be.GroupOp))


def conv_program(h: int = 16, c: int = 64, o: int = 128) -> Program:
    operands = [Operand(zeros(1, h, h, c)), Operand(zeros(3, 3, o, c), kind="const", layout="Cx"), None, None]
    return build_kernel_program(lambda *v: tx8be.ConvOp(*v, pads=(1, 1, 1, 1)), operands, blocked=True)


def test_the_choice_is_the_cheapest_of_all_shardings() -> None:
    body = GroupBody.of(group_of(conv_program()), TX8)
    best = find_tiling(body, 16, COSTS)
    pricer = Pricer(body, 16, COSTS)
    prices = []
    for vector in (*factor_vectors(16, 4), (1, 1, 1, 1)):
        tile = tuple(axis_parts(*axis)[0][1] for axis in zip(body.shape, body.cut_alignment, vector, strict=True))
        prices += [c.cycles for c in pricer.price(Tiling(vector, tile))]
    assert best.cycles <= min(prices)
    again = [c for c in pricer.price(best.tiling) if c.buffers == best.buffers]
    assert again == [best]


def test_equal_cuts_are_tried_once() -> None:
    body = GroupBody.of(group_of(conv_program(h=4, o=64)), TX8)
    vectors = shardings(body, 16)
    assert len(vectors) < 36
    assert len({tuple(min(s, n) for s, n in zip(v, (1, 4, 4, 4), strict=True)) for v in vectors}) == len(vectors)


DENSE_LAYER = [
    Operand(zeros(256, 512)),
    Operand(zeros(512, 768), kind="const"),
    Operand(zeros(768), kind="const"),
    None,
]


@pytest.mark.parametrize(
    ("make", "operands", "spm"),
    [
        (tx8be.ReluOp, [Operand(zeros(4, 32, 32, 96))], None),
        (tx8be.AddOp, [Operand(zeros(64, 640)), Operand(zeros(64, 640))], None),
        (lambda *v: tx8be.GemmOp(*v, activation=Activation.RELU), DENSE_LAYER, None),
        (tx8be.SoftmaxOp, [Operand(zeros(64, 1000))], None),
        (tx8be.ReluOp, [Operand(zeros(64, 4096))], 16384),
    ],
    ids=["relu", "add", "gemm", "softmax", "relu in steps"],
)
def test_the_estimate_is_what_the_simulator_measures(make: Any, operands: list[Any], spm: int | None) -> None:
    run = run_kernel(make, operands, blocked=True, spm_bytes=spm)
    target = tx8.target_of(run.group)
    priced = Pricer(GroupBody.of(run.group, target), 16, InstructionCosts(target)).price(
        Tiling(run.sharding, run.slice)
    )
    assert min(c.cycles for c in priced) == pytest.approx(run.report.cycles, rel=0.1)


def test_a_split_over_time_when_spm_is_short() -> None:
    x = np.arange(64 * 4096, dtype=np.float32).reshape(64, 4096)
    run = run_kernel(tx8be.NegOp, [Operand(x)], blocked=True, spm_bytes=8192)
    run.check()
    assert run.slice < (64, 4096)
    assert run.group.spm_alloc_size <= 8192
    assert run.store.dev_info.multi_buf_num == 2, "the next slice loads while this one is stored"


def test_ragged_last_slices() -> None:
    x = np.arange(11 * 7 * 3, dtype=np.float32).reshape(11, 7, 3)
    run = run_kernel(tx8be.NegOp, [Operand(x)], blocked=False, spm_bytes=512, sharding=(1, 1, 1))
    run.check()
    assert any(n % s for n, s in zip(x.shape, run.slice, strict=True))


def test_weights_stay_over_the_time_steps() -> None:
    x, w = zeros(1, 64, 64, 64) + 1, zeros(3, 3, 16, 64) + 1
    operands = [Operand(x), Operand(w, kind="const", layout="Cx"), None, None]
    make = lambda *v: tx8be.ConvOp(*v, pads=(1, 1, 1, 1))  # noqa: E731
    run = run_kernel(make, operands, blocked=True, spm_bytes=1 << 18, sharding=(1, 1, 1, 1))
    run.check()
    loads = [op for op in run.compiled.module.walk() if op.name == "tx8.rdma"]
    weights = [op for op in loads if op.source.endswith("LoadConst")]
    assert len(loads) > 2 * len(weights)


def test_a_given_sharding_is_taken() -> None:
    run = run_kernel(tx8be.NegOp, [Operand(zeros(16, 64))], blocked=False, sharding=(2, 1))
    assert run.sharding == (2, 1)


def test_nothing_fits() -> None:
    operands = [Operand(zeros(1, 4, 4, 64)), Operand(zeros(7, 7, 64, 64), kind="const", layout="Cx"), None, None]
    make = lambda *v: tx8be.ConvOp(*v, pads=(3, 3, 3, 3))  # noqa: E731
    with pytest.raises(PassError, match=r"no slice of tx8be.Conv -> \[1, 4, 4, 64\] fits the 4096 bytes of SPM"):
        run_kernel(make, operands, blocked=True, spm_bytes=4096)


def test_more_spm_than_the_chip_has() -> None:
    with pytest.raises(ValueError, match="expected 1 to 3014656"):
        SetTarget(spm_bytes=1 << 22)


TWINS = """
module {
  func.func @main(%a: T) -> tuple<T> {
    %0 = "tx8be.Input"(%a) {DEV} : (T) -> T
    %1 = "tx8be.Group"(%0) ({
    ^bb0(%x: T):
      %l = "tx8be.LoadVar"(%x) {DEV} : (T) -> T
      %y = "tx8be.Relu"(%l) {DEV} : (T) -> T
      %s = "tx8be.StoreVar"(%y) {DEV} : (T) -> T
      "tx8be.Return"(%s) : (T) -> ()
    }) {group_id = 0 : i64, group_tag = 0 : i64} : (T) -> T
    %2 = "tx8be.Group"(%1) ({
    ^bb0(%x: T):
      %l = "tx8be.LoadVar"(%x) {DEV} : (T) -> T
      %y = "tx8be.SECOND"(%l) {DEV} : (T) -> T
      %s = "tx8be.StoreVar"(%y) {DEV} : (T) -> T
      "tx8be.Return"(%s) : (T) -> ()
    }) {group_id = 1 : i64, group_tag = 0 : i64} : (T) -> T
    %3 = "tx8be.Tuple"(%2) : (T) -> tuple<T>
    %4 = "tx8be.Output"(%3) : (tuple<T>) -> tuple<T>
    return %4 : tuple<T>
  }
}
"""


def twins(second: str) -> Program:
    """Two groups, Relu and `second`, of the same form."""
    text = re.sub(r"\bT\b", "!pd.vtensor<8x64xf32>", TWINS.replace("SECOND", second))
    return parse(text.replace("DEV", 'dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>'))


@pytest.mark.parametrize(("second", "template", "searched"), [("Relu", 0, 1), ("Tanh", -1, 2)])
def test_equal_groups_reuse_a_result(second: str, template: int, searched: int) -> None:
    program = twins(second)
    report = PassManager.parse("shard-and-split").run(program)
    groups = [op for op in program.module.walk() if isinstance(op, tx8be.GroupOp)]
    assert [g.template_id for g in groups] == [-1, template]
    assert report.stages[0].statistics["searched"] == searched
    stores = [op for op in program.module.walk() if isinstance(op, tx8be.StoreVarOp)]
    assert stores[0].tile_parallel == stores[1].tile_parallel


@pytest.mark.parametrize(
    ("stages", "steps", "buffers", "startup", "cycles"),
    [
        ((10, 20, 5), 1, 1, 0, 35),
        ((10, 20, 5), 4, 1, 0, 140),
        ((10, 20, 5), 4, 2, 0, 95),  # the compute stage sets the pace
        ((40, 20, 5), 3, 2, 5, 145),  # load and store together, less one start-up
        ((40, 20, 5), 3, 2, 0, 155),
        ((40, 20, 0), 3, 2, 5, 140),  # nothing is stored: only the loads
    ],
)
def test_pipelined_cycles(stages: tuple[int, int, int], steps: int, buffers: int, startup: int, cycles: int) -> None:
    assert pipelined_cycles(*stages, steps, buffers, startup) == cycles
