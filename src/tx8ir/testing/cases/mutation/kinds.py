"""Features of a program, and pairs of them: what tells a program that shows something new from one that does not."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

import numpy as np

from tx8ir.core import Op, Operation, Program, RankedTensor, TensorType, Value
from tx8ir.dialects import builtin, func, pd
from tx8ir.testing.inputs import structures

_MOST = 40
"""Of a program with more features, so many are paired."""
_ORDERED = 64
"""Of a constant of so many numbers, the order is looked at."""


def feature_pairs(program: Program, ops: AbstractSet[str]) -> set[int]:
    """Every two features of a program, as numbers that are the same in every process.

    Features are those of the operations in `ops`, or of all where it has none of these: element types, ranks, values
    of attributes, where operands come from, how often results are used, what is around.
    """
    found: dict[str, None] = {}
    for op in program.module.walk():
        if (op.name in ops or not ops) and not isinstance(op, func.FuncOp | func.ReturnOp | builtin.ModuleOp):
            found.update(dict.fromkeys(_features(op)))
    codes = [zlib.crc32(f.encode()) for f in itertools.islice(found, _MOST)]
    return {min(a, b) * 31 + max(a, b) for a, b in itertools.combinations_with_replacement(codes, 2)}


def _features(op: Operation) -> Iterator[str]:
    name = op.name
    around = op.parent_op
    if around is not None and not isinstance(around, func.FuncOp):
        yield f"{name} in {around.name}"
    if isinstance(op, Op):
        for field in op.definition.attributes:
            value = repr(getattr(op, field.name))
            yield f"{name}.{field.name} {value if len(value) < 40 else len(value)}"
    for index, operand in enumerate(op.operands[:4]):
        yield f"{name} {index} of {_source(operand)}"
        type_ = operand.type
        if isinstance(type_, RankedTensor):
            yield f"{name} {index} is {type_.element}"
            yield f"{name} {index} has {_kind_of_shape(type_.shape)}"
            if isinstance(type_, TensorType):
                yield f"{name} {index} in storage"
    if len(set(op.operands)) < len(op.operands):
        yield f"{name} of one value twice"
    for index, result in enumerate(op.results[:2]):
        count = sum(1 for _ in itertools.islice(result.uses, 3))
        yield f"{name} result {index} used {count}"
        if isinstance(result.type, RankedTensor):
            yield f"{name} result {index} has rank {result.type.rank}"


def _kind_of_shape(shape: tuple[int, ...]) -> str:
    """The rank, where extents of 0 and 1 are, and whether the others are equal."""
    kinds = "".join("?" if n < 0 else str(n) if n < 2 else "n" for n in shape)
    large = [n for n in shape if n > 1]
    return f"{kinds}{'=' if len(large) > 1 and len(set(large)) == 1 else ''}"


def _source(value: Value) -> str:
    """What makes a value; which number it is, where it is one."""
    op = value.defining_op
    if op is None:
        return "an argument"
    if isinstance(op, pd.FullOp):
        return f"{op.value}"
    if isinstance(op, builtin.ConstantOp):
        array = op.value.value.reshape(-1)
        return _order(op.value.value) if array.size > 4 or (array != array[:1]).any() else f"{array[:1]}"
    return op.name


def _order(array: np.ndarray) -> str:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
    """In which order the numbers of a constant are, of those that a compiler may look for."""
    if array.size <= _ORDERED:
        for number, made in enumerate(structures(array.shape)):
            if np.array_equal(made, array):
                return f"numbers in order {number}"
    return "numbers"
