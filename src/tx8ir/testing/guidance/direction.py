"""Direction: what a search for a wrong pass looks at first."""

from __future__ import annotations

from typing import Any, Final

import attrs

from tx8ir.core import ScalarType


@attrs.frozen
class Direction:
    """What a pass is about.

    Attributes:
        ops: names of operations. A search tries programs of these first.
        numbers: further numbers that attributes and constants may be.
        element_types: element types that come first.
        attributes: further values of attributes, as pairs of the attribute's name and a value; they are tried on every
            operation of `ops` that has an attribute of that name and takes the value.
    """

    ops: frozenset[str] = frozenset()
    numbers: tuple[float, ...] = ()
    element_types: frozenset[ScalarType] = frozenset()
    attributes: tuple[tuple[str, Any], ...] = ()


ANYTHING: Final = Direction()
"""No direction: all operations alike."""
