"""What the explorer shows, as data: the classes here are the JSON that `Exploration.json` writes, key by key.

Operations, lines and instructions refer to each other by number. Large tables stand in columns: lists of equal length,
one entry of each for a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from tx8ir.core.schema import Natural, NonNegative
from tx8ir.support.screen import fitting_repr

FORMAT: Final = 2
"""Grows when a key changes its meaning or goes."""


@attrs.frozen
class Scope:
    """A layer of the model: operations that are collapsed together. Scope 0 is the whole model.

    name: the last part of its path, as `c_attn` of `h.0.attn.c_attn`.
    path: all parts, with dots between.
    parent: the scope around it; -1 of scope 0.
    """

    name: str
    path: str
    parent: int


@attrs.frozen
class SourceOp:
    """An operation of the source program; its number is its place among `Exploration.source`.

    kind: its name with the dialect, `pd.matmul`.
    name: what a front end or a text called it; empty when nobody did.
    type: of its results, `1x16x64xf32`.
    scope: the number of its `Scope`.
    inputs: for each operand the operation that makes it; -1 of arguments of a block.
    arguments: for each operand its name among the inputs of the program, or else its type.
    constants: names of the variables that it reads, directly or through operations that only read variables.
    is_constant: whether it is one of these, which pictures leave out.
    attributes: as printed, `{axis = 1 : i64}`.
    location: where it was built: a Python line, a line of a text, a name.
    line: its line in the text before the first pass, from 0; -1 when it has none.
    parent: the operation that it is inside; -1 at the top.
    """

    kind: str
    name: str
    type: str
    scope: Natural
    inputs: tuple[int, ...]
    arguments: tuple[str, ...]
    constants: tuple[str, ...]
    is_constant: bool
    attributes: str
    location: str
    line: int
    parent: int


@attrs.frozen
class IrOp:
    """An operation as some stage had it: the same Python object in all stages has the same number.

    kind: its name with the dialect.
    steps: the passes and patterns that made it, oldest first, as `canonicalize/fold_relu`; numbers in `names`.
    sources: the source operations that it stands for.
    """

    kind: str
    steps: tuple[Natural, ...]
    sources: tuple[Natural, ...]


@attrs.frozen
class Text:
    """The program after some stage.

    lines: numbers in `Exploration.lines`.
    ops: for each line the `IrOp` that it begins, -1 for lines that close something.
    forms: for each line a number that two lines share when they say the same but for the numbering of values.
    """

    lines: tuple[Natural, ...]
    ops: tuple[int, ...]
    forms: tuple[Natural, ...]


@attrs.frozen
class Rewrite:
    """What one pattern did in one pass: the operations it made that are there after the pass, and the ones it took."""

    pattern: str
    count: Natural
    made: tuple[Natural, ...]


@attrs.frozen
class Miss:
    """Why a pattern of a pass did not match an operation that is there after it.

    op: the `IrOp`; how often the same reason stood against other operations is in `count`.
    place, constraint, expected, found: as `tx8ir.rewriting.MatchFailure` has them.
    """

    pattern: str
    op: Natural
    count: Natural
    place: str
    constraint: str
    expected: str
    found: str


@attrs.frozen
class PassRecord:
    """One stage of the compilation.

    name: as reports call it. text: as the pipeline spells it, with options.
    doc: the first sentence of its documentation.
    seconds: wall time, verification included.
    after: the number of the `Text` that it left; the one before is that of the stage before, or text 0.
    changed: whether it changed the text.
    statistics: what it counted.
    """

    name: str
    text: str
    doc: str
    seconds: NonNegative
    after: Natural
    changed: bool
    statistics: Mapping[str, int]
    rewrites: tuple[Rewrite, ...]
    misses: tuple[Miss, ...]


@attrs.frozen
class Candidate:
    """A strategy that a search tried for a group.

    description: in words.
    cycles: its price.
    chosen: whether it is how the group was compiled.
    """

    description: str
    cycles: NonNegative
    chosen: bool


@attrs.frozen
class Group:
    """A group of the backend graph and what was decided for it.

    id: the number that sources of instructions name.
    ops: names of what it computes, in order. sources: the source operations that it stands for.
    op: its `IrOp` in the last stage that has it.
    facts: what the compiler decided, by the words of the field: sharding, slice, buffers, layer…
    spm_bytes: the scratch pad that it takes on a tile.
    tiles: how many tiles work on it.
    template: the group whose strategy it shares; -1 when it has its own.
    candidates: the cheapest strategies that the searches priced, best first; empty for groups that need none.
    priced: how many they priced in all.
    """

    id: int
    op: Natural
    ops: tuple[str, ...]
    sources: tuple[Natural, ...]
    facts: Mapping[str, str]
    spm_bytes: Natural
    tiles: Natural
    template: int
    candidates: tuple[Candidate, ...]
    priced: Natural


@attrs.frozen
class Term:
    """One term of an address in a loop; see `tx8ir.dialects.tx8.Follow`."""

    level: Natural
    stride: int
    modulo: Natural
    phase: Natural


@attrs.frozen
class Span:
    """The bounding interval of bytes that an instruction reads or writes: `extent` bytes from `low`, which is one
    address for all of its tiles or one for each, plus its terms.
    """

    writes: bool
    ddr: bool
    low: tuple[Natural, ...]
    extent: Natural
    terms: tuple[Term, ...]


@attrs.frozen
class Instruction:
    """An instruction of the compiled program; its number is its place.

    name: without the dialect, with its function: `unary exp`. engine: empty of control.
    tiles: the number of its set of tiles in `Run.tile_sets`.
    group: the group whose code it is; -1 of none. source: as the instruction names it.
    op: its `IrOp`. sources: the source operations that it computes for.
    times: how often its loops run it. operations: multiply-adds, each counted as two, on one tile and one time.
    moved: bytes that it moves between DDR and SPM, on all tiles and all times.
    """

    name: str
    engine: str
    tiles: Natural
    group: int
    source: str
    op: int
    sources: tuple[Natural, ...]
    times: Natural
    operations: Natural
    moved: Natural
    spans: tuple[Span, ...]


@attrs.frozen
class Events:
    """Executions of instructions, in columns, ordered by start. Times are in cycles.

    tiles: which tiles ran it like this, in `Run.tile_sets`. cause: what its start waited for last, in `Run.causes`.
    blocker: the event whose end let it start; -1 of none. trips: the trips of the loops around, in `Run.trips`.
    """

    instruction: tuple[Natural, ...]
    start: tuple[Natural, ...]
    end: tuple[Natural, ...]
    issued: tuple[Natural, ...]
    tiles: tuple[Natural, ...]
    cause: tuple[Natural, ...]
    blocker: tuple[int, ...]
    trips: tuple[Natural, ...]


@attrs.frozen
class Segment:
    """A range of bytes of DDR: `kind` is const, input, output or scratch."""

    name: str
    kind: str
    address: Natural
    size: Natural


@attrs.frozen
class Roof:
    """The roofline: peaks in operations and in bytes per second, and where the whole program stands."""

    peak: NonNegative
    bandwidth: NonNegative
    operations: Natural
    bytes: Natural
    attained: NonNegative


@attrs.frozen
class Run:
    """The simulated time of the compiled program, which depends on the program and the target alone.

    critical: the events of the critical path, first to last.
    stalls: cycles of all tiles by cause and engine: `stalls[cause][engine]`.
    complete: whether events were kept; a program of very many instructions has totals only.
    """

    cycles: Natural
    cycles_per_second: Natural
    engines: tuple[str, ...]
    causes: tuple[str, ...]
    tile_sets: tuple[tuple[Natural, ...], ...]
    trips: tuple[tuple[Natural, ...], ...]
    instructions: tuple[Instruction, ...]
    events: Events
    critical: tuple[Natural, ...]
    stalls: Mapping[str, Mapping[str, int]]
    segments: tuple[Segment, ...]
    roof: Roof
    complete: bool


@attrs.frozen
class Machine:
    """The target. `columns` tiles stand in a row of the mesh."""

    name: str
    tiles: Natural
    columns: Natural
    spm_low: Natural
    spm_high: Natural
    spm_bytes: Natural


@attrs.frozen
class TableData:
    """A table of a report. `numeric` says which columns hold numbers."""

    title: str
    header: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]


@attrs.frozen
class ExplorerData:
    """Everything: the source, the stages of its compilation, and the run. Without a source (of an executable that was
    loaded from a folder) `source`, `passes` and `groups` are empty and the only text is the compiled program.

    names: of passes and patterns, which `IrOp.steps` refer to.
    lines: the different lines of all texts.
    """

    __repr__ = fitting_repr

    format: Natural
    title: str
    machine: Machine
    scopes: tuple[Scope, ...]
    source: tuple[SourceOp, ...]
    names: tuple[str, ...]
    lines: tuple[str, ...]
    ops: tuple[IrOp, ...]
    texts: tuple[Text, ...]
    passes: tuple[PassRecord, ...]
    groups: tuple[Group, ...]
    run: Run
    tables: tuple[TableData, ...]
