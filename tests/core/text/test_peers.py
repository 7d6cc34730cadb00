"""Text that other tools of MLIR write and read: to xDSL and back, structurally equal on both sides."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.peer import peer_module, peer_text
from tx8ir.core import DenseAttr, Program, parse, print_op, structurally_equal

FILE = Path(__file__).parents[2] / "data" / "mlir" / "generic.mlir"

# Operations by dialect and the properties that they always have.
_FAMILIES = {
    "arith": {
        "": (
            "divsi divui remsi remui ceildivsi floordivsi andi ori xori shrsi shrui maxsi maxui minsi minui",
            "i32 tensor<4xi8>",
        ),
        "<{overflowFlags = #arith.overflow<none>}>": ("addi subi muli shli", "index vector<2xi64>"),
        "<{fastmath = #arith.fastmath<none>}>": (
            "addf subf mulf divf remf maximumf minimumf maxnumf minnumf", "f32 vector<2x2xf16>",
        ),
    },
    "math": {
        "<{fastmath = #arith.fastmath<none>}>": (
            "absf ceil cos erf exp exp2 expm1 floor log log10 log1p log2 round roundeven rsqrt sin sqrt tan tanh trunc",
            "tensor<?xf32>",
        ),
    },
}  # fmt: skip


def _families() -> list[str]:
    modules: list[str] = []
    for dialect, families in _FAMILIES.items():
        for properties, (names, types) in families.items():
            for name in names.split():
                count = 2 if dialect == "arith" else 1
                for type in types.split():
                    signature = f"({', '.join([type] * count)}) -> {type}"
                    modules.append(
                        f'%x = "test.op"() : () -> {type}\n'
                        f'%y = "{dialect}.{name}"({", ".join(["%x"] * count)}) {properties} : {signature}\n'
                    )
    return modules


MODULES = [*FILE.read_text(encoding="utf-8").split("// -----\n"), *_families()]


def _parsed(text: str) -> Program:
    return parse(text, allow_unregistered=True)


def test_there_are_enough_modules():
    assert len(MODULES) >= 60


@pytest.mark.parametrize("text", MODULES, ids=itertools.count())
def test_a_module_goes_to_the_peer_and_back(text: str):
    ours = _parsed(text)
    written = print_op(ours.module, generic=True)
    theirs, again = peer_module(text), peer_module(written)
    back = _parsed(peer_text(again))
    assert structurally_equal(ours.module, back.module) is None
    assert theirs.is_structurally_equivalent(again)
    assert theirs.is_structurally_equivalent(peer_module(print_op(back.module, generic=True)))


OPTIONS = ({}, {"generic": True}, {"names": True}, {"locations": True}, {"aliases": True, "locations": True},
           {"generic": True, "aliases": True, "resources": 1})  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_our_own_text_reads_back(options: dict[str, Any]):
    for text in MODULES:
        program = _parsed(text)
        assert structurally_equal(program.module, _parsed(print_op(program.module, **options)).module) is None


RESOURCES = """
"test.op"() {a = dense_resource<blob> : tensor<2xf32>, b = dense_resource<other> : tensor<2xindex>} : () -> ()

{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000000803F00000040",
      other: "0x0800000001000000000000000200000000000000"
    }
  },
  external_resources: {
    other_tool: {
      level: 3,
      flag: true
    }
  }
#-}
"""


def test_blobs_go_to_the_peer_and_back():
    ours = _parsed(RESOURCES)
    assert ours.module.regions[0].block.first_op.attributes["a"] is DenseAttr(np.array([1.0, 2.0], np.float32))
    written = print_op(ours.module, generic=True, resources=1)
    assert "dense_resource<blob0>" in written
    back = _parsed(peer_text(peer_module(written)))
    assert structurally_equal(ours.module, back.module) is None
