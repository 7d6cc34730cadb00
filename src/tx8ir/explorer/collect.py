"""From a program or an executable to the data of the explorer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from tx8ir.compiler import CompileOptions, Progress, compile
from tx8ir.core import IrError, Operation, OpResult, Program, RankedTensor, StrAttr, Type, Value
from tx8ir.dialects import tx8
from tx8ir.executable import Executable
from tx8ir.passes import PassRun
from tx8ir.sim import SimReport, time_program
from tx8ir.support.table import Table
from tx8ir.target.chip import Target

from .groups import Searches, read_groups, with_times
from .machine import read_machine, read_run
from .model import FORMAT, ExplorerData, Group, Scope, SourceOp, TableData
from .recorder import Recorder, number_operations
from .scopes import assign_scopes


class _Watch(Recorder):
    """Keeps the groups too, as the last stage that has them left them."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: tuple[Group, ...] = ()
        self._searches = Searches()

    def before_pass(self, run: PassRun) -> None:
        super().before_pass(run)
        self._searches.before_pass(run)

    def after_pass(self, run: PassRun) -> None:
        super().after_pass(run)
        self._searches.after_pass(run)
        if not run.path:
            found = read_groups(run.program, self.number, self.sources, self._searches.tried)
            self.groups = found or self.groups


def collect(
    program: Program,
    target: Target | None = None,
    options: CompileOptions = CompileOptions(),
    *,
    title: str = "program",
    progress: Progress | None = None,
) -> ExplorerData:
    """Compiles a copy of `program` under watch, times it, and says what there is to see.

    Raises what `compile` raises.
    """
    places = [op.location for op in program.module.walk()]
    numbered = program.clone()
    number_operations(numbered)
    source = list(numbered.module.walk())
    watch = _Watch()
    try:
        executable = compile(numbered, target, options, progress=progress, instruments=[watch])
    except IrError:
        compile(program, target, options)  # says the same with the places of the program itself
        raise
    scopes, ops = _source(source, [str(place) for place in places])
    first = watch.texts[0]
    # The first text is of the copy that `compile` made: its lines come in the order of the operations.
    lines = [line for line, op in enumerate(first.ops) if op >= 0]
    ops = [attrs.evolve(op, line=line) for op, line in zip(ops, lines, strict=False)]
    return _assemble(title, executable, watch, scopes, tuple(ops))


def collect_executable(executable: Executable, *, title: str = "program") -> ExplorerData:
    """What there is to see of an executable whose source program is gone: the compiled program and its run."""
    watch = _Watch()
    watch.record(executable.program)
    return _assemble(title, executable, watch, (Scope("model", "", -1),), ())


def _assemble(
    title: str,
    executable: Executable,
    watch: _Watch,
    scopes: tuple[Scope, ...],
    ops: tuple[SourceOp, ...],
) -> ExplorerData:
    program = executable.program
    report = time_program(program)
    return ExplorerData(
        format=FORMAT,
        title=title,
        machine=read_machine(tx8.target_of(program)),
        scopes=scopes,
        source=ops,
        names=watch.names.things,
        lines=watch.lines.things,
        ops=watch.ops,
        texts=tuple(watch.texts),
        passes=tuple(watch.passes),
        groups=with_times(watch.groups, report),
        run=read_run(program, report, watch.number, watch.sources),
        tables=tuple(_table(table) for table in _tables(executable, report)),
    )


def _tables(executable: Executable, report: SimReport) -> Iterator[Table]:
    yield from executable.report.compilation.tables
    yield from report.tables


def _table(table: Table) -> TableData:
    return TableData(table.title, table.header, tuple(table.numeric_columns), table.rows)


# -- the source program ------------------------------------------------------------------------------------------------


def _source(ops: list[Operation], places: list[str]) -> tuple[tuple[Scope, ...], list[SourceOp]]:
    numbers = {op: number for number, op in enumerate(ops)}
    constants = [op.name.startswith("builtin.") and not op.operands and bool(op.results) for op in ops]
    reads = [_constants(op, numbers, constants) for op in ops]
    names = [op.location.name or "" for op in ops]
    shown = [i for i, op in enumerate(ops) if not constants[i] and not op.regions and op.results]
    scopes, found = assign_scopes([names[i] for i in shown], [reads[i] for i in shown])
    scope_of = dict(zip(shown, found, strict=True))
    ports = _ports(ops)
    return scopes, [
        SourceOp(
            kind=op.name,
            name=names[i],
            type=", ".join(_short(result.type) for result in op.results),
            scope=scope_of.get(i, 0),
            inputs=tuple(_maker(value, numbers) for value in op.operands),
            arguments=tuple(ports.get(value, _short(value.type)) for value in op.operands),
            constants=reads[i],
            is_constant=constants[i],
            attributes=str(op.attributes) if len(op.attributes) else "",
            location=places[i][4:-1],
            line=-1,
            parent=-1 if op.parent_op is None else numbers.get(op.parent_op, -1),
        )
        for i, op in enumerate(ops)
    ]


def _maker(value: Value, numbers: dict[Operation, int]) -> int:
    return numbers.get(value.owner, -1) if isinstance(value, OpResult) else -1


def _constants(op: Operation, numbers: dict[Operation, int], constants: list[bool]) -> tuple[str, ...]:
    """The variables and constants among the operands."""
    found: dict[str, None] = {}
    for value in op.operands:
        if isinstance(value, OpResult) and constants[numbers[value.owner]]:
            name: Any = value.owner.attributes.get("name")
            found[name.value if isinstance(name, StrAttr) else value.owner.location.name or "constant"] = None
    return tuple(found)


def _ports(ops: list[Operation]) -> dict[Value, str]:
    """The names of the arguments of functions."""
    found: dict[Value, str] = {}
    for op in ops:
        names: Any = op.attributes.get("arg_names")
        if names is None or not op.regions or not op.regions[0].blocks:
            continue
        for argument, name in zip(op.regions[0].blocks[0].args, names.value, strict=False):
            found[argument] = str(getattr(name, "value", name))
    return found


def _short(type: Type) -> str:
    return str(type).partition("<")[2][:-1] if isinstance(type, RankedTensor) else str(type)
