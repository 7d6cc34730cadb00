"""Comments of a parsed text: kept in the locations of operations, and written again on request."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from tx8ir.core.location import CallSiteLocation, FusedLocation, Location, NamedLocation

if TYPE_CHECKING:
    from tx8ir.core.ir.operation import Operation

_COMMENT_OR_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|//([^\n]*)')


class Comments(NamedTuple):
    """The comments of one operation, each without its `//`: on the lines above, after it, and on the lines below."""

    above: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    below: tuple[str, ...] = ()


class CommentedLocation(Location):
    """A place in a text, and the comments there. Its text is that of the place."""

    __slots__ = ("child", "comments")

    def __init__(self, child: Location, comments: Comments) -> None:
        self.child = child
        self.comments = comments

    @property
    def is_known(self) -> bool:
        return self.child.is_known

    @property
    def name(self) -> str | None:
        return self.child.name

    def __str__(self) -> str:
        return str(self.child)


class Mark(NamedTuple):
    """The half-open range of offsets that an operation takes up in a text."""

    start: int
    end: int
    op: Operation


def comments_of(location: Location) -> Comments:
    """The comments in a location, all those of the parts of a fused one together; iterative."""
    above: list[str] = []
    behind: list[str] = []
    below: list[str] = []
    work = [location]
    while work:
        at = work.pop()
        if isinstance(at, CommentedLocation):
            above += at.comments.above
            behind += at.comments.behind
            below += at.comments.below
            work.append(at.child)
        elif isinstance(at, NamedLocation):
            work.append(at.child)
        elif isinstance(at, CallSiteLocation):
            work.append(at.callee)
        elif isinstance(at, FusedLocation):
            work += reversed(at.locations)
    return Comments(tuple(above), tuple(behind), tuple(below))


def without_comments(location: Location) -> Location:
    """The place alone, for an operation that stands around or beside the one with the comments."""
    if isinstance(location, NamedLocation):
        return NamedLocation(location.name, without_comments(location.child))
    return location.child if isinstance(location, CommentedLocation) else location


def attach_comments(text: str, marks: Iterable[Mark]) -> None:
    """Give every comment of `text` to the operation that it stands after, above, inside or, at an end, below.

    Args:
        text: what the operations were read from.
        marks: where each of them stands in it. O(text + operations · log operations).
    """
    matches = [m for m in _COMMENT_OR_STRING.finditer(text) if m.group(1) is not None]
    if not matches:
        return
    found = [(m.start(), m.group(1).rstrip()) for m in matches]
    ordered = sorted([_trimmed(mark, text, matches) for mark in marks], key=lambda mark: mark.start)
    notes: dict[Operation, tuple[list[str], list[str], list[str]]] = {}
    open_marks: list[Mark] = []
    finished: Mark | None = None
    following = 0
    for offset, comment in found:
        while following < len(ordered) and ordered[following].start < offset:
            while open_marks and open_marks[-1].end <= ordered[following].start:
                finished = open_marks.pop()
            open_marks.append(ordered[following])
            following += 1
        while open_marks and open_marks[-1].end <= offset:
            finished = open_marks.pop()
        around = open_marks[-1] if open_marks else None
        coming = ordered[following] if following < len(ordered) else None
        if finished is not None and "\n" not in (between := text[finished.end : offset]) and not between.strip():
            op, place = finished.op, 1
        elif coming is not None and (around is None or coming.start < around.end):
            op, place = coming.op, 0
        elif finished is not None and (around is None or finished.start > around.start):
            op, place = finished.op, 2
        elif around is not None:
            op, place = around.op, 0
        else:  # a text without operations is refused by the parser
            return
        notes.setdefault(op, ([], [], []))[place].append(comment)
    for op, (above, behind, below) in notes.items():
        comments = Comments(tuple(above), tuple(behind), tuple(below))
        location = op.location
        if isinstance(location, NamedLocation):
            op.location = NamedLocation(location.name, CommentedLocation(location.child, comments))
        else:
            op.location = CommentedLocation(location, comments)


def _trimmed(mark: Mark, text: str, comments: list[re.Match[str]]) -> Mark:
    """The mark without the comments at its end, where the parser has read on to what comes next."""
    start, end, op = mark
    at = bisect_left(comments, end, key=lambda m: m.start())
    while at > 0 and comments[at - 1].start() > start and not text[comments[at - 1].end() : end].strip():
        at -= 1
        end = comments[at].start()
    return Mark(start, start + len(text[start:end].rstrip()), op)
