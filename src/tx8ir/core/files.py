"""Reading files that may be anything: regular files alone, and none that is larger than its kind can be."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any, Final, cast

from .errors import IrError

MAX_TEXT_BYTES: Final = 1 << 29
"""Largest file of IR text that is read: about three million operations."""
MAX_JSON_BYTES: Final = 1 << 26
"""Largest JSON file that is read, other than the header of a weight file, which its format bounds."""
MAX_YAML_BYTES: Final = 1 << 24
"""Largest YAML operation list that is read."""

_HALF_PAIR: Final = re.compile(r"\\u[dD][89a-fA-F]")


class LoadError(IrError):
    """A file that does not hold what it should.

    Attributes:
        file: its path.
        at: the place in a JSON file, as in `signature.outputs[0].element`; empty when the whole file is meant.
        expected: what should be there, in words.
        given: what is there.
    """

    def __init__(self, file: str | os.PathLike[str], expected: str, given: str, at: str = "") -> None:
        self.file = os.fspath(file)
        self.at = at
        self.expected = expected
        self.given = given
        place = f"{self.file}: {at}" if at else self.file
        super().__init__(f"{place}: expected {expected}, found {given}")


class MissingFileError(LoadError, FileNotFoundError):
    """A file that is not there."""


def read_regular(path: str | os.PathLike[str], limit: int, what: str) -> bytes:
    """The content of a regular file. Symbolic links are followed.

    Args:
        path: the file.
        limit: the most bytes that it may have.
        what: what it should be, for the message (`"a file of IR text"`).

    Raises:
        MissingFileError: there is no such file.
        LoadError: a folder, a pipe or a device; a file that is too large or cannot be read.
    """
    try:
        # A pipe would block until somebody writes to it; it is opened without waiting, and refused below.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise LoadError(path, what, _kind_of(found.st_mode))
            if found.st_size > limit:
                raise LoadError(path, f"{what} of at most {limit} bytes", f"{found.st_size} bytes")
            with open(descriptor, "rb", closefd=False) as stream:
                return stream.read(found.st_size)
        finally:
            os.close(descriptor)
    except FileNotFoundError as error:
        raise MissingFileError(path, what, "nothing there") from error
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise LoadError(path, what, f"a file that cannot be read ({reason})") from error


def regular_size(path: str | os.PathLike[str], what: str) -> int:
    """The bytes of a regular file, which is not opened. Raises as `read_regular` does."""
    try:
        found = os.stat(path)
    except FileNotFoundError as error:
        raise MissingFileError(path, what, "nothing there") from error
    except (OSError, ValueError) as error:
        raise LoadError(path, what, f"a file that cannot be read ({error})") from error
    if not stat.S_ISREG(found.st_mode):
        raise LoadError(path, what, _kind_of(found.st_mode))
    return found.st_size


def _kind_of(mode: int) -> str:
    for is_kind, name in ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket")):
        if is_kind(mode):
            return name
    return "a device"


def decode_json(data: bytes) -> object:
    """The JSON value in `data`: UTF-8, no key twice in an object, finite numbers, and strings that are text.

    Raises:
        ValueError: it is none, and why; nesting deeper than Python can read included.
    """
    text = data.decode("utf-8")
    try:
        value: object = json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it nests too deep") from None
    if _HALF_PAIR.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as error:
            half = f"U+{ord(error.object[error.start]):04X}"
            raise ValueError(f"a string holds {half}, half of a surrogate pair") from None
    return value


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise ValueError(f"key {repeated!r} appears twice")
    return result


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def read_json(path: Path, what: str) -> object:
    """The JSON value in a file of at most `MAX_JSON_BYTES`.

    Raises:
        LoadError: the file cannot be read, or holds no JSON.
    """
    data = read_regular(path, MAX_JSON_BYTES, what)
    try:
        return decode_json(data)
    except ValueError as error:
        raise LoadError(path, what, f"a damaged file ({error})") from error


def shown(value: object) -> str:
    """What a JSON value is, in a few words; a large or nested container only by its size."""
    if isinstance(value, dict):
        return f"an object of {len(cast('dict[str, object]', value))} keys"
    if isinstance(value, list):
        items = cast("list[object]", value)
        if len(items) > 8 or any(isinstance(item, (dict, list)) for item in items):
            return f"a list of {len(items)}"
        return f"[{', '.join(map(shown, items))}]"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return "a large integer"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
