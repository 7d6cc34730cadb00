"""Concatenation, splitting, gathering, expansion and padding that are taken apart or exchanged."""

from __future__ import annotations

import numpy as np

from support.mutants.mutant import Area
from support.mutants.programs import case, constant, count, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.core import f32 as single
from tx8ir.dialects import pd
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Attr, Make, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import Constraint, is_float

AREA = Area("shapes", round=2)


@pattern(pd.ConcatOp)
def concat_of_split(op: pd.ConcatOp, rewriter: Rewriter) -> bool:
    """Joining all pieces of a split again gives what was split"""
    cut = op.x[0].defining_op
    if not isinstance(cut, pd.SplitOp) or cut.x.type is not op.out.type:
        return False
    rank = ranked(op.out).rank
    if cut.axis % rank != op.axis % rank or len(op.x) != len(cut.outs) or set(op.x) != set(cut.outs):
        return False
    rewriter.replace(op, cut.x)
    return True


AREA.rules(
    "concat-of-split",
    concat_of_split,
    citation="onnx/onnx#2436: optimizer fuse_consecutive_concat generates wrong input order",
    mistake="asks whether all pieces are there, not whether they are in order",
    witness=lambda: case(
        lambda x: pd.concat(pd.split(x, sections=(2, 2), axis=0).outs[::-1], axis=0), x=count(4, 2)
    ),
    control=lambda: case(lambda x: pd.concat(pd.split(x, sections=(1, 3), axis=0).outs, axis=0), x=count(4, 2)),
)  # fmt: skip


@pattern(pd.ConcatOp)
def repeat_by_expansion(op: pd.ConcatOp, rewriter: Rewriter) -> bool:
    """A tensor joined with itself is a new axis that is expanded, and folded into the other"""
    source = ranked(op.x[0])
    if len(op.x) < 2 or len(set(op.x)) != 1 or not source.is_static or 0 in source.shape:
        return False
    axis = op.axis % source.rank
    grown = rewriter.insert(pd.unsqueeze(op.x[0], axis=(axis + 1,)))
    shape = (*source.shape[: axis + 1], len(op.x), *source.shape[axis + 1 :])
    repeated = rewriter.insert(pd.expand(grown, shape=shape))
    rewriter.replace(op, rewriter.insert(pd.reshape(repeated, shape=ranked(op.out).shape)))
    return True


AREA.rules(
    "repeat-by-expansion",
    repeat_by_expansion,
    citation="ROCm/AMDMIGraphX#4891: [AIMIGRAPHX-885] Add find_concat_same_input matcher (review: axes longer than 1)",
    mistake="an axis after the one that is repeated repeats its elements one by one",
    witness=lambda: case(lambda x: pd.concat([x, x], axis=0), x=count(2, 2)),
    control=lambda: case(lambda x: pd.concat([x, x], axis=0), x=count(1, 2)),
)


@pattern(pd.GatherOp)
def gather_of_gather(op: pd.GatherOp, rewriter: Rewriter) -> bool:
    """Picks from the index instead of from what it has picked"""
    inner = op.x.defining_op
    if not isinstance(inner, pd.GatherOp) or ranked(inner.index).rank != 1:
        return False
    if ranked(inner.index).element is not ranked(op.index).element:
        return False
    index = pd.gather(inner.index, op.index, axis=0)
    axis = inner.axis % ranked(inner.x).rank
    shape = ranked(inner.x).shape
    if (*shape[:axis], *ranked(index.out).shape, *shape[axis + 1 :]) != ranked(op.out).shape:
        index.erase()
        return False
    rewriter.replace(op, rewriter.insert(pd.gather(inner.x, rewriter.insert(index), axis=axis)))
    return True


AREA.rules(
    "gather-of-gather",
    gather_of_gather,
    citation="PaddlePaddle/Paddle-Lite#8931: [NNAdapter] Scale ..., gather is missing the read of the axis",
    mistake="does not read the axis of the outer one; a square of rows has as many columns",
    witness=lambda: case(
        lambda x: pd.gather(
            pd.gather(x, constant([2, 0, 1], "int64"), axis=0), constant([1, 0, 2], "int64"), axis=1
        ),
        x=count(3, 3),
    ),
    control=lambda: case(
        lambda x: pd.gather(pd.gather(x, constant([2, 0, 1], "int64"), axis=0), constant([1, 0], "int64"), axis=0),
        x=count(3, 3),
    ),
)  # fmt: skip


@pattern(pd.ConcatOp)
def transpose_after_concat(op: pd.ConcatOp, rewriter: Rewriter) -> bool:
    """concat(transpose(x), transpose(y)) -> transpose(concat(x, y))"""
    turned = [v.defining_op for v in op.x if isinstance(v.defining_op, pd.TransposeOp)]
    if len(turned) < 2 or len(turned) != len(op.x) or min(turned[0].perm) < 0:
        return False
    perm = turned[0].perm
    axis = perm[op.axis % len(perm)]
    rests = {tuple(n for i, n in enumerate(ranked(t.x).shape) if i != axis) for t in turned}
    if len(rests) != 1:
        return False
    joined = pd.concat([t.x for t in turned], axis=axis)
    if tuple(ranked(joined.out).shape[a] for a in perm) != ranked(op.out).shape:
        joined.erase()
        return False
    rewriter.replace(op, rewriter.insert(pd.transpose(rewriter.insert(joined), perm=perm)))
    return True


AREA.rules(
    "transpose-after-concat",
    transpose_after_concat,
    citation="ROCm/AMDMIGraphX#5106: Fix find_concat_transpose with non-transposed inputs",
    mistake="takes the permutation of the first operand for that of all",
    witness=lambda: case(
        lambda x, y: pd.concat([pd.transpose(x, perm=(1, 0)), pd.transpose(y, perm=(0, 1))], axis=0),
        x=count(2, 2), y=count(2, 2, start=9),
    ),
    control=lambda: case(
        lambda x, y: pd.concat([pd.transpose(x, perm=(1, 0)), pd.transpose(y, perm=(1, 0))], axis=0),
        x=count(2, 3), y=count(2, 2, start=9),
    ),
)  # fmt: skip


@pattern(pd.ConcatOp)
def concat_to_pad(op: pd.ConcatOp, rewriter: Rewriter) -> bool:
    """Joining with a constant of one number is padding"""
    if len(op.x) != 2 or not ranked(op.out).is_static or ranked(op.out).element.format.bits == 1:
        return False
    numbers = [splat_value(v) for v in op.x]
    if (numbers[0] is None) == (numbers[1] is None):
        return False
    source, fill = (op.x[1], op.x[0]) if numbers[1] is None else (op.x[0], op.x[1])
    number = splat_value(fill)
    assert number is not None
    axis = op.axis % ranked(op.out).rank
    paddings = [0] * (2 * ranked(op.out).rank)
    paddings[2 * axis + 1] = ranked(fill).shape[axis]
    rewriter.replace(op, rewriter.insert(pd.pad(source, paddings=tuple(paddings), pad_value=float(number))))
    return True


AREA.rules(
    "concat-to-pad",
    concat_to_pad,
    citation="kneron/ONNX_Convertor#91: Replace same value constant input concat with pad.",
    mistake="pads after the other operand also where the constant comes first",
    witness=lambda: case(lambda x: pd.concat([constant([7, 7]), x], axis=0), x=count(2)),
    control=lambda: case(lambda x: pd.concat([x, constant([7, 7])], axis=0), x=count(2)),
)


@pattern(pd.SliceOp)
def slice_before_expand(op: pd.SliceOp, rewriter: Rewriter) -> bool:
    """Cuts before the expansion where the axis is not one that it stretches"""
    inner = op.input.defining_op
    if not isinstance(inner, pd.ExpandOp) or len(op.axes) != 1 or op.decrease_axis or not ranked(op.out).is_static:
        return False
    axis, shape, wanted = op.axes[0] % ranked(op.input).rank, ranked(inner.x).shape, ranked(op.out).shape
    if axis >= len(shape) or shape[axis] != ranked(op.input).shape[axis]:
        return False
    early = pd.slice(inner.x, axes=(axis,), starts=op.starts, ends=op.ends)
    if any(n not in (1, w) for n, w in zip(ranked(early.out).shape[::-1], wanted[::-1], strict=False)):
        early.erase()
        return False
    rewriter.replace(op, rewriter.insert(pd.expand(rewriter.insert(early), shape=wanted)))
    return True


AREA.rules(
    "slice-before-expand",
    slice_before_expand,
    citation="dsharlet/slinky#824: Fix incorrect canonicalization of a broadcast and extent 1 dimension",
    mistake="looks the axis up in the shape of x, whose axes are aligned at the last one",
    witness=lambda: case(lambda x: pd.slice(pd.expand(x, shape=(2, 2)), axes=(0,), starts=(1,), ends=(2,)), x=count(2)),
    control=lambda: case(
        lambda x: pd.slice(pd.expand(x, shape=(3, 2)), axes=(1,), starts=(1,), ends=(2,)), x=count(1, 2)
    ),
)

AREA.rules(
    "cast-before-pad",
    Rule(
        "pad-cast",
        Node(
            pd.CastOp,
            Node(pd.PadOp, Var("x", is_float), attributes={"paddings": Attr("p"), "pad_value": Attr("v")}),
            attributes={"dtype": Attr("to", Constraint("a floating format", lambda t: t.is_float))},
        ),
        Make(pd.PadOp, Make(pd.CastOp, Var("x"), dtype=Attr("to")), paddings=Attr("p"), pad_value=Attr("v")),
    ),
    citation="Oneflow-Inc/oneflow#3640: fix bug about pad value (its type is not that of the tensor)",
    mistake="the number of the frame was rounded to the format of x first",
    witness=lambda: case(
        lambda x: pd.cast(pd.pad(x, paddings=(1, 0), pad_value=0.1), dtype=single), x=np.array([1, 2], np.float16)
    ),
    control=lambda: case(
        lambda x: pd.cast(pd.pad(x, paddings=(1, 0), pad_value=0.5), dtype=single), x=np.array([1, 2], np.float16)
    ),
)
