"""Mutants of movement: transposes, slices, concatenation, padding, set_value, gathers that are slices."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from support.mutants.mutant import Area
from support.mutants.programs import case, constant, count, operations, ranked
from tx8ir.core import Builder, Program, Value
from tx8ir.dialects import builtin, pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Attr, Make, Match, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import constraint

AREA = Area("shapes", round=1)
END = 2**31 - 1
x = Var("x")


def replace_if_same(op: Any, make: Any) -> bool:
    """Puts the value that `make` makes in place of `op` if it has its type."""
    with Builder.before(op):
        made = make()
    value = made if isinstance(made, Value) else made.result
    if value.type is op.result.type:
        op.replace_with(value)
        return True
    if value.defining_op is not None and not value.has_uses and value.parent_block is op.parent:
        value.defining_op.erase()
    return False


@constraint("extents that fit")
def composes(match: Match) -> bool:
    outer, shape = match.attributes["outer"], ranked(match["x"]).shape
    return tuple(shape[outer[a]] for a in match.attributes["inner"]) == ranked(match.root.results[0]).shape


AREA.rules(
    "compose-transposes",
    Rule(
        "transpose-transpose",
        Node(pd.TransposeOp, Node(pd.TransposeOp, x, attributes={"perm": Attr("inner")}),
             attributes={"perm": Attr("outer")}),
        Make(pd.TransposeOp, x, perm=lambda m: tuple(m.attributes["outer"][a] for a in m.attributes["inner"])),
        where=[composes],
    ),
    citation="apache/tvm#7656: Simplify consecutive transpose/layout_transform (review: negative and chained axes)",
    mistake="composes in the wrong order, which is right for permutations that commute",
    witness=lambda: case(
        lambda x: pd.transpose(pd.transpose(x, perm=(1, 0, 2)), perm=(0, 2, 1)), x=count(2, 2, 2)
    ),
    control=lambda: case(
        lambda x: pd.transpose(pd.transpose(x, perm=(1, 2, 0)), perm=(1, 2, 0)), x=count(2, 2, 2)
    ),
)  # fmt: skip


@AREA.mutant(
    citation="PINTO0309/onnx2tf#479: Reduction of transposition errors when all axis values except batch are the same",
    mistake="compares extents, not axes: axes of equal extent may have changed places",
    witness=lambda: case(lambda x: pd.transpose(x, perm=(0, 2, 1)), x=count(1, 3, 3)),
    control=lambda: case(lambda x: pd.transpose(x, perm=(1, 0, 2)), x=count(1, 2, 3)),
)
def transpose_to_reshape(program: Program) -> None:
    """A transpose that moves axes of extent 1 only is a reshape."""
    for op in operations(program, pd.TransposeOp):
        before, after = ranked(op.x), ranked(op.out)
        if before.is_static and [n for n in before.shape if n != 1] == [n for n in after.shape if n != 1]:
            replace_if_same(op, lambda op=op, after=after: pd.reshape(op.x, shape=after.shape))


@AREA.mutant(
    citation="alibaba/heterogeneity-aware-lowering-and-optimization#682: Fix bug in transpose simplification",
    mistake="an operand of lower rank is left as it is: it then lies along another axis",
    witness=lambda: case(lambda x, y: pd.add(pd.transpose(x, perm=(1, 0)), y), x=count(3, 3), y=count(3, start=10)),
    control=lambda: case(lambda x, y: pd.add(pd.transpose(x, perm=(1, 0)), y), x=count(3, 2), y=count(2, 3, start=10)),
)
@attrs.frozen
class SinkTransposes(Pass):
    """op(transpose(x), y) -> transpose(op(x, y transposed back))."""

    name: ClassVar[str] = "sink-transposes"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.AddOp, pd.SubtractOp, pd.MultiplyOp):
            inner = op.x.defining_op
            if not isinstance(inner, pd.TransposeOp) or op.x.type is not op.out.type or min(inner.perm) < 0:
                continue
            inverse = tuple(sorted(range(len(inner.perm)), key=inner.perm.__getitem__))
            with Builder.before(op):
                other = op.y
                if ranked(other).rank == len(inverse):
                    other = pd.transpose(other, perm=inverse).out
                sunk = pd.transpose(type(op)(inner.x, other), perm=inner.perm)
            op.replace_with(sunk)
            self.count("sunk")


@AREA.mutant(
    citation="openvinotoolkit/openvino#29555: Add issue fix for pass EliminateConcatStridedSlice",
    mistake="counts a negative start from the end of the first operand",
    witness=lambda: case(
        lambda x, y: pd.slice(pd.concat([x, y], axis=0), axes=(0,), starts=(-2,), ends=(END,)),
        x=count(2), y=count(2, start=9),
    ),
    control=lambda: case(
        lambda x, y: pd.slice(pd.concat([x, y], axis=0), axes=(0,), starts=(2,), ends=(4,)),
        x=count(2), y=count(2, start=9),
    ),
)  # fmt: skip
def slice_of_concat(program: Program) -> None:
    for op in operations(program, pd.SliceOp):
        joined = op.input.defining_op
        if not isinstance(joined, pd.ConcatOp) or len(op.axes) != 1 or op.decrease_axis:
            continue
        rank = ranked(joined.out).rank
        axis = joined.axis % rank
        if op.axes[0] % rank != axis or not ranked(joined.out).is_static:
            continue
        offset = 0
        start = op.starts[0] + (ranked(joined.x[0]).shape[axis] if op.starts[0] < 0 else 0)
        for part in joined.x:
            if offset == start and part.type is op.out.type:
                op.replace_with(part)
                break
            offset += ranked(part).shape[axis]


@pattern(pd.SliceOp)
def slice_of_slice(op: pd.SliceOp, rewriter: Rewriter) -> bool:
    """Adds the starts of two slices along the same axes"""
    inner = op.input.defining_op
    if not isinstance(inner, pd.SliceOp) or inner.decrease_axis or op.axes != inner.axes or min(inner.starts) < 0:
        return False
    starts = tuple(a + b if b >= 0 else b for a, b in zip(inner.starts, op.starts, strict=True))
    clipped = zip(inner.starts, inner.ends, op.starts, op.ends, strict=True)
    ends = tuple(f if b < 0 or f < 0 else min(e, a + f) for a, e, b, f in clipped)
    if any(e < 0 for e in inner.ends):
        return False
    merged = pd.slice(inner.input, axes=op.axes, starts=starts, ends=ends, decrease_axis=op.decrease_axis)
    if merged.out.type is not op.out.type:
        return False
    rewriter.replace(op, rewriter.insert(merged))
    return True


AREA.rules(
    "slice-of-slice",
    slice_of_slice,
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: wrong index arithmetic)",
    mistake="a negative place of the outer slice counts from the end of the inner one, not of x",
    witness=lambda: case(
        lambda x: pd.slice(pd.slice(x, axes=(0,), starts=(0,), ends=(4,)), axes=(0,), starts=(-2,), ends=(END,)),
        x=count(6),
    ),
    control=lambda: case(
        lambda x: pd.slice(pd.slice(x, axes=(0,), starts=(1,), ends=(5,)), axes=(0,), starts=(1,), ends=(3,)),
        x=count(6),
    ),
)

AREA.rules(
    "merge-paddings",
    Rule(
        "pad-pad",
        Node(pd.PadOp, Node(pd.PadOp, x, attributes={"paddings": Attr("p"), "pad_value": Attr("v")}),
             attributes={"paddings": Attr("q"), "pad_value": Attr("w")}),
        Make(pd.PadOp, x, pad_value=Attr("v"),
             paddings=lambda m: tuple(a + b for a, b in zip(m.attributes["p"], m.attributes["q"], strict=True))),
        where=[constraint("the same number")(lambda m: m.attributes["v"] == m.attributes["w"])],
    ),
    citation="dotnet/coreclr#5557: Examine uses of FP Zero for correctness (val == 0.0 is true of -0.0)",
    mistake="-0 and +0 compare equal",
    special_value=True,
    witness=lambda: case(
        lambda x: pd.pad(pd.pad(x, paddings=(1, 0), pad_value=0.0), paddings=(0, 1), pad_value=-0.0), x=count(2)
    ),
    control=lambda: case(
        lambda x: pd.pad(pd.pad(x, paddings=(1, 0), pad_value=2.0), paddings=(0, 1), pad_value=2.0), x=count(2)
    ),
)  # fmt: skip


@AREA.mutant(
    citation="onnx/tensorflow-onnx#1964: Transpose optimization for Softmax and LogSoftmax",
    mistake="maps the axis with the inverse permutation",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x: pd.softmax(pd.transpose(x, perm=(1, 2, 0)), axis=0), x=np.sin(count(2, 2, 2)).astype(np.float32)
    ),
    control=lambda: case(
        lambda x: pd.softmax(pd.transpose(x, perm=(0, 2, 1)), axis=1), x=np.sin(count(2, 2, 2)).astype(np.float32)
    ),
)
def softmax_before_transpose(program: Program) -> None:
    for op in operations(program, pd.SoftmaxOp):
        inner = op.x.defining_op
        if isinstance(inner, pd.TransposeOp) and min(inner.perm) >= 0:
            axis = inner.perm.index(op.axis % len(inner.perm))
            with Builder.before(op):
                moved = pd.transpose(pd.softmax(inner.x, axis=axis), perm=inner.perm)
            op.replace_with(moved)


@AREA.mutant(
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: guards that test shapes or bounds alone)",
    mistake="looks at the first index, the last, and how many there are",
    witness=lambda: case(lambda x: pd.gather(x, constant([1, 3, 2, 4], "int64"), axis=0), x=count(5)),
    control=lambda: case(lambda x: pd.gather(x, constant([1, 2, 3], "int64"), axis=0), x=count(5)),
)
@attrs.frozen
class GatherToSlice(Pass):
    """A gather of rows that follow each other is a slice."""

    name: ClassVar[str] = "gather-to-slice"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.GatherOp):
            index = op.index.defining_op
            if not isinstance(index, builtin.ConstantOp) or index.value.value.ndim != 1 or not index.value.value.size:
                continue
            rows = index.value.value.tolist()
            if rows[-1] - rows[0] == len(rows) - 1 and min(rows) >= 0:
                with Builder.before(op):
                    window = pd.slice(op.x, axes=(op.axis,), starts=(rows[0],), ends=(rows[-1] + 1,))
                op.replace_with(window)
                self.count("slices")


@AREA.mutant(
    citation="pytorch/pytorch#180771: [inductor] wrong gradients for `torch.slice_scatter` (positions not overwritten)",
    mistake="compares places of which one counts from the end",
    witness=lambda: case(
        lambda x, v: pd.slice(
            pd.set_value(x, v, axes=(0,), starts=(0,), ends=(2,)), axes=(0,), starts=(-3,), ends=(-1,)
        ),
        x=count(4), v=count(2, start=50),
    ),
    control=lambda: case(
        lambda x, v: pd.slice(pd.set_value(x, v, axes=(0,), starts=(0,), ends=(2,)), axes=(0,), starts=(2,), ends=(4,)),
        x=count(4), v=count(2, start=50),
    ),
)  # fmt: skip
def slice_beside_set_value(program: Program) -> None:
    """A slice of what a set_value has not touched is one of x."""
    for op in operations(program, pd.SliceOp):
        written = op.input.defining_op
        if not isinstance(written, pd.SetValueOp) or op.axes != written.axes or len(op.axes) != 1:
            continue
        if op.ends[0] <= written.starts[0] or written.ends[0] <= op.starts[0]:
            op.set_operand(0, written.x)


@AREA.mutant(
    citation="pytorch/pytorch#198102: [functionalization] mutation through a gapped unfold view zeroes other elements",
    mistake="compares ranges without asking whether they are along the same axes",
    witness=lambda: case(
        lambda x, v, w: pd.set_value(
            pd.set_value(x, v, axes=(0,), starts=(0,), ends=(1,)), w, axes=(1,), starts=(0,), ends=(1,)
        ),
        x=count(2, 2), v=count(1, 2, start=20), w=count(2, 1, start=30),
    ),
    control=lambda: case(
        lambda x, v, w: pd.set_value(
            pd.set_value(x, v, axes=(0,), starts=(0,), ends=(1,)), w, axes=(0,), starts=(0,), ends=(2,)
        ),
        x=count(2, 2), v=count(1, 2, start=20), w=count(2, 2, start=30),
    ),
)  # fmt: skip
@attrs.frozen
class DropOverwrittenValues(Pass):
    """Drops a set_value whose window lies in that of the one after it."""

    name: ClassVar[str] = "drop-overwritten-values"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.SetValueOp):
            inner = op.x.defining_op
            if not isinstance(inner, pd.SetValueOp) or len(inner.axes) != len(op.axes):
                continue
            if min(*inner.starts, *op.starts, *inner.ends, *op.ends) < 0:
                continue
            windows = zip(inner.starts, inner.ends, op.starts, op.ends, strict=True)
            if all(start >= s and end <= e for start, end, s, e in windows):
                op.set_operand(0, inner.x)
                self.count("dropped")


@AREA.mutant(
    citation="pytorch/pytorch#100107: Add pattern to merge consecutive splits (sections of different sizes)",
    mistake="takes the pieces before the one that is sliced to be as long as this one",
    witness=lambda: case(
        lambda x: pd.slice(pd.split(x, sections=(1, 3), axis=0).outs[1], axes=(0,), starts=(0,), ends=(1,)), x=count(4)
    ),
    control=lambda: case(
        lambda x: pd.slice(pd.split(x, sections=(2, 2), axis=0).outs[1], axes=(0,), starts=(0,), ends=(1,)), x=count(4)
    ),
)
def slice_of_split(program: Program) -> None:
    for op in operations(program, pd.SliceOp):
        cut = op.input.defining_op
        if not isinstance(cut, pd.SplitOp) or op.axes != (cut.axis,) or -1 in cut.sections or op.starts[0] < 0:
            continue
        piece = ranked(op.input).shape[cut.axis]
        offset, end = op.input.index * piece, min(op.ends[0], piece)
        if end < 0:
            continue
        replace_if_same(
            op,
            lambda op=op, cut=cut, offset=offset, end=end: pd.slice(
                cut.x,
                axes=op.axes,
                starts=(offset + op.starts[0],),
                ends=(offset + end,),
                decrease_axis=op.decrease_axis,
            ),
        )


@pattern(pd.SoftmaxOp)
def softmax_before_reshape(op: pd.SoftmaxOp, rewriter: Rewriter) -> bool:
    """Moves a softmax over a reshape that keeps the last axis"""
    inner = op.x.defining_op
    if not isinstance(inner, pd.ReshapeOp):
        return False
    before, after = ranked(inner.x), ranked(op.x)
    if not before.rank or not after.rank or before.shape[-1] != after.shape[-1] or op.axis >= before.rank:
        return False
    if op.axis not in (-1, after.rank - 1):
        return False
    early = rewriter.insert(pd.softmax(inner.x, axis=op.axis))
    rewriter.replace(op, rewriter.insert(pd.reshape(early, shape=inner.shape)))
    return True


AREA.rules(
    "softmax-before-reshape",
    softmax_before_reshape,
    citation="microsoft/onnxruntime-genai#2081: review: reads the axis attribute but doesn't use it",
    mistake="an axis that is counted from the front names another one before the reshape",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x: pd.softmax(pd.reshape(x, shape=(4, 2)), axis=1), x=np.sin(count(2, 2, 2)).astype(np.float32)
    ),
    control=lambda: case(
        lambda x: pd.softmax(pd.reshape(x, shape=(4, 2)), axis=-1), x=np.sin(count(2, 2, 2)).astype(np.float32)
    ),
)


@pattern(pd.SliceOp)
def slice_of_padded(op: pd.SliceOp, rewriter: Rewriter) -> bool:
    """What is cut out of a frame is the picture, when it begins where the frame ends"""
    inner = op.input.defining_op
    if not isinstance(inner, pd.PadOp) or inner.x.type is not op.out.type or op.decrease_axis or min(op.axes) < 0:
        return False
    framed = [axis for axis, pads in enumerate(inner.frame) if any(pads)]
    if sorted(op.axes) != framed or any(
        inner.paddings[axis] != start for axis, start in zip(op.axes, op.starts, strict=True)
    ):
        return False
    rewriter.replace(op, inner.x)
    return True


AREA.rules(
    "slice-of-padded",
    slice_of_padded,
    citation="llvm/llvm-project#98356: [mlir][tosa] Fix for incorrect cannonicalization of tosa.pad",
    mistake="entry i of the paddings is taken for axis i; there are two for each axis",
    witness=lambda: case(
        lambda x: pd.slice(pd.pad(x, paddings=(0, 0, 1, 1)), axes=(1,), starts=(0,), ends=(2,)), x=count(2, 2)
    ),
    control=lambda: case(
        lambda x: pd.slice(pd.pad(x, paddings=(1, 1, 0, 0)), axes=(0,), starts=(1,), ends=(3,)), x=count(2, 2)
    ),
)
