"""One op compiled and simulated: `run_op` builds the smallest backend program around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pytest

from tx8ir.backend.codegen.generate_tx8 import GenerateTx8
from tx8ir.backend.memory.allocate_ddr import AllocateDdr
from tx8ir.backend.memory.allocate_spm import AllocateSpm
from tx8ir.backend.search.shard_and_split import ShardAndSplit
from tx8ir.core import (
    Block,
    Builder,
    FunctionType,
    NoneType,
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
from tx8ir.sim import Simulator
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
    """What came of a run."""

    out: np.ndarray
    program: Program
    compiled: Program
    group: tx8be.GroupOp
    report: Any


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


@pytest.fixture
def run_op() -> Callable[..., Run]:
    """``run_op(make, operands, blocked=…)`` compiles, simulates and returns a `Run`; `spm_bytes` forces time splits."""

    def run(
        make: Callable[..., Any],
        operands: Sequence[In | None],
        *,
        blocked: bool,
        spm_bytes: int | None = None,
        sharding: tuple[int, ...] | None = None,
    ) -> Run:
        program = build(make, operands, blocked=blocked, sharding=sharding)
        passes = (ShardAndSplit(spm_bytes=spm_bytes), AllocateSpm(spm_bytes=spm_bytes), AllocateDdr())
        PassManager(passes).run(program)
        compiled = program.clone()
        group = next(op for op in program.module.walk() if isinstance(op, tx8be.GroupOp))
        PassManager((GenerateTx8(),)).run(compiled)
        feeds = [o.array for o in operands if o is not None and o.kind == "var"]
        simulator = Simulator(compiled)
        result = simulator.run({port.port_name: array for port, array in zip(simulator.inputs, feeds, strict=True)})
        (out,) = result.outputs.values()
        return Run(out, program, compiled, group, result.report)

    return run
