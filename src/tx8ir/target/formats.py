"""The number formats of the TX8: one table, from which everything else about a format is read.

The table is [S] (the seed documents); the bit counts of the floating formats are those of IEEE 754
(f16, f32, f64), of bfloat16 and of TF32. Importing this module loads NumPy only; `ml_dtypes`
is loaded when the NumPy type of bf16, i4 or ui4 is first asked for.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ALL",
    "BF16",
    "F16",
    "F32",
    "F64",
    "I1",
    "I4",
    "I8",
    "I16",
    "I32",
    "I64",
    "PUBLISHED_CODES",
    "TF32",
    "UI4",
    "UI8",
    "UI16",
    "UI32",
    "UI64",
    "Format",
]


class Format:
    """One number format.

    Formats are the module's constants (`F32`, `BF16`, ...); `Format.named` and `Format.from_code` find them.
    Immutable; there is one object per format, which pickling keeps, so that equality is identity.
    """

    __slots__ = ("bits", "code", "exponent_bits", "is_float", "is_signed", "mantissa_bits", "name", "vendor_name")

    name: str
    """The IR spelling: "f32"."""
    vendor_name: str
    """The spelling in instruction names (`CGRATensor_..._fp32`): "fp32"."""
    code: int | None
    """The hardware's format code, or None for a format that instructions do not name (i4, ui4, f64)."""
    bits: int
    """Bits that one element takes in memory (tf32: 32)."""
    is_float: bool
    is_signed: bool
    """True for the floating formats and for two's complement integers."""
    exponent_bits: int
    """Width of the exponent field of a floating format; 0 for the others."""
    mantissa_bits: int
    """Stored fraction bits, without the implicit one; 0 for a format that does not float (tf32: 10)."""

    def __init__(
        self,
        name: str,
        vendor_name: str,
        code: int | None,
        bits: int,
        is_float: bool,
        is_signed: bool,
        exponent_bits: int = 0,
        mantissa_bits: int = 0,
    ) -> None:
        # A plain class and not attrs, because every `import tx8ir` pays for what this module loads.
        for field, value in (
            ("name", name),
            ("vendor_name", vendor_name),
            ("code", code),
            ("bits", bits),
            ("is_float", is_float),
            ("is_signed", is_signed),
            ("exponent_bits", exponent_bits),
            ("mantissa_bits", mantissa_bits),
        ):
            object.__setattr__(self, field, value)

    def __setattr__(self, field: str, value: object) -> None:
        raise AttributeError(f"{self.name} is immutable; its {field} cannot be set")

    def __copy__(self) -> Format:
        return self

    def __deepcopy__(self, memo: object) -> Format:
        return self

    @staticmethod
    def named(name: str) -> Format:
        """Return the format with the IR spelling `name`. Raises ValueError, listing the names, if there is none."""
        try:
            return _BY_NAME[name]
        except KeyError:
            raise ValueError(f"unknown format {name!r}; expected one of {', '.join(_BY_NAME)}") from None

    @staticmethod
    def from_code(code: int, codes: Mapping[int, Format] | None = None) -> Format:
        """Return the format with hardware code `code`.

        `codes` is another numbering of the same formats, such as `PUBLISHED_CODES`.
        Raises ValueError, listing the codes, if there is none.
        """
        table = _BY_CODE if codes is None else codes
        try:
            return table[code]
        except KeyError:
            raise ValueError(f"unknown format code {code}; expected one of {', '.join(map(str, table))}") from None

    @property
    def is_bool(self) -> bool:
        """True for i1, which packs eight elements to a byte and is a truth value, not a number."""
        return self.bits == 1

    @property
    def is_integer(self) -> bool:
        """True for every format that is not floating, i1 included (as in MLIR)."""
        return not self.is_float

    @property
    def is_packed(self) -> bool:
        """True for formats narrower than a byte (i1, i4, ui4): dense layouts only, first element in the low bits."""
        return self.bits < 8

    @property
    def bytes(self) -> int:
        """Bytes of one element. Raises ValueError for a packed format."""
        if self.bits < 8:
            raise ValueError(f"{self.name} has no size in whole bytes: {8 // self.bits} elements share one")
        return self.bits >> 3

    @property
    def block(self) -> int:
        """Channels of one block of a Cx or NCx layout: 128 for 1-byte formats, else 64 [S, P].

        Raises ValueError for a packed format, which has no blocked layout.
        """
        if self.bits < 8:
            raise ValueError(f"{self.name} is dense only: it has no channel block")
        return 128 if self.bits == 8 else 64

    @property
    def limits(self) -> tuple[float, float]:
        """Smallest and largest finite number: whole numbers of `int` for an integer format, floats for a floating one.

        NumPy's `finfo` and `iinfo` know no format of `ml_dtypes`, nor tf32.
        """
        if self.is_float:
            bias = (1 << (self.exponent_bits - 1)) - 1
            largest = (2.0 - 2.0**-self.mantissa_bits) * 2.0**bias
            return -largest, largest
        return self.integer_range

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number of a floating-point format that has all its digits."""
        return 2.0 ** (2 - (1 << (self.exponent_bits - 1)))

    @property
    def integer_range(self) -> tuple[int, int]:
        """Smallest and largest number of an integer format."""
        magnitude = 1 << (self.bits - self.is_signed)
        return (-magnitude if self.is_signed else 0), magnitude - 1

    def fits_in(self, other: Format) -> bool:
        """Whether every number of this format (NaN, infinities and zeros included) is one of `other`.

        A conversion to `other` and back then changes nothing.
        """
        if self is other or self.is_bool:
            return True
        if other.is_bool or (self.is_float and not other.is_float):
            return False
        if self.is_float:
            return self.mantissa_bits <= other.mantissa_bits and self.exponent_bits <= other.exponent_bits
        # The largest magnitude of a signed format, 2^(n-1), is a power of two, with no more digits than 2^(n-1) - 1.
        digits = self.bits - self.is_signed
        if other.is_float:
            return digits <= other.mantissa_bits + 1 and self.bits <= 1 << (other.exponent_bits - 1)
        return digits <= other.bits - other.is_signed and (other.is_signed or not self.is_signed)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy type of an array of this format: bool for i1, float32 for tf32, `ml_dtypes` for bf16, i4 and ui4."""
        return _dtype(self.name)

    def __repr__(self) -> str:
        return f"Format.named({self.name!r})"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Format.named, (self.name,)


@cache
def _dtype(name: str) -> np.dtype[Any]:
    if name in _ML_DTYPES:
        import ml_dtypes  # here and not above: loading it costs more than all else that `core` asks of this module

        return np.dtype(getattr(ml_dtypes, _ML_DTYPES[name]))
    return np.dtype(_NUMPY_DTYPES[name])


_ML_DTYPES = {"bf16": "bfloat16", "i4": "int4", "ui4": "uint4"}
_NUMPY_DTYPES = {
    "i1": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "ui8": "uint8",
    "ui16": "uint16",
    "ui32": "uint32",
    "ui64": "uint64",
    "f16": "float16",
    "f32": "float32",
    "tf32": "float32",
    "f64": "float64",
}

# name, vendor name, code, bits, float, signed, exponent bits, mantissa bits: [S]
I8 = Format("i8", "int8", 0, 8, False, True)
I16 = Format("i16", "int16", 1, 16, False, True)
F16 = Format("f16", "fp16", 2, 16, True, True, 5, 10)
BF16 = Format("bf16", "bf16", 3, 16, True, True, 8, 7)
I32 = Format("i32", "int32", 4, 32, False, True)
F32 = Format("f32", "fp32", 5, 32, True, True, 8, 23)
TF32 = Format("tf32", "tf32", 6, 32, True, True, 8, 10)
I1 = Format("i1", "bool", 7, 1, False, False)
UI8 = Format("ui8", "uint8", 8, 8, False, False)
UI16 = Format("ui16", "uint16", 9, 16, False, False)
UI32 = Format("ui32", "uint32", 10, 32, False, False)
I64 = Format("i64", "int64", 11, 64, False, True)
UI64 = Format("ui64", "uint64", 12, 64, False, False)
I4 = Format("i4", "int4", None, 4, False, True)
"""Packed weights only."""
UI4 = Format("ui4", "uint4", None, 4, False, False)
"""Packed weights only."""
F64 = Format("f64", "fp64", None, 64, True, True, 11, 52)
"""Reference precision of the interpreter; the hardware has none."""

ALL: tuple[Format, ...] = (I8, I16, F16, BF16, I32, F32, TF32, I1, UI8, UI16, UI32, I64, UI64, I4, UI4, F64)
"""Every format, in code order, then those without a code."""

_BY_NAME: Mapping[str, Format] = MappingProxyType({f.name: f for f in ALL})
_BY_CODE: Mapping[int, Format] = MappingProxyType({f.code: f for f in ALL if f.code is not None})

PUBLISHED_CODES: Mapping[int, Format] = MappingProxyType({**_BY_CODE, 5: TF32, 6: F32})
"""The numbering of published model files, which in one place write tf32 as 5 and fp32 as 6 [S].
For `Format.from_code(code, PUBLISHED_CODES)`; nothing else in tx8ir knows of the swap."""
