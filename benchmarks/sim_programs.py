"""The programs of `bench_sim`: a tiled matrix product, and a loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from tx8ir.core import Builder, Program, VTensorType, ui8
from tx8ir.dialects import tx8
from tx8ir.kernels import Kernel
from tx8ir.target.chip import TX8

ALL = tuple(range(TX8.tiles))
SPM = TX8.spm_allocatable[0]
BLOCK = 64
"""Channels of a block of fp32."""


def new_program() -> tuple[Program, Any]:
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    return program, block


def tiled_gemm(size: int, step: int) -> Program:
    """C = A @ B in fp32, in step-wide tiles: each chip tile makes size*size/step^2/16 tiles of C, one after the other.

    A lies in DDR as tiles [step, step] by (row, k), B by (k, column), C by (row, column), each channel-blocked.
    """
    count, nbytes = size // step, step * step * 4
    program, block = new_program()
    a = TX8.ddr_base
    b, c = a + count * count * nbytes, a + 2 * count * count * nbytes
    kind = VTensorType((count * count * nbytes,), ui8)
    lhs, rhs, out = SPM, SPM + 2 * nbytes, SPM + 4 * nbytes
    with Builder.at_end(block):
        for name, address, what in (("a", a, "input"), ("b", b, "input"), ("c", c, "output")):
            tx8.segment(segment_name=name, address=address, size=count * count * nbytes, kind=what)
        tx8.input(port_name="a", address=a, tensor_type=kind)
        tx8.input(port_name="b", address=b, tensor_type=kind)
        tx8.output(port_name="c", address=c, tensor_type=kind)
        for first in range(0, count * count, TX8.tiles):
            rows = [divmod(first + tile, count) for tile in ALL]
            for k in range(count):
                buffer = k % 2 * nbytes
                for base, spm, place in (
                    (a, lhs + buffer, [row * count + k for row, _ in rows]),
                    (b, rhs + buffer, [k * count + column for _, column in rows]),
                ):
                    tx8.rdma(
                        tiles=ALL,
                        spm=(spm,),
                        ddr=tuple(base + i * nbytes for i in place),
                        element_bytes=4,
                        count=nbytes // 4,
                    )
                tx8.gemm(
                    tiles=ALL,
                    lhs=(lhs + buffer,),
                    rhs=(rhs + buffer,),
                    out=(out,),
                    psum=(out,) if k else None,
                    psum_format="f32" if k else None,
                    m=step,
                    k=step,
                    n=step,
                    in_format="f32",
                    out_format="f32",
                )
            tx8.wdma(
                tiles=ALL,
                spm=(out,),
                ddr=tuple(c + (row * count + column) * nbytes for row, column in rows),
                element_bytes=4,
                count=nbytes // 4,
            )
    program.verify()
    return program


def numpy_gemm(a: np.ndarray, b: np.ndarray, step: int) -> np.ndarray:
    """The same loop over the same tiles in plain NumPy."""
    count = len(a) // step
    c = np.zeros_like(a)
    for row in range(count):
        for column in range(count):
            out = c[row * step : (row + 1) * step, column * step : (column + 1) * step]
            for k in range(count):
                out += (
                    a[row * step : (row + 1) * step, k * step : (k + 1) * step]
                    @ b[k * step : (k + 1) * step, column * step : (column + 1) * step]
                )
    return c


def blocked(x: np.ndarray, step: int) -> np.ndarray:
    """A square matrix as the bytes of its tiles [step, step] by (row, column), each as channel blocks."""
    count = len(x) // step
    tiles = x.reshape(count, step, count, step // BLOCK, BLOCK).transpose(0, 2, 3, 1, 4)
    return np.ascontiguousarray(tiles).reshape(-1).view(np.uint8)


def unblocked(data: np.ndarray, size: int, step: int) -> np.ndarray:
    """The square matrix of `size` rows whose `blocked` bytes these are."""
    count = size // step
    tiles = data.view(np.float32).reshape(count, count, step // BLOCK, step, BLOCK)
    return tiles.transpose(0, 3, 1, 2, 4).reshape(size, size)


def looped(instructions: int) -> Program:
    """A loop of four instructions on two tiles, two of which touch DDR that the tiles could race for."""
    k = Kernel("loop", range(2))
    s, a = k.scratch("s", (2, 64), "f32"), k.spm("a", (8,), "f32")
    k.fill(a, 0.0)
    with k.loop(instructions // 4) as i:
        k.store([s[t, (i % 8) * 8 : (i % 8) * 8 + 8] for t in range(2)], a)
        k.load(a, [s[t, (i % 8) * 8 : (i % 8) * 8 + 8] for t in range(2)])
        k.binary("add", a, a, 1.0)
        k.unary("relu", a, a)
    return k.program()
