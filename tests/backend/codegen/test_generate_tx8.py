"""The instruction program: golden text, constant image, layouts that must agree, public names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from support.kernels import Operand, run_kernel
from tx8ir.backend.codegen import GenerateTx8
from tx8ir.core import parse
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import Activation
from tx8ir.passes import PassError, PassManager
from tx8ir.sim import Simulator
from tx8ir.target.formats import F32
from tx8ir.target.layout import pack


def data(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def conv(*values: Any) -> Any:
    return tx8be.ConvOp(*values, strides=(2, 2), pads=(1, 1, 1, 1), activation=Activation.RELU)


def conv_operands() -> list[Operand | None]:
    weight, bias = Operand(data(3, 3, 64, 3), kind="const", layout="Cx"), Operand(data(64), kind="const")
    return [Operand(data(1, 16, 16, 3)), weight, bias, None]


def test_a_convolution_as_instructions(golden: Callable[[str, str], None]) -> None:
    run = run_kernel(conv, conv_operands(), blocked=True, sharding=(1, 8, 1, 2))
    run.check()
    golden(str(run.compiled), "backend/codegen/conv.mlir")


def test_constants_become_packed_segments() -> None:
    operands = conv_operands()
    run = run_kernel(conv, operands, blocked=True)
    weight, bias = operands[1], operands[2]
    assert weight is not None
    assert bias is not None
    assert sorted(run.compiled.weights) == ["const.1.c1", "const.2.c2"]
    np.testing.assert_array_equal(run.compiled.weights["const.1.c1"].numpy(), pack(weight.array, F32, "Cx"))
    np.testing.assert_array_equal(run.compiled.weights["const.2.c2"].numpy(), pack(bias.array, F32, "Cx"))


def test_classes_of_tiles_with_equal_slices_share_instructions() -> None:
    run = run_kernel(conv, conv_operands(), blocked=True, sharding=(1, 8, 1, 2))
    convs = [op for op in run.compiled.module.walk() if op.name == "tx8.conv"]
    # the first row of tiles has top padding, no other; the last row and column need none with stride 2
    assert [(len(op.tiles), op.pads) for op in convs] == [(2, (1, 0, 1, 0)), (14, (0, 0, 1, 0))]
    assert sorted(tile for op in convs for tile in op.tiles) == list(range(16))


def test_instructions_say_where_they_come_from() -> None:
    run = run_kernel(conv, conv_operands(), blocked=True)
    sources = {op.source for op in run.compiled.module.walk() if hasattr(op, "source")}
    assert sources == {"group 0 LoadVar", "group 0 LoadConst", "group 0 Conv", "group 0 StoreVar"}


def test_a_constant_of_another_format() -> None:
    run = run_kernel(conv, conv_operands(), blocked=True)
    del run.allocated.weights["c2"]
    run.allocated.weights.add("c2", np.zeros(64, np.float16))
    with pytest.raises(PassError, match=r"constant 'c2' is used as .*64xf32.* but holds float16\[64\]"):
        PassManager((GenerateTx8(),)).run(run.allocated)


def test_addresses_come_first() -> None:
    run = run_kernel(tx8be.ReluOp, [Operand(data(2, 64))], blocked=True)
    run.group.remove_attribute("ddr_addr")
    with pytest.raises(PassError, match="run allocate-ddr first"):
        PassManager((GenerateTx8(),)).run(run.allocated)


TWO_GROUPS = """
module {
  func.func @main(%a: T) -> tuple<T> {
    %0 = "tx8be.Input"(%a) {DEV} : (T) -> T
    %1 = "tx8be.Group"(%0) ({
    ^bb0(%x: T):
      %l = "tx8be.LoadVar"(%x) {DEV} : (T) -> T
      %y = "tx8be.Relu"(%l) {DEV} : (T) -> T
      %s = "tx8be.StoreVar"(%y) {DEV} : (T) -> T
      "tx8be.Return"(%s) : (T) -> ()
    }) {group_id = 0 : i64, group_tag = 0 : i64, layer = 1 : i64, need_barrier = true} : (T) -> T
    %2 = "tx8be.Group"(%1) ({
    ^bb0(%x: T):
      %l = "tx8be.LoadVar"(%x) {DEV} : (T) -> T
      %c = "tx8be.LoadConst"() {DEV, id = 0 : i64, name = "w", bypasscodegen = false} : () -> T
      %y = "tx8be.Mul"(%l, %c) {DEV} : (T, T) -> T
      %s = "tx8be.StoreVar"(%y) {DEV} : (T) -> T
      "tx8be.Return"(%s) : (T) -> ()
    }) {group_id = 1 : i64, group_tag = 0 : i64, layer = 0 : i64, need_barrier = true} : (T) -> T
    %3 = "tx8be.Tuple"(%2) : (T) -> tuple<T>
    %4 = "tx8be.Output"(%3) : (tuple<T>) -> tuple<T>
    return %4 : tuple<T>
  }
}
"""


def test_constants_load_before_the_barrier_that_values_wait_for() -> None:
    text = re.sub(r"\bT\b", "!pd.vtensor<32x64xf32>", TWO_GROUPS)
    program = parse(text.replace("DEV", 'dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>'))
    x, w = data(32, 64), data(32, 64) + 1
    program.weights.add("w", w)
    PassManager.parse("schedule-groups,allocate-ddr,generate-tx8").run(program)
    sources = [op.source for op in program.module.walk() if hasattr(op, "source")]
    assert sources == [
        *("group 0 LoadVar", "group 0 Relu", "group 0 StoreVar"),
        "group 1 LoadConst",
        "barrier before group 1",
        *("group 1 LoadVar", "group 1 Mul", "group 1 StoreVar"),
    ]
    simulator = Simulator(program)
    result = simulator.run({"arg0": x})
    np.testing.assert_allclose(result.outputs["result0"], np.maximum(x, 0) * w, rtol=1e-6)
    loads = {op.source: op.spm for op in program.module.walk() if op.name == "tx8.rdma"}
    assert loads["group 0 LoadVar"] < (0x20000,) < loads["group 1 LoadConst"], "from both ends of SPM"
