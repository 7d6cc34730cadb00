"""The dataflow of a program: operations are boxes, regions are frames, uses are arrows. As DOT text and as SVG."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from html import escape
from typing import Any, Final

import attrs

from tx8ir.core import Block, Operation, Program, RankedTensor, StrAttr, Type, Value
from tx8ir.dialects import builtin
from tx8ir.support.screen import fitting_repr
from tx8ir.viz.layered import PADDING, Edge, Frame, Shape, arrange

_COLOURS: Final = {
    "builtin": "#e8e8e8", "func": "#d9d2e9", "cf": "#f4cccc", "scf": "#fce5cd", "pd": "#cfe2f3", "tx8be": "#d9ead3",
    "tx8": "#fff2cc",
}  # fmt: skip
_OTHERS: Final = ("#d0e0e3", "#ead1dc", "#e6e6c8", "#d5d8f0", "#f0d8c8", "#c8e6d8")
_DOT_FONT: Final = 'fontname="Helvetica", fontsize=10'
_ADVANCE: Final = 6.63
"""The width of a character of a monospaced font of 11 pixels."""
_LINE: Final = 15.0
_LONGEST: Final = 40


@attrs.frozen
class DataflowGraph:
    """A graph in the DOT language of Graphviz; `svg` draws the same without Graphviz."""

    __repr__ = fitting_repr

    source: str

    def __str__(self) -> str:
        return self.source

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.source}


class SvgPicture(str):
    """An SVG document. Notebooks show the picture."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<SvgPicture: {len(self)} characters>"

    def _repr_svg_(self) -> str:
        return str(self)


def dot(program: Program | Operation, *, max_operations: int = 1000) -> DataflowGraph:
    """The dataflow of a program, or of one operation and what is inside it, for Graphviz.

    Each operation is a box with its name, the name of the variable it reads, and its first result's type, coloured
    by dialect. An operation with regions is a frame around the operations inside, its own box among them. Block
    arguments are ovals. An arrow goes from a definition to each use; dashed ones are branches.

    Args:
        program: what to show.
        max_operations: the operations after that many, in text order, are left out, and a note says how many.
    """
    root = program.module if isinstance(program, Program) else program
    return DataflowGraph("\n".join(_dot_lines(_Reader(max_operations).read(root))) + "\n")


def svg(program: Program | Operation, *, max_operations: int = 1000) -> SvgPicture:
    """The picture of a program, or of one operation and what is inside it, as an SVG document.

    It shows what `dot` does; of an operation with regions the frame stands for the operation. Nothing but this package
    is needed, and a page may be light or dark.
    """
    root = program.module if isinstance(program, Program) else program
    graph = _Reader(max_operations).read(root)
    arrange(graph.drawn, graph.arrows)
    return SvgPicture("\n".join(_svg_lines(graph)) + "\n")


# -- what there is to draw --------------------------------------------------------------------------------------------


@attrs.define(eq=False)
class _Box(Shape):
    """An operation without regions, or the argument of a block."""

    lines: tuple[str, ...] = ()
    colour: str = "white"
    tooltip: str = ""
    oval: bool = False

    @staticmethod
    def of(lines: tuple[str, ...], colour: str, tooltip: str, *, oval: bool = False) -> _Box:
        width = max(map(len, lines)) * _ADVANCE + (26 if oval else 14)
        return _Box(width, len(lines) * _LINE + 8, None, lines=lines, colour=colour, tooltip=tooltip, oval=oval)


@attrs.define(eq=False)
class _Group(Frame):
    """An operation with regions, one of several regions, or one of several blocks. `box` is the operation's own."""

    title: str = ""
    box: _Box | None = None

    @staticmethod
    def of(title: str, box: _Box | None = None) -> _Group:
        lines = 0 if not title else 1 if box is None else len(box.lines)
        wide = max(map(len, (title, *(box.lines[1:] if box is not None else ())))) * _ADVANCE
        return _Group(0, 0, None, title_width=wide, title_height=lines * _LINE, title=title, box=box)


@attrs.define(eq=False)
class _Arrow(Edge):
    """A use, or a branch to the first operation of a block."""

    label: str = ""
    tooltip: str = ""
    dashed: bool = False


@attrs.frozen(eq=False)
class _Graph:
    """Everything: a frame around it all, arrows, and how many operations were left out."""

    root: _Group
    arrows: list[_Arrow]
    skipped: int

    @property
    def drawn(self) -> _Group:
        """The frame that a picture shows: the inside of a module."""
        first = self.root.items[0] if self.root.items else None
        if isinstance(first, _Group) and first.title.startswith(builtin.ModuleOp.name) and len(self.root.items) == 1:
            return first
        return self.root


class _Reader:
    """Reads an operation and all that is inside of it. Iterative: frames nest as deep as the program does."""

    def __init__(self, max_operations: int) -> None:
        self._left = max_operations
        self._skipped = 0
        self._shapes: dict[Operation | Value, Shape] = {}

    def read(self, root: Operation) -> _Graph:
        top = _Group.of("")
        work: list[tuple[_Group, Operation | Block]] = [(top, root)]
        while work:
            group, item = work.pop()
            inside = self._block(group, item) if isinstance(item, Block) else self._operation(group, item)
            work.extend(reversed(list(inside)))
        return _Graph(top, list(self._arrows(root)), self._skipped)

    def _operation(self, group: _Group, op: Operation) -> Iterator[tuple[_Group, Operation | Block]]:
        if self._left == 0:
            self._skipped += sum(1 for _ in op.walk())
            return
        self._left -= 1
        box = _Box.of(_lines(op), _colour(op), str(op.location))
        if not op.regions:
            self._shapes[op] = box
            group.add(box)
            return
        symbol = op.attributes.get("sym_name")
        title = f"{op.name} @{symbol.value}" if isinstance(symbol, StrAttr) else op.name
        frame = _Group.of(title, box if op.operands or op.results else None)
        self._shapes[op] = frame
        group.add(frame)
        for number, region in enumerate(op.regions):
            around = self._framed(frame, f"region {number}") if len(op.regions) > 1 else frame
            for index, block in enumerate(region.blocks):
                yield (self._framed(around, f"^bb{index}") if len(region.blocks) > 1 else around), block

    @staticmethod
    def _framed(group: _Group, title: str) -> _Group:
        frame = _Group.of(title)
        group.add(frame)
        return frame

    def _block(self, group: _Group, block: Block) -> Iterator[tuple[_Group, Operation | Block]]:
        for argument in block.args:
            lines = (f"argument {argument.index}", _short(argument.type))
            self._shapes[argument] = _Box.of(lines, "white", "", oval=True)
            group.add(self._shapes[argument])
        for op in block:
            yield group, op

    def _arrows(self, root: Operation) -> Iterator[_Arrow]:
        for op in root.walk():
            target = self._shapes.get(op)
            if target is None:
                continue
            for use in op.op_operands:
                value = use.value
                owner = value.defining_op
                source = self._shapes.get(value if owner is None else owner)
                if source is not None:
                    label = str(value.index) if owner is not None and len(owner.results) > 1 else ""
                    yield _Arrow(source, target, label=label, tooltip=str(value.type))
            for block in op.successors:
                first = block.first_op
                if first is not None and first in self._shapes:
                    yield _Arrow(target, self._shapes[first], dashed=True)


def _colour(op: Operation) -> str:
    dialect = op.name.partition(".")[0]
    return _COLOURS.get(dialect) or _OTHERS[zlib.crc32(dialect.encode()) % len(_OTHERS)]


def _lines(op: Operation) -> tuple[str, ...]:
    lines = [op.name]
    named = op.attributes.get("name")
    if isinstance(named, StrAttr):
        lines.append(_limited(named.value))
    if op.results:
        lines.append(_short(op.results[0].type) + (f" and {len(op.results) - 1} more" if len(op.results) > 1 else ""))
    return tuple(lines)


def _short(type: Type) -> str:
    return str(type).partition("<")[2][:-1] if isinstance(type, RankedTensor) else _limited(str(type))


def _limited(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


# -- DOT --------------------------------------------------------------------------------------------------------------


def _dot_lines(graph: _Graph) -> Iterator[str]:
    names: dict[Shape, str] = {}
    yield from ("digraph tx8ir {", "  rankdir=TB; compound=true;", f"  node [{_DOT_FONT}, shape=box, style=filled];")
    yield from (f"  edge [{_DOT_FONT}, color=gray40, arrowsize=0.6];", f"  graph [{_DOT_FONT}, color=gray60];")
    clusters = 0
    work: list[Shape | str] = list(reversed(graph.root.items))
    while work:
        item = work.pop()
        if isinstance(item, _Group):
            clusters += 1
            yield f'  subgraph cluster{clusters} {{ label="{_quoted(item.title)}"; style=rounded;'
            work += ["  }", *reversed(item.items)]
            if item.box is not None:
                names[item] = f"op{len(names)}"
                yield _dot_box(names[item], item.box)
        elif isinstance(item, _Box):
            names[item] = f"{'arg' if item.oval else 'op'}{len(names)}"
            yield _dot_box(names[item], item)
        else:
            yield str(item)
    for arrow in graph.arrows:
        if arrow.source in names and arrow.target in names:
            style = "style=dashed, constraint=false" if arrow.dashed else f'tooltip="{_quoted(arrow.tooltip)}"'
            label = f', taillabel="{arrow.label}"' if arrow.label else ""
            yield f"  {names[arrow.source]} -> {names[arrow.target]} [{style}{label}];"
    if graph.skipped:
        yield f'  note [label="{_note(graph)}", shape=note, fillcolor=white];'
    yield "}"


def _dot_box(name: str, box: _Box) -> str:
    label = "\\n".join(map(_quoted, box.lines))
    look = "shape=oval, fillcolor=white" if box.oval else f'fillcolor="{box.colour}", tooltip="{_quoted(box.tooltip)}"'
    return f'  {name} [label="{label}", {look}];'


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _note(graph: _Graph) -> str:
    return f"{graph.skipped} more operations are not shown"


# -- SVG --------------------------------------------------------------------------------------------------------------

_GREY: Final = "#7d8590"  # seen on white and on black


def _svg_lines(graph: _Graph) -> Iterator[str]:
    drawn = graph.drawn
    width, height = drawn.width, drawn.height + (_LINE if graph.skipped else 0)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'style="max-width:100%;height:auto" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="11">'
    )
    yield (
        '<defs><marker id="tx8ir-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0,1L7,4L0,7z" fill="{_GREY}"/></marker></defs>'
    )
    work: list[Shape] = list(reversed(drawn.items))
    while work:
        item = work.pop()
        if isinstance(item, _Group):
            yield from _svg_frame(item)
            work.extend(reversed(item.items))
        elif isinstance(item, _Box):
            yield from _svg_box(item)
    yield f'<g fill="none" stroke="{_GREY}" stroke-width="1.1" marker-end="url(#tx8ir-arrow)">'
    for arrow in graph.arrows:
        dashes = ' stroke-dasharray="4 3"' if arrow.dashed else ""
        title = f"<title>{escape(arrow.tooltip)}</title>" if arrow.tooltip else ""
        yield f'<path d="{_path(arrow)}"{dashes}>{title}</path>'
    yield "</g>"
    for arrow in graph.arrows:
        if arrow.label:
            x, y = arrow.points[0]
            yield f'<text x="{x + 4:.1f}" y="{y + 10:.1f}" font-size="9" fill="{_GREY}">{arrow.label}</text>'
    if graph.skipped:
        yield f'<text x="{PADDING}" y="{height - 5:.1f}" fill="{_GREY}">{_note(graph)}</text>'
    yield "</svg>"


def _svg_frame(group: _Group) -> Iterator[str]:
    yield (
        f'<rect x="{group.x:.1f}" y="{group.y:.1f}" width="{group.width:.1f}" height="{group.height:.1f}" rx="7" '
        f'fill="{_GREY}" fill-opacity="0.06" stroke="{_GREY}" stroke-opacity="0.6"/>'
    )
    rest = group.box.lines[1:] if group.box is not None else ()
    for number, line in enumerate((group.title, *rest)):
        weight = ' font-weight="600"' if number == 0 else ""
        y = group.y + 17 + number * _LINE
        yield f'<text x="{group.x + 12:.1f}" y="{y:.1f}" fill="{_GREY}"{weight}>{escape(line)}</text>'


def _svg_box(box: _Box) -> Iterator[str]:
    title = f"<title>{escape(box.tooltip)}</title>" if box.tooltip else ""
    radius = box.height / 2 if box.oval else 4
    yield (
        f'<g>{title}<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="{radius:.1f}" fill="{box.colour}" stroke="{_GREY}"/>'
    )
    for number, line in enumerate(box.lines):
        look = 'fill="#1f2328" font-weight="600"' if number == 0 else 'fill="#57606a"'
        y = box.y + 15 + number * _LINE
        yield f'<text x="{box.middle:.1f}" y="{y:.1f}" text-anchor="middle" {look}>{escape(line)}</text>'
    yield "</g>"


def _path(arrow: _Arrow) -> str:
    """A smooth line that leaves and arrives upright; one that leads up goes round by the right side."""
    (x, y), *rest = arrow.points
    if arrow.target.y <= arrow.source.y:
        right = arrow.source.x + arrow.source.width, arrow.source.y + arrow.source.height / 2
        end = arrow.target.x + arrow.target.width, arrow.target.y + arrow.target.height / 2
        out = max(right[0], end[0]) + 30
        return (
            f"M{right[0]:.1f},{right[1]:.1f}C{out:.1f},{right[1]:.1f} {out:.1f},{end[1]:.1f} {end[0]:.1f},{end[1]:.1f}"
        )
    path = f"M{x:.1f},{y:.1f}"
    for to_x, to_y in rest:
        half = (y + to_y) / 2
        path += f"C{x:.1f},{half:.1f} {to_x:.1f},{half:.1f} {to_x:.1f},{to_y:.1f}"
        x, y = to_x, to_y
    return path
