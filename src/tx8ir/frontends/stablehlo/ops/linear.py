"""Products, and systems of equations with triangular matrices."""

from __future__ import annotations

from tx8ir.core import DYNAMIC, Operation, ScalarType, Value
from tx8ir.dialects import pd
from tx8ir.frontends import einsum
from tx8ir.frontends.stablehlo import written
from tx8ir.frontends.stablehlo.node import StableHloNode
from tx8ir.frontends.stablehlo.registry import Converted, converter
from tx8ir.frontends.values import tensor_type

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
LARGEST = 64
"""Rows of the largest matrix that is decomposed or solved for, row by row."""


@converter("stablehlo.dot_general")
def dot_general(node: StableHloNode) -> Converted:
    """Products summed over some axes of both, for each place on axes that both have."""
    x, y = node.take(2)
    numbers = written.fields(node.attribute("dot_dimension_numbers"))
    ranks = tensor_type(x).rank, tensor_type(y).rank
    batch = tuple(numbers.get(f"{side}_batching_dimensions", ()) for side in ("lhs", "rhs"))
    inner = tuple(numbers.get(f"{side}_contracting_dimensions", ()) for side in ("lhs", "rhs"))
    for side in (0, 1):
        node.axes((*batch[side], *inner[side]), ranks[side], "the axes")
    if len(batch[0]) != len(batch[1]) or len(inner[0]) != len(inner[1]):
        raise node.error(f"pairs the axes {batch[0]} with {batch[1]} and {inner[0]} with {inner[1]}")
    return product(node, x, y, (batch[0], batch[1]), (inner[0], inner[1]))


Pair = tuple[tuple[int, ...], tuple[int, ...]]


def product(node: StableHloNode, x: Value, y: Value, batch: Pair, inner: Pair) -> Value | Operation:
    """Products summed over `inner` axes: axes of `batch`, then the others of x, then those of y."""
    element = node.result.element
    x, y = (_widened(node, value, element) for value in (x, y))
    shapes = tensor_type(x).shape, tensor_type(y).shape
    matrices = _as_matrices(x, y, batch, inner)
    if matrices is not None:
        return node.cast(matrices, element)
    if DYNAMIC in (*shapes[0], *shapes[1]):
        raise node.graph.open(f"multiplies {tensor_type(x)} by {tensor_type(y)}", node.proto)
    free = iter(_LETTERS)
    names: list[list[str]] = [[""] * len(shapes[0]), [""] * len(shapes[1])]
    shared: list[str] = []
    for pair, kept in ((batch, True), (inner, False)):
        for axes in zip(*pair, strict=True):
            letter = next(free)
            names[0][axes[0]] = names[1][axes[1]] = letter
            shared += [letter] if kept else []
    for row in names:
        row[:] = [letter or next(free) for letter in row]
    out = shared + [letter for row in names for letter in row if (letter not in names[0]) or (letter not in names[1])]
    equation = f"{''.join(names[0])},{''.join(names[1])}->{''.join(out)}"
    return node.cast(einsum.einsum(node, equation, [x, y]), element)


def _widened(node: StableHloNode, value: Value, element: ScalarType) -> Value:
    """An operand in the format of the result, if that is wider or of another kind."""
    own = tensor_type(value).element
    narrow = own.is_float and element.is_float and element.format.bits <= own.format.bits
    return value if narrow else node.cast(value, element)


def _as_matrices(x: Value, y: Value, batch: Pair, inner: Pair) -> Value | None:
    """The product where the axes stand as those of matrices do, or None."""
    ranks = tensor_type(x).rank, tensor_type(y).rank
    leading = len(batch[0])
    places = tuple(range(leading))
    if batch != (places, places) or len(inner[0]) != 1 or min(ranks) < leading + 1:
        return None
    (k,), (m,) = inner
    if ranks == (leading + 2, leading + 2):
        return pd.matmul(x, y, transpose_x=k == leading, transpose_y=m == leading + 1).out
    if ranks[1] == 2 and not leading and k == ranks[0] - 1 and ranks[0] > 1:  # rows of any number of axes
        return pd.matmul(x, y, transpose_y=m == 1).out
    return None


@converter("stablehlo.dot")
def dot(node: StableHloNode) -> Converted:
    """A product of vectors and matrices."""
    x, y = node.take(2)
    rank = tensor_type(x).rank
    if not 1 <= rank <= 2 or not 1 <= tensor_type(y).rank <= 2:
        raise node.error(f"multiplies {tensor_type(x)} by {tensor_type(y)}; expected vectors or matrices")
    return product(node, x, y, ((), ()), ((rank - 1,), (0,)))


def _rows(node: StableHloNode, a: Value) -> int:
    shape = node.static_shape(a, "the matrix")
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise node.error(f"takes {tensor_type(a)}; expected square matrices")
    if shape[-1] > LARGEST:
        raise node.error(f"takes matrices of {shape[-1]} rows; supported are up to {LARGEST}")
    return shape[-1]


def _part(x: Value, rows: tuple[int, int], columns: tuple[int, int]) -> Value:
    rank = tensor_type(x).rank
    bounds = zip(rows, columns, strict=True)
    starts, ends = bounds
    return pd.slice(x, axes=(rank - 2, rank - 1), starts=starts, ends=ends).out


@converter("stablehlo.cholesky")
def cholesky(node: StableHloNode) -> Converted:
    """The triangular matrix whose product with its transpose is a; only one triangle of a is looked at."""
    (a,) = node.take(1)
    lower = node.flag("lower")
    out = cholesky_of(node, a if lower else _transposed(a))
    return out if lower else _transposed(out)


def _transposed(x: Value) -> Value:
    rank = tensor_type(x).rank
    return pd.transpose(x, perm=(*range(rank - 2), rank - 1, rank - 2)).out


def cholesky_of(node: StableHloNode, a: Value) -> Value:
    """The lower triangular matrix, column by column (Golub and Van Loan, Matrix Computations, 4.2.5)."""
    count = _rows(node, a)
    rank, element = tensor_type(a).rank, tensor_type(a).element
    columns: list[Value] = []
    for j in range(count):
        column = _part(a, (j, count), (j, j + 1))
        if columns:
            done = columns[0] if j == 1 else pd.concat(columns, axis=rank - 1).out
            below, row = _part(done, (j, count), (0, j)), _part(done, (j, j + 1), (0, j))
            column = pd.subtract(column, pd.matmul(below, row, transpose_y=True)).out
        root = pd.sqrt(_part(column, (0, 1), (0, 1)))
        column = pd.divide(column, root).out
        if j:
            above = pd.full(shape=(*tensor_type(a).shape[:-2], j, 1), value=0.0, dtype=element)
            column = pd.concat([above, column], axis=rank - 2).out
        columns.append(column)
    return columns[0] if count == 1 else pd.concat(columns, axis=rank - 1).out


@converter("stablehlo.triangular_solve")
def triangular_solve(node: StableHloNode) -> Converted:
    """X with op(a) x = b, or x op(a) = b; only one triangle of a is looked at."""
    a, b = node.take(2)
    left = node.flag("left_side")
    transposed = node.word("transpose_a", "NO_TRANSPOSE") in ("TRANSPOSE", "ADJOINT")
    lower = node.flag("lower") != transposed
    matrix = _transposed(a) if transposed else a
    unit = node.flag("unit_diagonal")
    if left:
        return solve(node, matrix, b, lower=lower, unit=unit)
    return _transposed(solve(node, _transposed(matrix), _transposed(b), lower=not lower, unit=unit))


def solve(node: StableHloNode, a: Value, b: Value, *, lower: bool, unit: bool) -> Value:
    """X with a x = b, row by row from the row that has one unknown."""
    count = _rows(node, a)
    rank = tensor_type(b).rank
    width = node.static_shape(b, "the right side")[-1]
    rows: dict[int, Value] = {}
    for i in range(count) if lower else range(count - 1, -1, -1):
        row = _part(b, (i, i + 1), (0, width))
        if rows:
            first, end = min(rows), max(rows) + 1
            known = [rows[j] for j in range(first, end)]
            solved = known[0] if len(known) == 1 else pd.concat(known, axis=rank - 2).out
            row = pd.subtract(row, pd.matmul(_part(a, (i, i + 1), (first, end)), solved)).out
        rows[i] = row if unit else pd.divide(row, _part(a, (i, i + 1), (i, i + 1))).out
    return rows[0] if count == 1 else pd.concat([rows[i] for i in range(count)], axis=rank - 2).out
