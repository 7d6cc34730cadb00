"""Products and convolutions at the limits of the machine, within K * 2^-24 * sum |a b| of double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tx8ir.dialects import tx8
from tx8ir.target.formats import F32
from tx8ir.target.layout import size_bytes

Array = NDArray[Any]


def check(got: Array, product: Array, magnitude: Array, terms: int) -> None:
    assert got.shape == product.shape
    assert (np.abs(got - product) <= terms * 2.0**-24 * magnitude + np.abs(product) * 2.0**-24).all()


@pytest.mark.parametrize(
    ("m", "k", "n"), [(1, 16384, 3), (4096, 3, 2), (2, 1, 16384), (4096, 1, 1), (1, 1, 1), (3, 129, 65)]
)
def test_gemm(tools: Any, m: int, k: int, n: int) -> None:
    a, b = tools.random_values(1, (1, 1, 1, m, k), "f32"), tools.random_values(2, (1, 1, 1, k, n), "f32")
    bench = tools.Bench((3,))
    lhs, rhs = bench.put_tensor(a, "f32"), bench.put_tensor(b, "f32")
    nbytes = size_bytes((1, 1, m, n), F32, "NCx")
    out = bench.room(nbytes)
    bench.do(tx8.gemm, lhs=lhs, rhs=rhs, out=out, m=m, k=k, n=n, in_format="f32", out_format="f32")
    bench.get(out, nbytes)
    x, y = a[0, 0, 0].astype(np.float64), b[0, 0, 0].astype(np.float64)
    check(tools.tensor(bench.run()[0], (1, 1, m, n), "f32")[0, 0, 0], x @ y, np.abs(x) @ np.abs(y), k)


LIMITS: dict[str, dict[str, Any]] = {
    "channels of the feature": {"shape": (1, 1, 2, 16384), "out_channels": 2, "kernel": (1, 1)},
    "channels of the result": {"shape": (1, 1, 2, 3), "out_channels": 16384, "kernel": (1, 1)},
    "height": {"shape": (1, 4096, 1, 2), "out_channels": 1, "kernel": (3, 1), "pads": (1, 1, 0, 0)},
    "width": {"shape": (1, 1, 4096, 2), "out_channels": 1, "kernel": (1, 2)},
    "batch": {"shape": (4096, 1, 1, 1), "out_channels": 2, "kernel": (1, 1)},
    "kernel": {"shape": (1, 256, 3, 2), "out_channels": 2, "kernel": (255, 3)},
    "pads": {"shape": (1, 1, 2, 3), "out_channels": 2, "kernel": (1, 1), "pads": (1023, 1023, 1, 0)},
    "strides": {"shape": (1, 2050, 3, 1), "out_channels": 2, "kernel": (2, 1), "strides": (1023, 1)},
    "dilations": {"shape": (1, 1025, 2, 2), "out_channels": 2, "kernel": (2, 1), "dilations": (1023, 1)},
}


def correlation(x: Array, weight: Array, fields: dict[str, Any]) -> Array:
    """[N, H, W, C] with [KH, KW, O, C], one tap at a time."""
    top, bottom, left, right = fields.get("pads", (0, 0, 0, 0))
    (sh, sw), (dh, dw) = fields.get("strides", (1, 1)), fields.get("dilations", (1, 1))
    kh, kw = fields["kernel"]
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    rows = (x.shape[1] - (kh - 1) * dh - 1) // sh + 1
    columns = (x.shape[2] - (kw - 1) * dw - 1) // sw + 1
    total = np.zeros((x.shape[0], rows, columns, weight.shape[2]))
    for i, j in np.ndindex(kh, kw):
        tap = x[:, i * dh :: sh, j * dw :: sw][:, :rows, :columns]
        total += tap @ weight[i, j].T
    return total


@pytest.mark.parametrize("what", LIMITS)
def test_conv(tools: Any, what: str) -> None:
    fields = LIMITS[what]
    shape, kernel = fields["shape"], fields["kernel"]
    x = tools.random_values(1, (1, *shape), "f32")
    weight = tools.random_values(2, (1, *kernel, fields["out_channels"], shape[3]), "f32")
    a, b = x[0].astype(np.float64), weight[0].astype(np.float64)
    product, magnitude = correlation(a, b, fields), correlation(np.abs(a), np.abs(b), fields)
    bench = tools.Bench((3,))
    src, w = bench.put_tensor(x, "f32"), bench.put_tensor(weight, "f32", "Cx")
    nbytes = size_bytes(product.shape, F32, "NCx")
    out = bench.room(nbytes)
    bench.do(tx8.conv, src=src, weight=w, out=out, in_format="f32", out_format="f32", **fields)
    bench.get(out, nbytes)
    terms = kernel[0] * kernel[1] * shape[3]
    check(tools.tensor(bench.run()[0], product.shape, "f32")[0], product, magnitude, terms)
