"""From the words of the command line to what the compiler takes."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence

import attrs

from tx8ir.backend.set_target import target_with
from tx8ir.cli.options import ProfileOption
from tx8ir.compiler import CompileOptions
from tx8ir.signature import InputError
from tx8ir.target.chip import Target

_PREFIX = "opt_"


def choices() -> Mapping[str, tuple[str, ...]]:
    """The options that choose between words, by their names without `opt_`; the default comes first."""
    types = typing.get_type_hints(CompileOptions)
    found: dict[str, tuple[str, ...]] = {}
    for field in attrs.fields(CompileOptions):
        words: tuple[str, ...] = typing.get_args(types[field.name])
        if field.name.startswith(_PREFIX) and words:
            found[field.name.removeprefix(_PREFIX)] = tuple(sorted(words, key=lambda word: word != field.default))
    return found


def choices_in_words() -> str:
    """``ddr=on|off, ...``, the default first."""
    return ", ".join(f"{name}={'|'.join(words)}" for name, words in choices().items())


def compile_options(dtype: str | None, given: Sequence[str] | None) -> CompileOptions:
    """The options of a compilation. Raises `InputError` for what no option is."""
    known = choices()
    taken: dict[str, str] = {}
    for text in given or ():
        name, _, value = text.partition("=")
        if value not in known.get(name, ()):
            raise InputError(f"--opt {text}: expected one of {choices_in_words()}")
        taken[_PREFIX + name] = value
    try:
        options = CompileOptions(dtype=dtype)
    except ValueError as error:
        raise InputError(f"--dtype {dtype}: {error}") from error
    return attrs.evolve(options, **taken)  # pyright: ignore[reportCallIssue]  # names of fields


def target_of(profile: ProfileOption | None) -> Target | None:
    """The chip with these times, or None, which leaves the choice to the program."""
    return None if profile is None else target_with(profile=profile.value)
