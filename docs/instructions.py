"""Writes docs/reference/instructions.md: every instruction of the TX8, from the definitions themselves.

Run by `python docs/instructions.py`; tests/test_instruction_reference.py checks that the page is current.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from tx8ir.core.opdef.fields import MISSING
from tx8ir.dialects import tx8
from tx8ir.dialects.tx8.families import FAMILIES, Family
from tx8ir.target.chip import BOARD, TX8

PAGE = Path(__file__).parent / "reference" / "instructions.md"

COMMON = ("tiles", "source", "follows", "as_format", "as_layout")


def page() -> str:
    """The page as Markdown."""
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    ne, profile = TX8.ne, TX8.profile
    yield "# Instructions"
    yield ""
    yield "<!-- Written by `python docs/instructions.py` from the definitions in tx8ir.dialects.tx8. Do not edit. -->"
    yield ""
    yield (
        "Every instruction names the `tiles` that run it; an address is one number for all of them or one per tile, in "
        "bytes. `source` names what it was generated from, `follows` how its addresses change with the trips of loops. "
        "`as_format` and `as_layout` declare that it takes the bytes of its sources for another format or layout than "
        "they were written in: see [the checks](../explanation/machine.md#checks). "
        f"Addresses in SPM lie in `[0, {TX8.spm_bytes:#x})`, of which programs may use `[{TX8.spm_allocatable[0]:#x}, "
        f"{TX8.spm_allocatable[1]:#x})`; those in DDR in `[{TX8.ddr_base:#x}, {TX8.ddr_end:#x})`. Costs are those of "
        f"the `{profile.name}` profile, in cycles of 1 ns (`tx8ir.target.cost`)."
    )
    yield ""
    yield "## Limits"
    yield ""
    yield "| what | least | largest |"
    yield "|---|---|---|"
    for name, (low, high) in (
        ("N, H, W of a tensor; m and batch of a gemm", ne.extent),
        ("C of a tensor; k and n of a gemm", ne.channels),
        ("pad", ne.pad),
        ("kernel", ne.kernel),
        ("stride", ne.stride),
        ("dilation", ne.dilation),
        ("levels of an RDMA or WDMA walk", (0, TX8.dma_levels)),
        ("levels of a TDMA walk", (0, TX8.tdma_levels)),
        ("bytes of a message", (1, TX8.dte_message_bytes)),
    ):
        yield f"| {name} | {low} | {high} |"
    yield ""
    yield "## Cost of the NE"
    yield ""
    m, n, k = profile.ne_step
    yield (
        f"`steps = ceil(M/{m}) * ceil(N/{n}) * ceil(K/{k})` for each batch of a gemm; a convolution has "
        f"M = N·OH·OW, N = O and `ceil(K/{k})` for each tap; a depthwise one `ceil(taps/{k})` for all of them. "
        "Steps per cycle by the format of the factors: "
        + ", ".join(f"{name} {a if b == 1 else f'{a}/{b}'}" for name, a, b in profile.ne_steps_per_cycle)
        + "."
    )
    yield ""
    yield "## Profiles"
    yield ""
    yield "What differs from the costs given here when boards are simulated (`board`)."
    yield ""
    yield f"| what | `{profile.name}` | `{BOARD.name}` |"
    yield "|---|---|---|"
    for what, field in (
        ("part of the NE's peak that is sustained", "ne_efficiency"),
        ("DDR, bytes per cycle of the chip", "ddr_bytes_per_cycle"),
        ("software cost of a tile's first message", "dte_first_message_cycles"),
        ("software cost of each later message", "dte_message_cycles"),
        ("software cost of issuing an instruction", "issue_cycles"),
    ):
        yield f"| {what} | {getattr(profile, field):g} | {getattr(BOARD, field):g} |"
    yield ""
    yield from _families()
    for family in Family:
        ops = [op for op in tx8.DIALECT.ops.values() if issubclass(op, tx8.Instruction) and _family(op) is family]
        for op in ops:
            yield from _instruction(op)
    yield "## Requantize"
    yield ""
    yield from _paragraphs(inspect.getdoc(tx8.Requantize) or "")
    yield "| field | least | largest |"
    yield "|---|---|---|"
    for name, (low, high) in tx8.QUANTIZE_LIMITS.items():
        yield f"| `{name}` | {low} | {high} |"
    yield ""
    yield "## Conversions"
    yield ""
    yield "The pairs of `tx8.convert`. *exact*: every number of the source is one of the destination, no rounding."
    yield ""
    yield "| from \\ to | " + " | ".join(f.name for f in tx8.CONVERTIBLE) + " |"
    yield "|---" * (len(tx8.CONVERTIBLE) + 1) + "|"
    for source in tx8.CONVERTIBLE:
        cells = [tx8.CONVERSIONS.get((source.name, destination.name)) for destination in tx8.CONVERTIBLE]
        texts = ["" if cell is None else "rounds" if cell.narrows else "exact" for cell in cells]
        yield f"| **{source.name}** | " + " | ".join(texts) + " |"


def _families() -> Iterator[str]:
    yield "## Families and names"
    yield ""
    yield "What hardware calls an instruction, and the operation that it is here."
    yield ""
    yield "| family | function | names | operation |"
    yield "|---|---|---|---|"
    for entry in FAMILIES:
        operations = ", ".join(f"[`{name}`](#{_anchor(name)})" for name in entry.operations)
        family, names = f"{entry.family.name} {entry.family.value}", " ".join(entry.names)
        yield f"| {family} | {entry.function} | {names} | {operations} |"
    yield ""


def _family(op: type[tx8.Instruction]) -> Family:
    return next(entry.family for entry in FAMILIES if op.name in entry.operations)


def _anchor(name: str) -> str:
    return name.replace(".", "")


def _instruction(op: type[tx8.Instruction]) -> Iterator[str]:
    yield f"## {op.name}"
    yield ""
    engine = op.engine
    where = "kernel core" if engine is None else engine.value
    yield f"*Family* {_family(op).name}. *Engine* {where}. *Cost* {_cost(op)}."
    yield ""
    yield from _paragraphs(inspect.getdoc(op) or "")
    for base in op.__mro__[1 : op.__mro__.index(tx8.Instruction)]:
        # What a base says of all its instructions, without the line that says that it is one.
        _, _, shared = (inspect.cleandoc(base.__doc__) if base.__doc__ else "").partition("\n")
        yield from _paragraphs(shared.lstrip("\n"))
    yield "| field | default | |"
    yield "|---|---|---|"
    for field in op.definition.attributes:
        if field.name in COMMON:
            continue
        value = getattr(field.default, "value", field.default)
        default = "" if value is MISSING else "absent" if value is None else f"`{value!r}`"
        yield f"| `{field.name}` | {default} | {field.doc.replace('|', chr(92) + '|')} |"
    yield ""


def _paragraphs(text: str) -> Iterator[str]:
    """A docstring as Markdown: its indented formulas as code."""
    for paragraph in re.split(r"\n\s*\n", text):
        if not paragraph.strip():
            continue
        if paragraph.startswith("    "):
            yield "```text"
            yield from textwrap.dedent(paragraph).splitlines()
            yield "```"
        else:
            yield " ".join(paragraph.split())
        yield ""


def _cost(op: type[tx8.Instruction]) -> str:
    profile = TX8.profile
    return op.cost_formula.format_map({name: getattr(profile, name) for name in dir(profile) if name[:2] != "__"})


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
