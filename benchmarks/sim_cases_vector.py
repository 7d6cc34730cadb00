"""Cases of the vector unit: arithmetic, reductions, conversions, moves, peripheral functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sim_case import ALL, CHANNELS, INDEX, KIB, MASK, OUT, TILES, WEIGHT, Array, Case, Data, X, Y
from tx8ir.core import Operation
from tx8ir.dialects import tx8
from tx8ir.target.formats import Format
from tx8ir.target.vector_functions import vector_function

# -- element-wise ---------------------------------------------------------------------------------------------------


def _unary_other(function: str, x: Array, z: Array) -> Callable[[], object]:
    def sigmoid() -> None:
        np.negative(x, out=z)
        np.exp(z, out=z)
        np.add(z, z.dtype.type(1), out=z)
        np.reciprocal(z, out=z)

    one, zero, alpha = x.dtype.type(1), x.dtype.type(0), x.dtype.type(0.5)
    special: dict[str, Callable[[], object]] = {
        "recip": lambda: np.reciprocal(x, out=z),
        "rsqrt": lambda: np.divide(one, np.sqrt(x, out=z), out=z),
        "neg": lambda: np.negative(x, out=z),
        "ln": lambda: np.log(x, out=z),
        "pow2": lambda: np.exp2(x, out=z),
        "exp_lp": lambda: np.exp2(np.multiply(x, x.dtype.type(1.442695), out=z), out=z),
        "sigmoid": sigmoid,
        "relu": lambda: np.maximum(x, zero, out=z),
        "satrelu": lambda: np.clip(x, zero, one, out=z),
        "leakyrelu": lambda: np.maximum(x, np.multiply(x, alpha, out=z), out=z),
        "softplus": lambda: np.logaddexp(x, zero, out=z),
        "not": lambda: np.equal(x, zero, out=z),
    }
    if function in special:
        return special[function]
    evaluate = getattr(np, function, None)
    return lambda: vector_function(function).evaluate(x) if evaluate is None else evaluate(x, out=z)


_ONE_CALL = frozenset(f for f in tx8.UNARY_FUNCTIONS if hasattr(np, f)) | {
    "recip", "neg", "ln", "pow2", "relu", "satrelu", "softplus", "not",
}  # fmt: skip
"""Functions that are one call of NumPy."""
_UFUNCS: dict[str, np.ufunc] = {
    "max": np.maximum, "min": np.minimum, "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "eq": np.equal, "ne": np.not_equal, "ge": np.greater_equal, "gt": np.greater, "le": np.less_equal,
    "lt": np.less, "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor,
}  # fmt: skip


def elementwise(d: Data) -> Iterator[Case]:
    for format in ("f32", "bf16", "f16"):
        yield from _elementwise_of(d, format, () if format == "f32" else ("exp", "relu", "tanh"))


def _elementwise_of(d: Data, format: str, functions: tuple[str, ...]) -> Iterator[Case]:
    """All functions for f32, some for the other formats."""
    dtype, all_of_them = Format.named(format).dtype, not functions
    x, y, z = d.x.astype(dtype), d.y.astype(dtype), np.empty(d.x.shape, dtype)
    suffix = "" if all_of_them else f" {format}"
    fields = {**d.dense, "format": format, "dst": (OUT,)}
    for function in functions or tx8.UNARY_FUNCTIONS:
        extra = {"alpha": 0.5 if function == "leakyrelu" else 1.0} if function in tx8.UNARY_WITH_ALPHA else {}
        yield Case(
            function + suffix,
            tx8.UnaryOp,
            lambda f=function, e=extra: tx8.unary(function=f, src=(X,), **e, **fields),
            _unary_other(function, x, z),
            {X: x},
            elementwise=function in _ONE_CALL,
        )
    for function in tx8.BINARY_FUNCTIONS if all_of_them else ("add", "mul"):
        ufunc = _UFUNCS[function]
        yield Case(
            function + suffix,
            tx8.BinaryVVOp,
            lambda f=function: tx8.binary_vv(function=f, lhs=(X,), rhs=(Y,), **fields),
            lambda u=ufunc: u(x, y, out=z),
            {X: x, Y: y},
            elementwise=True,
        )
    one = int(np.ones(1, dtype).view(f"u{dtype.itemsize}")[0])
    yield Case(
        "add scalar" + suffix,
        tx8.BinaryVSOp,
        lambda: tx8.binary_vs(function="add", src=(X,), scalar=one, **fields),
        lambda: np.add(x, dtype.type(1), out=z),
        {X: x},
        elementwise=True,
    )
    if not all_of_them:
        return
    blocks, unit = z.reshape(TILES, -1, 64), y[:, None, :64]
    yield Case(
        "add unit",
        tx8.BinaryVuVOp,
        lambda: tx8.binary_vuv(function="add", src=(X,), unit=(Y,), unit_count=64, **fields),
        lambda: np.add(x.reshape(TILES, -1, 64), unit, out=blocks),
        {X: x, Y: y},
        elementwise=True,
    )
    half = d.count // 2
    loop = {**fields, "count": half, "unit_count": 64, "full_count": d.count, "full_unit_count": 128}
    halves, units = z.reshape(TILES, 2, -1, 64), y[:, :128].reshape(TILES, 2, 1, 64)
    yield Case(
        "add unit, loop",
        tx8.BinaryVuVLoopOp,
        lambda: tx8.binary_vuv_loop(function="add", src=(X,), unit=(Y,), **loop),
        lambda: np.add(x.reshape(halves.shape), units, out=halves),
        {X: x, Y: y},
        elementwise=True,
    )
    yield Case(
        "gt, packed",
        tx8.BinaryVVOp,
        lambda: tx8.binary_vv(function="gt", lhs=(X,), rhs=(Y,), packed=True, **fields),
        lambda: np.packbits(np.greater(x, y), axis=1, bitorder="little"),
        {X: x, Y: y},
    )


# -- reductions, pools, conversions ---------------------------------------------------------------------------------


def tensors(d: Data) -> Iterator[Case]:
    image, h, w = d.image, d.height, d.width
    fields = {"tiles": ALL, "src": (X,), "dst": (OUT,), "shape": d.shape, "format": "f32"}
    axes = {"C": (3,), "W": (2,), "H": (1,), "HW": (1, 2)}
    for function in ("sum", "avg", "max", "min"):
        name = "mean" if function == "avg" else function
        for axis in axes if function == "sum" else ("C",):
            yield Case(
                f"{function} over {axis}",
                tx8.ReduceOp,
                lambda f=function, a=axis: tx8.reduce(function=f, axis=a, **fields),
                lambda n=name, a=axes[axis]: getattr(image, n)(axis=a),
                {X: d.x},
            )
    windows = image.reshape(TILES, h // 2, 2, w // 2, 2, CHANNELS)
    for function in ("max", "avg", "sum", "min"):
        name = "mean" if function == "avg" else function
        yield Case(
            f"{function} pool 2 x 2",
            tx8.PoolOp,
            lambda f=function: tx8.pool(function=f, kernel=(2, 2), strides=(2, 2), **fields),
            lambda n=name: getattr(windows, n)(axis=(2, 4)),
            {X: d.x},
        )
    flat = windows.transpose(0, 1, 3, 5, 2, 4)

    def pool_index() -> None:
        taps = flat.reshape(TILES, h // 2, w // 2, CHANNELS, 4)
        taps.argmax(axis=-1)
        taps.max(axis=-1)

    yield Case(
        "max pool 2 x 2 with index",
        tx8.PoolIndexOp,
        lambda: tx8.pool_index(function="max", kernel=(2, 2), strides=(2, 2), index=(OUT + 256 * KIB,), **fields),
        pool_index,
        {X: d.x},
    )
    places, pixels, zeros = d.places.reshape(TILES, -1, CHANNELS), d.x.reshape(TILES, -1, CHANNELS), d.z

    def unpool() -> None:
        zeros.fill(0)
        np.put_along_axis(zeros.reshape(pixels.shape), places, pixels, axis=1)

    yield Case(
        "unpool",
        tx8.UnpoolOp,
        lambda: tx8.unpool(index=(INDEX,), extents=(h, w), **fields),
        unpool,
        {X: d.x, INDEX: d.places},
    )
    for source, destination in tx8.CONVERSIONS:
        yield _conversion(d, source, destination)


def _conversion(d: Data, source: str, destination: str) -> Case:
    s, t = Format.named(source), Format.named(destination)
    spacing = max(s.bytes, t.bytes)
    values = (d.x * 20).astype(s.dtype)
    spread = np.zeros((TILES, d.count, spacing // s.bytes), s.dtype)
    spread[:, :, 0] = values
    source_view = spread[:, :, 0]
    result = np.zeros((TILES, d.count, spacing // t.bytes), t.dtype)[:, :, 0]

    def other() -> None:
        if destination == "tf32":
            bits = source_view.astype(np.float32, copy=False).view(np.uint32)
            np.copyto(result.view(np.uint32), (bits + (bits >> 13 & 1) + 0xFFF) & 0xFFFFE000)
        elif t.is_float:
            np.copyto(result, source_view, casting="unsafe")
        else:
            bounds = np.iinfo(t.dtype)
            wide = source_view.astype(np.float32, copy=False)
            np.copyto(result, np.clip(np.rint(wide), bounds.min, bounds.max), casting="unsafe")

    return Case(
        f"convert {source} to {destination}",
        tx8.ConvertOp,
        lambda: tx8.convert(src=(X,), dst=(OUT,), src_format=source, dst_format=destination, **d.dense),
        other,
        {X: spread},
    )


# -- moves ----------------------------------------------------------------------------------------------------------


def moves(d: Data) -> Iterator[Case]:
    x, image, h, w, c = d.x, d.image, d.height, d.width, CHANNELS
    fields = {"tiles": ALL, "src": (X,), "dst": (OUT,), "shape": d.shape, "format": "f32"}

    def copy(view: Array) -> Callable[[], object]:
        room = np.empty(view.shape, view.dtype)
        return lambda: np.copyto(room, view)

    def case(name: str, op_class: type[Operation], view: Array, make: Callable[..., object], **extra: Any) -> Case:
        return Case(name, op_class, lambda: make(**extra, **fields), copy(view), {X: x})

    for axis, number in (("W", 2), ("C", 3)):
        yield case(f"mirror {axis}", tx8.MirrorOp, np.flip(image, number), tx8.mirror, axis=axis)
    yield case("transpose H W", tx8.TransposeOp, image.transpose(0, 2, 1, 3), tx8.transpose, perm=(0, 2, 1, 3))
    yield case("transpose W C", tx8.TransposeOp, image.transpose(0, 1, 3, 2), tx8.transpose, perm=(0, 1, 3, 2))
    yield case("rot90", tx8.RotateOp, np.rot90(image, 1, (1, 2)), tx8.rotate, function="rot90")
    yield case("nhwc2nchw", tx8.Nhwc2NchwOp, image.transpose(0, 3, 1, 2), tx8.nhwc2nchw)
    yield case("nchw2nhwc", tx8.Nchw2NhwcOp, x.reshape(TILES, c, h, w).transpose(0, 2, 3, 1), tx8.nchw2nhwc)

    joined = np.empty((TILES, 2 * h, w, c), np.float32)
    pair = {"lhs_shape": d.shape, "rhs_shape": d.shape, "axis": "H", "format": "f32"}
    other_image = d.y.reshape(image.shape)
    yield Case(
        "concat H",
        tx8.ConcatOp,
        lambda: tx8.concat(tiles=ALL, lhs=(X,), rhs=(Y,), dst=(OUT,), **pair),
        lambda: np.concatenate((image, other_image), axis=1, out=joined),
        {X: x, Y: d.y},
    )
    framed = np.zeros((TILES, h + 2, w + 2, c), np.float32)

    def pad() -> None:
        framed.fill(0)
        framed[:, 1:-1, 1:-1] = image

    yield Case("pad", tx8.PadOp, lambda: tx8.pad(pads=(1, 1, 1, 1), **fields), pad, {X: x})

    def columns() -> Array:
        view = np.lib.stride_tricks.sliding_window_view(framed, (3, 3), (1, 2))  # [tiles, h, w, c, 3, 3]
        return view.transpose(0, 1, 2, 4, 5, 3)

    copy_columns = copy(columns())
    yield Case(
        "img2col 3 x 3",
        tx8.Img2ColOp,
        lambda: tx8.img2col(kernel=(3, 3), pads=(1, 1, 1, 1), **fields),
        lambda: (pad(), copy_columns()),
        {X: x},
    )
    wide = (1, 1, d.rows // 2, 2 * c)
    blocked = x.reshape(TILES, d.rows // 2, 2, c).swapaxes(1, 2)
    for direction, name in ((True, "dense to blocked"), (False, "blocked to dense")):
        yield Case(
            f"channelnorm, {name}",
            tx8.ChannelNormOp,
            lambda v=direction: tx8.channelnorm(**{**fields, "shape": wide, "direction": v}),
            copy(blocked),
            {X: x},
        )
    yield Case(
        "tdma_reshape to blocked",
        tx8.TdmaReshapeOp,
        lambda: tx8.tdma_reshape(
            tiles=ALL, src=(X,), dst=(OUT,), src_shape=d.shape, dst_shape=wide, dst_layout="NCx", format="f32"
        ),
        copy(blocked),
        {X: x},
    )
    chosen = d.mask != 0
    yield Case(
        "maskmove",
        tx8.MaskMoveOp,
        lambda: tx8.maskmove(src=(X,), mask=(MASK,), dst=(OUT,), format="f32", **d.dense),
        lambda: np.copyto(d.z, x, where=d.mask != 0),
        {X: x, MASK: d.mask},
    )
    yield Case(
        "maskgather",
        tx8.MaskGatherOp,
        lambda: tx8.maskgather(src=(X,), mask=(MASK,), dst=(OUT,), found=(Y,), format="f32", **d.dense),
        lambda: [row[where] for row, where in zip(x, d.mask != 0, strict=True)],
        {X: x, MASK: d.mask, Y: chosen[:, :1].astype(np.int32)},
    )


# -- peripheral -----------------------------------------------------------------------------------------------------


def peripheral(d: Data) -> Iterator[Case]:
    x, z, count = d.x, d.z, d.count
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 256, (2, TILES, count // 8), np.uint8)
    bytes_out = np.empty_like(bits[0])
    yield Case(
        "memset", tx8.MemsetOp, lambda: tx8.memset(dst=(OUT,), format="f32", value=0, **d.dense), lambda: z.fill(0)
    )
    yield Case(
        "and of packed bits",
        tx8.BitLogicOp,
        lambda: tx8.bit_logic(function="and", lhs=(X,), rhs=(Y,), dst=(OUT,), **d.dense),
        lambda: np.bitwise_and(bits[0], bits[1], out=bytes_out),
        {X: bits[0], Y: bits[1]},
    )
    yield Case(
        "bit2fp",
        tx8.Bit2FpOp,
        lambda: tx8.bit2fp(src=(X,), dst=(OUT,), format="f32", **d.dense),
        lambda: np.copyto(z, np.unpackbits(bits[0], axis=1, bitorder="little")),
        {X: bits[0]},
    )
    yield Case(
        "count",
        tx8.CountOp,
        lambda: tx8.count(src=(X,), dst=(OUT,), format="f32", **d.dense),
        lambda: np.count_nonzero(x, axis=1),
        {X: x},
    )
    for function in ("argmax", "argmin"):
        yield Case(
            function,
            tx8.ArgOp,
            lambda f=function: tx8.arg(function=f, src=(X,), dst=(OUT,), format="f32", **d.dense),
            lambda f=function: getattr(np, f)(x, axis=1),
            {X: x},
        )
    for op_class, make, dtype in ((tx8.Lut16Op, tx8.lut16, np.uint16), (tx8.Lut32Op, tx8.lut32, np.uint32)):
        table = rng.integers(0, 60_000, (TILES, 4096)).astype(dtype)
        wanted = rng.integers(0, 4096, (TILES, count)).astype(dtype)
        yield Case(
            op_class.name.removeprefix("tx8."),
            op_class,
            lambda make=make: make(src=(INDEX,), table=(WEIGHT,), entries=4096, dst=(OUT,), **d.dense),
            lambda t=table, i=wanted: np.take_along_axis(t, i.astype(np.int64), axis=1),
            {WEIGHT: table, INDEX: wanted},
        )
    yield Case(
        "rand_gen",
        tx8.RandGenOp,
        lambda: tx8.rand_gen(dst=(OUT,), seed=1, format="f32", **d.dense),
        lambda: rng.random(dtype=np.float32, out=z),
    )
    yield Case(
        "elem_mask",
        tx8.ElemMaskOp,
        lambda: tx8.elem_mask(src=(X,), dst=(OUT,), probability=0.5, seed=1, format="f32", **d.dense),
        lambda: np.multiply(x, rng.random(dtype=np.float32, out=z) >= np.float32(0.5), out=z),
        {X: x},
    )
    image, h, w = d.image, d.height, d.width
    up = np.repeat(np.arange(h), 2), np.repeat(np.arange(w), 2)
    fractions = (np.float32(0.25), np.float32(0.75))

    def bilinear() -> None:
        tall = image[:, up[0]] * fractions[0] + image[:, np.minimum(up[0] + 1, h - 1)] * fractions[1]
        _ = tall[:, :, up[1]] * fractions[0] + tall[:, :, np.minimum(up[1] + 1, w - 1)] * fractions[1]

    yield Case(
        "bilinear, twice as large",
        tx8.BilinearOp,
        lambda: tx8.bilinear(tiles=ALL, src=(X,), dst=(OUT,), shape=d.shape, extents=(2 * h, 2 * w), format="f32"),
        bilinear,
        {X: x},
    )
