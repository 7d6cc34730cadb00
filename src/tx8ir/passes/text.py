r"""Pipelines as text. The grammar (blanks are free between tokens):

    pipeline ::= [stage ("," stage)*]
    stage    ::= pass | nest
    pass     ::= name [options]
    nest     ::= kind "(" pipeline ")" [options]
    options  ::= "{" [option (("," | " ") option)*] "}"
    option   ::= name "=" value
    value    ::= word | '"' string with \-escapes '"' | "[" [value ("," value)*] "]"

`kind` is the name of an operation such as `func.func`, or `any`. The options of a pass are the fields of its class,
those of a nest the fields of `NestedPassManager` (`max-iterations`); underscores are written as hyphens. The name of a
pipeline (`register_pipeline`) stands for its passes.
"""

from __future__ import annotations

import difflib
import re
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .base import NAME, PIPELINES, Pass, PassError, all_passes, find_pass
from .executor import NestedPassManager
from .options import OptionValue, Quoted, option_fields, read_value, type_in_words
from .shipped import PIPELINES_IN, load_pipeline


def parse_pipeline(text: str) -> tuple[Pass, ...]:
    """The passes that `text` describes. Raises `PassError` with the column, and with what exists, when it is wrong."""
    return _Parser(text).run()


def register_pipeline(name: str, text: str) -> None:
    """Makes a pipeline available under a name, in other pipelines too.

    Raises `PassError` when the text is wrong, `ValueError` when the name is not words of a-z0-9 joined by hyphens, or
    that of a pass or of a pipeline with another text.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"pipeline name {name!r} is not words of a-z0-9 joined by hyphens")
    if find_pass(name) is not None:
        raise ValueError(f"pipeline name {name!r} is taken by a pass")
    load_pipeline(name)
    if PIPELINES.get(name, text) != text:
        raise ValueError(f"pipeline name {name!r} is taken by the pipeline {PIPELINES[name]}")
    parse_pipeline(text)  # what it names exists, so it cannot contain itself
    PIPELINES[name] = text


def all_pipelines() -> Mapping[str, str]:
    """The text of every named pipeline, in alphabetical order of names."""
    for name in PIPELINES_IN:
        load_pipeline(name)
    return types.MappingProxyType(dict(sorted(PIPELINES.items())))


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    return f"{hint} (known: {', '.join(known) or 'none'})"


class _Parser:
    """Recursive descent, with a stack of its own for what nests."""

    _TOKEN = re.compile(r'\s*(?:(?P<word>[A-Za-z0-9_.+\-/:*]+)|"(?P<string>(?:[^"\\]|\\.)*)"|(?P<mark>[,{}()=\[\]]))')

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

    def run(self) -> tuple[Pass, ...]:
        done: list[Pass] = []
        open_nests: list[tuple[str, int, list[Pass]]] = []  # kind, where it is, the passes around it
        ended = not self.tokens
        while not ended:
            name, at = self.take("word", "the name of a pass")
            if self.accept("("):
                open_nests.append((name, at, done))
                done = []
                if self.peek()[:2] != ("mark", ")"):
                    continue
            else:
                done.extend(self.named(name, at))
            while open_nests and self.accept(")"):
                kind, start, around = open_nests.pop()
                around.append(self.nest(kind, start, done))
                done = around
            if self.accept(","):
                continue
            found, text, at = self.peek()
            if open_nests:
                raise self.error(f"expected ',' or ')', found {text!r}" if found != "end" else "expected ')'", at)
            if found != "end":
                raise self.error(f"expected ',' or the end, found {text!r}", at)
            ended = True
        return tuple(done)

    def named(self, name: str, at: int) -> tuple[Pass, ...]:
        """The pass of that name, or the passes of the pipeline."""
        cls = find_pass(name)
        if cls is not None:
            return (self.one_pass(cls, name, at),)
        load_pipeline(name)
        if name not in PIPELINES:
            known = (*all_passes(), *all_pipelines())
            raise self.error(f"no pass is named '{name}'{_did_you_mean(name, known)}", at, name)
        if self.peek()[:2] == ("mark", "{"):
            raise self.error(f"'{name}' is a pipeline, which has no options", self.peek()[2], name)
        passes = parse_pipeline(PIPELINES[name])
        if len(passes) == 1 and isinstance(passes[0], NestedPassManager):
            object.__setattr__(passes[0], "_written_as", name)
        return passes

    def one_pass(self, cls: type[Pass], name: str, at: int) -> Pass:
        given = self.options(cls, f"pass '{name}'", name)
        made = self.construct(cls, given, f"pass '{name}'", at, name)
        if name != cls.name:
            object.__setattr__(made, "_written_as", name)
        return made

    def nest(self, kind: str, at: int, passes: list[Pass]) -> Pass:
        given = self.options(NestedPassManager, f"the pipeline nested in '{kind}'", kind)
        try:
            return self.construct(
                NestedPassManager, {"kind": kind, "passes": tuple(passes), **given}, f"'{kind}(...)'", at, kind
            )
        except PassError as error:
            if error.message.startswith("pass pipeline"):
                raise
            raise self.error(error.message, at, error.pass_name) from error

    def construct(self, cls: type[Pass], given: dict[str, Any], what: str, at: int, name: str) -> Pass:
        try:
            return cls(**given)
        except (ValueError, TypeError) as error:  # a validator of the pass
            raise self.error(f"options of {what}: {error}", at, name) from error

    def options(self, cls: type[Pass], what: str, name: str) -> dict[str, OptionValue]:
        given: dict[str, OptionValue] = {}
        if not self.accept("{"):
            return given
        structure = NestedPassManager.STRUCTURE if cls is NestedPassManager else ()
        fields = {field.name: field for field in option_fields(cls) if field.name not in structure}
        while not self.accept("}"):
            option, at = self.take("word", "the name of an option or '}'")
            field = fields.get(option.replace("-", "_"))
            if field is None:
                known = [f.replace("_", "-") for f in fields]
                raise self.error(f"{what} has no option '{option}'{_did_you_mean(option, known)}", at, name)
            if field.name in given:
                raise self.error(f"option '{option}' of {what} is given twice", at, name)
            if not self.accept("="):
                raise self.error(f"expected '=' and a value for option '{option}' of {what}", self.peek()[2], name)
            at = self.peek()[2]
            raw = self.value()
            try:
                given[field.name] = read_value(raw, field.type)
            except (ValueError, KeyError):
                text = self.text[at : self.peek()[2]].strip(" ,}")
                raise self.error(
                    f"option '{option}' of {what} is {type_in_words(field.type)}, not '{text}'", at, name
                ) from None
            self.accept(",")
        return given

    def value(self) -> str | list[Any]:
        """A word, a string or a (nested) list."""
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
                item = text if kind == "word" else Quoted(re.sub(r"\\(.)", r"\1", text))
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
