"""The chip's numbers, and what follows from them."""

from __future__ import annotations

import pickle

import attrs
import pytest

from tx8ir.target.chip import BOARD, DATASHEET, TX8, Engine, Family, MemoryScope, Target


def test_memory_map():
    assert (TX8.grid, TX8.tiles) == ((4, 4), 16)
    assert TX8.spm_bytes == 0x300000
    assert TX8.spm_allocatable == (64 << 10, TX8.spm_bytes - (64 << 10))
    assert TX8.spm_allocatable_bytes == 0x2E0000
    assert (TX8.ddr_base, TX8.ddr_bytes, TX8.ddr_bank) == (0x280000000, 64 << 30, 4096)
    assert (TX8.spm_alignment, TX8.spm_banks, TX8.spm_bank_bytes) == (256, 8, 256)


def test_codes():
    assert [engine.value for engine in Engine] == ["CT", "NE", "RDMA", "WDMA", "TDMA", "DTE", "SCALAR"]
    assert [family.name for family in Family] == ["CGRA", "NEUR", "RDMA", "WDMA", "TDMA", "SCALAR", "DTE", "CSR"]
    assert [family.value for family in Family] == list(range(8))
    assert (MemoryScope.DDR, MemoryScope.SPM, MemoryScope.DDR3D) == (0, 1, 2)


def test_ne_limits():
    ne = TX8.ne
    assert (ne.extent, ne.channels, ne.pad, ne.kernel) == ((1, 4096), (1, 16384), (0, 1023), (1, 255))
    assert (ne.stride, ne.dilation) == ((1, 1023), (1, 1023))


@pytest.mark.parametrize(
    ("format", "published"), [("i8", 256), ("f16", 128), ("bf16", 128), ("tf32", 128), ("f32", 21)]
)
def test_peaks_follow_from_the_step(format, published):
    """256T, 128T and 21T, a T being 1024 G as the published figures count."""
    assert int(TX8.peak_operations_per_second(format) / 1.024e12) == published


def test_no_peak_for_a_format_the_ne_does_not_multiply():
    with pytest.raises(ValueError, match="the NE does not multiply i32; expected one of i8, f16, bf16, tf32, f32"):
        TX8.peak_operations_per_second("i32")


def test_tile_ids():
    assert TX8.tile_id(1, 2) == 6
    assert [TX8.tile_id(*TX8.tile_position(tile)) for tile in range(16)] == list(range(16))
    assert attrs.evolve(TX8, grid=(2, 8)).tile_id(1, 2) == 10
    with pytest.raises(ValueError, match=r"no tile \(4, 0\) in a grid of 4 x 4"):
        TX8.tile_id(4, 0)
    with pytest.raises(ValueError, match="no tile 16 in a grid of 4 x 4"):
        TX8.tile_position(16)


def test_address_ranges():
    assert TX8.in_spm(0, 0x300000)
    assert not TX8.in_spm(1, 0x300000)
    assert not TX8.in_spm(-1)
    assert TX8.in_ddr(0x280000000, 64 << 30)
    assert not TX8.in_ddr(0x280000000 - 1)
    assert not TX8.in_ddr(TX8.ddr_end)


def test_profiles_differ_in_what_was_measured_only():
    differing = {f.name for f in attrs.fields(type(BOARD)) if getattr(BOARD, f.name) != getattr(DATASHEET, f.name)}
    assert differing == {
        "name",
        "ne_efficiency",
        "ddr_bytes_per_cycle",
        "dte_first_message_cycles",
        "dte_message_cycles",
        "issue_cycles",
    }


def test_targets_are_values():
    assert Target() == TX8
    assert hash(Target()) == hash(TX8)
    assert pickle.loads(pickle.dumps(attrs.evolve(TX8, profile=BOARD))) == attrs.evolve(TX8, profile=BOARD)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        TX8.spm_bytes = 0
