"""Structural equality: whether two operations are the same program, and where they first differ."""

# Comparing walks the linked lists directly.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tx8ir.support.screen import fitted

from .block import Block
from .operation import Operation
from .value import Value


class Difference:
    """The first place where two operations differ.

    Attributes:
        path: how to get there, from the operations compared: `region 0, block 1, op 3 (pd.relu), operand 0`.
        left: what is there in the first operation, in words.
        right: what is there in the second.
    """

    __slots__ = ("left", "path", "right")

    def __init__(self, path: str, left: str, right: str) -> None:
        self.path = path
        self.left = left
        self.right = right

    def __str__(self) -> str:
        return f"{self.path or 'the operation'}: {self.left} != {self.right}"

    def __repr__(self) -> str:
        return fitted(f"<Difference {self}>")


def structurally_equal(a: Operation, b: Operation) -> Difference | None:
    """The first difference between `a` and `b` in text order, or None when they are the same but for locations.

    Compared are names, numbers and types of operands and results, attributes, successors, regions, blocks with their
    arguments, and which value each operand is: values defined inside correspond by position, values from outside of
    `a` must be the same object in both. Iterative; O(size).
    """
    return _Comparison(a, b).run()


class _Comparison:
    def __init__(self, a: Operation, b: Operation) -> None:
        self._a = a
        self._b = b
        self._values: dict[Value, Value] = {}  # of a to b
        self._blocks: dict[Block, Block] = {}
        self._inside_b: set[Value] = set()  # the values of _values
        # Operands that may name values defined further down: checked when everything is paired.
        self._open: list[tuple[Operation, Operation, int]] = []

    def run(self) -> Difference | None:
        # Work items are pairs of operations that start the rest of a block, or pairs of blocks.
        work: list[tuple[Any, Any]] = []
        found = self._op(self._a, self._b, work)
        while found is None and work:
            x, y = work.pop()
            if isinstance(x, Block):
                found = self._block(x, y)
                x, y = x._first, y._first
            while found is None and x is not None:
                rest = len(work)
                found = self._op(x, y, work)
                if x._regions:
                    work.insert(rest, (x._next, y._next))
                    break
                x, y = x._next, y._next
        return found or self._forward_uses()

    def _op(self, x: Operation, y: Operation, work: list[tuple[Any, Any]]) -> Difference | None:
        """Compare all of two operations but the insides of their regions, which are queued, first block on top."""
        if x.__class__ is not y.__class__ and x.name != y.name:
            return self._differ(x, "name", x.name, y.name)
        if x._attributes is not y._attributes:
            return self._attributes_differ(x, y)
        ours, theirs = x._operands, y._operands
        if len(ours) != len(theirs):
            return self._differ(x, "", f"{len(ours)} operands", f"{len(theirs)} operands")
        values = self._values
        for i in range(len(ours)):
            mine, other = ours[i]._value, theirs[i]._value
            if values.get(mine) is not other:
                if mine in values or other in self._inside_b:
                    return self._operand_differs(x, i, mine, other)
                self._open.append((x, y, i))
            if mine._type is not other._type:
                return self._differ(x, f"operand {i}", str(mine._type), str(other._type))
        mine_out, other_out = x._results, y._results
        if len(mine_out) != len(other_out):
            return self._differ(x, "", f"{len(mine_out)} results", f"{len(other_out)} results")
        for i in range(len(mine_out)):
            if mine_out[i]._type is not other_out[i]._type:
                return self._differ(x, f"result {i}", str(mine_out[i]._type), str(other_out[i]._type))
            values[mine_out[i]] = other_out[i]
            self._inside_b.add(other_out[i])
        if x._regions or y._regions:
            found = self._regions(x, y, work)
            if found is not None:
                return found
        return self._successors(x, y) if x._successors or y._successors else None

    def _regions(self, x: Operation, y: Operation, work: list[tuple[Any, Any]]) -> Difference | None:
        if len(x._regions) != len(y._regions):
            return self._differ(x, "", f"{len(x._regions)} regions", f"{len(y._regions)} regions")
        pairs: list[tuple[Any, Any]] = []
        for number, (ours, theirs) in enumerate(zip(x._regions, y._regions, strict=True)):
            if len(ours._blocks) != len(theirs._blocks):
                counts = f"{len(ours._blocks)} blocks", f"{len(theirs._blocks)} blocks"
                return self._differ(x, f"region {number}", *counts)
            pairs += zip(ours._blocks, theirs._blocks, strict=True)
        self._blocks.update(pairs)
        work.extend(reversed(pairs))
        return None

    def _successors(self, x: Operation, y: Operation) -> Difference | None:
        if len(x._successors) != len(y._successors):
            return self._differ(x, "", f"{len(x._successors)} successors", f"{len(y._successors)} successors")
        for i, (ours, theirs) in enumerate(zip(x._successors, y._successors, strict=True)):
            if self._blocks.get(ours, ours) is not theirs:
                return self._differ(x, f"successor {i}", _place(ours, self._a), _place(theirs, self._b))
        return None

    def _block(self, x: Block, y: Block) -> Difference | None:
        """Pair the arguments of two blocks; the number of their operations is compared as well."""
        if len(x._args) != len(y._args):
            return Difference(_place(x, self._a), f"{len(x._args)} arguments", f"{len(y._args)} arguments")
        for i, (mine, other) in enumerate(zip(x._args, y._args, strict=True)):
            if mine._type is not other._type:
                return Difference(f"{_place(x, self._a)}, argument {i}", str(mine._type), str(other._type))
            self._values[mine] = other
            self._inside_b.add(other)
        return self._longer_block(x, y) if x._count != y._count else None

    def _longer_block(self, x: Block, y: Block) -> Difference:
        """Blocks of different lengths: the first operation whose name differs is what tells most."""
        ours, theirs, number = x._first, y._first, 0
        while ours is not None and theirs is not None and ours.name == theirs.name:
            ours, theirs, number = ours._next, theirs._next, number + 1
        left = ours.name if ours is not None else "the end of the block"
        right = theirs.name if theirs is not None else "the end of the block"
        return Difference(f"{_place(x, self._a)}, op {number}", left, right)

    def _forward_uses(self) -> Difference | None:
        for x, y, i in self._open:
            mine, other = x._operands[i]._value, y._operands[i]._value
            # Values from outside are in neither set, and must be one object.
            if self._values.get(mine, mine) is not other or (mine not in self._values and other in self._inside_b):
                return self._operand_differs(x, i, mine, other)
        return None

    # -- saying where ---------------------------------------------------------------------------------------------

    def _differ(self, op: Operation, where: str, left: str, right: str) -> Difference:
        return Difference(", ".join(filter(None, (_path(op, self._a), where))), left, right)

    def _attributes_differ(self, x: Operation, y: Operation) -> Difference:
        ours, theirs = x._attributes, y._attributes
        keys: Sequence[str] = sorted({*ours, *theirs})
        key = next(k for k in keys if ours.get(k) is not theirs.get(k))
        return self._differ(x, f"attribute {key}", str(ours.get(key, "absent")), str(theirs.get(key, "absent")))

    def _operand_differs(self, x: Operation, index: int, mine: Value, other: Value) -> Difference:
        return self._differ(x, f"operand {index}", _origin(mine, self._a), _origin(other, self._b))


def _origin(value: Value, root: Operation) -> str:
    """Which value it is, by the place of its definition inside `root`."""
    op = value.defining_op
    if op is not None:
        return f"result {value.index} of {_path(op, root) or op.name}"
    block = value.parent_block
    if block is None:
        return repr(value)
    return f"argument {value.index} of {_place(block, root)}"


def _path(op: Operation, root: Operation) -> str:
    """The way from `root` to `op`; empty for `root` itself."""
    if op is root:
        return ""
    if op._parent is None:
        return f"a detached {op.name}"
    return f"{_place(op._parent, root)}, {_step(op)}"


def _step(op: Operation) -> str:
    number, at = 0, op._previous
    while at is not None:
        number, at = number + 1, at._previous
    return f"op {number} ({op.name})"


def _place(block: Block, root: Operation) -> str:
    """The way from `root` to `block`."""
    parts: list[str] = []
    at: Block | None = block
    while at is not None:
        region = at._parent
        owner = region._parent if region is not None else None
        if region is None or owner is None:
            parts.append("a detached block")
            break
        parts.append(f"region {owner._regions.index(region)}, block {region._blocks.index(at)}")
        if owner is root:
            break
        at = owner._parent
        parts.append(f"another {owner.name}" if at is None else _step(owner))
    return ", ".join(reversed(parts))
