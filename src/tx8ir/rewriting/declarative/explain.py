"""`explain(pattern, op)`: why a pattern, declarative or imperative, does or does not match an operation.

A `Rule` knows which constraint failed. An imperative pattern is run on a copy while Python's tracing notes which lines
it executes; the condition before the `return False` is what failed, with the values of the names in it.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import attrs

from tx8ir.core import IrError, Operation, Value, detached
from tx8ir.core.location import source_file
from tx8ir.rewriting.rewriter import FunctionPattern, RewritePattern, Rewriter

from .constraints import describe
from .explanation import Explanation, MatchFailure
from .matcher import KindTest
from .rule import Rule

__all__ = ["Explanation", "MatchFailure", "explain"]


def explain(pattern: RewritePattern[Any], op: Operation) -> Explanation:
    """Whether `pattern` matches with `op` as the root, and if not, what failed where. Changes nothing.

    For an imperative pattern everything around `op` is copied: O(operations).

    Raises:
        IrError: what an imperative pattern raises.
    """
    if isinstance(pattern, Rule):
        return pattern.explain(op)
    if not pattern.fits(op.__class__):
        return Explanation(pattern.name, op, (MatchFailure(op, (), "kind", str(KindTest(pattern.roots)), op.name),))
    function: Any = pattern.function if isinstance(pattern, FunctionPattern) else type(pattern).match_and_rewrite
    copy = _copy_of(op)
    rewriter = Rewriter(copy, "explain")
    trace = _Trace(inspect.unwrap(function).__code__)
    with detached():
        matched = trace.run(lambda: pattern.match_and_rewrite(copy, rewriter))
    if matched:
        return Explanation(pattern.name, op, ())
    return Explanation(pattern.name, op, (trace.mismatch(op, function),))


def _copy_of(op: Operation) -> Operation:
    """The copy of `op` in a copy of everything around it."""
    root = op
    for around in op.ancestors():
        root = around
    if root is op:
        raise IrError(f"{op.name} is in no block; a pattern needs a place to put what it makes", op)
    index = next(i for i, inner in enumerate(root.walk()) if inner is op)
    return next(inner for i, inner in enumerate(root.clone().walk()) if i == index)


@attrs.define
class _Trace:
    """The lines that a function executes, and its names when it returns."""

    code: CodeType
    lines: list[int] = attrs.field(factory=list[int])
    names: dict[str, str] = attrs.field(factory=dict[str, str])

    def run(self, call: Callable[[], bool]) -> bool:
        """Calls under trace; a tracer that is active (a debugger, coverage) is put back afterwards."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            return call()
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, argument: object) -> Any:
        return self._inside if frame.f_code is self.code else None

    def _inside(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            self.lines.append(frame.f_lineno)
        elif event == "return" and not argument:  # otherwise it matched, and may have erased what the names are
            self.names = {name: _show(value) for name, value in frame.f_locals.items()}
        return self._inside

    def mismatch(self, op: Operation, function: Any) -> MatchFailure:
        """What the last condition was."""
        place = f"{source_file(self.code)}:{self.lines[-1] if self.lines else self.code.co_firstlineno}"
        found = self._condition(function)
        if found is None:
            return MatchFailure(op, (), place, "the pattern to return True", "False")
        condition, wanted = found
        used = {node.id for node in ast.walk(condition) if isinstance(node, ast.Name)}
        # An object that prints as its address says nothing to a reader.
        shown = [f"{name} = {text}" for name, text in self.names.items() if name in used and " at 0x" not in text]
        return MatchFailure(
            op, (), place, f"{'' if wanted else 'not '}({ast.unparse(condition)})", ", ".join(shown) or "not so"
        )

    def _condition(self, function: Any) -> tuple[ast.expr, bool] | None:
        """The expression that decided, and which value of it would have gone on."""
        try:
            source, first = inspect.getsourcelines(inspect.unwrap(function))
        except (OSError, TypeError):  # typed in, or compiled
            return None
        tree = ast.parse(textwrap.dedent("".join(source)))
        shift = first - 1
        statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
        executed = [line - shift for line in self.lines]
        if not executed:
            return None
        last = _statement_at(statements, executed[-1])
        if isinstance(last, ast.Return) and last.value is not None and not isinstance(last.value, ast.Constant):
            return last.value, True
        for line in reversed(executed):
            statement = _statement_at(statements, line)
            if isinstance(statement, ast.If | ast.While):
                inside = any(inner is last for branch in statement.body for inner in ast.walk(branch))
                return statement.test, not inside
        return None


def _statement_at(statements: list[ast.stmt], line: int) -> ast.stmt | None:
    """The smallest statement whose own lines (for one with a body, its head) include `line`."""
    best: ast.stmt | None = None
    for statement in statements:
        body: list[ast.stmt] = getattr(statement, "body", [])
        end = (statement.end_lineno or statement.lineno) if not body else body[0].lineno - 1
        within = statement.lineno <= line <= max(end, statement.lineno)
        if within and (best is None or statement.lineno >= best.lineno):
            best = statement
    return best


def _show(value: Any) -> str:
    if isinstance(value, Value | Operation):
        return describe(value)
    return repr(value)
