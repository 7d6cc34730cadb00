"""Conversion to a set of legal operations: what is converted, what stays and why; a failure changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tx8ir.core import IrError, Operation, Program, Pure, Value, VTensorType, f32, i1, structurally_equal
from tx8ir.dialects import builtin, func, pd, scf
from tx8ir.rewriting import ConvergenceError
from tx8ir.rewriting.declarative import Make, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import rank
from tx8ir.rewriting.dialect_conversion import Conversion, ConversionError, ConversionTarget, Legality, convert
from tx8ir.rewriting.provenance import provenance

T = VTensorType((2, 3), f32)
x, y = Var("x"), Var("y")

TANH_TO_SIN = Rule("tanh-to-sin", Node(pd.TanhOp, x), Make(pd.SinOp, x))
SIN_TO_EXP = Rule("sin-to-exp", Node(pd.SinOp, x), Make(pd.ExpOp, x))
FLAT_SQRT = Rule("flat-sqrt", Node(pd.SqrtOp, Var("flat", rank(1))), Make(pd.ExpOp, Var("flat")))

Build = Callable[..., Program]
Names = Callable[[Program], list[str]]


def target() -> ConversionTarget:
    return ConversionTarget().legal(func.FuncOp, func.ReturnOp, pd.ExpOp).illegal(pd.TanhOp, pd.SinOp, pd.SqrtOp)


def test_what_a_pattern_makes_is_converted_further(build: Build, names: Names) -> None:
    program = build(lambda a: pd.tanh(pd.tanh(a)), T)
    report = convert(program.module, [TANH_TO_SIN, SIN_TO_EXP], target(), mode=Conversion.FULL, by="lower")
    assert names(program) == ["pd.exp", "pd.exp"]
    assert report.rewrites == {"tanh-to-sin": 2, "sin-to-exp": 2}
    assert report.illegal == ()
    program.verify()
    steps = provenance(program.main.body.block.first_op).steps
    assert [str(step) for step in steps] == ["lower/tanh-to-sin", "lower/sin-to-exp"]


def test_a_legal_operation_is_never_rewritten(build: Build, names: Names) -> None:
    program = build(lambda a: pd.tanh(a), T)
    convert(program.module, [TANH_TO_SIN], ConversionTarget().legal_dialect("pd", "func"), mode=Conversion.FULL)
    assert names(program) == ["pd.tanh"]


def test_a_partial_conversion_leaves_what_the_target_does_not_mention(build: Build, names: Names) -> None:
    program = build(lambda a: pd.relu(pd.sin(a)), T)
    report = convert(program.module, [SIN_TO_EXP], target())
    assert names(program) == ["pd.exp", "pd.relu"]
    assert report.unknown == {"pd.relu": 1}
    with pytest.raises(ConversionError, match="is unknown") as caught:
        convert(program.module, [SIN_TO_EXP], target(), mode=Conversion.FULL)
    (stayed,) = caught.value.report.illegal
    assert (stayed.op.name, stayed.legality, stayed.explanations) == ("pd.relu", Legality.UNKNOWN, ())


def test_what_stays_illegal_is_listed_with_types_place_and_reason_and_nothing_changes(build: Build) -> None:
    program = build(lambda a: pd.sqrt(pd.tanh(a)), T)
    before, function = program.clone(), program.main
    with pytest.raises(ConversionError) as caught:
        convert(program.module, [TANH_TO_SIN, SIN_TO_EXP, FLAT_SQRT], target())
    assert structurally_equal(before.module, program.module) is None
    program.verify()
    assert program.main is not function  # the copy, where the half converted one was
    (stayed,) = caught.value.report.illegal
    assert stayed.op.name == "pd.sqrt"
    assert stayed.types == ((T,), (T,))
    assert stayed.explanations[0].failure.expected == "rank 1"
    text = str(caught.value)
    assert text.startswith(f"1 operation stayed illegal:\npd.sqrt ({T}) -> ({T}) is illegal, at loc(")
    assert "flat-sqrt does not match pd.sqrt: operand 0 of the root: 'flat': expected rank 1" in text
    assert caught.value.report.rewrites == {"tanh-to-sin": 1, "sin-to-exp": 1}


def test_the_most_specific_statement_counts() -> None:
    def of(op: Operation) -> Legality:
        return statements.legality(op)

    statements = ConversionTarget().legal_dialect("pd").illegal(Pure).legal(pd.ExpOp, when=lambda op: op.x.type is T)
    constant = builtin.constant(value=2.0)
    flat = pd.full(shape=(3,), value=1.0, dtype=f32)
    full = pd.full(shape=(2, 3), value=1.0, dtype=f32)
    assert of(pd.exp(full)) is Legality.LEGAL
    assert of(pd.exp(flat)) is Legality.ILLEGAL  # by its condition
    assert of(pd.tanh(full)) is Legality.ILLEGAL  # by its trait
    assert ConversionTarget().legal_dialect("pd").legality(constant) is Legality.UNKNOWN
    later = ConversionTarget().illegal(pd.ExpOp).legal(pd.ExpOp)
    assert later.legality(pd.exp(full)) is Legality.LEGAL


def test_operations_inside_regions_are_converted(build: Build) -> None:
    def body(c: Value, a: Value) -> Operation:
        return scf.IfOp.build(c, lambda: [pd.tanh(a)], lambda: [a])

    program = build(body, VTensorType((), i1), T)
    convert(program.module, [TANH_TO_SIN, SIN_TO_EXP], target())
    assert [op.name for op in program.module.walk() if op.name.startswith("pd.")] == ["pd.exp"]


def test_an_illegal_operation_that_is_dead_is_removed(build: Build, names: Names) -> None:
    def body(a: Value) -> Value:
        pd.sqrt(a)
        return a

    program = build(body, T)
    convert(program.module, [], target(), mode=Conversion.FULL)
    assert names(program) == []


def test_a_conversion_that_does_not_end_is_an_error_and_is_taken_back(build: Build, names: Names) -> None:
    back = Rule("sin-to-tanh", Node(pd.SinOp, x), Make(pd.TanhOp, x))
    program = build(pd.sin, T)
    with pytest.raises(ConvergenceError, match=r"within 50 rewrites; most often: sin-to-tanh 26, tanh-to-sin 25"):
        convert(program.module, [TANH_TO_SIN, back], target(), max_rewrites=50)
    assert names(program) == ["pd.sin"]


def test_only_isolated_operations_are_converted(build: Build) -> None:
    program = build(pd.sin, T)
    with pytest.raises(IrError, match="only an isolated operation"):
        convert(program.main.body.block.first_op, [], target())
