"""ub: MLIR's undefined behaviour: values that may be anything, and places that control never comes to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from tx8ir.core import (
    Attribute,
    Compute,
    Dialect,
    Op,
    Pure,
    Result,
    StructAttr,
    Terminator,
    attribute,
    f32,
    result,
    struct_attr,
)
from tx8ir.core.attrs.builtin_types import IndexType, array_type, tensor_type
from tx8ir.dialects.samples import Sample, Sampled


@struct_attr("ub.poison")
@attrs.frozen(eq=False)
class PoisonAttr(StructAttr):
    """All of a value is poison."""


class PoisonOp(Op, Compute, Sampled, name="ub.poison", traits=(Pure,)):
    """A value that may be anything, a different thing at each use; it is computed as 0.

    %0 = ub.poison : tensor<4xf32>
    """

    value: Attribute = attribute(default=PoisonAttr(), doc="what of it is poison; by default all")
    out: Result = result()

    assembly_format = "attr-dict (`<` $value^ `>`)? `:` type($out)"

    def compute(self) -> Any:
        held = array_type(self.out.type)
        if held is None or not held.is_static:
            raise TypeError(f"{self.out.type} is not a number, nor a tensor of known extents")
        return np.zeros(held.shape, np.float64 if held.element.is_float else held.element.dtype)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        for type in (f32, IndexType(), tensor_type((2, 3), f32)):
            yield Sample(cls, (), {"out": type})


class UnreachableOp(Op, name="ub.unreachable", traits=(Terminator,)):
    """Ends a block that control never comes to. Evaluating it fails.

    ub.unreachable
    """

    assembly_format = "attr-dict"


poison = PoisonOp
unreachable = UnreachableOp

DIALECT = Dialect("ub", [PoisonOp, UnreachableOp], attributes=(PoisonAttr,))
