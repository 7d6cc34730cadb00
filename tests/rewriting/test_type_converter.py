"""Conversion of types: one to one, one to several, to none; what is built at the borders; what a failure leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tx8ir
from tx8ir.core import (
    Block,
    Builder,
    FunctionType,
    IntAttr,
    IrError,
    Operation,
    Program,
    SymbolRefAttr,
    Type,
    Value,
    VTensorType,
    detached,
    f32,
    i1,
    i32,
    i64,
)
from tx8ir.core.attrs.builtin_types import IndexType
from tx8ir.dialects import arith, builtin, cf, func, pd, scf
from tx8ir.interpreter import evaluate
from tx8ir.passes import PassManager
from tx8ir.rewriting import Rewriter
from tx8ir.rewriting.conversion_rewriter import ConversionPattern, ConversionRewriter, reconcile, single
from tx8ir.rewriting.dialect_conversion import Conversion, ConversionError, ConversionTarget, convert
from tx8ir.rewriting.structural_conversion import structural_patterns
from tx8ir.rewriting.type_converter import INCONVERTIBLE, ElementTypeConverter, TypeConverter

INDEX = IndexType()
WHOLE, HALF, BIT = VTensorType((4,), f32), VTensorType((2,), f32), VTensorType((), i1)


def as_i64() -> TypeConverter:
    converter = TypeConverter()
    converter.add_conversion(lambda type: type)
    converter.add_conversion(lambda type: i64 if type is INDEX else None)
    return converter


def as_halves() -> TypeConverter:
    converter = TypeConverter()
    converter.add_conversion(lambda type: type)
    converter.add_conversion(lambda type: (HALF, HALF) if type is WHOLE else None)
    return converter


# --- types -----------------------------------------------------------------------------------------------------------


def test_conversions_are_asked_newest_first_and_remembered() -> None:
    asked: list[Type] = []
    converter = TypeConverter()
    assert converter.convert(i32) is None

    @converter.add_conversion
    def _(type: Type) -> Type:
        asked.append(type)
        return type

    converter.add_conversion(lambda type: (i32, i32) if type is i64 else None)
    converter.add_conversion(lambda type: INCONVERTIBLE if type is f32 else () if type is i1 else None)
    assert [converter.convert(t) for t in (i32, i64, f32, i1)] == [(i32,), (i32, i32), None, ()]
    assert converter.convert(i32) == (i32,)
    assert asked == [i32]
    assert converter.convert_all([i64, i1, i32]) == (i32, i32, i32)
    assert converter.convert_all([i64, f32]) is None
    assert [converter.is_legal_type(t) for t in (i32, i64, f32, FunctionType([i32], [i64]))] == [
        True,
        False,
        False,
        False,
    ]


def test_a_materialization_that_gives_other_types_is_refused() -> None:
    converter = as_i64()
    converter.add_target_materialization(lambda values, types: values)
    with pytest.raises(IrError, match=r"a target materialization gave \(index\), expected \(i64\)"):
        converter.materialize_target(Block([INDEX]).args, [i64])


def test_argument_materializations_come_before_those_of_sources() -> None:
    converter, block = as_i64(), Block([i64, INDEX])
    assert converter.materialize_argument(block.args[:1], [INDEX]) is None
    converter.add_source_materialization(lambda values, types: block.args[1])
    assert converter.materialize_argument(block.args[:1], [INDEX]) == (block.args[1],)
    other = Block([INDEX]).args[0]
    converter.add_argument_materialization(lambda values, types: other)
    assert converter.materialize_argument(block.args[:1], [INDEX]) == (other,)


def test_elements_are_replaced_inside_of_types() -> None:
    converter = ElementTypeConverter({f32: i32})
    assert converter.of(FunctionType([WHOLE], [f32])) is FunctionType([VTensorType((4,), i32)], [i32])


# --- one to one ------------------------------------------------------------------------------------------------------

TEXT = """
module {
  func.func @main(%a: index, %n: index, %c: !pd.vtensor<i1>) -> index attributes {arg_names = ["a", "n", "c"]} {
    %one = arith.constant 1 : index
    %r = "scf.if"(%c) ({
      %0 = arith.addi %a, %one : index
      "scf.yield"(%0) : (index) -> ()
    }, {
      "scf.yield"(%n) : (index) -> ()
    }) : (!pd.vtensor<i1>) -> index
    cf.br ^bb1(%r : index)
  ^bb1(%x: index):
    %y = func.call @f(%x) : (index) -> index
    return %y : index
  }
  func.func private @f(%x: index) -> index {
    return %x : index
  }
}
"""


class ConvertAdd(ConversionPattern[arith.AddIOp]):
    name: ClassVar[str] = "convert-add"
    roots = (arith.AddIOp,)

    def convert(self, op: Any, operands: Sequence[tuple[Value, ...]], rewriter: ConversionRewriter) -> bool:
        rewriter.replace(op, rewriter.insert(arith.addi(*single(operands))))
        return True


class ConvertConstant(ConversionPattern[arith.ConstantOp]):
    name: ClassVar[str] = "convert-constant"
    roots = (arith.ConstantOp,)

    def convert(self, op: Any, operands: Sequence[tuple[Value, ...]], rewriter: ConversionRewriter) -> bool:
        rewriter.replace(op, arith.constant(value=IntAttr(op.value.value, i64)))
        return True


def target_of(converter: TypeConverter) -> tuple[ConversionTarget, list[Any]]:
    target = ConversionTarget().legal(builtin.ModuleOp)
    return target, structural_patterns(target, converter)


def test_a_full_conversion_leaves_no_cast() -> None:
    program, converter = tx8ir.parse(TEXT), as_i64()
    target, patterns = target_of(converter)
    target.legal_dialect("arith", when=converter.is_legal)
    convert(
        program.module, [*patterns, ConvertAdd(converter), ConvertConstant(converter)], target, mode=Conversion.FULL
    )
    program.verify()
    text = str(program)
    assert "index" not in text
    assert "unrealized" not in text


def test_a_partial_conversion_materializes_at_the_borders() -> None:
    program, converter = tx8ir.parse(TEXT), as_i64()
    target, patterns = target_of(converter)
    converter.add_source_materialization(lambda values, types: arith.index_cast(values[0], out=types[0]))
    converter.add_target_materialization(lambda values, types: arith.index_cast(values[0], out=types[0]))
    convert(program.module, patterns, target)
    program.verify()
    assert str(program).count("arith.index_cast") == 2  # around the addition
    assert "unrealized" not in str(program)


def test_a_cast_that_nothing_makes_is_an_error_that_says_so_and_changes_nothing() -> None:
    program, converter = tx8ir.parse(TEXT), as_i64()
    target, patterns = target_of(converter)
    before = str(program)
    with pytest.raises(ConversionError) as caught:
        convert(program.module, patterns, target)
    assert "no argument materialization makes (index) of (i64)" in str(caught.value)
    assert "no target materialization makes (i64) of (index)" in str(caught.value)
    assert str(program) == before
    program.verify()
    target.legal(builtin.UnrealizedConversionCastOp)
    convert(program.module, patterns, target)
    program.verify()
    assert str(program).count("builtin.unrealized_conversion_cast") == 2
    assert reconcile([op for op in program.module.walk() if op.name.endswith("conversion_cast")], "test") == 0


def test_an_inconvertible_operand_is_named() -> None:
    program, converter = tx8ir.parse(TEXT), as_i64()
    converter.add_conversion(lambda type: INCONVERTIBLE if type is INDEX else None)
    target, patterns = target_of(converter)
    target.illegal(arith.AddIOp)
    before = str(program)
    with pytest.raises(
        ConversionError, match="pattern convert-add: operand 0 is index, which nothing takes the place of"
    ):
        convert(program.module, [*patterns, ConvertAdd(converter)], target)
    assert str(program) == before


def test_only_a_conversion_applies_patterns_that_change_types() -> None:
    with detached():
        op = arith.addi(*Block([INDEX, INDEX]).args)
    with pytest.raises(IrError, match=r"only dialect_conversion.convert applies it"):
        ConvertAdd(as_i64()).match_and_rewrite(op, Rewriter(op))


def test_what_a_materialization_makes_is_converted_in_turn() -> None:
    program, converter = tx8ir.parse(TEXT), as_i64()
    target, patterns = target_of(converter)
    converter.add_source_materialization(lambda values, types: arith.index_castui(values[0], out=types[0]))
    converter.add_target_materialization(lambda values, types: arith.index_cast(values[0], out=types[0]))
    target.illegal(arith.IndexCastUIOp)

    class CastAgain(ConversionPattern[arith.IndexCastUIOp]):
        name: ClassVar[str] = "cast-again"
        roots = (arith.IndexCastUIOp,)

        def convert(self, op: Any, operands: Any, rewriter: ConversionRewriter) -> bool:
            rewriter.replace(op, arith.index_cast(op.operands[0], out=INDEX))
            return True

    convert(program.module, [*patterns, CastAgain(converter)], target)
    assert "index_castui" not in str(program)
    assert str(program).count("arith.index_cast") == 2


# --- one to several --------------------------------------------------------------------------------------------------


class ConvertElementwise(ConversionPattern[Operation]):
    """Computes both halves."""

    name: ClassVar[str] = "convert-elementwise"
    roots = (pd.TanhOp, pd.AddOp, pd.MultiplyOp)

    def convert(self, op: Any, operands: Sequence[tuple[Value, ...]], rewriter: ConversionRewriter) -> bool:
        halves = [rewriter.insert(type(op).create(half, [HALF])).results[0] for half in zip(*operands, strict=True)]
        rewriter.replace(op, [halves])
        return True


def grow(draw: Any, pool: list[Value], condition: Value, region: Any, helpers: Any, depth: int) -> None:
    """Write a few operations, with choices, loops, calls and blocks, at the active builder."""
    for _ in range(draw(st.integers(1, 3))):
        x, y = (draw(st.sampled_from(pool)) for _ in range(2))
        step = draw(
            st.sampled_from(["unary", "binary", "call", "if", "loop"] if depth else ["unary", "binary", "call"])
        )
        if step == "unary":
            pool.append(pd.tanh(x).out)
        elif step == "binary":
            pool.append((pd.add if draw(st.booleans()) else pd.multiply)(x, y).out)
        elif step == "call":
            pool.append(func.call([x, y], callee=SymbolRefAttr("helper"), outputs=[WHOLE]).outputs[0])
        else:

            def body(*given: Value, x: Value = x) -> list[Value]:
                inner = [*pool, *given]
                grow(draw, inner, condition, region, helpers, depth - 1)
                return [inner[-1]]

            if step == "if":
                pool.append(scf.IfOp.build(condition, body, body).outputs[0])
            else:
                never = pd.logical_and(condition, pd.logical_not(condition)).out
                pool.append(once(x, condition, never, body))


def once(x: Value, condition: Value, never: Value, body: Callable[[Value], list[Value]]) -> Value:
    """A loop that runs once if the condition holds, else not at all."""
    loop = scf.WhileOp.build([x, condition], lambda a, go: (go, [a, go]), lambda a, go: [*body(a), never])
    return loop.outputs[0]


@st.composite
def programs(draw: st.DrawFn) -> Program:
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType([WHOLE, BIT], [WHOLE]), arg_names=("x", "c"))
        helper = func.FuncOp(sym_name="helper", function_type=FunctionType([WHOLE, WHOLE], [WHOLE]))
    entry = main.body.block
    pool: list[Value] = [entry.args[0]]
    with Builder.at_end(entry):
        grow(draw, pool, entry.args[1], main.body, None, 2)
        if draw(st.booleans()):
            join = main.body.append(Block([WHOLE]))
            cf.cond_br(entry.args[1], [pool[-1]], [pool[0]], true_dest=join, false_dest=join)
            pool = [join.args[0]]
        else:
            join = entry
    with Builder.at_end(join):
        func.ReturnOp([pool[-1]])
    with Builder.at_end(helper.body.block):
        func.ReturnOp([pd.multiply(*helper.body.block.args)])
    program.verify()
    return program


@given(programs(), st.booleans())
def test_values_become_two_through_calls_choices_loops_and_blocks(program: Program, condition: bool) -> None:
    x = np.array([0.5, -1.0, 2.0, 3.0], np.float32)
    expected = evaluate(program, {"x": x, "c": np.array(condition)})["result0"]
    converter = as_halves()
    target, patterns = target_of(converter)
    target.legal_dialect("pd", when=converter.is_legal)
    convert(program.module, [*patterns, ConvertElementwise(converter)], target, mode=Conversion.FULL)
    program.verify()
    assert list(program.inputs) == ["x.0", "x.1", "c"]
    halves = evaluate(program, {"x.0": x[:2], "x.1": x[2:], "c": np.array(condition)})
    assert np.concatenate(list(halves.values())).tobytes() == expected.tobytes()


@given(programs())
def test_a_conversion_that_fails_leaves_the_program(program: Program) -> None:
    converter = as_halves()
    target, patterns = target_of(converter)
    target.legal_dialect("pd", when=converter.is_legal)
    before = str(program)
    if "pd.tanh" not in before and "pd.add" not in before:
        return
    with pytest.raises(ConversionError):
        convert(program.module, patterns, target, mode=Conversion.FULL)
    assert str(program) == before
    program.verify()


def test_an_argument_that_becomes_none_goes() -> None:
    program = tx8ir.parse("""
module {
  func.func @main(%t: none, %x: index) -> (none, index) attributes {arg_names = ["t", "x"]} {
    return %t, %x : none, index
  }
}
""")
    converter = TypeConverter()
    converter.add_conversion(lambda type: () if isinstance(type, tx8ir.core.NoneType) else type)
    target, patterns = target_of(converter)
    convert(program.module, patterns, target, mode=Conversion.FULL)
    assert 'func.func @main(%arg0: index) -> index attributes {arg_names = ["x"]}' in str(program)


# --- casts -----------------------------------------------------------------------------------------------------------


def test_the_text_of_a_cast() -> None:
    text = """module {
  func.func @main(%arg0: i64, %arg1: i32) -> index {
    %0 = builtin.unrealized_conversion_cast %arg0 : i64 to index
    %1:2 = builtin.unrealized_conversion_cast %arg0, %arg1 : i64, i32 to index, f32
    %2 = builtin.unrealized_conversion_cast to index
    return %0 : index
  }
}"""
    program = tx8ir.parse(text)
    program.verify()
    assert tx8ir.core.print_op(program.module, short=True) == text
    assert str(tx8ir.parse(str(program))) == str(program)
    with pytest.raises(IrError, match="has no result"):
        builtin.unrealized_conversion_cast([Block([i32]).args[0]], outputs=[]).verify()


def test_casts_that_take_each_other_back_go() -> None:
    program = tx8ir.parse("""
module {
  func.func @main(%a: i64, %b: i32) -> (i64, i32, index) {
    %0 = builtin.unrealized_conversion_cast %a, %b : i64, i32 to index
    %1:2 = builtin.unrealized_conversion_cast %0 : index to i64, i32
    %2 = builtin.unrealized_conversion_cast %1#0, %1#1 : i64, i32 to index
    %3:2 = builtin.unrealized_conversion_cast %2 : index to i64, i32
    %4 = builtin.unrealized_conversion_cast %b : i32 to index
    return %3#0, %3#1, %2 : i64, i32, index
  }
}
""")
    casts = [op for op in program.module.walk() if op.name == "builtin.unrealized_conversion_cast"]
    assert len(casts) == 5
    assert dict(PassManager.parse("reconcile-unrealized-casts").run(program).stages[0].statistics) == {"removed": 4}
    end = program.main.body.block.terminator
    assert end is not None
    assert end.operands[:2] == program.main.body.block.args
    (left,) = [op for op in program.module.walk() if op.name == "builtin.unrealized_conversion_cast"]
    assert end.operands[2] is left.results[0]
