"""Writes docs/reference/onnx.md, the table of ONNX operators: what the interpreter evaluates and the chip computes.

`python docs/operators.py` writes it, from the registry, and from what became of the tests of ONNX's own suite
(docs/reference/onnx.json, which `--measure CPU` and `--measure TX8` write; the latter takes long).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import onnx.defs

from tx8ir.frontends.onnx import supported_ops

PAGE = Path(__file__).parent / "reference" / "onnx.md"
MEASURED = PAGE.with_suffix(".json")

WHY_NOT = {
    "ImageDecoder": "files of images are not tensors",
    "StringConcat": "strings", "StringNormalizer": "strings", "StringSplit": "strings", "RegexFullMatch": "strings",
    "TfIdfVectorizer": "mostly of strings",
    "RandomNormal": "random", "RandomNormalLike": "random", "RandomUniform": "random", "RandomUniformLike": "random",
    "Multinomial": "random", "Bernoulli": "random",
    "MaxRoiPool": "not yet",
}  # fmt: skip


def schemas() -> dict[str, list[Any]]:
    """The schemas of each operator of the standard domain, oldest first; those of today that are not deprecated."""
    found: dict[str, list[Any]] = defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            found[schema.name].append(schema)
    for history in found.values():
        history.sort(key=lambda schema: schema.since_version)
    return dict(sorted(found.items()))


def page() -> str:
    """The page."""
    converters = {item.operator: item for item in supported_ops() if not item.domain}
    measured: dict[str, dict[str, dict[str, int]]] = json.loads(MEASURED.read_text(encoding="utf-8"))
    lines = [
        "# ONNX operators",
        "",
        "What becomes of the operators of the standard domain: how they are imported, from which opset on, and how",
        "many tests of ONNX's own suite (models of that one operator) are right on the reference interpreter (`CPU`)",
        "and on the simulated chip (`TX8`), by the suite's tolerances. The others are refused, but for three:",
        "`test_dft_inverse` (two versions) expects 1.9e-7 where the exact number is 0, and its tolerance is 1e-7;",
        "two of the 192 numbers of `test_attention_4d_causal_fp16` (there is an expansion of it, too) and ours differ",
        "by more than the tolerance, though both are within it of the exact ones.",
        "A dash: not measured. Written by `python docs/operators.py`.",
        "",
        "| operator | imported | opsets | CPU | TX8 |",
        "|---|---|---|---|---|",
    ]
    for name, history in schemas().items():
        newest = history[-1]
        converter = converters.get(name)
        if newest.deprecated and converter is None:
            continue
        if converter is not None:
            how, opsets = "as `pd` operations", f"{converter.first} to {converter.last}"
        elif name in WHY_NOT:
            how, opsets = f"no: {WHY_NOT[name]}", ""
        elif newest.has_function or newest.has_context_dependent_function:
            how, opsets = "by its body", f"{history[0].since_version} to {newest.since_version}"
        else:
            how, opsets = "no", ""
        results = [_share(measured.get(device, {}).get(name)) for device in ("CPU", "TX8")]
        lines.append(f"| {name} | {how} | {opsets} | {results[0]} | {results[1]} |")
    others = sorted(f"`{item.domain}::{item.operator}`" for item in supported_ops() if item.domain.startswith("ai."))
    lines += ["", f"Of other domains: {', '.join(others)}.", ""]
    return "\n".join(lines)


def _share(found: dict[str, int] | None) -> str:
    return "–" if not found else f"{found.get('passed', 0)} of {sum(found.values())}"


def measure(device: str) -> None:
    """Run the suite's tests of single nodes, and note what became of those of each operator."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from support.onnx_suite import run_case, suite

    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    for case in suite():
        if len(case.model.graph.node) == 1:
            verdicts[case.model.graph.node[0].op_type][run_case(case, device).verdict] += 1
    known = json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {}
    known[device] = {name: dict(sorted(counts.items())) for name, counts in sorted(verdicts.items())}
    MEASURED.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", choices=("CPU", "TX8"))
    asked = parser.parse_args()
    if asked.measure:
        measure(asked.measure)
    PAGE.write_text(page(), encoding="utf-8")
