"""`split-large-ops`: what exceeds a machine's limits becomes several operations that do not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, cast

import attrs

from tx8ir.core import Operation, Program, RankedTensor, Type, Value, VTensorType, f32, f64
from tx8ir.dialects import pd
from tx8ir.dialects.pd.conv import ConvolutionOp
from tx8ir.passes import NumericGuarantee, OperationPass, option, register_pass
from tx8ir.rewriting import RewritePattern, Rewriter, rewrite_greedily
from tx8ir.target.chip import TX8
from tx8ir.transforms.cleanup.patterns.shape import static_value

# --- pieces ---------------------------------------------------------------------------------------------------------


def pieces(extent: int, largest: int) -> list[tuple[int, int]]:
    """The fewest ranges of at most `largest` that make up `extent`, of sizes as equal as can be."""
    count = -(-extent // largest)
    ends = [extent * i // count for i in range(count + 1)]
    return list(itertools.pairwise(ends))


def _cut(value: Value, axis: int | None, start: int, end: int, rewriter: Rewriter) -> Value:
    """Elements `start` to `end` of `value` along an axis; `value` itself when that is all, or there is no such axis."""
    kind = value.type
    assert isinstance(kind, RankedTensor)  # an operand of a product or a convolution
    if axis is None or (start, end) == (0, kind.shape[axis]):
        return value
    return rewriter.insert(pd.SliceOp(value, axes=(axis,), starts=(start,), ends=(end,))).out


def _join(values: Sequence[Value], axis: int, rewriter: Rewriter) -> Value:
    return rewriter.insert(pd.ConcatOp(values, axis=axis)).out


def _sum(values: Sequence[Value], rewriter: Rewriter) -> Value:
    """Their sum, added pairwise."""
    terms = list(values)
    while len(terms) > 1:
        paired = [rewriter.insert(pd.AddOp(a, b)).out for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = paired + terms[2 * len(paired) :]
    return terms[0]


def _widened(value: Value, rewriter: Rewriter) -> Value:
    """`value` in a format that partial sums can be kept in: fp32 for narrower floating ones."""
    return _cast(value, f32, rewriter) if _is_narrow(value) else value


def _is_narrow(value: Value) -> bool:
    kind = value.type
    return isinstance(kind, RankedTensor) and kind.element.is_float and kind.element not in (f32, f64)


def _cast(value: Value, element: Type, rewriter: Rewriter) -> Value:
    kind = value.type
    assert isinstance(kind, RankedTensor)  # an operand of a product or a convolution
    return value if kind.element is element else rewriter.insert(pd.CastOp(value, dtype=element)).out


# --- operands and results -------------------------------------------------------------------------------------------


class ConcatTree(RewritePattern[pd.ConcatOp]):
    """concat(a, b, c, …) → concat(concat(a, b), concat(c, …), …), each of at most so many operands."""

    name = "concat_tree"
    roots = (pd.ConcatOp,)

    def __init__(self, most: int) -> None:
        self.most = most

    def match_and_rewrite(self, op: pd.ConcatOp, rewriter: Rewriter) -> bool:
        values = op.operands
        if len(values) <= self.most or not all(isinstance(v.type, VTensorType) for v in values):
            return False
        groups = [list(values[start:end]) for start, end in pieces(len(values), self.most)]
        joined = [_join(group, op.axis, rewriter) if len(group) > 1 else group[0] for group in groups]
        made = pd.ConcatOp.create(joined, [op.out.type], op.attributes)
        rewriter.replace(op, made)
        return True


class SplitTree(RewritePattern[pd.SplitOp]):
    """split(x) into many → splits of the pieces of a split, each into at most so many."""

    name = "split_tree"
    roots = (pd.SplitOp,)

    def __init__(self, most: int) -> None:
        self.most = most

    def match_and_rewrite(self, op: pd.SplitOp, rewriter: Rewriter) -> bool:
        kinds = [r.type for r in op.results]
        if len(kinds) <= self.most or not all(isinstance(kind, VTensorType) and kind.is_static for kind in kinds):
            return False
        extents = [kind.shape[op.axis] for kind in kinds if isinstance(kind, VTensorType)]
        groups = [extents[start:end] for start, end in pieces(len(extents), self.most)]
        outer = rewriter.insert(pd.SplitOp(op.x, sections=tuple(map(sum, groups)), axis=op.axis))
        values: list[Value] = []
        for part, group in zip(outer.outs, groups, strict=True):
            one = len(group) == 1
            values += [part] if one else rewriter.insert(pd.SplitOp(part, sections=tuple(group), axis=op.axis)).outs
        rewriter.replace(op, values)
        return True


# --- matrix products ------------------------------------------------------------------------------------------------


class _MatmulPattern(RewritePattern[pd.MatmulOp]):
    """A product that is too large along one axis."""

    roots = (pd.MatmulOp,)

    def __init__(self, most: int) -> None:
        self.most = most

    def match_and_rewrite(self, op: pd.MatmulOp, rewriter: Rewriter) -> bool:
        if static_value(op.x) is None or static_value(op.y) is None:
            return False
        result = self.split(op, rewriter)
        if result is None:
            return False
        rewriter.replace(op, result)
        return True

    def split(self, op: pd.MatmulOp, rewriter: Rewriter) -> Value | None:
        """The product of pieces, or None when `op` is small enough."""
        raise NotImplementedError  # subclasses define it


def _extent(value: Value, axis: int | None) -> int:
    kind = value.type
    return kind.shape[axis] if isinstance(kind, RankedTensor) and axis is not None else 1


def _product(op: pd.MatmulOp, x: Value, y: Value, rewriter: Rewriter) -> Value:
    return rewriter.insert(pd.MatmulOp(x, y, transpose_x=op.transpose_x, transpose_y=op.transpose_y)).out


class SplitM(_MatmulPattern):
    """matmul(x, y) → concat of products of rows of x."""

    name = "matmul_m"

    def split(self, op: pd.MatmulOp, rewriter: Rewriter) -> Value | None:
        axis, (m, _) = op.x_axes[0], op.out_axes
        if m is None or _extent(op.x, axis) <= self.most:
            return None
        ranges = pieces(_extent(op.x, axis), self.most)
        return _join([_product(op, _cut(op.x, axis, *r, rewriter), op.y, rewriter) for r in ranges], m, rewriter)


class SplitN(_MatmulPattern):
    """matmul(x, y) → concat of products with columns of y."""

    name = "matmul_n"

    def split(self, op: pd.MatmulOp, rewriter: Rewriter) -> Value | None:
        axis, (_, n) = op.y_axes[1], op.out_axes
        if n is None or _extent(op.y, axis) <= self.most:
            return None
        ranges = pieces(_extent(op.y, axis), self.most)
        return _join([_product(op, op.x, _cut(op.y, axis, *r, rewriter), rewriter) for r in ranges], n, rewriter)


class SplitK(_MatmulPattern):
    """matmul(x, y) → sum of products of columns of x with rows of y, partial sums in fp32 or wider."""

    name = "matmul_k"

    def split(self, op: pd.MatmulOp, rewriter: Rewriter) -> Value | None:
        of_x, of_y = op.x_axes[1], op.y_axes[0]
        if _extent(op.x, of_x) <= self.most:
            return None
        kind = op.out.type
        assert isinstance(kind, VTensorType)  # of two values
        x, y = _widened(op.x, rewriter), _widened(op.y, rewriter)
        parts = [
            _product(op, _cut(x, of_x, *r, rewriter), _cut(y, of_y, *r, rewriter), rewriter)
            for r in pieces(_extent(op.x, of_x), self.most)
        ]
        return _cast(_sum(parts, rewriter), kind.element, rewriter)


class SplitBatch(_MatmulPattern):
    """matmul(x, y) of many matrices → concat of products of fewer, along the first batch axis that is not 1."""

    name = "matmul_batch"

    def split(self, op: pd.MatmulOp, rewriter: Rewriter) -> Value | None:
        kind = op.out.type
        assert isinstance(kind, VTensorType)  # of two values
        batch = kind.shape[: kind.rank - sum(axis is not None for axis in op.out_axes)]
        if math.prod(batch) <= self.most:
            return None
        axis = next(axis for axis, extent in enumerate(batch) if extent != 1)
        ranges = pieces(batch[axis], max(1, self.most // math.prod(batch[axis + 1 :])))
        from_matrix = len(batch) - axis  # how far before its matrices an operand has the axis
        parts: list[Value] = []
        for r in ranges:
            x, y = (self._batches(value, from_matrix, r, rewriter) for value in (op.x, op.y))
            parts.append(_product(op, x, y, rewriter))
        return _join(parts, axis, rewriter)

    @staticmethod
    def _batches(value: Value, from_matrix: int, wanted: tuple[int, int], rewriter: Rewriter) -> Value:
        kind = value.type
        axis = kind.rank - 2 - from_matrix if isinstance(kind, RankedTensor) else -1
        return _cut(value, axis, *wanted, rewriter) if axis >= 0 and _extent(value, axis) != 1 else value


# --- convolutions ---------------------------------------------------------------------------------------------------


@attrs.frozen
class _Axes:
    """Where the axes of a convolution are: of image and result (n, c, h, w), and of the filter (o, i)."""

    n: int
    c: int
    h: int
    w: int
    o: int
    i: int


def _axes(op: ConvolutionOp) -> _Axes:
    n, c, h, w = (0, 1, 2, 3) if op.data_format == "NCHW" else (0, 3, 1, 2)
    o, i = (0, 1) if op.filter_format == "OIHW" else (2, 3)
    return _Axes(n, c, h, w, o, i)


def _convolution(
    op: ConvolutionOp, image: Value, weight: Value, bias: Value | None, rewriter: Rewriter, *, plain: bool = False,
    **changed: Any,
) -> Value:  # fmt: skip
    """A convolution as `op` but for what is given; `plain`: without its activation."""
    names = ("strides", "paddings", "padding_algorithm", "dilations", "groups", "data_format", "filter_format")
    given: dict[str, Any] = {name: getattr(op, name) for name in names} | changed
    kind = cast("Callable[..., ConvolutionOp]", pd.Conv2dOp if plain else type(op))
    if not plain and isinstance(op, pd.FusedConv2dAddActOp):
        given["activation"] = op.activation
    return rewriter.insert(kind(image, weight, bias, **given)).out


class _ConvPattern(RewritePattern[ConvolutionOp]):
    """A convolution that is too large along one axis."""

    roots = (ConvolutionOp,)

    def __init__(self, most: int) -> None:
        self.most = most

    def match_and_rewrite(self, op: ConvolutionOp, rewriter: Rewriter) -> bool:
        if any(static_value(value) is None for value in op.operands):
            return False
        result = self.split(op, _axes(op), rewriter)
        if result is None:
            return False
        rewriter.replace(op, result)
        return True

    def split(self, op: ConvolutionOp, at: _Axes, rewriter: Rewriter) -> Value | None:
        """The convolution in pieces, or None when `op` is small enough."""
        raise NotImplementedError  # subclasses define it


class SplitImages(_ConvPattern):
    """conv(x) → concat of convolutions of fewer images."""

    name = "conv_batch"

    def split(self, op: ConvolutionOp, at: _Axes, rewriter: Rewriter) -> Value | None:
        if _extent(op.input, at.n) <= self.most:
            return None
        ranges = pieces(_extent(op.input, at.n), self.most)
        parts = [_convolution(op, _cut(op.input, at.n, *r, rewriter), op.filter, op.bias, rewriter) for r in ranges]
        return _join(parts, at.n, rewriter)


class SplitOutputs(_ConvPattern):
    """conv(x, w) → concat of convolutions with fewer filters each."""

    name = "conv_outputs"

    def split(self, op: ConvolutionOp, at: _Axes, rewriter: Rewriter) -> Value | None:
        outputs = op.filter_shape[0]
        if op.groups != 1 or outputs <= self.most:
            return None
        parts: list[Value] = []
        for r in pieces(outputs, self.most):
            bias = None if op.bias is None else _cut(op.bias, 0, *r, rewriter)
            parts.append(_convolution(op, op.input, _cut(op.filter, at.o, *r, rewriter), bias, rewriter))
        return _join(parts, at.c, rewriter)


class SplitInputs(_ConvPattern):
    """conv(x, w) → sum of convolutions of fewer channels each, partial sums in fp32 or wider, then the activation."""

    name = "conv_inputs"

    def split(self, op: ConvolutionOp, at: _Axes, rewriter: Rewriter) -> Value | None:
        channels = op.filter_shape[1]
        if op.groups != 1 or channels <= self.most:
            return None
        kind = op.out.type
        assert isinstance(kind, VTensorType)  # of values
        image, weight = _widened(op.input, rewriter), _widened(op.filter, rewriter)
        bias = None if op.bias is None else _widened(op.bias, rewriter)
        parts: list[Value] = []
        for r in pieces(channels, self.most):
            part = _cut(image, at.c, *r, rewriter), _cut(weight, at.i, *r, rewriter)
            parts.append(_convolution(op, *part, None if parts else bias, rewriter, plain=True))
        total = _sum(parts, rewriter)
        if isinstance(op, pd.FusedConv2dAddActOp):  # its activation is relu
            total = rewriter.insert(pd.ReluOp(total)).out
        return _cast(total, kind.element, rewriter)


class SplitGroups(_ConvPattern):
    """conv(x, w) of many groups → concat of convolutions of fewer groups."""

    name = "conv_groups"

    def split(self, op: ConvolutionOp, at: _Axes, rewriter: Rewriter) -> Value | None:
        outputs, inputs, _, _ = op.filter_shape
        made = outputs // op.groups
        if op.groups == 1 or max(op.groups * inputs, outputs) <= self.most:
            return None
        parts: list[Value] = []
        for start, end in pieces(op.groups, max(1, self.most // max(inputs, made))):
            image = _cut(op.input, at.c, start * inputs, end * inputs, rewriter)
            weight = _cut(op.filter, at.o, start * made, end * made, rewriter)
            bias = None if op.bias is None else _cut(op.bias, 0, start * made, end * made, rewriter)
            parts.append(_convolution(op, image, weight, bias, rewriter, groups=end - start))
        return _join(parts, at.c, rewriter)


class SplitSpace(_ConvPattern):
    """conv(x) → concat of convolutions of overlapping strips of x, of rows or of columns."""

    def __init__(self, most: int, *, columns: bool) -> None:
        super().__init__(most)
        self.side = int(columns)
        self.name = "conv_columns" if columns else "conv_rows"

    def split(self, op: ConvolutionOp, at: _Axes, rewriter: Rewriter) -> Value | None:
        side, axis = self.side, (at.h, at.w)[self.side]
        extent, stride = _extent(op.input, axis), op.strides[side]
        reach = (op.filter_shape[2 + side] - 1) * op.dilations[side] + 1
        if extent <= self.most or reach > self.most:
            return None
        low = op.pads[2 * side]
        strips: list[tuple[int, int]] = []
        for first, end in pieces(_extent(op.out, axis), (self.most - reach) // stride + 1):
            strips.append((first * stride - low, (end - 1) * stride - low + reach))
        if any(start >= extent or end <= 0 for start, end in strips):  # a strip of padding only
            return self._padded_first(op, at, rewriter)
        parts: list[Value] = []
        for start, end in strips:
            strip = _cut(op.input, axis, max(start, 0), min(end, extent), rewriter)
            pads = list(op.pads)
            pads[2 * side : 2 * side + 2] = max(-start, 0), max(end - extent, 0)
            parts.append(
                _convolution(
                    op, strip, op.filter, op.bias, rewriter, paddings=tuple(pads), padding_algorithm="EXPLICIT"
                )
            )
        return _join(parts, axis, rewriter)

    def _padded_first(self, op: ConvolutionOp, at: _Axes, rewriter: Rewriter) -> Value:
        """The convolution of the image in its frame, which has strips without padding."""
        top, bottom, left, right = op.pads
        frame = {at.h: (top, bottom), at.w: (left, right)}
        paddings = tuple(width for axis in range(4) for width in frame.get(axis, (0, 0)))
        image = rewriter.insert(pd.PadOp(op.input, paddings=paddings)).out
        return _convolution(op, image, op.filter, op.bias, rewriter, paddings=(0, 0), padding_algorithm="EXPLICIT")


# --- the pass -------------------------------------------------------------------------------------------------------


@register_pass
@attrs.frozen
class SplitLargeOps(OperationPass):
    """Splits operations that have more operands, or larger extents, than a machine takes.

    A `pd.concat` of many values becomes a tree, a `pd.split` into many too. A `pd.matmul` is split along its batch, M
    or N, and its pieces are joined, or along K, and its partial products are added; a convolution along batch, rows,
    columns (strips overlap), groups or output channels, or along input channels, whose partial results are added.
    Partial sums of formats narrower than fp32 are kept in fp32 and rounded once, as the matrix unit does.

    With `joins=false` products and convolutions are only split where pieces are added, along K and input channels: for
    a compiler that cuts the other axes over tiles and time itself, as that of the TX8 does, and does it better (a
    product with N = 20,000 takes 107 µs there, and 386 µs when it comes in pieces that are joined).

    Assumes: nothing; fires on vtensors of static shape with elements. Guarantees: no such concat has more than
    `max-operands` operands and no split more results; products have at most `max-extent` batches and rows and
    `max-channels` columns and terms, convolutions at most `max-extent` images, rows and columns and `max-channels`
    input and output channels; but for a filter that reaches over more than `max-extent` cells. Concat and split keep
    every bit, and so do products and convolutions of integers; in floating point a sum has the same terms, which a
    split along K or input channels, and a BLAS that gets other extents, add in another order. Idempotent.
    Cost: O(operations + what is made); slices and joins copy what they move, and products in bf16 or f16 that are split
    along K run in fp32, since the result of a `pd.matmul` is no wider than its operands. By default the limits are
    those of the TX8's instructions.
    From BladeDISC's DhloSplitLargeOps. Statistics: rewrites by pattern.
    """

    name: ClassVar[str] = "split-large-ops"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    max_operands: int = option(
        64,
        "the most operands of a concat (the compiler of the TX8 takes 64), and results of a split",
        validator=attrs.validators.gt(1),
    )
    max_extent: int = option(TX8.ne.extent[1], "the most batches, rows and columns", validator=attrs.validators.gt(0))
    max_channels: int = option(
        TX8.ne.channels[1], "the most channels in or out, or K or N", validator=attrs.validators.gt(0)
    )
    joins: bool = option(True, "also split along axes whose pieces are joined, not only where they are added")

    def patterns(self) -> Sequence[RewritePattern[Any]]:
        extent, channels = self.max_extent, self.max_channels
        added = (ConcatTree(self.max_operands), SplitTree(self.max_operands), SplitK(channels), SplitInputs(channels))
        if not self.joins:
            return added
        return (
            SplitBatch(extent),
            SplitM(extent),
            SplitN(channels),
            SplitImages(extent),
            SplitSpace(extent, columns=False),
            SplitSpace(extent, columns=True),
            SplitGroups(channels),
            SplitOutputs(channels),
            *added,
        )

    def run_on(self, root: Operation, program: Program) -> None:
        result = rewrite_greedily(root, self.patterns(), fold=False, drop_dead=False, by=self.name)
        for what, n in result.rewrites.items():
            self.count(what, n)
