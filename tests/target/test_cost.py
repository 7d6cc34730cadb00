"""The published timings, each as the function that computes it."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.target import cost
from tx8ir.target.chip import BOARD, TX8
from tx8ir.target.formats import BF16, F16, F32, I8, I32, TF32

board = attrs.evolve(TX8, profile=BOARD)


class TestMatrixUnit:
    @pytest.mark.parametrize(("format", "cycles"), [(I8, 1024), (F16, 2048), (BF16, 2048), (TF32, 2048), (F32, 12288)])
    def test_a_large_gemm_runs_at_peak(self, format, cycles):
        """M=N=256, K=128: 32 * 16 * 16 = 8192 steps at 8, 4 and 2/3 per cycle."""
        assert cost.ne_gemm(TX8, 256, 128, 256, format) == cycles

    def test_partial_steps_count_as_whole_ones(self):
        whole = cost.ne_gemm(TX8, 264, 136, 272, BF16)
        assert cost.ne_gemm(TX8, 257, 129, 257, BF16) == whole > cost.ne_gemm(TX8, 256, 128, 256, BF16)

    @pytest.mark.parametrize("format", [I8, F16, BF16, TF32, F32], ids=str)
    def test_one_row_streams_weights_at_256_bytes_per_cycle(self, format):
        assert cost.ne_gemm(TX8, 1, 768, 1024, format) == 768 * 1024 * format.bytes // 256

    def test_the_stream_binds_until_the_array_takes_as_long(self):
        """bf16: one step's weights take 1 cycle to stream, 4 steps of 8 rows each 1 cycle to compute."""
        cycles = [cost.ne_gemm(TX8, m, 64, 64, BF16) for m in (1, 8, 32, 40, 64)]
        assert cycles == [32, 32, 32, 40, 64]

    def test_batches_add_up(self):
        assert cost.ne_gemm(TX8, 128, 64, 128, F32, batch=12) == 12 * cost.ne_gemm(TX8, 128, 64, 128, F32)

    def test_boards_sustain_88_percent(self):
        assert cost.ne_gemm(board, 512, 512, 512, BF16) == -(-64 * 32 * 64 * 100 // (4 * 88))

    def test_conv_is_a_gemm_over_positions_and_taps(self):
        assert cost.ne_conv(TX8, 28 * 28, 128, 256, 9, BF16) == cost.ne_gemm(TX8, 28 * 28, 128 * 9, 256, BF16)

    def test_conv_rounds_channels_up_at_each_tap(self):
        """The first layer of a ResNet: 3 channels take a step of 8 at each of the 49 taps."""
        assert cost.ne_conv(TX8, 112 * 112, 3, 64, 49, BF16) == 112 * 112 // 8 * 4 * 49 // 4

    def test_depthwise_conv_has_no_reduction_over_channels(self):
        assert cost.ne_depthwise_conv(TX8, 56 * 56, 64, 9, F16) == 56 * 56 // 8 * 4 * 2 // 4

    def test_format_the_ne_does_not_multiply(self):
        with pytest.raises(ValueError, match="the NE does not multiply i32"):
            cost.ne_gemm(TX8, 8, 8, 8, I32)


class TestVectorUnitAndCopies:
    def test_ct_of_4_kib_takes_77_cycles(self):
        assert cost.ct(TX8, 4096) == 77
        assert cost.ct(board, 4096) == 77

    def test_ct_lanes(self):
        """64 fp16 or 32 fp32 lanes: one cycle more for the next one."""
        assert cost.ct(TX8, 64 * F16.bytes) == cost.ct(TX8, 32 * F32.bytes) == 46
        assert cost.ct(TX8, 65 * F16.bytes) == 47

    def test_tdma(self):
        assert cost.tdma(TX8, 4096) == 34
        assert cost.tdma(TX8, 4096, segments=64) == 160


class TestDdr:
    def test_a_tile_gets_its_share_of_the_bandwidth(self):
        """200 GB/s over 16 tiles: 12.5 B per cycle, after 500 cycles."""
        assert cost.dma(TX8, 12_500) == 1500
        assert cost.dma(TX8, 12_500, sharing=8) == 1000
        assert cost.dma(TX8, 200_000, sharing=1) == 1500

    def test_boards_sustain_150_gb_per_second(self):
        assert cost.dma(board, 9375) == 1500

    def test_a_start_inside_a_bank_costs_more(self):
        assert cost.dma(TX8, 12_500, TX8.ddr_base + 4096) == 1500
        assert cost.dma(TX8, 12_500, TX8.ddr_base + 4096 + 256) == 1520

    @pytest.mark.parametrize("sharing", [0, 17])
    def test_sharing_must_be_a_number_of_tiles(self, sharing):
        with pytest.raises(ValueError, match=f"between 1 and the target's 16 tiles, got {sharing}"):
            cost.dma(TX8, 1, sharing=sharing)


class TestBetweenTiles:
    def test_messages(self):
        assert cost.dte(TX8, 4096) == cost.dte(TX8, 4096, first=True) == 32
        assert cost.dte(board, 4096, first=True) == 13_032
        assert cost.dte(board, 4096) == 1_532

    def test_barrier_takes_200_ns(self):
        assert cost.barrier(TX8) == cost.barrier(board) == 200

    def test_issue(self):
        assert cost.issue(TX8, 10) == 0
        assert cost.issue(board) == 1000
        assert cost.issue(board, 10) == 10_000


def test_no_work_costs_nothing():
    assert cost.ct(TX8, 0) == cost.tdma(TX8, 0, 4) == cost.dma(TX8, 0, 5) == cost.dte(board, 0, first=True) == 0
    assert cost.ne_gemm(TX8, 0, 8, 8, BF16) == cost.ne_gemm(TX8, 8, 0, 8, BF16) == cost.ne_gemm(TX8, 8, 8, 0, BF16) == 0
    assert cost.ne_conv(TX8, 0, 8, 8, 9, BF16) == cost.ne_depthwise_conv(TX8, 0, 8, 9, BF16) == 0


sizes = st.lists(st.integers(0, 5000), min_size=3, max_size=3)


@given(sizes, sizes, sizes, st.sampled_from([I8, BF16, F32]), st.sampled_from([TX8, board]))
def test_arrays_give_what_scalars_give(a, b, c, format, target):
    functions = [
        lambda x, y, z: cost.ne_gemm(target, x, y, z, format),
        lambda x, y, z: cost.ne_gemm(target, x, 64, 64, format, batch=z),
        lambda x, y, z: cost.ne_conv(target, x, y, z, 9, format),
        lambda x, y, z: cost.ne_depthwise_conv(target, x, y, z, format),
        lambda x, y, z: cost.ct(target, x),
        lambda x, y, z: cost.tdma(target, x, y),
        lambda x, y, z: cost.tdma(target, 4096, y),
        lambda x, y, z: cost.dma(target, x, y),
        lambda x, y, z: cost.dma(target, 4096, y, sharing=3),
        lambda x, y, z: cost.dte(target, x, first=True),
        lambda x, y, z: cost.issue(target, x),
    ]
    for function in functions:
        together = function(np.array(a), np.array(b), np.array(c))
        assert together.dtype == np.int64
        separately = [function(*scalars) for scalars in zip(a, b, c, strict=True)]
        assert all(type(cycles) is int for cycles in separately)
        assert together.tolist() == separately


@given(sizes, st.integers(0, 100), st.sampled_from([I8, BF16, F32]))
def test_more_work_never_costs_less(shape, more, format):
    m, k, n = shape
    base = cost.ne_gemm(board, m, k, n, format)
    assert base <= min(cost.ne_gemm(board, m + more, k, n, format), cost.ne_gemm(board, m, k + more, n, format))
    assert cost.ct(board, m) <= cost.ct(board, m + more)
    assert cost.dma(board, m, k) <= cost.dma(board, m + more, k)
