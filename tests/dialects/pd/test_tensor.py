"""Operators and methods of tensors: the numbers are NumPy's, the element types Paddle's, wrong uses one sentence."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from tx8ir.core import (
    Builder,
    FunctionType,
    IrError,
    Program,
    TokenType,
    Type,
    Value,
    VTensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from tx8ir.core.ir.value_class import register_value_class
from tx8ir.dialects import func, pd
from tx8ir.interpreter import evaluate


def program_of(body: Callable[..., Any], *types: Type) -> Program:
    """A program whose main is `body`."""
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.func(sym_name="main", function_type=FunctionType(types, ()))
    with Builder.at_end(main.body.block):
        given = body(*main.body.block.args)
        end = func.return_(list(given) if isinstance(given, (list, tuple)) else [given])
    main.function_type = FunctionType(types, [v.type for v in end.operands])
    program.verify()
    return program


def computed(body: Callable[..., Any], *arrays: Any) -> Any:
    """What `body` gives for float64 arrays, evaluated exactly."""
    program = program_of(body, *(VTensorType(a.shape, f32) for a in arrays))
    (result,) = evaluate(program, {f"arg{i}": a for i, a in enumerate(arrays)}, "f64").values()
    return result


ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv)
COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge)


@given(mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3), st.sampled_from(ARITHMETIC + COMPARISONS))
def test_two_tensors_are_numpy(shapes: Any, op: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(1, 5, shape).astype(np.float64) for shape in shapes.input_shapes)
    np.testing.assert_array_equal(computed(op, x, y), op(x, y))


@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISONS, operator.pow])
@pytest.mark.parametrize("number", [2, 0.5, np.float32(3), np.array([1.0, 2.0, 4.0])])
def test_numbers_and_arrays_stand_on_either_side(op: Callable[..., Any], number: Any) -> None:
    x = np.array([[1.0, 2.0, 3.0], [0.5, 0.25, 4.0]])
    np.testing.assert_allclose(computed(lambda v: op(v, number), x), op(x, number), rtol=1e-6)
    np.testing.assert_allclose(computed(lambda v: op(number, v), x), op(number, x), rtol=1e-6)


def test_matrices_signs_and_logic() -> None:
    x, w = np.arange(6.0).reshape(2, 3) - 2, np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(computed(operator.matmul, x, w), x @ w)
    np.testing.assert_array_equal(computed(lambda v: w.T @ v.T, x), w.T @ x.T)
    np.testing.assert_array_equal(computed(lambda v: abs(-v), x), abs(-x))
    np.testing.assert_array_equal(computed(lambda v: (v > 0) & ~(v > 2) | (v < -1), x), (x > 0) & ~(x > 2) | (x < -1))


@pytest.mark.parametrize(
    "index",
    [0, -1, np.int64(1), slice(1, 3), slice(None), slice(-2, None), ..., None, (0, 1), (..., 0), (None, 1, ..., None),
     (slice(None), slice(0, 2), -1), (slice(1, 2), ..., slice(1, None)), (0, 0, 0)],
)  # fmt: skip
def test_an_index_is_numpy(index: Any) -> None:
    x = np.arange(60.0).reshape(3, 4, 5)
    found = computed(lambda v: v[index] if index is not ... else v[...], x)
    np.testing.assert_array_equal(found, x[index])


@pytest.mark.parametrize(
    "index", [3, (0, 9), (0, 0, 0, 0), slice(None, None, 2), (..., ...), "a", np.array([0, 1]), True]
)
def test_another_index_is_an_error_and_builds_nothing(index: Any) -> None:
    def body(v: Value) -> Value:
        before = len(list(v.parent_block or ()))
        with pytest.raises(IrError, match=r"index|indices|takes"):
            v[index]
        assert len(list(v.parent_block or ())) == before
        return v

    program_of(body, VTensorType((3, 4, 5), f32))


def test_methods_are_the_operations() -> None:
    def body(x: Value) -> list[Any]:
        v: Any = x
        made = [v.relu(), v.softmax(0), v.sum(), v.sum(1, keepdim=True), v.reshape(3, 2), v.reshape([-1]), v.T]
        made += [
            v.transpose([1, 0]),
            v.astype("bf16"),
            v.cast(np.int32),
            *v.split([1, 1]),
            v.matmul(v.T),
            v.max(axis=-1),
        ]
        assert pd.matmul(x, v.T).relu().shape == (2, 2)  # of an operation, that of its result
        return made

    shapes = [(t.shape, t.element) for t in program_of(body, VTensorType((2, 3), f32)).outputs.values()]
    assert shapes[:8] == [
        *(
            ((2, 3), f32),
            ((2, 3), f32),
            ((), f32),
            ((2, 1), f32),
            ((3, 2), f32),
            ((6,), f32),
            ((3, 2), f32),
            ((3, 2), f32),
        )
    ]
    assert shapes[8:] == [((2, 3), bf16), ((2, 3), i32), ((1, 3), f32), ((1, 3), f32), ((2, 2), f32), ((2,), f32)]


# The element type of x + y: Paddle's documentation, "Introduction to Data Type Promotion".
PROMOTED = [
    (f16, f32, f32), (bf16, f32, f32), (f16, bf16, f32), (f32, f64, f64), (f32, f32, f32), (i32, i32, i32),
    (f32, 1, f32), (f32, True, f32), (bf16, 0.5, bf16), (i32, 1, i32), (i8, 1, i8), (i32, 0.5, f32), (i64, 1.5, f32),
    (i1, 1, i64), (i1, 0.5, f32), (i32, True, i32),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "expected"), PROMOTED)
def test_element_types_are_promoted_as_paddle_does(left: Any, right: Any, expected: Any) -> None:
    for swapped in (False, True):

        def body(*values: Any, swapped: bool = swapped) -> Any:
            x, y = values if len(values) == 2 else (values[0], right)
            return y + x if swapped else x + y

        types = [VTensorType((2,), left)] + ([VTensorType((2,), right)] if not isinstance(right, (int, float)) else [])
        (found,) = program_of(body, *types).outputs.values()
        assert found == VTensorType((2,), expected)


@pytest.mark.parametrize(
    ("large", "small", "expected"), [(f16, f32, f16), (i32, i64, i32), (i32, f16, f16), (f32, i64, f32)]
)
def test_a_tensor_of_rank_0_counts_as_a_number(large: Any, small: Any, expected: Any) -> None:
    program = program_of(lambda x, y: x + y, VTensorType((2,), large), VTensorType((), small))
    assert list(program.outputs.values()) == [VTensorType((2,), expected)]


def test_two_integers_give_a_fraction() -> None:
    program = program_of(lambda x: x / 2, VTensorType((2,), i32))
    assert list(program.outputs.values()) == [VTensorType((2,), f32)]
    (found,) = evaluate(program, {"arg0": np.array([1, 4], np.int32)}).values()
    assert found.tolist() == [0.5, 2.0]


def test_a_constructor_takes_numbers_and_never_casts_two_tensors() -> None:
    program = program_of(lambda x: pd.where(pd.greater_than(x, 0), pd.add(x, 1.0), np.zeros(3)), VTensorType((3,), f32))
    (found,) = evaluate(program, {"arg0": np.array([1, -1, 2], np.float32)}).values()
    assert found.tolist() == [2, 0, 3]
    with pytest.raises(IrError, match=r"different element types: `x` f32, `y` bf16; insert a pd.cast"):
        program_of(lambda x, y: pd.add(x, y), VTensorType((3,), f32), VTensorType((3,), bf16))


def test_operations_are_at_the_line_that_wrote_them() -> None:
    program = program_of(lambda x: (x + 1.0).relu().T, VTensorType((3,), f32))
    assert {str(op.location).split(":")[0] for op in program.main.body.block} == {f'loc("{__file__}"'}


TENSOR = VTensorType((2,), f32)
INTEGERS = VTensorType((2,), i32)

MISTAKES: list[tuple[Callable[[Any, Any], Any], type[Exception], str]] = [
    (lambda x, n: x + n, IrError, "pd.add: a tensor of f32 and one of i32 have no common element type"),
    (lambda x, n: n + 2**40, IrError, "1099511627776 does not fit i32, which holds -2147483648 to 2147483647"),
    (lambda x, n: x + "a", TypeError, "unsupported operand type"),
    (lambda x, n: x + np.array(["a"]), IrError, "an array of <U1 cannot be a tensor"),
    (lambda x, n: x & x, IrError, "for truth values, not for a tensor of f32"),
    (lambda x, n: x.rellu(), AttributeError, "'BlockArgument' object has no attribute 'rellu'"),
    (lambda x, n: pd.exp(x).rellu(), AttributeError, "has no attribute 'rellu'"),
    (lambda x, n: x.softmax(dim=1), TypeError, r"x.softmax\(axis: 'int' = -1.*unexpected keyword argument 'dim'"),
    (lambda x, n: x.astype("fp7"), ValueError, "dtype is 'fp7'; expected one of"),
    (lambda x, n: x if x > 0 else n, TypeError, "neither true nor false before the program runs.*tx8ir.cond"),
    (lambda x, n: list(x), TypeError, "not iterable"),
    (lambda x, n: np.asarray(x), TypeError, "holds no numbers; run the program"),
    (lambda x, n: func.return_(x), TypeError, "not iterable"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), MISTAKES)
def test_a_mistake_is_one_sentence(wrong: Callable[[Any, Any], Any], kind: type[Exception], message: str) -> None:
    def body(x: Value, n: Value) -> Value:
        with pytest.raises(kind, match=message) as caught:
            wrong(x, n)
        assert "\n" not in str(caught.value)
        return x

    program_of(body, TENSOR, INTEGERS)


def test_outside_of_a_builder_nothing_is_made_that_would_be_lost() -> None:
    program = program_of(lambda x: x, TENSOR)
    (x,) = program.main.body.block.args
    for wrong in (lambda: x + x, lambda: x.relu(), lambda: pd.add(x, 1.0)):
        with pytest.raises(IrError, match=r"no place for them: write it inside `with Builder.at_end"):
            wrong()
    assert x.has_one_use  # by func.return


class MarkType(Type):
    """A type of a dialect that the package does not know."""

    __slots__ = ()

    def __init__(self) -> None:
        self._text = "!mark.mark"


class Mark(Value):
    """What values of it can do."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return ("mark", self, other)


class Other(Value):
    """Of another dialect."""

    __slots__ = ()


def test_types_of_other_dialects_have_operators_of_their_own_and_mixing_is_an_error() -> None:
    mark = MarkType()
    register_value_class("mark", Mark, MarkType)
    register_value_class("mark", Mark, MarkType)  # a cell that runs twice
    with pytest.raises(IrError, match="other lends Other to values of MarkType, which mark does already, with Mark"):
        register_value_class("other", Other, MarkType)

    def body(x: Any, m: Any, token: Any) -> Any:
        assert m + 1 == ("mark", m, 1)
        for wrong in (lambda: x + m, lambda: m + x):
            with pytest.raises(
                IrError, match=r"x \+ y is ambiguous between .* of dialect (pd|mark), and .* of dialect (pd|mark)"
            ):
                wrong()
        with pytest.raises(IrError, match=r"and one of !builtin.token, which no dialect lends operators"):
            x + token
        with pytest.raises(IrError, match=r"x \+ y means nothing for a value of !builtin.token"):
            token + x
        with pytest.raises(IrError, match=r"x - y means nothing for a value of !mark.mark"):
            m - 1
        return x

    program_of(body, TENSOR, mark, TokenType())


def test_shape_rank_and_element_type() -> None:
    def body(x: Value, token: Value) -> Value:
        assert (x.shape, x.rank, x.dtype, list(x.users)) == ((2,), 1, f32, [])
        with pytest.raises(AttributeError, match=r"a value of !builtin.token has no attribute 'shape'"):
            token.shape  # noqa: B018
        return x

    program_of(body, TENSOR, TokenType())
