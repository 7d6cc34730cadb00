"""One op compiled and simulated: `ops.run` builds the smallest backend program around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import attrs
import numpy as np
import pytest

from tx8ir.backend.codegen.generate_tx8 import GenerateTx8
from tx8ir.backend.memory.allocate_ddr import AllocateDdr
from tx8ir.backend.memory.allocate_spm import AllocateSpm
from tx8ir.backend.search.shard_and_split import ShardAndSplit
from tx8ir.backend.target_options import target_with
from tx8ir.core import (
    Block,
    Builder,
    Compute,
    FunctionType,
    Program,
    Region,
    ScalarType,
    TupleType,
    Value,
    Variable,
    VTensorType,
)
from tx8ir.dialects import func, tx8be
from tx8ir.dialects.tx8be import DevAttr, ParallelAttr
from tx8ir.sim import SimReport, Simulator
from tx8ir.target.layout import MemLayout
from tx8ir.transforms.pass_manager import PassManager


@attrs.frozen
class In:
    """An operand: its data, where it comes from, and its physical layout (by default blocked if `blocked`)."""

    array: np.ndarray
    format: str = "f32"
    kind: str = "var"  # or "const"
    layout: str | None = None
    load: bool = True


@attrs.frozen
class Run:
    """What came of a run; `expected` is the op's own reference in float64."""

    out: np.ndarray
    expected: np.ndarray
    allocated: Program
    compiled: Program
    group: tx8be.GroupOp
    report: SimReport

    @property
    def sharding(self) -> tuple[int, ...]:
        """Parts per axis over the tiles."""
        return self._store.tile_parallel.shape_spatial_sharding

    @property
    def slice(self) -> tuple[int, ...]:
        """Extents of one time step."""
        return self._store.dev_info.temporal_mem_slice

    @property
    def _store(self) -> tx8be.StoreVarOp:
        return next(op for op in self.group.body.block if isinstance(op, tx8be.StoreVarOp))

    def check(self) -> None:
        """At most one rounding to the result's format, on top of fp32 arithmetic."""
        assert self.out.shape == self.expected.shape
        format = self.group.outs[0].type.element.format
        if format.is_integer:
            np.testing.assert_array_equal(self.out, self.expected)
            return
        rounding = 0.0 if format.mantissa_bits >= 23 else 2.0 ** -(format.mantissa_bits + 1)
        finite = np.abs(self.expected[np.isfinite(self.expected)])
        tolerance = 1.01 * rounding * np.abs(self.expected) + 2e-6 * finite.max(initial=0.0)
        error = np.abs(self.out.astype(np.float64) - self.expected)
        worst = np.unravel_index(np.argmax(error - tolerance), error.shape)
        assert (error <= tolerance).all(), (worst, self.out[worst], self.expected[worst])


def layout_for(rank: int, blocked: bool) -> str:
    return MemLayout.for_rank(rank, blocked=blocked).value


def build(
    make: Callable[..., Any], operands: Sequence[In | None], *, blocked: bool, sharding: tuple[int, ...] | None = None
) -> Program:
    """`main` with one group around ``make(*operands)``, every value in the layout that `blocked` says."""
    program = Program.empty()
    types, infos = [], []
    for operand in operands:
        if operand is None:
            types.append(None)
            infos.append(None)
            continue
        types.append(VTensorType(operand.array.shape, ScalarType.of(operand.format)))
        infos.append(DevAttr(mem_layout=operand.layout or layout_for(operand.array.ndim, blocked)))
    inputs = [t for t, o in zip(types, operands, strict=True) if o is not None and o.kind == "var"]
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType(tuple(inputs), ()))
    block = main.body.block
    body = Block(inputs)
    with Builder.at_end(block):
        given = [
            tx8be.InputOp(arg, dev_info=info)
            for arg, info in zip(
                block.args, [i for i, o in zip(infos, operands, strict=True) if o and o.kind == "var"], strict=True
            )
        ]
    with Builder.at_end(body):
        values: list[Value] = []
        variable = 0
        for number, (operand, type_, info) in enumerate(zip(operands, types, infos, strict=True)):
            if operand is None:
                values.append(tx8be.NoneOp().y)
            elif operand.kind == "const":
                name = f"c{number}"
                program.weights[name] = Variable(type_, operand.array)
                load = tx8be.LoadConstOp(
                    parameter=name, id=number, bypasscodegen=not operand.load, dev_info=info, y=type_
                )
                values.append(load.y)
            else:
                arg = body.args[variable]
                variable += 1
                values.append(tx8be.LoadVarOp(arg, dev_info=info).y if operand.load else arg)
        op = make(*values)
        result = op.results[0]
        if op.dev_info is None:
            op.set_attribute("dev_info", DevAttr(mem_layout=layout_for(result.type.rank, blocked)))
        given_sharding = ParallelAttr(sharding_is_given=True, shape_spatial_sharding=sharding) if sharding else None
        store = tx8be.StoreVarOp(result, dev_info=op.dev_info, tile_parallel=given_sharding)
        tx8be.ReturnOp([store.y])
    with Builder.at_end(block):
        group = tx8be.GroupOp(inputs=given, outs=[result.type], body=Region([body]), group_tag=0, group_id=0)
        collected = tx8be.TupleOp([group.outs[0]])
        out = tx8be.OutputOp(collected)
        func.ReturnOp([out])
    main.set_attribute("function_type", FunctionType(tuple(inputs), (TupleType((result.type,)),)))
    program.verify()
    return program


def compile_and_run(
    make: Callable[..., Any],
    operands: Sequence[In | None],
    *,
    blocked: bool,
    spm_bytes: int | None = None,
    sharding: tuple[int, ...] | None = None,
) -> Run:
    """Compiles and simulates one op; `spm_bytes` forces time splits, `sharding` the cut over tiles."""
    program = build(make, operands, blocked=blocked, sharding=sharding)
    passes = (ShardAndSplit(spm_bytes=spm_bytes), AllocateSpm(spm_bytes=spm_bytes), AllocateDdr())
    PassManager(passes).run(program)
    compiled = program.clone()
    PassManager((GenerateTx8(),)).run(compiled)
    feeds = [o.array for o in operands if o is not None and o.kind == "var"]
    target = target_with(spm_bytes)
    simulator = Simulator(compiled, target)
    result = simulator.run({port.port_name: array for port, array in zip(simulator.inputs, feeds, strict=True)})
    (out,) = result.outputs.values()
    group = next(op for op in program.module.walk() if isinstance(op, tx8be.GroupOp))
    return Run(out, reference(group, operands), program, compiled, group, result.report)


def reference(group: tx8be.GroupOp, operands: Sequence[In | None]) -> np.ndarray:
    """The op's `Compute` on the operands in float64."""
    op = next(op for op in group.body.block if not isinstance(op, NOT_COMPUTE))
    arrays = [
        None if o is None else o.array if o.array.dtype.kind in "iu" else o.array.astype(np.float64) for o in operands
    ]
    with np.errstate(all="ignore"):
        return np.asarray(op.interface(Compute).compute(*arrays))


NOT_COMPUTE = (tx8be.LoadVarOp, tx8be.LoadConstOp, tx8be.StoreVarOp, tx8be.NoneOp)


@pytest.fixture(scope="session")
def ops() -> SimpleNamespace:
    """``ops.run(make, [ops.In(array), …], blocked=…)``; `ops.build` gives the program alone."""
    return SimpleNamespace(In=In, build=build, run=compile_and_run)
