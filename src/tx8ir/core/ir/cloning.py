"""Copying an operation with everything inside it, iteratively."""

# Cloning links what it makes directly.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import Any

from tx8ir.core.errors import IrError
from tx8ir.support.relaxed_gc import relaxed_gc

from .block import Region, require_block
from .operation import Operation, create_unchecked
from .value import BlockArgument, OpOperand, OpResult, as_value, link


def clone_operation(root: Operation, mapping: dict[Any, Any]) -> Any:
    """See `Operation.clone`. `mapping` takes values and blocks."""
    if mapping:
        _check_mapping(root, mapping)
    with relaxed_gc():
        return _clone(root, mapping)


def _check_mapping(root: Operation, mapping: dict[Any, Any]) -> None:
    """Raise IrError when a value or block that `root` uses is mapped to none; before anything is made. O(size)."""
    get = mapping.get
    for op in root.walk():
        for use in op._operands:
            found = get(use._value)
            if found is not None and found.__class__ is not OpResult and found.__class__ is not BlockArgument:
                as_value(found, f"what operand {use.index} of {op.name} is mapped to")
                raise IrError(f"operand {use.index} of {op.name} is mapped to an operation, not to its result", op)
        for index, block in enumerate(op._successors):
            require_block(get(block, block), f"what successor {index} of {op.name} is mapped to")


def _clone(root: Operation, mapping: dict[Any, Any]) -> Any:
    get = mapping.get
    new_object = object.__new__
    copy = _clone_shallow(root, mapping)
    # A work item is (block to fill, next operation to copy into it).
    work: list[tuple[Any, Any]] = []
    _clone_regions(root, copy, mapping, work)
    linked: list[OpOperand] = []
    unmapped: list[OpOperand] = []
    while work:
        target, op = work.pop()
        last = target._last
        while op is not None:
            # The body of create_unchecked and Block.append once more: cloning is little else.
            made: Any = new_object(op.__class__)
            uses: list[OpOperand] = []
            for old_use in op._operands:
                old_value = old_use._value
                value = get(old_value)
                use = OpOperand()
                if value is None:
                    value = old_value
                    unmapped.append(use)
                use._owner = made
                use.index = old_use.index
                use._value = value
                uses.append(use)
            linked += uses
            made._operands = tuple(uses)
            results: list[OpResult] = []
            for old_result in op._results:
                result = OpResult()
                result._owner = made
                result.index = old_result.index
                result._type = old_result._type
                result._first_use = result._last_use = None
                mapping[old_result] = result
                results.append(result)
            made._results = tuple(results)
            made._attributes = op._attributes
            made._regions = made._successors = ()
            made._order = 0
            made._location = op._location
            made._parent = target
            made._previous = last
            if last is None:
                target._first = made
            else:
                last._next = made
            last = made
            if op._successors:
                made._successors = tuple([get(b, b) for b in op._successors])
            if op._regions:
                work.append((target, op._next))
                _clone_regions(op, made, mapping, work)
                break
            op = op._next
        target._last = last
        if last is not None:
            last._next = None  # the next one of the block, if there is one, changes that
    # From outside, or defined later in the text (another block, or a cycle).
    for use in unmapped:
        use._value = get(use._value, use._value)
    link(linked)
    for use, old in zip(copy._operands, root._operands, strict=True):
        if use._value is old._value:  # not mapped before, but perhaps to something inside by now
            use.set(get(use._value, use._value))
    return copy


def _clone_shallow(op: Operation, mapping: dict[Any, Any]) -> Any:
    values = [mapping.get(use._value, use._value) for use in op._operands]
    made = create_unchecked(
        op.__class__, values, [r._type for r in op._results], op._attributes, (), op._successors, op._location
    )
    for old, new in zip(op._results, made._results, strict=True):
        mapping[old] = new
    return made


def _clone_regions(op: Operation, made: Operation, mapping: dict[Any, Any], work: list[tuple[Any, Any]]) -> None:
    """Give `made` empty copies of the regions of `op`, and queue their blocks, first block on top."""
    regions: list[Region] = []
    blocks: list[tuple[Any, Any]] = []
    for region in op._regions:
        copy = region.__class__()
        copy._parent = made
        for block in region._blocks:
            new = block.__class__([a._type for a in block._args])
            new._parent = copy
            new._count = block._count  # as many as will be in it
            copy._blocks.append(new)
            mapping[block] = new
            for old_arg, new_arg in zip(block._args, new._args, strict=True):
                new_arg.location = old_arg.location
                mapping[old_arg] = new_arg
            blocks.append((new, block._first))
        regions.append(copy)
    made._regions = tuple(regions)
    work.extend(reversed(blocks))
