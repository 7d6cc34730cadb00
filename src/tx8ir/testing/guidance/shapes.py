"""Shapes: which programs an imperative pass looks for, read from the source text of its functions.

A pass that matches by hand says what it expects one test at a time: `isinstance(op.x.defining_op, pd.AddOp)`,
`inner.axis == -1`, `splat_value(op.y)`. The functions are run on terms in place of operations and values: a term
remembers what it was asked, and what it is asked about becomes a term in turn. Nothing is decided: all sides of a
branch count. What an operation, its operands and the operations that made them were asked is a tree, of which programs
are made like those of a declarative pattern (`cases.mutation.instances`).
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType, ModuleType, UnionType
from typing import Any, Final, cast

import attrs

from tx8ir.core import Op

from .terms import DEPTH, Classes, OpTerm, ValueTerm

_PARTS = 8
"""So many parts of a list are looked at, at most."""
_STEPS = 20_000
"""How many expressions are looked at, at most."""
_CONSTANT: Final = re.compile(r"const|splat|number|scalar|literal|fold|folded|filled|uniform", re.IGNORECASE)
"""Functions of such names ask a value which number it is."""


@attrs.frozen(eq=False)
class _Attribute:
    op: OpTerm
    name: str


@attrs.frozen(eq=False)
class _NumberOf:
    value: ValueTerm


@attrs.frozen(eq=False)
class _Operands:
    op: OpTerm


@attrs.frozen(eq=False)
class _Each:
    """A list of which every part is the same term."""

    part: Any


def shapes(
    functions: Iterable[tuple[FunctionType, Sequence[type[Any]]]], classes: Classes, own: Callable[[str], bool]
) -> tuple[OpTerm, ...]:
    """The operations that functions ask about, with what they ask; those that nothing is made of come as roots.

    Args:
        functions: each with the classes of its first parameter, where it is a pattern.
        classes: all operations, by name.
        own: whether a helper of that module is followed.
    """
    reader = _Reader(classes, own)
    for function, roots in functions:
        try:
            reader.function(function, roots)
        except RecursionError:
            continue
    return reader.roots()


class _Reader:
    def __init__(self, classes: Classes, own: Callable[[str], bool]) -> None:
        self.classes = classes
        self.own = own
        self.terms: list[OpTerm] = []
        self.steps = 0
        self.operand_names = {f.name for c in classes.values() if issubclass(c, Op) for f in c.definition.operands}

    def roots(self) -> tuple[OpTerm, ...]:
        found = [t for t in self.terms if t.kinds and not t.is_inner]
        return tuple(sorted(found, key=lambda t: not _asks(t)))

    def op(self, kinds: Iterable[type[Any]] = ()) -> OpTerm:
        term = OpTerm(dict.fromkeys(kinds))
        self.terms.append(term)
        return term

    def maker(self, value: ValueTerm) -> OpTerm:
        if value.maker is None:
            value.maker = self.op()
            value.maker.is_inner = True
        return value.maker

    def function(self, function: FunctionType, roots: Sequence[type[Any]]) -> None:
        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        known: dict[str, Any] = {}
        for name in names:
            annotation: Any = function.__annotations__.get(name)
            if isinstance(annotation, str):
                annotation = _resolved(annotation, _names(function))
            kinds = _kinds_of(annotation)
            if kinds:
                known[name] = self.op(kinds)
        if roots and names:
            known[names[names[0] == "self" and len(names) > 1]] = self.op(roots)
        _Frame(self, function, known, 0).run()


def _asks(term: OpTerm) -> bool:
    """Whether it was asked about an operand or an attribute."""
    return bool(term.operands or term.every or term.attributes)


class _Frame:
    """One call of a function."""

    def __init__(self, reader: _Reader, function: FunctionType, known: dict[str, Any], depth: int) -> None:
        self.reader = reader
        self.function = function
        self.known = known
        self.depth = depth
        self.names = _names(function)
        self.returned: list[Any] = []

    def run(self) -> Any:
        tree = _tree(self.function)
        if tree is None:
            return None
        if isinstance(tree, ast.Lambda):
            return self.value(tree.body)
        self.block(tree.body)
        return next((r for r in self.returned if _is_term(r)), next((r for r in self.returned if r is not None), None))

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                self.bind(target, value)
        elif isinstance(node, ast.AnnAssign):
            self.bind(node.target, self.value(node.value))
        elif isinstance(node, ast.For):
            for part in self.parts(self.value(node.iter)):
                self.bind(node.target, part)
                self.block(node.body)
            self.block(node.orelse)
        elif isinstance(node, ast.While | ast.If):
            self.value(node.test)
            self.block([*node.body, *node.orelse])
        elif isinstance(node, ast.Return):
            self.returned.append(self.value(node.value))
        elif isinstance(node, ast.Expr):
            value = self.value(node.value)
            if isinstance(node.value, ast.Yield):
                self.returned.append(_Each(value))
        elif isinstance(node, ast.With):
            self.block(node.body)
        elif isinstance(node, ast.Try):
            self.block([*node.body, *node.orelse, *node.finalbody])
        elif isinstance(node, ast.Match):
            subject = self.value(node.subject)
            for case in node.cases:
                self.case(case.pattern, subject)
                self.value(case.guard)
                self.block(case.body)
        elif isinstance(node, ast.Assert):
            self.value(node.test)

    def case(self, pattern: ast.pattern, subject: Any) -> None:
        if isinstance(pattern, ast.MatchClass):
            self.narrow(subject, self.value(pattern.cls))
            for name, inner in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
                self.case(inner, self.attribute(subject, name))
        elif isinstance(pattern, ast.MatchAs):
            if pattern.pattern is not None:
                self.case(pattern.pattern, subject)
            if pattern.name is not None:
                self.known[pattern.name] = subject
        elif isinstance(pattern, ast.MatchOr):
            for inner in pattern.patterns:
                self.case(inner, subject)
        elif isinstance(pattern, ast.MatchValue):
            self.compare(subject, self.value(pattern.value))
        elif isinstance(pattern, ast.MatchSequence):
            for index, inner in enumerate(pattern.patterns):
                self.case(inner, self.index(subject, index))

    def bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.known[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            for index, part in enumerate(target.elts):
                self.bind(part, self.index(value, index))

    def index(self, value: Any, index: int) -> Any:
        if isinstance(value, _Operands):
            return value.op.operands.setdefault(index, ValueTerm())
        if isinstance(value, tuple | list):
            parts = cast("Sequence[Any]", value)
            return parts[index] if -len(parts) <= index < len(parts) else None
        return self.part(value)

    def parts(self, value: Any) -> Sequence[Any]:
        """The parts of a list that is written out; otherwise what stands for each."""
        if isinstance(value, tuple | list):
            terms = [v for v in cast("Sequence[Any]", value) if _is_term(v)]
            if len(terms) > 1:
                return terms[:_PARTS]
        return [self.part(value)]

    def part(self, value: Any) -> Any:
        """What stands for each part of a list."""
        if isinstance(value, _Each):
            return value.part
        if isinstance(value, _Operands):
            if value.op.every is None:
                value.op.every = ValueTerm()
            return value.op.every
        if isinstance(value, tuple | list):
            return next((v for v in cast("Sequence[Any]", value) if _is_term(v)), None)
        return None

    # --- expressions -----------------------------------------------------------------------------------------------

    def value(self, node: ast.expr | None) -> Any:
        self.reader.steps += 1
        if node is None or self.reader.steps > _STEPS:
            return None
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is not None:
            return method(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
        return None

    def _Constant(self, node: ast.Constant) -> Any:
        return node.value

    def _Name(self, node: ast.Name) -> Any:
        if node.id in self.known:
            return self.known[node.id]
        return self.names.get(node.id)

    def _Attribute(self, node: ast.Attribute) -> Any:
        return self.attribute(self.value(node.value), node.attr)

    def attribute(self, base: Any, name: str) -> Any:
        if isinstance(base, ValueTerm):
            if name == "defining_op":
                return self.reader.maker(base)
            if name == "users":
                user = self.reader.op()
                user.operands[0] = base
                return _Each(user)
            return None
        if isinstance(base, OpTerm):
            return self._of_op(base, name)
        if isinstance(base, ModuleType | type):
            return getattr(base, name, None)
        return None

    def _of_op(self, op: OpTerm, name: str) -> Any:
        if name == "operands":
            return _Operands(op)
        definitions = [c.definition for c in op.kinds if issubclass(c, Op)]
        if name in ("result", "out") or any(f.name == name for d in definitions for f in d.results):
            op.result = op.result or ValueTerm(op)
            return op.result
        if name == "results":
            op.result = op.result or ValueTerm(op)
            return _Each(op.result)
        if name in ("parent", "parent_op", "regions", "attributes", "loc", "module", "next_op", "prev_op"):
            return None
        is_attribute = any(f.name == name for d in definitions for f in d.attributes)
        if not is_attribute and name in self.reader.operand_names:
            return op.operands.setdefault(name, ValueTerm())
        return _Attribute(op, name)

    def _Subscript(self, node: ast.Subscript) -> Any:
        base = self.value(node.value)
        at = self.value(node.slice)
        if isinstance(node.slice, ast.Slice):
            return _Each(self.part(base)) if self.part(base) is not None else None
        if isinstance(at, int) and isinstance(base, _Operands | tuple | list | _Each):
            return self.index(base, at)
        if isinstance(base, dict):
            return next(iter(cast("dict[Any, Any]", base).values()), None)
        return None

    def _BoolOp(self, node: ast.BoolOp) -> Any:
        return _first([self.value(part) for part in node.values])

    def _IfExp(self, node: ast.IfExp) -> Any:
        self.value(node.test)
        return _first([self.value(node.body), self.value(node.orelse)])

    def _NamedExpr(self, node: ast.NamedExpr) -> Any:
        value = self.value(node.value)
        self.bind(node.target, value)
        return value

    def _Tuple(self, node: ast.Tuple | ast.List) -> Any:
        found: list[Any] = []
        for part in node.elts:
            if isinstance(part, ast.Starred):
                inner = self.value(part.value)
                found += list(cast("Sequence[Any]", inner)) if isinstance(inner, tuple | list) else [self.part(inner)]
            else:
                found.append(self.value(part))
        return tuple(found)

    _List = _Tuple

    def _UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        return -value if isinstance(node.op, ast.USub) and isinstance(value, int | float) else None

    def _BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.BitOr):
            return (*_classes(left), *_classes(right)) or None
        return None

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Any:
        first, *others = node.generators
        made: list[Any] = []
        for value in self.parts(self.value(first.iter)):
            self.bind(first.target, value)
            for part in others:
                self.bind(part.target, self.part(self.value(part.iter)))
            for test in [test for part in node.generators for test in part.ifs]:
                self.value(test)
            made.append(self.value(node.elt))
        return _Each(made[0]) if len(made) == 1 else tuple(made)

    _ListComp = _GeneratorExp = _SetComp = _comprehension

    def _Compare(self, node: ast.Compare) -> Any:
        values = [self.value(part) for part in (node.left, *node.comparators)]
        for a, b in itertools.pairwise(values):
            self.compare(a, b)
            self.compare(b, a)

    def compare(self, subject: Any, other: Any) -> None:
        if isinstance(subject, ValueTerm) and isinstance(other, ValueTerm):
            if subject is not other:
                subject.same.append(other)
        elif isinstance(subject, _NumberOf):
            if isinstance(other, int | float) and not isinstance(other, bool):
                subject.value.numbers.append(float(other))
        elif isinstance(subject, _Attribute):
            others: list[Any] = (
                list(cast("Sequence[Any]", other)) if isinstance(other, tuple | list | set | frozenset) else [other]
            )
            if subject.name == "name":
                found = [self.reader.classes[o] for o in others if isinstance(o, str) and o in self.reader.classes]
                self.narrow(subject.op, tuple(found))
            elif isinstance(other, tuple):
                subject.op.attributes.setdefault(subject.name, []).append(cast(Any, other))
                subject.op.attributes[subject.name] += [o for o in others if isinstance(o, bool | int | float | str)]
            elif not _is_term(other) and not isinstance(other, _Attribute):
                subject.op.attributes.setdefault(subject.name, []).append(other)
        elif isinstance(subject, _TypeOf):
            self.narrow(subject.op, other)

    def narrow(self, subject: Any, kinds: Any) -> None:
        if isinstance(subject, OpTerm):
            subject.kinds.update(dict.fromkeys(_classes(kinds)))

    def _Call(self, node: ast.Call) -> Any:
        given = [self.value(a.value if isinstance(a, ast.Starred) else a) for a in node.args]
        named = {k.arg: self.value(k.value) for k in node.keywords if k.arg is not None}
        callee: Any = self.value(node.func)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if callee is isinstance and len(given) == 2:
            self.narrow(given[0], given[1])
            return None
        if name == "cast" and len(given) == 2:
            return given[1]
        if callee is type and len(given) == 1:
            return _TypeOf(given[0]) if isinstance(given[0], OpTerm) else None
        if callee in (list, tuple, set, sorted, reversed, iter, dict.fromkeys) and given:
            return given[0]
        if callee is next and given:
            return self.part(given[0])
        if callee is enumerate and given:
            return _Each((None, self.part(given[0])))
        if callee is zip:
            return _Each(tuple(self.part(g) for g in given))
        if name in ("walk", "ops", "body"):
            return _Each(self.reader.op([k for g in given for k in _classes(g)]))
        function = getattr(callee, "__func__", callee)
        if isinstance(function, FunctionType) and self.depth < DEPTH and self.reader.own(function.__module__):
            return self.enter(function, given, named, node)
        value = next((g for g in given if isinstance(g, ValueTerm)), None)
        if value is not None and _CONSTANT.search(name):
            value.is_number = True
            return _NumberOf(value)
        kinds = [k for g in given for k in _classes(g)]
        return _Each(self.reader.op(kinds)) if kinds and not any(_is_term(g) for g in given) else None

    def enter(self, function: FunctionType, given: Sequence[Any], named: Mapping[str, Any], node: ast.Call) -> Any:
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        known: dict[str, Any] = dict(zip(names, given, strict=False)) | dict(named)
        if code.co_flags & inspect.CO_VARARGS:
            rest = tuple(given[len(names) :])
            starred = any(isinstance(a, ast.Starred) for a in node.args)
            known[code.co_varnames[code.co_argcount + code.co_kwonlyargcount]] = (
                rest[0] if starred and len(rest) == 1 else rest
            )
        value = next((g for g in given if isinstance(g, ValueTerm)), None)
        if value is not None and _CONSTANT.search(function.__name__):
            value.is_number = True
            return _NumberOf(value)
        return _Frame(self.reader, function, known, self.depth + 1).run()


@attrs.frozen(eq=False)
class _TypeOf:
    op: OpTerm


def _is_term(value: Any) -> bool:
    return isinstance(value, OpTerm | ValueTerm | _Each | _Operands | _NumberOf) or (
        isinstance(value, tuple) and any(_is_term(v) for v in cast("tuple[Any, ...]", value))
    )


def _first(values: Sequence[Any]) -> Any:
    return next((v for v in values if _is_term(v)), next((v for v in values if v is not None), None))


def _classes(value: Any) -> tuple[type[Any], ...]:
    """The op classes, traits and interfaces in a value."""
    if isinstance(value, UnionType):
        return _classes(value.__args__)
    if isinstance(value, tuple | list | set | frozenset):
        return tuple(k for part in cast("Iterable[Any]", value) for k in _classes(part))
    if isinstance(value, dict):
        return _classes(tuple(cast("dict[Any, Any]", value)))
    return (value,) if isinstance(value, type) and value.__module__ not in ("builtins", "typing") else ()


def _kinds_of(annotation: Any) -> tuple[type[Any], ...]:
    return tuple(k for k in _classes(annotation) if issubclass(k, Op) and k is not Op)


def _resolved(annotation: str, names: Mapping[str, Any]) -> Any:
    try:
        return eval(annotation, dict(names))
    except Exception:
        return None


def _names(function: FunctionType) -> dict[str, Any]:
    names: dict[str, Any] = {**vars(builtins), **function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not filled yet
            continue
    return names


@functools.lru_cache(maxsize=1024)
def _tree(function: FunctionType) -> ast.FunctionDef | ast.Lambda | None:
    """The syntax tree of a function; None without source text, or for a lambda that cannot be told from others."""
    try:
        parsed = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    wanted = function.__name__
    found = [n for n in ast.walk(parsed) if isinstance(n, ast.FunctionDef) and n.name == wanted]
    if found:
        return found[0]
    lambdas = [n for n in ast.walk(parsed) if isinstance(n, ast.Lambda)]
    return lambdas[0] if len(lambdas) == 1 else None
