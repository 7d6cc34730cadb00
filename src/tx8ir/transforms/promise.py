"""What passes promise to keep of the numbers a program gives; `tx8ir.testing` holds them to it."""

from __future__ import annotations

import enum


class Promise(enum.Enum):
    """What a pass keeps of every number that a program gives: results, final contents of variables and of inputs.

    `Pass.promise` is each pass's own. The strongest is the default; a pass that promises less says so.

    BITS      Every number has the same bits, but that a NaN is a NaN: IEEE 754 leaves its sign and payload open.
    VALUES    As BITS, but -0 and +0 are one number.
    ROUNDING  Floating-point arithmetic may be done in another order, or rounded more seldom. Integers and truth values
              are kept as by VALUES.
    FORMATS   Number formats may change, values may not: in arithmetic without rounding the answers are equal.

    `tx8ir.testing.observe` says how each is compared.
    """

    BITS = "bits"
    VALUES = "values"
    ROUNDING = "rounding"
    FORMATS = "formats"
