"""Which instructions of a pass have run: what tells a fuzzer that a program got further than those before it.

The bytecode of the pass's own functions is followed instruction by instruction, so that both sides of every branch and
each part of a condition count, and so do the steps of the matcher that a declarative rule is compiled to. The events
are counted as well: a pass that takes too many does not end. That bound depends on no clock.
"""

from __future__ import annotations

import dis
import sys
import zlib
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from types import CodeType, FrameType
from typing import Any, TypeAlias

import attrs

from tx8ir.core.location import source_file

Point: TypeAlias = int
"""An instruction: of the qualified name of its function, the function's first line, and the place in its bytecode. The
same in every process."""

MAX_EVENTS = 3_000_000
"""A pass that takes more calls, and instructions of its own, on a small program does not end."""


class TooManySteps(BaseException):
    """A pass has taken more steps than it may. Not an `Exception`, so that no pass swallows it."""


@attrs.define
class Tracer:
    """Follows the functions of some files.

    Attributes:
        files: the `co_filename`s of the code that is followed.
        max_events: how many events a run may have.
        reached: the instructions that have run so far.
        newest: those of them that the last run reached first.
    """

    files: frozenset[str]
    max_events: int = MAX_EVENTS
    reached: set[Point] = attrs.field(factory=set[Point])
    newest: frozenset[Point] = frozenset()

    def run(self, action: Callable[[], object]) -> None:
        """Runs the action in this thread. Raises TooManySteps, and what the action raises."""
        seen: set[tuple[CodeType, int]] = set()
        add, files, left = seen.add, self.files, self.max_events

        def local(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal left
            if event == "opcode":
                add((frame.f_code, frame.f_lasti))
                left -= 1
                if left < 0:
                    raise TooManySteps
            return local

        def enter(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise TooManySteps
            if frame.f_code.co_filename in files:
                frame.f_trace_lines = False
                frame.f_trace_opcodes = True
                return local
            return None

        before = sys.gettrace()
        sys.settrace(enter)
        try:
            action()
        finally:
            sys.settrace(before)
            self.newest = frozenset(_points(seen) - self.reached)
            self.reached |= self.newest


def _points(seen: Iterable[tuple[CodeType, int]]) -> set[Point]:
    bases: dict[CodeType, int] = {}
    points: set[Point] = set()
    for code, place in seen:
        base = bases.get(code)
        if base is None:
            base = bases[code] = (
                zlib.crc32(f"{code.co_qualname}:{code.co_firstlineno}:{code.co_filename}".encode()) << 20
            )
        points.add(base + place)
    return points


def all_codes(codes: Iterable[CodeType]) -> tuple[CodeType, ...]:
    """The code objects, with those of all functions inside them, each once."""
    found: dict[CodeType, None] = {}
    work = list(codes)
    while work:
        code = work.pop()
        if code not in found:
            found[code] = None
            work += [part for part in code.co_consts if isinstance(part, CodeType)]
    return tuple(found)


def count_reached(codes: Iterable[CodeType], reached: AbstractSet[Point]) -> tuple[int, int]:
    """How many of their instructions have run, and how many there are."""
    ran, count = 0, 0
    for code in codes:
        places = [i.offset for i in dis.get_instructions(code) if i.opname not in _SILENT]
        points = _points((code, place) for place in places)
        count += len(points)
        ran += len(points & reached)
    return ran, count


_SILENT = frozenset({"CACHE", "PRECALL", "RESUME", "COPY_FREE_VARS", "MAKE_CELL", "RETURN_GENERATOR", "EXTENDED_ARG"})
"""Instructions that are not a step of a function's own."""


def never_run(codes: Iterable[CodeType], reached: AbstractSet[Point]) -> dict[str, tuple[int, ...]]:
    """The lines of which nothing has run, by file; of functions only that have run at all."""
    found: dict[str, set[int]] = {}
    for code in codes:
        if code.co_filename.startswith("<"):
            continue
        ran: set[int] = set()
        lines: set[int] = set()
        for start, end, line in code.co_lines():
            if line is None or line == code.co_firstlineno:
                continue
            lines.add(line)
            if not reached.isdisjoint(_points((code, place) for place in range(start, end, 2))):
                ran.add(line)
        if ran:
            found.setdefault(source_file(code), set()).update(lines - ran)
    return {file: tuple(sorted(lines)) for file, lines in found.items()}
