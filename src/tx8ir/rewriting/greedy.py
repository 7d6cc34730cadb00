"""The greedy rewrite driver: patterns, folding and dead code elimination from one worklist, until nothing changes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import attrs

from tx8ir.analysis.effects import DroppableKinds, is_droppable
from tx8ir.core import (
    Attribute,
    ConstantLike,
    DenseAttr,
    Fold,
    IrError,
    Location,
    Operation,
    RankedTensor,
    TensorType,
    Type,
    Value,
    detached,
)
from tx8ir.core.ir.interfaces import ConstantMaterialization
from tx8ir.core.ir.operation import ErasedOperation
from tx8ir.core.ir.use_lists import is_unused
from tx8ir.dialects import builtin

from .actions import asking
from .log import log_run
from .rewriter import RewritePattern, Rewriter, WorklistFilter

FOLD = "fold"
"""What statistics call folding."""


class ConvergenceError(IrError):
    """The greedy driver made more rewrites than its bound: some patterns undo each other, or one matches its own
    result.
    """


@attrs.frozen
class GreedyResult:
    """What `rewrite_greedily` did: rewrites by pattern name (folding under `FOLD`), and dead operations removed."""

    rewrites: dict[str, int]
    removed: int

    @property
    def changed(self) -> bool:
        """True when anything was changed."""
        return bool(self.rewrites) or self.removed > 0


class _Counter:
    """How often a pattern changed something."""

    __slots__ = ("n", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.n = 0


# What the driver does with operations of one class: drop them when dead, fold them, try these patterns.
_Kind: TypeAlias = tuple[bool, bool, tuple[tuple[Callable[[Any, Rewriter], bool], _Counter], ...]]


class _Kinds(dict[type[Operation], "_Kind | None"]):
    """Dispatch by class, filled on first sight; None when there is nothing to do. Keeps `attention` in step."""

    def __init__(
        self, patterns: Iterable[RewritePattern[Any]], *, fold: bool, droppable: DroppableKinds | None
    ) -> None:
        super().__init__()
        self.patterns = [(p, _Counter(p.name)) for p in sorted(patterns, key=lambda p: -p.benefit)]
        self.entries = [asking("pattern", p.name, p.entry) for p, _ in self.patterns]
        self.fold = fold
        self.droppable = droppable
        self.attention = _DriverAttention(self)
        self[ErasedOperation] = None

    def __missing__(self, cls: type[Operation]) -> _Kind | None:
        candidates = zip(self.entries, self.patterns, strict=True)
        fitting = tuple((entry, counter) for entry, (p, counter) in candidates if p.fits(cls))
        folds = self.fold and Fold in cls.info.interfaces and ConstantLike not in cls.info.traits
        droppable = self.droppable is not None and bool(self.droppable[cls])
        self[cls] = (droppable, folds, fitting) if droppable or folds or fitting else None
        return self[cls]


class _DriverAttention(WorklistFilter):
    """2 for classes with patterns or folding, 1 for those that are only dropped, 0 for the others."""

    def __init__(self, kinds: _Kinds) -> None:
        super().__init__()
        self.kinds = kinds

    def __missing__(self, kind: type[Operation]) -> int:
        found = self.kinds[kind]
        self[kind] = 0 if found is None else 2 if found[1] or found[2] else 1
        return self[kind]


_Worklist: TypeAlias = dict[Operation, None]


def rewrite_greedily(
    root: Operation,
    patterns: Iterable[RewritePattern[Any]],
    *,
    fold: bool = True,
    drop_dead: bool = True,
    max_rewrites: int | None = None,
    by: str = "greedy-rewrite",
) -> GreedyResult:
    """Applies `patterns` inside `root` until none matches.

    Operations are taken from a worklist, first in program order, then those a change concerns: users of a replaced
    value, new and modified operations, definers of operands that lost a use. The graph is walked once; the cost is
    O(operations + changes). The root itself is not rewritten.

    Args:
        root: the operation whose regions are rewritten.
        patterns: tried on each operation they fit, highest benefit first; after a change the operation is looked at
            anew.
        fold: also fold operations through their `Fold` interface, materialising constants as `builtin.constant`.
        drop_dead: also remove dead operations (see `effects.is_droppable`).
        max_rewrites: the bound on rewrites; by default 1024 + 64 for each operation at the start.
        by: the pass, named on what it erases.

    Raises:
        ConvergenceError: the bound was reached; the message names the last rewrites. The graph is valid but half
            rewritten.
        IrError: a pattern misused the rewriter.
    """
    droppable = DroppableKinds()
    kept: set[Operation] = set()
    kinds = _Kinds(patterns, fold=fold, droppable=droppable if drop_dead else None)
    attention = kinds.attention
    order: list[Operation] = []
    total = 0
    for op in root.walk():
        total += 1
        wanted = attention[op.__class__]
        if wanted == 2 or (wanted and is_unused(op)):
            order.append(op)
    if order and order[0] is root:
        del order[0]
    order.reverse()
    worklist: _Worklist = dict.fromkeys(order)
    limit = 1024 + 64 * total if max_rewrites is None else max_rewrites
    recent: deque[str] = deque(maxlen=8)
    rewriter = Rewriter(by=by, worklist=worklist, attention=attention)
    folds = _Counter(FOLD)
    fold_one = asking("fold", FOLD, _fold)
    done = removed = 0
    pop = worklist.popitem
    with detached():  # patterns construct detached operations, whatever builder is active around the pass
        while worklist:
            op = pop()[0]
            kind = kinds[type(op)]  # `__class__` of an erased operation is a call
            if kind is None or op.parent is None or op is root:
                continue
            may_drop, may_fold, applicable = kind
            if may_drop and is_unused(op) and is_droppable(op, droppable, kept):
                rewriter.root = op
                rewriter.erase(op)
                removed += 1
                continue
            rewriter.root = op
            location = op.location
            counter = folds if may_fold and fold_one(op, rewriter) else None
            if counter is None:
                for apply, candidate in applicable:
                    if apply(op, rewriter):
                        counter = candidate
                        break
                else:
                    if rewriter.has_inserted or type(op) is ErasedOperation:
                        raise _silent_change(applicable, location)
                    continue
            counter.n += 1
            done += 1
            rewriter.settle(location, counter.name)
            if type(op) is not ErasedOperation:
                worklist[op] = None
            if done > limit - 8:
                recent.append(counter.name)
                if done > limit:
                    raise _not_converged(limit, recent)
    counts: Counter[str] = Counter()
    for counter in (folds, *(counter for _, counter in kinds.patterns)):
        counts[counter.name] += counter.n
    log_run((counter.name for _, counter in kinds.patterns), counts, fold=fold, drop_dead=drop_dead)
    return GreedyResult(dict(+counts), removed)


def _silent_change(tried: Iterable[tuple[Any, _Counter]], location: Location) -> IrError:
    names = ", ".join(counter.name for _, counter in tried)
    return IrError(f"a pattern changed the graph and did not return True; tried here: {names}", location=location)


def _not_converged(limit: int, recent: Iterable[str]) -> ConvergenceError:
    last = ", ".join(recent)
    return ConvergenceError(f"greedy rewriting did not converge within {limit} rewrites; the last ones: {last}")


def constant_value(value: Value) -> Attribute | None:
    """The constant that `value` is the result of, or None: `value` of a `builtin.constant`, the fold of a
    `ConstantLike` op.
    """
    op = value.defining_op
    if op is None:
        return None
    if isinstance(op, builtin.ConstantOp):
        return op.attributes["value"]
    if ConstantLike in op.info.traits:
        model = op.interface(Fold)
        folded = model.fold(()) if model is not None else None
        return folded if isinstance(folded, Attribute) else None
    return None


def fold_operation(op: Operation) -> Value | Attribute | None:
    """What the `Fold` interface of `op` gives for its operands, or None when it has none or cannot fold.

    Raises:
        IrError: it gave a result of `op` itself, or a value of another type.
    """
    model = op.interface(Fold)
    if model is None or len(op.results) != 1:
        return None
    folded = model.fold([constant_value(value) for value in op.operands])
    if isinstance(folded, Value):
        if folded.owner is op:
            raise IrError(f"the fold of {op.name} gave its own result; to change nothing it must give None", op)
        if folded.type is not op.results[0].type:
            raise IrError(f"the fold of {op.name} gave a value of type {folded.type} for {op.results[0].type}", op)
    return folded


def materialize_constant(attribute: Attribute, type_: Type, op: Operation | None = None) -> Operation | None:
    """A detached constant of that type: what `op` itself makes, else a `builtin.constant`.

    None when there is none: not dense, or a `tensor`, which has storage.
    """
    model = None if op is None else op.interface(ConstantMaterialization)
    made = None if model is None else model.materialize(attribute, type_)
    if made is not None:
        return made
    if not isinstance(attribute, DenseAttr) or not isinstance(type_, RankedTensor) or type_.__class__ is TensorType:
        return None
    if attribute.type is not type_:
        return None
    return builtin.ConstantOp(value=attribute, out=type_)


def _fold(op: Operation, rewriter: Rewriter) -> bool:
    folded = fold_operation(op)
    if folded is None:
        return False
    if isinstance(folded, Value):
        rewriter.replace(op, folded)
    else:
        constant = materialize_constant(folded, op.results[0].type, op)
        if constant is None:
            return False
        rewriter.insert_before(constant, op)
        rewriter.replace(op, constant)
    return True
