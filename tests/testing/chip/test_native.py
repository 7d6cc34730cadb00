"""`main.c`: compiled by gcc, it issues the instructions of the program, and they compute the same bytes."""

from __future__ import annotations

import importlib
import itertools
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tx8ir
from tx8ir.backend.codegen import c_interface
from tx8ir.backend.codegen.main_c import main_c
from tx8ir.core import ArrayAttr, Builder, IrError, Program
from tx8ir.dialects import tx8
from tx8ir.dialects.tx8 import Follow, Instruction, Requantize
from tx8ir.executable import Executable
from tx8ir.kernels import Kernel
from tx8ir.sim import Simulator
from tx8ir.sim.run.issue import nodes_of, stream
from tx8ir.testing import random_inputs
from tx8ir.testing.chip.native import Issued, NativeProgram

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="main.c is compiled by gcc, which is not here")


def build(program: Program, folder: Path) -> NativeProgram:
    (folder / "main.c").write_text(main_c(program, "0"))
    (folder / "tx8.h").write_text(c_interface.header("0"))
    return NativeProgram(folder / "main.c", program, folder)


def expected(program: Program, tile: int) -> Iterator[Issued]:
    """What a tile executes of the program itself, with addresses where the trips have moved them."""
    (body,) = [op for op in program.body if isinstance(op, tx8.ProgramOp)]
    for issue in stream(nodes_of(body.body.block, itertools.count()), tile):
        op = issue.leaf.op
        position = op.tiles.index(tile)
        fields: dict[str, Any] = {}
        for field in op.definition.attributes:
            value = getattr(op, field.name)
            if value is None or field.name in ("source", "follows"):
                continue
            if field.name in op.address_fields():
                moved = sum(t.offset(issue.trips[-1 - t.level]) for t in op.terms if t.field == field.name)
                value = (value[position if len(value) > 1 else 0] + moved,)
            elif field.name == "peers":
                value = op.peers_of(position) if isinstance(op, tx8.MessageOp) else value
            fields[field.name] = value
        if not isinstance(op, tx8.BarrierOp):
            del fields["tiles"]
        yield Issued(type(op), fields)


def check_issue(native: NativeProgram, program: Program) -> None:
    for tile in range(tx8.target_of(program).tiles):
        assert native.issue(tile) == list(expected(program, tile))


def check(executable: Executable, folder: Path, inputs: Mapping[str, np.ndarray]) -> None:
    native = NativeProgram.of(executable, folder)
    check_issue(native, executable.program)
    ours = executable.run(inputs)
    theirs = Executable(native.recorded(), executable.signature, executable.report.compilation).run(inputs)
    for name, array in ours.items():
        assert array.tobytes() == theirs[name].tobytes(), name


SMALL = {
    "softmax": '"pd.softmax"(%x) {axis = -1 : i64}',
    "product": '"pd.matmul"(%x, %x) {transpose_x = false, transpose_y = true}',
}


@pytest.mark.parametrize("name", SMALL)
def test_small_programs(name: str, tmp_path: Path) -> None:
    result = {"softmax": "8x200xf32", "product": "8x8xf32"}[name]
    operands = "(!pd.vtensor<8x200xf32>)" if name == "softmax" else "(!pd.vtensor<8x200xf32>, !pd.vtensor<8x200xf32>)"
    program = tx8ir.parse(f"""
    module {{
      func.func @main(%x: !pd.vtensor<8x200xf32>) -> !pd.vtensor<{result}>
          attributes {{arg_names = ["x"], result_names = ["y"]}} {{
        %0 = {SMALL[name]} : {operands} -> !pd.vtensor<{result}>
        return %0 : !pd.vtensor<{result}>
      }}
    }}
    """)
    executable = tx8ir.compile(program)
    check(executable, tmp_path, random_inputs(executable.signature))


@pytest.mark.slow
def test_a_network(tmp_path: Path) -> None:
    folder = ROOT / "tests" / "data" / "models" / "resnet18"
    executable = tx8ir.compile(tx8ir.frontends.onnx.load(folder / "model.onnx"))
    data = np.load(folder / "data.npz")
    check(executable, tmp_path, {n.removeprefix("in_"): data[n] for n in data.files if n.startswith("in_")})


def instructions(*make: Any) -> Program:
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    with Builder.at_end(block):
        for one in make:
            one()
    return program


@pytest.fixture
def bench() -> Iterator[ModuleType]:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    yield importlib.import_module("sim_instructions")
    sys.path.remove(str(ROOT / "benchmarks"))


def test_every_instruction(bench: ModuleType, tmp_path: Path) -> None:
    cases = bench.cases(16)
    program = instructions(*[case.make for case in cases])
    found = {type(op) for op in program.module.walk() if isinstance(op, Instruction)}
    assert found >= {made.op for made in c_interface.instructions()} - {tx8.BarrierOp}
    check_issue(build(program, tmp_path), program)


def test_values_that_c_writes_otherwise(tmp_path: Path) -> None:
    address = {"src": (0x10000,), "dst": (0x20000,), "count": 4, "format": "f32", "tiles": (3,)}
    product = {"lhs": (0x10000,), "rhs": (0x20000,), "out": (0x30000,), "m": 8, "k": 8, "n": 8, "tiles": (0, 2)}
    quantize = Requantize(input_zero_point=-3, shift1=2, multiplier=77, shift2=5, output_zero_point=4)
    makes = [
        *(lambda alpha=alpha: tx8.unary(function="leakyrelu", alpha=alpha, **address)
          for alpha in (0.1, -1e-300, float("inf"), float("-inf"), 5e-324)),
        lambda: tx8.gemm(in_format="i8", out_format="i8", requantize=quantize, **product),
        lambda: tx8.scalar_move(dst=(0x10000,), value=-(1 << 31), tiles=(15,)),
        lambda: tx8.unary(function="abs", source='group 0 */ "x" \\ %d \n é', **address),
        lambda: tx8.barrier(tiles=(0, 5, 15)),
    ]  # fmt: skip
    program = instructions(*makes)
    check_issue(build(program, tmp_path), program)


def test_loops(tmp_path: Path) -> None:
    """Nests, other addresses on each tile, buffers in turn, and what runs ahead by a trip."""
    program = instructions()
    (declared,) = program.body
    with Builder.at_end(declared.body.block):
        outer = tx8.loop(count=3, tiles=(0, 1, 7))
    with Builder.at_end(outer.body.block):
        inner = tx8.loop(count=4, tiles=(1, 7))
        tx8.memset(tiles=(0,), dst=(0x10000,), count=64, value=1, format="f32",
                   follows=ArrayAttr([Follow("dst", 0, 512, modulo=2, phase=1)]))  # fmt: skip
    with Builder.at_end(inner.body.block):
        tx8.tdma(tiles=(1, 7), src=(0x20000, 0x30000), dst=(0x40000,), segment_bytes=256,
                 follows=ArrayAttr([Follow("src", 1, 1024), Follow("src", 0, 256), Follow("dst", 0, -9)]))  # fmt: skip
    native = build(program, tmp_path)
    check_issue(native, program)
    assert len(native.issue(7)) == 12
    assert len(native.issue(0)) == 3


def test_messages_and_loops_by_hand(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "examples"))
    program: Program = importlib.import_module("ring_all_reduce").ring_all_reduce(256)
    sys.path.remove(str(ROOT / "examples"))
    native = build(program, tmp_path)
    check_issue(native, program)
    x = np.random.default_rng(0).standard_normal((16, 256)).astype(np.float32)
    outputs = [Simulator(p).run({"x": x}).outputs["y"] for p in (program, native.recorded())]
    assert outputs[0].tobytes() == outputs[1].tobytes()


def test_barriers_meet_again(tmp_path: Path) -> None:
    k = Kernel("exchange", range(4))
    x, y = k.input("x", (4, 64), "f32"), k.output("y", (4, 64), "f32")
    data = k.spm("data", (64,), "f32")
    k.load(data, [x[tile] for tile in range(4)])
    k.barrier()
    k.unary("abs", data, data)
    k.barrier()
    k.store([y[tile] for tile in range(4)], data)
    native = build(k.program(), tmp_path)
    assert [op.tiles for op in native.recorded().module.walk() if isinstance(op, tx8.BarrierOp)] == [(0, 1, 2, 3)] * 2


def test_slices_of_declared_tensors(tmp_path: Path) -> None:
    k = Kernel("rows", range(2))
    x = k.input("x", (4, 6, 8), "f32")
    data = k.spm("data", (2, 8), "f32")
    k.load(data, [x[1, 2:4], x[3, 0:2]])
    text = main_c(k.program(), "0")
    assert "L_SHAPE ddr_shape = {{4, 6, 8}, {0}, {1, 2, 8}, {1, 2, 8}, 3};" in text
    assert "tx8_locate(&ddr_shape, (ddr.addr - " in text


def test_what_gcc_refuses_is_said(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int x = ;")
    with pytest.raises(IrError, match=r"gcc does not compile .*main\.c"):
        NativeProgram(tmp_path / "main.c", Program.empty(), tmp_path)
    with pytest.raises(FileNotFoundError, match="no such file"):
        NativeProgram(tmp_path / "other.c", Program.empty(), tmp_path)
