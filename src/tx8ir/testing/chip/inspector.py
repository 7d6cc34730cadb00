"""Values of the graph by their names, while the compiled program runs: where they are, and what they hold.

    inspector = Inspector.compile(program, {"x": x})
    inspector.debugger.break_on("Softmax")
    inspector.debugger.run()
    inspector.value("scores")          # the whole value, put together from the scratch-pads of the tiles, or from DDR

A value of the graph is cut over tiles and over time. What of it a scratch-pad holds at a stop is known from the tiling
and from who wrote the bytes last; elements that nobody holds any more, or not yet, are masked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from html import escape
from typing import Any, Literal, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.backend.codegen import GenerateTx8
from tx8ir.backend.codegen.group_code import GroupCode
from tx8ir.backend.graph import format_of, mem_layout_of, shape_of
from tx8ir.backend.memory.ddr_storage import address_of, storage_of
from tx8ir.backend.oplib.boxes import Box
from tx8ir.backend.schedule.steps import step_buffer
from tx8ir.compiler import CompileOptions, lower
from tx8ir.core import Block, Builder, IrError, Operation, Printer, Program, Value
from tx8ir.dialects import tx8, tx8be
from tx8ir.passes import PassManager
from tx8ir.sim import Debugger
from tx8ir.support.table import Table
from tx8ir.target.chip import Target
from tx8ir.target.layout import size_bytes

Array: TypeAlias = NDArray[Any]
Memory: TypeAlias = Literal["SPM", "DDR"]


@attrs.frozen(eq=False)
class _Place:
    """A value that a group makes or loads: its position among the values of the group's body."""

    value: Value
    group: tx8be.GroupOp | None
    """None for a value of the function itself, which lies in DDR."""
    position: int


@attrs.frozen(eq=False)
class Made:
    """A value, or a time step of one, and the instructions that make it."""

    name: str
    value: Value
    title: str
    """Group, kind of operation and name."""
    group: int
    step: int | None
    """The time step; None for the whole value, in DDR."""
    instructions: tuple[int, ...]


class _Code:
    """The instructions of a group in the machine program: which of them belong to which time step."""

    def __init__(self, group: tx8be.GroupOp, own: list[int]) -> None:
        self.code = GroupCode(group)
        with Builder.at_end(Block()):
            phases = [*self.code.constant_phases(), *self.code.phases()]
        if sum(phase.instructions for phase in phases) != len(own):
            raise IrError(f"group {group.group_id} has {len(own)} instructions; the graph gives other ones", op=group)
        self.steps = 1 + max(phase.step for phase in phases)
        self._made: dict[tuple[Operation, int], list[int]] = {}
        start = 0
        for phase in phases:
            self._made[phase.op, phase.step] = own[start : start + phase.instructions]
            start += phase.instructions

    def made_by(self, op: Operation, steps: Iterable[int]) -> list[int]:
        """The instructions that were generated from an operation of the body, in some time steps."""
        return [i for step in steps for i in self._made.get((op, step), ())]


class Inspector:
    """A debugger that knows the values of the graph.

    Args:
        lowered: the graph after the stage `allocate-ddr`, which says where values lie; with `opt_loops="none"`.
        machine: the instructions generated from it.
        inputs: one array for each input, in the types of `lowered`.
        target: the chip; by default the one that `machine` names.

    Attributes:
        debugger: stops, steps and goes on; see `tx8ir.sim.Debugger`.

    Names are those that a front end or a text gave to values, otherwise the numbers under which
    `Printer(names=True)` prints them, without `%`. A value inside of a group may be named with the group before,
    `group 3 scores`, which tells it from others of that name.
    """

    def __init__(
        self, lowered: Program, machine: Program, inputs: Mapping[str, Array], target: Target | None = None
    ) -> None:
        self.lowered = lowered
        self.debugger = Debugger(machine, inputs, target)
        self._codes: dict[tx8be.GroupOp, _Code] = {}
        self._writes: dict[int, list[tx8.Access]] = {}
        self._origins: dict[Made, _Place] = {}

    @classmethod
    def compile(
        cls,
        program: Program,
        inputs: Mapping[str, Array],
        options: CompileOptions = CompileOptions(),
        target: Target | None = None,
    ) -> Inspector:
        """Compile a program, its groups as time steps (`CompileOptions.opt_loops`), and stand before its first
        instruction.

        Raises what `tx8ir.compile` and `tx8ir.sim.Debugger` raise.
        """
        lowered = lower(program, attrs.evolve(options, opt_loops="none"), target, through="allocate-ddr")
        machine = lowered.clone()
        PassManager((GenerateTx8(),)).run(machine)
        return cls(lowered, machine, inputs)

    @cached_property
    def _printer(self) -> Printer:
        printer = Printer(names=True)
        printer.print(self.lowered.module)
        return printer

    @cached_property
    def _by_group(self) -> dict[int, list[int]]:
        """The numbers of the instructions that were generated from the operations of each group."""
        found: dict[int, list[int]] = {}
        for number, op in enumerate(self.debugger.simulator.instructions):
            origin = op.origin
            if origin is not None and origin.op is not None:
                found.setdefault(origin.group, []).append(number)
        return found

    @cached_property
    def _places(self) -> dict[str, list[_Place]]:
        places: dict[str, list[_Place]] = {}
        for value, group, position in self._values():
            name = self._printer.value(value).removeprefix("%").partition("#")[0]
            places.setdefault(name, []).append(_Place(value, group, position))
            if group is not None:
                places.setdefault(f"group {group.group_id} {name}", []).append(_Place(value, group, position))
        return places

    def _values(self) -> Iterator[tuple[Value, tx8be.GroupOp | None, int]]:
        for op in self.lowered.main.body.block:
            if isinstance(op, (tx8be.InputOp, tx8be.GroupOp)):
                for value in op.results:
                    yield value, None, 0
            if isinstance(op, tx8be.GroupOp) and op.group_tag != 2:
                for position, value in enumerate(self._code(op).code.body.values):
                    yield value, op, position

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all values, in the order of the program; those of values in groups without the group."""
        return tuple(name for name in self._places if not name.startswith("group "))

    # -- looking ------------------------------------------------------------------------------------------------------

    def value(self, name: str, memory: Memory | None = None) -> np.ma.MaskedArray[Any, Any]:
        """The value called `name`, in its logical shape, as the memories hold it before the current instruction.

        Args:
            name: see `names`.
            memory: "SPM" or "DDR" to look there alone. Otherwise the scratch-pads count, if they hold any of it.

        Returns:
            Elements that no memory holds now are masked.

        Raises:
            ValueError: there is no such value, or several of that name are held, or none of its elements are.
        """
        name = name.removeprefix("%")
        if name not in self._places:
            close = [known for known in self.names if name.lower() in known.lower()][:8]
            hint = f"; did you mean {', '.join(close)}?" if close else "; see Inspector.names"
            raise ValueError(f'there is no value "{name}"{hint}')
        for kind in ("SPM", "DDR") if memory is None else (memory,):
            held = [(place, array) for place in self._places[name] if (array := self._held(place, kind)) is not None]
            distinct = {(place.group, place.position) for place, _ in held}
            if len(distinct) > 1 and kind == "SPM":
                groups = ", ".join(f'"group {p.group.group_id} {name}"' for p, _ in held if p.group is not None)
                raise ValueError(f'several values named "{name}" are held in SPM; name one of {groups}')
            if held:
                return held[-1][1]
        where = memory or "memory"
        raise ValueError(f'no element of "{name}" is in {where} at this point of the program')

    def _held(self, place: _Place, memory: str) -> np.ma.MaskedArray[Any, Any] | None:
        """What of a value is in a memory, or None if nothing is."""
        if (place.group is None) != (memory == "DDR"):
            return None
        array = self._from_ddr(place.value) if place.group is None else self._from_spm(place, place.group)
        return None if array is None or bool(np.ma.getmaskarray(array).all()) else array

    def _from_ddr(self, value: Value) -> np.ma.MaskedArray[Any, Any] | None:
        owner, address, size = storage_of(value).defining_op, address_of(value), _size(value)
        if isinstance(owner, tx8be.GroupOp):
            code = self._code(owner)
            stores = code.made_by(code.code.body.store, range(code.steps))
            if not stores or stores[-1] >= self._next:
                return None
            if self._is_overwritten(stores[-1] + 1, tx8.MemorySpace.DDR, None, address, size):
                return None
        layout = mem_layout_of(value).value
        return np.ma.masked_array(self.debugger.ddr(address, shape_of(value), format_of(value).name, layout))

    def _from_spm(self, place: _Place, group: tx8be.GroupOp, step: int | None = None) -> np.ma.MaskedArray[Any, Any]:
        """What the scratch-pads hold of a value, in all time steps or in one of them."""
        code, value, position = self._code(group), place.value, place.position
        body, steps = code.code.body, code.code.steps
        op = value.defining_op
        assert op is not None  # loads and compute ops make the values of a group
        format, layout = format_of(value), mem_layout_of(value)
        whole: Array = np.zeros(shape_of(value), format.dtype)
        held = np.zeros(whole.shape, np.bool_)
        for number, index in enumerate(steps.indices()):
            made = code.made_by(op, (number,)) if step in (None, number) else []
            if not made or made[-1] >= self._next:
                continue
            start = step_buffer(number, code.code.addresses[position])
            for tile_position, tile in enumerate(code.code.tile_ids):
                piece = steps.of(tile_position, index)
                box = None if piece is None else piece.boxes[position]
                if piece is None or box is None:
                    continue
                size = body.slice_tensor(position, piece).size_bytes
                if not self._is_overwritten(made[-1] + 1, tx8.MemorySpace.SPM, tile, start, size):
                    data = self.debugger.spm(tile, start, box.extent, format.name, layout.value)
                    whole[_slices(box)] = data
                    held[_slices(box)] = True
        return np.ma.masked_array(whole, mask=np.logical_not(held))

    def _is_overwritten(self, since: int, space: tx8.MemorySpace, tile: int | None, address: int, size: int) -> bool:
        """Whether an executed instruction from `since` on writes some of these bytes (of a tile's scratch-pad)."""
        instructions = self.debugger.simulator.instructions
        for index in range(since, self._next):
            tiles = instructions[index].tiles
            if tile is None or tile in tiles:
                position = None if tile is None else tiles.index(tile)
                if any(_meets(access, space, position, address, size) for access in self._written(index)):
                    return True
        return False

    @property
    def _next(self) -> int:
        """The number of the next instruction."""
        current = self.debugger.current
        return len(self.debugger.simulator.instructions) if current is None else current.index

    def _written(self, index: int) -> list[tx8.Access]:
        if index not in self._writes:
            self._writes[index] = [a for a in self.debugger.simulator.instructions[index].effects() if a.writes]
        return self._writes[index]

    def _code(self, group: tx8be.GroupOp) -> _Code:
        if group not in self._codes:
            self._codes[group] = _Code(group, self._by_group.get(group.group_id, []))
        return self._codes[group]

    # -- what makes values ------------------------------------------------------------------------------------------

    def makers(self) -> dict[int, list[Made]]:
        """For each instruction after which (a time step of) a value is there: these values."""
        found: dict[int, list[Made]] = {}
        for value, group, position in self._values():
            name = self._printer.value(value).removeprefix("%")
            if group is None:
                owner = value.defining_op
                if not isinstance(owner, tx8be.GroupOp) or owner.group_tag == 2:
                    continue
                code = self._code(owner)
                op: Operation = code.code.body.store
                steps: dict[int | None, list[int]] = {None: code.made_by(op, range(code.steps))}
            else:
                code, owner = self._code(group), group
                assert value.defining_op is not None
                op = value.defining_op
                steps = {number: code.made_by(op, (number,)) for number in range(code.steps)}
            title = f"group {owner.group_id} {op.name.removeprefix('tx8be.')} {name}"
            for number, made in steps.items():
                if made:
                    entry = Made(name, value, title, owner.group_id, number, tuple(made))
                    found.setdefault(made[-1], []).append(entry)
                    self._origins[entry] = _Place(value, group, position)
        return found

    def made_value(self, made: Made) -> np.ma.MaskedArray[Any, Any] | None:
        """What has just been made: the value in DDR, or a time step of it in the scratch-pads; None for nothing."""
        place = self._origins[made]
        if place.group is None or made.step is None:
            return self._held(place, "DDR")
        return self._from_spm(place, place.group, made.step)

    # -- showing ------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """What is held now: each value, its type, how much of it where, and its first elements."""
        rows: list[tuple[str, ...]] = []
        for name, places in self._places.items():
            if name.startswith("group "):
                continue
            for place in places:
                for memory in ("SPM", "DDR"):
                    held = self._held(place, memory)
                    if held is not None:
                        rows.append((name, str(place.value.type), *_where(held, memory, place.group), _first(held)))
        return Table("values in memory", ("value", "type", "memory", "held", "group", "elements"), tuple(rows))

    def __str__(self) -> str:
        return f"{self.debugger}\n\n{self.table()}"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self.debugger))}</pre>{self.table().to_html()}"


def _size(value: Value) -> int:
    return size_bytes(shape_of(value), format_of(value), mem_layout_of(value))


def _slices(box: Box) -> tuple[slice, ...]:
    return tuple(slice(start, start + extent) for start, extent in zip(box.start, box.extent, strict=True))


def _meets(access: tx8.Access, space: tx8.MemorySpace, position: int | None, address: int, size: int) -> bool:
    """Whether an access touches bytes [address, address + size), on one tile or (None) on any; by bounding interval."""
    if access.space is not space:
        return False
    starts = access.addresses if position is None or len(access.addresses) == 1 else (access.addresses[position],)
    return any(start < address + size and address < start + access.extent for start in starts)


def _where(held: np.ma.MaskedArray[Any, Any], memory: str, group: tx8be.GroupOp | None) -> tuple[str, str, str]:
    part = 100.0 * (1.0 - float(np.ma.getmaskarray(held).mean()))
    return memory, f"{part:.0f} %", "" if group is None else str(group.group_id)


def _first(held: np.ma.MaskedArray[Any, Any]) -> str:
    known = held.compressed()[:4].astype(np.float64)
    return ", ".join(f"{value:.5g}" for value in known) + (", ..." if held.size > len(known) else "")
