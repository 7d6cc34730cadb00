"""Hypothesis strategies for types, attributes, locations and whole programs (needs the extra `test`).

    from hypothesis import given
    from support import strategies as ir

    @given(ir.programs())
    def test_my_pass(program): ...

Programs are valid: `program.verify()` passes. They are built from a *plan* (`plans.py`), plain data that Hypothesis
draws and shrinks: whatever is left out of a plan, it still describes a program, so a failing test ends with a program
of one or two operations. A strategy is made once for its arguments: making one takes longer than drawing from it.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from numpy.typing import NDArray

from support.dialect import BoxAttr, Colour
from support.mlir_strategies import builtin_attributes, builtin_types
from support.plans import BlockPlan, OpPlan, RegionPlan, build_pd_program, build_program
from tx8ir.core import (
    DYNAMIC,
    UNKNOWN,
    ArrayAttr,
    Attribute,
    BoolAttr,
    CallSiteLocation,
    DenseArrayAttr,
    DenseAttr,
    DictAttr,
    DictType,
    FileLocation,
    FileRangeLocation,
    FloatAttr,
    FunctionType,
    FusedLocation,
    IntAttr,
    ListType,
    Location,
    NamedLocation,
    NoneType,
    OpaqueAttr,
    OpaqueType,
    Program,
    RankedTensor,
    ScalarType,
    StrAttr,
    SymbolRefAttr,
    TensorType,
    TokenType,
    TupleType,
    Type,
    TypeAttr,
    UnitAttr,
    VTensorType,
    as_attribute,
    bf16,
    f32,
    i1,
    i4,
    tf32,
    ui8,
)
from tx8ir.core.attrs.floats import bits_float, float_bits
from tx8ir.target.formats import ALL as ALL_FORMATS

_SCALARS = tuple(ScalarType(f) for f in sorted(ALL_FORMATS, key=lambda f: (f.name != "f32", f.name)))


@functools.cache
def scalar_types(*, floats: bool = True, integers: bool = True) -> SearchStrategy[ScalarType]:
    """Element types; f32 is the simplest."""
    return st.sampled_from([t for t in _SCALARS if (floats if t.is_float else integers)])


@functools.cache
def shapes(*, max_rank: int = 3, dynamic: bool = True, max_extent: int = 4) -> SearchStrategy[tuple[int, ...]]:
    """Shapes of rank 0 to `max_rank`."""
    extent = st.integers(0, max_extent)
    return st.lists(extent | st.just(DYNAMIC) if dynamic else extent, max_size=max_rank).map(tuple)


@functools.cache
def tensor_types(*, dynamic: bool = True) -> SearchStrategy[RankedTensor]:
    """Tensors and value tensors."""
    shape, element = shapes(dynamic=dynamic), scalar_types()
    return st.builds(VTensorType, shape, element) | st.builds(TensorType, shape, element)


@functools.cache
def types(*, unregistered: bool = False) -> SearchStrategy[Type]:
    """Types of every kind, nested.

    Args:
        unregistered: also types of dialects that nobody knows.
    """
    leaves: list[SearchStrategy[Type]] = [tensor_types(), scalar_types(), st.just(NoneType()), st.just(TokenType())]
    if unregistered:
        leaves.append(_opaque_texts("!").map(OpaqueType))
    return st.recursive(st.one_of(leaves), _containers, max_leaves=5)


def _containers(inner: SearchStrategy[Type]) -> SearchStrategy[Type]:
    some = st.lists(inner, max_size=3)
    return st.one_of(
        builtin_types(inner),
        some.map(TupleType),
        some.map(ListType),
        st.builds(FunctionType, some, some),
        st.dictionaries(st.text(max_size=4), inner, max_size=3).map(DictType),
    )


def _opaque_texts(sigil: str) -> SearchStrategy[str]:
    body = st.sampled_from(["", "<>", "<4x?xf32, [1, 2]>", '<"a>b\\22", (i32) -> i32>', "<{k = <//>}>"])
    name = st.sampled_from(["alien.thing", "alien.a_b$c", "alien.T1"])
    return st.tuples(st.just(sigil), name, body).map("".join)


@functools.cache
def float_values(element: ScalarType) -> SearchStrategy[float]:
    """Every number of a float type: both zeros, subnormals, infinities, and NaN with any payload, all by their bits."""
    format = element.format
    unused = format.bits - 1 - format.exponent_bits - format.mantissa_bits
    bits = st.integers(0, (1 << (format.bits - unused)) - 1).map(lambda code: bits_float(code << unused, format))
    return st.sampled_from([0.0, 1.0, -0.0, -1.5, math.inf, -math.inf, math.nan]) | bits


@functools.cache
def integer_values(element: ScalarType) -> SearchStrategy[int]:
    """Every number of an integer type."""
    format = element.format
    low = -(1 << (format.bits - 1)) if format.is_signed else 0
    return st.integers(low, low + (1 << format.bits) - 1)


@functools.cache
def arrays(type: RankedTensor) -> SearchStrategy[NDArray[Any]]:
    """Arrays that fit a static tensor type, every bit pattern of its element included."""
    element, count = type.element, type.num_elements
    if element.is_float:
        words = float_values(element).map(lambda v: float_bits(v, element.format))  # NumPy would change some NaN
        return st.lists(words, min_size=count, max_size=count).map(
            lambda found: np.array(found, f"<u{element.dtype.itemsize}").view(element.dtype).reshape(type.shape)
        )
    values = integer_values(element)
    return st.lists(values, min_size=count, max_size=count).map(
        lambda found: (
            np.array(found, np.int64 if element.format.is_signed else np.uint64)
            .astype(element.dtype)
            .reshape(type.shape)
        )
    )


@functools.cache
def dense_attributes() -> SearchStrategy[DenseAttr]:
    """Dense attributes of every element type, splats, empty ones and ones printed as bytes included."""
    small = st.builds(VTensorType, shapes(dynamic=False, max_extent=3), scalar_types()) | st.builds(
        TensorType, shapes(dynamic=False, max_extent=3), scalar_types()
    )
    large = st.builds(VTensorType, st.sampled_from([(65,), (5, 13)]), scalar_types())

    def fill(type: RankedTensor) -> SearchStrategy[DenseAttr]:
        return arrays(type).map(lambda a: DenseAttr(a, type))

    def tile(type: RankedTensor) -> SearchStrategy[DenseAttr]:  # two values spread over many elements
        one = VTensorType((2,), type.element)
        return arrays(one).map(lambda a: DenseAttr(np.resize(a, type.shape), type))

    return small.flatmap(fill) | large.flatmap(tile)


@functools.cache
def names() -> SearchStrategy[str]:
    """Attribute keys, symbols and names of values: plain ones, odd ones, and ones that must be quoted."""
    return st.sampled_from(["a", "b", "axis", "layout_str", "x.y-z$1", "true", "loc", ""]) | st.text(max_size=5)


@functools.cache
def attributes(*, unregistered: bool = False, max_leaves: int = 4) -> SearchStrategy[Attribute]:
    """Attributes of every kind, nested.

    Args:
        unregistered: also attributes of dialects that nobody knows.
        max_leaves: how many attributes one may hold, all levels together.
    """
    numbers: list[SearchStrategy[Attribute]] = []
    for scalar in _SCALARS:
        values: SearchStrategy[Any] = float_values(scalar) if scalar.is_float else integer_values(scalar)
        if scalar is not i1:
            numbers.append(st.builds(FloatAttr if scalar.is_float else IntAttr, values, st.just(scalar)))
        elements = st.booleans() if scalar is i1 else values
        numbers.append(st.builds(DenseArrayAttr, st.lists(elements, max_size=3), st.just(scalar)))
    leaves: list[SearchStrategy[Attribute]] = [
        st.booleans().map(BoolAttr),
        st.one_of(numbers),
        st.text(max_size=8).map(StrAttr),
        st.just(UnitAttr()),
        names().map(SymbolRefAttr),
        types(unregistered=unregistered).map(TypeAttr),
        dense_attributes(),
        st.sampled_from(Colour).map(as_attribute),
        boxes(),
    ]
    if unregistered:
        leaves.append(_opaque_texts("#").map(OpaqueAttr))
    leaves.append(builtin_attributes(types(unregistered=unregistered), st.none() | st.one_of(leaves)))
    return st.recursive(
        st.one_of(leaves),
        lambda inner: (
            st.lists(inner, max_size=3).map(ArrayAttr) | st.dictionaries(names(), inner, max_size=3).map(DictAttr)
        ),
        max_leaves=max_leaves,
    )


@functools.cache
def boxes() -> SearchStrategy[BoxAttr]:
    """Instances of a structured attribute."""
    return st.builds(
        BoxAttr,
        size=st.integers(-(1 << 63), (1 << 63) - 1),
        names=st.lists(st.text(max_size=3), max_size=2).map(tuple),
        extents=st.lists(st.integers(0, 9), max_size=3).map(tuple),
        scale=st.floats(),
        is_open=st.booleans(),
        label=st.none() | st.text(max_size=4),
        colour=st.none() | st.sampled_from(Colour),
    )


@functools.cache
def locations() -> SearchStrategy[Location]:
    """Locations of every kind that has a text form."""
    lines = st.integers(1, 10_000)
    leaves = (
        st.just(UNKNOWN)
        | st.builds(FileLocation, st.text(max_size=6), lines, lines)
        | st.builds(FileRangeLocation, st.text(max_size=6), lines, lines, lines, lines)
    )
    return st.recursive(
        leaves,
        lambda inner: (
            st.builds(NamedLocation, st.text(max_size=5), inner)
            | st.builds(FusedLocation, st.lists(inner, max_size=3).map(tuple), st.text(max_size=4))
            | st.builds(CallSiteLocation, inner, inner)
        ),
        max_leaves=3,
    )


# -- programs -------------------------------------------------------------------------------------------------------


@functools.cache
def programs(*, unregistered: bool = False, max_ops: int = 5, max_depth: int = 3) -> SearchStrategy[Program]:
    """Valid programs over the dialects `builtin`, `func` and `test` (`test_context()` knows them).

    They have nested regions, isolated and not; regions of several blocks with arguments and successors, in any order,
    unreachable ones included; operations with optional and variadic operands, several results, and attributes of every
    kind; parameters and their weights; locations. Values are used only where their definition dominates.

    Args:
        unregistered: also operations, types and attributes of dialects that nobody knows.
        max_ops: the most operations of one block.
        max_depth: how deep regions nest.
    """
    return region_plans(unregistered=unregistered, max_ops=max_ops, max_depth=max_depth).map(build_program)


@functools.cache
def region_plans(*, unregistered: bool = False, max_ops: int = 5, max_depth: int = 3) -> SearchStrategy[RegionPlan]:
    """The plan of a function body; see `plans.build_program`."""
    pick, picks = st.integers(0, 30), st.lists(st.integers(0, 30), max_size=4).map(tuple)
    types = st.lists(_value_types(unregistered), max_size=3).map(tuple)
    decorations = {kinds: _decorations(kinds, unregistered) for kinds in _DECORATIONS}
    decoration = st.sampled_from(_DECORATIONS).flatmap(decorations.__getitem__)
    # Each kind draws no more than it needs, so that whatever is superfluous is a short run of choices to Hypothesis.
    parts: dict[str, dict[str, SearchStrategy[Any]]] = {
        "unary": {"picks": st.tuples(pick)},
        "binary": {"picks": st.tuples(pick, pick)},
        "source": {"types": types},
        "parameter": {"picks": st.tuples(pick), "types": types},
        "constant": {"types": types},
        "pack": {"picks": picks},
        "segments": {"picks": picks},
        "many": {"picks": picks, "types": types},
        "attributes": {"picks": picks},
    }
    if unregistered:
        parts["alien"] = {"picks": picks, "types": types}
    kinds = [kind for kind in parts for _ in range(3)]
    if max_depth > 0:
        inner = st.deferred(
            lambda: region_plans(unregistered=unregistered, max_ops=max(2, max_ops - 2), max_depth=max_depth - 1)
        )
        regions = st.lists(inner, max_size=2).map(tuple)
        nested = ["scope", "isolated", "graph", *(["alien_region"] if unregistered else [])]
        parts |= {kind: {"picks": picks, "types": types, "regions": regions} for kind in nested}
        kinds += nested
    plans = {
        kind: st.builds(_decorated, st.just(kind), decoration, st.fixed_dictionaries(drawn))
        for kind, drawn in parts.items()
    }
    return _blocks(st.sampled_from(kinds).flatmap(plans.__getitem__), max_ops, unregistered)


_DECORATIONS: Final = ("", "", "", "", "a", "a", "l", "al")


@functools.cache
def _decorations(kinds: str, unregistered: bool) -> SearchStrategy[dict[str, Any]]:
    """Runtime attributes and a location, as far as `kinds` has the letters a and l."""
    drawn: dict[str, SearchStrategy[Any]] = {}
    if "a" in kinds:
        drawn["attributes"] = st.dictionaries(names(), attributes(unregistered=unregistered, max_leaves=2), max_size=2)
    if "l" in kinds:
        drawn["location"] = locations()
    return st.fixed_dictionaries(drawn)


def _decorated(kind: str, decoration: dict[str, Any], drawn: dict[str, Any]) -> OpPlan:
    return OpPlan(kind, **drawn, **decoration)


_TENSORS: Final = (
    VTensorType((2,), f32), TensorType((2, 3), f32), VTensorType((), i1), VTensorType((DYNAMIC, 2), bf16),
    VTensorType((0, 4), i4), TensorType((1, 8), ui8), VTensorType((2, 2), tf32),
)  # fmt: skip
_OTHERS: Final = (
    NoneType(), TokenType(), f32, TupleType(_TENSORS[:2]), TupleType(), ListType(_TENSORS[2:4]),
    DictType({"a": _TENSORS[0], '"': ListType()}), FunctionType(_TENSORS[:1], ()), FunctionType((), _TENSORS[:1]),
    FunctionType((), (FunctionType((), (f32,)),)),
)  # fmt: skip


@functools.cache
def _value_types(unregistered: bool) -> SearchStrategy[Type]:
    """Few types, so that values often share one and drawing is cheap; `types` has them all."""
    alien = (OpaqueType("!alien.thing<4x?xf32, [1, 2]>"), OpaqueType("!alien.T1")) if unregistered else ()
    return st.sampled_from((*_TENSORS, *_OTHERS, *alien))


def _blocks(ops: SearchStrategy[OpPlan], max_ops: int, unregistered: bool) -> SearchStrategy[RegionPlan]:
    block = st.builds(
        BlockPlan,
        arguments=st.lists(_value_types(unregistered), max_size=2).map(tuple),
        ops=st.lists(ops, max_size=max_ops).map(tuple),
        goes_to=st.lists(st.integers(0, 5), max_size=2).map(tuple),
        picks=st.lists(st.integers(0, 30), max_size=2).map(tuple),
    )
    return st.lists(block, min_size=1, max_size=3).map(tuple)


@functools.cache
def pd_programs(*, max_ops: int = 8) -> SearchStrategy[Program]:
    """Valid programs over `pd`: a straight function `main` with public names, and its parameter in the store.

    Every operation is one that its own type inference accepts.
    """
    types = st.builds(VTensorType, st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple), st.just(f32))
    step = st.tuples(st.integers(0, 60), st.lists(st.integers(0, 30), min_size=1, max_size=3).map(tuple))
    return st.builds(
        build_pd_program,
        st.lists(types, min_size=1, max_size=3).map(tuple),
        st.lists(step, max_size=max_ops).map(tuple),
        st.lists(st.floats(-4, 4, width=32), min_size=1, max_size=4).map(tuple),
    )
