"""What the backend asks of an op: `OpLib` (kernels) and `InferLayout` (layout names).

The models live with the packages that know the answers: `OpLib` in this folder, one file per kind of op, `InferLayout`
in ``backend/layout``. What a cut of an op means, it says in ``backend/axes``.
"""

from __future__ import annotations

import enum
from abc import abstractmethod
from collections.abc import Sequence

import attrs

from tx8ir.backend.oplib.kernel import OpKernel
from tx8ir.core import Interface

__all__ = ["ALL_OPERANDS", "AlignMode", "MainEngine", "InferLayout", "OpLib", "OpQuery"]

ALL_OPERANDS = (1 << 64) - 1
"""`OpQuery.need_load` / `need_store` with every bit set (bit i speaks of operand or result i)."""


class AlignMode(enum.Enum):
    """Which physical layout an op's kernel takes (compiler.md §2.3)."""

    ALIGN = "ALIGN"  # channel-blocked only: Cx / NCx
    NALIGN = "NALIGN"  # dense only: Tensor / NTensor
    BOTH = "BOTH"  # either, the same for all full operands and the result
    CONVERT = "CONVERT"  # ChannelNorm: one side each


class MainEngine(enum.Enum):
    """The engine that does most of an op's work."""

    CT = "CT"
    NE = "NE"
    RDMA = "RDMA"
    WDMA = "WDMA"
    TDMA = "TDMA"
    NONE = "NONE"  # an alias in DDR: no instruction


@attrs.frozen
class OpQuery:
    """An op's answers to the passes before code generation.

    `align_mode`, `default_layout` ("Tensor" or "NTensor"): for the layout passes. `need_load` / `need_store`: bit i set
    when operand / result i is moved by a LoadVar / StoreVar.
    """

    align_mode: AlignMode = AlignMode.BOTH
    default_layout: str = "Tensor"
    engine: MainEngine = MainEngine.CT
    need_load: int = ALL_OPERANDS
    need_store: int = ALL_OPERANDS

    def loads(self, operand: int) -> bool:
        """Whether operand `operand` is loaded to SPM before the kernel runs."""
        return bool(self.need_load >> operand & 1)

    def stores(self, result: int) -> bool:
        """Whether result `result` is stored to DDR after the kernel ran."""
        return bool(self.need_store >> result & 1)


class OpLib(Interface):
    """The kernel of an op on one tile."""

    @abstractmethod
    def query(self) -> OpQuery:
        """Static facts about the op, from its kind, types and attributes alone."""
        raise NotImplementedError

    @abstractmethod
    def emit(self, kernel: OpKernel) -> None:
        """Append the instructions that compute one slice to `kernel`."""
        raise NotImplementedError


class InferLayout(Interface):
    """Propagation of `layout_str` names through an op; None means "cannot say"."""

    @abstractmethod
    def forward(self, operands: Sequence[str | None]) -> str | None:
        """The result's layout name, from the operands' (None where unknown)."""
        raise NotImplementedError

    @abstractmethod
    def backward(self, result: str) -> tuple[str | None, ...]:
        """The layout names the operands must have for a result of layout `result`."""
        raise NotImplementedError
