"""One function reads every spelling of an element type."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tx8ir.core import ElementLike, ScalarType, bf16, element_type, f16, f32, f64, i1, i8, tf32, ui4
from tx8ir.target import formats


@pytest.mark.parametrize("format", formats.ALL, ids=str)
def test_the_names_of_a_format(format: formats.Format) -> None:
    for given in (format.name, format.vendor_name, format, ScalarType(format)):
        assert element_type(given) is ScalarType(format)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        *(("float32", f32), ("float64", f64), ("float16", f16), ("bfloat16", bf16), ("bool", i1), ("int8", i8)),
        *((np.float32, f32), (np.dtype("float64"), f64), (ml_dtypes.bfloat16, bf16), (np.bool_, i1), (bool, i1)),
        *((np.dtype(ml_dtypes.uint4), ui4), (float, f64), ("tf32", tf32)),
    ],
)
def test_the_names_and_the_types_of_numpy(given: ElementLike, meant: ScalarType) -> None:
    assert element_type(given) is meant


@pytest.mark.parametrize(
    ("given", "shown"),
    [("f8", "'f8'"), ("F32", "'F32'"), ("", "''"), (np.complex64, "<class 'numpy.complex64'>"), (3, "3"), (i8, "i8")],
)
def test_what_is_no_choice_is_refused_in_one_sentence(given: Any, shown: str) -> None:
    with pytest.raises(ValueError, match="expected one of") as caught:
        element_type(given, (f32, bf16, f16), what="dtype")
    assert str(caught.value) == f"dtype is {shown}; expected one of f32, bf16, f16"


def test_all_types_are_listed_where_all_are_allowed() -> None:
    with pytest.raises(ValueError, match=r"^element type is 'f8'; expected one of i8, i16, f16, bf16, .*, f64$"):
        element_type("f8")
