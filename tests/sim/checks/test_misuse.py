"""Bytes taken for what they are not, and operands that lie where the machine does not take them: one kernel each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tx8ir.core import Builder, Program, VerifyError, VTensorType, parse
from tx8ir.core.attrs.types import ScalarType
from tx8ir.dialects import tx8
from tx8ir.kernels import Kernel
from tx8ir.sim import SimError, Simulator
from tx8ir.target.chip import TX8

FIRST = TX8.spm_allocatable[0]
Build = Callable[[Kernel], None]
FAULTS: dict[str, tuple[str, Build]] = {}
RIGHT: dict[str, Build] = {}


def fault(message: str) -> Callable[[Build], Build]:
    def add(build: Build) -> Build:
        FAULTS[build.__name__] = message, build
        return build

    return add


def right(build: Build) -> Build:
    RIGHT[build.__name__] = build
    return build


def feeds(program: Program) -> dict[str, Any]:
    """An input of ones for each port."""
    found: dict[str, Any] = {}
    for op in program.module.walk():
        if isinstance(op, tx8.InputOp):
            found[op.port_name] = np.ones(op.tensor.shape, op.tensor.element.dtype)
    return found


def run(build: Build, **options: Any) -> None:
    k = Kernel("misuse", (0, 3))
    build(k)
    program = k.program()
    Simulator(program, **options).run(feeds(program))


def product(k: Kernel, rows: int = 8, columns: int = 96, format: str = "f32") -> Any:
    """A channel-blocked matrix that the neural engine wrote."""
    lhs, rhs = k.matrix("lhs", rows, 4, format), k.matrix("rhs", 4, columns, format)
    k.fill(lhs, 1)
    k.fill(rhs, 1)
    out = k.matrix("product", rows, columns, format)
    k.gemm(out, lhs, rhs)
    return out


def vector(k: Kernel, name: str, count: int, format: str = "f32") -> Any:
    """A dense vector that came from DDR."""
    x = k.input(f"{name} in DDR", (count,), format)
    a = k.spm(name, (count,), format)
    k.load(a, x)
    return a


def address(view: Any) -> int:
    return view.address.constant


# -- layouts --------------------------------------------------------------------------------------------------------


@fault('layout misuse: output "y" is declared as dense f32, but instruction 2 .tx8.gemm. wrote NCx 1x1x8x96 f32')
def a_blocked_tensor_in_a_dense_output(k: Kernel) -> None:
    y, a = k.output("y", (8, 96), "f32"), product(k)
    with k.on(0):
        k.instruction(tx8.wdma, spm=a, ddr=y, element_bytes=4, count=8 * 96)


@fault('layout misuse: output "y" is declared as NCx 1x1x8x96 f32, but input "a in DDR" holds dense f32')
def dense_elements_in_a_blocked_output(k: Kernel) -> None:
    y, a = k.output("y", (1, 1, 8, 96), "f32", "NCx"), vector(k, "a", 8 * 96)
    with k.on(0):
        k.instruction(tx8.wdma, spm=a, ddr=y, element_bytes=4, count=8 * 96)


@fault("layout misuse: operand (lhs|rhs) of tile 0, .* their elements do not lie alike")
def a_dense_operand_with_a_blocked_one(k: Kernel) -> None:
    a, b = product(k), vector(k, "b", 8 * 96)
    k.instruction(tx8.binary_vv, function="add", lhs=a, rhs=b, dst=a, count=8 * 96, format="f32")


@fault("layout misuse: operand unit of tile 0, .* their elements do not lie alike")
def a_vector_over_the_rows_of_a_blocked_tensor(k: Kernel) -> None:
    a, unit = product(k), vector(k, "unit", 96)
    k.instruction(tx8.binary_vuv, function="add", src=a, unit=unit, unit_count=96, dst=a, count=8 * 96, format="f32")


@fault("layout misuse: operand bias of tile 0, .* is read as dense f32, but instruction 2 .* wrote NCx 1x1x3x30 f32")
def a_blocked_bias(k: Kernel) -> None:
    bias, a = product(k, 3, 30), product_of_more(k, 3 * 32)
    k.instruction(tx8.gemm, lhs=a, rhs=a, out=k.matrix("c", 1, 96, "f32"), m=1, k=1, n=96, in_format="f32",
                  out_format="f32", bias=bias, bias_format="f32")  # fmt: skip


def product_of_more(k: Kernel, columns: int) -> Any:
    a = k.matrix("row", 1, columns, "f32")
    k.fill(a, 1)
    return a


# -- formats --------------------------------------------------------------------------------------------------------


@fault("format misuse: operand src of tile 0, .* is read as bf16, but input .* holds dense f32")
def singles_read_as_halves(k: Kernel) -> None:
    a = vector(k, "a", 64)
    k.instruction(tx8.unary, function="abs", src=a, dst=a, count=128, format="bf16")


@fault("format misuse: operand src of tile 0, .* is read as i32, but input .* holds dense f32")
def singles_read_as_integers(k: Kernel) -> None:
    a = vector(k, "a", 3)  # less than a page
    k.instruction(tx8.convert, src=a, dst=a, count=3, src_format="i32", dst_format="f32")


@fault("format misuse: operand src of tile 0, .* is read as f32, but instruction 1 .tx8.convert. wrote")
def what_was_narrowed_read_as_it_was(k: Kernel) -> None:
    a = vector(k, "a", 64)
    k.instruction(tx8.convert, src=a, dst=a, count=64, src_format="f32", dst_format="bf16")
    k.unary("abs", a, a)


@fault("format misuse: operand src of tile 0, .* is read as f32, but constant .* holds dense i32")
def a_constant_of_integers_read_as_singles(k: Kernel) -> None:
    c, a = k.constant("c", np.arange(5, dtype=np.int32), "i32"), k.spm("a", (5,), "f32")
    k.instruction(tx8.rdma, spm=a, ddr=c, element_bytes=4, count=5)
    k.unary("abs", a, a)


@fault("format misuse: operand src of tile 0, .* is read as f32, but instruction 1 .tx8.tdma. wrote dense i32")
def integers_that_a_strided_copy_moved(k: Kernel) -> None:
    a, b = vector(k, "a", 40, "i32"), k.spm("b", (20,), "f32")
    k.instruction(tx8.tdma, src=a, dst=b, segment_bytes=4, iterations=(20,), src_strides=(8,), dst_strides=(4,))
    k.unary("abs", b, b)


@fault('format misuse: output "y" is declared as dense f32, but .* dense i32')
def integers_in_an_output_of_singles(k: Kernel) -> None:
    y, a = k.output("y", (5,), "f32"), vector(k, "a", 5, "i32")
    with k.on(3):
        k.instruction(tx8.wdma, spm=a, ddr=y, element_bytes=4, count=5)


@fault("format misuse: operand src of tile 3, .* is read as f32, but input .* holds dense i32")
def integers_that_came_with_a_message(k: Kernel) -> None:
    a, b = vector(k, "a", 33, "i32"), k.spm("b", (33,), "i32")
    with k.on(3):
        k.arm(b, [0])
    with k.on(0):
        k.send(a, [3])
    with k.on(3):
        k.wait([0])
        k.instruction(tx8.unary, function="abs", src=b, dst=b, count=33, format="f32")


@fault("format misuse: operand src of tile 0, .* is read as f32, but .* dense i32 in bytes .0x10010, 0x10014.")
def one_integer_among_singles(k: Kernel) -> None:
    a, b = vector(k, "a", 64), vector(k, "b", 1, "i32")
    k.instruction(tx8.tdma, src=b, dst=(FIRST + 16,), segment_bytes=4)
    k.unary("abs", a, a)


# -- where operands lie ---------------------------------------------------------------------------------------------


def gemm(k: Kernel, **fields: Any) -> None:
    a = k.spm("operands", (4096,), "f32")
    k.instruction(tx8.memset, dst=a, count=4096, format="f32", value=1)
    k.instruction(tx8.gemm, **{"lhs": (FIRST,), "rhs": (FIRST + 512,), "out": (FIRST + 1024,), "m": 4, "k": 4, "n": 4,
                               "in_format": "f32", "out_format": "f32"} | fields)  # fmt: skip


@fault("operand rhs of tile 0, .* begins at 0x10240; NCx 1x1x4x4 f32 begin at a multiple of 256 bytes")
def a_factor_off_its_alignment(k: Kernel) -> None:
    gemm(k, rhs=(FIRST + 512 + 64,))


@fault("operand src of tile 0, .* begins at 0x10002; f32 elements begin at a multiple of 4 bytes")
def a_vector_off_its_alignment(k: Kernel) -> None:
    a = vector(k, "a", 64)
    k.instruction(tx8.unary, function="abs", src=(FIRST + 2,), dst=a, count=2, format="f32")


@fault("operand dst of tile 0, .* overlaps operand src, .* may take an operand's place, but not begin elsewhere")
def a_result_displaced_over_its_operand(k: Kernel) -> None:
    a = vector(k, "a", 64)
    k.instruction(tx8.unary, function="abs", src=a, dst=(FIRST + 4,), count=60, format="f32")


@fault("operand dst of tile 0, .* overlaps operand unit, .* it is read again")
def a_result_over_its_unit(k: Kernel) -> None:
    a = vector(k, "a", 64)
    k.instruction(tx8.binary_vuv, function="add", src=a, unit=a, unit_count=4, dst=a, count=64, format="f32")


@fault("operand out of tile 0, .* overlaps operand lhs, .* the neural engine writes before it has read all of it")
def a_product_over_its_factor(k: Kernel) -> None:
    gemm(k, out=(FIRST,))


@fault("operand out of tile 0, .* overlaps operand psum")
def a_product_displaced_over_its_sum(k: Kernel) -> None:
    gemm(k, m=64, psum=(FIRST + 1024 + 256,), psum_format="f32", out=(FIRST + 1024,))


@fault(r"begins at 0x10010; .* \(in trip 1 of the loops around\)")
def a_loop_that_leaves_the_alignment(k: Kernel) -> None:
    a, sums = vector(k, "a", 64), k.spm("sums", (1, 1, 1, 1), "f32", "NCx")
    with k.loop(2) as i:
        k.instruction(tx8.reduce, function="sum", axis="C", src=a[4 * i : 4 * i + 4], dst=sums, shape=(1, 1, 1, 4),
                      format="f32")  # fmt: skip


# -- what is right --------------------------------------------------------------------------------------------------


@right
def one_whole_block_is_dense(k: Kernel) -> None:
    y, a, b = k.output("y", (8, 64), "f32"), product(k, 8, 64), vector(k, "b", 8 * 64)
    k.instruction(tx8.binary_vv, function="add", lhs=a, rhs=b, dst=a, count=8 * 64, format="f32")
    k.instruction(tx8.binary_vuv, function="add", src=a, unit=b, unit_count=64, dst=a, count=8 * 64, format="f32")
    with k.on(0):
        k.instruction(tx8.wdma, spm=a, ddr=y, element_bytes=4, count=8 * 64)


@right
def one_row_is_dense(k: Kernel) -> None:
    y, a = k.output("y", (96,), "f32"), product(k, 1, 96)
    with k.on(0):
        k.instruction(tx8.wdma, spm=a, ddr=y, element_bytes=4, count=96)


@right
def a_loop_over_the_blocks_of_a_blocked_tensor(k: Kernel) -> None:
    a, unit = product(k, 8, 160), vector(k, "unit", 192)
    src, lanes = address(a), address(unit)
    whole = {"function": "add", "format": "f32"}
    k.instruction(tx8.binary_vuv_loop, src=a, unit=unit, dst=a, count=8 * 64, unit_count=64, full_count=8 * 128,
                  full_unit_count=128, **whole)  # fmt: skip
    tail = src + 8 * 128 * 4
    k.instruction(tx8.binary_vuv, src=(tail,), unit=(lanes + 512,), dst=(tail,), count=8 * 32, unit_count=32, **whole)


@right
def zeros_are_zero_in_every_format(k: Kernel) -> None:
    a = k.spm("a", (64,), "f32")
    k.fill(a, 0)
    k.instruction(tx8.convert, src=a, dst=a, count=64, src_format="i32", dst_format="f32")


@right
def halves_widened_by_what_an_instruction_declares(k: Kernel) -> None:
    """bf16 becomes f32 by zeros before it: two bytes further in words that were zero."""
    a, wide = vector(k, "a", 64, "bf16"), k.spm("wide", (64,), "f32")
    k.fill(wide, 0)
    k.instruction(tx8.tdma, src=a, dst=(address(wide) + 2,), segment_bytes=2, iterations=(64,), src_strides=(2,),
                  dst_strides=(4,), as_format="f32")  # fmt: skip
    k.unary("abs", wide, wide)


@right
def words_that_are_declared(k: Kernel) -> None:
    a = vector(k, "a", 64, "i64")
    k.instruction(tx8.count, src=a, dst=k.spm("n", (1,), "i32"), count=128, format="i32", as_format="i32")


@right
def a_blocked_tensor_taken_for_dense_where_declared(k: Kernel) -> None:
    y, a = k.output("y", (8 * 96,), "f32"), product(k)
    with k.on(0):
        k.instruction(tx8.wdma, spm=a, ddr=y, element_bytes=4, count=8 * 96, as_layout="Tensor")


@right
def a_sum_in_its_own_place(k: Kernel) -> None:
    gemm(k, psum=(FIRST + 1024,), psum_format="f32")


def packed(k: Kernel) -> Any:
    """A channel-blocked matrix of halves, made of singles."""
    a, b = product(k, 8, 96), k.matrix("b", 8, 96, "bf16")
    k.instruction(tx8.convert, src=a, dst=a, count=8 * 96, src_format="f32", dst_format="bf16")
    k.instruction(tx8.tdma, src=a, dst=b, segment_bytes=2, iterations=(8 * 96,), src_strides=(4,), dst_strides=(2,))
    return b


@right
def a_narrowed_tensor_keeps_its_layout(k: Kernel) -> None:
    k.instruction(tx8.reduce, function="sum", axis="C", src=packed(k), dst=k.matrix("sums", 8, 1, "bf16"),
                  shape=(1, 1, 8, 96), format="bf16")  # fmt: skip


@fault("layout misuse: operand src of tile 0, .* is read as NCx 1x1x4x192 bf16, but .* wrote NCx 1x1x8x96 bf16")
def a_narrowed_tensor_read_as_another(k: Kernel) -> None:
    k.instruction(tx8.reduce, function="sum", axis="C", src=packed(k), dst=k.matrix("sums", 4, 1, "bf16"),
                  shape=(1, 1, 4, 192), format="bf16")  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_it_is_found(name: str) -> None:
    message, build = FAULTS[name]
    with pytest.raises(SimError, match=message):
        run(build)


@pytest.mark.parametrize("name", FAULTS)
def test_it_is_not_looked_for_without_checks(name: str) -> None:
    run(FAULTS[name][1], checks=False)


@pytest.mark.parametrize("name", RIGHT)
def test_it_raises_no_alarm(name: str) -> None:
    run(RIGHT[name])


def test_the_places_of_operands_are_not_looked_at_where_that_is_asked_for() -> None:
    for build in (a_product_over_its_factor, a_result_displaced_over_its_operand, a_vector_off_its_alignment):
        run(build, strict_operands=False)


def test_a_second_run_finds_what_the_first_found() -> None:
    k = Kernel("twice", (0, 3))
    singles_read_as_halves(k)
    program = k.program()
    simulator = Simulator(program)
    for _ in range(2):
        with pytest.raises(SimError, match="format misuse"):
            simulator.run(feeds(program))


def test_what_an_instruction_declares_is_verified_and_printed() -> None:
    k = Kernel("declared", (0, 3))
    words_that_are_declared(k)
    program = k.program()
    text = str(program)
    assert 'as_format = "i32"' in text
    assert str(parse(text)) == text


@pytest.mark.parametrize(
    ("op", "fields", "message"),
    [
        (tx8.unary, {"function": "abs", "src": (FIRST,), "count": 4, "format": "f32", "as_format": "i32"},
         'as_format is "i32"; expected one of f32'),
        (tx8.tdma, {"src": (FIRST,), "segment_bytes": 4, "as_format": "f64"},
         'as_format is "f64"; expected one of f32'),
        (tx8.tdma, {"src": (FIRST,), "segment_bytes": 4, "as_layout": "NHWC"},
         'as_layout is "NHWC"; expected one of Tensor, NTensor, Cx, NCx'),
        (tx8.memset, {"count": 4, "format": "f32", "value": 0, "as_format": "f32"},
         "as_format is set; tx8.memset reads no bytes of memory"),
    ],
)  # fmt: skip
def test_a_declaration_that_says_nothing_is_refused(op: Any, fields: dict[str, Any], message: str) -> None:
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    with Builder.at_end(block):
        op(tiles=(0,), dst=(FIRST + 4096,), **fields)
    with pytest.raises(VerifyError, match=message):
        program.verify()


def test_a_constant_lies_in_a_constant_segment() -> None:
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    with Builder.at_end(block):
        tx8.segment(segment_name="s", address=TX8.ddr_base, size=64, kind="scratch")
        tx8.constant(port_name="s", address=TX8.ddr_base, tensor_type=VTensorType((4,), ScalarType.of("f32")))
    with pytest.raises(VerifyError, match='"s" lies in segment "s" of kind scratch; expected const'):
        program.verify()
