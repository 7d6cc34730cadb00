"""Arrays from files that may be anything: each is read, or refused by name before it is unpacked."""

from __future__ import annotations

import contextlib
import io
import os
import random
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs the extra `cli`")

from support.mutations import mutate_data
from tx8ir.cli.data import read_data, write_data
from tx8ir.core import IrError
from tx8ir.frontends.files import load
from tx8ir.signature import InputError, Port, Signature

SIGNATURE = Signature([Port("x", (2, 3), "f32"), Port("y", (4,), "i64")], [Port("z", (3,), "i1")])


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "data.npz"
    write_data(path, {"x": np.ones((2, 3), np.float32), "in_y": np.arange(4), "out_0": np.zeros(3, bool)})
    return path


def test_a_sound_archive(archive: Path) -> None:
    data = read_data(archive, SIGNATURE)
    assert {name: array.shape for name, array in data.inputs.items()} == {"x": (2, 3), "y": (4,)}
    assert [sorted(found) for found in data.references.values()] == [["z"]]


def member(header: bytes, content: bytes = b"", *, claim: int | None = None) -> bytes:
    """An archive with one array of this header, whose directory may claim another size."""
    text = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("x.npy", text)
    data = stream.getvalue()
    return data if claim is None else data.replace(struct.pack("<L", len(text)), struct.pack("<L", claim))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read as an .npz archive"),
        (b"PK\x03\x04", "cannot be read as an .npz archive"),
        (member(b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }\n"),
         "its header asks for 40000"),
        (member(b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n"), "holds Python objects"),
        (member(b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }\n"), "its header asks for"),
        (member(b"[" * 5000 + b"\n"), "cannot be read as an .npz archive"),
        (member(b"nothing\n"), "cannot be read as an .npz archive"),
        (member(b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n", b"1234", claim=1 << 30),
         "claims 1073741824"),
        (member(b"-" * 9000 + b"1\n"), "cannot be read as an .npz archive"),
        (member(b"(" * 9000 + b"1\n"), "cannot be read as an .npz archive"),
    ],
)  # fmt: skip
def test_what_is_no_archive_of_arrays(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "data.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_data(path, SIGNATURE)


def test_a_single_array(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones(3))
    with pytest.raises(InputError, match=r"is a single array; expected an \.npz archive"):
        read_data(tmp_path / "x.npy", SIGNATURE)


def test_other_than_regular_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npz")
    (tmp_path / "folder.npz").mkdir()
    (tmp_path / "zero.npz").symlink_to("/dev/zero")
    for name, what in (("pipe", "a pipe"), ("folder", "a folder"), ("zero", "a device")):
        with pytest.raises(InputError, match=rf"expected an \.npz archive, found {what}"):
            read_data(tmp_path / f"{name}.npz", SIGNATURE)
    with pytest.raises(InputError, match="no such file"):
        read_data(tmp_path / "nothing.npz", SIGNATURE)


@pytest.mark.parametrize("name", ["model.mlir", "model.onnx"])
def test_a_model_that_is_a_pipe(tmp_path: Path, name: str) -> None:
    pytest.importorskip("onnx", reason="the front end needs the extra `onnx`")
    os.mkfifo(tmp_path / name)
    with pytest.raises(IrError, match="found a pipe"):
        load(tmp_path / name)


def test_damaged_archives_are_read_or_refused(archive: Path) -> None:
    sound = archive.read_bytes()
    for number in range(400):
        rng = random.Random(f"archive/{number}")
        data = bytearray(sound)
        for _ in range(rng.choice((1, 1, 2, 4))):
            mutate_data(rng, data)
        archive.write_bytes(data)
        with contextlib.suppress(InputError):
            read_data(archive, SIGNATURE)
