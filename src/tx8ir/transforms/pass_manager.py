r"""Passes, their registry, and pipelines that are parsed from text and printed back.

A pipeline is written as pass names separated by commas, options in braces:
`canonicalize,layout-align{mode=greedy},cse`. The grammar (whitespace is free between tokens):

    pipeline ::= [pass ("," pass)*]
    pass     ::= name ["{" [option (("," | " ") option)*] "}"]
    option   ::= name "=" value
    value    ::= word | '"' string with \-escapes '"' | "[" [value ("," value)*] "]"

The options of a pass are the fields of its frozen attrs class; underscores are written as hyphens. Only options that
differ from their default are printed, so `PassManager.parse(str(pm)) == pm`.
"""

from __future__ import annotations

import difflib
import enum
import re
import time
import types
import typing
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, TypeAlias, TypeVar

import attrs

from tx8ir.core import IrError, Program, detached

OptionValue: TypeAlias = "bool | int | float | str | enum.Enum | tuple[OptionValue, ...] | None"


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
    str, an `enum.Enum`, `tuple[T, ...]` of those, or `T | None`). Its docstring says what the pass assumes,
    guarantees, and costs.
    """

    name: ClassVar[str]

    _counts: Counter[str] = attrs.field(factory=lambda: Counter[str](), init=False, eq=False, repr=False)

    @abstractmethod
    def run(self, program: Program) -> None:
        """Transforms `program` in place. Raises `IrError` (with the op) when it cannot."""

    def count(self, what: str, n: int = 1) -> None:
        """Adds `n` to the statistic `what` of this pass object."""
        if n:
            self._counts[what] += n

    @property
    def statistics(self) -> Mapping[str, int]:
        """What this pass object has counted since it was made."""
        return types.MappingProxyType(self._counts)

    def __str__(self) -> str:
        parts: list[str] = []
        for field in _options(type(self)):
            value = getattr(self, field.name)
            if value != _default(field):
                parts.append(f"{field.name.replace('_', '-')}={_print_value(value)}")
        return f"{self.name}{{{','.join(parts)}}}" if parts else self.name


_REGISTRY: dict[str, type[Pass]] = {}


_P = TypeVar("_P", bound="type[Pass]")


def register_pass(cls: _P) -> _P:
    """Class decorator: makes the pass available to `PassManager.parse` under its `name`.

    Raises `TypeError` when the class is not frozen attrs, an option has no default or a type that text cannot
    express, or another class already has the name.
    """
    name = cls.name
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise TypeError(f"pass name {name!r} of {cls.__qualname__} is not words of a-z0-9 joined by hyphens")
    taken = _REGISTRY.get(name)
    if taken is not None and (taken.__module__, taken.__qualname__) != (cls.__module__, cls.__qualname__):
        raise TypeError(f"pass name {name!r} of {cls.__qualname__} is taken by {taken.__module__}.{taken.__qualname__}")
    if "__attrs_attrs__" not in cls.__dict__:
        raise TypeError(f"pass {cls.__qualname__} must be decorated with @attrs.frozen (below @register_pass)")
    attrs.resolve_types(cls)
    for field in _options(cls):
        if field.default is attrs.NOTHING:
            raise TypeError(f"option {field.name!r} of pass {name!r} has no default")
        if not _is_expressible(field.type):
            raise TypeError(f"option {field.name!r} of pass {name!r} has type {field.type}, which text cannot express")
    _REGISTRY[name] = cls
    return cls


def all_passes() -> Mapping[str, type[Pass]]:
    """Every registered pass by name, in alphabetical order."""
    return types.MappingProxyType(dict(sorted(_REGISTRY.items())))


@attrs.frozen
class StageReport:
    """What one pass of a pipeline did: the pass as printed, its wall time in seconds, and what it counted."""

    name: str
    text: str
    seconds: float
    statistics: Mapping[str, int]


@attrs.frozen
class PipelineReport:
    """The stages of one `PassManager.run`, in order."""

    stages: tuple[StageReport, ...]

    @property
    def seconds(self) -> float:
        """Wall time of all passes, without verification."""
        return sum(stage.seconds for stage in self.stages)

    def __str__(self) -> str:
        rows: list[str] = []
        for stage in self.stages:
            counts = ", ".join(f"{what} {n}" for what, n in stage.statistics.items())
            rows.append(f"{stage.seconds * 1e3:10.2f} ms  {stage.text}{f'  ({counts})' if counts else ''}")
        return "\n".join(rows)


OnStage: TypeAlias = Callable[[Pass, Program, float], None]


@attrs.frozen
class PassManager:
    """A pipeline: passes run one after the other over a whole program.

    >>> PassManager.parse("canonicalize,cse").run(program)
    """

    passes: tuple[Pass, ...] = attrs.field(converter=lambda passes: tuple(typing.cast("Iterable[Pass]", passes)))

    @classmethod
    def parse(cls, text: str) -> PassManager:
        """The pipeline that `text` describes. Raises `PassError` for a syntax error, an unknown pass or option, a bad
        value.
        """
        return cls(tuple(_Parser(text).pipeline()))

    def __str__(self) -> str:
        return ",".join(str(p) for p in self.passes)

    def run(self, program: Program, *, verify_each: bool = True, on_stage: OnStage | None = None) -> PipelineReport:
        """Runs every pass over `program`, in place.

        verify_each: verify the program before the first pass and after each one.
        on_stage: called as `on_stage(pass, program, seconds)` after each pass (and its verification).

        Raises `PassError`, which names the pass, when a pass raises `IrError` or leaves an invalid program. Any other
        exception is a bug of the pass: it propagates with a note that names the pass.
        """
        if verify_each:
            self._verify(program, "the program is invalid before the first pass", None)
        stages: list[StageReport] = []
        for index, configured in enumerate(self.passes):
            stage = attrs.evolve(
                configured
            )  # fresh counters, so that one pipeline may run several times, also in threads
            start = time.perf_counter()
            try:
                with detached():  # passes construct detached operations, whatever builder is active here
                    stage.run(program)
            except PassError as error:
                if error.pass_name is not None:
                    raise
                raise PassError(f"pass '{stage.name}': {error.message}", pass_name=stage.name, op=error.op) from error
            except IrError as error:
                raise PassError(f"pass '{stage.name}': {error.message}", pass_name=stage.name, op=error.op) from error
            except Exception as error:
                error.add_note(f"while running pass '{stage}' ({index + 1} of {len(self.passes)}) of pipeline '{self}'")
                raise
            seconds = time.perf_counter() - start
            if verify_each:
                self._verify(program, f"the program is invalid after pass '{stage.name}'", stage.name)
            stages.append(StageReport(stage.name, str(stage), seconds, dict(stage.statistics)))
            if on_stage is not None:
                on_stage(stage, program, seconds)
        return PipelineReport(tuple(stages))

    @staticmethod
    def _verify(program: Program, what: str, pass_name: str | None) -> None:
        try:
            program.verify()
        except IrError as error:
            raise PassError(f"{what}: {error.message}", pass_name=pass_name, op=error.op) from error


# --- options ----------------------------------------------------------------------------------------------------


def _options(cls: type[Pass]) -> list[attrs.Attribute[Any]]:
    return [field for field in attrs.fields(cls) if field.init]


def _default(field: attrs.Attribute[Any]) -> Any:
    factory: Callable[[], Any] | None = getattr(field.default, "factory", None)  # of an attrs.Factory
    return field.default if factory is None else factory()


def _is_expressible(kind: Any) -> bool:
    if kind in (bool, int, float, str) or (isinstance(kind, type) and issubclass(kind, enum.Enum)):
        return True
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return len(args) == 2 and args[1] is Ellipsis and _is_expressible(args[0])
    if origin in (types.UnionType, typing.Union):
        return (
            len(args) == 2 and types.NoneType in args and all(a is types.NoneType or _is_expressible(a) for a in args)
        )
    return False


def _type_name(kind: Any) -> str:
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return "one of " + ", ".join(str(member.value) for member in kind)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return f"a list [...] of {_type_name(args[0])}"
    if origin in (types.UnionType, typing.Union):
        return f"{_type_name(next(a for a in args if a is not types.NoneType))} or none"
    return {bool: "true or false", int: "an integer", float: "a number", str: "a string"}[kind]


_WORD = re.compile(r"[A-Za-z0-9_.+\-/:*]+")


def _print_value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, enum.Enum):
        return _print_value(value.value)
    if isinstance(value, tuple):
        return f"[{','.join(_print_value(item) for item in typing.cast('tuple[Any, ...]', value))}]"
    if isinstance(value, str):
        if _WORD.fullmatch(value) and value != "none":
            return value
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


class _Quoted(str):
    """A quoted string: never read as `none`."""

    __slots__ = ()


def _convert(raw: str | list[Any], kind: Any) -> OptionValue:
    """`raw` (a word, a quoted string or a list) as a `kind`; raises `ValueError` when it is none."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        if raw == "none" and not isinstance(raw, _Quoted):
            return None
        return _convert(raw, next(a for a in args if a is not types.NoneType))
    if origin is tuple:
        if not isinstance(raw, list):
            raise ValueError(raw)
        return tuple(_convert(item, args[0]) for item in raw)
    if not isinstance(raw, str):
        raise ValueError(raw)
    if kind is bool:
        return {"true": True, "false": False}[raw]
    if kind is str:
        return str(raw)
    if kind is int:
        return int(raw, 0)
    if kind is float:
        return float(raw)
    for member in kind:
        if str(member.value) == raw:
            return member
    raise ValueError(raw)


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    return f"{hint} (known: {', '.join(known) or 'none'})"


class _Parser:
    """Recursive-descent parser of the grammar in the module's docstring."""

    _TOKEN = re.compile(r'\s*(?:(?P<word>[A-Za-z0-9_.+\-/:*]+)|"(?P<string>(?:[^"\\]|\\.)*)"|(?P<mark>[,{}=\[\]]))')

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._tokenise())
        self.next = 0

    def _tokenise(self) -> Iterator[tuple[str, str, int]]:
        at, end = 0, len(self.text.rstrip())
        while at < end:
            match = self._TOKEN.match(self.text, at)
            if match is None:
                at += len(self.text[at:]) - len(self.text[at:].lstrip())
                raise self.error(f"unexpected character {self.text[at]!r}", at)
            kind = typing.cast("str", match.lastgroup)
            yield kind, match[kind], match.start(kind)
            at = match.end()

    def error(self, message: str, at: int, pass_name: str | None = None) -> PassError:
        return PassError(
            f"pass pipeline, column {at + 1}: {message}\n  {self.text}\n  {' ' * at}^", pass_name=pass_name
        )

    def peek(self) -> tuple[str, str, int]:
        return self.tokens[self.next] if self.next < len(self.tokens) else ("end", "the end", len(self.text))

    def take(self, kind: str, what: str) -> tuple[str, int]:
        found, text, at = self.peek()
        if found != kind:
            raise self.error(f"expected {what}, found {text!r}" if found != "end" else f"expected {what}", at)
        self.next += 1
        return text, at

    def accept(self, mark: str) -> bool:
        if self.peek()[:2] == ("mark", mark):
            self.next += 1
            return True
        return False

    def pipeline(self) -> Iterator[Pass]:
        if not self.tokens:
            return
        yield self.one_pass()
        while self.accept(","):
            yield self.one_pass()
        kind, text, at = self.peek()
        if kind != "end":
            raise self.error(f"expected ',' or the end, found {text!r}", at)

    def one_pass(self) -> Pass:
        name, at = self.take("word", "the name of a pass")
        cls = _REGISTRY.get(name)
        if cls is None:
            raise self.error(f"no pass is named '{name}'{_did_you_mean(name, _REGISTRY)}", at, name)
        fields = {field.name: field for field in _options(cls)}
        given: dict[str, OptionValue] = {}
        if self.accept("{"):
            while not self.accept("}"):
                option, at = self.take("word", "the name of an option or '}'")
                field = fields.get(option.replace("-", "_"))
                if field is None:
                    known = [f.replace("_", "-") for f in fields]
                    raise self.error(f"pass '{name}' has no option '{option}'{_did_you_mean(option, known)}", at, name)
                if field.name in given:
                    raise self.error(f"option '{option}' of pass '{name}' is given twice", at, name)
                if not self.accept("="):
                    raise self.error(
                        f"expected '=' and a value for option '{option}' of pass '{name}'", self.peek()[2], name
                    )
                at = self.peek()[2]
                raw = self.value()
                try:
                    given[field.name] = _convert(raw, field.type)
                except (ValueError, KeyError):
                    text = self.text[at : self.peek()[2]].strip(" ,}")
                    raise self.error(
                        f"option '{option}' of pass '{name}' is {_type_name(field.type)}, not '{text}'", at, name
                    ) from None
                self.accept(",")
        try:
            return cls(**given)
        except (ValueError, TypeError) as error:  # a validator of the pass
            raise self.error(f"options of pass '{name}': {error}", at, name) from error

    def value(self) -> str | list[Any]:
        """A word, a string or a (nested, iteratively read) list."""
        open_lists: list[list[Any]] = []
        while True:
            if self.accept("["):
                open_lists.append([])
                if self.peek()[:2] != ("mark", "]"):
                    continue
            elif open_lists and self.peek()[:2] == ("mark", "]"):
                pass
            else:
                kind, text, at = self.peek()
                if kind not in ("word", "string"):
                    raise self.error("expected a value", at)
                self.next += 1
                item = text if kind == "word" else _Quoted(re.sub(r"\\(.)", r"\1", text))
                if not open_lists:
                    return item
                open_lists[-1].append(item)
                if self.accept(","):
                    continue
            while open_lists and self.accept("]"):
                done = open_lists.pop()
                if not open_lists:
                    return done
                open_lists[-1].append(done)
            if not self.accept(","):
                _, text, at = self.peek()
                raise self.error(f"expected ',' or ']', found {text!r}", at)
