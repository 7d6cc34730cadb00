"""The parser under fuzzing: any input is a ParseError or a program, and a program can be written and read again."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support import strategies as ir
from support.campaign import campaign_environment, check_text, draw_text, run_campaign
from support.dialect import test_context
from support.mutations import TOKENS
from tx8ir.core import ParseError, parse

SEED = """\
module {
  func.func @main(%arg0: f32, %arg1: !pd.vtensor<2xf32>) -> f32 attributes {arg_names = ["a", "b"]} {
    %0 = "test.unary"(%arg0) {a = 1.5 : bf16, b = [1, "x"], c} : (f32) -> f32 loc("f.py":3:4)
    %1:2 = "test.many"(%0, %arg0) : (f32, f32) -> (f32, !pd.vtensor<2xf32>)
    %2 = "test.scope"(%0) ({
      %3 = "test.binary"(%0, %1#0) {k = dense<[1, 2]> : tensor<2xi8>} : (f32, f32) -> f32
    }, {
    ^bb0(%arg2: f32):
      %5 = "test.unary"(%arg2) : (f32) -> f32 // comment
    }) {box = #test.box<{size = 1 : i64, colour = #test<colour Red>}>} : (f32) -> f32
    "test.graph"() ({
    ^bb0:
      "test.branch"(%0)[^bb1, ^bb2] : (f32) -> ()
    ^bb1:
      "test.jump"(%0)[^bb3] : (f32) -> ()
    ^bb2:
      "test.jump"(%0)[^bb3] : (f32) -> ()
    ^bb3(%arg4: f32):
      "test.stop"(%arg4) : (f32) -> ()
    }) : () -> ()
    "alien.op"() {x = #alien.y<[1, (2)]>, f = (f32, none) -> tuple<i1>} : () -> ()
    return %0 : f32
  }
}"""


def check(text, *, allow_unregistered):
    check_text(text, context=test_context(), allow_unregistered=allow_unregistered)


@given(st.text(), st.booleans())
@example('"a\nb"', True)
@example('"test.unary"(%0) : (f32) -> f32', False)
def test_any_text(text, allow_unregistered):
    check(text, allow_unregistered=allow_unregistered)


@given(st.lists(st.sampled_from(TOKENS), max_size=20).map(" ".join), st.booleans())
@example('"alien.op"() ({ ^bb0 : }) : () -> ()', True)
@example('"func.func"() ({ }) : () -> ()', False)
@example('"func.func"() ( { ^bb0 : } , { } ) {sym_name = "f"} : () -> ()', False)
@example('"builtin.module"() ({ ^bb0 : ^bb1 : }) : () -> ()', False)
@example("module { } module { }", False)
def test_any_sequence_of_tokens(text, allow_unregistered):
    check(text, allow_unregistered=allow_unregistered)


@st.composite
def mutations(draw, text):
    """`text` with a few pieces removed, repeated, moved, or replaced by tokens."""
    for _ in range(draw(st.integers(1, 3))):
        a = draw(st.integers(0, len(text)))
        b = min(len(text), a + draw(st.integers(0, 12)))
        piece = text[a:b]
        middle = draw(st.sampled_from(["", piece * 2, *TOKENS]) | st.characters())
        text = text[:a] + middle + text[b:]
        if draw(st.booleans()):
            c = draw(st.integers(0, len(text)))
            text = text[:c] + piece + text[c:]
    return text


@given(mutations(SEED), st.booleans())
def test_a_program_with_mistakes(text, allow_unregistered):
    check(text, allow_unregistered=allow_unregistered)


@given(ir.programs(unregistered=True, max_ops=3, max_depth=2).map(str).flatmap(mutations))
def test_generated_programs_with_mistakes(text):
    check(text, allow_unregistered=True)


@given(st.binary(max_size=60) | mutations(SEED).map(lambda t: t.encode("utf-8", "surrogatepass") + b"\xff"))
def test_any_bytes_in_a_file(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("fuzz") / "x.mlir"
    path.write_bytes(data)
    with contextlib.suppress(ParseError):
        parse(path, context=test_context(), allow_unregistered=True)


@pytest.mark.nightly
@settings(max_examples=20_000)
@given(st.text(alphabet=st.sampled_from(sorted(set(SEED)))), st.booleans())
def test_any_text_of_the_right_characters(text, allow_unregistered):
    check(text, allow_unregistered=allow_unregistered)


def test_bytes_that_are_no_utf8_have_a_place(tmp_path):
    path = tmp_path / "x.mlir"
    path.write_bytes("module {\n  // é\xff".encode("latin-1").replace(b"\xe9", "é".encode()))
    with pytest.raises(ParseError, match=r"byte 0xFF is not UTF-8") as caught:
        parse(path)
    assert (caught.value.line, caught.value.column) == (2, 7)
    assert caught.value.file == str(path)


def test_half_a_surrogate_pair_is_refused():
    with pytest.raises(ParseError, match=r"U\+D800 is half of a surrogate pair") as caught:
        parse('\n  "a\ud800"() : () -> ()', allow_unregistered=True)
    assert (caught.value.line, caught.value.column) == (2, 5)


def test_deep_nesting_of_attributes_is_refused_before_the_stack_ends():
    for opening in ("[", "{a = ", "tuple<", "() -> ", "(", "!builtin.list<", "dense<" + "["):
        with pytest.raises(ParseError):
            parse(f'"a.b"() {{a = {opening * 5_000}', allow_unregistered=True)


def test_a_caller_deep_in_the_stack_gets_a_parse_error():
    text = f'"a.b"() {{a = {"[" * 90}{"]" * 90}}} : () -> ()'
    assert parse(text, allow_unregistered=True)

    def deep(levels):
        return parse(text, allow_unregistered=True) if levels == 0 else deep(levels - 1)

    frame, used = sys._getframe(), 0
    while frame is not None:
        frame, used = frame.f_back, used + 1
    with pytest.raises(ParseError, match="too deep for the rest of the Python stack"):
        deep(sys.getrecursionlimit() - used - 120)


@pytest.mark.slow
def test_mutants_of_all_golden_programs_end_in_a_diagnostic():
    assert list(run_campaign(iter(range(3_000)), 0, draw_text, check_text)) == []


@pytest.mark.nightly
@pytest.mark.timeout(6 * 3600)
def test_a_million_mutants_end_in_a_diagnostic():
    command = [sys.executable, "-m", "support.campaign", "texts", "--count", "1000000", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=campaign_environment())
    assert done.returncode == 0, done.stdout


def test_a_mutant_is_named_by_its_number():
    assert draw_text(random.Random("0/17")) == draw_text(random.Random("0/17"))
    assert draw_text(random.Random("0/17")) != draw_text(random.Random("0/18"))


def test_a_campaign_finds_what_is_no_diagnostic():
    def check(case):
        if case == "3":
            raise KeyError(case)

    cases = iter("01234")
    (found,) = run_campaign(iter(range(5)), 0, lambda rng: next(cases), check)
    assert (found.number, found.case, found.what) == (3, "3", "KeyError: '3'")


def test_a_mutant_that_takes_too_long_is_found():
    def check(case):
        while True:
            pass

    (found,) = run_campaign(iter([0]), 0, lambda rng: "", check, seconds=0.2)
    assert found.what.startswith("TooSlowError: more than 0.2 s of processor time")
