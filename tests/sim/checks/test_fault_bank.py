"""A bank of faults, one small kernel each: every one is caught, by the layer that can know it, with its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tx8ir.core import Builder, IrError, VerifyError
from tx8ir.dialects import tx8
from tx8ir.kernels import Kernel, KernelError
from tx8ir.sim import Interleaved, SimError, Simulator
from tx8ir.target.chip import TX8

FIRST, END = TX8.spm_allocatable
MIB = 1 << 20
Fault = Callable[[Kernel], None]
BANK: dict[str, tuple[type[IrError], str, Fault]] = {}


def fault(error: type[IrError], message: str) -> Callable[[Fault], Fault]:
    """Put a kernel with a fault into the bank: what must be raised, and a pattern of its message."""

    def add(build: Fault) -> Fault:
        BANK[build.__name__] = (error, message, build)
        return build

    return add


def fill(k: Kernel, dst: int = FIRST, count: int = 64) -> None:
    k.instruction(tx8.memset, dst=(dst,), count=count, format="f32", value=1)


def square(k: Kernel, src: int, dst: int, count: int = 16, **more: Any) -> None:
    k.instruction(tx8.unary, function="square", src=(src,), dst=(dst,), count=count, format="f32", **more)


# -- descriptors: the verifier --------------------------------------------------------------------------------------


@fault(VerifyError, "there is no tile 16")
def a_tile_that_is_not_there(k: Kernel) -> None:
    k.tiles = (0, 16)
    fill(k)


@fault(VerifyError, "names a tile twice")
def a_tile_twice(k: Kernel) -> None:
    k.tiles = (1, 1)
    fill(k)


@fault(VerifyError, "dst has 3 addresses; expected one address, or one for each of the 4 tiles")
def addresses_for_other_tiles(k: Kernel) -> None:
    k.instruction(tx8.memset, dst=(FIRST, FIRST, FIRST), count=4, format="f32", value=0)


@fault(VerifyError, "iterations has 4 levels; the engine has 3")
def four_loops_of_a_transfer(k: Kernel) -> None:
    x = k.input("x", (64,), "f32")
    k.instruction(tx8.rdma, spm=(FIRST,), ddr=x, element_bytes=4, count=1, strides=(1,) * 4, iterations=(2,) * 4)


@fault(VerifyError, "element_bytes is 3; expected 1, 2, 4 or 8")
def elements_of_three_bytes(k: Kernel) -> None:
    k.instruction(tx8.rdma, spm=(FIRST,), ddr=k.input("x", (64,), "f32"), element_bytes=3, count=1)


@fault(VerifyError, "write DDR bytes twice")
def a_store_onto_itself(k: Kernel) -> None:
    y = k.output("y", (64,), "f32")
    k.instruction(tx8.wdma, spm=(FIRST,), ddr=y, element_bytes=4, count=8, strides=(4,), iterations=(2,))


@fault(VerifyError, "write SPM bytes twice")
def a_copy_onto_itself(k: Kernel) -> None:
    k.instruction(tx8.tdma, src=(FIRST,), dst=(FIRST + 4096,), segment_bytes=16, src_strides=(16,), dst_strides=(8,),
                  iterations=(4,))  # fmt: skip


@fault(VerifyError, r"16385; expected 1\.\.16384")
def a_gemm_of_too_many_channels(k: Kernel) -> None:
    k.instruction(tx8.gemm, lhs=(FIRST,), rhs=(FIRST,), out=(FIRST,), m=1, k=16385, n=1, in_format="f32",
                  out_format="f32")  # fmt: skip


@fault(VerifyError, r"kernel is 256; expected 1\.\.255")
def a_convolution_with_too_large_a_kernel(k: Kernel) -> None:
    k.instruction(tx8.conv, src=(FIRST,), weight=(FIRST,), out=(FIRST,), shape=(1, 300, 300, 1), out_channels=1,
                  kernel=(256, 1), in_format="f16", out_format="f16")  # fmt: skip


@fault(VerifyError, r"pads is 1024; expected 0\.\.1023")
def a_convolution_with_too_much_padding(k: Kernel) -> None:
    k.instruction(tx8.conv, src=(FIRST,), weight=(FIRST,), out=(FIRST,), shape=(1, 30, 30, 1), out_channels=1,
                  kernel=(1, 1), pads=(1024, 0, 0, 0), in_format="f16", out_format="f16")  # fmt: skip


@fault(VerifyError, 'format is "f64"')
def a_format_that_the_engine_lacks(k: Kernel) -> None:
    k.instruction(tx8.unary, function="abs", src=(FIRST,), dst=(FIRST,), count=4, format="f64")


@fault(VerifyError, "psum_format is missing, but there is a psum")
def a_partial_sum_without_a_format(k: Kernel) -> None:
    k.instruction(tx8.gemm, lhs=(FIRST,), rhs=(FIRST,), out=(FIRST,), psum=(FIRST,), m=1, k=1, n=1, in_format="f32",
                  out_format="f32")  # fmt: skip


@fault(VerifyError, "leakyrelu needs a value")
def a_slope_that_is_missing(k: Kernel) -> None:
    k.instruction(tx8.unary, function="leakyrelu", src=(FIRST,), dst=(FIRST,), count=4, format="f32")


@fault(VerifyError, "unit_count is 32; expected 64")
def a_vector_loop_of_half_a_block(k: Kernel) -> None:
    k.instruction(tx8.binary_vuv_loop, function="add", src=(FIRST,), unit=(FIRST,), dst=(FIRST,), count=128,
                  unit_count=32, full_count=128, full_unit_count=32, format="f32")  # fmt: skip


@fault(VerifyError, "nbytes is 8388609; a message has 1..8388608 bytes")
def a_message_that_is_too_long(k: Kernel) -> None:
    k.instruction(tx8.dte_store, src=(FIRST,), ddr=k.scratch("s", (4,), "f32"), nbytes=8 * MIB + 1)


@fault(VerifyError, "tile 2 is its own peer")
def a_message_to_itself(k: Kernel) -> None:
    k.instruction(tx8.dte_send, src=(FIRST,), nbytes=4, peers=(1, 0, 2, 0))


@fault(VerifyError, "there is no tile 99")
def a_message_to_nobody(k: Kernel) -> None:
    k.instruction(tx8.dte_send, src=(FIRST,), nbytes=4, peers=(99,))


@fault(VerifyError, "tile 7 runs tx8.memset, but not the loop around it")
def a_tile_that_is_not_in_the_loop(k: Kernel) -> None:
    with k.loop(2):
        k.tiles = (0, 7)
        fill(k)


@fault(VerifyError, 'field of follows is "src"; expected one of dst')
def a_loop_that_moves_no_operand(k: Kernel) -> None:
    with k.loop(2):
        k.instruction(tx8.memset, dst=(FIRST,), count=4, format="f32", value=0, follows=(tx8.Follow("src", 0, 4),))


@fault(VerifyError, "follows names loop 1, but there are 1 loops around")
def an_address_that_follows_no_loop(k: Kernel) -> None:
    with k.loop(2):
        k.instruction(tx8.memset, dst=(FIRST,), count=4, format="f32", value=0, follows=(tx8.Follow("dst", 1, 4),))


@fault(VerifyError, 'segment "b" at .* overlaps segment "a"')
def segments_that_overlap(k: Kernel) -> None:
    with Builder.at_end(k.body):
        tx8.segment(segment_name="a", address=TX8.ddr_base, size=8192, kind="scratch")
        tx8.segment(segment_name="b", address=TX8.ddr_base + 4096, size=64, kind="scratch")
    fill(k)


@fault(VerifyError, r"outside of \[0x0, 0x300000\)")
def bytes_behind_the_scratchpad(k: Kernel) -> None:
    fill(k, 3 * MIB - 4, 2)


# -- addresses and values: the simulator ----------------------------------------------------------------------------


@fault(SimError, "is outside of the usable range")
def the_first_reserved_bytes(k: Kernel) -> None:
    fill(k, FIRST - 4)


@fault(SimError, "is outside of the usable range")
def the_last_reserved_bytes(k: Kernel) -> None:
    fill(k, END - 4, 2)


@fault(SimError, r"is outside of the usable range .* \(in trip 3 of the loops around\)")
def a_loop_that_leaves_the_scratchpad_in_its_last_trip(k: Kernel) -> None:
    with k.loop(4):
        k.instruction(tx8.memset, dst=(END - 3 * 64,), count=16, format="f32", value=0,
                      follows=(tx8.Follow("dst", 0, 64),))  # fmt: skip


@fault(SimError, "is not inside a declared segment")
def ddr_that_nobody_declared(k: Kernel) -> None:
    fill(k)
    k.instruction(tx8.wdma, spm=(FIRST,), ddr=(TX8.ddr_base + MIB,), element_bytes=4, count=1)


@fault(SimError, r"is not inside a declared segment \(in trip 1 of")
def a_loop_that_leaves_its_segment(k: Kernel) -> None:
    x = k.input("x", (64,), "f32")
    with k.loop(2):
        k.instruction(tx8.rdma, spm=(FIRST,), ddr=(x.address.constant,), element_bytes=4, count=64,
                      follows=(tx8.Follow("ddr", 0, 16128),))  # fmt: skip


@fault(SimError, 'is in segment "w" of kind const, which instructions cannot write')
def a_constant_that_is_written(k: Kernel) -> None:
    w = k.constant("w", np.zeros(64, np.float32), "f32")
    fill(k)
    with k.on(0):
        k.instruction(tx8.wdma, spm=(FIRST,), ddr=w, element_bytes=4, count=4)


@fault(SimError, 'is in segment "x" of kind input, which instructions cannot write')
def an_input_that_is_written(k: Kernel) -> None:
    x = k.input("x", (64,), "f32")
    fill(k)
    with k.on(0):
        k.instruction(tx8.dte_store, src=(FIRST,), ddr=x, nbytes=4)


@fault(SimError, "byte 0x10000 was never written")
def bytes_that_nobody_wrote(k: Kernel) -> None:
    square(k, FIRST, FIRST + 4096)


@fault(SimError, "tile 3, .* byte 0x10000 was never written")
def bytes_that_another_tile_wrote(k: Kernel) -> None:
    with k.on(0, 1, 2):
        fill(k)
    square(k, FIRST, FIRST + 4096)


@fault(SimError, "byte 0x10007 was never written")
def one_byte_of_many_that_nobody_wrote(k: Kernel) -> None:
    k.instruction(tx8.memset, dst=(FIRST,), count=7, format="i8", value=0)
    k.instruction(tx8.memset, dst=(FIRST + 8,), count=56, format="i8", value=0)
    square(k, FIRST, FIRST + 4096)


@fault(SimError, "operand lhs .* byte .* was never written")
def a_blocked_operand_with_a_row_missing(k: Kernel) -> None:
    a, b, c = k.matrix("a", 4, 8, "f32"), k.matrix("b", 8, 4, "f32"), k.matrix("c", 4, 4, "f32")
    k.fill(b, 1)
    k.instruction(tx8.memset, dst=a, count=24, format="f32", value=0)
    k.gemm(c, a, b)


@fault(SimError, "was never written")
def scratch_in_ddr_that_nobody_wrote(k: Kernel) -> None:
    k.load(k.spm("a", (16,), "f32"), k.scratch("s", (16,), "f32"))


@fault(SimError, 'output "y" has 16 bytes that no instruction wrote')
def an_output_with_a_hole(k: Kernel) -> None:
    y, a = k.output("y", (16,), "f32"), k.spm("a", (12,), "f32")
    k.fill(a, 0)
    with k.on(0):
        k.store(y[:12], a)


@fault(SimError, "index 2 of tile 0 is 1065353216; the table has rows 0..3")
def a_row_that_the_table_lacks(k: Kernel) -> None:
    table = k.constant("w", np.zeros((4, 8), np.float32), "f32")
    k.fill(k.spm("zeros", (2,), "i32"), 0)
    k.instruction(tx8.memset, dst=(FIRST + 8,), count=1, format="i32", value=0x3F800000)
    k.instruction(tx8.rdma_gather, spm=(FIRST + 4096,), ddr=table, index_spm=(FIRST,), row_bytes=32,
                  row_stride_bytes=32, count=3, rows=4)  # fmt: skip


@fault(SimError, "was never written")
def a_message_of_bytes_that_nobody_wrote(k: Kernel) -> None:
    ring(k, src=FIRST + 4096)


# -- tiles with each other ------------------------------------------------------------------------------------------


def ring(k: Kernel, src: int = FIRST, *, arm: bool = True, wait: bool = True, then: Callable[[], None] | None = None,
         nbytes: int = 64, channel: int = 0) -> None:  # fmt: skip
    """Four tiles send to the next one; `then` comes before the wait."""
    fill(k)
    if arm:
        k.instruction(tx8.dte_arm, dst=(FIRST + 8192,), nbytes=64, peers=(3, 0, 1, 2))
    k.instruction(tx8.dte_send, src=(src,), nbytes=nbytes, peers=(1, 2, 3, 0), channel=channel)
    if then is not None:
        then()
    if wait:
        k.instruction(tx8.dte_wait, peers=(3, 0, 1, 2))


@fault(SimError, "race: tile 1 reads DDR byte .* which tile 0 wrote .* with no barrier or message between them")
def a_barrier_that_is_missing(k: Kernel) -> None:
    s, a = k.scratch("s", (16,), "f32"), k.spm("a", (16,), "f32")
    k.fill(a, 0)
    with k.on(0):
        k.store(s, a)
    with k.on(1):
        k.load(a, s)


@fault(SimError, "race: tile 1 reads DDR byte")
def a_barrier_of_the_wrong_tiles(k: Kernel) -> None:
    s, a = k.scratch("s", (16,), "f32"), k.spm("a", (16,), "f32")
    k.fill(a, 0)
    with k.on(0):
        k.store(s, a)
    with k.on(0, 2):
        k.barrier()
    with k.on(1):
        k.load(a, s)


@fault(SimError, "race: tile 0 writes DDR byte .* which .*read")
def a_write_that_overtakes_a_read(k: Kernel) -> None:
    s, a = k.scratch("s", (16,), "f32"), k.spm("a", (16,), "f32")
    k.fill(a, 0)
    with k.on(0):
        k.store(s, a)
    k.barrier()
    with k.on(1, 2):
        k.load(a, s)
    with k.on(0):
        k.store(s, a)


@fault(SimError, "which another tile writes in the same instruction")
def tiles_that_store_to_one_place(k: Kernel) -> None:
    y, a = k.output("y", (16,), "f32"), k.spm("a", (16,), "f32")
    k.fill(a, 0)
    k.store(y, a)


@fault(SimError, "race: tile 1 writes DDR byte .* which tile 0 wrote")
def a_store_one_element_too_long(k: Kernel) -> None:
    y, a = k.output("y", (32,), "f32"), k.spm("a", (17,), "f32")
    k.fill(a, 0)
    with k.on(0):
        k.store(y[:17], a)
    with k.on(1):
        k.store(y[15:], a)


@fault(SimError, "race: tile 1 reads DDR byte .*, with no barrier or message between them")
def a_race_with_a_store_long_ago(k: Kernel) -> None:
    s, a = k.scratch("s", (2000,), "f32"), k.spm("a", (1,), "f32")
    k.fill(a, 0)
    with k.on(0), k.loop(2000) as i:
        k.store(s[i : i + 1], a)
    with k.on(1):
        k.load(a, s[3:4])


@fault(SimError, "race: tile 2 reads DDR byte .* which tile 0 wrote")
def a_message_to_another_tile_than_the_reader(k: Kernel) -> None:
    s, a = k.scratch("s", (16,), "f32"), k.spm("a", (16,), "f32")
    b = k.spm("b", (16,), "f32")
    k.fill(a, 0)
    with k.on(1):
        k.arm(b, [0])
    with k.on(0):
        k.store(s, a)
        k.send(a, [1])
    with k.on(1):
        k.wait([0])
    with k.on(2):
        k.load(a, s)


@fault(SimError, "race: operand src of tile 0 reads SPM byte 0x12000, where the message of tile 3 lands")
def bytes_read_before_their_message_is_waited_for(k: Kernel) -> None:
    ring(k, then=lambda: square(k, FIRST + 8192, FIRST + 4096, 1))


@fault(SimError, "race: operand dst of tile 0 writes SPM byte 0x1203c, where the message of tile 3 lands")
def bytes_written_while_a_message_lands(k: Kernel) -> None:
    ring(k, then=lambda: fill(k, FIRST + 8192 + 60, 1))


@fault(SimError, "race: operand dst of tile 0 writes SPM byte 0x12000, where the message of tile 3 lands")
def two_messages_into_one_place(k: Kernel) -> None:
    ring(k, then=lambda: k.instruction(tx8.dte_arm, dst=(FIRST + 8192,), nbytes=64, peers=(1, 2, 3, 0)))


@fault(SimError, "race: operand src of tile 0 reads SPM byte 0x12000")
def a_message_forwarded_before_it_is_waited_for(k: Kernel) -> None:
    k.instruction(tx8.dte_arm, dst=(FIRST + 16384,), nbytes=64, peers=(3, 0, 1, 2), channel=1)
    ring(k, then=lambda: k.instruction(tx8.dte_send, src=(FIRST + 8192,), nbytes=64, peers=(1, 2, 3, 0), channel=1))


@fault(
    SimError, "deadlock: tiles wait in a circle: tile 0 waits for tile 3 to send .*; tile 3 waits for tile 2 to send"
)
def everyone_waits_before_sending(k: Kernel) -> None:
    fill(k)
    k.instruction(tx8.dte_arm, dst=(FIRST + 8192,), nbytes=64, peers=(3, 0, 1, 2))
    k.instruction(tx8.dte_wait, peers=(3, 0, 1, 2))
    k.instruction(tx8.dte_send, src=(FIRST,), nbytes=64, peers=(1, 2, 3, 0))


@fault(SimError, "deadlock: tiles wait in a circle: tile 0 waits for tile 1 to arm")
def nobody_arms(k: Kernel) -> None:
    ring(k, arm=False)


@fault(SimError, r"deadlock: .* tile 0 waits for tile 1 \(which has finished\) to send")
def a_message_that_nobody_sends(k: Kernel) -> None:
    with k.on(0):
        k.arm(k.spm("a", (4,), "f32"), [1])
        k.wait([1])
    with k.on(1):
        fill(k)


@fault(
    SimError, "deadlock: tiles wait in a circle: tile 0 waits for tile 1 to come .*; tile 1 waits for tile 0 to send"
)
def a_barrier_against_a_message(k: Kernel) -> None:
    a = k.spm("a", (4,), "f32")
    k.fill(a, 0)
    with k.on(1):
        k.arm(k.spm("b", (4,), "f32"), [0])
        k.wait([0])
    with k.on(0, 1):
        k.barrier()
    with k.on(0):
        k.send(a, [1])


@fault(SimError, "deadlock")
def messages_on_different_channels(k: Kernel) -> None:
    ring(k, channel=1)


@fault(SimError, "tile 0 sends 32 bytes to tile 1, which armed for 64 in instruction 1")
def a_message_of_another_length(k: Kernel) -> None:
    ring(k, nbytes=32)


@fault(SimError, "waits for a message of tile 3 on channel 0 that it has not armed")
def a_wait_for_nothing(k: Kernel) -> None:
    k.instruction(tx8.dte_wait, peers=(3, 0, 1, 2))


@fault(SimError, r"that instruction 1 armed arrived, but tile 0 never waits for it")
def a_wait_that_is_missing(k: Kernel) -> None:
    ring(k, wait=False)


@fault(SimError, "armed was never sent; tile 0 never waits for it")
def an_arm_that_nobody_uses(k: Kernel) -> None:
    with k.on(0):
        k.arm(k.spm("a", (4,), "f32"), [1])
    with k.on(1):
        fill(k)


# -- layouts: the simulator -----------------------------------------------------------------------------------------


def multiply(k: Kernel, a: Any, shape: tuple[int, int, int, int], format: str = "f32") -> None:
    """A product whose left factor takes the bytes of `a` for a blocked tensor of `shape`."""
    batch, _, m, inner = shape
    b, c = k.spm("b", (1, 1, inner, 4), format, "NCx"), k.spm("c", (batch, 1, m, 4), format, "NCx")
    k.fill(b, 1)
    k.instruction(tx8.gemm, lhs=(a.address.constant,), rhs=b, out=c, batch=batch, lhs_batch=batch, m=m, k=inner, n=4,
                  in_format=format, out_format=format)  # fmt: skip


def blocked(k: Kernel, name: str, shape: tuple[int, int, int, int]) -> Any:
    """A tensor of ones that was made dense, and blocked by the vector unit."""
    dense, result = k.spm(f"dense {name}", shape, "f32"), k.spm(name, shape, "f32", "NCx")
    k.fill(dense, 1)
    k.block(result, dense)
    return result


@fault(SimError, r"operand lhs of tile 0, SPM \[0x10000, 0x10100\) is read as NCx 1x1x16x3 f32, "
                 r'but input "x" holds dense f32')  # fmt: skip
def a_dense_input_to_multiply(k: Kernel) -> None:
    a = k.spm("a", (64,), "f32")
    k.load(a, k.input("x", (64,), "f32"))
    multiply(k, a, (1, 1, 16, 3))


@fault(SimError, r"is read as NCx 1x1x8x66 f32, but instruction 1 \(tx8.channelnorm\) wrote NCx 1x1x8x65 f32")
def channels_that_were_padding(k: Kernel) -> None:
    multiply(k, blocked(k, "a", (1, 1, 8, 65)), (1, 1, 8, 66))


@fault(SimError, "is read as NCx 1x1x8x64 f32, but instruction 1 .* wrote NCx 1x1x4x128 f32")
def channel_blocks_taken_for_rows(k: Kernel) -> None:
    multiply(k, blocked(k, "a", (1, 1, 4, 128)), (1, 1, 8, 64))


@fault(SimError, "is read as NCx 1x1x8x128 bf16, but instruction 1 .* wrote NCx 1x1x8x64 f32")
def numbers_of_another_format(k: Kernel) -> None:
    multiply(k, blocked(k, "a", (1, 1, 8, 64)), (1, 1, 8, 128), "bf16")


@fault(SimError, "is read as NCx 2x1x4x96 f32, but instruction 1 .* wrote NCx 1x1x8x96 f32")
def rows_taken_for_batches(k: Kernel) -> None:
    multiply(k, blocked(k, "a", (1, 1, 8, 96)), (2, 1, 4, 96))


@fault(SimError, "is read as NTensor 1x1x8x100 f32, but instruction 1 .* wrote NCx 1x1x8x100 f32")
def a_tensor_blocked_twice(k: Kernel) -> None:
    a = blocked(k, "a", (1, 1, 8, 100))
    k.instruction(tx8.channelnorm, src=a, dst=k.spm("b", a.shape, "f32", "NCx"), shape=a.shape, format="f32")


@fault(SimError, "is read as NTensor 1x1x8x100 f32, but instruction 1 .* wrote NCx 1x1x8x100 f32")
def a_blocked_tensor_transposed_as_if_dense(k: Kernel) -> None:
    a = blocked(k, "a", (1, 1, 8, 100))
    k.instruction(tx8.transpose, src=a, dst=k.spm("b", (100, 8), "f32"), shape=a.shape, format="f32", perm=(0, 1, 3, 2))


@fault(SimError, r"operand lhs of tile 0, .* is read as NCx 1x1x8x64 f32, but instruction 4 .* wrote NCx 1x1x4x128 f32")
def a_layout_that_arithmetic_and_copies_keep(k: Kernel) -> None:
    a, b = blocked(k, "a", (1, 1, 4, 128)), k.spm("copy", (1, 1, 4, 128), "f32", "NCx")
    k.unary("neg", a, a)
    k.copy(b, a)
    k.binary("add", b, b, 1.0)
    multiply(k, b, (1, 1, 8, 64))


@fault(SimError, r"operand lhs of tile 3, .* is read as NCx 1x1x8x64 f32, but instruction 1 .* wrote NCx 1x1x4x128 f32")
def a_layout_that_goes_with_a_message(k: Kernel) -> None:
    a, b = blocked(k, "a", (1, 1, 4, 128)), k.spm("received", (1, 1, 4, 128), "f32", "NCx")
    with k.on(3):
        k.arm(b, [0])
    with k.on(0):
        k.send(a, [3])
    with k.on(3):
        k.wait([0])
        multiply(k, b, (1, 1, 8, 64))


@fault(SimError, r"operand src of tile 2, .* is read as NCx 1x1x8x64 f32, but instruction 1 .* wrote NCx 1x1x4x128 f32")
def a_layout_that_goes_through_ddr(k: Kernel) -> None:
    a, s = blocked(k, "a", (1, 1, 4, 128)), k.scratch("s", (1, 1, 4, 128), "f32", "NCx")
    with k.on(1):
        k.store(s, a)
    k.barrier()
    with k.on(2):
        k.fill(a, 0)
        k.load(a, s)
        k.instruction(tx8.reduce, function="sum", axis="C", src=a, dst=k.spm("sums", (1, 1, 8, 1), "f32", "NCx"),
                      shape=(1, 1, 8, 64), format="f32")  # fmt: skip


# -- layouts and allocation: the kernel builder ---------------------------------------------------------------------


@fault(KernelError, r'expected a channel-blocked tensor of rank 4 \(layout NCx\), not "a" \(SPM 1x1x8x8 f32 NTensor\)')
def a_dense_matrix_to_multiply(k: Kernel) -> None:
    b = k.matrix("b", 8, 8, "f32")
    k.gemm(b, k.spm("a", (1, 1, 8, 8), "f32"), b)


@fault(KernelError, "operands of one shape, format and layout")
def a_dense_and_a_blocked_operand(k: Kernel) -> None:
    b = k.matrix("b", 8, 8, "f32")
    k.unary("abs", b, k.spm("a", (1, 1, 8, 8), "f32"))


@fault(KernelError, "operands of one shape, format and layout")
def operands_of_two_formats(k: Kernel) -> None:
    k.copy(k.spm("a", (8,), "f32"), k.spm("b", (8,), "bf16"))


@fault(KernelError, "is channel-blocked; only views in a dense layout can be sliced")
def a_slice_of_a_blocked_tensor(k: Kernel) -> None:
    k.fill(k.matrix("b", 8, 8, "f32")[0], 1)


@fault(KernelError, "is a strided part; instructions other than copies run over dense bytes")
def arithmetic_on_a_strided_part(k: Kernel) -> None:
    k.fill(k.spm("b", (8, 8), "f32")[:, :4], 1)


@fault(KernelError, "do not multiply to .*: their sums have 4 and 8 terms")
def matrices_that_do_not_fit(k: Kernel) -> None:
    k.gemm(k.matrix("a", 8, 8, "f32"), k.matrix("b", 8, 4, "f32"), k.matrix("c", 8, 8, "f32"))


@fault(KernelError, 'no room for "b": 1048576 bytes of scratch-pad are asked for')
def more_than_the_scratchpad_holds(k: Kernel) -> None:
    k.spm("a", (2 * MIB,), "i8")
    k.spm("b", (MIB,), "i8")


@fault(KernelError, 'there is already something named "a"')
def a_name_twice(k: Kernel) -> None:
    k.spm("a", (4,), "f32")
    k.spm("a", (4,), "f32")


@fault(KernelError, "index slice.* is outside of axis 0")
def a_slice_outside_of_its_tensor(k: Kernel) -> None:
    k.fill(k.spm("a", (8,), "f32")[4:12], 0)


@fault(KernelError, r'"a" .* is indexed with elements 0 to 69 of axis 0 over all trips; the axis has extent 64')
def a_slice_that_leaves_its_tensor_in_the_last_trip(k: Kernel) -> None:
    a = k.spm("a", (64,), "f32")
    with k.loop(3) as i:
        k.fill(a[i * 30 : i * 30 + 10], 0)


@fault(KernelError, "tx8.reduce needs format; its fields are")
def a_field_that_is_missing(k: Kernel) -> None:
    a = k.matrix("a", 8, 8, "f32")
    k.instruction(tx8.reduce, src=a, dst=a, function="sum", axis="C", shape=a.shape)


@fault(KernelError, "tx8.memset has no field fill; its fields are")
def a_field_that_is_not_there(k: Kernel) -> None:
    k.instruction(tx8.memset, dst=k.spm("a", (8,), "f32"), count=8, format="f32", value=0, fill=1)


@fault(KernelError, 'there is no layout "nchw"; expected one of Tensor, NTensor, Cx, NCx')
def a_layout_that_is_not_there(k: Kernel) -> None:
    k.spm("a", (1, 8, 8, 8), "f32", "nchw")


@fault(KernelError, "300 is not a number of format i8")
def a_number_that_its_format_does_not_have(k: Kernel) -> None:
    k.fill(k.spm("a", (8,), "i8"), 300)


@fault(KernelError, 'constant "w" of format f32 takes float32 values, not float64')
def a_constant_of_another_type(k: Kernel) -> None:
    k.constant("w", np.zeros(4), "f32")


@fault(KernelError, "expected a view, or one for each of the 4 tiles, not 'a'")
def a_name_instead_of_a_view(k: Kernel) -> None:
    k.unary("abs", "a", k.spm("a", (8,), "f32"))  # type: ignore[arg-type]


@fault(KernelError, "has 2 buffers; expected a number below, or a trip modulo 2")
def a_buffer_that_is_not_there(k: Kernel) -> None:
    buffers = k.spm_buffers("a", 2, (8,), "f32")
    with k.loop(4) as i:
        k.fill(buffers[i], 0)


@fault(KernelError, "depends on the trip of a loop that has ended")
def the_trip_of_a_loop_that_has_ended(k: Kernel) -> None:
    a = k.spm("a", (8,), "f32")
    with k.loop(4) as i:
        k.fill(a, 0)
    k.fill(a[i : i + 1], 0)


@fault(KernelError, "is not in SPM")
def arithmetic_in_ddr(k: Kernel) -> None:
    k.fill(k.scratch("s", (8,), "f32"), 0)


@fault(KernelError, "3 views are given for 4 tiles")
def views_for_other_tiles(k: Kernel) -> None:
    a = k.spm("a", (8,), "f32")
    k.fill([a, a, a], 0)


def run(k: Kernel, build: Fault) -> None:
    build(k)
    inputs = {"x": np.zeros(64, np.float32)}
    Simulator(k.program()).run({name: x for name, x in inputs.items() if name in k.names})


def test_the_bank_is_large() -> None:
    assert len(BANK) >= 40


@pytest.mark.parametrize("name", BANK)
def test_every_fault_is_caught_with_its_place(name: str) -> None:
    error, message, build = BANK[name]
    k = Kernel(name, range(4))
    with pytest.raises(error, match=message) as caught:
        run(k, build)
    assert caught.value.location is not None
    assert "test_fault_bank.py" in str(caught.value.location)
    if isinstance(caught.value, SimError) and "output" not in message:
        assert caught.value.index is not None
        assert caught.value.tile is not None
        assert caught.value.source == name


RACES = [name for name, (error, message, _) in BANK.items() if error is SimError and "race" in message]


@pytest.mark.parametrize("name", RACES)
def test_races_are_found_on_any_schedule(name: str) -> None:
    """Which of the accesses comes second depends on the schedule; that there is a race does not."""
    _, _, build = BANK[name]
    k = Kernel(name, range(4))
    build(k)
    program = k.program()
    for seed in range(3):
        with pytest.raises(SimError, match=r"race: .*tile .* (reads|writes)|never written"):
            Simulator(program).run({}, Interleaved(seed))
