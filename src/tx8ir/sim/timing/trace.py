"""A run as trace-event JSON (the format of chrome://tracing, which the Perfetto viewer opens).

A tile is a process, each of its engines a thread, and each execution of an instruction a complete event ("ph": "X"),
named by the instruction and the operation that it comes from, with its index, source, trips and what it waited for as
arguments. An arrow (flow events "s" and "f") leads from the end of the instruction that another waited for to the
start of that one, named by the cause. Times are in microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tx8ir.dialects.tx8 import Instruction
from tx8ir.target.chip import CYCLES_PER_SECOND, Target

from .clock import ENGINES, ROWS, Event

_CONTROL = len(ENGINES)
_SCALE = 1e6 / CYCLES_PER_SECOND


def write_trace(path: Path, events: Sequence[Event], target: Target) -> Path:
    """Write the trace of `events` to a file, and return its path."""
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in trace_events(events, target))
    path.write_text(f'{{"displayTimeUnit":"ns","traceEvents":[\n{lines}\n]}}\n', encoding="utf-8")
    return path


def trace_events(events: Sequence[Event], target: Target) -> Iterator[dict[str, Any]]:
    """The entries of the trace: names of processes and threads, then everything by its time."""
    for tile in range(target.tiles):
        x, y = target.tile_position(tile)
        yield {"ph": "M", "name": "process_name", "pid": tile, "tid": 0, "args": {"name": f"tile {tile} ({x}, {y})"}}
        yield {"ph": "M", "name": "process_sort_index", "pid": tile, "tid": 0, "args": {"sort_index": tile}}
        for row, name in enumerate((*(engine.value for engine in ENGINES), "control")):
            yield {"ph": "M", "name": "thread_name", "pid": tile, "tid": row, "args": {"name": name}}
            yield {"ph": "M", "name": "thread_sort_index", "pid": tile, "tid": row, "args": {"sort_index": row}}
    entries: list[dict[str, Any]] = []
    for flow, event in enumerate(events):
        entries += [_complete(event, tile) for tile in event.tiles]
        entries += _flow(event, flow)
    # Slices before the arrows that begin in them.
    yield from sorted(entries, key=lambda entry: (entry["ts"], entry["ph"] != "X"))


def _complete(event: Event, tile: int) -> dict[str, Any]:
    op = event.item.op
    args: dict[str, Any] = {"instruction": event.item.index, "issued": event.issued}
    if event.trips:
        args["trips"] = list(event.trips)
    if op.source is not None:
        args["source"] = op.source
    if event.cause:
        args["waited for"] = event.cause
    return {
        "ph": "X",
        "name": _name(op),
        "cat": "control" if event.item.engine is None else event.item.engine.value,
        "pid": tile,
        "tid": _row(event),
        "ts": event.start * _SCALE,
        "dur": (event.done - event.start) * _SCALE,
        "args": args,
    }


def _name(op: Instruction) -> str:
    """What the viewer writes on a slice: the instruction, and the operation that it comes from."""
    function: str = getattr(op, "function", "")
    label = f"{op.name.removeprefix('tx8.')} {function}".rstrip()
    return label if op.source is None else f"{label} | {op.source}"


def _flow(event: Event, flow: int) -> Iterator[dict[str, Any]]:
    """The arrow to an event from what it waited for, on each tile that ran both."""
    blocker = event.blocker
    if blocker is None or blocker.item.engine is None:  # a barrier is seen on its own track
        return
    common = set(blocker.tiles) & set(event.tiles)
    pairs = [(tile, tile) for tile in sorted(common)] or [(blocker.tiles[0], event.tiles[0])]
    for n, (source, destination) in enumerate(pairs):
        base = {"name": event.cause, "cat": "stall", "id": f"{flow}.{n}"}
        # An arrow must begin within the slice that it comes from, and not after it ends.
        start = min(max(blocker.start, blocker.done - 1), event.start) * _SCALE
        yield {**base, "ph": "s", "pid": source, "tid": _row(blocker), "ts": start}
        yield {**base, "ph": "f", "bp": "e", "pid": destination, "tid": _row(event), "ts": event.start * _SCALE}


def _row(event: Event) -> int:
    return _CONTROL if event.item.engine is None else ROWS[event.item.engine]
