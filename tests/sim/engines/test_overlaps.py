"""Instructions read all of their sources before they write, wherever source and result share bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tx8ir.core import Builder, Program, VTensorType, ui8
from tx8ir.dialects import tx8
from tx8ir.sim import Simulator
from tx8ir.target.chip import TX8

SPM = TX8.spm_allocatable[0]
TILES = (0, 1, 5)
SHAPE = (1, 4, 8, 64)
COUNT = 4 * 8 * 64
ROOM = 4 * COUNT * 4
"""Bytes of each scratch-pad that come in and go out, three times as many as an operand has."""

Make = Callable[[int], Any]

CASES: dict[str, Make] = {
    "mirror": lambda dst: tx8.mirror(tiles=TILES, src=(SPM,), dst=(dst,), shape=SHAPE, format="f32", axis="W"),
    "transpose": lambda dst: tx8.transpose(
        tiles=TILES, src=(SPM,), dst=(dst,), shape=SHAPE, format="f32", perm=(0, 3, 2, 1)
    ),
    "rot90": lambda dst: tx8.rotate(tiles=TILES, src=(SPM,), dst=(dst,), shape=SHAPE, format="f32", function="rot90"),
    "pad": lambda dst: tx8.pad(tiles=TILES, src=(SPM,), dst=(dst,), shape=SHAPE, format="f32", pads=(1, 0, 0, 2)),
    "img2col": lambda dst: tx8.img2col(tiles=TILES, src=(SPM,), dst=(dst,), shape=SHAPE, format="f32", kernel=(1, 2)),
    "nhwc2nchw": lambda dst: tx8.nhwc2nchw(tiles=TILES, src=(SPM,), dst=(dst,), shape=SHAPE, format="f32"),
    "concat": lambda dst: tx8.concat(
        tiles=TILES, lhs=(SPM,), rhs=(SPM + 4 * COUNT,), dst=(dst,), lhs_shape=SHAPE, rhs_shape=SHAPE, axis="H",
        format="f32",
    ),
    "channelnorm": lambda dst: tx8.channelnorm(
        tiles=TILES, src=(SPM,), dst=(dst,), shape=(1, 1, 16, 128), format="f32"
    ),
    "relu": lambda dst: tx8.unary(tiles=TILES, src=(SPM,), dst=(dst,), count=COUNT, format="f32", function="relu"),
    "exp bf16": lambda dst: tx8.unary(tiles=TILES, src=(SPM,), dst=(dst,), count=COUNT, format="bf16", function="exp"),
    "add unit": lambda dst: tx8.binary_vuv(
        tiles=TILES, src=(SPM,), unit=(SPM + 512,), unit_count=96, dst=(dst,), count=COUNT, format="f32",
        function="add",
    ),
    "convert": lambda dst: tx8.convert(
        tiles=TILES, src=(SPM,), dst=(dst,), count=COUNT, src_format="f32", dst_format="f16"
    ),
    "tdma": lambda dst: tx8.tdma(tiles=TILES, src=(SPM,), dst=(dst,), segment_bytes=4 * COUNT),
    "and of bits": lambda dst: tx8.bit_logic(
        tiles=TILES, function="xor", lhs=(SPM,), rhs=(SPM + 64,), dst=(dst,), count=8 * COUNT
    ),
    "pool": lambda dst: tx8.pool(
        tiles=TILES, src=(SPM,), dst=(dst,), shape=SHAPE, kernel=(2, 2), function="max", format="f32"
    ),
    "sum": lambda dst: tx8.reduce(
        tiles=TILES, src=(SPM,), dst=(dst,), shape=SHAPE, axis="W", function="sum", format="f32"
    ),
}  # fmt: skip


def run(make: Make, dst: int) -> np.ndarray:
    """The bytes after `dst` on each tile after the instruction."""
    size = len(TILES) * 2 * ROOM
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    kind = VTensorType((size,), ui8)
    here = [tuple(TX8.ddr_base + k * size + i * 2 * ROOM for i in range(len(TILES))) for k in range(2)]
    with Builder.at_end(block):
        for k, (name, what) in enumerate((("x", "input"), ("y", "output"))):
            tx8.segment(segment_name=name, address=TX8.ddr_base + k * size, size=size, kind=what)
        tx8.input(port_name="x", address=TX8.ddr_base, tensor_type=kind)
        tx8.output(port_name="y", address=TX8.ddr_base + size, tensor_type=kind)
        tx8.rdma(tiles=TILES, spm=(SPM,), ddr=here[0], element_bytes=1, count=2 * ROOM)
        make(dst)
        tx8.wdma(tiles=TILES, spm=(SPM,), ddr=here[1], element_bytes=1, count=2 * ROOM)
    program.verify()
    x = np.random.default_rng(0).uniform(-4, 4, size // 4).astype(np.float32).view(np.uint8)
    y = Simulator(program, strict_operands=False).run({"x": x}).outputs["y"].reshape(len(TILES), -1)
    return y[:, dst - SPM : dst - SPM + ROOM - 512]


@pytest.mark.parametrize("shift", [0, 64, 4 * COUNT - 64])
@pytest.mark.parametrize("name", CASES)
def test_a_result_over_its_source_is_what_it_is_elsewhere(name: str, shift: int) -> None:
    apart, over = run(CASES[name], SPM + ROOM), run(CASES[name], SPM + shift)
    changed = run(CASES[name], SPM + ROOM) != run(lambda dst: None, SPM + ROOM)
    assert changed.any()
    assert (apart[changed] == over[changed]).all()
