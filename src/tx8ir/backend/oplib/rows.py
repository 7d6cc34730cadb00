"""Row-wise normalisations over the last axis: Softmax and LayerNorm, computed in fp32 on channel-blocked tensors.

A scalar per row reaches its whole row as an outer product with a row of ones on the neural engine: one exact product
per element (K = 1, no accumulation), where a TDMA broadcast would copy lane by lane.
"""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.backend.oplib.elementwise import binary_unit
from tx8ir.backend.oplib.interface import AlignMode, MainEngine, OpLib, OpQuery
from tx8ir.backend.oplib.kernel import OpKernel
from tx8ir.backend.oplib.model import KernelModel, rank_layout
from tx8ir.backend.oplib.precision import narrow, widen
from tx8ir.backend.oplib.streams import Streamed
from tx8ir.backend.oplib.tensor import SpmTensor
from tx8ir.core import Model, Operation
from tx8ir.dialects import tx8be
from tx8ir.target.formats import F32
from tx8ir.target.layout import MemLayout

__all__ = ["LayerNormLib", "LayerNormStream", "SoftmaxLib", "SoftmaxStream"]


class _RowSteps:
    """Elementwise steps on fp32 tensors of one form."""

    def __init__(self, kernel: OpKernel) -> None:
        self.kernel = kernel

    def vv(self, function: str, lhs: SpmTensor, rhs: SpmTensor, dst: SpmTensor) -> None:
        for count, a, b, to in self.kernel.each_run(lhs, rhs, dst):
            self.kernel.binary_vv(function, a, b, to, count, F32)

    def unary(self, function: str, src: SpmTensor, dst: SpmTensor) -> None:
        for count, a, to in self.kernel.each_run(src, dst):
            self.kernel.unary(function, a, to, count, F32)


class _RowKernel(_RowSteps):
    """The steps that Softmax and LayerNorm share, on fp32 tensors of the form of `like`."""

    def __init__(self, kernel: OpKernel, like: SpmTensor) -> None:
        super().__init__(kernel)
        self.like = like
        self.ones = kernel.temporary(SpmTensor(F32, (1, like.channels), MemLayout.Cx))
        kernel.fill(self.ones, 1.0)
        self.row = kernel.temporary(like.with_channels(1))
        self.spread = kernel.temporary(like)

    def reduce(self, function: str, src: SpmTensor) -> SpmTensor:
        """One value per row of `src`."""
        self.kernel.reduce(function, "C", src, self.row)
        return self.row

    def broadcast(self, row: SpmTensor) -> SpmTensor:
        """The row scalars, repeated over the channels."""
        out = self.spread
        self.kernel.gemm(row, self.ones, out, m=out.hw, k=1, n=out.channels)
        return out


class _RowLib(KernelModel[Operation]):
    __slots__ = ()

    def query(self) -> OpQuery:
        return OpQuery(AlignMode.ALIGN, rank_layout(self.op), engine=MainEngine.CT)

    def output(self, kernel: OpKernel) -> SpmTensor:
        """Where the fp32 result goes: the result itself, or a temporary that is narrowed at the end."""
        out = kernel.result
        return out if out.format == F32 else kernel.temporary(out.with_format(F32))

    def finish(self, kernel: OpKernel, wide: SpmTensor) -> None:
        if wide.format != kernel.result.format:
            narrow(kernel, wide, kernel.result)


@OpLib.implement(tx8be.SoftmaxOp)
class SoftmaxLib(_RowLib):
    """Subtract the row's maximum, exponentiate, divide by the row's sum."""

    __slots__ = ()

    def emit(self, kernel: OpKernel) -> None:
        x = widen(kernel, kernel.operand(0))
        y = self.output(kernel)
        rows = _RowKernel(kernel, y)
        rows.vv("sub", x, rows.broadcast(rows.reduce("max", x)), y)
        rows.unary("exp", y, y)
        rows.vv("div", y, rows.broadcast(rows.reduce("sum", y)), y)
        self.finish(kernel, y)


@Streamed.implement(tx8be.SoftmaxOp)
class SoftmaxStream(Model[tx8be.SoftmaxOp], Streamed):
    """The largest number of each row and the sum of exponentials less it, in one read; the quotient in a second one.

    Parts are merged as in Milakov and Gimelshein (2018), "Online normalizer calculation for softmax".
    """

    __slots__ = ()

    def state(self, result: SpmTensor) -> tuple[SpmTensor, ...]:
        row = SpmTensor(F32, (*result.shape[:-1], 1), result.layout)
        return row, row

    def emit_phase(self, kernel: OpKernel, phase: str, state: Sequence[SpmTensor]) -> None:
        largest, total = state
        x = widen(kernel, kernel.operand(0))
        y = kernel.result
        wide = y if y.format == F32 else kernel.temporary(y.with_format(F32))
        rows = _RowKernel(kernel, wide)
        if phase == "finish":
            rows.vv("sub", x, rows.broadcast(largest), wide)
            rows.unary("exp", wide, wide)
            rows.vv("div", wide, rows.broadcast(total), wide)
            if wide is not y:
                narrow(kernel, wide, y)
            return
        own = rows.reduce("max", x)
        if phase == "next":
            rows.vv("max", own, largest, own)
            _scale(rows, total, largest, own)
        rows.vv("sub", x, rows.broadcast(own), wide)
        rows.unary("exp", wide, wide)
        kernel.copy(own, largest)
        if phase == "next":
            rows.vv("add", total, rows.reduce("sum", wide), total)
        else:
            kernel.reduce("sum", "C", wide, total)

    def merge(self, kernel: OpKernel, state: Sequence[SpmTensor], others: Sequence[Sequence[SpmTensor]]) -> None:
        largest, total = state
        rows = _RowSteps(kernel)
        most = kernel.temporary(largest)
        kernel.copy(largest, most)
        for other, _ in others:
            rows.vv("max", most, other, most)
        _scale(rows, total, largest, most)
        for other, part in others:
            _scale(rows, part, other, most)
            rows.vv("add", total, part, total)
        kernel.copy(most, largest)


def _scale(rows: _RowSteps, total: SpmTensor, before: SpmTensor, after: SpmTensor) -> None:
    """The sum of exponentials less `before` becomes that less `after`, which is larger; `before` is overwritten."""
    rows.vv("sub", before, after, before)
    rows.unary("exp", before, before)
    rows.vv("mul", total, before, total)


@OpLib.implement(tx8be.LayerNormOp)
class LayerNormLib(_RowLib):
    """Centre the row, divide by its standard deviation, scale and shift."""

    __slots__ = ()

    def emit(self, kernel: OpKernel) -> None:
        assert isinstance(self.op, tx8be.LayerNormOp)
        x = widen(kernel, kernel.operand(0))
        y = self.output(kernel)
        rows = _RowKernel(kernel, y)
        rows.vv("sub", x, rows.broadcast(rows.reduce("avg", x)), y)
        rows.unary("square", y, rows.spread)
        rows.reduce("avg", rows.spread)
        _normalize(rows, y, self.op.epsilon)
        self.finish(kernel, y)


@Streamed.implement(tx8be.LayerNormOp)
class LayerNormStream(Model[tx8be.LayerNormOp], Streamed):
    """Count, mean and squared distances from it of each row in one read; the normalised row in a second one.

    Parts are merged as in Chan, Golub and LeVeque (1979), "Updating formulae and a pairwise algorithm".
    """

    __slots__ = ()

    def state(self, result: SpmTensor) -> tuple[SpmTensor, ...]:
        row = SpmTensor(F32, (*result.shape[:-1], 1), result.layout)
        return row, row, row

    def emit_phase(self, kernel: OpKernel, phase: str, state: Sequence[SpmTensor]) -> None:
        x = widen(kernel, kernel.operand(0))
        y = kernel.result
        wide = y if y.format == F32 else kernel.temporary(y.with_format(F32))
        rows = _RowKernel(kernel, wide)
        if phase == "finish":
            self._finish(rows, x, wide, state)
            if wide is not y:
                narrow(kernel, wide, y)
            return
        part = state if phase == "first" else tuple(kernel.temporary(tensor) for tensor in state)
        count, mean, squares = part
        kernel.fill(count, x.channels)
        kernel.reduce("avg", "C", x, mean)
        rows.vv("sub", x, rows.broadcast(mean), wide)
        rows.unary("square", wide, wide)
        kernel.reduce("sum", "C", wide, squares)
        if phase == "next":
            _merge_moments(rows, state, part)

    def merge(self, kernel: OpKernel, state: Sequence[SpmTensor], others: Sequence[Sequence[SpmTensor]]) -> None:
        for other in others:
            _merge_moments(_RowSteps(kernel), state, other)

    def _finish(self, rows: _RowKernel, x: SpmTensor, y: SpmTensor, state: Sequence[SpmTensor]) -> None:
        count, mean, squares = state
        rows.vv("sub", x, rows.broadcast(mean), y)
        rows.vv("div", squares, count, rows.row)
        _normalize(rows, y, self.op.epsilon)


def _normalize(rows: _RowKernel, y: SpmTensor, epsilon: float) -> None:
    """Divide centred rows by the root of their variance in `rows.row`, then scale and shift them."""
    kernel, row = rows.kernel, rows.row
    for count, at in kernel.each_run(row):
        kernel.binary_vs("add", at, epsilon, at, count, F32)
    rows.unary("rsqrt", row, row)
    rows.vv("mul", y, rows.broadcast(row), y)
    for index, function in ((1, "mul"), (2, "add")):
        unit = kernel.optional(index)
        if unit is not None:
            binary_unit(kernel, function, y, widen(kernel, unit), y)


def _merge_moments(rows: _RowSteps, state: Sequence[SpmTensor], other: Sequence[SpmTensor]) -> None:
    """Make `state` that of its part and of another one, which is overwritten."""
    (n, mean, squares), (m, mean_b, squares_b) = state, other
    share = rows.kernel.temporary(n)
    rows.vv("add", squares, squares_b, squares)
    rows.vv("sub", mean_b, mean, mean_b)
    rows.unary("square", mean_b, squares_b)
    rows.vv("mul", squares_b, n, squares_b)
    rows.vv("add", n, m, n)
    rows.vv("div", m, n, share)
    rows.vv("mul", squares_b, share, squares_b)
    rows.vv("add", squares, squares_b, squares)
    rows.vv("mul", mean_b, share, mean_b)
    rows.vv("add", mean, mean_b, mean)
