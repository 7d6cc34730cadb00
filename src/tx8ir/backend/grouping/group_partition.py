"""`group-partition`: groups merged by patterns, or so that the program takes the fewest cycles."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import attrs

from tx8ir.backend.grouping.group_costs import GroupCosts
from tx8ir.backend.grouping.partition import cheapest_partition
from tx8ir.backend.grouping.patterns import DEFAULT_PATTERNS, Trie, matched_parts, read_patterns
from tx8ir.backend.grouping.units import Units
from tx8ir.backend.nest.solutions import Solutions
from tx8ir.core import Program
from tx8ir.passes import Pass, option, register_pass

__all__ = ["GroupPartition"]

OPTIMAL, PATTERNS = "optimal", "patterns"


@register_pass
@attrs.frozen
class GroupPartition(Pass):
    """Merges groups, so that what one stores and another one loads stays in SPM.

    `by=optimal`: of all ways to part the groups into connected ones of at most `most_units`, which may store any number
    of values, the one that takes the fewest cycles (`backend.grouping.partition`). Cycles are those of the strategy
    that `schedule-groups` finds, and a barrier; bounds and estimates say which groups are not worth a search. Where
    groups by patterns take fewer, these are taken; the statistics have the cycles of both, and of the ops apart.

    `by=patterns`: runs of ops that match a pattern (`backend.grouping.patterns`) of a `file`. A match is
    none where the ops take fewer cycles one after the other.

    An alias, such as a reshape that keeps the bytes, ends no group; a group that only changes a layout is part of one
    next to it.

    Assumes: `group-load-store` and `group-mapping` ran; all groups become loop nests. Cost: an estimate for each
    distinct group that may be of use, a search for the few whose estimates are not beaten.
    Raises `PatternError` at a line of the file that is no pattern.
    """

    name: ClassVar[str] = "group-partition"
    preserves: ClassVar[frozenset[type[Any]]] = frozenset({Solutions})
    by: str = option(
        OPTIMAL, "what groups are made by: optimal, patterns", validator=attrs.validators.in_((OPTIMAL, PATTERNS))
    )
    file: str = option("", "the path of a file with patterns; none is the file of the package")
    most_units: int = option(6, "groups that are made one, at most")

    def run(self, program: Program) -> None:
        patterns = Trie(read_patterns(Path(self.file) if self.file else DEFAULT_PATTERNS))
        units = Units.of(program)
        costs = GroupCosts(units, self.analyses.get(Solutions, program))
        parts = matched_parts(units, patterns, costs)
        if self.by == OPTIMAL:
            by_patterns = sum(map(costs.exact, parts))
            alone = costs.alone()
            cheapest = cheapest_partition(units.graph, costs, self.most_units)
            cycles = sum(map(costs.exact, cheapest))
            if cycles <= by_patterns:
                parts = cheapest
            self.count("cycles apart", round(alone))
            self.count("cycles by patterns", round(by_patterns))
            self.count("cycles", round(min(cycles, by_patterns)))
        self.count("estimated", costs.estimated)
        self.count("searched", costs.searched)
        self.count("merged", units.merge(program, parts, self.name))
