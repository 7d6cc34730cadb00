"""Where operations come from: which passes and patterns made them, and of which operations.

The rewriter gives every operation that it inserts a fused location: the places of the operations that it was made of,
and the steps that made it, oldest first, as `nhwc/transpose_conv > canonicalize/pow_two`. The text format keeps both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from tx8ir.core import UNKNOWN, CallSiteLocation, FusedLocation, Location, Operation

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
        return Provenance((), tuple(place for place in _chain(location) if place.is_known))
    steps = tuple(_step(text) for text in location.by.split(_ARROW) if text)
    places = {place: None for part in location.locations for place in _chain(part) if place.is_known}
    return Provenance(steps, tuple(places))


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


_SITES: Final = 16
"""How many calls inside one another a location says at most after inlining."""


def at_call_site(location: Location, site: Location, by: str) -> Location:
    """The location of an operation at `location` that `by` inlined at a call at `site`: `callsite(callee at caller)`.

    Each of its own places is at that call site; a call that was inlined itself is at its own. Of a call that stands
    for several, the first place counts. Past 16 call sites the outer ones are left out, so that a chain of calls does
    not make locations as long as itself.
    """
    own = _parts(location)
    steps = location.by.split(_ARROW) if isinstance(location, FusedLocation) and location.by else []
    sites = tuple(place for part in _parts(site)[:1] for place in _chain(part)) if site.is_known else ()
    places: dict[int, Location] = {}
    for place in own:
        chain = (*_chain(place), *sites)[: 1 + _SITES]
        if any(link.is_known for link in chain):
            found = chain[-1]
            for link in reversed(chain[:-1]):
                found = CallSiteLocation(link, found)
            places[id(place)] = found
    if not places:
        return UNKNOWN
    return FusedLocation(tuple(places.values()), _ARROW.join([step for step in steps if step != by] + [by]))


def _parts(location: Location) -> tuple[Location, ...]:
    return location.locations if isinstance(location, FusedLocation) else (location,)


def _chain(location: Location) -> tuple[Location, ...]:
    """A place, and the calls that it was inlined at, the innermost first."""
    found: list[Location] = []
    while isinstance(location, CallSiteLocation):
        found.append(location.callee)
        location = location.caller
    return (*found, location)
