"""Symbolic extents: expressions of symbols as SymPy writes them, and the values that a caller gives."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Final, TypeAlias

import attrs

from tx8ir.core import DYNAMIC


@attrs.frozen
class Symbolic:
    """An integer that is not known on import.

    Attributes:
        text: the expression.
        symbols: the symbols in it.
    """

    text: str
    symbols: tuple[str, ...]

    def __str__(self) -> str:
        return self.text


Extent: TypeAlias = "int | Symbolic"
"""An integer, known or not."""

LONGEST: Final = 10_000
"""Longest expression that is read, in characters."""
LARGEST: Final = 1 << 63
"""Values stay below this."""


class ExpressionError(ValueError):
    """An expression that is malformed, or uses what is not known."""


def extent(value: Extent) -> int:
    """The extent of an axis: DYNAMIC where it is not known."""
    return value if isinstance(value, int) else DYNAMIC


def _power(base: int, exponent: int) -> int:
    if exponent < 0 or exponent > 64:
        raise ExpressionError(f"the exponent {exponent} is not from 0 to 64")
    return base**exponent


def _quotient(a: int, b: int) -> int:
    return a // b


def _remainder(a: int, b: int) -> int:
    return a % b


_BINARY: Final[dict[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: _quotient,
    ast.Div: _quotient,  # SymPy's quotients here are whole
    ast.Mod: _remainder,
    ast.Pow: _power,
}
_CALLS: Final[dict[str, Callable[[Sequence[int]], int]]] = {
    "Add": sum,
    "Mul": lambda values: reduce(operator.mul, values, 1),
    "Pow": lambda values: _power(*values),
    "Mod": lambda values: _remainder(*values),
    "PythonMod": lambda values: _remainder(*values),
    "FloorDiv": lambda values: _quotient(*values),
    "CleanDiv": lambda values: _quotient(*values),
    "CeilDiv": lambda values: -(-values[0] // values[1]),
    "CeilToInt": lambda values: values[0],
    "Integer": lambda values: values[0],
    "Max": max,
    "Min": min,
}


def evaluate(text: str, given: Mapping[str, int]) -> Extent:
    """The value of an expression, or the expression itself while a symbol of it has none.

    Args:
        text: as in `2*s0 + 1` or `Mul(Integer(2), Symbol('s0', integer=True))`.
        given: values of symbols.

    Raises:
        ExpressionError: no such expression, one with other functions, or without a value (division by 0).
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"it has {len(text)} characters; expected at most {LONGEST}")
    try:
        tree = ast.parse(text, mode="eval")
        symbols: dict[str, None] = {}
        value = _value(tree.body, given, symbols)
    except ExpressionError:
        raise
    except (ArithmeticError, SyntaxError, TypeError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(str(error) or type(error).__name__) from error
    if value is None:
        return Symbolic(_readable(tree.body), tuple(symbols))
    return value


def _value(node: ast.expr, given: Mapping[str, int], symbols: dict[str, None]) -> int | None:
    name = _symbol(node)
    if name is not None:
        symbols[name] = None
        return given.get(name)
    match node:
        case ast.Constant(value=int(number)):
            return int(number)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            value = _value(inner, given, symbols)
            return None if value is None else -value
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            values = [_value(left, given, symbols), _value(right, given, symbols)]
            known = [value for value in values if value is not None]
            result = _BINARY[type(op)](*known) if len(known) == 2 else None
        case ast.Call(func=ast.Name(id=str(called)), args=arguments) if called in _CALLS:
            values = [_value(argument, given, symbols) for argument in arguments]
            known = [value for value in values if value is not None]
            result = _CALLS[called](known) if len(known) == len(values) else None
        case _:
            raise ExpressionError(f"{ast.unparse(node):.80} is not understood")
    if result is not None and not -LARGEST < result < LARGEST:
        raise ExpressionError("its value has more than 64 bits")
    return result


def _symbol(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Name(id="Symbol"), args=[ast.Constant(value=str(name))]):
            return name
        case _:
            return None


class _Readable(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> Any:
        name = _symbol(node)
        if name is not None:
            return ast.Name(id=name, ctx=ast.Load())
        self.generic_visit(node)
        return node.args[0] if isinstance(node.func, ast.Name) and node.func.id == "Integer" else node


def _readable(node: ast.expr) -> str:
    """The expression with symbols by their names alone."""
    return ast.unparse(_Readable().visit(node))
