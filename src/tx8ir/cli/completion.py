"""What TAB completes in the shell: names of passes, patterns and stages, also inside a pipeline."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tx8ir.compiler import STAGES
from tx8ir.passes import all_passes, all_patterns, all_pipelines


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def pipeline(incomplete: str) -> list[str]:
    """The pipelines that begin with what is typed: its last name, after a comma or a parenthesis, is completed."""
    written, last = re.fullmatch(r"(.*[,(])?([^,(]*)", incomplete, re.DOTALL).groups("")  # type: ignore[union-attr]
    return [written + name for name in _starting([*all_pipelines(), *all_passes()], last)]


def patterns(incomplete: str) -> list[str]:
    """The names of patterns that begin with what is typed."""
    return _starting(all_patterns(), incomplete)


def stages(incomplete: str) -> list[str]:
    """The stages of a compilation that begin with what is typed."""
    return _starting(STAGES, incomplete)
