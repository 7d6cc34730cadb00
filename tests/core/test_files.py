"""Files that may be anything: what is not a regular file, too large or not what the schema says is refused by name."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Literal

import attrs
import pytest

from tx8ir.core import (
    Dialect,
    IrError,
    LoadError,
    MissingFileError,
    ParseError,
    Program,
    VerifyError,
    WeightError,
    WeightStore,
    parse,
)
from tx8ir.core.files import MAX_TEXT_BYTES, decode_json, read_regular, shown
from tx8ir.core.schema import Natural, NonNegative, structure

PROGRAM = """module {
  func.func @main(%arg0: f32) -> f32 {
    return %arg0 : f32
  }
}
"""


def a_pipe(path):
    os.mkfifo(path)


def a_folder(path):
    path.mkdir()


def a_device(path):
    path.symlink_to("/dev/zero")


def a_circle(path):
    path.symlink_to(path.name)


def a_huge_file(path):
    with path.open("wb") as stream:
        stream.truncate(1 << 40)


KINDS = [a_pipe, a_folder, a_device, a_circle, a_huge_file]
GIVEN = {
    a_pipe: "found a pipe",
    a_folder: "found a folder",
    a_device: "found a device",
    a_circle: "found a file that cannot be read",
    a_huge_file: "of at most [0-9]+ bytes, found 1099511627776 bytes",
}


@pytest.mark.parametrize("make", KINDS, ids=lambda kind: kind.__name__)
class TestOtherThanRegularFiles:
    def test_as_a_graph(self, tmp_path, make):
        Program(parse(PROGRAM).module).save(tmp_path)
        (tmp_path / "graph.mlir").unlink()
        make(tmp_path / "graph.mlir")
        with pytest.raises(LoadError, match=rf"graph\.mlir: expected a file of IR text.*{GIVEN[make]}") as error:
            Program.load(tmp_path)
        assert error.value.file == str(tmp_path / "graph.mlir")
        assert isinstance(error.value, IrError)

    def test_as_weights(self, tmp_path, make):
        Program(parse(PROGRAM).module).save(tmp_path)
        (tmp_path / "weights.safetensors").unlink()
        make(tmp_path / "weights.safetensors")
        message = "header" if make is a_huge_file else f"weights.safetensors': .*{GIVEN[make]}"
        with pytest.raises(WeightError, match=message):
            Program.load(tmp_path)

    def test_as_a_weight_index(self, tmp_path, make):
        make(tmp_path / "w.index.json")
        with pytest.raises(WeightError, match=GIVEN[make]):
            WeightStore.load(tmp_path / "w.index.json")

    def test_as_a_yaml_list(self, tmp_path, make):
        make(tmp_path / "ops.yaml")
        with pytest.raises(LoadError, match=f"expected a YAML operation list.*{GIVEN[make]}"):
            Dialect.from_yaml("mine", tmp_path / "ops.yaml")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(
        MissingFileError, match=r"graph\.mlir: expected a file of IR text, found nothing there"
    ) as error:
        Program.load(tmp_path)
    assert isinstance(error.value, FileNotFoundError)


def test_a_weight_file_that_leads_nowhere_is_not_left_out(tmp_path):
    Program(parse(PROGRAM).module).save(tmp_path)
    (tmp_path / "weights.safetensors").unlink()
    (tmp_path / "weights.safetensors").symlink_to("nowhere")
    with pytest.raises(WeightError, match="found nothing there"):
        Program.load(tmp_path)


def test_a_file_is_as_large_as_its_kind_may_be(tmp_path):
    (tmp_path / "x").write_bytes(b"123")
    assert read_regular(tmp_path / "x", 3, "three bytes") == b"123"
    with pytest.raises(LoadError, match="expected three bytes of at most 2 bytes, found 3 bytes"):
        read_regular(tmp_path / "x", 2, "three bytes")
    assert MAX_TEXT_BYTES >= 1 << 29


def test_yaml_that_is_no_utf8(tmp_path):
    (tmp_path / "ops.yaml").write_bytes(b"- op : a\xff\n")
    with pytest.raises(LoadError, match=r"in UTF-8, found byte 0xFF at 8"):
        Dialect.from_yaml("mine", tmp_path / "ops.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[" * 100_000, "it nests too deep"),
        (b'{"a": 1, "a": 2}', "key 'a' appears twice"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b"[-Infinity]", "-Infinity is not a JSON number"),
        (b'{"\\ud800": 1}', r"U\+D800, half of a surrogate pair"),
        (b'["\\uDFFF"]', r"U\+DFFF, half of a surrogate pair"),
        (b"1" * 5000, "integer string conversion"),
        (b"\xff", "utf-8"),
        (b"", "Expecting value"),
    ],
)
def test_json_that_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        decode_json(text)


def test_json_that_is_read():
    assert decode_json(b'{"a": ["\\ud83d\\ude00", 1.5, null]}') == {"a": ["😀", 1.5, None]}


def test_what_is_shown_of_a_value_is_short():
    deep: object = []
    for _ in range(100_000):
        deep = [deep]
    values = [deep, {"a": 1}, "x" * 1000, 10**4000, None, True, [1, 2], [None, "a"]]
    assert [len(shown(value)) <= 80 for value in values] == [True] * len(values)
    assert [shown(value) for value in values[4:]] == ["null", "true", "[1, 2]", "[null, 'a']"]
    while deep:
        deep = deep[0]  # taken apart here: Python takes it apart recursively


@attrs.frozen
class Leaf:
    size: Natural
    kind: Literal["a", "b"] = "a"


@attrs.frozen
class Root:
    name: str
    leaves: tuple[Leaf, ...]
    counts: Mapping[str, int]
    seconds: NonNegative
    is_on: bool
    limit: int | None = None


SOUND = {
    "name": "x",
    "leaves": [{"size": 1}, {"size": 2, "kind": "b"}],
    "counts": {"k": 1},
    "seconds": 1,
    "is_on": False,
}


def test_a_schema_reads_what_it_says():
    root = structure(Root, SOUND | {"limit": 3}, "f.json")
    assert root == Root("x", (Leaf(1), Leaf(2, "b")), {"k": 1}, 1.0, False, 3)
    assert isinstance(root.seconds, float)


@pytest.mark.parametrize(
    ("change", "at", "expected", "given"),
    [
        ({"name": 3}, "name", "a string", "3"),
        ({"name": None}, "name", "a string", "null"),
        ({"is_on": 0}, "is_on", "true or false", "0"),
        ({"limit": True}, "limit", "an integer", "true"),
        ({"limit": 1.0}, "limit", "an integer", "1.0"),
        ({"seconds": "1"}, "seconds", "a number", "'1'"),
        ({"seconds": -1}, "seconds", "a finite number of at least 0", "-1"),
        ({"seconds": 10**400}, "seconds", "a number that a double holds", "a large integer"),
        ({"counts": []}, "counts", "an object", "[]"),
        ({"counts": {"k": [1]}}, "counts.k", "an integer", "[1]"),
        ({"leaves": {}}, "leaves", "a list", "an object of 0 keys"),
        ({"leaves": [3]}, "leaves[0]", "an object with the keys size, kind", "3"),
        ({"leaves": [{}]}, "leaves[0]", "an object with the keys size, kind", "none called 'size'"),
        ({"leaves": [{"size": 1}, {"size": -1}]}, "leaves[1].size", "an integer from 0 to 2**63 - 1", "-1"),
        ({"leaves": [{"size": 1, "kind": "c"}]}, "leaves[0].kind", "'a' or 'b'", "'c'"),
        ({"leaves": [{"size": 1, "kind": []}]}, "leaves[0].kind", "'a' or 'b'", "[]"),
        ({"more": 1}, "", "an object with the keys name, leaves, counts, seconds, is_on, limit", "the key 'more'"),
    ],
)
def test_a_schema_says_where_what_was_expected_and_what_was_found(change, at, expected, given):
    with pytest.raises(LoadError) as error:
        structure(Root, SOUND | change, "f.json")
    found = error.value
    assert (found.file, found.at, found.expected, found.given) == ("f.json", at, expected, given)
    place = f"f.json: {at}" if at else "f.json"
    assert str(found) == f"{place}: expected {expected}, found {given}"


def header(entries):
    text = json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    "shape", [[0, 10**30], [0, 1 << 63], [0] * 65, [0, -1], [0, True], [0, 1.0], [0, [0]], "0", None]
)
def test_a_shape_that_no_tensor_has(tmp_path, shape):
    path = tmp_path / "w.safetensors"
    path.write_bytes(header({"w": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}}))
    with pytest.raises(
        WeightError, match=r"tensor 'w': shape must be a list of up to 64 integers from 0 to 2\*\*63 - 1"
    ):
        WeightStore.load(path)


@pytest.mark.parametrize("name", ["\ud800", "a\udfff"])
def test_a_name_that_cannot_be_written_is_not_read(tmp_path, name):
    path = tmp_path / "w.safetensors"
    path.write_bytes(header({name: {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}))
    with pytest.raises(WeightError, match="half of a surrogate pair"):
        WeightStore.load(path)


def test_a_malformed_use_of_a_parameter_is_named_when_a_program_is_loaded(tmp_path):
    (tmp_path / "graph.mlir").write_text('module {\n  %0 = "builtin.get_parameter"() {name = 3} : () -> f32\n}\n')
    with pytest.raises(VerifyError, match=r"builtin.get_parameter .*expected RankedTensor"):
        Program.load(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"builtin.module"() : () -> ()', "the module has no region"),
        ('module { "a.b"() {sym_name = 3} : () -> () }', "no function 'main'; it has: none"),
        ('module { "a.b"() {sym_name = "main"} : () -> () }', "without a function_type"),
        ('module { "func.func"() ({}) {sym_name = "main"} : () -> () }', "lacks the attribute function_type"),
        (
            'module { func.func @main(%a: f32) attributes {arg_names = ["a", "b"]} { return } }',
            "must be 1 distinct names",
        ),
    ],
)
def test_the_signature_of_a_malformed_program(text, message):
    program = parse(text, allow_unregistered=True)
    with pytest.raises(IrError, match=message):
        assert program.inputs


def test_weights_are_a_store():
    program = parse(PROGRAM)
    before = program.weights
    with pytest.raises(IrError, match="the weights of a program are a WeightStore, not None"):
        program.weights = None
    assert program.weights is before


def test_a_parse_error_of_a_file_names_the_file(tmp_path):
    (tmp_path / "graph.mlir").write_bytes(b"module {\xff}")
    with pytest.raises(ParseError, match=r"graph\.mlir:1:9: error: byte 0xFF is not UTF-8"):
        Program.load(tmp_path)


def test_a_link_in_a_circle_in_an_index(tmp_path):
    (tmp_path / "w.safetensors").symlink_to("w.safetensors")
    (tmp_path / "w.index.json").write_text('{"weight_map": {"a": "w.safetensors"}}')
    with pytest.raises(WeightError, match=r"'w\.safetensors' cannot be followed"):
        WeightStore.load(tmp_path / "w.index.json")


def test_reading_takes_no_more_memory_than_the_file_has(tmp_path):
    (tmp_path / "x").write_bytes(b"123")
    assert read_regular(tmp_path / "x", 1 << 60, "a file") == b"123"
