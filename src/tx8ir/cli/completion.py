"""What TAB completes in the shell: whatever has a fixed set of values, also inside a pipeline.

The commands name these functions when they are declared; each imports what it asks when TAB is pressed.
"""

from __future__ import annotations

from collections.abc import Iterable


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def pipeline(incomplete: str) -> list[str]:
    """The pipelines that begin with what is typed: its last name, after a comma or a parenthesis, is completed.

    Inside braces these are the options of the pass before them.
    """
    from tx8ir.passes import all_passes, all_pipelines, describe_options, find_pass

    before, brace, inside = incomplete.rpartition("{")
    if brace and "}" not in inside:
        cls = find_pass(_split(before, ",(")[1])
        written, last = _split(incomplete, "{, ")
        options = () if cls is None else describe_options(cls)
        return [written + name for name in _starting((f"{option.name}=" for option in options), last)]
    written, last = _split(incomplete, ",(")
    return [written + name for name in _starting([*all_pipelines(), *all_passes()], last)]


def _split(text: str, marks: str) -> tuple[str, str]:
    """The text up to and including the last of the marks, and what follows it."""
    start = 1 + max(text.rfind(mark) for mark in marks)
    return text[:start], text[start:]


def pass_names(incomplete: str) -> list[str]:
    """The names of passes that begin with what is typed."""
    from tx8ir.passes import all_passes

    return _starting(all_passes(), incomplete)


def patterns(incomplete: str) -> list[str]:
    """The names of patterns that begin with what is typed."""
    from tx8ir.passes import all_patterns

    return _starting(all_patterns(), incomplete)


def stages(incomplete: str) -> list[str]:
    """The stages of a compilation that begin with what is typed."""
    from tx8ir.compiler import STAGES

    return _starting(STAGES, incomplete)


def dtypes(incomplete: str) -> list[str]:
    """The formats to compute in that begin with what is typed."""
    from tx8ir.compiler import DTYPES

    return _starting(map(str, DTYPES), incomplete)


def compile_options(incomplete: str) -> list[str]:
    """The values of ``--opt``, `NAME=VALUE`, that begin with what is typed."""
    from tx8ir.cli.compiling import choices

    return _starting((f"{name}={value}" for name, values in choices().items() for value in values), incomplete)


def case_operations(incomplete: str) -> list[str]:
    """The operations that have cases and begin with what is typed."""
    from tx8ir.testing.cases import operations

    return _starting(operations.ops(), incomplete)
