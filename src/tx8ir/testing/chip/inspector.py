"""Values of the graph by their names, while the compiled program runs: where they are, and what they hold.

    inspector = Inspector.compile(program, {"x": x})
    inspector.debugger.break_on("Softmax")
    inspector.debugger.run()
    inspector.value("scores")          # the whole value, put together from the scratch-pads of the tiles, or from DDR
    inspector.slices("scores", tile=3) # what one tile has of it, and in which iteration it was made
    inspector.step("iteration")        # to the next iteration of the schedule

A value of the graph is cut over tiles and over time. Which parts of it the memories hold at a stop is known from the
schedule of its group and from what was executed; elements that nobody holds any more, or not yet, are masked.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import cached_property
from html import escape
from typing import Any, Literal, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.backend.codegen import GenerateTx8
from tx8ir.backend.graph import format_of, mem_layout_of, shape_of
from tx8ir.backend.memory.allocate_ddr import result_values
from tx8ir.backend.memory.ddr_storage import address_of, storage_of
from tx8ir.compiler import CompileOptions, lower
from tx8ir.core import BlockArgument, Printer, Program, Value
from tx8ir.dialects import tx8be
from tx8ir.passes import PassManager
from tx8ir.sim import Debugger, Execution
from tx8ir.support.table import Table
from tx8ir.target.chip import Target
from tx8ir.testing.chip.holdings import Holdings
from tx8ir.testing.chip.made import Counter, GroupProgram, MadeSlice, Position, assembled
from tx8ir.testing.chip.nest_program import NestProgram

Array: TypeAlias = NDArray[Any]
Memory: TypeAlias = Literal["SPM", "DDR"]
Stride: TypeAlias = Literal["instruction", "iteration", "group"]


@attrs.frozen(eq=False)
class _Place:
    """A value that a group makes or loads, or one of the function itself, which lies in DDR (`group` is None)."""

    value: Value
    group: tx8be.GroupOp | None


@attrs.frozen(eq=False)
class HeldSlice:
    """A part of a value in the scratch-pad of a tile.

    Attributes:
        tile: which one.
        address: where in it.
        start: the index in the value of the first element.
        iteration: the loops of the group in the trip in which it was made; see `Position`.
        array: a copy of the elements.
    """

    tile: int
    address: int
    start: tuple[int, ...]
    iteration: tuple[Counter, ...]
    array: Array


class Inspector:
    """A debugger that knows the values of the graph.

    Args:
        lowered: the graph after the stage `allocate-ddr`, which says where values lie.
        machine: the instructions generated from it.
        inputs: one array for each input, in the types of `lowered`.
        target: the chip; by default the one that `machine` names.

    Attributes:
        debugger: stops, steps and goes on; see `tx8ir.sim.Debugger`.
        holdings: what the memories hold.

    Names are those that a front end or a text gave to values, or those of inputs, outputs and parameters; otherwise the
    numbers under which `Printer(names=True)` prints them, without `%`. What a group loads or gives has the name of the
    value wherever it is; an output has its public name too. A value inside of a group may be named with the group
    before, `group 3 scores`, which tells it from others of that name; a second one in the same group is called
    `scores_2`.
    """

    def __init__(
        self, lowered: Program, machine: Program, inputs: Mapping[str, Array], target: Target | None = None
    ) -> None:
        self.lowered = lowered
        self.debugger = Debugger(machine, inputs, target)
        self.holdings = Holdings(self.debugger.simulator.instructions, self._program_of)
        self.debugger.watch(self.holdings.executed)
        self._programs: dict[tx8be.GroupOp, GroupProgram] = {}

    @classmethod
    def compile(
        cls,
        program: Program,
        inputs: Mapping[str, Array],
        options: CompileOptions = CompileOptions(),
        target: Target | None = None,
    ) -> Inspector:
        """Compile a program as `tx8ir.compile` does, and stand before its first instruction.

        Raises what `tx8ir.compile` and `tx8ir.sim.Debugger` raise.
        """
        lowered = lower(program, options, target, through="allocate-ddr")
        machine = lowered.clone()
        PassManager((GenerateTx8(),)).run(machine)
        return cls(lowered, machine, inputs)

    # -- the program --------------------------------------------------------------------------------------------------

    @cached_property
    def _printer(self) -> Printer:
        printer = Printer(names=True)
        printer.print(self.lowered.module)
        return printer

    @cached_property
    def _public(self) -> dict[Value, str]:
        """The names of inputs and outputs."""
        (results,) = result_values(self.lowered)
        found = {_made_inside(value): name for value, name in zip(results.xs, self.lowered.outputs, strict=True)}
        names = list(self.lowered.inputs)
        for op in self.lowered.main.body.block:
            if isinstance(op, tx8be.InputOp):
                found[op.y] = names[op.x.index]
        return found

    def _given_name(self, value: Value) -> str:
        """What a value is called before equal names are told apart."""
        value = _made_inside(value)
        op = value.defining_op
        if isinstance(op, tx8be.LoadConstOp):
            return op.parameter
        given = None if op is None else op.location.name
        return given or self._public.get(value) or self._printer.value(value).removeprefix("%").partition("#")[0]

    @cached_property
    def _names(self) -> dict[Value, str]:
        """The names of all values, no two of them alike in one group, or outside of groups."""
        names: dict[Value, str] = {}
        taken: set[tuple[tx8be.GroupOp | None, str]] = set()
        for place in self._values():
            given = self._given_name(place.value)
            numbered = (given if n == 1 else f"{given}_{n}" for n in itertools.count(1))
            names[place.value] = name = next(name for name in numbered if (place.group, name) not in taken)
            taken.add((place.group, name))
        return names

    def name_of(self, value: Value) -> str:
        """The name of a value of `lowered`."""
        return self._names[value]

    @cached_property
    def _groups(self) -> dict[int, tx8be.GroupOp]:
        """The groups that have instructions, by their numbers."""
        ops = self.lowered.main.body.block
        return {op.group_id: op for op in ops if isinstance(op, tx8be.GroupOp) and op.group_tag != 2}

    @cached_property
    def _rank(self) -> dict[int, int]:
        """The place of each group in the program, by its number."""
        return {number: rank for rank, number in enumerate(self._groups)}

    @cached_property
    def _group_of(self) -> tuple[tx8be.GroupOp | None, ...]:
        """For each instruction the group from an operation of which it was generated."""
        origins = (op.origin for op in self.debugger.simulator.instructions)
        return tuple(None if it is None or it.op is None else self._groups.get(it.group) for it in origins)

    def _program(self, group: tx8be.GroupOp) -> GroupProgram:
        if group not in self._programs:
            numbers = [number for number, owner in enumerate(self._group_of) if owner is group]
            self._programs[group] = NestProgram(group, self.debugger.simulator.instructions, numbers)
        return self._programs[group]

    def _program_of(self, index: int) -> GroupProgram | None:
        group = self._group_of[index]
        return None if group is None else self._program(group)

    @cached_property
    def _places(self) -> dict[str, list[_Place]]:
        places: dict[str, list[_Place]] = {}
        for place in self._values():
            name = self._names[place.value]
            places.setdefault(name, []).append(place)
            if place.group is not None:
                places.setdefault(f"group {place.group.group_id} {name}", []).append(place)
        return places

    def _values(self) -> Iterator[_Place]:
        for op in self.lowered.main.body.block:
            if isinstance(op, (tx8be.InputOp, tx8be.GroupOp)):
                for value in op.results:
                    yield _Place(value, None)
            if isinstance(op, tx8be.GroupOp) and op.group_tag != 2:
                for value in self._program(op).values:
                    yield _Place(value, op)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all values, in the order of the program; those of values in groups without the group."""
        return tuple(name for name in self._places if not name.startswith("group "))

    # -- going on -----------------------------------------------------------------------------------------------------

    @property
    def position(self) -> Position | None:
        """What the current instruction is for; None at the end, and at what belongs to no group, as a barrier."""
        current = self.debugger.current
        program = None if current is None else self._program_of(current.index)
        if current is None or program is None:
            return None
        found = program.position(current.index, current.trips)
        value = found.op.operands[0] if isinstance(found.op, tx8be.StoreVarOp) else found.op.results[0]
        return attrs.evolve(found, name=self.name_of(value))

    def step(self, by: Stride = "instruction", count: int = 1) -> Execution | None:
        """Go on, whatever breakpoints say; the next instruction, or None at the end.

        Args:
            by: "instruction"; "iteration": to where the first tile begins the next iteration of the schedule of its
                group (tiles that wait for no message go together); "group": to where the first tile begins the next
                group, with the constants that it loads.
            count: how many of them.

        Raises:
            ValueError: `by` is something else.
            SimError: as `Debugger.step`.
        """
        if by not in ("instruction", "iteration", "group"):
            raise ValueError(f'by is "{by}"; expected "instruction", "iteration" or "group"')
        for _ in range(count):
            begun = self._order(by)
            while self.debugger.step() is not None and by != "instruction":
                now = self._order(by)
                if now is not None and (begun is None or now > begun):
                    break
        return self.debugger.current

    def _order(self, by: Stride) -> tuple[int, ...] | None:
        """What grows with each group, or iteration of one, that the current instruction may belong to."""
        current = self.debugger.current
        program = None if current is None else self._program_of(current.index)
        if current is None or program is None:
            return None
        position = program.position(current.index, current.trips)
        return (self._rank[position.group], *(position.order if by == "iteration" else ()))

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
        name, places = self._named(name)
        for kind in ("SPM", "DDR") if memory is None else (memory,):
            held = [(place, array) for place in places if (array := self._held(place, kind)) is not None]
            if len({place.value for place, _ in held}) > 1 and kind == "SPM":
                groups = ", ".join(f'"group {p.group.group_id} {name}"' for p, _ in held if p.group is not None)
                raise ValueError(f'several values named "{name}" are held in SPM; name one of {groups}')
            if held:
                return held[-1][1]
        where = memory or "memory"
        raise ValueError(f'no element of "{name}" is in {where} at this point of the program')

    def slices(self, name: str, tile: int | None = None) -> tuple[HeldSlice, ...]:
        """The parts of the value called `name` that scratch-pads hold before the current instruction.

        Args:
            name: see `names`.
            tile: which scratch-pad; by default all of them.

        Raises ValueError when there is no such value.
        """
        _, places = self._named(name)
        return tuple(
            HeldSlice(one.tile, one.address, one.box.start, one.iteration, self.array(one))
            for place in places
            for one in self._slices(place.value)
            if one.address is not None and tile in (None, one.tile)
        )

    def array(self, made: MadeSlice) -> Array:
        """The elements of a slice, as the memories hold them now."""
        format, layout = format_of(made.value), mem_layout_of(made.value).value
        if made.address is not None:
            return self.debugger.spm(made.tile, made.address, made.box.extent, format.name, layout)
        return self.in_ddr(made.value)[made.part]

    def in_ddr(self, value: Value) -> Array:
        """All bytes of a value in DDR, stored or not."""
        layout = mem_layout_of(value).value
        return self.debugger.ddr(address_of(value), shape_of(value), format_of(value).name, layout)

    def _named(self, name: str) -> tuple[str, list[_Place]]:
        name = name.removeprefix("%")
        if name not in self._places and name in self.lowered.outputs:
            (results,) = result_values(self.lowered)
            name = self.name_of(results.xs[list(self.lowered.outputs).index(name)])
        if name not in self._places:
            close = [known for known in self.names if name.lower() in known.lower()][:8]
            hint = f"; did you mean {', '.join(close)}?" if close else "; see Inspector.names"
            raise ValueError(f'there is no value "{name}"{hint}')
        return name, self._places[name]

    def _slices(self, value: Value) -> Iterator[MadeSlice]:
        for tile in sorted(self.holdings.spm):
            yield from (one for one in self.holdings.spm[tile] if one.value is value)

    def _held(self, place: _Place, memory: str) -> np.ma.MaskedArray[Any, Any] | None:
        """What of a value is in a memory, or None if nothing is."""
        if (place.group is None) != (memory == "DDR"):
            return None
        return self._from_ddr(place.value) if place.group is None else self._from_spm(place.value)

    def _from_spm(self, value: Value) -> np.ma.MaskedArray[Any, Any] | None:
        slices = list(self._slices(value))
        return assembled(slices, [self.array(one) for one in slices]) if slices else None

    def _from_ddr(self, value: Value) -> np.ma.MaskedArray[Any, Any] | None:
        storage = storage_of(value)
        if not isinstance(storage.defining_op, tx8be.GroupOp):
            return np.ma.masked_array(self.in_ddr(value))
        is_alias = value is not storage
        stored = self.holdings.ddr.get(storage)
        if stored is None or (stored.missing and is_alias):
            return None  # an alias is there when all of it is: its elements have other places
        return np.ma.masked_array(self.in_ddr(value), mask=False if is_alias else np.logical_not(stored.held))

    # -- showing ------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """What is held now: each value, its type, how much of it where, in which iteration, and its first elements."""
        rows: list[tuple[str, ...]] = []
        for name, places in self._places.items():
            if name.startswith("group "):
                continue
            for place in places:
                for memory in ("SPM", "DDR"):
                    held = self._held(place, memory)
                    if held is not None:
                        rows.append((name, str(place.value.type), memory, *self._where(held, place), _first(held)))
        columns = ("value", "type", "memory", "held", "group", "iteration", "elements")
        return Table("values in memory", columns, tuple(rows))

    def _where(self, held: np.ma.MaskedArray[Any, Any], place: _Place) -> tuple[str, str, str]:
        """How much is held, of which group, and the iterations that it is of."""
        part = 100.0 * (1.0 - float(np.ma.getmaskarray(held).mean()))
        if place.group is None:
            return f"{part:.0f} %", "", ""
        iterations = dict.fromkeys(", ".join(map(str, one.iteration)) for one in self._slices(place.value))
        return f"{part:.0f} %", str(place.group.group_id), "; ".join(iterations)

    def __str__(self) -> str:
        position = self.position
        return "\n".join([str(self.debugger), *([] if position is None else [f"  {position}"]), "", str(self.table())])

    def _repr_html_(self) -> str:
        position = self.position
        text = str(self.debugger) if position is None else f"{self.debugger}\n  {position}"
        return f"<pre>{escape(text)}</pre>{self.table().to_html()}"


def _made_inside(value: Value) -> Value:
    """What is stored as the result of a group, or loaded: where it was made, inside of its group."""
    while True:
        op = value.defining_op
        if isinstance(op, tx8be.LoadVarOp) and isinstance(op.x, BlockArgument):
            group = op.x.owner.parent_op
            assert isinstance(group, tx8be.GroupOp)
            value = group.inputs[op.x.index]
        elif isinstance(op, tx8be.GroupOp) and op.group_tag != 2:
            terminator = op.body.block.terminator
            assert isinstance(terminator, tx8be.ReturnOp)
            store = terminator.xs[op.results.index(value)].defining_op
            assert isinstance(store, tx8be.StoreVarOp)
            value = store.x
        else:
            return value


def _first(held: np.ma.MaskedArray[Any, Any]) -> str:
    known = held.compressed()[:4].astype(np.float64)
    return ", ".join(f"{value:.5g}" for value in known) + (", ..." if held.size > len(known) else "")
