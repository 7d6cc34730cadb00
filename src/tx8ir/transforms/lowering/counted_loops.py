"""`scf.for` as `scf.while`, `scf.parallel` as loops in one another, `scf.index_switch` as choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from tx8ir.core import (
    Block,
    Builder,
    IntAttr,
    Operation,
    Region,
    ScalarType,
    Terminator,
    Value,
    at_location,
    insert_here,
)
from tx8ir.dialects import arith, scf
from tx8ir.rewriting.provenance import derived_location

_LESS = arith.INTEGER_PREDICATES.index("slt")
_EQUAL = arith.INTEGER_PREDICATES.index("eq")


def expand_loops(root: Operation, by: str) -> None:
    """Let `scf.while` and `scf.if` do what the other operations of `scf` do, inner ones first."""
    for op in reversed([op for op in root.walk() if isinstance(op, scf.ParallelOp)]):
        with at_location(derived_location([op.location], by)), Builder.before(op):
            made = _nested(op, (), op.inits)
        op.replace_with(made, by)
    for op in reversed([op for op in root.walk() if op.regions]):
        if isinstance(op, scf.ForOp):
            _counted(op, by)
        elif isinstance(op, scf.IndexSwitchOp):
            _switch(op, by)
        elif isinstance(op, scf.ExecuteRegionOp):
            op.replace_with(_moved(op.body, op, by), by)


def _nested(op: scf.ParallelOp, places: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
    """Loops over the dimensions that are left, which take the places in row-major order; what they carry in the end."""
    axis = len(places)
    if axis < len(op.lower):

        def inside(place: Value, *values: Value) -> Sequence[Value]:
            return _nested(op, (*places, place), values)

        loop = scf.ForOp.build(op.lower[axis], op.upper[axis], op.step[axis], carried, inside)
        return loop.results
    end = op.end()
    given = _copied(op.body.block, places, end.values) if end is not None else ()
    reductions = end.regions if end is not None else ()
    rows = zip(reductions, carried, given, strict=True)
    return [
        _copied(body.block, (total, value), cast(Any, body.block.terminator).operands)[0] for body, total, value in rows
    ]


def _copied(block: Block, given: Sequence[Value], wanted: Sequence[Value]) -> list[Value]:
    """Copy what a block does to the active builder; what some of its values are there."""
    mapping: dict[Value, Value] = dict(zip(block.args, given, strict=True))
    for op in block:
        if not op.has_trait(Terminator):
            insert_here(op.clone(mapping))
    return [mapping.get(value, value) for value in wanted]


def _counted(op: scf.ForOp, by: str) -> None:
    body = op.body.block
    types = [a.type for a in body.args]
    before, after, location = Block(types), Block(types), derived_location([op.location], by)
    with at_location(location), Builder.at_end(before):
        goes_on = arith.CmpIOp(before.args[0], op.upper, predicate=_LESS).out
        scf.ConditionOp(goes_on, before.args)
    for old, new in zip(body.args, after.args, strict=True):
        old.replace_all_uses_with(new)
    carried = _yielded(body, by)
    with at_location(location), Builder.at_end(after):
        following = arith.AddIOp(after.args[0], op.step)
        scf.YieldOp([following.out, *carried])
    after.splice_before(following, body)
    with at_location(location), Builder.before(op):
        regions = {"before": Region([before]), "after": Region([after])}
        loop = scf.WhileOp([op.lower, *op.inits], **regions, outputs=types)
    op.replace_with(loop.results[1:], by)


def _yielded(block: Block, by: str) -> Sequence[Value]:
    """What a block yields, which it does no more."""
    end = cast(Any, block.terminator)
    values: tuple[Value, ...] = end.values
    end.erase(by)
    return values


def _taken(region: Region, by: str) -> Region:
    """A region that does what another did."""
    block = Block()
    values = _yielded(region.block, by)
    with Builder.at_end(block):
        end = scf.YieldOp(values)
    block.splice_before(end, region.block)
    return Region([block])


def _moved(region: Region, place: Operation, by: str) -> Sequence[Value]:
    """Put what a region does before an operation; what it yields."""
    values = _yielded(region.block, by)
    cast(Block, place.parent).splice_before(place, region.block)
    return values


def _switch(op: scf.IndexSwitchOp, by: str) -> None:
    location = derived_location([op.location], by)
    types = [r.type for r in op.results]
    if not op.cases:
        op.replace_with(_moved(op.default_region, op, by), by)
        return
    with at_location(location):
        otherwise = _taken(op.default_region, by)
        for place, (case, region) in reversed(list(enumerate(zip(op.cases, op.case_regions, strict=True)))):
            outer = Block()
            inside = Builder.before(op) if not place else Builder.at_end(outer)
            with inside:
                number = arith.ConstantOp(value=IntAttr(case, cast(ScalarType, op.number.type))).out
                is_case = arith.CmpIOp(op.number, number, predicate=_EQUAL).out
                made = scf.IfOp(is_case, then_region=_taken(region, by), else_region=otherwise, outputs=types)
                if place:
                    scf.YieldOp(made.results)
            if place:
                otherwise = Region([outer])
            else:
                op.replace_with(made.results, by)
