"""Rows, columns and tensors that no single instruction reduces: the compiler cuts them over tiles and in time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support import nests
from tx8ir.core import Program, bf16, f32
from tx8ir.dialects import pd
from tx8ir.testing import check

PROGRAMS: dict[str, Callable[[], Program]] = {
    "softmax of 50,257": lambda: nests.softmax((2, 50257)),
    "softmax of 20,000 in 16 bits": lambda: nests.softmax((1, 20000), bf16),
    "layer norm of 20,000": lambda: nests.of(lambda x: pd.layer_norm(x).out, (2, 20000)),
    "sum of all": lambda: nests.of(lambda x: pd.sum(x, axis=(0, 1)).out, (400, 100)),
    "largest of all": lambda: nests.of(lambda x: pd.max(x, axis=(0, 1)).out, (400, 100)),
    "mean of all in 16 bits": lambda: nests.of(lambda x: pd.mean(x, axis=(0, 1)).out, (400, 100), bf16),
    "columns": lambda: nests.of(lambda x: pd.sum(x, axis=(0,)).out, (8192, 64)),
    "columns in 16 bits": lambda: nests.of(lambda x: pd.sum(x, axis=(0,)).out, (8192, 64), bf16),
    "mean of rows": lambda: nests.of(lambda x: pd.mean(x, axis=(1,)).out, (2, 100000), f32),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_computes_what_the_program_does(name: str) -> None:
    assert check(PROGRAMS[name]()).passed
