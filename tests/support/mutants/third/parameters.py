"""Variables that are one number, that nothing reads, that are changed in place or made of others."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from support.mutants.first.parameters import store
from support.mutants.mutant import Area, Case
from support.mutants.programs import bools, case, constant, count, f32, ints, on_values, operations, parameter, ranked
from tx8ir.core import Builder, Program, TensorType, Value
from tx8ir.dialects import builtin, pd, scf
from tx8ir.dialects.pd.inplace import InplaceOp
from tx8ir.passes import Pass

AREA = Area("parameters", round=3)
A = f32(1, 2)


def reading(*numbers: float) -> Case:
    """Divides by a variable."""
    return case(lambda x: pd.divide(x, parameter("w", A)), weights={"w": f32(*numbers)}, x=f32(1, 2))


@AREA.mutant(
    citation="tenstorrent/tt-mlir#7385: Implement constant folding for ttir.neg (and zeros where all are zero)",
    mistake="zeros of both signs are not one number",
    special_value=True,
    witness=lambda: reading(0.0, -0.0),
    control=lambda: reading(4.0, 4.0),
)
def fill_instead_of_reading(program: Program) -> None:
    """A variable of which all elements are one number is that number."""
    mutable = program.mutable_parameters()
    for op in operations(program, builtin.GetParameterOp):
        if op.parameter in mutable or op.parameter not in program.weights or isinstance(op.out.type, TensorType):
            continue
        data, kind = program.weights[op.parameter].numpy(), ranked(op.out)
        if data.size and kind.element.is_float and data.min() == data.max():
            with Builder.before(op):
                number = pd.full(shape=kind.shape, value=float(data.flat[0]), dtype=kind.element)
            op.replace_with(number)


@AREA.mutant(
    citation="pytorch/pytorch#120424: torch._export.aot_compile doesnt preserve buffer mutations",
    mistake="a variable that this program does not read is still there after it",
    witness=lambda: case(lambda x: [store(x, "a"), pd.relu(x)][1:], weights={"a": A}, mutable=["a"], x=f32(5, 6)),
    control=lambda: case(
        lambda x: [store(constant(A), "a"), pd.relu(x)][1:], weights={"a": A}, mutable=["a"], x=f32(5, 6)
    ),
)
@attrs.frozen
class DropUnreadStores(Pass):
    """Drops stores of variables that nothing reads."""

    name: ClassVar[str] = "drop-unread-stores"

    def run(self, program: Program) -> None:
        if any(operations(program, builtin.GetCombineParameterOp)):
            return
        reads = {op.parameter for op in operations(program, builtin.GetParameterOp)}
        for op in operations(program, builtin.SetParameterOp):
            if op.parameter not in reads:
                op.erase()
                self.count("stores")


def increasing(stores: bool) -> Case:
    """Reads a, perhaps stores x there, and stores the sum of what was read and y."""

    def body(x: Value, y: Value) -> Any:
        old = parameter("a", A)
        if stores:
            store(x, "a")
        store(pd.add(old, y), "a")
        return x

    return case(body, weights={"a": A}, mutable=["a"], x=f32(5, 6), y=f32(10, 20))


@AREA.mutant(
    citation="tensorflow/tensorflow#4663: Control dependency on identity containing assign not working",
    mistake="the variable may hold something else than when it was read",
    witness=lambda: increasing(stores=True),
    control=lambda: increasing(stores=False),
)
@attrs.frozen
class IncreaseInPlace(Pass):
    """Adds to the storage of a variable instead of storing a sum."""

    name: ClassVar[str] = "increase-in-place"

    def run(self, program: Program) -> None:
        for op in operations(program, builtin.SetParameterOp):
            total = op.value.defining_op
            old = total.x.defining_op if isinstance(total, pd.AddOp) else None
            if not isinstance(old, builtin.GetParameterOp) or old.parameter != op.parameter:
                continue
            if isinstance(old.out.type, TensorType) or total.out.type is not old.out.type:
                continue
            with Builder.before(op):
                storage = builtin.GetParameterOp(parameter=op.parameter, out=ranked(old.out).to_tensor())
                pd.add_(storage.out, total.y)
            op.erase()
            self.count("sums")


def storing(in_branch: bool) -> Case:
    """Reads a, then stores x there in a branch, and adds what was read."""

    def body(c: Value, x: Value) -> Any:
        old = parameter("a", A)
        scf.IfOp.build(c, lambda: [store(x, "a") if in_branch else pd.relu(x)][1:])
        return pd.add(x, old)

    return case(body, weights={"a": A}, mutable=["a"], c=bools(1), x=f32(5, 6))


@AREA.mutant(
    citation="tensorflow/haskell#92: TF.assign surprising behaviour",
    mistake="looks for stores in between, and not inside the branches there",
    witness=lambda: storing(in_branch=True),
    control=lambda: storing(in_branch=False),
)
def read_where_used(program: Program) -> None:
    """Reads a variable just before it is used for the first time."""
    for op in operations(program, builtin.GetParameterOp):
        if isinstance(op.out.type, TensorType) or any(user.parent is not op.parent for user in op.out.users):
            continue
        following = op.next_op
        while following is not None and op.out not in following.operands:
            if following.name in ("func.call", "builtin.set_parameter", "builtin.set_combine_parameter"):
                break
            if isinstance(following, InplaceOp):
                break
            following = following.next_op
        if following is not None and op.out in following.operands and following is not op.next_op:
            op.move_before(following)


def embedding(padding: int) -> Case:
    """Rows of a table, and a bias."""
    table, bias = count(3, 2), f32(10, 20)
    return case(
        lambda i: pd.add(pd.embedding(i, parameter("w", table), padding_idx=padding), parameter("b", bias)),
        weights={"w": table, "b": bias}, i=ints("int64", 0, 2),
    )  # fmt: skip


@AREA.mutant(
    citation="S-Lab-System-Group/Hydro#1: An intialization promblem of fnn.embeddings with padding_idx",
    mistake="rows of padding_idx are zeros whatever the table has, and so lose the bias",
    witness=lambda: embedding(2),
    control=lambda: embedding(-1),
)
@attrs.frozen
class BiasIntoTable(Pass):
    """Adds a bias to the rows of a table instead of to those that are looked up."""

    name: ClassVar[str] = "bias-into-table"

    def run(self, program: Program) -> None:
        kept = set(program.weights) - program.mutable_parameters()
        for op in operations(program, pd.AddOp):
            rows = op.x.defining_op
            if not isinstance(rows, pd.EmbeddingOp) or not on_values(op) or rows.out.type is not op.out.type:
                continue
            reads: list[Any] = [rows.weight.defining_op, op.y.defining_op]
            if not all(isinstance(r, builtin.GetParameterOp) and r.parameter in kept for r in reads):
                continue
            table, bias = (program.weights[r.parameter].numpy() for r in reads)
            if bias.shape != table.shape[1:] or table.dtype != np.float32:
                continue
            name = "+".join(r.parameter for r in reads)
            if name not in program.weights:
                program.weights.add(name, table + bias)
            with Builder.before(op):
                shifted = builtin.GetParameterOp(parameter=name, out=rows.weight.type)
                looked_up = pd.embedding(rows.x, shifted, padding_idx=rows.padding_idx)
            op.replace_with(looked_up)
            self.count("biases")
