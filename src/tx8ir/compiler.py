"""From a program to an executable: the compile pipeline, its options and its stages."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, Literal, Protocol, cast

import attrs

from tx8ir.backend.graph import CompileError
from tx8ir.backend.lowering.lift_state import state_of
from tx8ir.core import (
    DYNAMIC,
    ElementLike,
    IrError,
    Operation,
    Program,
    RankedTensor,
    bf16,
    element_type,
    f16,
    f32,
)
from tx8ir.dialects import tx8, tx8be
from tx8ir.executable import Executable, copied_state
from tx8ir.passes import Instrumentation, Pass, PassManager, find_pass
from tx8ir.reports import CompileReport, CompileStage
from tx8ir.signature import Port, Signature
from tx8ir.target.chip import Target
from tx8ir.transforms.preparation import OPTIONS, PREPARATION, REQUIRED

Dtype = Literal["f32", "bf16", "f16"]
GraphPasses = Literal["full", "required"]
Grouping = Literal["fused", "single", "patterns", "optimal"]
OnOff = Literal["on", "off"]

DTYPES: Final = (f32, bf16, f16)
"""The formats that floating-point values can be computed in."""


def _dtype(given: ElementLike | None) -> Dtype | None:
    return None if given is None else cast("Dtype", str(element_type(given, DTYPES, what="dtype")))


@attrs.frozen
class CompileOptions:
    """How to compile.

    dtype: format of the floating-point computation, "f32", "bf16" or "f16", or what `core.element_type` takes for one
        of them; None keeps the formats of the program. Integers of 64 bits always
        become 32 bits wide, with a range check of constants, of the inputs of every run, and on the chip of what is
        cast to them.
    opt_graph: "full" runs every pass of `transforms.preparation`; "required" only those that bring programs into a form
        the backend takes.
    opt_group: "fused" merges groups where the search prices the merged one lower, so that what lies between stays in
        SPM; "single" leaves one operation per group. "patterns" and "optimal" part the graph
        (`group-partition`): by the patterns of a file, or those of all connected ones that take the fewest cycles,
        which makes the fastest programs and takes seconds longer.
    opt_patterns: the path of a file with patterns of groups; "" is the file of the package.
    opt_ddr: "on" lets variables in DDR that are not live together share bytes; "off" gives each bytes of its own, so
        that a run leaves all of them in memory to be looked at.
    """

    dtype: Dtype | None = attrs.field(default=None, converter=_dtype)
    opt_graph: GraphPasses = attrs.field(default="full", validator=attrs.validators.in_(("full", "required")))
    opt_group: Grouping = attrs.field(
        default="fused", validator=attrs.validators.in_(("fused", "single", "patterns", "optimal"))
    )
    opt_patterns: str = ""
    opt_ddr: OnOff = attrs.field(default="on", validator=attrs.validators.in_(("on", "off")))


class Progress(Protocol):
    """Called when a stage starts (``seconds`` is None) and when it has ended (its wall time, verification included)."""

    def __call__(self, stage: str, seconds: float | None) -> None: ...


_CONVERSION: Final = PREPARATION.index("convert-dtype")
STAGES: Final = (
    "value-signature",
    "lift-state",
    *PREPARATION[:_CONVERSION],
    "check-ranges",
    *PREPARATION[_CONVERSION:],
    "lower-to-tx8be",
    "layout-init",
    "layout-transmit",
    "layout-align",
    "layout-optimize",
    "load-constants",
    "group-default",
    "group-load-store",
    "group-mapping",
    "group-fuse",
    "group-partition",
    "group-barriers",
    "schedule-groups",
    "allocate-ddr",
    "generate-tx8",
)
"""Every stage of a compilation, in order; options may leave some out."""


def pipeline(options: CompileOptions = CompileOptions(), *, through: str | None = None) -> PassManager:
    """The passes that `compile` runs for these options, in order, up to and including `through`.

    They compile for the target that the module names (`tx8ir.dialects.tx8.set_target`), by default the TX8.

    Raises `IrError` when no stage is named `through`.
    """
    if through is not None and through not in STAGES:
        raise IrError(f"no stage is named '{through}'; stages are {', '.join(STAGES)}")
    stages = STAGES if through is None else STAGES[: STAGES.index(through) + 1]
    left_out: set[str] = set()
    if options.opt_graph == "required":
        left_out |= set(PREPARATION) - REQUIRED
    parted = options.opt_group in ("patterns", "optimal")
    if options.opt_group != "fused":
        left_out.add("group-fuse")
    if not parted:
        left_out.add("group-partition")
    stages = [stage for stage in stages if stage not in left_out]
    texts: list[str] = []
    for name in stages:
        kind = find_pass(name)  # None: a pipeline
        taken = [OPTIONS[name]] if name in OPTIONS else []
        if name == "allocate-ddr" and options.opt_ddr == "off":
            taken.append("reuse=false")
        if name == "group-partition":
            taken.append(f"by={options.opt_group}")
            if options.opt_patterns:
                taken.append(f'file="{options.opt_patterns}"')
        if options.dtype is not None and kind is not None and "dtype" in attrs.fields_dict(kind):
            taken.append(f"dtype={options.dtype}")
        texts.append(f"{name}{{{','.join(taken)}}}" if taken else name)
    return PassManager.parse(",".join(texts))


def lower(
    program: Program, options: CompileOptions = CompileOptions(), target: Target | None = None, *, through: str
) -> Program:
    """A copy of `program` after the stages of `compile` up to and including the pass `through`.

    Without `target` it is lowered for the one that it names, by default the TX8.

    Raises `IrError` when no stage has that name, and what the stages raise.
    """
    working = program.clone()
    if target is not None:
        tx8.set_target(working, target)
    pipeline(options, through=through).run(working)
    return working


def compile(
    program: Program,
    target: Target | None = None,
    options: CompileOptions = CompileOptions(),
    *,
    keep_stages: bool = False,
    progress: Progress | None = None,
    instruments: Sequence[Instrumentation] = (),
) -> Executable:
    """Compiles `program` (dialects ``pd`` and ``builtin``) into an executable for `target`; without
    one, for the target that the program names (`tx8ir.dialects.tx8.set_target`), by default the TX8.

    The program itself is not changed. It is verified before the first stage and after each one.

    keep_stages: keep the program's text after every stage, as `Executable.stages`.
    progress: told when each stage starts and ends.
    instruments: what watches the passes, as in `PassManager.run`.

    Raises `IrError` (usually a `PassError`, which names the stage, or a `VerifyError`) with the operation concerned
    and its location when the program is invalid or cannot be compiled.
    """
    _check_arguments(program, target, options)
    kept = state_of(program)
    state = tuple(Port(name, kind.shape, str(kind.element)) for name, kind in kept.items())
    signature = attrs.evolve(Signature.of(program), state=state)
    dynamic = [port for port in signature.inputs if DYNAMIC in port.shape]
    if dynamic:
        raise CompileError(
            f"input '{dynamic[0].name}' has a dynamic extent ({dynamic[0]}), and the chip runs static shapes alone: "
            "give each extent a number before compiling",
            op=program.main,
        )
    ops_by_dialect = Counter(op.name.partition(".")[0] for op in program.module.walk())
    working = program.clone()
    if target is not None:
        tx8.set_target(working, target)
    source = working.clone()
    target = tx8.target_of(working)
    manager = pipeline(options)
    upcoming = [p.title for p in manager.passes]
    done: list[CompileStage] = []
    texts: dict[str, str] = {}
    spm_peak = 0
    formats: tuple[str, ...] = ()
    started = time.perf_counter()

    def on_stage(finished: Pass, now: Program, seconds: float) -> None:
        nonlocal started, spm_peak, formats
        seconds = time.perf_counter() - started
        count = 0
        for op in now.module.walk():
            count += 1
            if isinstance(op, tx8be.GroupOp):
                spm_peak = max(spm_peak, op.spm_alloc_size or 0)
        if finished.title == "convert-dtype":
            formats = _float_formats(now)
        done.append(CompileStage(finished.title, seconds, count, dict(finished.statistics)))
        if keep_stages:
            texts[finished.title] = str(now)
        if progress is not None:
            progress(finished.title, seconds)
            if len(done) < len(upcoming):
                progress(upcoming[len(done)], None)
        started = time.perf_counter()

    if progress is not None:
        progress(upcoming[0], None)
    manager.run(working, verify_each=True, on_stage=on_stage, instruments=instruments)
    report = CompileReport(
        target=f"{target.name} ({target.profile.name} profile)",
        formats=formats,
        stages=tuple(done),
        ops_by_dialect=dict(ops_by_dialect),
        instructions=_count_instructions(working),
        spm_peak_bytes=spm_peak,
        spm_bytes=target.spm_allocatable_bytes,
        ddr_bytes=_ddr_bytes(working),
    )
    return Executable(
        working,
        signature,
        report,
        stages=texts,
        source=source,
        options=attrs.asdict(options),
        state=copied_state(program.weights, kept),
    )


def _check_arguments(program: Any, target: object, options: object) -> None:
    """Raises `TypeError` for what people give instead: a text, a path, a module, a format."""
    if not isinstance(program, Program):
        quoted = repr(program)
        given = quoted if len(quoted) <= _SHOWN else str(program.__class__.__name__)
        hint = ""
        if isinstance(program, (str, os.PathLike)):
            hint = ": tx8ir.load reads a file, tx8ir.parse a text"
        elif isinstance(program, Operation):
            hint = ": Program(module) is one"
        elif callable(program):
            hint = ": tx8ir.jit compiles a Python function"
        raise TypeError(f"compile takes a Program, not {given}{hint}")
    if target is not None and not isinstance(target, Target):
        raise TypeError(f"target is a tx8ir.target.chip.Target, not {target!r}; options go by name: options=...")
    if not isinstance(options, CompileOptions):
        raise TypeError(f"options are a CompileOptions, not {options!r}: CompileOptions(dtype='bf16')")


_SHOWN: Final = 80
"""So many characters of a wrong argument are quoted; of a longer one its type is named."""


def _float_formats(program: Program) -> tuple[str, ...]:
    types = (value.type for op in program.module.walk() for value in op.results)
    elements = {kind.element.format for kind in types if isinstance(kind, RankedTensor)}
    return tuple(sorted(element.name for element in elements if element.is_float))


def _count_instructions(program: Program) -> dict[str, int]:
    counts = Counter(op.name.removeprefix("tx8.") for op in program.module.walk() if isinstance(op, tx8.Instruction))
    return dict(counts.most_common())


def _ddr_bytes(program: Program) -> dict[str, int]:
    sizes: Counter[str] = Counter()
    for op in program.module.walk():
        if isinstance(op, tx8.SegmentOp):
            sizes[op.kind] += op.size
    return dict(sizes)
