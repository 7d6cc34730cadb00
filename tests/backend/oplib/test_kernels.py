"""Every kernel alone, compiled and simulated, against the op's own reference in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.kernels import Operand, run_kernel
from tx8ir.core import ScalarType, VTensorType
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import Activation, DevAttr, ReduceFunction
from tx8ir.target.formats import Format

CHANNELS = st.sampled_from([1, 3, 4, 5, 32, 33, 64, 65, 96, 97, 128, 131])
"""One of each kind of channel tail (machine.md §3)."""
ROWS = st.integers(1, 9)
FORMATS = st.sampled_from(["f32", "bf16"])
SPM = st.sampled_from([None, 16384])
"""All of the SPM, or so little that slices are split over time."""
FEW = settings(max_examples=settings.default.max_examples // 2)
"""A compile and a simulation per example."""


def data(shape: tuple[int, ...], format: str = "f32", seed: int = 0) -> np.ndarray:
    """Normal numbers that are exact in `format`."""
    values = np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)
    return values.astype(Format.named(format).dtype)


@st.composite
def features(draw: st.DrawFn, max_rank: int = 4) -> tuple[int, ...]:
    """Shapes of rank 1 to 4 with a channel tail of some kind; batches are small, rows a few."""
    rank = draw(st.integers(1, max_rank))
    return (*(draw(st.integers(1, 3 if i == 0 else 7)) for i in range(rank - 1)), draw(CHANNELS))


UNARY = [op for op in tx8be.UNARY if op not in (tx8be.LogOp, tx8be.SqrtOp, tx8be.RsqrtOp, tx8be.RecipOp)]


@pytest.mark.parametrize("blocked", [False, True])
@FEW
@given(shape=features(), format=FORMATS, spm=SPM)
def test_unary(blocked: bool, shape: tuple[int, ...], format: str, spm: int | None) -> None:
    kind = UNARY[sum(shape) % len(UNARY)]
    run_kernel(kind, [Operand(data(shape, format), format)], blocked=blocked, spm_bytes=spm).check()


@pytest.mark.parametrize("kind", tx8be.UNARY)
def test_every_unary_function(kind: Any) -> None:
    positive = np.abs(data((2, 3, 5, 37))) + np.float32(0.1)
    run_kernel(kind, [Operand(positive)], blocked=True).check()


@pytest.mark.parametrize("form", ["vector", "unit", "blocked unit", "scalar"])
@FEW
@given(shape=features(), format=FORMATS, spm=SPM, blocked=st.booleans(), kind=st.sampled_from(tx8be.BINARY))
def test_binary(form: str, shape: tuple[int, ...], format: str, spm: int | None, blocked: bool, kind: Any) -> None:
    lhs = Operand(data(shape, format), format)
    if form == "scalar":
        run_kernel(lambda a, b: kind(a, b, scalar=0.5), [lhs, None], blocked=blocked, spm_bytes=spm).check()
        return
    other = data(shape if form == "vector" else shape[-1:], format, seed=1)
    rhs = Operand(other, format)
    if form != "vector":
        rhs = Operand(other, format, "const", "Cx" if form == "blocked unit" else "Tensor")
        if len(shape) == 1:
            return  # the same as a vector
    run_kernel(kind, [lhs, rhs], blocked=blocked, spm_bytes=spm).check()


@FEW
@given(shape=features(), format=FORMATS, blocked=st.booleans(), scalars=st.sampled_from(["a", "b", "ab", ""]))
def test_select(shape: tuple[int, ...], format: str, blocked: bool, scalars: str) -> None:
    mask = (data(shape) > 0).astype(Format.named(format).dtype)
    given_ = {f"{name}_scalar": value for name, value in (("a", -2.0), ("b", 0.25)) if name in scalars}
    choices = [None if name in scalars else Operand(data(shape, format, seed=i), format) for i, name in enumerate("ab")]
    make = lambda c, a, b: tx8be.SelectOp(c, a, b, **given_)  # noqa: E731
    run_kernel(make, [Operand(mask, format), *choices], blocked=blocked).check()


def test_select_takes_no_nan_from_the_other_side() -> None:
    x = np.full((2, 70), np.nan, np.float32)
    mask = np.zeros((2, 70), np.float32)
    run = run_kernel(
        lambda c, a, b: tx8be.SelectOp(c, a, b, b_scalar=0.0), [Operand(mask), Operand(x), None], blocked=True
    )
    assert not np.isnan(run.out).any()


@pytest.mark.parametrize(("source", "target"), [("f32", "bf16"), ("bf16", "f32"), ("f32", "i32"), ("i32", "f32")])
@FEW
@given(shape=features(), blocked=st.booleans(), spm=SPM)
def test_cast(source: str, target: str, shape: tuple[int, ...], blocked: bool, spm: int | None) -> None:
    array = (data(shape) * 100).astype(Format.named(source).dtype)
    make = lambda x: tx8be.CastOp(x, y=VTensorType(shape, ScalarType.of(target)))  # noqa: E731
    run_kernel(make, [Operand(array, source)], blocked=blocked, spm_bytes=spm).check()


@FEW
@given(shape=features(), format=FORMATS, spm=SPM)
def test_softmax(shape: tuple[int, ...], format: str, spm: int | None) -> None:
    x = Operand((8 * data(shape).astype(np.float32)).astype(Format.named(format).dtype), format)
    run_kernel(tx8be.SoftmaxOp, [x], blocked=True, spm_bytes=spm).check()


def test_softmax_of_masked_scores() -> None:
    x = data((4, 5, 16))
    x[:, 0, 3:] = -np.inf
    run = run_kernel(tx8be.SoftmaxOp, [Operand(x)], blocked=True)
    run.check()
    assert (run.out[:, 0, 3:] == 0).all()


@FEW
@given(
    shape=features(), format=FORMATS, scale=st.booleans(), bias=st.booleans(), layout=st.sampled_from(["Tensor", "Cx"])
)
def test_layer_norm(shape: tuple[int, ...], format: str, scale: bool, bias: bool, layout: str) -> None:
    x = Operand((3 * data(shape).astype(np.float32) + 1).astype(Format.named(format).dtype), format)
    unit = [Operand(data(shape[-1:], format, seed=i), format, "const", layout) for i in (1, 2)]
    operands = [x, unit[0] if scale else None, unit[1] if bias else None]
    run_kernel(lambda x, s, b: tx8be.LayerNormOp(x, s, b, epsilon=1e-2), operands, blocked=True).check()


@FEW
@given(
    batch=st.sampled_from([0, 1, 3]), m=ROWS, k=CHANNELS, n=CHANNELS, format=FORMATS, spm=SPM,
    trans=st.tuples(st.booleans(), st.booleans()), bias=st.booleans(), relu=st.booleans(), shared=st.booleans(),
)  # fmt: skip
def test_gemm(
    batch: int, m: int, k: int, n: int, format: str, spm: int | None,
    trans: tuple[bool, bool], bias: bool, relu: bool, shared: bool,
) -> None:  # fmt: skip
    lead = (batch,) if batch else ()
    lhs = data((*lead, *((k, m) if trans[0] else (m, k))), format)
    rhs = data((*(() if shared else lead), *((n, k) if trans[1] else (k, n))), format, seed=1)
    operands = [Operand(lhs, format), Operand(rhs, format, "const")]
    operands += [Operand(data((n,), format, seed=2), format, "const") if bias else None, None]
    activation = Activation.RELU if relu else Activation.NONE
    make = lambda a, b, c, p: tx8be.GemmOp(a, b, c, p, transL=trans[0], transR=trans[1], activation=activation)  # noqa: E731
    run_kernel(make, operands, blocked=True, spm_bytes=spm and 4 * spm * (2 if trans[0] else 1)).check()


@FEW
@given(
    n=st.integers(1, 2), h=st.integers(1, 9), w=st.integers(1, 9), c=st.sampled_from([1, 3, 33, 65, 131]),
    o=st.sampled_from([1, 5, 64, 70, 131]), kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    stride=st.integers(1, 2), dilation=st.integers(1, 2), pads=st.tuples(*[st.integers(0, 2)] * 4),
    format=FORMATS, spm=st.sampled_from([None, 1 << 19]), bias=st.booleans(),
)  # fmt: skip
def test_conv(
    n: int, h: int, w: int, c: int, o: int, kernel: tuple[int, int], stride: int, dilation: int,
    pads: tuple[int, int, int, int], format: str, spm: int | None, bias: bool,
) -> None:  # fmt: skip
    reach = [dilation * (k - 1) + 1 for k in kernel]
    if reach[0] > h + pads[0] + pads[1] or reach[1] > w + pads[2] + pads[3]:
        return
    x, weight = data((n, h, w, c), format), data((*kernel, o, c), format, seed=1)
    operands = [Operand(x, format), Operand(weight, format, "const", "Cx")]
    operands += [Operand(data((o,), format, seed=2), format, "const") if bias else None, None]
    geometry = {"strides": (stride, stride), "pads": pads, "dilations": (dilation, dilation)}
    make = lambda x, w, b, p: tx8be.ConvOp(x, w, b, p, **geometry, activation=Activation.RELU)  # noqa: E731
    run_kernel(make, operands, blocked=True, spm_bytes=spm).check()


@pytest.mark.parametrize("c", [3, 64, 70])
def test_depthwise_conv(c: int) -> None:
    operands = [Operand(data((1, 9, 8, c))), Operand(data((3, 3, c, 1)), "f32", "const", "Cx"), None, None]
    make = lambda x, w, b, p: tx8be.ConvOp(x, w, b, p, pads=(1, 1, 1, 1), groups=c)  # noqa: E731
    run_kernel(make, operands, blocked=True).check()


@FEW
@given(
    shape=st.tuples(st.integers(1, 2), st.integers(3, 9), st.integers(3, 9), CHANNELS), format=FORMATS, spm=SPM,
    function=st.sampled_from(list(ReduceFunction)), pads=st.tuples(*[st.integers(0, 1)] * 4), stride=st.integers(1, 3),
)  # fmt: skip
def test_pool(
    shape: tuple[int, ...], format: str, spm: int | None, function: ReduceFunction,
    pads: tuple[int, ...], stride: int,
) -> None:  # fmt: skip
    geometry = {"kernel": (3, 2), "strides": (stride, stride), "pads": pads}
    make = lambda x: tx8be.PoolOp(x, function=function, **geometry)  # noqa: E731
    run_kernel(make, [Operand(data(shape, format), format)], blocked=True, spm_bytes=spm).check()


@FEW
@given(shape=features(), format=FORMATS, function=st.sampled_from(list(ReduceFunction)), which=st.integers(0, 3))
def test_reduce(shape: tuple[int, ...], format: str, function: ReduceFunction, which: int) -> None:
    choices = list(tx8be.reduce_axes(len(shape)))
    axes = choices[which % len(choices)]
    make = lambda x: tx8be.ReduceOp(x, function=function, axes=axes)  # noqa: E731
    run_kernel(make, [Operand(data(shape, format), format)], blocked=True).check()


@pytest.mark.parametrize("direction", [True, False])
@FEW
@given(shape=features(), format=st.sampled_from(["f32", "bf16", "i8", "i32"]), spm=SPM)
def test_channel_norm(direction: bool, shape: tuple[int, ...], format: str, spm: int | None) -> None:
    array = (50 * data(shape)).astype(Format.named(format).dtype)
    layouts = ["Tensor", "Cx"] if len(shape) <= 2 else ["NTensor", "NCx"]
    info = DevAttr(mem_layout=layouts[direction])
    make = lambda x: tx8be.ChannelNormOp(x, direction=direction, dev_info=info)  # noqa: E731
    run_kernel(make, [Operand(array, format)], blocked=not direction, spm_bytes=spm).check()


@FEW
@given(shape=features(), order=st.permutations(range(4)), blocked=st.booleans(), format=FORMATS, spm=SPM)
def test_transpose(shape: tuple[int, ...], order: list[int], blocked: bool, format: str, spm: int | None) -> None:
    perm = tuple(axis for axis in order if axis < len(shape))
    make = lambda x: tx8be.TransposeOp(x, perm=perm)  # noqa: E731
    run_kernel(make, [Operand(data(shape, format), format)], blocked=blocked, spm_bytes=spm).check()


@FEW
@given(st.data(), features(), st.booleans())
def test_slice(draw: st.DataObject, shape: tuple[int, ...], blocked: bool) -> None:
    starts = tuple(draw.draw(st.integers(0, extent - 1)) for extent in shape)
    ends = tuple(draw.draw(st.integers(start + 1, extent)) for start, extent in zip(starts, shape, strict=True))
    make = lambda x: tx8be.SliceOp(x, starts=starts, ends=ends)  # noqa: E731
    run_kernel(make, [Operand(data(shape))], blocked=blocked).check()


@FEW
@given(st.data(), features(), st.booleans(), st.lists(st.sampled_from([1, 5, 32, 64, 65]), min_size=1, max_size=3))
def test_concatenate(draw: st.DataObject, shape: tuple[int, ...], blocked: bool, extents: list[int]) -> None:
    axis = draw.draw(st.integers(0, len(shape) - 1))
    operands = [Operand(data((*shape[:axis], n, *shape[axis + 1 :]), seed=i)) for i, n in enumerate(extents)]
    run_kernel(lambda *xs: tx8be.ConcatenateOp(xs, axis=axis), operands, blocked=blocked).check()


@FEW
@given(st.data(), features(), st.booleans(), FORMATS)
def test_broadcast(draw: st.DataObject, shape: tuple[int, ...], blocked: bool, format: str) -> None:
    kept = tuple(1 if draw.draw(st.booleans()) else extent for extent in shape)
    source = kept[draw.draw(st.integers(0, len(shape) - 1)) :]
    make = lambda x: tx8be.BroadcastOp(x, y=VTensorType(shape, ScalarType.of(format)))  # noqa: E731
    run_kernel(make, [Operand(data(source, format), format)], blocked=blocked).check()


@FEW
@given(rows=st.integers(1, 40), width=CHANNELS, shape=features(max_rank=2), format=FORMATS)
def test_gather(rows: int, width: int, shape: tuple[int, ...], format: str) -> None:
    table = Operand(data((rows, width), format), format, "const", load=False)
    indices = np.random.default_rng(0).integers(0, rows, shape).astype(np.int32)
    run_kernel(tx8be.GatherOp, [table, Operand(indices, "i32")], blocked=False).check()
