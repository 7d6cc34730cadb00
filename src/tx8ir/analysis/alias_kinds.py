"""What operations do to storage: the kinds that the alias analysis tells apart, and the effects that it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tx8ir.core import (
    Branch,
    CallableLike,
    CallLike,
    HasValueSemantics,
    Inplace,
    MemoryEffects,
    Operation,
    ParameterAccess,
    Pure,
    ReadOnly,
    RegionBranch,
    StorageAliases,
    Terminator,
    ViewLike,
)
from tx8ir.dialects import builtin

NOTHING, READS, INPLACE, VIEW, CALL, END, REGIONS, PARAMETER, EFFECTS, FORWARD, BRANCH, OPAQUE = range(12)


class Kinds(dict[type[Operation], int]):
    """What operations of a class do to storage; found on first sight."""

    __slots__ = ()

    def __missing__(self, cls: type[Operation]) -> int:
        self[cls] = kind = _kind_of(cls)
        return kind


SHARING: Final = frozenset((VIEW, INPLACE, PARAMETER))
"""Kinds whose results are storage that was there before."""


def _kind_of(cls: type[Operation]) -> int:
    traits, interfaces = cls.info.traits, cls.info.interfaces
    if cls is builtin.ModuleOp or CallableLike in interfaces:
        return NOTHING
    if cls in (builtin.ToTensorOp, builtin.ToVTensorOp):
        return READS
    if CallLike in interfaces:
        return CALL
    if RegionBranch in interfaces:
        return REGIONS
    if MemoryEffects in interfaces or StorageAliases in interfaces:
        return EFFECTS
    if Inplace in traits:
        return INPLACE
    if ViewLike in interfaces:
        return VIEW
    if ParameterAccess in interfaces:
        return PARAMETER
    if Branch in interfaces:
        return BRANCH
    if HasValueSemantics in traits:
        return READS
    if Pure in traits or ReadOnly in traits:
        return FORWARD
    return END if Terminator in traits else OPAQUE


class Effects(NamedTuple):
    """What an operation, with everything inside it, may do.

    Attributes:
        reads: the storages it may read.
        writes: the storages it may write.
        opaque: it is not known: it may read and write every storage, and be seen from outside.
        visible: it gives something to the outside (`pd.fetch`), in an order that is kept.
    """

    reads: frozenset[int] = frozenset()
    writes: frozenset[int] = frozenset()
    opaque: bool = False
    visible: bool = False

    @property
    def none(self) -> bool:
        """True for an operation that touches no storage and is not seen from outside."""
        return not (self.reads or self.writes or self.opaque or self.visible)


def joined(parts: Sequence[Effects]) -> Effects:
    """The effects of several operations together."""
    reads = frozenset[int]().union(*(part.reads for part in parts))
    writes = frozenset[int]().union(*(part.writes for part in parts))
    return Effects(reads, writes, any(part.opaque for part in parts), any(part.visible for part in parts))


NO_EFFECTS: Final = Effects()
