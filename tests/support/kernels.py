"""One kernel alone: the smallest backend program around an op, compiled, simulated, and compared with float64.

For whoever writes a kernel of the op library:

>>> run = run_kernel(tx8be.ReluOp, [Operand(x)], blocked=True, spm_bytes=16384)
>>> run.check()
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.backend.codegen import GenerateTx8
from tx8ir.backend.graph import schedule_of
from tx8ir.backend.memory import AllocateDdr
from tx8ir.backend.nest.schedule_groups import ScheduleGroups
from tx8ir.backend.set_target import SetTarget
from tx8ir.core import (
    Block,
    Builder,
    Compute,
    FunctionType,
    Program,
    RankedTensor,
    Region,
    ScalarType,
    TupleType,
    Value,
    Variable,
    VTensorType,
)
from tx8ir.dialects import func, tx8be
from tx8ir.dialects.tx8be import BackendOp, DevAttr, ParallelAttr
from tx8ir.passes import PassManager
from tx8ir.sim import SimReport, Simulator
from tx8ir.target.layout import MemLayout

__all__ = ["KernelRun", "Operand", "build_kernel_program", "run_kernel"]

Array = NDArray[Any]


@attrs.frozen(eq=False)
class Operand:
    """An operand of the op under test: its data in the NumPy type of `format`, and where it comes from.

    `kind` is "var" for a program input or "const" for a constant. `layout` is its physical layout, by default that of
    its rank. An operand with `load` false stays in DDR, for kernels that address it there.
    """

    array: Array
    format: str = "f32"
    kind: Literal["var", "const"] = "var"
    layout: str | None = None
    load: bool = True

    @property
    def type(self) -> VTensorType:
        """The operand's type in the program."""
        return VTensorType(self.array.shape, ScalarType.of(self.format))


@attrs.frozen(eq=False)
class KernelRun:
    """What came of a run: the simulated result, what the ops' `Compute` gives in float64, and the programs.

    `allocated` is the program before code generation, `compiled` the instructions.
    """

    out: Array
    expected: Array
    allocated: Program
    compiled: Program
    report: SimReport

    @property
    def group(self) -> tx8be.GroupOp:
        """The group under test, with the attributes of all stages."""
        return next(op for op in self.allocated.module.walk() if isinstance(op, tx8be.GroupOp))

    @property
    def store(self) -> tx8be.StoreVarOp:
        """The group's store."""
        return next(op for op in self.group.body.block if isinstance(op, tx8be.StoreVarOp))

    @property
    def schedule(self) -> tx8be.ScheduleOp:
        """How the group is computed."""
        found = schedule_of(self.group)
        assert found is not None
        return found

    def check(self, roundings: int = 1) -> None:
        """Checks the result: at most `roundings` to its format, on top of fp32 arithmetic; integers are exact.

        Raises:
            AssertionError: the worst element, what it is and what it should be.
        """
        t = self.group.outs[0].type
        assert isinstance(t, RankedTensor)
        assert self.out.shape == self.expected.shape, (self.out.shape, self.expected.shape)
        if t.element.format.is_integer:
            np.testing.assert_array_equal(self.out, self.expected)
            return
        mantissa = t.element.format.mantissa_bits
        half_ulp = 0.0 if mantissa >= 23 else roundings * 2.0 ** -(mantissa + 1)
        expected, out = self.expected, self.out.astype(np.float64)
        largest = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
        with np.errstate(invalid="ignore"):
            excess = np.abs(out - expected) - 1.01 * half_ulp * np.abs(expected) - 2e-6 * largest
        excess[(out == expected) | (np.isnan(out) & np.isnan(expected))] = 0.0
        if not (excess <= 0).all():
            worst = np.unravel_index(int(np.argmax(np.nan_to_num(excess, nan=np.inf))), excess.shape)
            at = [int(i) for i in worst]
            raise AssertionError(f"element {at} is {out[worst]}; expected {expected[worst]} (largest {largest})")


def build_kernel_program(
    make: Callable[..., Any],
    operands: Sequence[Operand | None],
    *,
    blocked: bool,
    sharding: tuple[int, ...] | None = None,
) -> Program:
    """`main` with one group around the op that ``make(*values)`` builds; None stands for an absent operand.

    Every value without a layout of its own is channel-blocked if `blocked`, else dense. `make` may build several ops,
    each with a `dev_info` of its own; the last one's result is stored. `sharding` pins the cut over tiles.
    """
    program = Program.empty()
    present = [o for o in operands if o is not None and o.kind == "var"]
    body = Block([o.type for o in present])
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType(tuple(o.type for o in present), ()))
    block = main.body.block
    with Builder.at_end(block):
        inputs = [tx8be.InputOp(a, dev_info=_info(o, blocked)).y for a, o in zip(block.args, present, strict=True)]
    with Builder.at_end(body):
        arguments = iter(body.args)
        values = [_operand(program, o, i, arguments, blocked) for i, o in enumerate(operands)]
        op = make(*values)
        result: Value = op.results[0]
        if op.dev_info is None:
            assert isinstance(result.type, RankedTensor)
            op.set_attribute(
                "dev_info", DevAttr(mem_layout=MemLayout.for_rank(result.type.rank, blocked=blocked).value)
            )
        pinned = None if sharding is None else ParallelAttr(sharding_is_given=True, shape_spatial_sharding=sharding)
        store = tx8be.StoreVarOp(result, dev_info=op.dev_info, tile_parallel=pinned)
        tx8be.ReturnOp([store.y])
    with Builder.at_end(block):
        group = tx8be.GroupOp(inputs, outs=[result.type], body=Region([body]), group_tag=0, group_id=0)
        out = tx8be.OutputOp(tx8be.TupleOp([group.outs[0]]).y)
        func.ReturnOp([out.y])
    taken = main.function_type.inputs
    main.set_attribute("function_type", FunctionType(taken, (TupleType((result.type,)),)))
    program.verify()
    return program


def _info(operand: Operand, blocked: bool) -> DevAttr:
    layout = operand.layout or MemLayout.for_rank(operand.array.ndim, blocked=blocked).value
    return DevAttr(mem_layout=layout)


def _operand(program: Program, operand: Operand | None, number: int, arguments: Any, blocked: bool) -> Value:
    """The value of one operand inside the group."""
    if operand is None:
        return tx8be.NoneOp().y
    if operand.kind == "const":
        name = f"c{number}"
        program.weights[name] = Variable(operand.type, operand.array)
        bypass, info = not operand.load, _info(operand, blocked)
        return tx8be.LoadConstOp(parameter=name, id=number, bypasscodegen=bypass, dev_info=info, y=operand.type).y
    argument: Value = next(arguments)
    return tx8be.LoadVarOp(argument, dev_info=_info(operand, blocked)).y if operand.load else argument


def run_kernel(
    make: Callable[..., Any],
    operands: Sequence[Operand | None],
    *,
    blocked: bool,
    spm_bytes: int | None = None,
    sharding: tuple[int, ...] | None = None,
) -> KernelRun:
    """Compiles and simulates what `build_kernel_program` builds.

    `spm_bytes` is the SPM there is to allocate: little of it forces splits over time.

    Raises:
        PassError: the program cannot be compiled. SimError: an instruction does what the machine does not allow.
    """
    program = build_kernel_program(make, operands, blocked=blocked, sharding=sharding)
    passes = (SetTarget(spm_bytes=spm_bytes), ScheduleGroups(), AllocateDdr())
    PassManager(passes).run(program)
    compiled = program.clone()
    PassManager((GenerateTx8(),)).run(compiled)
    simulator = Simulator(compiled)
    feeds = [o.array for o in operands if o is not None and o.kind == "var"]
    result = simulator.run({port.port_name: array for port, array in zip(simulator.inputs, feeds, strict=True)})
    (out,) = result.outputs.values()
    return KernelRun(out, _reference(program, operands), program, compiled, result.report)


def _reference(program: Program, operands: Sequence[Operand | None]) -> Array:
    """What the group's ops compute one after the other, by their `Compute` in float64."""
    group = next(op for op in program.module.walk() if isinstance(op, tx8be.GroupOp))
    feeds = [o for o in operands if o is not None and o.kind == "var"]
    arrays: dict[Value, Array | None] = {
        argument: _exact(o.array) for argument, o in zip(group.body.block.args, feeds, strict=True)
    }
    for op in group.body.block:
        assert isinstance(op, BackendOp)
        if isinstance(op, tx8be.StoreVarOp):
            return np.asarray(arrays[op.x])
        if isinstance(op, tx8be.LoadConstOp):
            constant = operands[op.id]
            arrays[op.y] = None if constant is None else _exact(constant.array)
        elif isinstance(op, tx8be.NoneOp):
            arrays[op.y] = None
        else:
            model = op.interface(Compute)
            assert model is not None
            with np.errstate(all="ignore"):
                arrays[op.results[0]] = model.compute(*(arrays[v] for v in op.operands))
    raise AssertionError("the group stores nothing")


def _exact(array: Array) -> Array:
    return array if array.dtype.kind in "iu" else array.astype(np.float64)
