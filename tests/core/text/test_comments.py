"""Comments are kept on request: where they stood, through printing and parsing, with the operation they belong to."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

import tx8ir
from tx8ir.core import parse_op, print_op
from tx8ir.core.text.comments import comments_of
from tx8ir.passes import PassManager

TEXT = """\
// the program
// in two lines
module {
  // a function
  func.func @main(%arg0: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {
    // first
    %0 = "pd.relu"(%arg0) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> // after "it"
    %1 = "pd.leaky_relu"(%0) {negative_slope = 0.5 : f64, url = "http://x//y"} : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    return %1 : !pd.vtensor<2xf32> // given back
    // nothing more
  } // of main
  // no other function
} // the end
// really"""  # noqa: E501


def again(text, **options):
    return print_op(tx8ir.parse(text, keep_comments=True).module, comments=True, **options)


def test_comments_are_written_where_they_stood():
    assert again(TEXT) == TEXT


def test_without_the_request_they_are_gone():
    bare = str(tx8ir.parse(TEXT))
    assert "//" not in bare.replace("http://x//y", "")
    assert str(tx8ir.parse(TEXT, keep_comments=True)) == bare


def test_they_live_in_locations_beside_line_and_name():
    program = tx8ir.parse(TEXT, keep_comments=True, keep_names=True)
    relu = program.main.body.block.first_op
    assert comments_of(relu.location) == ((" first",), (' after "it"',), ())
    assert str(relu.location) == 'loc("<text>":7:10)'
    named = tx8ir.parse(TEXT.replace("%0", "%hidden"), keep_comments=True, keep_names=True)
    assert print_op(named.module, names=True, comments=True) == TEXT.replace("%0", "%hidden").replace("%1", "%0")
    assert again(print_op(program.module, comments=True, locations=True), locations=True).count("//") == TEXT.count(
        "//"
    )


def test_comments_in_odd_places_move_to_the_nearest_line_and_none_is_lost():
    text = """
        // a
        module { // b
          // c
          func.func @f(%x: // d
              !pd.vtensor<2xf32>) -> () { // e
            "scf.if"(%x) ({ // f
              // g
            }, { // h
              "scf.yield"() // i
                : () -> () // j
              // k
            }) : (!pd.vtensor<2xf32>) -> () // l
            // m
            ^bb1: // n
            return // o
          }
          // p
        }
        // q
    """
    once = again(text)
    assert again(once) == once
    found = [line.split("//")[1].strip() for line in once.splitlines() if "//" in line]
    assert sorted(found) == [chr(c) for c in range(ord("a"), ord("q") + 1)]


def test_a_program_without_a_module_keeps_the_comments_of_its_function():
    text = "// x\nfunc.func @f() -> () {\n  return\n}\n// y\n"
    assert again(text).splitlines() == [
        "module {",
        "  // x",
        "  func.func @f() {",
        "    return",
        "  }",
        "  // y",
        "}",
    ]


def test_operations_that_stay_keep_their_comments_through_passes():
    program = tx8ir.parse(
        """
        func.func @main(%x: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {
          // one
          %0 = "pd.relu"(%x) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
          // two
          %1 = "pd.relu"(%x) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
          %2 = "pd.add"(%0, %1) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
          return %2 : !pd.vtensor<2xf32>
        }
        """,
        keep_comments=True,
    )
    PassManager.parse("cse").run(program)
    relu = program.main.body.block.first_op
    assert comments_of(relu.location).above == (" one", " two")


def test_a_single_operation_too():
    op = parse_op('"pd.full"() {dtype = f32, shape = array<i64>, value = 1.0 : f64} : () -> !pd.vtensor<f32> // one',
                  keep_comments=True)  # fmt: skip
    assert print_op(op, comments=True).endswith("!pd.vtensor<f32> // one")


BARE = str(tx8ir.parse(TEXT))
GAPS = [
    m.start()
    for m in re.finditer(r"(?<=[\s(){},:])(?=[\s(){},:%])", re.sub(r'"[^"]*"', lambda m: "x" * len(m[0]), BARE))
]


@given(st.sets(st.sampled_from(GAPS), max_size=6))
def test_a_comment_in_any_gap_is_kept(places):
    text = BARE
    for number, place in enumerate(sorted(places, reverse=True)):
        text = f"{text[:place]}// c{number}\n{text[place:]}"
    once = again(text)
    assert sorted(re.findall(r"// (c[0-9])$", once, re.MULTILINE)) == sorted(f"c{n}" for n in range(len(places)))
    assert again(once) == once
    assert str(tx8ir.parse(once)) == BARE
