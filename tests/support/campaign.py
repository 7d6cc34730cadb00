"""Mutation campaigns: mutants by the million, of which each must end in a diagnostic or be right.

    PYTHONPATH=src:tests python -m support.campaign texts --count 1000000
    PYTHONPATH=src:tests python -m support.campaign folders --count 20000

A campaign is named by its seed, a mutant by the seed and its number: `--first N --count 1` repeats one. Memory and
processor time of one mutant are limited by the operating system.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import FrameType

import attrs

from support.dialect import TEST_DIALECT
from support.malformed import MalformedOps
from support.mutations import Corpus
from tx8ir.core import (
    IrContext,
    ParseError,
    VerifyError,
    default_context,
    parse,
    print_op,
    structurally_equal,
)

GOLDEN = Path(__file__).parents[1] / "golden"
FOREIGN = Path(__file__).parents[1] / "data" / "mlir"
MEMORY_LIMIT = 1 << 30
"""Bytes that one mutant may take beyond what the process has already."""
SECONDS_LIMIT = 10.0
"""Processor seconds that one mutant may take; the slowest right one takes a small part of that."""


_REPORT_EVERY = 20_000


class TooSlowError(BaseException):
    """A mutant took more processor time than it may. No `except Exception` of the code under test catches it."""


@attrs.frozen
class Finding:
    """A mutant that ended in neither a diagnostic nor a right answer.

    Attributes:
        number: of the mutant in its campaign.
        what: the exception.
        where: the innermost line of the package that it came from, by which findings are counted.
        case: what to look at: the text, or the name of the mutation of a folder.
    """

    number: int
    what: str
    where: str
    case: str


@cache
def full_context() -> IrContext:
    """The shipped dialects, and the test dialect."""
    context = IrContext([*default_context(), TEST_DIALECT])
    context.keywords.update(default_context().keywords)
    return context


@cache
def golden_texts() -> tuple[str, ...]:
    """All golden programs."""
    return tuple(path.read_text(encoding="utf-8") for path in sorted(GOLDEN.rglob("*.mlir")))


@cache
def corpus() -> Corpus:
    """The golden programs, those of other tools, and small programs of one operation of theirs."""
    return Corpus([*golden_texts(), *foreign_texts(), *short_texts(), *malformed_ops().snippets()])


@cache
def foreign_texts() -> tuple[str, ...]:
    """Programs in MLIR's generic form over dialects of other tools, each by itself and all in their file."""
    files = [path.read_text(encoding="utf-8") for path in sorted(FOREIGN.glob("*.mlir"))]
    return (*files, *(piece for text in files for piece in text.split("// -----\n")))


@cache
def short_texts() -> tuple[str, ...]:
    """The golden programs with every operation in its assembly format, if it has one, and names for affine maps."""
    modules = [parse(text, context=full_context(), allow_unregistered=True).module for text in golden_texts()]
    return tuple(print_op(module, short=True, aliases=True, locations=True) for module in modules)


@cache
def malformed_ops() -> MalformedOps:
    return MalformedOps(full_context(), golden_texts())


def check_text(text: str, *, context: IrContext | None = None, allow_unregistered: bool = True) -> None:
    """Parse and verify `text`. It is refused with a place, or it is a program that can be written and read again.

    Raises:
        AssertionError: the refusal says no place, or writing and reading again gives something else.
    """
    context = context or full_context()
    try:
        program = parse(text, context=context, allow_unregistered=allow_unregistered)
    except ParseError as error:
        refused = error
    else:
        refused = None
    if refused is not None:
        assert refused.line >= 1
        assert refused.column >= 1
        assert str(refused).count("\n") >= 2
        return
    written = print_op(program.module)
    again = parse(written, context=context, allow_unregistered=allow_unregistered)
    assert structurally_equal(program.module, again.module) is None, written
    assert print_op(again.module) == written, written
    for options in ({"generic": True}, {"short": True}):
        other = print_op(program.module, **options)
        peer = parse(other, context=context, allow_unregistered=allow_unregistered)
        assert structurally_equal(program.module, peer.module) is None, other
    with suppress(VerifyError):
        program.verify()


def draw_text(rng: random.Random) -> str:
    """A mutated program, or a program with a malformed operation."""
    return malformed_ops().draw(rng) if rng.random() < 0.04 else corpus().draw(rng)


@contextmanager
def limited(seconds: float) -> Generator[None]:
    """Bound the processor time of what runs inside the `with`."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlowError(f"more than {seconds} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def limit_memory() -> None:
    """Bound what this process may take from here on; for a process of its own, since it cannot be undone."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY_LIMIT
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def campaign_environment() -> dict[str, str]:
    """What a campaign in a process of its own needs to find the code that is running here."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}


def run_campaign(
    numbers: Iterator[int],
    seed: int,
    draw: Callable[[random.Random], str],
    check: Callable[[str], None],
    *,
    seconds: float = SECONDS_LIMIT,
) -> Iterator[Finding]:
    """Draw and check the mutants of these numbers; those that fail. Each may take `seconds` of processor time."""
    for number in numbers:
        case = draw(random.Random(f"{seed}/{number}"))
        found: BaseException | None = None
        try:
            with limited(seconds):
                check(case)
        except (Exception, TooSlowError) as error:  # whatever it is, it is the finding
            found = error
        if found is not None:
            yield Finding(number, f"{type(found).__name__}: {str(found)[:300]}", _where(found), case)


def _where(error: BaseException) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "tx8ir" in f.filename]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "outside"


def _reported(numbers: range) -> Iterator[int]:
    """The numbers, with a line on standard error now and then."""
    for number in numbers:
        yield number
        done = number + 1 - numbers.start
        if done % _REPORT_EVERY == 0:
            seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime
            print(f"{done} mutants, {seconds:.0f} s of processor time", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("texts", "folders"))
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print each mutant that fails")
    options = parser.parse_args()
    numbers = _reported(range(options.first, options.first + options.count))
    with tempfile.TemporaryDirectory() as scratch:
        if options.what == "texts":
            findings = run_campaign(numbers, options.seed, draw_text, check_text)
            draw_text(random.Random(0))
        else:
            from support.folders import FolderCampaign  # which compiles an executable first

            folders = FolderCampaign(Path(scratch))
            findings = run_campaign(numbers, options.seed, folders.draw, folders.check)
        limit_memory()
        places: Counter[tuple[str, str]] = Counter()
        for finding in findings:
            key = finding.what.partition(":")[0], finding.where
            places[key] += 1
            if places[key] <= 3:
                print(f"mutant {finding.number}: {finding.where}: {finding.what}", flush=True)
                if options.show:
                    print(finding.case, flush=True)
    total = sum(places.values())
    for (what, where), count in places.most_common():
        print(f"{count:8} {what} at {where}")
    print(f"{options.what}: {options.count} mutants of seed {options.seed} from {options.first} on, {total} findings")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
