"""`Units`: the groups of a program as a graph, whose nodes may be merged.

A group that only changes a layout is one unit with its only reader, or with the group that makes its operand where it
alone reads that: a transfer changes layouts on the way. Aliases are no units: one between two units of a part computes
in SPM, any other one stays an alias of bytes in DDR, so that a reshape ends no group.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import attrs

from tx8ir.backend.graph import backend_ops
from tx8ir.backend.grouping.merge import is_alias, merged_group, replace_by
from tx8ir.backend.grouping.partition import Graph, members
from tx8ir.backend.nest.body import covers
from tx8ir.core import Builder, Operation, Program, Value
from tx8ir.dialects import tx8be

__all__ = ["Units", "is_result", "roots"]

MOVES = (tx8be.LoadVarOp, tx8be.LoadConstOp, tx8be.StoreVarOp, tx8be.ReturnOp, tx8be.NoneOp)
"""Ops that compute nothing."""


@attrs.frozen(eq=False)
class Units:
    """Groups to be merged.

    Attributes:
        groups: those of each unit, in block order.
        graph: the units, by who reads whom, aliases left out.
        position: of each group and alias in the block.
        aliases: each alias with the units between which it is: of its operand, None outside of all, and of its reader.
    """

    groups: tuple[tuple[tx8be.GroupOp, ...], ...]
    graph: Graph
    position: dict[tx8be.GroupOp, int]
    aliases: tuple[tuple[tx8be.GroupOp, int | None, int | None], ...]

    @staticmethod
    def of(program: Program) -> Units:
        """The units of a program; aliases that several groups read are made one for each reader."""
        _split_aliases(program)
        groups = [op for op in backend_ops(program) if isinstance(op, tx8be.GroupOp)]
        position = {group: i for i, group in enumerate(groups)}
        units = _contracted([(group,) for group in groups if not is_alias(group)], position)
        return _graph(units, position)

    def of_part(self, part: int) -> list[tx8be.GroupOp]:
        """The groups of a set of units with the aliases between them, in block order."""
        return sorted(
            [group for unit in members(part) for group in self.groups[unit]]
            + [alias for alias, maker, reader in self.aliases if maker is not None and reader is not None
               and part >> maker & part >> reader & 1],
            key=self.position.__getitem__,
        )  # fmt: skip

    def kinds(self, unit: int) -> tuple[str, ...]:
        """The names of the ops of a unit without their dialect; layout changes are none."""
        return tuple(
            op.name.removeprefix("tx8be.")
            for group in self.groups[unit]
            for op in group.body.block
            if not isinstance(op, (*MOVES, tx8be.ChannelNormOp))
        )

    def merge(self, program: Program, parts: Sequence[int], by: str) -> int:
        """Make each of these parts, which are in an order to carry them out, one group; how many groups are fewer."""
        anchor = next(op for op in backend_ops(program) if isinstance(op, tx8be.TupleOp | tx8be.OutputOp))
        merged = 0
        for part in parts:
            found = self.of_part(part)
            group = merged_group(found) if len(found) > 1 else None
            if group is None:
                for one in found:
                    _place(one, anchor)
                continue
            merged += sum(not is_alias(one) for one in found) - 1
            replace_by(group, found, anchor, by)
            _place(group, anchor)
        left = [op for op in backend_ops(program) if isinstance(op, tx8be.GroupOp) and is_alias(op)]
        for alias in left:
            if any(not isinstance(user, tx8be.GroupOp) for out in alias.outs for user in out.users):
                _place(alias, anchor)
        _join_aliases(program, by)
        return merged


def roots(value: Value) -> Iterator[Value]:
    """The values whose bytes a value has, seen through aliases."""
    maker = value.defining_op
    if isinstance(maker, tx8be.GroupOp) and is_alias(maker):
        for given in maker.inputs:
            yield from roots(given)
    else:
        yield value


def _place(group: tx8be.GroupOp, anchor: Operation) -> None:
    """Move a group before `anchor`, and before it the aliases that it reads."""
    chain: list[tx8be.GroupOp] = [group]
    for one in chain:
        for value in one.inputs:
            maker = value.defining_op
            if isinstance(maker, tx8be.GroupOp) and is_alias(maker):
                chain.append(maker)
    for one in reversed(chain):
        one.move_before(anchor)


def _split_aliases(program: Program) -> None:
    """Give each reader of an alias one of its own."""
    groups = [op for op in backend_ops(program) if isinstance(op, tx8be.GroupOp) and is_alias(op)]
    for alias in reversed(groups):
        uses = [use for out in alias.outs for use in out.uses]
        readers = list(dict.fromkeys(use.owner for use in uses))
        for reader in readers[1:]:
            copy = alias.clone()
            with Builder.after(alias) as builder:
                builder.insert(copy)
            for use in uses:
                if use.owner is reader:
                    use.set(copy.results[alias.results.index(use.value)])


def _join_aliases(program: Program, by: str) -> None:
    """Undo `_split_aliases` where several aliases of a value are left."""
    known: list[tx8be.GroupOp] = []
    by_operand: dict[Value, list[tx8be.GroupOp]] = defaultdict(list)
    for op in list(backend_ops(program)):
        if not isinstance(op, tx8be.GroupOp) or not is_alias(op):
            continue
        same = [one for value in op.inputs for one in by_operand[value] if _is_same(one, op)]
        if same:
            for out, kept in zip(op.outs, same[0].outs, strict=True):
                out.replace_all_uses_with(kept)
            op.erase(by=by)
            continue
        known.append(op)
        for value in op.inputs:
            by_operand[value].append(op)


def _is_same(one: tx8be.GroupOp, other: tx8be.GroupOp) -> bool:
    types = [out.type for out in one.outs] == [out.type for out in other.outs]
    names = [op.name for op in one.body.block] == [op.name for op in other.body.block]
    return types and names and list(one.inputs) == list(other.inputs)


def _contracted(
    units: list[tuple[tx8be.GroupOp, ...]], position: dict[tx8be.GroupOp, int]
) -> list[tuple[tx8be.GroupOp, ...]]:
    """Units with each layout change in one with what alone reads it or what it alone reads."""
    unit_of: dict[tx8be.GroupOp, list[tx8be.GroupOp]] = {group: list(unit) for unit in units for group in unit}

    def joined(one: list[tx8be.GroupOp], other: list[tx8be.GroupOp], between: list[tx8be.GroupOp]) -> bool:
        together = sorted([*one, *other], key=position.__getitem__)
        merged = merged_group(sorted([*together, *between], key=position.__getitem__))
        if merged is None:
            return False
        fits = covers(merged)
        merged.erase()
        if fits:
            one[:] = together
            for group in other:
                unit_of[group] = one
        return fits

    for group in sorted(unit_of, key=position.__getitem__, reverse=True):
        if not _is_relayout(group):
            continue
        readers = {id(unit_of[reader]): (unit_of[reader], way) for reader, way in _readers(group)}
        if len(readers) == 1 and not any(map(is_result, group.outs)):
            ((unit, way),) = readers.values()
            if joined(unit, unit_of[group], way):
                continue
        makers = [maker for value in group.inputs for root in roots(value) if (maker := root.defining_op) in unit_of]
        for maker in makers:
            assert isinstance(maker, tx8be.GroupOp)
            only = {id(unit_of[reader]) for reader, _ in _readers(maker)} == {id(unit_of[group])}
            if only and not any(map(is_result, maker.outs)):
                way = [way for reader, way in _readers(maker) if reader is group]
                joined(unit_of[maker], unit_of[group], way[0])
    return list({id(unit): tuple(unit) for unit in unit_of.values()}.values())


def _is_relayout(group: tx8be.GroupOp) -> bool:
    return all(isinstance(op, (*MOVES, tx8be.ChannelNormOp)) for op in group.body.block)


def _readers(group: tx8be.GroupOp) -> Iterator[tuple[tx8be.GroupOp, list[tx8be.GroupOp]]]:
    """The groups that read a result, each with the aliases between."""
    waiting: list[tuple[tx8be.GroupOp, list[tx8be.GroupOp]]] = [(group, [])]
    for one, way in waiting:
        for out in one.outs:
            for user in out.users:
                if isinstance(user, tx8be.GroupOp):
                    if is_alias(user):
                        waiting.append((user, [*way, user]))
                    else:
                        yield user, way


def is_result(value: Value) -> bool:
    """Whether a value, or an alias of it, leaves the program."""
    waiting = [value]
    for one in waiting:
        for user in one.users:
            if not isinstance(user, tx8be.GroupOp):
                return True
            if is_alias(user):
                waiting += user.outs
    return False


def _graph(units: list[tuple[tx8be.GroupOp, ...]], position: dict[tx8be.GroupOp, int]) -> Units:
    """The units in an order to carry them out, with what they read."""
    owner = {group: i for i, unit in enumerate(units) for group in unit}
    reads: list[set[int]] = [set() for _ in units]
    outer: dict[Value, set[int]] = defaultdict(set)
    for i, unit in enumerate(units):
        for group in unit:
            for value in group.inputs:
                for root in roots(value):
                    maker = root.defining_op
                    if isinstance(maker, tx8be.GroupOp):
                        reads[i] |= {owner[maker]} - {i}
                    else:
                        outer[root].add(i)
    number = {old: new for new, old in enumerate(_order(units, reads, position))}
    ordered = sorted(range(len(units)), key=number.__getitem__)
    graph = Graph.of(
        [sum(1 << number[other] for other in reads[i]) for i in ordered],
        [sum(1 << number[i] for i in readers) for readers in outer.values()],
    )
    aliases: list[tuple[tx8be.GroupOp, int | None, int | None]] = []
    for alias in position:
        if is_alias(alias):
            makers = {root.defining_op for value in alias.inputs for root in roots(value)}
            maker = next(iter(makers)) if len(makers) == 1 else None
            reader = next((reader for reader, _ in _readers(alias)), None)
            aliases.append((
                alias,
                number[owner[maker]] if isinstance(maker, tx8be.GroupOp) else None,
                None if reader is None else number[owner[reader]],
            ))  # fmt: skip
    return Units(tuple(units[i] for i in ordered), graph, position, tuple(aliases))


def _order(
    units: Sequence[tuple[tx8be.GroupOp, ...]], reads: Sequence[set[int]], position: dict[tx8be.GroupOp, int]
) -> list[int]:
    """Units depth first: each as soon as what it reads is there, so that what belongs together is near."""
    done: dict[int, None] = {}
    for start in sorted(range(len(units)), key=lambda i: position[units[i][-1]]):
        stack = [start]
        while stack:
            i = stack[-1]
            missing = sorted((j for j in reads[i] if j not in done), key=lambda j: position[units[j][-1]])
            if missing:
                stack.append(missing[0])
            else:
                done[stack.pop()] = None
    return list(done)
