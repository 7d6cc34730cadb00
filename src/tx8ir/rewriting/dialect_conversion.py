"""Conversion to a set of legal operations: what is legal is said once, patterns make the rest so.

    target = ConversionTarget().legal_dialect("tx8be").legal(func.FuncOp, func.ReturnOp).illegal_dialect("pd")
    report = convert(program.module, patterns, target, mode=Conversion.FULL)

An operation is judged by the most specific statement about it: its kind, then a trait or an interface, then its
dialect. Patterns that change types are `ConversionPattern`s; what types become, and the values at the borders, a
`TypeConverter` says.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from tx8ir.analysis.effects import DroppableKinds, is_droppable, is_isolated
from tx8ir.core import IrError, Operation, Trait, Type, detached
from tx8ir.core.ir.operation import ErasedOperation

from .actions import should_run
from .conversion_rewriter import ConversionPattern, ConversionRewriter
from .declarative.explain import explain
from .declarative.explanation import Explanation
from .greedy import ConvergenceError
from .rewriter import RewritePattern


class Legality(enum.Enum):
    """What a target says about an operation."""

    LEGAL = "legal"
    ILLEGAL = "illegal"
    UNKNOWN = "unknown"


class Conversion(enum.Enum):
    """What may stay: in a partial conversion operations that the target says nothing about, in a full one none."""

    PARTIAL = "partial"
    FULL = "full"


_Rule = tuple[Legality, Callable[[Any], bool] | None]


class ConversionTarget:
    """Which operations are legal. The methods return the target, so that they can be chained; later statements win."""

    def __init__(self) -> None:
        self._kinds: dict[type[Any], _Rule] = {}
        self._dialects: dict[str, _Rule] = {}

    def legal(self, *kinds: type[Any], when: Callable[[Any], bool] | None = None) -> ConversionTarget:
        """Operations of these classes, or with these traits or interfaces, are legal; with `when`, those for which it
        is true, the others being illegal.
        """
        self._kinds.update(dict.fromkeys(kinds, (Legality.LEGAL, when)))
        return self

    def illegal(self, *kinds: type[Any]) -> ConversionTarget:
        """Operations of these classes, or with these traits or interfaces, are illegal."""
        self._kinds.update(dict.fromkeys(kinds, (Legality.ILLEGAL, None)))
        return self

    def legal_dialect(self, *names: str, when: Callable[[Any], bool] | None = None) -> ConversionTarget:
        """Operations of these dialects are legal; with `when`, those for which it is true, the others being illegal."""
        self._dialects.update(dict.fromkeys(names, (Legality.LEGAL, when)))
        return self

    def illegal_dialect(self, *names: str) -> ConversionTarget:
        """Operations of these dialects are illegal."""
        self._dialects.update(dict.fromkeys(names, (Legality.ILLEGAL, None)))
        return self

    def legality(self, op: Operation) -> Legality:
        """What the target says about `op`."""
        rule = self._rule(op.__class__)
        if rule is None:
            return Legality.UNKNOWN
        legality, when = rule
        return Legality.ILLEGAL if when is not None and not when(op) else legality

    def _rule(self, cls: type[Operation]) -> _Rule | None:
        for kind in cls.__mro__:
            if kind in self._kinds:
                return self._kinds[kind]
        for kind, rule in self._kinds.items():
            if kind in (cls.info.traits if issubclass(kind, Trait) else cls.info.interfaces):
                return rule
        return self._dialects.get(cls.name.partition(".")[0])


@attrs.frozen(eq=False)
class IllegalOperation:
    """An operation that stayed although it must not.

    Attributes:
        op: the operation.
        legality: illegal or, in a full conversion, unknown.
        types: of its operands and of its results.
        explanations: of each pattern for its kind, why it does not match.
        reason: what else keeps it: types that are inconvertible, a cast that no materialization makes.
    """

    op: Operation
    legality: Legality
    types: tuple[tuple[Type, ...], tuple[Type, ...]]
    explanations: tuple[Explanation, ...]
    reason: str = ""

    def __str__(self) -> str:
        operands, results = (", ".join(map(str, types)) for types in self.types)
        lines = [f"{self.op.name} ({operands}) -> ({results}) is {self.legality.value}"]
        if self.op.location.is_known:
            lines[0] += f", at {self.op.location}"
        if self.reason or not self.explanations:
            lines.append(f"  {self.reason or 'no pattern is for it'}")
        lines.extend("  " + str(explanation).replace("\n", "\n  ") for explanation in self.explanations)
        return "\n".join(lines)


@attrs.frozen(eq=False)
class ConversionReport:
    """What a conversion did.

    Attributes:
        rewrites: by pattern.
        illegal: what stayed illegal, in text order.
        unknown: in a partial conversion, how many operations stayed that the target says nothing about, by name.
    """

    rewrites: Mapping[str, int]
    illegal: tuple[IllegalOperation, ...]
    unknown: Mapping[str, int]

    def __str__(self) -> str:
        done = ", ".join(f"{name} {n}" for name, n in self.rewrites.items()) or "nothing"
        lines = [f"converted: {done}"]
        if self.unknown:
            lines.append(f"unknown: {', '.join(f'{name} {n}' for name, n in self.unknown.items())}")
        lines.extend(map(str, self.illegal))
        return "\n".join(lines)


class ConversionError(IrError):
    """Operations stayed illegal. `report` says which and why; the graph is as it was before the conversion."""

    def __init__(self, report: ConversionReport) -> None:
        count = len(report.illegal)
        details = "\n".join(map(str, report.illegal))
        super().__init__(f"{count} operation{'s' * (count != 1)} stayed illegal:\n{details}", report.illegal[0].op)
        self.report = report


def convert(
    root: Operation,
    patterns: Iterable[RewritePattern[Any]],
    target: ConversionTarget,
    *,
    mode: Conversion = Conversion.PARTIAL,
    max_rewrites: int | None = None,
    by: str = "convert",
) -> ConversionReport:
    """Applies `patterns` to the operations inside `root` that `target` does not allow until all are legal.

    Legal operations are never rewritten. What a pattern makes must be legal, or made so by further patterns. Operations
    that are dead after a rewrite are removed when they have no effect.

    Args:
        root: the isolated operation whose regions are converted; itself it is left alone.
        patterns: highest benefit first, tried on illegal operations; in a full conversion on unknown ones too.
        target: what is legal.
        mode: what may stay.
        max_rewrites: the bound on rewrites; by default 1024 + 64 for each operation at the start.
        by: the pass, named in locations and on what is erased.

    Returns: the report; `report.illegal` is empty.

    Raises:
        ConversionError: something stayed illegal. The regions of `root` are as they were, being those of a copy made
            before: O(operations).
        ConvergenceError: the bound was reached; the same holds.
        IrError: `root` is not isolated, or a pattern misused the rewriter.
    """
    if not is_isolated(root):
        raise IrError(f"{root.name} may use values from outside; only an isolated operation can be converted", root)
    copy = root.clone()
    try:
        report = _Converter(root, patterns, target, mode, by).run(max_rewrites)
        if report.illegal:
            raise ConversionError(report)
    except BaseException:
        root.take_regions(copy)
        raise
    return report


class _Converter:
    def __init__(
        self,
        root: Operation,
        patterns: Iterable[RewritePattern[Any]],
        target: ConversionTarget,
        mode: Conversion,
        by: str,
    ) -> None:
        self.root = root
        self.patterns = sorted(patterns, key=lambda p: -p.benefit)
        self.target = target
        self.mode = mode
        self.rewriter = ConversionRewriter(by=by)
        self.rewrites: Counter[str] = Counter()
        self.fitting: dict[type[Operation], list[RewritePattern[Any]]] = {}

    def run(self, max_rewrites: int | None) -> ConversionReport:
        order = [op for op in self.root.walk() if op is not self.root]
        limit = 1024 + 64 * len(order) if max_rewrites is None else max_rewrites
        worklist, casts = self.rewriter.worklist, self.rewriter.casts
        worklist.update(dict.fromkeys(reversed(order)))
        with detached():
            self.work_off(limit)
            while casts.resolve_some(self.rewriter):  # what materializations make may have to be converted too
                self.work_off(limit)
        stayed = [op for op in self.root.walk() if op is not self.root]
        left = [op for op in stayed if self.must_go(op) or self.is_unresolved(op)]
        unknown = Counter(op.name for op in stayed if self.target.legality(op) is Legality.UNKNOWN)
        return ConversionReport(dict(self.rewrites), tuple(map(self.illegal, left)), unknown)

    def work_off(self, limit: int) -> None:
        """Rewrite until nothing is left that must go and can."""
        worklist = self.rewriter.worklist
        kinds, kept = DroppableKinds(), set[Operation]()
        while worklist:
            op = worklist.popitem()[0]
            if op.__class__ is ErasedOperation or op.parent is None or op is self.root or op in self.rewriter.casts:
                continue
            if self.must_go(op):
                self.rewriter.root = op
                if not any(r.has_uses for r in op.results) and is_droppable(op, kinds, kept):
                    self.rewriter.erase(op)
                    self.rewriter.settle(None)
                elif self.rewrite(op) and self.rewrites.total() > limit:
                    last = ", ".join(f"{name} {n}" for name, n in self.rewrites.most_common(4))
                    raise ConvergenceError(f"conversion did not end within {limit} rewrites; most often: {last}")

    def must_go(self, op: Operation) -> bool:
        legality = self.target.legality(op)
        return legality is Legality.ILLEGAL or (legality is Legality.UNKNOWN and self.mode is Conversion.FULL)

    def is_unresolved(self, op: Operation) -> bool:
        """Whether `op` is a cast of this conversion that should not be left: the target does not say that it may."""
        return op in self.rewriter.casts and self.target.legality(op) is not Legality.LEGAL

    def patterns_for(self, cls: type[Operation]) -> list[RewritePattern[Any]]:
        if cls not in self.fitting:
            self.fitting[cls] = [pattern for pattern in self.patterns if pattern.fits(cls)]
        return self.fitting[cls]

    def rewrite(self, op: Operation) -> bool:
        location = op.location
        for pattern in self.patterns_for(op.__class__):
            if should_run("pattern", pattern.name, op) and pattern.match_and_rewrite(op, self.rewriter):
                self.rewrites[pattern.name] += 1
                self.rewriter.settle(location, pattern.name)
                if op.__class__ is not ErasedOperation:
                    self.rewriter.worklist[op] = None
                return True
        return False

    def illegal(self, op: Operation) -> IllegalOperation:
        types = (tuple(v.type for v in op.operands), tuple(v.type for v in op.results))
        if op in self.rewriter.casts:
            return IllegalOperation(op, Legality.ILLEGAL, types, (), self.rewriter.casts.reason(op))
        fitting = self.patterns_for(op.__class__)
        typed = [pattern.why_not(op) for pattern in fitting if isinstance(pattern, ConversionPattern)]
        explanations = tuple(explain(pattern, op) for pattern in fitting if not isinstance(pattern, ConversionPattern))
        return IllegalOperation(op, self.target.legality(op), types, explanations, "\n  ".join(typed))
