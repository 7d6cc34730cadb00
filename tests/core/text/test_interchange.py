"""Programs of other tools: those that JAX lowers to, and the first of those that xDSL is tested with."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interchange import measure
from support.peer import peer_module
from tx8ir.core import parse, print_op, structurally_equal

FILES = sorted((Path(__file__).parents[2] / "data" / "mlir" / "jax").glob("*.mlir"))
NOT_FOR_XDSL = {
    "conv": "it reads no #stablehlo.conv",
    "conv_with_locations": "it reads no #stablehlo.conv",
    "loop": "it looks for a called function in the operation around the call only",
}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_jax_lowers_to_reads_back_and_goes_to_the_peer(file: Path) -> None:
    """StableHLO, written by MLIR in the generic form (jax 0.10.2)."""
    text = file.read_text(encoding="utf-8")
    program = parse(text, allow_unregistered=True)
    program.verify()
    for options in ({"generic": True}, {"generic": True, "locations": True}):
        written = print_op(program.module, **options)
        assert structurally_equal(program.module, parse(written, allow_unregistered=True).module) is None
    if file.stem not in NOT_FOR_XDSL:
        assert peer_module(text).is_structurally_equivalent(peer_module(written))


@pytest.mark.slow
def test_programs_of_xdsl_come_back_equal() -> None:
    """All of them: `python -m support.interchange`."""
    found = measure(limit=40)
    assert found.known >= 10
    assert found.back == found.known, found.reasons


@pytest.mark.nightly
def test_nearly_all_programs_of_xdsl_come_back_equal() -> None:
    found = measure()
    assert found.back / found.known >= 0.96
    assert set(found.reasons) & {"xDSL does not read what we write"} == set()
