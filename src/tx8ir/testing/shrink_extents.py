"""The same program on smaller tensors: one extent replaced everywhere, and every type inferred again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from tx8ir.core import (
    Block,
    DenseArrayAttr,
    DenseAttr,
    DictType,
    FunctionType,
    InferTypes,
    ListType,
    Operation,
    Program,
    RankedTensor,
    TupleType,
    Type,
    TypeAttr,
    Value,
)
from tx8ir.dialects import builtin, func, scf
from tx8ir.transforms.call_graph import components_callees_first

_EXTENTS = ("shape", "sections", "ends")
"""Attributes that list extents, or places that an extent bounds."""


def extents(program: Program) -> set[int]:
    """The extents above 1 of all values."""
    found: set[int] = set()
    for op in program.module.walk():
        values = [*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)]
        for value in values:
            if isinstance(value.type, RankedTensor):
                found.update(value.type.shape)
    return {extent for extent in found if extent > 1}


def replace_extent(program: Program, old: int, new: int) -> bool:
    """Replaces an extent by a smaller one in arguments, variables, constants and attributes, in place.

    Functions are typed anew from callees to callers, and the blocks of each from the entry on. The types of operations
    that infer none, those of backend graphs say, are those they had with the extent replaced. False when functions call
    each other in a circle.

    Raises:
        VerifyError: an operation does not take the smaller operands. The program is then half changed.
    """
    functions = {op.sym_name: op for op in program.body if isinstance(op, func.FuncOp)}
    calls = {
        function: [functions[op.callee.value] for op in function.walk() if isinstance(op, func.CallOp)]
        for function in functions.values()
    }
    components = components_callees_first(cast("dict[Operation, list[Operation]]", calls))
    if any(len(component) > 1 or component[0] in calls[cast(func.FuncOp, component[0])] for component in components):
        return False
    for name, variable in program.weights.items():
        data = variable.numpy()
        smaller = data[tuple(slice(0, new) if extent == old else slice(None) for extent in data.shape)]
        changed = type(variable)(
            cast(Any, _replaced(variable.type, old, new)), np.array(smaller), variable.is_mutable, variable.alignment
        )
        program.weights[name] = changed
    shrink = _Shrink(old, new, functions)
    for (function,) in components:
        shrink.function(cast(func.FuncOp, function))
    return True


def _replaced(type_: Type, old: int, new: int) -> Type:
    if isinstance(type_, RankedTensor):
        return type_.with_shape(new if extent == old else extent for extent in type_.shape)
    if isinstance(type_, (ListType, TupleType)):
        return type(type_)([_replaced(t, old, new) for t in type_.elements])
    if isinstance(type_, DictType):
        return DictType({key: _replaced(type_[key], old, new) for key in type_.keys})
    return type_


class _Shrink:
    """Gives the values of functions their new types, in the order in which they are computed."""

    def __init__(self, old: int, new: int, functions: dict[str, func.FuncOp]) -> None:
        self.old = old
        self.new = new
        self.functions = functions

    def function(self, function: func.FuncOp) -> None:
        blocks = function.body.blocks
        for block in blocks:
            for argument in block.args:
                argument.type = self._replaced(argument.type)
        for block in _from_the_entry(blocks):
            self._block(block)
        ends = [end for block in blocks if isinstance(end := block.terminator, func.ReturnOp)]
        results = [v.type for v in ends[0].operands] if ends else []
        function.set_attribute("function_type", FunctionType([a.type for a in blocks[0].args], results))

    def _replaced(self, type_: Type) -> Type:
        return _replaced(type_, self.old, self.new)

    def _block(self, block: Block) -> None:
        for op in block:
            self._attributes(op)
            inference = op.interface(InferTypes)
            if isinstance(op, scf.WhileOp):
                _retype(op.before.block.args, [v.type for v in op.operands])
                self._block(op.before.block)
                passed = [v.type for v in _given(op.before.block)[1:]]
                _retype(op.after.block.args, passed)
                self._block(op.after.block)
                _retype(op.results, passed)
            elif isinstance(op, scf.IfOp):
                for region in op.regions:
                    for inner in region.blocks:
                        self._block(inner)
                if op.results:
                    _retype(op.results, [v.type for v in _given(op.then_region.block)])
            elif isinstance(op, func.CallOp):
                _retype(op.results, self.functions[op.callee.value].function_type.results)
            elif inference is not None:
                _retype(op.results, inference.infer_types())
            else:
                _retype(op.results, [self._replaced(r.type) for r in op.results])
                for region in op.regions:
                    for inner in region.blocks:
                        for argument in inner.args:
                            argument.type = self._replaced(argument.type)
                        self._block(inner)

    def _attributes(self, op: Operation) -> None:
        for key in _EXTENTS:
            attribute = op.attributes.get(key)
            if isinstance(attribute, DenseArrayAttr):
                given = cast("tuple[int, ...]", attribute.value)
                op.set_attribute(key, tuple(self.new if extent == self.old else extent for extent in given))
        for key, attribute in op.attributes.items():
            if isinstance(attribute, TypeAttr) and not isinstance(op, func.FuncOp):
                op.set_attribute(key, TypeAttr(self._replaced(attribute.value)))
        if isinstance(op, builtin.ConstantOp):
            data = op.value.value
            smaller = data[tuple(slice(0, self.new) if n == self.old else slice(None) for n in data.shape)]
            op.set_attribute("value", DenseAttr(np.array(smaller), cast(Any, self._replaced(op.value.type))))


def _from_the_entry(blocks: Sequence[Block]) -> list[Block]:
    """Each block behind one that goes to it, so behind all that dominate it: a block not reached comes last."""
    order: dict[Block, None] = {}
    work = [(blocks[0], iter(blocks[0].successors))]
    seen = {blocks[0]}
    while work:
        block, following = work[-1]
        after = next((b for b in following if b not in seen), None)
        if after is None:
            order[block] = None
            work.pop()
        else:
            seen.add(after)
            work.append((after, iter(after.successors)))
    return [*reversed(order), *(b for b in blocks if b not in order)]


def _given(block: Block) -> tuple[Value, ...]:
    end = block.terminator
    assert end is not None
    return end.operands


def _retype(values: Sequence[Any], types: Sequence[Type]) -> None:
    for value, type_ in zip(values, types, strict=True):
        value.type = type_
