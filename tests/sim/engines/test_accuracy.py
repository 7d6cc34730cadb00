"""Functions that IEEE 754 does not define are within 2 ulp of correctly rounded: by night for every fp32 operand.

Some are NumPy's own, which differ between builds and between processors: a NumPy that is worse fails here.
"""

from __future__ import annotations

from operator import attrgetter

import numpy as np
import pytest
from numpy.typing import NDArray

from support.formulas import VECTOR, inexact
from tx8ir.sim.memory.buffer_pool import Scratch
from tx8ir.target.formats import F32, Format
from tx8ir.target.vector_functions import UNARY, VectorFunction, vector_function

Single = NDArray[np.float32]
Double = NDArray[np.float64]

STRIDE = 1021  # odd: every exponent and all sorts of mantissas


def computed(function: str, x: Single) -> Single:
    out = np.empty_like(x)[None]
    with np.errstate(all="ignore"):
        vector_function(function).kernel(F32)((x[None],), out, Scratch())
    return out[0]


def ordinals(x: NDArray[np.floating]) -> NDArray[np.int64]:
    """Numbers whose differences count the representable ones between; both zeros have the same."""
    bits = x.view(f"i{x.dtype.itemsize}").astype(np.int64)
    return np.where(bits < 0, np.iinfo(f"i{x.dtype.itemsize}").min - bits, bits)


def check(function: str, x: Single) -> None:
    got = computed(function, x)
    with np.errstate(all="ignore"):
        want = VECTOR[function].of(x).astype(np.float32)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    away = np.where(np.isnan(want), 0, np.abs(ordinals(got) - ordinals(want)))
    worst = int(away.argmax())
    assert away[worst] <= 2, f"{function}({x[worst]!r}) is {got[worst]!r}, {away[worst]} ulp from {want[worst]!r}"


@pytest.mark.parametrize("function", inexact())
def test_operands_all_over_the_range(function: str) -> None:
    check(function, np.arange(0, 1 << 32, STRIDE, dtype=np.uint64).astype(np.uint32).view(np.float32))


@pytest.mark.parametrize("function", inexact())
def test_operands_around_the_edges(function: str) -> None:
    """Where results overflow, vanish, change sign or become subnormal, and where another algorithm takes over."""
    edges = [0.0, 1e-45, 1.17549435e-38, 0.5, 0.7, 1.0, 1.6, np.pi, 16.6, 25.0, 71476.0, 87.33, 88.722839, 103.97208]
    edges += [126.0, 126.54287, 127.0, 128.0, 149.0, 25.994385, 38.466045, 62.029507, 3.4e38, np.inf, np.nan]
    bits = np.array(edges, np.float32).view(np.uint32)[:, None] + np.arange(-2048, 2049).astype(np.uint32)
    for sign in (0, 1 << 31):
        check(function, (bits | np.uint32(sign)).reshape(-1).view(np.float32))


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("sign", [0, 1], ids=["positive", "negative"])
@pytest.mark.parametrize("function", inexact())
def test_every_operand(function: str, sign: int) -> None:
    step = 1 << 20
    for start in range(sign << 31, (sign + 1) << 31, step):
        check(function, np.arange(start, start + step, dtype=np.uint64).astype(np.uint32).view(np.float32))


@pytest.mark.parametrize(
    "function", [function for function in UNARY if function.half is not None], ids=attrgetter("name")
)
def test_half_precision_functions_of_numpy_are_within_2_ulp_for_every_operand(function: VectorFunction) -> None:
    assert function.half is not None
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    out = np.empty_like(x)
    with np.errstate(all="ignore"):
        function.half(x, out=out)
        want = VECTOR[function.name].of(x).astype(np.float16)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(want))
    assert np.where(np.isnan(want), 0, np.abs(ordinals(out) - ordinals(want))).max() <= 2


@pytest.mark.parametrize("format", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("function", [*inexact(), "relu"])
def test_a_result_does_not_depend_on_its_neighbours(function: str, format: str) -> None:
    """Whatever is computed together, in whatever blocks: the same operand gives the same bits."""
    compute = vector_function(function).kernel(Format.named(format))
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(0, 40, 300), rng.normal(0, 1, 300), [np.nan, np.inf, -0.0, 25.5, 126.6]])
    x = x.astype(np.float32)
    with np.errstate(all="ignore"):
        together, apart, spread = (np.empty((1, len(x)), np.float32) for _ in range(3))
        compute((x[None],), together, Scratch())
        for i in range(len(x)):
            compute((x[None, i : i + 1],), apart[:, i : i + 1], Scratch())
        room = np.zeros((1, 3 * len(x)), np.float32)
        room[:, ::3] = x
        compute((room[:, ::3],), spread, Scratch())
    assert together.tobytes() == apart.tobytes() == spread.tobytes()
