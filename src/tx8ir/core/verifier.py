"""The verifier: structure, use chains, dominance, terminators, isolation, symbols and op constraints."""

# It checks the links themselves.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Container
from typing import Any, Final

import attrs

from tx8ir.support.screen import fitting_repr

from .attrs.attributes import StrAttr
from .errors import IrError, VerifyError
from .ir.block import Block, Region
from .ir.dominance import Dominators
from .ir.interfaces import SymbolUser
from .ir.operation import ErasedOperation, Operation
from .ir.symbol_table import Symbols, SymbolTables
from .ir.traits import IsolatedFromAbove, NoTerminator, SymbolTable, Terminator
from .ir.value import ErasedValue, OpOperand, Value
from .opdef.definition import declared_faults
from .opdef.op import Op
from .text.printer import Printer


@attrs.frozen
class Diagnostic:
    """One broken rule."""

    __repr__ = fitting_repr

    op: Operation
    message: str


class VerificationFailed(VerifyError):
    """Everything that `verify` found wrong; `faults` holds one entry per broken rule."""

    def __init__(self, faults: list[Diagnostic], printer: Printer) -> None:
        self.faults = faults
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        more = f"\n… and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        shown = "\n".join(_render(fault, printer) for fault in faults[:_SHOWN])
        super().__init__(f"{count} found\n{shown}{more}", faults[0].op)

    def __str__(self) -> str:
        return self.message


_SHOWN = 20


def verify(op: Operation) -> None:
    """Check `op` and everything inside it. O(size).

    An operation that is part of a program may use values from around it; whether its own operands may be used where it
    stands is a question to the program.

    Raises:
        VerificationFailed: listing every fault, each shown with the operations around it.
    """
    verifier = _Verifier()
    faults = verifier.run(op)
    if faults:
        printer = Printer()
        if verifier.is_walkable:
            printer.print(op)  # gives all values the names that they have in the whole text
        raise VerificationFailed(faults, printer)


def find_faults(root: Operation) -> list[Diagnostic]:
    """Every broken rule in `root` and inside it, in text order."""
    return _Verifier().run(root)


def _render(fault: Diagnostic, printer: Printer) -> str:
    """The fault below its operation, between the operations next to it."""
    op = fault.op
    lines: list[str] = []
    if op.prev_op is not None:
        lines.append(f"    {_line(op.prev_op, printer)}")
    lines.append(f"  > {_line(op, printer)}")
    lines.append(f"    ^ {fault.message}")
    if op.next_op is not None:
        lines.append(f"    {_line(op.next_op, printer)}")
    place = f"{op.location}: " if op.location.is_known else ""
    return f"{place}{op.name}: {fault.message}\n" + "\n".join(lines)


def _line(op: Operation, printer: Printer) -> str:
    if isinstance(op, ErasedOperation):
        return repr(op)
    text = printer.line(op)
    return text if len(text) <= 200 else text[:199] + "…"


class _Everything:
    """Contains anything: nothing is declared for an unregistered operation."""

    def __contains__(self, item: object) -> bool:
        return True


_EVERYTHING: Final = _Everything()
_NOTHING: Final = frozenset[Any]()


def _has_check(cls: type[Operation]) -> bool:
    """Whether operations of a class check more themselves than their declaration says."""
    return hasattr(cls, "verify_op") or SymbolUser in cls.info.interfaces


def _outermost(block: Block) -> Block | Operation:
    """What `block` is part of in the end: the operation around everything, or a block that nothing holds."""
    at = block
    while True:
        op = at.parent_op
        if op is None:
            return at
        if op._parent is None:
            return op
        at = op._parent


class _Verifier:
    def __init__(self) -> None:
        self._faults: list[Diagnostic] = []
        # By class, the parts of operations of which no more needs to be looked at.
        self._settled: dict[type[Operation], Container[Any]] = {}
        # The blocks around the current operation: which operation of each we are inside, and how deep it is.
        self._open: dict[Region, tuple[Block, Operation, int]] = {}
        self._dominators: dict[Region, Dominators] = {}
        self._entered: set[Region] = set()
        # Uses seen as operands, and as members of the chains of values: where they differ, some use is astray.
        self._operands = self._chained = 0
        # The definitions of each symbol table, and which table is around an operation.
        self._symbols: dict[Operation, Symbols] = {}
        self._tables = SymbolTables()
        self._unreadable_tables: set[Operation] = set()
        self.is_walkable = True
        """False when a list of operations or blocks is broken, so that walking along it is not safe."""
        # Own checks wait until the structure around them is known to be right; they take their place in the report by
        # the number of faults that stood before them.
        self._malformed: set[Operation] = set()
        self._waiting: list[tuple[int, Op]] = []

    def _fault(self, op: Operation, message: str) -> None:
        self._faults.append(Diagnostic(op, message))

    def _structural_fault(self, op: Operation, message: str) -> None:
        """A fault that makes `op` something other operations cannot read: parts are missing or of another kind."""
        self._fault(op, message)
        self._malformed.add(op)

    def run(self, root: Operation) -> list[Diagnostic]:
        self._root(root)
        # Work items: a block to go on with from an operation, or a region to leave.
        work: list[Any] = []
        self._enter(root, 0, self._surroundings(root), work)
        while work:
            item = work.pop()
            if item.__class__ is Region:
                self._open.pop(item, None)
                continue
            block, op, depth, barrier = item
            self._rest_of_block(block, op, depth, barrier, work)
        if self._operands != self._chained and self.is_walkable and not self._faults:
            self._stray_uses(root)
        if self._waiting and self.is_walkable:
            self._check_waiting(root)
        return self._faults

    # -- what lies around -----------------------------------------------------------------------------------------

    def _root(self, root: Operation) -> None:
        """Check the operation itself. Where its operands come from is not looked at: that lies outside."""
        for index, use in enumerate(root._operands):
            self._operand_link(root, index, use)
        for index, result in enumerate(root._results):
            if result._owner is not root or result.index != index or self._chain_length(result) is None:
                self._fault(root, f"result {index} or its use chain is broken")
        self._op(root, root._parent)

    def _operand_link(self, op: Operation, index: int, use: OpOperand) -> None:
        before = use._previous
        linked = use._value._first_use if before is None else before._next
        if use._owner is not op or use.index != index or linked is not use:
            self._fault(op, f"operand {index} is not in the use chain of its value")

    def _surroundings(self, root: Operation) -> int:
        """Open the blocks around `root`, whose values may be used inside, up to the depth that isolation hides."""
        depth, op = 0, root
        while True:
            block = op._parent
            region = block._parent if block is not None else None
            if block is None or region is None:
                return depth
            if not block._order_valid:
                block._renumber()
            self._open[region] = (block, op, depth)
            if len(region._blocks) > 1:
                self._dominators[region] = Dominators(region)
            if region._parent is None or region._parent.has_trait(IsolatedFromAbove):
                return depth
            op = region._parent
            depth -= 1

    # -- structure ------------------------------------------------------------------------------------------------

    def _enter(self, op: Operation, depth: int, barrier: int, work: list[Any]) -> None:
        """Queue the regions of `op`. `barrier` is the depth above which values are hidden by isolation."""
        if len(set(op._regions)) != len(op._regions) or not self._entered.isdisjoint(op._regions):
            self._fault(op, "has a region twice, or one that another operation has")
            self.is_walkable = False
            work.clear()  # the way up may lead in a circle, and whoever checks an operation may walk up
            return
        self._entered.update(op._regions)
        inner_barrier = depth + 1 if op.has_trait(IsolatedFromAbove) else barrier
        for region in reversed(op._regions):
            if region._parent is not op:
                self._fault(op, "a region does not know the operation it belongs to")
                self.is_walkable = False
                continue
            if len(set(region._blocks)) != len(region._blocks):
                self._fault(op, "a region has a block twice")
                self.is_walkable = False
                continue
            if any(block._parent is not region for block in region._blocks):
                self._fault(op, "a block does not know the region it belongs to")
                self.is_walkable = False
                continue
            work.append(region)
            intact = [block for block in region._blocks if self._start_block(block, op)]
            if len(intact) != len(region._blocks):
                self.is_walkable = False
            elif len(intact) > 1:
                self._dominators[region] = Dominators(region)
            for block in reversed(intact):
                work.append((block, block._first, depth + 1, inner_barrier))

    def _start_block(self, block: Block, around: Operation) -> bool:
        """Number the operations, so that order is a comparison; check arguments and the list itself.

        False when the list is broken, so that nobody can walk along it.
        """
        for index, argument in enumerate(block._args):
            length = self._chain_length(argument)
            if argument._owner is not block or argument.index != index or length is None:
                self._fault(around, f"block argument {index} or its use chain is broken")
            else:
                self._chained += length
        order, op, previous = 0, block._first, None
        while op is not None:
            if op._parent is not block or op._previous is not previous:
                if op.__class__ is ErasedOperation:
                    self._fault(around, f"a block holds an erased operation: {op.describe()}")
                else:
                    self._fault(op, "the list of operations of its block is broken")
                return False
            op._order = order
            order += 32
            previous, op = op, op._next
        block._order_valid = True
        if previous is not block._last or order != 32 * block._count:
            self._fault(around, "a block does not know its last operation or their number")
            return False
        self._ending(block, around)
        if around.has_trait(SymbolTable):
            self._check_symbols(around, block, self._symbols.setdefault(around, Symbols()))
        return True

    def _ending(self, block: Block, owner: Operation) -> None:
        last = block._last
        if not isinstance(owner, Op):  # what an unregistered operation needs is not known
            return
        if not owner.has_trait(NoTerminator) and (last is None or not last.has_trait(Terminator)):
            if last is None:
                self._fault(owner, "has a block without operations, which needs a terminator")
            elif isinstance(last, Op):
                self._fault(last, f"stands last in a block of {owner.name}, which needs a terminator there")

    def _chain_length(self, value: Value) -> int | None:
        """The number of uses in the chain of `value`, or None when the chain is broken."""
        length, previous, use = 0, None, value._first_use
        while use is not None:
            if use._value is not value or use._previous is not previous:
                return None
            length, previous, use = length + 1, use, use._next
        return length if previous is value._last_use else None

    def _stray_uses(self, root: Operation) -> None:
        """Look for uses that are in the chain of a value, but are not an operand of the operation they name."""
        for op in root.walk():
            blocks = [block for region in op._regions for block in region._blocks]
            for index, use in enumerate(op._operands):
                value, owner = use._value, use._value._owner
                defined = owner._args if owner.__class__ is Block else owner._results
                if not value.index < len(defined) or defined[value.index] is not value:
                    self._fault(op, f"operand {index} is not a result or argument of what defines it")
            values: list[Value] = [argument for block in blocks for argument in block._args]
            if op is not root:
                values += op._results
            for value in values:
                for use in value.uses:
                    user = use._owner
                    if user.__class__ is ErasedOperation:
                        self._fault(op, f"a value that it defines is used by {user.describe()}")
                    elif not use.index < len(user._operands) or user._operands[use.index] is not use:
                        self._fault(
                            op, f"a value that it defines has a use that is not an operand of {user.describe()}"
                        )

    # -- operations -----------------------------------------------------------------------------------------------

    def _rest_of_block(self, block: Block, op: Operation | None, depth: int, barrier: int, work: list[Any]) -> None:
        region = block._parent
        settled = self._settled
        operands = chained = 0
        while op is not None:
            order = op._order
            # What decides whether the declaration is kept: a combination that was right once is right again. These are
            # the `declared_parts`.
            uses, regions, successors = op._operands, op._regions, op._successors
            parts: list[Any] = [op._attributes, len(uses)]
            index = 0
            for use in uses:
                value = use._value
                owner = value._owner
                parts.append(value._type)
                before = use._previous
                if (
                    (value._first_use if before is None else before._next) is not use
                    or use._owner is not op
                    or use.index != index
                ):
                    self._fault(op, f"operand {index} is not in the use chain of its value")
                # In the common case an operand is defined earlier in the same block.
                if owner.__class__ is Block:
                    if owner is not block:
                        self._reach(op, index, value, owner, None, block, barrier)
                elif owner._parent is not block or owner._order >= order:
                    self._reach(op, index, value, owner._parent, owner, block, barrier)
                index += 1
            operands += index
            index = 0
            for result in op._results:
                parts.append(result._type)
                previous, link = None, result._first_use
                while link is not None and link._value is result and link._previous is previous:
                    chained += 1
                    previous, link = link, link._next
                if link is not None or previous is not result._last_use or result._owner is not op:
                    self._fault(op, f"result {index} or its use chain is broken")
                if result.index != index:
                    self._fault(op, f"result {index} thinks that it is result {result.index}")
                index += 1
            if regions or successors:
                parts += (len(regions), len(successors))
            known = settled.get(op.__class__)
            if known is None:
                known = self._settle(op.__class__)
            if tuple(parts) not in known or successors:
                self._op(op, block)
            if regions:
                if region is not None:
                    self._open[region] = (block, op, depth)
                if op._next is not None:
                    work.append((block, op._next, depth, barrier))
                self._enter(op, depth, barrier, work)
                break
            op = op._next
        self._operands += operands
        self._chained += chained

    def _settle(self, cls: type[Operation]) -> Container[Any]:
        known: Container[Any] = _EVERYTHING
        if issubclass(cls, Op):
            known = _NOTHING if _has_check(cls) or Terminator in cls.info.traits else cls.definition.verified
        self._settled[cls] = known
        return known

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
        if owner is not None and value.__class__ is ErasedValue:
            self._fault(op, f"operand {index} is a result of an erased operation: {owner.describe()}")
            return
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
            if _outermost(home) is not _outermost(block):
                holder = home.parent_op
                if owner is not None:
                    source = f"defined by {owner.describe()}"
                else:
                    source = f"a block argument of {holder.describe()}" if holder is not None else "a block argument"
                self._fault(op, f"operand {index} is a value of another program, {source}")
            else:
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
        if not self.is_walkable:  # where control goes is not known
            return True
        dominators = self._dominators.get(region) if region is not None else None
        return above is below if dominators is None else dominators.dominates(above, below)

    def _op(self, op: Operation, block: Block | None) -> None:
        """Check what the op class asks for, and where its successors are."""
        if isinstance(op, Op):
            faults = declared_faults(op.definition, op)
            for message in faults:
                self._structural_fault(op, message)
            if op._next is not None and block is not None and op.has_trait(Terminator):
                self._fault(op, "is a terminator, but other operations follow it")
            if not faults and _has_check(op.__class__):
                self._waiting.append((len(self._faults), op))
        if op._successors and op._next is not None and not op.has_trait(Terminator):
            self._fault(op, "branches, but other operations follow it")
        for successor in op._successors:
            region = successor._parent
            if region is None or block is None or region is not block._parent:
                self._fault(op, "branches to a block of another region")
            elif successor is region._blocks[0]:
                self._fault(op, "branches to the entry block of its region, which is entered from outside alone")

    # -- what operations check themselves -------------------------------------------------------------------------

    def _check_waiting(self, root: Operation) -> None:
        """Run the checks of operations whose surroundings keep their declarations, and sort in what they find.

        A check reads operations around its own and inside it, and takes for granted what they declare. Where one of
        these is malformed, that is the fault to mend first.
        """
        if any(isinstance(around, Op) and declared_faults(around.definition, around) for around in root.ancestors()):
            return  # nothing is known about where it stands; that is for whoever verifies the whole
        unreadable = self._unreadable(root) if self._malformed else frozenset[Operation]()
        structural, self._faults = self._faults, []
        merged = 0
        for before, op in self._waiting:
            self._faults += structural[merged:before]
            merged = before
            if op not in unreadable:
                self._own_checks(op)
        self._faults += structural[merged:]

    def _unreadable(self, root: Operation) -> frozenset[Operation]:
        """The malformed operations, and what lies around and inside them; O(size)."""
        around: set[Operation] = set()
        for op in self._malformed:
            holder = op.parent_op
            while holder is not None and holder not in around:
                around.add(holder)
                holder = holder.parent_op
        inside: set[Operation] = set()
        for op in root.walk():
            holder = op.parent_op
            if holder is not None and (holder in inside or holder in self._malformed):
                inside.add(op)
        return frozenset(self._malformed | around | inside)

    def _own_checks(self, op: Op) -> None:
        check = getattr(op, "verify_op", None)
        user = op.interface(SymbolUser)
        try:
            if check is not None:
                check()
            if user is not None and (table := self._tables.around(op)) is not None:
                symbols = self._symbols_of(table)
                if table not in self._unreadable_tables:
                    user.verify_symbols(symbols)
        except IrError as error:
            self._fault(op, error.message)

    def _symbols_of(self, table: Operation) -> Symbols:
        symbols = self._symbols.get(table)
        if symbols is None:  # it lies around the operation that is verified
            symbols = self._symbols[table] = Symbols()
            for region in table._regions[:1]:
                for block in region._blocks:
                    self._check_symbols(table, block, symbols)
        return symbols

    def _check_symbols(self, table: Operation, block: Block, seen: dict[str, Operation]) -> None:
        for op in block:
            name = op._attributes.get("sym_name")
            if isinstance(name, StrAttr):
                if isinstance(op, Op) and declared_faults(op.definition, op):
                    self._unreadable_tables.add(table)
                first = seen.setdefault(name.value, op)
                if first is not op:
                    self._fault(op, f"the symbol @{name.value} is defined twice, first by {first.describe()}")
