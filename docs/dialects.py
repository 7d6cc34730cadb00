"""The pages of the dialects: every operation with its fields, traits and an example, from the classes that define them.

They are made when the site is built, by docs/pages.py.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import tx8ir
from tx8ir import dialects
from tx8ir.core import Block, Builder, IrError, Op, Operation, print_op
from tx8ir.core.opdef.fields import MISSING
from tx8ir.dialects.samples import Sampled

TESTS = Path(__file__).parent.parent / "tests"
NAMES = tuple(dialects.__all__)
_LONGEST = 1200
_IR = re.compile(r'\s*(%\w+(:\d+)? = |"\w+\.\w+"\()')


def page(name: str, examples: dict[str, str]) -> str:
    """The page of a dialect; examples are texts by the names of operations."""
    package = importlib.import_module(f"tx8ir.dialects.{name}")
    ops = sorted(package.DIALECT.ops.items())
    lines = [f"# `{name}`", "", _fenced(inspect.getdoc(package) or ""), ""]
    lines += [" · ".join(f"[`{op.removeprefix(f'{name}.')}`](#{anchor(op)})" for op, _ in ops), ""]
    for _, op in ops:
        lines += _operation(op, examples.get(op.name))
    return "\n".join(lines) + "\n"


def file(name: str) -> str:
    """The file of a dialect's page; that of the dialect `index` is not the list of them all."""
    return f"{name}_dialect.md" if name == "index" else f"{name}.md"


def index() -> str:
    """The page that lists the dialects."""
    lines = ["# Dialects", "", "| dialect | operations | |", "|---|---:|---|"]
    for name in NAMES:
        package = importlib.import_module(f"tx8ir.dialects.{name}")
        about = (inspect.getdoc(package) or "").partition("\n\n")[0].replace("\n", " ")
        lines.append(f"| [`{name}`]({file(name)}) | {len(package.DIALECT.ops)} | {about} |")
    lines += ["", "A dialect of your own: [define a dialect](../../tutorial/define-a-dialect.md).", ""]
    return "\n".join(lines)


def anchor(op: str) -> str:
    """The anchor of an operation's heading."""
    return op.replace(".", "").lower()


def _operation(op: type[Op], example: str | None) -> Iterator[str]:
    yield from (f"## `{op.name}`", "", _fenced(inspect.cleandoc(op.__doc__ or "")), "")
    rows = list(_rows(op))
    if rows:
        yield from ("| | name | type, default | |", "|---|---|---|---|", *rows, "")
    traits = sorted(trait.__name__ for trait in op.info.traits)
    interfaces = sorted(interface.__name__ for interface in op.info.interfaces)
    if traits or interfaces:
        yield from (f"*{', '.join((*traits, *interfaces))}*", "")
    form = getattr(op, "assembly_format", None)
    if form:
        yield from (f"Text: ``{op.name} {form}``", "")
    if example is not None:
        yield from ("```text", example, "```", "")


def _rows(op: type[Op]) -> Iterator[str]:
    taken = inspect.signature(op).parameters
    definition = op.definition
    for kind, fields in (
        ("operand", definition.operands),
        ("attribute", definition.attributes),
        ("region", definition.regions),
        ("result", definition.results),
    ):
        for field in fields:
            parameter = taken.get(field.name)
            annotation = (
                ""
                if parameter is None or kind != "attribute"
                else str(parameter.annotation).strip("'").replace(" | ", " or ")
            )
            default = getattr(field, "default", MISSING)
            if default is not MISSING:
                value = getattr(default, "value", default)
                annotation += f" = {value!r}" if isinstance(value, (int, float, str)) else f" = {default}"
            cell = f"`{_cell(annotation)}`" if annotation else ""
            yield f"| {kind} | `{field.name}` | {cell} | {_cell(field.doc)} |"


def _fenced(text: str) -> str:
    """A docstring with its paragraphs of IR as blocks of code."""
    parts = re.split(r"\n\n+", text)
    return "\n\n".join(f"```text\n{inspect.cleandoc(p)}\n```" if _IR.match(p) else p for p in parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


# -- examples ---------------------------------------------------------------------------------------------------------


def examples() -> dict[str, str]:
    """A short text of each operation that some program here has, by its name.

    From the samples of the operations, the texts of the tests, and what becomes of the bundled models.
    """
    found: dict[str, str] = {}
    for name in NAMES:
        for op in importlib.import_module(f"tx8ir.dialects.{name}").DIALECT.ops.values():
            if Sampled in op.info.interfaces:
                _keep(found, _sample(op))
    for path in sorted(TESTS.glob("golden/**/*.mlir")):
        try:
            _harvest(found, tx8ir.parse(path).module)
        except (IrError, OSError):
            continue  # a text that is wrong on purpose
    for model in ("gpt2", "resnet18"):
        executable = tx8ir.compile(tx8ir.load(TESTS / "data" / "models" / model / "model.onnx"), keep_stages=True)
        for stage in ("lower-to-tx8be", "group-load-store", "generate-tx8"):
            _harvest(found, tx8ir.parse(executable.stages[stage]).module)
    return found


def _sample(op: type[Op]) -> Operation:
    sample = next(iter(op.samples()))  # type: ignore[attr-defined]
    block = Block(sample.types)
    with Builder.at_end(block):
        sample.build(block.args)
    return next(made for made in block if isinstance(made, op))


def _harvest(found: dict[str, str], root: Operation) -> None:
    known = set(found)
    for op in root.walk():
        if op.name not in known:
            _keep(found, op)


def _keep(found: dict[str, str], op: Operation) -> None:
    """Keeps an operation's text where there is none yet, or one without values, or a longer one."""
    text = print_op(op, short=True).replace("%outer", "%arg")
    known = found.get(op.name)
    if len(text) <= _LONGEST and (known is None or _worth(text) > _worth(known)):
        found[op.name] = text


def _worth(text: str) -> tuple[bool, int]:
    return "%" in text, -len(text)
