"""Every shipped pass, the pipelines and the compiler, each fuzzed for so long; what is done is not done again.

    PYTHONPATH=src:tests python -m support.shipped --seconds 600

Each has a line of JSON in the log when it is done. A run with the same log, seconds and seed goes on where the last
one stopped, which may have been in the middle of the night; another seed tries other programs. Seconds are those of
the processor. What was found wrong is in the log, and a script for each counterexample beside it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tx8ir.backend.graph import CompileError
from tx8ir.core import Program, UnsupportedError
from tx8ir.passes import PassError, all_passes
from tx8ir.testing import check, fuzz
from tx8ir.testing.programs import LOWERABLE, tensor_programs
from tx8ir.testing.programs.drawing import draw_programs

PASSES: Final = tuple(name for name, cls in all_passes().items() if cls.__module__.startswith("tx8ir.transforms."))
"""Those of the backend have their own tests: what they take is not any program."""
_VALUES: Final = "to-value-semantics,copy-elision"
ON_SMALL_PROGRAMS: Final[Mapping[str, str]] = {
    "externalize-constants": "externalize-constants{inline-bytes=0}",
    "inline-fusions": "fuse-elementwise,inline-fusions",
    "pad-matmul": "pad-matmul{m=4,n=4,k=4,max-waste=0.9}",
    "split-large-ops": "split-large-ops{max-operands=3,max-extent=4,max-channels=2}",
    "to-inplace": f"{_VALUES},to-inplace",
}
"""Pipelines in which passes have something to do that by default are for large programs, or for what others leave."""
PIPELINES: Final = (
    "straighten",
    "prepare",
    "canonicalize,constant-fold,cse,dce",
    f"{_VALUES},canonicalize,cse,dce,to-inplace",
)
COMPILER: Final = "the compiler and the simulator"
_MAX_OPS: Final = 6


def _fuzzed(pipeline: str, seconds: float, seed: int, scripts: Path) -> dict[str, Any]:
    result = fuzz(pipeline, seconds=seconds, seed=seed, failures=5, clock=time.process_time)
    found = [str(example.failure).splitlines()[0] for example in result.counterexamples]
    for number, example in enumerate(result.counterexamples):
        scripts.mkdir(parents=True, exist_ok=True)
        stem = "".join(c if c.isalnum() else "-" for c in pipeline)[:60]
        (scripts / f"{stem}-{seed}-{number}.py").write_text(example.script, encoding="utf-8")
    return {"programs": result.programs, "changed": result.changed, "runs": result.runs, "found": found}


def _compiled(seconds: float, seed: int) -> dict[str, Any]:
    """Programs that are compiled, simulated and compared; those that the compiler refuses are counted apart."""
    deadline = time.process_time() + seconds
    tried = checked = 0
    found: list[str] = []
    for program in _programs(seed):
        tried += 1
        try:
            checked += 1
            result = check(program, seed=seed + tried)
            if not result.passed:
                found.append(f"{result}\n{program}")
        except (CompileError, PassError, UnsupportedError):  # an operation that has no form in the backend graph
            checked -= 1
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}\n{program}")
        if time.process_time() > deadline or len(found) >= 5:
            break
    return {"programs": tried, "changed": checked, "runs": checked, "found": found}


def _programs(seed: int) -> Iterator[Program]:
    return draw_programs(tensor_programs(LOWERABLE, max_ops=_MAX_OPS), sys.maxsize, start=seed * 1_000_000)


def work(seconds: float, seed: int, scripts: Path) -> dict[str, Callable[[], dict[str, Any]]]:
    """What there is to do, by its name in the log."""
    texts = {name: ON_SMALL_PROGRAMS.get(name, name) for name in PASSES} | {text: text for text in PIPELINES}
    todo = {name: lambda text=text: _fuzzed(text, seconds, seed, scripts) for name, text in texts.items()}
    return {**todo, COMPILER: lambda: _compiled(seconds, seed)}


def main() -> int:
    """Returns 1 when something was found, now or in a run before that has this log."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0, help="of the processor, for each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, default=Path("build/shipped.jsonl"))
    parser.add_argument("--only", nargs="*", help="names of passes")
    given = parser.parse_args()
    given.log.parent.mkdir(parents=True, exist_ok=True)
    log: Path = given.log
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    done: dict[str, dict[str, Any]] = {
        entry["name"]: entry
        for entry in map(json.loads, lines)
        if (entry["seconds"], entry["seed"]) == (given.seconds, given.seed)
    }
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    for name, act in work(given.seconds, given.seed, given.log.with_suffix("")).items():
        if name in done or (given.only and name not in given.only):
            continue
        done[name] = {"name": name, "seconds": given.seconds, "seed": given.seed, "commit": commit, **act()}
        with given.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(done[name]) + "\n")
        entry = done[name]
        print(f"{name:60} {entry['programs']:7} programs {entry['changed']:6} changed", *entry["found"][:1], flush=True)
    total = sum(entry["programs"] for entry in done.values())
    wrong = [name for name, entry in done.items() if entry["found"]]
    print(f"{len(done)} done, {total} programs, wrong: {', '.join(wrong) or 'none'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
