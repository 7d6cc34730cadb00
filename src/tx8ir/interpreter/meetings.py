"""Several replicas of a program in lockstep: each runs until it waits for others, and goes on once they are there."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from tx8ir.core import Operation

from .arrays import EvaluationError
from .interfaces import Meet, RuntimeValue

T = TypeVar("T")

Running: TypeAlias = Generator[Meet, Sequence[RuntimeValue], T]
"""An evaluation that has started: it yields whom it waits for, and returns what it comes to."""


def together(runs: Sequence[Running[T]]) -> list[T]:
    """Run replicas to their ends; what each comes to, in order.

    Infinities and NaN are values here, as in IEEE 754.

    Raises:
        EvaluationError: a replica waits for another that has ended, or waits elsewhere; it carries the operation. Also
            what an evaluation raises.
    """
    ended: dict[int, T] = {}
    waiting: dict[int, Meet] = {}
    ready: deque[tuple[int, Sequence[RuntimeValue] | None]] = deque((number, None) for number in range(len(runs)))
    with np.errstate(all="ignore"):
        while ready:
            number, answer = ready.popleft()
            try:
                # A generator that has not run yet takes None.
                waiting[number] = runs[number].send(answer)  # pyright: ignore[reportArgumentType]
            except StopIteration as stop:
                ended[number] = stop.value
            if not ready:
                ready.extend(_met(waiting))
    if waiting:
        raise _stuck(waiting, len(runs))
    return [ended[number] for number in range(len(runs))]


def _met(waiting: dict[int, Meet]) -> list[tuple[int, Sequence[RuntimeValue]]]:
    """Replicas whose group is complete, with what that brings; they do not wait any more."""
    found: list[tuple[int, Sequence[RuntimeValue]]] = []
    for number in sorted(waiting):
        meet = waiting.get(number)
        if meet is None:
            continue
        others = [waiting.get(member) for member in meet.group]
        brought = [other.brings for other in others if other is not None and other.op is meet.op]
        if len(brought) == len(meet.group):
            for member in meet.group:
                del waiting[member]
                found.append((member, brought))
    return found


def _stuck(waiting: dict[int, Meet], count: int) -> EvaluationError:
    first = min(waiting)
    meet = waiting[first]
    missing = [member for member in meet.group if member not in waiting or waiting[member].op is not meet.op]
    where = "; ".join(f"replica {member} {_whereabouts(member, waiting, count)}" for member in missing)
    return EvaluationError(f"{meet.op.name}: replica {first} waits for replicas {list(meet.group)}: {where}", meet.op)


def _whereabouts(member: int, waiting: dict[int, Meet], count: int) -> str:
    if member in waiting:
        op: Operation = waiting[member].op
        return f"waits at {op.name}, {op.location}"
    return "has ended" if member < count else f"does not run; {count} {'runs' if count == 1 else 'run'}"
