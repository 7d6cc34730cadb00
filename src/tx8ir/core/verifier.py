"""The verifier: structure, use chains, dominance, terminators, isolation, symbols and op constraints."""

# It checks the links themselves.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Container
from typing import Any

import attrs

from .block import Block, Region
from .definition import declared_faults
from .dominance import immediate_dominators
from .errors import VerifyError
from .op import Op
from .operation import Operation
from .printer import print_op
from .traits import IsolatedFromAbove, NoTerminator, SymbolTable, Terminator
from .value import ErasedValue, Value


@attrs.frozen
class Fault:
    """One broken rule."""

    op: Operation
    message: str


class VerificationFailed(VerifyError):
    """Everything that `verify` found wrong; `faults` holds one entry per broken rule."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = faults
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        more = f"\n… and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        super().__init__(f"{count} found\n" + "\n".join(map(_render, faults[:_SHOWN])) + more, faults[0].op)

    def __str__(self) -> str:
        return self.message


_SHOWN = 20


def verify(op: Operation) -> None:
    """Check `op` and everything inside it. O(size).

    Raises:
        VerificationFailed: listing every fault, each shown with the operations around it.
    """
    faults = find_faults(op)
    if faults:
        raise VerificationFailed(faults)


def find_faults(root: Operation) -> list[Fault]:
    """Every broken rule in `root` and inside it, in text order."""
    return _Verifier().run(root)


def _render(fault: Fault) -> str:
    """The fault below its operation, between the operations next to it."""
    op = fault.op
    lines: list[str] = []
    if op.prev_op is not None:
        lines.append(f"    {_first_line(op.prev_op)}")
    lines.append(f"  > {_first_line(op)}")
    lines.append(f"    ^ {fault.message}")
    if op.next_op is not None:
        lines.append(f"    {_first_line(op.next_op)}")
    place = f"{op.location}: " if op.location.is_known else ""
    return f"{place}{op.name}: {fault.message}\n" + "\n".join(lines)


def _first_line(op: Operation) -> str:
    if op._regions:
        return f'"{op.name}"(…) {{ … }}'
    text = print_op(op)
    return text if len(text) <= 200 else text[:199] + "…"


@attrs.frozen
class _Kind:
    """What the verifier looks up per op class."""

    verified: Container[Any]
    has_check: bool
    is_terminator: bool


class _Everything:
    """Contains anything: nothing is declared for an unregistered operation."""

    def __contains__(self, item: object) -> bool:
        return True


_EVERYTHING = _Everything()


class _Verifier:
    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._kinds: dict[type[Operation], _Kind] = {}
        # The blocks around the current operation: which operation of each we are inside, and how deep it is.
        self._open: dict[Region, tuple[Block, Operation, int]] = {}
        self._dominators: dict[Region, dict[Block, Block | None]] = {}

    def _fault(self, op: Operation, message: str) -> None:
        self._faults.append(Fault(op, message))

    def run(self, root: Operation) -> list[Fault]:
        self._op(root, None)
        # Work items: a block to go on with from an operation, or a region to leave.
        work: list[Any] = []
        self._enter(root, 0, 0, work)
        while work:
            item = work.pop()
            if item.__class__ is Region:
                self._open.pop(item, None)
                continue
            block, op, depth, barrier = item
            if op is None:
                self._start_block(block)
                op = block._first
            self._rest_of_block(block, op, depth, barrier, work)
        return self._faults

    def _enter(self, op: Operation, depth: int, barrier: int, work: list[Any]) -> None:
        """Queue the regions of `op`. `barrier` is the depth above which values are hidden by isolation."""
        inner_barrier = depth + 1 if op.has_trait(IsolatedFromAbove) else barrier
        for region in reversed(op._regions):
            if region._parent is not op:
                self._fault(op, "a region does not know the operation it belongs to")
            work.append(region)
            if len(region._blocks) > 1:
                self._dominators[region] = immediate_dominators(region)
            for block in reversed(region._blocks):
                if block._parent is not region:
                    self._fault(op, "a block does not know the region it belongs to")
                work.append((block, None, depth + 1, inner_barrier))
        if op.has_trait(SymbolTable):
            self._symbols(op)

    def _start_block(self, block: Block) -> None:
        """Number the operations, so that order is a comparison; check the list itself."""
        order, op, previous = 0, block._first, None
        while op is not None:
            op._order = order
            order += 32
            if op._parent is not block or op._previous is not previous:
                self._fault(op, "the list of operations of its block is broken")
            previous, op = op, op._next
        block._order_valid = True
        if previous is not block._last or order != 32 * block._count:
            owner = block.parent_op
            if owner is not None:
                self._fault(owner, "a block does not know its last operation or their number")
        self._ending(block)

    def _ending(self, block: Block) -> None:
        owner = block.parent_op
        if owner is None:
            return
        last = block._last
        if not isinstance(owner, Op):  # what an unregistered operation needs is not known
            return
        if not owner.has_trait(NoTerminator) and (last is None or not last.has_trait(Terminator)):
            if last is None:
                self._fault(owner, "has a block without operations, which needs a terminator")
            elif isinstance(last, Op):
                self._fault(last, f"stands last in a block of {owner.name}, which needs a terminator there")

    def _rest_of_block(self, block: Block, op: Operation | None, depth: int, barrier: int, work: list[Any]) -> None:
        region = block._parent
        kinds = self._kinds
        while op is not None:
            order = op._order
            # What decides whether the declaration is kept: a combination that was right once is right again.
            key: list[Any] = [op._attributes, len(op._regions), len(op._operands)]
            for use in op._operands:
                value = use._value
                owner = value._owner
                key.append(value._type)
                before = use._previous
                if use._owner is not op or (value._first_use if before is None else before._next) is not use:
                    self._fault(op, f"operand {use.index} is not in the use chain of its value")
                # In the common case an operand is defined earlier in the same block.
                if owner.__class__ is Block:
                    if owner is not block:
                        self._reach(op, use.index, value, owner, None, block, barrier)
                elif value.__class__ is ErasedValue:
                    self._fault(op, f"operand {use.index} is a result of an erased operation")
                elif owner._parent is not block or owner._order >= order:
                    self._reach(op, use.index, value, owner._parent, owner, block, barrier)
            for result in op._results:
                key.append(result._type)
                if result._owner is not op:
                    self._fault(op, f"result {result.index} does not know its operation")
                previous, chained = None, result._first_use
                while chained is not None and chained._value is result and chained._previous is previous:
                    previous, chained = chained, chained._next
                if chained is not None or previous is not result._last_use:
                    self._fault(op, f"the use chain of result {result.index} is broken")
            kind = kinds.get(op.__class__) or self._kind(op.__class__)
            if tuple(key) not in kind.verified or kind.has_check or kind.is_terminator or op._successors:
                self._op(op, block)
            if op._regions:
                if region is not None:
                    self._open[region] = (block, op, depth)
                if op._next is not None:
                    work.append((block, op._next, depth, barrier))
                self._enter(op, depth, barrier, work)
                return
            op = op._next

    def _kind(self, cls: type[Operation]) -> _Kind:
        defined = issubclass(cls, Op)
        kind = self._kinds[cls] = _Kind(
            verified=cls.definition.verified if defined else _EVERYTHING,
            has_check=hasattr(cls, "verify_op"),
            is_terminator=Terminator in cls.info.traits,
        )
        return kind

    def _reach(
        self,
        op: Operation,
        index: int,
        value: Value,
        home: Block | None,
        owner: Operation | None,
        block: Block,
        barrier: int,
    ) -> None:
        """Check that `op` may use `value`, defined in `home`: it dominates it, and no isolation lies between."""
        if home is None:
            self._fault(op, f"operand {index} is a result of {value._owner.describe()}, which is in no block")
            return
        if home is block:
            self._fault(op, f"operand {index} is used before its definition{self._by(owner)}")
            return
        region = home._parent
        if region is block._parent and region is not None:
            if not self._dominates(region, home, block):
                self._fault(
                    op, f"operand {index} is defined in a block that does not dominate this one{self._by(owner)}"
                )
            return
        around = self._open.get(region) if region is not None else None
        if around is None:
            self._fault(op, f"operand {index} is defined in a region that does not enclose it{self._by(owner)}")
            return
        at, current, depth = around
        if depth < barrier:
            self._fault(op, f"operand {index} is defined outside of an isolated region around it{self._by(owner)}")
        elif at is home:
            if owner is not None and owner._order >= current._order:
                self._fault(op, f"operand {index} is used before its definition{self._by(owner)}")
        elif not self._dominates(region, home, at):
            self._fault(op, f"operand {index} is defined in a block that does not dominate this one{self._by(owner)}")

    @staticmethod
    def _by(owner: Operation | None) -> str:
        return f" by {owner.describe()}" if owner is not None else " as a block argument"

    def _dominates(self, region: Region | None, above: Block, below: Block) -> bool:
        parents = self._dominators.get(region) if region is not None else None
        if parents is None:
            return above is below
        if below not in parents:  # unreachable: nothing runs there, so anything dominates it
            return True
        at: Block | None = below
        while at is not None:
            if at is above:
                return True
            at = parents[at]
        return False

    def _op(self, op: Operation, block: Block | None) -> None:
        """Check what the op class asks for, and where its successors are."""
        if isinstance(op, Op):
            faults = declared_faults(op.definition, op)
            for message in faults:
                self._fault(op, message)
            if op._next is not None and block is not None and op.has_trait(Terminator):
                self._fault(op, "is a terminator, but other operations follow it")
            check = getattr(op, "verify_op", None)
            if check is not None and not faults:
                try:
                    check()
                except VerifyError as error:
                    self._fault(op, error.message)
        for successor in op._successors:
            if block is None or successor._parent is not block._parent:
                self._fault(op, "branches to a block of another region")

    def _symbols(self, table: Operation) -> None:
        seen: dict[str, Operation] = {}
        for region in table._regions:
            for block in region._blocks:
                for op in block:
                    name = op._attributes.get("sym_name")
                    if name is None:
                        continue
                    if name.value in seen:
                        self._fault(
                            op, f"the symbol @{name.value} is defined twice, first by {seen[name.value].describe()}"
                        )
                    seen.setdefault(name.value, op)
