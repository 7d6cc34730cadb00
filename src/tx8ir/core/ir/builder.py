"""Insertion points: where newly constructed operations go."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from tx8ir.core.errors import IrError
from tx8ir.core.location import THREAD

if TYPE_CHECKING:
    from .block import Block
    from .operation import Operation

OpT = TypeVar("OpT", bound="Operation")


class Builder:
    """An insertion point. Inside `with builder:` (in this thread) operations constructed are inserted there, in order.

    Args:
        block: the block to insert into.
        anchor: operations go before it; None means at the end of the block.
    """

    __slots__ = ("_outer", "anchor", "block")

    def __init__(self, block: Block, anchor: Operation | None = None) -> None:
        if anchor is not None and anchor.parent is not block:
            raise IrError(f"{anchor.name} is not in the block to insert into", anchor)
        self.block = block
        self.anchor = anchor
        self._outer: list[Any] = []

    @classmethod
    def at_end(cls, block: Block) -> Builder:
        return cls(block)

    @classmethod
    def at_start(cls, block: Block) -> Builder:
        return cls(block, block.first_op)

    @classmethod
    def before(cls, op: Operation) -> Builder:
        return cls(_block_of(op), op)

    @classmethod
    def after(cls, op: Operation) -> Builder:
        return cls(_block_of(op), op.next_op)

    def insert(self, op: OpT) -> OpT:
        """Insert a detached operation here and return it. Raises IrError when it is in a block already."""
        if self.anchor is None:
            self.block.append(op)
        else:
            self.block.insert_before(op, self.anchor)
        return op

    def __enter__(self) -> Builder:
        build = THREAD.build
        self._outer.append(build.insertion_point)
        build.insertion_point = self
        return self

    def __exit__(self, *exception: object) -> None:
        THREAD.build.insertion_point = self._outer.pop()

    def __repr__(self) -> str:
        where = "at the end" if self.anchor is None else f"before {self.anchor.name}"
        return f"<Builder {where} of {self.block!r}>"


@contextmanager
def built_or_discarded(block: Block) -> Generator[Builder]:
    """`with Builder.at_end(block)`, for a new block: on an exception, what the block holds by then is discarded.

    An operation built for nothing would stay a user of the values around it, though nobody can find it.
    """
    try:
        with Builder.at_end(block) as builder:
            yield builder
    except BaseException:
        discard_block(block)
        raise


def discard_block(block: Block) -> None:
    """Drop the uses of everything inside a block that is in no region, and empty it; O(size).

    An operation whose result somebody outside uses stays, detached and without operands.
    """
    for op in block:
        for inner in op.walk():
            inner.set_operands(())
    for op in reversed(block):
        if any(result.has_uses for result in op.results):
            op.detach()
        else:
            op.erase("a failed build")


def insert_here(op: OpT) -> OpT:
    """Insert a detached operation where constructed ones go now, if a builder is active, and return it."""
    point = THREAD.build.insertion_point
    if isinstance(point, Builder):
        point.insert(op)
    return op


@contextmanager
def detached() -> Generator[None]:
    """Construct operations detached inside the `with`, whatever builder is active around it (passes run anywhere)."""
    build = THREAD.build
    outer, build.insertion_point = build.insertion_point, None
    try:
        yield
    finally:
        build.insertion_point = outer


def _block_of(op: Operation) -> Block:
    if op.parent is None:
        raise IrError(f"{op.name} is in no block, so nothing can be inserted next to it", op)
    return op.parent
