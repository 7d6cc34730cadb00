"""The tx8 dialect: what the verifier refuses, what text keeps, and the bytes that instructions say they touch."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.core import Builder, Op, Program, VerifyError, VTensorType, f32, parse, verify
from tx8ir.dialects import tx8
from tx8ir.sim import time_program
from tx8ir.sim.engines import EXECUTORS
from tx8ir.target import cost
from tx8ir.target.chip import TX8, Engine
from tx8ir.target.formats import Format

A, B, C, D = ((TX8.spm_allocatable[0] + 0x20000 * i,) for i in range(4))
DDR = TX8.ddr_base

LEAKY = {"activation": "leaky_relu", "alpha": 0.5}

# One valid instruction of each class, by text name.
VALID: dict[str, dict[str, Any]] = {
    "rdma": {"spm": A, "ddr": (DDR,), "element_bytes": 4, "count": 8, "strides": (64, 16), "iterations": (2, 3)},
    "wdma": {
        "spm": A,
        "ddr": (DDR, DDR + 4096),
        "element_bytes": 2,
        "count": 8,
        "strides": (64, 16),
        "iterations": (2, 3),
    },
    "rdma_gather": {
        "spm": A,
        "ddr": (DDR,),
        "index_spm": B,
        "index_format": "i32",
        "row_bytes": 64,
        "row_stride_bytes": 128,
        "count": 5,
        "rows": 10,
    },
    "tdma": {
        "src": A,
        "dst": B,
        "segment_bytes": 2,
        "src_strides": (0, 2),
        "dst_strides": (64, 4),
        "iterations": (3, 8),
    },
    "unary": {"function": "exp", "src": A, "dst": B, "count": 10, "format": "bf16"},
    "binary_vv": {"function": "add", "lhs": A, "rhs": B, "dst": C, "count": 10, "format": "f16"},
    "binary_vs": {"function": "mul", "src": A, "dst": B, "count": 10, "format": "f32", "scalar": 0x3F800000},
    "binary_vuv": {"function": "max", "src": A, "unit": B, "dst": C, "count": 10, "unit_count": 3, "format": "tf32"},
    "binary_vuv_loop": {
        "function": "sub",
        "src": A,
        "unit": B,
        "dst": C,
        "count": 128,
        "unit_count": 64,
        "full_count": 384,
        "full_unit_count": 192,
        "format": "f32",
    },
    "reduce": {"function": "sum", "axis": "HW", "src": A, "dst": B, "shape": (2, 3, 4, 70), "format": "f32"},
    "pool": {
        "function": "max",
        "src": A,
        "dst": B,
        "shape": (1, 5, 5, 3),
        "kernel": (3, 3),
        "strides": (2, 2),
        "pads": (1, 1, 1, 1),
        "format": "f16",
    },
    "channelnorm": {"src": A, "dst": B, "shape": (2, 3, 4, 70), "format": "i8"},
    "maskmove": {"src": A, "mask": B, "dst": C, "count": 10, "format": "f32"},
    "convert": {"src": A, "dst": B, "count": 10, "src_format": "f32", "dst_format": "f16", "rounding": 1},
    "memset": {"dst": A, "count": 10, "format": "ui8", "value": 255},
    "gemm": {"lhs": A, "rhs": B, "out": C, "m": 4, "k": 70, "n": 5, "in_format": "bf16", "out_format": "f32"},
    "conv": {
        "src": A,
        "weight": B,
        "out": C,
        "bias": D,
        "bias_format": "f32",
        "shape": (1, 5, 5, 3),
        "out_channels": 7,
        "kernel": (3, 3),
        "pads": (1, 1, 1, 1),
        "in_format": "f16",
        "out_format": "f16",
        "activation": "relu",
    },
    "dte_arm": {"dst": A, "nbytes": 64, "peers": (1, 2, 3), "pattern": "gather", "channel": 2},
    "dte_send": {"src": A, "nbytes": 64, "peers": (5, 0)},
    "dte_wait": {"peers": (3,)},
    "dte_store": {"src": A, "ddr": (DDR, DDR + 64), "nbytes": 64},
    "wdma_scatter": {
        "spm": A,
        "ddr": (DDR,),
        "index_spm": B,
        "index_format": "ui16",
        "row_bytes": 64,
        "row_stride_bytes": 128,
        "count": 5,
        "rows": 10,
    },
    "pool_index": {
        "function": "min",
        "src": A,
        "dst": B,
        "index": C,
        "shape": (1, 5, 5, 3),
        "kernel": (3, 3),
        "pads": (1, 1, 1, 1),
        "format": "f16",
    },
    "unpool": {"src": A, "index": B, "dst": C, "shape": (1, 2, 2, 3), "extents": (4, 5), "format": "bf16"},
    "mirror": {"src": A, "dst": B, "shape": (1, 2, 3, 70), "axis": "W", "format": "i8", "layout": "NCx"},
    "transpose": {"src": A, "dst": B, "shape": (1, 2, 3, 70), "perm": (0, 3, 1, 2), "format": "f32"},
    "rotate": {"src": A, "dst": B, "shape": (1, 2, 3, 70), "function": "rot90", "format": "f16"},
    "nchw2nhwc": {"src": A, "dst": B, "shape": (1, 2, 3, 70), "format": "f16"},
    "nhwc2nchw": {"src": A, "dst": B, "shape": (1, 2, 3, 70), "format": "f16"},
    "concat": {
        "lhs": A,
        "rhs": B,
        "dst": C,
        "lhs_shape": (1, 2, 3, 70),
        "rhs_shape": (1, 2, 3, 5),
        "axis": "C",
        "format": "f16",
        "layout": "NCx",
    },
    "pad": {"src": A, "dst": B, "shape": (1, 2, 3, 70), "pads": (1, 0, 2, 3), "value": 0x3C00, "format": "f16"},
    "img2col": {"src": A, "dst": B, "shape": (1, 5, 5, 3), "kernel": (3, 2), "strides": (2, 1), "format": "f16"},
    "maskgather": {"src": A, "mask": B, "dst": C, "found": D, "count": 10, "format": "f32"},
    "tdma_reshape": {
        "src": A,
        "dst": B,
        "src_shape": (1, 2, 3, 70),
        "dst_shape": (1, 1, 6, 70),
        "format": "f32",
        "dst_layout": "NCx",
    },
    "bit_logic": {"function": "xor", "lhs": A, "rhs": B, "dst": C, "count": 19},
    "bit2fp": {"src": A, "dst": B, "count": 19, "format": "bf16"},
    "count": {"src": A, "dst": B, "count": 19, "format": "i1"},
    "arg": {"function": "argmin", "src": A, "dst": B, "count": 19, "format": "i16"},
    "lut16": {"src": A, "table": B, "dst": C, "count": 19, "entries": 300},
    "lut32": {"src": A, "table": B, "dst": C, "count": 19, "entries": 300},
    "rand_gen": {"dst": A, "count": 19, "seed": 7, "format": "tf32"},
    "elem_mask": {"src": A, "dst": B, "count": 19, "seed": 7, "probability": 0.5, "scale": 2.0, "format": "f16"},
    "bilinear": {
        "src": A,
        "dst": B,
        "shape": (1, 5, 5, 3),
        "extents": (7, 3),
        "format": "f32",
        "coordinates": "align_corners",
    },
    "scalar_move": {"dst": A, "value": -5},
    "csr_read": {"dst": A},
    "csr_write": {"src": A},
    "scalar_add": {"dst": A, "lhs": B, "rhs": C},
    "barrier": {},
}


def make(name: str, **changes: Any) -> Any:
    """The valid instruction of that name with some fields changed (None: removed)."""
    fields = {"tiles": (0, 5), **VALID[name], **changes}
    build: Callable[..., Any] = tx8.DIALECT.ops[f"tx8.{name}"]
    return build(**{key: value for key, value in fields.items() if value is not None})


def test_every_instruction_class_has_an_example_and_an_executor() -> None:
    classes = {c for c in tx8.DIALECT.ops.values() if issubclass(c, tx8.Instruction)}
    assert {c.name for c in classes} == {f"tx8.{name}" for name in VALID}
    ordering = {tx8.BarrierOp, tx8.DteArmOp, tx8.DteSendOp, tx8.DteWaitOp}  # what tiles do together: no executor
    assert set(EXECUTORS) == classes - ordering


@pytest.mark.parametrize("name", VALID)
def test_valid_instruction_passes_prints_and_parses_back(name: str) -> None:
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    with Builder.at_end(block):
        make(name, source="some group")
    program.verify()
    text = str(program)
    again = parse(text)
    again.verify()
    assert str(again) == text


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("unary", {"tiles": ()}, "tiles is empty"),
        ("unary", {"tiles": (1, 1)}, r"tiles \[1, 1\] names a tile twice"),
        ("unary", {"tiles": (0, 16)}, r"must lie in 0\.\.15; there is no tile 16"),
        ("unary", {"src": (*A, *B, *C)}, "src has 3 addresses; expected one address, or one for each of the 2 tiles"),
        ("unary", {"tiles": (3,), "src": (*A, *B)}, "src has 2 addresses; expected one address"),
        ("unary", {"dst": (TX8.spm_bytes - 19,)}, r"dst takes SPM bytes \[0x2fffed, 0x300001\), outside of"),
        ("unary", {"src": (-1,)}, "src takes SPM bytes"),
        ("unary", {"function": "cube"}, 'function is "cube"; expected one of abs, recip'),
        ("unary", {"format": "i8"}, 'format is "i8"; expected one of f32, f16, bf16, tf32'),
        ("unary", {"count": 0}, "count is 0; expected at least 1"),
        ("unary", {"rounding": 5}, r"rounding is 5; expected 0\.\.4"),
        ("unary", {"function": "leakyrelu"}, "alpha is None; leakyrelu needs a value"),
        ("unary", {"alpha": 0.5}, "alpha is 0.5; exp takes none"),
        ("binary_vs", {"scalar": 2**32}, "scalar is 4294967296"),
        ("binary_vuv", {"unit_count": 11}, r"unit_count is 11; expected 1\.\.10"),
        ("binary_vuv_loop", {"unit_count": 32}, "unit_count is 32; expected 64"),
        ("binary_vuv_loop", {"count": 100}, "count is 100; expected a multiple of unit_count 64"),
        ("binary_vuv_loop", {"full_count": 400}, "full_count is 400; expected a multiple of count 128"),
        ("binary_vuv_loop", {"full_unit_count": 128}, "full_unit_count is 128; expected 192"),
        ("rdma", {"ddr": (DDR - 1,)}, "ddr takes DDR bytes"),
        ("rdma", {"ddr": (TX8.ddr_end,)}, "ddr takes DDR bytes"),
        ("rdma", {"element_bytes": 3}, "element_bytes is 3; expected 1, 2, 4 or 8"),
        ("rdma", {"strides": (1, 1, 1, 1), "iterations": (1, 1, 1, 1)}, "iterations has 4 levels; the engine has 3"),
        ("rdma", {"strides": (64,)}, r"strides is \[64\]; expected 2 entries"),
        ("rdma", {"iterations": (0, 3)}, "iterations is 0"),
        ("rdma", {"strides": (-1, 16)}, "strides is -1; expected at least 0"),
        ("wdma", {"strides": (16, 7)}, r"strides \[16, 7\] with iterations .* write DDR bytes twice"),
        ("rdma_gather", {"row_stride_bytes": 63}, "row_stride_bytes is 63; expected at least 64"),
        ("rdma_gather", {"index_format": "f32"}, 'index_format is "f32"'),
        ("tdma", {"dst_strides": (0, 4)}, "write SPM bytes twice"),
        ("reduce", {"axis": "N"}, 'axis is "N"; expected one of C, W, H, HW'),
        ("reduce", {"shape": (2, 3, 4)}, r"shape is \[2, 3, 4\]; expected 4 entries: N, H, W, C"),
        ("reduce", {"shape": (4097, 1, 1, 1)}, r"extent N of shape is 4097; expected 1\.\.4096"),
        ("reduce", {"shape": (1, 1, 1, 16385)}, r"extent C of shape is 16385; expected 1\.\.16384"),
        ("pool", {"kernel": (0, 3)}, r"kernel is 0; expected 1\.\.255"),
        ("pool", {"kernel": (8, 3)}, r"kernel \[8, 3\] .* does not fit the input \[5, 5\]"),
        ("pool", {"kernel": (1, 3)}, "a window would lie in the padding alone"),
        ("pool", {"strides": (1024, 1)}, r"strides is 1024; expected 1\.\.1023"),
        ("channelnorm", {"format": "i4"}, 'format is "i4"'),
        ("convert", {"dst_format": "f32"}, "src_format and dst_format are both f32"),
        ("convert", {"src_format": "i8", "dst_format": "i32", "rounding": 0}, "hardware does not convert i8 to i32"),
        ("convert", {"src_format": "f16", "dst_format": "f32"}, "rounding is 1; f16 to f32 is exact and takes none"),
        ("binary_vv", {"packed": True}, "packed is set; add is not a relation"),
        ("wdma_scatter", {"row_stride_bytes": 63}, "row_stride_bytes is 63; expected at least 64"),
        ("pool_index", {"function": "avg"}, 'function is "avg"; expected one of max, min'),
        ("unpool", {"extents": (4,)}, r"extents is \[4\]; expected 2 entries: height, width"),
        ("unpool", {"format": "i8"}, 'format is "i8"; expected one of f32'),
        ("mirror", {"axis": "HW"}, 'axis is "HW"; expected one of N, H, W, C'),
        ("mirror", {"layout": "Cx"}, 'layout is "Cx"; expected one of NTensor, NCx'),
        ("transpose", {"perm": (0, 1, 1, 2)}, r"perm is \[0, 1, 1, 2\]"),
        ("transpose", {"shape": (1, 2, 3, 5000)}, r"extent H of shape of dst is 5000; expected 1\.\.4096"),
        ("rotate", {"function": "rot45"}, 'function is "rot45"; expected one of rot90, rot180, rot270'),
        ("nchw2nhwc", {"shape": (1, 2, 3)}, "expected 4 entries: N, H, W, C"),
        ("concat", {"rhs_shape": (1, 2, 4, 5)}, "differ along more than axis C"),
        ("pad", {"pads": (1, 0, 2, 1024)}, r"pads is 1024; expected 0\.\.1023"),
        ("pad", {"value": 65536}, r"value is 65536; expected 0\.\.65535"),
        ("img2col", {"kernel": (6, 6)}, "does not fit the input"),
        ("maskgather", {"count": 0}, "count is 0; expected at least 1"),
        ("tdma_reshape", {"dst_shape": (1, 1, 6, 71)}, "has 420 elements, .* has 426"),
        ("bit_logic", {"function": "not"}, "not takes no right operand rhs"),
        ("bit_logic", {"rhs": None}, "xor needs right operand rhs"),
        ("bit2fp", {"format": "i8"}, 'format is "i8"'),
        ("count", {"format": "i4"}, 'format is "i4"'),
        ("arg", {"function": "max"}, 'function is "max"; expected one of argmax, argmin'),
        ("lut16", {"entries": 65537}, r"entries is 65537; expected 1\.\.65536"),
        ("rand_gen", {"format": "i64"}, 'format is "i64"'),
        ("rand_gen", {"seed": -1}, "seed is -1"),
        ("elem_mask", {"probability": 1.5}, r"probability is 1.5; expected 0\.\.1"),
        ("bilinear", {"coordinates": "centre"}, 'coordinates is "centre"; expected one of half_pixel'),
        ("scalar_move", {"src": B}, "expected one of src and value"),
        ("scalar_add", {"rhs": None}, "expected one of rhs and value"),
        ("scalar_add", {"rhs": None, "value": 2**31}, "value is 2147483648"),
        ("gemm", {"scale": D}, "scale_format is missing, but there is a scale"),
        (
            "gemm",
            {"in_format": "i8", "scale": D, "scale_format": "f32"},
            "scale is a float operation; from i8 use requantize",
        ),
        ("gemm", {"requantize": tx8.Requantize()}, 'in_format with requantize is "bf16"; expected one of i8'),
        (
            "gemm",
            {"in_format": "i8", "out_format": "i8", "requantize": tx8.Requantize(shift1=32)},
            r"shift1 of requantize is 32; expected 0\.\.31",
        ),
        (
            "gemm",
            {"in_format": "i8", "out_format": "i8", "requantize": tx8.Requantize(), **LEAKY},
            "requantize takes activation none or relu",
        ),
        ("memset", {"value": 256}, r"value is 256; expected 0\.\.255"),
        ("gemm", {"k": 16385}, r"k is 16385; expected 1\.\.16384"),
        ("gemm", {"m": 4097}, r"m is 4097; expected 1\.\.4096"),
        ("gemm", {"batch": 2, "lhs_batch": 3}, "lhs_batch is 3; expected 1 or batch 2"),
        ("gemm", {"in_format": "i16"}, 'in_format is "i16"'),
        ("gemm", {"out_format": "i8"}, 'out_format is "i8"; expected one of f32, f16, bf16, tf32'),
        ("gemm", {"psum": D}, "psum_format is missing, but there is a psum"),
        ("gemm", {"bias_format": "f32"}, 'bias_format is "f32", but there is no bias'),
        ("gemm", {"in_format": "i8", "psum": D, "psum_format": "f32"}, 'psum_format is "f32"; expected one of i32'),
        ("gemm", {"activation": "gelu"}, 'activation is "gelu"; expected one of none, relu, leaky_relu'),
        ("gemm", {"activation": "leaky_relu"}, "alpha is None; activation leaky_relu needs a value"),
        ("conv", {"depthwise": True}, "out_channels is 7; a depthwise conv has as many as the feature, 3"),
        ("conv", {"pads": (1024, 1, 1, 1)}, r"pads is 1024; expected 0\.\.1023"),
        ("conv", {"dilations": (4, 1)}, "does not fit the input"),
        ("conv", {"out_channels": 0}, r"out_channels is 0; expected 1\.\.16384"),
    ],
)
def test_verifier_says_which_field_is_wrong(name: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(VerifyError, match=message):
        verify(make(name, **changes))


# -- declarations -----------------------------------------------------------------------------------------------------


def program_of(build: Callable[[], object]) -> Program:
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    with Builder.at_end(block):
        build()
    return program


def segment(name: str, address: int = DDR, size: int = 4096, kind: str = "scratch") -> Op:
    return tx8.segment(segment_name=name, address=address, size=size, kind=kind)


PORT = {"tensor_type": VTensorType((2, 3), f32), "layout": "Tensor"}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: segment("a", kind="weights"), 'kind is "weights"; expected one of const, input, output, scratch'),
        (lambda: segment("a", size=0), "size is 0; expected at least 1 byte"),
        (lambda: segment("a", address=DDR - 4096), "outside of DDR"),
        (lambda: [segment("a"), segment("a", DDR + 4096)], 'another segment named "a"'),
        (lambda: [segment("a"), segment("b", DDR + 4095)], 'segment "b" at 0x280000fff overlaps segment "a"'),
        (lambda: tx8.input(port_name="x", address=DDR, **PORT), '"x" takes .*, which is in no segment'),
        (
            lambda: [segment("a", kind="output"), tx8.input(port_name="x", address=DDR, **PORT)],
            '"x" lies in segment "a" of kind output; expected input or scratch',
        ),
        (
            lambda: [segment("a", size=23), tx8.output(port_name="y", address=DDR, **PORT)],
            r'"y" takes \[0x280000000, 0x280000018\), which is in no segment',
        ),
        (
            lambda: [segment("a"), *(tx8.output(port_name="y", address=DDR, **PORT) for _ in range(2))],
            'another tx8.output named "y"',
        ),
        (
            lambda: [segment("a"), tx8.output(port_name="y", address=DDR, **{**PORT, "layout": "NHWC"})],
            'layout is "NHWC"; expected one of Tensor, NTensor, Cx, NCx',
        ),
        (
            lambda: [
                segment("a"),
                tx8.output(port_name="y", address=DDR, tensor_type=VTensorType((-1, 3), f32), layout="Tensor"),
            ],
            "expected a static shape",
        ),
        (lambda: [make("barrier"), segment("a")], "tx8.segment comes after tx8.barrier"),
    ],
)
def test_verifier_checks_declarations(build: Callable[[], object], message: str) -> None:
    with pytest.raises(VerifyError, match=message):
        program_of(build).verify()


def test_a_blocked_port_takes_its_padding_too() -> None:
    fields: dict[str, Any] = {"port_name": "y", "address": DDR, "tensor_type": VTensorType((2, 1, 1, 3), f32)}
    program_of(lambda: [segment("a", size=512), tx8.output(**fields, layout="NCx")]).verify()
    with pytest.raises(VerifyError, match="in no segment"):
        program_of(lambda: [segment("a", size=511), tx8.output(**fields, layout="NCx")]).verify()


# -- effects ----------------------------------------------------------------------------------------------------------


def effects_of(op: Any) -> dict[str, tx8.Access]:
    return {access.operand: access for access in op.effects()}


def test_effects_are_sources_then_destinations_with_exact_walks() -> None:
    found = effects_of(make("rdma"))
    assert list(found) == ["ddr", "spm"]
    ddr, spm = found["ddr"], found["spm"]
    assert (ddr.space, ddr.writes, ddr.nbytes, ddr.walk) == (tx8.MemorySpace.DDR, False, 32, ((2, 256), (3, 64)))
    assert (ddr.extent, ddr.total_bytes) == (256 + 128 + 32, 192)
    assert (spm.space, spm.writes, spm.extent) == (tx8.MemorySpace.SPM, True, 192)
    found = effects_of(make("wdma"))
    assert list(found) == ["spm", "ddr"]
    assert found["ddr"].interval(1) == (DDR + 4096, DDR + 4096 + 128 + 64 + 16)


def test_effects_of_blocked_operands_know_their_tensor() -> None:
    found = effects_of(make("conv"))
    assert list(found) == ["src", "weight", "bias", "out"]
    # 25 positions of 4 lanes in fp16, rounded up to 256 bytes
    assert found["src"].nbytes == 256
    assert found["weight"].aligned == tx8.OperandTensor((3, 3, 7, 3), Format.named("f16"), "Cx")  # type: ignore[arg-type]
    assert found["weight"].nbytes == 512
    assert found["bias"].nbytes == 28
    assert found["out"].aligned is not None
    assert found["out"].aligned.shape == (1, 5, 5, 7)


def test_effects_of_a_narrow_side_of_a_convert_are_strided() -> None:
    found = effects_of(make("convert", src_format="f16", dst_format="f32", rounding=0))
    assert (found["src"].nbytes, found["src"].walk) == (2, ((10, 4),))
    assert (found["dst"].nbytes, found["dst"].walk) == (40, ())


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 12)), max_size=3),
)
def test_a_walk_that_is_said_not_to_overlap_does_not(nbytes: int, walk: list[tuple[int, int]]) -> None:
    access = tx8.Access("x", tx8.MemorySpace.SPM, True, (0,), nbytes, tuple(walk))
    runs = [sum(i * s for i, (_, s) in zip(index, walk, strict=True))
            for index in itertools.product(*(range(n) for n, _ in walk))]  # fmt: skip
    touched = [start + byte for start in runs for byte in range(nbytes)]
    assert access.total_bytes == len(touched)
    assert access.extent == max(touched) + 1
    if not access.overlaps_itself:
        assert len(set(touched)) == len(touched)


# -- cost -------------------------------------------------------------------------------------------------------------


def test_cycles_come_from_the_cost_functions() -> None:
    f16 = Format.named("f16")
    expected = {
        "unary": cost.ct(TX8, 20),
        "binary_vuv_loop": cost.ct(TX8, 384 * 4),
        "tdma": cost.tdma(TX8, 48, 24),
        "gemm": cost.ne_gemm(TX8, 4, 70, 5, Format.named("bf16")),
        "conv": cost.ne_conv(TX8, 25, 3, 7, 9, f16),
        "rdma": cost.dma(TX8, 192, DDR),
        "rdma_gather": cost.dma(TX8, 5 * 64, DDR),
        "barrier": 0,
    }
    for name, cycles in expected.items():
        assert make(name).cycles(TX8) == cycles, name
    depthwise = make("conv", depthwise=True, out_channels=3)
    assert depthwise.cycles(TX8) == cost.ne_depthwise_conv(TX8, 25, 3, 9, f16)
    inside_a_bank = make("wdma", ddr=(DDR, DDR + 32))
    assert list(inside_a_bank.cycles(TX8)) == [cost.dma(TX8, 96, DDR), cost.dma(TX8, 96, DDR + 32)]
    assert {make(name).engine for name in VALID} == {*Engine, None}


def timed(*instructions: tuple[str, dict[str, Any]]) -> int:
    """Cycles of a program of these instructions on the simulator's clock."""
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    with Builder.at_end(block):
        for name, fields in instructions:
            make(name, **fields)
    return time_program(program).cycles


FROM_0_TO_1 = (
    ("dte_arm", {"tiles": (1,), "peers": (0,), "pattern": None, "channel": None}),
    ("dte_send", {"tiles": (0,), "peers": (1,)}),
)


@pytest.mark.parametrize("name", VALID)
def test_what_an_instruction_says_it_costs_is_its_time_on_the_clock(name: str) -> None:
    on_all = {"tiles": tuple(range(TX8.tiles))} | ({"ddr": (DDR,)} if "ddr" in VALID[name] else {})
    op = make(name, **on_all) if name not in ("dte_arm", "dte_send", "dte_wait") else make(name)
    said = op.cycles(TX8)
    if name == "barrier":
        assert (said, timed((name, on_all))) == (0, cost.barrier(TX8))  # between instructions, not of one
    elif name == "dte_send":
        assert said == timed(*FROM_0_TO_1)
    elif name in ("dte_arm", "dte_wait"):
        assert said == 0
    else:
        assert 0 < said == timed((name, on_all))
