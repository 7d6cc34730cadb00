"""The pairs of formats that the vector unit converts between [S], as data.

Seven formats: int8 int16 int32 fp16 bf16 tf32 fp32. Hardware has the 36 ordered pairs with a floating side; an integer
becomes a wider or narrower one through fp32 [D].
"""

from __future__ import annotations

import attrs

from tx8ir.target.formats import BF16, F16, F32, I8, I16, I32, TF32, Format

CONVERTIBLE = (I8, I16, I32, F16, BF16, TF32, F32)


@attrs.frozen
class Conversion:
    """One pair: what it reads, what it writes."""

    source: Format
    destination: Format
    narrows: bool
    """Whether some value of the source is not one of the destination, so that the pair rounds or saturates."""

    @property
    def name(self) -> str:
        """The name in instruction names: `fp32_bf16`."""
        return f"{self.source.vendor_name}_{self.destination.vendor_name}"


def _narrows(source: Format, destination: Format) -> bool:
    if destination.is_integer:
        return True  # a float has fractions and infinities
    if source.is_integer:
        return source.bits - 1 > destination.mantissa_bits + 1  # magnitude; the least value is a power of two
    return source.mantissa_bits > destination.mantissa_bits or source.exponent_bits > destination.exponent_bits


CONVERSIONS: dict[tuple[str, str], Conversion] = {
    (s.name, d.name): Conversion(s, d, _narrows(s, d))
    for s in CONVERTIBLE
    for d in CONVERTIBLE
    if s is not d and (s.is_float or d.is_float)
}
"""(source, destination) to the pair, for every pair that hardware has."""
