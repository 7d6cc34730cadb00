"""Functions that nothing reaches: which go, what keeps one, and that programs compute what they did."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from support.examples import with_examples
from support.steps import assert_linear
from tx8ir.analysis.symbols import referenced_symbols
from tx8ir.core import Builder, FunctionType, Operation, Program, SymbolRefAttr, Value, parse
from tx8ir.dialects import func, pd
from tx8ir.passes import PassError
from tx8ir.testing import assert_preserves
from tx8ir.testing.programs import EVERYTHING, Writer, tensor_programs
from tx8ir.transforms import RemoveUnusedFunctions

PASS = "remove-unused-functions"

TEXT = """
module {
  func.func @main(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "func.call"(%x) {callee = @used} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %0 : !pd.vtensor<4xf32>
  }
  func.func @used(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "func.call"(%x) {callee = @used_by_used} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %0 : !pd.vtensor<4xf32>
  }
  func.func @used_by_used(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    return %x : !pd.vtensor<4xf32>
  }
  func.func @unused(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "func.call"(%x) {callee = @used} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %0 : !pd.vtensor<4xf32>
  }
  func.func @ping(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "func.call"(%x) {callee = @pong} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %0 : !pd.vtensor<4xf32>
  }
  func.func @pong(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "func.call"(%x) {callee = @ping} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %0 : !pd.vtensor<4xf32>
  }
  func.func @offered(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> attributes {sym_visibility = "public"} {
    %0 = "func.call"(%x) {callee = @used_by_offered} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %0 : !pd.vtensor<4xf32>
  }
  func.func @used_by_offered(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    return %x : !pd.vtensor<4xf32>
  }
}
"""


def functions(program: Program) -> list[str]:
    return [op.sym_name for op in program.body if isinstance(op, func.FuncOp)]


def test_the_text_before_and_after(run, golden) -> None:
    program = parse(TEXT)
    before = str(program)
    assert run(program, PASS).stages[0].statistics == {"removed": 3}
    golden(f"// before\n{before}\n\n// {PASS}\n{program}", f"transforms/{PASS}.mlir")
    assert run(program, PASS).stages[0].statistics == {}


def test_an_option_keeps_more(run) -> None:
    program = parse(TEXT)
    run(program, f"{PASS}{{keep=[ping]}}")
    assert functions(program) == ["main", "used", "used_by_used", "ping", "pong", "offered", "used_by_offered"]
    with pytest.raises(PassError, match="option keep names 'pang'; the program has: main, used, "):
        run(program, f"{PASS}{{keep=[pang]}}")


def test_a_library_stays(run) -> None:
    program = parse(TEXT.replace("@main", "@first").replace('attributes {sym_visibility = "public"} ', ""))
    assert run(program, PASS).stages[0].statistics == {}


def test_a_symbol_deep_inside_an_attribute_is_a_reference(run) -> None:
    program = parse(TEXT)
    program.main.set_attribute("table", [1, {"when": [SymbolRefAttr("unused"), "text"]}])
    assert referenced_symbols(program.main) == {"unused": 1, "used": 1}
    run(program, PASS)
    assert "unused" in functions(program)


def test_what_is_no_symbol_keeps_what_it_refers_to(run) -> None:
    program = parse(TEXT)
    with Builder.at_end(program.body):
        pd.full(shape=(), value=0.0).set_attribute("about", SymbolRefAttr("pong"))
    run(program, PASS)
    assert {"ping", "pong"} <= set(functions(program))


def _chain(count: int) -> Program:
    """Functions, each of which calls the next one, and none of which `main` calls."""
    link = '  func.func @f{i}() {{\n    "func.call"() {{callee = @f{j}}} : () -> ()\n    return\n  }}\n'
    chain = "".join(link.format(i=i, j=i + 1) for i in range(count))
    text = "module {\n  func.func @main() {\n    return\n  }\n" + chain
    return parse(text + f"  func.func @f{count}() {{\n    return\n  }}\n}}")


def test_linear_in_the_functions() -> None:
    def removing(count: int) -> Callable[[], object]:
        program = _chain(count)
        return lambda: RemoveUnusedFunctions().run(program)

    assert_linear(removing, 50)


@pytest.mark.slow
def test_three_thousand_functions_in_a_chain() -> None:
    program = _chain(3_000)
    kept, removing = RemoveUnusedFunctions(keep=("f0",)), RemoveUnusedFunctions()
    kept.run(program)
    removing.run(program)
    assert (kept.statistics, removing.statistics) == ({}, {"removed": 3_001})


def uncalled(writer: Writer) -> Sequence[Value]:
    """A function that nobody calls, or that only another one of the kind does."""
    body = writer.program.body
    names = [op.sym_name for op in body if isinstance(op, func.FuncOp) and op.sym_name.startswith("unused")]
    value = writer.tensor()
    type_ = FunctionType([value.type], [value.type])
    with Builder.at_end(body):
        function = func.FuncOp(sym_name=f"unused{len(names)}", function_type=type_)
    with Builder.at_end(function.body.block):
        result: Value | Operation = function.body.block.args[0]
        if names and writer.program.function(names[-1]).function_type is type_:
            result = func.call([result], callee=SymbolRefAttr(names[-1]), outputs=[value.type])
        func.ReturnOp([result])
    return ()


@with_examples()
def test_programs_keep_their_answers(twice, examples: int) -> None:
    assert_preserves(twice(PASS), programs=tensor_programs(EVERYTHING, steps=[uncalled]), examples=examples, changed=1)
