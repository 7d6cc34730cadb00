"""Pipelines inside operations, analyses from pass to pass, and pipelines that are taken back when they fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tx8ir
from tx8ir.core import IrError, Operation, Program, Variable, VTensorType, f32, structurally_equal
from tx8ir.passes import (
    Instrumentation,
    NestedPassManager,
    OperationPass,
    Pass,
    PassError,
    PassManager,
    RollbackScope,
    all_passes,
    all_pipelines,
    describe_options,
    option,
    register_pass,
    register_pipeline,
)
from tx8ir.passes import base as pass_base
from tx8ir.passes import text as pipeline_text

TWO_FUNCTIONS = """
module {
  func.func @main(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "pd.exp"(%x) : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    %1 = "pd.exp"(%x) : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    %2 = "pd.add"(%0, %1) : (!pd.vtensor<4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %2 : !pd.vtensor<4xf32>
  }
  func.func @other(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "pd.tanh"(%x) : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %x : !pd.vtensor<4xf32>
  }
}
"""


class Size:
    """An analysis: how many operations there are."""

    def __init__(self, subject: Program | Operation) -> None:
        root = subject.module if isinstance(subject, Program) else subject
        self.operations = sum(1 for _ in root.walk())


@attrs.frozen
class LoopInvariant(OperationPass):
    """Stands for a pass with another name.

    repeat: how often
      it is done.
    """

    name: ClassVar[str] = "test-hoist"
    aliases: ClassVar[tuple[str, ...]] = ("test-licm",)
    anchor: ClassVar[str | None] = "func.func"

    repeat: int = 1

    def run_on(self, root: Operation, program: Program) -> None:
        self.count("functions")


@attrs.frozen
class Unwinding(OperationPass):
    """Removes one operation each time, so that it has to be repeated."""

    name: ClassVar[str] = "test-unwind"

    def run_on(self, root: Operation, program: Program) -> None:
        for op in root.walk():
            if op.results and not any(r.has_uses for r in op.results):
                op.erase(self.name)
                self.count("erased")
                return


@attrs.frozen
class Measuring(OperationPass):
    """Asks for the analysis `Size`, and leaves the program alone."""

    name: ClassVar[str] = "test-measure"
    preserves: ClassVar[frozenset[type[Any]]] = frozenset({Size})

    def run_on(self, root: Operation, program: Program) -> None:
        self.count("kept", self.analyses.is_kept(Size, root))
        self.count("operations", self.analyses.get(Size, root).operations)


@attrs.frozen
class Wrecking(OperationPass):
    """Changes the program and its variables, then fails in the way it is told to."""

    name: ClassVar[str] = "test-wreck"

    how: str = option("ir", "what it raises: ir, bug, interrupt, or nothing but an invalid program")

    def run_on(self, root: Operation, program: Program) -> None:
        for op in reversed(list(root.walk())):
            if op.name.startswith("pd."):
                op.set_attribute("wrecked", True)
                if not op.results[0].has_uses:
                    op.erase(self.name)
        program.weights.add("new", np.zeros(3, np.float32))
        if "w" in program.weights:
            program.weights["w"].data = np.full(4, 7, np.float32)
            program.weights["w"].is_mutable = True
            del program.weights["gone"]
        if self.how == "ir":
            raise IrError("no further", root)
        if self.how == "bug":
            raise ZeroDivisionError
        if self.how == "interrupt":
            raise KeyboardInterrupt
        program.main.body.block.terminator.set_operands(())


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    before, aliases = dict(pass_base.all_passes()), dict(pass_base._ALIASES)
    for cls in (LoopInvariant, Unwinding, Measuring, Wrecking):
        register_pass(cls)
    yield
    for table, kept in ((pass_base._REGISTRY, before), (pass_base._ALIASES, aliases)):
        table.clear()
        table.update(kept)


@pytest.fixture
def program() -> Program:
    return tx8ir.parse(TWO_FUNCTIONS)


# --- text


@pytest.mark.parametrize(
    "text",
    [
        "canonicalize,func.func(cse,test-licm){max-iterations=4}",
        "func.func(cse,test-hoist{repeat=2},dce)",
        "func.func()",
        "builtin.module(func.func(cse),dce)",
        "any(cse)",
        "func.func(any(cse){max-iterations=2},cse){max-iterations=3},dce,func.func(dce)",
    ],
)
def test_a_nested_pipeline_is_printed_as_it_was_written(text: str) -> None:
    assert str(PassManager.parse(text)) == text
    assert PassManager.parse(text) == PassManager.parse(text)


def test_blanks_are_free_and_defaults_are_left_out() -> None:
    text = " func.func ( cse , dce { } ) { max-iterations = 1 } , cse"
    assert str(PassManager.parse(text)) == "func.func(cse,dce),cse"


def test_an_alias_is_the_same_pass() -> None:
    assert PassManager.parse("test-licm") == PassManager.parse("test-hoist")
    assert "test-licm" not in all_passes()


leaves = st.sampled_from(["cse", "dce", "canonicalize{max-rewrites=9}"])
nests = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda kind, passes, n: f"{kind}({','.join(passes)}){f'{{max-iterations={n}}}' if n > 1 else ''}",
        st.sampled_from(["func.func", "builtin.module", "any"]),
        st.lists(inner, max_size=3),
        st.integers(1, 9),
    ),
    max_leaves=8,
)


@given(st.lists(nests, max_size=4))
def test_every_pipeline_survives_printing(parts: list[str]) -> None:
    assert str(PassManager.parse(",".join(parts))) == ",".join(parts)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("func.func(cse", 14, r"expected '\)'"),
        ("func.func(cse dce)", 15, r"expected ',' or '\)', found 'dce'"),
        ("func.func(cse,)", 15, r"expected the name of a pass, found '\)'"),
        ("cse)", 4, r"expected ',' or the end, found '\)'"),
        ("fun.func(cse)", 1, r"no operation is named 'fun.func'"),
        ("cse,scf.if(cse)", 5, r"passes cannot be nested in 'scf.if', .* not\s+IsolatedFromAbove"),
        ("func.func(cse,nhwc)", 1, r"pass 'nhwc' works on whole programs; it cannot be nested in 'func.func'"),
        ("any(test-hoist)", 1, r"pass 'test-hoist' works on 'func.func'; it cannot be nested in 'any'"),
        ("func.func(cse){max-iterations=0}", 1, r"'max-iterations' must be >= 1, not 0"),
        ("func.func(cse){kind=any}", 16, r"the pipeline nested in 'func.func' has no option 'kind'"),
        ("func.func(cse){max-iterations=x}", 31, r"is an integer, not 'x'"),
        ("any(" * 33 + "cse" + ")" * 33, 1, r"more than 32 nested pipelines"),
    ],
)
def test_a_malformed_nest_says_where(text: str, column: int, message: str) -> None:
    with pytest.raises(PassError, match=message) as caught:
        PassManager.parse(text)
    assert f"column {column}:" in str(caught.value)
    assert str(caught.value).endswith(" " * (column - 1) + "^")


# --- running


def test_a_nest_runs_on_each_operation_of_its_kind(program: Program) -> None:
    report = PassManager.parse("func.func(cse,dce)").run(program)
    (nest,) = report.stages
    assert (nest.name, nest.statistics) == ("func.func", {"operations": 2})
    assert [(inner.text, dict(inner.statistics)) for inner in nest.nested] == [
        ("cse", {"merged": 1}),
        ("dce", {"removed": 1}),
    ]
    assert nest.seconds == sum(inner.seconds for inner in nest.nested)
    assert "    cse  (merged 1)" in str(report).replace(" ms", "")


def test_a_nest_without_such_operations_does_nothing(program: Program) -> None:
    (nest,) = PassManager.parse("func.func(func.func(cse))").run(program).stages
    assert nest.nested[0].statistics == {}


def test_the_module_is_an_anchor_too(program: Program) -> None:
    (outer,) = PassManager.parse("builtin.module(func.func(cse))").run(program).stages
    assert outer.statistics == {"operations": 1}
    assert outer.nested[0].statistics == {"operations": 2}


def test_a_pass_with_an_anchor_finds_its_operations_from_the_top(program: Program) -> None:
    assert PassManager.parse("test-hoist").run(program).stages[0].statistics == {"functions": 2}


def test_passes_are_repeated_until_nothing_changes() -> None:
    chain = tx8ir.parse("""
module {
  func.func @main(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "pd.exp"(%x) : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    %1 = "pd.exp"(%0) : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    %2 = "pd.exp"(%1) : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %x : !pd.vtensor<4xf32>
  }
}""")
    few = PassManager.parse("func.func(test-unwind){max-iterations=2}").run(chain.clone()).stages[0]
    assert (few.statistics["iterations"], few.nested[0].statistics) == (2, {"erased": 2})
    enough = PassManager.parse("func.func(test-unwind){max-iterations=10}").run(chain).stages[0]
    assert (enough.statistics["iterations"], enough.nested[0].statistics) == (4, {"erased": 3})


def test_a_nest_is_a_pass_of_its_own(program: Program) -> None:
    NestedPassManager("func.func", PassManager.parse("cse,dce").passes).run(program)
    assert sum(1 for _ in program.module.walk()) == 7  # of 9


def test_a_failure_inside_a_nest_names_the_pass_and_the_function(program: Program) -> None:
    with pytest.raises(PassError, match="pass 'test-wreck': no further") as caught:
        PassManager.parse("func.func(test-wreck)").run(program)
    assert caught.value.op is program.main
    with pytest.raises(ZeroDivisionError) as bug:
        PassManager.parse("func.func(cse,test-wreck{how=bug})").run(tx8ir.parse(TWO_FUNCTIONS))
    assert bug.value.__notes__ == [
        "while running pass 'test-wreck{how=bug}' (2 of 2) in func.func @main of pipeline "
        "'func.func(cse,test-wreck{how=bug})'"
    ]


# --- analyses


def test_an_analysis_is_kept_while_passes_preserve_it(program: Program) -> None:
    stages = PassManager.parse("test-measure,test-measure,cse,test-measure").run(program).stages
    assert [stage.statistics.get("kept", 0) for stage in stages] == [0, 1, 0, 0]
    assert [s.statistics["operations"] for s in stages if s.name == "test-measure"] == [9, 9, 8]


def test_a_nested_pass_invalidates_what_is_about_its_operation_only(program: Program) -> None:
    class Peek(Instrumentation):
        def __init__(self) -> None:
            self.seen: list[tuple[str, bool, bool]] = []

        def after_pass(self, run: Any) -> None:
            if run.stage.name == "cse":
                functions = list(program.body)
                self.seen.append((run.place, *(run.stage.analyses.is_kept(Size, f) for f in functions)))

    peek = Peek()
    PassManager.parse("func.func(test-measure),func.func(cse)").run(program, instruments=[peek])
    assert peek.seen == [("func.func @main", False, True), ("func.func @other", False, False)]


def test_a_pass_on_its_own_makes_its_analyses(program: Program) -> None:
    alone = Measuring()
    alone.run(program)
    assert alone.statistics == {"operations": 9}
    assert alone.analyses.made == {"Size": 1}


# --- all or nothing


@pytest.mark.parametrize("how", ["ir", "bug", "interrupt", "invalid"])
@pytest.mark.parametrize("atomic", list(RollbackScope))
@pytest.mark.parametrize("nested", [False, True])
def test_a_failing_pass_leaves_the_program_as_it_was(atomic: RollbackScope, how: str, nested: bool) -> None:
    program = tx8ir.parse(TWO_FUNCTIONS)
    data = np.arange(4, dtype=np.float32)
    for name in ("w", "gone"):
        program.weights.add(name, data)
    copy, text = program.module.clone(), str(program)
    module, store, operations = program.module, program.weights, list(program.module.walk())
    variables = dict(store)
    wreck = f"test-wreck{{how={how}}}"
    with pytest.raises((PassError, ZeroDivisionError, KeyboardInterrupt)):
        PassManager.parse(f"func.func({wreck})" if nested else wreck).run(program, atomic=atomic)
    assert structurally_equal(copy, program.module) is None
    assert str(program) == text
    assert program.module is module
    assert list(program.module.walk()) == operations
    assert [op.location for op in program.module.walk()] == [op.location for op in copy.walk()]
    assert program.weights is store
    assert dict(store) == variables
    assert store["w"].data is data
    assert not store["w"].is_mutable
    program.verify()


def test_what_earlier_passes_did_stays_or_goes(program: Program) -> None:
    for atomic, merged in ((RollbackScope.PASS, 1), (RollbackScope.PIPELINE, 0)):
        target = program.clone()
        with pytest.raises(PassError):
            PassManager.parse("cse,test-wreck").run(target, atomic=atomic)
        assert sum(op.name == "pd.exp" for op in target.main.walk()) == 2 - merged


@pytest.mark.parametrize("atomic", list(RollbackScope))
def test_a_pipeline_that_succeeds_does_the_same_atomically(program: Program, atomic: RollbackScope) -> None:
    plain = program.clone()
    PassManager.parse("canonicalize,func.func(cse,dce)").run(plain)
    report = PassManager.parse("canonicalize,func.func(cse,dce)").run(program, atomic=atomic)
    assert structurally_equal(plain.module, program.module) is None
    assert [stage.name for stage in report.stages] == ["canonicalize", "func.func"]


def test_a_variable_has_no_field_that_a_snapshot_forgets() -> None:
    assert {field.name for field in attrs.fields(Variable)} == {"type", "data", "is_mutable", "alignment"}


# --- options and aliases


def test_options_have_types_defaults_and_help() -> None:
    assert [(o.name, o.type, o.default, o.help) for o in describe_options(Wrecking)] == [
        ("how", "a string", "ir", "what it raises: ir, bug, interrupt, or nothing but an invalid program")
    ]
    assert describe_options(LoopInvariant)[0].help == "how often it is done."


def test_an_alias_that_is_taken_is_refused() -> None:
    @attrs.frozen
    class Other(LoopInvariant):
        name: ClassVar[str] = "test-other"
        aliases: ClassVar[tuple[str, ...]] = ("cse",)

    with pytest.raises(TypeError, match=r"'cse' of .* is taken by"):
        register_pass(Other)


def test_every_shipped_pass_says_what_its_options_are_for() -> None:
    silent = [
        f"{cls.name}.{o.name}"
        for cls in all_passes().values()
        if cls.__module__.startswith("tx8ir.")
        for o in describe_options(cls)
        if not o.help
    ]
    assert silent == []


@settings(max_examples=10)
@given(st.integers(1, 6))
def test_types_are_checked_before_any_pass_runs(n: int) -> None:
    with pytest.raises(PassError, match="works on whole programs"):
        NestedPassManager("func.func", (*PassManager.parse("cse").passes * n, *PassManager.parse("nhwc").passes))


def test_a_pass_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Pass()  # type: ignore[abstract]
    assert VTensorType((1,), f32).rank == 1


# --- pipelines with a name


@pytest.fixture
def pipelines(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(pipeline_text, "PIPELINES", dict(pipeline_text.PIPELINES))


@pytest.mark.usefixtures("pipelines")
def test_the_name_of_a_pipeline_stands_for_its_passes() -> None:
    register_pipeline("test-cleanup", "func.func(canonicalize,cse){max-iterations=4},dce")
    register_pipeline("test-cleanup", "func.func(canonicalize,cse){max-iterations=4},dce")  # the same again
    register_pipeline("test-twice", "test-cleanup,test-cleanup")
    manager = PassManager.parse("inline,func.func(cse),test-twice")
    cleanup = "func.func(canonicalize,cse){max-iterations=4},dce"
    assert str(manager) == f"inline,func.func(cse),{cleanup},{cleanup}"
    assert all_pipelines()["test-twice"] == "test-cleanup,test-cleanup"


@pytest.mark.usefixtures("pipelines")
@pytest.mark.parametrize(
    ("name", "text", "error", "message"),
    [
        ("Clean Up", "cse", ValueError, "not words of a-z0-9"),
        ("cse", "dce", ValueError, "taken by a pass"),
        ("prepare", "dce", ValueError, "taken by the pipeline straighten,recognize-gelu"),
        ("test-loop", "cse,test-loop", PassError, "no pass is named 'test-loop'"),
    ],
)
def test_names_of_pipelines_are_free_and_their_text_is_right(name: str, text: str, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        register_pipeline(name, text)


def test_a_pipeline_has_no_options() -> None:
    with pytest.raises(PassError, match="column 8: 'prepare' is a pipeline, which has no options"):
        PassManager.parse("prepare{dtype=f32}")
