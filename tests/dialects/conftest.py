"""`evaluate_op`: one detached operation on arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tx8ir.core import (
    Block,
    Op,
    ScalarType,
    VTensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
    ui8,
    ui16,
    ui32,
    ui64,
)
from tx8ir.interpreter import evaluate_operation

SCALARS = {t.dtype: t for t in (f64, f32, f16, bf16, i1, i8, i16, i32, i64, ui8, ui16, ui32, ui64)}


def _evaluate_op(
    op_class: Callable[..., Op],
    *operands: NDArray[Any] | Sequence[NDArray[Any]] | None,
    precision: str = "fp64",
    element: ScalarType | None = None,
    **attributes: Any,
) -> Any:
    """Build `op_class` on values of the arrays' types (a list is a variadic operand) and evaluate it.

    `element` is the element type of the floating operands; without it that of each array. Gives the result array, or
    the tuple of them where there are several.
    """
    flat: list[NDArray[Any]] = []
    for given in operands:
        flat += [] if given is None else list(given) if isinstance(given, list) else [given]
    arrays = [np.asarray(a) for a in flat]
    types = [VTensorType(a.shape, element if element and a.dtype.kind == "f" else SCALARS[a.dtype]) for a in arrays]
    values = iter(Block(types).args)
    call = [None if g is None else [next(values) for _ in g] if isinstance(g, list) else next(values) for g in operands]
    op = op_class(*call, **attributes)
    results = evaluate_operation(op, arrays, precision)
    assert [r.shape for r in results] == [r.type.shape for r in op.results]
    return results[0] if len(results) == 1 else results


@pytest.fixture(scope="session")
def evaluate_op() -> Callable[..., Any]:
    return _evaluate_op
