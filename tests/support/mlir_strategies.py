"""Hypothesis strategies for MLIR's builtin types and attributes that the machine has no use for."""

from __future__ import annotations

import functools
from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tx8ir.core import (
    DYNAMIC,
    AffineMapAttr,
    AffineSetAttr,
    Attribute,
    BuiltinTensorType,
    ComplexType,
    DistinctAttr,
    ElementsAttr,
    FloatBitsAttr,
    FloatType,
    IndexType,
    IntAttr,
    IntegerType,
    MemRefType,
    NestedSymbolRefAttr,
    StrAttr,
    StridedLayoutAttr,
    Type,
    TypedAttr,
    VectorType,
    f32,
    i8,
)
from tx8ir.core.attrs.affine import Expression, as_expression, combine, dim, negated, symbol
from tx8ir.core.attrs.builtin_types import integer_range

DIMS, SYMBOLS = 3, 2
_INDEX = IndexType()
INTEGERS = st.sampled_from([IntegerType(32, "signed"), IntegerType(7), IntegerType(3, "unsigned"), IntegerType(128)])
SCALARS = st.one_of(INTEGERS, st.sampled_from([_INDEX, FloatType("f8E4M3FN"), FloatType("f80")]))


def builtin_types(inner: SearchStrategy[Type]) -> SearchStrategy[Type]:
    """Scalars, complex numbers, and tensors, vectors and memrefs of `inner`."""
    extents = st.lists(st.integers(0, 9) | st.just(DYNAMIC), max_size=3)
    flagged = st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=3)
    layout = st.none() | affine_maps() | strides()
    space = st.none() | st.builds(IntAttr, st.integers(0, 9))
    return st.one_of(
        SCALARS,
        st.sampled_from([f32, i8]).map(ComplexType),
        st.builds(BuiltinTensorType, extents, SCALARS, st.none() | st.builds(StrAttr, st.text(max_size=3))),
        st.builds(BuiltinTensorType, st.none(), inner),
        st.builds(
            lambda dims, element: VectorType([d for d, _ in dims], element, [flag for _, flag in dims]), flagged, inner
        ),
        st.builds(MemRefType, extents, inner, layout, space),
        st.builds(MemRefType, st.none(), inner, st.none(), space),
    )


@functools.cache
def expressions() -> SearchStrategy[Expression]:
    """Affine expressions of three dimensions and two symbols, as `combine` makes them."""
    leaves: SearchStrategy[Expression] = st.one_of(
        st.integers(-9, 9).map(as_expression),
        st.integers(0, DIMS - 1).map(dim),
        st.integers(0, SYMBOLS - 1).map(symbol),
    )
    divisors = st.integers(1, 9).map(as_expression)

    def larger(inner: SearchStrategy[Expression]) -> SearchStrategy[Expression]:
        return st.one_of(
            st.builds(combine, st.just("+"), inner, inner),
            st.builds(combine, st.just("*"), inner, st.integers(-9, 9).map(as_expression)),
            st.builds(combine, st.sampled_from(["mod", "floordiv", "ceildiv"]), inner, divisors),
            inner.map(negated),
        )

    return st.recursive(leaves, larger, max_leaves=8)


@functools.cache
def affine_maps() -> SearchStrategy[AffineMapAttr]:
    """Maps of three dimensions and two symbols."""
    return st.builds(AffineMapAttr, st.just(DIMS), st.just(SYMBOLS), st.lists(expressions(), max_size=3))


def affine_sets() -> SearchStrategy[AffineSetAttr]:
    """Sets of three dimensions and two symbols."""
    constraints = st.lists(st.tuples(expressions(), st.booleans()), max_size=3)
    return st.builds(AffineSetAttr, st.just(DIMS), st.just(SYMBOLS), constraints)


@functools.cache
def strides() -> SearchStrategy[StridedLayoutAttr]:
    """Strided layouts."""
    step = st.integers(0, 99) | st.just(DYNAMIC)
    return st.builds(StridedLayoutAttr, st.lists(step, max_size=3), step)


def _elements(draw: Callable[..., int], element: Type) -> ElementsAttr:
    low, high = integer_range(element)
    count = draw(st.integers(0, 4))
    return ElementsAttr(BuiltinTensorType((count,), element), [str(draw(st.integers(low, high))) for _ in range(count)])


@st.composite
def elements(draw: Callable[..., int]) -> ElementsAttr:
    """Elements of an integer type that the machine lacks."""
    return _elements(draw, draw(st.one_of(INTEGERS, st.just(_INDEX))))


def builtin_attributes(types: SearchStrategy[Type], inner: SearchStrategy[Attribute]) -> SearchStrategy[Attribute]:
    """Attributes of MLIR, of `types` and around `inner`."""
    integer = INTEGERS.flatmap(lambda type: st.builds(IntAttr, st.integers(*integer_range(type)), st.just(type)))
    return st.one_of(
        integer,
        st.builds(FloatBitsAttr, st.integers(0, 255), st.just(FloatType("f8E4M3FN"))),
        st.lists(st.text(max_size=4), min_size=2, max_size=3).map(NestedSymbolRefAttr),
        st.builds(TypedAttr, st.text(max_size=4).map(StrAttr), types),
        strides(),
        affine_maps(),
        affine_sets(),
        elements(),
        st.builds(DistinctAttr, st.integers(0, 9), inner),
    )
