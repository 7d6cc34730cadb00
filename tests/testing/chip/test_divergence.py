"""The first value of a compiled program that the chip holds otherwise than the reference, and the instruction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tx8ir
from tx8ir.backend.codegen import GenerateTx8
from tx8ir.compiler import CompileOptions, lower
from tx8ir.core import Program, as_attribute
from tx8ir.dialects import tx8
from tx8ir.frontends import onnx
from tx8ir.passes import PassManager
from tx8ir.testing import first_divergence

NETWORK = """
module {
  func.func @main(%x: !pd.vtensor<8x64xf32>, %y: !pd.vtensor<8x64xf32>) -> !pd.vtensor<8x64xf32>
      attributes {arg_names = ["x", "y"], result_names = ["out"]} {
    %0 = "pd.add"(%x, %y) : (!pd.vtensor<8x64xf32>, !pd.vtensor<8x64xf32>) -> !pd.vtensor<8x64xf32>
    %1 = "pd.relu"(%0) : (!pd.vtensor<8x64xf32>) -> !pd.vtensor<8x64xf32>
    %2 = "pd.exp"(%1) : (!pd.vtensor<8x64xf32>) -> !pd.vtensor<8x64xf32>
    return %2 : !pd.vtensor<8x64xf32>
  }
}
"""

X = np.linspace(-1, 1, 512, dtype=np.float32).reshape(8, 64)
INPUTS = {"x": X, "y": np.full((8, 64), 0.25, np.float32)}


def compiled(source: Program, options: CompileOptions = CompileOptions()) -> tuple[Program, Program]:
    """The graph and the instructions."""
    lowered = lower(source, options, through="allocate-ddr")
    machine = lowered.clone()
    PassManager((GenerateTx8(),)).run(machine)
    return lowered, machine


@pytest.fixture
def programs() -> tuple[Program, Program]:
    return compiled(tx8ir.parse(NETWORK), CompileOptions(opt_group="single"))


def test_a_program_compiled_right_does_not_diverge(programs: tuple[Program, Program]) -> None:
    assert first_divergence(*programs, INPUTS) is None


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("bfloat16", 3e-2)])
def test_every_value_of_a_network_agrees(dtype: str, tolerance: float) -> None:
    """Values in fused groups too, some of which come from operations of one kind and one name."""
    folder = Path(__file__).parents[2] / "data" / "models" / "gpt2"
    source = onnx.load(folder / "model.onnx")
    lowered, machine = compiled(source, CompileOptions(dtype=dtype))  # type: ignore[arg-type]
    ids = np.load(folder / "data.npz")["in_input_ids"].astype(np.int32)
    assert first_divergence(lowered, machine, {"input_ids": ids}, tolerance=tolerance) is None


def test_the_first_wrong_value_is_named_with_its_instruction(programs: tuple[Program, Program]) -> None:
    """One relu is made an abs: the sum before it is right, and the exponential after it is not looked at any more."""
    lowered, machine = programs
    relu = next(op for op in machine.module.walk() if isinstance(op, tx8.UnaryOp) and op.function == "relu")
    relu.set_attribute("function", as_attribute("abs"))
    found = first_divergence(lowered, machine, INPUTS)
    assert found is not None
    assert "Relu" in found.value
    assert found.index == (0, 0)
    assert found.expected == 0
    assert found.got == pytest.approx(0.75)
    negative = (INPUTS["x"] + INPUTS["y"]) < 0
    assert found.wrong == (int(negative.sum()), 512)
    np.testing.assert_array_equal(found.chip.reshape(8, 64), np.abs(INPUTS["x"] + INPUTS["y"]))
    assert found.memory == "SPM"
    maker = [op for op in machine.module.walk() if isinstance(op, tx8.Instruction)][found.instruction]
    assert maker is relu
    assert found.source == maker.source
    assert found.source.startswith(f"group {found.group} ")
    assert f'instruction {found.instruction} from "{found.source}"' in str(found)


def test_inside_of_a_fused_group_too() -> None:
    """All three operations are one group: the relu's result never leaves the scratch-pads."""
    lowered, machine = compiled(tx8ir.parse(NETWORK))
    assert first_divergence(lowered, machine, INPUTS) is None
    relu = next(op for op in machine.module.walk() if isinstance(op, tx8.UnaryOp) and op.function == "relu")
    relu.set_attribute("function", as_attribute("abs"))
    found = first_divergence(lowered, machine, INPUTS)
    assert found is not None
    assert (found.memory, found.got) == ("SPM", pytest.approx(0.75))
    assert "Relu" in found.value
    assert "Relu" in found._repr_html_()


def test_a_store_to_the_wrong_place_is_found_where_it_is_stored(programs: tuple[Program, Program]) -> None:
    lowered, machine = programs
    store = next(op for op in machine.module.walk() if isinstance(op, tx8.WdmaOp))
    swapped = (*store.ddr[:-2], store.ddr[-1], store.ddr[-2])
    store.set_attribute("ddr", as_attribute(swapped))
    found = first_divergence(lowered, machine, INPUTS)
    assert found is not None
    assert found.memory == "DDR"
    assert "StoreVar" in found.value
    assert found.source == store.source


def test_the_tolerance_is_relative_to_the_largest_element(programs: tuple[Program, Program]) -> None:
    lowered, machine = programs
    add = next(op for op in machine.module.walk() if isinstance(op, tx8.BinaryVVOp))
    add.set_attribute("function", as_attribute("sub"))
    assert first_divergence(lowered, machine, INPUTS, tolerance=0.3) is not None
    assert first_divergence(lowered, machine, INPUTS, tolerance=1.0) is None
