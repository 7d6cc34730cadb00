"""The data of the explorer: what it says of a compilation, its links, its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import tx8ir
from support.networks import llama
from tx8ir.core import IrError
from tx8ir.core.schema import structure
from tx8ir.explorer import Exploration, ExplorerData, explore, json_schema
from tx8ir.sim import time_program

TEXT = """
module {
  func.func @main(%arg0: !pd.vtensor<8x64xf32>) -> !pd.vtensor<8x64xf32> attributes {arg_names = ["x"]} {
    %a = "pd.relu"(%arg0) : (!pd.vtensor<8x64xf32>) -> !pd.vtensor<8x64xf32> loc("first")
    %b = "pd.relu"(%a) : (!pd.vtensor<8x64xf32>) -> !pd.vtensor<8x64xf32> loc("second")
    %c = "pd.exp"(%b) : (!pd.vtensor<8x64xf32>) -> !pd.vtensor<8x64xf32> loc("third")
    return %c : !pd.vtensor<8x64xf32>
  }
}
"""


@pytest.fixture(scope="module")
def small() -> Exploration:
    return explore(tx8ir.parse(TEXT), title="small")


@pytest.fixture(scope="module")
def block() -> ExplorerData:
    return explore(llama(1, length=8, width=32, heads=2, inner=48), title="block").data


def number(data: ExplorerData, name: str) -> int:
    return next(i for i, op in enumerate(data.source) if op.name == name)


def test_source_operations_have_names_types_operands_and_lines(small: Exploration) -> None:
    data = small.data
    third = data.source[number(data, "third")]
    assert (third.kind, third.type, third.inputs) == ("pd.exp", "8x64xf32", (number(data, "second"),))
    assert data.source[number(data, "first")].arguments == ("x",)
    assert "pd.exp" in data.lines[data.texts[0].lines[third.line]]


def test_each_line_that_begins_an_operation_knows_which(block: ExplorerData) -> None:
    short = {"builtin.module": "module", "func.func": "func.func", "func.return": "return"}
    for text in block.texts:
        assert len(text.lines) == len(text.ops) == len(text.forms)
        for line, op in zip(text.lines, text.ops, strict=True):
            if op >= 0:
                assert short.get(block.ops[op].kind, f'"{block.ops[op].kind}"') in block.lines[line]


def test_an_operation_that_a_pass_leaves_alone_keeps_its_number_and_its_form(small: Exploration) -> None:
    data = small.data
    stage = next(p for p in data.passes if any(r.pattern == "idempotent" for r in p.rewrites))
    before = data.texts[data.passes[data.passes.index(stage) - 1].after]
    after = data.texts[stage.after]
    forms = [dict(zip(t.ops, t.forms, strict=True)) for t in (before, after)]
    kinds = {op: data.ops[op].kind for op in before.ops if op >= 0}
    gone = {kinds[op] for op in set(forms[0]) - set(forms[1])}
    assert gone == {"pd.relu"}
    (exp,) = (op for op, kind in kinds.items() if kind == "pd.exp")
    assert exp in forms[1]
    assert forms[0][exp] != forms[1][exp], "its operand is another one now"


def test_rewrites_name_the_pattern_and_misses_the_condition(block: ExplorerData) -> None:
    rewrites = {r.pattern for p in block.passes for r in p.rewrites}
    assert "fuse-elementwise" in rewrites or "lower-to-tx8be" in rewrites
    misses = [m for p in block.passes for m in p.misses]
    assert misses
    for miss in misses:
        assert miss.count >= 1
        assert miss.expected
        assert block.ops[miss.op].kind


def test_from_an_operation_to_its_instructions_and_back(small: Exploration) -> None:
    data = small.data
    third = number(data, "third")
    computing = [i for i in data.run.instructions if third in i.sources and i.engine == "CT"]
    assert any("exp" in i.name for i in computing)
    for instruction in computing:
        assert instruction.group in {group.id for group in data.groups if third in group.sources}
        last = data.texts[-1]
        line = last.ops.index(instruction.op)
        assert "tx8." in data.lines[last.lines[line]]


def test_every_computed_operation_of_a_network_has_instructions_or_lives_on_in_one(block: ExplorerData) -> None:
    covered = {s for i in block.run.instructions for s in i.sources}
    heavy = [i for i, op in enumerate(block.source) if op.kind in ("pd.matmul", "pd.rms_norm", "pd.add")]
    assert heavy
    assert set(heavy) <= covered


def test_the_run_is_that_of_the_simulator(small: Exploration) -> None:
    run = small.data.run
    report = time_program(tx8ir.compile(tx8ir.parse(TEXT)).program)
    assert run.cycles == report.cycles == max(run.events.end)
    assert len(run.instructions) == len(report.items)
    assert [run.instructions[run.events.instruction[e]].name.split()[0] for e in run.critical] == [
        step.name.removeprefix("tx8.") for step in report.critical_path
    ]
    for before, after in zip(run.critical, run.critical[1:], strict=False):
        assert run.events.blocker[after] == before


def test_accesses_of_instructions_lie_in_memory(block: ExplorerData) -> None:
    machine = block.machine
    inside = [(s.address, s.address + s.size) for s in block.run.segments]
    for instruction in block.run.instructions:
        for span in instruction.spans:
            for low in span.low:
                if span.ddr:
                    assert any(a <= low and low + span.extent <= b for a, b in inside)
                else:
                    assert low >= 0
                    assert low + span.extent <= machine.spm_bytes


def test_layers_come_from_the_names_of_parameters(block: ExplorerData) -> None:
    paths = {scope.path for scope in block.scopes}
    assert {"model.layers.0.self_attn", "model.layers.0.mlp"} <= paths
    for scope in block.scopes[1:]:
        assert block.scopes[scope.parent].path in scope.path


def test_groups_know_what_the_search_tried_and_what_it_chose(block: ExplorerData) -> None:
    searched = [group for group in block.groups if group.candidates]
    assert len(searched) > 10
    for group in searched:
        (chosen,) = [c for c in group.candidates if c.chosen]
        assert chosen is group.candidates[0]
        assert [c.cycles for c in group.candidates] == sorted(c.cycles for c in group.candidates)
        assert len(group.candidates) <= 17
        assert group.priced >= len(group.candidates)
        assert group.facts["strategy"] == chosen.description


def test_groups_say_what_they_took_and_what_bounds_them(block: ExplorerData) -> None:
    texts = [group.facts["time"] for group in block.groups if "time" in group.facts]
    assert len(texts) == len({i.group for i in block.run.instructions if i.engine})
    assert sum(int(text.partition(" ")[0].replace(",", "")) for text in texts) == block.run.cycles
    assert {text.partition("(")[2][:-1] for text in texts} <= {*block.run.engines, "DDR", "links", "issue", "latency"}


def test_a_group_with_loops_says_which_and_at_what_price() -> None:
    size = "1024x1024xf32"
    data = explore(
        tx8ir.parse(f"""
        module {{
          func.func @main(%x: !pd.vtensor<{size}>, %w: !pd.vtensor<{size}>) -> !pd.vtensor<{size}> {{
            %0 = "pd.matmul"(%x, %w) : (!pd.vtensor<{size}>, !pd.vtensor<{size}>) -> !pd.vtensor<{size}>
            return %0 : !pd.vtensor<{size}>
          }}
        }}
        """)
    ).data
    (group,) = data.groups
    (chosen,) = [c for c in group.candidates if c.chosen]
    assert group.facts["strategy"] == chosen.description
    assert "loops: " in chosen.description
    assert group.priced > len(group.candidates) > 1
    assert group.ops == ("Gemm",)
    assert data.run.cycles == pytest.approx(chosen.cycles, rel=0.05)


def test_the_json_fits_its_schema_and_reads_back(small: Exploration) -> None:
    schema = json_schema(ExplorerData)
    value: Any = json.loads(small.json())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(value, schema)
    assert structure(ExplorerData, value, "small.json") == small.data
    value["run"]["cycles"] = -1
    with pytest.raises(jsonschema.ValidationError, match="-1"):
        jsonschema.validate(value, schema)


def test_the_program_is_not_changed() -> None:
    program = tx8ir.parse(TEXT)
    before = [(op.name, op.location) for op in program.module.walk()]
    explore(program)
    assert [(op.name, op.location) for op in program.module.walk()] == before


def test_a_program_that_does_not_compile_is_refused_at_its_own_place() -> None:
    program = tx8ir.parse(
        "module { func.func @main(%x: !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32> {\n"
        '  %0 = "foo.bar"(%x) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32> loc("here.py":7:1)\n'
        "  return %0 : !pd.vtensor<2x3xf32> } }",
        allow_unregistered=True,
    )
    with pytest.raises(IrError) as raised:
        explore(program)
    assert "<source>" not in str(raised.value)
    assert raised.value.op is not None
    assert str(raised.value.op.location) == 'loc("here.py":7:1)'


def test_an_executable_explores_itself_and_one_from_a_folder_shows_its_run(tmp_path: Path) -> None:
    executable = tx8ir.compile(tx8ir.parse(TEXT), options=tx8ir.CompileOptions(dtype="bf16"))
    page = executable.explore(title="again")
    data = structure(ExplorerData, json.loads(page.json()), "page")
    assert data.title == "again"
    assert data.run.cycles == time_program(executable.program).cycles
    executable.save(tmp_path / "saved")
    loaded = explore(tx8ir.Executable.load(tmp_path / "saved"))
    assert (loaded.data.source, loaded.data.passes) == ((), ())
    assert loaded.data.run.cycles == data.run.cycles
    assert len(loaded.data.texts) == 1
