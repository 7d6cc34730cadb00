"""Sums of products by Einstein's convention."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import attrs
import numpy as np

from tx8ir.core import Operation, Value, i1
from tx8ir.dialects import pd
from tx8ir.frontends.values import Site, tensor_type


@attrs.frozen
class _Term:
    """A tensor and the letter of each of its axes."""

    value: Value
    letters: str


def einsum(node: Site, equation: str, operands: Sequence[Value]) -> Value:
    """Products of all operands, summed over the letters that the result does not have."""
    inputs, output = _parse(node, equation.replace(" ", ""), operands)
    pairs = zip(operands, inputs, strict=True)
    terms = [_diagonal(node, _Term(operand, letters)) for operand, letters in pairs]
    while len(terms) > 1:
        x, y, *rest = terms
        kept = "".join([output, *(term.letters for term in rest)])
        terms = [_product(x, y, kept), *rest]
    out = _summed(terms[0], output)
    perm = tuple(out.letters.index(letter) for letter in output)
    return out.value if perm == tuple(range(len(perm))) else pd.transpose(out.value, perm=perm).out


def _parse(node: Site, equation: str, operands: Sequence[Value]) -> tuple[list[str], str]:
    """The letters of each operand and of the result; an ellipsis becomes capital letters that the equation has not."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise node.error(f"the equation is {equation!r}, which has {len(terms)} terms; expected {len(operands)}")
    free = [chr(code) for code in range(ord("A"), ord("Z") + 1) if chr(code) not in equation]
    widths = [tensor_type(operands[i]).rank - len(term.replace("...", "")) for i, term in enumerate(terms)]
    dots = [width for width, term in zip(widths, terms, strict=True) if "..." in term]
    most = max(dots, default=0)
    if any(width < 0 or (width and "..." not in term) for width, term in zip(widths, terms, strict=True)):
        raise node.error(f"the equation is {equation!r}, which does not fit the ranks of the operands")
    whole = "".join(free[:most])
    named = [term.replace("...", whole[most - width :]) for term, width in zip(terms, widths, strict=True)]
    if arrow:
        return named, right.replace("...", whole)
    letters = "".join(named)
    return named, whole + "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in whole))


def _diagonal(node: Site, term: _Term) -> _Term:
    """Without repeated letters: only elements whose places on these axes are equal count."""
    for letter in dict.fromkeys(term.letters):
        while term.letters.count(letter) > 1:
            shape = tensor_type(term.value).shape
            first = term.letters.index(letter)
            second = term.letters.index(letter, first + 1)
            eye = np.eye(shape[first], dtype=np.bool_).reshape(
                [n if axis in (first, second) else 1 for axis, n in enumerate(shape)]
            )
            zero = pd.full(shape=(), value=0.0, dtype=tensor_type(term.value).element)
            only = pd.where(node.constant(eye, i1, "diagonal"), term.value, zero)
            element = tensor_type(term.value).element
            out = pd.sum(only, axis=(second,), dtype=None if element.is_float else element).out
            term = _Term(out, term.letters[:second] + term.letters[second + 1 :])
    return term


def _summed(term: _Term, kept: str) -> _Term:
    """Summed over the letters that nobody needs any more."""
    axes = tuple(axis for axis, letter in enumerate(term.letters) if letter not in kept)
    if not axes:
        return term
    element = tensor_type(term.value).element
    out = pd.sum(term.value, axis=axes, dtype=None if element.is_float else element).out
    return _Term(out, "".join(letter for letter in term.letters if letter in kept))


def _product(x: _Term, y: _Term, kept: str) -> _Term:
    """Two terms as one: a matrix product over the letters that both have and nobody needs any more."""
    x, y = _summed(x, kept + y.letters), _summed(y, kept + x.letters)
    shared = [letter for letter in x.letters if letter in y.letters]
    batch = [letter for letter in shared if letter in kept]
    inner = [letter for letter in shared if letter not in kept]
    rows = [letter for letter in x.letters if letter not in shared]
    columns = [letter for letter in y.letters if letter not in shared]
    extents = {letter: max(_extent(x, letter), _extent(y, letter)) for letter in (*x.letters, *y.letters)}

    def grouped(term: _Term, *groups: list[str]) -> Operation:
        order = [letter for group in groups for letter in group]
        moved = pd.transpose(term.value, perm=tuple(term.letters.index(letter) for letter in order))
        full = tuple(extents[letter] for letter in order)
        wide = moved if tensor_type(moved.out).shape == full else pd.expand(moved, shape=full)
        sizes = tuple(_count(extents, group) for group in groups[1:])
        return pd.reshape(wide, shape=(*(extents[letter] for letter in groups[0]), *sizes))

    out = pd.matmul(grouped(x, batch, rows, inner), grouped(y, batch, inner, columns))
    letters = [*batch, *rows, *columns]
    return _Term(pd.reshape(out, shape=tuple(extents[letter] for letter in letters)).out, "".join(letters))


def _count(extents: dict[str, int], letters: list[str]) -> int:
    return reduce(lambda a, b: a * b, (extents[letter] for letter in letters), 1)


def _extent(term: _Term, letter: str) -> int:
    return tensor_type(term.value).shape[term.letters.index(letter)] if letter in term.letters else 1
