"""The IR core beside xDSL and onnx-ir: every workload at two sizes, each library in its own process, in turns.

    python benchmarks/bench_ir.py [--sizes 10000,100000] [--only build,parse] [--output docs/benchmarks]

Prints a table in µs per operation with the ratio to xDSL of the same run, and writes `ir.json`, `ir.md` and `ir.svg`.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
LIBRARIES = {"tx8ir": "ir_tx8ir.py", "xDSL": "ir_xdsl.py", "onnx-ir": "ir_onnx_ir.py"}
PACKAGES = {"tx8ir": "tx8ir", "xDSL": "xdsl", "onnx-ir": "onnx-ir"}
# What each workload should come to at 100,000 operations: µs per operation (per use for the replacements).
TARGETS = {
    "build": 2.0,
    "print": 2.0,
    "parse": 6.0,
    "verify": 1.5,
    "clone": 2.0,
    "replace all uses": 0.3,
    "replace single uses": 0.3,
    "erase half": None,
    "insert": 2.5,
    "dce": 1.0,
    "cse": 2.5,
    "greedy rewrite": 2.5,
    "walk": 0.06,
}
LIMIT_SECONDS = 240.0
MEMORY_TARGET, IMPORT_TARGET = 500.0, 40.0


def run(library: str, workload: str, n: int, repetitions: int) -> float | None:
    """One figure from a fresh process; None when the library lacks the workload or takes too long."""
    command = [sys.executable, str(HERE / LIBRARIES[library]), workload, str(n), "--repetitions", str(repetitions)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        if "KeyError" in done.stderr:
            return None
        raise RuntimeError(f"{library} {workload} {n}: {done.stderr.strip().splitlines()[-1:]}")
    return float(json.loads(done.stdout))


def per_operation(workload: str, n: int, seconds: float | None) -> float | None:
    if seconds is None:
        return None
    return seconds / (n // 2 if workload == "erase half" else n) * 1e6


def show(figure: float | None, digits: int = 2) -> str:
    return "-" if figure is None else f"{figure:.{digits}f}"


def table(results: dict[str, dict[str, dict[str, float | None]]], sizes: list[int]) -> list[list[str]]:
    """Rows of the report: workload, size, each library, ratio to xDSL, target."""
    rows: list[list[str]] = []
    for workload, by_library in results.items():
        for n in sizes if workload in TARGETS else [sizes[-1]]:
            ours, xdsl, onnx = (by_library[name].get(str(n)) for name in LIBRARIES)
            ratio = "-" if not ours or xdsl is None else f"{xdsl / ours:.1f}×"
            target = TARGETS.get(workload) if n == 100_000 else None
            if workload == "bytes per operation":
                target = MEMORY_TARGET
            if workload == "import, ms":
                target = IMPORT_TARGET
            digits = 0 if workload not in TARGETS else 3 if workload == "walk" else 2
            rows.append(
                [workload, f"{n:,}", *(show(f, digits) for f in (ours, xdsl, onnx)), ratio, show(target, digits)]
            )
    return rows


def plot(results: dict[str, dict[str, dict[str, float | None]]], n: int, path: Path) -> None:
    """Horizontal bars, one group per workload, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = [w for w in results if w in TARGETS]
    figure, axes = plt.subplots(figsize=(8, 0.5 * len(names) + 1.5))
    for offset, (library, colour) in enumerate(zip(LIBRARIES, ("#2a6fdb", "#d98c21", "#8a8a8a"), strict=True)):
        values = [results[w][library].get(str(n)) or 0 for w in names]
        axes.barh([i + 0.27 * (offset - 1) for i in range(len(names))], values, 0.25, label=library, color=colour)
    for i, name in enumerate(names):
        target = TARGETS[name]
        if target is not None:
            axes.plot([target, target], [i - 0.42, i + 0.42], color="black", linewidth=1)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel(f"µs per operation at {n:,} operations (black: target)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--only", default="")
    parser.add_argument("--repetitions", type=int, default=3, help="of which the best counts")
    parser.add_argument("--output", type=Path, default=HERE.parent / "docs" / "benchmarks")
    args = parser.parse_args()
    sizes = [int(s) for s in args.sizes.split(",")]
    wanted = args.only.split(",") if args.only else [*TARGETS, "bytes per operation", "import, ms"]
    results: dict[str, dict[str, dict[str, float | None]]] = {}
    for workload in wanted:
        by_library: dict[str, dict[str, float | None]] = {name: {} for name in LIBRARIES}
        for n in sizes if workload in TARGETS else [sizes[-1]]:
            for library in LIBRARIES:
                if workload == "bytes per operation":
                    figure = run(library, "memory", n, 1)
                elif workload == "import, ms":
                    seconds = run(library, "import", n, 1)
                    figure = None if seconds is None else seconds * 1000
                else:
                    figure = per_operation(workload, n, run(library, workload, n, args.repetitions))
                by_library[library][str(n)] = figure
            figures = " ".join(f"{k} {show(v[str(n)], 3):>9}" for k, v in by_library.items())
            print(f"{workload:20s} {n:8,d} {figures}")
            sys.stdout.flush()
        results[workload] = by_library
    rows = table(results, sizes)
    versions = {name: version(package) for name, package in PACKAGES.items()}
    machine = f"{platform.machine()}, Python {platform.python_version()}, " + ", ".join(
        f"{k} {v}" for k, v in versions.items()
    )
    head = ["workload", "operations", *LIBRARIES, "xDSL / tx8ir", "target"]
    lines = [" | ".join(["", *row, ""]).strip() for row in (head, ["---"] * len(head), *rows)]
    text = (
        "# The IR core beside its peers\n\n"
        "µs per operation (per use for replacing uses), garbage collector on, "
        f"best of {args.repetitions}, each library in its own\nprocess. Written by `make bench-ir`.\n\n{machine}\n\n"
        + "\n".join(lines)
        + "\n\n![bars](ir.svg)\n"
    )
    print(text)
    args.output.mkdir(parents=True, exist_ok=True)
    (args.output / "ir.json").write_text(json.dumps({"machine": machine, "results": results}, indent=1) + "\n")
    (args.output / "ir.md").write_text(text)
    if {*TARGETS} <= {*results}:
        plot(results, sizes[-1], args.output / "ir.svg")


if __name__ == "__main__":
    main()
