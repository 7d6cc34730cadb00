"""Feature maps to NHWC, filters to HWOI, the layouts of the machine; transposes are sunk, cancelled and folded."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, ClassVar, Final

import attrs

from tx8ir.analysis.constants import constant_name, is_constant, make_constant, read_constant
from tx8ir.analysis.effects import mutable_parameters
from tx8ir.core import Block, DictAttr, Operation, OpResult, Program, RankedTensor, Type, Value, VTensorType
from tx8ir.dialects import pd
from tx8ir.dialects.pd.comparison import ComparisonOp
from tx8ir.dialects.pd.conv import ConvolutionOp
from tx8ir.dialects.pd.elementwise_binary import ElementwiseBinaryOp
from tx8ir.dialects.pd.elementwise_unary import ElementwiseUnaryOp
from tx8ir.dialects.pd.reduce import ExtremumOp, ReductionOp
from tx8ir.passes import Pass, register_pass
from tx8ir.rewriting import RewritePattern, Rewriter, rewrite_greedily
from tx8ir.transforms.cleanup.patterns import shape as shape_patterns
from tx8ir.transforms.cleanup.patterns.shape import invert, moves_unit_axes_only, positive, static_value

_OIHW_TO_HWOI = (2, 3, 0, 1)


def channels_last(rank: int) -> tuple[int, ...]:
    """The permutation from NC… to N…C."""
    return (0, *range(2, rank), 1)


def channels_first(rank: int) -> tuple[int, ...]:
    """The permutation from N…C to NC…."""
    return (0, rank - 1, *range(1, rank - 1))


def _permuted(kind: Type, perm: Sequence[int]) -> RankedTensor:
    assert isinstance(kind, RankedTensor)  # callers have asked
    return kind.with_shape(kind.shape[axis] for axis in perm)


@register_pass
@attrs.frozen
class Nhwc(Pass):
    """Converts `conv2d`, `depthwise_conv2d`, `pool2d` and `batch_norm` from NCHW to NHWC, and their filters to HWOI.

    Each gets a transpose of its input and one of its result. Those of results are then sunk through elementwise
    operations, reductions, softmax, concat, split, slice and pad (axes remapped), cancelled against those of inputs,
    and evaluated on constants: transposing an immutable parameter makes a new variable, once per parameter and
    permutation. A transpose that only moves axes of extent 1 becomes a reshape. The signature of functions stays as it
    is.

    Assumes: nothing; operations on `tensor`s are left alone. Guarantees: no converted operation is NCHW; what a
    transpose remains for is an input, an output, or an operation that fixes the order of axes (reshape, matmul, an
    elementwise operation with another feature map in NCHW, a sum of floats over channels and space at once, which
    would be added in another order). Keeps every bit. Idempotent.
    Cost: O(operations + changes + elements of transposed constants).
    Statistics: `converted` (operations), `sunk` (transposes), `constants` (transposed), other rewrites by pattern.
    """

    name: ClassVar[str] = "nhwc"

    def run(self, program: Program) -> None:
        transposer = _Transposer(program, mutable_parameters(program))
        for op in list(program.module.walk()):
            if isinstance(op, _LAID_OUT) and _convert(op, transposer):
                self.count("converted")
        patterns: list[RewritePattern[Any]] = [
            _FoldTranspose(transposer),
            _SinkElementwise(transposer),
            _SinkConcat(transposer),
            _SinkReduction(),
            _SinkSplit(),
            _SinkSlice(),
            _SinkPad(),
            _SinkSoftmax(),
            shape_patterns.identity_transpose,
            shape_patterns.transpose_of_transpose,
            shape_patterns.transpose_of_unit_axes,
            shape_patterns.identity_reshape,
            shape_patterns.reshape_of_reshape,
        ]
        result = rewrite_greedily(program.module, patterns, fold=False, by=self.name)
        for what, n in result.rewrites.items():
            self.count("sunk" if what.startswith("sink_") else what, n)
        self.count("constants", transposer.constants)


class _Transposer:
    """Makes the transposes of values, each once, next to what it transposes; those of constants are evaluated."""

    def __init__(self, program: Program, mutable: Collection[str]) -> None:
        self.program = program
        self.mutable = mutable
        self.constants = 0
        self._constants: dict[tuple[Value, tuple[int, ...], tuple[int, ...]], OpResult] = {}
        self._sources: dict[tuple[DictAttr, tuple[int, ...], tuple[int, ...]], Operation] = {}
        self._transposes: dict[tuple[Value, tuple[int, ...]], OpResult] = {}

    def constant(self, value: Value, shape: tuple[int, ...], perm: tuple[int, ...], suffix: str) -> Value | None:
        """`value`, reshaped to `shape`, then transposed by `perm`, when it is a constant; else None.

        The data of a constant is transposed once for each permutation, however often it is read.
        """
        definer = value.defining_op
        if definer is None:
            return None
        key = (value, shape, perm)
        made = self._constants.get(key)
        if made is not None and _is_alive(made):
            return made
        same = (definer.attributes, shape, perm)  # equal attributes: the same constant
        found = self._sources.get(same)
        if found is not None:
            op: Operation = found.clone()
        else:
            array = read_constant(value, self.program, self.mutable)
            if array is None:
                return None
            moved = array.reshape(shape).transpose(perm)
            if isinstance(definer, pd.FullOp):
                op = pd.FullOp(shape=moved.shape, value=definer.value, dtype=definer.dtype)
            else:
                kind = VTensorType(moved.shape, _permuted(value.type, ()).element)
                op = make_constant(moved, kind, self.program, constant_name(value, suffix))
            self.constants += 1
            self._sources[same] = op.clone()  # detached: it outlives the one in the graph
        op.location = definer.location
        block = definer.parent
        assert block is not None  # it is used inside the module
        block.insert_after(op, definer)
        self._constants[key] = op.results[0]
        return op.results[0]

    def existing(self, value: Value, perm: tuple[int, ...]) -> Value | None:
        """The transpose of `value` that `transpose` made, if it is still there; every user of `value` may use it."""
        made = self._transposes.get((value, perm))
        return made if made is not None and _is_alive(made) else None

    def transpose(self, value: Value, perm: tuple[int, ...], suffix: str) -> Value:
        """The transpose of a `vtensor`, made right after its definition so that every user of `value` may use it."""
        kind = value.type
        assert isinstance(kind, RankedTensor)  # callers have asked
        constant = self.constant(value, kind.shape, perm, suffix)
        if constant is not None:
            return constant
        made = self.existing(value, perm)
        if made is not None:
            return made
        op = pd.TransposeOp(value, perm=perm)
        owner = value.owner
        if isinstance(owner, Block):
            first = owner.first_op
            if first is None:
                owner.append(op)
            else:
                owner.insert_before(op, first)
        else:
            op.location = owner.location
            assert owner.parent is not None  # it is used inside the module
            owner.parent.insert_after(op, owner)
        self._transposes[value, perm] = op.out
        return op.out


def _is_alive(value: OpResult) -> bool:
    return value.__class__ is OpResult and value.owner.parent is not None


_LAID_OUT: Final = (ConvolutionOp, pd.Pool2dOp, pd.BatchNormOp, pd.BatchNormTrainingOp)
"""The operations that say where their channels are."""


def _convert(
    op: ConvolutionOp | pd.Pool2dOp | pd.BatchNormOp | pd.BatchNormTrainingOp, transposer: _Transposer
) -> bool:
    """Makes `op` channels-last; False when it is already, or works on `tensor`s."""
    kind = op.out.type
    if not isinstance(kind, VTensorType):
        return False
    operands = list(op.operands)
    changed: dict[str, str] = {}
    results = kind
    if op.data_format == "NCHW" and kind.rank > 2:
        operands[0] = transposer.transpose(operands[0], channels_last(kind.rank), "nhwc")
        changed["data_format"] = "NHWC"
        results = _permuted(kind, channels_last(kind.rank))
    if isinstance(op, ConvolutionOp) and op.filter_format == "OIHW":
        operands[1] = transposer.transpose(operands[1], _OIHW_TO_HWOI, "hwoi")
        changed["filter_format"] = "HWOI"
    if not changed:
        return False
    block = op.parent
    assert block is not None  # it was found inside the module
    others = [result.type for result in op.results[1:]]  # of a normalisation, by channels
    new = op.__class__.create(operands, [results, *others], {**op.attributes, **changed}, location=op.location)
    block.insert_before(new, op)
    value: Value = new.results[0]
    if "data_format" in changed:
        back = pd.TransposeOp(value, perm=channels_first(kind.rank))
        back.location = op.location
        block.insert_before(back, op)
        value = back.out
    op.replace_with([value, *new.results[1:]], by=Nhwc.name)
    return True


# --- sinking ----------------------------------------------------------------------------------------------------


def _sinkable(value: Value) -> pd.TransposeOp | None:
    """The transpose from channels last to channels first that made `value`, if one did."""
    op = value.defining_op
    if isinstance(op, pd.TransposeOp) and len(op.perm) > 2 and positive(op.perm) == channels_first(len(op.perm)):
        return op if op.out.type.__class__ is VTensorType else None
    return None


class _FoldTranspose(RewritePattern[pd.TransposeOp]):
    """transpose(constant) → a constant."""

    name = "fold_transpose"
    roots = (pd.TransposeOp,)
    benefit = 4

    def __init__(self, transposer: _Transposer) -> None:
        self.transposer = transposer

    def match_and_rewrite(self, op: pd.TransposeOp, rewriter: Rewriter) -> bool:
        kind = op.x.type
        if not isinstance(kind, VTensorType):
            return False
        constant = self.transposer.constant(op.x, kind.shape, positive(op.perm), "transposed")
        if constant is None:
            return False
        rewriter.replace(op, constant)
        return True


class _SinkJoin(RewritePattern[Operation]):
    """Shared by operations that join several feature maps element by element or along an axis."""

    def __init__(self, transposer: _Transposer) -> None:
        self.transposer = transposer

    def _untransposed(
        self, values: Sequence[Value], rank: int, rewriter: Rewriter, *, broadcasts: bool
    ) -> list[Value] | None:
        """`values` without the sinkable transpose, when one has it and all can do without; new operations are
        inserted only then.
        """
        perm = channels_first(rank)
        transposes = [_sinkable(value) for value in values]
        if not any(t is not None and len(t.perm) == rank for t in transposes):
            return None
        plans: list[tuple[str, Value, tuple[int, ...]]] = []
        for value, transpose in zip(values, transposes, strict=True):
            kind = value.type
            if not isinstance(kind, VTensorType):
                return None
            if transpose is not None and len(transpose.perm) == rank:
                plans.append(("keep", transpose.x, ()))
                continue
            if not broadcasts and kind.rank != rank:
                return None
            made = self.transposer.existing(value, invert(perm)) if kind.rank == rank else None
            if made is not None:
                plans.append(("keep", made, ()))
                continue
            full = (1,) * (rank - kind.rank) + kind.shape
            if broadcasts and kind.is_static and kind.num_elements == 1:
                plans.append(("keep", value, ()))
            elif is_constant(value, self.transposer.program, self.transposer.mutable):
                plans.append(("constant", value, full))
            elif static_value(value) is not None and moves_unit_axes_only(full, invert(perm)):
                plans.append(("reshape", value, tuple(full[axis] for axis in invert(perm))))
            else:
                return None
        result: list[Value] = []
        for how, value, shape in plans:
            if how == "constant":
                constant = self.transposer.constant(value, shape, invert(perm), "nhwc")
                assert constant is not None  # is_constant
                result.append(constant)
            elif how == "reshape":
                result.append(rewriter.insert(pd.ReshapeOp(value, shape=shape)).out)
            else:
                result.append(value)
        return result


class _SinkElementwise(_SinkJoin):
    """f(transpose(x), …) → transpose(f(x, …))."""

    name = "sink_elementwise"
    roots = (
        ElementwiseUnaryOp,
        ElementwiseBinaryOp,
        ComparisonOp,
        pd.WhereOp,
        pd.CastOp,
        pd.IsnanOp,
        pd.LogicalNotOp,
    )

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool:
        kind = op.results[0].type
        if not isinstance(kind, VTensorType) or kind.rank < 3:
            return False
        operands = self._untransposed(op.operands, kind.rank, rewriter, broadcasts=True)
        return operands is not None and _sink_result(op, operands, {}, rewriter)


class _SinkConcat(_SinkJoin):
    """concat(transpose(x), …) → transpose(concat(x, …))."""

    name = "sink_concat"
    roots = (pd.ConcatOp,)

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool:
        kind = op.results[0].type
        if not isinstance(op, pd.ConcatOp) or not isinstance(kind, VTensorType) or kind.rank < 3:
            return False
        operands = self._untransposed(op.operands, kind.rank, rewriter, broadcasts=False)
        if operands is None:
            return False
        return _sink_result(op, operands, {"axis": channels_first(kind.rank)[op.axis]}, rewriter)


def _sink_result(op: Operation, operands: Sequence[Value], changed: dict[str, Any], rewriter: Rewriter) -> bool:
    """Replaces `op`, whose results all have the rank of its transposed operand, by transposes of the results of a
    copy of it on `operands`.
    """
    types = [_permuted(result.type, channels_last(_rank(result.type))) for result in op.results]
    new = rewriter.insert(op.__class__.create(operands, types, {**op.attributes, **changed}, location=op.location))
    rewriter.replace(op, [rewriter.insert(pd.TransposeOp(r, perm=channels_first(_rank(r.type)))) for r in new.results])
    return True


def _rank(kind: Type) -> int:
    assert isinstance(kind, RankedTensor)  # callers have asked
    return kind.rank


class _SinkSplit(RewritePattern[pd.SplitOp]):
    """split(transpose(x)) → transposes of the pieces of x."""

    name = "sink_split"
    roots = (pd.SplitOp,)

    def match_and_rewrite(self, op: pd.SplitOp, rewriter: Rewriter) -> bool:
        inner = _sinkable(op.x)
        return inner is not None and _sink_result(op, [inner.x], {"axis": inner.perm[op.axis]}, rewriter)


class _SinkSoftmax(RewritePattern[pd.SoftmaxOp]):
    """softmax(transpose(x)) → transpose(softmax(x)) along the axis that moved."""

    name = "sink_softmax"
    roots = (pd.SoftmaxOp,)

    def match_and_rewrite(self, op: pd.SoftmaxOp, rewriter: Rewriter) -> bool:
        inner = _sinkable(op.x)
        return inner is not None and _sink_result(op, [inner.x], {"axis": inner.perm[op.axis]}, rewriter)


class _SinkSlice(RewritePattern[pd.SliceOp]):
    """slice(transpose(x)) → transpose(slice(x)), for a slice that drops no axis."""

    name = "sink_slice"
    roots = (pd.SliceOp,)

    def match_and_rewrite(self, op: pd.SliceOp, rewriter: Rewriter) -> bool:
        inner = _sinkable(op.input)
        if inner is None or op.decrease_axis:
            return False
        return _sink_result(op, [inner.x], {"axes": tuple(inner.perm[axis] for axis in op.axes)}, rewriter)


class _SinkPad(RewritePattern[pd.PadOp]):
    """pad(transpose(x)) → transpose(pad(x)) with the frame of the axes that moved."""

    name = "sink_pad"
    roots = (pd.PadOp,)

    def match_and_rewrite(self, op: pd.PadOp, rewriter: Rewriter) -> bool:
        inner = _sinkable(op.x)
        if inner is None:
            return False
        frame = [op.frame[axis] for axis in channels_last(len(inner.perm))]
        return _sink_result(op, [inner.x], {"paddings": tuple(width for widths in frame for width in widths)}, rewriter)


def _commutes_exactly(op: ReductionOp) -> bool:
    """Whether a reduction has the same bits in whatever order it takes the elements."""
    kind = op.out.type
    return isinstance(op, ExtremumOp) or (isinstance(kind, RankedTensor) and not kind.element.is_float)


class _SinkReduction(RewritePattern[ReductionOp]):
    """reduction(transpose(x)) → reduction(x) over the axes that moved, transposed when the order of what is left
    differs. Not where floats would be added in another order.
    """

    name = "sink_reduction"
    roots = (ReductionOp,)

    def match_and_rewrite(self, op: ReductionOp, rewriter: Rewriter) -> bool:
        inner = _sinkable(op.x)
        if inner is None:
            return False
        perm, axes = positive(inner.perm), op.axes
        moved = tuple(perm[axis] for axis in axes)
        if list(moved) != sorted(moved) and not _commutes_exactly(op):
            return False
        moved = tuple(sorted(moved))
        if op.keepdim:
            return _sink_result(op, [inner.x], {"axis": moved}, rewriter)
        left = [
            axis for axis in range(len(perm)) if axis not in moved
        ]  # the axes of the new result, as axes of inner.x
        order = tuple(left.index(perm[axis]) for axis in range(len(perm)) if axis not in axes)
        kind = _permuted(op.out.type, invert(order))
        new = rewriter.insert(
            op.__class__.create([inner.x], [kind], {**op.attributes, "axis": moved}, location=op.location)
        )
        value: Value = new.results[0]
        if order != tuple(range(len(order))):
            value = rewriter.insert(pd.TransposeOp(value, perm=order)).out
        rewriter.replace(op, value)
        return True
