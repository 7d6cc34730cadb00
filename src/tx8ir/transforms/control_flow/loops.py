"""Choices and loops with fewer values: what several passes do to operations with `RegionBranch`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tx8ir.analysis.forwarding import ForwardingGroup
from tx8ir.core import Operation, Region, RegionBranch, Value
from tx8ir.core.ir.region_branch import insert_rebuilt
from tx8ir.core.opdef.operand_fields import set_operand_ranges, with_operands


def without_forwarded(
    op: Operation, branch: RegionBranch, gone: Mapping[ForwardingGroup, Collection[int]], by: str
) -> Operation:
    """Let an operation that forwards fewer values take its place, and give it; its results are those left, in order.

    O(values forwarded). The operations inside move.

    Args:
        op: is erased, when there is something to remove; else it stays.
        branch: its interface.
        gone: which values of its groups go: operands, arguments, results. Arguments and results have no uses but as
            forwarded operands that go as well.
        by: the pass.
    """
    if not any(gone.values()):
        return op
    left: dict[Region | None, list[tuple[range, list[Value]]]] = {}
    removed: dict[Region | None, set[int]] = {}
    ends = {region: region.blocks[-1].last_op for region in op.regions if len(region)}
    for group, indices in gone.items():
        for source, forwarded in group.sources:
            end = op if source is None else ends.get(source)
            if end is not None:
                given = end.operands[forwarded.start : forwarded.stop]
                kept = [value for index, value in enumerate(given) if index not in indices]
                left.setdefault(source, []).append((forwarded, kept))
        for target, inputs in group.targets.items():
            removed[target] = {inputs[index].index for index in indices}
    for source, ranges in left.items():
        ranges.sort(key=lambda entry: entry[0].start)
        end = ends.get(source) if source is not None else None
        if end is not None:
            set_operand_ranges(end, ranges)
    for target, indices in removed.items():
        if target is not None and len(target):
            target.block.erase_arguments(indices)
    operands, attributes = with_operands(op, left.get(None, ()))
    kept_results = [result for result in op.results if result.index not in removed.get(None, ())]
    made = insert_rebuilt(branch, operands, [result.type for result in kept_results], attributes)
    for old, new in zip(kept_results, made.results, strict=True):
        old.replace_all_uses_with(new)
    op.erase(by)
    return made
