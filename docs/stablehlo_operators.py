"""Writes docs/reference/stablehlo.md, the table of operations of StableHLO that the front end imports.

`python docs/stablehlo_operators.py` writes it, from the registry and `tests/data/stablehlo`.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path

from tx8ir.frontends.stablehlo import stablehlo_context, supported_ops
from tx8ir.frontends.stablehlo.missing import STRUCTURE

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "stablehlo.md"
SAMPLES = ROOT / "tests" / "data" / "stablehlo"

FOLLOWED = {
    "stablehlo.while": "`scf.while`",
    "stablehlo.if": "`scf.if`",
    "stablehlo.case": "`scf.if`, by halves",
    "stablehlo.composite": "the function that says what it computes, inlined",
    "stablehlo.return": "the end of a body",
    "sdy.mesh": "nothing: how many devices there are",
    "sdy.manual_computation": "around a whole program: the program of one device",
    "sdy.return": "the end of a computation",
}
"""What the importer follows without a converter."""


def page() -> str:
    """The page."""
    found = {item.operator: _said(item.function) for item in supported_ops()} | FOLLOWED
    elementwise = {item.operator for item in supported_ops() if item.is_elementwise}
    known = [
        name for dialect in stablehlo_context() for name in dialect.ops if name.split(".")[0] in ("stablehlo", "chlo")
    ]
    lines = [
        "# StableHLO operations",
        "",
        "Operations that [what JAX lowers to](../how-to/run-a-jax-function.md) may have. Those marked with • may",
        "stand in the body of a reducer or a comparator. `make test-peers` compares functions with JAX's answers.",
        "Written by `python docs/stablehlo_operators.py`.",
        "",
        "| operation | | what it becomes |",
        "|---|---|---|",
    ]
    for name, said in sorted(found.items()):
        label = f"custom call `{name}`" if name.startswith("@") else f"`{name}`"
        lines.append(f"| {label} | {'•' if name in elementwise else ''} | {said} |")
    refused = sorted(name for name in known if name not in found and name not in STRUCTURE)
    lines += ["", f"Read and refused by name: {', '.join(f'`{name}`' for name in refused)}."]
    chip = json.loads((SAMPLES / "chip.json").read_text(encoding="utf-8"))
    names = sorted(path.stem for path in SAMPLES.glob("*.mlir"))
    right = [name for name in names if name not in chip]
    lines += [
        "",
        "## Samples",
        "",
        f"The interpreter gives JAX's answers for all of {len(names)} functions of",
        f"`tests/frontends/stablehlo/make_samples.py`, the simulated chip for {len(right)} of them:",
        "",
        "| function | interpreter | chip | why not |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| `{name}` | right | {'refused' if name in chip else 'right'} | {chip.get(name, '')} |" for name in names
    ]
    return "\n".join([*lines, ""])


def _said(function: object) -> str:
    doc = inspect.getdoc(function)
    return doc.splitlines()[0].rstrip(".").replace("|", "\\|") if doc else "the operation of `pd` of that meaning"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
