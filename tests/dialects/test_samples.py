"""Samples: every operation on tensors has some, they are valid, and they show all that the operation takes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from tx8ir.core import (
    DYNAMIC,
    Block,
    Builder,
    FunctionType,
    Op,
    Program,
    RankedTensor,
    ScalarType,
    Value,
    VerifyError,
    VTensorType,
    f32,
    i1,
    i4,
    i64,
)
from tx8ir.core.ir.equality import structurally_equal
from tx8ir.dialects import builtin, func, pd
from tx8ir.dialects.domains import Domain
from tx8ir.dialects.samples import ELEMENTS, Sample, Sampled, samples_of
from tx8ir.interpreter import evaluate_operation
from tx8ir.testing.inputs import draw_array, in_domain

NOT_SAMPLED = {
    "pd.feed": "an input of the program",
    "pd.fetch": "an output of the program",
    "pd.fusion": "holds other operations",
    "pd.fusion_yield": "ends pd.fusion",
    "builtin.module": "holds the functions",
    "builtin.get_parameter": "needs a variable",
    "builtin.set_parameter": "needs a variable",
    "builtin.get_combine_parameter": "needs variables",
    "builtin.set_combine_parameter": "needs variables",
    "builtin.combine": "makes a list",
    "builtin.slice": "takes a list",
    "builtin.split": "takes a list",
    "builtin.make_dict": "makes a dictionary",
    "builtin.get_item": "takes a dictionary",
    "builtin.unrealized_conversion_cast": "has no meaning of its own",
}
REGISTERED: list[Any] = [*pd.DIALECT.ops.values(), *builtin.DIALECT.ops.values()]
SAMPLED: list[Any] = [op for op in REGISTERED if issubclass(op, Sampled)]
each_op = pytest.mark.parametrize("op", SAMPLED, ids=lambda op: op.name)


@functools.cache
def samples(op: Any) -> Sequence[Sample]:
    return tuple(samples_of(op))


def detached(sample: Sample) -> Op:
    block = Block(sample.types)
    with Builder.at_end(block):
        return sample.build(block.args)


def arrays(sample: Sample, extent: int = 2) -> Iterator[np.ndarray]:
    """Numbers for the operands, inside their domains."""
    rng = np.random.default_rng(0)
    for operand in sample.operands:
        assert isinstance(operand.type, RankedTensor)
        shape = [extent if n == DYNAMIC else n for n in operand.type.shape]
        format = operand.type.element.format
        drawn = draw_array(rng, shape, format, "ordinary")
        yield in_domain(drawn, operand.domain, format, rng)


def ranked(value: Value) -> RankedTensor:
    assert isinstance(value.type, RankedTensor)
    return value.type


def test_every_operation_on_tensors_has_samples() -> None:
    without = {op.name for op in REGISTERED if not samples(op)}
    assert without == set(NOT_SAMPLED)


@each_op
def test_samples_are_valid_and_evaluate(op: Any) -> None:
    for sample in samples(op):
        made = detached(sample)
        made.verify()
        assert [r.type for r in made.results] == list(sample.result_types)
        results = evaluate_operation(made, list(arrays(sample)))
        for value, array in zip(made.results, results, strict=True):
            shape = ranked(value).shape
            assert array.dtype == ranked(value).element.dtype
            assert [n for n, e in zip(array.shape, shape, strict=True) if e not in (n, DYNAMIC)] == [], sample


@each_op
def test_samples_evaluate_on_one_and_on_several_along_a_dynamic_axis(op: Any) -> None:
    for sample in samples(op):
        if any(DYNAMIC in t.shape for t in sample.types if isinstance(t, RankedTensor)):
            for extent in (1, 5):
                evaluate_operation(detached(sample), list(arrays(sample, extent)))


@each_op
def test_samples_are_the_same_every_time_and_distinct(op: Any) -> None:
    again = [str(sample) for sample in samples_of(op)]
    assert again == [str(sample) for sample in samples(op)]
    assert len(again) <= 250


@each_op
def test_samples_print_and_parse(op: Any) -> None:
    import tx8ir

    program = Program.empty()
    for number, sample in enumerate(samples(op)):
        with Builder.at_end(program.body):
            results = list(sample.result_types)
            function = func.FuncOp(sym_name=f"f{number}", function_type=FunctionType(sample.types, results))
        with Builder.at_end(function.body.block):
            func.ReturnOp(sample.build(function.body.block.args).results)
    program.verify()
    assert structurally_equal(program.module, tx8ir.parse(str(program)).module) is None


# --- what samples show -----------------------------------------------------------------------------------------------


def seen(op: Any, name: str) -> set[Any]:
    """The values that an attribute has in the samples, the default among them where it is left out."""
    field = next(f for f in op.definition.attributes if f.name == name)
    return {sample.attributes.get(name, field.default) for sample in samples(op)}


@each_op
def test_every_truth_value_and_every_choice_of_an_attribute_appears(op: Any) -> None:
    for field in op.definition.attributes:
        if field.annotation == "bool":
            assert seen(op, field.name) == {True, False}, field.name
        elif field.annotation == "str":
            choices = set(re.findall(r'"(\w+)"', field.doc))
            assert choices
            assert seen(op, field.name) == choices, field.name
        elif str(field.annotation).startswith("float"):
            numbers = {n for n in seen(op, field.name) if isinstance(n, float)}
            assert {1.0, 2.0, -1.0, 0.5, float("inf")} <= numbers, field.name


@each_op
def test_optional_operands_are_present_and_absent(op: Any) -> None:
    for place, field in enumerate(op.definition.operands):
        if field.count == "optional":
            assert {sample.fields[place] is None for sample in samples(op)} == {True, False}, field.name
        elif field.count == "many":
            counts = {len(given) for sample in samples(op) if isinstance(given := sample.fields[place], tuple)}
            assert {1, 2, 3} <= counts, field.name


def retyped(sample: Sample, places: Sequence[int], element: ScalarType) -> Sample:
    types = [
        t.with_element(element) if i in places and isinstance(t, RankedTensor) else t
        for i, t in enumerate(sample.types)
    ]
    return sample.with_types(types)


def takes(sample: Sample) -> bool:
    try:
        detached(sample).verify()
    except VerifyError:
        return False
    return True


@each_op
def test_every_element_type_that_the_operation_takes_appears(op: Any) -> None:
    """An operand takes an element type if the operation is valid with it, alone or with the others of its type."""
    shown: list[dict[int, set[ScalarType]]] = [{}, {}]
    for sample in samples(op):
        for place, type_ in enumerate(sample.types):
            assert isinstance(type_, RankedTensor)
            shown[0].setdefault(place, set()).add(type_.element)
    base = samples(op)[0]
    if base.attributes.get("value") is not None and not base.types:
        assert {ranked(detached(s).results[0]).element for s in samples(op)} == set(ELEMENTS["any"])
        return
    for place, type_ in enumerate(base.types):
        assert isinstance(type_, RankedTensor)
        alike = [i for i, t in enumerate(base.types) if isinstance(t, RankedTensor) and t.element is type_.element]
        taken = {
            element
            for element in ELEMENTS["any"]
            if takes(retyped(base, [place], element)) or takes(retyped(base, alike, element))
        }
        assert taken == shown[0][place] & taken, f"operand {place}: {[str(e) for e in taken - shown[0][place]]}"


COUNTED_FROM_THE_END = ("axis", "axes", "begin_norm_axis", "start_axis", "stop_axis", "perm", "decrease_axis", "starts")


@each_op
def test_axes_are_counted_from_both_ends(op: Any) -> None:
    for field in op.definition.attributes:
        if field.name in COUNTED_FROM_THE_END:
            given = [sample.attributes.get(field.name, field.default) for sample in samples(op)]
            entries = {n for value in given for n in (value if isinstance(value, tuple) else (value,))}
            assert min(entries) < 0 <= max(entries), field.name


FIXED_RANK = {"pd.pool2d": 4, "pd.conv2d": 4, "pd.depthwise_conv2d": 4, "pd.fused_conv2d_add_act": 4}
NO_RANK_0 = {
    *FIXED_RANK,
    "pd.scaled_dot_product_attention", "pd.batch_norm", "pd.batch_norm_training", "pd.layer_norm",
    "pd.rms_norm", "pd.softmax", "pd.softmax_", "pd.flatten", "pd.split", "pd.concat",
    "pd.cross_entropy_with_softmax", "pd.cross_entropy_with_softmax_grad",
    "pd.cumsum", "pd.cumprod", "pd.topk", "pd.scatter",
}  # fmt: skip
"""Operations along an axis."""


@each_op
def test_samples_have_every_rank_and_odd_extents(op: Any) -> None:
    shapes: list[tuple[int, ...]] = []
    for sample in samples(op):
        made = detached(sample)
        shapes += [ranked(value).shape for value in (*made.operands[:2], *made.results)]
    ranks, extents = {len(shape) for shape in shapes}, {n for shape in shapes for n in shape}
    takes_operands = bool(samples(op)[0].types)
    assert {0, 1, 2, 3} <= extents, extents
    assert 5 in extents
    assert DYNAMIC in extents or not takes_operands
    assert (0 in ranks) != (op.name in NO_RANK_0), ranks
    assert FIXED_RANK.get(op.name, 2) in ranks


# --- independent formulas --------------------------------------------------------------------------------------------


def along(attribute: Any) -> Any:
    return tuple(attribute) or None


FORMULAS: dict[str, Callable[..., Any]] = {
    "pd.relu": lambda op, x: np.where(x > 0, x, 0),
    "pd.leaky_relu": lambda op, x: np.where(x >= 0, x, op.negative_slope * x),
    "pd.sigmoid": lambda op, x: 1 / (1 + np.exp(-x)),
    "pd.tanh": lambda op, x: 1 - 2 / (np.exp(2 * x) + 1),
    "pd.exp": lambda op, x: np.e**x,
    "pd.log": lambda op, x: np.log2(x) / np.log2(np.e),
    "pd.sqrt": lambda op, x: x**0.5,
    "pd.rsqrt": lambda op, x: x**-0.5,
    "pd.reciprocal": lambda op, x: x**-1.0,
    "pd.sin": lambda op, x: np.imag(np.exp(1j * x)),
    "pd.cos": lambda op, x: np.real(np.exp(1j * x)),
    "pd.floor": lambda op, x: np.trunc(x) - (x < np.trunc(x)),
    "pd.abs": lambda op, x: np.where(x < 0, -x, x),
    "pd.square": lambda op, x: x * x,
    "pd.pow": lambda op, x: x**op.y,
    "pd.scale": lambda op, x: (
        op.scale * (x if op.bias_after_scale else x + op.bias) + op.bias * op.bias_after_scale
        if np.isfinite([op.scale, op.bias]).all()
        else None
    ),
    "pd.add": lambda op, x, y: x + y,
    "pd.subtract": lambda op, x, y: x - y,
    "pd.multiply": lambda op, x, y: x * y,
    "pd.divide": lambda op, x, y: x / y,
    "pd.maximum": lambda op, x, y: np.where(x > y, x, y),
    "pd.minimum": lambda op, x, y: np.where(x < y, x, y),
    "pd.elementwise_pow": lambda op, x, y: x**y,
    "pd.where": lambda op, c, x, y: np.where(c, x, y),
    "pd.equal": lambda op, x, y: x == y,
    "pd.less_than": lambda op, x, y: x < y,
    "pd.sum": lambda op, x: np.add.reduce(x, axis=along(op.axis), keepdims=op.keepdim) if op.dtype is None else None,
    "pd.mean": lambda op, x: np.nanmean(x, axis=along(op.axis), keepdims=op.keepdim) if x.size else None,
    "pd.max": lambda op, x: -np.amin(-x, axis=along(op.axis), keepdims=op.keepdim),
    "pd.min": lambda op, x: -np.amax(-x, axis=along(op.axis), keepdims=op.keepdim),
    "pd.softmax": lambda op, x: np.exp(x) / np.exp(x).sum(op.axis, keepdims=True),
    "pd.transpose": lambda op, x: np.einsum(x, list(range(x.ndim)), [p % x.ndim for p in op.perm]),
    "pd.expand": lambda op, x: x + np.zeros(ranked(op.out).shape) if ranked(op.out).is_static else None,
    "pd.pad": lambda op, x: (
        np.pad(x, np.array(op.frame, int).reshape(-1, 2), constant_values=op.pad_value) if x.ndim else x
    ),
    "pd.gather": lambda op, x, i: np.moveaxis(np.moveaxis(x, op.axis, 0)[i], range(i.ndim), _where(op, x, i)),
    "pd.embedding": lambda op, i, w: np.where((i == op.padding_idx)[..., None] & (op.padding_idx >= 0), 0, w[i]),
    "pd.matmul": lambda op, x, y: (
        np.tensordot(_t(x, op.transpose_x), _t(y, op.transpose_y), 1) if x.ndim == y.ndim == 2 else None
    ),
    "pd.layer_norm": lambda op, x, *w: _normal(x, op.begin_norm_axis, op.epsilon) if not w else None,
    "pd.sgd": lambda op, p, r, g: p - r * g,
}


def _t(x: np.ndarray, transpose: bool) -> np.ndarray:
    return x.T if transpose else x


def _where(op: Any, x: np.ndarray, i: np.ndarray) -> range:
    first = op.axis % x.ndim
    return range(first, first + i.ndim)


def _normal(x: np.ndarray, begin: int, epsilon: float) -> np.ndarray:
    axes = tuple(range(begin % x.ndim, x.ndim))
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


@pytest.mark.parametrize("name", FORMULAS)
def test_samples_compute_what_a_formula_says(name: str) -> None:
    """In fp64, on floats; NaN exactly where NumPy's formula has it."""
    compared = 0
    for sample in samples(pd.DIALECT.ops[name]):
        made = detached(sample)
        if not ranked(made.results[0]).element.is_float and not name.startswith(("pd.equal", "pd.less")):
            continue
        given = [
            array.astype(np.float64 if element.is_float else np.bool_ if element is i1 else np.int64)
            for array, element in zip(arrays(sample), (ranked(v).element for v in made.operands), strict=True)
        ]
        with np.errstate(all="ignore"):
            expected = FORMULAS[name](made, *given)
        if expected is not None:
            (result,) = evaluate_operation(made, given, "fp64")
            np.testing.assert_allclose(result.astype(np.float64), expected, rtol=1e-9, atol=1e-12, err_msg=str(sample))
            compared += 1
    assert compared >= 10


# --- domains ---------------------------------------------------------------------------------------------------------


def test_domains_meet() -> None:
    rows, ignored = Domain(0, 4), Domain(0, 2, also=frozenset({-100, 4}))
    assert rows.meet(Domain(2, 9)) == Domain(2, 4)
    assert rows.meet(ignored) == Domain(0, 2, frozenset({4}))
    assert Domain().meet(rows) == rows
    assert rows.meet(Domain(without=frozenset({0}))).numbers(-128, 127) == (1, 2, 3, 4)
    assert rows.meet(Domain(7, 9)).numbers(-128, 127) == ()


def test_domains_are_those_of_the_operands() -> None:
    def domains(op: Any, **attributes: Any) -> list[Domain]:
        found = next(s for s in samples(op) if all(s.attributes.get(k) == v for k, v in attributes.items()))
        return [operand.domain for operand in found.operands]

    assert domains(pd.EmbeddingOp) == [Domain(0, 4), Domain()]
    assert domains(pd.GatherOp, axis=1) == [Domain(), Domain(0, 2)]
    assert domains(pd.CrossEntropyWithSoftmaxOp)[1] == Domain(0, 2, frozenset({-100}))
    divided = [s for s in samples(pd.divide_) if "i32" in str(s.types[0])]
    assert all(s.operands[1].domain == Domain(without=frozenset({0})) for s in divided)


# --- found by samples ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("image", [1, 2])
def test_a_filter_that_does_not_fit_is_refused_by_however_much(image: int) -> None:
    """Of 1 cell under a filter of 3, there are 1 - 3 + 1 = -1 places, which is not an extent that is not known."""
    x, w = Block([VTensorType((1, 1, image, 3), f32), VTensorType((1, 1, 3, 1), f32)]).args
    with pytest.raises(VerifyError, match="does not fit along H"):
        pd.conv2d(x, w)
    with pytest.raises(VerifyError, match="does not fit along H"):
        pd.pool2d(x, kernel_size=(3, 1), pooling_type="max")


def test_one_step_of_descent_on_a_scalar_stays_a_scalar() -> None:
    param, rate = VTensorType((), f32), VTensorType((1,), f32)
    op = detached(Sample(pd.SgdOp, (param, rate, param), {}))
    (out,) = evaluate_operation(op, [np.float32(3), np.array([0.5], np.float32), np.array(2, np.float32)])
    assert out.shape == ()
    assert out == 2


def test_a_whole_scalar_can_be_set() -> None:
    scalar = VTensorType((), f32)
    op = detached(Sample(pd.SetValueOp, (scalar, scalar), {"axes": (), "starts": (), "ends": ()}))
    (out,) = evaluate_operation(op, [np.array(3, np.float32), np.array(5, np.float32)])
    assert out == 5


def test_integers_of_four_bits_wrap() -> None:
    pair = VTensorType((2,), i4)
    op = detached(Sample(pd.AddOp, (pair, pair), {}))
    (out,) = evaluate_operation(op, [np.array([7, -8], i4.dtype), np.array([1, -1], i4.dtype)])
    assert out.dtype == i4.dtype
    assert out.astype(int).tolist() == [-8, 7]


def test_the_gradient_of_a_loss_takes_labels_of_the_right_type_and_shape() -> None:
    softmax, grad = VTensorType((2, 3), f32), VTensorType((2, 1), f32)
    for label, expected in ((VTensorType((2, 1), f32), "integer"), (VTensorType((2, 3), i64), r"shape \[2, 1\]")):
        with pytest.raises(VerifyError, match=expected):
            detached(Sample(pd.CrossEntropyWithSoftmaxGradOp, (label, softmax, grad), {}))
