"""Values of a program that do not depend on its inputs: computed on import where an operator needs the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from numpy.typing import NDArray

from tx8ir.core import Compute, IrError, Operation, Pure, RankedTensor, Value
from tx8ir.interpreter import evaluate_operation

LARGEST: Final = 4096
"""Elements of the largest tensor that is computed on import."""


class KnownValues:
    """The elements of small tensors, computed once."""

    def __init__(self) -> None:
        self._found: dict[Value, NDArray[Any] | None] = {}

    def find(self, value: Value) -> NDArray[Any] | None:
        """The elements of a small tensor that do not depend on inputs, or None."""
        work = [value]
        while work:
            at = work[-1]
            op = at.defining_op
            if at in self._found or op is None or not _can_be_known(op):
                self._found.setdefault(at, None)
                work.pop()
                continue
            pending = [operand for operand in op.operands if operand not in self._found]
            if pending:
                work += pending
                continue
            arrays = [array for operand in op.operands if (array := self._found[operand]) is not None]
            found: Sequence[NDArray[Any] | None] = [None] * len(op.results)
            if len(arrays) == len(op.operands):
                with suppress(IrError):  # what fails whenever it runs is reported when it does
                    found = evaluate_operation(op, arrays)
            self._found.update(zip(op.results, found, strict=True))
            work.pop()
        return self._found[value]


def _can_be_known(op: Operation) -> bool:
    """Whether an operation may be computed on import."""
    types = [value.type for value in (*op.operands, *op.results)]
    return (
        op.has_trait(Pure)
        and op.interface(Compute) is not None
        and all(isinstance(t, RankedTensor) and t.is_static and t.num_elements <= LARGEST for t in types)
    )
