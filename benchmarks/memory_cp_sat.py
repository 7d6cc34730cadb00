"""Memory planning by OR-Tools' CP-SAT (extra `solver`): the optimum, found by other means than ours."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
from ortools.sat.python import cp_model

from tx8ir.backend.memory import Buffer


@attrs.frozen
class Answer:
    """The least peak that was found, a lower bound of it, and wall time in seconds."""

    peak: int
    bound: int
    seconds: float


def solve(buffers: Sequence[Buffer], *, seconds: float, workers: int = 1) -> Answer:
    """Plans buffers as rectangles of time and offsets that do not overlap, in units of their common divisor.

    Raises RuntimeError when nothing is found in time.
    """
    unit = math.gcd(*(b.size for b in buffers), *(b.alignment for b in buffers))
    total = sum(-(-b.size // b.alignment) * b.alignment for b in buffers) // unit
    model = cp_model.CpModel()
    peak = model.new_int_var(0, total, "peak")
    times: list[cp_model.IntervalVar] = []
    places: list[cp_model.IntervalVar] = []
    for b in buffers:
        step = model.new_int_var(0, total * unit // b.alignment, "")
        offset = step * (b.alignment // unit)
        times.append(model.new_fixed_size_interval_var(b.lower, b.upper - b.lower, ""))
        places.append(model.new_fixed_size_interval_var(offset, b.size // unit, ""))
        model.add(offset + b.size // unit <= peak)
    model.add_no_overlap_2d(times, places)
    model.add_cumulative(times, [b.size // unit for b in buffers], peak)
    model.minimize(peak)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = workers
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise RuntimeError(f"CP-SAT: {solver.status_name(status)}")
    return Answer(round(solver.objective_value) * unit, math.ceil(solver.best_objective_bound) * unit, solver.wall_time)
