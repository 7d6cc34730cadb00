"""Where an operation comes from: a Python line, a line of text, a name, or several of these fused by a pass."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from types import CodeType
from typing import Any, Final

from tx8ir.support.screen import fitted


def quote(text: str) -> str:
    """`text` as a string literal of the text format: quotes, backslashes and control characters escaped."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    out: list[str] = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif char == "\n":
            out.append("\\n")
        elif char == "\t":
            out.append("\\t")
        elif char.isprintable():
            out.append(char)
        else:
            out.extend(f"\\{byte:02X}" for byte in char.encode("utf-8"))
    return '"' + "".join(out) + '"'


class Location:
    """Base of all locations. `str(location)` is its text form; two locations are equal when their texts are."""

    __slots__ = ()

    @property
    def is_known(self) -> bool:
        return True

    @property
    def name(self) -> str | None:
        """The name that a front end gave to the operation, or None."""
        return None

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Location) and str(self) == str(other))

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return fitted(f"{type(self).__name__}({self})")


class UnknownLocation(Location):
    """No location. `UNKNOWN` is its only instance."""

    __slots__ = ()

    @property
    def is_known(self) -> bool:
        return False

    def __str__(self) -> str:
        return "loc(unknown)"


UNKNOWN = UnknownLocation()


class FileLocation(Location):
    """A place in a file; line and column count from 1."""

    __slots__ = ("column", "file", "line")

    def __init__(self, file: str, line: int, column: int) -> None:
        self.file = file
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return f"loc({quote(self.file)}:{self.line}:{self.column})"


class FileRangeLocation(FileLocation):
    """A range in a file, from `line` and `column` up to `end_line` and `end_column`, all from 1."""

    __slots__ = ("end_column", "end_line")

    def __init__(self, file: str, line: int, column: int, end_line: int, end_column: int) -> None:
        super().__init__(file, line, column)
        self.end_line = end_line
        self.end_column = end_column

    def __str__(self) -> str:
        end = f":{self.end_column}" if self.end_line == self.line else f"{self.end_line}:{self.end_column}"
        return f"loc({quote(self.file)}:{self.line}:{self.column} to {end})"


class PythonLocation(Location):
    """The Python instruction that built an operation: a code object and a byte offset, decoded only when asked for."""

    __slots__ = ("code", "offset")

    def __init__(self, code: CodeType, offset: int) -> None:
        self.code = code
        self.offset = offset

    @property
    def file(self) -> str:
        return source_file(self.code)

    def _position(self) -> tuple[int, int]:
        for index, (line, _, column, _) in enumerate(self.code.co_positions()):
            if index == self.offset // 2:
                return line or self.code.co_firstlineno, (column or 0) + 1
        return self.code.co_firstlineno, 1

    @property
    def line(self) -> int:
        return self._position()[0]

    @property
    def column(self) -> int:
        return self._position()[1]

    def __str__(self) -> str:
        line, column = self._position()
        return f"loc({quote(self.file)}:{line}:{column})"


class NamedLocation(Location):
    """A name (of an ONNX node, of a value in a text) and the place it belongs to."""

    __slots__ = ("_name", "child")

    def __init__(self, name: str, child: Location = UNKNOWN) -> None:
        self._name = name
        self.child = child

    @property
    def name(self) -> str:
        return self._name

    def __str__(self) -> str:
        child = f"({str(self.child)[4:-1]})" if self.child.is_known else ""
        return f"loc({quote(self._name)}{child})"


def unnamed(location: Location) -> Location:
    """The place that a name belongs to; a location without a name is that place itself."""
    return location.child if isinstance(location, NamedLocation) else location


class CallSiteLocation(Location):
    """A place in a function, and the place that calls the function, as after inlining: `callsite(callee at caller)`."""

    __slots__ = ("callee", "caller")

    def __init__(self, callee: Location, caller: Location) -> None:
        self.callee = callee
        self.caller = caller

    @property
    def name(self) -> str | None:
        return self.callee.name

    def __str__(self) -> str:
        callees: list[str] = []
        at: Location = self
        while isinstance(at, CallSiteLocation):  # a call stack may be deep
            callees.append(f"callsite({str(at.callee)[4:-1]} at ")
            at = at.caller
        return f"loc({''.join(callees)}{str(at)[4:-1]}{')' * len(callees)})"


class FusedLocation(Location):
    """The places of all operations that one operation stands for, and the pass that made it of them.

    Args:
        locations: the parts.
        by: the pass.
        metadata: the text of an attribute that another tool has in place of the name of a pass.
    """

    __slots__ = ("by", "locations", "metadata")

    def __init__(self, locations: tuple[Location, ...], by: str = "", metadata: str = "") -> None:
        self.locations = locations
        self.by = by
        self.metadata = metadata

    @property
    def name(self) -> str | None:
        return next((loc.name for loc in self.locations if loc.name is not None), None)

    def __str__(self) -> str:
        by = f"<{quote(self.by) if self.by else self.metadata}>" if self.by or self.metadata else ""
        return f"loc(fused{by}[{', '.join(str(loc)[4:-1] for loc in self.locations)}])"


def fuse(locations: Iterable[Location], by: str = "") -> Location:
    """One location for an operation made of several: known parts, each once, fusions flattened; O(total parts)."""
    parts: dict[Location, None] = {}
    for location in locations:
        for part in location.locations if isinstance(location, FusedLocation) else (location,):
            if part.is_known:
                parts[part] = None
    if not parts:
        return UNKNOWN
    if len(parts) == 1 and not by:
        return next(iter(parts))
    return FusedLocation(tuple(parts), by)


def source_file(code: CodeType) -> str:
    """The file of a code object; of a cell in a notebook what IPython's tracebacks call it, `In[3]`."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    cell = None if shell is None else shell.compile.format_code_name(code.co_filename)
    return code.co_filename if cell is None else cell[1]


# One object per call site. Keyed by id because hashing a code object hashes its constants; the location keeps the
# code object alive, so an id is never reused.
SITES: Final[dict[tuple[int, int], PythonLocation]] = {}


def python_location(code: CodeType, offset: int) -> PythonLocation:
    """The interned location of a call site (`frame.f_code`, `frame.f_lasti`)."""
    key = (id(code), offset)
    location = SITES.get(key)
    if location is None:
        location = SITES[key] = PythonLocation(code, offset)
    return location


def caller_location(depth: int = 1) -> Location:
    """The location for what a function that builds operations makes: the one given by `at_location`, else the Python
    line that called that function, or the one `depth` calls before this.
    """
    if THREAD.build.location is not None:
        return THREAD.build.location
    frame = sys._getframe(depth + 1)  # pyright: ignore[reportPrivateUsage]
    return python_location(frame.f_code, frame.f_lasti)


class BuildState:
    """What a constructor looks up: the location given by `at_location`, and the active insertion point."""

    __slots__ = ("insertion_point", "location")

    def __init__(self) -> None:
        self.location: Location | None = None
        self.insertion_point: object = None


class _Thread(threading.local):
    """What each thread has of its own; reading it costs as much as a call, so it is one object."""

    def __init__(self) -> None:
        self.build = BuildState()


THREAD: Final = _Thread()


@contextmanager
def at_location(location: Location) -> Generator[None]:
    """Give every operation constructed inside the `with` (in this thread) `location` instead of its Python line."""
    state = THREAD.build
    previous, state.location = state.location, location
    try:
        yield
    finally:
        state.location = previous
