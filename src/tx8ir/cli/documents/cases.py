"""The document of `tx8ir cases list --json` and `tx8ir cases run --json`."""

from __future__ import annotations

from typing import Literal

import attrs

from tx8ir.core.schema import Natural, NonNegative


@attrs.frozen
class CaseData:
    """A case of an operation.

    case: its label, distinct within the operation.
    configuration: it in a few words.
    error, bound: the largest difference from the interpreter in fp64, and what it may be.
    microseconds: on the simulated chip.

    The last four are null when the case was listed and not run.
    """

    operation: str
    case: str
    configuration: str
    error: float | None = None
    bound: float | None = None
    microseconds: NonNegative | None = None
    passed: bool | None = None


@attrs.frozen
class CasesDocument:
    """Cases of operations: what there is, or how they ran."""

    cases: tuple[CaseData, ...]
    format: Literal["tx8ir-cases"] = "tx8ir-cases"
    version: Natural = 1
