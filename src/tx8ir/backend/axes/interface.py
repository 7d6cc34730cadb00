"""`Axes`: the interface by which an op class declares its axes and what a part of them computes.

The models stand in this package, one module per family of ops. `declare` is all that the compiler needs; `attributes`,
`step` and `finish` are the reference semantics of a cut, by which tests check the declaration against `Compute`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from tx8ir.backend.axes.alignment import aligned
from tx8ir.backend.axes.combination import Array, State
from tx8ir.backend.axes.declaration import Declaration
from tx8ir.backend.axes.slices import OpSlices
from tx8ir.backend.graph import CompileError
from tx8ir.core import Interface, Operation

__all__ = ["Axes", "declaration_of"]


class Axes(Interface):
    """The iteration space of an op."""

    __slots__ = ()

    @abstractmethod
    def declare(self) -> Declaration:
        """The axes and maps, from types and attributes alone; alignments come from layouts later."""
        raise NotImplementedError  # declares the method; models define it

    def attributes(self, slices: OpSlices) -> Mapping[str, Any]:
        """The attributes in which the op on these slices differs from the whole op (its own padding, kernel, …)."""
        return {}

    def step(self, slices: OpSlices, operands: Sequence[Array | None]) -> State:
        """The state that a part of the combined axes leaves, from the slices of the operands.

        Only for ops with a combination state.
        """
        raise NotImplementedError(f"{type(self).__name__} has no combination state")

    def finish(self, state: State, slices: OpSlices, operands: Sequence[Array | None]) -> Array:
        """The result of a part from the merged state.

        `operands` are the slices of that part: of a reduced axis only those that lack it are read (a bias), as the
        others belong to one of the parts that were merged.
        """
        raise NotImplementedError(f"{type(self).__name__} has no combination state")


def declaration_of(op: Operation) -> Declaration:
    """The declaration of `op`, cuts aligned as the layouts of its values want it.

    Raises:
        CompileError: the op declares no axes.
    """
    model = op.interface(Axes)
    if model is None:
        raise CompileError(f"{op.name} declares no axes", op=op)
    return aligned(model.declare(), op)
