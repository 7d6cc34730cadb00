"""Reads of variables that are moved or forwarded, and weights that are stored in another way."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from support.mutants.first.loops import count_to
from support.mutants.first.parameters import store
from support.mutants.mutant import Area, Case
from support.mutants.programs import (
    Array,
    call,
    case,
    constant,
    count,
    define,
    f32,
    ints,
    operations,
    parameter,
    ranked,
)
from tx8ir.core import Builder, ListType, Program, TensorType, VTensorType
from tx8ir.core import f32 as single
from tx8ir.dialects import builtin, func, pd, scf
from tx8ir.passes import NumericGuarantee, Pass

AREA = Area("parameters", round=2)
A = f32(1, 2)
V = VTensorType((2,), single)


def fixed_data(program: Program, value: Any) -> Array | None:
    """The data of a variable that nothing writes, if a value is one."""
    op = value.defining_op
    if not isinstance(op, builtin.GetParameterOp) or isinstance(op.out.type, TensorType):
        return None
    if op.parameter not in program.weights or op.parameter in program.mutable_parameters():
        return None
    return program.weights[op.parameter].numpy()


def stored(program: Program, stem: str, data: Array) -> Any:
    """A read, where the builder is, of a new variable."""
    name = program.weights.unique_name(stem)
    variable = program.weights.add(name, np.ascontiguousarray(data))
    return builtin.GetParameterOp(parameter=name, out=variable.type)


def looping(writes: bool) -> Case:
    """Three turns, each of which adds a variable to x, and 1 to the variable through its storage."""

    def turn(a: Any) -> Any:
        total = pd.add(a, parameter("w", A))
        if writes:
            pd.add_(parameter("w", A, TensorType), constant([1, 1]))
        return [total]

    return case(
        lambda x: count_to(constant([3]), constant([0]), x, body=turn).results[1],
        weights={"w": A.copy()}, mutable=["w"], x=f32(10, 20),
    )  # fmt: skip


@AREA.mutant(
    citation="cardillan/mindcode#282: Loop hoisting hoists incorrect variables",
    mistake="looks for stores of the variable, not for writes of the storage that it shares",
    witness=lambda: looping(writes=True),
    control=lambda: looping(writes=False),
)
@attrs.frozen
class HoistParameterReads(Pass):
    """Reads a variable before a loop that does not store it."""

    name: ClassVar[str] = "hoist-parameter-reads"

    def run(self, program: Program) -> None:
        for loop in operations(program, scf.WhileOp):
            inside = list(loop.walk())
            if any(isinstance(op, func.CallOp | builtin.SetCombineParameterOp) for op in inside):
                continue
            written = {op.parameter for op in inside if isinstance(op, builtin.SetParameterOp)}
            for op in [op for region in loop.regions for op in region.block]:
                if not isinstance(op, builtin.GetParameterOp) or isinstance(op.out.type, TensorType):
                    continue
                if op.parameter not in written:
                    op.move_before(loop)
                    self.count("reads")


def resetting() -> None:
    """A function that stores what it is given, and one that does not."""
    define("reset", lambda x: [store(x, "w")][1:], V)
    define("look", lambda x: pd.relu(x), V)


@AREA.mutant(
    citation="drmortalwombat/oscar64#368: Fixes Global Struct Snapshot Value Error (forwarded over a call that writes)",
    mistake="a function that is called in between may store another value",
    witness=lambda: case(
        lambda x, y: [store(x, "w"), call("reset", y, out=[]), parameter("w", A)][2:],
        functions=resetting, weights={"w": A}, mutable=["w"], x=f32(3, 4), y=f32(5, 6),
    ),
    control=lambda: case(
        lambda x, y: [store(x, "w"), call("look", y, out=[V]), parameter("w", A)][2:],
        functions=resetting, weights={"w": A}, mutable=["w"], x=f32(3, 4), y=f32(5, 6),
    ),
)  # fmt: skip
def forward_stored_parameters(program: Program) -> None:
    """A read of a variable gives what was stored last."""
    if any(isinstance(op.out.type, TensorType) for op in operations(program, builtin.GetParameterOp)):
        return
    known: dict[str, Any] = {}
    for op in list(program.main.body.block):
        if op.regions or isinstance(op, builtin.SetCombineParameterOp | builtin.GetCombineParameterOp):
            known.clear()
        elif isinstance(op, builtin.SetParameterOp):
            known.pop(op.parameter, None)
            if isinstance(op.value.type, VTensorType):
                known[op.parameter] = op.value
        elif isinstance(op, builtin.GetParameterOp):
            value = known.get(op.parameter)
            if value is not None and value.type is op.out.type:
                op.replace_with(value)


CUBE = count(2, 2, 2)


@AREA.mutant(
    citation="google-ai-edge/litert-torch#1061: weight constants deduplicated: 2nd op silently reuses 1st's weights",
    mistake="keeps what it has made by the name of the variable and the shape: other permutations have the same",
    witness=lambda: case(
        lambda x: pd.subtract(
            pd.add(x, pd.transpose(parameter("w", CUBE), perm=(0, 2, 1))),
            pd.transpose(parameter("w", CUBE), perm=(1, 0, 2)),
        ),
        weights={"w": CUBE}, x=count(2, 2, 2, start=30),
    ),
    control=lambda: case(
        lambda x: pd.subtract(
            pd.add(x, pd.transpose(parameter("w", CUBE), perm=(0, 2, 1))),
            pd.transpose(parameter("w", CUBE), perm=(0, 2, 1)),
        ),
        weights={"w": CUBE}, x=count(2, 2, 2, start=30),
    ),
)  # fmt: skip
@attrs.frozen
class TransposeWeights(Pass):
    """Stores weights as they are used."""

    name: ClassVar[str] = "transpose-weights"

    def run(self, program: Program) -> None:
        made: dict[Any, str] = {}
        for op in operations(program, pd.TransposeOp):
            data = fixed_data(program, op.x)
            if data is None:
                continue
            key = (op.x.defining_op.parameter, op.out.type)
            with Builder.before(op):
                if key in made:
                    turned = builtin.GetParameterOp(parameter=made[key], out=op.out.type)
                else:
                    turned = stored(program, f"{key[0]}.transposed", data.transpose(op.perm))
                    made[key] = turned.parameter
            op.replace_with(turned)
            self.count("weights")


BOTH = ListType([V, V])


@AREA.mutant(
    citation="iree-org/iree#3498: Working around lack of mlir symbol side effects for variable loads.",
    mistake="reads where the element is taken from the list, and not where the list is read",
    witness=lambda: case(
        lambda x: [
            both := builtin.GetCombineParameterOp(parameters=("a", "b"), out=BOTH), store(x, "a"),
            pd.add(x, builtin.slice_(both, index=0)),
        ][2:],
        weights={"a": A, "b": f32(7, 8)}, mutable=["a"], x=f32(3, 4),
    ),
    control=lambda: case(
        lambda x: [
            both := builtin.GetCombineParameterOp(parameters=("a", "b"), out=BOTH),
            pd.add(x, builtin.slice_(both, index=0)),
        ][1:],
        weights={"a": A, "b": f32(7, 8)}, x=f32(3, 4),
    ),
)  # fmt: skip
def read_parameters_singly(program: Program) -> None:
    """An element of a list of variables is read by itself."""
    for op in operations(program, builtin.SliceOp):
        made = op.x.defining_op
        if isinstance(made, builtin.GetCombineParameterOp) and not isinstance(op.out.type, TensorType):
            with Builder.before(op):
                single_read = builtin.GetParameterOp(parameter=made.parameters[op.index], out=op.out.type)
            op.replace_with(single_read)


@AREA.mutant(
    citation="ROCm/AMDMIGraphX#2659: `Epsilon` values can disappear with `FP16` (tolerance of find_unit_ops)",
    mistake="takes numbers that are close to 1 for 1",
    witness=lambda: case(
        lambda x: pd.multiply(x, parameter("w", A)), weights={"w": f32(1, 1.000005)}, x=f32(3, 7)
    ),
    control=lambda: case(lambda x: pd.multiply(x, parameter("w", A)), weights={"w": f32(1, 1)}, x=f32(3, 7)),
)  # fmt: skip
def drop_unit_weights(program: Program) -> None:
    """Drops the product with a variable of ones."""
    for op in operations(program, pd.MultiplyOp):
        data = fixed_data(program, op.y)
        if data is not None and data.dtype.kind == "f" and op.x.type is op.out.type and np.allclose(data, 1):
            op.replace_with(op.x)


@AREA.mutant(
    citation="eclipse-4diac/4diac-forte#1030: test for GEN_ADD's REAL left-fold overflow-to-INF behavior",
    mistake="the product of two variables may overflow where neither product of the program does",
    special_value=True,
    witness=lambda: case(
        lambda x: pd.multiply(pd.multiply(x, parameter("a", A)), parameter("b", A)),
        weights={"a": f32(1, 1e25), "b": f32(2, 1e25)}, x=f32(1, 1e-30),
    ),
    control=lambda: case(
        lambda x: pd.multiply(pd.multiply(x, parameter("a", A)), parameter("b", A)),
        weights={"a": f32(1, 3), "b": f32(2, 5)}, x=f32(1, -3),
    ),
)  # fmt: skip
@attrs.frozen
class MergeFactors(Pass):
    """X * a * b -> x * (a * b) for variables."""

    name: ClassVar[str] = "merge-factors"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.MultiplyOp):
            inner = op.x.defining_op
            if not isinstance(inner, pd.MultiplyOp) or inner.y.type is not op.y.type:
                continue
            a, b = fixed_data(program, inner.y), fixed_data(program, op.y)
            if a is None or b is None or a.dtype != np.float32 or inner.out.type is not op.out.type:
                continue
            with np.errstate(all="ignore"), Builder.before(op):
                both = stored(program, f"{op.y.defining_op.parameter}.merged", a * b)
                product = pd.multiply(inner.x, both)
            op.replace_with(product)
            self.count("merged")


@AREA.mutant(
    citation="microsoft/onnxruntime#3821: TensorRT: One or more weights outside the range of INT32 was clamped",
    mistake="looks at the largest number, and not at the smallest",
    special_value=True,
    witness=lambda: case(
        lambda x: pd.add(x, parameter("w", ints("int64", 0, 0))),
        weights={"w": ints("int64", 3, -(2**40))}, x=ints("int64", 1, 2),
    ),
    control=lambda: case(
        lambda x: pd.add(x, parameter("w", ints("int64", 0, 0))),
        weights={"w": ints("int64", 3, -5)}, x=ints("int64", 1, 2),
    ),
)  # fmt: skip
def narrow_integer_weights(program: Program) -> None:
    """Stores integers of 64 bits in 32 where they fit."""
    for op in operations(program, builtin.GetParameterOp):
        data = fixed_data(program, op.out)
        if data is None or data.dtype != np.int64 or not data.size or data.max() > np.iinfo(np.int32).max:
            continue
        with Builder.before(op):
            widened = pd.cast(
                stored(program, f"{op.parameter}.narrow", data.astype(np.int32)), dtype=ranked(op.out).element
            )
        op.replace_with(widened)
