"""The same program on smaller tensors: one extent replaced everywhere, and every type inferred again."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from tx8ir.core import (
    Block,
    DenseArrayAttr,
    DenseAttr,
    FunctionType,
    InferTypes,
    Operation,
    Program,
    RankedTensor,
    Type,
)
from tx8ir.dialects import builtin, func, scf

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

    False when the program has something whose type is not inferred: calls, several blocks, backend graphs.

    Raises:
        VerifyError: an operation does not take the smaller operands. The program is then half changed.
    """
    functions = [op for op in program.body if isinstance(op, func.FuncOp)]
    if len(functions) != 1 or len(functions[0].body) != 1:
        return False
    for name, variable in program.weights.items():
        data = variable.numpy()
        smaller = data[tuple(slice(0, new) if extent == old else slice(None) for extent in data.shape)]
        changed = type(variable)(
            cast(Any, _replaced(variable.type, old, new)), np.array(smaller), variable.is_mutable, variable.alignment
        )
        program.weights[name] = changed
    main = functions[0]
    for argument in main.body.block.args:
        argument.type = _replaced(argument.type, old, new)
    _infer_block(main.body.block, old, new)
    end = main.body.block.terminator
    assert end is not None
    taken, given = ([v.type for v in values] for values in (main.body.block.args, end.operands))
    main.set_attribute("function_type", FunctionType(taken, given))
    return True


def _replaced(type_: Type, old: int, new: int) -> Type:
    if not isinstance(type_, RankedTensor):
        return type_
    return type_.with_shape(new if extent == old else extent for extent in type_.shape)


def _infer_block(block: Block, old: int, new: int) -> None:
    for op in block:
        _change_attributes(op, old, new)
        if isinstance(op, scf.WhileOp):
            _retype(op.before.block.args, [v.type for v in op.operands])
            _infer_block(op.before.block, old, new)
            passed = [v.type for v in _given(op.before.block)[1:]]
            _retype(op.after.block.args, passed)
            _infer_block(op.after.block, old, new)
            _retype(op.results, passed)
        elif isinstance(op, scf.IfOp):
            for region in op.regions:
                for inner in region.blocks:
                    _infer_block(inner, old, new)
            _retype(op.results, [v.type for v in _given(op.then_region.block)])
        elif isinstance(op, builtin.GetParameterOp):
            op.out.type = _replaced(op.out.type, old, new)
        else:
            inference = op.interface(InferTypes)
            if inference is not None:
                _retype(op.results, inference.infer_types())


def _given(block: Block) -> tuple[Any, ...]:
    end = block.terminator
    assert end is not None
    return end.operands


def _retype(values: Any, types: Any) -> None:
    for value, type_ in zip(values, types, strict=True):
        value.type = type_


def _change_attributes(op: Operation, old: int, new: int) -> None:
    for key in _EXTENTS:
        attribute = op.attributes.get(key)
        if isinstance(attribute, DenseArrayAttr):
            given = cast("tuple[int, ...]", attribute.value)
            op.set_attribute(key, tuple(new if extent == old else extent for extent in given))
    if isinstance(op, builtin.ConstantOp):
        data = op.value.value
        smaller = data[tuple(slice(0, new) if extent == old else slice(None) for extent in data.shape)]
        op.set_attribute("value", DenseAttr(np.array(smaller), cast(Any, _replaced(op.value.type, old, new))))
