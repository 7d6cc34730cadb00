"""Calls give way to bodies: of one block and of several, in regions, moved or cloned, and which calls stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from support.examples import with_examples
from support.steps import assert_linear
from tx8ir.core import Builder, FileLocation, FunctionType, Program, SymbolRefAttr, TensorType, Value, parse, print_op
from tx8ir.dialects import cf, func, pd, scf
from tx8ir.rewriting.provenance import provenance
from tx8ir.testing import assert_preserves, check
from tx8ir.testing.programs import EVERYTHING, Writer, tensor_programs
from tx8ir.testing.programs.control import call as call_step
from tx8ir.transforms import Inline

T = "!pd.vtensor<2xf32>"
C = "!pd.vtensor<i1>"

TEXT = f"""
module {{
  func.func @main(%x: {T}, %c: {C}) -> ({T}, {T}) {{
    %0 = "func.call"(%x) {{callee = @twice}} : ({T}) -> {T}
    %1 = "func.call"(%0, %c) {{callee = @choose}} : ({T}, {C}) -> {T}
    %2 = "scf.if"(%c) ({{
      %3 = "func.call"(%1) {{callee = @twice}} : ({T}) -> {T}
      "scf.yield"(%3) : ({T}) -> ()
    }}, {{
      "scf.yield"(%1) : ({T}) -> ()
    }}) : ({C}) -> {T}
    return %1, %2 : {T}, {T}
  }}
  func.func @twice(%x: {T}) -> {T} {{
    %0 = "pd.add"(%x, %x) : ({T}, {T}) -> {T}
    return %0 : {T}
  }}
  func.func @choose(%x: {T}, %c: {C}) -> {T} {{
    "cf.cond_br"(%c, %x) [^bb1, ^bb2] {{operandSegmentSizes = array<i32: 1, 0, 1>}} : ({C}, {T}) -> ()
  ^bb1:
    %0 = "func.call"(%x) {{callee = @twice}} : ({T}) -> {T}
    return %0 : {T}
  ^bb2(%1: {T}):
    %2 = "pd.relu"(%1) : ({T}) -> {T}
    return %2 : {T}
  }}
}}
"""


def names(program: Program) -> list[str]:
    return [op.name for op in program.main.walk()]


def module(*functions: str) -> Program:
    """Functions with the signature of one vtensor to one: each `name: body`."""
    text = ""
    for function in functions:
        name, _, body = function.partition(":")
        text += f"func.func @{name}(%x: {T}) -> {T} {{ {body} }}\n"
    return parse(f"module {{ {text} }}")


def call(result: str, callee: str, value: str = "%x") -> str:
    return f'{result} = "func.call"({value}) {{callee = @{callee}}} : ({T}) -> {T}\n'


RELU = f'%r = "pd.relu"(%x) : ({T}) -> {T} return %r : {T}'


def test_the_text_before_and_after(run, golden, assert_same) -> None:
    program = parse(TEXT)
    before = program.clone()
    assert run(program, "inline").stages[0].statistics == {"inlined": 4, "moved": 1}
    golden(f"// before\n{before}\n\n// inline\n{program}", "transforms/inline.mlir")
    assert_same(before, program)
    assert run(program, "inline").stages[0].statistics == {}


def test_a_function_called_once_is_moved_and_a_public_one_is_cloned(run) -> None:
    program = module("main:" + call("%0", "f") + f"return %0 : {T}", f"f: {RELU}")
    relu = program.function("f").body.block.first_op
    run(program, "inline")
    assert program.main.body.block.first_op is relu
    assert len(program.body) == 1
    program = module("main:" + call("%0", "f") + f"return %0 : {T}", f"f: {RELU}")
    program.function("f").set_attribute("sym_visibility", "public")
    assert run(program, "inline").stages[0].statistics == {"inlined": 1}
    assert len(program.body) == 2


def test_a_symbol_in_an_attribute_keeps_the_function(run) -> None:
    program = module("main:" + call("%0", "f") + f"return %0 : {T}", f"f: {RELU}")
    program.main.set_attribute("table", [SymbolRefAttr("f")])
    assert run(program, "inline").stages[0].statistics == {"inlined": 1}
    assert program.function("f")


def test_recursion_stays(run) -> None:
    loop = (
        "f:" + call("%0", "g") + f"return %0 : {T}",
        "g:" + call("%0", "f") + call("%1", "h", "%0") + f"return %1 : {T}",
    )
    program = module("main:" + call("%0", "f") + f"return %0 : {T}", *loop, f"h: {RELU}")
    assert run(program, "inline").stages[0].statistics == {"recursive": 3, "inlined": 1, "moved": 1}
    program = module("main: return %x : " + T, "f:" + call("%0", "f") + f"return %0 : {T}")
    assert run(program, "inline").stages[0].statistics == {"recursive": 1}


def test_large_functions_stay_unless_they_are_called_once(run) -> None:
    twice = "main:" + call("%0", "f") + call("%1", "f", "%0") + f"return %1 : {T}"
    large = "f:" + call("%0", "g") + call("%1", "g", "%0") + f"return %1 : {T}"
    program = module(twice, large, f"g: {RELU}")
    assert run(program, "inline{max-ops=2}").stages[0].statistics == {"inlined": 2, "too_large": 2}
    program = module(twice, large, f"g: {RELU}")
    assert run(program, "inline{max-ops=5}").stages[0].statistics == {"inlined": 4}
    assert names(program).count("pd.relu") == 4
    once = module("main:" + call("%0", "f") + f"return %0 : {T}", large, f"g: {RELU}")
    assert run(once, "inline{max-ops=0}").stages[0].statistics == {"inlined": 1, "moved": 1, "too_large": 2}


def test_several_blocks_do_not_fit_into_a_region(run, assert_same) -> None:
    calls = f'"func.call"(%1) {{callee = @twice}} : ({T})', f'"func.call"(%1, %c) {{callee = @choose}} : ({T}, {C})'
    program = parse(TEXT.replace(*calls))
    before = program.clone()
    assert run(program, "inline").stages[0].statistics == {"inlined": 3, "refused": 1}
    assert_same(before, program)


def test_tensors_go_on_sharing_storage(run) -> None:
    text = """module {
      func.func @main(%x: !pd.tensor<2xf32>) -> (!pd.tensor<2xf32>, !pd.tensor<2xf32>) {
        %0 = "func.call"(%x) {callee = @f} : (!pd.tensor<2xf32>) -> !pd.tensor<2xf32>
        return %0, %x : !pd.tensor<2xf32>, !pd.tensor<2xf32>
      }
      func.func @f(%y: !pd.tensor<2xf32>) -> !pd.tensor<2xf32> {
        %0 = "pd.relu_"(%y) : (!pd.tensor<2xf32>) -> !pd.tensor<2xf32>
        return %y : !pd.tensor<2xf32>
      }
    }"""
    program = parse(text)
    assert check(program, "inline").passed
    run(program, "inline")
    assert names(program) == ["func.func", "pd.relu_", "func.return"]
    assert set(program.main.body.block.terminator.operands) == {program.main.body.block.args[0]}
    assert isinstance(program.main.body.block.args[0].type, TensorType)


def test_operations_know_the_call_they_come_from(run) -> None:
    program = parse(
        f"""module {{
      func.func @main(%x: {T}) -> {T} {{
        %0 = "func.call"(%x) {{callee = @f}} : ({T}) -> {T} loc("main.py":3:1)
        return %0 : {T}
      }}
      func.func @f(%x: {T}) -> {T} {{
        %0 = "func.call"(%x) {{callee = @g}} : ({T}) -> {T} loc("f.py":2:1)
        return %0 : {T}
      }}
      func.func @g(%x: {T}) -> {T} {{
        %0 = "pd.relu"(%x) : ({T}) -> {T} loc("g.py":1:1)
        return %0 : {T}
      }}
    }}"""
    )
    run(program, "inline")
    made = provenance(program.main.body.block.first_op)
    assert str(made) == '"g.py":1:1, "f.py":2:1, "main.py":3:1 -> inline'
    location = program.main.body.block.first_op.location
    written = 'loc(fused<"inline">[callsite("g.py":1:1 at callsite("f.py":2:1 at "main.py":3:1))])'
    assert str(location) == written
    again = parse(print_op(program.module, locations=True))
    assert str(again.main.body.block.first_op.location) == written


def test_a_long_chain_of_calls_keeps_the_inner_call_sites(run) -> None:
    program = _chain(40)
    for number, op in enumerate(op for op in program.module.walk() if op.name != "func.func"):
        op.location = FileLocation("f.py", number + 1, 1)
    relu = next(op for op in program.module.walk() if op.name == "pd.relu")
    call_site = next(op for op in program.body.ops if op.sym_name == "f39").body.block.first_op.location
    own = relu.location
    run(program, "inline")
    made = provenance(program.main.body.block.first_op)
    assert made.sources[:2] == (own, call_site)
    assert len(made.sources) == 17


# --- size ----------------------------------------------------------------------------------------------------------


def _inlined(program: Program, **options: int) -> dict[str, int]:
    inlining = Inline(**options)
    inlining.run(program)
    program.verify()
    return dict(inlining.statistics)


def _chain(count: int) -> Program:
    links = [f"f{i}:" + call("%0", f"f{i + 1}") + f"return %0 : {T}" for i in range(count)]
    return module("main:" + call("%0", "f0") + f"return %0 : {T}", *links, f"f{count}: {RELU}")


def _choices(count: int) -> Program:
    """Calls of a function with two blocks, all in one block."""
    calls = [f'%{i + 1} = "func.call"(%{i}, %c) {{callee = @choose}} : ({T}, {C}) -> {T}\n' for i in range(count)]
    main = f"func.func @main(%0: {T}, %c: {C}) -> {T} {{ {''.join(calls)} return %{count} : {T} }}"
    return parse(f"module {{ {main}" + TEXT[TEXT.index("  func.func @twice") :])


@pytest.mark.parametrize("make", [_chain, _choices])
def test_linear_in_the_calls(make: Callable[[int], Program]) -> None:
    def inlining(count: int) -> Callable[[], object]:
        program, inline = make(count), Inline()
        return lambda: inline.run(program)

    assert_linear(inlining, 50)


def test_a_chain_of_three_thousand_functions_becomes_one() -> None:
    program = _chain(3000)
    assert _inlined(program) == {"inlined": 3001, "moved": 3001}
    assert names(program) == ["func.func", "pd.relu", "func.return"]


@pytest.mark.slow
def test_calls_in_one_block_become_three_thousand_blocks() -> None:
    program = _choices(999)
    assert _inlined(program) == {"inlined": 1000, "moved": 1}
    assert len(program.main.body) == 2_998


@pytest.mark.slow
def test_functions_that_call_the_next_one_twice_do_not_explode() -> None:
    links = [
        f"f{i}:" + call("%0", f"f{i + 1}") + call("%1", f"f{i + 1}", "%0") + f"return %1 : {T}" for i in range(200)
    ]
    program = module("main:" + call("%0", "f0") + f"return %0 : {T}", *links, f"f200: {RELU}")
    assert _inlined(program, max_ops=100)["too_large"] > 50
    assert sum(1 for _ in program.module.walk()) < 401 * 100


# --- generated programs --------------------------------------------------------------------------------------------


def call_of_blocks(writer: Writer) -> Sequence[Value]:
    """A call of a function that branches, returning twice; half of the time inside an `scf.if`, and its operand."""
    value, condition = writer.tensor(), writer.condition()
    type_, name = value.type, f"f{len(writer.program.body)}"
    with Builder.at_end(writer.program.body):
        function = func.FuncOp(sym_name=name, function_type=FunctionType([type_, condition.type], [type_, type_]))
    x, c = function.body.block.args
    sides = [function.body.append(type(function.body.block)([type_])) for _ in range(2)]
    with Builder.at_end(function.body.block):
        cf.cond_br(c, [x], [x], true_dest=sides[0], false_dest=sides[1])
    for side in sides:
        inner = writer.inside(side, [x, *side.args])
        inner.can_branch = inner.in_main = False
        inner.write(2)
        with Builder.at_end(inner.block):
            func.ReturnOp([inner.value_of(type_), inner.value_of(type_)])

    def called() -> Sequence[Value]:
        return func.call([value, condition], callee=SymbolRefAttr(name), outputs=[type_, type_]).outputs

    with Builder.at_end(writer.block):
        if writer.one_of([False, False, True]):
            return scf.IfOp.build(condition, called, lambda: [value, value]).outputs
        return called()


MOTIFS = [call_step, call_of_blocks]


@with_examples()
@pytest.mark.parametrize("pipeline", ["inline", "inline{max-ops=2}"])
def test_programs_keep_their_answers(twice, pipeline: str, examples: int) -> None:
    assert_preserves(
        twice(pipeline), programs=tensor_programs(EVERYTHING, steps=MOTIFS), examples=examples, changed=1 / 3
    )


def test_inlining_and_removing_leaves_main_alone(run) -> None:
    program = parse(TEXT)
    run(program, "inline,remove-unused-functions")
    assert [op.sym_name for op in program.body] == ["main"]
    assert "func.call" not in names(program)
    assert pd.ReluOp.name in names(program)
