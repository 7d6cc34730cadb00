"""How much of the programs that xDSL is tested with goes from there to us and back.

    PYTHONPATH=src:tests python -m support.interchange

xDSL ships its own test programs. Each that it reads is written by it in the generic form, read by us with unregistered
operations kept, written in the generic form again, and compared by xDSL: structurally equal or not. What we read of
the files as they are, in any form, is counted too. A reason is the first line of an error, without what differs from
program to program.
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import attrs

from support.peer import peer_module, peer_text
from tx8ir.core import parse, print_op


def programs() -> Iterator[tuple[str, str]]:
    """Name and text of each program that xDSL ships; a file may hold several."""
    for file in importlib.metadata.files("xdsl") or ():
        if file.suffix == ".mlir":
            path = Path(str(file.locate()))
            text = path.read_text(encoding="utf-8")
            for number, part in enumerate(re.split(r"^// -----.*$", text, flags=re.MULTILINE)):
                yield f"{file}#{number}", part


@attrs.define
class Figures:
    """What came of the programs.

    Attributes:
        known: programs that xDSL reads and finds valid.
        back: those that came back equal.
        direct: those of all that we read as they are.
        total: all programs.
        reasons: of those that did not come back, why, and one of them.
    """

    known: int = 0
    back: int = 0
    direct: int = 0
    total: int = 0
    reasons: Counter[str] = attrs.field(factory=Counter[str])
    examples: dict[str, str] = attrs.field(factory=dict[str, str])


def _reads(text: str) -> Any:
    try:
        with redirect_stderr(StringIO()):
            return peer_module(text)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return None


def _trip(module: Any) -> str | None:
    """Why a module of xDSL does not come back equal, or None."""
    try:
        ours = parse(peer_text(module), allow_unregistered=True)
        back = _reads(print_op(ours.module, generic=True))
    except Exception as error:
        line = str(error).splitlines()[0]
        return re.sub(r"'[^']*'|\S+\.mlir|<text>:\d+:\d+:|\d+", "…", line)[:100]
    if back is None:
        return "xDSL does not read what we write"
    if module.is_structurally_equivalent(back):
        return None
    own = _reads(peer_text(module))
    alone = own is not None and module.is_structurally_equivalent(own)
    return "not equal" if alone else "not equal, no more than what xDSL itself reads of its own text"


def measure(limit: int | None = None) -> Figures:
    """The figures of all programs, or of the first."""
    figures = Figures()
    for name, text in programs():
        figures.total += 1
        if limit is not None and figures.total > limit:
            break
        try:
            parse(text, allow_unregistered=True)
            figures.direct += 1
        except Exception:
            pass
        module = _reads(text)
        if module is None:
            continue
        figures.known += 1
        reason = _trip(module)
        if reason is None:
            figures.back += 1
        else:
            figures.reasons[reason] += 1
            figures.examples.setdefault(reason, name)
    return figures


def main() -> int:
    """Print the figures."""
    found = measure()
    print(f"programs {found.total}, read as they are {found.direct}")
    print(f"valid to xDSL {found.known}, through us and back equal {found.back}")
    for reason, count in found.reasons.most_common():
        print(f"{count:4}  {reason}  ({found.examples[reason]})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
