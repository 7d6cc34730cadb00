"""Affine expressions, maps and sets: `affine_map<(d0)[s0] -> (d0 * 4 + s0)>`, `affine_set<(d0) : (d0 >= 0)>`.

An expression is a postfix tuple: integers, `("d", i)`, `("s", i)` and the operators `+ * mod floordiv ceildiv`. Nothing
recurses, however deep it nests. Constants are folded and stand right; a difference is a sum with `* -1`, as in MLIR.
"""

# The interning constructors reach into the slots of what they make.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final, TypeAlias, cast

from .attributes import Valued, intern

Token: TypeAlias = "int | str | tuple[str, int]"
Expression: TypeAlias = tuple[Token, ...]

EXPRESSION_LIMIT: Final = 4096
"""The most tokens of one expression."""
_CONSTANT_LIMIT: Final = 1 << 63


def _floordiv(a: int, b: int) -> int:
    return a // b


def _ceildiv(a: int, b: int) -> int:
    return -(-a // b)


_OPERATORS: Final[dict[str, Callable[[int, int], int]]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "mod": lambda a, b: a % b,
    "floordiv": _floordiv,
    "ceildiv": _ceildiv,
}
_DIVISIONS: Final = ("mod", "floordiv", "ceildiv")
_NEUTRAL: Final[dict[str, int]] = {"+": 0, "*": 1, "floordiv": 1, "ceildiv": 1}


def dim(index: int) -> Expression:
    """The dimension `d<index>`."""
    return (("d", index),)


def symbol(index: int) -> Expression:
    """The symbol `s<index>`."""
    return (("s", index),)


def combine(operator: str, left: Expression, right: Expression) -> Expression:
    """`left operator right`, with constants folded; O(tokens).

    Raises:
        ValueError: a divisor that is not positive, a constant of more than 64 bits, or too many tokens.
    """
    a, b = _constant(left), _constant(right)
    if operator in _DIVISIONS and b is not None and b <= 0:
        raise ValueError(f"the right side of {operator} is a positive number, not {b}")
    if a is not None and b is not None:
        return (_checked(_OPERATORS[operator](a, b)),)
    if a is not None and operator in "+*":
        left, right, b = right, left, a
    if b is not None:
        if b == _NEUTRAL.get(operator):
            return left
        if (operator == "mod" and b == 1) or (operator == "*" and b == 0):
            return (0,)
        if operator in "+*" and len(left) > 2 and left[-1] == operator and isinstance(left[-2], int):
            return combine(operator, left[:-2], (_checked(_OPERATORS[operator](left[-2], b)),))
    if len(left) + len(right) >= EXPRESSION_LIMIT:
        raise ValueError(f"an affine expression has at most {EXPRESSION_LIMIT} terms and operators")
    return (*left, *right, operator)


def negated(expression: Expression) -> Expression:
    """Minus `expression`."""
    return combine("*", expression, (-1,))


def _constant(expression: Expression) -> int | None:
    first = expression[0]
    return first if len(expression) == 1 and isinstance(first, int) else None


def _checked(value: int) -> int:
    if not -_CONSTANT_LIMIT <= value < _CONSTANT_LIMIT:
        raise ValueError("a constant of an affine expression has at most 64 bits")
    return value


def evaluate(expression: Expression, dims: Sequence[int], symbols: Sequence[int] = ()) -> int:
    """The number that it stands for; O(tokens). Raises ZeroDivisionError for a division by zero."""
    stack: list[int] = []
    for token in expression:
        if isinstance(token, int):
            stack.append(token)
        elif isinstance(token, tuple):
            stack.append((dims if token[0] == "d" else symbols)[token[1]])
        else:
            b = stack.pop()
            stack.append(_OPERATORS[token](stack.pop(), b))
    return stack[0]


_LEAF, _PRODUCT, _SUM = 0, 1, 2


def expression_text(expression: Expression) -> str:
    """The text with the parentheses that are needed."""
    stack: list[tuple[str, int, Token]] = []  # text, how loose it binds, its last token
    for at, token in enumerate(expression):
        if isinstance(token, tuple):
            stack.append((f"{token[0]}{token[1]}", _LEAF, token))
            continue
        if isinstance(token, int):
            stack.append((str(token), _LEAF, token))
            continue
        (right, right_binds, right_token), (left, left_binds, _) = stack.pop(), stack.pop()
        if token == "*" and right == "-1":
            shown = left if left_binds == _LEAF else f"({left})"
            following = expression[at + 1] if at + 1 < len(expression) else None
            if following == "+" and len(stack):  # a difference, unless it is the left side of the sum
                stack.append((shown, _LEAF, "-"))
            else:
                stack.append((f"-{shown}", _PRODUCT, token))
        elif token == "+":
            sign = "+"
            if right_token == "-":
                sign = "-"
            elif isinstance(right_token, int) and right_token < 0:
                sign, right = "-", str(-right_token)
            elif right_binds == _SUM or right.startswith("-"):
                right = f"({right})"
            stack.append((f"{left} {sign} {right}", _SUM, token))
        else:
            left = left if left_binds == _LEAF else f"({left})"
            right = right if right_binds == _LEAF else f"({right})"
            stack.append((f"{left} {token} {right}", _PRODUCT, token))
    return stack[0][0]


def _head(num_dims: int, num_symbols: int) -> str:
    dims = ", ".join(f"d{i}" for i in range(num_dims))
    symbols = ", ".join(f"s{i}" for i in range(num_symbols))
    return f"({dims})" + (f"[{symbols}]" if num_symbols else "")


def _check(expression: Expression, num_dims: int, num_symbols: int) -> None:
    for token in expression:
        if isinstance(token, tuple) and token[1] >= (num_dims if token[0] == "d" else num_symbols):
            raise ValueError(f"{token[0]}{token[1]} is not one of {_head(num_dims, num_symbols)}")


class AffineMapAttr(Valued):
    """A function of dimensions and symbols: `affine_map<(d0, d1)[s0] -> (d0 + s0, d1)>`.

    Args:
        num_dims: how many dimensions it takes.
        num_symbols: how many symbols.
        results: an expression for each result; see the module.

    Raises:
        ValueError: an expression of a dimension or symbol that it does not take.
    """

    __slots__ = ("num_dims", "num_symbols", "results")
    num_dims: int
    num_symbols: int
    results: tuple[Expression, ...]
    _interned: ClassVar[dict[Any, Any]] = {}

    def __new__(cls, num_dims: int, num_symbols: int, results: Iterable[Expression]) -> AffineMapAttr:
        key = (num_dims, num_symbols, tuple(results))
        found = cls._interned.get(key)
        if found is None:
            for expression in key[2]:
                _check(expression, num_dims, num_symbols)
            found = intern(cls, cls._interned, key, None)
            found.num_dims, found.num_symbols, found.results = key
        return found

    @classmethod
    def identity(cls, rank: int) -> AffineMapAttr:
        """`(d0, …) -> (d0, …)`."""
        return cls(rank, 0, [dim(i) for i in range(rank)])

    @property
    def value(self) -> AffineMapAttr:
        return self

    def evaluate(self, dims: Sequence[int], symbols: Sequence[int] = ()) -> tuple[int, ...]:
        """The results for these numbers. Raises ZeroDivisionError for a division by zero."""
        return tuple(evaluate(expression, dims, symbols) for expression in self.results)

    def __reduce__(self) -> tuple[Any, ...]:
        return AffineMapAttr, (self.num_dims, self.num_symbols, self.results)

    def _make_text(self) -> str:
        results = ", ".join(map(expression_text, self.results))
        return f"affine_map<{_head(self.num_dims, self.num_symbols)} -> ({results})>"


class AffineSetAttr(Valued):
    """Where all constraints hold: `affine_set<(d0)[s0] : (d0 >= 0, s0 - d0 == 0)>`.

    Args:
        num_dims: how many dimensions it is over.
        num_symbols: how many symbols.
        constraints: an expression, and whether it is 0 (or else at least 0).
    """

    __slots__ = ("constraints", "num_dims", "num_symbols")
    num_dims: int
    num_symbols: int
    constraints: tuple[tuple[Expression, bool], ...]
    _interned: ClassVar[dict[Any, Any]] = {}

    def __new__(cls, num_dims: int, num_symbols: int, constraints: Iterable[tuple[Expression, bool]]) -> AffineSetAttr:
        key = (num_dims, num_symbols, tuple(constraints))
        found = cls._interned.get(key)
        if found is None:
            for expression, _ in key[2]:
                _check(expression, num_dims, num_symbols)
            found = intern(cls, cls._interned, key, None)
            found.num_dims, found.num_symbols, found.constraints = key
        return found

    @property
    def value(self) -> AffineSetAttr:
        return self

    def contains(self, dims: Sequence[int], symbols: Sequence[int] = ()) -> bool:
        """Whether the constraints hold for these numbers."""
        values = [(evaluate(expression, dims, symbols), equal) for expression, equal in self.constraints]
        return all(value == 0 if equal else value >= 0 for value, equal in values)

    def __reduce__(self) -> tuple[Any, ...]:
        return AffineSetAttr, (self.num_dims, self.num_symbols, self.constraints)

    def _make_text(self) -> str:
        parts = ", ".join(f"{expression_text(e)} {'==' if equal else '>='} 0" for e, equal in self.constraints)
        return f"affine_set<{_head(self.num_dims, self.num_symbols)} : ({parts})>"


def as_expression(token: Any) -> Expression:
    """A constant as an expression. Raises ValueError for more than 64 bits."""
    return (_checked(cast(int, token)),)
