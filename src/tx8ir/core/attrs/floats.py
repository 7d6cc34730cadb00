"""Floating-point numbers of any format as bits: rounding once, NaN payloads kept.

NumPy goes through f32 on the way to bf16, does not know tf32, and makes signalling NaN quiet when it converts, so
attributes use these. A number of every format is held in a Python float (f64), a NaN with its payload in the top
bits of the fraction.
"""

from __future__ import annotations

import math
import struct
from typing import Final

from tx8ir.target.formats import Format

_F64_FRACTION: Final = (1 << 52) - 1


def float_bits(value: float, format: Format) -> int:
    """The bits of `value` rounded to a floating `format` (nearest even; too large gives infinity)."""
    mantissa, top = format.mantissa_bits, format.bits - 1
    unused = top - format.exponent_bits - mantissa  # low fraction bits that the format stores but does not have: tf32
    infinity = ((1 << format.exponent_bits) - 1) << mantissa
    raw: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    if raw >> 52 & 0x7FF == 0x7FF:
        fraction = (raw & _F64_FRACTION) >> (52 - mantissa)
        if raw & _F64_FRACTION and not fraction:
            fraction = 1 << (mantissa - 1)  # the payload does not fit; it stays a NaN
        code = infinity | fraction
    else:
        smallest = 2 - (1 << (format.exponent_bits - 1))
        exponent = max(math.frexp(value)[1] - 1, smallest) if value else smallest
        # In units of the last place, hidden bit included; adding them carries into the exponent where it must.
        code = ((exponent - smallest) << mantissa) + round(math.ldexp(abs(value), mantissa - exponent))
        code = min(code, infinity)
    return raw >> 63 << top | code << unused


def bits_float(bits: int, format: Format) -> float:
    """The number that `bits` mean in a floating `format`."""
    mantissa, top = format.mantissa_bits, format.bits - 1
    unused = top - format.exponent_bits - mantissa
    code = (bits & ((1 << top) - 1)) >> unused
    exponent, fraction = code >> mantissa, code & ((1 << mantissa) - 1)
    sign = bits >> top
    if exponent == (1 << format.exponent_bits) - 1:
        raw = sign << 63 | 0x7FF << 52 | fraction << (52 - mantissa)
        return struct.unpack("<d", struct.pack("<Q", raw))[0]
    smallest = 2 - (1 << (format.exponent_bits - 1))
    if exponent:
        fraction += 1 << mantissa
        exponent -= 1
    value = math.ldexp(fraction, exponent + smallest - mantissa)
    return -value if sign else value


def round_float(value: float, format: Format) -> float:
    """The number of a floating `format` nearest to `value` (ties to even)."""
    return value if format.bits == 64 else bits_float(float_bits(value, format), format)
