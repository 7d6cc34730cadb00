"""Misuse of bytes: an instruction that takes them for elements of another format, or lying in another layout.

All instructions are followed. Those that go by the axes of a tensor, and declared ports, give bytes a layout and a
format; arithmetic over elements as they lie gives its result the layout of its operands, which must lie alike; copies
of bytes take both along. What a strided copy of channel-blocked elements in pieces of less than 256 bytes makes has no
layout, unless the instruction declares one (`as_layout`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import Instruction, MemorySpace, OperandTensor, PortOp, RdmaGatherOp, RowCopyOp
from tx8ir.sim.errors import Fault, SimError, bytes_text
from tx8ir.sim.memory.memory import Memory, Placed
from tx8ir.target.formats import UI8
from tx8ir.target.layout import MemLayout, flatten_shape

from .contents import (
    UNKNOWN,
    Content,
    Order,
    Reading,
    agrees,
    covers,
    element_numbers,
    lanes_meet,
    meet,
    order_of,
    same_format,
    without_extents,
)
from .layout_plan import Adjust, Binder, Copy, LayoutPlan, Read, Walk, adjustment
from .shadow import BIAS, BITS, MASK, PAGE, Run, Shadow
from .writers import WriteLog

_PLANS_KEPT = 64  # of each instruction
_KEYS_KEPT = 64  # of each source
_VERDICTS_KEPT = 1 << 14


class LayoutShadow:
    """Knows what the bytes of the memories hold.

    Costs a look at one number for each 256 bytes of an operand, and for each 256 bytes of a result one is written; a
    number for each byte only in pages where what they hold differs. Tensors that differ are compared element by
    element, once for each way in which they meet.
    """

    def __init__(self, memory: Memory, ports: tuple[PortOp, ...]) -> None:
        self._memory = memory
        clock = itertools.count()
        self._shadows = {store: Shadow(store, clock) for store in (memory.spm, *memory.segments)}
        self._contents: list[Content] = [UNKNOWN]
        self._numbers: dict[Content, int] = {}
        self._binder = Binder(self._shadows)
        self._log = WriteLog(memory.target.spm_bytes, ports)
        self._verdicts: dict[object, bool] = {}
        self._now: tuple[LayoutPlan, tuple[Placed, ...]] | None = None
        """What is being executed."""
        self._varies = False
        """Whether an instruction has met different contents in its executions of a run."""
        self._is_known = False
        """Whether a run has come to its end, in the order of the block, without a fault."""
        self._repeats = False
        """Whether this run is a repetition of such a one: what bytes hold does not depend on data."""
        self._declared = tuple(self._declare(ports))

    def finish(self, *, in_order: bool) -> None:
        """A run has come to its end; `in_order` if no schedule was asked for."""
        self._is_known = in_order and not self._varies

    def forget(self) -> None:
        """Look at the next run as at the first."""
        self._is_known = False

    def clear(self, *, in_order: bool = False) -> None:
        """Forget everything but what ports declare that lies there from the start.

        `in_order`: that no schedule is asked for. The second such run does what the first did, and is not looked at.
        """
        self._now = None
        self._repeats = self._is_known and in_order
        if self._repeats:
            return
        self._is_known, self._varies = False, False
        self._log.clear()
        for store, shadow in self._shadows.items():
            if store.is_writable:
                shadow.clear()
        for shadow, start, end, code in self._declared:
            shadow.fill(start, end, code)

    def _declare(self, ports: tuple[PortOp, ...]) -> Iterator[tuple[Shadow, int, int, int]]:
        """What ports declare, in bytes that instructions may write; in others it is filled in for good."""
        for store, shadow in self._shadows.items():
            if store.kind == "const":
                shadow.fill(0, store.size, self._flat(UNKNOWN))
        for op in ports:
            store = self._memory.segment_at(op.address, op.size_bytes)
            if store is None or not op.size_bytes:
                continue  # a segment that is not there is found when the input is written
            start = op.address - store.address
            stretch = self._shadows[store], start, start + op.size_bytes, self._code(_port_content(op), start)
            if store.is_writable:
                yield stretch
            else:
                self._shadows[store].fill(*stretch[1:])

    # -- when an instruction is decoded -----------------------------------------------------------------------------

    def plan(self, op: Instruction, index: int, placed: tuple[Placed, ...]) -> LayoutPlan:
        """Which accesses of an instruction are looked at, and what becomes of its destinations."""
        return self._binder.bind(op, index, placed)

    def at(self, plan: LayoutPlan, placed: tuple[Placed, ...]) -> LayoutPlan:
        """The plan for where loops have moved the accesses."""
        if placed is plan.placed:
            self._now = plan, placed
            return plan
        key = tuple([(p.shift, p.access.addresses[0]) for p in placed])
        found = plan.moved.get(key)
        if found is None:
            if len(plan.moved) >= _PLANS_KEPT:
                # Nothing is left of what they have met.
                self._varies = self._varies or any(moved.knows_tensors for moved in plan.moved.values())
                plan.moved.clear()
            found = plan.moved[key] = self._binder.bind(plan.op, plan.index, placed)
            found.alike = plan.alike
        self._now = found, placed
        return found

    def check(self, plan: LayoutPlan) -> None:
        """Raise Fault when a source holds other elements than the instruction takes them for."""
        if self._repeats:
            return
        if plan.executed:
            plan.found = plan.stamp
            if plan.found == plan.fixpoint:
                return
        for read in plan.reads:
            code: int | None = None
            for run in read.runs:
                code = run.uniform()
                if code is None:
                    self._check_mixed(plan, read, run)
                elif code not in read.accepted:
                    if not self._may_be(read.reading, code, plan.adjust, None):
                        raise self._misuse(plan, read, run, 0, code)
                    read.accepted.add(code)
            if code is None or len(read.runs) > 1:
                code = self._flat(self._summary(read.runs[0])) if plan.joined else 0
            if read.code != code:
                self._varies = self._varies or (read.code != -1 and bool((read.code | code) & MASK))
                read.code = code
        if len(plan.joined) > 1 or plan.unit is not None:
            key = tuple([read.code for read in plan.joined])
            if plan.unit is not None:
                key = (*key, plan.unit[0].code)
            if key not in plan.alike:
                self._check_alike(plan)
                plan.alike.add(key)

    def record(self, plan: LayoutPlan) -> None:
        """Take over what an instruction has written."""
        if self._repeats:
            return
        if not plan.writes and not plan.copies:
            if isinstance(plan.op, RowCopyOp):
                self._record_rows(plan.op, plan.placed)
                self._log.wrote(plan)
            return
        self._log.wrote(plan)
        if plan.found == plan.fixpoint:
            return
        for content, runs, reading in plan.writes:
            if content is None:
                self._record_joined(plan, runs, reading)
                continue
            code = self._code(content, 0)
            for run in runs:
                run.fill(code)
        for copy in plan.copies:
            self._record_copy(copy, plan.adjust)
        if plan.executed and plan.stamp == plan.found:
            plan.fixpoint = plan.found
        plan.executed = True

    def _record_joined(self, plan: LayoutPlan, runs: tuple[Run, ...], reading: Reading) -> None:
        """The result of arithmetic over lanes lies as its operands do."""
        first = max(plan.joined, key=lambda read: self._rank(read.code))
        content, distance = self._content(first.code)
        if plan.adjust is not None:
            content = plan.adjust(content)
        if content.tensor is not None:
            distance = distance // first.reading.pitch * reading.pitch
        result = content.with_format(reading.format, reading.pitch)
        plan.result = self._code(result, distance)
        for run in runs:
            run.fill(plan.result)

    def _rank(self, code: int) -> int:
        """How much a code says of a layout."""
        content = self._content(code)[0]
        if content.tensor is not None:
            return 3
        return {Order.ANY: 0, Order.DENSE: 1, Order.BLOCKED: 2}[content.order]

    def _record_copy(self, copy: Copy, adjust: Adjust) -> None:
        walk = copy.walk
        code = copy.source.uniform()
        if code is not None:
            content, distance = self._content(code)
        else:
            content, distance = self._summary(copy.source), 0
            if content.format is None and copy.spans is None and not walk.levels:
                for a, b in zip(copy.of_starts.tolist(), copy.to_starts.tolist(), strict=True):
                    self._copy_run(copy.of, a, copy.to, b, walk.run, adjust)
                return
        if adjust is not None:
            content = adjust(content)
        if content.tensor is not None and not walk.levels and not covers(content, distance, walk.run):
            content = without_extents(content, distance, walk.run)  # parts of several tensors may come to lie together
        if walk.levels:
            if content.tensor is not None and walk.run < PAGE:
                content, distance = _respaced(content, distance, walk)
            elif content.tensor is not None:
                content = without_extents(content, distance, copy.source.length)
            elif adjust is None and content.order is Order.BLOCKED and walk.run < PAGE:
                content = Content(content.format)
        if copy.spans is None:
            copy.target.fill(self._code(content, distance))
            return
        offsets, length = copy.spans
        starts = (copy.to_starts[:, None] + offsets).reshape(-1)
        code = self._flat(Content(content.format, None, content.order))
        if len(starts) > 1 and (np.diff(np.sort(starts)) < length).any():
            for start in starts.tolist():  # stretches with small gaps, of tiles that lie in each other's gaps
                copy.to.fill(start, start + length, code)
            return
        copy.to.fill_many(starts, length, code)

    def _summary(self, run: Run) -> Content:
        """What bytes have in common that hold different things, without the extents of tensors."""
        contents = {self._content(code)[0] for code in run.codes() if code}
        formats = {content.format for content in contents}
        if len(formats) != 1:
            return UNKNOWN
        orders = {order_of(content) for content in contents}
        return Content(formats.pop(), None, orders.pop() if len(orders) == 1 else Order.ANY)

    def _record_rows(self, op: RowCopyOp, placed: tuple[Placed, ...]) -> None:
        """RowStarts of a table, which are taken to be alike; what they hold is unknown if they are not."""
        source, target = self._binder.runs(placed[0]), self._binder.runs(placed[-1])
        looked_at = source if isinstance(op, RdmaGatherOp) else (*source, *target)
        contents = {
            self._content(code)[0].flat() for run in looked_at for code in run.codes() if code
        }  # rows that were never written are found when they are read
        known = contents.pop() if len(contents) == 1 else UNKNOWN
        adjust = adjustment(op)
        for run in target:
            run.fill(self._flat(adjust(known) if adjust is not None else known))

    def _copy_run(self, of: Shadow, source: int, to: Shadow, target: int, nbytes: int, adjust: Adjust = None) -> None:
        """Take over the codes of a run of bytes."""
        away = target - source
        between = target % to.around - source % of.around
        for low, high, code in of.segments(source, source + nbytes):
            if adjust is not None:
                content, begin = self._content(code)
                content = adjust(content)
                code = self._code(content, begin)
            to.fill(low + away, high + away, code + between if code & MASK else code)

    def deliver(self, source: int, destination: int, nbytes: int) -> None:
        """Take over a copy of scratch-pad bytes from one tile to another; offsets are those in the memory of all."""
        if self._repeats:
            return
        shadow = self._shadows[self._memory.spm]
        self._copy_run(shadow, source, shadow, destination, nbytes)
        self._log.delivered(source, destination, nbytes)

    def elements(self, placed: Placed) -> NDArray[np.bool_]:
        """For each byte of an operand of the latest instruction: False where it is known to be padding or a gap."""
        keep = np.ones(placed.extent, np.bool_)
        if self._now is None:
            return keep
        plan, given = self._now
        position = next(i for i, p in enumerate(given) if p is placed)
        mine = plan.placed[position]
        code = next((read.code for read in plan.reads if read.placed is mine), plan.result)
        content, distance = self._content(max(code, 0))
        if content.tensor is not None:
            offsets = np.arange(placed.extent) - distance
            keep = element_numbers(content, offsets - offsets % content.step) >= 0
        return keep

    def check_port(self, op: PortOp) -> None:
        """Raise SimError when a declared tensor's bytes hold something else."""
        if self._repeats:
            return
        content = _port_content(op)
        store = self._memory.segment_at(op.address, op.size_bytes)
        if store is None or content.format is None or not op.size_bytes:
            return
        shadow, start = self._shadows[store], op.address - store.address
        format = content.format
        tensor = content.tensor
        if tensor is None and content.order is Order.DENSE:
            count = int(np.prod(op.tensor.shape))
            reading = Reading(format, None, False, count, format.bytes)
        else:
            size = op.size_bytes
            reading = Reading(format, tensor, tensor is None, size, 1)
        for low, high, code in self._offenders(reading, shadow, start, op.size_bytes, None):
            first, end = low + store.address, high + store.address
            held = self._content(code)[0]
            raise SimError(
                f'{_kind(reading, held)} misuse: output "{op.port_name}" is declared as {content}, but '
                f"{self._log.who(None, first, end)} {held} in bytes [{first:#x}, {end:#x})",
                op,
                addresses=(first, end),
            )

    # -- contents and codes -----------------------------------------------------------------------------------------

    def _number(self, content: Content) -> int:
        number = self._numbers.get(content)
        if number is None:
            number = self._numbers[content] = len(self._contents)
            self._contents.append(content)
        return number

    def _code(self, content: Content, begin: int) -> int:
        """The code of a content whose tensor, if it has one, begins at `begin`: an address, or a distance from one."""
        number = self._number(content)
        return (number << BITS) + BIAS + begin if content.tensor is not None else number << BITS

    def _flat(self, content: Content) -> int:
        return self._number(content) << BITS

    def _content(self, code: int) -> tuple[Content, int]:
        """What a code says, and where the tensor begins."""
        low = code & MASK
        return self._contents[code >> BITS], low - BIAS if low else 0

    # -- comparing --------------------------------------------------------------------------------------------------

    def _may_be(self, reading: Reading, code: int, adjust: Adjust, elements: NDArray[np.int64] | None) -> bool:
        content, distance = self._content(code)
        if adjust is not None:
            content = adjust(content)
        if elements is not None:
            return agrees(reading, content, distance, elements)
        return self._once((reading, content, distance), lambda: agrees(reading, content, distance, None))

    def _check_mixed(self, plan: LayoutPlan, read: Read, run: Run) -> None:
        if read.reading.tensor is None or not read.reading.tensor.layout.is_blocked:
            codes = run.codes()
            if not any(code & MASK for code in codes):
                wrong = (code for code in codes if code and not self._may_be(read.reading, code, plan.adjust, None))
                if next(wrong, None) is None:
                    return
        key = run.key()
        if key in read.accepted:
            return
        for i, start in enumerate(run.starts.tolist()):
            for low, _, code in self._offenders(read.reading, run.shadow, start, run.length, plan.adjust):
                raise self._misuse(plan, read, run, i, code, low)
        if len(read.accepted) < _KEYS_KEPT:
            read.accepted.add(key)

    def _offenders(
        self, reading: Reading, shadow: Shadow, start: int, length: int, adjust: Adjust
    ) -> Iterator[tuple[int, int, int]]:
        """The stretches of a source that hold something else than it is taken for."""
        begin = start % shadow.around
        segments = shadow.segments(start, start + length)
        codes: NDArray[np.int64] | None = None
        bad: set[int] = set()
        for code in {code for _, _, code in segments if code}:
            content, _ = self._content(code)
            if content.tensor is None and self._may_be(reading, code, adjust, np.zeros(0, np.int64)):
                if content.order is Order.ANY or reading.lanes:
                    continue
                blocked = reading.tensor is not None and reading.tensor.layout.is_blocked
                if blocked is (content.order is Order.BLOCKED):
                    continue
            if codes is None:
                codes = shadow.codes(start + reading.places)
            elements = np.flatnonzero(codes == code)
            relative = code - begin if code & MASK else code
            if len(elements) and not self._may_be(reading, relative, adjust, elements):
                bad.add(code)
        for low, high, code in segments:
            if code in bad:
                yield low, high, code

    def _check_alike(self, plan: LayoutPlan) -> None:
        """Raise Fault when operands of arithmetic over lanes do not lie alike."""
        if plan.op.as_layout is not None:
            return
        first = max(plan.joined, key=lambda read: self._rank(read.code))
        content, distance = self._content(first.code)
        for read in plan.joined:
            other, at = self._content(read.code)
            a, b = first.reading, read.reading
            if read is not first and not self._once(
                (content, distance, other, at, a.count, a.pitch, b.pitch),
                lambda a=a, b=b, other=other, at=at: meet(content, distance, other, at, a.places, b.places),
            ):
                raise self._apart(first, read, other)
        if plan.unit is not None:
            read, units, count, blocks = plan.unit
            unit, at = self._content(read.code)
            form = count, units, blocks, read.reading.pitch
            key = (content, distance, unit, at, form)
            if not self._once(key, lambda: lanes_meet(content, distance, unit, at, *form)):
                raise self._apart(first, read, unit)

    def _once(self, key: object, verdict: Callable[[], bool]) -> bool:
        """A verdict, which is found once for a key."""
        found = self._verdicts.get(key)
        if found is None:
            if len(self._verdicts) >= _VERDICTS_KEPT:
                self._verdicts.clear()
            found = self._verdicts[key] = verdict()
        return found

    # -- faults -----------------------------------------------------------------------------------------------------

    def _misuse(self, plan: LayoutPlan, read: Read, run: Run, row: int, code: int, at: int | None = None) -> Fault:
        placed = read.placed
        position = row
        if len(placed.parts) > 1:
            part = placed.parts[read.runs.index(run)]
            position = int(np.arange(len(placed.tiles))[part.positions][row])
        tile = placed.tiles[position]
        low, high = placed.interval(position)
        start = int(run.starts[row])
        begin = start % run.shadow.around
        if at is None:
            code = code + begin if code & MASK else code
            first, end = low, high
        else:
            stretches = [s for s in run.shadow.segments(start, start + run.length) if s[2] == code]
            first, end = stretches[0][0] - start + low, stretches[-1][1] - start + low
        content = self._content(code)[0]
        kind = _kind(read.reading, content)
        return Fault(
            f"{kind} misuse: {bytes_text(placed.access, tile, low, high)} is read as {read.reading}, but "
            f"{self._log.who(tile if placed.access.space is MemorySpace.SPM else None, first, end)} {content} in bytes "
            f"[{first:#x}, {end:#x})",
            tile=tile,
            addresses=(first, end),
        )

    def _apart(self, first: Read, other: Read, content: Content) -> Fault:
        tile = first.placed.tiles[0]
        low, high = other.placed.interval(0)
        mine, _ = self._content(first.code)
        return Fault(
            f"layout misuse: {bytes_text(other.placed.access, tile, low, high)} holds {content}, but operand "
            f"{first.placed.access.operand} holds {mine}: their elements do not lie alike",
            tile=tile,
            addresses=(low, high),
        )


def _kind(reading: Reading, content: Content) -> str:
    return "layout" if content.format is None or same_format(reading.format, content.format) else "format"


def _port_content(op: PortOp) -> Content:
    format, layout = op.tensor.element.format, MemLayout(op.layout)
    if format is UI8:
        return UNKNOWN  # may be any bytes
    if format.is_packed:
        return Content(format)
    if not layout.is_blocked:
        return Content(format, None, Order.DENSE)
    n, hw, c = flatten_shape(op.tensor.shape, layout)
    return Content(format, OperandTensor((n, 1, hw, c), format, layout))


def _respaced(content: Content, distance: int, walk: Walk) -> tuple[Content, int]:
    """A tensor of which single elements are spread or packed; without a layout when it is anything else."""
    ((_, of, to), *more) = walk.levels
    format = content.format
    if format is None or more or walk.run != format.bytes or of != content.step or distance % of:
        return Content(format), 0
    return content.with_format(format, to), distance // of * to
