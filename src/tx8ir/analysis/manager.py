"""Analyses of a program or of an operation in it, kept from pass to pass until one changes what they are about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, TypeVar, cast, overload

from tx8ir.core import Operation, Program
from tx8ir.support.screen import fitted

T = TypeVar("T")


class AnalysisManager:
    """Makes analyses and keeps them.

    A pass asks `self.analyses.get(AliasAnalysis, program)`, or for one operation `self.analyses.get(Dominance, op)`.
    In a pipeline an analysis is kept until a pass has run that does not name it in `Pass.preserves`; a pass that
    changes the program and asks again calls `invalidate` itself.

    Args:
        kept: where analyses are kept, shared by the passes of a pipeline. None: each is made when asked for.
    """

    __slots__ = ("_kept", "_made")

    def __init__(self, kept: dict[tuple[Any, Operation], Any] | None = None) -> None:
        self._kept = kept
        self._made: Counter[str] = Counter()

    @overload
    def get(self, analysis: Callable[[Program], T], subject: Program) -> T: ...
    @overload
    def get(self, analysis: Callable[[Operation], T], subject: Operation) -> T: ...
    def get(self, analysis: Callable[[Any], T], subject: Program | Operation) -> T:
        """The analysis of a program or of an operation, made if it is not kept.

        Args:
            analysis: a class, or a function, made from the subject.
            subject: a program, or an operation in it.
        """
        key = (analysis, subject.module if isinstance(subject, Program) else subject)
        if self._kept is not None and key in self._kept:
            return cast("T", self._kept[key])
        made = analysis(subject)
        self._made[getattr(analysis, "__name__", repr(analysis))] += 1
        if self._kept is not None:
            self._kept[key] = made
        return made

    def __repr__(self) -> str:
        kept = [getattr(analysis, "__name__", repr(analysis)) for analysis, _ in self._kept or ()]
        return fitted(f"<AnalysisManager: keeps {', '.join(kept) or 'nothing'}>")

    @property
    def made(self) -> Mapping[str, int]:
        """How often each analysis was made, by name."""
        return MappingProxyType(self._made)

    def is_kept(self, analysis: Callable[[Any], Any], subject: Program | Operation) -> bool:
        """Whether `get` would find the analysis."""
        key = (analysis, subject.module if isinstance(subject, Program) else subject)
        return self._kept is not None and key in self._kept

    def invalidate(self, preserved: Collection[Any] = (), *, within: Operation | None = None) -> None:
        """Forget every analysis but those in `preserved`.

        Args:
            preserved: analyses (the classes) that are still right.
            within: only what is inside this operation has changed: analyses of operations elsewhere are kept too.
        """
        if not self._kept:
            return
        around: set[Operation] = set() if within is None else {within, *within.ancestors()}
        for key in list(self._kept):
            analysis, subject = key
            if analysis in preserved:
                continue
            if within is None or subject in around or subject.parent is None or within in subject.ancestors():
                del self._kept[key]
