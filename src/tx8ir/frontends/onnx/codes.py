"""Number formats of ONNX that the IR has none for, as the bits that stand for their numbers.

Floats of 8 and 4 bits are `ui8` codes; integers of 2 bits are `i8` and `ui8` numbers of their range. What computes
with them converts: a code is looked up in a table of 256 numbers, and a number becomes a code by counting the
thresholds below it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from tx8ir.core import ScalarType, i8, ui8


@attrs.frozen(eq=False, slots=False)
class CodedFormat:
    """A format of ONNX alone.

    Attributes:
        code: its number in ONNX.
        name: its name there.
        storage: the element type of its tensors in a program.
    """

    code: int
    name: str
    storage: ScalarType

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of ONNX's own arrays."""
        return np.dtype(tensor_dtype_to_np_dtype(self.code))

    @property
    def is_float(self) -> bool:
        return self.name.startswith("FLOAT")

    @property
    def is_exponent(self) -> bool:
        """Whether its numbers are powers of two and have no sign."""
        return self.name == "FLOAT8E8M0"

    @property
    def bits(self) -> int:
        """The width of a number."""
        return {"FLOAT4E2M1": 4, "INT2": 2, "UINT2": 2}.get(self.name, 8)

    @cached_property
    def table(self) -> NDArray[np.float32]:
        """The number of each code, [2^bits]."""
        codes = np.arange(1 << self.bits, dtype=np.uint8)
        return codes.view(self.dtype).astype(np.float32)

    @cached_property
    def positive(self) -> NDArray[np.float64]:
        """The numbers from 0 on in the order of their codes, up to the largest finite one."""
        half = self.table[: 1 << (self.bits - 1)].astype(np.float64)
        return half[np.isfinite(half)]

    @cached_property
    def thresholds(self) -> NDArray[np.float32]:
        """A number above exactly k of these (and not above the next) is nearest to code k, ties going to even codes.

        The last one leads beyond the largest finite number.
        """
        numbers = self.positive
        beyond = numbers[-1] + (numbers[-1] - numbers[-2])
        following = np.append(numbers[1:], beyond)
        middles = ((numbers + following) / 2).astype(np.float32)  # exact: one bit more than the numbers
        to_larger = np.arange(len(numbers)) % 2 == 1
        return np.where(to_larger, np.nextafter(middles, np.float32(0)), middles)

    @cached_property
    def nan(self) -> int:
        """A code of NaN; 0 if there is none."""
        codes = np.flatnonzero(np.isnan(self.table))
        return int(codes[0]) if codes.size else 0

    @property
    def has_negative_zero(self) -> bool:
        return not self.name.endswith("FNUZ")

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and largest number of an integer format."""
        return (-2, 1) if self.name == "INT2" else (0, 3)

    def stored(self, array: NDArray[Any]) -> NDArray[Any]:
        """An array of ONNX's as the program holds it."""
        return array.view(np.uint8) if self.is_float else array.astype(self.storage.dtype)

    def given(self, array: NDArray[Any]) -> NDArray[Any]:
        """An array of the program as ONNX's."""
        return array.view(self.dtype) if self.is_float else array.astype(self.dtype)

    def __str__(self) -> str:
        return self.name


CODED: Final[dict[int, CodedFormat]] = {
    int(code): CodedFormat(int(code), TensorProto.DataType.Name(code), i8 if code == TensorProto.INT2 else ui8)
    for code in (
        TensorProto.FLOAT8E4M3FN,
        TensorProto.FLOAT8E4M3FNUZ,
        TensorProto.FLOAT8E5M2,
        TensorProto.FLOAT8E5M2FNUZ,
        TensorProto.FLOAT8E8M0,
        TensorProto.FLOAT4E2M1,
        TensorProto.INT2,
        TensorProto.UINT2,
    )
}
"""The formats by their number in ONNX."""

BY_DTYPE: Final = {format.dtype: format for format in CODED.values()}
"""The formats by the NumPy type of ONNX's arrays."""
