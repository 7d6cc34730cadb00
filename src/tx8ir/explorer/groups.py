"""What the compiler decided about groups: all that the explorer knows of the searches.

The decisions are read from the backend graph. What was tried besides them is read from what the searches remember while
their passes run (`Solutions`). Both are words and text, so that another search changes this module
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping

import attrs

from tx8ir.backend.graph import CompileError, region_tiles, schedule_of
from tx8ir.backend.nest.problem import problem_key
from tx8ir.backend.nest.schedule_groups import ScheduleGroups
from tx8ir.backend.nest.solutions import Solutions
from tx8ir.core import Operation, Program
from tx8ir.dialects import tx8, tx8be
from tx8ir.passes import PassRun
from tx8ir.sim import SimReport
from tx8ir.target.chip import Target

from .model import Candidate, Group

_NO_WORK = (tx8be.LoadVarOp, tx8be.LoadConstOp, tx8be.StoreVarOp, tx8be.ReturnOp, tx8be.NoneOp, tx8be.ScheduleOp)
_TAGS = {0: "searched", 1: "split over N, H and T", 2: "an alias in DDR, no code"}


@attrs.frozen
class Tried:
    """What the searches tried for a group: the cheapest candidates, and how many were priced."""

    candidates: tuple[Candidate, ...] = ()
    priced: int = 0


class Searches:
    """What the searches tried, by the number of the group; told of each pass before and after it ran."""

    def __init__(self) -> None:
        self.tried: dict[int, Tried] = {}
        self._problems: list[tuple[tx8be.GroupOp, Hashable]] = []

    def before_pass(self, run: PassRun) -> None:
        """Notes the problems of the groups as the search will see them."""
        if run.stage.name == ScheduleGroups.name:
            self._problems = [(group, problem_key(group)) for group in _groups(run.program)]

    def after_pass(self, run: PassRun) -> None:
        """Reads what was found for them."""
        if run.stage.name != ScheduleGroups.name:
            return
        solutions = run.stage.analyses.get(Solutions, run.program)
        for group, problem in self._problems:
            solution = solutions.known(problem, group)
            if solution is not None:
                found = tuple(Candidate(one.description, one.cycles, one.is_chosen) for one in solution.tried)
                self.tried[group.group_id] = Tried(found, solution.priced)


def _groups(program: Program) -> list[tx8be.GroupOp]:
    return [op for op in program.module.walk() if isinstance(op, tx8be.GroupOp) and op.group_id >= 0]


def read_groups(
    program: Program,
    number: Callable[[Operation], int],
    sources: Callable[[Operation], tuple[int, ...]],
    tried: Mapping[int, Tried],
) -> tuple[Group, ...]:
    """The groups of a backend graph, in order; none before there are any.

    Args:
        program: at any stage.
        number: the number of an operation in the texts.
        sources: the source operations that one stands for.
        tried: what the searches have tried for groups so far.
    """
    target = tx8.target_of(program)
    return tuple(_group(op, target, number(op), sources, tried.get(op.group_id, Tried())) for op in _groups(program))


def with_times(groups: tuple[Group, ...], report: SimReport) -> tuple[Group, ...]:
    """The groups with what each took in a run, beside its bound."""
    times = {time.group: time for time in report.groups}
    found: list[Group] = []
    for group in groups:
        time = times.get(f"group {group.id}")
        if time is not None:
            text = f"{time.cycles:,} cycles, {time.ratio:.2f} × the bound ({time.tight})"
            group = attrs.evolve(group, facts={"time": text, **group.facts})
        found.append(group)
    return tuple(found)


def _group(
    group: tx8be.GroupOp, target: Target, number: int, sources: Callable[[Operation], tuple[int, ...]], tried: Tried
) -> Group:
    body = list(group.body.block)
    work = [op for op in body if not isinstance(op, _NO_WORK)]
    stands_for = dict.fromkeys(n for op in (group, *body) for n in sources(op))
    return Group(
        id=group.group_id,
        op=number,
        ops=tuple(op.name.removeprefix("tx8be.") for op in work),
        sources=tuple(sorted(stands_for)),
        facts={name: text for name, text in _facts(group, body, tried) if text},
        spm_bytes=group.spm_alloc_size or 0,
        tiles=_tiles(group, target),
        template=group.template_id,
        candidates=tried.candidates,
        priced=tried.priced,
    )


def _tiles(group: tx8be.GroupOp, target: Target) -> int:
    try:
        return len(region_tiles(group, target))
    except CompileError:
        return 0  # before `group-mapping`


def _facts(group: tx8be.GroupOp, body: list[Operation], tried: Tried) -> Iterator[tuple[str, str]]:
    yield "kind", _TAGS.get(group.group_tag or 0, "")
    schedule = schedule_of(group)
    if schedule is not None:
        chosen = next((c.description for c in tried.candidates if c.chosen), "")
        yield "strategy", chosen or _strategy(schedule.strategy)
    for store in body:
        if isinstance(store, tx8be.StoreVarOp):
            parallel, info = store.tile_parallel, store.dev_info
            if parallel is not None and parallel.sharding_is_given:
                yield "sharding given", _times(parallel.shape_spatial_sharding)
            if info is not None:
                yield "stored as", info.mem_layout
            yield "result", str(store.y.type)
    if group.dev_region is not None:
        yield "region", f"{group.dev_region.dx} × {group.dev_region.dy} tiles"
    yield "barrier after it", "yes" if group.need_barrier else "no"
    if group.layer is not None:
        yield "layer", str(group.layer)


def _strategy(strategy: tx8be.StrategyAttr) -> str:
    """Its cuts in words."""
    cuts = {"x": strategy.x, "y": strategy.y, "loops": strategy.time}
    return "; ".join(f"{where}: {', '.join(found).replace('=', '/')}" for where, found in cuts.items() if found)


def _times(extents: tuple[int, ...]) -> str:
    return " × ".join(map(str, extents))
