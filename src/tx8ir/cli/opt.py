"""`tx8ir opt`: passes over text, as `mlir-opt` does it."""

from __future__ import annotations

import enum
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import attrs
import typer

from tx8ir.cli.completion import patterns, pipeline
from tx8ir.cli.console import EXIT_CHECK_FAILED, EXIT_WRONG_INPUT
from tx8ir.cli.diagnostics import diagnostic
from tx8ir.cli.expectations import expectations, unmet
from tx8ir.core import IrError, Operation, Program, default_context, print_op
from tx8ir.core.program import read_text
from tx8ir.core.text.parser import parse_op
from tx8ir.frontends.files import is_text, load
from tx8ir.interpreter import EvaluationError
from tx8ir.passes import (
    Instrumentation,
    PassError,
    PassManager,
    all_passes,
    all_patterns,
    all_pipelines,
    describe_options,
)
from tx8ir.passes.instrumentation import (
    IrDiff,
    OpCounts,
    PrintAfterAll,
    PrintAfterChange,
    PrintAround,
    Statistics,
    Timing,
)
from tx8ir.rewriting.declarative.explain import explain
from tx8ir.signature import InputError
from tx8ir.testing.passes.observe import NumericGuarantee
from tx8ir.testing.passes.preserve import check as check_pipeline

SPLIT_MARKER = "// -----"
"""The line that separates the programs of a file."""


class GuaranteeOption(enum.Enum):
    """Values of ``--guarantee``."""

    BITWISE = "bitwise"
    VALUES = "values"
    ROUNDING = "rounding"
    NO_NANS = "no-nans"
    FORMATS = "formats"


@attrs.frozen
class Piece:
    """One program of the input: its text, preceded by as many empty lines as put it at its place in the file."""

    file: str
    text: str

    def program(self, *, allow_unregistered: bool, keep_names: bool) -> Program:
        """Parses it; operations know their line in the whole file."""
        op = parse_op(
            self.text,
            context=default_context(),
            file=self.file,
            allow_unregistered=allow_unregistered,
            keep_names=keep_names,
        )
        if op.name == "builtin.module":
            return Program(op)
        program = Program.empty()
        program.body.append(op)
        return program


def split(text: str, file: str) -> list[Piece]:
    """The pieces between lines that are `// -----`."""
    pieces: list[Piece] = []
    start = 0
    for line in re.finditer(r"^// -----[^\S\n]*$", text, re.MULTILINE):
        pieces.append(Piece(file, _placed(text, start, line.start())))
        start = line.end()
    return [*pieces, Piece(file, _placed(text, start, len(text)))]


def _placed(text: str, start: int, end: int) -> str:
    return "\n" * text.count("\n", 0, start) + text[start:end]


def opt(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="IR text, a saved program's folder, an ONNX file; - is stdin")
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
            "--print-ir-before", "--mlir-print-ir-before", metavar="PASS", help="print the IR before PASS, on stderr"
        ),
    ] = None,
    print_ir_after: Annotated[
        list[str] | None,
        typer.Option(
            "--print-ir-after", "--mlir-print-ir-after", metavar="PASS", help="print the IR after PASS, on stderr"
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
    dump_pipeline: Annotated[
        bool, typer.Option("--dump-pass-pipeline", help="print the pipeline that is run, on stderr")
    ] = False,
    show_dialects: Annotated[bool, typer.Option("--show-dialects", help="list the dialects that are known")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="evaluate before and after each pass; exit with status 1 if answers differ")
    ] = False,
    guarantee: Annotated[
        GuaranteeOption | None,
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
    list_passes: Annotated[bool, typer.Option("--list", help="list the passes, their options and patterns")] = False,
) -> None:
    """Run passes over FILE, verifying after each one, and print the result.

    Exit status: 0 when all passes ran (and, with --check, kept the answers), 1 when answers differ, 2 when the input,
    the pipeline or a pass is wrong.
    """
    if list_passes or show_dialects:
        lines = describe_passes() if list_passes else (dialect.name for dialect in default_context())
        typer.echo("\n".join(lines))
        return
    errors = Errors(quiet=verify_diagnostics)
    results: list[str] = []
    folders: list[Program] = []
    differs = False
    watching = _instruments(
        print_after_change=print_after_change,
        print_ir_after_all=print_ir_after_all,
        print_diff=print_diff,
    )
    before, after = print_ir_before or [], print_ir_after or []
    if before or after or print_ir_before_all:
        watching.append(PrintAround(_on_stderr, before=None if print_ir_before_all else before, after=after))
    reports: list[Instrumentation] = [
        *([Timing()] if timing else []),
        *([Statistics()] if statistics else []),
        *([OpCounts()] if op_counts else []),
    ]
    with errors.reported():
        manager = PassManager.parse(_inside_module(passes))
        known = {name for cls in all_passes().values() for name in (cls.name, *cls.aliases)}
        for name in (*before, *after):
            if name not in known:
                raise PassError(f"no pass is named '{name}', so the IR cannot be printed around it")
        if dump_pipeline:
            typer.echo(f"builtin.module({manager})", err=True)
        pieces = _read(file, split_pieces=split_input_file, errors=errors)
        for piece in pieces:
            with errors.reported():
                program = (
                    piece.program(allow_unregistered=allow_unregistered, keep_names=keep_names)
                    if isinstance(piece, Piece)
                    else piece
                )
                if explain_pattern:
                    results.append("\n".join(explanations(explain_pattern, program)))
                    continue
                if check:
                    program.verify()
                    held_to = None if guarantee is None else NumericGuarantee(guarantee.value)
                    found = check_pipeline(program, manager, guarantee=held_to) if manager.passes else None
                    if found is not None and not found.passed:
                        typer.echo(str(found), err=True)
                        differs = True
                        continue
                manager.run(program, verify_each=verify_each, instruments=[*watching, *reports])
                if _is_folder(output):
                    folders.append(program)
                    continue
                if len(program.weights):
                    count = len(program.weights)
                    note = f"note: the text has none of the {count} weights; `-o DIR` saves the program with them"
                    typer.echo(note, err=True)
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
            raise InputError(f"{output} is a folder, which holds one program, not {len(folders)}")
        if folders and output is not None:
            folders[0].save(output, runtime_attributes=True)
        if results and not verify_diagnostics:
            _write(f"\n{SPLIT_MARKER}\n".join(results) + "\n", output)
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
    if differs:
        raise typer.Exit(EXIT_CHECK_FAILED)


class Errors:
    """Prints what goes wrong and counts it, so that the other programs of a file are still looked at."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.found: list[Exception] = []
        self.texts: dict[str, str] = {}

    @property
    def count(self) -> int:
        return len(self.found)

    def reported(self) -> Reported:
        """A context in which an `IrError`, an `InputError` or an `OSError` is printed and counted."""
        return Reported(self)


class Reported:
    """See `Errors.reported`. Any other exception is a bug of ours and keeps its traceback."""

    def __init__(self, errors: Errors) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> bool:
        if isinstance(error, BrokenPipeError):
            return False
        if isinstance(error, IrError):
            text = diagnostic(error, self._errors.texts)
        elif isinstance(error, InputError | OSError | EvaluationError):
            text = f"error: {error}"
        else:
            return False
        self._errors.found.append(error)
        if not self._errors.quiet:
            typer.echo(text, err=True)
        return True


def _read(file: str, *, split_pieces: bool, errors: Errors) -> Sequence[Piece | Program]:
    if file != "-" and not is_text(Path(file)):
        if split_pieces:
            raise InputError(f"--split-input-file is for IR text; {file} is none")
        return [load(Path(file))]
    if file == "-":
        name, text = "<stdin>", sys.stdin.read()
    else:
        name, text = file, read_text(file)
    errors.texts[name] = text
    return split(text, name) if split_pieces else [Piece(name, text)]


def _inside_module(pipeline: str) -> str:
    """The passes of `builtin.module(…)`, as `mlir-opt` has them written; any other text as it is."""
    match = re.fullmatch(r"\s*(?:builtin\.)?module\s*\((.*)\)\s*", pipeline, re.DOTALL)
    return pipeline if match is None else match.group(1)


def _is_folder(output: Path | None) -> bool:
    """Whether the result is saved as a folder: there is one, or the name has no suffix."""
    return output is not None and (output.is_dir() or (not output.exists() and not output.suffix))


def _on_stderr(text: str) -> None:
    typer.echo(text, err=True)


def _write(text: str, output: Path | None) -> None:
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")


def _instruments(*, print_after_change: bool, print_ir_after_all: bool, print_diff: bool) -> list[Instrumentation]:
    return [
        *([PrintAfterAll(_on_stderr)] if print_ir_after_all else []),
        *([PrintAfterChange(_on_stderr)] if print_after_change else []),
        *([IrDiff(_on_stderr)] if print_diff else []),
    ]


def describe_passes() -> Iterator[str]:
    """Every named pipeline, and every registered pass: name, first sentence, options, patterns."""
    for name, text in all_pipelines().items():
        yield f"{name}: the pipeline {text}"
    for name, cls in all_passes().items():
        aliases = f" ({', '.join(cls.aliases)})" if cls.aliases else ""
        yield f"{name}{aliases}: {summary(cls)}"
        for option in describe_options(cls):
            yield f"    {option.name}={option.default}  {option.type}: {option.help}"
        patterns = sorted(pattern.name for pattern in cls().patterns())
        if patterns:
            yield f"    patterns: {', '.join(patterns)}"


def summary(cls: type[Any]) -> str:
    """The first sentence of a docstring, on one line."""
    text = " ".join((cls.__doc__ or "").partition("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", text)[0]


def explanations(name: str, program: Program) -> Iterator[str]:
    """Of the operations that the pattern is for, why it does or does not match; when there are none, that.

    Raises `PassError` for a name that no pattern has.
    """
    patterns = all_patterns()
    if name not in patterns:
        raise PassError(f"no pattern is named '{name}'; patterns are {', '.join(patterns)}")
    pattern = patterns[name]
    candidates: list[Operation] = [op for op in program.module.walk() if pattern.fits(op.__class__)]
    if not candidates:
        kinds = ", ".join(str(getattr(root, "name", "") or root.__name__) for root in pattern.roots)
        yield f"{name}: the program has no operation that it is for ({kinds})"
    for op in candidates:
        yield str(explain(pattern, op))
