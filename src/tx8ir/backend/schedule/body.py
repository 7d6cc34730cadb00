"""A group's body as the backend schedules it: loads, compute ops in order, one store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

import attrs

from tx8ir.backend.graph import CompileError, format_of, mem_layout_of, shape_of
from tx8ir.backend.oplib.boxes import Box
from tx8ir.backend.oplib.interface import OpLib, Sharding
from tx8ir.backend.oplib.kernel import OpKernel, OpSlice
from tx8ir.backend.oplib.model import last_axis_granule
from tx8ir.backend.oplib.tensor import SpmTensor
from tx8ir.backend.schedule.transfer import Transfer, Transfers, transfer
from tx8ir.core import IrError, NoneType, Operation, Value
from tx8ir.dialects import tx8be
from tx8ir.target.chip import Target

__all__ = ["GroupBody", "GroupSlice", "LoadOp", "op_lib", "sharding_of"]

LoadOp: TypeAlias = "tx8be.LoadVarOp | tx8be.LoadConstOp"


def op_lib(op: Operation) -> OpLib:
    """The kernel of `op`. Raises `CompileError` when the op library has none."""
    library = op.interface(OpLib)
    if library is None:
        raise CompileError(f"{op.name} has no kernel in the op library", op=op)
    return library


def sharding_of(op: Operation) -> Sharding:
    """The cutting rules of `op`. Raises `CompileError` when it has none."""
    rules = op.interface(Sharding)
    if rules is None:
        raise CompileError(f"{op.name} has no cutting rules in the op library", op=op)
    return rules


def tensor_of(value: Value, extent: tuple[int, ...] | None = None) -> SpmTensor:
    """The descriptor of `value`, or of a slice of it with `extent`, not placed."""
    return SpmTensor(format_of(value), shape_of(value) if extent is None else extent, mem_layout_of(value))


@attrs.frozen(slots=False)
class GroupSlice:
    """What one tile does in one time step: the box of every value that the result's box needs.

    `boxes` are in the order of `GroupBody.values` (None: not needed): the hull of what the readers read. `needs` is
    what each compute op reads, per operand, and `pads` its own padding, both in the order of `GroupBody.compute`.
    """

    boxes: tuple[Box | None, ...]
    needs: tuple[tuple[Box | None, ...], ...]
    pads: tuple[tuple[int, int, int, int], ...]

    phases: tuple[tuple[int, bool] | None, ...]
    """`SpmTensor.channel_phase` of every box."""

    cuts: tuple[tuple[tuple[int, ...] | None, ...], ...]
    """Where in the operand's box what a compute op reads begins, like `needs`; None where that is not in SPM."""

    @cached_property
    def form(self) -> tuple[object, ...]:
        """Equal for slices that the same instructions compute, up to DDR addresses."""
        extents = tuple(None if box is None else box.extent for box in self.boxes)
        needs = tuple(tuple(None if box is None else box.extent for box in boxes) for boxes in self.needs)
        return extents, needs, self.cuts, self.pads, self.phases


@attrs.frozen(slots=False)
class GroupBody:
    """The ops of a searched group (`group_tag` 0 or 1), checked and in order."""

    group: tx8be.GroupOp
    loads: tuple[LoadOp, ...]
    compute: tuple[tx8be.BackendOp, ...]
    store: tx8be.StoreVarOp
    target: Target
    transfers: Transfers = attrs.field(eq=False)
    _slices: dict[Box, GroupSlice | None] = attrs.field(factory=dict[Box, "GroupSlice | None"], init=False, eq=False)
    _parts: dict[tuple[int, tuple[int, ...]], SpmTensor] = attrs.field(
        factory=dict[tuple[int, tuple[int, ...]], SpmTensor], init=False, eq=False
    )

    @staticmethod
    def of(group: tx8be.GroupOp, target: Target, transfers: Transfers | None = None) -> GroupBody:
        """The body of `group`, for `target`; groups of one target may share what they remember of `transfers`.

        Raises:
            CompileError: it is other than loads, compute ops with kernels, and one store.
        """
        loads: list[LoadOp] = []
        compute: list[tx8be.BackendOp] = []
        stores: list[tx8be.StoreVarOp] = []
        for op in group.body.block:
            if isinstance(op, tx8be.LoadVarOp):
                loads.append(op)
            elif isinstance(op, tx8be.LoadConstOp):
                if not op.bypasscodegen:
                    loads.append(op)
            elif isinstance(op, tx8be.StoreVarOp):
                stores.append(op)
            elif isinstance(op, tx8be.BackendOp) and not isinstance(op, tx8be.NoneOp | tx8be.ReturnOp):
                op_lib(op)
                compute.append(op)
        if len(stores) != 1 or len(group.outs) != 1:
            raise CompileError(f"a group stores one result; this one has {len(stores)} stores", op=group)
        return GroupBody(
            group, tuple(loads), tuple(compute), stores[0], target, Transfers() if transfers is None else transfers
        )

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The values that live in SPM: results of the loads, then of the compute ops."""
        return (*(load.results[0] for load in self.loads), *(op.results[0] for op in self.compute))

    @cached_property
    def index(self) -> dict[Value, int]:
        """Position of each value in `values`."""
        return {value: i for i, value in enumerate(self.values)}

    @property
    def stored(self) -> Value:
        """The value that is stored."""
        return self.store.x

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Extents of the stored value."""
        return shape_of(self.stored)

    @cached_property
    def cut_alignment(self) -> tuple[int | None, ...]:
        """Where the stored value may be cut (see `Sharding.cut_alignment`)."""
        producer = self.stored.defining_op
        if isinstance(producer, tx8be.LoadVarOp | tx8be.LoadConstOp):  # a copy of an input or a constant
            return (
                *(1 for _ in self.shape[1:]),
                *((last_axis_granule(self.stored, self.target),) if self.shape else ()),
            )
        assert producer is not None
        return sharding_of(producer).cut_alignment(self.target)

    @cached_property
    def tensors(self) -> tuple[SpmTensor, ...]:
        """The whole tensor of every value."""
        return tuple(tensor_of(value) for value in self.values)

    def slice_for(self, out: Box) -> GroupSlice | None:
        """The slices that the box `out` of the stored value needs, from the store back to the loads.

        A value with several readers gets the hull of what they read. None when a cut is not allowed somewhere.
        """
        if out not in self._slices:
            self._slices[out] = self._slice_for(out)
        return self._slices[out]

    def _slice_for(self, out: Box) -> GroupSlice | None:
        boxes: list[Box | None] = [None] * len(self.values)
        boxes[self.index[self.stored]] = out
        pads: list[tuple[int, int, int, int]] = [(0, 0, 0, 0)] * len(self.compute)
        needs: list[tuple[Box | None, ...]] = [()] * len(self.compute)
        for number in reversed(range(len(self.compute))):
            op = self.compute[number]
            box = boxes[len(self.loads) + number]
            if box is None:
                continue
            if not _allowed(box, shape_of(op.results[0]), self._all_granules[number]):
                return None
            slices = sharding_of(op).operand_slices(box)
            pads[number], needs[number] = slices.pads, slices.boxes
            for value, needed in zip(op.operands, slices.boxes, strict=True):
                position = self.index.get(value)
                if needed is None or position is None:
                    continue
                present = boxes[position]
                boxes[position] = needed if present is None else present.hull(needed)
        position = self.index[self.stored]
        if boxes[position] != out:
            return None  # a reader inside the group needs more of the result than this slice stores
        if not self.tensors[position].covers_blocks(*out.channels):
            return None  # the store would write padding over elements
        phases = tuple(
            None if box is None else tensor.channel_phase(box.channels[0])
            for tensor, box in zip(self.tensors, boxes, strict=True)
        )
        cuts = tuple(self._cuts(op, read, boxes) for op, read in zip(self.compute, needs, strict=True))
        return GroupSlice(tuple(boxes), tuple(needs), tuple(pads), phases, cuts)

    def _cuts(
        self, op: Operation, needs: Sequence[Box | None], boxes: Sequence[Box | None]
    ) -> tuple[tuple[int, ...] | None, ...]:
        """Where in the boxes of its operands what `op` reads begins; `needs` is empty when it computes nothing."""
        cuts: list[tuple[int, ...] | None] = []
        for value, needed in zip(op.operands, needs, strict=bool(needs)):
            position = self.index.get(value)
            box = None if position is None else boxes[position]
            if needed is None or box is None:
                cuts.append(None)
            else:
                cuts.append(tuple(a - b for a, b in zip(needed.start, box.start, strict=True)))
        return tuple(cuts)

    @cached_property
    def _all_granules(self) -> tuple[tuple[int | None, ...], ...]:
        return tuple(sharding_of(op).cut_alignment(self.target) for op in self.compute)

    def kernel(
        self,
        number: int,
        group_slice: GroupSlice,
        *,
        addresses: Sequence[int] | None = None,
        tables: Mapping[int, tuple[int, ...]] | None = None,
        scratch: int = 0,
    ) -> OpKernel:
        """The instructions of compute op `number` in `group_slice`.

        `addresses` are the SPM addresses of `values`, `tables` the DDR addresses of the operands that are not loaded,
        `scratch` that of the temporaries; zeros stand for what is not given. An operand whose buffer holds more than
        the op reads, because another op reads more, is first cut out into a temporary.
        """
        op = self.compute[number]
        operands: list[SpmTensor | None] = []
        placed = dict(tables or {})
        for i, value in enumerate(op.operands):
            position = self.index.get(value)
            if position is None:
                operands.append(None)
                if not isinstance(value.type, NoneType):
                    placed.setdefault(i, (0,))
            else:
                operands.append(self.slice_tensor(position, group_slice, addresses[position] if addresses else 0))
        position = len(self.loads) + number
        result = self.slice_tensor(position, group_slice, addresses[position] if addresses else 0)
        kernel = OpKernel(OpSlice(tuple(operands), result, group_slice.pads[number], placed), self.target, scratch)
        for i, (buffer, needed, cut) in enumerate(
            zip(operands, group_slice.needs[number], group_slice.cuts[number], strict=True)
        ):
            if buffer is None or needed is None or cut is None:
                continue
            if any(cut) or needed.extent != buffer.shape:
                kernel.cut_out(i, cut, needed.extent)
        op_lib(op).emit(kernel)
        return kernel

    def slice_tensor(self, position: int, group_slice: GroupSlice, address: int = 0) -> SpmTensor:
        """The slice of `values[position]`, at `address`."""
        box = group_slice.boxes[position]
        if box is None:
            raise IrError("a value of the group is not needed by its result", op=self.group)
        part = self._parts.get((position, box.extent))
        if part is None:
            whole = self.tensors[position]
            part = self._parts[position, box.extent] = SpmTensor(whole.format, box.extent, whole.layout)
        return part.at(address) if address else part

    def transfer(self, position: int, box: Box) -> Transfer:
        """How `box` of `values[position]` moves between DDR and its slice in SPM."""
        whole = self.tensors[position]
        found = self.transfers.get((whole, box))
        if found is None:
            part = SpmTensor(whole.format, box.extent, whole.layout)
            found = self.transfers[whole, box] = transfer(whole, box, part, self.target)
        return found


def _allowed(box: Box, shape: tuple[int, ...], cut_alignment: tuple[int | None, ...]) -> bool:
    """Whether a cut respects the cut_alignment: starts and ends on multiples, or at the tensor's end."""
    for start, extent, size, alignment in zip(box.start, box.extent, shape, cut_alignment, strict=True):
        if alignment is None:
            if (start, extent) != (0, size):
                return False
        elif start % alignment or ((start + extent) % alignment and start + extent != size):
            return False
    return True
