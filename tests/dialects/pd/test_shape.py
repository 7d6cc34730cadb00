"""Views and copies: where each element goes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.core import (
    Block,
    Builder,
    FunctionType,
    HasValueSemantics,
    Program,
    Pure,
    VerifyError,
    VTensorType,
    bf16,
    f32,
    i1,
    i8,
    i32,
)
from tx8ir.dialects import func, pd
from tx8ir.interpreter import evaluate

SHAPES = st.lists(st.integers(0, 3), max_size=4).map(tuple)


def value(*shape, element=f32):
    return Block([VTensorType(shape, element)]).args[0]


def numbered(shape):
    """An array of distinct integers in row-major order."""
    return np.arange(math.prod(shape)).reshape(shape)


@pytest.mark.parametrize(
    ("source", "attribute", "shape"),
    [
        ((2, 3), (6,), (6,)),
        ((2, 3), (-1,), (6,)),
        ((2, 3), (0, -1), (2, 3)),
        ((2, 3), (3, -1, 1), (3, 2, 1)),
        ((), (1, 1), (1, 1)),
        ((1, 1), (), ()),
        ((2, 0), (0, 0), (2, 0)),
        ((0, 6), (0, 2, -1), (0, 2, 3)),
        ((0, 3), (0, 5), (0, 5)),
    ],
)
def test_reshape_keeps_row_major_order(evaluate_op, source, attribute, shape):
    result = evaluate_op(pd.reshape, numbered(source), shape=attribute)
    assert result.shape == shape
    assert result.ravel().tolist() == list(range(math.prod(source)))


def test_reshape_of_a_dynamic_shape():
    assert pd.reshape(value(-1, 4), shape=(0, 2, 2)).out.type.shape == (-1, 2, 2)
    assert pd.reshape(value(-1, 4), shape=(0, -1)).out.type.shape == (-1, 4)
    assert pd.reshape(value(-1, 4), shape=(-1, 8)).out.type.shape == (-1, 8)
    assert pd.reshape(value(-1, 4, 6), shape=(0, 3, -1)).out.type.shape == (-1, 3, 8)


@given(shape=SHAPES, data=st.data())
def test_transpose_puts_axis_perm_i_at_i(evaluate_op, shape, data):
    perm = tuple(data.draw(st.permutations(range(len(shape)))))
    x = numbered(shape)
    result = evaluate_op(pd.transpose, x, perm=perm)
    assert result.shape == tuple(shape[p] for p in perm)
    for index in np.ndindex(result.shape):
        source = [0] * len(shape)
        for i, p in enumerate(perm):
            source[p] = index[i]
        assert result[index] == x[tuple(source)]


@pytest.mark.parametrize(
    ("op", "source", "attributes", "shape"),
    [
        (pd.squeeze, (1, 2, 1), {}, (2,)),
        (pd.squeeze, (1, 2, 1), {"axis": (-1,)}, (1, 2)),
        (pd.squeeze, (1, 2, 1), {"axis": (0, 2)}, (2,)),
        (pd.unsqueeze, (2, 3), {"axis": (0,)}, (1, 2, 3)),
        (pd.unsqueeze, (2, 3), {"axis": (-1,)}, (2, 3, 1)),
        (pd.unsqueeze, (2, 3), {"axis": (0, 2, 4)}, (1, 2, 1, 3, 1)),
        (pd.unsqueeze, (2, 3), {"axis": (1, 0)}, (1, 2, 1, 3)),
        (pd.flatten, (2, 3, 4), {}, (2, 3, 4)),
        (pd.flatten, (2, 3, 4), {"start_axis": 0, "stop_axis": -1}, (24,)),
        (pd.flatten, (2, 3, 4), {"start_axis": 1, "stop_axis": 2}, (2, 12)),
    ],
)  # fmt: skip
def test_axes_come_and_go(evaluate_op, op, source, attributes, shape):
    result = evaluate_op(op, numbered(source), **attributes)
    assert result.shape == shape
    assert result.ravel().tolist() == list(range(math.prod(source)))


@given(extent=st.integers(0, 5), start=st.integers(-7, 7), end=st.one_of(st.integers(-7, 7), st.just(2**31)))
def test_slice_clamps_as_python_does(evaluate_op, extent, start, end):
    x = numbered((2, extent))
    result = evaluate_op(pd.slice, x, axes=(-1,), starts=(start,), ends=(end,))
    assert [row.tolist() for row in result] == [row.tolist()[start:end] for row in x]


def test_slice_of_several_axes_and_dropped_axes(evaluate_op):
    x = numbered((3, 4, 5))
    result = evaluate_op(pd.slice, x, axes=(0, 2), starts=(1, 1), ends=(2, 3), decrease_axis=(0,))
    assert result.tolist() == [[x[1, i, j].item() for j in (1, 2)] for i in range(4)]


@given(sections=st.lists(st.integers(0, 3), min_size=1, max_size=4), data=st.data())
def test_split_and_concat_are_inverse(evaluate_op, sections, data):
    axis = data.draw(st.sampled_from([1, -2]))
    x = numbered((2, sum(sections), 3))
    given_sections = list(sections)
    if data.draw(st.booleans()):
        given_sections[data.draw(st.integers(0, len(sections) - 1))] = -1
    pieces = evaluate_op(pd.split, x, sections=tuple(given_sections), axis=axis)
    pieces = (pieces,) if len(sections) == 1 else pieces
    ends = list(itertools.accumulate(sections))
    for piece, section, end in zip(pieces, sections, ends, strict=True):
        assert piece.tolist() == [rows[end - section : end] for rows in x.tolist()]
    assert evaluate_op(pd.concat, list(pieces), axis=axis).tolist() == x.tolist()


@given(data=st.data(), shape=SHAPES)
def test_expand_repeats_along_stretched_axes(evaluate_op, shape, data):
    new = tuple(data.draw(st.lists(st.integers(1, 2), max_size=2)))
    wanted = tuple(data.draw(st.sampled_from([n, -1] if n != 1 else [-1, 1, 3])) for n in shape)
    x = numbered(shape)
    result = evaluate_op(pd.expand, x, shape=new + wanted)
    for index in np.ndindex(result.shape):
        assert result[index] == x[tuple(0 if n == 1 else i for i, n in zip(index[len(new) :], shape, strict=True))]


@given(data=st.data(), shape=SHAPES)
def test_pad_puts_a_frame_around(evaluate_op, shape, data):
    frame = [data.draw(st.tuples(st.integers(0, 2), st.integers(0, 2))) for _ in shape]
    x = numbered(shape)
    result = evaluate_op(pd.pad, x, paddings=tuple(itertools.chain(*frame)), pad_value=-1.0)
    assert result.shape == tuple(low + extent + high for extent, (low, high) in zip(shape, frame, strict=True))
    for index in np.ndindex(result.shape):
        inner = tuple(place - low for place, (low, _) in zip(index, frame, strict=True))
        inside = all(0 <= place < extent for place, extent in zip(inner, shape, strict=True))
        assert result[index] == (x[inner] if inside else -1)


@pytest.mark.parametrize(
    ("element", "number", "wanted"), [(bf16, 1 / 3, 0.333984375), (i32, -2.0, -2), (i1, 1.0, True)]
)
def test_the_frame_is_rounded_to_the_element_type(element, number, wanted):
    program = Program.empty()
    kind = VTensorType((2,), element)
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType([kind], [kind.with_shape((3,))]))
    with Builder.at_end(main.body.block):
        func.ReturnOp([pd.pad(main.body.block.args[0], paddings=(0, 1), pad_value=number).out])
    (result,) = evaluate(program, {"arg0": np.zeros(2, element.dtype)}).values()
    assert result.dtype == element.dtype
    assert result.tolist() == [0, 0, wanted]


def test_pad_leaves_dynamic_extents_dynamic():
    assert str(pd.pad(value(-1, 3), paddings=(1, 1, 0, 2)).out.type) == "!pd.vtensor<?x5xf32>"


def test_views_are_marked_and_have_no_value_semantics():
    view_ops = {name for name, c in pd.DIALECT.ops.items() if pd.View in c.info.traits}
    views = ("reshape", "flatten", "squeeze", "unsqueeze", "transpose", "slice", "split")
    assert view_ops == {f"pd.{name}" for name in views}
    for name, op_class in pd.DIALECT.ops.items():
        if name not in ("pd.feed", "pd.fetch", "pd.fusion", "pd.fusion_yield") and op_class not in pd.INPLACE_OPS:
            assert Pure in op_class.info.traits
            assert (HasValueSemantics in op_class.info.traits) == (name not in view_ops)


def test_results_of_a_split_of_a_tensor_are_tensors():
    tensor = Block([VTensorType((4,), f32).to_tensor()]).args[0]
    assert [str(r.type) for r in pd.split(tensor, sections=(1, 3)).outs] == ["!pd.tensor<1xf32>", "!pd.tensor<3xf32>"]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: pd.reshape(value(2, 3), shape=(4,)), r"`shape` is \[4\]: 4 elements where \[2, 3\] has 6"),
        (lambda: pd.reshape(value(2, 3), shape=(4, -1)), r"6 elements of \[2, 3\] are not a multiple of 4"),
        (lambda: pd.reshape(value(-1, 4), shape=(0, 5)), r"5 elements beside the extents that a 0 copies"),
        (lambda: pd.reshape(value(4, 0), shape=(0, 2)), r"2 elements beside the extents that a 0 copies"),
        (lambda: pd.reshape(value(2, 3), shape=(-1, -1)), "at most one -1"),
        (lambda: pd.reshape(value(2, 3), shape=(2, 3, 0)), "the 0 on axis 2 has no extent to copy"),
        (lambda: pd.reshape(value(2, 3), shape=(-2, 3)), "expected extents >= 0 and at most one -1"),
        (lambda: pd.reshape(value(0, 3), shape=(-1, 0, 0)), "the 0 on axis 2 has no extent"),
        (lambda: pd.transpose(value(2, 3), perm=(0,)), r"`perm` is \[0\]; expected 2 axes"),
        (lambda: pd.transpose(value(2, 3), perm=(0, 0)), r"`perm` names an axis twice: \[0, 0\]"),
        (lambda: pd.squeeze(value(2, 1), axis=(0,)), r"`axis` names axis 0 of \[2, 1\]; expected extent 1 there"),
        (lambda: pd.unsqueeze(value(2), axis=(3,)), "`axis` is 3; expected -2 <= axis < 2"),
        (lambda: pd.flatten(value(2, 3), start_axis=1, stop_axis=0), "`start_axis` is 1, after `stop_axis` 0"),
        (lambda: pd.slice(value(2), axes=(0,), starts=(0, 1), ends=(1,)), "have 1, 2 and 1 entries"),
        (lambda: pd.slice(value(4), axes=(0,), starts=(0,), ends=(2,), decrease_axis=(0,)), "axis 0, cut to 2; exp"),
        (lambda: pd.split(value(4), sections=(1, 2)), r"`sections` is \[1, 2\]; the extent along axis 0 is 4"),
        (lambda: pd.split(value(4), sections=(-1, -1)), "at most one of them -1"),
        (lambda: pd.split(value(4), sections=()), "expected one or more extents"),
        (lambda: pd.concat([]), "there is no operand"),
        (lambda: pd.concat([value(2), value(2, 3)]), r"operand `x\[1\]` has type .*; expected rank 1"),
        (lambda: pd.concat([value(2, 3), value(2, 4)], axis=0), r"`x\[1\]` has type .*; expected extent 3 on axis 1"),
        (lambda: pd.concat([value(2), value(2, element=bf16)]), r"`x\[0\]` f32, `x\[1\]` bf16"),
        (lambda: pd.pad(value(2, 3), paddings=(1, 1)), r"`paddings` is \[1, 1\]; expected 4 integers >= 0"),
        (lambda: pd.pad(value(2), paddings=(1, -1)), r"`paddings` is \[1, -1\]; expected 2 integers >= 0"),
        (lambda: pd.pad(value(2, element=i32), paddings=(1, 1), pad_value=0.5), "`pad_value` is 0.5; expected a whole"),
        (lambda: pd.pad(value(2, element=i8), paddings=(1, 1), pad_value=128.0), "is 128.0; .* -128 to 127 for"),
        (lambda: pd.pad(value(2, element=i1), paddings=(1, 1), pad_value=2.0), "`pad_value` is 2.0; .* 0 to 1 for a"),
        (lambda: pd.expand(value(2, 3), shape=(3,)), "of higher rank"),
        (lambda: pd.expand(value(2), shape=(3,)), "extent 2 does not stretch to 3 on axis 0"),
        (lambda: pd.expand(value(2), shape=(-1, 2)), "-1 on axis 0 names no extent"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(build, message):
    with pytest.raises(VerifyError, match=message):
        build()


def test_the_one_element_of_a_scalar_can_be_set() -> None:
    found = pd.set_value(value(), value(), axes=(), starts=(), ends=()).compute(np.asarray(1.0), np.asarray(2.0))
    assert found.shape == ()
    assert found == 2.0
