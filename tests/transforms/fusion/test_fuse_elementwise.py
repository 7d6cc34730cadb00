"""Elementwise operations of one shape become one fusion, down their uses and beside each other, and apart again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tx8ir
from support.examples import with_examples
from support.steps import assert_linear
from tx8ir.core import (
    Builder,
    DenseAttr,
    FunctionType,
    Operation,
    Program,
    TensorType,
    Value,
    VTensorType,
    bf16,
    f32,
    i1,
)
from tx8ir.dialects import builtin, func, pd, scf
from tx8ir.passes import PassManager
from tx8ir.rewriting.subgraphs import is_convex
from tx8ir.testing import NumericGuarantee, assert_preserves, check
from tx8ir.testing.programs import EVERYTHING, Writer, ranked, tensor_programs

PASS = "fuse-elementwise"
DOWN, BESIDE = f"{PASS}{{horizontal=false}}", f"{PASS}{{vertical=false}}"
MODELS = Path(__file__).parents[2] / "data" / "models"
T = VTensorType((2, 3), f32)
Build = Callable[..., Program]


def fusions(program: Program) -> list[str]:
    """Of each fusion: its kind, what is inside, and how many values it gives."""
    return [
        f"{op.kind}: {' '.join(inner.name[3:] for inner in op.body.block if inner is not op.body.block.terminator)}"
        f" -> {len(op.outputs)}"
        for op in program.module.walk()
        if isinstance(op, pd.FusionOp)
    ]


def statistics(program: Program, pipeline: str = PASS) -> dict[str, int]:
    return dict(PassManager.parse(pipeline).run(program).stages[-1].statistics)


def test_the_text_before_and_after(build, golden, assert_same) -> None:
    def body(x: Value, row: Value) -> Any:
        y = pd.add(x, row)
        return [pd.multiply(pd.tanh(y), y), pd.exp(x)]

    program = build(body, T, VTensorType((3,), f32))
    before = program.clone()
    assert statistics(program) == {"horizontal": 1, "fused": 4}
    fused = str(program)
    assert_same(before, program)
    assert statistics(program) == {}
    assert str(program) == fused
    assert statistics(program, "inline-fusions") == {"inlined": 1}
    golden(
        f"// before\n{before}\n\n// {PASS}\n{fused}\n\n// inline-fusions\n{program}", "transforms/fuse-elementwise.mlir"
    )
    assert_same(before, program)
    assert statistics(program, "inline-fusions") == {}


# --- vertical ---------------------------------------------------------------------------------------------------------


def test_a_graph_that_hangs_together_is_one_fusion(build) -> None:
    def gelu(x: Value) -> Any:
        inner = pd.add(x, pd.scale(pd.multiply(pd.square(x), x), scale=0.044715))
        return pd.multiply(pd.scale(x, scale=0.5), pd.scale(pd.tanh(pd.scale(inner, scale=0.8)), bias=1.0))

    program = build(gelu, T)
    assert statistics(program, DOWN) == {"vertical": 1, "fused": 9}
    (fusion, _) = program.main.body.block
    assert len(fusion.inputs) == 1


def test_a_value_used_outside_is_another_result(build) -> None:
    program = build(lambda x: [pd.exp(y := pd.tanh(x)), y, pd.sum(y)], T)
    statistics(program, DOWN)
    assert fusions(program) == ["vertical: tanh exp -> 2"]


def test_shapes_of_broadcast_operands_stay_outside(build, names) -> None:
    program = build(lambda x, row: pd.exp(pd.add(x, pd.square(pd.relu(row)))), T, VTensorType((3,), f32))
    statistics(program, DOWN)
    assert fusions(program) == ["vertical: relu square -> 1", "vertical: add exp -> 1"]


def test_element_types_may_differ(build) -> None:
    def body(x: Value) -> Any:
        return pd.where(pd.greater_than(x, pd.full(shape=(), value=0.0)), x, pd.cast(pd.cast(x, dtype=bf16), dtype=f32))

    program = build(body, T)
    statistics(program, DOWN)
    assert fusions(program) == ["vertical: greater_than cast cast where -> 1"]


def test_a_way_out_and_back_divides_a_fusion(build, assert_same) -> None:
    """The sum needs all of the exponentials, so the quotient cannot be in their fusion."""

    def softmax(x: Value) -> Any:
        shifted = pd.exp(pd.subtract(x, pd.max(x, axis=(1,), keepdim=True)))
        return pd.relu(pd.divide(shifted, pd.sum(shifted, axis=(1,), keepdim=True)))

    program = build(softmax, T)
    before = program.clone()
    statistics(program)
    assert fusions(program) == ["vertical: subtract exp -> 1", "vertical: divide relu -> 1"]
    assert_same(before, program)


def test_what_only_a_later_fusion_uses_joins_that_one(build) -> None:
    program = build(
        lambda x: pd.add(pd.tanh(x), pd.exp(pd.matmul(x, pd.transpose(x, perm=(1, 0))))), VTensorType((2, 2), f32)
    )
    statistics(program, DOWN)
    assert fusions(program) == ["vertical: tanh exp add -> 1"]


def test_what_stands_between_moves_and_effects_keep_their_order(build, run, names, assert_same) -> None:
    """The reshape of tanh stands before exp, and has to stand after the fusion."""

    def body(x: Value, storage: Value) -> Any:
        y = pd.tanh(x)
        flat = pd.reshape(y, shape=(6,))
        pd.scale_(storage, scale=2.0)
        held = builtin.to_vtensor(storage)
        pd.relu_(storage)
        return [pd.exp(pd.add(y, held)), flat]

    program = build(body, T, TensorType((2, 3), f32))
    before = program.clone()
    run(program, PASS)
    assert names(program) == ["pd.scale_", "builtin.to_vtensor", "pd.fusion", "pd.reshape", "pd.relu_"]
    assert_same(before, program)


def test_storage_and_dynamic_extents_are_left_alone(build) -> None:
    program = build(
        lambda x, y: [pd.exp(pd.tanh(x)), pd.exp(pd.tanh(y))], TensorType((2, 3), f32), VTensorType((-1, 3), f32)
    )
    assert statistics(program) == {}


def test_dead_operations_have_no_place_in_a_fusion(build, names) -> None:
    def body(x: Value) -> Any:
        pd.exp(pd.tanh(x))
        return pd.relu(x)

    program = build(body, T)
    assert statistics(program) == {"horizontal": 1, "fused": 2}
    assert fusions(program) == ["horizontal: tanh relu -> 2"]


def test_inside_regions_and_of_captured_values(build, assert_same) -> None:
    def body(c: Value, x: Value) -> Any:
        y = pd.tanh(x)
        (z,) = scf.IfOp.build(c, lambda: [pd.exp(pd.square(y))], lambda: [y]).results
        return [pd.add(z, y), pd.relu(y)]

    program = build(body, VTensorType((), i1), T)
    before = program.clone()
    statistics(program)
    assert fusions(program) == ["vertical: tanh relu -> 2", "vertical: square exp -> 1"]
    assert_same(before, program)


# --- horizontal -------------------------------------------------------------------------------------------------------


def test_independent_operations_of_one_shape_are_one_fusion(build) -> None:
    body = lambda x, y, row: [pd.exp(x), pd.tanh(y), pd.relu(row)]  # noqa: E731
    program = build(body, T, T, VTensorType((3,), f32))
    assert statistics(program) == {"horizontal": 1, "fused": 2}
    assert fusions(program) == ["horizontal: exp tanh -> 2"]
    program = build(body, T, T, VTensorType((3,), f32))
    assert statistics(program, DOWN) == {}


def test_without_vertical_fusion_only_independent_operations_are_fused(build) -> None:
    program = build(lambda x, y: [pd.exp(pd.tanh(x)), pd.relu(pd.abs(y))], T, T)
    statistics(program, BESIDE)
    assert fusions(program) == ["horizontal: tanh abs -> 2", "horizontal: exp relu -> 2"]


def test_one_that_depends_on_the_other_is_not_beside_it(build) -> None:
    program = build(lambda x: [pd.exp(x), pd.tanh(pd.softmax(pd.exp(x)))], T)
    statistics(program)
    assert fusions(program) == ["horizontal: exp exp -> 2"]


def test_a_fusion_takes_so_many_values_at_most(build) -> None:
    program = build(lambda *xs: [pd.exp(x) for x in xs], *[T] * 7)
    statistics(program, f"{PASS}{{max-inputs=3}}")
    assert fusions(program) == ["horizontal: exp exp exp -> 3", "horizontal: exp exp exp -> 3"]


# --- any graph --------------------------------------------------------------------------------------------------------


def _graph(data: st.DataObject) -> tuple[Program, list[Operation]]:
    """A random graph of elementwise operations of two shapes, with products and reductions between."""
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType([T, T], ()))
    values: list[Value] = list(main.body.block.args)
    ops: list[Operation] = []
    with Builder.at_end(main.body.block):
        for _ in range(data.draw(st.integers(2, 14))):
            x, y = (data.draw(st.sampled_from(values)) for _ in range(2))
            make = data.draw(st.sampled_from([pd.add, pd.add, pd.maximum, pd.softmax, pd.max, pd.exp, pd.assign]))
            if make is pd.max:
                op = pd.max(x, axis=(0,), keepdim=True)
            elif make in (pd.add, pd.maximum):
                op = make(x, y)
            else:
                op = make(x)
            ops.append(op)
            values.append(op.result)
        returned = [v for v in values if not v.has_uses]
        func.ReturnOp(returned)
    main.set_attribute("function_type", FunctionType([T, T], [v.type for v in returned]))
    return program, ops


@settings(max_examples=50)
@given(data=st.data(), pipeline=st.sampled_from([PASS, DOWN, BESIDE]))
def test_fusions_are_convex_of_one_shape_and_a_second_run_finds_none(data: st.DataObject, pipeline: str) -> None:
    program, ops = _graph(data)
    inside = {op: i for i, op in enumerate(ops)}
    copy = program.clone()
    numbered = dict(zip(copy.main.body.block, ops, strict=False))
    statistics(copy, pipeline)
    copy.verify()
    for fusion in (op for op in copy.main.body.block if isinstance(op, pd.FusionOp)):
        members = [numbered[op] for op in fusion.body.block if op in numbered]
        assert len(members) >= 2
        assert len({op.result.type.shape for op in members}) == 1
        assert is_convex(members)
        assert sorted(members, key=inside.__getitem__) == members
    text = str(copy)
    assert statistics(copy, pipeline) == {}
    assert str(copy) == text


@settings(max_examples=25)
@given(data=st.data())
def test_taken_apart_it_is_the_program_in_another_order(data: st.DataObject) -> None:
    program, _ = _graph(data)
    changed = program.clone()
    PassManager.parse(f"{PASS},inline-fusions,topological-sort").run(changed)
    PassManager.parse("topological-sort").run(program)
    assert str(changed) == str(program)


def test_linear_in_the_size_of_the_program(build) -> None:
    def fusing(n: int) -> Callable[[], object]:
        def body(x: Value) -> Any:
            for i in range(n):
                x = (pd.softmax if i % 7 == 0 else pd.exp if i % 2 else pd.relu)(x).out
            return x

        program, passes = build(body, T), PassManager.parse(f"{PASS},inline-fusions")
        return lambda: passes.run(program, verify_each=False)

    assert_linear(fusing, 210)


def test_constants_go_into_a_fusion_and_what_nobody_uses_leaves_it(build, assert_same) -> None:
    def body(x: Value) -> Any:
        two = builtin.constant(value=DenseAttr(np.full((2, 3), 2, np.float32))).out
        y = pd.exp(two)
        return [pd.multiply(x, y), y]

    program = build(body, T)
    assert statistics(program, DOWN) == {"vertical": 1, "fused": 2}
    returned = program.main.body.block.terminator
    returned.set_operands(returned.operands[:1])
    program.main.set_attribute("function_type", FunctionType([T], [T]))
    before = program.clone()
    PassManager.parse("sccp,simplify-control-flow").run(program)
    program.verify()
    assert_same(before, program)
    (fusion,) = [op for op in program.module.walk() if isinstance(op, pd.FusionOp)]
    assert (len(fusion.inputs), len(fusion.outputs)) == (1, 1)
    assert fusions(program) == ["vertical: ltin.constant multiply -> 1"]


# --- on the chip ------------------------------------------------------------------------------------------------------


def test_a_fusion_of_one_result_is_a_group_on_the_chip(build) -> None:
    def body(x: Value, z: Value) -> Any:
        y = pd.tanh(x)
        return pd.matmul(pd.multiply(pd.exp(y), y), z)

    program = build(body, VTensorType((4, 64), f32), VTensorType((64, 5), f32))
    statistics(program)
    executable = tx8ir.compile(program, keep_stages=True)
    stage = next(s for s in executable.report.compilation.stages if s.name == "group-default")
    assert stage.statistics["fusions"] == 1
    assert executable.stages["lower-to-tx8be"].count("fusion_id = 0") == 3
    assert check(program).passed


@pytest.mark.parametrize(
    ("body", "groups"),
    [
        (lambda x, y: [pd.exp(pd.tanh(x)), pd.relu(y)], 1),
        (lambda x, y: [pd.exp(pd.tanh(x)), pd.relu(pd.abs(y))], 2),
        (lambda x, y: [pd.exp(z := pd.tanh(x)), z, y], 0),
        (lambda x, y: [pd.exp(x), pd.relu(y)], 0),
    ],
    ids=["a chain beside an operation", "two chains", "two results", "two operations"],
)
def test_independent_parts_of_one_result_are_groups(build, body: Any, groups: int) -> None:
    program = build(body, T, T)
    assert statistics(program)["fused"] >= 2
    options = tx8ir.CompileOptions(opt_graph="required")
    stages = {s.name: s for s in tx8ir.compile(program, options=options).report.compilation.stages}
    assert stages["group-default"].statistics.get("fusions", 0) == groups
    assert check(program).passed


@pytest.mark.slow
@settings(max_examples=12)
@given(data=st.data())
def test_fusions_that_broadcast_compute_on_the_chip(data: st.DataObject) -> None:
    program, _ = _graph(data)
    PassManager.parse(PASS).run(program)
    assert check(program).passed


def test_rows_and_columns_are_broadcast_in_front_of_the_group(build) -> None:
    def body(x: Value, row: Value, column: Value) -> Any:
        return pd.tanh(pd.multiply(pd.maximum(row, column), pd.add(x, row)))

    program = build(body, T, VTensorType((1, 3), f32), VTensorType((2, 1), f32))
    statistics(program)
    assert fusions(program) == ["vertical: maximum add multiply tanh -> 1"]
    text = str(tx8ir.compiler.lower(program, through="lower-to-tx8be"))
    assert all("fusion_id" not in line for line in text.splitlines() if "Broadcast" in line or "Reshape" in line)
    assert text.count("fusion_id") == 4
    assert check(program).passed


@pytest.mark.slow
def test_gpt2_gives_the_same_numbers_in_fewer_cycles() -> None:
    data = np.load(MODELS / "gpt2" / "data.npz")
    program = tx8ir.frontends.onnx.load(MODELS / "gpt2" / "model.onnx")
    inputs = {name: data[f"in_{name}"] for name in program.inputs}
    options = tx8ir.CompileOptions(opt_graph="required")
    PassManager.parse("nhwc,canonicalize,constant-fold,cse,dce").run(program)
    plain = tx8ir.compile(program, options=options)
    (expected,) = plain.run(inputs).values()
    assert statistics(program)["vertical"] == 4
    fused = tx8ir.compile(program, options=options)
    (found,) = fused.run(inputs).values()
    np.testing.assert_array_equal(found, expected)
    assert fused.report.run.sim.cycles < 0.98 * plain.report.run.sim.cycles


# --- generated programs -----------------------------------------------------------------------------------------------


def chain(writer: Writer) -> Sequence[Value]:
    """Elementwise operations one after another, and beside each other."""
    x = writer.value(lambda t: isinstance(t, VTensorType) and t.element.is_float)
    if x is None:
        return ()
    with Builder.at_end(writer.block):
        y = writer.one_of([pd.tanh, pd.exp, pd.relu])(x)
        z = writer.one_of([pd.add, pd.multiply, pd.maximum])(y, x)
        if writer.one_of([False, True]):
            return [*z.results, *pd.abs(x).results]
        if ranked(x).rank and writer.one_of([False, True]):
            return pd.subtract(z, pd.max(y, axis=(0,), keepdim=True)).results
        return z.results


INPUTS = [T, TensorType((2, 3), f32), VTensorType((2, 2), bf16)]
THERE_AND_BACK = f"{PASS},inline-fusions"


@with_examples()
@pytest.mark.parametrize(("pipeline", "changed"), [(PASS, 2 / 3), (DOWN, 2 / 3), (BESIDE, 1 / 3), (THERE_AND_BACK, 0)])
def test_generated_programs_keep_their_bits(pipeline: str, changed: float, examples: int) -> None:
    programs = tensor_programs(EVERYTHING, steps=[chain], inputs=INPUTS)
    assert_preserves(
        pipeline, programs=programs, examples=examples, guarantee=NumericGuarantee.BITWISE, changed=changed
    )
