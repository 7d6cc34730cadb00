"""Writes docs/reference/axes.md, the table of what every backend op declares of its axes, from the declarations.

`python docs/axes.py` writes it; tests/test_axes_reference.py says whether it is current.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tx8ir.backend.axes import Axes, declaration_of
from tx8ir.core import Block, Operation, Value, VTensorType, f32, i32
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import ReduceFunction

PAGE = Path(__file__).parent / "reference" / "axes.md"
NONE = tx8be.NoneOp().y


def _tensors(*shapes: tuple[int, ...]) -> tuple[Value, ...]:
    return Block([VTensorType(shape, f32) for shape in shapes]).args


def examples() -> Iterator[Operation]:
    """Every op that declares axes, some in several forms."""
    (x,) = _tensors((6, 4))
    (row,) = _tensors((4,))
    yield from (op(x, row) if op is tx8be.AddOp else op(x, x) for op in tx8be.BINARY)
    yield from (op(x) for op in tx8be.UNARY)
    yield tx8be.Select(x, x, NONE, b_scalar=0.0)
    yield tx8be.Cast(x, y=x.type)
    yield from (op(x) for op in (tx8be.InputOp, tx8be.LoadVarOp, tx8be.StoreVarOp))
    yield tx8be.ChannelNorm(x, direction=True)
    yield tx8be.Constant(parameter="w", y=x.type)
    yield tx8be.LoadConst(parameter="w", id=0, y=x.type)
    lhs, rhs = _tensors((2, 6, 4), (4, 8))
    yield tx8be.Gemm(lhs, rhs, NONE, NONE)
    feature, weight, depthwise, pointwise, bias = _tensors((1, 9, 9, 4), (3, 3, 8, 4), (3, 3, 4, 1), (1, 1, 8, 4), (8,))
    yield tx8be.Conv(feature, weight, bias, NONE, strides=(2, 1), pads=(1, 1, 1, 1), dilations=(1, 2))
    yield tx8be.Conv(feature, depthwise, NONE, NONE, groups=4)
    yield tx8be.Conv(feature, pointwise, NONE, NONE)
    yield tx8be.Pool(feature, function=ReduceFunction.AVG, kernel=(2, 2), strides=(2, 2))
    yield tx8be.Pool(feature, function=ReduceFunction.MAX, kernel=(9, 9))
    yield tx8be.Reduce(feature, function=ReduceFunction.SUM, axes=(1, 2))
    yield tx8be.Reduce(x, function=ReduceFunction.MIN, axes=(1,))
    yield tx8be.Softmax(x)
    yield tx8be.LayerNorm(x, row, row)
    yield tx8be.Transpose(x, perm=(1, 0))
    yield tx8be.Reshape(x, y=VTensorType((3, 8), f32))
    yield tx8be.Reshape(x, y=VTensorType((8, 3), f32))
    yield tx8be.Slice(x, starts=(2, 0), ends=(5, 4))
    yield tx8be.Concatenate(_tensors((6, 4), (2, 4), (3, 4)), axis=0)
    yield tx8be.Broadcast(row, y=VTensorType((6, 4), f32))
    (table,), (indices,) = _tensors((9, 4)), Block([VTensorType((6,), i32)]).args
    yield tx8be.Gather(table, indices)


def page() -> str:
    """The page. Raises `LookupError` when an op that declares axes has no example."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    seen: set[type[Operation]] = set()
    for op in examples():
        seen.add(type(op))
        declaration = declaration_of(op)
        notes = [f"{a.name} {a.kind.value}" for a in declaration.axes if a.kind.value != "parallel"]
        notes += [f"{a.name} cut at {', '.join(map(str, a.boundaries))}" for a in declaration.axes if a.boundaries]
        state = "" if declaration.combination is None else declaration.combination.name
        names = rows.setdefault((str(declaration), "; ".join(notes), state), [])
        names.append("*every unary op*" if isinstance(op, tx8be.UnaryOp) else f"`{op.name.removeprefix('tx8be.')}`")
    missing = {op for op in tx8be.DIALECT.ops.values() if Axes in op.info.interfaces} - seen
    if missing:
        raise LookupError(f"no example of {', '.join(sorted(op.name for op in missing))}")
    lines = [
        "# Axes of the backend's ops\n",
        "Written by `python docs/axes.py` from the declarations; [axes](../explanation/axes.md) explains them. Shapes",
        "are examples; a number is a dimension that no axis goes through, `-` an absent operand.\n",
        "| ops | maps | axes that are not parallel | state |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {', '.join(dict.fromkeys(names))} | `{maps}` | {notes} | {state} |"
        for (maps, notes, state), names in rows.items()
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
