"""`load-constants`: ids, layouts and loads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tx8ir.core import Program, VTensorType, f32, i32
from tx8ir.dialects import pd, tx8be
from tx8ir.passes import PassError

Fixture = Callable[..., Any]
TO_LOADS = "lower-to-tx8be,layout-init,layout-transmit,layout-align{{mode={mode}}},layout-optimize"


def t(*shape: int, element: Any = f32) -> VTensorType:
    return VTensorType(shape, element)


def w(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


def loads(program: Program) -> list[tuple[str, int, str, str]]:
    """(variable, id, stored layout, user) of every load in order."""
    found = []
    for op in program.main.body.block:
        if isinstance(op, tx8be.LoadConstOp):
            assert op.dev_info is not None
            assert op.y.has_one_use
            user = next(iter(op.y.users))
            found.append((op.parameter, op.id, op.dev_info.mem_layout, user.name.removeprefix("tx8be.")))
    return found


@pytest.mark.parametrize("mode", ["optimal", "greedy"])
def test_one_load_per_use_in_the_layout_of_the_user(
    mode: str, build_program: Fixture, run_passes: Fixture, check_same_values: Fixture
) -> None:
    """A weight that two matrix products and a dense sum read: stored twice, loaded three times."""

    def build(x: Any, p: Any) -> Any:
        product = pd.matmul(pd.matmul(x, p("w")), p("w"))
        return product, pd.transpose(p("w"), perm=(0, 1)), pd.expand(p("b"), shape=(2, 4))

    program = build_program(build, {"x": t(4, 4)}, {"w": w(4, 4), "b": w(4)})
    lowered = run_passes(program, TO_LOADS.format(mode=mode))
    after = run_passes(lowered, "load-constants")
    assert loads(after) == [
        ("w", 0, "Cx", "Gemm"),
        ("w", 0, "Cx", "Gemm"),
        ("w", 1, "Tensor", "Tuple"),
        ("b.1", 2, "Tensor", "Tuple"),
    ]
    assert not any(isinstance(op, tx8be.ConstantOp) for op in after.main.body.block)
    check_same_values(program, after)


def test_large_constants_come_first(build_program: Fixture, run_passes: Fixture) -> None:
    """The threshold is a DDR bank per tile, 64 KiB: 128 x 128 fp32 has exactly that, 128 x 129 more."""

    def build(x: Any, p: Any) -> Any:
        return pd.matmul(pd.matmul(pd.matmul(x, p("exact")), p("large")), p("small"))

    weights = {"exact": w(128, 128), "large": w(128, 129), "small": w(129, 4)}
    lowered = run_passes(build_program(build, {"x": t(4, 128)}, weights), TO_LOADS.format(mode="optimal"))
    assert [load[:2] for load in loads(run_passes(lowered, "load-constants"))] == [
        ("exact", 1),
        ("large", 0),
        ("small", 2),
    ]
    assert [load[1] for load in loads(run_passes(lowered, "load-constants{large-bytes=1000000}"))] == [0, 1, 2]


def test_a_constant_its_user_addresses_itself_is_not_loaded(build_program: Fixture, run_passes: Fixture) -> None:
    program = build_program(
        lambda i, p: pd.relu(pd.add(pd.embedding(i, p("t")), p("b"))),
        {"i": t(3, element=i32)},
        {"t": w(9, 4), "b": w(4)},
    )
    after = run_passes(program, TO_LOADS.format(mode="optimal") + ",load-constants")
    bypassed = {op.parameter: op.bypasscodegen for op in after.main.body.block if isinstance(op, tx8be.LoadConstOp)}
    assert bypassed == {"t": True, "b": False}


def test_the_text(build_program: Fixture, run_passes: Fixture, golden: Fixture) -> None:
    program = build_program(
        lambda x, p: pd.add(pd.matmul(pd.softmax(x), p("w")), p("b")), {"x": t(2, 4)}, {"w": w(4, 3), "b": w(3)}
    )
    before = run_passes(program, TO_LOADS.format(mode="greedy"))
    golden(f"{before}\n// load-constants\n{run_passes(before, 'load-constants')}", "constants/linear.mlir")


def test_a_constant_without_a_layout_is_an_error(build_program: Fixture, run_passes: Fixture) -> None:
    program = build_program(lambda x, p: pd.add(x, p("b")), {"x": t(2, 4)}, {"b": w(4)})
    with pytest.raises(PassError, match="constant 'b' has no dev_info; run layout-align first"):
        run_passes(program, "lower-to-tx8be,load-constants")
