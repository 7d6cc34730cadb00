"""tensor: MLIR's operations that make tensors, take them apart and change their shape, on values without storage.

Extents, offsets and strides are numbers of the program or values of type index; in an attribute, `DYNAMIC_INDEX` stands
where a value is. Evaluating fails where MLIR says that behaviour is undefined: a place outside of a tensor, shapes that
are not what a type promises. What a tensor holds that `tensor.empty` makes is 0 here, and anything in MLIR.

    %0 = tensor.extract_slice %x[0, %i] [2, 4] [1, 1] : tensor<8x8xf32> to tensor<2x4xf32>
    %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [1, 2, 4] : tensor<2x4xf32> into tensor<1x2x4xf32>
"""

from __future__ import annotations

from tx8ir.core import Dialect, ops_of
from tx8ir.core.text.assembly_format import DYNAMIC_INDEX

from . import construction, elements, shapes, slices

__all__ = ["DIALECT", "DYNAMIC_INDEX"]

DIALECT: Dialect = Dialect("tensor", ops_of(construction, elements, shapes, slices))

globals().update(DIALECT.exports)
