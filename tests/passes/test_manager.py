"""Pipelines as text, options, errors that name the pass, verification and reports."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import ClassVar

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.core import Builder, IrError, Program, VerifyError, VTensorType, f32
from tx8ir.dialects import builtin, pd
from tx8ir.passes import Pass, PassError, PassManager, all_passes, register_pass
from tx8ir.passes import base as pass_base


class Mode(enum.Enum):
    FAST = "fast"
    BEST = "best-effort"


@attrs.frozen
class Options(Pass):
    """A pass with an option of every kind."""

    name: ClassVar[str] = "test-options"

    flag: bool = False
    max_count: int = 3
    ratio: float = 0.5
    label: str = "x"
    mode: Mode = Mode.FAST
    limit: int | None = None
    sizes: tuple[int, ...] = (1, 2)
    nested: tuple[tuple[str, ...], ...] = ()

    def run(self, program: Program) -> None:
        self.count("runs")
        self.count("nothing", 0)


@attrs.frozen
class Failing(Pass):
    """Raises what it is told to."""

    name: ClassVar[str] = "test-failing"

    how: str = "ir"

    def run(self, program: Program) -> None:
        op = program.main.body.block.first_op
        if self.how == "ir":
            raise VerifyError("this cannot be", op)
        if self.how == "bug":
            raise KeyError("oops")
        op.set_attribute("x", 1)
        program.main.body.block.terminator.set_operands(())


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    before = dict(pass_base.all_passes())
    register_pass(Options)
    register_pass(Failing)
    yield
    pass_base._REGISTRY.clear()
    pass_base._REGISTRY.update(before)


def test_the_shipped_passes_are_registered_in_alphabetical_order() -> None:
    names = list(all_passes())
    assert names == sorted(names)
    assert {"canonicalize", "constant-fold", "convert-dtype", "cse", "dce", "nhwc"} <= set(names)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", ""),
        ("cse", "cse"),
        (" cse , dce ", "cse,dce"),
        ("test-options{}", "test-options"),
        ("test-options{flag=true}", "test-options{flag=true}"),
        ("test-options{flag=false max_count=0x10}", "test-options{max-count=16}"),
        ("test-options{max-count=-4, ratio=1e-3}", "test-options{max-count=-4,ratio=0.001}"),
        ('test-options{label="a b\\"\\\\"}', 'test-options{label="a b\\"\\\\"}'),
        ('test-options{label="none"}', 'test-options{label="none"}'),
        ("test-options{mode=best-effort}", "test-options{mode=best-effort}"),
        ("test-options{limit=7}", "test-options{limit=7}"),
        ("test-options{limit=none}", "test-options"),
        ("test-options{sizes=[]}", "test-options{sizes=[]}"),
        ("test-options{sizes=[3,4 ,5]},cse", "test-options{sizes=[3,4,5]},cse"),
        ("test-options{nested=[[a],[],[b,c]]}", "test-options{nested=[[a],[],[b,c]]}"),
    ],
)
def test_a_pipeline_is_read_and_printed_in_its_shortest_form(text: str, printed: str) -> None:
    manager = PassManager.parse(text)
    assert str(manager) == printed
    assert PassManager.parse(printed) == manager


@given(
    st.builds(
        Options,
        flag=st.booleans(),
        max_count=st.integers(),
        ratio=st.floats(allow_nan=False, allow_infinity=True),
        label=st.text(st.characters(blacklist_categories=["Cs"])),
        mode=st.sampled_from(Mode),
        limit=st.none() | st.integers(),
        sizes=st.lists(st.integers(), max_size=3).map(tuple),
        nested=st.lists(st.lists(st.text('ab,]{" \\', max_size=3), max_size=2).map(tuple), max_size=2).map(tuple),
    )
)
def test_every_option_value_survives_printing(configured: Options) -> None:
    register_pass(Options)
    assert PassManager.parse(str(PassManager([configured]))) == PassManager([configured])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cze", r"column 1: no pass is named 'cze'; did you mean '(cse|dce)'\? \(known: .*canonicalize, "),
        ("cse,xyzzy", r"column 5: no pass is named 'xyzzy' \(known: .*canonicalize, "),
        ("cse{x=1}", r"column 5: pass 'cse' has no option 'x' \(known: none\)"),
        ("test-options{flog=true}", r"pass 'test-options' has no option 'flog'; did you mean 'flag'\?"),
        ("test-options{flag=yes}", r"option 'flag' of pass 'test-options' is true or false, not 'yes'"),
        ("test-options{max-count=1.5}", r"option 'max-count' of pass 'test-options' is an integer, not '1.5'"),
        ("test-options{mode=slow}", r"option 'mode' of pass 'test-options' is one of fast, best-effort, not 'slow'"),
        ("test-options{limit=x}", r"is an integer or none, not 'x'"),
        ("test-options{sizes=3}", r"option 'sizes' of pass 'test-options' is a list \[...\] of an integer, not '3'"),
        ("test-options{flag=true,flag=true}", r"option 'flag' of pass 'test-options' is given twice"),
        ("test-options{flag}", r"expected '=' and a value for option 'flag'"),
        ("test-options{flag=}", r"expected a value"),
        ("test-options{sizes=[1 2]}", r"expected ',' or '\]', found '2'"),
        ("cse,", r"column 5: expected the name of a pass"),
        ("cse dce", r"column 5: expected ',' or the end, found 'dce'"),
        ("cse{", r"expected the name of an option or '}'"),
        ("cse;dce", r"column 4: unexpected character ';'"),
        ("constant-fold{max-bytes=-1}", r"options of pass 'constant-fold': 'max_bytes' must be >= 0"),
    ],
)
def test_a_malformed_pipeline_says_where_and_what_exists(text: str, message: str) -> None:
    with pytest.raises(PassError, match=message) as caught:
        PassManager.parse(text)
    assert text in str(caught.value)  # the text is shown, with a caret below


def test_a_registered_pass_must_be_describable() -> None:
    @attrs.frozen
    class BadName(Options):
        name: ClassVar[str] = "Bad Name"

    @attrs.frozen
    class Taken(Options):
        name: ClassVar[str] = "cse"

    @attrs.frozen
    class Inexpressible(Options):
        name: ClassVar[str] = "test-inexpressible"
        where: dict[str, int] = attrs.field(factory=dict)

    class NotAttrs(Options):
        name: ClassVar[str] = "test-not-attrs"

    for cls, message in (
        (BadName, "not words of a-z0-9"),
        (Taken, "is taken by .*CommonSubexpressionElimination"),
        (Inexpressible, "option 'where' .* which text cannot express"),
        (NotAttrs, r"must be decorated with @attrs.frozen"),
    ):
        with pytest.raises(TypeError, match=message):
            register_pass(cls)


@pytest.fixture
def program(build) -> Program:
    return build(lambda x: pd.relu(x), VTensorType((2,), f32))


def test_an_ir_error_is_reported_with_the_pass_and_the_operation(program: Program) -> None:
    with pytest.raises(PassError, match="pass 'test-failing': this cannot be") as caught:
        PassManager.parse("cse,test-failing").run(program)
    assert caught.value.pass_name == "test-failing"
    assert caught.value.op is program.main.body.block.first_op
    assert isinstance(caught.value.__cause__, VerifyError)
    assert "test_manager.py" in str(caught.value)  # where the operation was built


def test_a_bug_in_a_pass_keeps_its_type_and_names_the_pass(program: Program) -> None:
    with pytest.raises(KeyError) as caught:
        PassManager.parse("cse,test-failing{how=bug}").run(program)
    assert caught.value.__notes__ == [
        "while running pass 'test-failing{how=bug}' (2 of 2) of pipeline 'cse,test-failing{how=bug}'"
    ]


def test_a_program_left_invalid_is_blamed_on_the_pass_that_left_it(program: Program) -> None:
    with pytest.raises(PassError, match="the program is invalid after pass 'test-failing'") as caught:
        PassManager.parse("test-failing{how=break},cse").run(program)
    assert caught.value.pass_name == "test-failing"


def test_a_program_that_is_invalid_already_is_blamed_on_no_pass(program: Program) -> None:
    program.main.body.block.terminator.set_operands(())
    with pytest.raises(PassError, match="the program is invalid before the first pass") as caught:
        PassManager.parse("cse").run(program)
    assert caught.value.pass_name is None
    PassManager.parse("cse").run(program, verify_each=False)  # may be switched off


def test_reports_count_what_each_run_of_each_pass_did(program: Program) -> None:
    manager = PassManager.parse("test-options,test-options{flag=true}")
    seen: list[tuple[str, bool, bool]] = []
    for _ in range(2):  # counters start anew
        report = manager.run(program, on_stage=lambda p, prog, s: seen.append((str(p), prog is program, s >= 0)))
        assert [(s.name, s.text, s.statistics) for s in report.stages] == [
            ("test-options", "test-options", {"runs": 1}),
            ("test-options", "test-options{flag=true}", {"runs": 1}),
        ]
        assert report.seconds == sum(s.seconds for s in report.stages)
        assert "test-options{flag=true}  (runs 1)" in str(report)
    assert seen == [("test-options", True, True), ("test-options{flag=true}", True, True)] * 2
    assert manager.passes[0].statistics == {}  # the pipeline itself is not touched


def test_a_pipeline_runs_where_a_builder_is_active(build) -> None:
    def body(x):
        w = builtin.GetParameterOp(parameter="w", out=VTensorType((2, 3, 1, 1), f32))
        return pd.flatten(pd.conv2d(pd.assign(x), pd.exp(w)), start_axis=1, stop_axis=3)

    program = build(body, VTensorType((1, 3, 4, 4), f32), weights={"w": np.ones((2, 3, 1, 1), np.float32)})
    with Builder.at_end(program.body):
        PassManager.parse("convert-dtype{dtype=bf16},nhwc,canonicalize,constant-fold,cse,dce").run(program)
    assert [op.name for op in program.body] == ["func.func"]


def test_pass_errors_are_ir_errors() -> None:
    assert issubclass(PassError, IrError)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("cse", r"PassManager takes passes; a text is read by PassManager.parse\('cse'\)"),
        (["cse", "dce"], r"takes passes, not 'cse': names are read by PassManager.parse\('cse,dce'\)"),
        (all_passes()["cse"](), r"takes a sequence of passes: PassManager\(\[cse\]\)"),
        ([all_passes()["cse"]], r"takes passes, not their class CommonSubexpressionElimination: .*\(\) is one"),
        ([3], "takes passes, not 3"),
    ],
)
def test_what_is_no_pass_is_said_when_the_pipeline_is_made(given: object, message: str) -> None:
    with pytest.raises(PassError, match=message):
        PassManager(given)  # type: ignore[arg-type]
