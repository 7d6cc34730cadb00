"""Rules with several roots: operations that share values, none of which the others are made from.

    x, v, w = Var("x"), Var("v"), Var("w")
    merge = MultiRootRule("merge", [Node(pd.MatmulOp, x, v), Node(pd.MatmulOp, x, w)], [...])

After the patterns of MLIR's PDL that have several roots.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

import attrs

from tx8ir.core import Block, Operation, Pure, TensorType, Value
from tx8ir.core.ir.operation import ErasedOperation
from tx8ir.rewriting.rewriter import Replacement, RewritePattern, Rewriter

from .constraints import Constraint
from .matcher import KindTest, Matcher, root_kinds
from .nodes import Match, Node, ResultOf, Var
from .rule import MadeResult, Make, Source, SourceBuilder, given_parts

_CANDIDATES: Final = 64
"""How many users are looked at on each step to a further root; a value with many users would cost as much for each."""

MultiNative: TypeAlias = Callable[["MultiMatch", Rewriter], "Sequence[Replacement] | None"]


@attrs.frozen(eq=False)
class MultiMatch:
    """What a rule with several roots has matched.

    Attributes:
        roots: the operations, in the order of the rule.
        values, ops, constants, attributes: of all of them, as in `Match`; unnamed nodes are in none of them.
    """

    roots: tuple[Operation, ...]
    values: Mapping[str, Value]
    ops: Mapping[str, Operation]
    constants: Mapping[str, Any]
    attributes: Mapping[str, Any]


@attrs.frozen(eq=False)
class _Way:
    """How one root is found from those before it: from a value that both have, up through the nodes of its pattern."""

    root: int
    anchor: Var | Node
    kinds: tuple[KindTest, ...]


class _Bound(threading.local):
    """What the roots so far have matched, while another one is looked at."""

    matches: tuple[tuple[int, Match], ...] = ()


class MultiRootRule(RewritePattern[Operation]):
    """A declarative pattern of several operations, each replaced.

    Each root shares a `Var`, or a node inside of it, with those before it; that is where it is looked for, among the
    first 64 users. The roots are different operations in one block, pure and on vtensors. What is made stands
    before the first of them if all that it takes does; else before the last, if nobody uses the others before that;
    otherwise the rule does not match.

    Args:
        name: what statistics, provenance and explanations call it.
        match: the roots.
        replace: for each root what takes the place of its results: a source, or a list of sources, as in `Rule`; or a
            function of the match and the rewriter that gives a replacement for each root, or None.
        where: constraints on the whole `MultiMatch`.
        benefit: see `Rule`.

    Raises:
        TypeError: fewer than two roots, one that shares nothing with the others, or a pattern or right side that `Rule`
            would refuse.
    """

    def __init__(
        self,
        name: str,
        match: Sequence[Node],
        replace: Sequence[Source | Sequence[Source]] | MultiNative,
        *,
        where: Sequence[Constraint] = (),
        benefit: int = 1,
        doc: str = "",
    ) -> None:
        if len(match) < 2:
            raise TypeError(f"rule {name!r} has {len(match)} roots; Rule is for one")
        self.name = name
        self.benefit = benefit
        self.__doc__ = doc
        self.left = tuple(match)
        self.where = tuple(where)
        self._bound = _Bound()
        self._matchers = [Matcher(name, root, (self._agrees(i),)) for i, root in enumerate(match)]
        self._tests = [KindTest(root_kinds(name, root)) for root in match]
        self.roots = tuple(dict.fromkeys(kind for root in match for kind in root_kinds(name, root)))
        self._orders = [self._order(start) for start in range(len(match))]
        self._native: Any = replace if callable(replace) else None
        self._sources: list[tuple[Source, ...]] = []
        if self._native is None:
            listed = cast("Sequence[Source | Sequence[Source]]", replace)
            if len(listed) != len(match):
                raise TypeError(f"rule {name!r} has {len(match)} roots and {len(listed)} replacements")
            self._sources = [tuple(cast("Sequence[Source]", s)) if isinstance(s, Sequence) else (s,) for s in listed]
            for part in given_parts(name, [source for sources in self._sources for source in sources]):
                self._matcher_of(part).require(part)

    # -- matching ------------------------------------------------------------------------------------------------------

    def match(self, op: Operation) -> MultiMatch | None:
        """What matches with `op` as one of the roots, or None. Nothing is changed."""
        found = self._find(op)
        return None if found is None else self._merged(found)

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool:
        found = self._find(op)
        return found is not None and self._rewrite(found, rewriter)

    def _find(self, op: Operation) -> dict[int, Match] | None:
        if not _may_move(op):
            return None
        for start, test in enumerate(self._tests):
            if test[op.__class__]:
                first = self._match_root(start, op, {})
                found = self._extend({start: first}, self._orders[start]) if first is not None else None
                if found is not None:
                    return found
        return None

    def _extend(self, found: dict[int, Match], ways: Sequence[_Way]) -> dict[int, Match] | None:
        """The matches of all roots, given those of some; the first that fit together and meet all constraints."""
        if not ways:
            merged = self._merged(found)
            return found if all(constraint.holds(merged) for constraint in self.where) else None
        way, *others = ways
        taken = {match.root for match in found.values()}
        block = next(iter(taken)).parent
        for candidate in self._candidates(way, found):
            if candidate in taken or candidate.parent is not block or not _may_move(candidate):
                continue
            match = self._match_root(way.root, candidate, found)
            if match is not None:
                complete = self._extend({**found, way.root: match}, others)
                if complete is not None:
                    return complete
        return None

    def _match_root(self, root: int, op: Operation, found: Mapping[int, Match]) -> Match | None:
        before = self._bound.matches
        self._bound.matches = tuple(found.items())
        try:
            return self._matchers[root].match(op)
        finally:
            self._bound.matches = before

    def _agrees(self, root: int) -> Constraint:
        """What a root has in common with those before it is the same; it takes part in trying alternatives."""

        def holds(match: Match) -> bool:
            own = self._matchers[root]
            for other, earlier in self._bound.matches:
                if not (
                    _agree(match.values, earlier.values)
                    and _agree(match.constants, earlier.constants)
                    and _agree(match.attributes, earlier.attributes)
                ):
                    return False
                theirs = self._matchers[other]
                shared = [node for node in own.nodes if node in theirs.nodes]
                if any(own.op_of(node, match) is not theirs.op_of(node, earlier) for node in shared):
                    return False
            return True

        return Constraint("the same values as in the other roots", holds)

    def _candidates(self, way: _Way, found: Mapping[int, Match]) -> Iterator[Operation]:
        values = self._anchored(way.anchor, found)
        users: dict[Operation, None] = {}
        for test in way.kinds:
            near = (user for value in values for user in value.users)
            users = {user: None for user in itertools.islice(near, _CANDIDATES) if test[user.__class__]}
            values = [result for user in users for result in user.results]
        yield from users

    def _anchored(self, anchor: Var | Node, found: Mapping[int, Match]) -> list[Value]:
        for root, match in found.items():
            matcher = self._matchers[root]
            if isinstance(anchor, Node):
                if anchor in matcher.nodes:
                    return list(matcher.op_of(anchor, match).results)
            elif anchor.name in match.values:
                return [match.values[anchor.name]]
        return []

    def _merged(self, found: Mapping[int, Match]) -> MultiMatch:
        matches = [found[root] for root in range(len(self.left))]
        named = {node.name for matcher in self._matchers for node in matcher.nodes if node.name}
        return MultiMatch(
            tuple(match.root for match in matches),
            {name: value for match in matches for name, value in match.values.items()},
            {name: op for match in matches for name, op in match.ops.items() if name in named},
            {name: value for match in matches for name, value in match.constants.items()},
            {name: value for match in matches for name, value in match.attributes.items()},
        )

    # -- the order in which roots are looked for -----------------------------------------------------------------------

    def _order(self, start: int) -> list[_Way]:
        bound, ways = {start}, list[_Way]()
        while len(bound) < len(self.left):
            others = [root for root in range(len(self.left)) if root not in bound]
            way = next((way for root in others if (way := self._way(root, bound)) is not None), None)
            if way is None:
                raise TypeError(f"rule {self.name!r} has a root that shares no value with the others")
            bound.add(way.root)
            ways.append(way)
        return ways

    def _way(self, root: int, bound: set[int]) -> _Way | None:
        """A way to a root from what others have: a leaf of its pattern, or a node, and the nodes above it."""
        work: list[tuple[Any, tuple[Node, ...]]] = [(self.left[root], ())]
        while work:
            pattern, above = work.pop(0)
            if isinstance(pattern, ResultOf):
                pattern = pattern.node
            is_shared = isinstance(pattern, Var | Node) and any(self._has(other, pattern) for other in bound)
            if is_shared and above:
                return _Way(root, pattern, tuple(KindTest(node.kinds) for node in above))
            if isinstance(pattern, Node):
                work += [(operand, (pattern, *above)) for operand in pattern.operands]
        return None

    def _has(self, root: int, part: Var | Node) -> bool:
        matcher = self._matchers[root]
        return part in matcher.nodes if isinstance(part, Node) else part.name in matcher.value_names

    def _matcher_of(self, part: Any) -> Matcher:
        """The matcher of a root whose pattern has a part of the right side; of the first root for what none has."""
        node = part.node if isinstance(part, ResultOf) else part
        for matcher in self._matchers:
            names = matcher.nodes if isinstance(node, Node) else (*matcher.value_names, *matcher.attribute_names)
            if (node if isinstance(node, Node) else node.name) in names:
                return matcher
        return self._matchers[0]

    # -- rewriting -----------------------------------------------------------------------------------------------------

    def _rewrite(self, found: Mapping[int, Match], rewriter: Rewriter) -> bool:
        merged = self._merged(found)
        roots = merged.roots
        matched = [
            op for root, match in found.items() for node in self._matchers[root].nodes
            if (op := self._matchers[root].op_of(node, match)) not in roots
        ]  # fmt: skip
        if self._native is not None:
            replacements = self._native(merged, rewriter)
            if replacements is None:
                return False
        else:

            def value_of(part: Any) -> Value:
                matcher = self._matcher_of(part)
                return matcher.value_of(part, found[self._matchers.index(matcher)])

            builder = SourceBuilder(value_of, merged)
            replacements = [[builder.build(source) for source in sources] for sources in self._sources]
            anchor = _place(roots, replacements, list(builder.made.values()))
            if anchor is None:
                for op in reversed(builder.made.values()):
                    op.erase()
                return False
            for op in builder.made.values():
                rewriter.insert_before(op, anchor)
        rewriter.derive_from(*roots, *(op for op in matched if op.__class__ is not ErasedOperation))
        for root, replacement in zip(roots, replacements, strict=True):
            rewriter.replace(root, replacement)
        return True


def _agree(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Whether what both have under one name is the same."""
    for name, thing in mine.items():
        other = theirs.get(name, thing)
        if other is not thing and (not isinstance(thing, bool | int | float | str | tuple) or other != thing):
            return False
    return True


def _may_move(op: Operation) -> bool:
    """Whether an operation may stand elsewhere in its block: pure, of values that nobody writes."""
    return Pure in op.info.traits and not op.regions and not any(v.type.__class__ is TensorType for v in op.operands)


def _place(
    roots: Sequence[Operation], replacements: Sequence[Sequence[Value]], made: Sequence[Operation]
) -> Operation | None:
    """The root before which new operations may stand, so that they dominate who uses them; None for none."""
    block = roots[0].parent
    assert block is not None  # they matched in it
    ordered = sorted(roots, key=_Position)
    taken = [v for op in made for v in op.operands] + [v for values in replacements for v in values]
    definers = {op for v in taken if (op := v.defining_op) is not None and op.parent is block}
    first, last = ordered[0], ordered[-1]
    if all(op.is_before(first) for op in definers):
        return first
    if not all(op.is_before(last) for op in definers):
        return None
    users = (user for root in ordered[:-1] for result in root.results for user in result.users)
    inside = [_in_block(user, block) for user in users]
    return last if all(user is None or user is last or last.is_before(user) for user in inside) else None


class _Position:
    """Sorts operations of one block as they stand in it."""

    __slots__ = ("op",)

    def __init__(self, op: Operation) -> None:
        self.op = op

    def __lt__(self, other: _Position) -> bool:
        return self.op is not other.op and self.op.is_before(other.op)


def _in_block(op: Operation, block: Block) -> Operation | None:
    """The operation of a block that `op` is, or is inside of."""
    around: Operation | None = op
    while around is not None and around.parent is not block:
        around = around.parent_op
    return around


__all__ = ["Make", "MadeResult", "MultiMatch", "MultiRootRule"]
