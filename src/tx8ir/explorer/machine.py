"""The run of a compiled program, from the simulator's clock: instructions, executions, memory, roofline."""

from __future__ import annotations

from collections.abc import Callable

from tx8ir.core import Operation, Program
from tx8ir.dialects import tx8
from tx8ir.sim import SimReport
from tx8ir.sim.timing.clock import STALLS
from tx8ir.sim.timing.program import Item
from tx8ir.sim.timing.report import operations_of
from tx8ir.target.chip import CYCLES_PER_SECOND, Target

from .model import Events, Instruction, Machine, Roof, Run, Segment, Span, Term
from .recorder import Table

_CAUSES = ("", *STALLS)


def read_machine(target: Target) -> Machine:
    """The target as the explorer draws it."""
    low, high = target.spm_allocatable
    return Machine(target.name, target.tiles, target.grid[1], low, high, target.spm_bytes)


def read_run(
    program: Program,
    report: SimReport,
    number: Callable[[Operation], int],
    sources: Callable[[Operation], tuple[int, ...]],
) -> Run:
    """What `report` says of the instruction program `program`.

    Args:
        program: the compiled program.
        report: its time.
        number: the number of an operation in the texts.
        sources: the source operations that one stands for.
    """
    tile_sets = Table()
    instructions = tuple(_instruction(item, tile_sets, number, sources) for item in report.items)
    events, trips, critical = _events(report, tile_sets)
    roofline = report.roofline
    return Run(
        cycles=report.cycles,
        cycles_per_second=CYCLES_PER_SECOND,
        engines=tuple(report.engines),
        causes=_CAUSES,
        tile_sets=tile_sets.things,
        trips=trips,
        instructions=instructions,
        events=events,
        critical=critical,
        stalls={
            cause: {engine: int(row.sum()) for engine, row in zip(report.engines, rows, strict=True) if row.any()}
            for cause, rows in zip(STALLS, report.stalls, strict=True)
            if rows.any()
        },
        segments=tuple(
            Segment(op.segment_name, op.kind, op.address, op.size)
            for op in program.module.walk()
            if isinstance(op, tx8.SegmentOp)
        ),
        roof=Roof(
            roofline.peak,
            report.target.profile.ddr_bytes_per_cycle * CYCLES_PER_SECOND,
            roofline.operations,
            roofline.ddr_bytes,
            roofline.attained,
        ),
        complete=report.has_events,
    )


def _instruction(
    item: Item, tile_sets: Table, number: Callable[[Operation], int], sources: Callable[[Operation], tuple[int, ...]]
) -> Instruction:
    op = item.op
    origin = op.origin
    function: str = getattr(op, "function", "")
    spans = tuple(
        Span(
            span.writes,
            span.in_ddr,
            span.lows,
            span.extent,
            tuple(Term(term.level, term.stride, term.modulo, term.phase) for term in span.terms),
        )
        for span in item.spans
    )
    return Instruction(
        name=f"{op.name.removeprefix('tx8.')} {function}".rstrip(),
        engine="" if item.engine is None else item.engine.value,
        tiles=tile_sets(item.tiles),
        group=-1 if origin is None else origin.group,
        source=op.source or "",
        op=number(op),
        sources=sources(op),
        times=item.times,
        operations=operations_of(op),
        moved=item.ddr_bytes * len(item.tiles) * item.times,
        spans=spans,
    )


def _events(report: SimReport, tile_sets: Table) -> tuple[Events, tuple[tuple[int, ...], ...], tuple[int, ...]]:
    if not report.has_events:
        return Events((), (), (), (), (), (), (), ()), (), ()
    trips = Table()
    cause_numbers = {cause: i for i, cause in enumerate(_CAUSES)}
    ordered = sorted(report.events, key=lambda event: (event.start, event.item.index))
    place = {id(event): i for i, event in enumerate(ordered)}
    events = Events(
        instruction=tuple(event.item.index for event in ordered),
        start=tuple(int(event.start) for event in ordered),
        end=tuple(int(event.done) for event in ordered),
        issued=tuple(int(event.issued) for event in ordered),
        tiles=tuple(tile_sets(event.tiles) for event in ordered),
        cause=tuple(cause_numbers[event.cause] for event in ordered),
        blocker=tuple(-1 if event.blocker is None else place.get(id(event.blocker), -1) for event in ordered),
        trips=tuple(trips(event.trips) for event in ordered),
    )
    return events, trips.things, tuple(place[id(event)] for event in report.critical_events)
