"""What the layout map lets pass: every way in which one tensor is a part or a reshape of another."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.dialects import tx8
from tx8ir.dialects.tx8 import OperandTensor
from tx8ir.kernels import Kernel
from tx8ir.sim import SimError, Simulator
from tx8ir.sim.checks.contents import Reading, of_tensor
from tx8ir.sim.checks.contents import agrees as contents_agree
from tx8ir.target.formats import Format
from tx8ir.target.layout import MemLayout, address, size_bytes

F = Format.named("f32")
Shape = tuple[int, int, int, int]


def agrees(reader: Shape, written: Shape, distance: int = 0, *, layouts: str = "NCx NCx", format: str = "f32") -> bool:
    """Whether all bytes that the two share may be read so; the written tensor begins `distance` bytes after."""
    first, second = layouts.split()
    r, w = OperandTensor(reader, F, MemLayout(first)), OperandTensor(written, Format.named(format), MemLayout(second))
    reading = Reading(F, r, False, math.prod(reader), F.bytes)
    end = distance + size_bytes(written, w.format, second)
    shared = np.flatnonzero((reading.places >= distance) & (reading.places < end))
    return not len(shared) or contents_agree(reading, of_tensor(w), distance, shared)


@pytest.mark.parametrize(
    ("reader", "written", "distance"),
    [
        ((1, 1, 8, 96), (1, 1, 8, 96), 0),
        ((1, 1, 8, 96), (1, 2, 4, 96), 0),  # positions are one axis
        ((1, 1, 4, 96), (3, 1, 4, 96), -1536),  # one of several batches
        ((1, 1, 8, 64), (1, 1, 8, 200), -8 * 64 * 4 * 2),  # one of several channel blocks
        ((1, 1, 8, 60), (1, 1, 8, 64), 0),  # the first channels of a block
        ((1, 1, 3, 64), (1, 1, 8, 64), -5 * 256),  # some rows
        ((1, 1, 1, 70), (1, 1, 1, 130), 0),  # a vector and its begin
        ((1, 1, 16, 32), (1, 1, 8, 64), 0),  # both run densely
        ((4, 1, 2, 64), (1, 1, 8, 64), 0),  # batches without gaps are rows
        ((2, 1, 8, 64), (1, 1, 8, 64), 512 * 4),  # a batch that was written by itself
    ],
)
def test_parts_and_reshapes_agree(reader: Shape, written: Shape, distance: int) -> None:
    assert agrees(reader, written, distance)


@pytest.mark.parametrize(
    ("reader", "written", "distance"),
    [
        ((1, 1, 8, 64), (1, 1, 4, 128), 0),  # the second block is no more rows
        ((1, 1, 8, 65), (1, 1, 8, 64), 0),  # a tail that is not there: rows of another length
        ((1, 1, 8, 66), (1, 1, 8, 65), 0),  # padding
        ((2, 1, 4, 96), (1, 1, 8, 96), 0),
        ((1, 1, 8, 32), (1, 1, 8, 64), 2),  # between the elements
        ((1, 1, 4, 128), (1, 1, 8, 128), 0),  # every other row
    ],
)
def test_other_tensors_do_not(reader: Shape, written: Shape, distance: int) -> None:
    expected = (reader, written) == ((1, 1, 8, 65), (1, 1, 8, 64))  # what lies after is not the written tensor's
    assert agrees(reader, written, distance) is expected


def test_a_blocked_tensor_is_a_dense_one_where_its_rows_are_whole_blocks() -> None:
    assert agrees((1, 1, 8, 64), (1, 1, 1, 512), layouts="NCx NTensor")
    assert agrees((1, 1, 1, 512), (1, 1, 8, 64), layouts="NTensor NCx")
    assert agrees((1, 1, 1, 100), (1, 1, 1, 100), layouts="NTensor NCx")
    assert not agrees((1, 1, 8, 128), (1, 1, 1, 1024), layouts="NCx NTensor")
    assert not agrees((1, 1, 1, 1024), (1, 1, 8, 128), layouts="NTensor NCx")


def test_formats_of_one_width_are_told_apart_but_for_plain_words() -> None:
    same: Shape = (1, 1, 8, 64)
    assert [name for name in ("f32", "tf32", "ui32", "i32", "bf16") if agrees(same, same, format=name)] == [
        *("f32", "tf32", "ui32")
    ]


shapes = st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(1, 3), st.integers(1, 140))


@given(shapes, shapes, st.integers(-6, 6))
def test_agreement_is_what_the_addresses_say(reader: Shape, written: Shape, step: int) -> None:
    """Against the definition, element by element: rows and channels at constant distances, or both dense."""
    distance = 256 * step
    mine = {address(i, reader, F, "NCx") * 4: i for i in np.ndindex(*reader)}
    theirs = {address(i, written, F, "NCx") * 4 + distance: i for i in np.ndindex(*written)}
    end = distance + size_bytes(written, F, "NCx")

    def linear(index: tuple[int, ...], shape: Shape) -> int:
        return int(np.ravel_multi_index(index, shape))

    shared = [byte for byte in mine if distance <= byte < end]
    if any(byte not in theirs for byte in shared):
        expected = False
    else:
        pairs = [(byte, linear(mine[byte], reader), linear(theirs[byte], written)) for byte in shared]
        dense = len({a * 4 - byte for byte, a, _ in pairs}) <= 1 and len({b * 4 - byte for byte, _, b in pairs}) <= 1
        rows = {a // reader[3] - b // written[3] for _, a, b in pairs}
        channels = {a % reader[3] - b % written[3] for _, a, b in pairs}
        expected = dense or (len(rows) <= 1 and len(channels) <= 1)
    assert agrees(reader, written, distance) is expected


def reduced(prepare: Callable[[Kernel, Any], None], tiles: int = 2) -> None:
    """Reduce rows of 100 channels where `prepare` did something to a blocked tensor of rows of 128."""
    k = Kernel("reduced", range(tiles))
    dense, a = k.spm("dense", (1, 1, 8, 128), "f32"), k.spm("a", (1, 1, 8, 128), "f32", "NCx")
    k.fill(dense, 1)
    k.block(a, dense)
    prepare(k, a)
    k.instruction(
        tx8.reduce, function="sum", axis="C", src=a, dst=k.spm("sums", (1, 1, 4, 1), "f32", "NCx"),
        shape=(1, 1, 4, 100), format="f32",
    )  # fmt: skip
    Simulator(k.program()).run({})


def test_what_was_overwritten_is_another_tensor() -> None:
    with pytest.raises(SimError, match="layout misuse"):
        reduced(lambda k, a: None)
    reduced(lambda k, a: k.fill(a, 2.0))

    def bits(k: Kernel, a: Any) -> None:
        k.instruction(tx8.unary, function="abs", src=a, dst=a, count=2 * 1024, format="f16")

    with pytest.raises(SimError, match=r"format misuse: operand src .* is read as f16, but instruction 1 .* wrote NCx"):
        reduced(bits)


def test_the_fault_names_what_is_wrong_and_where() -> None:
    with pytest.raises(SimError, match="layout misuse") as caught:
        reduced(lambda k, a: None)
    error = caught.value
    assert (error.index, error.tile, error.source) == (2, 0, "reduced")
    assert error.addresses is not None
    assert error.addresses[1] - error.addresses[0] == 2048
    assert "test_layouts.py" in str(error.location)


def test_without_checks_nothing_is_looked_at() -> None:
    k = Kernel("unchecked", (0,))
    dense, a = k.spm("dense", (1, 1, 8, 128), "f32"), k.spm("a", (1, 1, 8, 128), "f32", "NCx")
    k.fill(dense, 1)
    k.block(a, dense)
    k.instruction(tx8.channelnorm, src=a, dst=dense, shape=(1, 1, 16, 64), format="f32", direction=False)
    assert Simulator(k.program(), checks=False).run({}).outputs == {}
