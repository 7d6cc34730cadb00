"""The op on slices of its operands: what a tile executes of an op, as an op of the same class."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tx8ir.backend.axes.combination import Array
from tx8ir.backend.axes.slices import OpSlices
from tx8ir.core import Block, Compute, NoneType, Operation, RankedTensor, ScalarType, Type, Value, VTensorType, detached

__all__ = ["compute", "element_of", "piece"]


def element_of(value: Value) -> ScalarType:
    """The element type of a tensor value."""
    assert isinstance(value.type, RankedTensor)
    return value.type.element


def piece(
    op: Operation,
    slices: OpSlices,
    attributes: Mapping[str, Any],
    *,
    without: Collection[int] = (),
    element: ScalarType | None = None,
) -> Operation:
    """`op` on the slices of its operands, detached and verified.

    Args:
        op: the whole op.
        slices: of its operands and results.
        attributes: those that differ.
        without: operands that are left out (`none`).
        element: the element type of all operands and results instead of their own: that of an accumulator.

    Raises:
        VerifyError: the op does not take these slices.
    """
    types: list[Type] = []
    for number, (value, given) in enumerate(zip(op.operands, slices.operands, strict=True)):
        if given is None or number in without:
            types.append(NoneType())
        else:
            types.append(VTensorType(given.box.extent, element or element_of(value)))
    results = [
        VTensorType(box.extent, element or element_of(value))
        for value, box in zip(op.results, slices.results, strict=True)
    ]
    with detached():
        made: Operation = type(op).create(Block(types).args, results, op.attributes)
        for name, value in attributes.items():
            made.set_attribute(name, value)
    made.verify()
    return made


def compute(made: Operation, operands: Sequence[Array | None]) -> Array:
    """The result of an op with one result on arrays, by its `Compute`."""
    model = made.interface(Compute)
    assert model is not None
    return model.compute(
        *(None if isinstance(v.type, NoneType) else a for v, a in zip(made.operands, operands, strict=True))
    )
