"""`loop-invariant-motion`: what a loop computes anew in each round with the same result moves before it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple, cast

import attrs

from tx8ir.analysis import AliasAnalysis
from tx8ir.analysis.control_flow import region_order, unforwarded
from tx8ir.analysis.effects import may_fail, only_reads
from tx8ir.analysis.forwarding import ForwardingGroup, forwarding_groups, incoming_values
from tx8ir.core import (
    Block,
    DictType,
    ListType,
    LoopLike,
    Operation,
    Program,
    Pure,
    ReadOnly,
    RecursiveEffects,
    RegionBranch,
    TensorType,
    Terminator,
    TupleType,
    Type,
    Value,
)
from tx8ir.core.ir.region_branch import RegionFlow, region_branch_around, region_flow
from tx8ir.passes import OperationPass, register_pass

from .loops import without_forwarded

__all__ = ["LoopInvariantMotion"]


@register_pass
@attrs.frozen
class LoopInvariantMotion(OperationPass):
    """Moves invariant operations out of loops (`scf.while`), and removes what a loop carries without changing it.

    1. A *transparent* argument is carried and never changed: every round yields what it was given. The value that it
       starts with takes its place. So do arguments that only change places with others of the same start.
    2. An operation moves before the loop when nothing it uses is made inside, when it is `Pure`, or reads storage
       that nothing in the loop may write (`AliasAnalysis`), and when it makes no storage, which would be new in each
       round. A choice (`scf.if`), with all inside, moves like an operation.
       What runs in every case, in the first round of the region that is entered first (`before`), may move even if it
       may fail (divide by zero, index out of range, not come to an end). Other regions (`after`) may never run: from
       there only what never fails moves.
    3. What the loop passes on to another region or as a result, and is not made in it, is used directly.

    Inner loops come first, so that an operation leaves as many loops as it can.

    Assumes: nothing. Loops made of `cf` branches are left alone.
    Guarantees: no loop has any of the above. Idempotent. An operation that moves from an `after` region runs once where
    it may not have run at all. Cost: O(operations + uses) for each round, once more for each loop that an operation
    leaves; in nested loops also the storages touched in each. After a round in which values went there is another one,
    if there are several loops. Statistics: `hoisted` (operations), `transparent` (arguments removed),
    `forwarded` (passed values removed).

    The motion is that of Aho, Sethi and Ullman (Compilers, 1986, §10.7), on structured loops as in MLIR's
    `loop-invariant-code-motion`; ByteIR removes transparent arguments.
    """

    name: ClassVar[str] = "loop-invariant-motion"
    aliases: ClassVar[tuple[str, ...]] = ("licm",)

    def run_on(self, root: Operation, program: Program) -> None:
        has_loops = any(_is_loop(op) for op in root.walk() if op.regions)
        while has_loops and self._round(root, program):
            self.analyses.invalidate(within=root)

    def _round(self, root: Operation, program: Program) -> bool:
        """All loops once; whether there are several and values went: loops inside others may start with such ones."""
        before = self.statistics.get("transparent", 0) + self.statistics.get("forwarded", 0)
        surroundings = _Surroundings(self, program)
        surroundings.scan(root)
        several = len(surroundings.loops) > 1
        for op in surroundings.inner_first:
            around = op
            if op in surroundings.loops:
                around = _Motion(self, surroundings, op).run()
            surroundings.facts[around] = surroundings.summary(around)
        return several and self.statistics.get("transparent", 0) + self.statistics.get("forwarded", 0) > before


class _Facts(NamedTuple):
    """What matters of an operation, with all inside, when it is to move.

    Attributes:
        movable: it has no effect and makes no storage.
        fallible: it may fail, or not come to an end.
        reads: the storages it reads.
        writes: the storages it writes.
        opaque: what it writes is not known.
    """

    movable: bool = True
    fallible: bool = False
    reads: frozenset[int] = frozenset()
    writes: frozenset[int] = frozenset()
    opaque: bool = False


_ON_VALUES = (_Facts(), _Facts(fallible=True))
_IMMOVABLE = _Facts(movable=False)


class _Surroundings:
    """What is known of the operations inside `root`, from before anything moves.

    Attributes:
        inner_first: the operations with regions, those inside before those around.
        captures: for each of these, values that operations inside it use; all those that its own block defines are
            among them.
        flows: where control goes between the regions of each.
        loops: those of them that are loops.
        facts: of the operations inside loops; of those with regions, once they have been visited.
        renamed: values that are gone, and what is there instead.
    """

    def __init__(self, by: LoopInvariantMotion, program: Program) -> None:
        self.inner_first: list[Operation] = []
        self.flows: dict[Operation, RegionFlow] = {}
        self.loops: set[Operation] = set()
        self.captures: dict[Operation, list[Value]] = defaultdict(list)
        self.facts: dict[Operation, _Facts] = {}
        self.renamed: dict[Value, Value] = {}
        self._by = by
        self._program = program
        self._analysis: AliasAnalysis | None = None
        self._holds_tensors = _HoldsTensors()

    def scan(self, root: Operation) -> None:
        """Fill everything from the operations inside `root`."""
        path: list[Operation] = []
        depths: dict[Block, int] = {}
        loops = 0
        work: list[tuple[Operation, bool]] = [(root, False)]
        while work:
            op, is_done = work.pop()
            if is_done:
                path.pop()
                loops -= op in self.loops
                self.inner_first.append(op)
                continue
            for value in op.operands:
                depth = depths.get(value.parent_block) if value.parent_block is not None else None
                if depth is not None and depth < len(path):
                    self.captures[path[depth]].append(value)
            if op.regions:
                path.append(op)
                flow = region_flow(op)
                if flow is not None:
                    self.flows[op] = flow
                    if _is_loop(op):
                        self.loops.add(op)
                        loops += 1
                work.append((op, True))
                blocks = [block for region in op.regions for block in region.blocks]
                depths.update(dict.fromkeys(blocks, len(path)))
                work += [(inner, False) for block in reversed(blocks) for inner in reversed(block)]
            elif loops:
                self.facts[op] = self._facts_of(op)

    def _facts_of(self, op: Operation) -> _Facts:
        traits = op.info.traits
        holds = self._holds_tensors
        if not any(holds[value.type] for value in (*op.operands, *op.results)):
            if Pure in traits:
                return _ON_VALUES[may_fail(op)]
            if Terminator in traits:
                return _IMMOVABLE
        if self._analysis is None:  # most programs have no tensors when this pass runs
            self._analysis = self._by.analyses.get(AliasAnalysis, self._program)
        around = region_branch_around(op)
        if around is not None:  # what they hand on is not read
            parent = op.parent_op
            assert parent is not None  # around it
            read = unforwarded(op.operands, self.flows[parent].edges(around[1]))
            return _Facts(False, reads=frozenset[int]().union(*map(self._analysis.storages, read)))
        effects = self._analysis.effects(op)
        movable = (
            (Pure in traits or ReadOnly in traits or only_reads(op))
            and not effects.writes
            and not effects.opaque
            and not effects.visible
            and not self._analysis.makes_storage(op)
        )
        return _Facts(movable, may_fail(op), effects.reads, effects.writes, effects.opaque)

    def summary(self, op: Operation) -> _Facts:
        """The facts of an operation with regions, from those of the operations directly inside."""
        inner = [inner for region in op.regions for block in region.blocks for inner in block]
        inside = [self.facts.get(one, _IMMOVABLE) for one in inner]
        is_structured = RegionBranch in op.info.interfaces and RecursiveEffects in op.info.traits
        kept = is_structured and self._reads_tensors(op)
        moves = all(facts.movable or one.has_trait(Terminator) for one, facts in zip(inner, inside, strict=True))
        return _Facts(
            movable=is_structured and not kept and moves,
            fallible=(op in self.loops and _may_not_end(op)) or any(facts.fallible for facts in inside),
            reads=frozenset[int]().union(*(facts.reads for facts in inside)),
            writes=frozenset[int]().union(*(facts.writes for facts in inside)),
            opaque=not is_structured or any(facts.opaque for facts in inside),
        )

    def _reads_tensors(self, op: Operation) -> bool:
        """Whether an operation with `RegionBranch` reads a tensor before any region."""
        operands = op.operands
        if not any(isinstance(value.type, TensorType) for value in operands):
            return False
        return any(isinstance(v.type, TensorType) for v in unforwarded(operands, self.flows[op].edges(None)))

    def now(self, value: Value) -> Value:
        """What is there now in place of a value that was used when the scan was made."""
        while value in self.renamed:
            value = self.renamed[value]
        return value


def _is_loop(op: Operation) -> bool:
    interfaces = op.info.interfaces
    return LoopLike in interfaces and RegionBranch in interfaces


class _HoldsTensors(dict[Type, bool]):
    """Whether values of a type have storage; found on first sight. Types are nested as deep as somebody wrote them."""

    __slots__ = ()

    def __missing__(self, kind: Type) -> bool:
        work, held = [kind], False
        while work and not held:
            inner = work.pop()
            held = isinstance(inner, TensorType)
            if isinstance(inner, (ListType, TupleType)):
                work += inner.elements
            elif isinstance(inner, DictType):
                work += inner.values
        self[kind] = held
        return held


def _may_not_end(op: Operation) -> bool:
    """Whether a loop may run for ever."""
    loop = op.interface(LoopLike)
    return loop is None or not loop.always_ends()


class _Motion:
    """One loop, whose inner loops are done."""

    def __init__(self, by: LoopInvariantMotion, surroundings: _Surroundings, loop: Operation) -> None:
        self.by = by
        self.surroundings = surroundings
        self.loop = loop
        self.flow = surroundings.flows[loop]
        self.blocks = {block for region in loop.regions for block in region.blocks}
        inside = surroundings.summary(loop)
        self.writes, self.opaque = inside.writes, inside.opaque
        self.copied: dict[Value, Value | None] | None = None  # by argument or result: the value that it always is

    def run(self) -> Operation:
        """Change the loop; what stands in its place now."""
        loop, surroundings = self.loop, self.surroundings
        replaced: set[Value] = set()
        entered = [edge.target for edge in self.flow.edges(None)]
        for entry in region_order(self.flow):
            region = entry.node
            self._replace([argument for block in region.blocks for argument in block.args], replaced)
            for block in region.blocks[:1]:
                self._hoist_from(block, runs_always=entered == [region])
        self._replace(loop.results, replaced)
        groups = forwarding_groups(self.flow) if replaced else None
        if not groups:
            return loop
        gone: dict[ForwardingGroup, list[int]] = {}
        for group in groups:
            columns = zip(*group.targets.values(), strict=True)
            gone[group] = [index for index, column in enumerate(columns) if replaced.issuperset(column)]
            is_carried = any(source is None for source, _ in group.sources)
            self.by.count("transparent" if is_carried else "forwarded", len(gone[group]))
        removed = {group.targets[None][index] for group in groups if None in group.targets for index in gone[group]}
        left = [result for result in loop.results if result not in removed]
        made = without_forwarded(loop, self.flow.branch, gone, self.by.name)
        if made is not loop:
            surroundings.renamed.update(zip(left, made.results, strict=True))
            surroundings.captures[made] = surroundings.captures.pop(loop, [])
            surroundings.loops.add(made)
            surroundings.flows[made] = cast(RegionFlow, region_flow(made))
        return made

    def _replace(self, inputs: Sequence[Value], replaced: set[Value]) -> None:
        """Use what is the same in every round, and comes from outside, in place of arguments or results."""
        if inputs and self.copied is None:
            self.copied = _copied(incoming_values(self.flow))
        for value in inputs:
            source = self.copied.get(value) if self.copied is not None else None
            if source is not None and source.parent_block not in self.blocks:
                self.surroundings.renamed[value] = source
                self.surroundings.captures[self.loop].append(source)
                value.replace_all_uses_with(source)
                replaced.add(value)

    def _hoist_from(self, block: Block, runs_always: bool) -> None:
        """Move what may move of a block of the loop before the loop, in order."""
        for op in block:
            facts = self.surroundings.facts.get(op)
            if facts is None or not facts.movable or op.has_trait(Terminator):
                continue
            if facts.fallible and not runs_always:
                continue
            if facts.reads and (self.opaque or not facts.reads.isdisjoint(self.writes)):
                continue
            used = [*op.operands, *map(self.surroundings.now, self.surroundings.captures.get(op, ()))]
            if any(value.parent_block is block for value in used):
                continue
            op.move_before(self.loop)
            self.surroundings.captures[self.loop] += op.results
            if op.regions:  # what it uses of the block that it is in now
                values = [value for inner in op.walk() for value in inner.operands]
                self.surroundings.captures[op] = [value for value in values if value.parent_block is op.parent]
            self.by.count("hoisted")


_UNKNOWN: Final[Any] = object()


def _copied(incoming: Mapping[Value, Sequence[Value]]) -> dict[Value, Value | None]:
    """For each argument and result of a loop the value that it always is; None when it is not always the same.

    All are taken to be what the first one that comes in is, until another one comes in; then those that it goes on to
    are looked at again. O(values forwarded).
    """
    users: dict[Value, list[Value]] = {}
    for target, values in incoming.items():
        for value in values:
            if value in incoming:
                users.setdefault(value, []).append(target)
    found: dict[Value, Value | None] = {}
    work = list(incoming)[::-1]
    while work:
        target = work.pop()
        now: Value | None = None
        is_known = False
        for value in incoming[target]:
            source = found.get(value, _UNKNOWN) if value in incoming else value
            if source is _UNKNOWN:
                continue
            if not is_known:
                now, is_known = source, True
            elif source is not now:
                now = None
                break
        if is_known and found.get(target, _UNKNOWN) is not now:
            found[target] = now
            work += users.get(target, ())
    return found
