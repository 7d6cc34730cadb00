"""Symbols: names in tables inside one another, who is meant by them, and what passes make of calls across tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tx8ir
from support.steps import assert_linear
from tx8ir.analysis.integer_ranges import integer_ranges
from tx8ir.core import (
    ArrayAttr,
    DictAttr,
    IrError,
    NestedSymbolRefAttr,
    Operation,
    Program,
    StrAttr,
    SymbolRefAttr,
    VerifyError,
    print_op,
)
from tx8ir.core.ir.symbol_table import Symbols, SymbolTables, names_of, references_in
from tx8ir.dialects import func
from tx8ir.interpreter import evaluate
from tx8ir.passes import PassManager

TEXT = """
module {
  module @library {
    module @inner {
      func.func @scale(%x: VEC) -> VEC {
        %0 = "pd.scale"(%x) {bias = 0.0 : f64, bias_after_scale = true, scale = 3.0 : f64} : (VEC) -> VEC
        return %0 : VEC
      }
    }
    func.func @twice(%x: VEC) -> VEC {
      %0 = func.call @scale(%x) : (VEC) -> VEC
      %1 = func.call @inner::@scale(%0) : (VEC) -> VEC
      return %1 : VEC
    }
    func.func private @scale(%x: VEC) -> VEC {
      %0 = "pd.scale"(%x) {bias = 0.0 : f64, bias_after_scale = true, scale = 2.0 : f64} : (VEC) -> VEC
      return %0 : VEC
    }
  }
  func.func @main(%x: VEC) -> (VEC, VEC) {
    %0 = func.call @library::@twice(%x) : (VEC) -> VEC
    %1 = func.call @scale(%x) : (VEC) -> VEC
    return %0, %1 : VEC, VEC
  }
  func.func private @scale(%x: VEC) -> VEC {
    %0 = "pd.scale"(%x) {bias = 0.0 : f64, bias_after_scale = true, scale = 5.0 : f64} : (VEC) -> VEC
    return %0 : VEC
  }
}
""".replace("VEC", "!pd.vtensor<2xf32>")


@pytest.fixture
def program() -> Program:
    found = tx8ir.parse(TEXT)
    found.verify()
    return found


def calls(program: Program) -> dict[str, func.CallOp]:
    return {f"{op.parent_op.sym_name}: {op.callee}": op for op in program.module.walk() if isinstance(op, func.CallOp)}


def scale_of(function: Operation | None) -> float:
    assert function is not None
    first = function.regions[0].block.first_op
    assert first is not None
    return first.attributes["scale"].value


def test_a_name_means_what_the_nearest_table_says(program: Program) -> None:
    made = calls(program)
    assert scale_of(made["main: @scale"].function()) == 5.0
    assert scale_of(made["twice: @scale"].function()) == 2.0
    assert scale_of(made["twice: @inner::@scale"].function()) == 3.0
    found = made["main: @library::@twice"].function()
    assert found is not None
    assert found.sym_name == "twice"


@pytest.mark.parametrize(
    ("reference", "is_found"),
    [
        (SymbolRefAttr("library"), True),
        (NestedSymbolRefAttr(["library", "inner", "scale"]), True),
        (NestedSymbolRefAttr(["library", "outer", "scale"]), False),
        (NestedSymbolRefAttr(["main", "scale"]), False),  # a function is not a table
        (SymbolRefAttr("twice"), False),
    ],
)
def test_references_go_from_table_to_table(program: Program, reference: SymbolRefAttr, is_found: bool) -> None:
    found = Symbols.of(program.module).resolve(reference)
    assert (found is not None) is is_found
    if found is not None:
        assert found.attributes["sym_name"].value == names_of(reference)[-1]


def test_a_name_is_not_looked_up_further_out(program: Program) -> None:
    call = calls(program)["twice: @scale"]
    assert SymbolTables().resolve(call, SymbolRefAttr("main")) is None
    call.set_attribute("callee", SymbolRefAttr("main"))
    with pytest.raises(VerifyError, match=r"func\.call calls @main, which the module does not define"):
        program.verify()


@pytest.mark.parametrize(
    ("callee", "message"),
    [
        (["library", "lost"], r"func.call calls @library::@lost, which the module does not define"),
        (["library", "inner"], r"func.call calls @library::@inner, which the module does not define"),
        (["lost", "twice"], r"func.call calls @lost::@twice, which the module does not define"),
    ],
)
def test_a_use_without_a_definition_is_a_fault(program: Program, callee: list[str], message: str) -> None:
    calls(program)["main: @library::@twice"].set_attribute("callee", NestedSymbolRefAttr(callee))
    with pytest.raises(IrError, match=message):
        program.verify()


def test_another_type_is_a_fault(program: Program) -> None:
    text = str(program).replace(
        "callee = @library::@twice} : (!pd.vtensor<2xf32>)", "callee = @library::@typed} : (!pd.vtensor<2xf32>)"
    )
    text = text.replace("@twice(", "@typed(").replace(
        "func.func @typed(%arg0: !pd.vtensor<2xf32>)",
        "func.func @typed(%arg0: !pd.vtensor<2xf32>, %arg1: !pd.vtensor<2xf32>)",
    )
    with pytest.raises(IrError, match=r"func.call is .*, @library::@typed is"):
        tx8ir.parse(text).verify()


def test_all_references_in_an_attribute_are_found() -> None:
    a, b = SymbolRefAttr("a"), NestedSymbolRefAttr(["b", "c"])
    assert set(references_in(DictAttr({"x": ArrayAttr([a, StrAttr("a")]), "y": DictAttr({"z": b, "w": a})}))) == {a, b}


def test_text_and_evaluation(program: Program) -> None:
    short = print_op(program.module, short=True)
    assert "func.call @library::@twice(%arg0)" in short
    assert print_op(tx8ir.parse(short).module) == str(program)
    x = np.array([1.0, 2.0], np.float32)
    first, second = evaluate(program, {"arg0": x}).values()
    assert first.tolist() == [6.0, 12.0]
    assert second.tolist() == [5.0, 10.0]


PIPELINES = (
    "inline",
    "remove-unused-functions",
    "sccp",
    "func.func(cse,dce)",
    "canonicalize",
    "copy-elision",
    "to-value-semantics",
    "simplify-control-flow,inline,remove-unused-functions,dce",
    "straighten",
)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_passes_keep_what_calls_across_tables_mean(program: Program, pipeline: str) -> None:
    x = np.array([1.0, 2.0], np.float32)
    expected = [a.tolist() for a in evaluate(program, {"arg0": x}).values()]
    PassManager.parse(pipeline).run(program)
    assert [a.tolist() for a in evaluate(program, {"arg0": x}).values()] == expected


def test_inlining_says_which_calls_stay(program: Program) -> None:
    report = PassManager.parse("inline").run(program)
    assert dict(report.stages[0].statistics) == {"nested": 3, "inlined": 1}


def test_a_function_of_another_table_is_taken_for_unknown() -> None:
    text = TEXT.replace("!pd.vtensor<2xf32>", "i32")
    text = "\n".join(line for line in text.splitlines() if "pd.scale" not in line).replace(
        "return %0 : i32", "return %x : i32"
    )
    program = tx8ir.parse(text.replace("return %0, %1", "return %0, %1"))
    found = integer_ranges(program)
    end = program.main.body.block.terminator
    assert end is not None
    assert all(known is not None and known.is_full for known in map(found.range_of, end.operands))


@pytest.mark.slow
def test_the_cost_is_linear_in_references() -> None:
    def prepare(count: int) -> Callable[[], object]:
        module = tx8ir.parse(TEXT)
        block = module.main.body.block
        call = calls(module)["main: @library::@twice"]
        for _ in range(count):
            block.insert_before(call.clone(), call)
        return module.verify

    assert_linear(prepare, 50)
