"""Loops with fewer values: what several passes do to an `scf.while`."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from tx8ir.core import Region, Value
from tx8ir.dialects import scf
from tx8ir.dialects.scf import condition_of, yield_of


def without(loop: scf.WhileOp, carried: Collection[int], passed: Collection[int], by: str) -> scf.WhileOp:
    """Let a loop without some of its values take its place, and give it; its results are those left, in order.

    O(values of the loop + those removed · those left of a block). The operations inside move.

    Args:
        loop: is erased, when there is something to remove; else it stays.
        carried: which loop-carried values go: operands, arguments of `before`, operands of `scf.yield`. The arguments
            have no uses.
        passed: which passed values go: operands of `scf.condition`, arguments of `after`, results. Arguments and
            results have no uses.
        by: the pass.
    """
    if not carried and not passed:
        return loop
    before, after = loop.before.block, loop.after.block
    condition, end = condition_of(loop), yield_of(loop)
    condition.set_operands([condition.condition, *_but(condition.values, passed)])
    end.set_operands(_but(end.values, carried))
    for block, gone in ((before, carried), (after, passed)):
        for index in sorted(gone, reverse=True):
            block.erase_argument(index)
    for region in loop.regions:
        region.set_blocks(())
    kept = _but(loop.results, passed)
    made = cast(
        scf.WhileOp,
        scf.WhileOp.create(
            _but(loop.operands, carried),
            [result.type for result in kept],
            loop.attributes,
            [Region([before]), Region([after])],
            location=loop.location,
        ),
    )
    block = loop.parent
    assert block is not None  # a loop of a program
    block.insert_before(made, loop)
    for old, new in zip(kept, made.results, strict=True):
        old.replace_all_uses_with(new)
    loop.erase(by)
    return made


def _but(values: tuple[Value, ...], gone: Collection[int]) -> list[Value]:
    return [value for index, value in enumerate(values) if index not in gone]
