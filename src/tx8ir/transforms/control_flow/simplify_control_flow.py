"""`simplify-control-flow`: branches, choices and loops that need not be there."""

from __future__ import annotations

from typing import ClassVar, cast

import attrs

from tx8ir.analysis.constants import splat_value
from tx8ir.analysis.control_flow import is_choice
from tx8ir.analysis.effects import is_speculatable
from tx8ir.analysis.forwarding import ForwardingGroup, forwarding_groups, incoming_values
from tx8ir.core import Block, Operation, Program, Pure, RecursiveEffects, Region, Value, detached
from tx8ir.core.ir.region_branch import RegionFlow, region_flow
from tx8ir.dialects import scf
from tx8ir.dialects.scf import condition_of
from tx8ir.dialects.scf.loops import known_integer
from tx8ir.passes import OperationPass, option, register_pass
from tx8ir.support.trampoline import Task, run_trampoline

from .loops import without_forwarded
from .selection import can_select, select
from .simplify_blocks import simplify_blocks

__all__ = ["SimplifyControlFlow"]


@register_pass
@attrs.frozen
class SimplifyControlFlow(OperationPass):
    """Removes branches that always go the same way, blocks that only go on, and values that nobody needs.

    Between blocks (`cf`): a branch on a constant, or to one block with the same values, goes one way; blocks that
    nothing reaches go; a branch skips blocks that only branch on; a block with one way in becomes part of where it
    comes from; block arguments go that are not used, or the same value on every edge.

    In regions (`scf`): an `scf.if` on a constant, or with two sides alike, gives way to a side, an `scf.index_switch`
    on one to the region for it, an `scf.execute_region` to its region, an `scf.for` of no round to what it carries
    and of one round to its body; an `scf.while` whose condition is constantly false to its `before` region; an
    `scf.if` that does nothing goes. A result that is the same value on both sides is that value. Results, and values
    that a loop carries, that nothing needs go.

    A choice between two values becomes `pd.where`, where both exist already or are made by a few operations that are
    pure and never fail (`speculate`), from values of static vtensor types. Both are computed then.

    Assumes: nothing; a loop comes to an end. Guarantees: none of the above is left; what becomes constant by it, but
    needs evaluating, is left to `sccp`. Idempotent. Cost: O(operations + edges) for each round; there is another one
    when what a round did between blocks decides something in regions, or the other way round.
    Statistics: `constant` (conditions), `identical` (branches with no difference), `unreachable` and `merged` (blocks),
    `threaded` (edges that skip blocks), `selected` (values chosen by `pd.where`), `unused` (results, carried values,
    arguments), `empty` (choices that did nothing).

    As LLVM's `simplifycfg` and MLIR's block and `scf` canonicalizations do.
    """

    name: ClassVar[str] = "simplify-control-flow"

    select: bool = option(True, "replace choices between values by pd.where")
    speculate: int = option(
        2,
        "how many operations an scf.if may have that then always run, for its choice to become pd.where",
        validator=attrs.validators.ge(0),
    )

    def run_on(self, root: Operation, program: Program) -> None:
        with detached():
            for part in list(program.body) if root is program.module else [root]:
                while self._simplify(part):
                    pass

    def _simplify(self, part: Operation) -> bool:
        """One round in a function, say; whether it changed anything."""
        before = sum(self.statistics.values())
        walk = _Walk(self)
        for region in part.regions:
            for block in region.blocks:
                run_trampoline(walk.block(block))
            walk.drop_unused(region)
        for region in [*part.regions, *walk.several]:
            for what, n in simplify_blocks(region, by=self.name, selects=self.select).items():
                self.count(what, n)
        return sum(self.statistics.values()) > before


class _Walk:
    """Simplifies choices and loops, inner ones first; those with a constant condition before what is inside.

    Attributes:
        several: the regions met that have several blocks.
    """

    def __init__(self, by: SimplifyControlFlow) -> None:
        self.by = by
        self.several: list[Region] = []

    def block(self, block: Block) -> Task:
        """Simplify what is in a block."""
        op = block.first_op
        while op is not None:
            following = self._decided(op)
            if following is not op:
                op = following
                continue
            if op.regions:
                for region in op.regions:
                    for inner in region.blocks:
                        yield self.block(inner)
                    if len(region) > 1:
                        self.several.append(region)
                op = self._simplified(op)
            else:
                op = op.next_op

    def _decided(self, op: Operation) -> Operation | None:
        """Put the region that runs in the place of a choice or loop with a constant condition; the next operation."""
        if isinstance(op, scf.IfOp):
            truth = splat_value(op.condition)
            if truth is None:
                return op
            self.by.count("constant")
            return self._in_place_of(op, op.then_region if truth else op.else_region)
        if isinstance(op, scf.WhileOp) and splat_value(condition_of(op).condition) is False:
            for argument, value in zip(op.before.block.args, op.inits, strict=True):
                argument.replace_all_uses_with(value)
            self.by.count("constant")
            return self._in_place_of(op, op.before)
        if isinstance(op, scf.IndexSwitchOp):
            number = known_integer(op.number)
            if number is not None:
                self.by.count("constant")
                return self._in_place_of(op, op.region_for(number))
        if isinstance(op, scf.ExecuteRegionOp):
            self.by.count("constant")
            return self._in_place_of(op, op.body)
        if isinstance(op, scf.ForOp) and op.trip_count() in (0, 1):
            self.by.count("constant")
            if not op.trip_count():
                following = op.next_op
                op.replace_with(op.inits, self.by.name)
                return following
            for argument, value in zip(op.body.block.args, (op.lower, *op.inits), strict=True):
                argument.replace_all_uses_with(value)
            return self._in_place_of(op, op.body)
        return op

    def _in_place_of(self, op: Operation, region: Region) -> Operation | None:
        """Let the operations of a region take the place of `op`; the first of them, or what follows."""
        block = op.parent
        assert block is not None  # it was found in one
        before = op.prev_op
        values: tuple[Value, ...] = ()
        if len(region):
            end = region.block.terminator
            assert isinstance(end, (scf.YieldOp, scf.ConditionOp))  # verified
            values = end.values
            end.erase(self.by.name)
            block.splice_before(op, region.block)
        op.replace_with(values, self.by.name)
        return before.next_op if before is not None else block.first_op

    def _simplified(self, op: Operation) -> Operation | None:
        """Simplify a choice or loop whose insides are done; the next operation to look at."""
        following = self._decided(op)
        if following is not op:
            return following
        following = op.next_op
        if isinstance(op, scf.IfOp) and len(op.else_region):
            return self._choice(op)
        return following

    # -- what nothing needs --------------------------------------------------------------------------------------------

    def drop_unused(self, region: Region) -> None:
        """Drop results and carried values that nothing needs, users before what they use."""
        work = [reversed(block) for block in region.blocks]
        while work:
            op = next(work[-1], None)
            if op is None:
                work.pop()
                continue
            flow = region_flow(op)
            left = self._drop_forwarded(op, flow) if flow is not None else op
            if left is not None:
                work += [reversed(block) for inner in left.regions for block in inner.blocks]

    def _drop_forwarded(self, op: Operation, flow: RegionFlow) -> Operation | None:
        """Drop values without uses, and the whole choice when it does nothing any more; what is left."""
        unused = _unused(flow)
        self.by.count("unused", sum(map(len, unused.values())))
        does_nothing = is_choice(flow) and (
            Pure in op.info.traits
            or (
                RecursiveEffects in op.info.traits
                and all(len(block) == 1 for region in op.regions for block in region.blocks)
            )
        )
        if does_nothing and not any(result.has_uses for result in op.results):
            op.erase(self.by.name)
            self.by.count("empty")
            return None
        return without_forwarded(op, flow.branch, unused, self.by.name)

    # -- choices -------------------------------------------------------------------------------------------------------

    def _choice(self, op: scf.IfOp) -> Operation | None:
        following = op.next_op
        if _alike(op.then_region.block, op.else_region.block):
            self.by.count("identical")
            return self._in_place_of(op, op.then_region)
        ends = cast(tuple[Operation, Operation], (op.then_region.block.terminator, op.else_region.block.terminator))
        sides = (op.then_region.block, op.else_region.block)
        made_inside = [any(end.operands[r.index].parent_block in sides for end in ends) for r in op.results]
        if self.by.select and any(made_inside) and self._can_speculate(op):
            block = op.parent
            assert block is not None  # it was found in one
            for side, end in zip(sides, ends, strict=True):
                end.detach()
                block.splice_before(op, side)
                side.append(end)
            made_inside = [False] * len(made_inside)
        for result in op.results:
            a, b = (end.operands[result.index] for end in ends)
            if not result.has_uses or made_inside[result.index]:
                continue
            if a is b:
                result.replace_all_uses_with(a)
            elif self.by.select and can_select(op.condition, a, b):
                result.replace_all_uses_with(select(op, op.condition, a, b, self.by.name))
                self.by.count("selected")
        return following

    def _can_speculate(self, op: scf.IfOp) -> bool:
        """Whether both sides may always run, and every result that is used can then be selected."""
        sides = (op.then_region.block, op.else_region.block)
        if len(sides[0]) + len(sides[1]) - 2 > self.by.speculate:
            return False
        ends = [cast(Operation, side.terminator) for side in sides]
        return all(is_speculatable(inner) for side in sides for inner in side if inner not in ends) and all(
            can_select(op.condition, *(end.operands[result.index] for end in ends))
            for result in op.results
            if result.has_uses
        )


def _alike(one: Block, other: Block) -> bool:
    """Whether two blocks without arguments do the same, operation by operation; those with regions never do."""
    if len(one) != len(other):
        return False
    same: dict[Value, Value] = {}
    for a, b in zip(one, other, strict=True):
        if a.__class__ is not b.__class__ or a.attributes is not b.attributes or a.regions or b.regions:
            return False
        if len(a.operands) != len(b.operands) or len(a.results) != len(b.results):
            return False
        if any(same.get(x, x) is not y for x, y in zip(a.operands, b.operands, strict=True)):
            return False
        if any(x.type is not y.type for x, y in zip(a.results, b.results, strict=True)):
            return False
        same.update(zip(a.results, b.results, strict=True))
    return True


def _unused(flow: RegionFlow) -> dict[ForwardingGroup, set[int]]:
    """Which forwarded values nothing needs but to hand each other on."""
    groups = forwarding_groups(flow)
    if groups is None:
        return {}
    columns: dict[Value, tuple[ForwardingGroup, int]] = {}
    unused = {group: set(range(group.width)) for group in groups}
    ends: dict[Operation, list[range]] = {}
    for end, _, edge in flow.with_ends():
        if end is not None and end is not flow.op and edge.forwarded is not None:
            ends.setdefault(end, []).append(edge.forwarded)
    for group in groups:
        for inputs in group.targets.values():
            columns.update((value, (group, index)) for index, value in enumerate(inputs))
    feeding: dict[tuple[ForwardingGroup, int], list[Value]] = {}
    for target, values in incoming_values(flow).items():
        feeding.setdefault(columns[target], []).extend(value for value in values if value in columns)
    live = [
        value
        for value in columns
        if any(not any(use.index in forwarded for forwarded in ends.get(use.owner, ())) for use in value.uses)
    ]
    while live:
        group, index = columns[live.pop()]
        if index in unused[group]:
            unused[group].remove(index)
            live += feeding.get((group, index), ())
    return unused
