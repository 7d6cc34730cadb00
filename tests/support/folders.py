"""Mutated folders: saved programs and executables with one file damaged, emptied, replaced or of another kind.

A case is written as text, `executable/executable.json: JSON 17`, with all that is needed to make it again.
"""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import tx8ir
from support.mutations import Corpus, mutate_data
from tx8ir.core import IrError, Program, WeightStore
from tx8ir.executable import Executable

SAVED_PROGRAM = """
module {
  func.func @main(%x: !pd.vtensor<2x4xf32>) -> (!pd.vtensor<2x3xf32>, !pd.vtensor<2x4xf32>) attributes {arg_names = ["x"]} {
    %w = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<4x3xf32>
    %0 = "pd.matmul"(%x, %w) {transpose_x = false, transpose_y = false} : (!pd.vtensor<2x4xf32>, !pd.vtensor<4x3xf32>) -> !pd.vtensor<2x3xf32>
    %1 = "pd.relu"(%x) : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    "builtin.set_parameter"(%1) {name = "state"} : (!pd.vtensor<2x4xf32>) -> ()
    return %0, %1 : !pd.vtensor<2x3xf32>, !pd.vtensor<2x4xf32>
  }
}
"""  # noqa: E501  (a program)
COMPILED = """
module {
  func.func @main(%x: !pd.vtensor<2x4xf32>, %n: !pd.vtensor<4xi64>) -> (!pd.vtensor<2x3xf32>, !pd.vtensor<2x2xi64>) attributes {arg_names = ["x", "n"], result_names = ["y", "m"]} {
    %w = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<4x3xf32>
    %0 = "pd.matmul"(%x, %w) {transpose_x = false, transpose_y = false} : (!pd.vtensor<2x4xf32>, !pd.vtensor<4x3xf32>) -> !pd.vtensor<2x3xf32>
    %1 = "pd.reshape"(%n) {shape = array<i64: 2, 2>} : (!pd.vtensor<4xi64>) -> !pd.vtensor<2x2xi64>
    return %0, %1 : !pd.vtensor<2x3xf32>, !pd.vtensor<2x2xi64>
  }
}
"""  # noqa: E501

_DEEP = "<deep>"
SCALARS: list[Any] = [
    None, True, False, 0, 1, -1, 2, 1.5, -0.5, 10**30, 2**63, 2**63 - 1, float("inf"), float("nan"), "", "i32", "f32",
    "x", "\ud800", "\0", "999", [], {}, [0], [1, 2], ["a"], {"a": 1}, [[]], _DEEP,
]  # fmt: skip


def stores() -> WeightStore:
    """The weights of both programs."""
    store = WeightStore()
    store.add("w", np.arange(12, dtype=np.float32).reshape(4, 3))
    store.add("state", np.zeros((2, 4), np.float32))
    return store


def paths_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value, as the container and the key in it."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield value, key
            yield from paths_of(item)


def mutate_json(rng: random.Random, value: Any) -> str:
    """The text of a JSON value with a few places changed, removed or added."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        places = list(paths_of(value))
        if not places:
            break
        container, key = rng.choice(places)
        how = rng.randrange(6)
        if how == 0:
            del container[key]
        elif how == 1 and isinstance(container, dict):
            added = rng.choice(("", "x", "\ud800", "format", "__metadata__", "name"))
            container[added] = copy.deepcopy(rng.choice(SCALARS))
        elif how == 2:
            other, at = rng.choice(places)
            container[key] = json.loads(json.dumps(other[at]))
        else:
            container[key] = copy.deepcopy(rng.choice(SCALARS))
    text = json.dumps(value)
    depth = rng.choice((10, 900, 100_000))
    return text.replace(json.dumps(_DEEP), "[" * depth + "]" * depth)


class FolderCampaign:
    """Draws and checks mutated folders below `scratch`, which holds the sound ones too."""

    def __init__(self, scratch: Path) -> None:
        self._sound = scratch / "sound"
        self._case = scratch / "case"
        self._again = scratch / "again"
        Program(tx8ir.parse(SAVED_PROGRAM).module, stores()).save(self._sound / "program")
        tx8ir.compile(Program(tx8ir.parse(COMPILED).module, stores())).save(self._sound / "executable")
        self._files = sorted(p.relative_to(self._sound) for p in self._sound.rglob("*") if p.is_file())
        self._corpus = {
            p: Corpus([(self._sound / p).read_text(encoding="utf-8")]) for p in self._files if p.suffix == ".mlir"
        }
        for kind, load in (("program", load_program), ("executable", load_executable)):
            load(self._sound / kind, self._again)

    def draw(self, rng: random.Random) -> str:
        """A case: the file, how it is changed, and a number that decides the rest."""
        file = rng.choice(self._files)
        ways = ["bytes", "bytes", "kind"]
        if file.suffix in (".json", ".safetensors"):
            ways += ["JSON"] * 4
        if file.suffix == ".mlir":
            ways += ["text", "text"]
        return f"{file}: {rng.choice(ways)} {rng.randrange(10**9)}"

    def check(self, case: str) -> None:
        """Make the folder, load what it holds, and where that succeeds save and load it again.

        Raises whatever loading raises other than an `IrError`.
        """
        name, _, rest = case.partition(": ")
        way, _, number = rest.partition(" ")
        rng = random.Random(int(number))
        kind = name.partition("/")[0]
        for folder in (self._case, self._again):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._sound / kind, self._case)
        path = self._case / Path(name).name
        {"bytes": self._bytes, "text": self._text, "JSON": self._json, "kind": self._other_kind}[way](rng, path, name)
        load = load_program if kind == "program" else load_executable
        with suppress(IrError):
            load(self._case, self._again)

    def _bytes(self, rng: random.Random, path: Path, _name: str) -> None:
        data = bytearray(path.read_bytes())
        for _ in range(rng.choice((1, 1, 2, 5, 20))):
            mutate_data(rng, data)
        if rng.random() < 0.1:
            del data[rng.randrange(len(data) + 1) :]
        path.write_bytes(data)

    def _text(self, rng: random.Random, path: Path, name: str) -> None:
        path.write_bytes(self._corpus[Path(name)].draw(rng).encode("utf-8", "surrogatepass"))

    def _json(self, rng: random.Random, path: Path, _name: str) -> None:
        if path.suffix == ".json":
            path.write_text(mutate_json(rng, json.loads(path.read_text(encoding="utf-8"))), encoding="utf-8")
            return
        data = path.read_bytes()
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        if rng.random() < 0.3:
            inner = json.loads(header["__metadata__"]["tx8ir.variables"])
            inner.setdefault("w", {"kind": "vtensor", "element": "f32", "alignment": 256})
            header["__metadata__"]["tx8ir.variables"] = mutate_json(rng, inner)
            text = json.dumps(header).encode()
        else:
            text = mutate_json(rng, header).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])

    def _other_kind(self, rng: random.Random, path: Path, _name: str) -> None:
        siblings = sorted(p for p in path.parent.iterdir() if p != path)
        other = rng.choice(siblings).read_bytes()
        path.unlink()
        ways: list[Callable[[], object]] = [
            lambda: os.mkfifo(path),
            path.mkdir,
            lambda: path.symlink_to("/dev/zero"),
            lambda: path.symlink_to("/dev/null"),
            lambda: path.symlink_to("nowhere"),
            lambda: path.symlink_to(path.name),
            lambda: path.symlink_to("."),
            lambda: path.write_bytes(b""),
            lambda: path.write_bytes(other),
            lambda: path.write_bytes(b"\0" * rng.choice((1, 8, 9, 5000))),
            lambda: path.write_bytes(rng.randbytes(rng.choice((1, 8, 9, 500)))),
            lambda: None,
            lambda: _sparse(path, rng.choice((1 << 20, 1 << 31, 1 << 36))),
        ]
        rng.choice(ways)()


def _sparse(path: Path, size: int) -> None:
    with path.open("wb") as stream:
        stream.truncate(size)


def load_program(folder: Path, again: Path) -> None:
    """Load a program, look at all of it, save it, and load that."""
    program = Program.load(folder)
    assert str(program)
    assert repr(program)
    for variable in program.weights.values():
        assert variable.numpy().shape == variable.type.shape
    assert len(program.inputs) >= 0
    assert len(program.outputs) >= 0
    program.verify()
    program.save(again, runtime_attributes=True)
    assert str(Program.load(again)) == str(program)


def load_executable(folder: Path, again: Path) -> None:
    """Load an executable, look at all of it, save it, and load that."""
    executable = Executable.load(folder)
    assert str(executable)
    assert str(executable.report)
    executable.save(again)
    assert Executable.load(again).signature == executable.signature
