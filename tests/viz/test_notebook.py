"""What notebooks show: well-formed HTML on its own, values that light up together, regions that fold, plain text."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

import tx8ir
from tx8ir.core import Program, parse_op
from tx8ir.viz import dot, notebook, svg

TEXT = """
module {
  func.func @main(%c: !pd.vtensor<i1>, %x: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> attributes {arg_names = ["<c>", "x"]} {
    %0 = "scf.if"(%c) ({
      %1 = "pd.relu"(%x) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      "scf.yield"(%1) : (!pd.vtensor<2xf32>) -> ()
    }, {
      "scf.yield"(%x) : (!pd.vtensor<2xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2xf32>
    %2:2 = "test.two"(%0) {text = "%0 } {"} : (!pd.vtensor<2xf32>) -> (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>)
    return %2#1 : !pd.vtensor<2xf32>
  }
  func.func @other(%x: !pd.vtensor<2xf32>) {
    return
  }
}
"""  # noqa: E501
VOID = {"meta", "br"}


class Page(HTMLParser):
    """Checks that elements nest, and collects text, values by key, and folding elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.text = ""
        self.values: dict[str, list[tuple[str, bool]]] = {}
        self.folds = 0
        self.titles: list[str] = []
        self.colour: dict[str, str] = {}
        self._key = None
        self.feed(page)
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.folds += tag == "details"
        self._class = given.get("class", "")
        if "title" in given:
            self.titles.append(given["title"])
        if "data-v" in given:
            self._key = (given["data-v"], "d" in given["class"].split())
        self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag
        self._key = None
        if tag in ("div", "summary"):
            self.text += "\n"

    def handle_data(self, data):
        if self.stack and self.stack[-1] in ("style", "script"):
            return
        self.text += data
        self.colour.setdefault(data, self._class)
        if self._key is not None:
            key, defines = self._key
            self.values.setdefault(key, []).append((data, defines))


@pytest.fixture
def program():
    return tx8ir.parse(TEXT, allow_unregistered=True)


def test_the_text_is_all_there(program):
    page = Page(program._repr_html_())
    assert page.text.split("\n", 1)[1].rstrip() == str(program)


def test_a_value_lights_up_with_its_definition_and_uses_in_its_own_function(program):
    values = Page(program._repr_html_()).values
    x = [v for v in values.values() if v[0][0] == "%arg1"]
    assert x == [[("%arg1", True), ("%arg1", False), ("%arg1", False)]]
    assert [v for v in values.values() if v[0][0] == "%0"] == [[("%0", True), ("%0", False)]]
    pair = next(v for v in values.values() if v[0][0].startswith("%2"))
    assert pair == [("%2:2", True), ("%2#1", False)]
    assert len([v for v in values.values() if v[0] == ("%arg0", True)]) == 2  # one per function


def test_regions_fold_and_operations_say_where_they_come_from(program):
    page = Page(program._repr_html_())
    assert page.folds == 5
    assert any(t.startswith('loc("<text>":5:12') for t in page.titles), page.titles


def test_tokens_have_colours(program):
    colour = Page(program._repr_html_()).colour
    assert colour['"pd.relu"'] == "o"
    assert colour["!pd.vtensor<2xf32>"] == "t"
    assert colour["@main"] == "y"
    assert colour['"%0 } {"'] == "s"
    assert colour["func.func"] == "w"


def test_two_outputs_of_one_page_do_not_disturb_each_other(program):
    names = [re.search(r'id="(tx8ir-\w+)"', program._repr_html_()).group(1) for _ in range(2)]
    assert names[0] != names[1]
    assert re.findall(r"^(?!\.tx8ir|@media|\[data|body|--|background|font|number)\S.*", notebook.STYLE, re.M) == []


def test_operations_blocks_and_values_show_too(program):
    main = program.main
    branch = main.body.block.first_op
    assert Page(branch._repr_html_()).text.startswith("scf.if and 3 operations inside\n")
    block = Page(main.body.block._repr_html_())
    assert block.text.startswith("Block: 2 arguments, 3 operations\n^bb(%arg0: ")
    assert block.values["0%arg1"][0] == ("%arg1", True)
    value = Page(branch.results[0]._repr_html_())
    assert value.text.splitlines()[0] == "OpResult 0: !pd.vtensor<2xf32>, 1 use"
    assert value.values["0%0"] == [("%0", True), ("%0", False)]
    argument = main.body.block.args[1]
    assert len(Page(argument._repr_html_()).text.strip().splitlines()) == 4


def test_the_bundle_has_plain_text(program):
    bundle = program._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/plain"] == str(program)
    assert set(program._repr_mimebundle_(include={"text/plain"})) == {"text/plain"}
    value = program.main.body.block.args[0]
    assert value._repr_mimebundle_()["text/plain"].startswith("BlockArgument 0: !pd.vtensor<i1>, 1 use\n^bb(")


def test_a_large_program_is_cut_with_a_note():
    ops = '  "pd.relu"(%x) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>\n' * 3000
    program = tx8ir.parse(f"func.func @main(%x: !pd.vtensor<2xf32>) -> () {{\n{ops}  return\n}}\n")
    page = program._repr_html_()
    assert "1505 more of 3005 lines are not shown" in Page(page).text
    assert len(page) < 600_000


def test_a_deep_program_is_cut_with_a_note():
    text = '"a.b"() ({\n' * 5000 + '"a.c"() : () -> ()\n' + "}) : () -> ()\n" * 5000
    op = parse_op(text, allow_unregistered=True)
    assert "lines are not shown" in Page(op._repr_html_()).text


def test_an_empty_program_and_markup_in_names():
    assert Page(Program.empty()._repr_html_()).text.startswith("Program: 1 operations, 0 variables")
    op = parse_op('"a.b"() {"<script>" = "</div><script>"} : () -> ()', allow_unregistered=True)
    assert '"</div><script>"' in Page(op._repr_html_()).text


def test_nothing_of_it_is_loaded_before_it_is_needed():
    code = "import tx8ir, sys; tx8ir.parse('module { }'); print('tx8ir.viz' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


# -- dataflow ----------------------------------------------------------------------------------------------------------


def test_dot_has_a_box_per_operation_an_arrow_per_use_and_a_frame_per_region(program):
    source = dot(program).source
    boxes = re.findall(r'^  (op\d+) \[label="([\w.]+)', source, re.M)
    assert [b[1] for b in boxes] == [
        "scf.if",
        "pd.relu",
        "scf.yield",
        "scf.yield",
        "test.two",
        "func.return",
        "func.return",
    ]
    assert source.count(" -> op") == 6
    assert source.count("subgraph cluster") == 1 + 2 + 1 + 2
    assert source.count("{") - source.count("\\{") == source.count("}")
    assert re.search(r'label="pd\.relu\\n2xf32", fillcolor="#cfe2f3"', source)


def test_branches_are_dashed_arrows():
    program = tx8ir.parse("""
        func.func @main() -> () {
          "cf.br"()[^a] : () -> ()
        ^a:
          return
        }
    """)
    source = dot(program).source
    assert source.count("style=dashed") == 1
    assert 'label="^bb1"' in source


def test_a_large_graph_is_cut_with_a_note(program):
    assert "5 more operations are not shown" in dot(program, max_operations=5).source


def test_svg(program):
    picture = svg(program)
    assert picture._repr_svg_() == picture
    root = ElementTree.fromstring(picture)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("pd.relu") == 1
    assert texts.count("scf.if") == 1
    assert picture.count("<path d=") == 1 + 6  # the arrow head, and an arrow per use
    assert "5 more operations are not shown" in svg(program, max_operations=5)
    assert dot(program)._repr_mimebundle_() == {"text/plain": dot(program).source}
