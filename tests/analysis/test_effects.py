"""What passes may know of an operation without knowing it: whether it may fail, and so where it may be evaluated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tx8ir.analysis.effects import is_speculatable, may_fail
from tx8ir.core import DYNAMIC, TensorType, Value, VTensorType, f32, i32
from tx8ir.dialects import builtin, pd

F, N, ROWS = VTensorType((2,), f32), VTensorType((2,), i32), VTensorType((4, 3), f32)


@pytest.mark.parametrize(
    ("kinds", "make", "fails"),
    [
        ((F, F), pd.divide, False),
        ((N, N), pd.divide, True),  # by zero
        ((N, N), pd.multiply, False),
        ((ROWS, N), pd.gather, True),  # out of range
        ((N, ROWS), pd.embedding, True),
        ((ROWS, ROWS), lambda x, y: pd.cross_entropy_with_softmax(x, y, soft_label=True), False),
        ((ROWS, VTensorType((4, 1), i32)), pd.cross_entropy_with_softmax, True),  # no class
        ((VTensorType((DYNAMIC,), f32), F), pd.add, True),  # extents that do not fit
        (
            (VTensorType((2, 0), f32), VTensorType((2, 0), f32)),  # the largest of nothing
            lambda x, y: pd.cross_entropy_with_softmax(x, y, soft_label=True),
            True,
        ),
        ((F,), pd.exp, False),
    ],
)
def test_what_may_fail(build, kinds: tuple[Any, ...], make: Callable[..., Any], fails: bool) -> None:
    made: list[Any] = []

    def body(*args: Value) -> list[Value]:
        made.append(make(*args))
        return list(args)

    build(body, *kinds)
    assert may_fail(made[0]) == fails
    assert is_speculatable(made[0]) == (not fails)


def test_what_touches_storage_or_has_an_effect_is_not_evaluated_elsewhere(build) -> None:
    made: list[Any] = []

    def body(x: Value, t: Value) -> list[Value]:
        made.extend((pd.relu(t), builtin.to_tensor(x), builtin.to_vtensor(t), pd.relu_(t)))
        made.append(builtin.get_parameter(parameter="w", out=F))
        return [x]

    build(body, F, TensorType((2,), f32))
    assert not any(map(is_speculatable, made))
