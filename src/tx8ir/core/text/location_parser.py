"""Reading locations and the aliases of locations, which may be defined anywhere in a text."""

from __future__ import annotations

import re
from typing import Final

from tx8ir.core.attrs.attributes import StrAttr
from tx8ir.core.attrs.lexer import INTEGER, TextLocation
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


class LocationParser(TypeParser):
    """Reads locations."""

    _definitions: dict[str, int] | None = None
    """Where the locations that have a name are defined in the text."""
    _named: dict[str, Location] | None = None

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
            return self._alias()
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

    def _alias(self) -> Location:
        at = self.pos
        name = self.require(ALIAS, "the name of a location")
        if self._named is None or self._definitions is None:
            self._named = {}
            self._definitions = {m.group(1): m.end() for m in _ALIAS_DEFINITION.finditer(self.text)}
        found = self._named.get(name)
        if found is None:
            definition = self._definitions.get(name)
            if definition is None:
                self.fail(f"no location is called '#{name}'", at)
            back, self.pos = self.pos, definition
            found = self._named[name] = self._nested(self.location)
            self.pos = back
        return found

    def here(self, offset: int) -> Location:
        """The location of an offset in the text."""
        return TextLocation(self.source, offset)
