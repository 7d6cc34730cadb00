"""Canonicalization, pattern by pattern: what it becomes, that it keeps every bit, and what must stay as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tx8ir.core import (
    Program,
    TensorType,
    Value,
    VTensorType,
    bf16,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from tx8ir.dialects import builtin, pd
from tx8ir.interpreter import evaluate
from tx8ir.rewriting import pattern
from tx8ir.transforms import canonicalization, canonicalization_patterns
from tx8ir.transforms.cleanup.patterns.shape import compose, invert, moves_unit_axes_only

Names = Callable[[Program], list[str]]
F = VTensorType((2, 3), f32)
I = VTensorType((2, 3), i32)  # noqa: E741
B = VTensorType((2, 3), i1)

_SPECIAL = np.float32([[-0.0, 0.0, np.nan], [np.inf, -np.inf, -1e-42]])


def splat(value: float, kind: VTensorType) -> Any:
    return builtin.ConstantOp(value=np.full(kind.shape, value, kind.element.dtype))


def f(*shape: int) -> VTensorType:
    return VTensorType(shape, f32)


# Each: the pattern's name, argument types, the body, and the names of the operations that are left.
REWRITES: list[tuple[str, tuple[VTensorType, ...], Callable[..., Any], list[str]]] = [
    ("view_to_reshape", (f(1, 2, 1),), lambda x: pd.squeeze(x, axis=(0,)), ["pd.reshape"]),
    ("view_to_reshape", (f(2, 3),), lambda x: pd.unsqueeze(x, axis=(1, 0)), ["pd.reshape"]),
    ("view_to_reshape", (f(2, 3, 4),), lambda x: pd.flatten(x, start_axis=0, stop_axis=1), ["pd.reshape"]),
    ("identity_reshape", (F,), lambda x: pd.reshape(x, shape=(0, -1)), []),
    ("reshape_of_reshape", (F,), lambda x: pd.reshape(pd.reshape(x, shape=(6,)), shape=(3, 2)), ["pd.reshape"]),
    ("identity_reshape", (F,), lambda x: pd.reshape(pd.reshape(x, shape=(6,)), shape=(2, 3)), []),
    ("explicit_reshape", (F,), lambda x: pd.reshape(x, shape=(3, -1)), ["pd.reshape"]),
    ("identity_transpose", (F,), lambda x: pd.transpose(x, perm=(0, -1)), []),
    ("identity_transpose", (F,), lambda x: pd.transpose(pd.transpose(x, perm=(1, 0)), perm=(1, 0)), []),
    (
        "transpose_of_transpose",
        (f(2, 3, 4),),
        lambda x: pd.transpose(pd.transpose(x, perm=(1, 2, 0)), perm=(0, 2, 1)),
        ["pd.transpose"],
    ),
    ("transpose_of_unit_axes", (f(2, 1, 3),), lambda x: pd.transpose(x, perm=(1, 0, 2)), ["pd.reshape"]),
    (
        "transpose_of_reshaped_transpose",
        (f(1, 2, 3, 4),),
        lambda x: pd.transpose(pd.reshape(pd.transpose(x, perm=(0, 2, 1, 3)), shape=(3, 2, 4)), perm=(0, 2, 1)),
        ["pd.transpose", "pd.reshape"],
    ),
    ("whole_slice", (F,), lambda x: pd.slice(x, axes=(0, 1), starts=(0, -9), ends=(9, 3)), []),
    (
        "whole_slice",
        (f(1, 3),),
        lambda x: pd.slice(x, axes=(0,), starts=(0,), ends=(1,), decrease_axis=(0,)),
        ["pd.reshape"],
    ),
    ("expand_without_copies", (F,), lambda x: pd.expand(x, shape=(2, -1)), []),
    ("expand_without_copies", (F,), lambda x: pd.expand(x, shape=(1, 2, 3)), ["pd.reshape"]),
    ("pad_by_nothing", (F,), lambda x: pd.pad(x, paddings=(0, 0, 0, 0), pad_value=1.0), []),
    ("concat_of_one", (F,), lambda x: pd.concat([x]), []),
    ("split_in_one", (F,), lambda x: pd.split(x, sections=(-1,)).outs, []),
    (
        "elementwise_of_transpose",
        (f(2, 3),),
        lambda x: pd.transpose(pd.multiply(pd.relu(pd.transpose(x, perm=(1, 0))), splat(2.0, f(1))), perm=(1, 0)),
        ["pd.relu", "builtin.constant", "pd.multiply"],
    ),
    ("add_zero", (F,), lambda x: pd.add(x, splat(-0.0, F)), []),
    ("add_zero", (F,), lambda x: pd.add(splat(-0.0, f(1)), x), []),
    ("add_zero", (I,), lambda x: pd.add(x, pd.full(shape=(3,), value=0.0, dtype=i32)), []),
    ("subtract_zero", (F,), lambda x: pd.subtract(x, splat(0.0, F)), []),
    ("subtract_zero", (I,), lambda x: pd.subtract(x, splat(0, I)), []),
    ("multiply_by_one", (F,), lambda x: pd.multiply(splat(1.0, f(1)), x), []),
    ("multiply_by_one", (I,), lambda x: pd.multiply(x, splat(1, I)), []),
    ("multiply_by_one", (I,), lambda x: pd.multiply(x, splat(0, I)), ["builtin.constant"]),
    ("multiply_by_one", (), lambda: pd.multiply(splat(1.0, f(1)), splat(1.0, F)), ["builtin.constant"]),
    # The number of the result's type is not the one that stands for 1.
    ("add_zero", (), lambda: pd.add(splat(-0.0, f(1)), splat(-0.0, F)), ["builtin.constant"]),
    ("constant_to_the_right", (F,), lambda x: pd.add(splat(2.0, f(1)), x), ["builtin.constant", "pd.add"]),
    ("constant_to_the_right", (B,), lambda x: pd.logical_or(splat(False, B), x), ["builtin.constant", "pd.logical_or"]),
    ("divide_by_one", (F,), lambda x: pd.divide(x, splat(1.0, F)), []),
    ("identity_scale", (I,), lambda x: pd.scale(x, scale=1.0, bias=0.0), []),
    ("identity_scale", (F,), lambda x: pd.scale(x, scale=1.0, bias=-0.0), []),
    ("pow_one", (F,), lambda x: pd.pow(x, y=1.0), []),
    ("pow_two", (F,), lambda x: pd.pow(x, y=2.0), ["pd.square"]),
    ("pow_of_splat", (F,), lambda x: pd.elementwise_pow(x, splat(3.0, f(1))), ["pd.pow"]),
    ("idempotent", (F,), lambda x: pd.relu(pd.relu(x)), ["pd.relu"]),
    ("idempotent", (F,), lambda x: pd.abs(pd.abs(x)), ["pd.abs"]),
    ("assign_of_value", (F,), lambda x: pd.assign(x), []),
    ("extremum_of_same", (F,), lambda x: pd.maximum(x, x), []),
    ("where_of_constant", (F, F), lambda x, y: pd.where(splat(True, VTensorType((1,), i1)), x, y), []),
    ("where_of_constant", (VTensorType((2, 3), i1), F), lambda c, x: pd.where(c, x, x), []),
    ("not_of_not", (VTensorType((2, 3), i1),), lambda x: pd.logical_not(pd.logical_not(x)), []),
    ("identity_cast", (F,), lambda x: pd.cast(x, dtype=f32), []),
    ("cast_of_widening_cast", (I,), lambda x: pd.cast(pd.cast(x, dtype=i64), dtype=f32), ["pd.cast"]),
    ("identity_cast", (VTensorType((2,), bf16),), lambda x: pd.cast(pd.cast(x, dtype=f32), dtype=bf16), []),
]


@pytest.mark.parametrize(
    ("name", "types", "body", "left"), REWRITES, ids=[f"{r[0]}-{i}" for i, r in enumerate(REWRITES)]
)
def test_rewrites(build, run, names: Names, assert_same, name, types, body, left) -> None:
    program = build(body, *types)
    before = program.clone()
    report = run(program, "canonicalize")
    assert report.stages[0].statistics.get(name, 0) >= 1, report
    assert names(program) == left
    assert_same(before, program)
    assert run(program, "canonicalize").stages[0].statistics == {}  # idempotent


# Each must be left alone, with the reason.
KEPT: list[tuple[str, tuple[Any, ...], Callable[..., Any]]] = [
    ("-0.0 + 0.0 is 0.0", (F,), lambda x: pd.add(x, splat(0.0, F))),
    ("-0.0 - -0.0 is 0.0", (F,), lambda x: pd.subtract(x, splat(-0.0, F))),
    ("0 - x is not x", (I,), lambda x: pd.subtract(splat(0, I), x)),
    ("nan * 0 is nan", (F,), lambda x: pd.multiply(x, splat(0.0, F))),
    ("1 / x is not x", (F,), lambda x: pd.divide(splat(1.0, F), x)),
    ("1 * -0.0 + 0.0 is 0.0", (F,), lambda x: pd.scale(x, scale=1.0, bias=0.0)),
    ("the result is broadcast", (f(3),), lambda x: pd.add(x, splat(-0.0, F))),
    ("not every element is 1", (F,), lambda x: pd.multiply(x, builtin.ConstantOp(value=np.float32([1, 1, 2])))),
    ("the first and the last are equal", (F,), lambda x: pd.divide(x, builtin.ConstantOp(value=np.float32([1, 3, 1])))),
    ("nan - nan is nan", (F,), lambda x: pd.subtract(x, x)),
    ("x may exceed bf16", (F,), lambda x: pd.cast(pd.cast(x, dtype=bf16), dtype=f32)),
    ("i32 does not fit in f32", (I,), lambda x: pd.cast(pd.cast(x, dtype=f32), dtype=f64)),
    ("i1 has lost the number", (F,), lambda x: pd.cast(pd.cast(x, dtype=i1), dtype=f32)),
    ("not(not(2)) is true", (I,), lambda x: pd.logical_not(pd.logical_not(x))),
    ("elements move", (F,), lambda x: pd.transpose(x, perm=(1, 0))),
    ("another user needs the transpose", (F,), lambda x: _shared(pd.transpose(x, perm=(1, 0)))),
    (
        "another user needs the reshape",
        (f(1, 2, 3, 4),),
        lambda x: _transposed_too(pd.reshape(pd.transpose(x, perm=(0, 2, 1, 3)), shape=(3, 2, 4))),
    ),
    ("the copy has storage of its own", (TensorType((2, 3), f32),), lambda x: pd.assign(x)),
    ("the sum is another tensor", (TensorType((2, 3), f32),), lambda x: pd.add(x, splat(-0.0, F))),
    ("a view shares storage", (TensorType((2, 3), f32),), lambda x: pd.reshape(x, shape=(2, 3))),
    ("a cast copies", (TensorType((2, 3), f32),), lambda x: pd.cast(x, dtype=f32)),
    ("extents are not known", (VTensorType((-1, 3), f32),), lambda x: pd.reshape(x, shape=(-1, 3))),
    ("reshape cannot spell extent 0", (f(0, 3),), lambda x: pd.flatten(x, start_axis=0, stop_axis=1)),
]


def _shared(value: Value) -> list[Any]:
    return [value, pd.relu(value)]


def _transposed_too(value: Value) -> list[Any]:
    return [value, pd.transpose(value, perm=(0, 2, 1))]


@pytest.mark.parametrize(("reason", "types", "body"), KEPT, ids=[k[0] for k in KEPT])
def test_kept(build, run, reason, types, body) -> None:
    program = build(body, *types)
    before = str(program)
    assert run(program, "canonicalize").stages[0].statistics == {}
    assert str(program) == before


@pytest.mark.parametrize(
    "body",
    [
        lambda x: pd.add(x, splat(-0.0, F)),
        lambda x: pd.subtract(x, splat(0.0, F)),
        lambda x: pd.multiply(x, splat(1.0, F)),
        lambda x: pd.divide(x, splat(1.0, F)),
        lambda x: pd.scale(x, scale=1.0, bias=-0.0),
        lambda x: pd.pow(x, y=1.0),
        lambda x: pd.pow(x, y=2.0),
        lambda x: pd.relu(pd.relu(x)),
        lambda x: pd.maximum(x, x),
        lambda x: pd.cast(pd.cast(x, dtype=f64), dtype=bf16),
        lambda x: pd.cast(pd.cast(x, dtype=f64), dtype=i8),
    ],
)
def test_zeros_infinities_nan_and_subnormals_keep_their_bits(build, run, body) -> None:
    program = build(body, F)
    (before,) = evaluate(program, {"arg0": _SPECIAL}).values()
    assert run(program, "canonicalize").stages[0].statistics
    (after,) = evaluate(program, {"arg0": _SPECIAL}).values()
    before, after = before.astype(np.float64), after.astype(np.float64)
    np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(np.signbit(before), np.signbit(after))


def test_permutation_arithmetic() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    p, q = (2, 0, 1), (1, 0, 2)
    np.testing.assert_array_equal(x.transpose(p).transpose(q), x.transpose(compose(p, q)))
    assert compose(p, invert(p)) == (0, 1, 2)
    assert moves_unit_axes_only((2, 1, 3), (1, 0, 2))
    assert not moves_unit_axes_only((2, 1, 3), (2, 1, 0))


def test_a_name_is_registered_once() -> None:
    assert len({p.name for p in canonicalization_patterns()}) == len(canonicalization_patterns())

    @pattern(pd.ReluOp)
    def add_zero(op, rewriter) -> bool:
        return False

    with pytest.raises(ValueError, match="named 'add_zero' already"):
        canonicalization(add_zero)


def test_attention_keeps_one_transpose_per_head_split(build, run, golden) -> None:
    """Query and key of an exported GPT: the transposes to [batch, head, row, column], of the key, and the scaling."""

    def body(q: Value, k: Value) -> Any:
        def heads(x: Value) -> Any:
            return pd.transpose(pd.reshape(x, shape=(1, 16, 4, 16)), perm=(0, 2, 1, 3))

        half = builtin.ConstantOp(value=np.float32(0.5))
        key = pd.transpose(pd.reshape(heads(k), shape=(4, 16, 16)), perm=(0, 2, 1))
        key = pd.multiply(pd.reshape(key, shape=(1, 4, 16, 16)), half)
        return pd.softmax(pd.matmul(pd.multiply(heads(q), half), key))

    program = build(body, f(1, 16, 64), f(1, 16, 64))
    before = str(program)
    run(program, "canonicalize,fold-transpose-into-matmul")
    golden(
        f"// before\n{before}\n\n// canonicalize,fold-transpose-into-matmul\n{program}",
        "transforms/canonicalize-attention.mlir",
    )


def test_a_fill_reads_nothing(build, run, names, assert_same) -> None:
    program = build(lambda x: pd.fill(x, value=-0.0), VTensorType((2, 3), f32))
    before = program.clone()
    assert run(program, "canonicalize").stages[0].statistics["fill_of_static"] == 1
    assert names(program) == ["pd.full"]
    assert_same(before, program)
