"""How operations are written that are not operators of the same name with the same attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from tx8ir.core import RankedTensor, VTensorType, f32, i32, i64
from tx8ir.dialects import builtin, pd

from .errors import PaddleExportError

if TYPE_CHECKING:
    from .writing import ProgramWriter

WRITERS: Final[dict[str, Callable[[ProgramWriter, Any], Sequence[int]]]] = {}
"""By the name of the operation."""


def _writer(*op_classes: Any) -> Callable[[Callable[..., Sequence[int]]], Callable[..., Sequence[int]]]:
    def register(function: Callable[..., Sequence[int]]) -> Callable[..., Sequence[int]]:
        WRITERS.update((op_class.name, function) for op_class in op_classes)
        return function

    return register


def _types(op: Any) -> list[RankedTensor]:
    return [result.type for result in op.results]


@_writer(builtin.ToTensorOp, builtin.ToVTensorOp)
def _copy(writer: ProgramWriter, op: Any) -> Sequence[int]:
    """What is written in place is a copy, and what is read of it before it is written again another."""
    return writer.emit("pd_op.assign", [writer.number(op.operands[0])], _types(op))


@_writer(builtin.ConstantOp)
def _constant(writer: ProgramWriter, op: builtin.ConstantOp) -> Sequence[int]:
    type_, array = op.value.type, op.value.value
    if type_.element is i64 and type_.rank == 1:
        return [writer.ints(array.tolist())]
    return [writer.parameter(f"constant_{len(writer.parameters)}", VTensorType(type_.shape, type_.element), array)]


@_writer(pd.FullOp)
def _full(writer: ProgramWriter, op: pd.FullOp) -> Sequence[int]:
    attributes = [("shape", "shape", op.shape), ("value", "f64", op.value), ("dtype", "type", op.dtype),
                  ("place", "place", None)]  # fmt: skip
    return writer.emit("pd_op.full", [], _types(op), attributes)


@_writer(pd.ScaleOp, pd.DIALECT.ops["pd.scale_"])
def _scale(writer: ProgramWriter, op: Any) -> Sequence[int]:
    attributes = [("bias", "f32", op.bias), ("bias_after_scale", "flag", op.bias_after_scale)]
    operands = [writer.number(op.x), writer.scalar(op.scale, f32)]
    return writer.emit(op.name.replace("pd.", "pd_op."), operands, _types(op), attributes)


@_writer(pd.ReshapeOp, pd.ExpandOp)
def _shaped(writer: ProgramWriter, op: Any) -> Sequence[int]:
    return writer.emit(writer.name_of(op), [writer.number(op.x), writer.ints(op.shape)], _types(op))


@_writer(pd.WhereOp)
def _where(writer: ProgramWriter, op: pd.WhereOp) -> Sequence[int]:
    """Paddle's does not broadcast."""
    result: Any = op.out.type
    operands: list[int] = []
    for value in (op.condition, op.x, op.y):
        type_: Any = value.type
        number = writer.number(value)
        if type_.shape != result.shape:
            wide = VTensorType(result.shape, type_.element)
            (number,) = writer.emit("pd_op.expand", [number, writer.ints(result.shape)], [wide])
        operands.append(number)
    return writer.emit("pd_op.where", operands, _types(op))


@_writer(pd.SumOp)
def _sum(writer: ProgramWriter, op: pd.SumOp) -> Sequence[int]:
    attributes = [("dtype", "type", op.dtype), ("keepdim", "flag", op.keepdim)]
    return writer.emit("pd_op.sum", [writer.number(op.x), writer.ints(op.axis)], _types(op), attributes)


@_writer(pd.ArgmaxOp, pd.ArgminOp)
def _place(writer: ProgramWriter, op: Any) -> Sequence[int]:
    attributes = [("keepdims", "flag", op.keepdims), ("flatten", "flag", False), ("dtype", "type", op.dtype)]
    operands = [writer.number(op.x), writer.scalar(op.axis, i64)]
    return writer.emit(op.name.replace("pd.", "pd_op."), operands, _types(op), attributes)


@_writer(pd.CumsumOp)
def _cumsum(writer: ProgramWriter, op: pd.CumsumOp) -> Sequence[int]:
    attributes = [("flatten", "flag", False), ("exclusive", "flag", op.exclusive), ("reverse", "flag", op.reverse)]
    return writer.emit("pd_op.cumsum", [writer.number(op.x), writer.scalar(op.axis, i32)], _types(op), attributes)


@_writer(pd.GatherOp)
def _gather(writer: ProgramWriter, op: pd.GatherOp) -> Sequence[int]:
    operands = [writer.number(op.x), writer.number(op.index), writer.scalar(op.axis, i32)]
    return writer.emit("pd_op.gather", operands, _types(op))


@_writer(pd.SliceOp)
def _slice(writer: ProgramWriter, op: pd.SliceOp) -> Sequence[int]:
    attributes = [("axes", "i64s", op.axes), ("infer_flags", "i64s", (1,) * len(op.axes)),
                  ("decrease_axis", "i64s", op.decrease_axis)]  # fmt: skip
    operands = [writer.number(op.input), writer.ints(op.starts), writer.ints(op.ends)]
    return writer.emit("pd_op.slice", operands, _types(op), attributes)


@_writer(pd.SplitOp)
def _split(writer: ProgramWriter, op: pd.SplitOp) -> Sequence[int]:
    types = _types(op)
    operands = [writer.number(op.x), writer.ints(op.sections), writer.scalar(op.axis, i32)]
    (parts,) = writer.emit("pd_op.split", operands, [types])
    return writer.emit("builtin.split", [parts], types)


@_writer(pd.PadOp)
def _pad(writer: ProgramWriter, op: pd.PadOp) -> Sequence[int]:
    operands = [writer.number(op.x), writer.scalar(op.pad_value, f32)]
    return writer.emit("pd_op.pad", operands, _types(op), [("paddings", "i32s", op.paddings)])


@_writer(pd.RoundOp)
def _round(writer: ProgramWriter, op: pd.RoundOp) -> Sequence[int]:
    return writer.emit("pd_op.round", [writer.number(op.x)], _types(op), [("decimals", "i32", 0)])


@_writer(pd.ScatterOp)
def _scatter(writer: ProgramWriter, op: pd.ScatterOp) -> Sequence[int]:
    if op.reduce != "assign":
        raise PaddleExportError(f"pd.scatter combines rows by {op.reduce!r}; Paddle's replaces them", [op.name])
    operands = [writer.number(op.x), writer.number(op.index), writer.number(op.updates)]
    return writer.emit("pd_op.scatter", operands, _types(op), [("overwrite", "flag", True)])


@_writer(pd.SetValueOp, pd.DIALECT.ops["pd.set_value_"])
def _set_value(writer: ProgramWriter, op: Any) -> Sequence[int]:
    attributes = [("axes", "i64s", op.axes), ("decrease_axes", "i64s", op.decrease_axis), ("none_axes", "i64s", ())]
    ranges = [writer.ints(places) for places in (op.starts, op.ends, (1,) * len(op.axes))]
    name = "pd_op.set_value_with_tensor" + ("_" if op.name.endswith("_") else "")
    return writer.emit(name, [writer.number(op.x), writer.number(op.value), *ranges], _types(op), attributes)


@_writer(builtin.SetParameterOp)
def _set_parameter(writer: ProgramWriter, op: builtin.SetParameterOp) -> Sequence[int]:
    return writer.emit(
        "builtin.set_parameter", [writer.number(op.value)], [], [("parameter_name", "word", op.parameter)]
    )


@_writer(pd.BatchNormOp)
def _batch_norm(writer: ProgramWriter, op: pd.BatchNormOp) -> Sequence[int]:
    attributes = [
        ("is_test", "flag", True), ("momentum", "f32", op.momentum), ("epsilon", "f32", op.epsilon),
        ("data_format", "word", op.data_format), ("use_global_stats", "flag", True),
        ("trainable_statistics", "flag", False),
    ]  # fmt: skip
    operands = [0 if v is None else writer.number(v) for v in (op.x, op.mean, op.variance, op.scale, op.bias)]
    channel: Any = op.mean.type
    types = [*_types(op), channel, channel, channel, channel, VTensorType((-1,), channel.element)]
    return writer.emit("pd_op.batch_norm_", operands, types, attributes)[:1]


@_writer(pd.LayerNormOp)
def _layer_norm(writer: ProgramWriter, op: pd.LayerNormOp) -> Sequence[int]:
    attributes = [("epsilon", "f32", op.epsilon), ("begin_norm_axis", "i32", op.begin_norm_axis)]
    operands = [0 if v is None else writer.number(v) for v in (op.x, op.scale, op.bias)]
    x: Any = op.x.type
    rows = VTensorType(x.shape[: op.begin_norm_axis], f32)
    return writer.emit("pd_op.layer_norm", operands, [*_types(op), rows, rows], attributes)[:1]


@_writer(pd.Pool2dOp)
def _pool2d(writer: ProgramWriter, op: pd.Pool2dOp) -> Sequence[int]:
    attributes = [
        ("strides", "i32s", op.strides), ("paddings", "i32s", op.paddings), ("ceil_mode", "flag", op.ceil_mode),
        ("exclusive", "flag", op.exclusive), ("data_format", "word", op.data_format),
        ("pooling_type", "word", op.pooling_type), ("global_pooling", "flag", op.global_pooling),
        ("adaptive", "flag", op.adaptive), ("padding_algorithm", "word", op.padding_algorithm),
    ]  # fmt: skip
    return writer.emit("pd_op.pool2d", [writer.number(op.x), writer.ints(op.kernel_size)], _types(op), attributes)
