"""The same program on other tensors: one extent or element type replaced everywhere, and every type inferred again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.analysis.call_graph import components_callees_first
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
    ScalarType,
    TupleType,
    Type,
    TypeAttr,
    Value,
)
from tx8ir.dialects import builtin, func, scf
from tx8ir.testing.inputs import held, structures

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
    """Replaces an extent in arguments, variables, constants and attributes, in place; numbers are cut or repeated.

    Functions are typed anew from callees to callers, and the blocks of each from the entry on. The types of operations
    that infer none, those of backend graphs say, are those they had with the extent replaced. False when functions call
    each other in a circle.

    Raises:
        VerifyError: an operation does not take the other operands. The program is then half changed.
    """
    return _retyped(program, _Change(extent=(old, new)))


def replace_element(program: Program, old: ScalarType, new: ScalarType) -> bool:
    """As `replace_extent`, an element type; numbers are converted.

    Raises:
        VerifyError: an operation does not take the other operands. The program is then half changed.
    """
    return _retyped(program, _Change(element=(old, new)))


def infer_again(program: Program) -> bool:
    """As `replace_extent`, nothing: the types that follow from what was changed already, an operand say.

    Raises:
        VerifyError: an operation does not take its operands. The program is then half changed.
    """
    return _retyped(program, _Change())


def _retyped(program: Program, change: _Change) -> bool:
    functions = {op.sym_name: op for op in program.body if isinstance(op, func.FuncOp)}
    calls = {
        function: [functions[op.callee.value] for op in function.walk() if isinstance(op, func.CallOp)]
        for function in functions.values()
    }
    components = components_callees_first(cast("dict[Operation, list[Operation]]", calls))
    if any(len(component) > 1 or component[0] in calls[cast(func.FuncOp, component[0])] for component in components):
        return False
    for name, variable in program.weights.items():
        if (type_ := change.type(variable.type)) is not variable.type:
            data = change.data(variable.numpy(), type_)
            program.weights[name] = type(variable)(cast(Any, type_), data, variable.is_mutable, variable.alignment)
    inference = _Inference(change, functions)
    for (function,) in components:
        inference.function(cast(func.FuncOp, function))
    return True


@attrs.frozen
class _Change:
    """What takes the place of what: extents, element types."""

    extent: tuple[int, int] | None = None
    element: tuple[ScalarType, ScalarType] | None = None

    def type(self, type_: Type) -> Type:
        if isinstance(type_, RankedTensor):
            if self.element is not None and type_.element is self.element[0]:
                return type_.with_element(self.element[1])
            if self.extent is not None and self.extent[0] in type_.shape:
                return type_.with_shape(self.extents(type_.shape))
            return type_
        if isinstance(type_, (ListType, TupleType)):
            return type(type_)([self.type(t) for t in type_.elements])
        if isinstance(type_, DictType):
            return DictType({key: self.type(type_[key]) for key in type_.keys})
        if self.element is not None and type_ is self.element[0]:
            return self.element[1]
        return type_

    def extents(self, shape: Sequence[int]) -> tuple[int, ...]:
        if self.extent is None:
            return tuple(shape)
        old, new = self.extent
        return tuple(new if extent == old else extent for extent in shape)

    def data(self, data: NDArray[Any], type_: Type) -> NDArray[Any]:
        """Numbers of that type: cut, repeated, converted; a triangle, or another structure, is one afterwards, too."""
        assert isinstance(type_, RankedTensor)
        if data.size > 1 and type_.is_static and data.shape != type_.shape:
            data = _structured(data, type_.shape)
        for axis, extent in enumerate(type_.shape):
            if data.shape[axis] != extent:
                data = np.take(data, np.arange(extent), axis, mode="wrap")
        element = type_.element
        with np.errstate(all="ignore"):
            return np.array(held(data, element.format) if element.is_float else data.astype(element.dtype))


def _structured(data: NDArray[Any], shape: Sequence[int]) -> NDArray[Any]:
    """Numbers of the structure of `data` in another shape; `data`, where it has none."""
    for old, new in zip(structures(data.shape), structures(shape), strict=True):
        if np.array_equal(old, data):
            return new.astype(data.dtype)
    return data


class _Inference:
    """Gives the values of functions their new types, in the order in which they are computed."""

    def __init__(self, change: _Change, functions: dict[str, func.FuncOp]) -> None:
        self.change = change
        self.functions = functions

    def function(self, function: func.FuncOp) -> None:
        blocks = function.body.blocks
        for block in blocks:
            for argument in block.args:
                argument.type = self.change.type(argument.type)
        for block in _from_the_entry(blocks):
            self._block(block)
        ends = [end for block in blocks if isinstance(end := block.terminator, func.ReturnOp)]
        results = [v.type for v in ends[0].operands] if ends else []
        function.set_attribute("function_type", FunctionType([a.type for a in blocks[0].args], results))

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
                _retype(op.results, [self.change.type(r.type) for r in op.results])
                for region in op.regions:
                    for inner in region.blocks:
                        for argument in inner.args:
                            argument.type = self.change.type(argument.type)
                        self._block(inner)

    def _attributes(self, op: Operation) -> None:
        change = self.change
        if change.extent is not None:
            for key in _EXTENTS:
                attribute = op.attributes.get(key)
                if isinstance(attribute, DenseArrayAttr):
                    op.set_attribute(key, change.extents(cast("tuple[int, ...]", attribute.value)))
        if change.extent is None and change.element is None:
            return
        for key, attribute in op.attributes.items():
            if isinstance(attribute, TypeAttr) and not isinstance(op, func.FuncOp):
                op.set_attribute(key, TypeAttr(change.type(attribute.value)))
        if isinstance(op, builtin.ConstantOp) and (type_ := change.type(op.value.type)) is not op.value.type:
            op.set_attribute("value", DenseAttr(change.data(op.value.value, type_), cast(Any, type_)))


def _from_the_entry(blocks: Sequence[Block]) -> list[Block]:
    """Each block after one that goes to it, so after all that dominate it: a block not reached comes last."""
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
