"""What an op class with a short form (`module`, `func.func`, `return`) reads before its region."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tx8ir.core.attrs.types import Type
    from tx8ir.core.ir.block import Region
    from tx8ir.core.ir.operation import Operation
    from tx8ir.core.location import Location


class CustomFormat:
    """The outcome of an op class's `parse_custom(parser)`.

    Args:
        finish: makes the operation from the regions that were read.
        arguments: names, offsets, types and locations of the entry block's arguments; see `Parser.argument`.
        repeated: whether every region takes the arguments, not only the first.
        has_region: whether `{ … }` follows.
        isolated: whether names from outside are hidden inside.
        following: words, each of which may follow a region and be followed by one more (`else`).
        another: reads what stands before one more region, if that comes, and says whether it does.
    """

    __slots__ = ("another", "arguments", "finish", "following", "has_region", "isolated", "repeated")

    def __init__(
        self,
        finish: Callable[[tuple[Region, ...]], Operation],
        arguments: Sequence[tuple[str, int, Type, Location]] = (),
        *,
        has_region: bool = True,
        isolated: bool = True,
        following: tuple[str, ...] = (),
        another: Callable[[], bool] | None = None,
        repeated: bool = False,
    ) -> None:
        self.finish = finish
        self.arguments = arguments
        self.has_region = has_region
        self.isolated = isolated
        self.following = following
        self.another = another
        self.repeated = repeated
