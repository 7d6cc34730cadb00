"""Time without data: what `Executable.estimate` says is what a run says, instruction for instruction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, reject, settings

import tx8ir
from tx8ir.core import Program
from tx8ir.executable import Executable
from tx8ir.passes import PassError
from tx8ir.signature import Signature, prepare_inputs
from tx8ir.sim import Simulator
from tx8ir.target.chip import BOARD
from tx8ir.testing import random_inputs
from tx8ir.testing.programs import LOWERABLE, tensor_programs

FIGURES = (
    "instructions", "instructions_by_class", "cycles", "bytes", "traffic", "by_source", "by_group", "roofline",
    "target",
)  # fmt: skip
ARRAYS = ("busy", "stalls", "ends")


def check_estimate(executable: Executable, program: Program, room: Path) -> None:
    """Executes every instruction, and compares what was executed and what it cost with the estimate."""
    estimate = executable.estimate()
    signature = Signature.of(program)
    inputs = prepare_inputs(signature, random_inputs(signature), executable.input_elements)
    simulator = Simulator(executable.program)
    executed = [(e.index, e.trips, tile) for e in simulator.executions(inputs) for tile in e.tiles]
    timed = [(event.item.index, event.trips, tile) for event in estimate.events for tile in event.tiles]
    assert sorted(executed) == sorted(timed)
    report = simulator.result().report
    for name in FIGURES:
        assert getattr(estimate, name) == getattr(report, name), name
    for name in ARRAYS:
        assert np.array_equal(getattr(estimate, name), getattr(report, name)), name
    assert estimate.trace(room / "estimate.json").read_text() == report.trace(room / "run.json").read_text()


@settings(max_examples=8)
@given(tensor_programs(LOWERABLE, max_ops=3))
def test_generated_programs(tmp_path_factory: pytest.TempPathFactory, program: Program) -> None:
    try:
        executable = tx8ir.compile(program)
    except PassError:
        reject()
    check_estimate(executable, program, tmp_path_factory.mktemp("traces"))


def test_a_network_at_another_profile() -> None:
    model = Path(__file__).parent.parent / "data" / "models" / "resnet18" / "model.onnx"
    executable = tx8ir.compile(tx8ir.frontends.onnx.load(model))
    board = executable.estimate("board")
    assert board.target.profile is BOARD
    assert board.cycles > executable.estimate().cycles == executable.estimate("datasheet").cycles
    assert board.cycles == executable.estimate(BOARD).cycles
    assert board.traffic["DDR"].read > 0
    assert executable.report.run is None, "nothing ran"
    with pytest.raises(ValueError, match="profile is 'fast'; expected one of datasheet, board"):
        executable.estimate("fast")
