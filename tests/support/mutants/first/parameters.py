"""Mutants of variables: reads that are merged or folded, stores that are dropped, weights that others share."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from support.mutants.mutant import Area
from support.mutants.programs import bools, case, f32, operations, parameter, ranked
from tx8ir.core import Builder, DenseAttr, Program, TensorType, Variable
from tx8ir.dialects import builtin, pd, scf
from tx8ir.passes import NumericGuarantee, Pass

AREA = Area("parameters", round=1)
A = f32(1, 2)
ZEROS = np.zeros(2, np.float32)


def store(value: Any, name: str) -> Any:
    """A `builtin.set_parameter`."""
    return builtin.set_parameter(value, parameter=name)


@AREA.mutant(
    citation="pytorch/pytorch#68202: [ONNX] De-duplicate initializers (only in eval mode, by storage)",
    mistake="variables with equal contents are one from then on, also when a program writes one of them",
    witness=lambda: case(
        lambda x: [store(x, "a"), pd.add(x, parameter("b", A))][1:],
        weights={"a": A, "b": A.copy()}, mutable=["a"], x=f32(5, 6),
    ),
    control=lambda: case(
        lambda x: pd.add(pd.add(x, parameter("a", A)), parameter("b", A)),
        weights={"a": A, "b": A.copy()}, x=f32(5, 6),
    ),
)  # fmt: skip
def share_equal_weights(program: Program) -> None:
    first: dict[Any, str] = {}
    for name, variable in program.weights.items():
        first.setdefault((variable.type, variable.numpy().tobytes()), name)
    for op in operations(program, builtin.GetParameterOp):
        if op.parameter not in program.weights:
            continue
        variable = program.weights[op.parameter]
        name = first[variable.type, variable.numpy().tobytes()]
        if name != op.parameter and not isinstance(op.out.type, TensorType):
            op.set_attribute("name", name)


@AREA.mutant(
    citation="onnx/ir-py#406: DuplicateInitializersPass (inverse of the pass that compares contents)",
    mistake="-0 and +0 compare equal",
    special_value=True,
    witness=lambda: case(
        lambda x: pd.divide(pd.divide(x, parameter("a", A)), parameter("b", A)),
        weights={"a": f32(0, 1), "b": f32(-0.0, 1)}, x=f32(5, 6),
    ),
    control=lambda: case(
        lambda x: pd.divide(pd.divide(x, parameter("a", A)), parameter("b", A)),
        weights={"a": f32(2, 1), "b": f32(2, 1)}, x=f32(5, 6),
    ),
)  # fmt: skip
@attrs.frozen
class DeduplicateWeights(Pass):
    """Reads one of several immutable variables with equal numbers."""

    name: ClassVar[str] = "deduplicate-weights"

    def run(self, program: Program) -> None:
        mutable = program.mutable_parameters()
        kept = [name for name in program.weights if name not in mutable]
        for op in operations(program, builtin.GetParameterOp):
            if op.parameter in mutable or op.parameter not in program.weights:
                continue
            mine = program.weights[op.parameter]
            for name in kept[: kept.index(op.parameter)]:
                other = program.weights[name]
                if other.type is mine.type and np.array_equal(other.numpy(), mine.numpy()):
                    op.set_attribute("name", name)
                    self.count("reads")
                    break


@AREA.mutant(
    citation="pytorch/pytorch#123909: fix constant folding with buffer mutation",
    mistake="asks the read whether it may be written through, not whether another operation writes the variable",
    witness=lambda: case(
        lambda x: [store(x, "a"), pd.add(x, parameter("a", A))][1:], weights={"a": A}, mutable=["a"], x=f32(5, 6)
    ),
    control=lambda: case(lambda x: pd.add(x, parameter("a", A)), weights={"a": A}, x=f32(5, 6)),
)
def freeze_weights(program: Program) -> None:
    """Reads of variables become constants."""
    for op in operations(program, builtin.GetParameterOp):
        if not isinstance(op.out.type, TensorType) and op.parameter in program.weights:
            with Builder.before(op):
                frozen = builtin.ConstantOp(value=DenseAttr(program.weights[op.parameter].numpy()), out=op.out.type)
            op.replace_with(frozen)


@AREA.mutant(
    citation="pytorch/pytorch#185077: Avoid folding mutated buffer storages (uniform-value constant folding)",
    mistake="a read of all of a function is one, although a store comes between; stores in branches are not looked for",
    witness=lambda: case(
        lambda c, x: [
            a := parameter("a", A), scf.IfOp.build(c, lambda: [store(x, "a")][1:]), pd.add(a, parameter("a", A))
        ][2:],
        weights={"a": A}, mutable=["a"], c=bools(1), x=f32(5, 6),
    ),
    control=lambda: case(
        lambda x: pd.add(pd.add(x, parameter("a", A)), parameter("a", A)), weights={"a": A}, x=f32(5, 6)
    ),
)  # fmt: skip
@attrs.frozen
class MergeParameterReads(Pass):
    """Reads a variable once, up to the next store of it."""

    name: ClassVar[str] = "merge-parameter-reads"

    def run(self, program: Program) -> None:
        known: dict[str, Any] = {}
        for op in list(program.main.body.block):
            if isinstance(op, builtin.SetParameterOp):
                known.pop(op.parameter, None)
            elif op.name in ("func.call", "builtin.set_combine_parameter"):
                known.clear()
            elif isinstance(op, builtin.GetParameterOp):
                if isinstance(op.out.type, TensorType):
                    return
                earlier = known.setdefault(op.parameter, op)
                if earlier is not op:
                    op.replace_with(earlier)
                    self.count("reads")


@AREA.mutant(
    citation="pytorch/pytorch#156239: Fix constant folding pass for mutable buffer",
    mistake="a read between two stores is not seen inside a branch",
    witness=lambda: case(
        lambda c, x: [
            store(x, "a"),
            r := scf.IfOp.build(c, lambda: [parameter("a", A)], lambda: [x]).results[0],
            store(pd.relu(x), "a"),
            r,
        ][3:],
        weights={"a": A}, mutable=["a"], c=bools(1), x=f32(5, -6),
    ),
    control=lambda: case(
        lambda x: [store(x, "a"), store(pd.relu(x), "a"), x][2:], weights={"a": A}, mutable=["a"], x=f32(5, -6)
    ),
)  # fmt: skip
def drop_overwritten_stores(program: Program) -> None:
    pending: dict[str, Any] = {}
    for op in list(program.main.body.block):
        if isinstance(op, builtin.SetParameterOp):
            earlier = pending.get(op.parameter)
            if earlier is not None:
                earlier.erase()
            pending[op.parameter] = op
        elif isinstance(op, builtin.GetParameterOp):
            pending.pop(op.parameter, None)
        elif op.name in ("func.call", "builtin.get_combine_parameter"):
            pending.clear()


@AREA.mutant(
    citation="pytorch/pytorch#114980: FF inductor failure (which inputs are mutated, and when they are written back)",
    mistake="storing what was read does something when another store came in between",
    witness=lambda: case(
        lambda x: [old := parameter("a", A), store(x, "a"), store(old, "a"), x][3:],
        weights={"a": A},
        mutable=["a"],
        x=f32(5, 6),
    ),
    control=lambda: case(
        lambda x: [old := parameter("a", A), store(old, "a"), x][2:], weights={"a": A}, mutable=["a"], x=f32(5, 6)
    ),
)
@attrs.frozen
class DropStoresOfSelf(Pass):
    """Storing a variable's own value changes nothing."""

    name: ClassVar[str] = "drop-stores-of-self"

    def run(self, program: Program) -> None:
        for op in operations(program, builtin.SetParameterOp):
            made = op.value.defining_op
            if isinstance(made, builtin.GetParameterOp) and made.parameter == op.parameter:
                op.erase()
                self.count("stores")


@AREA.mutant(
    citation="onnx/tensorflow-onnx#934: fix transpose optimizer for slice op (value changed that others consume, too)",
    mistake="scales the variable itself, which others read, too",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x: [pd.scale(pd.multiply(x, parameter("w", A)), scale=4.0), pd.add(x, parameter("w", A))],
        weights={"w": A},
        x=f32(5, 6),
    ),
    control=lambda: case(
        lambda x: pd.scale(pd.multiply(x, parameter("w", A)), scale=4.0), weights={"w": A}, x=f32(5, 6)
    ),
)
def scale_into_weights(program: Program) -> None:
    """(x * w) * s -> x * w', with w' in the store."""
    kept = set(program.weights) - program.mutable_parameters()
    for op in operations(program, pd.ScaleOp):
        product = op.x.defining_op
        read = product.y.defining_op if isinstance(product, pd.MultiplyOp) else None
        if not isinstance(read, builtin.GetParameterOp) or op.bias != 0.0 or read.parameter not in kept:
            continue
        if read.out.has_one_use and product.out.has_one_use and ranked(read.out).element.is_float:
            old = program.weights[read.parameter]
            data = old.numpy()
            program.weights[read.parameter] = Variable(old.type, data * data.dtype.type(op.scale))
            op.replace_with(product)


@AREA.mutant(
    citation="llvm/llvm-project#58046: [InstSimplify] FP-related miscompile (sign of zero of a constant operand)",
    mistake="a variable of zeros is taken as the unit of addition whatever sign they have",
    special_value=True,
    witness=lambda: case(lambda x: pd.add(x, parameter("z", ZEROS)), weights={"z": ZEROS}, x=f32(1, -0.0)),
    control=lambda: case(lambda x: pd.add(x, parameter("z", ZEROS)), weights={"z": ZEROS}, x=f32(1, 2)),
)
@attrs.frozen
class DropZeroWeights(Pass):
    """Drops the addition of a bias that is 0."""

    name: ClassVar[str] = "drop-zero-weights"

    def run(self, program: Program) -> None:
        mutable = program.mutable_parameters()
        for op in operations(program, pd.AddOp):
            read = op.y.defining_op
            if not isinstance(read, builtin.GetParameterOp) or op.x.type is not op.out.type:
                continue
            if read.parameter in mutable or read.parameter not in program.weights:
                continue
            if not program.weights[read.parameter].numpy().any():
                op.replace_with(op.x)
                self.count("dropped")
