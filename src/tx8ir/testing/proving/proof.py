"""What `prove` has found out."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Program
from tx8ir.passes import NumericGuarantee
from tx8ir.support.screen import fitted, fitting_repr
from tx8ir.support.table import Table
from tx8ir.target.rounding import Rounding

from .comparison import shown
from .modes import NAMES, evaluate_rounded
from .scalars import formula

Array: TypeAlias = NDArray[Any]
Status: TypeAlias = Literal["proved", "refuted", "undecided"]


@attrs.frozen(eq=False, repr=False)
class Refutation:
    """Numbers on which a rule changes what a program gives.

    Attributes:
        rule: its name.
        before: the program before, on scalars.
        after: the program after.
        inputs: the numbers, of shape (), by the name of the input.
        rounding: the mode that both are evaluated in.
        guarantee: what was to be kept.
    """

    rule: str
    before: Program
    after: Program
    inputs: Mapping[str, Array]
    rounding: Rounding
    guarantee: NumericGuarantee

    @property
    def expected(self) -> str:
        """What the program before gives."""
        return shown(evaluate_rounded(self.before, self.inputs, self.rounding))

    @property
    def found(self) -> str:
        """What the program after gives."""
        return shown(evaluate_rounded(self.after, self.inputs, self.rounding))

    @property
    def script(self) -> str:
        """A Python script that evaluates both programs on the numbers, and ends with an AssertionError."""
        inputs = [
            f"    {name!r}: np.array({_number(array)!r}, np.dtype({array.dtype.name!r})),"
            for name, array in self.inputs.items()
        ]
        lines = [
            *(f"# {line}" for line in str(self).splitlines()),
            "import numpy as np",
            "from numpy import inf, nan",
            "",
            "import tx8ir",
            "from tx8ir.target.rounding import Rounding",
            "from tx8ir.testing import NumericGuarantee",
            "from tx8ir.testing.proving import assert_same",
            "",
            f'before = tx8ir.parse("""\n{self.before}\n""")',
            f'after = tx8ir.parse("""\n{self.after}\n""")',
            "inputs = {",
            *inputs,
            "}",
            f"assert_same(before, after, inputs, Rounding.{self.rounding.name}, "
            f"NumericGuarantee.{self.guarantee.name})",
            "",
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        numbers = ", ".join(f"{name} = {_number(array)!r}" for name, array in self.inputs.items())
        at = f" at {numbers} ({_types(self.inputs)})" if numbers else ""
        return (
            f"{formula(self.before)} -> {formula(self.after)}{at}, rounding {NAMES[self.rounding]}:\n"
            f"  before: {self.expected}\n  after:  {self.found}"
        )

    def __repr__(self) -> str:
        return fitted(f"<Refutation of {self.rule}: {str(self).splitlines()[0]}>")

    def _repr_html_(self) -> str:
        script = f"<details><summary>a script that fails</summary><pre>{html.escape(self.script)}</pre></details>"
        return f"<pre>{html.escape(str(self))}</pre>{script}"


def _number(array: Array) -> Any:
    return (array if array.dtype.kind in "iub" else array.astype(np.float64)).item()


def _types(inputs: Mapping[str, Array]) -> str:
    return ", ".join(dict.fromkeys(array.dtype.name for array in inputs.values()))


@attrs.frozen(eq=False)
class Check:
    """One program before and after, in one rounding mode.

    Attributes:
        before: the program before, in one line.
        after: the program after.
        formats: of its inputs, joined by "+"; of its results where it has none.
        rounding: the mode.
        status: whether they are equal on all numbers.
        evaluated: on how many numbers both were evaluated.
        is_complete: whether these are all.
        solver: what the solver said: "" where it was not asked.
        refutation: numbers on which they differ.
    """

    __repr__ = fitting_repr

    before: str
    after: str
    formats: str
    rounding: Rounding
    status: Status
    evaluated: int
    is_complete: bool
    solver: str = ""
    refutation: Refutation | None = None

    @property
    def how(self) -> str:
        """How it was decided, or what was tried."""
        count = f"{self.evaluated:,} inputs"
        tried = [f"all {count}" if self.is_complete else count] if self.evaluated else []
        return ", ".join([*tried, self.solver] if self.solver else tried) or "nothing"


@attrs.frozen(eq=False, repr=False)
class Proof:
    """Whether a rule keeps what programs give, for all numbers.

    Shapes are taken as equal: what holds for one number of each input holds for each element of a tensor. Where a rule
    also changes shapes, that is not looked at.

    Attributes:
        name: of the rule or pass.
        guarantee: what it is to keep.
        asked: the rounding modes.
        checks: one for each program that the rule fits and each mode.
        note: what else is to be known; "" for nothing.
    """

    name: str
    guarantee: NumericGuarantee
    asked: tuple[Rounding, ...]
    checks: tuple[Check, ...]
    note: str = ""

    @property
    def status(self) -> Status:
        """That of the first mode asked for: nearest-even, in which programs are evaluated, unless told otherwise."""
        return self.status_in(self.asked[0])

    def status_in(self, rounding: Rounding) -> Status:
        """Whether the rule is right in one mode."""
        return _worst([check.status for check in self.checks if check.rounding is rounding])

    @property
    def roundings(self) -> tuple[Rounding, ...]:
        """The modes in which it is proved."""
        return tuple(rounding for rounding in self.asked if self.status_in(rounding) == "proved")

    @property
    def instances(self) -> int:
        """How many programs it was applied to."""
        return sum(check.rounding is self.asked[0] for check in self.checks)

    @property
    def counterexample(self) -> Refutation | None:
        """The first, of the first mode that has one; None when nothing is refuted."""
        found = [check.refutation for r in self.asked for check in self.checks if check.rounding is r]
        return next((refutation for refutation in found if refutation is not None), None)

    @property
    def how(self) -> str:
        """How it was decided: the ways taken, each with the number of programs."""
        ways: dict[str, int] = {}
        for check in self.checks:
            if check.rounding is self.asked[0]:
                ways[check.how] = ways.get(check.how, 0) + 1
        return "; ".join(f"{way} ({_counted(n)})" for way, n in ways.items())

    @property
    def table(self) -> Table:
        """A row for each format, a column for each rounding mode."""
        formats = list(dict.fromkeys(check.formats for check in self.checks))
        rows: list[tuple[str, ...]] = []
        for name in formats:
            mine = [check for check in self.checks if check.formats == name]
            cells = [_worst([c.status for c in mine if c.rounding is r]) for r in self.asked]
            count = sum(c.rounding is self.asked[0] for c in mine)
            ways = dict.fromkeys(c.how for c in mine)
            rows.append((name, *cells, str(count), "; ".join(ways)))
        header = ("format", *(NAMES[r] for r in self.asked), "programs", "how")
        return Table(f"{self.name}: {self._verdict}", header, tuple(rows))

    @property
    def _verdict(self) -> str:
        others = [NAMES[r] for r in self.asked[1:] if self.status_in(r) != self.status]
        text = f"{self.status} ({self.guarantee.value})"
        return f"{text}; not so rounding {', '.join(others)}" if others else text

    def __str__(self) -> str:
        parts = [str(self.table), "shapes taken as equal"]
        if self.note:
            parts.append(self.note)
        found = self.counterexample
        return "\n".join([*parts, str(found)] if found is not None else parts)

    def __repr__(self) -> str:
        return f"<Proof of {self.name}: {self._verdict}, {_counted(self.instances)}>"

    def _repr_html_(self) -> str:
        found = self.counterexample
        note = f"<p>shapes taken as equal{'; ' if self.note else ''}{html.escape(self.note)}</p>"
        shown_ = "" if found is None else found._repr_html_()  # pyright: ignore[reportPrivateUsage]  # IPython's name
        return f"{self.table.to_html()}{note}{shown_}"


def _worst(statuses: Sequence[Status]) -> Status:
    return "refuted" if "refuted" in statuses else "undecided" if "undecided" in statuses else "proved"


def _counted(programs: int) -> str:
    return f"{programs} program{'s' if programs != 1 else ''}"
