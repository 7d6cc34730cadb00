"""Storage in functions of several blocks becomes values: at joins, in loops of blocks, moved, and from calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from support.examples import with_examples
from tx8ir.core import Operation, Program, Value, parse
from tx8ir.passes import PassManager
from tx8ir.testing import assert_preserves
from tx8ir.testing.programs import EVERYTHING, VALUES, tensor_programs
from tx8ir.testing.programs.control import branch, loop, loop_of_blocks
from tx8ir.testing.programs.drawing import for_each_program
from tx8ir.testing.programs.storage import copy, in_place
from tx8ir.testing.programs.views import tensor_view
from tx8ir.testing.programs.writer import Writer

Golden = Callable[[str, str], None]
ALIASES = "to-value-semantics,copy-elision"
T, V = "!pd.tensor<2x3xf32>", "!pd.vtensor<2x3xf32>"
C, I = "!pd.vtensor<i1>", "!pd.vtensor<i32>"  # noqa: E741  (a type, as T, V and C are)

JOIN = f"""module {{
  func.func @main(%v: {V}, %c: {C}) -> {V} {{
    %t = "builtin.to_tensor"(%v) : ({V}) -> {T}
    %row = "pd.slice"(%t) {{axes = array<i64: 0>, starts = array<i64: 0>, ends = array<i64: 1>}} : ({T}) -> !pd.tensor<1x3xf32>
    "cf.cond_br"(%c, %t) [^left, ^right] {{operandSegmentSizes = array<i32: 1, 1, 0>}} : ({C}, {T}) -> ()
  ^left(%l: {T}):
    %a = "pd.relu_"(%l) : ({T}) -> {T}
    "cf.br"(%a) [^join] : ({T}) -> ()
  ^right:
    %b = "pd.scale_"(%row) {{scale = 2.0 : f64}} : (!pd.tensor<1x3xf32>) -> !pd.tensor<1x3xf32>
    "cf.br"(%t) [^join] : ({T}) -> ()
  ^join(%j: {T}):
    %d = "pd.tanh_"(%row) : (!pd.tensor<1x3xf32>) -> !pd.tensor<1x3xf32>
    %out = "builtin.to_vtensor"(%j) : ({T}) -> {V}
    return %out : {V}
  }}
}}"""  # noqa: E501

LOOP = f"""module {{
  func.func @main(%v: {V}, %n: {I}) -> ({V}, {V}) {{
    %t = "builtin.to_tensor"(%v) : ({V}) -> {T}
    %dead = "builtin.to_tensor"(%v) : ({V}) -> {T}
    %zero = "pd.full"() {{shape = array<i64>, value = 0.0 : f64, dtype = i32}} : () -> {I}
    %one = "pd.full"() {{shape = array<i64>, value = 1.0 : f64, dtype = i32}} : () -> {I}
    "cf.br"(%zero, %t) [^head] : ({I}, {T}) -> ()
  ^head(%i: {I}, %p: {T}):
    %more = "pd.less_than"(%i, %n) : ({I}, {I}) -> {C}
    "cf.cond_br"(%more, %p) [^done, ^body] {{operandSegmentSizes = array<i32: 1, 0, 1>}} : ({C}, {T}) -> ()
  ^body(%q: {T}):
    %before = "builtin.to_tensor"(%q) : ({T}) -> {T}
    %w = "pd.add_"(%q, %v) : ({T}, {V}) -> {T}
    %x = "pd.relu_"(%dead) : ({T}) -> {T}
    %next = "pd.add"(%i, %one) : ({I}, {I}) -> {I}
    "cf.br"(%next, %q) [^head] : ({I}, {T}) -> ()
  ^done:
    %out = "builtin.to_vtensor"(%t) : ({T}) -> {V}
    %same = "builtin.to_vtensor"(%p) : ({T}) -> {V}
    return %out, %same : {V}, {V}
  }}
}}""".replace('"cf.cond_br"(%more, %p) [^done, ^body] {operandSegmentSizes = array<i32: 1, 0, 1>}',
              '"cf.cond_br"(%more, %p) [^body, ^done] {operandSegmentSizes = array<i32: 1, 1, 0>}')  # fmt: skip

MOVED = f"""module {{
  func.func @main(%v: {V}, %c: {C}) -> {V} {{
    %a = "builtin.to_tensor"(%v) : ({V}) -> {T}
    %b = "pd.tanh"(%a) : ({T}) -> {T}
    %chosen = "scf.if"(%c) ({{
      %a1 = "pd.relu_"(%a) : ({T}) -> {T}
      "scf.yield"(%a) : ({T}) -> ()
    }}, {{
      "scf.yield"(%b) : ({T}) -> ()
    }}) : ({C}) -> {T}
    %last = "scf.while"(%chosen) ({{
    ^bb0(%p: {T}):
      %q = "pd.scale_"(%p) {{scale = 0.5 : f64}} : ({T}) -> {T}
      %first = "pd.slice"(%q) {{axes = array<i64: 0, 1>, starts = array<i64: 0, 0>, ends = array<i64: 1, 1>, decrease_axis = array<i64: 0, 1>}} : ({T}) -> !pd.tensor<f32>
      %limit = "pd.full"() {{shape = array<i64>, value = 1.0 : f64}} : () -> !pd.vtensor<f32>
      %large = "pd.greater_than"(%first, %limit) : (!pd.tensor<f32>, !pd.vtensor<f32>) -> !pd.tensor<i1>
      "scf.condition"(%large, %q) : (!pd.tensor<i1>, {T}) -> ()
    }}, {{
    ^bb0(%p: {T}):
      %q = "pd.add_"(%p, %v) : ({T}, {V}) -> {T}
      %r = "pd.tanh"(%q) : ({T}) -> {T}
      "scf.yield"(%r) : ({T}) -> ()
    }}) : ({T}) -> {T}
    %end = "pd.relu_"(%last) : ({T}) -> {T}
    %out = "builtin.to_vtensor"(%end) : ({T}) -> {V}
    return %out : {V}
  }}
}}"""  # noqa: E501

CALLED = f"""module {{
  func.func @make(%v: {V}) -> {T} {{
    %t = "builtin.to_tensor"(%v) : ({V}) -> {T}
    %w = "pd.relu_"(%t) : ({T}) -> {T}
    return %w : {T}
  }}
  func.func @main(%v: {V}) -> {V} {{
    %t = "func.call"(%v) {{callee = @make}} : ({V}) -> {T}
    %u = "func.call"(%v) {{callee = @make}} : ({V}) -> {T}
    %w = "pd.scale_"(%t) {{scale = 3.0 : f64}} : ({T}) -> {T}
    %s = "pd.subtract_"(%w, %u) : ({T}, {T}) -> {T}
    %out = "builtin.to_vtensor"(%t) : ({T}) -> {V}
    return %out : {V}
  }}
}}"""

PROGRAMS = {"join": JOIN, "loop": LOOP, "moved": MOVED, "called": CALLED}


def parsed(text: str) -> Program:
    program = parse(text)
    program.verify()
    return program


def tensors(op: Operation) -> list[str]:
    return [str(v.type) for v in (*op.operands, *op.results) if str(v.type).startswith("!pd.tensor")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_before_and_after(golden: Golden, name: str) -> None:
    program = parsed(PROGRAMS[name])
    rounds = 3  # an integer that is drawn makes a loop long
    inputs = {"arg0": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3), "arg1": np.array(rounds, np.int32)}
    assert_preserves(ALIASES, program, inputs=inputs if name == "loop" else None)
    PassManager.parse("to-value-semantics").run(program)
    golden(str(program), f"transforms/aliases/blocks_{name}_to-value-semantics.mlir")
    PassManager.parse("copy-elision").run(program)
    golden(str(program), f"transforms/aliases/blocks_{name}_{ALIASES.replace(',', '_')}.mlir")


@pytest.mark.parametrize("name", ["join", "loop", "moved"])
def test_a_network_that_writes_nothing_visible_has_only_vtensors(name: str) -> None:
    program = parsed(PROGRAMS[name])
    PassManager.parse(ALIASES).run(program)
    for op in program.module.walk():
        assert not tensors(op), str(op)
        assert op.name not in ("builtin.to_tensor", "builtin.to_vtensor")
        for region in op.regions:
            for block in region.blocks:
                assert not any(str(a.type).startswith("!pd.tensor") for a in block.args)


def test_what_a_call_gives_is_a_tensor_and_all_else_are_vtensors() -> None:
    program = parsed(CALLED)
    PassManager.parse(ALIASES).run(program)
    for op in program.main.walk():
        assert not tensors(op) or op.name in ("func.call", "builtin.to_vtensor"), str(op)


def test_an_argument_that_no_use_needs_is_not_added() -> None:
    """The storage is written on both ways to the join and not read after it."""
    text = f"""module {{ func.func @main(%v: {V}, %c: {C}) {{
      %t = "builtin.to_tensor"(%v) : ({V}) -> {T}
      "cf.cond_br"(%c) [^left, ^right] {{operandSegmentSizes = array<i32: 1, 0, 0>}} : ({C}) -> ()
    ^left:
      %a = "pd.relu_"(%t) : ({T}) -> {T}
      "cf.br"() [^join] : () -> ()
    ^right:
      %b = "pd.tanh_"(%t) : ({T}) -> {T}
      "cf.br"() [^join] : () -> ()
    ^join:
      return
    }} }}"""
    program = parsed(text)
    PassManager.parse("to-value-semantics").run(program)
    assert [len(block.args) for block in program.main.body.blocks] == [2, 0, 0, 0]


STAYS = {
    # the other storage is read after one of the two was chosen, so both may be what is written
    "chosen and still used": f"""
      %x = "scf.if"(%c) ({{ "scf.yield"(%a) : ({T}) -> () }}, {{ "scf.yield"(%b) : ({T}) -> () }}) : ({C}) -> {T}
      %w = "pd.relu_"(%x) : ({T}) -> {T}
      %out = "builtin.to_vtensor"(%a) : ({T}) -> {V}""",
    "chosen twice on one way": f"""
      %x:2 = "scf.if"(%c) ({{ "scf.yield"(%a, %a) : ({T}, {T}) -> () }}, {{ "scf.yield"(%a, %b) : ({T}, {T}) -> () }}) : ({C}) -> ({T}, {T})
      %w = "pd.relu_"(%x#1) : ({T}) -> {T}
      %out = "builtin.to_vtensor"(%x#0) : ({T}) -> {V}""",  # noqa: E501
    "given away, then written": f"""
      %l = "func.call"(%a) {{callee = @same}} : ({T}) -> {T}
      %w = "pd.relu_"(%a) : ({T}) -> {T}
      %out = "builtin.to_vtensor"(%l) : ({T}) -> {V}""",
    "chosen in each round": f"""
      %n = "pd.full"() {{shape = array<i64>, value = 0.0 : f64, dtype = i32}} : () -> {I}
      %r:2 = "scf.while"(%n, %b) ({{
      ^bb0(%i: {I}, %p: {T}):
        %one = "pd.full"() {{shape = array<i64>, value = 1.0 : f64, dtype = i32}} : () -> {I}
        %next = "pd.add"(%i, %one) : ({I}, {I}) -> {I}
        %three = "pd.full"() {{shape = array<i64>, value = 3.0 : f64, dtype = i32}} : () -> {I}
        %more = "pd.less_than"(%next, %three) : ({I}, {I}) -> {C}
        "scf.condition"(%more, %next, %p) : ({C}, {I}, {T}) -> ()
      }}, {{
      ^bb0(%i: {I}, %p: {T}):
        %w = "pd.add_"(%p, %v) : ({T}, {V}) -> {T}
        "scf.yield"(%i, %a) : ({I}, {T}) -> ()
      }}) : ({I}, {T}) -> ({I}, {T})
      %out = "builtin.to_vtensor"(%r#1) : ({T}) -> {V}""",
}


@pytest.mark.parametrize("name", STAYS)
def test_storage_with_two_names_at_a_time_stays_written(name: str) -> None:
    program = parsed(f"""module {{
    func.func @same(%x: {T}) -> {T} {{
      return %x : {T}
    }}
    func.func @main(%v: {V}, %c: {C}) -> {V} {{
      %a = "builtin.to_tensor"(%v) : ({V}) -> {T}
      %b = "pd.tanh"(%a) : ({T}) -> {T}{STAYS[name]}
      return %out : {V}
    }} }}""")
    assert_preserves(ALIASES, program)
    PassManager.parse("to-value-semantics").run(program)
    assert any(op.name == "pd.assign_" for op in program.main.walk())


@pytest.mark.parametrize("name", ["to-value-semantics", "copy-elision", "to-inplace"])
def test_programs_of_vtensors_stay_as_they_are(name: str) -> None:
    programs: list[Program] = []
    for_each_program(tensor_programs(VALUES), 30, programs.append)
    for program in programs:
        before = str(program)
        report = PassManager.parse(name).run(program)
        assert str(program) == before
        assert not report.stages[0].statistics


def test_blocks_that_the_entry_does_not_reach_are_erased() -> None:
    program = parsed(f"""module {{ func.func @main(%v: {V}) -> {V} {{
      %t = "builtin.to_tensor"(%v) : ({V}) -> {T}
      "cf.br"() [^end] : () -> ()
    ^never:
      %a = "pd.relu_"(%t) : ({T}) -> {T}
      "cf.br"() [^end] : () -> ()
    ^end:
      %b = "pd.tanh_"(%t) : ({T}) -> {T}
      %out = "builtin.to_vtensor"(%t) : ({T}) -> {V}
      return %out : {V}
    }} }}""")
    report = PassManager.parse(ALIASES).run(program)
    assert report.stages[0].statistics["unreachable"] == 1
    assert len(program.main.body) == 2
    assert [op.name for block in program.main.body.blocks for op in block] == ["cf.br", "pd.tanh", "func.return"]


def blocks(writer: Writer) -> Sequence[Value]:
    """A loop of blocks, where there may be blocks."""
    return loop_of_blocks(writer) if writer.can_branch else ()


STORAGE = [copy, in_place, tensor_view, blocks, loop, branch]
"""Steps that make storage, show it, write it, and pass it on."""


@with_examples()
@pytest.mark.parametrize("pipeline", [ALIASES, f"{ALIASES},to-inplace"])
def test_programs_of_blocks_keep_their_answers(pipeline: str, examples: int) -> None:
    assert_preserves(pipeline, programs=tensor_programs(EVERYTHING, steps=STORAGE), examples=examples, changed=1 / 3)


@with_examples()
@pytest.mark.parametrize("name", ["to-value-semantics", "copy-elision", "to-inplace"])
def test_a_second_run_changes_nothing(
    name: str, twice: Callable[[str], Callable[[Program], None]], examples: int
) -> None:
    for_each_program(tensor_programs(EVERYTHING), examples, twice(name))


def test_a_copy_of_what_is_never_written_is_known_when_it_is_read() -> None:
    """The copy is written later; until then it holds what the argument holds."""
    program = parsed(f"""module {{ func.func @main(%a: {T}) -> ({V}, {T}) {{
      %t = "builtin.to_tensor"(%a) : ({T}) -> {T}
      %before = "builtin.to_vtensor"(%t) : ({T}) -> {V}
      %w = "pd.fill_"(%t) {{value = 1.0 : f64}} : ({T}) -> {T}
      return %before, %w : {V}, {T}
    }} }}""")
    assert_preserves("copy-elision", program)
    PassManager.parse("copy-elision").run(program)
    assert [op.name for op in program.main.body.block] == [
        "builtin.to_vtensor",
        "builtin.to_tensor",
        "pd.fill_",
        "func.return",
    ]


def test_a_second_run_changes_nothing_where_a_call_no_longer_shares_storage(
    twice: Callable[[str], Callable[[Program], None]],
) -> None:
    """A function whose block argument may be either of its arguments: they count as one storage until it has values."""
    twice("copy-elision")(
        parsed(f"""module {{
      func.func @main(%a: {T}, %b: {T}) {{
        "cf.br"(%b)[^bb1] : ({T}) -> ()
      ^bb1(%c: {T}):
        "func.call"(%c, %a) {{callee = @f}} : ({T}, {T}) -> ()
        %w = "pd.fill_"(%a) {{value = 1.0 : f64}} : ({T}) -> {T}
        return
      }}
      func.func @f(%a: {T}, %b: {T}) {{
        "cf.br"(%b)[^bb1] : ({T}) -> ()
      ^bb1(%c: {T}):
        %false = "builtin.constant"() {{value = dense<false> : !pd.vtensor<i1>}} : () -> !pd.vtensor<i1>
        "cf.cond_br"(%false, %a)[^bb1, ^bb2] {{operandSegmentSizes = array<i32: 1, 1, 0>}}
          : (!pd.vtensor<i1>, {T}) -> ()
      ^bb2:
        return
      }}
    }}""")
    )
