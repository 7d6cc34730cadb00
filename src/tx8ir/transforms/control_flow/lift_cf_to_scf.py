"""`lift-cf-to-scf`: branches between blocks become choices and loops with regions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

import attrs

from tx8ir.core import Block, Operation, OpOperand, Program, Region, Value, at_location, detached
from tx8ir.dialects import cf, func, pd, scf
from tx8ir.passes import OperationPass, register_pass
from tx8ir.rewriting.provenance import derived_location

from .simplify_blocks import Edge, edges_of, erase_blocks, last_first

__all__ = ["LiftCfToScf"]


@register_pass
@attrs.frozen
class LiftCfToScf(OperationPass):
    """Turns blocks that form a choice or a loop into `scf.if` and `scf.while`, innermost first.

    A choice is a `cf.cond_br` whose two ways meet in one block, each at once or after blocks that nothing else goes to.
    A loop is a block that branches to itself, or to blocks that nothing else goes to and that come back to it, and else
    goes on. Several returns of a function become one, which the others go to. Blocks with one way in become part of
    where it comes from. Passes that know regions (`sccp`, `unroll`, `simplify-control-flow`, `inline`) then need not
    know the same of blocks.

    What has another form stays between blocks: a loop with a second way out, or entered in its middle, and branches of
    other dialects.

    Assumes: nothing. Guarantees: operations run as before; a region made of choices and loops as above, and of
    sequences of them inside one another, has one block. Blocks that nothing reaches are erased. Idempotent.
    Cost: O(operations + branches + uses of what a loop computes for its test · depth). Statistics: `choices`, `loops`,
    `merged` and `unreachable` (blocks), `returns` (that go to a common one).

    MLIR's pass of this name also takes branches apart that have no such form; the reduction of patterns in the graph of
    branches is structural analysis, Sharir, Computer Languages 5(3), 1980.
    """

    name: ClassVar[str] = "lift-cf-to-scf"

    def run_on(self, root: Operation, program: Program) -> None:
        regions = [region for op in root.walk() for region in op.regions if len(region) > 1]
        with detached():
            for region in reversed(regions):  # those inside others first
                for what, n in _Lifting(region, self.name).run().items():
                    self.count(what, n)


class _Lifting:
    """Folds the blocks of one region into each other, each after those that it goes to.

    While it works the blocks are in no region. A block and those that follow it, and nothing else, are a chain: they
    become one block when they become the body of a region, or at the end, so that operations move once.
    """

    def __init__(self, region: Region, by: str) -> None:
        self.region = region
        self.by = by
        self.counts: Counter[str] = Counter()
        self._next: dict[Block, Block] = {}
        self._last: dict[Block, Block] = {}  # of a chain of several blocks, by its first
        self._done: set[Block] = set()
        self._gone: set[Block] = set()
        self._ways_in: Counter[Block] = Counter()

    def run(self) -> Counter[str]:
        """Fold as far as it goes; what was done."""
        region = self.region
        order = last_first(region.block)
        self.counts["unreachable"] += erase_blocks(region, set(region.blocks).difference(order), self.by)
        joined = self._join_returns()
        order = order if joined is None else [joined, *order]
        blocks = region.blocks
        for block in blocks:
            self._ways_in.update(block.successors)
        region.set_blocks(())
        for block in order:
            self._fold(block)
            self._done.add(block)
        kept = [block for block in blocks if block not in self._gone]
        for block in kept:
            self._merge(block)
        region.set_blocks(kept)
        return +self.counts

    def _join_returns(self) -> Block | None:
        """Let all returns but one go to a block that returns; that block, if there is one now."""
        ends = [block.last_op for block in self.region.blocks]
        returns = [op for op in ends if isinstance(op, func.ReturnOp)]
        if len(returns) < 2:
            return None
        end = Block([value.type for value in returns[0].operands])
        with at_location(derived_location([op.location for op in returns], self.by)):
            end.append(func.ReturnOp(end.args))
        for op in returns:
            _replace_end(op, cf.BranchOp(op.operands, dest=end), self.by)
        self.region.append(end)
        self.counts["returns"] += len(returns)
        return end

    # -- chains --------------------------------------------------------------------------------------------------------

    def _end(self, block: Block) -> Operation | None:
        """The branch at the end of a chain."""
        return self._last.get(block, block).last_op

    def _goes_to(self, block: Block) -> Block | None:
        """Where a chain that is entered in one way only goes on, if in one way only."""
        if self._ways_in[block] != 1 or block not in self._done:
            return None
        end = self._end(block)
        return end.dest if isinstance(end, cf.BranchOp) else None

    def _merge(self, block: Block) -> Block:
        """Make a chain one block."""
        following = self._next.pop(block, None)
        self._last.pop(block, None)
        while following is not None:
            for op in following:
                op.detach()
                block.append(op)
            following = self._next.pop(following, None)
        return block

    def _fold(self, block: Block) -> None:
        """Fold what follows `block` into it, as far as that has been folded itself."""
        changing = True
        while changing:
            end = self._end(block)
            if isinstance(end, cf.BranchOp):
                changing = self._follow(block, end)
            elif isinstance(end, cf.CondBranchOp):
                changing = self._choice(end) or self._loop(block, end)
            else:
                changing = False

    def _follow(self, block: Block, end: cf.BranchOp) -> bool:
        """Let the block that nothing else goes to follow in the chain."""
        dest = end.dest
        if self._ways_in[dest] != 1 or dest not in self._done:
            return False
        for argument, value in zip(dest.args, end.dest_operands, strict=True):
            argument.replace_all_uses_with(value)
        end.erase(self.by)
        self._next[self._last.get(block, block)] = dest
        self._last[block] = self._last.pop(dest, dest)
        self._gone.add(dest)
        self.counts["merged"] += 1
        return True

    # -- choices -------------------------------------------------------------------------------------------------------

    def _choice(self, end: cf.CondBranchOp) -> bool:
        """An `scf.if` in the place of two ways that meet."""
        edges = edges_of(end)
        (a, _), (b, _) = edges
        after_a, after_b = self._goes_to(a), self._goes_to(b)
        if after_a is not None and after_a is after_b and a is not b:
            join = after_a
        elif after_a is b or a is b:
            join = b
        elif after_b is a:
            join = a
        else:
            return False
        place = end.location
        with at_location(derived_location([place], self.by)):
            regions = [Region([self._side(edge, join)]) for edge in edges]
            choice = scf.IfOp(
                end.condition,
                then_region=regions[0],
                else_region=regions[1],
                outputs=[argument.type for argument in join.args],
            )
            block = end.parent
            assert block is not None  # the end of one
            block.insert_before(choice, end)
        with at_location(place):
            _replace_end(end, cf.BranchOp(choice.results, dest=join), self.by)
        self._ways_in[join] -= 1
        self.counts["choices"] += 1
        return True

    def _side(self, edge: Edge, join: Block) -> Block:
        """The body of one side: the blocks on the way to `join`, and what they give it."""
        block, given = edge
        if block is join:
            body = Block()
            body.append(scf.YieldOp(given))
            return body
        return self._body(block, given)

    def _body(self, block: Block, given: Sequence[Value]) -> Block:
        """A chain as a body that takes nothing and yields what it gave to the block it went to."""
        body = self._merge(block)
        for argument, value in zip(body.args, given, strict=True):
            argument.replace_all_uses_with(value)
        body.erase_arguments(range(len(body.args)))
        end = body.last_op
        assert isinstance(end, cf.BranchOp)  # _goes_to
        with at_location(end.location):
            _replace_end(end, scf.YieldOp(end.dest_operands), self.by)
        self._gone.add(block)
        return body

    # -- loops ---------------------------------------------------------------------------------------------------------

    def _loop(self, header: Block, end: cf.CondBranchOp) -> bool:
        """An `scf.while` in the place of a block that goes on, or to what comes back to it."""
        back = [dest is header or self._goes_to(dest) is header for dest, _ in edges_of(end)]
        if back[0] == back[1]:
            return False
        before = self._take_out(header)
        (again, given), (leaving, left) = edges_of(end) if back[0] else reversed(edges_of(end))
        place, condition = derived_location([end.location], self.by), end.condition
        end.erase(self.by)
        with at_location(place):
            if not back[0]:
                inverted = before.append(pd.LogicalNotOp(condition))
                condition = inverted.results[0]
            if again is header:
                after = Block()
                after.append(scf.YieldOp(given))
            else:
                after = self._body(again, given)
            passed, uses = _needed(before, left)
            before.append(scf.ConditionOp(condition, passed))
            arguments = {value: after.add_argument(value.type) for value in passed}
            in_round = [_outermost(use.owner) is after for use, _ in uses]
            loop = scf.WhileOp(
                header.args, before=Region([before]), after=Region([after]), outputs=[value.type for value in passed]
            )
            results = dict(zip(passed, loop.results, strict=True))
            for (use, value), inside in zip(uses, in_round, strict=True):
                use.set(arguments[value] if inside else results[value])
            header.append(loop)
            header.append(cf.BranchOp([results.get(value, value) for value in left], dest=leaving))
        self._ways_in[header] -= 1
        self.counts["loops"] += 1
        return True

    def _take_out(self, header: Block) -> Block:
        """What a chain does, in a block of its own that takes the same; the chain is empty then."""
        self._merge(header)
        taken = Block([argument.type for argument in header.args])
        for argument, carried in zip(header.args, taken.args, strict=True):
            argument.replace_all_uses_with(carried)
        for op in header:
            op.detach()
            taken.append(op)
        return taken


def _needed(block: Block, left: Sequence[Value]) -> tuple[list[Value], list[tuple[OpOperand, Value]]]:
    """The values that a block in no region defines and that are used outside, or among `left`; and these uses."""
    wanted = set(left)
    passed: list[Value] = []
    uses: list[tuple[OpOperand, Value]] = []
    for value in [*block.args, *(result for op in block for result in op.results)]:
        outside = [(use, value) for use in value.uses if _outermost(use.owner) is not block]
        if outside or value in wanted:
            passed.append(value)
            uses += outside
    return passed, uses


def _outermost(op: Operation) -> Block | None:
    """The block around `op` that is in no region."""
    block = op.parent
    while block is not None and block.parent_op is not None:
        block = block.parent_op.parent
    return block


def _replace_end(end: Operation, by_op: Operation, by: str) -> None:
    """Let another operation end a block."""
    block = end.parent
    assert block is not None  # the end of one
    end.erase(by)
    block.append(by_op)
