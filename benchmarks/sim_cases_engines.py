"""Cases of the matrix engine, the copies, the messages and the kernel core."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sim_case import ALL, CHANNELS, INDEX, OUT, SCRATCH, TILES, WEIGHT, Array, Case, Data, X
from tx8ir.dialects import tx8
from tx8ir.target.chip import TX8
from tx8ir.target.formats import Format
from tx8ir.target.layout import pack

# -- neural engine --------------------------------------------------------------------------------------------------


def neural(d: Data) -> Iterator[Case]:
    rows, c = d.rows, CHANNELS
    for format in ("f32", "bf16", "i8"):
        f = Format.named(format)
        scale = 8 if f.is_integer else 1
        lhs, rhs = (d.x * scale).astype(f.dtype).reshape(TILES, rows, c), (d.weight * scale).astype(f.dtype)
        out_format = "i32" if f.is_integer else format
        packed = {X: pack(lhs, f, "Cx", leading=1), WEIGHT: pack(rhs, f, "Cx", leading=1)}
        out_dtype = Format.named(out_format).dtype

        def product(a: Array = lhs, b: Array = rhs, to: Any = out_dtype) -> None:
            _ = np.matmul(a.astype(np.float32, copy=False), b.astype(np.float32, copy=False)).astype(to, copy=False)

        yield Case(
            f"gemm {format}",
            tx8.GemmOp,
            lambda i=format, o=out_format: tx8.gemm(
                tiles=ALL, lhs=(X,), rhs=(WEIGHT,), out=(OUT,), m=rows, k=c, n=c, in_format=i, out_format=o
            ),
            product,
            packed,
        )
    yield from _convolutions(d)


def _convolutions(d: Data) -> Iterator[Case]:
    h, w, c, f32 = d.height, d.width, CHANNELS, Format.named("f32")
    rng = np.random.default_rng(1)
    framed = np.zeros((TILES, h + 2, w + 2, c), np.float32)
    framed[:, 1:-1, 1:-1] = d.image
    fields = {"tiles": ALL, "src": (X,), "weight": (WEIGHT,), "out": (OUT,), "shape": d.shape, "out_channels": c}
    window = {"kernel": (3, 3), "pads": (1, 1, 1, 1), "in_format": "f32", "out_format": "f32"}
    view = np.lib.stride_tricks.sliding_window_view(framed, (3, 3), (1, 2)).transpose(0, 1, 2, 4, 5, 3)
    for depthwise in (False, True):
        weight = rng.standard_normal((TILES, 3, 3, 1 if depthwise else c, c)).astype(np.float32)
        matrix = np.ascontiguousarray(weight.transpose(0, 1, 2, 4, 3).reshape(TILES, 9 * c, -1))

        def dense(matrix: Array = matrix) -> None:
            np.matmul(view.reshape(TILES, h * w, 9 * c), matrix)

        def by_channel(weight: Array = weight) -> None:
            total = np.zeros((TILES, h, w, c), np.float32)
            for i in range(3):
                for j in range(3):
                    total += framed[:, i : i + h, j : j + w] * weight[:, i, j, None]

        yield Case(
            "depthwise conv 3 x 3" if depthwise else "conv 3 x 3",
            tx8.ConvOp,
            lambda v=depthwise: tx8.conv(depthwise=v, **fields, **window),
            by_channel if depthwise else dense,
            {X: d.x, WEIGHT: pack(weight, f32, "Cx", leading=1)},
        )


# -- memories, messages, control ------------------------------------------------------------------------------------


def memory(d: Data) -> Iterator[Case]:
    x, z, nbytes, rows = d.x, d.z, 4 * d.count, d.rows
    row_bytes = 4 * CHANNELS
    places = d.places[:, :rows]
    per_tile = tuple(SCRATCH + i * nbytes for i in ALL)
    words = {"element_bytes": 4, "tiles": ALL}
    table = {"index_spm": (INDEX,), "row_bytes": row_bytes, "row_stride_bytes": row_bytes, "rows": rows, "count": rows}
    loaded = {X: x}

    def copy() -> None:
        np.copyto(z, x)

    strided = {"count": 16, "iterations": (d.count // 16,), "strides": (32,)}
    runs, spread = x.reshape(TILES, -1, 16), np.empty((TILES, d.count // 16, 32), np.float32)
    first = TX8.ddr_base  # where the first source lies in DDR
    yield Case(
        "rdma", tx8.RdmaOp,
        lambda: tx8.rdma(spm=(OUT,), ddr=tuple(first + i * nbytes for i in ALL), count=d.count, **words),
        copy, loaded,
    )  # fmt: skip
    yield Case(
        "rdma, the same bytes to all", tx8.RdmaOp,
        lambda: tx8.rdma(spm=(OUT,), ddr=(first,), count=d.count, **words), lambda: np.copyto(z, x[0]), loaded,
    )  # fmt: skip
    order = [(7 * i) % TILES for i in ALL]
    yield Case(
        "rdma, tiles in another order", tx8.RdmaOp,
        lambda: tx8.rdma(spm=(OUT,), ddr=tuple(first + i * nbytes for i in order), count=d.count, **words),
        lambda: np.take(x, order, axis=0, out=z), loaded,
    )  # fmt: skip
    yield Case(
        "wdma", tx8.WdmaOp, lambda: tx8.wdma(spm=(X,), ddr=per_tile, count=d.count, **words), copy, loaded
    )  # fmt: skip
    yield Case(
        "wdma of 64-byte runs", tx8.WdmaOp,
        lambda: tx8.wdma(spm=(X,), ddr=tuple(SCRATCH + 2 * i * nbytes for i in ALL), **strided, **words),
        lambda: np.copyto(spread[:, :, :16], runs), loaded,
    )  # fmt: skip
    yield Case(
        "rdma_gather", tx8.RdmaGatherOp,
        lambda: tx8.rdma_gather(tiles=ALL, spm=(OUT,), ddr=(first,), **table),
        lambda: np.take(x[0].reshape(rows, -1), places, axis=0, out=z.reshape(TILES, rows, -1)),
        {X: x, INDEX: d.places},
    )  # fmt: skip
    own = np.arange(TILES)[:, None]
    yield Case(
        "wdma_scatter", tx8.WdmaScatterOp,
        lambda: tx8.wdma_scatter(tiles=ALL, spm=(X,), ddr=per_tile, **table),
        lambda: z.reshape(TILES, rows, -1).__setitem__((own, places), x.reshape(TILES, rows, -1)),
        {X: x, INDEX: d.places},
    )  # fmt: skip
    yield Case(
        "tdma", tx8.TdmaOp, lambda: tx8.tdma(tiles=ALL, src=(X,), dst=(OUT,), segment_bytes=nbytes), copy, loaded
    )  # fmt: skip
    yield Case(
        "tdma of 64-byte runs", tx8.TdmaOp,
        lambda: tx8.tdma(
            tiles=ALL, src=(X,), dst=(OUT,), segment_bytes=64, iterations=(d.count // 16,), src_strides=(64,),
            dst_strides=(128,),
        ),
        lambda: np.copyto(spread[:, :, :16], runs), loaded,
    )  # fmt: skip
    yield Case(
        "dte_store", tx8.DteStoreOp, lambda: tx8.dte_store(tiles=ALL, src=(X,), ddr=per_tile, nbytes=nbytes), copy,
        loaded,
    )  # fmt: skip
    yield from _messages(d)
    one = z[:, :1]
    small = {X: x}
    yield Case(
        "scalar_move", tx8.ScalarMoveOp, lambda: tx8.scalar_move(tiles=ALL, dst=(OUT,), value=1), lambda: one.fill(1)
    )  # fmt: skip
    yield Case(
        "scalar_add", tx8.ScalarAddOp, lambda: tx8.scalar_add(tiles=ALL, dst=(OUT,), lhs=(X,), value=1),
        lambda: np.add(x[:, :1], 1, out=one), small,
    )  # fmt: skip
    yield Case("csr_read", tx8.CsrReadOp, lambda: tx8.csr_read(tiles=ALL, dst=(OUT,)), lambda: one.fill(0))
    yield Case(
        "csr_write", tx8.CsrWriteOp, lambda: tx8.csr_write(tiles=ALL, src=(INDEX,)), lambda: one.fill(0),
        {INDEX: d.places[:, :1]},
    )  # fmt: skip
    yield Case("barrier", tx8.BarrierOp, lambda: tx8.barrier(tiles=ALL), lambda: None)


def _messages(d: Data) -> Iterator[Case]:
    """A ring: every tile sends its bytes to the next one."""
    after, before = tuple((i + 1) % TILES for i in ALL), tuple((i - 1) % TILES for i in ALL)
    x, z, nbytes = d.x, d.z, 4 * d.count

    def exchange() -> None:
        tx8.dte_arm(tiles=ALL, peers=before, dst=(OUT,), nbytes=nbytes)
        tx8.dte_send(tiles=ALL, peers=after, src=(X,), nbytes=nbytes)
        tx8.dte_wait(tiles=ALL, peers=before)

    def copy() -> None:
        np.copyto(z[1:], x[:-1])
        np.copyto(z[0], x[-1])

    for op_class, other in ((tx8.DteArmOp, lambda: None), (tx8.DteSendOp, copy), (tx8.DteWaitOp, lambda: None)):
        yield Case(f"{op_class.name.removeprefix('tx8.')} in a ring", op_class, exchange, other, {X: x})
