"""What fuzzing a pass has shown."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from tx8ir.support.screen import fitted, fitting_repr
from tx8ir.support.table import Table
from tx8ir.testing.passes.counterexample import Counterexample
from tx8ir.testing.passes.observe import NumericGuarantee

_NAMED: Final = 3
"""How many patterns a sentence names."""


@attrs.frozen
class FuzzCoverage:
    """What the programs that the pass changed were made of, and what of the pass has run.

    Attributes:
        ops: how many of these programs had an operation, by its name.
        wirings: how many of the small ones had their operations wired in a way.
        attributes: how many values each attribute had in these programs, by operation and name: "pd.softmax.axis".
        regions: how many of these programs had an operation with so many regions entered when they were evaluated:
            "scf.if 0" those that went to the first side of a branch, "scf.if 1" to the second. One that is missing was
            never entered.
        reached: how many instructions of the pass have run.
        instructions: how many it has.
        never: the lines of the pass of which nothing has run, by file.
    """

    __repr__ = fitting_repr

    ops: Mapping[str, int]
    wirings: Mapping[str, int]
    attributes: Mapping[str, int]
    regions: Mapping[str, int]
    reached: int
    instructions: int
    never: Mapping[str, tuple[int, ...]]

    def __str__(self) -> str:
        text = f"{self.reached} of {self.instructions} instructions of the pass have run"
        places = [f"{file}:{_ranges(lines)}" for file, lines in self.never.items() if lines]
        return f"{text}; never {'; '.join(places)}" if places else text


@attrs.frozen(eq=False, repr=False)
class FuzzResult:
    """What `fuzz` has found.

    Attributes:
        name: what the pass is called.
        guarantees: what its steps were held to.
        programs: how many programs it was run on.
        changed: how many of them it changed: only these can show anything. A program counts in which one of its
            patterns was applied, or that it changed by itself; one where the greedy driver only folded and removed dead
            operations does not.
        runs: on how many sets of inputs these were evaluated before and after.
        skipped: how many programs could not be evaluated on any inputs that were drawn.
        rounds: how many rounds there were.
        counterexamples: what it got wrong, reduced, the first found first.
        coverage: what was tried.
        required: the part of the programs that it has to change to count as tested.
        applied: in how many programs each pattern was applied, of those that the pass gives to the greedy driver.
    """

    name: str
    guarantees: tuple[NumericGuarantee, ...]
    programs: int
    changed: int
    runs: int
    skipped: int
    rounds: int
    counterexamples: tuple[Counterexample, ...]
    coverage: FuzzCoverage
    required: float = 0.0
    applied: Mapping[str, int] = attrs.field(factory=dict[str, int])

    @property
    def passed(self) -> bool:
        """Whether nothing was found. That shows something only when the pass was `tested`."""
        return not self.counterexamples

    @property
    def tested(self) -> bool:
        """Whether the pass changed anything, and as many of the programs as it had to."""
        return bool(self.counterexamples) or self.changed >= max(1, self.required * self.programs)

    @property
    def counterexample(self) -> Counterexample | None:
        """The first, or None."""
        return self.counterexamples[0] if self.counterexamples else None

    @property
    def table(self) -> Table:
        """The counts."""
        verdict = "wrong" if not self.passed else "passed" if self.tested else "not tested"
        rows = (
            ("verdict", verdict),
            ("guarantee", ", ".join(dict.fromkeys(p.value for p in self.guarantees))),
            ("programs", str(self.programs)),
            ("changed by the pass", str(self.changed)),
            *((f"pattern {name} applied in", str(programs)) for name, programs in self.applied.items()),
            ("evaluated on", f"{self.runs} sets of inputs"),
            ("instructions of the pass run", f"{self.coverage.reached} of {self.coverage.instructions}"),
        )
        return Table(f"fuzzing {self.name}", ("", ""), rows)

    def __str__(self) -> str:
        found = self.counterexample
        if found is not None:
            return f"found after {self.programs} programs, {self.changed} of them changed\n\n{found}"
        share = self.changed / max(1, self.programs)
        if not self.changed:
            return f"not tested: {self.name} changed none of {self.programs} programs; {self.coverage}"
        never = [name for name, programs in self.applied.items() if not programs]
        counts = f"{self.programs} programs keep their answers, {self.changed} ({share:.0%}) of them changed"
        if not self.tested:
            return f"not tested: the pass has too little to do: {counts}; at least {self.required:.0%} expected"
        return f"{counts}; never applied: {_few(never)}" if never else counts

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else str(self.counterexamples[0].failure).splitlines()[0]
        if self.passed and not self.tested:
            verdict = "not tested"
        return fitted(f"<FuzzResult of {self.programs} programs, {self.changed} changed: {verdict}>")

    def _repr_html_(self) -> str:
        found = self.counterexample
        never = html.escape(str(self.coverage))
        shown = "" if found is None else found._repr_html_()  # pyright: ignore[reportPrivateUsage]  # IPython's name
        return f"{self.table.to_html()}<p>{never}</p>{shown}"


def _few(names: Sequence[str]) -> str:
    left_out = len(names) - _NAMED
    return ", ".join(names) if left_out <= 0 else f"{', '.join(names[:_NAMED])} and {left_out} more patterns"


def _ranges(lines: tuple[int, ...]) -> str:
    """``3-5, 8``"""
    parts: list[list[int]] = []
    for line in lines:
        if parts and line == parts[-1][1] + 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return ", ".join(f"{a}-{b}" if a != b else str(a) for a, b in parts)
