"""What passes guarantee about the numbers a program gives; `tx8ir.testing` holds them to it."""

from __future__ import annotations

import enum


class NumericGuarantee(enum.Enum):
    """What a pass keeps of every number that a program gives: results, final contents of variables and of inputs.

    `Pass.guarantee` is each pass's own. The strongest is the default; a pass that guarantees less says so.

    BITWISE      Every number has the same bits, but that a NaN is a NaN: IEEE 754 leaves its sign and payload open.
    VALUES    As BITWISE, but -0 and +0 are one number.
    ROUNDING  Floating-point arithmetic may be done in another order, or rounded more seldom or more often: results
              change by as much as rounding can change them in the program itself (`tx8ir.testing.passes.rounding`), on
              all inputs, large and tiny ones too. Infinities and NaN that are the exact result stay. Nothing is owed
              where the program itself overflows on its way, or would with its sums in another order and its factors
              taken into them, or loses all digits. Integers and truth values are kept as by VALUES, but where rounding
              decides about them; where it decides how often a loop runs, nothing is owed.
    NO_NANS   As ROUNDING, for programs and inputs where no NaN arises on the way (LLVM's `nnan`): where the program, in
              exact arithmetic, makes one of numbers that are none, nothing is owed. So may exp(x) / sum(exp(x)) become
              softmax(x).
    FORMATS   Number formats may change, values may not: in arithmetic without rounding the answers are equal, but for
              what rounding constants to the new formats changes.

    `tx8ir.testing.passes.observe` says how each is compared.
    """

    BITWISE = "bitwise"
    VALUES = "values"
    ROUNDING = "rounding"
    NO_NANS = "no-nans"
    FORMATS = "formats"
