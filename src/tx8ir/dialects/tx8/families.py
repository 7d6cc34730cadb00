"""The instruction families of the hardware and their names [S, P], and the operation that each is here, as data."""

from __future__ import annotations

import attrs

from tx8ir.target.chip import Family
from tx8ir.target.vector_functions import UNARY

__all__ = ["FAMILIES", "Family", "HardwareFunction"]


@attrs.frozen
class HardwareFunction:
    """One group of names of a family: `CGRATensor_<function>_<format>_<name>` and its like."""

    family: Family
    function: str
    names: tuple[str, ...]
    operations: tuple[str, ...]
    """Text names of the operations that are these instructions."""


_BINARY = ("tx8.binary_vv", "tx8.binary_vs", "tx8.binary_vuv", "tx8.binary_vuv_loop")


def _of(family: Family, function: str, names: str, *operations: str) -> HardwareFunction:
    return HardwareFunction(family, function, tuple(names.split()), operations)


def _unary(group: str) -> str:
    return " ".join(function.name for function in UNARY if function.group == group)


FAMILIES: tuple[HardwareFunction, ...] = (
    _of(Family.CGRA, "arith, unary", _unary("arith, unary"), "tx8.unary"),
    _of(Family.CGRA, "arith, binary", "max min add sub mul div", *_BINARY),
    _of(Family.CGRA, "relation", "eq ne ge gt le lt", *_BINARY),
    _of(Family.CGRA, "logic on values", _unary("logic on values") + " and or xor", "tx8.unary", *_BINARY),
    _of(Family.CGRA, "logic on packed bits", "not and or xor", "tx8.bit_logic"),
    _of(Family.CGRA, "transcendental", _unary("transcendental"), "tx8.unary"),
    _of(Family.CGRA, "activation", _unary("activation"), "tx8.unary"),
    _of(Family.CGRA, "reduce", "sum avg max min", "tx8.reduce"),
    _of(Family.CGRA, "pool", "avg sum max min", "tx8.pool"),
    _of(Family.CGRA, "pool with index", "max min", "tx8.pool_index"),
    _of(Family.CGRA, "pool", "unpool", "tx8.unpool"),
    _of(Family.CGRA, "move", "mirror", "tx8.mirror"),
    _of(Family.CGRA, "move", "transpose", "tx8.transpose"),
    _of(Family.CGRA, "move", "rot90 rot180 rot270", "tx8.rotate"),
    _of(Family.CGRA, "move", "nchw2nhwc", "tx8.nchw2nhwc"),
    _of(Family.CGRA, "move", "nhwc2nchw", "tx8.nhwc2nchw"),
    _of(Family.CGRA, "move", "concat", "tx8.concat"),
    _of(Family.CGRA, "move", "pad", "tx8.pad"),
    _of(Family.CGRA, "move", "channelnorm", "tx8.channelnorm"),
    _of(Family.CGRA, "move", "img2col", "tx8.img2col"),
    _of(Family.CGRA, "move", "maskmove", "tx8.maskmove"),
    _of(Family.CGRA, "move", "maskgather", "tx8.maskgather"),
    _of(Family.CGRA, "convert", "int8 int16 int32 fp16 bf16 tf32 fp32", "tx8.convert"),
    _of(Family.CGRA, "peripheral", "memset", "tx8.memset"),
    _of(Family.CGRA, "peripheral", "count", "tx8.count"),
    _of(Family.CGRA, "peripheral", "argmax argmin", "tx8.arg"),
    _of(Family.CGRA, "peripheral", "bit2fp", "tx8.bit2fp"),
    _of(Family.CGRA, "peripheral", "bilinear", "tx8.bilinear"),
    _of(Family.CGRA, "peripheral", "lut16", "tx8.lut16"),
    _of(Family.CGRA, "peripheral", "lut32", "tx8.lut32"),
    _of(Family.CGRA, "peripheral", "rand_gen", "tx8.rand_gen"),
    _of(Family.CGRA, "peripheral", "elem_mask", "tx8.elem_mask"),
    _of(Family.NEUR, "matrix product", "gemm", "tx8.gemm"),
    _of(Family.NEUR, "convolution", "conv depthwise_conv", "tx8.conv"),
    _of(Family.RDMA, "copy", "rdma", "tx8.rdma"),
    _of(Family.RDMA, "gather", "gather", "tx8.rdma_gather"),
    _of(Family.WDMA, "copy", "wdma", "tx8.wdma"),
    _of(Family.WDMA, "scatter", "scatter", "tx8.wdma_scatter"),
    _of(Family.TDMA, "move", "gatherscatter", "tx8.tdma"),
    _of(Family.TDMA, "move", "reshape", "tx8.tdma_reshape"),
    _of(Family.SCALAR, "scalar", "move", "tx8.scalar_move"),
    _of(Family.SCALAR, "scalar", "add", "tx8.scalar_add"),
    _of(Family.DTE, "message", "arm", "tx8.dte_arm"),
    _of(Family.DTE, "message", "send", "tx8.dte_send"),
    _of(Family.DTE, "message", "wait", "tx8.dte_wait"),
    _of(Family.DTE, "message", "store", "tx8.dte_store"),
    _of(Family.CSR, "exception flags, cycle counter", "read", "tx8.csr_read"),
    _of(Family.CSR, "exception flags", "write", "tx8.csr_write"),
    _of(Family.CSR, "synchronisation", "barrier", "tx8.barrier"),
)
"""Every function of the machine in family order; of the CGRA, in the order of the hardware's list."""
