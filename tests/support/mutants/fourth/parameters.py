"""Stores that are delayed, made in any case or left out, and variables that are stored in another way."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from support.mutants.first.parameters import store
from support.mutants.mutant import Area, Case
from support.mutants.programs import bools, call, case, constant, define, f32, operations, parameter, ranked
from support.mutants.second.parameters import fixed_data, stored
from tx8ir.core import Builder, DenseAttr, Program, TensorType, Value, VTensorType, i8
from tx8ir.core import f32 as single
from tx8ir.dialects import builtin, func, pd, scf
from tx8ir.passes import NumericGuarantee, Pass

AREA = Area("parameters", round=4)
A = f32(1, 2)
V = VTensorType((2,), single)


def restoring(changed: bool) -> Case:
    """Perhaps stores x, then what the variable held first."""

    def body(x: Value) -> Any:
        if changed:
            store(x, "a")
        store(constant(A), "a")
        return pd.relu(x)

    return case(body, weights={"a": A}, mutable=["a"], x=f32(5, 6))


@AREA.mutant(
    citation="Yang, Chen, Eide, Regehr: Csmith, PLDI 2011 (class of mistake: initial values of variables that change)",
    mistake="the variable may have been changed since",
    witness=lambda: restoring(changed=True),
    control=lambda: restoring(changed=False),
)
def drop_restoring_stores(program: Program) -> None:
    """Storing what a variable holds from the beginning does nothing."""
    for op in operations(program, builtin.SetParameterOp):
        made = op.value.defining_op
        data = made.attributes["value"] if isinstance(made, builtin.ConstantOp) else None
        if isinstance(data, DenseAttr) and op.parameter in program.weights:
            held = program.weights[op.parameter].numpy()
            if held.dtype == data.value.dtype and held.tobytes() == data.value.tobytes():
                op.erase()


def deciding(otherwise: bool) -> Case:
    """If c stores x, else perhaps y."""
    return case(
        lambda c, x, y: [
            scf.IfOp.build(c, lambda: [store(x, "a")][1:], lambda: [store(y, "a") if otherwise else pd.relu(y)][1:]), x
        ][1:],
        weights={"a": A}, mutable=["a"], c=bools(0), x=f32(5, 6), y=f32(7, 8),
    )  # fmt: skip


@AREA.mutant(
    citation="llvm/llvm-project#207654: [SimplifyCFG] Add foldCondStoreToSelect optimization",
    mistake="the other branch may store something, too",
    witness=lambda: deciding(otherwise=True),
    control=lambda: deciding(otherwise=False),
)
@attrs.frozen
class StoreInAnyCase(Pass):
    """Stores what a variable holds where a branch is not taken, instead of storing in the branch."""

    name: ClassVar[str] = "store-in-any-case"

    def run(self, program: Program) -> None:
        if any(isinstance(op.out.type, TensorType) for op in operations(program, builtin.GetParameterOp)):
            return
        accesses = (builtin.GetParameterOp, builtin.GetCombineParameterOp, builtin.SetCombineParameterOp)
        for op in operations(program, scf.IfOp):
            inner = [i for each in op.then_region.block for i in each.walk()]
            stores = [i for i in inner if isinstance(i, builtin.SetParameterOp)]
            if len(stores) != 1 or any(isinstance(i, (*accesses, func.CallOp)) for i in op.walk()):
                continue
            value = stores[0].value
            kind = ranked(value)
            if value.defining_op in inner or not isinstance(kind, VTensorType) or not kind.rank or not kind.is_static:
                continue
            if stores[0].parent is not op.then_region.block or 0 in kind.shape:
                continue
            with Builder.before(op):
                held = builtin.GetParameterOp(parameter=stores[0].parameter, out=kind)
                chosen = pd.where(op.condition, value, held)
                later = store(chosen, stores[0].parameter)
            later.move_after(op)
            stores[0].erase()
            self.count("stores")


def reading_later(reads: bool) -> Case:
    """Stores x, calls a function that adds the variable or does not, and gives what it gives."""

    def functions() -> None:
        define("shifted", lambda v: pd.add(v, parameter("a", A)) if reads else pd.relu(v), V)

    return case(
        lambda x: [store(x, "a"), call("shifted", x, out=[V]).results[0]][1:],
        functions=functions, weights={"a": A}, mutable=["a"], x=f32(5, 6),
    )  # fmt: skip


@AREA.mutant(
    citation="Le, Afshari, Su: Compiler Validation via Equivalence Modulo Inputs, PLDI 2014",
    mistake="a function that is called later may read the variable",
    witness=lambda: reading_later(reads=True),
    control=lambda: reading_later(reads=False),
)
@attrs.frozen
class StoreAtEnd(Pass):
    """Stores variables at the end, where the program does not read them any more."""

    name: ClassVar[str] = "store-at-end"

    def run(self, program: Program) -> None:
        if len(program.main.body) != 1:
            return
        block = program.main.body.block
        reading = (builtin.GetCombineParameterOp, builtin.SetCombineParameterOp)
        for op in [op for op in block if isinstance(op, builtin.SetParameterOp)]:
            later = [i for each in block if op.is_before(each) for i in each.walk()]
            touched = any(
                isinstance(i, reading) or getattr(i, "parameter", None) == op.parameter for i in later
            )  # fmt: skip
            aliased = any(
                isinstance(i.out.type, TensorType) and i.parameter == op.parameter
                for i in operations(program, builtin.GetParameterOp)
            )
            if (
                not touched
                and not aliased
                and isinstance(op.value.type, VTensorType)
                and op.next_op is not block.terminator
            ):
                op.move_before(block.terminator)
                self.count("stores")


def scaled_product(*numbers: float) -> Case:
    """A product with a matrix of variables."""
    data = f32(*numbers).reshape(2, 2)
    return case(
        lambda x: pd.matmul(x, parameter("w", data)), weights={"w": data}, x=f32(1, 2, 3, 4).reshape(2, 2)
    )  # fmt: skip


@AREA.mutant(
    citation="apple/coremltools#2853: linear_quantize_weights: divide-by-zero and NaN-to-int cast when all zeros",
    mistake="a matrix of zeros has no largest magnitude to divide by",
    guarantee=NumericGuarantee.ROUNDING,
    special_value=True,
    witness=lambda: scaled_product(0, 0, 0, 0),
    control=lambda: scaled_product(1, -4, 0, 2),
)
def normalize_weights(program: Program) -> None:
    """Stores matrices with numbers between -1 and 1, and scales the products."""
    for op in operations(program, pd.MatmulOp):
        data = fixed_data(program, op.y)
        if data is None or data.dtype != np.float32 or not data.size or not np.isfinite(data).all():
            continue
        largest = np.abs(data).max()
        if 0 < largest <= 1:  # what is small would grow, and might overflow
            continue
        with np.errstate(all="ignore"), Builder.before(op):
            small = stored(program, f"{op.y.defining_op.parameter}.normalized", data / largest)
            product = pd.matmul(op.x, small, transpose_x=op.transpose_x, transpose_y=op.transpose_y)
            scaled = pd.scale(product, scale=float(largest))
        op.replace_with(scaled)


def casting(*numbers: float) -> Case:
    """A variable as integers of 8 bits."""
    return case(
        lambda x: pd.add(x, pd.cast(parameter("w", A), dtype=i8)), weights={"w": f32(*numbers)},
        x=np.array([1, 2], np.int8),
    )  # fmt: skip


@AREA.mutant(
    citation="IntelPython/dpnp#3033: Wrap out-of-range float-to-integer astype casts to match NumPy",
    mistake="NumPy wraps what the cast clips",
    special_value=True,
    witness=lambda: casting(1.5, 300),
    control=lambda: casting(1.5, -7.5),
)
@attrs.frozen
class CastWeights(Pass):
    """Stores variables in the format that they are cast to."""

    name: ClassVar[str] = "cast-weights"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.CastOp):
            data, element = fixed_data(program, op.x), ranked(op.out).element
            if data is None or element.dtype.kind != "i":
                continue
            with np.errstate(all="ignore"), Builder.before(op):
                wide = data.astype(np.int64) if data.dtype.kind == "f" else data
                cast = stored(program, f"{op.x.defining_op.parameter}.cast", wide.astype(element.dtype))
            op.replace_with(cast)
            self.count("casts")
