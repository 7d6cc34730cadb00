"""A titled table of strings, as text and as HTML: what reports are made of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import attrs

_CELL = "vertical-align:top;padding:1px 14px 1px 0;"
_CAPTION = "caption-side:top;text-align:left;font-weight:bold;white-space:nowrap"
_NUMBER = re.compile(r"(-|[-+]?\d[\d.,e+-]*|nan|inf)?( ?(%|B|[KMG]iB))?")


@attrs.frozen(repr=False)
class Table:
    """A titled table of strings; columns whose cells are numbers are right-aligned. Shells and notebooks show it."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        widths = [max(len(cell) for cell in column) for column in zip(self.header, *self.rows, strict=True)]
        right = self.numeric_columns

        def line(cells: Sequence[str]) -> str:
            padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True)]
            return "  " + "  ".join(padded).rstrip()

        return "\n".join([self.title, line(self.header), *(line(row) for row in self.rows)])

    __repr__ = __str__

    def to_html(self) -> str:
        """The table as an HTML ``<table>`` with its title as caption."""
        styles = [f"text-align:{'right' if numeric else 'left'};{_CELL}" for numeric in self.numeric_columns]
        styles[:-1] = [style + "white-space:nowrap;" for style in styles[:-1]]  # only the last column may wrap

        def row(cells: Sequence[str], tag: str) -> str:
            return "".join(f'<{tag} style="{s}">{escape(c)}</{tag}>' for s, c in zip(styles, cells, strict=True))

        body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in self.rows)
        return (
            f'<table style="border-collapse:collapse;margin:0 0 1em 0"><caption style="{_CAPTION}">{escape(self.title)}'
            f"</caption><thead><tr>{row(self.header, 'th')}</tr></thead><tbody>{body}</tbody></table>"
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    @property
    def numeric_columns(self) -> list[bool]:
        """Which columns hold only numbers (with or without a unit) or nothing."""
        return [
            bool(self.rows) and all(_NUMBER.fullmatch(row[i]) for row in self.rows) for i in range(len(self.header))
        ]
