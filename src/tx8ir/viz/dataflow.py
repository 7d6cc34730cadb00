"""The dataflow of a program as a picture: operations are boxes, regions are frames, uses are arrows."""

from __future__ import annotations

import zlib
from typing import Any, Final, cast

import attrs

from tx8ir.core import Block, IrError, Operation, Program, RankedTensor, StrAttr, Type, Value

_COLOURS: Final = {
    "builtin": "#e8e8e8", "func": "#d9d2e9", "cf": "#f4cccc", "scf": "#fce5cd", "pd": "#cfe2f3", "tx8be": "#d9ead3",
    "tx8": "#fff2cc",
}  # fmt: skip
_OTHERS: Final = ("#d0e0e3", "#ead1dc", "#e6e6c8", "#d5d8f0", "#f0d8c8", "#c8e6d8")
_FONT: Final = 'fontname="Helvetica", fontsize=10'


@attrs.frozen
class DataflowGraph:
    """A graph in the DOT language. Notebooks show it as a picture where Graphviz is installed, else as text."""

    source: str

    def svg(self) -> str:
        """The picture as an SVG document.

        Raises:
            IrError: the Python package `graphviz` (the extra `viz`) or the program `dot` is missing, or fails.
        """
        try:
            import graphviz  # here, because only pictures need it
        except ImportError:
            raise IrError("pictures need the package graphviz: pip install 'tx8ir[viz]'") from None
        api = cast(Any, graphviz)
        try:
            return api.Source(self.source).pipe(format="svg", encoding="utf-8")
        except api.ExecutableNotFound:
            raise IrError("pictures need Graphviz: the program `dot` is not on PATH") from None
        except api.CalledProcessError as error:
            raise IrError(f"dot failed: {error}") from error

    def __str__(self) -> str:
        return self.source

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        bundle = {"text/plain": self.source}
        try:
            bundle["image/svg+xml"] = self.svg()
        except IrError as error:
            bundle["text/plain"] += f"// {error.message}\n"
        return bundle


def dot(program: Program | Operation, *, max_operations: int = 1000) -> DataflowGraph:
    """The dataflow of a program, or of one operation and what is inside it.

    Each operation is a box with its name, the name of the variable it reads, and its first result's type, coloured
    by dialect. An operation with regions is a frame around the operations inside, its own box among them. Block
    arguments are ovals. An arrow goes from a definition to each use; dashed ones are branches.

    Args:
        program: what to show.
        max_operations: the operations after that many, in text order, are left out, and a note says how many.
    """
    root = program.module if isinstance(program, Program) else program
    return DataflowGraph(_Writer(max_operations).write(root))


class SvgPicture(str):
    """An SVG document. Notebooks show the picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


def svg(program: Program | Operation, *, max_operations: int = 1000) -> SvgPicture:
    """The picture of `dot(program)` as an SVG document. Raises IrError when Graphviz is missing."""
    return SvgPicture(dot(program, max_operations=max_operations).svg())


class _Writer:
    def __init__(self, max_operations: int) -> None:
        self._left = max_operations
        self._skipped = 0
        self._lines: list[str] = []
        self._names: dict[Operation | Value, str] = {}
        self._entries: dict[Block, str] = {}
        self._clusters = 0

    def write(self, root: Operation) -> str:
        """The whole graph. Iterative: frames nest as deep as the program does."""
        self._lines = ["digraph tx8ir {", "  rankdir=TB; compound=true;", f"  node [{_FONT}, shape=box, style=filled];"]
        self._lines += [f"  edge [{_FONT}, color=gray40, arrowsize=0.6];", f"  graph [{_FONT}, color=gray60];"]
        work: list[Any] = [root]
        while work:
            item = work.pop()
            if isinstance(item, str):
                self._lines.append(item)
            elif isinstance(item, Block):
                self._block(item, work)
            else:
                self._operation(item, work)
        self._edges(root)
        if self._skipped:
            note = f"{self._skipped} more operations are not shown"
            self._lines.append(f'  note [label="{note}", shape=note, fillcolor=white];')
        return "\n".join([*self._lines, "}"]) + "\n"

    def _operation(self, op: Operation, work: list[Any]) -> None:
        if self._left == 0:
            self._skipped += sum(1 for _ in op.walk())
            return
        self._left -= 1
        name = self._names[op] = f"op{len(self._names)}"
        box = f'  {name} [label="{_label(op)}", fillcolor="{_colour(op)}", tooltip="{_escape(str(op.location))}"];'
        if not op.regions:
            self._lines.append(box)
            return
        symbol = op.attributes.get("sym_name")
        title = f"{op.name} @{symbol.value}" if isinstance(symbol, StrAttr) else op.name
        self._open(title)
        if op.operands or op.results:
            self._lines.append(box)
        work.append("  }")
        for number, region in reversed(list(enumerate(op.regions))):
            framed = len(op.regions) > 1
            if framed:
                work.append("  }")
            for index, block in reversed(list(enumerate(region.blocks))):
                if len(region.blocks) > 1:
                    work += ["  }", block, self._cluster(f"^bb{index}")]
                else:
                    work.append(block)
            if framed:
                work.append(self._cluster(f"region {number}"))

    def _open(self, title: str) -> None:
        self._lines.append(self._cluster(title))

    def _cluster(self, title: str) -> str:
        self._clusters += 1
        return f'  subgraph cluster{self._clusters} {{ label="{_escape(title)}"; style=rounded;'

    def _block(self, block: Block, work: list[Any]) -> None:
        for argument in block.args:
            name = self._names[argument] = f"arg{len(self._names)}"
            label = _escape(f"argument {argument.index}") + "\\n" + _escape(_short(argument.type))
            self._lines.append(f'  {name} [label="{label}", shape=oval, fillcolor=white];')
        work.extend(reversed(list(block)))

    def _edges(self, root: Operation) -> None:
        for op in root.walk():
            target = self._names.get(op)
            if target is None:
                continue
            for use in op.op_operands:
                value = use.value
                owner = value.defining_op
                source = self._names.get(value if owner is None else owner)
                if source is not None:
                    label = f', taillabel="{value.index}"' if owner is not None and len(owner.results) > 1 else ""
                    self._lines.append(f'  {source} -> {target} [tooltip="{_escape(str(value.type))}"{label}];')
            for block in op.successors:
                first = block.first_op
                if first is not None and first in self._names:
                    self._lines.append(f"  {target} -> {self._names[first]} [style=dashed, constraint=false];")


def _colour(op: Operation) -> str:
    dialect = op.name.partition(".")[0]
    return _COLOURS.get(dialect) or _OTHERS[zlib.crc32(dialect.encode()) % len(_OTHERS)]


def _label(op: Operation) -> str:
    parts = [op.name]
    named = op.attributes.get("name")
    if isinstance(named, StrAttr):
        parts.append(named.value if len(named.value) <= 40 else named.value[:39] + "…")
    if op.results:
        parts.append(_short(op.results[0].type) + (f" and {len(op.results) - 1} more" if len(op.results) > 1 else ""))
    return "\\n".join(map(_escape, parts))


def _short(type: Type) -> str:
    if isinstance(type, RankedTensor):
        return str(type).partition("<")[2][:-1]
    text = str(type)
    return text if len(text) <= 40 else text[:39] + "…"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
