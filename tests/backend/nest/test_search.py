"""The search: cuts that are asked for, slices that are all that fits, and what does not fit at all."""

from __future__ import annotations

import re

import numpy as np
import pytest

from support.kernels import Operand, run_kernel
from tx8ir.backend.set_target import SetTarget
from tx8ir.core import parse
from tx8ir.dialects import tx8be
from tx8ir.passes import PassError, PassManager


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize("sharding", [(2, 1), (16, 1), (4, 4), (3, 1), (1, 1)])
def test_a_given_sharding_is_taken(sharding: tuple[int, int]) -> None:
    run = run_kernel(tx8be.NegOp, [Operand(zeros(16, 64) + 1)], blocked=False, sharding=sharding)
    run.check()
    strategy = run.schedule.strategy
    parts = [1, 1]
    for cut in (*strategy.x, *strategy.y):
        name, count = cut.split("=")
        parts[int(name.removeprefix("d"))] *= int(count)
    assert tuple(parts) == sharding


@pytest.mark.parametrize("sharding", [(2,), (0, 1)])
def test_a_given_sharding_has_a_number_for_each_dimension(sharding: tuple[int, ...]) -> None:
    said = rf"sharding \[{sharding[0]}.*\] is given for a result of shape \[16, 64\]"
    with pytest.raises(PassError, match=said):
        run_kernel(tx8be.NegOp, [Operand(zeros(16, 64))], blocked=False, sharding=sharding)


def test_a_given_sharding_that_no_mesh_has() -> None:
    with pytest.raises(PassError, match=r"sharding \[5, 1\] is given, which no cuts over 4 by 4 tiles have"):
        run_kernel(tx8be.NegOp, [Operand(zeros(16, 64))], blocked=False, sharding=(5, 1))


def test_what_does_not_fit_at_once_is_split_over_time() -> None:
    run = run_kernel(tx8be.NegOp, [Operand(zeros(64, 4096) + 1)], blocked=True, spm_bytes=8192)
    run.check()
    assert run.schedule.strategy.time


def test_slices_of_any_number_where_nothing_else_fits() -> None:
    """13 pieces of 64 channels on one tile each: halves and quarters are too large."""
    run = run_kernel(tx8be.NegOp, [Operand(zeros(2, 13 * 64) + 1)], blocked=True, spm_bytes=1100, sharding=(1, 1))
    run.check()
    assert run.schedule.strategy.time == ("d1=13",)


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
      %y = "tx8be.Relu"(%l) {DEV, name = "b"} : (T) -> T
      %s = "tx8be.StoreVar"(%y) {DEV} : (T) -> T
      "tx8be.Return"(%s) : (T) -> ()
    }) {group_id = 1 : i64, group_tag = 0 : i64} : (T) -> T
    %3 = "tx8be.Tuple"(%2) : (T) -> tuple<T>
    %4 = "tx8be.Output"(%3) : (tuple<T>) -> tuple<T>
    return %4 : tuple<T>
  }
}
"""


def test_equal_groups_are_searched_once() -> None:
    text = re.sub(r"\bT\b", "!pd.vtensor<32x64xf32>", TWINS)
    program = parse(text.replace("DEV", 'dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>'))
    report = PassManager.parse("schedule-groups").run(program)
    first, second = [op for op in program.module.walk() if isinstance(op, tx8be.GroupOp)]
    assert (first.template_id, second.template_id) == (-1, 0)
    assert report.stages[0].statistics["reused"] == 1
