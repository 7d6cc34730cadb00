"""Programs, operations, blocks and values in notebooks: coloured text, regions that fold, values that light up.

Plain HTML and CSS with a few lines of script per output. Everything is scoped by a class prefix and an id, follows the
light or dark theme of the page, and works without the script but for the highlighting.
"""

from __future__ import annotations

import html
import re
import uuid
from collections.abc import Iterable
from typing import Any, Final, cast

from tx8ir.core import Block, IrError, Operation, OpResult, Printer, Program, Value
from tx8ir.support.display import register_renderer

MAX_LINES: Final = 1500
"""Longer texts are cut there, with a note."""

MAX_USES: Final = 50
"""Of more uses of a value the first ones are shown."""

_MAX_LINE: Final = 600

_TOKEN: Final = re.compile(
    r"""(?P<opname>^\s*(?:%[\w$.\#:, %-]+\s=\s)?"[\w$.-]+"(?=\())"""
    r"""|(?P<value>%[\w$.-]+(?:\#[0-9]+)?(?::[0-9]+(?=\ =))?)"""
    r"""|(?P<string>"(?:[^"\\]|\\.)*")"""
    r"""|(?P<comment>//.*$)"""
    r"""|(?P<type>!?\b(?:pd\.)?v?tensor<[^<>]*>|![\w$.]+|\b(?:bf16|tf32|ui?[0-9]+|[fi][0-9]+|none|tuple)\b)"""
    r"""|(?P<symbol>@[\w$.-]+)"""
    r"""|(?P<block>\^[\w$.-]+)"""
    r"""|(?P<attr>\#[\w$.]+)"""
    r"""|(?P<number>(?<![\w.])-?(?:0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?)\b)"""
    r"""|(?P<key>[A-Za-z_][\w$.-]*(?=\ =\ ))"""
    r"""|(?P<keyword>\b(?:module|func\.func|return|attributes|true|false|dense|array|unit|loc)\b)"""
)
_OP_NAME: Final = re.compile(r'"[\w$.-]+"$')
_LOCATION: Final = re.compile(r' loc\((?:[^()"]|"(?:[^"\\]|\\.)*"|\((?:[^()"]|"(?:[^"\\]|\\.)*")*\))*\)(?=( \{)?$)')
_ISOLATED: Final = re.compile(r"^\s*(?:func\.func|module)\b")

_STYLE: Final = """
.tx8ir{--bg:#fff;--fg:#1f2328;--dim:#6e7781;--line:#d0d7de;--op:#0550ae;--value:#953800;--type:#116329;--string:#0a3069;
--number:#0550ae;--key:#6e7781;--keyword:#cf222e;--symbol:#8250df;--use:#fff3b8;--def:#ffd33d;--error:#cf222e;
background:var(--bg);color:var(--fg);border:1px solid var(--line);border-radius:6px;padding:6px 10px;overflow-x:auto;
font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;text-align:left}
@media (prefers-color-scheme:dark){.tx8ir{DARK}}
[data-jp-theme-light="true"] .tx8ir,body.vscode-light .tx8ir,[data-theme="light"] .tx8ir,
[data-md-color-scheme="default"] .tx8ir{LIGHT}
[data-jp-theme-light="false"] .tx8ir,body.vscode-dark .tx8ir,[data-theme="dark"] .tx8ir,
[data-md-color-scheme="slate"] .tx8ir{DARK}
.tx8ir .tx8ir-head{color:var(--dim);font-family:system-ui,sans-serif;padding-bottom:4px}
.tx8ir div.l,.tx8ir summary{white-space:pre;margin:0;padding:0 0 0 1.2em;text-indent:0}
.tx8ir summary{cursor:pointer;list-style:none;position:relative}
.tx8ir summary::-webkit-details-marker{display:none}
.tx8ir summary::before{content:"\\25be";color:var(--dim);position:absolute;left:.1em}
.tx8ir details:not([open])>summary::before{content:"\\25b8"}
.tx8ir details:not([open])>summary::after{content:" \\2026 "attr(data-n);color:var(--dim)}
.tx8ir summary:focus-visible{outline:1px solid var(--symbol)}
.tx8ir .o{color:var(--op);font-weight:600}.tx8ir .v{color:var(--value);border-radius:3px}.tx8ir .t{color:var(--type)}
.tx8ir .s{color:var(--string)}.tx8ir .n{color:var(--number)}.tx8ir .k{color:var(--key)}.tx8ir .w{color:var(--keyword)}
.tx8ir .y{color:var(--symbol)}.tx8ir .c{color:var(--dim);font-style:italic}
.tx8ir .v.hot{background:var(--use);cursor:default}.tx8ir .v.d.hot{background:var(--def);font-weight:700}
.tx8ir .cut{color:var(--error);font-family:system-ui,sans-serif;padding-top:4px}
""".strip()
_LIGHT_COLOURS: Final = _STYLE[len(".tx8ir{") : _STYLE.index("\nbackground")].replace("\n", "")
_DARK_COLOURS: Final = (
    "--bg:#0d1117;--fg:#e6edf3;--dim:#8b949e;--line:#30363d;--op:#79c0ff;--value:#ffa657;--type:#7ee787;"
    "--string:#a5d6ff;--number:#79c0ff;--key:#8b949e;--keyword:#ff7b72;--symbol:#d2a8ff;--use:#3b3300;--def:#6b5600;"
    "--error:#ff7b72;"
)
STYLE: Final = _STYLE.replace("DARK", _DARK_COLOURS).replace("LIGHT", _LIGHT_COLOURS)

_SCRIPT: Final = """
(function(){var r=document.getElementById("ID");if(!r)return;
function m(e,on){var v=e.target.closest&&e.target.closest("[data-v]");if(!v)return;
r.querySelectorAll('[data-v="'+CSS.escape(v.dataset.v)+'"]').forEach(function(x){x.classList.toggle("hot",on)})}
r.addEventListener("mouseover",function(e){m(e,true)});r.addEventListener("mouseout",function(e){m(e,false)})})();
""".strip().replace("\n", "")

_CLASS: Final = {
    "string": "s", "comment": "c", "type": "t", "symbol": "y", "block": "y", "attr": "y", "number": "n", "key": "k",
    "keyword": "w",
}  # fmt: skip


class NotebookRenderer:
    """Renders what the core holds; see `tx8ir.support.display.Renderer`."""

    def html(self, thing: Any) -> str:
        """A fragment of HTML that stands on its own."""
        return page(*_described(thing, locations=True))

    def text(self, thing: Any) -> str:
        """The same as plain text: what is known about it, then the IR."""
        head, text = _described(thing, locations=False)
        return text if isinstance(thing, (Program, Operation)) else f"{head}\n{text}".rstrip()


def page(head: str, text: str) -> str:
    """IR text as a fragment of HTML under a line that says what it is.

    Args:
        head: one line of plain text.
        text: printed operations; what stands after `loc(…)` at the ends of lines is shown when the mouse rests.
    """
    name = f"tx8ir-{uuid.uuid4().hex[:12]}"
    lines = text.split("\n")
    note = ""
    if len(lines) > MAX_LINES:
        note = (
            f'<div class="cut">{len(lines) - MAX_LINES} more of {len(lines)} lines are not shown; '
            "<code>print</code> shows all.</div>"
        )
        lines = lines[:MAX_LINES]
    body = "".join(_fold(lines))
    return (
        f'<style>{STYLE}</style><div class="tx8ir" id="{name}"><div class="tx8ir-head">{html.escape(head)}</div>'
        f"{body}{note}</div><script>{_SCRIPT.replace('ID', name)}</script>"
    )


def _fold(lines: list[str]) -> Iterable[str]:
    """The lines, each region as an element that folds; one that stays open when the text is cut is closed."""
    inside = _sizes(lines)
    opened = 0
    scopes = [0]  # values of functions are named apart: a number for each
    made = 0
    isolated: list[bool] = []
    for number, line in enumerate(lines):
        location = _LOCATION.search(line)
        bare = line if location is None else line[: location.start()] + line[location.end() :]
        if bare.lstrip().startswith("}") and opened:
            yield "</details>"
            opened -= 1
            if isolated.pop():
                scopes.pop()
        starts = bare.endswith("{")
        if starts:
            isolated.append(_ISOLATED.match(bare) is not None)
            if isolated[-1]:
                made += 1
                scopes.append(made)
        shown = _coloured(bare, scopes[-1], location.group().strip() if location is not None else "")
        if starts:
            count = inside[number]
            yield f'<details open><summary data-n="{count} line{"s" * (count != 1)}">{shown}</summary>'
            opened += 1
        else:
            yield f'<div class="l">{shown}</div>'
    yield "</details>" * opened


def _sizes(lines: list[str]) -> dict[int, int]:
    """For each line that opens a region: how many lines the region has."""
    sizes: dict[int, int] = {}
    stack: list[int] = []
    for number, line in enumerate(lines):
        location = _LOCATION.search(line)
        bare = line if location is None else line[: location.start()] + line[location.end() :]
        if bare.lstrip().startswith("}") and stack:
            start = stack.pop()
            sizes[start] = number - start - 1
        if bare.endswith("{"):
            stack.append(number)
    for start in stack:
        sizes[start] = len(lines) - start - 1
    return sizes


def _coloured(line: str, scope: int, location: str) -> str:
    """One line with its tokens in elements that say what they are."""
    cut = ""
    if len(line) > _MAX_LINE:
        cut = f'<span class="c"> … {len(line) - _MAX_LINE} more characters</span>'
        line = line[:_MAX_LINE]
    # Values are defined in the header of a function or a block, and before the first " = ".
    if line.lstrip().startswith("^") or _ISOLATED.match(line):
        defined = len(line)
    else:
        defined = line.find(" = ") if line.lstrip().startswith("%") else -1
    parts: list[str] = []
    at = 0
    for match in _TOKEN.finditer(line):
        parts.append(html.escape(line[at : match.start()], quote=False))
        kind, token = cast(str, match.lastgroup), match.group()
        at = match.end()
        if kind == "opname":
            start = cast("re.Match[str]", _OP_NAME.search(token)).start()
            parts.append(_values(token[:start], scope, definition=True))
            title = f' title="{html.escape(location)}"' if location else ""
            parts.append(f'<span class="o"{title}>{html.escape(token[start:], quote=False)}</span>')
        elif kind == "value":
            parts.append(_values(token, scope, definition=match.start() < defined))
        elif kind == "keyword" and token in ("module", "func.func", "return") and location:
            parts.append(f'<span class="w" title="{html.escape(location)}">{token}</span>')
        else:
            parts.append(f'<span class="{_CLASS[kind]}">{html.escape(token, quote=False)}</span>')
    parts.append(html.escape(line[at:], quote=False))
    return "".join(parts) + cut


def _values(text: str, scope: int, *, definition: bool) -> str:
    """Text in which value names are elements that light up together; `%3:2` and `%3#1` belong to `%3`."""

    def element(match: re.Match[str]) -> str:
        stem = re.split(r"[#:]", match.group())[0]
        kind = "v d" if definition else "v"
        return f'<span class="{kind}" data-v="{scope}{html.escape(stem)}">{html.escape(match.group())}</span>'

    return re.sub(r"%[\w$.-]+(?:#[0-9]+|:[0-9]+(?= =))?", element, text)


def _described(thing: Any, *, locations: bool) -> tuple[str, str]:
    """What `thing` is in one line, and its IR."""
    printer = Printer(locations=locations)
    if isinstance(thing, Program):
        printer.print(thing.module)
        return repr(thing).strip("<>"), printer.text()
    if isinstance(thing, Operation):
        printer.print(thing)
        inside = sum(1 for _ in thing.walk()) - 1
        return f"{thing.name}{f' and {inside} operations inside' if inside else ''}", printer.text()
    if isinstance(thing, Block):
        arguments = printer.arguments(thing)
        printer.write(f"^bb({arguments}):" if arguments else "^bb:")
        for op in thing:
            printer.write("\n")
            printer.print(op)
        return f"Block: {len(thing.args)} arguments, {len(thing)} operations", printer.text()
    if isinstance(thing, Value):
        return _described_value(thing, printer)
    raise IrError(f"cannot show {thing!r}: expected a program, an operation, a block or a value")


def _described_value(value: Value, printer: Printer) -> tuple[str, str]:
    """OpDef and uses of a value, each operation on its first line."""
    lines: list[str] = []

    def first_line(op: Operation) -> None:
        start = len(printer.text())
        printer.print(op)
        line, *more = printer.text()[start:].split("\n")
        lines.append(line.removesuffix("{") + "{ … }" if more else line)

    if isinstance(value, OpResult):
        first_line(value.owner)
    elif isinstance(value.owner, Block):
        lines.append(f"^bb({printer.arguments(value.owner)}):")
    users = list(dict.fromkeys(value.users))
    for user in users[:MAX_USES]:
        if user is not value.defining_op:
            first_line(user)
    if len(users) > MAX_USES:
        lines.append(f"// … {len(users) - MAX_USES} more users")
    count = value.num_uses
    return f"{type(value).__name__} {value.index}: {value.type}, {count} use{'s' * (count != 1)}", "\n".join(lines)


register_renderer(NotebookRenderer())
