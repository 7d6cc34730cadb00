"""The instructions of a stage for a slice: what they are, what they cost, and which buffers they touch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeAlias, cast

import attrs

from tx8ir.backend.axes import CutError, GroupSlices
from tx8ir.backend.graph import format_of
from tx8ir.backend.nest.body import NestBody
from tx8ir.backend.nest.transfer import Transfer, transfer
from tx8ir.backend.oplib.boxes import Box
from tx8ir.backend.oplib.emission import instruction_class
from tx8ir.backend.oplib.interface import OpLib
from tx8ir.backend.oplib.kernel import InstructionDraft, OpKernel, OpSlice
from tx8ir.backend.oplib.streams import Streamed
from tx8ir.backend.oplib.tensor import SpmTensor, align_up
from tx8ir.core import Operation, Value, VerifyError
from tx8ir.core.ir.builder import detached
from tx8ir.dialects import tx8
from tx8ir.dialects.tx8.access import MemorySpace
from tx8ir.target.chip import Engine

__all__ = ["Form", "KernelWork", "Kernels", "Resource", "Work", "filled", "form_of", "merged", "recorded"]

Resource: TypeAlias = tuple[str, int]
"""What instructions can conflict over: ("value", its number), ("state", op) or ("scratch", address)."""


@attrs.frozen
class Form:
    """What the slices of an op's operands and result have in common where the same instructions compute them.

    Attributes:
        held: of each operand the extents of the slice that is in SPM, None for an absent one and one that stays in DDR.
        read: of each operand where in that slice begins what the op reads of it, and the extents.
        pads: the padding (top, bottom, left, right) that the slice's window sees.
        result: the extents of the result.
    """

    held: tuple[tuple[int, ...] | None, ...]
    read: tuple[tuple[tuple[int, ...], tuple[int, ...]] | None, ...]
    pads: tuple[int, int, int, int]
    result: tuple[int, ...]


def form_of(body: NestBody, op: int, slices: GroupSlices) -> Form | None:
    """The form of an op's slices; None where they are empty.

    Raises:
        CutError: windows see padding alone, which no slice can say.
    """
    own = slices.ops[op]
    if own is None:
        return None
    held: list[tuple[int, ...] | None] = []
    reads: list[tuple[tuple[int, ...], tuple[int, ...]] | None] = []
    pads = (0, 0, 0, 0)
    for value, read in zip(body.space.ops[op].operands, own.operands, strict=True):
        if read is None or value not in body.number:
            held.append(None)
            reads.append(None)
            continue
        box = slices.held[value]
        held.append(box.extent)
        start = tuple(0 if read.box.empty else a - b for a, b in zip(read.box.start, box.start, strict=True))
        reads.append((start, read.box.extent))
        if any(read.before) or any(read.after):
            if read.box.empty:
                raise CutError(f"windows of {body.space.ops[op].name} see padding only")
            pads = (read.before[1], read.after[1], read.before[2], read.after[2])
    return Form(tuple(held), tuple(reads), pads, slices.held[body.space.ops[op].results[0]].extent)


def recorded(
    body: NestBody,
    op: int,
    phase: str,
    form: Form,
    places: Mapping[int, int] | None = None,
    state: int = 0,
    scratch: int = 0,
    tables: Mapping[int, tuple[int, ...]] | None = None,
) -> OpKernel:
    """The kernel of an op for slices of a form.

    Args:
        body: the group.
        op: the op, by its number in the space.
        phase: see `tx8be.SlotAttr`.
        form: the slices.
        places: the address of each value, by its number in the body.
        state: the address of the op's state.
        scratch: that of its temporaries.
        tables: of each operand that stays in DDR the addresses, one per tile.
    """
    found = body.space.ops[op]
    places = {} if places is None else places
    operands: list[SpmTensor | None] = []
    for value, extent in zip(found.operands, form.held, strict=True):
        placed = None
        if extent is not None:
            placed = body.in_spm(value, extent).at(places.get(body.number[value], 0))
        operands.append(placed)
    value = found.results[0]
    result = body.in_spm(value, form.result).at(places.get(body.number[value], 0))
    kernel = OpKernel(OpSlice(tuple(operands), result, form.pads, tables or {}), body.target, scratch)
    for i, (extent, read) in enumerate(zip(form.held, form.read, strict=True)):
        if read is not None and (any(read[0]) or read[1] != extent):
            kernel.cut_out(i, *read)
    if not phase:
        library = found.interface(OpLib)
        assert library is not None
        library.emit(kernel)
        return kernel
    streamed(found).emit_phase(kernel, phase, placed_state(found, result, state))
    return kernel


def filled(body: NestBody, op: int, form: Form, state: int) -> OpKernel:
    """The kernel that writes what no tensor of an op's state has, so that all of it can be sent in one message."""
    found = body.space.ops[op]
    result = body.in_spm(found.results[0], form.result)
    kernel = OpKernel(OpSlice((), result), body.target)
    for tensor in placed_state(found, result, state):
        size = tensor.format.bytes
        starts = [offset for offset, _ in tensor.runs[1:]] + [align_up(tensor.size_bytes)]
        for (offset, count), following in zip(tensor.runs, starts, strict=True):
            end = offset + count * size
            if end < following:
                kernel.memset(tensor.address + end, (following - end) // size, tensor.format)
    return kernel


def merged(body: NestBody, op: int, form: Form, others: int, state: int, scratch: int) -> OpKernel:
    """The kernel that makes an op's state at `state` that of `others` tiles as well, whose states lie behind it."""
    found = body.space.ops[op]
    result = body.in_spm(found.results[0], form.result)
    kernel = OpKernel(OpSlice((), result), body.target, scratch)
    size = state_size(found, result)
    own, *rest = [placed_state(found, result, state + i * size) for i in range(1 + others)]
    streamed(found).merge(kernel, own, rest)
    return kernel


def streamed(op: Operation) -> Streamed:
    """The kernel of an op on parts of its combined axes. Raises `CutError` when it has none."""
    model = op.interface(Streamed)
    if model is None or not format_of(op.results[0]).is_float:
        raise CutError(f"{op.name} has no kernel for a part of the axes that it combines")
    return model


def placed_state(op: Operation, result: SpmTensor, address: int) -> tuple[SpmTensor, ...]:
    """The state of a slice of an op's result, one tensor behind the other from `address`."""
    placed: list[SpmTensor] = []
    for tensor in streamed(op).state(result):
        placed.append(tensor.at(address))
        address += align_up(tensor.size_bytes)
    return tuple(placed)


def state_size(op: Operation, result: SpmTensor) -> int:
    """Bytes of the state of a slice of an op's result, each tensor aligned."""
    return sum(align_up(tensor.size_bytes) for tensor in streamed(op).state(result))


@attrs.frozen
class Work:
    """What one instruction asks of one tile: cycles on an engine, DDR bytes besides, and the buffers it touches."""

    engine: Engine
    cycles: int
    ddr_bytes: int
    reads: tuple[Resource, ...]
    writes: tuple[Resource, ...]


@attrs.frozen
class KernelWork:
    """The instructions of a stage for one slice.

    Attributes:
        works: each instruction's.
        scratch: bytes of temporaries.
        state: bytes of the state.
        illegal: what of it no instruction can do.
    """

    works: tuple[Work, ...]
    scratch: int = 0
    state: int = 0
    illegal: str | None = None


_VALUE = 1 << 40
_STATE, _SCRATCH = 1 << 38, 1 << 39


class Kernels:
    """The works of stages of one group; slices of one form are looked at once."""

    def __init__(self, body: NestBody) -> None:
        self.body = body
        self._computed: dict[tuple[int, str, Form], KernelWork] = {}
        self._works: dict[Hashable, tuple[Work, str | None]] = {}
        self._moved: dict[tuple[Operation, Box], Transfer] = {}

    def compute(self, op: int, phase: str, form: Form) -> KernelWork:
        """The works of a phase of an op."""
        key = (op, phase, form)
        found = self._computed.get(key)
        if found is None:
            found = self._computed[key] = self._compute(op, phase, form)
        return found

    def merge(self, op: int, form: Form, others: int) -> KernelWork:
        """The works of merging the states of `others` further tiles, which lie behind the op's own."""
        key = (op, f"merge {others}", form)
        found = self._computed.get(key)
        if found is None:
            kernel = merged(self.body, op, form, others, _STATE, _SCRATCH)
            works, illegal = self._works_of(kernel)
            found = self._computed[key] = KernelWork(works, kernel.temp_bytes, 0, illegal)
        return found

    def fill(self, op: int, form: Form) -> KernelWork:
        """The works of making an op's state a message."""
        return KernelWork(self._works_of(filled(self.body, op, form, _STATE))[0])

    def blank(self, value: Value, extent: tuple[int, ...]) -> KernelWork:
        """The works of clearing a slice whose padding lanes a load does not write."""
        kernel = OpKernel(
            OpSlice((), self.body.in_spm(value, extent).at((self.body.number[value] + 1) * _VALUE)), self.body.target
        )
        kernel.fill(kernel.result)
        return KernelWork(self._works_of(kernel)[0])

    def transfer(self, op: Operation, box: Box) -> Transfer:
        """How a box of a load's or a store's value moves between DDR and its slice in SPM."""
        found = self._moved.get((op, box))
        if found is None:
            value = op.operands[0] if op.name == "tx8be.StoreVar" else op.results[0]
            part = self.body.in_spm(value, box.extent)
            found = self._moved[op, box] = transfer(self.body.in_ddr(op), box, part, self.body.target)
        return found

    def _compute(self, op: int, phase: str, form: Form) -> KernelWork:
        found = self.body.space.ops[op]
        values = {self.body.number[v] for v in (*found.operands, *found.results) if v in self.body.number}
        places = {number: (number + 1) * _VALUE for number in values}
        tables = dict.fromkeys(self.body.tables(op), (0,))
        kernel = recorded(self.body, op, phase, form, places, _STATE, _SCRATCH, tables)
        works, illegal = self._works_of(kernel)
        state = state_size(found, kernel.result) if phase else 0
        return KernelWork(works, kernel.temp_bytes, state, illegal)

    def _works_of(self, kernel: OpKernel) -> tuple[tuple[Work, ...], str | None]:
        found = [self._work(draft) for draft in kernel.instructions]
        return tuple(work for work, _ in found), next((why for _, why in found if why is not None), None)

    def _work(self, draft: InstructionDraft) -> tuple[Work, str | None]:
        key = (draft.name, tuple(draft.fields.items()))
        found = self._works.get(key)
        if found is None:
            found = self._works[key] = self._made(draft)
        return found

    def _made(self, draft: InstructionDraft) -> tuple[Work, str | None]:
        cls = instruction_class(draft.name)
        addresses = cls.address_fields()
        given = {k: (v,) if k in addresses and isinstance(v, int) else v for k, v in draft.fields.items()}
        with detached():
            made = cast("tx8.Instruction", cast("Callable[..., Any]", cls)(tiles=(0,), **given))
        illegal: str | None = None
        try:
            made.verify_fields(self.body.target)
        except VerifyError as error:
            illegal = f"{cls.name}: {error.message}"
        accesses = made.effects()
        work = made.work(self.body.target, accesses)
        assert isinstance(work.cycles, int)
        assert made.engine is not None
        touched = [
            (access.writes, _resource(access.addresses[0])) for access in accesses if access.space is MemorySpace.SPM
        ]
        reads = tuple(resource for writes, resource in touched if not writes)
        writes = tuple(resource for writes, resource in touched if writes)
        return Work(made.engine, work.cycles, work.ddr_bytes, reads, writes), illegal


def _resource(address: int) -> Resource:
    value, rest = divmod(address, _VALUE)
    if value:
        return "value", value - 1
    return ("scratch", address) if rest >= _SCRATCH else ("state", 0)
