"""What a pass is, and the registry of passes that pipelines name; `shipped` has those that need no registration."""

from __future__ import annotations

import re
import types
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, TypeVar

import attrs

from tx8ir.analysis import AnalysisManager
from tx8ir.core import IrError, Operation, Program
from tx8ir.rewriting import RewritePattern

from .guarantee import NumericGuarantee
from .options import is_expressible, option_fields, print_options
from .shipped import ALIASES, PASSES, PIPELINES_IN, load_pass


class PassError(IrError):
    """A pipeline could not be built, or a pass failed, or left an invalid program.

    `pass_name` is the pass concerned (`None` when the text of a pipeline is malformed as a whole).
    """

    def __init__(self, message: str, *, pass_name: str | None = None, op: Any = None) -> None:
        super().__init__(message, op=op)
        self.pass_name = pass_name


@attrs.frozen
class Pass(ABC):
    """One step of a pipeline: takes a verified program and leaves a verified program, changing it in place.

    A subclass is a frozen attrs class decorated with `@register_pass`; its fields are its options (bool, int, float,
    str, an `enum.Enum`, `tuple[T, ...]` of those, or `T | None`; see `options.option`). Its docstring says what the
    pass assumes, guarantees, and costs.
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    """Other names under which a pipeline may have it."""
    preserves: ClassVar[frozenset[type[Any]]] = frozenset()
    """Analyses that are still right after the pass, whatever it did."""
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.BITWISE
    """What the pass keeps of the numbers a program gives; `tx8ir.testing` checks it on generated programs."""

    _analyses: AnalysisManager = attrs.field(factory=AnalysisManager, init=False, eq=False, repr=False)
    _counts: Counter[str] = attrs.field(factory=lambda: Counter[str](), init=False, eq=False, repr=False)
    _written_as: str = attrs.field(default="", init=False, eq=False, repr=False)

    @abstractmethod
    def run(self, program: Program) -> None:
        """Transforms `program` in place. Raises `IrError` (with the op) when it cannot."""

    def patterns(self) -> Sequence[RewritePattern[Any]]:
        """The patterns that the pass applies, for `tx8ir opt --explain`; none for a pass without patterns."""
        return ()

    def count(self, what: str, n: int = 1) -> None:
        """Adds `n` to the statistic `what` of this pass object."""
        if n:
            self._counts[what] += n

    @property
    def analyses(self) -> AnalysisManager:
        """Where the pass gets analyses of the program; in a pipeline, those that earlier passes preserved are kept."""
        return self._analyses

    @property
    def statistics(self) -> Mapping[str, int]:
        """What this pass object has counted since it was made."""
        return types.MappingProxyType(self._counts)

    @property
    def title(self) -> str:
        """What reports call it: its name, without options."""
        return self.name

    def __str__(self) -> str:
        return (self._written_as or self.name) + print_options(self)


class OperationPass(Pass):
    """A pass that works inside one operation and can be nested: `func.func(cse,dce)` runs it on each function.

    It reads and changes only what is inside the operation it is given, and its `WeightStore`.
    """

    anchor: ClassVar[str | None] = None
    """The kind of operation it works on; None: any that is `IsolatedFromAbove`. A pass with an anchor that a pipeline
    has at the top runs on each such operation directly inside the module."""

    @abstractmethod
    def run_on(self, root: Operation, program: Program) -> None:
        """Transforms what is inside `root`, a part of `program` or all of it. Raises `IrError` when it cannot."""

    def run(self, program: Program) -> None:
        if self.anchor is None:
            self.run_on(program.module, program)
            return
        for op in [op for op in program.body if op.name == self.anchor]:
            self.run_on(op, program)


NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_REGISTRY: Final[dict[str, type[Pass]]] = {}
_ALIASES: Final[dict[str, type[Pass]]] = {}
PIPELINES: Final[dict[str, str]] = {}
"""The text of pipelines by name; `text.register_pipeline` adds to it."""

_P = TypeVar("_P", bound="type[Pass]")


def register_pass(cls: _P) -> _P:
    """Class decorator: makes the pass available to `PassManager.parse` under its `name` and its `aliases`.

    Raises `TypeError` when the class is not frozen attrs, an option has no default or a type that text cannot
    express, or another class already has the name.
    """
    name = cls.name
    for word in (name, *cls.aliases):
        if not NAME.fullmatch(word):
            raise TypeError(f"pass name {word!r} of {cls.__qualname__} is not words of a-z0-9 joined by hyphens")
        if word in PIPELINES or word in PIPELINES_IN:
            raise TypeError(f"pass name {word!r} of {cls.__qualname__} is taken by a pipeline")
        taken = _registered(word)
        if taken is None and not _is_shipped(word, cls):
            taken = load_pass(word)
        if taken is not None and (taken.__module__, taken.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(
                f"pass name {word!r} of {cls.__qualname__} is taken by {taken.__module__}.{taken.__qualname__}"
            )
    if "__attrs_attrs__" not in cls.__dict__:
        raise TypeError(f"pass {cls.__qualname__} must be decorated with @attrs.frozen (below @register_pass)")
    attrs.resolve_types(cls)
    for field in option_fields(cls):
        if field.default is attrs.NOTHING:
            raise TypeError(f"option {field.name!r} of pass {name!r} has no default")
        if not is_expressible(field.type):
            raise TypeError(f"option {field.name!r} of pass {name!r} has type {field.type}, which text cannot express")
    _REGISTRY[name] = cls
    for alias in cls.aliases:
        _ALIASES[alias] = cls
    return cls


def _registered(name: str) -> type[Pass] | None:
    return _REGISTRY.get(name) or _ALIASES.get(name)


def _is_shipped(name: str, cls: type[Pass]) -> bool:
    """Whether `cls` is the class that the table of shipped passes has under that name; nothing is imported."""
    return PASSES.get(ALIASES.get(name, name)) == f"{cls.__module__.removeprefix('tx8ir.')}:{cls.__qualname__}"


def all_passes() -> Mapping[str, type[Pass]]:
    """Every pass by name, shipped and registered, in alphabetical order; aliases are not listed."""
    shipped = {name: cls for name in PASSES if (cls := load_pass(name)) is not None}
    return types.MappingProxyType(dict(sorted({**shipped, **_REGISTRY}.items())))


def all_patterns() -> Mapping[str, RewritePattern[Any]]:
    """The patterns of all passes (with options at their defaults) by name, in alphabetical order."""
    found = {pattern.name: pattern for cls in all_passes().values() for pattern in cls().patterns()}
    return types.MappingProxyType(dict(sorted(found.items())))


def find_pass(name: str) -> type[Pass] | None:
    """The pass of that name or alias, or None."""
    return _registered(name) or load_pass(name)
