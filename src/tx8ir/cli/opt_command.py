"""`tx8ir opt`: passes over text, as `mlir-opt` does it."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tx8ir.cli.completion import pass_names, patterns, pipeline
from tx8ir.cli.diagnostics import Errors
from tx8ir.cli.expectations import expectations, unmet
from tx8ir.cli.pieces import SPLIT_MARKER, Piece, read_pieces
from tx8ir.cli.status import EXIT_CHECK_FAILED, EXIT_WRONG_INPUT
from tx8ir.core import IrError, Program, default_context, print_op
from tx8ir.core.program import ONE_FILE
from tx8ir.core.text.parser import parse_op
from tx8ir.passes import Instrumentation, NumericGuarantee, PassError, PassManager, find_pass, read_reproducer
from tx8ir.passes.debug_counter import DebugCounter
from tx8ir.passes.instrumentation import (
    IrDiff,
    OpCounts,
    PrintAfterAll,
    PrintAfterChange,
    PrintAround,
    Statistics,
    Timing,
)
from tx8ir.signature import InputError

if TYPE_CHECKING:
    from tx8ir.testing.passes.preserve import PipelineCheck

# What only some flags need is imported where they are looked at: the command starts without the simulator, the
# compiler and the judge of passes.


def command(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="IR text, a model (.onnx, .pt2, .mlir of JAX), a saved program's folder; - is stdin"
        ),
    ] = "-",
    passes: Annotated[
        str,
        typer.Option(
            "--passes",
            "--pass-pipeline",
            "-p",
            help='what to run, as "canonicalize,func.func(cse,dce){max-iterations=4}"; also in "builtin.module(...)"',
            metavar="PIPELINE",
            autocompletion=pipeline,
        ),
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="PATH", help="where the result goes: a text file, or a folder with the weights"
        ),
    ] = None,
    allow_unregistered: Annotated[
        bool,
        typer.Option(
            "--allow-unregistered-dialect", help="keep operations, types and attributes of unknown dialects as they are"
        ),
    ] = False,
    verify_diagnostics: Annotated[
        bool,
        typer.Option(
            "--verify-diagnostics", help="errors must be those of the comments `// expected-error @+1 {{message}}`"
        ),
    ] = False,
    verify_each: Annotated[
        bool, typer.Option("--verify-each/--no-verify-each", help="verify before the first pass and after each")
    ] = True,
    verify_roundtrip: Annotated[
        bool, typer.Option("--verify-roundtrip", help="print and parse the input, and compare")
    ] = False,
    split_input_file: Annotated[
        bool, typer.Option("--split-input-file", help=f"the programs between lines `{SPLIT_MARKER}`, each by itself")
    ] = False,
    print_after_change: Annotated[
        bool,
        typer.Option(
            "--print-after-change",
            "--mlir-print-ir-after-change",
            help="print the IR after passes that change it, on stderr",
        ),
    ] = False,
    print_ir_after_all: Annotated[
        bool,
        typer.Option(
            "--print-ir-after-all", "--mlir-print-ir-after-all", help="print the IR after every pass, on stderr"
        ),
    ] = False,
    print_ir_before: Annotated[
        list[str] | None,
        typer.Option(
            "--print-ir-before",
            "--mlir-print-ir-before",
            metavar="PASS",
            help="print the IR before PASS, on stderr",
            autocompletion=pass_names,
        ),
    ] = None,
    print_ir_after: Annotated[
        list[str] | None,
        typer.Option(
            "--print-ir-after",
            "--mlir-print-ir-after",
            metavar="PASS",
            help="print the IR after PASS, on stderr",
            autocompletion=pass_names,
        ),
    ] = None,
    print_ir_before_all: Annotated[
        bool,
        typer.Option(
            "--print-ir-before-all", "--mlir-print-ir-before-all", help="print the IR before every pass, on stderr"
        ),
    ] = False,
    print_diff: Annotated[
        bool, typer.Option("--print-diff", help="print what each pass changes as a unified diff, on stderr")
    ] = False,
    timing: Annotated[
        bool, typer.Option("--timing", "--mlir-timing", help="print the time of each pass, on stderr")
    ] = False,
    statistics: Annotated[
        bool, typer.Option("--statistics", "--mlir-pass-statistics", help="print what passes counted, on stderr")
    ] = False,
    op_counts: Annotated[
        bool, typer.Option("--op-counts", help="print how many operations each pass adds and removes, on stderr")
    ] = False,
    locations: Annotated[
        bool, typer.Option("--locations", "--mlir-print-debuginfo", help="print loc(...) after every operation")
    ] = False,
    generic: Annotated[
        bool,
        typer.Option(
            "--print-op-generic", "--mlir-print-op-generic", help="print MLIR's generic form, which its tools read"
        ),
    ] = False,
    short: Annotated[bool, typer.Option("--short", help="print assembly formats, as `cf.br ^bb1`")] = False,
    aliases: Annotated[bool, typer.Option("--aliases", help="print affine maps and locations under names")] = False,
    keep_names: Annotated[bool, typer.Option("--keep-names", help="print values under the names of the input")] = False,
    elide: Annotated[
        int | None,
        typer.Option(
            "--elide-large-elements",
            "--mlir-elide-elementsattrs-if-larger",
            metavar="N",
            help="leave out dense attributes of more than N elements",
        ),
    ] = None,
    debug_counter: Annotated[
        list[str] | None,
        typer.Option(
            "--debug-counter",
            "--mlir-debug-counter",
            metavar="COUNTERS",
            help="leave out steps by number, as pattern-skip=4,pattern-count=1; also pass, fold, or a name of these",
        ),
    ] = None,
    crash_reproducer: Annotated[
        Path | None,
        typer.Option(
            "--mlir-pass-pipeline-crash-reproducer",
            metavar="PATH",
            help="when a pass fails, write the program and the pipeline there, to run them again",
        ),
    ] = None,
    local_reproducer: Annotated[
        bool,
        typer.Option(
            "--mlir-pass-pipeline-local-reproducer",
            help="write only the pass that failed, with the program right before it",
        ),
    ] = False,
    run_reproducer: Annotated[
        bool, typer.Option("--run-reproducer", help="run the pipeline that FILE, a reproducer, has")
    ] = False,
    dump_pipeline: Annotated[
        bool, typer.Option("--dump-pass-pipeline", help="print the pipeline that is run, on stderr")
    ] = False,
    show_dialects: Annotated[bool, typer.Option("--show-dialects", help="list the dialects that are known")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="evaluate before and after each pass; exit with status 1 if answers differ")
    ] = False,
    inputs: Annotated[
        Path | None,
        typer.Option("--inputs", metavar="FILE", help="an .npz file with the inputs that --check evaluates on"),
    ] = None,
    guarantee: Annotated[
        NumericGuarantee | None,
        typer.Option(
            "--guarantee", help="what --check holds all passes to; else each to its own (tx8ir.testing.passes.observe)"
        ),
    ] = None,
    explain_pattern: Annotated[
        str,
        typer.Option(
            "--explain",
            metavar="PATTERN",
            help="say, for each operation, why the pattern (not) matches",
            autocompletion=patterns,
        ),
    ] = "",
    json: Annotated[
        bool,
        typer.Option(
            "--json", help="the reports of --timing, --statistics, --op-counts and --check as JSON, on stderr"
        ),
    ] = False,
    list_passes: Annotated[bool, typer.Option("--list", help="list the passes, their options and patterns")] = False,
) -> None:
    """Run passes over FILE, verifying after each one, and print the result.

    Exit status: 0 when all passes ran (and, with --check, kept the answers), 1 when answers differ, 2 when the input,
    the pipeline or a pass is wrong.
    """
    if list_passes:
        from tx8ir.cli.describe import describe_passes

        typer.echo("\n".join(describe_passes()))
        return
    if show_dialects:
        typer.echo("\n".join(dialect.name for dialect in default_context()))
        return
    errors = Errors(quiet=verify_diagnostics)
    results: list[str] = []
    folders: list[Program] = []
    checks: list[PipelineCheck] = []
    before, after = print_ir_before or [], print_ir_after or []
    watching: list[Instrumentation] = [
        *([PrintAfterAll(_on_stderr)] if print_ir_after_all else []),
        *([PrintAfterChange(_on_stderr)] if print_after_change else []),
        *([IrDiff(_on_stderr)] if print_diff else []),
        *(
            [PrintAround(_on_stderr, before=None if print_ir_before_all else before, after=after)]
            if before or after or print_ir_before_all
            else []
        ),
    ]
    times = Timing() if timing else None
    counted = Statistics() if statistics else None
    op_changes = OpCounts() if op_counts else None
    reports = [report for report in (times, counted, op_changes) if report is not None]
    pipeline_text = ""
    with errors.reported():
        counters = DebugCounter.parse(*debug_counter) if debug_counter else None
        replayed = read_reproducer(file) if run_reproducer else None
        manager = PassManager.parse(_inside_module(passes)) if replayed is None else PassManager(replayed.passes)
        pipeline_text = str(manager)
        for name in (*before, *after):
            if find_pass(name) is None:
                raise PassError(f"no pass is named '{name}', so the IR cannot be printed around it")
        if inputs is not None and not check:
            raise InputError("--inputs has what --check evaluates on: it goes with --check")
        if dump_pipeline:
            typer.echo(f"builtin.module({manager})", err=True)
        pieces = read_pieces(file, split_input=split_input_file, texts=errors.texts)
        for piece in pieces if replayed is None else [replayed.program]:
            with errors.reported():
                program = (
                    piece.program(
                        allow_unregistered=allow_unregistered,
                        keep_names=keep_names or inputs is not None,  # the arrays have the names of the text
                    )
                    if isinstance(piece, Piece)
                    else piece
                )
                if verify_roundtrip:
                    _verify_roundtrip(program, allow_unregistered=allow_unregistered)
                if explain_pattern:
                    from tx8ir.cli.describe import explanations

                    results.append("\n".join(explanations(explain_pattern, program)))
                    continue
                if check and manager.passes:
                    found = _checked(program, manager, inputs, guarantee)
                    checks.append(found)
                    if not found.passed:
                        if not json:
                            typer.echo(str(found), err=True)
                        continue
                with nullcontext() if counters is None else counters.active():
                    manager.run(
                        program,
                        verify_each=verify_each and (replayed is None or replayed.verify_each),
                        instruments=[*watching, *reports],
                        crash_reproducer=crash_reproducer,
                        local_reproducer=local_reproducer,
                    )
                if _holds_weights(output):
                    folders.append(program)
                    continue
                if len(program.weights):
                    _refuse_or_say(len(program.weights), output)
                results.append(
                    print_op(
                        program.module,
                        locations=locations,
                        names=keep_names,
                        generic=generic,
                        short=short,
                        aliases=aliases,
                        elide=elide,
                    )
                )
        if len(folders) > 1:
            raise InputError(f"{output} holds one program, not {len(folders)}")
        if folders and output is not None:
            folders[0].save(output, runtime_attributes=True)
        if results and not verify_diagnostics:
            _write(f"\n{SPLIT_MARKER}\n".join(results) + "\n", output)
        if counters is not None:
            typer.echo(str(counters), err=True)
    if json:
        from tx8ir.cli.documents import print_document
        from tx8ir.cli.documents.opt import OptDocument

        document = OptDocument.of(pipeline_text, times, counted, op_changes, tuple(checks) if check else None)
        print_document(document, stderr=True)
    else:
        for report in reports:
            typer.echo(str(report), err=True)
    if verify_diagnostics:
        expected = [e for text in errors.texts.values() for e in expectations(text)]
        complaints = unmet(expected, errors.found)
        for complaint in complaints:
            typer.echo(f"{file}: {complaint}", err=True)
        raise typer.Exit(EXIT_CHECK_FAILED if complaints else 0)
    if errors.count:
        raise typer.Exit(EXIT_WRONG_INPUT)
    if not all(found.passed for found in checks):
        raise typer.Exit(EXIT_CHECK_FAILED)


def _checked(
    program: Program, manager: PassManager, inputs: Path | None, guarantee: NumericGuarantee | None
) -> PipelineCheck:
    """Evaluates before and after each pass, on the arrays of a file or on drawn ones."""
    from tx8ir.cli.console import StageProgress
    from tx8ir.cli.data import read_data
    from tx8ir.signature import Signature
    from tx8ir.testing.passes.preserve import check

    program.verify()
    arrays = None if inputs is None else read_data(inputs, Signature.of(program)).inputs
    with StageProgress().stage("check"):
        return check(program, manager, inputs=arrays, guarantee=guarantee)


def _verify_roundtrip(program: Program, *, allow_unregistered: bool) -> None:
    """Raises `IrError` when the program is another one after it was printed and parsed, in either form."""
    for generic in (False, True):
        text = print_op(program.module, generic=generic)
        again = parse_op(text, context=default_context(), allow_unregistered=allow_unregistered)
        if print_op(again, generic=generic) != text:
            form = "generic text" if generic else "text"
            raise IrError(f"the program is another one after its {form} was parsed", op=program.module)


def _refuse_or_say(weights: int, output: Path | None) -> None:
    """A file of text would lose the weights, which is wrong; on stdout it is said."""
    if output is not None:
        raise InputError(
            f"{output} would have none of the {weights} weights; a name without suffix is a folder, which has"
        )
    typer.echo(f"note: the text has none of the {weights} weights; `-o DIR` saves the program with them", err=True)


def _inside_module(pipeline: str) -> str:
    """The passes of `builtin.module(…)`, as `mlir-opt` has them written; any other text as it is."""
    match = re.fullmatch(r"\s*(?:builtin\.)?module\s*\((.*)\)\s*", pipeline, re.DOTALL)
    return pipeline if match is None else match.group(1)


def _holds_weights(output: Path | None) -> bool:
    """Whether the result is saved with its weights: into a folder or a name without suffix, or into a file for both."""
    return output is not None and (
        output.is_dir() or output.suffix == ONE_FILE or (not output.exists() and not output.suffix)
    )


def _on_stderr(text: str) -> None:
    typer.echo(text, err=True)


def _write(text: str, output: Path | None) -> None:
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
