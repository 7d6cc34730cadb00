"""Every misuse is a SimError that says which instruction, tile, bytes and source it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tx8ir.core import IrError, VerifyError, parse
from tx8ir.dialects import tx8
from tx8ir.sim import SimError, Simulator
from tx8ir.target.chip import TX8

FIRST, END = TX8.spm_allocatable

# Two tiles load 32 floats each, double them, and store them. DDR starts at 0x280000000 = 10737418240.
PROGRAM = """
module {
  "tx8.program"() ({
    "tx8.segment"() {name = "table", address = 10737418240, size = 256, kind = "const"} : () -> ()
    "tx8.segment"() {name = "in", address = 10737422336, size = 256, kind = "input"} : () -> ()
    "tx8.segment"() {name = "out", address = 10737426432, size = 256, kind = "output"} : () -> ()
    "tx8.input"() {name = "x", address = 10737422336, type = !pd.vtensor<2x32xf32>, layout = "Tensor"} : () -> ()
    "tx8.output"() {name = "y", address = 10737426432, type = !pd.vtensor<2x32xf32>, layout = "Tensor"} : () -> ()
    "tx8.rdma"() {tiles = array<i64: 0, 5>, spm = array<i64: 65536>, ddr = array<i64: 10737422336, 10737422464>,
                  element_bytes = 4, count = 32} : () -> ()
    "tx8.binary_vv"() {tiles = array<i64: 0, 5>, function = "add", lhs = array<i64: 65536>, rhs = array<i64: 65536>,
                       dst = array<i64: 65792>, count = 32, format = "f32", source = "double"} : () -> ()
    "tx8.wdma"() {tiles = array<i64: 0, 5>, spm = array<i64: 65792>, ddr = array<i64: 10737426432, 10737426560>,
                  element_bytes = 4, count = 32} : () -> ()
  }) : () -> ()
}
"""
X = np.arange(64, dtype=np.float32).reshape(2, 32)


def run(text: str = PROGRAM, inputs: Any = None, **options: Any) -> Any:
    program = parse(text)
    program.verify()
    program.weights.add("table", np.arange(256, dtype=np.uint8))
    return Simulator(program, **options).run({"x": X} if inputs is None else inputs)


def edited(old: str, new: str) -> str:
    assert PROGRAM.count(old) == 1, old
    return PROGRAM.replace(old, new)


def test_a_small_program_from_text_doubles_its_input() -> None:
    result = run()
    assert (result.outputs["y"] == 2 * X).all()
    assert result.report.instructions_by_class == {"tx8.rdma": 1, "tx8.binary_vv": 1, "tx8.wdma": 1}


def test_reading_bytes_never_written_names_instruction_tile_bytes_and_source() -> None:
    # 4 elements more than were loaded
    text = edited("dst = array<i64: 65792>, count = 32", "dst = array<i64: 66048>, count = 36")
    with pytest.raises(SimError) as caught:
        run(text.replace("spm = array<i64: 65792>", "spm = array<i64: 66048>"))
    error = caught.value
    assert error.message.splitlines()[0] == (
        'instruction 1 (tx8.binary_vv from "double"): operand lhs of tile 0, SPM [0x10000, 0x10090) is read, '
        "but byte 0x10080 was never written"
    )
    assert error.message.splitlines()[1].startswith('  "tx8.binary_vv"() {count = 36 : i64')
    assert (error.index, error.tile, error.addresses, error.source) == (1, 0, (0x10000, 0x10090), "double")
    assert isinstance(error, IrError)
    assert error.op is not None
    assert error.location is not None


def test_the_first_unwritten_byte_is_found_on_the_tile_that_lacks_it(tools: Any) -> None:
    bench = tools.Bench((0, 1, 2))
    (address,) = bench.put(np.zeros((3, 64), np.uint8))
    bench.do(
        tx8.unary, function="abs", src=(address, address + 4, address), dst=(FIRST + 0x8000,), count=16, format="f32"
    )
    with pytest.raises(SimError, match=rf"tile 1, .* byte {address + 64:#x} was never written"):
        bench.run()


def test_a_strided_read_needs_only_the_bytes_of_its_runs(tools: Any) -> None:
    bench = tools.Bench((4,))
    (dst,) = bench.room(64)
    (src,) = bench.put(np.arange(16, dtype=np.uint8)[None])
    spread: dict[str, Any] = {"segment_bytes": 4, "iterations": (4,)}
    bench.do(tx8.tdma, src=(src,), dst=(dst,), src_strides=(4,), dst_strides=(8,), **spread)
    bench.do(tx8.tdma, src=(dst,), dst=(dst + 256,), src_strides=(8,), dst_strides=(4,), **spread)
    bench.get((dst + 256,), 16)
    assert (bench.run()[0] == np.arange(16)).all()
    bench = tools.Bench((4,))
    (dst,) = bench.room(64)
    (src,) = bench.put(np.arange(16, dtype=np.uint8)[None])
    bench.do(tx8.tdma, src=(src,), dst=(dst,), src_strides=(4,), dst_strides=(8,), **spread)
    bench.do(tx8.tdma, src=(dst,), dst=(dst + 256,), src_strides=(7,), dst_strides=(4,), **spread)
    with pytest.raises(SimError, match=f"byte {dst + 7:#x} was never written"):
        bench.run()


def gemm_of_rows(tools: Any, *, row_bytes: int) -> Any:
    """A gemm whose left factor [1, 1, 4, 3] in f32 (rows of 4 lanes) came in row by row, `row_bytes` of each."""
    bench = tools.Bench((0,))
    (lhs,) = bench.room(256)
    src = bench.put_array(np.ones((1, 16), np.float32))
    bench.do(
        tx8.tdma,
        src=src,
        dst=(lhs,),
        segment_bytes=row_bytes,
        src_strides=(16,),
        dst_strides=(16,),
        iterations=(4,),
    )
    rhs = bench.put_tensor(np.ones((1, 1, 1, 3, 2), np.float32), "f32")
    out = bench.room(256)
    bench.do(tx8.gemm, lhs=(lhs,), rhs=rhs, out=out, m=4, k=3, n=2, in_format="f32", out_format="f32")
    bench.get(out, 64)
    return bench


def test_a_blocked_operand_needs_its_elements_but_not_its_padding(tools: Any) -> None:
    (out,) = gemm_of_rows(tools, row_bytes=12).run()
    assert (tools.tensor(np.pad(out, ((0, 0), (0, 192))), (1, 1, 4, 2), "f32") == 3).all()
    with pytest.raises(SimError, match=r"instruction \d+ \(tx8.gemm\): operand lhs .* byte 0x10008 was never written"):
        gemm_of_rows(tools, row_bytes=8).run()


def test_an_instruction_may_run_over_the_gaps_of_a_blocked_result(tools: Any) -> None:
    """The vector unit works on physical elements; between batches it may read what no one wrote."""
    shape = (2, 1, 1, 3)
    bench = tools.Bench((0,))
    src, blocked, dst = bench.put_array(np.ones((1, 6), np.float32)), bench.room(512), bench.room(512)
    bench.do(tx8.channelnorm, src=src, dst=blocked, shape=shape, format="f32")
    bench.do(tx8.unary, function="square", src=blocked, dst=dst, count=128, format="f32")
    bench.get(dst, 512)
    (out,) = bench.run()
    assert (tools.tensor(out, shape, "f32") == 1).all()


def test_a_masked_move_leaves_unwritten_what_it_does_not_move(tools: Any) -> None:
    bench = tools.Bench((0,))
    src, mask = bench.put_array(np.ones((1, 4), np.float32)), bench.put_array(np.array([[1, 0, 1, 1]], np.float32))
    (dst,) = bench.room(16)
    bench.do(tx8.maskmove, src=src, mask=mask, dst=(dst,), count=4, format="f32")
    bench.get((dst,), 16)
    with pytest.raises(SimError, match=f"byte {dst + 4:#x} was never written"):
        bench.run()


def test_checks_can_be_switched_off() -> None:
    text = edited("dst = array<i64: 65792>, count = 32", "dst = array<i64: 66048>, count = 36")
    text = text.replace("spm = array<i64: 65792>", "spm = array<i64: 66048>")
    assert (run(text, checks=False).outputs["y"] == 2 * X).all()


@pytest.mark.parametrize("address", [FIRST - 4, 0, END - 124, END])
def test_reserved_scratchpad_cannot_be_used(address: int) -> None:
    text = edited("dst = array<i64: 65792>", f"dst = array<i64: 65792, {address}>")
    with pytest.raises(SimError, match=r"operand dst of tile 5, SPM \[.*\) is outside of the usable range"):
        run(text)


def test_ddr_outside_of_all_segments_cannot_be_used() -> None:
    # One byte over the end of the segment
    text = edited("10737422464>", "10737422465>")
    with pytest.raises(SimError, match=r"operand ddr of tile 5, DDR \[.*\) is not inside a declared segment") as error:
        run(text)
    assert (error.value.index, error.value.tile) == (0, 5)


@pytest.mark.parametrize(("name", "address"), [("table", 10737418240), ("in", 10737422336)])
def test_constants_and_inputs_cannot_be_written(name: str, address: int) -> None:
    text = edited("ddr = array<i64: 10737426432, 10737426560>", f"ddr = array<i64: {address}, {address + 128}>")
    with pytest.raises(
        SimError, match=f'is in segment "{name}" of kind (const|input), which instructions cannot write'
    ):
        run(text)


def test_an_output_that_nothing_wrote_is_an_error() -> None:
    text = edited('{tiles = array<i64: 0, 5>, spm = array<i64: 65792>, ddr = array<i64: 10737426432, 10737426560>',
                  '{tiles = array<i64: 5>, spm = array<i64: 65792>, ddr = array<i64: 10737426560>')  # fmt: skip
    with pytest.raises(SimError, match='output "y" has 128 bytes that no instruction wrote, the first at 0x280002000'):
        run(text)


def test_a_disabled_class_is_an_error_when_it_is_executed() -> None:
    with pytest.raises(SimError, match=r"instruction 1 .*tx8.binary_vv is disabled"):
        run(disabled=frozenset({"tx8.binary_vv"}))
    assert run(disabled=frozenset({"tx8.gemm"})).report.instructions == 3


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, 'input "x" is missing; expected "x"'),
        ({"x": X, "z": X}, 'there is no input "z"; expected "x"'),
        (
            {"x": X.astype(np.float64)},
            r'input "x" has shape \[2, 32\] and type float64; expected \[2, 32\] and float32',
        ),
        ({"x": X.T.copy()}, r'input "x" has shape \[32, 2\]'),
    ],
)
def test_inputs_must_be_exactly_the_declared_ones(inputs: Any, message: str) -> None:
    with pytest.raises(SimError, match=message):
        run(inputs=inputs)


def test_a_constant_segment_needs_its_bytes_in_the_weight_store() -> None:
    program = parse(PROGRAM)
    with pytest.raises(SimError, match='the weight store has no variable "table"'):
        Simulator(program)
    program.weights.add("table", np.zeros(255, np.uint8))
    with pytest.raises(SimError, match=r'variable "table" has type .*255xui8.*; expected .*256xui8'):
        Simulator(program)


def test_a_module_without_a_program_cannot_be_run() -> None:
    with pytest.raises(SimError, match=r"the module has 0 tx8\.program; expected one"):
        Simulator(parse("module { }"))


def test_runs_of_one_simulator_do_not_see_each_other() -> None:
    program = parse(PROGRAM)
    program.weights.add("table", np.zeros(256, np.uint8))
    simulator = Simulator(program)
    first, second = simulator.run({"x": X}), simulator.run({"x": -X})
    assert (first.outputs["y"] == 2 * X).all()
    assert (second.outputs["y"] == -2 * X).all()
    assert first.report == second.report
    with pytest.raises(SimError):
        simulator.run({})
    assert simulator.memory.spm.written is not None
    assert not simulator.memory.spm.written.bytes(0, simulator.memory.spm.size).any()


def test_what_no_machine_could_do_is_found_by_the_verifier_already() -> None:
    with pytest.raises(VerifyError, match="there is no tile 16"):
        parse(PROGRAM.replace("array<i64: 0, 5>", "array<i64: 0, 16>")).verify()
