"""Fusion of groups: merged where it pays, left alone where it must be, the same values either way."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

from tx8ir.backend.search import GroupFuse
from tx8ir.core import Program, parse
from tx8ir.dialects import tx8be
from tx8ir.passes import PassManager
from tx8ir.sim import SimResult, Simulator

REST = "group-barriers,schedule-groups,allocate-ddr,generate-tx8"
X = np.random.default_rng(0).standard_normal((64, 128)).astype(np.float32)


def program(groups: Sequence[tuple[str, Sequence[int]]], results: Sequence[int]) -> Program:
    """One group per ``(op, operands)``; operands and results number values: 0 the input, i the result of group i."""
    lines = ['%0 = "tx8be.Input"(%a) {DEV} : (T) -> T']
    for number, (op, operands) in enumerate(groups, 1):
        names = [f"%x{i}" for i in range(len(operands))]
        inside = [f'%l{i} = "tx8be.LoadVar"({n}) {{DEV}} : (T) -> T' for i, n in enumerate(names)]
        loaded = ", ".join(f"%l{i}" for i in range(len(operands)))
        types = ", ".join("T" for _ in operands)
        inside += [
            f'%y = "tx8be.{op}"({loaded}) {{DEV}} : ({types}) -> T',
            '%s = "tx8be.StoreVar"(%y) {DEV} : (T) -> T',
        ]
        arguments = ", ".join(f"{n}: T" for n in names)
        given = ", ".join(f"%{i}" for i in operands)
        lines.append(f'%{number} = "tx8be.Group"({given}) ({{\n^bb0({arguments}):')
        lines += [*inside, '"tx8be.Return"(%s) : (T) -> ()']
        lines.append(f"}}) {{group_id = {number} : i64, group_tag = 0 : i64}} : ({types}) -> T")
    returned, types = ", ".join(f"%{i}" for i in results), ", ".join("T" for _ in results)
    lines.append(f'%t = "tx8be.Tuple"({returned}) : ({types}) -> tuple<{types}>')
    lines.append(f'%o = "tx8be.Output"(%t) : (tuple<{types}>) -> tuple<{types}>')
    text = f"module {{\nfunc.func @main(%a: T) -> tuple<{types}> {{\n" + "\n".join(lines)
    text += f"\nreturn %o : tuple<{types}>\n}}\n}}\n"
    text = re.sub(r"\bT\b", "!pd.vtensor<64x128xf32>", text)
    return parse(text.replace("DEV", 'dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>'))


def groups_of(given: Program) -> list[list[str]]:
    """The compute ops of each group."""
    moves = (tx8be.LoadVarOp, tx8be.StoreVarOp, tx8be.ReturnOp)
    groups = [op for op in given.module.walk() if isinstance(op, tx8be.GroupOp)]
    return [[op.name.removeprefix("tx8be.") for op in g.body.block if not isinstance(op, moves)] for g in groups]


def simulate(given: Program, passes: str) -> SimResult:
    compiled = given.clone()
    PassManager.parse(passes).run(compiled)
    return Simulator(compiled).run({"arg0": X})


def fused(given: Program) -> Program:
    copy = given.clone()
    PassManager((GroupFuse(),)).run(copy)
    return copy


CHAIN = program([("Relu", [0]), ("Tanh", [1]), ("Neg", [2])], [3])
RESIDUAL = program([("Tanh", [0]), ("Add", [1, 0]), ("Mul", [2, 0])], [3])


@pytest.mark.parametrize(("given", "ops"), [(CHAIN, ["Relu", "Tanh", "Neg"]), (RESIDUAL, ["Tanh", "Add", "Mul"])])
def test_a_chain_becomes_one_group(given: Program, ops: list[str]) -> None:
    merged = fused(given)
    assert groups_of(merged) == [ops]
    before, after = simulate(given, REST), simulate(merged, REST)
    np.testing.assert_array_equal(after.outputs["result0"], before.outputs["result0"])
    assert after.report.cycles < before.report.cycles / 2


def test_a_value_that_both_read_is_loaded_once() -> None:
    loads = [op for op in fused(RESIDUAL).module.walk() if isinstance(op, tx8be.LoadVarOp)]
    assert len(loads) == 1


@pytest.mark.parametrize(
    "given",
    [
        program([("Relu", [0]), ("Tanh", [1]), ("Neg", [1])], [2, 3]),
        program([("Relu", [0]), ("Tanh", [1])], [1, 2]),
    ],
    ids=["two readers", "a result of the program"],
)
def test_a_value_that_is_needed_elsewhere_is_stored(given: Program) -> None:
    assert groups_of(fused(given)) == groups_of(given)


def test_an_operand_that_is_the_same_value_twice() -> None:
    given = program([("Tanh", [0]), ("Mul", [1, 1])], [2])
    assert groups_of(fused(given)) == groups_of(given), "two operands of the reader: two uses"


def test_loads_in_another_layout_stay_apart() -> None:
    given = program([("Relu", [0]), ("Tanh", [1])], [2])
    second = [op for op in given.module.walk() if isinstance(op, tx8be.LoadVarOp)][1]
    second.set_attribute("dev_info", tx8be.DevAttr(mem_layout="Tensor"))
    assert len(groups_of(fused(given))) == 2


def test_the_merged_group_keeps_its_place_and_number() -> None:
    merged = fused(CHAIN)
    (group,) = (op for op in merged.module.walk() if isinstance(op, tx8be.GroupOp))
    assert group.group_id == 3
    merged.verify()
