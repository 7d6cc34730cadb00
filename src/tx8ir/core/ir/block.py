"""Blocks and regions: ordered operations with arguments, and the graphs of blocks that operations hold."""

# Values, uses, operations and blocks keep each other consistent, so they share their slots.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from tx8ir.core.attrs.types import Type
from tx8ir.core.errors import IrError
from tx8ir.core.location import UNKNOWN, Location
from tx8ir.support.display import Displayable

from .traits import Terminator
from .value import BlockArgument

if TYPE_CHECKING:
    from .operation import Operation

_ORDER_GAP: Final = 32
"""Distance between neighbours when a block is numbered, so that insertions find room for a while."""


class Block(Displayable):
    """Arguments and a linked list of operations. Insertion and erasure are O(1), `len` too.

    Args:
        arg_types: the types of its arguments.
    """

    __slots__ = ("_args", "_count", "_first", "_last", "_order_valid", "_parent")
    _args: list[BlockArgument]
    _first: Operation | None
    _last: Operation | None
    _count: int
    _parent: Region | None
    _order_valid: bool

    def __init__(self, arg_types: Iterable[Type] = ()) -> None:
        self._args = []
        self._first = self._last = None
        self._count = 0
        self._parent = None
        self._order_valid = False
        for type in arg_types:
            self.add_argument(type)

    # -- arguments ------------------------------------------------------------------------------------------------

    @property
    def args(self) -> tuple[BlockArgument, ...]:
        return tuple(self._args)

    def add_argument(self, type: Type, location: Location = UNKNOWN) -> BlockArgument:
        """Append an argument, which comes from `location`. Raises IrError when `type` is not a Type."""
        if not isinstance(type, Type):  # pyright: ignore[reportUnnecessaryIsInstance]  (a caller without types)
            raise IrError(f"the type of a block argument is a Type, not {type!r}")
        argument = BlockArgument.__new__(BlockArgument)
        argument._owner = self
        argument.index = len(self._args)
        argument._type = type
        argument.location = location
        argument._first_use = argument._last_use = None
        self._args.append(argument)
        return argument

    def erase_argument(self, index: int) -> None:
        """Remove an argument; those after it move up. Raises IrError when it is used or does not exist."""
        self.erase_arguments((index,))

    def erase_arguments(self, indices: Collection[int]) -> None:
        """Remove several arguments; those that stay move up. O(arguments).

        Raises IrError when one is used or does not exist; the block is then as it was.
        """
        for index in indices:
            if not 0 <= index < len(self._args):
                raise IrError(f"the block has {len(self._args)} arguments, so no argument {index}")
            user = self._args[index]._first_use
            if user is not None:
                raise IrError(
                    f"block argument {index} cannot be erased: it is used by {user._owner.describe()}", user._owner
                )
        gone = frozenset(indices)
        self._args = [argument for argument in self._args if argument.index not in gone]
        for i, argument in enumerate(self._args):
            argument.index = i

    # -- operations -----------------------------------------------------------------------------------------------

    @property
    def first_op(self) -> Operation | None:
        return self._first

    @property
    def last_op(self) -> Operation | None:
        return self._last

    @property
    def terminator(self) -> Operation | None:
        """The last operation when it is a terminator, else None."""
        from_last = self._last
        return from_last if from_last is not None and from_last.has_trait(Terminator) else None

    def __iter__(self) -> Iterator[Operation]:
        """The operations in order. The one just given may be erased or moved; one put after it is not visited."""
        op = self._first
        while op is not None:
            following = op._next
            yield op
            op = following

    def __reversed__(self) -> Iterator[Operation]:
        """The operations from the last to the first, under the same rules."""
        op = self._last
        while op is not None:
            following = op._previous
            yield op
            op = following

    @property
    def ops(self) -> Iterator[Operation]:
        return iter(self)

    def __len__(self) -> int:
        return self._count

    def __bool__(self) -> bool:
        return True

    def append(self, op: Operation) -> Operation:
        """Put a detached operation at the end. Raises IrError when it is in a block, or this block is inside it."""
        if getattr(op, "_regions", self) or op._parent is not None:  # most often there is nothing to check
            self._check_insert(op)
        self.link_last(op)
        return op

    def link_last(self, op: Operation) -> None:
        """`append` of an operation that is known to be detached, and not to be around this block."""
        last = self._last
        op._parent = self
        op._previous = last
        if last is None:
            self._first = op
        else:
            last._next = op
            if self._order_valid:
                op._order = last._order + _ORDER_GAP
        self._last = op
        self._count += 1

    def extend(self, ops: Iterable[Operation]) -> None:
        """Append detached operations in order. Raises IrError as `append` does, before it appends any."""
        new = list(ops)
        for op in new:
            self._check_insert(op)
        if len(set(new)) != len(new):
            raise IrError("an operation is given twice")
        for op in new:
            self.append(op)

    def insert_before(self, op: Operation, anchor: Operation) -> Operation:
        """Put a detached operation before `anchor`. Raises IrError when it is in a block or `anchor` elsewhere."""
        if getattr(anchor, "_parent", None) is not self:
            self._check_anchor(anchor)
        if getattr(op, "_regions", self) or op._parent is not None:
            self._check_insert(op)
        before = anchor._previous
        op._parent = self
        op._previous = before
        op._next = anchor
        anchor._previous = op
        if before is None:
            self._first = op
            if self._order_valid:
                op._order = anchor._order - _ORDER_GAP
        else:
            before._next = op
            if self._order_valid:
                op._order = (before._order + anchor._order) // 2
                self._order_valid = op._order != before._order
        self._count += 1
        return op

    def insert_after(self, op: Operation, anchor: Operation) -> Operation:
        """Put a detached operation after `anchor`. Raises IrError when it is in a block or `anchor` elsewhere."""
        self._check_anchor(anchor)
        following = anchor._next
        return self.append(op) if following is None else self.insert_before(op, following)

    def prepend(self, op: Operation) -> Operation:
        """Put a detached operation at the start."""
        return self.append(op) if self._first is None else self.insert_before(op, self._first)

    def splice_before(self, anchor: Operation, source: Block) -> None:
        """Move all operations of `source` before `anchor`, in order; O(operations moved)."""
        self._check_anchor(anchor)
        require_block(source, "what is spliced")
        if source is self:
            raise IrError("a block cannot be spliced into itself")
        for op in source:
            self._check_inside(op)
        for op in source:
            op.detach()
            self.insert_before(op, anchor)

    def _check_anchor(self, anchor: Operation) -> None:
        if getattr(anchor, "_operands", None) is None:
            raise IrError(f"operations are inserted next to an operation, not {anchor!r}")
        if anchor._parent is not self:
            raise IrError(f"{anchor.name} is not in the block to insert into", anchor)

    def _check_insert(self, op: Operation) -> None:
        if getattr(op, "_operands", None) is None:  # raises IrError itself when the operation was erased
            raise IrError(f"a block holds operations, not {op!r}")
        if op._parent is not None:
            raise IrError(f"{op.name} is in a block already; detach or move it", op)
        if op._regions:
            self._check_inside(op)

    def _check_inside(self, op: Operation) -> None:
        """Raise when this block is inside `op`. O(1) when its regions hold no operations, else O(depth)."""
        region = self._parent
        if all(block._first is None for inner in op._regions for block in inner._blocks):
            if region is not None and region._parent is op:
                raise IrError(f"{op.name} cannot be inserted into a block inside itself", op)
            return
        while region is not None and region._parent is not None:
            if region._parent is op:
                raise IrError(f"{op.name} cannot be inserted into a block inside itself", op)
            block = region._parent._parent
            region = block._parent if block is not None else None

    def _unlink(self, op: Operation) -> None:
        before, after = op._previous, op._next
        if before is None:
            self._first = after
        else:
            before._next = after
        if after is None:
            self._last = before
        else:
            after._previous = before
        op._parent = op._previous = op._next = None
        self._count -= 1

    def _renumber(self) -> None:
        order, op = 0, self._first
        while op is not None:
            op._order = order
            order += _ORDER_GAP
            op = op._next
        self._order_valid = True

    # -- place ----------------------------------------------------------------------------------------------------

    @property
    def parent(self) -> Region | None:
        return self._parent

    @property
    def parent_op(self) -> Operation | None:
        return self._parent._parent if self._parent is not None else None

    @property
    def successors(self) -> tuple[Block, ...]:
        """The blocks that its last operation may go to."""
        return self._last._successors if self._last is not None else ()

    def erase(self, by: str = "") -> None:
        """Remove it and its operations from its region.

        Raises:
        ------
            IrError: a value it defines is used from outside, or a branch goes to it.
        """
        ops = list(self)
        inside = {inner for op in ops for inner in op.walk()}
        for value in (*self._args, *(r for op in ops for r in op._results)):
            for use in value.uses:
                if use._owner not in inside:
                    raise IrError(
                        f"the block cannot be erased: a value of it is used by {use._owner.describe()}", use._owner
                    )
        if self._parent is not None:
            for block in self._parent._blocks:
                if block is not self and self in block.successors:
                    raise IrError("the block cannot be erased: a branch goes to it", block._last)
        for op in inside:  # values from outside keep exact chains; those inside have no user left after this
            op.set_operands(())
        for op in ops:
            op.erase(by)
        if self._parent is not None:
            self._parent._blocks.remove(self)
            self._parent = None

    def __repr__(self) -> str:
        return f"<Block with {len(self._args)} arguments and {self._count} operations>"


def require_block(given: object, what: str) -> None:
    """Raise IrError when `given` is not a block."""
    if not isinstance(given, Block):
        raise IrError(f"{what} is a Block, not {given!r}")


class Region:
    """A list of blocks, the first being the entry. It belongs to one operation."""

    __slots__ = ("_blocks", "_parent")
    _blocks: list[Block]
    _parent: Operation | None

    def __init__(self, blocks: Iterable[Block] = ()) -> None:
        self._blocks = []
        self._parent = None
        self.set_blocks(blocks)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(self._blocks)

    @property
    def block(self) -> Block:
        """The first block. Raises IrError when there is none."""
        if not self._blocks:
            raise IrError("the region has no block", self._parent)
        return self._blocks[0]

    @property
    def parent_op(self) -> Operation | None:
        return self._parent

    def append(self, block: Block) -> Block:
        """Add a block at the end. Raises IrError when it belongs to a region already, or holds this one."""
        self._check_new(block)
        self._blocks.append(block)
        block._parent = self
        return block

    def insert(self, index: int, block: Block) -> Block:
        """Add a block at a position. Raises IrError when it belongs to a region already, or holds this one."""
        self._check_new(block)
        self._blocks.insert(index, block)
        block._parent = self
        return block

    def _check_new(self, block: Block) -> None:
        """Raise when `block` cannot become one of the blocks; O(depth)."""
        require_block(block, "what a region holds")
        if block._parent is not None:
            raise IrError("the block belongs to a region already", self._parent)
        if block._first is None:
            return
        around = self._parent._parent if self._parent is not None else None
        while around is not None:
            if around is block:
                raise IrError("the block holds the region that it should go into", self._parent)
            around = around.parent_op._parent if around.parent_op is not None else None

    def set_blocks(self, blocks: Iterable[Block]) -> None:
        """Make these its blocks, in this order; those it had and that are not among them are then in no region.

        O(blocks), however many come, go or change places.

        Raises:
        ------
            IrError: a block is given twice or belongs to another region; nothing has changed then.
        """
        new = list(blocks)
        for block in new:
            if getattr(block, "_parent", None) is not self:
                self._check_new(block)
        if len(set(new)) != len(new):
            raise IrError("a block is given twice", self._parent)
        for block in self._blocks:
            block._parent = None
        for block in new:
            block._parent = self
        self._blocks[:] = new

    def __iter__(self) -> Iterator[Block]:
        return iter(tuple(self._blocks))

    def __len__(self) -> int:
        return len(self._blocks)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<Region with {len(self._blocks)} blocks>"
