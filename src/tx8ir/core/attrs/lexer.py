"""Reading characters: white space, tokens, strings and numbers of the text format, and where an error is."""

from __future__ import annotations

import re
from typing import Final, NoReturn

from tx8ir.core.errors import ParseError
from tx8ir.core.location import FileLocation, Location

SPACE: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*)*")
IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$.-]*")
VALUE_NAME: Final = re.compile(r"%([A-Za-z0-9_$.-]+)")
BLOCK_NAME: Final = re.compile(r"\^([A-Za-z0-9_$.-]+)")
SYMBOL: Final = re.compile(r"@([A-Za-z_][A-Za-z0-9_$.-]*)")
INTEGER: Final = re.compile(r"-?[0-9]+(?![0-9.xX])")
FLOAT: Final = re.compile(r"[-+]?[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?")
HEX: Final = re.compile(r"0[xX][0-9A-Fa-f]+")
STRING_BODY: Final = re.compile(r'[^"\\\n]*')
_ESCAPES: Final = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}
_HEX_PAIR: Final = re.compile(r"[0-9A-Fa-f]{2}")
_MARK: Final = re.compile(r'->|[<>()\[\]{}"]')
_CLOSES: Final = {"<": ">", "(": ")", "[": "]", "{": "}"}


class Source:
    """A text and the name of the file it came from; makes locations from offsets."""

    __slots__ = ("file", "text")

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, from 1; O(offset)."""
        line = self.text.count("\n", 0, offset) + 1
        return line, offset - (self.text.rfind("\n", 0, offset) + 1) + 1


class TextLocation(Location):
    """A place in a parsed text; line and column are counted only when asked for."""

    __slots__ = ("offset", "source")

    def __init__(self, source: Source, offset: int) -> None:
        self.source = source
        self.offset = offset

    def resolve(self) -> FileLocation:
        return FileLocation(self.source.file, *self.source.position(self.offset))

    @property
    def file(self) -> str:
        return self.source.file

    @property
    def line(self) -> int:
        return self.source.position(self.offset)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.offset)[1]

    def __str__(self) -> str:
        return str(self.resolve())


class Lexer:
    """A position in a text, and the smallest things that can be read there."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.pos: int = 0

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raise ParseError at offset `at`, by default where reading stands after white space."""
        if at is None:
            self.skip_space()
            at = self.pos
        line, column = self.source.position(at)
        start = self.text.rfind("\n", 0, at) + 1
        end = self.text.find("\n", at)
        shown = self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")
        raise ParseError(message, self.source.file, line, column, shown)

    def skip_space(self) -> None:
        match = SPACE.match(self.text, self.pos)
        if match is not None:
            self.pos = match.end()

    def peek(self) -> str:
        """The next character that is not white space, or the empty string at the end."""
        self.skip_space()
        return self.text[self.pos : self.pos + 1]

    def accept(self, token: str) -> bool:
        """Read `token` if it comes next. A word must not go on."""
        self.skip_space()
        end = self.pos + len(token)
        if not self.text.startswith(token, self.pos):
            return False
        if token[-1].isalnum() and end < len(self.text) and (self.text[end].isalnum() or self.text[end] in "_$."):
            return False
        self.pos = end
        return True

    def expect(self, token: str, after: str = "") -> None:
        """Read `token`, or fail saying that it was expected (after what)."""
        if not self.accept(token):
            self.fail(f"expected '{token}'{' ' + after if after else ''}, found {self._found()}")

    def _found(self) -> str:
        self.skip_space()
        if self.pos >= len(self.text):
            return "the end of the text"
        match = KEY.match(self.text, self.pos) or VALUE_NAME.match(self.text, self.pos)
        return repr(match.group() if match is not None else self.text[self.pos])

    def match(self, pattern: re.Pattern[str]) -> str | None:
        """Read what `pattern` matches next (its first group if it has one); None when it does not match."""
        self.skip_space()
        found = pattern.match(self.text, self.pos)
        if found is None:
            return None
        self.pos = found.end()
        return found.group(pattern.groups and 1)

    def require(self, pattern: re.Pattern[str], what: str) -> str:
        """Read what `pattern` matches, or fail saying that `what` was expected."""
        found = self.match(pattern)
        if found is None:
            self.fail(f"expected {what}, found {self._found()}")
        return found

    def name_here(self, what: str) -> str:
        """Read an identifier that starts right here, without white space before it, or fail saying it was expected."""
        found = IDENTIFIER.match(self.text, self.pos)
        if found is None:
            self.fail(f"expected {what}", self.pos)
        self.pos = found.end()
        return found.group()

    def string(self) -> str:
        """Read a string literal."""
        self.skip_space()
        start = self.pos
        if not self.text.startswith('"', start):
            self.fail(f"expected a string, found {self._found()}")
        self.pos += 1
        parts: list[str] = []
        raw: bytearray = bytearray()  # bytes written as \XX, which may be pieces of one character
        while True:
            body = STRING_BODY.match(self.text, self.pos)
            plain = body.group() if body is not None else ""
            if plain or not self.text.startswith("\\", self.pos):
                if raw:
                    parts.append(self._decode(raw, start))
                    raw = bytearray()
                parts.append(plain)
            self.pos += len(plain)
            char = self.text[self.pos : self.pos + 1]
            if char == '"':
                self.pos += 1
                return "".join(parts)
            if char != "\\":
                self.fail("this string is not closed on its line", start)
            escape = self.text[self.pos + 1 : self.pos + 2]
            pair = _HEX_PAIR.match(self.text, self.pos + 1)
            if pair is not None:
                raw.append(int(pair.group(), 16))
                self.pos += 3
            elif escape in _ESCAPES and escape:
                if raw:
                    parts.append(self._decode(raw, start))
                    raw = bytearray()
                parts.append(_ESCAPES[escape])
                self.pos += 2
            else:
                self.fail(f"unknown escape '\\{escape}' in a string", self.pos)

    def opaque(self) -> str:
        """Read a sigil, a name and the balanced brackets right after it, if any, as they are."""
        start = self.pos
        self.pos += 1
        self.name_here(f"a name right after '{self.text[start]}'")
        if not self.text.startswith("<", self.pos):
            return self.text[start : self.pos]
        opened: list[tuple[str, int]] = []
        while True:
            mark = _MARK.search(self.text, self.pos)
            if mark is None:
                self.fail(f"'{opened[-1][0]}' is not closed", opened[-1][1])
            self.pos = mark.start()
            char = mark.group()
            if char == '"':
                self.string()
                continue
            if char in _CLOSES:
                opened.append((char, self.pos))
            elif char != "->":  # the arrow of a function type closes nothing
                wanted = _CLOSES[opened[-1][0]]
                if wanted != char:
                    self.fail(f"expected '{wanted}', found '{char}'", self.pos)
                opened.pop()
            self.pos = mark.end()
            if not opened:
                return self.text[start : self.pos]

    def _decode(self, raw: bytearray, start: int) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self.fail("the escaped bytes of this string are not UTF-8", start)


def require_opaque(text: str, sigil: str) -> None:
    """Raise ValueError unless `text` is what `Lexer.opaque` reads as a whole, starting with `sigil`."""
    try:
        text.encode("utf-8")
        whole = text.startswith(sigil) and Lexer(Source(text, "<text>")).opaque() == text
    except (ParseError, UnicodeEncodeError):
        whole = False
    if not whole:
        raise ValueError(f"an opaque text is '{sigil}name' or '{sigil}name<…>' with balanced brackets, not {text!r}")
