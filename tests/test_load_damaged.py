"""Saved executables that somebody damaged: each is refused with the file, the place, what it needs and what it has."""

from __future__ import annotations

import copy
import importlib.metadata
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tx8ir
from support.campaign import campaign_environment, run_campaign
from support.folders import COMPILED, FolderCampaign, paths_of, stores
from tx8ir.core import IrError, LoadError, Program
from tx8ir.core.weights.safetensors import STORAGE as FORMATS
from tx8ir.executable import Executable, _checksum

PARTS = ("signature", "compilation")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    tx8ir.compile(Program(tx8ir.parse(COMPILED).module, stores())).save(folder)
    return folder


@pytest.fixture
def manifest(saved: Path) -> dict[str, Any]:
    return json.loads((saved / "executable.json").read_text())


def load_with(saved: Path, folder: Path, manifest: object) -> Executable:
    """The executable with another manifest."""
    for name in ("graph.mlir", "weights.safetensors"):
        if not (folder / name).exists():
            (folder / name).symlink_to(saved / name)
    (folder / "executable.json").write_text(manifest if isinstance(manifest, str) else json.dumps(manifest))
    return Executable.load(folder)


def test_the_sound_one_loads(saved: Path, tmp_path: Path, manifest: dict[str, Any]) -> None:
    assert load_with(saved, tmp_path, manifest).signature == Executable.load(saved).signature


def change(manifest: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    changed: Any = copy.deepcopy(manifest)
    *way, last = [int(part) if part.isdecimal() else part for part in path.split("/")]
    at = changed
    for part in way:
        at = at[part]
    at[last] = value
    return changed


@pytest.mark.parametrize(
    ("path", "value", "place", "expected", "given"),
    [
        ("format", 1, "format", "2, the format that this version reads (compile the program again)", "1"),
        ("format", 3, "format", "2, the format that this version reads", "3"),
        ("format", True, "format", "2, the format that this version reads", "true"),
        ("format", None, "format", "2, the format that this version reads", "null"),
        ("target", [], "target", "an object with the keys spm_bytes, profile", "[]"),
        ("target", {"profile": "x"}, "target.profile", "one of datasheet, board", "'x'"),
        ("target", {"spm_bytes": 0}, "target.spm_bytes", "an integer from 1 to", "0"),
        ("target", {"spm_bytes": 1.5}, "target.spm_bytes", "an integer", "1.5"),
        ("target", {"spm": 1}, "target", "an object with the keys spm_bytes, profile", "the key 'spm'"),
        ("signature", None, "signature", "an object with the keys inputs, outputs", "null"),
        ("signature/inputs", {}, "signature.inputs", "a list", "an object of 0 keys"),
        ("signature/inputs/0/name", 3, "signature.inputs[0].name", "a string", "3"),
        ("signature/inputs/0/shape", "2x4", "signature.inputs[0].shape", "a list", "'2x4'"),
        ("signature/inputs/0/shape", [2, -2], "signature.inputs[0].shape[1]", "an extent from 0", "-2"),
        ("signature/inputs/0/shape", [2, 10**30], "signature.inputs[0].shape[1]", "an extent from 0", "10000000"),
        ("signature/inputs/0/shape", [4, 2], "signature.inputs[0].shape", "the shape [2, 4] of the program", "[4, 2]"),
        ("signature/inputs/0/shape", [2], "signature.inputs[0].shape", "the shape [2, 4] of the program", "[2]"),
        ("signature/inputs/0/element", "i32", "signature.inputs[0].element", "a type of float values", "i32"),
        ("signature/inputs/0/element", "f99", "signature.inputs[0].element", "an element type, one of f64", "'f99'"),
        ("signature/inputs/1/name", "x", "signature.inputs[1].name", "a name that no other port", "'x'"),
        ("signature/inputs/1/element", "f32", "signature.inputs[1].element", "a type of integer values", "f32"),
        ("signature/inputs", [], "signature.inputs", "the inputs of the program: 'x', 'n'", "none called 'x'"),
        ("signature/outputs/0/element", "i32", "signature.outputs[0].element", "a type of float values, which", "i32"),
        ("signature/outputs/0/name", "z", "signature.outputs[0].name", "an output of the program: 'y', 'm'", "'z'"),
        ("signature/outputs/1/shape", [4], "signature.outputs[1].shape", "the shape [2, 2] of the program", "[4]"),
        ("signature/outputs", [], "signature.outputs", "the outputs of the program: 'y', 'm'", "none called 'y'"),
        ("compilation/stages/3/seconds", "1", "compilation.stages[3].seconds", "a number", "'1'"),
        ("compilation/stages/3/seconds", -1, "compilation.stages[3].seconds", "a finite number of at least 0", "-1"),
        ("compilation/stages/3", [], "compilation.stages[3]", "an object with the keys name, seconds", "[]"),
        ("compilation/formats/0", None, "compilation.formats[0]", "a string", "null"),
        ("compilation/instructions", [], "compilation.instructions", "an object", "[]"),
        ("compilation/ddr_bytes", {"const": "x"}, "compilation.ddr_bytes.const", "an integer", "'x'"),
        ("compilation/spm_bytes", -1, "compilation.spm_bytes", "an integer from 0 to 2**63 - 1", "-1"),
        ("compilation/target", {}, "compilation.target", "a string", "an object of 0 keys"),
    ],
)
def test_a_wrong_value_is_named(
    saved: Path,
    tmp_path: Path,
    manifest: dict[str, Any],
    path: str,
    value: object,
    place: str,
    expected: str,
    given: str,
) -> None:
    with pytest.raises(LoadError) as error:
        load_with(saved, tmp_path, change(manifest, path, value))
    found = error.value
    assert (found.file, found.at) == (str(tmp_path / "executable.json"), place)
    assert found.expected.startswith(expected)
    assert found.given.startswith(given)


@pytest.mark.parametrize("path", ["inputs/0", "inputs/1", "outputs/0", "outputs/1"])
def test_no_other_element_type_loads(saved: Path, tmp_path: Path, manifest: dict[str, Any], path: str) -> None:
    """Also those that the chip computes in the same format: masks as floats, and every float in one format."""
    at = f"signature/{path}/element"
    side, index = path.split("/")
    right = manifest["signature"][side][int(index)]["element"]
    for element in sorted(set(FORMATS) - {right}):
        with pytest.raises(LoadError) as error:
            load_with(saved, tmp_path, change(manifest, at, element))
        assert error.value.at in (f"signature.{side}[{index}].element", "checksum")


@pytest.mark.parametrize("wrong", [None, True, -1, 1.5, "", [], {}, [1], {"a": 1}, 10**40])
def test_every_value_may_be_of_any_other_type(
    saved: Path, tmp_path: Path, manifest: dict[str, Any], wrong: object
) -> None:
    places = len(list(paths_of(manifest)))
    refused = 0
    rng = random.Random(str(wrong))
    for number in sorted({*range(40), *rng.sample(range(places), 30)}):
        changed = copy.deepcopy(manifest)
        container, key = list(paths_of(changed))[number]
        container[key] = wrong
        try:
            load_with(saved, tmp_path, changed)
        except IrError:
            refused += 1
    assert refused > 30


@pytest.mark.parametrize("key", ["format", "target", *PARTS, "checksum"])
def test_a_missing_part_is_named(saved: Path, tmp_path: Path, manifest: dict[str, Any], key: str) -> None:
    del manifest[key]
    with pytest.raises(LoadError, match=f"found none called '{key}'"):
        load_with(saved, tmp_path, manifest)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "it nests too deep"),
        ('{"format": 2, "format": 2}', "key 'format' appears twice"),
        ("", "a damaged file"),
        (
            "3",
            "expected an object with the keys format, target, .* version, files, found 3",
        ),
        (
            "[]",
            r"expected an object with the keys format, target, .* version, files, found \[\]",
        ),
        ('{"\\ud800": 1}', "half of a surrogate pair"),
    ],
)
def test_what_is_no_manifest(saved: Path, tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        load_with(saved, tmp_path, text)


def test_a_name_that_cannot_be_saved_is_not_loaded(saved: Path, tmp_path: Path, manifest: dict[str, Any]) -> None:
    with pytest.raises(LoadError, match=r"U\+D800, half of a surrogate pair"):
        load_with(saved, tmp_path, change(manifest, "signature/inputs/0/name", "a\ud800"))


def test_a_manifest_that_is_a_pipe(saved: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "executable.json")
    with pytest.raises(LoadError, match=r"executable\.json: expected a manifest, found a pipe"):
        Executable.load(tmp_path)


def test_a_program_that_is_malformed_is_not_run(saved: Path, tmp_path: Path, manifest: dict[str, Any]) -> None:
    text = (saved / "graph.mlir").read_text()
    (tmp_path / "graph.mlir").write_text(text.replace('kind = "const", ', "", 1))
    with pytest.raises(IrError, match="lacks the attribute kind, expected a str"):
        load_with(saved, tmp_path, manifest)


def test_mutated_folders_end_in_a_diagnostic(tmp_path: Path) -> None:
    folders = FolderCampaign(tmp_path)
    assert list(run_campaign(iter(range(200)), 0, folders.draw, folders.check)) == []


@pytest.mark.nightly
@pytest.mark.timeout(6 * 3600)
def test_twenty_thousand_mutated_folders_end_in_a_diagnostic() -> None:
    command = [sys.executable, "-m", "support.campaign", "folders", "--count", "20000", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=campaign_environment())
    assert done.returncode == 0, done.stdout


def test_a_program_that_was_changed_is_not_the_one_that_was_saved(saved: Path, tmp_path: Path) -> None:
    shutil.copytree(saved, tmp_path / "copy")
    (tmp_path / "copy" / "main.c").unlink()
    Executable.load(tmp_path / "copy")  # which others need, and loading does not
    with (tmp_path / "copy" / "graph.mlir").open("a") as stream:
        stream.write("// by hand\n")
    with pytest.raises(LoadError, match=r"the SHA-256 of graph\.mlir when it was saved") as error:
        Executable.load(tmp_path / "copy")
    assert error.value.at == "files.graph.mlir"


def test_constants_that_were_changed_are_not_those_that_were_saved(saved: Path, tmp_path: Path) -> None:
    shutil.copytree(saved, tmp_path / "copy")
    data = bytearray((saved / "weights.safetensors").read_bytes())
    data[-1] ^= 1
    (tmp_path / "copy" / "weights.safetensors").write_bytes(data)
    with pytest.raises(LoadError, match=r"the SHA-256 of weights\.safetensors when it was saved"):
        Executable.load(tmp_path / "copy")


def test_no_other_file_is_named(saved: Path, tmp_path: Path, manifest: dict[str, Any]) -> None:
    manifest["files"]["../../secret"] = "0"
    manifest["checksum"] = _checksum(manifest)
    with pytest.raises(LoadError, match=r"found the key '\.\./\.\./secret'"):
        load_with(saved, tmp_path, manifest)


def test_an_executable_says_who_wrote_it(manifest: dict[str, Any]) -> None:
    assert manifest["version"] == importlib.metadata.version("tx8ir")
    assert list(manifest["files"]) == ["graph.mlir", "weights.safetensors", "main.c", "tx8.h"]
