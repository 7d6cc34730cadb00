"""Reading affine maps and sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from tx8ir.core.attrs.affine import (
    AffineMapAttr,
    AffineSetAttr,
    Expression,
    as_expression,
    combine,
    dim,
    negated,
    symbol,
)
from tx8ir.core.attrs.lexer import IDENTIFIER, INTEGER

from .elements_parser import ElementsParser

T = TypeVar("T")
_BINDS: Final = {"+": 1, "-": 1, "*": 2, "mod": 2, "floordiv": 2, "ceildiv": 2}


class AffineParser(ElementsParser):
    """Reads affine maps and sets. Iterative: parentheses may nest as deep as they like."""

    def affine_map(self) -> AffineMapAttr:
        """Read what follows `affine_map`: `<(d0)[s0] -> (d0 + s0)>`."""
        self.expect("<", "after 'affine_map'")
        start = self.pos
        names, dims, symbols = self._affine_head()
        self.expect("->", "before the results of an affine map")
        results = self._in_parentheses(lambda: self.affine_expression(names))
        self.expect(">", "after an affine map")
        return self.made(lambda: AffineMapAttr(dims, symbols, results), start)

    def affine_set(self) -> AffineSetAttr:
        """Read what follows `affine_set`: `<(d0)[s0] : (d0 - s0 >= 0)>`."""
        self.expect("<", "after 'affine_set'")
        start = self.pos
        names, dims, symbols = self._affine_head()
        self.expect(":", "before the constraints of an affine set")
        constraints = self._in_parentheses(lambda: self._constraint(names))
        self.expect(">", "after an affine set")
        return self.made(lambda: AffineSetAttr(dims, symbols, constraints), start)

    def _in_parentheses(self, read: Callable[[], T]) -> list[T]:
        self.expect("(", "before affine expressions")
        found: list[T] = []
        while not self.accept(")"):
            if found:
                self.expect(",", "between affine expressions")
            found.append(read())
        return found

    def _affine_head(self) -> tuple[dict[str, Expression], int, int]:
        """The names of dimensions and symbols, and how many there are of each."""
        names: dict[str, Expression] = {}
        dims = self._affine_names(names, "(", ")", dim)
        symbols = self._affine_names(names, "[", "]", symbol) if self.peek() == "[" else 0
        return names, dims, symbols

    def _affine_names(
        self, names: dict[str, Expression], opens: str, closes: str, make: Callable[[int], Expression]
    ) -> int:
        self.expect(opens, "before the names of dimensions")
        count = 0
        while not self.accept(closes):
            if count:
                self.expect(",", "between names")
            self.skip_space()
            at = self.pos
            name = self.require(IDENTIFIER, "a name like 'd0'")
            if name in names:
                self.fail(f"'{name}' is named twice", at)
            names[name] = make(count)
            count += 1
        return count

    def _constraint(self, names: dict[str, Expression]) -> tuple[Expression, bool]:
        left = self.affine_expression(names)
        at = self.pos
        relation = next((r for r in (">=", "<=", "==") if self.accept(r)), None)
        if relation is None:
            self.fail(f"expected '>=', '<=' or '==', found {self._found()}")
        right = self.affine_expression(names)
        if relation == "<=":
            left, right = right, left
        return self.made(lambda: combine("+", left, negated(right)), at), relation == "=="

    def affine_expression(self, names: dict[str, Expression]) -> Expression:
        """Read an expression of what `names` names: operators by precedence, with a stack of its own."""
        operands: list[Expression] = []
        operators: list[tuple[str, int]] = []  # with their offsets; "(" and the unary "neg" too
        opened = 0

        def reduce() -> None:
            operator, at = operators.pop()
            right = operands.pop()
            if operator == "neg":
                operands.append(self.made(lambda: negated(right), at))
                return
            left = operands.pop()
            if operator == "-":
                operands.append(self.made(lambda: combine("+", left, negated(right)), at))
            else:
                operands.append(self.made(lambda: combine(operator, left, right), at))

        def reduce_signs() -> None:
            while operators and operators[-1][0] == "neg":
                reduce()

        while True:
            # An operand, after any signs and opening parentheses.
            at = self.pos
            if self.accept("-"):
                operators.append(("neg", at))
                continue
            if self.accept("("):
                operators.append(("(", at))
                opened += 1
                continue
            operands.append(self._affine_operand(names))
            reduce_signs()
            # An operator, after any closing parentheses.
            while opened and self.accept(")"):
                opened -= 1
                while operators[-1][0] != "(":
                    reduce()
                operators.pop()
                reduce_signs()
            at = self.pos
            operator = self._affine_operator()
            if operator is None:
                while operators:
                    if operators[-1][0] == "(":
                        self.fail(f"expected an operator or ')', found {self._found()}")
                    reduce()
                return operands[0]
            while operators and operators[-1][0] != "(" and _BINDS[operators[-1][0]] >= _BINDS[operator]:
                reduce()
            operators.append((operator, at))

    def _affine_operator(self) -> str | None:
        char = self.peek()
        if char == "-" and self.text.startswith("->", self.pos):
            return None
        for operator in _BINDS:
            if char == operator[0] and self.accept(operator):
                return operator
        return None

    def _affine_operand(self, names: dict[str, Expression]) -> Expression:
        self.skip_space()
        at = self.pos
        digits = self.match(INTEGER)
        if digits is not None:
            value = self.read_int(digits, at)
            return self.made(lambda: as_expression(value), at)
        name = self.match(IDENTIFIER)
        found = names.get(name) if name is not None else None
        if found is None:
            shown = f"'{name}'" if name is not None else self._found()
            self.fail(f"expected a number or one of {', '.join(names) or 'no names'}, found {shown}", at)
        return found
