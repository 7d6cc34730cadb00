"""Both bundled networks, from the ONNX file to numbers out of simulated instructions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tx8ir
from tx8ir.core import Compute, Operation, Program, default_context
from tx8ir.core.ir.equality import structurally_equal
from tx8ir.dialects import tx8
from tx8ir.interpreter import Evaluate
from tx8ir.sim import SimError, Simulator

MODELS = Path(__file__).parent.parent / "data" / "models"
NETWORKS = ("resnet18", "gpt2")
# Largest error against PyTorch's float64 outputs, relative to the largest of them.
BOUNDS = {
    ("resnet18", "float32"): 1e-5,
    ("gpt2", "float32"): 1e-5,
    ("resnet18", "bfloat16"): 8e-2,
    ("gpt2", "bfloat16"): 3e-2,
}
# gpt2 replaces the NaN of attention rows that are masked as a whole; its inputs have no such row, so nothing is moved.
# resnet18 clears the padding in the channel blocks of its transposed image; what reads them is the neural engine, which
# never looks at padding.
INERT_HERE = {("gpt2", "tx8.maskmove"), ("resnet18", "tx8.memset")}


def load(network: str) -> tuple[Program, dict[str, np.ndarray], np.ndarray]:
    """The program, its inputs and PyTorch's float64 answer."""
    data = np.load(MODELS / network / "data.npz")
    inputs = {name.removeprefix("in_"): data[name] for name in data.files if name.startswith("in_")}
    return tx8ir.frontends.onnx.load(MODELS / network / "model.onnx"), inputs, data["ref64_0"]


def error(outputs: dict[str, np.ndarray], expected: np.ndarray) -> float:
    (output,) = outputs.values()
    return float(np.abs(output.astype(np.float64) - expected).max() / np.abs(expected).max())


@pytest.fixture(scope="module")
def compiled() -> dict[str, tx8ir.Executable]:
    return {network: tx8ir.compile(load(network)[0], keep_stages=True) for network in NETWORKS}


@pytest.mark.parametrize(("network", "dtype"), BOUNDS)
def test_the_numbers_agree_with_pytorch(network: str, dtype: Any, compiled: dict[str, tx8ir.Executable]) -> None:
    program, inputs, expected = load(network)
    executable = compiled[network]  # as the models are, in float32
    if dtype != "float32":
        executable = tx8ir.compile(program, options=tx8ir.CompileOptions(dtype=dtype))
    assert error(executable.run(inputs), expected) <= BOUNDS[network, dtype]


@pytest.mark.parametrize("network", NETWORKS)
def test_every_stage_prints_parses_back_to_an_equal_program_and_verifies(
    network: str, compiled: dict[str, tx8ir.Executable]
) -> None:
    stages = compiled[network].stages
    assert len(stages) > 15
    for name, text in stages.items():
        program = tx8ir.parse(text)
        program.verify()
        assert str(program) == text, f"after {name}"
        assert structurally_equal(tx8ir.parse(str(program)).module, program.module) is None, f"after {name}"


@pytest.mark.parametrize("network", NETWORKS)
def test_no_operation_is_evaluated_outside_of_instructions(
    network: str, compiled: dict[str, tx8ir.Executable], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("an operation was evaluated by the interpreter during a simulation")

    for op_class in operation_classes():
        for interface, method in ((Compute, "compute"), (Evaluate, "evaluate")):
            model = op_class.info.interfaces.get(interface)
            if model is not None:
                monkeypatch.setattr(model, method, refuse)
    _, inputs, expected = load(network)
    executable = compiled[network]
    assert {op.name.partition(".")[0] for op in executable.program.module.walk()} == {"builtin", "tx8"}
    assert error(executable.run(inputs), expected) <= BOUNDS[network, "float32"]


def operation_classes() -> list[type[Operation]]:
    return [op_class for dialect in default_context() for op_class in dialect.ops.values()]


def instruction_classes(program: Program) -> set[str]:
    return {op.name for op in program.module.walk() if isinstance(op, tx8.Instruction)}


@pytest.mark.parametrize("network", NETWORKS)
def test_removing_any_one_instruction_class_makes_the_run_fail(
    network: str, compiled: dict[str, tx8ir.Executable]
) -> None:
    """Every class carries part of the computation.

    Without it the simulator finds bytes that nobody wrote or an unordered conflict, or the numbers are wrong beyond the
    bound; and a simulator that cannot execute it says so.
    """
    executable = compiled[network]
    _, inputs, expected = load(network)
    names = instruction_classes(executable.program)
    assert {"tx8.rdma", "tx8.wdma", "tx8.gemm", "tx8.channelnorm", "tx8.barrier"} <= names
    for name in sorted(names):
        without = executable.program.clone()
        for op in list(without.module.walk()):
            if op.name == name:
                op.erase()
        device_inputs = {
            port.port_name: np.asarray(inputs[port.port_name]).astype(port.tensor.element.dtype)
            for port in without.module.walk()
            if isinstance(port, tx8.InputOp)
        }
        with pytest.raises(SimError, match=f"{name} is disabled"):
            Simulator(executable.program, disabled=frozenset({name})).run(device_inputs)
        if (network, name) in INERT_HERE:
            continue
        try:
            outputs = Simulator(without).run(device_inputs).outputs
        except SimError:
            continue
        assert not error(dict(outputs), expected) <= BOUNDS[network, "float32"], f"{network} does without {name}"
