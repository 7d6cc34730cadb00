"""Where operations come from: which passes and patterns made them, and of which operations.

The rewriter gives every operation that it inserts a fused location: the places of the operations that it was made of,
and the steps that made it, oldest first, as `nhwc/transpose_conv > canonicalize/pow_two`. The text format keeps both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from tx8ir.core import UNKNOWN, FusedLocation, Location, Operation

_ARROW: Final = " > "


@attrs.frozen
class RewriteStep:
    """One rewrite: the pass, and its pattern if it has patterns."""

    pass_name: str
    pattern: str = ""

    def __str__(self) -> str:
        return f"{self.pass_name}/{self.pattern}" if self.pattern else self.pass_name


@attrs.frozen
class Provenance:
    """How an operation came to be.

    Attributes:
        steps: the passes and patterns that made it, or what it was made of, oldest first, each once; empty for an
            operation that no pass has made.
        sources: the places that it stands for, in the source program.
    """

    steps: tuple[RewriteStep, ...]
    sources: tuple[Location, ...]

    @property
    def made_by(self) -> RewriteStep | None:
        """The last step."""
        return self.steps[-1] if self.steps else None

    def __str__(self) -> str:
        of = ", ".join(str(source)[4:-1] for source in self.sources) or "unknown"
        return f"{of}{''.join(f' -> {step}' for step in self.steps)}"


def provenance(op: Operation) -> Provenance:
    """Which passes and patterns made `op`, and from which operations of the source program."""
    location = op.location
    if not isinstance(location, FusedLocation):
        return Provenance((), (location,) if location.is_known else ())
    steps = tuple(_step(text) for text in location.by.split(_ARROW) if text)
    return Provenance(steps, tuple(part for part in location.locations if part.is_known))


def _step(text: str) -> RewriteStep:
    pass_name, _, pattern = text.partition("/")
    return RewriteStep(pass_name, pattern)


def derived_location(sources: Iterable[Location], by: str) -> Location:
    """The location of what `by` (`pass/pattern`) makes of operations at `sources`.

    Places and steps of fused locations are taken over, each once: the result grows with the number of places and of
    different steps, not with the number of rewrites.
    """
    given = tuple(sources)
    if len(given) == 1 and not isinstance(given[0], FusedLocation):
        return FusedLocation(given, by)  # without hashing the location, which prints it
    places: dict[Location, None] = {}
    steps: dict[str, None] = {}
    for source in given:
        if isinstance(source, FusedLocation):
            places.update(dict.fromkeys(source.locations))
            steps.update(dict.fromkeys(source.by.split(_ARROW)))
        elif source.is_known:
            places[source] = None
    for text in ("", by):
        steps.pop(text, None)
    return FusedLocation(tuple(places) or (UNKNOWN,), _ARROW.join([*steps, by]))


_PLACES: Final = 16
"""How many places a location has at most after inlining, unless it had more before."""


def at_call_site(location: Location, site: Location, by: str) -> Location:
    """The location of an operation at `location` that `by` inlined at a call at `site`.

    Its own places come first, then call sites, the innermost first. Past 16 places outer call sites are left out, so
    that a chain of calls does not make locations as long as itself.
    """
    own = location.locations if isinstance(location, FusedLocation) else (location,)
    sites = site.locations if isinstance(site, FusedLocation) else (site,)
    room = max(len(own), _PLACES)
    places = {id(place): place for place in (*own, *sites[:_PLACES]) if place.is_known}
    if not places:
        return UNKNOWN
    steps = location.by.split(_ARROW) if isinstance(location, FusedLocation) and location.by else []
    return FusedLocation(tuple(places.values())[:room], _ARROW.join([step for step in steps if step != by] + [by]))
