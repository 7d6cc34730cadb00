"""`NestBody`: a group as it is scheduled, and which groups can be: `covers`."""

from __future__ import annotations

from functools import cached_property
from typing import TypeAlias

import attrs

from tx8ir.backend.axes import Axes, CutError, GroupSlices, GroupSpace, group_space, needs
from tx8ir.backend.graph import CompileError, format_of, mem_layout_of, region_tiles, set_mem_layout, shape_of
from tx8ir.backend.oplib.boxes import Box
from tx8ir.backend.oplib.interface import AlignMode, MainEngine, OpLib
from tx8ir.backend.oplib.tensor import SpmTensor
from tx8ir.core import NoneType, Operation, RankedTensor, Value
from tx8ir.dialects import tx8, tx8be
from tx8ir.target.chip import Target
from tx8ir.target.layout import MemLayout, aligned_channels

__all__ = ["LoadOp", "NestBody", "covers", "fold_relayouts", "refusal"]

LoadOp: TypeAlias = "tx8be.LoadVarOp | tx8be.LoadConstOp"

CONTRACTIONS = (tx8be.GemmOp, tx8be.ConvOp)
KEPT = (tx8be.NoneOp, tx8be.ReturnOp, tx8be.StoreVarOp)
"""Ops whose layout is nothing in SPM."""


def fold_relayouts(group: tx8be.GroupOp, by: str) -> None:
    """Take `ChannelNorm` out of a covered group where transfers can change the layout on the way.

    Where no op wants dense values and no block has padding lanes, all values become channel-blocked in SPM. Elsewhere
    values keep their layouts, and what is changed after a load or before a store is changed by it if it has no padding.
    A load then has the layout of its slice in SPM, which may be another than that of what it reads in DDR.
    """
    all_blocked = _can_all_be_blocked(group)
    for op in list(group.body.block):
        if isinstance(op, tx8be.ChannelNormOp):
            if not all_blocked and not _is_folded(op):
                continue
            source = op.x.defining_op
            if not all_blocked and isinstance(source, tx8be.LoadVarOp):
                set_mem_layout(source, blocked=op.direction)
            op.y.replace_all_uses_with(op.x)
            op.erase(by=by)
        elif (
            all_blocked
            and isinstance(op, tx8be.BackendOp)
            and not isinstance(op, (*KEPT, tx8be.LoadConstOp))
            and _is_matrix(op)
        ):
            set_mem_layout(op, blocked=True)


def _is_folded(op: tx8be.ChannelNormOp) -> bool:
    """Whether a load or the stores next to a change of layout do it."""
    readers = [use.owner for use in op.y.uses]
    if not _has_no_padding(op.y):
        return False
    if all(isinstance(reader, tx8be.StoreVarOp) for reader in readers):
        return not isinstance(op.x.defining_op, (tx8be.LoadVarOp, tx8be.LoadConstOp))
    loaded = isinstance(op.x.defining_op, tx8be.LoadVarOp) and len(list(op.x.uses)) == 1
    return loaded and not any(isinstance(reader, tx8be.StoreVarOp) for reader in readers)


def _can_all_be_blocked(group: tx8be.GroupOp) -> bool:
    for op in group.body.block:
        if isinstance(op, tx8be.ChannelNormOp) and not _is_matrix(op):
            return False
        if isinstance(op, (tx8be.LoadVarOp, tx8be.StoreVarOp)):
            if _is_matrix(op) and not mem_layout_of(op.operands[0]).is_blocked and not _has_no_padding(op.y):
                return False
            if isinstance(op, tx8be.StoreVarOp) and _is_loaded(_before_relayout(op.x)):
                return False
        elif isinstance(op, tx8be.LoadConstOp):
            if _is_matrix(op) and not mem_layout_of(op.y).is_blocked:
                return False
        elif not isinstance(op, KEPT):
            library = op.interface(OpLib)
            if library is None or library.query().align_mode is AlignMode.NALIGN:
                return False
    return True


@attrs.frozen(slots=False, eq=False)
class NestBody:
    """The ops of a group and their common iteration space.

    Attributes:
        group: the group, without relayouts at its borders (`fold_relayouts`).
        loads: what brings a value from DDR, in order.
        stores: what leaves the group, in order.
        space: the iteration space; its `ops` are those that compute.
        target: the chip.
        tiles: the ids of the group's tiles, x slowest.
        mesh: their numbers along x and y.
    """

    group: tx8be.GroupOp
    loads: tuple[LoadOp, ...]
    stores: tuple[tx8be.StoreVarOp, ...]
    space: GroupSpace
    target: Target
    tiles: tuple[int, ...]
    mesh: tuple[int, int]
    _needs: dict[Box, GroupSlices] = attrs.field(factory=dict[Box, GroupSlices], init=False)

    @staticmethod
    def of(group: tx8be.GroupOp, target: Target | None = None) -> NestBody:
        """The body of `group`, for `target`, by default that of its module.

        Raises:
            CompileError: an op of it declares no axes.
        """
        ops = list(group.body.block)
        brought = [op for op in ops if isinstance(op, tx8be.LoadVarOp | tx8be.LoadConstOp)]
        loads = tuple(op for op in brought if not _stays_in_ddr(op.y))
        stores = tuple(op for op in ops if isinstance(op, tx8be.StoreVarOp))
        computing = [
            op for op in ops if isinstance(op, tx8be.BackendOp) and op not in brought and not isinstance(op, KEPT)
        ]
        space = group_space(computing, [store.x for store in stores])
        target, region = tx8.target_of(group) if target is None else target, group.dev_region
        mesh = target.grid if region is None else (region.dx, region.dy)
        return NestBody(group, loads, stores, space, target, region_tiles(group, target), mesh)

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The values that lie in SPM: of the loads, then of the ops."""
        return (*(load.y for load in self.loads), *(op.results[0] for op in self.space.ops))

    @cached_property
    def number(self) -> dict[Value, int]:
        """The position of each value in `values`."""
        return {value: i for i, value in enumerate(self.values)}

    def tables(self, op: int) -> tuple[int, ...]:
        """The operands of an op, by position, that it addresses in DDR by itself."""
        operands = self.space.ops[op].operands
        return tuple(
            i for i, value in enumerate(operands)
            if value not in self.number and not isinstance(value.type, NoneType)
        )  # fmt: skip

    def needs(self, part: Box) -> GroupSlices:
        """What a part of the space needs; see `axes.needs`."""
        found = self._needs.get(part)
        if found is None:
            found = self._needs[part] = needs(self.space, part)
        return found

    def in_spm(self, value: Value, extent: tuple[int, ...]) -> SpmTensor:
        """A slice of a value as it lies in SPM, not placed."""
        return SpmTensor(format_of(value), extent, _layout(value))

    def message_bytes(self, value: Value, extent: tuple[int, ...]) -> int:
        """Bytes of a message with a slice of a value.

        Raises `CutError` where it has gaps, which nobody writes, or is empty, which nobody sends: a part of a
        concatenation that is sliced off again.
        """
        ((_, count), *more) = self.in_spm(value, extent).runs
        if more:
            raise CutError(f"a slice of extents {list(extent)} has gaps between its batches")
        if not count:
            raise CutError(f"a slice of extents {list(extent)} is empty")
        return count * format_of(value).bytes

    def in_ddr(self, op: Operation) -> SpmTensor:
        """The whole tensor of a load or a store as it lies in DDR."""
        if isinstance(op, tx8be.LoadVarOp):
            return SpmTensor(format_of(op.x), shape_of(op.x), mem_layout_of(op.x))
        return SpmTensor(format_of(op.results[0]), shape_of(op.results[0]), _layout(op.results[0]))

    def tile_at(self, x: int, y: int) -> int:
        """The id of the tile at these coordinates of the group's mesh."""
        return self.tiles[x * self.mesh[1] + y]


def _layout(value: Value) -> MemLayout:
    op = value.defining_op
    info = op.dev_info if isinstance(op, tx8be.BackendOp) else None
    if info is None:
        raise CompileError("a value has no dev_info: the layout passes come before this stage", op=op)
    return MemLayout(info.mem_layout)


def covers(group: tx8be.GroupOp) -> bool:
    """Whether this package compiles a group."""
    return refusal(group) is None


def refusal(group: tx8be.GroupOp) -> str | None:
    """Why this package does not compile a group; None where it does.

    Its ops must have kernels and declare their axes, what they read lies where they want it, in SPM or in DDR, and
    nothing is empty or packed.
    """
    if group.group_tag == 2:
        return "it is an alias in DDR"
    stored: set[Value] = set()
    for op in group.body.block:
        why = _unfit_type(op)
        match op:
            case tx8be.LoadVarOp() | tx8be.LoadConstOp() | tx8be.NoneOp() | tx8be.ReturnOp():
                pass
            case tx8be.StoreVarOp():
                source = _before_relayout(op.x)
                if source in stored:
                    why = why or "a value is stored twice"
                stored.add(source)
            case _:
                why = why or _unfit_op(op)
        if why is not None:
            return why
    return None


def _unfit_op(op: Operation) -> str | None:
    library = op.interface(OpLib)
    if library is None or op.interface(Axes) is None:
        return f"{op.name} has no kernel"
    query = library.query()
    if query.engine is MainEngine.NONE:
        return f"{op.name} is not computed in SPM"
    for i, value in enumerate(op.operands):
        if not isinstance(value.type, NoneType) and query.loads(i) == _stays_in_ddr(value):
            return f"operand {i} of {op.name} is {'in DDR' if query.loads(i) else 'not in DDR'}"
    return None


def _stays_in_ddr(value: Value) -> bool:
    """Whether an op of a group that reads a value addresses it in DDR by itself, such as the table of a gather."""
    source = value.defining_op
    return source is None or (isinstance(source, tx8be.LoadConstOp) and bool(source.bypasscodegen))


def _before_relayout(value: Value) -> Value:
    while isinstance(value.defining_op, tx8be.ChannelNormOp):
        value = value.defining_op.x
    return value


def _is_loaded(value: Value) -> bool:
    return isinstance(value.defining_op, tx8be.LoadVarOp | tx8be.LoadConstOp)


def _is_matrix(op: Operation) -> bool:
    return any(isinstance(value.type, RankedTensor) and value.type.rank > 1 for value in op.results)


def _has_no_padding(value: Value) -> bool:
    """Whether a transfer can change a value from or to channel blocks on the way: it would not fill padding lanes."""
    channels = (shape_of(value) or (1,))[-1]
    return aligned_channels(channels, format_of(value)) == channels


def _unfit_type(op: Operation) -> str | None:
    for value in (*op.operands, *op.results):
        kind = value.type
        if isinstance(kind, RankedTensor) and (kind.element.format.is_packed or 0 in kind.shape):
            return f"{op.name} has a value of type {kind}"
    return None
