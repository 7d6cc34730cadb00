"""The table of formats: spellings, codes, widths, NumPy types, and that importing it stays cheap."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from tx8ir.target import formats
from tx8ir.target.formats import ALL, F32, F64, PUBLISHED_CODES, TF32, Format
from tx8ir.target.rounding import convert

# name, code, bits, NumPy type, channel block
TABLE = [
    ("i8", 0, 8, np.int8, 128),
    ("i16", 1, 16, np.int16, 64),
    ("f16", 2, 16, np.float16, 64),
    ("bf16", 3, 16, ml_dtypes.bfloat16, 64),
    ("i32", 4, 32, np.int32, 64),
    ("f32", 5, 32, np.float32, 64),
    ("tf32", 6, 32, np.float32, 64),
    ("i1", 7, 1, np.bool_, None),
    ("ui8", 8, 8, np.uint8, 128),
    ("ui16", 9, 16, np.uint16, 64),
    ("ui32", 10, 32, np.uint32, 64),
    ("i64", 11, 64, np.int64, 64),
    ("ui64", 12, 64, np.uint64, 64),
    ("i4", None, 4, ml_dtypes.int4, None),
    ("ui4", None, 4, ml_dtypes.uint4, None),
    ("f64", None, 64, np.float64, 64),
]


def test_the_table_lists_every_format():
    assert [format.name for format in ALL] == [row[0] for row in TABLE]


@pytest.mark.parametrize(("name", "code", "bits", "dtype", "block"), TABLE, ids=[row[0] for row in TABLE])
def test_row(name, code, bits, dtype, block):
    format = Format.named(name)
    assert getattr(formats, name.upper()) is format
    assert (format.code, format.bits, format.dtype) == (code, bits, np.dtype(dtype))
    assert str(format) == name
    if code is not None:
        assert Format.from_code(code) is format
    if bits >= 8:
        assert (format.bytes, format.block) == (bits // 8, block)
        assert format.dtype.itemsize == format.bytes
    else:
        with pytest.raises(ValueError, match=f"{name} has no size in whole bytes"):
            _ = format.bytes
        with pytest.raises(ValueError, match=f"{name} is dense only"):
            _ = format.block


@pytest.mark.parametrize("format", ALL, ids=str)
def test_kind_agrees_with_the_name(format):
    assert format.is_float == ("f" in format.name)
    assert format.is_integer == (not format.is_float)
    assert format.is_bool == (format.name == "i1")
    assert format.is_packed == (format.name in {"i1", "i4", "ui4"})
    assert format.is_signed == (not format.name.startswith("ui") and not format.is_bool)


@pytest.mark.parametrize("format", [f for f in ALL if f.is_float and f is not TF32], ids=str)
def test_floating_widths_are_those_of_the_numpy_type(format):
    info = ml_dtypes.finfo(format.dtype)
    assert (format.exponent_bits, format.mantissa_bits) == (info.nexp, info.nmant)
    assert 1 + format.exponent_bits + format.mantissa_bits == format.bits


def test_tf32_has_the_range_of_f32_and_the_precision_of_f16():
    assert (TF32.exponent_bits, TF32.mantissa_bits, TF32.bits) == (8, 10, 32)


def test_published_files_swap_tf32_and_f32_and_nothing_else():
    assert Format.from_code(5, PUBLISHED_CODES) is TF32
    assert Format.from_code(6, PUBLISHED_CODES) is F32
    assert all(
        Format.from_code(code, PUBLISHED_CODES) is Format.from_code(code) for code in range(13) if code not in (5, 6)
    )


def test_unknown_names_and_codes_list_what_there_is():
    with pytest.raises(
        ValueError, match="unknown format 'fp32'; expected one of i8, i16, f16, bf16, i32, f32, tf32, i1"
    ):
        Format.named("fp32")
    with pytest.raises(ValueError, match="unknown format code 13; expected one of 0, 1, 2"):
        Format.from_code(13)


@pytest.mark.parametrize("format", ALL, ids=str)
def test_a_process_has_one_object_per_format(format):
    assert pickle.loads(pickle.dumps(format)) is format
    assert copy.deepcopy(format) is format


def test_import_does_not_load_ml_dtypes():
    code = "import sys, tx8ir.target.formats as f; f.F32.dtype; assert 'ml_dtypes' not in sys.modules; f.BF16.dtype"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("fmt", ALL, ids=str)
def test_limits_are_the_smallest_and_the_largest_finite_number(fmt) -> None:
    if fmt.is_bool:
        expected = (0, 1)
    elif fmt is TF32:  # f32 with 13 bits less
        expected = (-(2 - 2.0**-10) * 2.0**127, (2 - 2.0**-10) * 2.0**127)
    else:
        info = (
            (ml_dtypes.finfo if fmt.is_float else ml_dtypes.iinfo)(fmt.dtype)
            if fmt.dtype.kind in "fV"
            else np.iinfo(fmt.dtype)
        )
        expected = (float(info.min), float(info.max)) if fmt.is_float else (int(info.min), int(info.max))
    assert fmt.limits == expected
    assert {type(limit) for limit in fmt.limits} == {float if fmt.is_float else int}


@pytest.mark.parametrize("source", ALL, ids=str)
@pytest.mark.parametrize("target", ALL, ids=str)
def test_a_format_fits_in_another_exactly_when_every_number_comes_back(source: Format, target: Format) -> None:
    """Decided by trying: all numbers of formats of up to 16 bits, the ends and neighbours of the others."""
    numbers = _numbers(source)
    with np.errstate(all="ignore"):
        there = numbers != 0 if target.is_bool else convert(numbers, source, target)
        back = there != 0 if source.is_bool else convert(there, target, source)
        same = (back == numbers) | (numbers != numbers)
        if source.is_float:
            same &= (numbers != numbers) | (np.signbit(_wide(back)) == np.signbit(_wide(numbers)))
            same &= not target.is_integer  # which has no NaN
        elif target.is_integer:
            same &= np.array(
                [int(a) == int(b) for a, b in zip(there, numbers, strict=True)]
            )  # bits that come back wrap
    assert source.fits_in(target) == bool(np.all(same))


def _numbers(format: Format) -> np.ndarray:
    if format.is_bool:
        return np.array([False, True])
    if format.bits == 16:
        return np.arange(1 << 16, dtype=np.uint16).view(format.dtype)
    if format.is_float:
        tiny = [2.0**-10, 2.0**-23, 2.0**-52]
        wide = [-0.0, 1.0, *(1 + t for t in tiny), 1e-45, 3e38, 1e300, np.inf, np.nan]
        return convert(np.array(wide), F64, format)
    low, high = format.integer_range
    numbers = range(low, high + 1) if format.bits <= 8 else (low, low + 1, -format.is_signed, 0, 1, high - 1, high)
    return np.array(numbers, np.int64 if format.is_signed else np.uint64).astype(format.dtype)


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)
