"""The base of the `OpLib` models."""

from __future__ import annotations

from typing import TypeVar

from tx8ir.backend.graph import shape_of
from tx8ir.backend.oplib.interface import OpQuery
from tx8ir.backend.oplib.kernel import OpKernel
from tx8ir.core import Model, Operation

__all__ = ["KernelModel", "rank_layout"]

OpT = TypeVar("OpT", bound=Operation)


def rank_layout(op: Operation) -> str:
    """`OpQuery.default_layout` of an op: "Tensor" up to rank 2, "NTensor" above."""
    return "Tensor" if len(shape_of(op.results[0])) <= 2 else "NTensor"


class KernelModel(Model[OpT]):
    """An `OpLib` model whose temporaries and cycles are read off what `emit` writes."""

    __slots__ = ()

    def query(self) -> OpQuery:
        raise NotImplementedError  # each kind of op answers for itself

    def emit(self, kernel: OpKernel) -> None:
        raise NotImplementedError  # each kind of op answers for itself
