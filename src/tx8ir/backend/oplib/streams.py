"""`Streamed`: the kernel of an op on a part of an axis that it combines, with what the parts leave behind.

The models stand with the op's other kernels.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from tx8ir.backend.oplib.kernel import OpKernel
from tx8ir.backend.oplib.tensor import SpmTensor
from tx8ir.core import Interface

__all__ = ["Streamed"]


class Streamed(Interface):
    """An op that adds up, or reads in two passes, what it is given in parts.

    The phases: "first" begins the state and "next" adds to it. Of a sum, "last" adds its part and gives the result,
    with bias and activation; "finish" gives it from the state of all parts, without a part of its own. Of an op that
    reads its axis again, "finish" gives the result of one part from the state of all.
    """

    @abstractmethod
    def state(self, result: SpmTensor) -> tuple[SpmTensor, ...]:
        """The tensors of the state of a slice of the result, not placed."""
        raise NotImplementedError  # declares the method; models define it

    @abstractmethod
    def emit_phase(self, kernel: OpKernel, phase: str, state: Sequence[SpmTensor]) -> None:
        """Append the instructions of a phase to `kernel`."""
        raise NotImplementedError  # declares the method; models define it

    @abstractmethod
    def merge(self, kernel: OpKernel, state: Sequence[SpmTensor], others: Sequence[Sequence[SpmTensor]]) -> None:
        """Append the instructions that make `state` the state of its part and of all `others`."""
        raise NotImplementedError  # declares the method; models define it
