"""Reading locations and the aliases of locations, which may be defined anywhere in a text."""

from __future__ import annotations

import re
from typing import Final

from tx8ir.core.attrs.attributes import StrAttr
from tx8ir.core.attrs.lexer import INTEGER, Source, TextLocation
from tx8ir.core.context import IrContext
from tx8ir.core.location import (
    UNKNOWN,
    CallSiteLocation,
    FileLocation,
    FileRangeLocation,
    FusedLocation,
    Location,
    NamedLocation,
)

from .type_parser import TypeParser

_ALIAS_DEFINITION: Final = re.compile(r"^#([A-Za-z_][A-Za-z0-9_$.]*|[0-9]+)[ \t]*=[ \t]*(?=loc\b)", re.MULTILINE)
ALIAS: Final = re.compile(r"#([A-Za-z_][A-Za-z0-9_$.-]*|[0-9]+)")


class _Undefined(Exception):
    """A location names another that is to be read first."""

    def __init__(self, name: str, at: int) -> None:
        self.name = name
        self.at = at


class LocationParser(TypeParser):
    """Reads locations."""

    _definitions: dict[str, int] | None = None
    """Where the locations that have a name are defined in the text."""
    _defining = False
    """Whether the location that is being read is one of these."""

    def __init__(self, source: Source, context: IrContext, allow_unregistered: bool) -> None:
        super().__init__(source, context, allow_unregistered)
        self._named: dict[str, Location] = {}

    def location(self) -> Location:
        """Read `loc(…)`."""
        self.expect("loc")
        return self.location_after_keyword()

    def location_after_keyword(self) -> Location:
        """Read what follows `loc`."""
        self.expect("(", "after 'loc'")
        location = self._nested(self._location)
        self.expect(")", "after a location")
        return location

    def _location(self) -> Location:
        char = self.peek()
        if char == "#":
            return self.location_called()
        if self.accept("unknown"):
            return UNKNOWN
        if self.accept("callsite"):
            self.expect("(", "after 'callsite'")
            callee = self._nested(self._location)
            self.expect("at", "between callee and caller")
            caller = self._nested(self._location)
            self.expect(")", "after the caller")
            return CallSiteLocation(callee, caller)
        if self.accept("fused"):
            return self._fused()
        if self.accept("loc"):  # as another tool writes a part
            return self._nested(self.location_after_keyword)
        if char != '"':
            self.fail(f"expected a location: a file, a name, callsite, fused or unknown; found {self._found()}")
        text = self.string()
        if self.accept(":"):
            return self._file(text)
        if self.accept("("):
            child = self._nested(self._location)
            self.expect(")", "after a location")
            return NamedLocation(text, child)
        return NamedLocation(text)

    def _fused(self) -> Location:
        by = metadata = ""
        if self.accept("<"):
            found = self.attribute()
            self.expect(">", "after the metadata of a location")
            if isinstance(found, StrAttr) and found.value:
                by = found.value
            else:
                metadata = str(found)
        self.expect("[", "after 'fused'")
        parts: list[Location] = []
        while not self.accept("]"):
            if parts:
                self.expect(",", "between locations")
            parts.append(self._nested(self._location))
        return FusedLocation(tuple(parts), by, metadata)

    def _file(self, file: str) -> Location:
        line = self._position("a line number")
        self.expect(":", "after the line of a location")
        column = self._position("a column number")
        if not self.accept("to"):
            return FileLocation(file, line, column)
        end_line = line if self.peek() == ":" else self._position("the last line or ':'")
        self.expect(":", "before the last column")
        return FileRangeLocation(file, line, column, end_line, self._position("the last column"))

    def _position(self, what: str) -> int:
        at = self.pos
        return self.read_int(self.require(INTEGER, what), at)

    def read_int(self, literal: str, start: int) -> int:
        """The number that a literal stands for."""
        if len(literal) > 400:
            self.fail("this number is too long", start)
        return int(literal)

    def is_location(self, name: str) -> bool:
        """Whether a location of the text is called `name`."""
        if self._definitions is None:
            self._definitions = {m.group(1): m.end() for m in _ALIAS_DEFINITION.finditer(self.text)}
        return name in self._definitions

    def location_called(self) -> Location:
        """Read `#name`: the location of that name, wherever in the text it is defined."""
        at = self.pos
        name = self.require(ALIAS, "the name of a location")
        found = self._named.get(name)
        if found is None:
            if not self.is_location(name):
                self.fail(f"no location is called '#{name}'", at)
            if self._defining:
                raise _Undefined(name, at)
            found = self._define_location(name)
        return found

    def _define_location(self, name: str) -> Location:
        """The location called `name`. Those that it names are read before it, so that a chain may be of any length."""
        back, self._defining = self.pos, True
        definitions = self._definitions or {}
        work = {name: None}
        try:
            while work:
                last = next(reversed(work))
                self.pos = definitions[last]
                try:
                    self._named[last] = self.location()
                    del work[last]
                except _Undefined as needed:
                    if needed.name in work:
                        self.fail(f"the location '#{needed.name}' is a part of itself", needed.at)
                    work[needed.name] = None
        finally:
            self.pos, self._defining = back, False
        return self._named[name]

    def here(self, offset: int) -> Location:
        """The location of an offset in the text."""
        return TextLocation(self.source, offset)
