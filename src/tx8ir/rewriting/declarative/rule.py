"""Patterns that are written down as what they match and what takes its place:

    x, c = Var("x"), Number("c", near(2.0))
    double = Rule("double", Node(pd.MultiplyOp, x, c), Make(pd.AddOp, x, x))

The left side is a graph of `Node`s (operations) with `Var`s (any value), `Number`s and `Constant`s as leaves; a name
used twice is the same value. `Commutative` operations match with their first two operands in either order; `OneOf`
matches with any of several patterns. The right side is a value of the match, a `Make`, a list of these (one for each
result), or a Python function. Constraints have names (`constraints`), so that `explain` can say which one failed. A
rule is compiled to Python functions (`matcher`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

import attrs

from tx8ir.core import Attribute, Operation, Value
from tx8ir.core.ir.operation import ErasedOperation
from tx8ir.core.opdef.op import Op
from tx8ir.rewriting.rewriter import Replacement, RewritePattern, Rewriter
from tx8ir.support.screen import fitted

from .constraints import Constraint
from .explanation import Explanation
from .matcher import Matcher, root_kinds
from .nodes import Attr, Constant, Given, Match, Node, Number, OneOf, ResultOf, Var

__all__ = ["MadeResult", "Make", "Rule"]


class Make:
    """A new operation on the right side; used in several places, it is made once.

    Args:
        kind: the op class.
        operands: values of the match, other `Make`s, or functions from the `Match` to a value.
        attributes: keyword arguments of the constructor: Python values, an `Attr` of the left side, or functions from
            the `Match`. A result type is given under the result's name.
    """

    __slots__ = ("attributes", "kind", "operands")

    def __init__(self, kind: type[Op], *operands: Source, **attributes: Any) -> None:
        self.kind = kind
        self.operands = operands
        self.attributes: Mapping[str, Any] = attributes

    def __repr__(self) -> str:
        return fitted(f"Make({', '.join([self.kind.name, *map(_shown, self.operands)])})")

    def __getitem__(self, index: int) -> MadeResult:
        return MadeResult(self, index)


@attrs.frozen(eq=False)
class MadeResult:
    """One of several results of a `Make`."""

    make: Make
    index: int


def _shown(source: Source) -> str:
    """An operand of a right side; a function by its name."""
    return getattr(source, "__qualname__", None) or repr(source)


Source: TypeAlias = "Given | Make | MadeResult | Callable[[Match], Value]"
Native: TypeAlias = Callable[[Match, Rewriter], "Replacement | None"]


class Rule(RewritePattern[Operation]):
    """A declarative pattern.

    Args:
        name: what statistics, provenance and explanations call it.
        match: the root, or several (a `OneOf`) of which one has to fit.
        replace: what takes the place of the root's results: a source, a list of sources, or a function of the match and
            the rewriter that gives the replacement, or None to leave everything as it is.
        where: constraints on the whole `Match`.
        benefit: of the patterns that fit an operation, higher ones are tried first.

    Attributes:
        declared_at: the file and the line of the call that made it.

    Raises:
        TypeError: a pattern that cannot match (a name for two different things, an attribute that the kind has not), or
            a right side that uses what the left side does not give.
    """

    def __init__(
        self,
        name: str,
        match: Node | OneOf,
        replace: Source | Sequence[Source] | Native,
        *,
        where: Sequence[Constraint] = (),
        benefit: int = 1,
        doc: str = "",
    ) -> None:
        caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        self.declared_at: tuple[str, int] = caller.f_code.co_filename, caller.f_lineno
        self.name = name
        self.roots = root_kinds(name, match)
        self.benefit = benefit
        self.__doc__ = doc
        self.left = match
        native = callable(replace) and not isinstance(replace, Make | Node)
        self._native: Any = replace if native else None
        self._sources: tuple[Source, ...] = ()
        if not native:
            several = isinstance(replace, Sequence)
            self._sources = tuple(cast("Sequence[Source]", replace)) if several else (cast("Source", replace),)
        passed = [
            (i, s) for i, s in enumerate(self._sources) if isinstance(s, Var | Number | Constant | Node | ResultOf)
        ]
        same_type = tuple(_same_type(self, i, source) for i, source in passed)
        self._matcher = Matcher(name, match, (*same_type, *where))
        for part in given_parts(name, self._sources):
            self._matcher.require(part)

    @property
    def right(self) -> tuple[Any, ...]:
        """What takes the place of the root: the sources, or the one function."""
        return self._sources if self._native is None else (self._native,)

    def match(self, op: Operation) -> Match | None:
        """What matches with `op` as the root, or None. Nothing is changed."""
        return self._matcher.match(op) if self.fits(op.__class__) else None

    def matched_operations(self, found: Match) -> tuple[Operation, ...]:
        """The operations that the nodes of the rule have matched, the root first; constants are not among them."""
        return tuple(dict.fromkeys((found.root, *found.ops.values())))

    def explain(self, op: Operation) -> Explanation:
        """Whether the rule matches with `op` as the root, and if not, which constraint failed where."""
        return self._matcher.explain(op)

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool:
        found = self._matcher.match(op)
        return found is not None and self._rewrite(found, rewriter)

    @property
    def entry(self) -> Callable[[Operation, Rewriter], bool]:
        """The compiled matcher, and the right side after it."""
        compiled, read, rewrite = self._matcher.compiled, self._matcher.read, self._rewrite

        def apply(op: Operation, rewriter: Rewriter) -> bool:
            found = compiled(op)
            return found is not None and rewrite(read(found), rewriter)

        return apply

    def _rewrite(self, found: Match, rewriter: Rewriter) -> bool:
        matched = [op for op in self.matched_operations(found) if op is not found.root]
        if self._native is not None:
            replacement = self._native(found, rewriter)
            if replacement is None:
                return False
        else:
            builder = SourceBuilder(lambda part: self._matcher.value_of(part, found), found)
            replacement = [builder.build(source) for source in self._sources]
            for op in builder.made.values():
                rewriter.insert(op)
        rewriter.derive_from(*(op for op in matched if op.__class__ is not ErasedOperation))
        rewriter.replace(found.root, replacement)
        return True


def given_parts(name: str, sources: Iterable[Source]) -> Iterator[Given | Attr]:
    """What a right side takes from the left one. Raises `TypeError` for a source that is not one value."""
    work = list(sources)
    while work:
        source = work.pop()
        if isinstance(source, Var | Number | Constant | Node | ResultOf):
            yield source
        elif isinstance(source, Make | MadeResult):
            make = source.make if isinstance(source, MadeResult) else source
            work += make.operands
            yield from (value for value in make.attributes.values() if isinstance(value, Attr))
        elif not callable(source):
            raise TypeError(f"rule {name!r} has {source!r} on its right side, which is not one value")


class SourceBuilder:
    """Makes the operations of a right side, each `Make` once.

    Args:
        value_of: the value that a part of the left side has matched.
        found: the match, with `attributes`; what functions on the right side are given.

    Attributes:
        made: the operations, detached, operands first.
    """

    def __init__(self, value_of: Callable[[Given], Value], found: Any) -> None:
        self._value_of = value_of
        self._found = found
        self.made: dict[Make, Operation] = {}

    def build(self, source: Source) -> Value:
        """The value that a source is."""
        if isinstance(source, MadeResult):
            return self._make(source.make).results[source.index]
        if isinstance(source, Make):
            return self._make(source).result
        if isinstance(source, Var | Number | Constant | Node | ResultOf):
            return self._value_of(source)
        return source(self._found)

    def _make(self, make: Make) -> Operation:
        if make not in self.made:
            operands = [self.build(operand) for operand in make.operands]
            given: dict[str, Any] = {}
            for key, value in make.attributes.items():
                if isinstance(value, Attr):
                    value = self._found.attributes[value.name]
                elif callable(value) and not isinstance(value, type | Attribute):
                    value = value(self._found)
                given[key] = value
            self.made[make] = make.kind(*operands, **given)
        return self.made[make]


def _same_type(rule: Rule, index: int, source: Given) -> Constraint:
    """A value of the match that takes a result's place must have its type."""

    def types(found: Match) -> tuple[Any, Any]:
        results = found.root.results
        value = rule._matcher.value_of(source, found)  # pyright: ignore[reportPrivateUsage]
        return value.type, results[index].type if index < len(results) else None

    def holds(found: Match) -> bool:
        given, wanted = types(found)
        return given is wanted

    return Constraint(f"the replacement has the type of result {index}", holds, lambda m: "{} for {}".format(*types(m)))
